"""A device is listed as free exactly where the allocator would give it to a claim that asks for it and nothing else."""

from dractl.allocator import FITS, Allocator, Profile
from dractl.kube.objects import (
    ClaimRequest,
    ClaimSpec,
    DeviceAttribute,
    DeviceClass,
    DeviceRequest,
    DeviceSelector,
    Meta,
    ResourceClaim,
)
from dractl.listing.devices import device_rows
from dractl.sources.snapshot import read_demo


def asking_for(name: str) -> ResourceClaim:
    """A claim for the device that carries this name as an attribute."""
    selector = DeviceSelector(f'device.attributes["example.com"].?name.orValue("") == "{name}"')
    request = DeviceRequest("", "any", [selector], allocation_mode="ExactCount", count=1)
    return ResourceClaim(Meta(name="c", namespace="ns", uid="u"), ClaimSpec([ClaimRequest("r", exactly=request)]))


def test_free_means_that_the_allocator_gives_it():
    inventory = read_demo()
    for key, published in inventory.devices.items():
        published.device.attributes["example.com/name"] = DeviceAttribute("string", str(key))
    classes = [DeviceClass(Meta(name="any"))]
    profile = Profile.for_release("1.37")  # the first in which taint rules are on
    allocator = Allocator(profile, inventory.slices, classes, inventory.claims.values(), inventory.taint_rules)
    different = {}
    compared = 0
    for row in device_rows(inventory):
        node = inventory.nodes.get(row.node or "")
        if node is None:
            assert row.state == "node-missing"
            continue
        compared += 1
        result = allocator.allocate([asking_for(row.id)], node)
        if (result.verdict == FITS) != (row.state in ("free", "shared")):
            different[row.id] = (row.state, row.reasons, result.verdict, result.error)
    assert different == {}
    assert compared == 222
