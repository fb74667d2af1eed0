"""Rules for ResourceClaim: its spec, which templates share, and its status."""

from __future__ import annotations

from typing import Any

from dractl.kube import names
from dractl.validation.errors import Path
from dractl.validation.gotext import json_string, quote
from dractl.validation.semantic import common, meta
from dractl.validation.semantic import scope as limits
from dractl.validation.semantic.scope import Scope, check_list, check_set

SPEC: Path = ("spec",)
ADMIN_LABEL = "resource.kubernetes.io/admin-access"
ONE_KIND = "exactly one of `exactly` or `firstAvailable` is required"
NO_ATTRIBUTE = 'exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set'
NOT_CONSTRAINED = (
    "must be referenced by at least one matchAttribute or distinctAttribute constraint targeting this request"
)

Requests = dict[str, frozenset[str]]
"""Names of requests, each with the names of its alternatives."""


def check(scope: Scope, obj: dict[str, Any]) -> None:
    """A new claim."""
    check_admin_access(scope, obj.get("spec", {}))
    meta.check_metadata(scope.errors, obj["metadata"], names.dns_subdomain_errors, True, scope.types)
    check_spec(scope, obj.get("spec", {}), SPEC, stored=False)


def check_update(scope: Scope, obj: dict[str, Any], old: dict[str, Any]) -> None:
    """A changed claim: its spec must be the same."""
    meta.check_metadata(scope.errors, obj["metadata"], names.dns_subdomain_errors, True, scope.types)
    if scope.minor < 35:
        check_spec(scope, obj.get("spec", {}), SPEC, stored=False)
    meta.check_metadata_update(scope.errors, obj["metadata"], old["metadata"], scope.types)
    spec = scope.internal("ResourceClaimSpec")
    if not spec.equal(obj.get("spec"), old.get("spec")):
        scope.errors.invalid_text(SPEC, spec.go_json(obj.get("spec")), meta.IMMUTABLE)
    if scope.minor < 35:
        check_spec(scope, obj.get("spec", {}), SPEC, stored=True)


def check_admin_access(scope: Scope, spec: dict[str, Any]) -> None:
    """Administrators' access needs a label of the namespace. The server's path lacks ``exactly`` in all versions."""
    for index, request in enumerate(spec.get("devices", {}).get("requests") or ()):
        if request.get("exactly", {}).get("adminAccess"):
            labels = scope.namespace_labels
            if labels is not None and labels.get(ADMIN_LABEL) != "true":
                detail = f"admin access to devices requires the `{ADMIN_LABEL}: true` label on the containing namespace"
                path: Path = ("spec", "devices", "requests", index)
                scope.errors.forbidden((*path, "adminAccess"), detail, (*path, "exactly", "adminAccess"))
            return


def request_names(devices: dict[str, Any]) -> Requests:
    """The names that constraints and configuration may use."""
    found: Requests = {}
    for request in devices.get("requests") or ():
        alternatives = request.get("firstAvailable") or ()
        found[request.get("name", "")] = frozenset(sub.get("name", "") for sub in alternatives)
    return found


class Derived:
    """What derived attributes of a claim need to know and add up (since 1.37)."""

    __slots__ = ("cost", "used")

    def __init__(self, constraints: list[dict[str, Any]]) -> None:
        self.cost = 0
        self.used: dict[str, set[str]] = {}
        """Attributes of constraints, by request or request/alternative; under "" those for all requests."""
        for constraint in constraints:
            name = constraint.get("matchAttribute", constraint.get("distinctAttribute"))
            if name is not None:
                for request in constraint.get("requests") or ("",):
                    self.used.setdefault(request, set()).add(name)

    def is_used(self, attribute: str, request: str) -> bool:
        """Whether a constraint on the request has the attribute; ``request`` may be request/alternative."""
        parent = request.partition("/")[0]
        return any(attribute in self.used.get(place, ()) for place in ("", request, parent))


def check_spec(scope: Scope, spec: dict[str, Any], path: Path, stored: bool) -> None:
    """spec.devices of a claim, under ``path``."""
    devices = spec.get("devices", {})
    at: Path = (*path, "devices")
    derived = Derived(devices.get("constraints") or [])
    requests = request_names(devices)
    check_set(
        scope,
        devices.get("requests"),
        limits.REQUESTS_MAX,
        lambda request, where: check_request(scope, request, where, stored, derived),
        _name,
        _quoted_name,
        (*at, "requests"),
        "name",
    )
    check_list(
        scope,
        devices.get("constraints"),
        limits.CONSTRAINTS_MAX,
        lambda constraint, where: check_constraint(scope, constraint, where, requests),
        (*at, "constraints"),
    )
    if derived.cost > limits.EXPRESSION_COST_MAX:
        detail = "too complex, total cost of derived attribute CEL expressions in the claim exceeds cost limit"
        scope.errors.forbidden(at, detail)
    check_list(
        scope,
        devices.get("config"),
        limits.CONFIG_MAX,
        lambda config, where: check_config(scope, config, where, requests, stored),
        (*at, "config"),
    )


def _name(item: dict[str, Any]) -> str:
    name: str = item.get("name", "")
    return name


def _quoted_name(item: dict[str, Any]) -> str:
    return quote(_name(item))


def check_request(scope: Scope, request: dict[str, Any], path: Path, stored: bool, derived: Derived) -> None:
    """A request: its name, and exactly one kind."""
    name = request.get("name", "")
    common.check_label_name(scope, name, (*path, "name"))
    exactly = request.get("exactly")
    alternatives = request.get("firstAvailable")
    before_35 = scope.minor < 35
    if exactly is None and not alternatives:
        scope.errors.required(path, ONE_KIND)
    elif exactly is not None and alternatives and not before_35:
        scope.errors.invalid_text(path, "null", f"{ONE_KIND}, but multiple fields are set")
    else:
        if alternatives:
            check_set(
                scope,
                alternatives,
                limits.FIRST_AVAILABLE_MAX,
                lambda sub, where: check_alternative(scope, sub, where, stored, derived, name),
                _name,
                _quoted_name,
                (*path, "firstAvailable"),
                "name",
            )
        if exactly is not None:
            check_details(scope, exactly, (*path, "exactly"), stored)
            check_derived(scope, exactly.get("derivedAttributes"), (*path, "exactly"), stored, derived, name)
        if exactly is not None and alternatives:
            scope.errors.invalid_text(path, "null", f"{ONE_KIND}, but multiple fields are set")


def check_alternative(
    scope: Scope, sub: dict[str, Any], path: Path, stored: bool, derived: Derived, parent: str
) -> None:
    """One entry of firstAvailable of the request ``parent``."""
    name = sub.get("name", "")
    common.check_label_name(scope, name, (*path, "name"))
    check_details(scope, sub, path, stored)
    check_derived(scope, sub.get("derivedAttributes"), path, stored, derived, f"{parent}/{name}")


def check_derived(
    scope: Scope, attributes: list[dict[str, Any]] | None, path: Path, stored: bool, derived: Derived, request: str
) -> None:
    """Derived attributes of a request or alternative (since 1.37): in use, and computed by good expressions."""
    if not attributes:
        return

    def check_one(attribute: dict[str, Any], at: Path) -> None:
        name, expression = attribute.get("name", ""), attribute.get("expression", "")
        if name and not derived.is_used(name, request):
            scope.errors.invalid_named((*at, "name"), name, NOT_CONSTRAINED)
        if expression:
            derived.cost += common.check_expression(scope, expression, (*at, "expression"), stored, derived=True)

    check_set(scope, attributes, -1, check_one, _name, _quoted_name, (*path, "derivedAttributes"))


def check_details(scope: Scope, request: dict[str, Any], path: Path, stored: bool) -> None:
    """Class, selectors, count and tolerations of ``exactly`` or of an alternative."""
    common.check_class_name(scope, request.get("deviceClassName", ""), (*path, "deviceClassName"))
    common.check_selectors(scope, request.get("selectors"), (*path, "selectors"), stored)
    mode, count = request.get("allocationMode", ""), request.get("count", 0)
    if mode == "All":
        if count:
            detail = "must not be specified when allocationMode is 'All'"
            scope.errors.invalid((*path, "count"), count, detail)
    elif mode == "ExactCount":
        if count <= 0:
            scope.errors.invalid((*path, "count"), count, "must be greater than zero")
    else:
        scope.errors.not_supported((*path, "allocationMode"), json_string(mode), ("All", "ExactCount"))
    for index, toleration in enumerate(request.get("tolerations") or ()):
        common.check_toleration(scope, toleration, (*path, "tolerations", index))


def check_references(scope: Scope, listed: list[str] | None, path: Path, requests: Requests) -> None:
    """A set of references to requests."""
    check_set(
        scope,
        listed,
        limits.REQUESTS_MAX,
        lambda name, where: common.check_request_reference(scope, name, where, requests),
        lambda name: name,
        quote,
        path,
    )


def check_constraint(scope: Scope, constraint: dict[str, Any], path: Path, requests: Requests) -> None:
    """A constraint: which requests, and the attribute. With both attributes only the first one counts."""
    check_references(scope, constraint.get("requests"), (*path, "requests"), requests)
    if "matchAttribute" in constraint:
        common.check_fully_qualified_name(scope, constraint["matchAttribute"], (*path, "matchAttribute"))
    elif "distinctAttribute" in constraint:
        common.check_fully_qualified_name(scope, constraint["distinctAttribute"], (*path, "distinctAttribute"))
    elif scope.on("DRAConsumableCapacity"):
        scope.errors.required(path, NO_ATTRIBUTE)
    else:
        scope.errors.required((*path, "matchAttribute"))


def check_config(scope: Scope, config: dict[str, Any], path: Path, requests: Requests, stored: bool) -> None:
    """Configuration for some or all requests."""
    check_references(scope, config.get("requests"), (*path, "requests"), requests)
    common.check_configuration(scope, config, path, stored)
