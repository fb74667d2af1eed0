"""The JSON Schemas of Kubernetes' kinds: made by their script, valid, and of one mind with our own structural check."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema  # noqa: TID253 (a test)
import pytest

from dractl.validation.settings import Settings
from dractl.validation.versions import LIVES, VERSIONS, old_faults, standing

ROOT = Path(__file__).parents[2]
SCHEMAS = ROOT / "schemas" / "resource.k8s.io"
RECORDED = ROOT / "tests" / "conformance" / "validation.jsonl.gz"
NOT_STRUCTURAL = {"claim-v1-nsmismatch"}
"""Refused with 400 for the namespace of the request, which no schema knows."""


def validator(kind: str, version: str) -> Any:
    schema = json.loads((SCHEMAS / f"{kind.lower()}_{version}.json").read_text())
    return jsonschema.Draft202012Validator(schema)


def test_the_script_writes_what_is_there() -> None:
    run = subprocess.run(
        [sys.executable, str(ROOT / "schemas" / "generate.py"), "--check"], capture_output=True, text=True, check=False
    )
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")


def test_there_is_one_for_every_kind_and_version() -> None:
    # DeviceTaintRule came to v1 with 1.37, after the release that the schemas were read from
    wanted = {f"{kind.lower()}_{version}.json" for version, kind in LIVES} - {"devicetaintrule_v1.json"}
    assert {path.name for path in SCHEMAS.glob("*.json")} == wanted


@pytest.mark.parametrize("path", sorted(SCHEMAS.glob("*.json")), ids=lambda path: path.stem)
def test_each_is_a_schema_and_strict(path: Path) -> None:
    schema = json.loads(path.read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    kind, _, version = path.stem.partition("_")
    assert version in VERSIONS
    check = jsonschema.Draft202012Validator(schema)
    name = schema["properties"]["kind"]["const"]
    assert name.lower() == kind
    minimal = {"apiVersion": f"resource.k8s.io/{version}", "kind": name, "metadata": {"name": "x"}}
    errors = [error.message for error in check.iter_errors({**minimal, "surplus": 1})]
    assert any("surplus" in error for error in errors)
    assert any(error.path and error.path[0] == "metadata" for error in check.iter_errors({**minimal, "metadata": 1}))
    for part in schema["$defs"].values():
        if part.get("properties"):
            assert part["additionalProperties"] is False


def test_schemas_and_the_server_agree_on_the_recorded_cases() -> None:
    """A schema refuses what the server cannot decode, and takes what the server takes."""
    known = {tuple(path.stem.split("_")): path for path in SCHEMAS.glob("*.json")}
    checks: dict[Any, Any] = {}
    compared = 0
    for line in gzip.decompress(RECORDED.read_bytes()).splitlines():
        case = json.loads(line)
        body = case["object"]
        key = (str(body.get("kind")).lower(), str(body.get("apiVersion")).rpartition("/")[2])
        if key not in known or "resource.k8s.io" not in str(body.get("apiVersion")) or case["id"] in NOT_STRUCTURAL:
            continue
        check = checks.setdefault(key, validator(*key))
        refused = not check.is_valid(body)
        if case["code"] == 201:
            assert not refused, case["id"]
        elif case["code"] == 400:
            assert refused, case["id"]
        else:
            continue
        compared += 1
    assert compared > 150


OLD: list[tuple[dict[str, Any], list[str]]] = [
    ({"apiVersion": "resource.k8s.io/v1alpha2", "kind": "ResourceClass", "driverName": "d"}, []),
    ({"apiVersion": "resource.k8s.io/v1alpha2", "kind": "ResourceClass"}, ["DRA020"]),
    (
        {"apiVersion": "resource.k8s.io/v1alpha1", "kind": "ResourceClass", "driverName": "d", "parameters": {}},
        ["DRA010"],
    ),
    (
        {
            "apiVersion": "resource.k8s.io/v1alpha2",
            "kind": "ResourceClaim",
            "spec": {"resourceClassName": "c", "allocationMode": "Later", "parametersRef": {"kind": "K", "nam": "x"}},
        },
        ["DRA010", "DRA020", "DRA022"],
    ),
    (
        {
            "apiVersion": "resource.k8s.io/v1alpha2",
            "kind": "ResourceSlice",
            "driverName": "d",
            "namedResources": {"instances": [{"name": "x", "attributes": [{"name": "a", "quantity": "1 Gi"}]}]},
        },
        ["DRA016"],
    ),
    (
        {"apiVersion": "resource.k8s.io/v1alpha2", "kind": "PodSchedulingContext", "spec": {"potentialNodes": "n"}},
        ["DRA011"],
    ),
]


@pytest.mark.parametrize(("body", "codes"), OLD)
def test_old_objects_are_checked_as_their_release_would(body: dict[str, Any], codes: list[str]) -> None:
    body = {**body, "metadata": {"name": "x"}}
    found = standing(body, Settings())
    faults = old_faults(body, found)
    assert sorted(fault.rule.code for fault in faults) == codes
    structural = [fault for fault in faults if fault.rule.code != "DRA022"]
    assert validator(found.kind, found.version).is_valid(body) == (not structural)
