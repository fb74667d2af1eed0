"""JSON of any served API version -> the objects of ``dractl.kube.objects``.

Kinds of resource.k8s.io are read from v1, v1beta2, v1beta1 and v1alpha3; Pods, Nodes, Namespaces and Events from v1
(Events also from events.k8s.io). Everything else, also a known kind in a version that is not known, becomes a
GenericObject. Values are taken as they are: nothing is validated beyond its type, and API defaults are only filled in
when asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from dractl.kube import decode_core, decode_resource, reader
from dractl.kube.objects import GenericObject, Json, KubeObject, Origin
from dractl.kube.reader import FieldError, Unknown

_Reader = Callable[[Json, str, Unknown], KubeObject]

_RESOURCE_VERSIONS = ("v1", "v1beta2", "v1beta1", "v1alpha3")
_READERS: dict[tuple[str, str], _Reader] = {
    ("v1", "Pod"): decode_core.pod,
    ("v1", "Node"): decode_core.node,
    ("v1", "Namespace"): decode_core.namespace,
    ("v1", "Event"): decode_core.event,
    ("events.k8s.io/v1", "Event"): decode_core.event,
    **{
        (f"resource.k8s.io/{version}", kind): read
        for version in _RESOURCE_VERSIONS
        for kind, read in decode_resource.READERS.items()
    },
}


class DecodeError(ValueError):
    """An object cannot be read: ``path`` is the field, ``message`` what is wrong with it, ``origin`` the place."""

    def __init__(self, path: str, message: str, origin: Origin | None = None, subject: str = "") -> None:
        place = f"{origin}: " if origin else ""
        what = f"{subject}: " if subject else ""
        super().__init__(f"{place}{what}{path + ': ' if path else ''}{message}")
        self.path = path
        self.message = message
        self.origin = origin
        self.subject = subject
        """``Kind namespace/name``, as far as it could be read."""


@dataclass(slots=True)
class DecodeReport:
    """What was noticed while reading: the paths of unknown fields, each with the object (``Kind ns/name``) it is in."""

    unknown: list[tuple[str, str]] = field(default_factory=list)


def decode(
    body: Json,
    origin: Origin | None = None,
    *,
    strict: bool = False,
    report: DecodeReport | None = None,
    defaults: bool = False,
) -> KubeObject:
    """Read one object.

    Args:
        body: the object as JSON; it must not be changed afterwards, parts of it are kept.
        origin: where it came from, kept in the result and named in errors.
        strict: raise for the first field that the API does not have.
        report: takes note of such fields.
        defaults: fill in allocationMode, count and toleration operators as the API server does on create.

    Raises:
        DecodeError: when a field has a wrong type, or with ``strict`` when it does not exist.
    """
    if not isinstance(body, dict):
        raise DecodeError("", f"expected an object, got {reader.kind_of(body)}", origin)
    unknown = Unknown()
    try:
        version = reader.text(body, "apiVersion", "")
        kind = reader.text(body, "kind", "")
        if not kind:
            raise FieldError("kind", "is missing, so this is no Kubernetes object")
        read = _READERS.get((version, kind))
        if read is None:
            meta = decode_core.meta(body, Unknown())
            return GenericObject(api_version=version, kind=kind, meta=meta, body=body, origin=origin)
        decoded = read(body, version, unknown)
    except FieldError as error:
        raise DecodeError(error.path, error.message, origin, subject(body)) from None
    if unknown.paths:
        if strict:
            raise DecodeError(unknown.paths[0], f"no such field in {version}", origin, subject(body))
        if report is not None:
            name = subject(body)
            report.unknown.extend((name, path) for path in unknown.paths)
    if defaults:
        decode_resource.apply_defaults(decoded)
    decoded.origin = origin
    return decoded


def subject(body: Json) -> str:
    """``Kind namespace/name`` of an object as far as it can be told."""
    meta = body.get("metadata")
    meta = meta if isinstance(meta, dict) else {}
    name = meta.get("name") or (f"{meta['generateName']}*" if meta.get("generateName") else "(unnamed)")
    namespace = meta.get("namespace")
    return f"{body.get('kind') or 'object'} {f'{namespace}/' if namespace else ''}{name}"
