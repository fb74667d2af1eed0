"""The claim for extended resources that DeviceClasses serve."""

from __future__ import annotations

from dractl.allocator.extended import CANNOT_FIT, classes_by_resource, extended_claim, is_extended
from dractl.kube.objects import Container, DeviceClass, Meta, Node, Pod
from dractl.kube.quantity import Quantity

GPU = "example.com/gpu"
NIC = "example.com/nic"


def amounts(**counts: int | str) -> dict[str, Quantity]:
    names = {"gpu": GPU, "nic": NIC, "cpu": "cpu"}
    return {names[name]: Quantity.parse(str(count)) for name, count in counts.items()}


def device_class(name: str, resource: str | None, created: str = "2026-01-01T00:00:00Z") -> DeviceClass:
    return DeviceClass(Meta(name=name, creation_timestamp=created), extended_resource_name=resource)


CLASSES = classes_by_resource([device_class("gpu", GPU), device_class("nic", NIC)])


def asked(
    *containers: Container, node: Node | None = None
) -> tuple[dict[str, tuple[str, int]], tuple[tuple[str, ...], ...]]:
    found = extended_claim(
        Pod(Meta(name="p", namespace="ns", uid="u"), containers=list(containers)), node or Node(Meta(name="n")), CLASSES
    )
    assert found.claim is not None
    requests = {}
    for request in found.claim.spec.requests:
        assert request.exactly is not None and request.exactly.allocation_mode == "ExactCount"
        requests[request.name] = (request.exactly.device_class_name, request.exactly.count)
    return requests, found.mappings


def test_containers_side_by_side_each_get_their_own() -> None:
    requests, mappings = asked(
        Container("a", requests=amounts(cpu=1, gpu=2, nic=1)), Container("b", requests=amounts(gpu=1))
    )
    # request numbers are places among the container's sorted resources
    assert requests == {
        "container-0-request-1": ("gpu", 2),
        "container-0-request-2": ("nic", 1),
        "container-1-request-0": ("gpu", 1),
    }
    assert mappings == (
        ("a", GPU, "container-0-request-1"),
        ("b", GPU, "container-1-request-0"),
        ("a", NIC, "container-0-request-2"),
    )


def test_init_containers_use_what_later_containers_get() -> None:
    requests, mappings = asked(
        Container("setup", requests=amounts(gpu=1), init=True),
        Container("more", requests=amounts(gpu=5), init=True),
        Container("most", requests=amounts(gpu=6), init=True),
        Container("main", requests=amounts(gpu=2)),
    )
    assert requests == {"container-2-request-0": ("gpu", 4), "container-3-request-0": ("gpu", 2)}
    assert mappings == (
        ("main", GPU, "container-3-request-0"),
        ("setup", GPU, "container-3-request-0"),
        ("more", GPU, "container-3-request-0"),
        ("more", GPU, "container-2-request-0"),
        ("most", GPU, "container-3-request-0"),
        ("most", GPU, "container-2-request-0"),
    )


def test_a_sidecar_lasts_but_only_serves_init_containers_before_it() -> None:
    requests, _ = asked(
        Container("early", requests=amounts(gpu=1), init=True),
        Container("sidecar", requests=amounts(gpu=1), init=True, restart_policy="Always"),
        Container("late", requests=amounts(gpu=1), init=True),
        Container("main"),
    )
    assert requests == {"container-1-request-0": ("gpu", 1), "container-2-request-0": ("gpu", 1)}


def test_limits_stand_in_for_requests_and_zero_asks_for_nothing() -> None:
    requests, _ = asked(Container("a", limits=amounts(gpu=1)), Container("b", requests=amounts(gpu=0)))
    assert requests == {"container-0-request-0": ("gpu", 1)}


def test_a_device_plugin_goes_first() -> None:
    pod = Pod(Meta(name="p"), containers=[Container("a", requests=amounts(gpu=1, nic=1))])
    both = Node(Meta(name="n"), allocatable=amounts(gpu=4))
    found = extended_claim(pod, both, CLASSES)
    assert found.claim is not None and [r.name for r in found.claim.spec.requests] == ["container-0-request-1"]
    used_up = Node(Meta(name="n"), allocatable=amounts(gpu=0))
    found = extended_claim(pod, used_up, CLASSES)
    assert found.claim is not None and len(found.claim.spec.requests) == 2


def test_a_resource_that_nobody_serves_does_not_fit() -> None:
    wanted = {**amounts(gpu=1), "example.com/other": Quantity.parse("1")}
    pod = Pod(Meta(name="p"), containers=[Container("a", requests=wanted)])
    found = extended_claim(pod, Node(Meta(name="n")), CLASSES)
    assert (found.claim, found.problem, found.resource) == (None, CANNOT_FIT, "example.com/other")
    # without any resource of a class the allocator has no say
    lone = Pod(Meta(name="p"), containers=[Container("a", requests={"example.com/other": Quantity.parse("1")})])
    assert extended_claim(lone, Node(Meta(name="n")), CLASSES).problem is None


def test_which_class_serves() -> None:
    old = device_class("a", GPU, "2026-01-01T00:00:00Z")
    new = device_class("b", GPU, "2026-02-01T00:00:00Z")
    twin = device_class("c", GPU, "2026-02-01T00:00:00Z")
    for order in ([old, new, twin], [twin, new, old]):
        found = classes_by_resource(order)
        assert found[GPU] is new
        assert found["deviceclass.resource.kubernetes.io/a"] is old


def test_names() -> None:
    assert is_extended(GPU) and is_extended("deviceclass.resource.kubernetes.io/x")
    assert not any(map(is_extended, ("cpu", "hugepages-2Mi", "kubernetes.io/x", "requests.example.com/gpu")))
