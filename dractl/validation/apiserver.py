"""What the Kubernetes API server would say of an object: accept, change or refuse it, in its own words.

``admit`` does what the server does with a create or an update request: strict decoding, defaults, dropping of fields
whose gate is off, conversion, the rules, and the form that is stored. Nothing is read from a cluster. Source: the
registry strategies, validation and conversion of Kubernetes 1.34.4, 1.35.4, 1.36.2 and 1.37.2.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from dractl.kube import gates as feature_gates
from dractl.validation import convert, declarative, gated, pod_defaults
from dractl.validation.decoding import DecodeAbort, DecodeProblem, DecodeState
from dractl.validation.errors import Cause, Path
from dractl.validation.gotext import quote
from dractl.validation.gotypes import TypeTable, table
from dractl.validation.semantic import KINDS, meta, pod
from dractl.validation.semantic import slice as slice_rules
from dractl.validation.semantic.scope import Scope

Json = dict[str, Any]

CREATED, BAD_REQUEST, NOT_FOUND, INVALID, SERVER_ERROR = 201, 400, 404, 422, 500
DECLARATIVE_SINCE = 37
"""The first minor release that enforces declarative rules of the DRA kinds (some kinds of their own before)."""
NOW = "(time of creation)"
"""Stands in stored objects for the server's clock."""

_GATED_KINDS = {"DeviceTaintRule": "DRADeviceTaintRules", "ResourcePoolStatusRequest": "DRAResourcePoolStatus"}
_COUNTED_KINDS = (
    "DeviceClass",
    "ResourceSlice",
    "DeviceTaintRule",
    "Pod",
    "DaemonSet",
    "Deployment",
    "StatefulSet",
    "Job",
    "CronJob",
)
_NO_KIND = 'in scheme "k8s.io/kubernetes/pkg/api/legacyscheme/scheme.go:30"'


@dataclass(frozen=True, slots=True)
class Request:
    """What the server knows of a request besides the object."""

    namespace: str | None = None
    """Namespace in the URL; None takes the object's, or ``default``."""
    namespace_labels: Mapping[str, str] | None = None
    """Labels of that namespace; None where they are not known, then admin access is not refused for want of one."""
    serve_gated: bool = False
    """Treat kinds as served whose API is behind a gate that is off."""
    duplicates: frozenset[Path] = frozenset()
    """Paths of keys that occur more than once in the text, which plain data cannot show."""
    now: str = NOW
    admission: bool = True
    """Whether the default admission plugins run, which add tolerations and a priority to pods."""


DEFAULT_REQUEST = Request()


@dataclass(slots=True)
class Verdict:
    """The answer. ``message`` is the whole text of a refusal; ``causes`` its parts for a 422.

    ``decoding`` lists what is wrong for a 400, with paths. ``dropped`` names fields that are lost because a gate is
    off: (path as written, gate). ``gate`` is the gate that hides the whole kind, for a 404.
    """

    code: int
    reason: str = ""
    message: str | None = None
    causes: list[Cause] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    decoding: list[DecodeProblem] = field(default_factory=list)
    dropped: list[tuple[Path, str]] = field(default_factory=list)
    gate: str = ""
    partial: bool = False
    """Whether the kind has rules of the server that are not checked (pods and workloads)."""
    _stored: _Stored | None = None

    @property
    def accepted(self) -> bool:
        """Whether the server takes the object."""
        return self.code == CREATED

    @property
    def stored(self) -> Json | None:
        """The object as stored, in the version of the request and without metadata; None when it is refused."""
        return self._stored.make() if self._stored is not None else None


@dataclass(slots=True)
class _Stored:
    """What is needed to show the stored form, made only when asked for."""

    api_version: str
    kind: str
    internal: Json
    types: TypeTable
    struct: str

    def make(self) -> Json:
        external = convert.from_internal(self.api_version, self.kind, self.internal)
        out: Json = self.types.struct(self.struct).encode(external)
        out.pop("metadata", None)
        out["apiVersion"], out["kind"] = self.api_version, self.kind
        return out


def admit(
    obj: Any,
    *,
    release: tuple[int, int] = (1, 36),
    gates: Mapping[str, bool] | None = None,
    old: Any = None,
    strict: bool = True,
    request: Request = DEFAULT_REQUEST,
) -> Verdict:
    """Put an object to the API server of a release.

    Args:
        obj: the object as plain data (from JSON or YAML); not changed.
        release: major and minor of Kubernetes.
        gates: feature gates that differ from the release's defaults.
        old: the object as it is now, for an update. A missing resourceVersion is taken over from it.
        strict: whether unknown and repeated fields are errors (field validation Strict) or warnings (Warn).
        request: what else the server knows.
    """
    types = table(release[1])
    found = _identify(obj, types)
    if isinstance(found, Verdict):
        return found
    api_version, kind, facts = found
    gate = _GATED_KINDS.get(kind, "")
    enabled = _gates(types.minor, tuple(sorted(gates.items())) if gates else ())
    if gate and not request.serve_gated and gate in enabled and not enabled[gate]:
        return Verdict(NOT_FOUND, "NotFound", _NOT_FOUND_TEXT, gate=gate)
    warnings = _deprecation(api_version, kind, facts, types.minor)
    state = DecodeState(request.duplicates)
    decoded = _decode(obj, types, facts["type"], state, api_version, kind)
    if isinstance(decoded, Verdict):
        decoded.warnings = warnings
        return decoded
    if state.strict:
        texts = [problem.text for problem in state.strict]
        if strict:
            verdict = _bad_request(api_version, kind, f"strict decoding error: {', '.join(texts)}", state.strict)
            verdict.warnings = warnings
            return verdict
        warnings = [*warnings, *texts]
    rules = KINDS[kind]
    meta_data = decoded.setdefault("metadata", {})
    mismatch = _settle_namespace(meta_data, rules.namespaced, request)
    if old is None and meta_data.get("generateName") and not meta_data.get("name"):
        meta_data["name"] = meta.generated_name(meta_data["generateName"])
    if mismatch is not None:
        mismatch.warnings = warnings
        return mismatch
    rules.defaults(api_version, kind, decoded, request.now, types.minor)
    internal = convert.to_internal(api_version, kind, decoded)
    scope = Scope(types.minor, enabled, types, request.namespace_labels)
    before: Json | None = None
    if old is not None:
        decoded_old = _decode_old(old, types, request)
        if isinstance(decoded_old, Verdict):
            return decoded_old
        before = decoded_old
        _prepare_update(kind, internal, before, request.now)
    else:
        _prepare_create(kind, internal)
    dropped = gated.drop_disabled(kind, internal, before, enabled, types.minor)
    if before is None:
        rules.check(scope, internal)
    else:
        _check_common_update(scope, internal, before, rules.namespaced)
        rules.check_update(scope, internal, before)
    if scope.crash:
        return Verdict(SERVER_ERROR, "InternalError", scope.crash, warnings=warnings)
    places = [(convert.original_path(api_version, kind, path), gate) for path, gate in dropped]
    causes = _located(api_version, kind, scope.errors.causes)
    if types.minor >= DECLARATIVE_SINCE and facts["type"].startswith("resource/"):
        causes = _with_declared(causes, (api_version, kind, facts["type"]), internal, before, scope)
    if causes:
        verdict = _invalid(api_version, kind, internal, causes)
        verdict.warnings = warnings
        verdict.dropped = places
        verdict.partial = rules.partial
        return verdict
    warnings = warnings + rules.warnings(internal, types.minor)
    if before is None and rules.partial:
        warnings += pod.name_warnings(internal, kind)
    if kind == "Pod" and before is None and request.admission:
        pod_defaults.admit_pod(internal["spec"])
    stored = _Stored(api_version, kind, internal, types, facts["type"])
    return Verdict(CREATED, warnings=warnings, dropped=places, partial=rules.partial, _stored=stored)


_NOT_FOUND_TEXT = "the server could not find the requested resource"


@lru_cache(maxsize=64)
def _gates(minor: int, settings: tuple[tuple[str, bool], ...]) -> Mapping[str, bool]:
    return MappingProxyType(feature_gates.enabled((1, minor), dict(settings)))


def _identify(obj: Any, types: TypeTable) -> tuple[str, str, dict[str, Any]] | Verdict:
    """apiVersion, kind and the facts about the kind."""
    if not isinstance(obj, dict):
        text = "couldn't get version/kind; json parse error: json: cannot unmarshal object of another kind"
        return Verdict(BAD_REQUEST, "BadRequest", text)
    for name in ("apiVersion", "kind"):
        value = obj.get(name)
        if value is not None and not isinstance(value, str):
            what = DecodeState()
            what.type_error(value, "string", None)
            assert what.wrong_type is not None
            found = what.wrong_type.text.split(" into ")[0]
            text = f"couldn't get version/kind; json parse error: {found} into Go struct field .{name} of type string"
            return Verdict(BAD_REQUEST, "BadRequest", text, decoding=[DecodeProblem("wrong type", text, (name,))])
    kind = obj.get("kind") or ""
    api_version = obj.get("apiVersion") or _newest_version(kind, types)
    if not kind:
        text = f"Object 'Kind' is missing in {quote(api_version)}"
        return Verdict(BAD_REQUEST, "BadRequest", text, decoding=[DecodeProblem("missing", text, ("kind",))])
    facts = types.kind(api_version, kind)
    if facts is not None and kind in KINDS:
        return api_version, kind, facts
    near = _singular(kind, types.kinds_of(api_version))
    if near is not None:
        version = api_version.rpartition("/")[2]
        text = (
            f'{kind} in version "{version}" cannot be handled as a {near}: '
            f'no kind "{kind}" is registered for version "{api_version}" {_NO_KIND}'
        )
        problem = DecodeProblem("unknown kind", text, ("kind",))
        warnings = _deprecation(api_version, near, types.kind(api_version, near) or {}, types.minor)
        return Verdict(BAD_REQUEST, "BadRequest", text, warnings=warnings, decoding=[problem])
    where: Path = ("kind",) if types.kinds_of(api_version) else ("apiVersion",)
    return Verdict(
        NOT_FOUND, "NotFound", _NOT_FOUND_TEXT, decoding=[DecodeProblem("not served", _NOT_FOUND_TEXT, where)]
    )


def _singular(kind: str, known: Iterable[str]) -> str | None:
    """The kind that a misspelt one was most likely sent to."""
    lowered = kind.lower()
    for name in known:
        if lowered in (name.lower(), name.lower() + "s", name.lower() + "es"):
            return name
    return None


def _newest_version(kind: str, types: TypeTable) -> str:
    versions = types.versions_of(kind)
    return min(versions, key=lambda version: ("alpha" in version, "beta" in version, version)) if versions else ""


def _deprecation(api_version: str, kind: str, facts: dict[str, Any], minor: int) -> list[str]:
    deprecated = facts.get("deprecated")
    if not deprecated or tuple(deprecated) > (1, minor):
        return []
    text = f"{api_version} {kind} is deprecated in v{deprecated[0]}.{deprecated[1]}+"
    if facts.get("removed"):
        text += f", unavailable in v{facts['removed'][0]}.{facts['removed'][1]}+"
    if facts.get("replacement"):
        text += f"; use {facts['replacement']}"
    return [text]


def _decode(
    obj: Json, types: TypeTable, struct: str, state: DecodeState, api_version: str, kind: str
) -> Json | Verdict:
    try:
        decoded: Json = types.struct(struct).decode(obj, None, state)
    except DecodeAbort as abort:
        return _bad_request(api_version, kind, abort.problem.text, [abort.problem])
    if state.wrong_type is not None:
        return _bad_request(api_version, kind, state.wrong_type.text, [state.wrong_type])
    return decoded


def _bad_request(api_version: str, kind: str, text: str, problems: list[DecodeProblem]) -> Verdict:
    version = api_version.rpartition("/")[2]
    message = f'{kind} in version "{version}" cannot be handled as a {kind}: {text}'
    return Verdict(BAD_REQUEST, "BadRequest", message, decoding=problems)


def _settle_namespace(meta_data: Json, namespaced: bool, request: Request) -> Verdict | None:
    """The namespace of the URL goes into the object."""
    if not namespaced:
        meta_data.pop("namespace", None)
    elif not meta_data.get("namespace"):
        meta_data["namespace"] = request.namespace or "default"
    elif request.namespace is not None and meta_data["namespace"] != request.namespace:
        text = "the namespace of the provided object does not match the namespace sent on the request"
        return Verdict(
            BAD_REQUEST, "BadRequest", text, decoding=[DecodeProblem("namespace", text, ("metadata", "namespace"))]
        )
    return None


def _decode_old(old: Any, types: TypeTable, request: Request) -> Json | Verdict:
    """The object as it is now, in the internal form."""
    found = _identify(old, types)
    if isinstance(found, Verdict):
        return found
    api_version, kind, facts = found
    state = DecodeState()
    decoded = _decode(old, types, facts["type"], state, api_version, kind)
    if isinstance(decoded, Verdict):
        return decoded
    rules = KINDS[kind]
    _settle_namespace(decoded.setdefault("metadata", {}), rules.namespaced, Request())
    rules.defaults(api_version, kind, decoded, request.now, types.minor)
    return convert.to_internal(api_version, kind, decoded)


def _prepare_create(kind: str, internal: Json) -> None:
    internal.pop("status", None)
    if kind == "Pod":
        internal["status"] = pod_defaults.pod_status(internal["spec"])
    elif kind == "Job":
        pod_defaults.job_selector(internal)
    if kind in _COUNTED_KINDS:
        internal["metadata"]["generation"] = 1


def _prepare_update(kind: str, internal: Json, old: Json, now: str) -> None:
    """What an update cannot change is taken over from the old object."""
    data, before = internal["metadata"], old["metadata"]
    if "generation" in before:
        data["generation"] = before["generation"]
    else:
        data.pop("generation", None)
    internal.pop("status", None)
    if "status" in old:
        internal["status"] = old["status"]
    if kind == "DeviceTaintRule":
        taint, taint_before = internal["spec"]["taint"], old["spec"]["taint"]
        if taint.get("effect") != taint_before.get("effect") and taint["timeAdded"] == taint_before["timeAdded"]:
            taint["timeAdded"] = now
    if not data.get("resourceVersion"):
        data["resourceVersion"] = before.get("resourceVersion") or "1"
    if not data.get("uid") and before.get("uid"):
        data["uid"] = before["uid"]
    for name in ("creationTimestamp", "deletionTimestamp"):
        if before.get(name):
            data[name] = before[name]
    if "deletionGracePeriodSeconds" in before:
        data.setdefault("deletionGracePeriodSeconds", before["deletionGracePeriodSeconds"])


def _check_common_update(scope: Scope, internal: Json, old: Json, namespaced: bool) -> None:
    """Rules for metadata that hold for every update."""
    meta.check_metadata(scope.errors, internal["metadata"], meta.path_segment_rule, namespaced, scope.types)
    meta.check_metadata_update(scope.errors, internal["metadata"], old["metadata"], scope.types)


def _located(api_version: str, kind: str, causes: list[Cause]) -> list[Cause]:
    """Causes with places in the object as it was written."""
    out = []
    for cause in causes:
        path = convert.original_path(api_version, kind, cause.path)
        out.append(cause if path is cause.path else Cause(cause.field, cause.reason, cause.message, path))
    return out


def _with_declared(
    causes: list[Cause], what: tuple[str, str, str], internal: Json, before: Json | None, scope: Scope
) -> list[Cause]:
    """The handwritten rules' causes and the declarative ones, which take the place of those that say the same."""
    api_version, kind, struct = what
    external = convert.from_internal(api_version, kind, internal)
    old = None if before is None else convert.from_internal(api_version, kind, before)
    option = "DRAPartitionableDevicesType"
    beta = scope.gates.get("DeclarativeValidationBeta", True)
    declared = declarative.declared_causes(struct, external, old, scope.types, {option: scope.on(option)}, beta)
    covered = {(declarative.normalized(cause.field), cause.reason) for cause, mark in declared if mark == "beta"}
    kept = [cause for cause in causes if (cause.field, cause.reason) not in covered or _is_own(cause)]
    return kept + [cause for cause, _ in declared]


def _is_own(cause: Cause) -> bool:
    """Whether no declarative rule says what a handwritten one says, although there may be one for the same field."""
    if cause.field == "metadata.name":
        return cause.message.endswith(meta.IMMUTABLE) or ": may not " in cause.message
    return cause.message.endswith(slice_rules.NEEDS_STRING)


def _invalid(api_version: str, kind: str, internal: Json, causes: list[Cause]) -> Verdict:
    mapped = list({(cause.field, cause.reason, cause.message): cause for cause in reversed(causes)}.values())[::-1]
    group = api_version.rpartition("/")[0]
    texts = list(dict.fromkeys(str(cause) for cause in mapped))
    listed = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    qualified = f"{kind}.{group}" if group else kind
    name = internal["metadata"].get("name", "")
    return Verdict(INVALID, "Invalid", f"{qualified} {quote(name)} is invalid: {listed}", mapped)
