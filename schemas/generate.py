#!/usr/bin/env python3
"""Makes the JSON Schemas of the resource.k8s.io kinds, one for each kind and version, from the sources in ``src/``.

    python schemas/generate.py             write schemas/resource.k8s.io/<kind>_<version>.json
                                           and the fields of v1alpha1 and v1alpha2 for dractl's own structural check
    python schemas/generate.py --check     say which files differ from what would be written; exit 1 if any does

The sources, and how they are renewed:

* ``src/openapi-1.36.json``: the OpenAPI v3 documents of a 1.36 API server without descriptions, one for each version
  (``kubectl get --raw /openapi/v3/apis/resource.k8s.io/v1`` and so on). ``--openapi DIR`` reads such files (named
  ``resource.k8s.io_<version>.json``, with the definitions under ``schemas``) and keeps what the kinds need.
* ``src/models.json``: versions that 1.36 no longer has, from the models in the ``kubernetes`` Python package of the
  last releases that had them. They are read from the wheels without being run::

      pip download --no-deps -d wheels kubernetes==26.1.0 kubernetes==30.1.0 kubernetes==31.0.0 kubernetes==33.1.0
      python schemas/generate.py --wheels wheels

The schemas are as strict as the API server's strict decoding: unknown fields and wrong types are refused. What the
server fills in when it is missing is not required; null stands for "not set" where the server takes it so.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import sys
import zipfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
SOURCES = HERE / "src"
TARGET = HERE / "resource.k8s.io"
OLD_TYPES = HERE.parent / "dractl" / "validation" / "data" / "oldtypes.json"
OLD_VERSIONS = ("v1alpha1", "v1alpha2")
GROUP = "resource.k8s.io"
DIALECT = "https://json-schema.org/draft/2020-12/schema"
ADDRESS = "https://raw.githubusercontent.com/dractl/dractl/main/schemas/resource.k8s.io"

Json = dict[str, Any]

OPENAPI_KINDS = {
    "v1": ("DeviceClass", "ResourceClaim", "ResourceClaimTemplate", "ResourceSlice"),
    "v1beta2": ("DeviceClass", "ResourceClaim", "ResourceClaimTemplate", "ResourceSlice", "DeviceTaintRule"),
    "v1beta1": ("DeviceClass", "ResourceClaim", "ResourceClaimTemplate", "ResourceSlice"),
    "v1alpha3": ("DeviceTaintRule", "ResourcePoolStatusRequest"),
}

MODEL_KINDS = {
    # (version, kind): the package releases whose fields together make the kind
    ("v1alpha1", "ResourceClass"): ("26.1.0",),
    ("v1alpha1", "ResourceClaim"): ("26.1.0",),
    ("v1alpha1", "ResourceClaimTemplate"): ("26.1.0",),
    ("v1alpha1", "PodScheduling"): ("26.1.0",),
    ("v1alpha2", "ResourceClass"): ("30.1.0",),
    ("v1alpha2", "ResourceClaim"): ("30.1.0",),
    ("v1alpha2", "ResourceClaimTemplate"): ("30.1.0",),
    ("v1alpha2", "ResourceClaimParameters"): ("30.1.0",),
    ("v1alpha2", "ResourceClassParameters"): ("30.1.0",),
    ("v1alpha2", "ResourceSlice"): ("30.1.0",),
    ("v1alpha2", "PodSchedulingContext"): ("30.1.0",),
    ("v1alpha3", "DeviceClass"): ("31.0.0", "33.1.0"),
    ("v1alpha3", "ResourceClaim"): ("31.0.0", "33.1.0"),
    ("v1alpha3", "ResourceClaimTemplate"): ("31.0.0", "33.1.0"),
    ("v1alpha3", "ResourceSlice"): ("31.0.0", "33.1.0"),
    ("v1alpha3", "PodSchedulingContext"): ("31.0.0",),
}

QUANTITY = "Quantity"
QUANTITY_PATTERN = r"^\s*[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+|[EPTGMKunm]i?|k|Ki)?\s*$"

TIME: Json = {
    "type": "string",
    "format": "date-time",
    "pattern": r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{1,2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2})$",
}
"""Formats are notes to many validators, so the pattern says it once more."""

MODEL_QUANTITIES = {
    # models write quantities as plain text: (model without version, field)
    ("BasicDevice", "capacity"),
    ("Counter", "value"),
    ("NamedResourcesAttribute", "quantity"),
}

NOT_REQUIRED = {
    # fields that the OpenAPI document calls required and the API server does without: the Go type's empty value will do
    ("DeviceClass", "spec"),
    ("ResourceClaim", "spec"),
    ("ResourceClaimTemplate", "spec"),
    ("ResourceClaimTemplateSpec", "spec"),
    ("DeviceCapacity", "value"),
    ("Counter", "value"),
    ("ResourcePool", "generation"),
    ("AllocatedDeviceStatus", "pool"),
    ("AllocatedDeviceStatus", "driver"),
    ("AllocatedDeviceStatus", "device"),
    ("Condition", "message"),
}

WRITTEN_BY_THE_SERVER = ("status",)
"""Below these fields nothing is required: what a manifest says there is thrown away when the object is made."""


# --- reading the sources --------------------------------------------------------------------------------------------


def short(name: str) -> str:
    """The last part of a definition's name."""
    return name.rsplit(".", 1)[-1]


def keep_openapi(folder: Path) -> Json:
    """Of the OpenAPI documents, what the kinds need."""
    out: Json = {}
    for version, kinds in OPENAPI_KINDS.items():
        document = json.loads((folder / f"resource.k8s.io_{version}.json").read_text())
        definitions = document["schemas"] if "schemas" in document else document["components"]["schemas"]
        names = {short(name): name for name in definitions if "core.v1" not in name or "NodeSelector" in name}
        kept: Json = {}
        waiting = [names[kind] for kind in kinds]
        while waiting:
            name = waiting.pop()
            if name not in kept:
                kept[name] = without_notes(definitions[name])
                waiting += [name.rsplit("/", 1)[-1] for name in references(kept[name])]
        out[version] = {name: kept[name] for name in sorted(kept)}
    return out


def without_notes(value: Any) -> Any:
    """A definition without descriptions, defaults and Kubernetes' own annotations."""
    if isinstance(value, list):
        return [without_notes(item) for item in value]
    if not isinstance(value, dict):
        return value
    out = {}
    for key, item in value.items():
        if key == "properties":
            out[key] = {name: without_notes(item[name]) for name in item}
        elif key not in ("description", "default") and not key.startswith("x-kubernetes"):
            out[key] = without_notes(item)
    return out


def references(value: Any) -> list[str]:
    """The names that a definition refers to."""
    if isinstance(value, list):
        return [name for item in value for name in references(item)]
    if not isinstance(value, dict):
        return []
    own = [value["$ref"]] if isinstance(value.get("$ref"), str) else []
    return own + [name for item in value.values() for name in references(item)]


def read_wheels(folder: Path) -> Json:
    """The fields of the models in the wheels: release -> model -> field -> {type, required}."""
    out: Json = {}
    for (version, kind), releases in MODEL_KINDS.items():
        for release in releases:
            (wheel,) = folder.glob(f"kubernetes-{release}-*.whl")
            with zipfile.ZipFile(wheel) as archive:
                models = out.setdefault(release, {})
                waiting = [version[0].upper() + version[1:] + kind]
                while waiting:
                    name = waiting.pop()
                    if name in models:
                        continue
                    models[name] = model_fields(archive.read(f"kubernetes/client/models/{snake(name)}.py").decode())
                    waiting += [
                        word for field in models[name].values() for word in re.findall(r"\bV[0-9]\w+", field["type"])
                    ]
    return {release: {name: out[release][name] for name in sorted(out[release])} for release in sorted(out)}


def snake(name: str) -> str:
    """The file of a model: V1alpha2ResourceClaim is in v1alpha2_resource_claim."""
    name = re.sub(r"(.)([A-Z][a-z]+)", r"\1_\2", name)
    return re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name).lower()


def model_fields(source: str) -> Json:
    """JSON names, types and which are required, from the text of a model's file."""
    tables: dict[str, Json] = {}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and isinstance(node.value, ast.Dict):
            tables[node.targets[0].id] = ast.literal_eval(node.value)
    required = set(re.findall(r"Invalid value for `(\w+)`, must not be `None`", source))
    return {
        tables["attribute_map"][name]: {"type": kind, "required": name in required}
        for name, kind in sorted(tables["openapi_types"].items())
    }


# --- schemas --------------------------------------------------------------------------------------------------------


def nullable(schema: Json) -> Json:
    """The same, or null."""
    if "$ref" in schema:
        return {"anyOf": [schema, {"type": "null"}]}
    kind = schema.get("type")
    if kind is None:
        return schema
    out = {**schema, "type": [*kind, "null"] if isinstance(kind, list) else [kind, "null"]}
    if "enum" in schema:
        out["enum"] = [*schema["enum"], None]
    return out


def scalar(schema: Json) -> Json:
    """Limits that a format implies."""
    bounds = {"int32": 2**31, "int64": 2**63}.get(schema.get("format", ""))
    if bounds:
        return {"type": "integer", "minimum": -bounds, "maximum": bounds - 1}
    if schema.get("format") == "date-time":
        return dict(TIME)
    return {key: value for key, value in schema.items() if key in ("type", "enum")}


def convert(schema: Json) -> Json:
    """An OpenAPI field as JSON Schema."""
    if "allOf" in schema and len(schema["allOf"]) == 1:
        return convert(schema["allOf"][0])
    if "$ref" in schema:
        return {"$ref": f"#/$defs/{short(schema['$ref'])}"}
    if schema.get("type") == "array":
        return {"type": "array", "items": convert(schema["items"])}
    if "additionalProperties" in schema:
        return {"type": "object", "additionalProperties": convert(schema["additionalProperties"])}
    return scalar(schema) if schema.get("type") else {}


def object_schema(name: str, properties: Json, required: list[str], loose: bool) -> Json:
    """A struct: its fields, nothing else."""
    kept = [field for field in required if (name, field) not in NOT_REQUIRED] if not loose else []
    out: Json = {
        "type": "object",
        "properties": {name: part if name in kept else nullable(part) for name, part in properties.items()},
    }
    if kept:
        out["required"] = sorted(kept)
    return {**out, "additionalProperties": False}


def well_known(name: str) -> Json | None:
    """Types that have their own form in JSON."""
    if name == QUANTITY:
        return {"anyOf": [{"type": "string", "pattern": QUANTITY_PATTERN}, {"type": "number"}]}
    if name in ("Time", "MicroTime"):
        return dict(TIME)
    if name in ("RawExtension", "FieldsV1"):
        return {"type": "object"}
    return None


def from_openapi(version: str, kind: str, definitions: Json) -> Json:
    """The schema of a kind that a 1.36 API server serves."""
    by_short = {short(name): name for name in definitions}
    loose = below_status(
        {short(name): {field: [short(one) for one in references(value)] for field, value in fields(schema).items()}
         for name, schema in definitions.items()},
        kind,
    )  # fmt: skip
    parts: Json = {}
    waiting = [kind]
    while waiting:
        name = waiting.pop()
        if name in parts:
            continue
        schema = definitions[by_short[name]]
        known = well_known(name)
        if known is None:
            properties = {field: convert(value) for field, value in sorted(fields(schema).items())}
            known = object_schema(name, properties, schema.get("required", []), name in loose)
        parts[name] = known
        waiting += [ref.rsplit("/", 1)[-1] for ref in references(known)]
    return document(version, kind, parts)


def fields(schema: Json) -> Json:
    """The fields of a definition."""
    found: Json = schema.get("properties", {})
    return found


def from_models(version: str, kind: str, releases: list[Json]) -> Json:
    """The schema of a kind of an older release; fields of several releases together."""
    prefix = version[0].upper() + version[1:]
    merged: dict[str, Json] = {}
    for models in releases:
        for name, model in models.items():
            into = merged.setdefault(name.removeprefix(prefix) if name.startswith(prefix) else name[2:], {})
            for field, entry in model.items():
                known = into.get(field, entry)
                into[field] = {"type": entry["type"], "required": entry["required"] and known["required"]}
    links = {
        name: {field: [bare(word, prefix) for word in re.findall(r"\bV[0-9]\w+", entry["type"])]
               for field, entry in model.items()}
        for name, model in merged.items()
    }  # fmt: skip
    loose = below_status(links, kind)
    parts: Json = {}
    waiting = [kind]
    while waiting:
        name = waiting.pop()
        if name in parts:
            continue
        if name == QUANTITY:
            parts[name] = well_known(name)
            continue
        model = merged[name]
        properties = {field: model_type(name, field, entry["type"], prefix) for field, entry in sorted(model.items())}
        parts[name] = object_schema(name, properties, [f for f, e in model.items() if e["required"]], name in loose)
        waiting += [ref.rsplit("/", 1)[-1] for ref in references(parts[name])]
    return document(version, kind, parts)


def bare(name: str, prefix: str) -> str:
    """A model's name without its version."""
    return name.removeprefix(prefix) if name.startswith(prefix) else re.sub(r"^V1(?=[A-Z])", "", name)


def model_type(model: str, field: str, text: str, prefix: str) -> Json:
    """A model's type as JSON Schema."""
    if (model, field) in MODEL_QUANTITIES and text == "str":
        return {"$ref": f"#/$defs/{QUANTITY}"}
    simple: dict[str, Json] = {
        "str": {"type": "string"},
        "bool": {"type": "boolean"},
        "int": {"type": "integer", "minimum": -(2**63), "maximum": 2**63 - 1},
        "float": {"type": "number"},
        "datetime": dict(TIME),
        "object": {"type": "object"},
    }
    if text in simple:
        return simple[text]
    if match := re.fullmatch(r"list\[(.+)\]", text):
        return {"type": "array", "items": model_type(model, field, match[1], prefix)}
    if match := re.fullmatch(r"dict\(str, (.+)\)", text):
        return {"type": "object", "additionalProperties": model_type(model, field, match[1], prefix)}
    return {"$ref": f"#/$defs/{bare(text, prefix)}"}


def below_status(links: dict[str, dict[str, list[str]]], kind: str) -> set[str]:
    """Types that only appear below status or in metadata."""

    def reach(start: list[str]) -> set[str]:
        seen: set[str] = set()
        while start:
            name = start.pop()
            if name not in seen:
                seen.add(name)
                start += [one for found in links.get(name, {}).values() for one in found]
        return seen

    top = links[kind]
    written = reach([one for field, found in top.items() if field not in WRITTEN_BY_THE_SERVER for one in found])
    return reach([one for field in WRITTEN_BY_THE_SERVER for one in top.get(field, [])]) - written


def document(version: str, kind: str, parts: Json) -> Json:
    """The file of one kind."""
    root = parts.pop(kind)
    root["properties"]["apiVersion"] = {"const": f"{GROUP}/{version}"}
    root["properties"]["kind"] = {"const": kind}
    required = sorted({"apiVersion", "kind", "metadata", *root.get("required", [])} - {"status"})
    root["properties"]["metadata"] = {"$ref": "#/$defs/ObjectMeta"}
    return {
        "$schema": DIALECT,
        "$id": f"{ADDRESS}/{file_name(version, kind)}",
        "title": f"{kind} ({GROUP}/{version})",
        "type": "object",
        "properties": root["properties"],
        "required": required,
        "additionalProperties": False,
        "$defs": {name: parts[name] for name in sorted(parts)},
    }


def file_name(version: str, kind: str) -> str:
    """Where kubeconform looks for a kind."""
    return f"{kind.lower()}_{version}.json"


def all_schemas() -> dict[str, str]:
    """File name -> text of every schema."""
    openapi = json.loads((SOURCES / "openapi-1.36.json").read_text())
    models = json.loads((SOURCES / "models.json").read_text())
    out = {}
    for version, kinds in OPENAPI_KINDS.items():
        for kind in kinds:
            out[file_name(version, kind)] = from_openapi(version, kind, openapi[version])
    for (version, kind), releases in MODEL_KINDS.items():
        out[file_name(version, kind)] = from_models(version, kind, [models[release] for release in releases])
    return {name: json.dumps(schema, indent=1) + "\n" for name, schema in sorted(out.items())}


def old_types() -> str:
    """The models of versions that no release known to dractl's type table has: version -> model -> field -> type."""
    models = json.loads((SOURCES / "models.json").read_text())
    out: Json = {}
    for (version, kind), releases in MODEL_KINDS.items():
        if version not in OLD_VERSIONS:
            continue
        prefix = version[0].upper() + version[1:]
        kept = out.setdefault(version, {})
        waiting = [prefix + kind]
        while waiting:
            name = waiting.pop()
            if bare(name, prefix) in kept:
                continue
            model = models[releases[0]][name]
            kept[bare(name, prefix)] = {
                field: old_type(bare(name, prefix), field, entry, prefix) for field, entry in sorted(model.items())
            }
            waiting += [word for entry in model.values() for word in re.findall(r"\bV[0-9]\w+", entry["type"])]
    for version, kept in out.items():
        out[version] = {name: kept[name] for name in sorted(kept)}
    return json.dumps(out, indent=1) + "\n"


def old_type(model: str, field: str, entry: Json, prefix: str) -> str:
    """A field's type, with ``!`` where it is required."""
    text = re.sub(r"\bV[0-9]\w+", lambda match: bare(match[0], prefix), entry["type"])
    if (model, field) in MODEL_QUANTITIES and text == "str":
        text = "quantity"
    return text + ("!" if entry["required"] else "")


def main() -> int:
    """Write, or compare."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--check", action="store_true", help="only say which files would change")
    parser.add_argument("--openapi", type=Path, metavar="DIR", help="renew src/openapi-1.36.json")
    parser.add_argument("--wheels", type=Path, metavar="DIR", help="renew src/models.json")
    options = parser.parse_args()
    SOURCES.mkdir(exist_ok=True)
    for folder, read, name in (
        (options.openapi, keep_openapi, "openapi-1.36.json"),
        (options.wheels, read_wheels, "models.json"),
    ):
        if folder:
            (SOURCES / name).write_text(json.dumps(read(folder), indent=1) + "\n")
    TARGET.mkdir(exist_ok=True)
    wanted = {str(TARGET / name): text for name, text in all_schemas().items()}
    wanted[str(OLD_TYPES)] = old_types()
    present = {str(path): path.read_text() for path in [*TARGET.glob("*.json"), OLD_TYPES] if path.exists()}
    stale = sorted(name for name in wanted.keys() | present.keys() if wanted.get(name) != present.get(name))
    if options.check:
        for name in stale:
            sys.stdout.write(f"{Path(name).relative_to(HERE.parent)} is not what generate.py writes\n")
        return 1 if stale else 0
    for name in stale:
        if name in wanted:
            Path(name).write_text(wanted[name])
        else:
            Path(name).unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
