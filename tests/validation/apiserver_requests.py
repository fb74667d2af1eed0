"""Makes objects of every DRA kind and version, and damages them: input for comparing dractl with Kubernetes' own code.

``requests(seed, minor, count)`` gives, always the same for a seed, requests of the form
``{"id", "object", "old"?, "namespaceLabels"?}``. Values come from the types of the release, so that every field of
every kind is reached; most objects are nearly valid, with one to three changes.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from typing import Any

from apiserver_samples import KEYS, LIST_VALUES, MAP_KEYS, Generator, base, pick, pod_base

from dractl.validation import gotypes
from dractl.validation.decoding import DecodeAbort, DecodeState
from dractl.validation.gotypes import table

Json = Any

DRA_KINDS = (
    "DeviceClass",
    "ResourceClaim",
    "ResourceClaimTemplate",
    "ResourceSlice",
    "DeviceTaintRule",
    "ResourcePoolStatusRequest",
)
NAMESPACED = (
    "ResourceClaim",
    "ResourceClaimTemplate",
    "Pod",
    "DaemonSet",
    "Deployment",
    "StatefulSet",
    "Job",
    "CronJob",
)
WEIGHTS = {"ResourceClaim": 4, "ResourceSlice": 5, "ResourceClaimTemplate": 2, "DeviceClass": 2}


def nodes(
    value: Json, kind: gotypes.Type | None, name: str = ""
) -> Iterator[tuple[Json, Any, gotypes.Type | None, str]]:
    """Every place of an object: (container, key, type of the value, name of the field)."""
    if isinstance(kind, gotypes.PointerType):
        kind = kind.item
    if isinstance(value, dict):
        for key, item in list(value.items()):
            inner: gotypes.Type | None = None
            field_name = name
            if isinstance(kind, gotypes.StructType):
                field = kind.fields.get(key)
                inner, field_name = (field.type, key) if field else (None, key)
            elif isinstance(kind, gotypes.MapType):
                inner, field_name = kind.item, ""
            yield value, key, inner, field_name
            yield from nodes(item, inner, field_name)
    elif isinstance(value, list):
        inner = kind.item if isinstance(kind, gotypes.ListType) else None
        for index, item in enumerate(value):
            yield value, index, inner, name
            yield from nodes(item, inner, name)


def structs(value: Json, kind: gotypes.Type | None, name: str = "") -> Iterator[tuple[Json, gotypes.Type, str]]:
    """Every dict or list that has a type."""
    if isinstance(kind, gotypes.PointerType):
        kind = kind.item
    if kind is not None and isinstance(value, dict | list):
        yield value, kind, name
    for container, key, inner, field_name in nodes(value, kind, name):
        item = container[key]
        if inner is not None and isinstance(item, dict | list):
            yield item, inner.item if isinstance(inner, gotypes.PointerType) else inner, field_name


def mutate(rng: random.Random, obj: Json, kind: gotypes.StructType, generator: Generator) -> None:
    """One change somewhere below metadata and spec, in place."""
    places = [p for p in nodes(obj, kind) if not (p[0] is obj and p[1] in ("apiVersion", "kind"))]
    if not places:
        return
    container, key, inner, name = rng.choice(places)
    action = rng.random()
    if action < 0.13:
        del container[key]
    elif action < 0.42 and inner is not None:
        container[key] = generator.value(inner, name)
    elif action < 0.47:
        container[key] = rng.choice((None, [], {}, "", 0, False, "text", 7, True, 1.5, ["x"], {"x": 1}))
    elif action < 0.75:
        target, target_kind, target_name = rng.choice(list(structs(obj, kind)))
        grow(rng, target, target_kind, target_name, generator)
    elif action < 0.80 and isinstance(container, list):
        container.append(copy.deepcopy(container[key]))
    elif action < 0.84 and isinstance(container, dict) and isinstance(container[key], str | dict):
        new_key = rng.choice((*MAP_KEYS.get(name, KEYS), f"{key}x"))
        container[str(new_key)] = container.pop(key)
    elif action < 0.88 and isinstance(container[key], list):
        many(rng, container[key])
    elif action < 0.90 and isinstance(container[key], dict):
        crowd(rng, container[key])
    elif action < 0.92 and isinstance(container[key], dict):
        container[key][rng.choice(("bogus", "spec", "Name", "nodename"))] = rng.choice((1, "x", {"a": [{"b": 1}]}))
    elif inner is not None:
        container[key] = generator.value(inner, name)


def grow(rng: random.Random, target: Json, kind: gotypes.Type, name: str, generator: Generator) -> None:
    """Add a field, an element or an entry."""
    if isinstance(target, dict) and isinstance(kind, gotypes.StructType) and kind.fields:
        field = kind.fields[rng.choice(list(kind.fields))]
        if field.name not in ("apiVersion", "kind", "selfLink") or name:
            target[field.name] = generator.value(field.type, field.name)
    elif isinstance(target, dict) and isinstance(kind, gotypes.MapType):
        target[str(rng.choice(MAP_KEYS.get(name, KEYS)))] = generator.value(kind.item, "")
    elif isinstance(target, list) and isinstance(kind, gotypes.ListType):
        if name in LIST_VALUES and not isinstance(kind.item, gotypes.StructType):
            target.append(pick(LIST_VALUES[name])(rng))
        else:
            target.append(generator.value(kind.item, name))


def many(rng: random.Random, items: list[Json]) -> None:
    """Bring a list near one of the limits."""
    size = rng.choice((2, 3, 5, 9, 11, 17, 32, 33, 64, 65, 128, 129))
    if not items:
        return
    model = items[0]
    while len(items) < size:
        item = copy.deepcopy(model)
        if isinstance(item, dict) and "name" in item and rng.random() < 0.9:
            item["name"] = f"i{len(items)}"
        items.append(item)


def crowd(rng: random.Random, entries: dict[str, Json]) -> None:
    """Bring a map near one of the limits."""
    if entries and all(isinstance(item, dict) for item in entries.values()):
        model = next(iter(entries.values()))
        for index in range(rng.choice((5, 31, 32, 33, 40))):
            entries[f"k{index}"] = copy.deepcopy(model)


POD_KINDS = ("Pod", "DaemonSet", "Deployment", "StatefulSet", "Job", "CronJob")
POD_FIELDS = {
    "v1.PodSpec": (
        "containers",
        "initContainers",
        "resourceClaims",
        "restartPolicy",
        "nodeSelector",
        "nodeName",
        "serviceAccountName",
        "tolerations",
        "priorityClassName",
    ),
    "v1.Container": ("name", "image", "resources", "ports", "imagePullPolicy"),
    "v1.ContainerPort": ("containerPort", "hostPort", "protocol"),
    "v1.DaemonSetSpec": ("selector", "template", "minReadySeconds", "revisionHistoryLimit"),
    "v1.DeploymentSpec": ("selector", "template", "replicas", "minReadySeconds", "progressDeadlineSeconds"),
    "v1.StatefulSetSpec": ("selector", "template", "replicas", "minReadySeconds", "serviceName"),
    "v1.JobSpec": ("template", "parallelism", "completions", "backoffLimit"),
    "v1.CronJobSpec": ("jobTemplate", "schedule", "startingDeadlineSeconds", "concurrencyPolicy"),
    "v1.PodTemplateSpec": ("metadata", "spec"),
    "v1.JobTemplateSpec": ("spec",),
}
"""The parts of pods and workloads whose rules dractl knows; all fields of other structs."""


def narrowed(kind: gotypes.Type, made: dict[str, gotypes.StructType]) -> gotypes.Type:
    """A type with only the fields of ``POD_FIELDS``."""
    if isinstance(kind, gotypes.PointerType):
        return gotypes.PointerType(narrowed(kind.item, made))
    if isinstance(kind, gotypes.ListType):
        return gotypes.ListType(narrowed(kind.item, made), kind.display)
    if not isinstance(kind, gotypes.StructType):
        return kind
    if kind.display not in made:
        made[kind.display] = small = gotypes.StructType(kind.display)
        for name, field in kind.fields.items():
            if name in POD_FIELDS.get(kind.display, kind.fields):
                inner = narrowed(field.type, made)
                small.fields[name] = gotypes.Field(field.struct, name, field.go_name, field.embed, inner, field.omit)
    return made[kind.display]


def decodes(struct: gotypes.StructType, obj: Json) -> bool:
    """Whether an object can have been stored: it decodes without complaint and has a name."""
    state = DecodeState()
    try:
        decoded = struct.decode(obj, None, state)
    except DecodeAbort:
        return False
    return state.wrong_type is None and not state.strict and bool(decoded.get("metadata", {}).get("name"))


def requests(seed: int, minor: int, count: int, kinds: tuple[str, ...] = DRA_KINDS) -> Iterator[Json]:
    """``count`` requests for a release."""
    types = table(minor)
    targets = [(k, v) for k in kinds for v in types.versions_of(k) for _ in range(WEIGHTS.get(k, 1))]
    for number in range(count):
        rng = random.Random(f"{seed}/{minor}/{number}")
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
        if rng.random() < 0.06:
            obj["spec"] = generator.value(struct.fields["spec"].type, "spec")
        request: Json = {"id": f"{seed}-{number}"}
        if rng.random() < 0.3 and not pods:
            request["old"] = copy.deepcopy(obj)
            request["old"]["metadata"] |= {"resourceVersion": "1", "uid": "u1"}
            obj["metadata"] |= {"resourceVersion": "1"}
            if rng.random() < 0.3:
                damaged = copy.deepcopy(request["old"])
                mutate(rng, damaged, struct, generator)
                if decodes(struct, damaged):
                    request["old"] = damaged
        for _ in range(rng.choice((0, 1, 1, 1, 2, 3))):
            mutate(rng, obj, struct, generator)
        if "old" in request:
            # The server refuses an update without a version before it looks at the rules.
            for side in (obj, request["old"]):
                if side.get("metadata") is None:
                    side["metadata"] = {}
                if isinstance(side["metadata"], dict):
                    side["metadata"]["resourceVersion"] = "1"
            # What is stored has the namespace that its kind asks for.
            if kind in NAMESPACED:
                request["old"]["metadata"].setdefault("namespace", "default")
            else:
                request["old"]["metadata"].pop("namespace", None)
        request["object"] = obj
        if rng.random() < 0.5:
            request["namespaceLabels"] = {"resource.kubernetes.io/admin-access": rng.choice(("true", "false"))}
        yield request
