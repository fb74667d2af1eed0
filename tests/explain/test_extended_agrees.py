"""The claim for extended resources that explain tries is the one that kube-scheduler would make."""

from __future__ import annotations

import random

from dractl.allocator.extended import classes_by_resource, extended_claim
from dractl.explain.extended import claim_for, extended_of
from dractl.inventory import Inventory
from dractl.kube.objects import Container, DeviceClass, Meta, Node, Pod, ResourceClaim
from dractl.kube.quantity import Quantity

RESOURCES = ("example.com/gpu", "example.com/nic", "deviceclass.resource.kubernetes.io/plain", "cpu")


def container(r: random.Random, number: int, init: bool) -> Container:
    wanted = {name: Quantity.of(r.choice((0, 1, 1, 2, 5))) for name in RESOURCES if r.random() < 0.6}
    restart = "Always" if init and r.random() < 0.4 else None
    if r.random() < 0.3:
        return Container(f"c{number}", limits=wanted, init=init, restart_policy=restart)
    return Container(f"c{number}", requests=wanted, init=init, restart_policy=restart)


def wanted(claim: ResourceClaim | None) -> list[tuple[str, str, int]] | None:
    if claim is None:
        return None
    exact = [request.exactly for request in claim.spec.requests]
    return [(one.name, one.device_class_name, one.count) for one in exact if one is not None]


def test_both_make_the_same_requests() -> None:
    r = random.Random(5)
    claims = 0
    for _ in range(400):
        classes = [
            DeviceClass(Meta(name="gpu"), extended_resource_name="example.com/gpu"),
            DeviceClass(Meta(name="nic"), extended_resource_name="example.com/nic"),
            DeviceClass(Meta(name="plain")),
        ]
        inits = r.choice((0, 0, 1, 2, 3))
        containers = [container(r, i, i < inits) for i in range(inits + r.choice((1, 2)))]
        pod = Pod(Meta(name="p", namespace="ns", uid="u"), containers=containers)
        node = Node(Meta(name="n"))
        found = extended_claim(pod, node, classes_by_resource(classes))
        tried = claim_for(pod, extended_of(Inventory([pod, node, *classes]), pod))
        assert wanted(tried) == wanted(found.claim), containers
        claims += tried is not None
    assert claims > 200
