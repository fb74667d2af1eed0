"""The API server's causes in a reader's words: rule, sentence and next step for each."""

from __future__ import annotations

import re
from typing import Any

from dractl.kube.drivers import STANDARD
from dractl.rules import manifests as rules
from dractl.rules.finding import Rule
from dractl.validation.errors import Cause
from dractl.validation.model import Fault, Json, Path, at, claim_view, dotted, entries, listing, mapping, text
from dractl.validation.versions import closest

_KINDS = {
    "FieldValueRequired": rules.REQUIRED,
    "FieldValueInvalid": rules.INVALID,
    "FieldValueNotSupported": rules.NOT_SUPPORTED,
    "FieldValueDuplicate": rules.DUPLICATE,
    "FieldValueTooLong": rules.TOO_LONG,
    "FieldValueTooMany": rules.TOO_LONG,
    "FieldValueForbidden": rules.FORBIDDEN,
    "FieldValueNotFound": rules.NOT_FOUND,
    "FieldValueTypeInvalid": rules.WRONG_TYPE,
}
_HEAD = re.compile(
    r"(?P<type>Required value|Invalid value|Unsupported value|Duplicate value|Too long|Too many|Too few|Forbidden|"
    r"Not found|Internal error)(?:: )?(?P<rest>.*)",
    re.DOTALL,
)
_NAME_TEXTS = (
    "RFC 1123",
    "C identifier",
    "must not contain dots",
    "name part",
    "prefix part",
    "must be no more than 63 characters",
    "must be no more than 253 characters",
    "qualified name",
)
_STANDARD_NAMES = ("pcieRoot", "pciBusID", "numaNode")
_ATTRIBUTE_KINDS = "bool, int, string, version (or a list)"
_QUOTED = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"')


_UNCHANGEABLE = (
    "field is immutable",
    "may not be changed",
    "pod updates may not",
    "can not be modified",
    "updates to statefulset spec",
)


def cause_fault(cause: Cause, value: Json) -> Fault:
    """The fault for one cause of a refusal."""
    rule = _rule(cause)
    sentence, hint = _sentence(rule, cause, value)
    fault = Fault(rule, sentence, cause.path, hint=hint, server=str(cause))
    _add_places(fault, cause, value)
    return fault


def _rule(cause: Cause) -> Rule:
    message = cause.message
    if "only one of `sharedCounters` or `devices`" in message:
        return rules.COUNTERS_AND_DEVICES
    if "does not match template" in message:
        return rules.SELECTOR_LABELS
    if "admin-access" in message:
        return rules.ADMIN_LABEL
    if any(words in message for words in _UNCHANGEABLE):
        return rules.IMMUTABLE
    if "semver.org" in message:
        return rules.BAD_VERSION_VALUE
    if "exactly one" in message or "must specify one of" in message or "at most one of" in message:
        return rules.ONE_OF
    if cause.reason == "FieldValueInvalid" and any(word in message for word in _NAME_TEXTS):
        return rules.BAD_NAME
    if cause.reason == "FieldValueInvalid" and "must be the name of a request" in message:
        return rules.NOT_FOUND
    return _KINDS.get(cause.reason, rules.BAD_REQUEST)


def split_message(message: str) -> tuple[str, str, str]:
    """Type, bad value and detail of the server's text; empty where there is none."""
    match = _HEAD.match(message)
    if match is None:
        return "", "", message
    kind, rest = match["type"], match["rest"]
    if kind in ("Required value", "Forbidden", "Too long", "Internal error"):
        return kind, "", rest
    quoted = _QUOTED.match(rest)
    if quoted:
        return kind, quoted.group(), rest[quoted.end() :].removeprefix(": ")
    bad, _, detail = rest.partition(": ")
    if rest[:1] in "{[":
        cut = rest.rfind("}: " if rest[0] == "{" else "]: ")
        if cut >= 0:
            bad, detail = rest[: cut + 1], rest[cut + 3 :]
    return kind, bad, detail


def _name(path: Path) -> str:
    """The last name of a path, with the index if it ends in one."""
    if not path:
        return "the object"
    if isinstance(path[-1], int):
        return f"{_name(path[:-1])}[{path[-1]}]"
    return str(path[-1])


def _sentence(rule: Rule, cause: Cause, value: Json) -> tuple[str, str]:
    _, bad, detail = split_message(cause.message)
    name = _name(cause.path)
    special = _attribute(rule, cause, value) or _known_rule(rule, cause, value, bad)
    if special is not None:
        return special
    if rule is rules.REQUIRED:
        return f"{name} is missing" + (f": {detail}" if detail else ""), ""
    if rule is rules.NOT_SUPPORTED:
        return _unsupported(name, bad, detail)
    if rule is rules.DUPLICATE:
        return f"{bad or 'an entry'} is there twice in {_name(_list_of(cause.path))}", ""
    if rule is rules.TOO_LONG:
        return _too_long(cause, value, detail)
    if rule is rules.BAD_NAME:
        return _bad_name(name, bad, detail, at(value, *cause.path))
    if rule is rules.ONE_OF:
        return f"{name}: {detail}", ""
    if rule is rules.NOT_FOUND and "must be the name of a request" in detail:
        return _no_request(bad, value)
    if rule is rules.NOT_FOUND and "pod.spec.resourceClaims" in detail:
        return _no_entry(bad.strip('"'), cause.path, value)
    if rule is rules.NOT_FOUND:
        return f"{bad} is not there: {detail}" if detail else f"{name} {bad} is not there", ""
    if "valid JSON object" in detail:
        return f"{name} has to be a mapping, as JSON has it", "write the fields below it, or leave it out"
    shown = f" (it is {bad})" if bad and bad != '""' and len(bad) <= 60 else ""
    return f"{name}: {(detail or cause.message).partition(' (e.g. ')[0]}{shown}", ""


def _no_entry(bad: str, path: Path, value: Json) -> tuple[str, str]:
    """A container's claim that is not among those of the pod."""
    place = next((index for index, step in enumerate(path) if step in ("containers", "initContainers")), len(path))
    container = text(at(value, *path[: place + 2], "name")) or "a container"
    names = [text(item.get("name")) for _, item in entries(at(value, *path[:place], "resourceClaims"))]
    sentence = f"container {container} wants claim {bad}, which the pod's resourceClaims do not have"
    close = closest(bad, names)
    if close:
        return f"{sentence}; did you mean {close}?", f"write {close}, or rename the entry of resourceClaims"
    if names:
        return sentence, f"resourceClaims has {', '.join(names)}"
    hint = f"resourceClaims: [{{name: {bad}, resourceClaimTemplateName: ...}}] beside containers"
    return f"container {container} wants claim {bad}, and the pod has no resourceClaims", hint


def _no_request(bad: str, value: Json) -> tuple[str, str]:
    """A constraint or config for a request that the claim does not have."""
    view = claim_view(value)
    names = sorted(view.names) if view is not None else []
    close = closest(bad.strip('"'), names)
    sentence = f"the claim has no request {bad}" + (f"; did you mean {close}?" if close else "")
    return sentence, f"it has {', '.join(names)}" if names else "it has no requests"


def _list_of(path: Path) -> Path:
    for index in range(len(path) - 1, -1, -1):
        if isinstance(path[index], int):
            return path[:index]
    return path


def _unsupported(name: str, bad: str, detail: str) -> tuple[str, str]:
    supported = [word.strip('"') for word in _QUOTED.findall(detail.removeprefix("supported values: "))]
    close = closest(bad.strip('"'), supported)
    sentence = f"{name} {bad} is none of {', '.join(supported)}" if supported else f"{name} {bad} is not supported"
    return sentence + (f"; did you mean {close}?" if close else ""), f"write {name}: {close}" if close else ""


def _too_long(cause: Cause, value: Json, detail: str) -> tuple[str, str]:
    found = at(value, *cause.path)
    limit = re.search(r"(\d+)", detail)
    most = limit.group(1) if limit else "fewer"
    name = _name(cause.path)
    if isinstance(found, str):
        return f"{name} has {len(found.encode('utf-8', 'surrogatepass'))} bytes, at most {most} are allowed", ""
    if isinstance(found, list | dict):
        return f"{name} has {len(found)} entries, at most {most} are allowed", ""
    return f"{name} is too long: {detail}", ""


def _bad_name(name: str, bad: str, detail: str, found: Any) -> tuple[str, str]:
    rule = detail.partition(" (e.g.")[0]
    if "separated by a slash" in detail and isinstance(found, str):
        example = (
            f"{STANDARD}/{found}" if found in _STANDARD_NAMES else f"DRIVER/{found}, such as gpu.example.com/{found}"
        )
        return f"{name} {bad} lacks the domain: an attribute is named DOMAIN/NAME here", f"write {example}"
    sentence = f"{name} {bad}: {rule}" if bad else f"{name}: {rule}"
    if isinstance(found, str) and "{{" in found:
        return sentence, "this looks like a template that was not rendered: helm template CHART | dractl validate -"
    if isinstance(found, str) and found and "RFC 1123" in detail:
        better = re.sub(r"[^a-z0-9.-]+", "-", found.lower()).strip("-.")
        if better and better != found:
            return sentence, f"for example {better}"
    return sentence, ""


def _known_rule(rule: Rule, cause: Cause, value: Json, bad: str) -> tuple[str, str] | None:
    """Rules with their own words."""
    if rule is rules.COUNTERS_AND_DEVICES:
        pool = mapping(at(value, "spec", "pool"))
        return (
            "since Kubernetes 1.35 a slice holds sharedCounters or devices, not both",
            f"move the counters to a slice of their own in pool {pool.get('name', '')} with the same generation "
            f"({pool.get('generation', 0)}); both then say resourceSliceCount: "
            f"{_plus_one(pool.get('resourceSliceCount'))}. 1.34 took both in one (with DRAPartitionableDevices): a "
            "driver built for it publishes nothing on 1.35 and newer",
        )
    if rule is rules.SELECTOR_LABELS:
        return _selector_labels(cause, value)
    if rule is rules.ADMIN_LABEL:
        space = text(at(value, "metadata", "namespace")) or "default"
        sentence = f"adminAccess is refused: namespace {space} lacks the label resource.kubernetes.io/admin-access=true"
        return sentence, f'kubectl label namespace {space} resource.kubernetes.io/admin-access="true"'
    if "must be a valid extended resource name" in cause.message:
        sentence = f"{_name(cause.path)} {bad} is no extended resource name"
        return (
            sentence,
            "write DOMAIN/NAME such as example.com/gpu; not below kubernetes.io, not starting with requests.",
        )
    if rule is rules.IMMUTABLE:
        kind = text(value.get("kind"))
        what = f"the {kind}" if kind in ("Pod", "Job", "StatefulSet") else "the object"
        if "add or remove containers" in cause.message:
            return f"containers cannot be added or taken away once {what} exists", f"delete {what} and make it anew"
        return f"{_name(cause.path)} cannot be changed once {what} exists", f"delete {what} and make it anew"
    return None


def _plus_one(value: Any) -> int:
    return value + 1 if isinstance(value, int) else 2


def _selector_labels(cause: Cause, value: Json) -> tuple[str, str]:
    labels = mapping(at(value, "spec", "template", "metadata", "labels"))
    selector = mapping(at(value, "spec", "selector", "matchLabels"))
    has = ", ".join(f"{k}={v}" for k, v in labels.items()) or "none"
    if not selector:
        name = text(at(value, "metadata", "name")) or "NAME"
        return (
            f"the template's labels ({has}) match no selector: spec.selector is not set",
            f"spec: selector: matchLabels: {{app: {name}}} and the same labels in spec.template.metadata.labels",
        )
    wants = ", ".join(f"{k}={v}" for k, v in selector.items())
    return f"the template's labels ({has}) do not match the selector ({wants})", f"give the template the labels {wants}"


def _attribute(rule: Rule, cause: Cause, value: Json) -> tuple[str, str] | None:
    """Attributes of devices in a slice."""
    if "attributes" not in cause.path or value.get("kind") != "ResourceSlice":
        return None
    index = cause.path.index("attributes")
    if len(cause.path) <= index + 1:
        return None
    name = str(cause.path[index + 1])
    inner = mapping(at(value, *cause.path[: index + 2]))
    field = str(cause.path[index + 2]) if len(cause.path) > index + 2 else ""
    refused = "the whole slice is refused, its other devices are not published either"
    if rule is rules.TOO_LONG and isinstance(inner.get(field), str):
        size = len(inner[field].encode("utf-8", "surrogatepass"))
        limit = re.search(r"(\d+)", cause.message)
        most = limit.group(1) if limit else "64"
        sentence = f"the {field} of attribute {name} has {size} bytes, at most {most} are allowed"
        return sentence, f"{refused}; the driver has to shorten the text or leave it out"
    if rule is rules.ONE_OF:
        given = ", ".join(sorted(inner))
        what = f"has several values ({given})" if given else "has no value"
        return f"attribute {name} {what}: exactly one of {_ATTRIBUTE_KINDS} is wanted", f"{refused}"
    if rule is rules.BAD_VERSION_VALUE:
        found = text(inner.get(field)) or text(at(value, *cause.path))
        parts = found.split("-")[0].split("+")[0].split(".")
        why = f" ({_COUNTS.get(len(parts), str(len(parts)))} parts)" if len(parts) != 3 else ""
        if found.startswith("v"):
            why = " (a leading v)"
        elif not why and any(part.isdigit() and len(part) > 1 and part[0] == "0" for part in parts):
            why = " (a leading zero)"
        sentence = f"{name}: {found} is not a semantic version{why}"
        return sentence, "publish three parts as version and the full text as a string attribute"
    return None


_COUNTS = {1: "one", 2: "two", 4: "four", 5: "five"}


def _add_places(fault: Fault, cause: Cause, value: Json) -> None:
    """Other lines that a fault is about."""
    if fault.rule is rules.COUNTERS_AND_DEVICES:
        fault.path, fault.key = ("spec", "sharedCounters"), True
        fault.also = (("spec", "devices"),)
    elif fault.rule is rules.DUPLICATE and cause.path:
        first = _first_twin(cause.path, value)
        if first is not None:
            fault.also = (first,)
            fault.evidence["first"] = dotted(first)


def _first_twin(path: Path, value: Json) -> Path | None:
    """The earlier entry of the same name."""
    base = _list_of(path)
    if len(base) == len(path):
        return None
    index = path[len(base)]
    items = listing(at(value, *base))
    assert isinstance(index, int)
    if index >= len(items):
        return None
    mine = items[index]
    for number, item in enumerate(items[:index]):
        if item == mine or any(
            key in mapping(item) and mapping(item).get(key) == mapping(mine).get(key) for key in ("name", "counterSet")
        ):
            return (*base, number)
    return None
