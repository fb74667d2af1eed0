"""Rules for DeviceClass."""

from __future__ import annotations

from typing import Any

from dractl.kube import names
from dractl.validation.errors import Path
from dractl.validation.gotext import quote
from dractl.validation.semantic import common, meta
from dractl.validation.semantic import scope as limits
from dractl.validation.semantic.scope import Scope, check_list

SPEC: Path = ("spec",)


def check(scope: Scope, obj: dict[str, Any]) -> None:
    """A new class."""
    check_class_metadata(scope, obj)
    check_spec(scope, obj.get("spec", {}), None)


def check_update(scope: Scope, obj: dict[str, Any], old: dict[str, Any]) -> None:
    """A changed class."""
    check_class_metadata(scope, obj)
    if scope.minor < 35:
        check_spec(scope, obj.get("spec", {}), None)
    meta.check_metadata_update(scope.errors, obj["metadata"], old["metadata"], scope.types)
    check_spec(scope, obj.get("spec", {}), old.get("spec", {}))


def check_class_metadata(scope: Scope, obj: dict[str, Any]) -> None:
    """The name alone is checked, since 1.35 with the word bytes for lengths; ``generateName`` is not."""
    data = obj["metadata"]
    if scope.minor < 35:
        meta.check_metadata(scope.errors, data, names.dns_subdomain_errors, False, scope.types)
        return
    name = data.get("name")
    if not name:
        if data.get("generateName"):
            detail = f"generateName was specified ({quote(data['generateName'])}), but no name was generated"
            scope.errors.internal(("metadata", "name"), detail)
        scope.errors.required(("metadata", "name"), "name or generateName is required")
    else:
        scope.errors.invalid_each(("metadata", "name"), name, names.dns_subdomain_errors(name, "bytes"))
    meta.check_common(scope.errors, data, False, scope.types)
    meta.check_qualified(scope.errors, data.get("finalizers", ()))


def check_spec(scope: Scope, spec: dict[str, Any], old: dict[str, Any] | None) -> None:
    """Selectors, configuration and the extended resource; lists that did not change count as stored."""
    struct = scope.internal("DeviceClassSpec")

    def unchanged(field: str) -> bool:
        return old is not None and struct.fields[field].type.equal(spec.get(field), old.get(field))

    common.check_selectors(scope, spec.get("selectors"), (*SPEC, "selectors"), unchanged("selectors"))
    stored = unchanged("config")
    check_list(
        scope,
        spec.get("config"),
        limits.CONFIG_MAX,
        lambda config, at: common.check_configuration(scope, config, at, stored),
        (*SPEC, "config"),
    )
    resource = spec.get("extendedResourceName")
    if resource is not None and not names.is_extended_resource(resource):
        scope.errors.invalid((*SPEC, "extendedResourceName"), resource, "must be a valid extended resource name")
