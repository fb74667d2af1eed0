"""The other lists, on the demo fleet and on small inventories; filters and sorting."""

import importlib.util
import json
from pathlib import Path

import pytest

from dractl.inventory import Inventory
from dractl.kube.objects import (
    Allocation,
    ClaimRequest,
    ClaimSpec,
    Condition,
    Consumer,
    DeviceRequest,
    Meta,
    Node,
    NodeRequirement,
    NodeSelector,
    NodeSelectorTerm,
    PoolRef,
    ResourceClaim,
    ResourceSlice,
)
from dractl.listing import filters, lists
from dractl.listing.devices import device_rows
from dractl.sources.snapshot import read_demo

ROOT = Path(__file__).resolve().parents[2]
KINDS = ["devices", "pools", "slices", "claims", "templates", "classes", "nodes", "taints"]


@pytest.fixture(scope="module")
def demo():
    return read_demo()


def test_pools(demo):
    rows = {(row.driver, row.pool): row for row in lists.pool_list(demo)}
    assert len(rows) == 29
    assert rows[("gpu.nvidia.com", "h100-3")].status == "incomplete"
    assert rows[("gpu.nvidia.com", "h100-0")].free == 3
    assert rows[("gpu.nvidia.com", "h100-1")].nodes == ["h100-1"]


def test_slices_that_are_replaced_are_marked():
    slices = [ResourceSlice(Meta(name=f"s{number}"), "d", PoolRef("p", number, 1)) for number in (1, 2)]
    assert [(row.name, row.current) for row in lists.slice_list(Inventory(slices))] == [("s1", False), ("s2", True)]


@pytest.mark.parametrize(
    ("allocated", "reserved", "deleted", "state"),
    [
        (False, False, False, "pending"),
        (True, False, False, "allocated"),
        (True, True, False, "allocated,reserved"),
        (False, False, True, "deleted"),
        (True, True, True, "deleted,allocated,reserved"),
    ],
)
def test_states_of_claims_are_those_of_kubectl(allocated, reserved, deleted, state):
    claim = ResourceClaim(
        Meta(name="c", deletion_timestamp="2026-01-01T00:00:00Z" if deleted else None),
        allocation=Allocation() if allocated else None,
        reserved_for=[Consumer("", "pods", "p", "u")] if reserved else [],
    )
    assert lists.claim_state(claim) == state


def test_claims(demo):
    rows = {f"{row.namespace}/{row.name}": row for row in lists.claim_list(demo)}
    assert len(rows) == 36
    whole = rows["ml/whole-node"]
    assert (whole.nodes, len(whole.devices), whole.state) == (["h100-1"], 8, "allocated,reserved")
    assert rows["ml/pair-on-h100-1"].state == "pending"
    assert rows["ml/pair-on-h100-1"].pods == ["pair-on-h100-1"]
    assert [request.name for request in rows["ml/pair-on-h100-1"].requests] == ["gpu", "nic"]


def test_requests_with_alternatives_and_all():
    alternatives = [DeviceRequest("x", "big", count=1), DeviceRequest("y", "small", count=2)]
    every = DeviceRequest("", "nic", allocation_mode="All")
    spec = ClaimSpec([ClaimRequest("a", first_available=alternatives), ClaimRequest("b", exactly=every)])
    rows = [(row.name, row.class_, row.count) for row in lists.request_rows(spec.requests)]
    assert rows == [("a/x", "big", 1), ("a/y", "small", 2), ("b", "nic", None)]


def test_templates_count_their_pods(demo):
    assert {row.name: row.pods for row in lists.template_list(demo)} == {"l40s": 5, "mig3": 3, "gpu-nic": 10}


def test_nodes(demo):
    rows = {row.name: row for row in lists.node_list(demo)}
    assert len(rows) == 14
    assert rows["h100-gone"].status == "missing"
    assert rows["h100-5"].schedulable is False
    assert {(one.driver, one.free, one.devices) for one in rows["h100-1"].drivers} == {
        ("dra.cpu", 2, 2),
        ("dra.net", 8, 8),
        ("gpu.nvidia.com", 0, 8),
    }


@pytest.mark.parametrize(("status", "wanted"), [("True", "Ready"), ("False", "NotReady"), ("Unknown", "Unknown")])
def test_the_status_of_a_node(status, wanted):
    assert lists.node_status(Node(Meta(), conditions=[Condition("Ready", status)])) == wanted
    assert lists.node_status(Node(Meta())) == "Unknown"


def test_taints(demo):
    rule, driver = lists.taint_list(demo)
    assert (rule.source, rule.driver, rule.pool, rule.devices) == ("maintenance-h100-4-nics", "dra.net", "h100-4", 8)
    assert (driver.source, driver.device, driver.devices) == ("driver", "gpu-5", 1)


# --- filters --------------------------------------------------------------------------------------------------------


def test_by_node_and_driver(demo):
    rows = device_rows(demo)
    on_node = filters.on_node(demo, rows, "h100-1")
    assert {row.pool for row in on_node} == {"h100-1"}
    assert len(filters.of_driver(on_node, "gpu.nvidia.com")) == 8
    assert {row.name for row in filters.on_node(demo, lists.node_list(demo), "h100-1")} == {"h100-1"}
    assert {row.nodes[0] for row in filters.on_node(demo, lists.claim_list(demo), "h100-1")} == {"h100-1"}


def test_devices_for_several_nodes_concern_those_they_select():
    zone = NodeSelector([NodeSelectorTerm([NodeRequirement("zone", "In", ["a"])])])
    slices = [
        ResourceSlice(Meta(name="all"), "d", PoolRef("all", 1, 1), all_nodes=True),
        ResourceSlice(Meta(name="some"), "d", PoolRef("some", 1, 1), node_selector=zone),
        ResourceSlice(Meta(name="one"), "d", PoolRef("one", 1, 1), node_name="b"),
    ]
    nodes = [Node(Meta(name="a", labels={"zone": "a"})), Node(Meta(name="b"))]
    inventory = Inventory([*slices, *nodes])
    for node, wanted in (("a", ["all", "some"]), ("b", ["all", "one"])):
        assert [row.name for row in filters.on_node(inventory, lists.slice_list(inventory), node)] == wanted


def test_sorting_counts_numbers_as_numbers(demo):
    rows = filters.of_driver(device_rows(demo), "gpu.nvidia.com")
    by_memory = [row.capacity.get("gpu.nvidia.com/memory") for row in filters.sort_by(rows, "-memory")]
    assert by_memory[0] == "81559Mi"
    assert by_memory.index("46068Mi") < by_memory.index("40Gi") < by_memory.index("4864Mi")
    named = [row.device for row in filters.sort_by(rows, "device") if row.pool == "h100-0"]
    assert named == [f"gpu-{number}" for number in range(8)]


def test_sorting_by_what_is_not_there(demo):
    with pytest.raises(filters.FilterError, match="no row has a field colour"):
        filters.sort_by(device_rows(demo), "colour")


# --- the command ----------------------------------------------------------------------------------------------------


def closed(schema):
    """The schema with no further fields allowed, so that a forgotten field is found."""
    if isinstance(schema, dict):
        schema = {key: closed(value) for key, value in schema.items()}
        if schema.get("type") == "object" and "properties" in schema:
            schema.setdefault("additionalProperties", False)
        return schema
    return [closed(item) for item in schema] if isinstance(schema, list) else schema


@pytest.mark.parametrize("kind", KINDS)
def test_json_is_what_the_schema_says(dractl, kind):
    import jsonschema

    everywhere = ["-A"] if kind in ("claims", "templates") else []
    done = dractl("get", kind, "--demo", "-o", "json", *everywhere)
    assert done.code == 0
    report = json.loads(done.out)
    assert report["items"]
    schema = json.loads((ROOT / "schemas" / f"{report['kind']}.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.Draft202012Validator(closed(schema)).validate(report)


def test_schemas_of_reports_are_current():
    spec = importlib.util.spec_from_file_location("reports", ROOT / "schemas" / "reports.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for name, text in module.schemas().items():
        assert (ROOT / "schemas" / name).read_text() == text, f"{name}: run make schemas"


@pytest.mark.parametrize("kind", KINDS)
def test_text_and_yaml_and_names(dractl, kind):
    import yaml

    everywhere = ["-A"] if kind in ("claims", "templates") else []
    report = json.loads(dractl("get", kind, "--demo", "-o", "json", *everywhere).out)
    assert yaml.safe_load(dractl("get", kind, "--demo", "-o", "yaml", *everywhere).out) == report
    count = len(report["items"])
    for output in ([], ["-o", "wide"]):
        lines = dractl("get", kind, "--demo", *everywhere, *output).out.splitlines()
        assert len(lines) == count + 1
        assert lines[0].isupper()
        assert not any(line != line.rstrip() for line in lines)
    assert len(dractl("get", kind, "--demo", "-o", "name", *everywhere).out.splitlines()) == count


def test_namespaces(dractl):
    lines = dractl("get", "claims", "--demo", "-n", "infer").out.splitlines()
    assert {line.split()[0] for line in lines[1:]} == {"infer"}
    nothing = dractl("get", "claims", "--demo")
    assert (nothing.code, nothing.out) == (0, "")
    assert nothing.err.splitlines() == [
        "No resources found in default namespace.",
        "note: there is something in infer, ml, monitoring, research (-A shows all)",
    ]
    assert dractl("get", "devices", "--demo", "--state", "full").err == "No resources found.\n"
    both = dractl("get", "claims", "--demo", "-n", "infer", "-A")
    assert both.out == dractl("get", "claims", "--demo", "-A").out
    assert both.err == "note: -A shows all namespaces; -n infer narrows nothing\n"


def test_devices_of_a_namespace(dractl):
    report = json.loads(dractl("get", "devices", "--demo", "-n", "infer", "-o", "json").out)
    assert report["items"]
    assert all(any(holder["namespace"] == "infer" for holder in item["holders"]) for item in report["items"])


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        (["devices", "--node", "h100-11"], "there is no node h100-11 in demo fleet", "h100-1"),
        (["devices", "--driver", "nvidia"], "no driver nvidia publishes", "gpu.nvidia.com"),
        (["pools", "--sort-by", "colour"], "no row has a field colour", "attribute"),
        (["classes", "--kubernetes", "new"], "--kubernetes new: is not a version", "1.36"),
    ],
)
def test_wrong_names_come_with_right_ones(dractl, arguments, message, hint):
    done = dractl("get", *arguments, "--demo")
    assert (done.code, done.out) == (2, "")
    assert message in done.err
    assert hint in done.err


HOPPER = 'device.attributes["gpu.nvidia.com"].architecture == "Hopper"'


def test_where_takes_what_a_selector_takes(dractl):
    done = dractl("get", "devices", "--demo", "--driver", "gpu.nvidia.com", "--where", HOPPER, "-o", "json")
    assert done.code == 0
    items = json.loads(done.out)["items"]
    assert len(items) == 52
    assert {item["attributes"]["gpu.nvidia.com/architecture"] for item in items} == {"Hopper"}


def test_where_says_on_how_many_devices_it_failed(dractl):
    done = dractl("get", "devices", "--demo", "--where", HOPPER)
    assert len(done.out.splitlines()) == 53
    assert done.err == (
        "note: 66 devices are left out because the expression raises an error on them, "
        "for example: no such key: architecture\n"
    )


def test_where_that_does_not_compile(dractl):
    done = dractl("get", "devices", "--demo", "--where", "device.nothing == 1")
    assert (done.code, done.out) == (2, "")
    assert "undefined field 'nothing'" in done.err


def test_classes_count_the_devices_they_take(dractl):
    items = json.loads(dractl("get", "classes", "--demo", "-o", "json").out)["items"]
    counts = {item["name"]: item["devices"] for item in items}
    assert counts["gpu.nvidia.com"] == 80
    assert counts["mig.nvidia.com"] == 84
    assert counts["rdma.dra.net"] == 42
    assert all(item["errors"] == [] for item in items)
