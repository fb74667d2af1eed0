"""Rules for ResourceClaimTemplate."""

from __future__ import annotations

from typing import Any

from dractl.kube import names
from dractl.validation.errors import Path
from dractl.validation.semantic import claim, meta
from dractl.validation.semantic.scope import Scope

SPEC: Path = ("spec",)
GO_NAMES = {"uid": "uID"}
"""The server makes these field names from those of Go."""


def check(scope: Scope, obj: dict[str, Any]) -> None:
    """A new template."""
    claim.check_admin_access(scope, obj.get("spec", {}).get("spec", {}))
    check_whole(scope, obj)


def check_update(scope: Scope, obj: dict[str, Any], old: dict[str, Any]) -> None:
    """A changed template: all rules again, and the spec must be the same."""
    check_whole(scope, obj)
    meta.check_metadata_update(scope.errors, obj["metadata"], old["metadata"], scope.types)
    spec = scope.internal("ResourceClaimTemplateSpec")
    if not spec.equal(obj.get("spec"), old.get("spec")):
        scope.errors.invalid_text(SPEC, spec.go_json(obj.get("spec")), meta.IMMUTABLE)


def check_whole(scope: Scope, obj: dict[str, Any]) -> None:
    """Metadata, metadata for the claims, spec for the claims."""
    meta.check_metadata(scope.errors, obj["metadata"], names.dns_subdomain_errors, True, scope.types)
    spec = obj.get("spec", {})
    check_template_metadata(scope, spec.get("metadata", {}))
    claim.check_spec(scope, spec.get("spec", {}), ("spec", "spec"), stored=False)


def check_template_metadata(scope: Scope, data: dict[str, Any]) -> None:
    """Labels and annotations only."""
    path: Path = ("spec", "metadata")
    if "annotations" in data:
        meta.check_annotations(scope.errors, data["annotations"], (*path, "annotations"))
    if "labels" in data:
        meta.check_labels(scope.errors, data["labels"], (*path, "labels"))
    for name, value in data.items():
        if name not in ("labels", "annotations") and is_set(name, value):
            shown = GO_NAMES.get(name, name)
            scope.errors.forbidden((*path, shown), "cannot be set", (*path, name))


def is_set(name: str, value: Any) -> bool:
    """Whether Go sees a value other than the zero value; an empty list or a pointer to zero counts."""
    return isinstance(value, list | dict) or name == "deletionGracePeriodSeconds" or bool(value)
