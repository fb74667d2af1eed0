"""ResourceQuotas for devices and claims."""

from __future__ import annotations

from collections.abc import Mapping

from dractl.allocator.extended import IMPLICIT_PREFIX
from dractl.errors import DractlError
from dractl.generate.manifest import Json, Manifest, Said, manifest, metadata
from dractl.inventory import Inventory
from dractl.kube import names
from dractl.kube.objects import DeviceRequest, ResourceClaim

_SUFFIX = ".deviceclass.resource.k8s.io/devices"
_IMPLICIT = f"requests.{IMPLICIT_PREFIX}"
ALL_COUNTS_AS = 32
"""What quota charges for allocationMode All, whatever a node has."""


def quota(
    name: str, namespace: str | None, classes: Mapping[str, int], claims: int | None, templates: int | None
) -> Manifest:
    """A quota of devices by class, and of objects.

    Raises:
        DractlError: when nothing is limited, or for a class name that is none.
    """
    if not classes and claims is None and templates is None:
        raise DractlError("nothing is limited", "Give --class gpu.nvidia.com=8, --claims 20 or --templates 10.")
    hard: Json = {}
    for class_name, number in classes.items():
        errors = names.dns_subdomain_errors(class_name)
        if errors:
            raise DractlError(f"--class {class_name}: {errors[0]}", "Give the name of a DeviceClass.")
        hard[class_name + _SUFFIX] = Said(
            str(number), f"devices in claims; allocationMode All counts as {ALL_COUNTS_AS}"
        )
        hard[_IMPLICIT + class_name] = Said(str(number), "devices that pods ask for as extended resources")
    if claims is not None:
        hard["count/resourceclaims.resource.k8s.io"] = Said(
            str(claims), "claims, also those made from templates for each pod"
        )
    if templates is not None:
        hard["count/resourceclaimtemplates.resource.k8s.io"] = str(templates)
    tree = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": metadata(name, namespace),
        "spec": {"hard": hard},
    }
    head = ["Limits devices and claims of one namespace; checked when a claim is created, not when it is allocated."]
    if classes:
        head.append("Of the alternatives in firstAvailable the one that asks for the most counts, for each class.")
    return manifest(tree, head)


def used(inventory: Inventory, namespace: str, class_name: str) -> int:
    """What the claims of a namespace count as for a class."""
    return sum(_charged(claim, class_name) for key, claim in inventory.claims.items() if key.namespace == namespace)


def _charged(claim: ResourceClaim, class_name: str) -> int:
    total = 0
    for request in claim.spec.requests:
        ways = [request.exactly] if request.exactly is not None else request.first_available
        total += max((_number(one) for one in ways if one.device_class_name == class_name), default=0)
    return total


def _number(request: DeviceRequest) -> int:
    return ALL_COUNTS_AS if request.allocation_mode == "All" else request.count or 1


def usage_text(inventory: Inventory, namespace: str, classes: Mapping[str, int]) -> str:
    """One sentence on what is used already; says which limits are exceeded and which classes are not there."""
    parts = []
    for name, limit in classes.items():
        if name not in inventory.classes:
            parts.append(f"there is no DeviceClass {name}")
            continue
        number = used(inventory, namespace, name)
        more = ", more than the limit: nothing new is admitted until some are gone" if number > limit else ""
        parts.append(f"{number} of {limit} devices of {name} are claimed in {namespace} now{more}")
    return "; ".join(parts)
