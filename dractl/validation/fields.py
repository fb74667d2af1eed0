"""Fields that a kind does not have: where they belong, and what was meant.

Everything is looked up in the table of types, so it holds for any kind and version.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from dractl.kube.gates import NEWEST, Release
from dractl.rules import advice
from dractl.rules import manifests as rules
from dractl.validation.gotypes import ListType, MapType, PointerType, RawType, StructType, Type, TypeTable, table
from dractl.validation.model import Fault, Json, Path, at, dotted, mapping, text
from dractl.validation.versions import closest

_MAX_DEPTH = 14
_OLD_FIELDS = {
    "resourceClassName": "of the API up to 1.30 (v1alpha1, v1alpha2)",
    "parametersRef": "of the API up to 1.30 (v1alpha1, v1alpha2)",
    "parameters": "",
    "driverName": "of the API up to 1.30 (v1alpha1, v1alpha2)",
    "structuredParameters": "of the API of 1.30 (v1alpha2)",
    "namedResources": "of the API of 1.30 (v1alpha2)",
    "suitableNodes": "of the API up to 1.31",
    "controller": "of the API of 1.31 only",
    "basic": "of v1alpha3 and v1beta1; since v1beta2 its fields stand directly in the device",
}
_WHOLE = re.compile(r"-?[0-9]{1,18}")
_EXACTLY = frozenset(
    {"deviceClassName", "selectors", "allocationMode", "count", "adminAccess", "tolerations", "capacity"}
)


def struct_at(types: TypeTable, api_version: str, kind: str, path: Path) -> StructType | None:
    """The type of what stands at a path of an object."""
    facts = types.kind(api_version, kind)
    here: Type | None = types.struct(facts["type"]) if facts else None
    for step in path:
        here = _step(here, step)
    here = _bare(here)
    return here if isinstance(here, StructType) else None


def _bare(kind: Type | None) -> Type | None:
    while isinstance(kind, PointerType):
        kind = kind.item
    return kind


def _step(kind: Type | None, step: str | int) -> Type | None:
    kind = _bare(kind)
    if isinstance(kind, ListType | MapType):
        return kind.item
    if isinstance(kind, StructType) and isinstance(step, str) and step in kind.fields:
        return kind.fields[step].type
    return None


@lru_cache(maxsize=256)
def places_of(minor: int, api_version: str, kind: str, name: str) -> tuple[tuple[str, ...], ...]:
    """Where a kind has a field of this name: paths with ``[]`` for list items; status and metadata are left out."""
    types = table(minor)
    facts = types.kind(api_version, kind)
    if facts is None:
        return ()
    root = types.struct(facts["type"])
    return tuple(_search(root, name, (), frozenset()))


def _search(kind: Type | None, name: str, path: tuple[str, ...], above: frozenset[int]) -> Iterator[tuple[str, ...]]:
    kind = _bare(kind)
    if len(path) > _MAX_DEPTH or kind is None or id(kind) in above:
        return
    if isinstance(kind, ListType):
        yield from _search(kind.item, name, (*path[:-1], path[-1] + "[]") if path else path, above)
    elif isinstance(kind, StructType):
        for field_name, field in kind.fields.items():
            if not path and field_name in ("status", "metadata"):
                continue
            if field_name == name:
                yield (*path, field_name)
            yield from _search(field.type, name, (*path, field_name), above | {id(kind)})


def unknown_field(value: Json, path: Path, release: Release) -> Fault:
    """The fault of a field that is not known, with where it belongs or what was meant."""
    api_version, kind = text(value.get("apiVersion")), text(value.get("kind"))
    name = str(path[-1])
    parent = path[:-1]
    server = f'unknown field "{_strict(path)}"'
    special = _special(value, path, api_version, kind)
    if special is not None:
        sentence, hint, note = special
        rule = rules.OLD_CLAIM_SOURCE if note.get("fix") == "source" else rules.UNKNOWN_FIELD
        return Fault(rule, sentence, path, key=True, hint=hint, server=server, evidence=note)
    later = _later_release(api_version, kind, path, release)
    if later:
        sentence = f"{name} is a field since Kubernetes {later}; {release[0]}.{release[1]} does not know it"
        return Fault(advice.NEWER_FIELD, sentence, path, key=True, server=server, evidence={"since": later})
    struct = struct_at(table(release[1]), api_version, kind, parent)
    holder = f"{dotted(parent)}" if parent else f"{kind}"
    sentence = f"{name} is no field of {holder}"
    siblings = list(struct.fields) if struct is not None else []
    close = closest(name, siblings)
    places = _nearest(parent, places_of(release[1], api_version, kind, name))
    if close and (not places or close.lower() == name.lower()):
        return Fault(
            rules.UNKNOWN_FIELD,
            f"{sentence}; did you mean {close}?",
            path,
            key=True,
            hint=f"write {close}",
            server=server,
            evidence={"fix": "rename", "to": close},
        )
    old = _OLD_FIELDS.get(name, "")
    if old:
        sentence += f": it is {old}"
    if places:
        where = ".".join(places[0])
        deeper = _indent_fix(value, parent, name, places)
        hint = f"it belongs to {where}"
        evidence: dict[str, Any] = {"belongs": where}
        missing = _missing_level(value, parent, places)
        if missing:
            evidence = {"fix": "below", "below": missing, "belongs": where}
        if deeper:
            sentence = f"{name} is indented too little: it is read as a field of {holder}, next to {deeper}"
            hint = f"indent it by two more, so that it stands below {deeper}:"
            evidence = {"fix": "indent", "below": deeper}
        return Fault(rules.UNKNOWN_FIELD, sentence, path, key=True, hint=hint, server=server, evidence=evidence)
    hint = f"{holder} has {', '.join(sorted(siblings)[:12])}" if siblings else ""
    return Fault(rules.UNKNOWN_FIELD, sentence, path, key=True, hint=hint, server=server)


def _strict(path: Path) -> str:
    out = ""
    for part in path:
        out += f"[{part}]" if isinstance(part, int) else (f".{part}" if out else str(part))
    return out


def _special(value: Json, path: Path, api_version: str, kind: str) -> tuple[str, str, dict[str, Any]] | None:
    """Shapes of other API versions, which are known by name."""
    name, parent = path[-1], path[:-1]
    version = api_version.rpartition("/")[2]
    if name == "source" and len(path) > 2 and path[-3] == "resourceClaims":
        inner = mapping(at(value, *path))
        named = next((key for key in ("resourceClaimTemplateName", "resourceClaimName") if key in inner), None)
        what = f"{named} stands directly beside name" if named else "the claim's or template's name stands beside name"
        return f"source is gone since Kubernetes 1.31: {what}", f"move it up: {_convert()}", {"fix": "source"}
    in_request = len(path) > 3 and path[-3] == "requests" and isinstance(path[-2], int)
    if in_request and name in _EXACTLY and version in ("v1", "v1beta2"):
        sentence = f"{name} is no field of a {version} request: since v1beta2 it stands under `exactly:`"
        return sentence, f"move it below `exactly:`; {_convert()}", {"fix": "below", "below": "exactly"}
    if in_request and name == "exactly" and version in ("v1beta1", "v1alpha3"):
        sentence = f"exactly is no field of a {version} request: up to v1beta1 its fields stand directly in the request"
        return sentence, "use apiVersion resource.k8s.io/v1, or move its fields up", {"fix": "flat"}
    if name == "basic" and len(path) > 2 and path[-3] == "devices" and version in ("v1", "v1beta2"):
        sentence = "basic is gone since v1beta2: its fields stand directly in the device"
        return sentence, f"move them up; {_convert()}", {"fix": "basic"}
    if kind in ("ResourceClaim", "ResourceClaimTemplate") and parent in (("spec",), ("spec", "spec")):
        return _claim_spec(str(name), parent)
    return None


def _claim_spec(name: str, parent: Path) -> tuple[str, str, dict[str, Any]] | None:
    """Fields that stand in a claim's spec instead of in a request."""
    right = f"{'.'.join(map(str, parent))}.devices.requests[].exactly"
    if name == "resourceClassName":
        sentence = "resourceClassName is no field of a claim's spec: it is from the API up to 1.30"
        return sentence, f"write {right}.deviceClassName", {"belongs": f"{right}.deviceClassName"}
    if name in ("parametersRef", "parameters"):
        sentence = f"{name} is no field of a claim's spec: what a claim wants stands in its requests since 1.31"
        return sentence, f"use {right}.selectors, .count and {'.'.join(map(str, parent))}.devices.config", {}
    if name in _EXACTLY:
        sentence = f"{name} is no field of a claim's spec: it belongs to a request"
        return sentence, f"write {right}.{name}", {"belongs": f"{right}.{name}"}
    return None


def _convert() -> str:
    return "dractl validate --fix or dractl convert does it"


def _later_release(api_version: str, kind: str, path: Path, release: Release) -> str:
    """The first later release in which the path is known, or an empty text."""
    for minor in range(release[1] + 1, NEWEST[1] + 1):
        struct = struct_at(table(minor), api_version, kind, path[:-1])
        if struct is not None and path[-1] in struct.fields:
            return f"1.{minor}"
    return ""


def _nearest(parent: Path, places: tuple[tuple[str, ...], ...]) -> list[tuple[str, ...]]:
    """The places ordered by how much of the path they share with where the field stands."""
    here = [step for step in parent if isinstance(step, str)]

    def distance(place: tuple[str, ...]) -> tuple[int, int]:
        shared = 0
        for mine, other in zip(here, place, strict=False):
            if mine != other.removesuffix("[]"):
                break
            shared += 1
        return (len(here) - shared, len(place) - shared)

    return sorted(places, key=distance)


def _indent_fix(value: Json, parent: Path, name: str, places: list[tuple[str, ...]]) -> str:
    """The empty neighbour that the field belongs below, if it was only indented too little."""
    holder = mapping(at(value, *parent))
    here = tuple(step for step in parent if isinstance(step, str))
    for place in places:
        names = tuple(step.removesuffix("[]") for step in place)
        if len(names) == len(here) + 2 and names[: len(here)] == here and names[-1] == name:
            neighbour = names[-2]
            if neighbour in holder and not holder[neighbour] and not place[-2].endswith("[]"):
                return neighbour
    return ""


def _missing_level(value: Json, parent: Path, places: list[tuple[str, ...]]) -> str:
    """The level between that was left out, if the field has exactly one place one level below."""
    holder = mapping(at(value, *parent))
    here = tuple(step for step in parent if isinstance(step, str))
    levels = []
    for place in places:
        names = tuple(step.removesuffix("[]") for step in place)
        if len(names) == len(here) + 2 and names[: len(here)] == here and not place[-2].endswith("[]"):
            levels.append(names[-2])
    return levels[0] if len(levels) == 1 and levels[0] not in holder else ""


def wrong_type(value: Json, path: Path, problem: str, release: Release) -> Fault:
    """The fault of a value of the wrong type."""
    name = _spot(path)
    found = at(value, *path)
    api_version, kind = text(value.get("apiVersion")), text(value.get("kind"))
    types = table(release[1])
    facts = types.kind(api_version, kind)
    wanted: Type | None = types.struct(facts["type"]) if facts else None
    for step in path:
        wanted = _step(wanted, step)
    words = _wanted(wanted)
    sentence = f"{name} has to be {words}, not {_given(found)}" if words else f"{name} has the wrong type: {problem}"
    hint = ""
    evidence = _type_fix(words, found)
    inner = _inner_key(_bare(wanted), found)
    if inner:
        hint = f"write {name}: {{{inner}: {json_short(found)}}}"
        evidence = {"fix": "nest", "key": inner}
    elif words == "a text" and isinstance(found, bool):
        hint = "put it in quotes: y, n, yes, no, on and off are booleans to kubectl"
    elif words == "a text" and isinstance(found, int | float):
        hint = "put it in quotes"
    elif words == "a whole number" and isinstance(found, str) and _WHOLE.fullmatch(found.strip()):
        hint = f"write {name}: {found.strip()} without quotes"
    elif words == "true or false" and isinstance(found, str) and found.lower() in ("true", "false", "yes", "no"):
        hint = f"write {name}: {'true' if found.lower() in ('true', 'yes') else 'false'} without quotes"
    elif words == "a mapping" and isinstance(found, str) and _has_name(wanted):
        hint = f"write {{name: {json_short(found)}}}"
    elif words == "a list" and found is not None:
        hint = "write it as a list entry, with a dash"
    return Fault(rules.WRONG_TYPE, sentence, path, hint=hint, server=problem, evidence=evidence)


def json_short(value: Any) -> str:
    """A scalar in short."""
    shown = str(value).lower() if isinstance(value, bool) else str(value)
    return shown if len(shown) <= 60 else shown[:57] + "..."


def _inner_key(wanted: Type | None, found: Any) -> str:
    """The field that a plain value was meant for: a typed attribute, an amount, an expression."""
    if not isinstance(wanted, StructType) or isinstance(found, dict | list) or found is None:
        return ""
    if "expression" in wanted.fields and isinstance(found, str):
        return "expression"
    if "string" in wanted.fields and "version" in wanted.fields:
        return "bool" if isinstance(found, bool) else "int" if isinstance(found, int) else "string"
    value = wanted.fields.get("value")
    return "value" if value is not None and _bare(value.type).__class__.__name__ == "QuantityType" else ""


def _spot(path: Path) -> str:
    """The last field of a path, with the index of an entry behind it."""
    if not path:
        return "the object"
    return f"{_spot(path[:-1])}[{path[-1]}]" if isinstance(path[-1], int) else path[-1]


def _has_name(wanted: Type | None) -> bool:
    inner = _bare(wanted)
    return isinstance(inner, StructType) and "name" in inner.fields and "containers" not in inner.fields


def _type_fix(words: str, found: Any) -> dict[str, Any]:
    if words == "a whole number" and isinstance(found, str) and _WHOLE.fullmatch(found.strip()):
        return {"fix": "value", "to": int(found)}
    if words == "true or false" and isinstance(found, str) and found.lower() in ("true", "false"):
        return {"fix": "value", "to": found.lower() == "true"}
    if words == "a text" and isinstance(found, bool | int):
        return {"fix": "quote"}
    return {}


def _wanted(kind: Type | None) -> str:
    kind = _bare(kind)
    if kind is None or isinstance(kind, RawType):
        return ""
    if isinstance(kind, ListType):
        return "a list"
    if isinstance(kind, StructType | MapType):
        return "a mapping"
    name = type(kind).__name__
    return {
        "StringType": "a text",
        "BoolType": "true or false",
        "IntType": "a whole number",
        "QuantityType": "a quantity",
        "TimeType": "a time such as 2024-01-31T12:00:00Z",
        "IntOrStringType": "a number or a text",
    }.get(name, "")


def _given(value: Any) -> str:
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, bool):
        return str(value).lower()
    if value is None:
        return "nothing"
    if isinstance(value, str):
        return f'the text "{value[:40]}"'
    return f"the number {value}"
