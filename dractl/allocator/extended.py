"""Extended resources of a pod that DeviceClasses serve: the claim that kube-scheduler makes for a pod and a node.

KEP-5004. A class serves the resource in its ``extendedResourceName`` and the implicit one with its own name (see
``IMPLICIT_PREFIX``). On a node whose device plugin advertises the resource, the device plugin serves it instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from dractl.allocator.request import EXACT_COUNT
from dractl.kube.objects import (
    ClaimRequest,
    ClaimSpec,
    Container,
    DeviceClass,
    DeviceRequest,
    Meta,
    Node,
    OwnerReference,
    Pod,
    ResourceClaim,
)

IMPLICIT_PREFIX = "deviceclass.resource.kubernetes.io/"
CLAIM_NAME = "<extended-resources>"
"""The name of the claim until it is created; no claim in a cluster can have it."""
ANNOTATION = "resource.kubernetes.io/extended-resource-claim"

CANNOT_FIT = "cannot fit resource"


@dataclass(slots=True, eq=False)
class ExtendedClaim:
    """The claim for a pod on a node, and which container's resource each request serves.

    ``problem`` is kube-scheduler's text where the pod cannot run on the node whatever devices it has.
    """

    claim: ResourceClaim | None = None
    mappings: tuple[tuple[str, str, str], ...] = ()
    """(container, resource, request)."""
    problem: str | None = None
    resource: str | None = None
    """The resource that the problem is about."""


def classes_by_resource(classes: Iterable[DeviceClass]) -> dict[str, DeviceClass]:
    """The class that serves each extended resource: of several the newest, of equally old ones the first by name."""
    result: dict[str, DeviceClass] = {}
    for item in sorted(classes, key=lambda c: c.meta.name, reverse=True):
        result[IMPLICIT_PREFIX + item.meta.name] = item
        if item.extended_resource_name is None:
            continue
        known = result.get(item.extended_resource_name)
        if known is None or (item.meta.creation_timestamp or "") >= (known.meta.creation_timestamp or ""):
            result[item.extended_resource_name] = item
    return result


def is_extended(resource: str) -> bool:
    """Whether a resource name is an extended one: it has a domain, which is not Kubernetes' own."""
    if resource.startswith(IMPLICIT_PREFIX):
        return True
    return "/" in resource and "kubernetes.io/" not in resource and not resource.startswith("requests.")


def extended_claim(pod: Pod, node: Node, by_resource: Mapping[str, DeviceClass]) -> ExtendedClaim:
    """What a pod asks for through extended resources on a node.

    Args:
        pod: its containers' requests count; limits where a request is not given, as the API server fills them in.
        node: resources in its allocatable are served by a device plugin.
        by_resource: see ``classes_by_resource``.
    """
    names = sorted(
        {name for c in pod.containers for name, amount in _requests(c).items() if amount and is_extended(name)}
    )
    if not any(name in by_resource for name in names):
        return ExtendedClaim()
    served = []
    for name in names:
        advertised = node.allocatable.get(name)
        if name in by_resource and (advertised is None or advertised.value() == 0):
            served.append(name)
        elif advertised is None:
            return ExtendedClaim(problem=CANNOT_FIT, resource=name)
    if not served:
        return ExtendedClaim()
    requests, mappings = requests_for(pod, {name: by_resource[name].meta.name for name in served})
    return ExtendedClaim(ResourceClaim(_meta(pod), ClaimSpec(requests)), mappings)


def requests_for(pod: Pod, classes: Mapping[str, str]) -> tuple[list[ClaimRequest], tuple[tuple[str, str, str], ...]]:
    """The requests of the claim for a pod, in the order of their names, and ``ExtendedClaim.mappings``.

    Args:
        classes: for each resource that devices are to serve, the name of its class.
    """
    requests: list[ClaimRequest] = []
    mappings: list[tuple[str, str, str]] = []
    for name in sorted(classes):
        found, mapped = _of_resource(pod.containers, name, classes[name])
        requests += found
        mappings += mapped
    requests.sort(key=lambda request: request.name)
    return requests, tuple(mappings)


def _meta(pod: Pod) -> Meta:
    owner = OwnerReference("v1", "Pod", pod.meta.name, pod.meta.uid, True)
    return Meta(
        name=CLAIM_NAME,
        namespace=pod.meta.namespace,
        generate_name=f"{pod.meta.name}-extended-resources-",
        annotations={ANNOTATION: "true"},
        owners=[owner],
    )


def _requests(container: Container) -> dict[str, int]:
    """Whole amounts by resource; kube-scheduler skips fractions."""
    amounts = {**container.limits, **container.requests}
    return {name: amount.value() for name, amount in amounts.items() if amount.is_integer()}


def _of_resource(
    containers: list[Container], resource: str, device_class: str
) -> tuple[list[ClaimRequest], list[tuple[str, str, str]]]:
    """The requests for one resource. Containers that run side by side each get their own; an init container first uses
    what later ones get, and of what init containers need beyond that only the most is asked for."""
    lasting: list[ClaimRequest | None] = [None] * len(containers)
    mapped: list[tuple[str, str, str]] = []
    passing = [i for i, c in enumerate(containers) if c.init and c.restart_policy != "Always"]
    for index, container in enumerate(containers):
        if index not in passing:
            lasting[index], names = _of_container(index, container, resource, device_class, [])
            mapped += names
    largest: ClaimRequest | None = None
    own: set[str] = set()
    mapped_passing: list[tuple[str, str, str]] = []
    for index in passing:
        request, names = _of_container(index, containers[index], resource, device_class, lasting[index:])
        mapped_passing += names
        if request is not None:
            own.add(request.name)
            if largest is None or _count(largest) < _count(request):
                largest = request
    if largest is not None:
        mapped_passing = [(c, r, largest.name if name in own else name) for c, r, name in mapped_passing]
    found = [request for request in (largest, *lasting) if request is not None]
    return found, mapped + mapped_passing


def _of_container(
    index: int, container: Container, resource: str, device_class: str, reusable: list[ClaimRequest | None]
) -> tuple[ClaimRequest | None, list[tuple[str, str, str]]]:
    wanted = _requests(container).get(resource, 0)
    if not wanted:
        return None, []
    mapped = []
    have = 0
    for request in reusable:
        if request is not None:
            have += _count(request)
            mapped.append((container.name, resource, request.name))
            if have >= wanted:
                return None, mapped
    position = sorted({**container.limits, **container.requests}).index(resource)
    name = f"container-{index}-request-{position}"
    exact = DeviceRequest(name=name, device_class_name=device_class, allocation_mode=EXACT_COUNT, count=wanted - have)
    mapped.append((container.name, resource, name))
    return ClaimRequest(name, exact), mapped


def _count(request: ClaimRequest) -> int:
    assert request.exactly is not None
    return request.exactly.count
