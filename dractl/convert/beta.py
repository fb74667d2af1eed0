"""v1alpha3, v1beta1, v1beta2 <-> v1: fields that moved, and what has no counterpart. Lossless upwards from v1beta1."""

from __future__ import annotations

from typing import Any

from dractl.convert.model import GROUP, Document, Work
from dractl.convert.nodes import Map, child, drop, line_of, many, move, new_map, tree

FLAT = ("deviceClassName", "selectors", "allocationMode", "count", "adminAccess", "tolerations", "capacity")
CONVERTED = ("DeviceClass", "ResourceClaim", "ResourceClaimTemplate", "ResourceSlice", "DeviceTaintRule")
_FLAT_VERSIONS = ("v1alpha3", "v1beta1")
_OWN_VERSIONS = {"DeviceTaintRule": {(1, 37): "v1", (1, 36): "v1beta2", (1, 33): "v1alpha3"}}


def wanted_version(kind: str, work: Work) -> str:
    """The version that the target's release serves for a kind."""
    if kind in _OWN_VERSIONS:
        newest = max((release for release in _OWN_VERSIONS[kind] if release <= work.target.release), default=(1, 33))
        return _OWN_VERSIONS[kind][newest]
    return work.target.version


def convert_beta(document: Document, work: Work) -> None:
    """Bring one object to the target's version."""
    node = document.node
    assert node is not None
    version = str(node["apiVersion"]).rpartition("/")[2]
    kind = str(node["kind"])
    wanted = wanted_version(kind, work)
    if version in _FLAT_VERSIONS:
        _up(document, work, kind, version)
    elif version == "v1" and wanted in ("v1", "v1beta2"):
        # objects in the shape of v1beta1 under a newer apiVersion
        _up(document, work, kind, version)
    if wanted in _FLAT_VERSIONS and kind != "DeviceTaintRule":
        document.changed |= lower(node)
    if version != wanted:
        node["apiVersion"] = f"{GROUP}/{wanted}"
        document.changed = True
        work.note(document, f"{GROUP}/{version} became {wanted}", line_of(node, "apiVersion"), exact=True)
    if kind == "DeviceTaintRule" and wanted != "v1":
        text = f"a server serves it with --runtime-config={GROUP}/{wanted}=true and the gate DRADeviceTaintRules only"
        work.note(document, text)


def _up(document: Document, work: Work, kind: str, version: str) -> None:
    node = document.node
    assert node is not None
    if kind in ("ResourceClaim", "ResourceClaimTemplate"):
        spec = node.get("spec") if kind == "ResourceClaim" else child(node, "spec", "spec")
        if isinstance(spec, dict):
            _claim_up(document, work, spec, version)
    elif kind == "ResourceSlice" and isinstance(node.get("spec"), dict):
        _slice_up(document, work, node["spec"], version)
    elif kind == "DeviceClass" and child(node, "spec", "suitableNodes") is not None:
        line = line_of(node["spec"], "suitableNodes")
        drop(node["spec"], "suitableNodes")
        work.propose(
            document,
            "suitableNodes has no counterpart since 1.32: say it in the nodeSelector of pods or of slices",
            line,
        )
        document.changed = True
    elif kind == "DeviceTaintRule":
        _rule_up(document, work)
    if version == "v1alpha3" and "status" in node:
        line = line_of(node, "status")
        drop(node, "status")
        work.note(document, "status was dropped: it is written by the cluster, not by a manifest", line)
        document.changed = True


def _claim_up(document: Document, work: Work, spec: Map, version: str) -> None:
    if "controller" in spec:
        line, name = line_of(spec, "controller"), spec["controller"]
        document.remarks += drop(spec, "controller")
        work.propose(
            document,
            f"controller {name} was dropped: claims for a control plane controller are gone since 1.32, "
            "structured parameters are the only way",
            line,
        )
        document.changed = True
    for request in many(child(spec, "devices", "requests")):
        if isinstance(request, dict) and any(key in request for key in FLAT):
            _request_up(document, work, request)
            # a plain bool in 1.31, where false was the same as nothing
            if version == "v1alpha3" and request["exactly"].get("adminAccess") is False:
                drop(request["exactly"], "adminAccess")


def _request_up(document: Document, work: Work, request: Map) -> None:
    lines = [line for key in FLAT if key in request and (line := line_of(request, key))]
    inner = request.get("exactly")
    fresh = not isinstance(inner, dict)
    exactly = new_map() if fresh else inner
    for key in [key for key in request if key in FLAT]:
        move(request, key, exactly)
    if fresh:
        place = list(request).index("name") + 1 if "name" in request else 0
        request.insert(place, "exactly", exactly)
    document.changed = True
    text = f"request {request.get('name')}: fields moved under exactly"
    work.note(document, text, min(lines, default=None), exact=True)


def _slice_up(document: Document, work: Work, spec: Map, version: str) -> None:
    for key, empty in (("nodeName", ""), ("allNodes", False)):
        if version != "v1" and key in spec and spec[key] == empty:
            drop(spec, key)
            document.changed = True
    for device in many(spec.get("devices")):
        if not isinstance(device, dict):
            continue
        basic = device.get("basic")
        if isinstance(basic, dict):
            for key in list(basic):
                move(basic, key, device)
            drop(device, "basic")
            document.changed = True
        elif "basic" in device:
            drop(device, "basic")
            document.changed = True
        capacity = device.get("capacity")
        for name, value in list(capacity.items()) if isinstance(capacity, dict) else ():
            if not isinstance(value, dict):
                device["capacity"][name] = new_map(value=value)
                document.changed = True
    work.note(document, "slices are written by drivers; a manifest of one is only of use in tests", exact=True)
    if spec.get("devices") and spec.get("sharedCounters"):
        _split(document, work, spec)


def _whole(value: Any, default: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else default


def _split(document: Document, work: Work, spec: Map) -> None:
    """Since 1.35 a slice holds devices or shared counters, not both."""
    node = document.node
    assert node is not None
    pool = spec.get("pool")
    if isinstance(pool, dict):
        pool["resourceSliceCount"] = _whole(pool.get("resourceSliceCount"), 1) + 1
        pool["generation"] = _whole(pool.get("generation"), 0) + 1
    counters = spec["sharedCounters"]
    drop(spec, "sharedCounters")
    given = node.get("metadata")
    meta = dict(given) if isinstance(given, dict) else {}
    meta["name"] = f"{meta.get('name', 'slice')}-counters"
    other = {key: value for key, value in spec.items() if key != "devices"}
    document.after.append(
        tree(
            {
                "apiVersion": node["apiVersion"].replace("v1alpha3", "v1").replace("v1beta1", "v1"),
                "kind": "ResourceSlice",
                "metadata": meta,
                "spec": {**other, "pool": dict(pool) if isinstance(pool, dict) else {}, "sharedCounters": counters},
            }
        )
    )
    document.changed = True
    work.propose(
        document,
        "split in two: since 1.35 devices and sharedCounters stand in slices of their own; the pool's generation and "
        "resourceSliceCount were raised by one",
    )


def _rule_up(document: Document, work: Work) -> None:
    node = document.node
    assert node is not None
    selector = child(node, "spec", "deviceSelector")
    for key in ("deviceClassName", "selectors"):
        if isinstance(selector, dict) and key in selector:
            line = line_of(selector, key)
            drop(selector, key)
            work.propose(
                document,
                f"deviceSelector.{key} is gone since 1.35: name the driver, pool or device instead (without any of "
                "them the rule means every device)",
                line,
            )
            document.changed = True


# --- down -----------------------------------------------------------------------------------------------------------


def lower(node: Map) -> bool:
    """Bring a claim, template or slice from the shape of v1 to that of v1beta1; whether anything moved."""
    kind = str(node.get("kind"))
    moved = False
    if kind in ("ResourceClaim", "ResourceClaimTemplate"):
        spec = node.get("spec") if kind == "ResourceClaim" else child(node, "spec", "spec")
        for request in many(child(spec, "devices", "requests")):
            if isinstance(request, dict) and isinstance(request.get("exactly"), dict):
                exactly = request["exactly"]
                for key in list(exactly):
                    move(exactly, key, request)
                drop(request, "exactly")
                moved = True
    elif kind == "ResourceSlice":
        for device in many(child(node, "spec", "devices")):
            if isinstance(device, dict) and "basic" not in device:
                basic = new_map()
                for key in [key for key in device if key != "name"]:
                    move(device, key, basic)
                device["basic"] = basic
                moved = True
    return moved


def lacking(node: Any, release: tuple[int, int]) -> list[str]:
    """Fields of an object that the release does not know at all, in any version: they would be refused or dropped."""
    since = {
        "firstAvailable": (1, 33),
        "tolerations": (1, 33),
        "taints": (1, 33),
        "consumesCounters": (1, 33),
        "sharedCounters": (1, 33),
        "perDeviceNodeSelection": (1, 33),
        "capacity.requests": (1, 34),
        "distinctAttribute": (1, 34),
        "allowMultipleAllocations": (1, 34),
        "requestPolicy": (1, 34),
        "bindingConditions": (1, 34),
        "bindingFailureConditions": (1, 34),
        "bindsToNode": (1, 34),
        "extendedResourceName": (1, 34),
        "ints": (1, 36),
        "bools": (1, 36),
        "strings": (1, 36),
        "versions": (1, 36),
    }
    found: dict[str, None] = {}
    stack: list[Any] = [node.get("spec") if isinstance(node, dict) else None]
    while stack:
        item = stack.pop()
        if isinstance(item, dict):
            for key, value in item.items():
                amounts = key == "capacity" and isinstance(child(value, "requests"), dict)
                name = "capacity.requests" if amounts else key
                if since.get(name, (0, 0)) > release and key not in ("parameters",):
                    found[name] = None
                if key != "parameters":
                    stack.append(value)
        elif isinstance(item, list):
            stack.extend(item)
    return list(found)
