"""v1alpha1 and v1alpha2: ResourceClass, claims with resourceClassName, parameters, scheduling contexts, flat slices."""

from __future__ import annotations

from typing import Any

from dractl.convert.model import GROUP, Document, Work, name_of, namespace_of, vanish
from dractl.convert.nodes import Map, child, drop, line_of, many, new_map, plain, tree
from dractl.convert.parameters import (
    FORMER_DRIVERS,
    Wish,
    cel_text,
    claim_parameters,
    expression,
    free_form,
    structured_selector,
)
from dractl.kube.drivers import CLASSES

VERSIONS = ("v1alpha1", "v1alpha2")
PARAMETERS = ("ResourceClaimParameters", "ResourceClassParameters")
_REQUEST = "device"


def convert_first(document: Document, work: Work) -> None:
    """Translate one object of the first generation."""
    node = document.node
    assert node is not None
    kind = str(node["kind"])
    if kind in ("PodScheduling", "PodSchedulingContext"):
        vanish(document, work, scheduling_text(kind))
    elif kind == "ResourceClass":
        _class(document, work, node)
    elif kind in ("ResourceClaim", "ResourceClaimTemplate"):
        _claim(document, work, node, kind)
    elif kind in PARAMETERS:
        user = "claim" if kind == "ResourceClaimParameters" else "class"
        if id(document) in work.used:
            vanish(document, work, f"what it said stands in the {user} that named it")
        else:
            vanish(document, work, f"has no counterpart, and no {user} in this input names it")
    elif kind == "ResourceSlice":
        _slice(document, work, node)


def scheduling_text(kind: str) -> str:
    """What became of the objects by which scheduler and driver agreed on a node."""
    return f"{kind} is gone since 1.32 and nothing takes its place: the scheduler allocates by itself"


def _rewrite(document: Document, work: Work, kind: str) -> None:
    node = document.node
    assert node is not None
    before = f"{node['apiVersion']} {node['kind']}"
    node["apiVersion"] = f"{GROUP}/{work.target.version}"
    node["kind"] = kind
    document.changed = True
    text = f"{before} became {GROUP}/{work.target.version} {kind}"
    work.note(document, text, line_of(node, "apiVersion"), exact=True)


# --- classes --------------------------------------------------------------------------------------------------------


def _class(document: Document, work: Work, node: Map) -> None:
    old = str(node.get("driverName") or "")
    driver = driver_today(old)
    wish = Wish(driver)
    parameters = node.get("parameters")
    if isinstance(parameters, dict):
        wish = free_form(plain(parameters), driver)
        line = line_of(node, "parameters")
        document.remarks += drop(node, "parameters")
        work.propose(
            document,
            f"parameters ({_words(parameters)}) were never defined by an API; read as their names say"
            + (f", for the driver {wish.driver}" if wish.driver else ""),
            line,
        )
    selectors = [{"cel": {"expression": text}} for text in [expression(wish)] if text]
    config: list[dict[str, Any]] = []
    _class_parameters(document, work, node, driver, selectors, config)
    if old:
        line = line_of(node, "driverName")
        document.remarks += drop(node, "driverName")
        text = f"driverName {old} became a selector on device.driver"
        if driver != old:
            text += f" == {driver}, the name of today's driver for the same hardware"
        else:
            text += "; the driver of today may use another name"
        work.propose(document, text, line)
    for key in ("suitableNodes", "structuredParameters"):
        if key in node:
            line = line_of(node, key)
            value = node[key]
            document.remarks += drop(node, key)
            if key == "suitableNodes":
                work.propose(document, "suitableNodes has no counterpart: say it in the nodeSelector of pods", line)
            elif value is not True:
                work.propose(document, "the class was for a control plane controller, which is gone since 1.32", line)
    for text in wish.lost:
        work.propose(document, f"could not be carried over: {text}")
    spec = new_map()
    if selectors:
        spec["selectors"] = tree(selectors)
    if config:
        spec["config"] = tree(config)
    _rewrite(document, work, "DeviceClass")
    node["spec"] = spec


def driver_today(name: str) -> str:
    """The name of today's driver for the hardware of a first-generation one, where known."""
    renamed = FORMER_DRIVERS.get(name, name)
    return renamed if renamed != "gpu.example.com" else name


def _class_parameters(
    document: Document,
    work: Work,
    node: Map,
    driver: str,
    selectors: list[dict[str, Any]],
    config: list[dict[str, Any]],
) -> None:
    reference = node.get("parametersRef")
    if not isinstance(reference, dict):
        return
    line = line_of(node, "parametersRef")
    found = work.find(
        str(reference.get("kind") or ""), str(reference.get("name") or ""), str(reference.get("apiGroup") or "")
    )
    target = plain(found.node) if found is not None else None
    document.remarks += drop(node, "parametersRef")
    if found is None or target is None:
        work.propose(
            document,
            f"parametersRef {reference.get('kind')} {reference.get('name')} is not in this input: put its content into "
            "spec.config[].opaque as the driver's configuration",
            line,
        )
        return
    work.used.add(id(found))
    if target.get("kind") != "ResourceClassParameters":
        config.append({"opaque": {"driver": driver or "FILL-IN", "parameters": _bare(target)}})
        work.propose(
            document,
            f"the {target.get('kind')} object became opaque configuration; see which form the driver of today wants",
            line,
        )
        return
    for item in many(target.get("vendorParameters")):
        if isinstance(item.get("parameters"), dict):
            name = driver_today(item.get("driverName", ""))
            config.append({"opaque": {"driver": name, "parameters": item["parameters"]}})
    for item in many(target.get("filters")):
        text = child(item, "namedResources", "selector")
        if text:
            name = driver_today(item.get("driverName", "")) or driver
            selectors.append({"cel": {"expression": structured_selector(text, name)}})
            work.propose(document, "the filter's CEL was rewritten for today's device variable; check it", line)


def _bare(node: dict[str, Any]) -> dict[str, Any]:
    """An object as configuration: without metadata."""
    return {key: value for key, value in node.items() if key not in ("metadata", "status")}


# --- claims ---------------------------------------------------------------------------------------------------------


def _claim(document: Document, work: Work, node: Map, kind: str) -> None:
    spec = node.get("spec") if kind == "ResourceClaim" else child(node, "spec", "spec")
    if not isinstance(spec, dict):
        work.propose(document, "has no spec, so there is nothing to convert")
        return
    class_name = str(spec.get("resourceClassName") or "")
    driver = _driver_of_class(class_name, work)
    requests, config = _requests(document, work, spec, class_name, driver)
    comments: list[str] = []
    for key in ("resourceClassName", "parametersRef", "parameters", "allocationMode"):
        if key in spec:
            line, value = line_of(spec, key), spec[key]
            comments += drop(spec, key)
            if key == "allocationMode":
                work.note(
                    document,
                    f"allocationMode {value} was dropped: a claim is always allocated when its first pod is scheduled",
                    line,
                )
    if "status" in node:
        line = line_of(node, "status")
        comments += drop(node, "status")
        work.note(document, "status was dropped: it is written by the cluster, not by a manifest", line)
    _rewrite(document, work, kind)
    devices: dict[str, Any] = {"requests": requests}
    if config:
        devices["config"] = config
    spec["devices"] = tree(devices)
    document.remarks += comments


def _driver_of_class(name: str, work: Work) -> str:
    found = work.find("ResourceClass", name, GROUP) or work.find("DeviceClass", name, GROUP)
    if found is not None and found.node is not None:
        old = str(found.node.get("driverName") or "")
        if old:
            return driver_today(old)
        parameters = found.node.get("parameters")
        if isinstance(parameters, dict):
            return free_form(plain(parameters), "").driver
        for item in many(child(found.node, "spec", "selectors")):
            text = str(child(item, "cel", "expression") or "")
            for driver in {*FORMER_DRIVERS.values(), *(one for one, _ in CLASSES.values())}:
                if f'device.driver == "{driver}"' in text or f"device.driver == '{driver}'" in text:
                    return driver
    return CLASSES.get(name, ("", ""))[0]


def _requests(
    document: Document, work: Work, spec: Map, class_name: str, driver: str
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    if isinstance(spec.get("parameters"), dict):
        return _from_free_form(document, work, spec, class_name, driver)
    reference = spec.get("parametersRef")
    if not isinstance(reference, dict):
        return [_request(_REQUEST, class_name, Wish(driver, count=1))], []
    kind, name = str(reference.get("kind") or ""), str(reference.get("name") or "")
    found = work.find(kind, name, str(reference.get("apiGroup") or ""), namespace_of(document.node))
    line = line_of(spec, "parametersRef")
    if found is None or found.node is None:
        work.propose(
            document,
            f"parametersRef {kind} {name} is not in this input: what it asked for (count, selectors, sharing) has to "
            "be put into the request by hand",
            line,
        )
        return [_request(_REQUEST, class_name, Wish(driver, count=1))], []
    work.used.add(id(found))
    target = plain(found.node)
    if kind == "ResourceClaimParameters":
        return _structured(document, work, target, class_name)
    wish = claim_parameters(target, driver)
    for text in wish.lost:
        work.propose(document, f"{kind} {name}: could not be carried over: {text}", found.line)
    for text in wish.remarks:
        work.propose(document, text, found.line)
    config = [
        {"requests": [_REQUEST], "opaque": {"driver": driver, "parameters": parameters}} for parameters in wish.config
    ]
    return [_request(_REQUEST, class_name, wish)], config


def _from_free_form(
    document: Document, work: Work, spec: Map, class_name: str, driver: str
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    line = line_of(spec, "parameters")
    wish = free_form(plain(spec["parameters"]), driver)
    work.propose(
        document, f"parameters ({_words(spec['parameters'])}) were never defined by an API; read as selectors", line
    )
    for text in wish.lost:
        work.propose(document, f"could not be carried over: {text}", line)
    other = work.find("ResourceClass", class_name, GROUP) or work.find("DeviceClass", class_name, GROUP)
    if other is not None and other.node is not None:
        before = other.node.get("parameters")
        theirs = before if isinstance(before, dict) else child(other.node, "x-parameters")
        memory = (theirs or {}).get("memory") if isinstance(theirs, dict) else _minimum(other.node)
        if memory and wish.minimum.get("memory") and str(memory) != wish.minimum["memory"]:
            work.propose(
                document,
                f"class {class_name} asks for memory {memory}, this claim for {wish.minimum['memory']}: both are kept "
                "as 'at least', so the larger one decides",
                line,
            )
    return [_request(_REQUEST, class_name, wish)], []


def _minimum(node: Any) -> str | None:
    for item in many(child(node, "spec", "selectors")):
        text = str(child(item, "cel", "expression") or "")
        _, found, rest = text.partition('.memory.compareTo(quantity("')
        if found:
            return rest.partition('"')[0]
    return None


def _request(name: str, class_name: str, wish: Wish) -> dict[str, Any]:
    exactly: dict[str, Any] = {"deviceClassName": class_name}
    text = expression(wish, guard=False)
    if text:
        guarded = f"device.driver == {cel_text(wish.driver)} && {text}" if wish.driver else text
        exactly["selectors"] = [{"cel": {"expression": guarded}}]
    exactly["allocationMode"] = "ExactCount"
    exactly["count"] = wish.count or 1
    return {"name": name, "exactly": exactly}


def _structured(
    document: Document, work: Work, target: dict[str, Any], class_name: str
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """ResourceClaimParameters of 1.30: one request for each of its requests."""
    requests: list[dict[str, Any]] = []
    config: list[dict[str, Any]] = []
    if target.get("shareable"):
        work.note(document, "shareable was dropped: every claim may be used by all pods that name it")
    for group in many(target.get("driverRequests")):
        driver = driver_today(str(group.get("driverName") or ""))
        for item in many(group.get("requests")):
            name = f"{_REQUEST}-{len(requests)}"
            wish = Wish(driver, count=1)
            selector = child(item, "namedResources", "selector")
            if selector:
                wish.terms.append(structured_selector(str(selector), driver))
                work.propose(document, "the selector's CEL was rewritten for today's device variable; check it")
            requests.append(_request(name, class_name, wish))
            vendor = item.get("vendorParameters") or group.get("vendorParameters")
            if isinstance(vendor, dict):
                config.append({"requests": [name], "opaque": {"driver": driver, "parameters": vendor}})
    return requests or [_request(_REQUEST, class_name, Wish(count=1))], config


# --- slices ---------------------------------------------------------------------------------------------------------


def _slice(document: Document, work: Work, node: Map) -> None:
    driver, host = str(node.get("driverName") or ""), str(node.get("nodeName") or "")
    devices = []
    for instance in many(child(plain(node), "namedResources", "instances")):
        device: dict[str, Any] = {"name": str(instance.get("name"))}
        for attribute in many(instance.get("attributes")):
            name = str(attribute.get("name"))
            for kind, value in attribute.items():
                if kind in ("bool", "int", "string", "version"):
                    device.setdefault("attributes", {})[name] = {kind: value}
                elif kind == "quantity":
                    device.setdefault("capacity", {})[name] = {"value": value}
                elif kind in ("intSlice", "stringSlice"):
                    text = f"device {device['name']}: the list {name} was left out (lists need 1.36 and a gate)"
                    work.propose(document, text)
        devices.append(device)
    for key in ("driverName", "nodeName", "namedResources"):
        if key in node:
            document.remarks += drop(node, key)
    _rewrite(document, work, "ResourceSlice")
    pool = {"name": host, "generation": 1, "resourceSliceCount": 1}
    node["spec"] = tree({"driver": driver, "nodeName": host, "pool": pool, "devices": devices})
    work.note(document, "slices are written by drivers; a manifest of one is only of use in tests")


def _words(parameters: Any) -> str:
    return ", ".join(f"{key} {value}" for key, value in plain(parameters).items())


def foreign_parameters(document: Document, work: Work) -> None:
    """A driver's own parameters object that a converted claim or class named."""
    node = document.node
    if node is not None and id(document) in work.used:
        vanish(
            document,
            work,
            f"{node.get('kind')} {name_of(node)} has no counterpart: what it said stands in the request or the "
            "configuration of the object that named it",
        )
