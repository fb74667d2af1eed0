"""Workloads: ``source:`` of the old pod API, and containers that ask a device plugin for devices."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from dractl.convert.model import GROUP, Document, Work, name_of, namespace_of
from dractl.convert.nodes import Map, child, drop, line_of, many, move, new_map, tree
from dractl.convert.parameters import NVIDIA, cel_text
from dractl.kube.drivers import NVIDIA_PRODUCTS, driver_of_resource

_TEMPLATES: dict[str, tuple[str, ...]] = {
    "Pod": ("spec",),
    "CronJob": ("spec", "jobTemplate", "spec", "template", "spec"),
}
_TEMPLATE = ("spec", "template", "spec")
_NATIVE = re.compile(r"(cpu|memory|ephemeral-storage|storage|pods|hugepages-.*)")
_LISTS = ("containers", "initContainers")
"""Regular containers first: init containers may use what these ask for."""
_PRODUCT_LABEL = "nvidia.com/gpu.product"


def pod_spec(node: Any) -> Map | None:
    """The pod spec of a Pod or of anything with a pod template, or None."""
    path = _TEMPLATES.get(str(node.get("kind")), _TEMPLATE)
    spec = child(node, *path)
    return spec if isinstance(spec, dict) and isinstance(spec.get("containers"), list) else None


def convert_workload(document: Document, work: Work) -> None:
    """Bring a pod or pod template to the API of today."""
    node = document.node
    assert node is not None
    spec = pod_spec(node)
    if spec is None:
        return
    _lift_source(document, work, spec)
    asked = [(one, resource) for one in _containers(spec) for resource in _resources(one)]
    if not asked:
        return
    if _is_device_plugin(spec):
        work.note(
            document,
            "a device plugin was left as it is: the DRA driver of the vendor takes its place on nodes that use DRA, "
            "and must not run beside it on one node",
        )
        return
    if work.target.plugin == "claims":
        _to_claims(document, work, spec)
    elif work.target.plugin == "class":
        _to_class(document, work, {resource for _, resource in asked})


def _lift_source(document: Document, work: Work, spec: Map) -> None:
    for entry in many(spec.get("resourceClaims")):
        if isinstance(entry, dict) and isinstance(entry.get("source"), dict):
            line, source = line_of(entry, "source"), entry["source"]
            for key in list(source):
                move(source, key, entry)
            comments = drop(entry, "source")
            document.remarks += comments
            document.changed = True
            text = "resourceClaimName and resourceClaimTemplateName stand beside name since 1.31"
            work.note(document, f"source: is gone: {text}", line, exact=True)


def _containers(spec: Map) -> Iterator[Map]:
    for key in _LISTS:
        for one in many(spec.get(key)):
            if isinstance(one, dict):
                yield one


def _resources(container: Map) -> list[str]:
    """Extended resources that a container asks for and that a known driver serves."""
    found: dict[str, None] = {}
    for part in ("limits", "requests"):
        amounts = child(container, "resources", part)
        for name in amounts if isinstance(amounts, dict) else ():
            if not _NATIVE.fullmatch(str(name)) and driver_of_resource(str(name)) is not None:
                found[str(name)] = None
    return list(found)


def _is_device_plugin(spec: Map) -> bool:
    text = " ".join(str(one.get("image", "")) + " " + str(one.get("name", "")) for one in _containers(spec))
    return "device-plugin" in text


def _to_class(document: Document, work: Work, resources: set[str]) -> None:
    for resource in sorted(resources):
        name = resource.replace("/", "-")
        if any(name_of(one) == name for other in work.documents for one in other.added):
            continue
        driver, terms = _class_of(resource)[1:]
        expression = " && ".join([f"device.driver == {cel_text(driver)}", *terms])
        document.added.append(
            new_map(
                apiVersion=f"{GROUP}/{work.target.version}",
                kind="DeviceClass",
                metadata={"name": name},
                spec={"selectors": [{"cel": {"expression": expression}}], "extendedResourceName": resource},
            )
        )
        document.changed = True
        work.note(
            document,
            f"{resource} is served by class {name} on nodes where no device plugin offers it "
            "(gate DRAExtendedResource, on by default from 1.36 on); the pod stays as it is",
        )


def _class_of(resource: str) -> tuple[str, str, list[str]]:
    """Class, driver and further terms for an extended resource."""
    driver = driver_of_resource(resource)
    assert driver is not None
    if resource.startswith("nvidia.com/mig-"):
        profile = resource.removeprefix("nvidia.com/mig-")
        profile = profile.replace(".me", "+me") if profile.endswith(".me") else profile
        attributes = f"device.attributes[{cel_text(NVIDIA)}]"
        terms = [f'{attributes}.type == "mig"', f"{attributes}.profile == {cel_text(profile)}"]
        return "mig.nvidia.com", driver.name, terms
    if driver.name == NVIDIA:
        return NVIDIA, driver.name, [f'device.attributes["{NVIDIA}"].type == "gpu"']
    classes = list(driver.classes)
    return (classes[0] if classes else driver.name), driver.name, []


def _to_claims(document: Document, work: Work, spec: Map) -> None:
    node = document.node
    assert node is not None
    base = name_of(node).rstrip("-") or "workload"
    wanted: list[tuple[Map, str, int]] = []
    for container in _containers(spec):
        for resource in _resources(container):
            amount = child(container, "resources", "limits", resource)
            amount = child(container, "resources", "requests", resource) if amount is None else amount
            if str(amount).isdigit() and int(str(amount)) > 0:
                wanted.append((container, resource, int(str(amount))))
            else:
                work.propose(document, f"{resource}: {amount} is no whole number of devices; left as it is")
    if not wanted:
        return
    terms = _node_selector(document, work, spec)
    requests: list[dict[str, Any]] = []
    names: dict[str, None] = {}
    several = len(wanted) > 1
    main = {id(one) for one in spec["containers"]}
    given: dict[str, tuple[str, int]] = {}
    for container, resource, amount in wanted:
        known = given.get(resource)
        if id(container) not in main and known is not None and known[1] >= amount:
            # the device plugin counts the larger of both, as init containers end before the others start
            request = known[0]
            work.note(document, f"init container {container.get('name')} uses request {request} before the others do")
        else:
            request = _name(_word(resource), requests)
            requests.append(_request(request, resource, amount, terms))
            given.setdefault(resource, (request, amount))
        line = line_of(child(container, "resources", "limits") or child(container, "resources", "requests"), resource)
        _take_out(document, container, resource)
        claims = container["resources"].setdefault("claims", tree([]))
        entry: dict[str, Any] = {"name": "devices"}
        if several:
            entry["request"] = request
        claims.append(tree(entry))
        names[resource] = None
        work.note(document, f"container {container.get('name')}: {resource} {amount} became request {request}", line)
        _limits_of_class(document, work, resource)
    template = f"{base}-devices"
    meta = {"name": template, **({"namespace": namespace_of(node)} if namespace_of(node) else {})}
    made = new_map(
        apiVersion=f"{GROUP}/{work.target.version}",
        kind="ResourceClaimTemplate",
        metadata=meta,
        spec={"spec": {"devices": {"requests": requests}}},
    )
    document.added.append(made)
    entries = spec.setdefault("resourceClaims", tree([]))
    entries.append(tree({"name": "devices", "resourceClaimTemplateName": template}))
    document.changed = True
    resources = ", ".join(names)
    work.note(
        document,
        f"the other way, for clusters with DRAExtendedResource (on by default from 1.36 on): keep this workload and "
        f"make a DeviceClass with extendedResourceName {resources}: dractl convert --plugin class",
    )


def _limits_of_class(document: Document, work: Work, resource: str) -> None:
    class_name, driver, _ = _class_of(resource)
    if resource.startswith("rdma/"):
        work.propose(document, f"class {class_name} for {resource}: see which class your {driver} installation brings")
    if resource.endswith(".shared"):
        text = "was one share of a time-sliced GPU; a request is for a whole one unless the claim is shared"
        work.propose(document, f"{resource} {text}")


def _request(name: str, resource: str, amount: int, terms: list[str]) -> dict[str, Any]:
    class_name, driver, extra = _class_of(resource)
    own = [*(extra if resource.startswith("nvidia.com/mig-") else []), *(terms if driver == NVIDIA else [])]
    exactly: dict[str, Any] = {"deviceClassName": class_name}
    if own:
        expression = " && ".join([f"device.driver == {cel_text(driver)}", *own])
        exactly["selectors"] = [{"cel": {"expression": expression}}]
    exactly["allocationMode"] = "ExactCount"
    exactly["count"] = amount
    return {"name": name, "exactly": exactly}


def _word(resource: str) -> str:
    if resource.startswith("nvidia.com/mig-"):
        return "mig"
    if "gpu" in resource:
        return "gpu"
    return re.sub(r"[^a-z0-9]+", "-", resource.rpartition("/")[2].lower()).strip("-")[:20].strip("-") or "device"


def _name(word: str, requests: list[dict[str, Any]]) -> str:
    taken = {one["name"] for one in requests}
    return word if word not in taken else next(f"{word}-{n}" for n in range(2, 99) if f"{word}-{n}" not in taken)


def _take_out(document: Document, container: Map, resource: str) -> None:
    resources = container["resources"]
    for part in ("limits", "requests"):
        amounts = resources.get(part)
        if isinstance(amounts, dict) and resource in amounts:
            document.remarks += drop(amounts, resource)
            if not amounts:
                document.remarks += drop(resources, part)


def _node_selector(document: Document, work: Work, spec: Map) -> list[str]:
    """Labels of the feature discovery that say the same as an attribute."""
    labels = spec.get("nodeSelector")
    if not isinstance(labels, dict):
        return []
    terms = []
    for key in [key for key in labels if str(key).startswith("nvidia.com/")]:
        value, line = str(labels[key]), line_of(labels, key)
        term = _label_term(str(key), value)
        if term is None:
            work.note(document, f"nodeSelector {key} was kept: no attribute says the same", line)
            continue
        document.remarks += drop(labels, key)
        terms.append(term)
        work.note(document, f"nodeSelector {key}: {value} became a selector: {term}", line)
    if not labels:
        document.remarks += drop(spec, "nodeSelector")
    return terms


def _label_term(key: str, value: str) -> str | None:
    attributes = f"device.attributes[{cel_text(NVIDIA)}]"
    if key == _PRODUCT_LABEL:
        if value.endswith("-SHARED") or "-MIG-" in value:
            return None
        product = next((name for name in NVIDIA_PRODUCTS if name.replace(" ", "-") == value), None)
        if product is not None:
            return f"{attributes}.productName == {cel_text(product)}"
        # the label has dashes where the name has blanks; which of its dashes are real is not known
        return f'{attributes}.productName.replace(" ", "-") == {cel_text(value)}'
    if key == "nvidia.com/gpu.memory" and value.isdigit():
        return f'device.capacity[{cel_text(NVIDIA)}].memory.compareTo(quantity("{value}Mi")) >= 0'
    if key == "nvidia.com/gpu.family":
        return f"{attributes}.architecture.lowerAscii() == {cel_text(value.lower())}"
    return None
