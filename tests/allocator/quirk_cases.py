"""One small cluster for each quirk: what the release that has it answers, and what is right.

Answers are written ``request=device`` joined by blanks, a dash where nothing fits, or a part of an error text. All
classes select everything; nodes are n1 and n2, and the last node is the one that is looked at.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from dractl.allocator import quirks as q

Json = dict[str, Any]


def device(name: str, **more: Any) -> Json:
    return {"name": name, **more}


def attribute(name: str, value: Any) -> Json:
    kind = {bool: "bool", int: "int", str: "string", list: "strings"}[type(value)]
    return {"attributes": {name: {kind: value}}}


def uses(counter_set: str, **amounts: int) -> Json:
    counters = {name: {"value": str(amount)} for name, amount in amounts.items()}
    return {"consumesCounters": [{"counterSet": counter_set, "counters": counters}]}


def counters(name: str, **amounts: int) -> Json:
    return {"name": name, "counters": {n: {"value": str(a)} for n, a in amounts.items()}}


def sets(*items: Json) -> Json:
    return {"sharedCounters": list(items)}


def devices(*items: Json) -> Json:
    return {"devices": list(items)}


def pool(
    *parts: Json, name: str = "p", driver: str = "d", generation: int = 1, count: int | None = None, **where: Any
) -> list[Json]:
    """The slices of a pool, by default on n1; each part is the content of one."""
    where = where or {"nodeName": "n1"}
    return [
        {
            "metadata": {"name": f"{driver}-{name}-{generation}-{index}"},
            "spec": {
                "driver": driver,
                "pool": {"name": name, "generation": generation, "resourceSliceCount": count or len(parts)},
                **where,
                **part,
            },
        }
        for index, part in enumerate(parts)
    ]


def ask(name: str, *only: str, count: int = 1, everything: bool = False, **more: Any) -> Json:
    """A request for devices with the ids named (all, if none is)."""
    exact: Json = {"deviceClassName": "any", "allocationMode": "All" if everything else "ExactCount", **more}
    if not everything:
        exact["count"] = count
    if only:
        wanted = " || ".join(f'device.attributes[device.driver].?id.orValue("") == "{i}"' for i in only)
        exact["selectors"] = [{"cel": {"expression": wanted}}]
    return {"name": name, "exactly": exact}


def either(name: str, *alternatives: Json) -> Json:
    return {"name": name, "firstAvailable": [{"name": a["name"], **a["exactly"]} for a in alternatives]}


def claim(*requests: Json, **more: Any) -> Json:
    return {"metadata": {"name": "c", "namespace": "ns"}, "spec": {"devices": {"requests": list(requests), **more}}}


def held(*names: str, driver: str = "d", pool_name: str = "p", **more: Any) -> Json:
    results = [{"request": "r", "driver": driver, "pool": pool_name, "device": name, **more} for name in names]
    return {"metadata": {"name": "h"}, "spec": {}, "status": {"allocation": {"devices": {"results": results}}}}


@dataclass
class Case:
    """``real`` is the release's answer, ``right`` what it should be."""

    quirk: str
    release: str
    slices: list[Json]
    claims: list[Json]
    real: str
    right: str
    allocated: list[Json] = field(default_factory=list)
    nodes: int = 1
    lists: bool = False
    old_shape: bool = False
    """Whether the slices are such as only 1.34 has."""
    shows: str = "devices"
    """What is compared: devices, config or tolerations."""

    def input(self) -> Json:
        names = ["adminAccess", "bindingConditions", "consumableCapacity", "deviceTaints", "partitionableDevices"]
        features = dict.fromkeys([*names, "prioritizedList", "fractionalCapacityRange"], True)
        features |= {"listTypeAttributes": self.lists, "deviceBinding": True, "deviceStatus": True}
        return {
            "features": features,
            "nodes": [{"metadata": {"name": f"n{i + 1}"}} for i in range(self.nodes)],
            "classes": [{"metadata": {"name": "any"}, "spec": {}}],
            "slices": self.slices,
            "allocated": self.allocated,
            "claims": self.claims,
        }


TAINT = {"taints": [{"key": "k", "effect": "NoSchedule"}]}
MULTI = {"allowMultipleAllocations": True}


def memory(value: str, **policy: Any) -> Json:
    return {"capacity": {"memory": {"value": value, **({"requestPolicy": policy} if policy else {})}}}


def wants(amount: str) -> Json:
    return {"capacity": {"requests": {"memory": amount}}}


def same(name: str) -> list[Json]:
    return [{"matchAttribute": name}]


def ident(name: str, **more: Any) -> Json:
    """A device that can be asked for by name."""
    attributes = {"id": {"string": name}, **more.pop("attributes", {})}
    return {"name": name, "attributes": attributes, **more}


ONE = sets(counters("s", c=1))

CASES = [
    Case(
        q.COUNTERS_LEAK,
        "1.36",
        pool(ONE, devices(device("x1", **uses("s", c=1), **TAINT), device("x2", **uses("s", c=1)))),
        [claim(ask("r"))],
        "-",
        "r=x2",
    ),
    Case(
        q.SHARED_COUNTERS_KEPT,
        "1.36",
        pool(ONE, devices(ident("m", **uses("s", c=1), **MULTI), ident("y"), ident("x", **uses("s", c=1)))),
        [claim(ask("r1", "m", "y"), ask("r2", "x"))],
        "-",
        "r1=y r2=x",
    ),
    Case(
        q.CAPACITY_RECHECK_LEAK,
        "1.36",
        pool(
            devices(
                ident("m", **MULTI, **memory("10"), **attribute("v", "A")),
                ident("x", **attribute("v", "B")),
            )
        ),
        [
            claim(
                ask("r1", "m", **wants("8")),
                either("r2", ask("all", "m", everything=True, **wants("5")), ask("one", "x")),
                constraints=[{"requests": ["r2"], "matchAttribute": "d/v"}],
            )
        ],
        "-",
        "r1=m r2/one=x",
    ),
    Case(
        q.SHARES_CHARGED_AGAIN,
        "1.36",
        pool(ONE, devices(device("m", **uses("s", c=1), **MULTI))),
        [claim(ask("r"))],
        "-",
        "r=m",
        [held("m", shareID="s1")],
    ),
    Case(
        q.EACH_SHARE_CHARGED,
        "1.34",
        pool({**ONE, **devices(device("m", **uses("s", c=1), **MULTI, **memory("4", default="1")))}),
        [claim(ask("r1"), ask("r2"))],
        "-",
        "r1=m r2=m",
        old_shape=True,
    ),
    Case(
        q.SHARES_FREE_COUNTERS,
        "1.35",
        pool(ONE, devices(device("m", **uses("s", c=1), **MULTI, **memory("4")), device("x", **uses("s", c=1)))),
        [claim(ask("r"))],
        "r=x",
        "-",
        [held("m", shareID="s1", consumedCapacity={"memory": "4"})],
    ),
    Case(
        q.SHARES_OVERLOOKED,
        "1.37",
        pool(devices(device("x"))),
        [claim(ask("r"))],
        "r=x",
        "-",
        [held("x", shareID="s1")],
    ),
    Case(
        q.DISTINCT_FORGETS,
        "1.36",
        pool(devices(*(device(n, **attribute("v", v)) for n, v in (("x1", "A"), ("x2", "B"), ("x3", "A"))))),
        [claim(ask("r", count=3), constraints=[{"distinctAttribute": "d/v"}])],
        "r=x1 r=x2 r=x3",
        "-",
    ),
    Case(
        q.DISTINCT_BLIND,
        "1.34",
        pool(devices(device("x1", **attribute("v", "A")), device("x2", **attribute("v", "A")))),
        [claim(ask("r1"), ask("r2"), constraints=[{"distinctAttribute": "d/v"}])],
        "r1=x1 r2=x2",
        "-",
    ),
    Case(
        q.MATCH_STAYS_NARROW,
        "1.36",
        pool(
            devices(
                *(
                    ident(n, attributes={"id": {"string": n}, "v": {"strings": v}})
                    for n, v in (("a", ["1", "2"]), ("b", ["2", "3"]), ("c", ["1"]), ("e", ["1"]))
                )
            )
        ),
        [claim(ask("r1", "a"), ask("r2", "b", "c"), ask("r3", "e"), constraints=same("d/v"))],
        "-",
        "r1=a r2=c r3=e",
        lists=True,
    ),
    Case(
        q.COUNTERS_BY_POOL_NAME,
        "1.36",
        pool(ONE, devices(ident("x", **uses("s", c=1)))) + pool(ONE, devices(ident("y", **uses("s", c=1))), driver="e"),
        [claim(ask("r1", "x"), ask("r2", "y"))],
        "-",
        "r1=x r2=y",
    ),
    Case(
        q.COUNTERS_BY_SLICE,
        "1.34",
        pool(ONE, devices(device("x1", **uses("s", c=1)), device("x2", **uses("s", c=1)))),
        [claim(ask("r", count=2))],
        "r=x1 r=x2",
        "-",
    ),
    Case(
        q.COUNTERS_CACHED,
        "1.37",
        pool(sets(counters("s", c=1)), devices(device("x", **uses("s", c=1))))
        + pool(sets(counters("s", c=0)), devices(device("x", **uses("s", c=1))), generation=2, nodeName="n2"),
        [claim(ask("r"))],
        "r=x",
        "-",
        nodes=2,
    ),
    Case(
        q.COUNTER_SLICES_EVERYWHERE,
        "1.36",
        pool(ONE, count=2) + pool(devices(device("x")), name="other", nodeName="n2"),
        [claim(ask("r", everything=True))],
        "resource pool d/p is currently being updated",
        "r=x",
        nodes=2,
    ),
    Case(
        q.OVERDRAWN_BLOCKS_POOL,
        "1.37",
        pool(
            sets(counters("s", c=1), counters("t", c=1)),
            devices(*(device(n, **uses("s", c=1)) for n in ("x1", "x2")), device("y", **uses("t", c=1))),
        ),
        [claim(ask("r"))],
        "-",
        "r=y",
        [held("x1", "x2")],
    ),
    Case(
        q.ALL_LEAVES_OUT_FULL,
        "1.36",
        pool(devices(device("m", **MULTI, **memory("10")), device("x", **memory("10")))),
        [claim(ask("r", everything=True, **wants("5")))],
        "r=x",
        "-",
        [held("m", shareID="s1", consumedCapacity={"memory": "8"})],
    ),
    Case(
        q.CAPACITY_UNCHECKED,
        "1.36",
        pool(devices(device("m", **MULTI, **memory("10")))),
        [claim(ask("r", **wants("-1")))],
        "r=m",
        'capacity "memory": capacity value is negative',
    ),
    Case(
        q.ZERO_STEP_PANIC,
        "1.37",
        pool(devices(device("m", **MULTI, **memory("10", default="1", validRange={"min": "1", "step": "0"})))),
        [claim(ask("r", **wants("3")))],
        "panic: runtime error: integer divide by zero",
        "r=m",
    ),
    Case(
        q.HUGE_COUNTS_PANIC,
        "1.36",
        pool(devices(device("x"))),
        [claim(ask("r1", count=2**62), ask("r2", count=2**62))],
        "panic: runtime error: makeslice: cap out of range",
        "exceeds the claim limit of 32",
    ),
    Case(
        q.CONFIG_REPEATED,
        "1.36",
        pool(devices(device("x1"), device("x2"), device("x3"))),
        [
            claim(
                ask("r1"),
                ask("r2"),
                ask("r3"),
                config=[{"requests": ["r1", "r2"], "opaque": {"driver": "d", "parameters": {"a": 1}}}],
            )
        ],
        "r1,r2 r1,r2",
        "r1,r2",
        shows="config",
    ),
    Case(
        q.ADMIN_BLOCKS,
        "1.37",
        pool(devices(device("x"))),
        [claim(ask("a", adminAccess=True)), claim(ask("r"))],
        "-",
        "a=x r=x",
    ),
    Case(
        q.ADMIN_NEEDS_COUNTERS,
        "1.37",
        pool(ONE, devices(device("x", **uses("s", c=1)))),
        [claim(ask("a", adminAccess=True))],
        "-",
        "a=x",
        [held("x")],
    ),
    Case(
        q.STALE_GENERATION,
        "1.37",
        pool(devices(device("x"))) + pool(devices(device("y")), generation=2, nodeName="n2"),
        [claim(ask("r"))],
        "r=x",
        "-",
    ),
    Case(
        q.SELECTORS_BEFORE_NODE,
        "1.37",
        pool(
            devices(device("x", nodeName="n2"), device("y", nodeName="n1", **attribute("a", 1))),
            perDeviceNodeSelection=True,
        ),
        [claim(ask("r", selectors=[{"cel": {"expression": "device.attributes[device.driver].a == 1"}}]))],
        "or guarding the check with has() for optional fields",
        "r=y",
    ),
    Case(
        q.BINDING_SLICES_LAST,
        "1.35",
        pool(
            devices(device("x", bindingConditions=["ready"], bindingFailureConditions=["bad"])),
            devices(device("y")),
        ),
        [claim(ask("r"))],
        "r=y",
        "r=x",
    ),
    Case(
        q.ALL_FALLS_BACK,
        "1.35",
        pool(devices(ident("x1"), ident("x2"))),
        [claim(either("r", ask("five", count=5), ask("all", everything=True)))],
        "-",
        "r/all=x1 r/all=x2",
    ),
    Case(
        q.ALL_SHARES_SELECTION,
        "1.35",
        pool(devices(ident("x"))),
        [claim(either("r", ask("none", "nothing", everything=True), ask("all", "x", everything=True)))],
        "-",
        "r/all=x",
    ),
    Case(
        q.ALL_COUNTERS_PANIC,
        "1.35",
        pool(ONE, devices(device("x", **uses("s", c=1)))),
        [claim(ask("r", everything=True))],
        "panic: runtime error: invalid memory address or nil pointer dereference",
        "r=x",
    ),
    Case(q.INCOMPLETE_USED, "1.34", pool(devices(device("x")), count=2), [claim(ask("r"))], "r=x", "-"),
    Case(
        q.INVALID_POOL_ABORTS,
        "1.34",
        pool(devices(device("x"), device("x"))),
        [claim(ask("r"))],
        "pool p is invalid: duplicate device name x",
        "invalid resource pools were encountered",
    ),
    Case(
        q.NODE_ONLY_COMPLETENESS,
        "1.34",
        pool(devices(device("x")), {**devices(device("y")), "nodeName": "n2"}),
        [claim(ask("r", everything=True))],
        "resource pool d/p is currently being updated",
        "r=x",
    ),
    Case(
        q.TOLERATIONS_NOT_COPIED,
        "1.34",
        pool(devices(device("x"))),
        [claim(ask("r", tolerations=[{"key": "k", "operator": "Exists"}]))],
        "",
        "k",
        shows="tolerations",
    ),
    Case(
        q.EVERY_TAINT_BLOCKS,
        "1.34",
        pool(devices(device("x", taints=[{"key": "k", "effect": "None"}]))),
        [claim(ask("r"))],
        "-",
        "r=x",
    ),
    Case(
        q.CAPACITY_OF_ANOTHER_DEVICE,
        "1.34",
        pool(devices(ident("small", **memory("1")), ident("large", **memory("10")))),
        [claim(ask("r", "large", **wants("5")))],
        "-",
        "r=large",
    ),
]

NOT_IN_THE_ALLOCATOR = {q.TAINT_RULES_UNSEEN, q.TAINT_RULE_WITHOUT_SELECTOR, q.LIST_ATTRIBUTES_UNUSED}
"""Quirks of the scheduler around it."""
ONLY_ORDER = {q.UNORDERED, q.PERMUTATIONS}
"""Quirks of which no single answer shows."""
