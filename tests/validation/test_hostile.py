"""No object makes ``admit`` fail or wait: junk of every type at random places, deep nesting, long lists and texts."""

from __future__ import annotations

import copy
import random
from typing import Any

import pytest
from apiserver_requests import DRA_KINDS, POD_KINDS, requests

from dractl.validation.apiserver import Request, admit

JUNK: tuple[Any, ...] = (
    None,
    True,
    0,
    -1,
    2**70,
    1.5,
    float("inf"),
    float("nan"),
    "",
    "x",
    "\ud800",
    "\x00",
    "a" * 100_000,
    [],
    {},
    [[]],
    [None],
    {"": None},
    {None: 1},
    {1: 2},
    {True: {}},
    [0] * 3000,
    {str(number): number for number in range(2000)},
)


def places(value: Any, out: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """All (holder, key) of an object."""
    entries = value.items() if isinstance(value, dict) else enumerate(value[:40]) if isinstance(value, list) else ()
    for key, item in entries:
        out.append((value, key))
        places(item, out)
    return out


def damage(rng: random.Random, obj: Any) -> None:
    for _ in range(rng.randint(1, 4)):
        spots = places(obj, [])
        if spots:
            holder, key = rng.choice(spots)
            if isinstance(holder, dict) and rng.random() < 0.15:
                key = rng.choice(("x", 1, None, True, "", 2.5))
            holder[key] = copy.deepcopy(rng.choice(JUNK))


@pytest.mark.parametrize("minor", [31, 32, 33, 34, 35, 36, 37])
def test_junk(minor: int) -> None:
    rng = random.Random(minor)
    codes = set()
    for case in requests(7, minor, 150, (*DRA_KINDS, *POD_KINDS)):
        for side in ("object", "old") if rng.random() < 0.4 else ("object",):
            if side in case:
                damage(rng, case[side])
        request = Request(namespace="ns", serve_gated=True)
        verdict = admit(
            case["object"], release=(1, minor), old=case.get("old"), strict=rng.random() < 0.5, request=request
        )
        codes.add(verdict.code)
        assert (verdict.stored is not None) == (verdict.code == 201)
        assert (verdict.message is None) == (verdict.code == 201)
    assert {201, 400, 422} <= codes


def nested(depth: int, kind: str) -> Any:
    value: Any = {}
    for _ in range(depth):
        value = [value] if kind == "list" else {"a": value}
    return value


@pytest.mark.parametrize("kind", ["list", "map"])
@pytest.mark.parametrize("place", ["root", "spec", "metadata", "labels", "unknown", "parameters"])
def test_depth(kind: str, place: str) -> None:
    deep = nested(20_000, kind)
    obj: Any = {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "x"}, "spec": {}}
    if place == "root":
        obj = deep
    elif place == "labels":
        obj["metadata"]["labels"] = deep
    elif place == "parameters":
        obj["spec"]["config"] = [{"opaque": {"driver": "a.b", "parameters": {"x": deep}}}]
    else:
        obj[place] = deep
    verdict = admit(obj)
    assert verdict.code in (400, 422)
    assert verdict.message


def test_numbers_of_things() -> None:
    """A hundred thousand requests are too many, and said so once."""
    entry = {"name": "a", "exactly": {"deviceClassName": "c"}}
    obj = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "x", "namespace": "d"},
        "spec": {"devices": {"requests": [entry] * 100_000}},
    }
    (cause,) = admit(obj).causes
    assert cause.message == "Too many: 100000: must have at most 32 items"
