"""What the checks of a manifest hand on: faults at a path of the object, and tolerant ways to look into it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from dractl.rules.finding import Rule, Severity

Path = tuple[str | int, ...]
Json = dict[str, Any]


@dataclass(slots=True)
class Fault:
    """A finding before its place in a file is known.

    ``path`` leads from the object's root; ``key`` points at the key instead of the value; ``offset`` is a character
    (from 0) inside the text at the path; ``also`` lists other places that belong to it. ``server`` is what the API
    server itself would print, where it would.
    """

    rule: Rule
    message: str
    path: Path = ()
    key: bool = False
    offset: int | None = None
    hint: str = ""
    server: str = ""
    severity: Severity | None = None
    also: tuple[Path, ...] = ()
    evidence: dict[str, Any] = field(default_factory=dict)


def mapping(value: Any) -> Mapping[str, Any]:
    """The value if it is a mapping, else an empty one."""
    return value if isinstance(value, dict) else {}


def listing(value: Any) -> list[Any]:
    """The value if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def text(value: Any) -> str:
    """The value if it is a text, else an empty one."""
    return value if isinstance(value, str) else ""


def whole(value: Any) -> int | None:
    """The value if it is a whole number."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def at(value: Any, *path: str | int) -> Any:
    """What is at a path, or None."""
    for step in path:
        if isinstance(step, int):
            if not isinstance(value, list) or not 0 <= step < len(value):
                return None
            value = value[step]
        elif isinstance(value, dict):
            value = value.get(step)
        else:
            return None
    return value


def entries(value: Any) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """The mappings of a list with their index."""
    for index, item in enumerate(listing(value)):
        if isinstance(item, dict):
            yield index, item


def dotted(path: Path) -> str:
    """A path as people write it: ``spec.devices.requests[0].exactly``."""
    out = ""
    for step in path:
        if isinstance(step, int) or "." in step or "/" in step:
            out += f"[{step}]"
        else:
            out += f".{step}" if out else step
    return out


def group_of(api_version: str) -> str:
    """The group of an apiVersion (empty for v1)."""
    return api_version.rpartition("/")[0]


# --- claims in all versions -----------------------------------------------------------------------------------------


@dataclass(slots=True)
class RequestView:
    """One request, or one alternative of ``firstAvailable``, wherever the version keeps its fields.

    ``name`` is how constraints name it (``gpu`` or ``gpu/big``), ``path`` leads to the fields.
    """

    name: str
    path: Path
    body: Mapping[str, Any]
    alternative: bool

    @property
    def device_class(self) -> str:
        """deviceClassName."""
        return text(self.body.get("deviceClassName"))

    def count(self) -> int:
        """How many devices it asks for at least; 0 for All."""
        if self.body.get("allocationMode") == "All":
            return 0
        return whole(self.body.get("count")) or 1


@dataclass(slots=True)
class ClaimView:
    """The ``devices`` of a claim or template."""

    path: Path
    """The path of the claim's spec: ``spec`` or ``spec.spec``."""
    devices: Mapping[str, Any]
    requests: list[RequestView]
    names: frozenset[str]
    """Names of requests, and ``request/alternative``."""

    @property
    def request_names(self) -> list[str]:
        """The requests' own names, in order."""
        return list(dict.fromkeys(view.name.split("/")[0] for view in self.requests))

    def constraints(self) -> Iterator[tuple[Path, Mapping[str, Any]]]:
        """The constraints with their paths."""
        for index, item in entries(self.devices.get("constraints")):
            yield (*self.path, "devices", "constraints", index), item

    def config(self) -> Iterator[tuple[Path, Mapping[str, Any]]]:
        """The configuration entries with their paths."""
        for index, item in entries(self.devices.get("config")):
            yield (*self.path, "devices", "config", index), item

    def chosen(self, wanted: Any) -> list[RequestView]:
        """The requests that a list of names means; an empty list means all."""
        names = [text(name) for name in listing(wanted)]
        if not names:
            return self.requests
        return [view for view in self.requests if view.name in names or view.name.split("/")[0] in names]


def claim_view(value: Json) -> ClaimView | None:
    """The claim in a ResourceClaim or ResourceClaimTemplate of the structured versions; None for other kinds."""
    kind = value.get("kind")
    if kind == "ResourceClaim":
        path: Path = ("spec",)
    elif kind == "ResourceClaimTemplate":
        path = ("spec", "spec")
    else:
        return None
    devices = mapping(at(value, *path, "devices"))
    views: list[RequestView] = []
    names: set[str] = set()
    for index, request in entries(devices.get("requests")):
        here = (*path, "devices", "requests", index)
        name = text(request.get("name"))
        names.add(name)
        exactly = request.get("exactly")
        if isinstance(exactly, dict):
            views.append(RequestView(name, (*here, "exactly"), exactly, False))
        elif not request.get("firstAvailable"):
            views.append(RequestView(name, here, request, False))
        for number, sub in entries(request.get("firstAvailable")):
            full = f"{name}/{text(sub.get('name'))}"
            names.add(full)
            views.append(RequestView(full, (*here, "firstAvailable", number), sub, True))
    return ClaimView(path, devices, views, frozenset(names))


# --- pods and what makes them ---------------------------------------------------------------------------------------


@dataclass(slots=True)
class PodView:
    """A pod's spec, in a Pod or in a template of another kind."""

    path: Path
    """The path of the pod's spec."""
    spec: Mapping[str, Any]
    labels: Mapping[str, Any]
    namespace: str
    name: str

    def containers(self) -> Iterator[tuple[Path, Mapping[str, Any]]]:
        """Containers and init containers with their paths."""
        for group in ("initContainers", "containers"):
            for index, item in entries(self.spec.get(group)):
                yield (*self.path, group, index), item


POD_TEMPLATES: dict[str, Path] = {
    "Pod": (),
    "PodTemplate": ("template",),
    "CronJob": ("spec", "jobTemplate", "spec", "template"),
}
_MAX_TEMPLATES = 64


def pod_views(value: Json) -> list[PodView]:
    """The pods that an object makes: its own, its template's, or any pod template of an unknown kind (JobSet...)."""
    kind = text(value.get("kind"))
    meta = mapping(value.get("metadata"))
    namespace = text(meta.get("namespace")) or "default"
    name = text(meta.get("name"))
    if kind in POD_TEMPLATES:
        found = [(POD_TEMPLATES[kind], at(value, *POD_TEMPLATES[kind]))]
    elif isinstance(at(value, "spec", "template", "spec"), dict):
        found = [(("spec", "template"), at(value, "spec", "template"))]
    else:
        found = list(_templates(value.get("spec"), ("spec",)))[:_MAX_TEMPLATES]
    return [
        PodView((*path, "spec"), mapping(at(item, "spec")), mapping(at(item, "metadata", "labels")), namespace, name)
        for path, item in found
        if isinstance(item, dict) and isinstance(item.get("spec"), dict)
    ]


def _templates(value: Any, path: Path, depth: int = 0) -> Iterator[tuple[Path, Any]]:
    """Mappings that look like a pod template: ``spec.containers`` is a list."""
    if depth > 12:
        return
    if isinstance(value, dict):
        if isinstance(at(value, "spec", "containers"), list):
            yield path, value
            return
        for key, item in value.items():
            if isinstance(item, dict | list):
                yield from _templates(item, (*path, key), depth + 1)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            if isinstance(item, dict | list):
                yield from _templates(item, (*path, index), depth + 1)
