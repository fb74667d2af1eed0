"""The indexes of an inventory: pools, devices, holders, pods and claims, events, release."""

import pytest

from dractl.inventory import DeviceId, Inventory, Key, LinkState, PoolId, Provenance, parse_release, release_of
from dractl.kube.objects import (
    Allocation,
    AllocationDevice,
    Consumer,
    Device,
    Event,
    ExtendedResourceClaimStatus,
    Meta,
    Node,
    OwnerReference,
    Pod,
    PodResourceClaim,
    PoolRef,
    ResourceClaim,
    ResourceClaimTemplate,
    ResourceSlice,
)


def slice_of(name, pool, generation=1, count=1, devices=(), driver="drv", node="n"):
    return ResourceSlice(
        meta=Meta(name=name),
        driver=driver,
        pool=PoolRef(pool, generation, count),
        node_name=node,
        devices=[Device(name=device) for device in devices],
    )


def pod_of(name, *entries, uid=None, **fields):
    return Pod(meta=Meta(name=name, namespace="ns", uid=uid or f"uid-{name}"), resource_claims=list(entries), **fields)


def claim_of(name, *results, owner=None, entry=None, reserved=(), annotations=None):
    meta = Meta(name=name, namespace="ns", annotations=dict(annotations or {}))
    if owner:
        meta.owners = [OwnerReference(kind="Pod", name=owner, uid=f"uid-{owner}", controller=True)]
    if entry:
        meta.annotations["resource.kubernetes.io/pod-claim-name"] = entry
    allocation = Allocation([AllocationDevice("r", *result) for result in results]) if results else None
    consumers = [Consumer("", "pods", pod, f"uid-{pod}") for pod in reserved]
    return ResourceClaim(meta, allocation=allocation, reserved_for=consumers)


# --- pools ----------------------------------------------------------------------------------------------------------


def test_only_the_newest_generation_of_a_pool_is_current():
    inventory = Inventory(
        [
            slice_of("b", "p", 2, 2, ["d2"]),
            slice_of("old", "p", 1, 1, ["d0"]),
            slice_of("a", "p", 2, 2, ["d1"]),
            slice_of("x", "p", 7, 1, ["d1"], driver="other"),
        ]
    )
    pool = inventory.pools[PoolId("drv", "p")]
    assert pool.generation == 2
    assert [item.meta.name for item in pool.current] == ["a", "b"]
    assert [item.meta.name for item in pool.former] == ["old"]
    assert pool.complete
    assert [str(key) for key in inventory.devices] == ["drv/p/d1", "drv/p/d2", "other/p/d1"]
    assert [str(device.id) for device in pool.former_devices()] == ["drv/p/d0"]


@pytest.mark.parametrize(
    ("counts", "complete", "agree"),
    [([1], True, True), ([2], False, True), ([1, 1], False, True), ([2, 2], True, True), ([2, 3], False, False)],
)
def test_completeness_is_what_the_slices_say(counts, complete, agree):
    slices = [slice_of(f"s{index}", "p", 1, count) for index, count in enumerate(counts)]
    pool = Inventory(slices).pools[PoolId("drv", "p")]
    assert (pool.complete, pool.counts_agree) == (complete, agree)
    assert pool.expected_slices == max(counts)


def test_of_equal_names_in_one_pool_the_first_counts():
    inventory = Inventory([slice_of("b", "p", 1, 2, ["d"]), slice_of("a", "p", 1, 2, ["d"])])
    assert inventory.devices[DeviceId("drv", "p", "d")].slice.meta.name == "a"


def test_slices_by_node():
    inventory = Inventory([slice_of("a", "p"), slice_of("b", "q", node=None), slice_of("c", "r", node="m")])
    assert {node: len(slices) for node, slices in inventory.slices_by_node.items()} == {"n": 1, "": 1, "m": 1}


# --- names ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["drv/p/d", "drv/rack/1/p/d", "gpu.nvidia.com/node-1/gpu-0"])
def test_device_ids_are_read_as_they_are_written(text):
    assert str(DeviceId.parse(text)) == text


def test_pools_with_slashes_keep_them():
    assert DeviceId.parse("drv/a/b/d") == DeviceId("drv", "a/b", "d")


@pytest.mark.parametrize("text", ["", "d", "p/d", "//", "drv//d"])
def test_other_texts_are_no_device_ids(text):
    assert DeviceId.parse(text) is None


# --- holders --------------------------------------------------------------------------------------------------------


def test_holders_of_a_device_with_the_pods_that_use_the_claim():
    key = ("drv", "p", "d")
    inventory = Inventory(
        [
            claim_of("one", key, reserved=["a", "gone"]),
            claim_of("two", key),
            claim_of("pending"),
            pod_of("a"),
            pod_of("gone", uid="another-pod-of-that-name"),
        ]
    )
    holders = inventory.holders[DeviceId(*key)]
    assert [holder.claim.meta.name for holder in holders] == ["one", "two"]
    assert [pod.meta.name for pod in holders[0].pods] == ["a"]
    assert holders[0].reserved_for == ["a", "gone"]
    assert list(inventory.holders) == [DeviceId(*key)]


# --- pods and claims ------------------------------------------------------------------------------------------------


def links(*objects):
    return {link.entry and link.entry.name: link for link in Inventory(objects).pod_claims[Key("ns", "p")]}


def test_a_claim_by_name():
    found = links(pod_of("p", PodResourceClaim("e", "c"), PodResourceClaim("f", "missing")), claim_of("c"))
    assert (found["e"].state, found["e"].claim.meta.name) == (LinkState.FOUND, "c")
    assert (found["f"].state, found["f"].claim_name) == (LinkState.CLAIM_MISSING, "missing")


def test_a_generated_claim_by_status_or_by_owner():
    entry = PodResourceClaim("e", None, "t")
    template = ResourceClaimTemplate(Meta(name="t", namespace="ns"))
    by_status = pod_of("p", entry, claim_statuses={"e": "p-e-x"})
    claim = claim_of("p-e-x", owner="p", entry="e")
    assert links(by_status, claim, template)["e"].claim is claim
    assert links(pod_of("p", entry), claim, template)["e"].claim is claim
    assert links(pod_of("p", entry), claim_of("x", owner="p", entry="other"), template)["e"].claim is None
    assert links(by_status, template)["e"].state is LinkState.CLAIM_MISSING
    assert links(by_status, claim_of("p-e-x", owner="other", entry="e"))["e"].state is LinkState.FOREIGN


def test_a_claim_that_is_not_made():
    entry = PodResourceClaim("e", None, "t")
    template = ResourceClaimTemplate(Meta(name="t", namespace="ns"))
    assert links(pod_of("p", entry), template)["e"].state is LinkState.NOT_CREATED
    assert links(pod_of("p", entry))["e"].state is LinkState.TEMPLATE_MISSING
    assert links(pod_of("p", entry, claim_statuses={"e": None}), template)["e"].state is LinkState.NOT_NEEDED


def test_the_claim_of_extended_resources():
    claim = claim_of("ext", owner="p", annotations={"resource.kubernetes.io/extended-resource-claim": "true"})
    named = pod_of("p", extended_claim=ExtendedResourceClaimStatus("ext"))
    assert links(named, claim)[None].claim is claim
    assert links(pod_of("p"), claim)[None].claim is claim
    assert links(named)[None].state is LinkState.CLAIM_MISSING


def test_pods_of_a_claim():
    entry = PodResourceClaim("e", "c")
    pods = [pod_of("a", entry, PodResourceClaim("again", "c")), pod_of("b", entry), pod_of("z")]
    inventory = Inventory([*pods, claim_of("c")])
    assert [pod.meta.name for pod in inventory.claim_pods[Key("ns", "c")]] == ["a", "b"]
    assert list(inventory.pod_claims) == [Key("ns", "a"), Key("ns", "b")]


# --- events, time, release ------------------------------------------------------------------------------------------


def test_events_of_an_object_oldest_first():
    def event(name, last, about="p"):
        return Event(Meta(name=name), kind="Pod", namespace="ns", name=about, last_timestamp=last)

    inventory = Inventory([event("b", "2026-01-02T00:00:00Z"), event("a", "2026-01-01T00:00:00Z"), event("c", "", "q")])
    assert [found.meta.name for found in inventory.events_of("Pod", "ns", "p")] == ["a", "b"]
    assert inventory.events_of("Pod", "other", "p") == []


def test_ages_count_from_the_recorded_time_or_the_latest_seen():
    node = Node(Meta(name="n", creation_timestamp="2026-01-01T00:00:00Z"))
    event = Event(Meta(name="e"), last_timestamp="2026-01-01T00:05:00Z")
    assert Inventory([node, event]).as_of == "2026-01-01T00:05:00Z"
    assert Inventory([node], Provenance(taken="2026-02-02T00:00:00Z")).as_of == "2026-02-02T00:00:00Z"
    assert Inventory().as_of is None


@pytest.mark.parametrize(
    ("text", "minor", "full"),
    [
        ("1.36", "1.36", "1.36"),
        ("v1.36.2", "1.36", "1.36.2"),
        ("v1.35.4-gke.100", "1.35", "1.35.4"),
        ("1.37+", "1.37", "1.37"),
    ],
)
def test_releases_are_read(text, minor, full):
    assert parse_release(text, "x")[:2] == (minor, full)


@pytest.mark.parametrize("text", ["", "latest", "1", "1.x", "1.36.2.1"])
def test_other_texts_are_no_releases(text):
    assert parse_release(text, "x") is None


def test_the_release_of_an_inventory():
    nodes = [Node(Meta(name=name), kubelet_version=v) for name, v in (("a", "v1.35.9"), ("b", "v1.35.10"), ("c", ""))]
    assert release_of(Inventory(nodes, Provenance(server_version="v1.36.2"))).full == "1.36.2"
    assert release_of(Inventory(nodes)).full == "1.35.10"
    assert release_of(Inventory(nodes)).source == "kubelet of b"
    assert release_of(Inventory()).minor == "1.36"
