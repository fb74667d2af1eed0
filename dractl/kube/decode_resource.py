"""Reading of the kinds of resource.k8s.io, v1alpha3 to v1; see ``dractl.kube.decode``.

Older versions differ in two places: v1alpha3 and v1beta1 keep the fields of a device under ``basic`` and those of a
request beside its name (API reference of each version).
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from dractl.kube import reader
from dractl.kube.decode_core import meta, node_selector, strict_condition
from dractl.kube.decode_slice import resource_slice, taint
from dractl.kube.objects import (
    Allocation,
    AllocationDevice,
    ClaimRequest,
    ClaimSpec,
    Consumer,
    DerivedAttribute,
    DeviceClass,
    DeviceConfig,
    DeviceConstraint,
    DeviceRequest,
    DeviceSelector,
    DeviceStatus,
    DeviceTaintRule,
    DeviceTaintSelector,
    DeviceToleration,
    Json,
    KubeObject,
    OpaqueConfig,
    ResourceClaim,
    ResourceClaimTemplate,
)
from dractl.kube.reader import Unknown, each, fields, join, opt_text, text, texts

_TOP = fields("apiVersion kind metadata spec status")
_EXACT = fields("deviceClassName selectors allocationMode count adminAccess tolerations capacity derivedAttributes")
_SUB = _EXACT - {"adminAccess"} | {"name"}
_REQUEST = fields("name exactly firstAvailable")
_FLAT_REQUEST = _EXACT | {"name", "firstAvailable"}
_DERIVED = frozenset(["name", "expression"])
_TOLERATION = fields("key operator value effect tolerationSeconds")
_DEVICES = fields("requests constraints config")
_SPEC = frozenset(["devices", "controller"])
_CONSTRAINT = fields("requests matchAttribute distinctAttribute")
_CONFIG = fields("requests opaque source")
_OPAQUE = frozenset(["driver", "parameters"])
_CLAIM_STATUS = fields("allocation reservedFor devices deallocationRequested")
_ALLOCATION = fields("devices nodeSelector allocationTimestamp controller")
_RESULT = fields(
    "request driver pool device adminAccess tolerations bindingConditions bindingFailureConditions shareID "
    "consumedCapacity skipNodeOperations"
)
_CONSUMER = fields("apiGroup resource name uid")
_DEVICE_STATUS = fields("driver pool device shareID conditions data networkData")
_CLASS_SPEC = fields("selectors config extendedResourceName suitableNodes")
_RULE_SPEC = fields("deviceSelector taint")
_RULE_SELECTOR = fields("driver pool device deviceClassName selectors")

_FLAT_VERSIONS = ("resource.k8s.io/v1beta1", "resource.k8s.io/v1alpha3")


def device_class(body: Json, _version: str, unknown: Unknown) -> DeviceClass:
    """A DeviceClass."""
    unknown.check(body, _TOP, "")
    spec = reader.obj(body, "spec", "")
    unknown.check(spec, _CLASS_SPEC, "spec")
    return DeviceClass(
        meta=meta(body, unknown),
        selectors=_selectors(spec, "spec", unknown),
        config=_configs(spec, "spec", unknown),
        extended_resource_name=opt_text(spec, "extendedResourceName", "spec"),
    )


def claim(body: Json, version: str, unknown: Unknown) -> ResourceClaim:
    """A ResourceClaim."""
    unknown.check(body, _TOP, "")
    status = reader.obj(body, "status", "")
    unknown.check(status, _CLAIM_STATUS, "status")

    def consumer(item: Json, at: str) -> Consumer:
        unknown.check(item, _CONSUMER, at)
        return Consumer(
            text(item, "apiGroup", at), text(item, "resource", at), text(item, "name", at), text(item, "uid", at)
        )

    def device_status(item: Json, at: str) -> DeviceStatus:
        unknown.check(item, _DEVICE_STATUS, at)
        return DeviceStatus(
            driver=text(item, "driver", at),
            pool=text(item, "pool", at),
            device=text(item, "device", at),
            share_id=opt_text(item, "shareID", at),
            conditions=each(item, "conditions", at, lambda c, a: strict_condition(unknown, c, a)),
            data=item.get("data"),
            network_data=reader.opt_obj(item, "networkData", at),
        )

    return ResourceClaim(
        meta=meta(body, unknown),
        spec=_claim_spec(reader.obj(body, "spec", ""), "spec", version, unknown),
        allocation=allocation(status, "status", unknown),
        reserved_for=each(status, "reservedFor", "status", consumer),
        devices=each(status, "devices", "status", device_status),
    )


def claim_template(body: Json, version: str, unknown: Unknown) -> ResourceClaimTemplate:
    """A ResourceClaimTemplate."""
    unknown.check(body, _TOP - {"status"}, "")
    spec = reader.obj(body, "spec", "")
    unknown.check(spec, frozenset(["metadata", "spec"]), "spec")
    inner = reader.obj(spec, "metadata", "spec")
    return ResourceClaimTemplate(
        meta=meta(body, unknown),
        spec=_claim_spec(reader.obj(spec, "spec", "spec"), "spec.spec", version, unknown),
        labels=reader.text_map(inner, "labels", "spec.metadata"),
        annotations=reader.text_map(inner, "annotations", "spec.metadata"),
    )


def taint_rule(body: Json, _version: str, unknown: Unknown) -> DeviceTaintRule:
    """A DeviceTaintRule. Selection by class or CEL (1.33, 1.34) is not kept: no release since has it."""
    unknown.check(body, _TOP, "")
    spec = reader.obj(body, "spec", "")
    unknown.check(spec, _RULE_SPEC, "spec")
    data = reader.opt_obj(spec, "deviceSelector", "spec")
    selector = None
    if data is not None:
        path = "spec.deviceSelector"
        unknown.check(data, _RULE_SELECTOR, path)
        selector = DeviceTaintSelector(
            opt_text(data, "driver", path), opt_text(data, "pool", path), opt_text(data, "device", path)
        )
    status = reader.obj(body, "status", "")
    rule = DeviceTaintRule(
        meta=meta(body, unknown),
        selector=selector,
        taint=taint(reader.obj(spec, "taint", "spec"), "spec.taint", unknown),
        conditions=each(status, "conditions", "status", lambda c, a: strict_condition(unknown, c, a)),
    )
    rule.taint.rule = rule.meta.name
    return rule


def allocation(status: Json, path: str, unknown: Unknown) -> Allocation | None:
    """status.allocation of a claim, or None."""
    data = reader.opt_obj(status, "allocation", path)
    if data is None:
        return None
    path = join(path, "allocation")
    unknown.check(data, _ALLOCATION, path)
    devices = reader.obj(data, "devices", path)
    below = f"{path}.devices"
    unknown.check(devices, frozenset(["results", "config"]), below)

    def result(item: Json, at: str) -> AllocationDevice:
        unknown.check(item, _RESULT, at)
        consumed = reader.opt_obj(item, "consumedCapacity", at)
        return AllocationDevice(
            request=text(item, "request", at),
            driver=sys.intern(text(item, "driver", at)),
            pool=sys.intern(text(item, "pool", at)),
            device=sys.intern(text(item, "device", at)),
            admin_access=reader.opt_boolean(item, "adminAccess", at),
            tolerations=_tolerations(item, at, unknown),
            binding_conditions=texts(item, "bindingConditions", at),
            binding_failure_conditions=texts(item, "bindingFailureConditions", at),
            share_id=opt_text(item, "shareID", at),
            consumed_capacity=None if consumed is None else reader.quantities(consumed, f"{at}.consumedCapacity"),
            skip_node_operations=texts(item, "skipNodeOperations", at),
        )

    return Allocation(
        results=each(devices, "results", below, result),
        config=_configs(devices, below, unknown),
        node_selector=node_selector(data, "nodeSelector", path, unknown),
        allocation_timestamp=opt_text(data, "allocationTimestamp", path),
    )


def _claim_spec(spec: Json, path: str, version: str, unknown: Unknown) -> ClaimSpec:
    unknown.check(spec, _SPEC, path)
    flat = version in _FLAT_VERSIONS
    devices = reader.obj(spec, "devices", path)
    path = join(path, "devices")
    unknown.check(devices, _DEVICES, path)

    def alternative(item: Json, at: str) -> DeviceRequest:
        unknown.check(item, _SUB, at)
        return _device_request(item, text(item, "name", at), at, unknown)

    def request(item: Json, at: str) -> ClaimRequest:
        unknown.check(item, _FLAT_REQUEST if flat else _REQUEST, at)
        name = text(item, "name", at)
        exactly = None
        if flat:
            # The conversion makes `exactly` as soon as one of its fields is set, were it only `adminAccess: false`.
            if any(item.get(key) not in (None, "", 0) or item.get(key) is False for key in _EXACT):
                exactly = _device_request(item, name, at, unknown)
        elif item.get("exactly") is not None:
            data = reader.obj(item, "exactly", at)
            unknown.check(data, _EXACT, f"{at}.exactly")
            exactly = _device_request(data, name, f"{at}.exactly", unknown)
        return ClaimRequest(name, exactly, each(item, "firstAvailable", at, alternative))

    def constraint(item: Json, at: str) -> DeviceConstraint:
        unknown.check(item, _CONSTRAINT, at)
        return DeviceConstraint(
            texts(item, "requests", at), opt_text(item, "matchAttribute", at), opt_text(item, "distinctAttribute", at)
        )

    return ClaimSpec(
        requests=each(devices, "requests", path, request),
        constraints=each(devices, "constraints", path, constraint),
        config=_configs(devices, path, unknown),
    )


def _device_request(data: Json, name: str, path: str, unknown: Unknown) -> DeviceRequest:
    capacity = reader.opt_obj(data, "capacity", path)
    requests = None
    if capacity is not None:
        unknown.check(capacity, frozenset(["requests"]), f"{path}.capacity")
        requests = reader.quantity_map(capacity, "requests", f"{path}.capacity")

    def derived(item: Json, at: str) -> DerivedAttribute:
        unknown.check(item, _DERIVED, at)
        return DerivedAttribute(text(item, "name", at), text(item, "expression", at))

    return DeviceRequest(
        name=name,
        device_class_name=text(data, "deviceClassName", path),
        selectors=_selectors(data, path, unknown),
        allocation_mode=text(data, "allocationMode", path),
        count=reader.integer(data, "count", path),
        admin_access=reader.opt_boolean(data, "adminAccess", path),
        tolerations=_tolerations(data, path, unknown),
        capacity=requests,
        derived_attributes=each(data, "derivedAttributes", path, derived),
    )


def _selectors(body: Json, path: str, unknown: Unknown) -> list[DeviceSelector]:
    def selector(item: Json, at: str) -> DeviceSelector:
        unknown.check(item, frozenset(["cel"]), at)
        cel = reader.opt_obj(item, "cel", at)
        if cel is None:
            return DeviceSelector(None)
        unknown.check(cel, frozenset(["expression"]), f"{at}.cel")
        return DeviceSelector(text(cel, "expression", f"{at}.cel"))

    return each(body, "selectors", path, selector)


def _tolerations(body: Json, path: str, unknown: Unknown) -> list[DeviceToleration]:
    def toleration(item: Json, at: str) -> DeviceToleration:
        unknown.check(item, _TOLERATION, at)
        return DeviceToleration(
            text(item, "key", at),
            text(item, "operator", at),
            text(item, "value", at),
            text(item, "effect", at),
            reader.opt_integer(item, "tolerationSeconds", at),
        )

    return each(body, "tolerations", path, toleration)


def _configs(body: Json, path: str, unknown: Unknown) -> list[DeviceConfig]:
    def config(item: Json, at: str) -> DeviceConfig:
        unknown.check(item, _CONFIG, at)
        opaque = reader.opt_obj(item, "opaque", at)
        parsed = None
        if opaque is not None:
            unknown.check(opaque, _OPAQUE, f"{at}.opaque")
            parsed = OpaqueConfig(text(opaque, "driver", f"{at}.opaque"), opaque.get("parameters"))
        return DeviceConfig(texts(item, "requests", at), parsed, text(item, "source", at))

    return each(body, "config", path, config)


def apply_defaults(decoded: Any) -> None:
    """Fill in what the API server fills in on create, in a fresh object (the API's defaults since v1beta1)."""
    if isinstance(decoded, ResourceClaim | ResourceClaimTemplate):
        for request in decoded.spec.requests:
            for exact in [request.exactly, *request.first_available]:
                if exact is None:
                    continue
                exact.allocation_mode = exact.allocation_mode or "ExactCount"
                if exact.allocation_mode == "ExactCount" and exact.count == 0:
                    exact.count = 1
                for toleration in exact.tolerations:
                    toleration.operator = toleration.operator or "Equal"


READERS: dict[str, Callable[[Json, str, Unknown], KubeObject]] = {
    "ResourceSlice": resource_slice,
    "DeviceClass": device_class,
    "ResourceClaim": claim,
    "ResourceClaimTemplate": claim_template,
    "DeviceTaintRule": taint_rule,
}
