"""Write the JSON Schemas (2020-12) of dractl's own reports beside this file, from the dataclasses they are made of.

A new report: add its kind and dataclass to ``reports()``. Fields that cannot be None are required; others are left out
where they are None. Fields may be added within ``v1alpha1``, so the schemas allow further ones.
"""

from __future__ import annotations

import json
import types
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from dractl.diagnose.run import Diagnosis
from dractl.explain.report import ClaimExplanation, PodExplanation
from dractl.explain.reports import ClassExplanation, DeviceExplanation, NodeExplanation
from dractl.listing.access import AccessReport
from dractl.listing.expressions import ExpressionCheck, ExpressionEvaluation, FieldReport
from dractl.listing.recording import Changes, Recording
from dractl.render.text.lists import ROW_KINDS
from dractl.report import API_VERSION, camel
from dractl.rules.finding import Finding, Severity
from dractl.simulate.capacity import Capacity
from dractl.simulate.compare import Comparison
from dractl.simulate.place import Simulation

FOLDER = Path(__file__).resolve().parent
DIALECT = "https://json-schema.org/draft/2020-12/schema"

_REF = {
    "type": "object",
    "properties": {name: {"type": "string"} for name in ("apiVersion", "kind", "namespace", "name")},
    "required": ["kind", "name"],
}
FINDING: dict[str, Any] = {
    "type": "object",
    "description": "One thing found; the code's meaning is told by: dractl explain CODE",
    "properties": {
        "code": {"type": "string", "pattern": "^DRA[0-9]{3}$"},
        "severity": {"enum": [severity.value for severity in Severity]},
        "message": {"type": "string"},
        "subject": _REF,
        "location": {
            "type": "object",
            "properties": {
                "file": {"type": "string"},
                "line": {"type": "integer", "minimum": 1},
                "column": {"type": "integer", "minimum": 1},
                "path": {"type": "string"},
            },
        },
        "related": {"type": "array", "items": _REF},
        "evidence": {"type": "object"},
        "hint": {"type": "string"},
    },
    "required": ["code", "severity", "message"],
}


def reports() -> dict[str, Any]:
    """Kind -> the dataclass of the report, or for a list (a kind that ends with ``List``) of its rows."""
    lists = {f"{kind}List": row for kind, row in ROW_KINDS.items()}
    recordings = {"Recording": Recording, "RecordingChanges": Changes, "AccessReport": AccessReport}
    expressions = {
        "ExpressionCheck": ExpressionCheck,
        "ExpressionEvaluation": ExpressionEvaluation,
        "FieldReport": FieldReport,
    }
    explanations = {
        "ClaimExplanation": ClaimExplanation,
        "PodExplanation": PodExplanation,
        "DeviceExplanation": DeviceExplanation,
        "NodeExplanation": NodeExplanation,
        "ClassExplanation": ClassExplanation,
        "Simulation": Simulation,
        "Comparison": Comparison,
        "Capacity": Capacity,
    }
    return {**lists, **recordings, **expressions, **explanations, "Diagnosis": Diagnosis}


def schema_of(kind: str, source: Any) -> dict[str, Any]:
    """The schema of one report."""
    definitions: dict[str, Any] = {}
    body: dict[str, Any]
    if kind.endswith("List"):
        body = {
            "description": f"What dractl get lists; every item is one {source.__name__}.",
            "properties": {
                "source": {"type": "string", "description": "What was read."},
                "notes": {"type": "array", "items": {"type": "string"}, "description": "What was left out, and why."},
                "items": {"type": "array", "items": _type(source, definitions)},
            },
            "required": ["source", "items"],
        }
    else:
        reference = _type(source, definitions)["$ref"].rpartition("/")[2]
        body = dict(definitions[reference])
        if not _uses(definitions, reference):
            del definitions[reference]
    envelope = {"apiVersion": {"const": API_VERSION}, "kind": {"const": kind}}
    return {
        "$schema": DIALECT,
        "title": kind,
        "description": body["description"],
        "type": "object",
        "properties": envelope | body["properties"],
        "required": ["apiVersion", "kind", *body["required"]],
        "$defs": dict(sorted(definitions.items())),
    }


def _uses(definitions: dict[str, Any], name: str) -> bool:
    return f'"#/$defs/{name}"' in json.dumps(definitions)


def _object(source: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    hints = get_type_hints(source)
    properties = {}
    required = []
    for one in fields(source):
        hint = hints[one.name]
        name = camel(one.name)
        properties[name] = _type(hint, definitions)
        if not _optional(hint):
            required.append(name)
    text = " ".join((source.__doc__ or "").replace("``", "").split())
    return {"type": "object", "description": text, "properties": properties, "required": required}


def _optional(hint: Any) -> bool:
    return get_origin(hint) in (Union, types.UnionType) and type(None) in get_args(hint)


_SIMPLE: dict[Any, dict[str, Any]] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    type(None): {"type": "null"},
    Any: {},
    Finding: FINDING,
}


def _type(hint: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    if hint in _SIMPLE:
        return _SIMPLE[hint]
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Literal:
        return {"enum": list(arguments)}
    if origin in (list, tuple):
        return {"type": "array", "items": _type(arguments[0], definitions)}
    if origin is dict:
        return {"type": "object", "additionalProperties": _type(arguments[1], definitions)}
    if origin in (Union, types.UnionType):
        options = [_type(argument, definitions) for argument in arguments]
        return {"anyOf": options}
    if is_dataclass(hint):
        name = hint.__name__  # type: ignore[union-attr]
        if name not in definitions:
            definitions[name] = {}
            definitions[name] = _object(hint, definitions)
        return {"$ref": f"#/$defs/{name}"}
    raise TypeError(f"no schema for {hint}")


def schemas() -> dict[str, str]:
    """File name -> content."""
    return {
        f"{kind}.json": json.dumps(schema_of(kind, source), indent=2, ensure_ascii=False) + "\n"
        for kind, source in reports().items()
    }


def main() -> None:
    """Write all of them."""
    FOLDER.mkdir(exist_ok=True)
    for name, text in schemas().items():
        (FOLDER / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
