"""Rules for DeviceTaintRule."""

from __future__ import annotations

from typing import Any

from dractl.kube import names
from dractl.validation.errors import Path
from dractl.validation.semantic import common, meta
from dractl.validation.semantic.scope import Scope

SPEC: Path = ("spec",)


def check(scope: Scope, obj: dict[str, Any]) -> None:
    """A new rule."""
    meta.check_metadata(scope.errors, obj["metadata"], names.dns_subdomain_errors, False, scope.types)
    check_spec(scope, obj.get("spec", {}), None)


def check_update(scope: Scope, obj: dict[str, Any], old: dict[str, Any]) -> None:
    """A changed rule."""
    meta.check_metadata_update(scope.errors, obj["metadata"], old["metadata"], scope.types)
    check_spec(scope, obj.get("spec", {}), old.get("spec", {}))


def check_spec(scope: Scope, spec: dict[str, Any], old: dict[str, Any] | None) -> None:
    """Which devices, and the taint."""
    selector = spec.get("deviceSelector")
    if selector is not None:
        check_selector(scope, selector, old)
    taint: dict[str, Any] = spec.get("taint", {})
    common.check_taint(scope, taint, (*SPEC, "taint"), None if old is None else old.get("taint", {}))


def check_selector(scope: Scope, selector: dict[str, Any], old: dict[str, Any] | None) -> None:
    """Driver, pool and device by name; in 1.33 and 1.34 also a class and CEL selectors."""
    path: Path = (*SPEC, "deviceSelector")
    if "deviceClassName" in selector:
        name = selector["deviceClassName"]
        scope.errors.invalid_each((*path, "deviceClassName"), name, names.dns_subdomain_errors(name))
    if "driver" in selector:
        common.check_driver(scope, selector["driver"], (*path, "driver"))
    if "pool" in selector:
        common.check_pool_name(scope, selector["pool"], (*path, "pool"))
    if "device" in selector:
        common.check_label_name(scope, selector["device"], (*path, "device"))
    if "selectors" in selector:
        before = (old or {}).get("deviceSelector")
        stored = before is not None and _same_selectors(scope, selector, before)
        common.check_selectors(scope, selector["selectors"], (*path, "selectors"), stored)


def _same_selectors(scope: Scope, selector: dict[str, Any], old: dict[str, Any]) -> bool:
    field = scope.types.struct("resource/v1alpha3.DeviceTaintSelector").fields["selectors"]
    return field.type.equal(selector.get("selectors"), old.get("selectors"))
