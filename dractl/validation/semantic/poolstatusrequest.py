"""Rules for ResourcePoolStatusRequest in 1.36; since 1.37 they are among the declarative rules."""

from __future__ import annotations

from typing import Any

from dractl.kube import names
from dractl.validation.errors import Path
from dractl.validation.semantic import meta
from dractl.validation.semantic.scope import Scope

SPEC: Path = ("spec",)
LIMIT_MAX = 1000


def check(scope: Scope, obj: dict[str, Any]) -> None:
    """A new request."""
    meta.check_metadata(scope.errors, obj["metadata"], names.dns_subdomain_errors, False, scope.types)
    if scope.minor < 37:
        check_spec(scope, obj.get("spec", {}))


def check_update(scope: Scope, obj: dict[str, Any], old: dict[str, Any]) -> None:
    """A changed request: its spec must be the same."""
    meta.check_metadata_update(scope.errors, obj["metadata"], old["metadata"], scope.types)
    if scope.minor >= 37:
        return
    spec = scope.types.struct("resource/v1alpha3.ResourcePoolStatusRequestSpec")
    if not spec.equal(obj.get("spec"), old.get("spec")):
        scope.errors.invalid_text(SPEC, "null", meta.IMMUTABLE)


def check_spec(scope: Scope, spec: dict[str, Any]) -> None:
    """Driver, pool and limit."""
    errors = scope.errors
    driver = spec.get("driver", "")
    if not driver:
        errors.required((*SPEC, "driver"))
    else:
        errors.invalid_each((*SPEC, "driver"), driver, names.dns_subdomain_caseless_errors(driver))
    if "poolName" in spec:
        check_declared_pool_name(scope, spec["poolName"], (*SPEC, "poolName"))
    limit = spec.get("limit", 0)
    if limit > LIMIT_MAX:
        errors.invalid((*SPEC, "limit"), limit, f"must be less than or equal to {LIMIT_MAX}")
    if limit < 1:
        errors.invalid((*SPEC, "limit"), limit, "must be greater than or equal to 1")


def check_declared_pool_name(scope: Scope, name: str, path: Path) -> None:
    """A pool name as declarative validation words it: segments with their number."""
    errors = scope.errors
    if names.byte_length(name) > names.POOL_MAX:
        errors.too_long(path, names.POOL_MAX)
    parts = name.split("/")
    for index, part in enumerate(parts):
        if not part:
            errors.invalid(path, name, f"segment {index}: must not be empty")
            continue
        for message in names.dns_subdomain_errors(part, "bytes"):
            errors.invalid(path, part, f"segment {index}: {message}")
