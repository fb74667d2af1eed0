"""The state of every device: what it rests on is said, and the demo fleet's are counted."""

from collections import Counter

import pytest

from dractl.inventory import Inventory
from dractl.kube.objects import (
    Allocation,
    AllocationDevice,
    CounterSet,
    Device,
    DeviceAttribute,
    DeviceCapacity,
    DeviceCounterConsumption,
    DeviceTaint,
    DeviceTaintRule,
    DeviceTaintSelector,
    Meta,
    Node,
    NodeRequirement,
    NodeSelector,
    NodeSelectorTerm,
    PoolRef,
    ResourceClaim,
    ResourceSlice,
)
from dractl.kube.quantity import Quantity
from dractl.listing.devices import device_rows, product
from dractl.sources.snapshot import read_demo


def q(text):
    return Quantity.parse(text)


def pool(*devices, count=1, counters=(), **fields):
    fields = {"node_name": "n"} | fields
    slices = [ResourceSlice(Meta(name="s"), "drv", PoolRef("p", 1, count), devices=list(devices), **fields)]
    if counters:
        shared = ResourceSlice(Meta(name="c"), "drv", PoolRef("p", 1, count), shared_counters=list(counters), **fields)
        slices.append(shared)
    return slices


def held(*names, admin=None, consumed=None, claim="c"):
    results = [
        AllocationDevice("r", "drv", "p", name, admin_access=admin, consumed_capacity=consumed and dict(consumed))
        for name in names
    ]
    return ResourceClaim(Meta(name=claim, namespace="ns"), allocation=Allocation(results))


def states(*objects):
    return {row.device: (row.state, row.reasons) for row in device_rows(Inventory(objects))}


def test_free_and_used():
    assert states(*pool(Device("a"), Device("b")), held("a")) == {"a": ("used", ["held by ns/c"]), "b": ("free", [])}


def test_admin_access_does_not_take_a_device():
    inventory = Inventory([*pool(Device("a")), held("a", admin=True)])
    [row] = device_rows(inventory)
    assert row.state == "free"
    assert [holder.admin_access for holder in row.holders] == [True]


@pytest.mark.parametrize(("effect", "state"), [("NoSchedule", "tainted"), ("NoExecute", "tainted"), ("None", "free")])
def test_taints(effect, state):
    taint = DeviceTaint("k", "v", effect)
    [(found, reasons)] = states(*pool(Device("a", taints=[taint]))).values()
    assert found == state
    assert reasons == ([f"taint k=v:{effect}"] if state == "tainted" else [])


@pytest.mark.parametrize(
    ("selector", "tainted"),
    [
        (DeviceTaintSelector(), ["a", "b"]),
        (DeviceTaintSelector(driver="drv"), ["a", "b"]),
        (DeviceTaintSelector(driver="other"), []),
        (DeviceTaintSelector(pool="p", device="b"), ["b"]),
        (None, ["a", "b"]),
    ],
)
def test_taint_rules_fit_by_driver_pool_and_device(selector, tainted):
    rule = DeviceTaintRule(Meta(name="rule"), selector, DeviceTaint("k", "", "NoSchedule"))
    found = states(*pool(Device("a"), Device("b")), rule)
    assert [name for name, (state, _) in found.items() if state == "tainted"] == tainted
    assert all(reasons == ["taint k:NoSchedule (DeviceTaintRule rule)"] for _, reasons in found.values() if reasons)


def test_counters_that_others_have_used_up():
    def part(name, amount):
        return Device(name, consumes_counters=[DeviceCounterConsumption("set", {"memory": q(amount)})])

    counters = [CounterSet("set", {"memory": q("40Gi")})]
    devices = pool(part("whole", "40Gi"), part("half", "20Gi"), part("h2", "20Gi"), count=2, counters=counters)
    found = states(*devices, held("half"))
    assert found["whole"] == ("counters-exhausted", ["needs 40Gi memory of set, 20Gi left"])
    assert found["h2"][0] == "free"
    assert found["half"][0] == "used"
    assert states(*devices, held("half", admin=True))["whole"][0] == "free"


def test_many_short_counters_are_told_in_one_line():
    amounts = {f"slice-{index}": q("1") for index in range(8)}
    device = Device("whole", consumes_counters=[DeviceCounterConsumption("set", amounts)])
    empty = CounterSet("set", {name: q("0") for name in amounts})
    found = states(*pool(device, count=2, counters=[empty]))
    assert found["whole"][1] == ["needs 1 slice-0 of set, 0 left (and 7 more counters are short)"]


def test_a_counter_set_that_is_not_published():
    device = Device("a", consumes_counters=[DeviceCounterConsumption("set", {"memory": q("1")})])
    assert states(*pool(device))["a"] == ("counters-exhausted", ["set has no counter memory"])


def test_devices_that_are_shared():
    device = Device("a", allow_multiple_allocations=True, capacity={"cpu": DeviceCapacity(q("8"))})
    shares = [held("a", consumed={"cpu": q("2")}), held("a", consumed={"cpu": q("3")}, claim="d")]
    inventory = Inventory([*pool(device), *shares])
    [row] = device_rows(inventory)
    assert (row.state, row.available) == ("shared", {"drv/cpu": "3"})
    assert row.reasons == ["held by ns/c, ns/d; 3 of 8 cpu left"]
    full = [*shares, held("a", consumed={"cpu": q("3")}, claim="e")]
    assert states(*pool(device), *full)["a"][0] == "full"
    assert states(*pool(device))["a"] == ("free", [])


def test_incomplete_pools_and_missing_nodes():
    assert states(*pool(Device("a"), count=3))["a"] == (
        "pool-incomplete",
        ["1 of 3 slices of the pool are published"],
    )
    assert states(*pool(Device("a")), Node(Meta(name="m")))["a"] == ("node-missing", ["there is no node n"])
    assert states(*pool(Device("a")), Node(Meta(name="n")))["a"][0] == "free"


def test_all_reasons_are_said_the_state_is_the_first():
    taint = DeviceTaint("k", "", "NoSchedule")
    state, reasons = states(*pool(Device("a", taints=[taint]), count=2), held("a"))["a"]
    assert state == "used"
    assert len(reasons) == 3


def test_devices_of_former_generations_are_not_listed():
    former = ResourceSlice(Meta(name="old"), "drv", PoolRef("p", 0, 1), devices=[Device("gone")])
    assert list(states(former, *pool(Device("a")))) == ["a"]


def test_where_a_device_can_be_used():
    selector = NodeSelector([NodeSelectorTerm([NodeRequirement("zone", "In", ["a", "b"])])])
    for fields, wanted in (
        ({"node_name": None, "all_nodes": True}, (None, "all nodes")),
        ({"node_name": None, "node_selector": selector}, (None, "zone In [a, b]")),
        ({"node_name": "n"}, ("n", None)),
    ):
        [row] = device_rows(Inventory(pool(Device("a"), **fields)))
        assert (row.node, row.nodes) == wanted


@pytest.mark.parametrize(
    ("attributes", "wanted"),
    [
        ({"productName": "NVIDIA A100", "profile": "1g.5gb", "model": "x"}, "NVIDIA A100 1g.5gb"),
        ({"dra.net/ifName": "eth0", "dra.net/pciDevice": "ConnectX-7"}, "ConnectX-7"),
        ({"model": "Max 1550"}, "Max 1550"),
        ({"uuid": "x"}, None),
    ],
)
def test_product(attributes, wanted):
    device = Device("a", attributes={name: DeviceAttribute("string", value) for name, value in attributes.items()})
    assert product(device) == wanted


def test_names_of_attributes_and_capacities_carry_their_domain():
    device = Device(
        "a",
        attributes={"n": DeviceAttribute("int", 1), "other/x": DeviceAttribute("strings", ("a", "b"))},
        capacity={"memory": DeviceCapacity(q("40Gi"))},
    )
    [row] = device_rows(Inventory(pool(device)))
    assert row.attributes == {"drv/n": 1, "other/x": ["a", "b"]}
    assert row.capacity == {"drv/memory": "40Gi"}


def test_the_demo_fleet():
    rows = device_rows(read_demo())
    counts = Counter((row.driver, row.state) for row in rows)
    assert counts[("gpu.nvidia.com", "pool-incomplete")] == 4
    assert counts[("gpu.nvidia.com", "node-missing")] == 8
    assert len([row for row in rows if any(taint.source != "driver" for taint in row.taints)]) == 8
    assert counts[("dra.net", "tainted")] == 6  # two of the eight are used as well
    assert {row.id for row in rows if row.state == "tainted" and row.driver == "gpu.nvidia.com"} == {
        "gpu.nvidia.com/h100-2/gpu-5"
    }
