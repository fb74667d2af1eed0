"""Random small fleets and claims that mix every feature of the allocator, in the form of the recorded cases.

``fleet(seed)`` is deterministic. Sizes are small, so that every search ends soon; vocabularies are small, so that
devices collide, match and compete.
"""

from __future__ import annotations

import random
from typing import Any

DRIVERS = ("gpu.example.com", "nic.example.org", "cpu")
FEATURES_36 = (
    "adminAccess",
    "bindingConditions",
    "consumableCapacity",
    "deviceTaints",
    "listTypeAttributes",
    "partitionableDevices",
    "prioritizedList",
)
FEATURES_37 = (
    *FEATURES_36,
    "compatibilityGroups",
    "derivedAttributes",
    "fractionalCapacityRange",
    "optionalNodeOperations",
)

Json = dict[str, Any]

SELECTORS = (
    "true",
    'device.driver == "gpu.example.com"',
    'device.driver != "cpu"',
    'has(device.attributes["gpu.example.com"].model)',
    'device.attributes["gpu.example.com"].?model.orValue("") == "a"',
    "device.attributes[device.driver].?index.orValue(0) < 2",
    "device.attributes[device.driver].?healthy.orValue(true)",
    'device.capacity["gpu.example.com"].?memory.orValue(quantity("0")).isGreaterThan(quantity("3"))',
    "device.allowMultipleAllocations == true",
    "device.allowMultipleAllocations == false",
    'device.attributes["x.io"].?root.hasValue()',
    # these fail on devices that lack the attribute
    'device.attributes["gpu.example.com"].model == "a"',
    "device.attributes[device.driver].index >= 0",
    'device.capacity["gpu.example.com"].memory.compareTo(quantity("2")) >= 0',
    "device.attributes[device.driver].version.major() >= 1",
    "1 / device.attributes[device.driver].index > 0",
)
WEIGHTS = (6, 6, 4, 4, 4, 4, 4, 3, 1, 2, 3, 1, 1, 1, 1, 1)
ATTRIBUTES = (
    "x.io/root",
    "gpu.example.com/model",
    "gpu.example.com/index",
    "nic.example.org/index",
    "x.io/list",
    "x.io/none",
)


DERIVED = (
    "device.driver",
    "device.driver == 'cpu' ? 'r0' : 'r1'",
    "device.attributes[device.driver].?index.orValue(0)",
    "device.attributes[device.driver].?index.orValue(0) % 2 == 0",
    'device.attributes["x.io"].?root.orValue("r1")',
    'device.attributes["x.io"].?list.orValue(["p"])',
    "device.attributes[device.driver].?version.orValue(semver('1.0.0'))",
    "[device.driver, 'r1']",
    "['r1', 'r2']",
    "[semver('1.0.0'), semver('v2.1', true)]",
    "device.attributes[device.driver].?healthy.hasValue()",
    "int(device.capacity[device.driver].?memory.orValue(quantity('4')).asApproximateFloat()) / 5",
)
DERIVED_BADLY = (
    # these fail on some or all devices, or do not compile
    "device.attributes[device.driver].model",
    "device.attributes[device.driver].index + 1",
    "[dyn(1), dyn('a')]",
    "[]",
    "dyn(1u)",
    "dyn([1.5])",
    "dyn({'a': 1})",
    "dyn(null)",
    "dyn(optional.of('r1'))",
    "dyn(optional.none())",
    "dyn(b'a')",
    "dyn(duration('1s'))",
    "dyn(quantity('1'))",
    "dyn(type(1))",
    "dyn(device.attributes)",
    "dyn(device.attributes['x.io'])",
    "dyn(device.capacity[device.driver])",
    "dyn(url('https://x.io'))",
    "dyn(ip('10.0.0.1'))",
    "dyn(cidr('10.0.0.0/8'))",
    "dyn(format.dns1123Label())",
    "dyn(timestamp('2026-01-01T00:00:00Z'))",
    "dyn(device)",
    "dyn([[1]])",
    "dyn([optional.of(1), optional.none()])",
    "quantity('1')",
    "1.5",
    "nothing",
)


class Maker:
    """Makes one fleet; every choice comes from one random source."""

    def __init__(self, seed: int, newer: bool, old: bool = False, small: bool = False) -> None:
        self.r = random.Random(seed)
        self.small = small
        """Whether to keep fleets and claims smaller: 1.34 and 1.35 try all orders of the devices of a request."""
        self.newer = newer
        """Whether to use what 1.37 added."""
        self.old = old
        """Whether counters lie in the slices with the devices, as up to 1.34."""
        self.names: list[tuple[str, str, str]] = []

    def chance(self, share: float) -> bool:
        return self.r.random() < share

    def pick(self, *items: Any) -> Any:
        return self.r.choice(items)

    # --- objects -------------------------------------------------------------------------------------------------

    def fleet(self) -> Json:
        names = FEATURES_37 if self.newer else FEATURES_36
        off = 0.0 if self.chance(0.6) else self.pick(0.15, 0.4)
        features = {name: not self.chance(off) for name in names}
        self.mood = {
            name: self.chance(share)
            for name, share in {
                "counters": 0.4,
                "sharing": 0.4,
                "taints": 0.3,
                "binding": 0.25,
                "lists": 0.3,
                "per_device": 0.25,
                "broken": 0.3,
                "groups": 0.2,
                "errors": 0.25,
                "admin": 0.3,
                "derived": 0.3,
                "full_names": 0.3,
                "many_pools": 0.6,
            }.items()
        }
        nodes = [self.node(i) for i in range(self.pick(1, 2, 2, 3))]
        classes = self.classes()
        slices: list[Json] = []
        for driver in DRIVERS[: self.pick(1, 2, 2, 3)]:
            for node in nodes:
                if self.chance(0.75):
                    slices += self.pool(driver, node, nodes)
            if self.chance(0.3):
                slices += self.pool(driver, None, nodes)
        self.r.shuffle(slices)
        return {
            "features": features,
            "nodes": nodes,
            "classes": classes,
            "slices": slices,
            "allocated": [self.allocated(i) for i in range(self.pick(0, 0, 1, 2, 3))] if self.names else [],
            "claims": [self.claim(i) for i in range(self.pick(1, 1, 1, 1, 2, 2) if self.small else self.claims())],
        }

    def node(self, index: int) -> Json:
        labels = {"zone": self.pick("a", "b"), "kubernetes.io/hostname": f"node-{index}"}
        if self.chance(0.3):
            labels["cores"] = self.pick("8", "96", "many")
        node: Json = {"metadata": {"name": f"node-{index}", "labels": labels}}
        if self.newer and self.chance(0.3):
            node["status"] = {"declaredFeatures": ["DRAOptionalNodeOperations"]}
        return node

    def classes(self) -> list[Json]:
        def entry(name: str, *selectors: str, config: int = 0) -> Json:
            spec: Json = {}
            if selectors:
                spec["selectors"] = [{"cel": {"expression": s}} for s in selectors]
            if config:
                spec["config"] = [self.opaque(f"{name}-{i}") for i in range(config)]
            return {"metadata": {"name": name}, "spec": spec}

        return [
            entry("any", config=self.pick(0, 0, 1)),
            entry("gpu", 'device.driver == "gpu.example.com"', config=self.pick(0, 1, 2)),
            entry("nic", 'device.driver == "nic.example.org"'),
            entry("picky", *(self.selector() for _ in range(self.pick(1, 2)))),
        ]

    def opaque(self, text: str) -> Json:
        return {"opaque": {"driver": self.pick(*DRIVERS), "parameters": {"kind": text}}}

    def selector(self) -> str:
        count = len(SELECTORS) if self.mood["errors"] else len(SELECTORS) - 5
        return str(self.r.choices(SELECTORS[:count], WEIGHTS[:count])[0])

    # --- slices --------------------------------------------------------------------------------------------------

    def pool(self, driver: str, node: Json | None, nodes: list[Json]) -> list[Json]:
        base = "shared" if node is None else node["metadata"]["name"]
        name = base if not self.mood["many_pools"] or self.chance(0.6) else f"{base}-{self.pick('x', 'y')}"
        generation = self.pick(1, 1, 2)
        wanted = self.pick(1, 1, 1, 2, 2, 3)
        sets = self.counter_sets() if self.mood["counters"] and self.chance(0.7) else []
        slices = []
        number = 0
        for index in range(wanted):
            devices = []
            for _ in range(self.pick(1, 1, 2, 2) if self.small else self.pick(1, 2, 2, 3, 4)):
                devices.append(self.device(driver, name, number, sets, nodes))
                number += 1
            spec: Json = {"devices": devices}
            self.place(spec, node, nodes)
            if sets and self.old:
                spec["sharedCounters"] = sets
            if self.newer and self.chance(0.05):
                spec["skipNodeOperations"] = ["NodePrepareResources", "NodeUnprepareResources"]
            slices.append(self.slice(driver, name, generation, f"{index}-{self.r.randrange(100)}", spec))
        if sets and not self.old:
            parts = [[one] for one in sets] if self.chance(0.4) else [sets]
            for part in parts:
                spec = {"sharedCounters": part}
                self.place(spec, node, nodes)
                if "perDeviceNodeSelection" in spec:
                    spec = {"sharedCounters": part, "allNodes": True}
                slices.append(self.slice(driver, name, generation, f"counters-{self.r.randrange(100)}", spec))
        for item in slices:
            item["spec"]["pool"]["resourceSliceCount"] = len(slices)
        if self.mood["broken"] and self.chance(0.5):
            self.break_pool(slices, nodes)
        return slices

    def slice(self, driver: str, pool: str, generation: int, suffix: str, spec: Json) -> Json:
        where = {"driver": driver, "pool": {"name": pool, "generation": generation, "resourceSliceCount": 1}}
        return {"metadata": {"name": f"{pool}-{driver}-{suffix}"}, "spec": {**where, **spec}}

    def place(self, spec: Json, node: Json | None, nodes: list[Json]) -> None:
        """Say for which nodes a slice is, devices included where each says so itself."""
        if self.mood["per_device"] and self.chance(0.6) and "devices" in spec:
            spec["perDeviceNodeSelection"] = True
            for device in spec["devices"]:
                self.place_device(device, node, nodes)
        elif node is not None and self.chance(0.9):
            spec["nodeName"] = node["metadata"]["name"]
        elif self.chance(0.5):
            spec["nodeSelector"] = self.node_selector()
        else:
            spec["allNodes"] = True

    def place_device(self, device: Json, node: Json | None, nodes: list[Json]) -> None:
        way = self.r.random()
        if way < 0.6:
            chosen = node if node is not None and self.chance(0.8) else self.r.choice(nodes)
            device["nodeName"] = chosen["metadata"]["name"]
        elif way < 0.8:
            device["nodeSelector"] = self.node_selector()
        else:
            device["allNodes"] = True

    def node_selector(self) -> Json:
        def requirement() -> Json:
            way = self.r.random()
            if way < 0.5:
                return {"key": "zone", "operator": self.pick("In", "NotIn"), "values": [self.pick("a", "b")]}
            if way < 0.6:
                values = self.pick(["a", "b"], ["8", "c"], ["96"])
                return {"key": self.pick("zone", "cores"), "operator": self.pick("In", "NotIn"), "values": values}
            if way < 0.8:
                return {"key": "cores", "operator": self.pick("Exists", "DoesNotExist")}
            values = ["-1" if self.chance(0.03) else self.pick("50", "50", "8", "96")]
            return {"key": self.pick("cores", "cores", "zone"), "operator": self.pick("Gt", "Lt"), "values": values}

        terms = [{"matchExpressions": [requirement() for _ in range(self.pick(1, 1, 2))]}]
        if self.chance(0.05):
            terms.append({"matchExpressions": [requirement()]})
        if self.chance(0.1):
            operator = self.pick("In", "NotIn")
            values = [self.pick("node-0", "node-0", "node-1")]
            terms[0]["matchFields"] = [{"key": "metadata.name", "operator": operator, "values": values}]
            if self.chance(0.3):
                del terms[0]["matchExpressions"]
        return {"nodeSelectorTerms": terms}

    def counter_sets(self) -> list[Json]:
        return [
            {"name": f"set-{i}", "counters": {c: {"value": str(self.pick(1, 2, 3, 4))} for c in self.some("mem", "sm")}}
            for i in range(self.pick(1, 1, 2, 2, 3))
        ]

    def some(self, *items: str) -> list[str]:
        return [item for item in items if self.chance(0.7)] or [items[0]]

    def device(self, driver: str, pool: str, number: int, sets: list[Json], nodes: list[Json]) -> Json:
        name = f"dev-{number}"
        self.names.append((driver, pool, name))
        device: Json = {"name": name}
        attributes = self.attributes(driver, number)
        if attributes:
            device["attributes"] = attributes
        multi = self.mood["sharing"] and self.chance(0.6)
        capacity = self.capacity(multi)
        if capacity:
            device["capacity"] = capacity
        if multi:
            device["allowMultipleAllocations"] = True
        if sets and self.chance(0.8):
            device["consumesCounters"] = [self.consumption(s) for s in sets if self.chance(0.8)]
            if not device["consumesCounters"]:
                del device["consumesCounters"]
        if self.mood["taints"] and self.chance(0.5):
            device["taints"] = [self.taint() for _ in range(self.pick(1, 1, 2))]
        if self.mood["binding"] and self.chance(0.4):
            device["bindingConditions"] = self.pick(["ready"], ["ready", "steady"])
            device["bindingFailureConditions"] = ["failed"]
        if self.mood["binding"] and self.chance(0.3):
            device["bindsToNode"] = True
        return device

    def attributes(self, driver: str, number: int) -> Json:
        result: Json = {}
        if self.chance(0.8):
            result["model"] = {"string": self.pick("a", "a", "b")}
        if self.chance(0.8):
            result["index"] = {"int": self.pick(number, 0, 1)}
        if self.chance(0.3):
            result["healthy"] = {"bool": self.chance(0.7)}
        if self.chance(0.3):
            result["version"] = {"version": self.pick("1.0.0", "2.1.0", "0.9.0-rc.1")}
        if self.chance(0.8):
            result["x.io/root"] = self.pick({"string": "r0"}, {"string": "r1"}, {"string": "r1"}, {"int": 1})
        if self.mood["full_names"] and self.chance(0.4):
            for name in ("model", "index"):
                if name in result and self.chance(0.6):
                    result[f"{self.pick(driver, 'gpu.example.com')}/{name}"] = result.pop(name)
        if self.mood["lists"]:
            if self.chance(0.7):
                result["x.io/list"] = self.pick(
                    {"strings": ["p", "q"]},
                    {"strings": ["q"]},
                    {"strings": ["q", "r"]},
                    {"string": "p"},
                    {"ints": [1, 2]},
                )
            if self.chance(0.3):
                result["x.io/root"] = self.pick({"strings": ["r0", "r1"]}, {"strings": ["r1", "r2"]})
        return result

    def capacity(self, multi: bool) -> Json:
        result: Json = {}
        for name in ("memory", "gpu.example.com/bandwidth"):
            if not self.chance(0.6):
                continue
            value = self.pick("4", "8", "10", "16Gi", "40Gi")
            entry: Json = {"value": value}
            if multi and self.chance(0.7):
                entry["requestPolicy"] = self.policy(value)
            result[name] = entry
        return result

    def policy(self, value: str) -> Json:
        way = self.r.random()
        if value.endswith("Gi"):
            if way < 0.4:
                return {"default": "4Gi", "validValues": self.pick(["1Gi", "4Gi"], ["2Gi", "4Gi", "8Gi"])}
            if way < 0.8:
                bounds = {
                    "min": self.pick("1Gi", "2Gi"),
                    **self.pick({}, {"step": "1Gi"}, {"max": "8Gi", "step": "2Gi"}, {"max": "4Gi"}, {"step": "512Mi"}),
                }
                return {"default": "4Gi", "validRange": bounds}
            return {"default": self.pick("1Gi", "4096Mi")}
        if way < 0.3:
            return {"default": "2", "validValues": self.pick(["1", "2"], ["2", "4"], ["500m", "2", "3"])}
        if way < 0.8:
            bounds = {
                "min": "1",
                **self.pick({}, {"step": "1"}, {"max": "4", "step": "1"}, {"max": "3"}, {"step": "500m"}),
            }
            if self.chance(0.2):
                bounds["min"] = "500m"
            return {"default": self.pick("1", "2", "1500m"), "validRange": bounds}
        return {"default": self.pick("1", "3")}

    def consumption(self, counter_set: Json) -> Json:
        use = {c: {"value": str(self.pick(1, 1, 2))} for c in counter_set["counters"] if self.chance(0.8)}
        first = next(iter(counter_set["counters"]))
        result: Json = {"counterSet": counter_set["name"], "counters": use or {first: {"value": "1"}}}
        if self.newer and self.mood["groups"] and self.chance(0.6):
            result["compatibilityGroups"] = self.pick(["a"], ["b"], ["a", "b"])
        return result

    def taint(self) -> Json:
        taint: Json = {
            "key": self.pick("k1", "k2"),
            "effect": self.pick("NoSchedule", "NoSchedule", "NoExecute", "None"),
        }
        if self.chance(0.1):
            taint["timeAdded"] = "2026-01-01T00:00:00Z"
        if self.chance(0.5):
            taint["value"] = self.pick("v1", "v2")
        return taint

    def break_pool(self, slices: list[Json], nodes: list[Json]) -> None:
        way = self.r.random()
        victim = self.r.choice(slices)
        devices = victim["spec"].get("devices")
        if way < 0.25:
            for item in slices:
                item["spec"]["pool"]["resourceSliceCount"] += self.pick(1, -1) if len(slices) > 1 else 1
        elif way < 0.4 and devices and len(devices) > 1:
            devices[1]["name"] = devices[0]["name"]
        elif way < 0.55 and devices:
            devices[0]["consumesCounters"] = [{"counterSet": "nowhere", "counters": {"mem": {"value": "1"}}}]
        elif way < 0.75:
            old = {**victim, "metadata": {"name": victim["metadata"]["name"] + "-old"}, "spec": {**victim["spec"]}}
            pool = old["spec"]["pool"]
            old["spec"]["pool"] = {**pool, "generation": pool["generation"] - 1, "resourceSliceCount": self.pick(1, 2)}
            if "nodeName" in old["spec"] and self.chance(0.6):
                old["spec"]["nodeName"] = self.r.choice(nodes)["metadata"]["name"]
            slices.append(old)
        elif way < 0.85:
            victim["spec"].pop("nodeName", None)
        else:
            victim["spec"]["pool"]["generation"] += 1

    # --- claims --------------------------------------------------------------------------------------------------

    def claims(self) -> int:
        """More of them where they can share devices."""
        return int(self.pick(1, 2, 2, 3) if self.mood["sharing"] else self.pick(1, 1, 1, 1, 2, 2))

    def claim(self, index: int) -> Json:
        count = self.pick(1, 1, 2, 2) if self.small else self.pick(1, 1, 1, 2, 2, 3)
        requests = [self.request(f"req-{i}") for i in range(count)]
        if self.chance(0.01):
            requests = []
        devices: Json = {"requests": requests}
        if requests and self.chance(0.4):
            devices["constraints"] = [self.constraint(requests) for _ in range(self.pick(1, 1, 2))]
        if requests and self.chance(0.2):
            devices["config"] = [
                {**self.opaque(f"own-{i}"), **({"requests": self.references(requests)} if self.chance(0.7) else {})}
                for i in range(self.pick(1, 2))
            ]
        meta = {"name": f"claim-{index}", "namespace": "ns", "uid": f"uid-{index}"}
        return {"metadata": meta, "spec": {"devices": devices}}

    def request(self, name: str) -> Json:
        if self.chance(0.25):
            return {
                "name": name,
                "firstAvailable": [self.exact(True, f"sub-{i}") for i in range(self.pick(1, 2, 2, 3))],
            }
        return {"name": name, "exactly": self.exact(False)}

    def exact(self, sub: bool, name: str = "") -> Json:
        result: Json = {"name": name} if sub else {}
        result["deviceClassName"] = self.r.choices(("any", "gpu", "nic", "picky", "missing"), (12, 8, 3, 4, 0.15))[0]
        if self.chance(0.12):
            result["allocationMode"] = "All"
        else:
            result["allocationMode"] = "ExactCount"
            result["count"] = self.r.choices(
                (1, 2, 3, 4, 20), (14, 4, 1, 0, 0.2) if self.small else (14, 4, 2, 1, 0.2)
            )[0]
        if self.chance(0.5):
            result["selectors"] = [{"cel": {"expression": self.selector()}} for _ in range(self.pick(1, 1, 2))]
        if not sub and self.mood["admin"] and self.chance(0.4):
            result["adminAccess"] = self.chance(0.8)
        if self.mood["taints"] and self.chance(0.5):
            result["tolerations"] = [self.toleration() for _ in range(self.pick(1, 1, 2))]
        if self.newer and self.mood["derived"] and self.chance(0.5):
            result["derivedAttributes"] = [self.derived() for _ in range(self.pick(1, 1, 2))]
        if self.mood["sharing"] and self.chance(0.5):
            result["capacity"] = {"requests": self.capacity_requests()}
        return result

    def derived(self) -> Json:
        expressions = DERIVED_BADLY if self.mood["errors"] and self.chance(0.3) else DERIVED
        return {
            "name": self.pick("x.io/root", "x.io/list", "gpu.example.com/index"),
            "expression": self.pick(*expressions),
        }

    def capacity_requests(self) -> Json:
        names = self.some("memory", "gpu.example.com/bandwidth")
        if self.chance(0.05):
            names.append("nothing")
        return {name: self.pick("1", "2", "3", "5", "1500m", "1Gi", "3Gi", "5Gi") for name in names}

    def toleration(self) -> Json:
        result: Json = {"operator": self.pick("Exists", "Equal")}
        if self.chance(0.8):
            result["key"] = self.pick("k1", "k2")
        if result["operator"] == "Equal" and self.chance(0.7):
            result["value"] = self.pick("v1", "v2")
        if self.chance(0.5):
            result["effect"] = self.pick("NoSchedule", "NoExecute", "NoExecute", "None")
        if result.get("effect") == "NoExecute" and self.chance(0.5):
            result["tolerationSeconds"] = self.pick(0, 60)
        return result

    def constraint(self, requests: list[Json]) -> Json:
        kind = "matchAttribute" if self.chance(0.6) else "distinctAttribute"
        result: Json = {kind: self.r.choices(ATTRIBUTES, (6, 3, 2, 1, 3, 0.2))[0]}
        if self.chance(0.02):
            result["distinctAttribute"] = result["matchAttribute"] = "x.io/root"
        if self.chance(0.5):
            result["requests"] = self.references(requests)
        return result

    def references(self, requests: list[Json]) -> list[str]:
        names = []
        for request in requests:
            if not self.chance(0.7):
                continue
            subs = request.get("firstAvailable")
            names.append(
                f"{request['name']}/{self.r.choice(subs)['name']}" if subs and self.chance(0.4) else request["name"]
            )
        return names or [requests[0]["name"]]

    def allocated(self, index: int) -> Json:
        results = []
        for driver, pool, device in self.r.sample(self.names, min(len(self.names), self.pick(1, 1, 2))):
            result: Json = {"request": "r", "driver": driver, "pool": pool, "device": device}
            if self.chance(0.1):
                result["adminAccess"] = True
            if self.mood["sharing"] and self.chance(0.6):
                result["shareID"] = f"share-{index}"
                if self.chance(0.8):
                    result["consumedCapacity"] = {n: self.pick("1", "2", "1Gi") for n in self.some("memory", "other")}
            results.append(result)
        if self.mood["binding"] and self.chance(0.5):
            for result in results:
                result["bindingConditions"] = ["ready"]
                result["bindingFailureConditions"] = ["failed"]
        return {
            "metadata": {"name": f"held-{index}", "namespace": "ns", "uid": f"held-{index}"},
            "spec": {"devices": {}},
            "status": {"allocation": {"devices": {"results": results}}, **self.reported(results)},
        }

    def reported(self, results: list[Json]) -> Json:
        """What drivers say of allocated devices, which plays no part."""
        if not self.chance(0.2):
            return {}
        where = [{name: result[name] for name in ("driver", "pool", "device")} for result in results]
        conditions = [{"type": self.pick("ready", "failed"), "status": self.pick("True", "False"), "reason": "R"}]
        return {"devices": [{**one, "conditions": conditions} for one in where]}


ODD_AMOUNTS = (
    "0",
    "-1",
    "1500m",
    "1.5Gi",
    "1e3",
    "5k",
    "9223372036854775807",
    "16Ei",
    "100E",
    "0.1",
    "1n",
)


def make_odd(made: Json, r: random.Random) -> Json:
    """Spoil a fleet in a few places, mostly with what the API server would not let in."""

    def amounts(item: Any) -> list[Json]:
        if isinstance(item, list):
            return [found for part in item for found in amounts(part)]
        if not isinstance(item, dict):
            return []
        # Kubernetes up to 1.36 corrupts counters beyond 64 bits, which no cluster has: leave them alone.
        found = [found for name, part in item.items() if name != "counters" for found in amounts(part)]
        quantities = ("value", "min", "max", "step", "default", "memory", "gpu.example.com/bandwidth")
        return found + [item] * any(isinstance(item.get(name), str) for name in quantities)

    holders = amounts([made["slices"], made["claims"], made["allocated"]])
    for holder in r.sample(holders, min(len(holders), r.choice((0, 1, 2, 5)))):
        names = [n for n, v in holder.items() if isinstance(v, str) and n not in ("name", "key", "effect", "operator")]
        if names and "key" not in holder:
            holder[r.choice(names)] = r.choice(ODD_AMOUNTS)
    requests = [q for c in made["claims"] for q in c["spec"]["devices"]["requests"]]
    exacts = [e for q in requests for e in ([q["exactly"]] if "exactly" in q else q["firstAvailable"])]
    for exact in exacts:
        if r.random() < 0.1:
            exact.update(
                r.choice(
                    (
                        {"count": 0},
                        {"allocationMode": ""},
                        {"allocationMode": "Some"},
                        {"deviceClassName": ""},
                        {"selectors": [{}]},
                        {"selectors": [{"cel": {"expression": "1 +"}}]},
                        {"count": 2**62},
                        {"count": 32},
                        {"tolerations": [{"operator": "Near", "key": "k1"}]},
                    )
                )
            )
    for claim in made["claims"]:
        if r.random() < 0.1:
            claim["spec"]["devices"]["constraints"] = [
                r.choice(({}, {"matchAttribute": "bare"}, {"matchAttribute": "a/b/c"}))
            ]
    for item in made["slices"]:
        spec = item["spec"]
        if r.random() < 0.05:
            spec.update(r.choice(({"nodeName": ""}, {"allNodes": False}, {"perDeviceNodeSelection": False})))
        if r.random() < 0.01:
            requirement = r.choice(({"operator": "Near"}, {"operator": "In"}, {"operator": "Gt", "values": ["x"]}))
            spec.pop("nodeName", None)
            spec["nodeSelector"] = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", **requirement}]}]}
        if r.random() < 0.03:
            spec["nodeSelector"] = {"nodeSelectorTerms": r.choice(([], [{}]))}
        for device in spec.get("devices", []):
            if r.random() < 0.05:
                device.setdefault("attributes", {})["x.io/root"] = r.choice(
                    ({}, {"strings": []}, {"version": "1"}, {"int": 0})
                )
    return made


def fleet(seed: int, release: str, odd: bool = False) -> Json:
    """The fleet of a seed, made for a release: with what came in 1.37, or with counters where 1.34 looks for them."""
    old = release < "1.35"
    made = Maker(seed, release >= "1.37", old, release < "1.36").fleet()
    if odd:
        made = make_odd(made, random.Random(seed))
    if old:
        # these went by two names then
        made["features"]["deviceBinding"] = made["features"]["deviceStatus"] = made["features"]["bindingConditions"]
    return made
