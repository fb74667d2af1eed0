"""Damage of the kinds that people and programs do to manifests, as opposed to values that only a generator makes.

``wild_requests`` spoils nearly valid objects: letters of other scripts, very long texts, numbers as texts
and the reverse, signs, floats, nulls, empty lists, entries twice, field names in the wrong case, fields that another
kind has, values in each other's places; of claims, slices, pods and workloads, as creations and as updates.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterator
from typing import Any

from apiserver_requests import NAMESPACED, POD_KINDS, WEIGHTS, decodes, narrowed, nodes
from apiserver_samples import Generator, base, pod_base

from dractl.validation import gotypes
from dractl.validation.gotypes import table

Json = Any
Change = Callable[[random.Random, Json, Any], None]

SCRIPTS = (
    "gpü",
    "画像",
    "gpu\u200b",
    "ｇｐｕ",
    "GPU-0",
    "gpu\u00a0",
    "Ω",
    "a\u0301",
    "🙂",
    "gpu\t",
    "\ufeffgpu",
    "ﬁ",
    "İ",
)
FOREIGN = (
    ("exactly", {"deviceClassName": "gpu"}),
    ("firstAvailable", [{"name": "x", "deviceClassName": "gpu"}]),
    ("deviceClassName", "gpu"),
    ("resourceClassName", "gpu"),
    ("count", 1),
    ("selectors", [{"cel": {"expression": "true"}}]),
    ("selector", {"matchLabels": {"a": "b"}}),
    ("nodeName", "n1"),
    ("allNodes", True),
    ("tolerations", [{"operator": "Exists"}]),
    ("adminAccess", True),
    ("basic", {"attributes": {}}),
    ("value", "1"),
    ("string", "x"),
    ("requests", ["gpu"]),
    ("name", "x"),
    ("namespace", "default"),
    ("status", {}),
    ("labels", {"a": "b"}),
    ("resources", {"claims": [{"name": "gpu"}]}),
    ("resourceClaims", [{"name": "gpu", "resourceClaimName": "x"}]),
    ("resourceClaimName", "y"),
    ("resourceClaimTemplateName", "z"),
    ("source", {"resourceClaimName": "x"}),
    ("claims", [{"name": "gpu"}, {"name": "gpu", "request": "a"}]),
    ("", 1),
    ("$patch", "replace"),
)


def _text(rng: random.Random, holder: Json, key: Any) -> None:
    old = holder[key] if isinstance(holder[key], str) else "x"
    holder[key] = rng.choice(
        (
            rng.choice(SCRIPTS),
            old.upper(),
            old.title(),
            f" {old}",
            f"{old} ",
            f"{old}\n",
            f"{old}.",
            f"-{old}",
            f"{old}/{old}",
            f"{old}:{old}",
            f"{old}_1",
            old * 300,
            "x" * rng.choice((62, 63, 64, 65, 252, 253, 254, 316, 317, 1024)),
            "é" * rng.choice((16, 31, 32, 33, 64)),
            f"{old}{{{{ .Values.x }}}}",
            f'"{old}"',
            f"<{old}>",
            "${VAR}",
            "true",
            "null",
            "0",
        )
    )


def _number(rng: random.Random, holder: Json, key: Any) -> None:
    holder[key] = rng.choice(
        (-1, 0, 1.0, 1.5, -0.0, 1e3, 1e20, "1", "01", "-1", "1.0", "0x10", 2**31 - 1, 2**31, 2**63 - 1, -(2**63))
    )


def _hollow(rng: random.Random, holder: Json, key: Any) -> None:
    holder[key] = rng.choice((None, [], {}, "", [None], [{}], {"": ""}, {"x": None}, [[]], False, 0))


def _other_type(rng: random.Random, holder: Json, key: Any) -> None:
    value = holder[key]
    if isinstance(value, list):
        holder[key] = rng.choice((value[0] if value else {}, {str(n): v for n, v in enumerate(value)}, str(len(value))))
    elif isinstance(value, dict):
        holder[key] = rng.choice(([value], [{k: v} for k, v in value.items()], " ".join(map(str, value)), list(value)))
    elif isinstance(value, bool):
        holder[key] = rng.choice((str(value), str(value).lower(), "yes", int(value), None))
    elif isinstance(value, int | float):
        holder[key] = rng.choice((str(value), float(value), [value], {"value": value}, f"{value}Gi"))
    else:
        holder[key] = rng.choice(([value], {"value": value}, {"name": value}, 1, True))


def _letters(rng: random.Random, holder: Json, key: Any) -> None:
    if not isinstance(holder, dict) or not isinstance(key, str):
        return
    name = rng.choice(
        (key.lower(), key.upper(), key[:1].upper() + key[1:], key + "s", key[:-1], f" {key}", key + "\u200b")
    )
    if rng.random() < 0.6:
        holder[name] = holder.pop(key)
    else:
        holder[name] = copy.deepcopy(holder[key])


def _foreign(rng: random.Random, holder: Json, key: Any) -> None:
    target = holder[key] if isinstance(holder[key], dict) else holder
    if isinstance(target, dict):
        name, value = rng.choice(FOREIGN)
        target[name] = copy.deepcopy(value)


def _twice(rng: random.Random, holder: Json, key: Any) -> None:
    value = holder[key]
    if isinstance(value, list) and value:
        for _ in range(rng.choice((1, 1, 2, 40))):
            value.insert(rng.randrange(len(value) + 1), copy.deepcopy(rng.choice(value)))
    elif isinstance(value, dict) and value:
        for number in range(rng.choice((1, 33, 64))):
            value[f"{next(iter(value))}{number}"] = copy.deepcopy(next(iter(value.values())))


def _level(rng: random.Random, holder: Json, key: Any) -> None:
    """A level too many, or one that was forgotten."""
    value = holder[key]
    if isinstance(holder, dict) and isinstance(value, dict) and rng.random() < 0.5:
        holder.update(holder.pop(key))
    elif isinstance(holder, dict):
        holder[key] = {key: value}


def _gone(rng: random.Random, holder: Json, key: Any) -> None:
    del holder[key]


def _meta(rng: random.Random, obj: Json) -> None:
    meta = obj.setdefault("metadata", {})
    if not isinstance(meta, dict):
        return
    name, value = rng.choice(
        (
            ("finalizers", ["a", "a.b/c", "orphan", "foregroundDeletion"]),
            ("ownerReferences", [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u", "controller": True}] * 2),
            ("ownerReferences", [{"apiVersion": "v1", "kind": "Event", "name": "", "uid": ""}]),
            ("labels", {"a b": "c d", "é": "é", "x" * 70: "y" * 70}),
            ("labels", {"app.kubernetes.io/name": 1}),
            ("annotations", {"a": "x" * 300_000}),
            ("annotations", {"A B": "x"}),
            ("generateName", "g-"),
            ("name", ""),
            ("namespace", "Other"),
            ("deletionGracePeriodSeconds", 5),
            ("creationTimestamp", None),
            ("clusterName", "x"),
            ("uid", ""),
            ("managedFields", [{"manager": "kubectl", "operation": "Apply", "apiVersion": "v1"}]),
        )
    )
    meta[name] = copy.deepcopy(value)


CHANGES: tuple[Change, ...] = (
    _text, _text, _text, _text, _text, _text, _number, _hollow, _hollow, _other_type, _letters, _foreign, _twice,
    _twice, _twice, _level, _gone, _gone,
)  # fmt: skip
"""Most of them leave an object that can be decoded, so that the rules come to speak."""


def spoil(rng: random.Random, obj: Json, struct: gotypes.StructType) -> None:
    """One change somewhere in the object, mostly in its spec."""
    if rng.random() < 0.06:
        _meta(rng, obj)
        return
    places = [p for p in nodes(obj, struct) if not (p[0] is obj and p[1] in ("apiVersion", "kind", "metadata"))]
    if not places:
        return
    deep = [place for place in places if place[0] is not obj]
    holder, key, _, _ = rng.choice(deep or places)
    change = rng.choice(CHANGES)
    wanted = {_text: str, _number: int, _twice: list}.get(change)
    if wanted and not isinstance(holder[key], wanted) and rng.random() < 0.9:
        fitting = [place for place in deep if isinstance(place[0][place[1]], wanted)]
        holder, key = rng.choice(fitting)[:2] if fitting else (holder, key)
    change(rng, holder, key)


def wild_requests(seed: int, minor: int, count: int, kinds: tuple[str, ...]) -> Iterator[Json]:
    """``count`` requests for a release."""
    types = table(minor)
    targets = [(k, v) for k in kinds for v in types.versions_of(k) for _ in range(WEIGHTS.get(k, 1))]
    for number in range(count):
        rng = random.Random(f"wild/{seed}/{minor}/{number}")
        generator = Generator(rng, minor)
        kind, api_version = rng.choice(targets)
        facts = types.kind(api_version, kind)
        assert facts is not None
        struct = types.struct(facts["type"])
        pods = kind in POD_KINDS
        if pods:
            small = narrowed(struct, {})
            assert isinstance(small, gotypes.StructType)
            struct = small
        obj = pod_base(rng, kind, api_version) if pods else base(rng, kind, api_version, generator)
        request: Json = {"id": f"w{seed}-{number}"}
        if rng.random() < 0.35:
            old = copy.deepcopy(obj)
            damaged = copy.deepcopy(old)
            if rng.random() < 0.4:
                spoil(rng, damaged, struct)
            if decodes(struct, damaged):
                old = damaged
            request["old"] = old
        for _ in range(rng.choice((0, 1, 1, 1, 2, 2, 4))):
            spoil(rng, obj, struct)
        if "old" in request:
            for side in (obj, request["old"]):
                if not isinstance(side.get("metadata"), dict):
                    side["metadata"] = {"name": "obj"}
                side["metadata"]["resourceVersion"] = "1"
            request["old"]["metadata"]["uid"] = "u1"
            if kind in NAMESPACED:
                request["old"]["metadata"].setdefault("namespace", "default")
            else:
                request["old"]["metadata"].pop("namespace", None)
        request["object"] = obj
        if rng.random() < 0.5:
            request["namespaceLabels"] = {"resource.kubernetes.io/admin-access": rng.choice(("true", "false"))}
        yield request
