"""The API server's rules, one module a kind; ``KINDS`` tells which functions belong to a kind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dractl.validation import defaults as default_values
from dractl.validation.semantic import claim, deviceclass, poolstatusrequest, slice, taintrule, template
from dractl.validation.semantic.scope import Scope

Json = dict[str, Any]


def _no_warnings(_: Json, __: int) -> list[str]:
    return []


@dataclass(frozen=True, slots=True)
class Rules:
    """How one kind is handled."""

    namespaced: bool
    check: Callable[[Scope, Json], None]
    check_update: Callable[[Scope, Json, Json], None]
    warnings: Callable[[Json, int], list[str]] = _no_warnings
    defaults: Callable[[str, str, Json, str], None] = default_values.set_defaults


KINDS = {
    "DeviceClass": Rules(False, deviceclass.check, deviceclass.check_update),
    "ResourceClaim": Rules(True, claim.check, claim.check_update),
    "ResourceClaimTemplate": Rules(True, template.check, template.check_update),
    "ResourceSlice": Rules(False, slice.check, slice.check_update, slice.warnings),
    "DeviceTaintRule": Rules(False, taintrule.check, taintrule.check_update),
    "ResourcePoolStatusRequest": Rules(False, poolstatusrequest.check, poolstatusrequest.check_update),
}
