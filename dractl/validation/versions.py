"""Which versions and kinds of resource.k8s.io a release has, had, or serves only on request; and the first versions.

v1alpha1 and v1alpha2 are checked by the field tables of their last releases. Source: k8s.io/api of every release, and
the models of the ``kubernetes`` package (``schemas/generate.py``).
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any

from dractl.kube.gates import Release
from dractl.kube.quantity import Quantity, QuantityError
from dractl.rules import manifests as rules
from dractl.rules.finding import Severity
from dractl.validation.model import Fault, Json, Path, at, mapping, text
from dractl.validation.settings import GROUP, Settings

_LAST: Release = (9, 99)
_CLASSIC = ("ResourceClass", "ResourceClaim", "ResourceClaimTemplate")
_CURRENT = ("DeviceClass", "ResourceClaim", "ResourceClaimTemplate", "ResourceSlice")
CONVERT = "dractl convert"


@dataclass(frozen=True, slots=True)
class Life:
    """The first and the last release with a version of a kind."""

    first: Release
    last: Release = _LAST

    @property
    def removed(self) -> str:
        """The release that no longer has it."""
        return f"{self.last[0]}.{self.last[1] + 1}"


LIVES: dict[tuple[str, str], Life] = {
    **{("v1alpha1", kind): Life((1, 26), (1, 26)) for kind in _CLASSIC},
    ("v1alpha1", "PodScheduling"): Life((1, 26), (1, 26)),
    **{("v1alpha2", kind): Life((1, 27), (1, 30)) for kind in _CLASSIC},
    ("v1alpha2", "PodSchedulingContext"): Life((1, 27), (1, 30)),
    **{
        ("v1alpha2", kind): Life((1, 30), (1, 30))
        for kind in ("ResourceClaimParameters", "ResourceClassParameters", "ResourceSlice")
    },
    **{("v1alpha3", kind): Life((1, 31), (1, 33)) for kind in _CURRENT},
    ("v1alpha3", "PodSchedulingContext"): Life((1, 31), (1, 31)),
    ("v1alpha3", "DeviceTaintRule"): Life((1, 33)),
    ("v1alpha3", "ResourcePoolStatusRequest"): Life((1, 36)),
    **{("v1beta1", kind): Life((1, 32)) for kind in _CURRENT},
    **{("v1beta2", kind): Life((1, 33)) for kind in _CURRENT},
    ("v1beta2", "DeviceTaintRule"): Life((1, 36)),
    **{("v1", kind): Life((1, 34)) for kind in _CURRENT},
    ("v1", "DeviceTaintRule"): Life((1, 37)),
}
"""(version, kind) -> releases that have it."""

VERSIONS = tuple(dict.fromkeys(version for version, _ in LIVES))

_SUCCESSOR = {
    "ResourceClass": "a DeviceClass with a selector on device.driver takes its place",
    "ResourceClaim": "a claim now lists requests, each with a DeviceClass and selectors",
    "ResourceClaimTemplate": "a template now lists requests, each with a DeviceClass and selectors",
    "ResourceClaimParameters": "what it says is now written in the requests of the claim",
    "ResourceClassParameters": "what it says is now written in the DeviceClass (selectors and config)",
    "PodScheduling": "nothing takes its place: the scheduler allocates by itself",
    "PodSchedulingContext": "nothing takes its place: the scheduler allocates by itself",
    "ResourceSlice": "drivers of today publish their slices in v1 themselves",
    "DeviceClass": "v1 has the same fields",
}

_SHAPE = {
    ("v1beta1", "ResourceClaim"): "the apiVersion changes and the fields of its requests move under `exactly`",
    ("v1beta1", "ResourceClaimTemplate"): "the apiVersion changes and the fields of its requests move under `exactly`",
    ("v1beta1", "ResourceSlice"): "the apiVersion changes and what is under `basic` moves up",
}
"""What v1 wants besides another apiVersion."""

_GATED = {"DeviceTaintRule": "DRADeviceTaintRules", "ResourcePoolStatusRequest": "DRAResourcePoolStatus"}


@dataclass(slots=True)
class Standing:
    """How a version of a kind stands in a release.

    ``state`` is present, removed, future, unknown-version or unknown-kind. ``release`` is the one whose server knows
    the object, for checking it as that server would. ``modern`` says that the object has the shape of v1 already.
    """

    state: str
    version: str
    kind: str
    life: Life | None
    release: Release
    modern: bool = False


def standing(value: Json, settings: Settings) -> Standing:
    """Where an object of the group stands."""
    version = text(value.get("apiVersion")).rpartition("/")[2]
    kind = text(value.get("kind"))
    life = LIVES.get((version, kind))
    if life is None:
        state = "unknown-kind" if version in VERSIONS else "unknown-version"
        return Standing(state, version, kind, None, settings.release)
    if settings.release > life.last:
        return Standing("removed", version, kind, life, life.last)
    if settings.release < life.first:
        return Standing("future", version, kind, life, life.first)
    return Standing("present", version, kind, life, settings.release, _is_modern(value, kind))


def _is_modern(value: Json, kind: str) -> bool:
    """Whether requests or devices look as in v1, whatever the version says."""
    if kind == "ResourceSlice":
        devices = at(value, "spec", "devices")
        return isinstance(devices, list) and bool(devices) and not any(at(one, "basic") for one in devices)
    path: Path = ("spec", "spec") if kind == "ResourceClaimTemplate" else ("spec",)
    requests = at(value, *path, "devices", "requests")
    return isinstance(requests, list) and any(at(one, "exactly") for one in requests)


def version_faults(found: Standing, settings: Settings, source: str = "FILE") -> list[Fault]:
    """What is to be said of the version itself."""
    what = f"{GROUP}/{found.version} {found.kind}"
    if found.state == "unknown-version":
        return [_unknown_version(found, settings)]
    if found.state == "unknown-kind":
        return [_unknown_kind(found, settings)]
    assert found.life is not None
    if found.state == "removed":
        successor = _SUCCESSOR.get(found.kind, "")
        message = f"{what} was removed in Kubernetes {found.life.removed}" + (f"; {successor}" if successor else "")
        return [Fault(rules.REMOVED_VERSION, message, ("apiVersion",), hint=_convert_line(found, source))]
    if found.state == "future":
        first = f"{found.life.first[0]}.{found.life.first[1]}"
        message = f"{what} exists since Kubernetes {first}, not in {settings.version}"
        hint = _older_version(found, settings)
        return [Fault(rules.NOT_SERVED, message, ("apiVersion",), hint=hint, evidence={"state": "future"})]
    return _not_served(found, settings, source)


def _convert_line(found: Standing, source: str) -> str:
    gone = found.kind in ("PodScheduling", "PodSchedulingContext")
    return "remove the object" if gone else f"{CONVERT} {source}"


def _unknown_version(found: Standing, settings: Settings) -> Fault:
    newest = newest_version(found.kind, settings.release)
    message = f"{GROUP} has no version {found.version or '(none)'}"
    hint = f"apiVersion: {GROUP}/{newest}" if newest else f"{GROUP} has the versions {', '.join(VERSIONS)}"
    return Fault(rules.UNKNOWN_VERSION, message, ("apiVersion",), hint=hint)


def _unknown_kind(found: Standing, settings: Settings) -> Fault:
    kinds = sorted({kind for version, kind in LIVES if version == found.version})
    message = f"{GROUP}/{found.version} has no kind {found.kind}"
    close = closest(found.kind, kinds)
    others = [version for version, kind in LIVES if kind == found.kind]
    if others:
        newest = newest_version(found.kind, settings.release) or others[-1]
        return Fault(
            rules.UNKNOWN_KIND, f"{message}; it is in {', '.join(others)}", ("kind",), hint=f"{GROUP}/{newest}"
        )
    hint = f"kind: {close}" if close else f"{GROUP}/{found.version} has {', '.join(kinds)}"
    return Fault(rules.UNKNOWN_KIND, message + (f"; did you mean {close}?" if close else ""), ("kind",), hint=hint)


def newest_version(kind: str, release: Release) -> str:
    """The newest version of a kind that a release has (empty if none)."""
    order = ("v1", "v1beta2", "v1beta1", "v1alpha3", "v1alpha2", "v1alpha1")
    for version in order:
        life = LIVES.get((version, kind))
        if life is not None and life.first <= release <= life.last:
            return version
    return ""


def _older_version(found: Standing, settings: Settings) -> str:
    version = newest_version(found.kind, settings.release)
    if not version:
        return ""
    hint = f"{settings.version} has {GROUP}/{version} {found.kind}"
    if not served_by_default(version, found.kind, settings.release):
        gate = "" if settings.enabled("DynamicResourceAllocation") else " and gate DynamicResourceAllocation on"
        hint += f", where its API server runs with --runtime-config={GROUP}/{version}=true{gate}"
    return hint


def served_by_default(version: str, kind: str, release: Release) -> bool:
    """Whether an API server with default settings serves a version of a kind."""
    if kind == "DeviceTaintRule":
        return version == "v1" and release >= (1, 37)
    return version == "v1" and release >= (1, 34)


def _not_served(found: Standing, settings: Settings, source: str) -> list[Fault]:
    """A version that the release has but serves only if told to."""
    gate = _GATED.get(found.kind, "")
    if found.kind == "DeviceTaintRule" and settings.release < (1, 35):
        gate = "DRADeviceTaints"
    missing_gate = gate if gate and not settings.enabled(gate) else ""
    switched = settings.switched_on(found.version)
    served = switched if switched is not None else served_by_default(found.version, found.kind, settings.release)
    if served and not missing_gate:
        return []
    name = f"{GROUP}/{found.version}"
    wants = []
    if not served:
        wants.append(f"--runtime-config={name}=true")
    if missing_gate:
        wants.append(f"--feature-gates={missing_gate}=true")
    message = (
        f"Kubernetes {settings.version} knows {name} {found.kind} but does not serve it unless its API server runs "
        f"with {' and '.join(wants)}; by default kubectl and Helm answer: no matches for kind "
        f'"{found.kind}" in version "{name}"'
    )
    default = newest_version(found.kind, settings.release)
    instead = served_by_default(default, found.kind, settings.release)
    if instead and default != found.version:
        change = _SHAPE.get((found.version, found.kind), "only the apiVersion changes")
        if found.modern and found.version == "v1beta1":
            change = f"the object has the shape of {default} already, so that only the apiVersion changes"
        hint = (
            f"{settings.version} serves {GROUP}/{default} by default: {change}; {CONVERT} {source} or --fix does it. A "
            f'chart can ask which version is served: .Capabilities.APIVersions.Has "{GROUP}/{default}"'
        )
    else:
        hint = f"if your cluster has it switched on, say so: --runtime-config {name}=true" + (
            f" --gate {missing_gate}=true" if missing_gate else ""
        )
    early = settings.release < (1, 34)
    return [
        Fault(
            rules.NOT_SERVED,
            message,
            ("apiVersion",),
            hint=hint,
            severity=Severity.WARNING if early else None,
            evidence={"state": "not-served", "instead": default if instead else ""},
        )
    ]


_STEM = 6
"""A word of so many letters that only one known word begins with is taken for that word."""


def closest(name: str, known: list[str], limit: int = 3) -> str:
    """The most similar of the known words, or an empty text: capitals do not count, a few letters may differ."""
    if not name:
        return ""
    lowered = name.lower()
    best, best_distance = "", limit + 1
    for word in known:
        other = word.lower()
        if other == lowered:
            return word
        distance = _distance(lowered, other, best_distance)
        if distance < best_distance:
            best, best_distance = word, distance
    if best_distance <= min(limit, max(1, len(name) // 3)):
        return best
    longer = [word for word in known if len(name) >= _STEM and word.lower().startswith(lowered)]
    return longer[0] if len(longer) == 1 else ""


def _distance(first: str, second: str, limit: int) -> int:
    """Edits (with swapped neighbours as one) between two words; ``limit`` when it is at least that."""
    if abs(len(first) - len(second)) >= limit:
        return limit
    before_last: list[int] = []
    last = list(range(len(second) + 1))
    for i, a in enumerate(first, 1):
        row = [i]
        for j, b in enumerate(second, 1):
            cost = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (a != b))
            if i > 1 and j > 1 and a == second[j - 2] and first[i - 2] == b:
                cost = min(cost, before_last[j - 2] + 1)
            row.append(cost)
        before_last, last = last, row
    return min(last[-1], limit)


# --- v1alpha1 and v1alpha2 ------------------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def _types() -> dict[str, dict[str, dict[str, str]]]:
    loaded: dict[str, dict[str, dict[str, str]]] = json.loads(
        files("dractl.validation").joinpath("data/oldtypes.json").read_text("utf-8")
    )
    return loaded


_SCALARS: dict[str, tuple[type, ...]] = {"str": (str,), "bool": (bool,), "int": (int,), "object": (dict,)}
_WORDS = {"str": "a text", "bool": "true or false", "int": "a whole number", "object": "a mapping"}
_MODES = ("WaitForFirstConsumer", "Immediate")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d?:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")


def is_old(version: str) -> bool:
    """Whether a version is checked by the old field tables."""
    return version in ("v1alpha1", "v1alpha2")


def old_faults(value: Json, found: Standing) -> list[Fault]:
    """What the server of their time would have said of v1alpha1 and v1alpha2 objects."""
    types = _types()[found.version]
    checker = _OldChecker(types, f"{found.version} {found.kind}")
    checker.struct(value, found.kind, ())
    faults = checker.faults
    spec_path: Path = ("spec", "spec") if found.kind == "ResourceClaimTemplate" else ("spec",)
    mode = at(value, *spec_path, "allocationMode")
    if isinstance(mode, str) and mode not in _MODES and found.kind.startswith("ResourceClaim"):
        server = f'{".".join(map(str, spec_path))}.allocationMode: Unsupported value: "{mode}"'
        message = f"allocationMode was {' or '.join(_MODES)}, not {mode}"
        faults.append(Fault(rules.NOT_SUPPORTED, message, (*spec_path, "allocationMode"), server=server))
    nodes = at(value, "spec", "potentialNodes")
    if isinstance(nodes, list) and len(nodes) > 128:
        message = f"potentialNodes has {len(nodes)} entries, at most 128 were allowed"
        faults.append(Fault(rules.TOO_LONG, message, ("spec", "potentialNodes")))
    return faults


class _OldChecker:
    """Compares an object with a table of fields."""

    def __init__(self, types: dict[str, dict[str, str]], kind: str) -> None:
        self.types = types
        self.kind = kind
        self.faults: list[Fault] = []

    def struct(self, value: Any, name: str, path: Path) -> None:
        if not isinstance(value, dict):
            self._wrong(path, "a mapping", value)
            return
        fields = self.types[name]
        for key, item in value.items():
            kind = fields.get(key)
            if kind is None:
                self._unknown(key, path, fields)
            elif item is not None:
                self.value(item, kind.rstrip("!"), (*path, key))
        for key, kind in fields.items():
            if kind.endswith("!") and value.get(key) is None and "status" not in path:
                self._missing(key, (*path, key))

    def value(self, value: Any, kind: str, path: Path) -> None:
        if kind.startswith("list["):
            if not isinstance(value, list):
                self._wrong(path, "a list", value)
                return
            for index, item in enumerate(value):
                self.value(item, kind[5:-1], (*path, index))
        elif kind.startswith("dict(str, "):
            if not isinstance(value, dict):
                self._wrong(path, "a mapping", value)
                return
            for key, item in value.items():
                self.value(item, kind[10:-1], (*path, key))
        elif kind == "quantity":
            self._quantity(value, path)
        elif kind == "datetime":
            if not isinstance(value, str) or not _TIME.fullmatch(value):
                self._wrong(path, "a time such as 2024-01-31T12:00:00Z", value)
        elif kind in _SCALARS:
            if not isinstance(value, _SCALARS[kind]) or (kind == "int" and isinstance(value, bool)):
                self._wrong(path, _WORDS[kind], value)
        else:
            self.struct(value, kind, path)

    def _quantity(self, value: Any, path: Path) -> None:
        try:
            Quantity.parse(str(value))
        except QuantityError as err:
            self.faults.append(Fault(rules.BAD_QUANTITY, f"'{value}' is not a quantity", path, server=str(err)))

    def _unknown(self, key: str, path: Path, fields: dict[str, str]) -> None:
        close = closest(key, list(fields))
        also = f"; did you mean {close}?" if close else ""
        hint = ""
        if key == "parameters" and "parametersRef" in fields:
            also = ": it took parametersRef, a reference to an object of the driver's own kind"
            hint = "what it says becomes selectors and config of a request; dractl convert proposes them"
        message = f"{key} was never a field of {self.kind}{also}"
        server = f'unknown field "{".".join(map(str, (*path, key)))}"'
        self.faults.append(Fault(rules.UNKNOWN_FIELD, message, (*path, key), key=True, server=server, hint=hint))

    def _missing(self, key: str, path: Path) -> None:
        message = f"{key} is missing; {self.kind} needed it"
        self.faults.append(Fault(rules.REQUIRED, message, path, server=f"{'.'.join(map(str, path))}: Required value"))

    def _wrong(self, path: Path, wanted: str, value: Any) -> None:
        what = "a mapping" if isinstance(value, dict) else "a list" if isinstance(value, list) else repr(value)
        name = path[-1] if path else "the object"
        self.faults.append(Fault(rules.WRONG_TYPE, f"{name} has to be {wanted}, not {what}", path))


ONLY_131 = {
    "controller": "claims for a control plane controller are gone",
    "suitableNodes": "the nodes of devices are given by their slices",
}
"""Fields of v1alpha3 that only 1.31 had, and why."""


def only_131(value: Json) -> list[Path]:
    """Where an object of v1alpha3 uses fields that 1.32 no longer has."""
    spec: Path = ("spec", "spec") if value.get("kind") == "ResourceClaimTemplate" else ("spec",)
    return [(*spec, name) for name in ONLY_131 if at(value, *spec, name) is not None]


def gone_fault(path: Path) -> Fault:
    """A field that ended with 1.31."""
    name = str(path[-1])
    message = f"{name} has no counterpart since Kubernetes 1.32: {ONLY_131[name]}; it is dropped"
    return Fault(rules.REMOVED_VERSION, message, path, key=True, hint="leave it out")


def free_parameters(value: Json) -> dict[str, Any]:
    """What an object of the first versions says under ``parameters`` (a field that the API never had)."""
    found = mapping(value.get("parameters")) or mapping(at(value, "spec", "parameters"))
    return dict(found or mapping(at(value, "spec", "spec", "parameters")))
