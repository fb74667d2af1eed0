"""Rules that several DRA kinds share: names, selectors, configuration, taints and tolerations, node selectors."""

from __future__ import annotations

from typing import Any

from dractl.cel.environment import Environment
from dractl.cel.selector import compile_selector
from dractl.kube import names
from dractl.validation.errors import Path
from dractl.validation.gotext import json_size, json_string, quote
from dractl.validation.semantic import scope as limits
from dractl.validation.semantic.scope import Scope, check_list

TAINT_EFFECTS = ("NoExecute", "NoSchedule", "None")
NODE_NAME_FIELD = "metadata.name"
REQUEST_REFERENCE = (
    "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'"
)


def check_driver(scope: Scope, name: str, path: Path) -> None:
    """A driver name: at most 63 bytes, a DNS subdomain in either case."""
    if not name:
        scope.errors.required(path)
        if scope.minor >= 35:
            return
    if names.byte_length(name) > names.DRIVER_MAX:
        scope.errors.too_long(path, names.DRIVER_MAX)
    problems = names.dns_subdomain_errors(names.lower(name))
    if problems:
        scope.errors.invalid_each(path, name, problems)


def check_pool_name(scope: Scope, name: str, path: Path) -> None:
    """A pool name: DNS subdomains separated by slashes."""
    if not name:
        scope.errors.required(path)
        return
    if names.byte_length(name) > names.POOL_MAX:
        scope.errors.too_long(path, names.POOL_MAX)
    for part in name.split("/"):
        scope.errors.invalid_each(path, part, names.dns_subdomain_errors(part))


def check_label_name(scope: Scope, name: str, path: Path) -> None:
    """A DNS label: requests, devices, counters."""
    problems = names.dns_label_errors(name)
    if problems:
        scope.errors.invalid_each(path, name, problems)


def check_identifier(scope: Scope, name: str, path: Path, at: Path | None = None) -> None:
    """The part of an attribute or capacity name after the slash."""
    if names.byte_length(name) > names.IDENTIFIER_MAX:
        scope.errors.too_long(path, names.IDENTIFIER_MAX, at)
    scope.errors.invalid_each(path, name, names.c_identifier_errors(name), at)


def check_qualified_name(scope: Scope, name: str, path: Path, at: Path | None = None) -> None:
    """An attribute or capacity name: an identifier, or a domain and one. More than one slash is not looked at."""
    if scope.minor < 35:
        _check_qualified_name_1_34(scope, name, path, at)
        return
    parts = name.split("/")
    if len(parts) == 1:
        check_identifier(scope, name, path, at)
    elif len(parts) == 2:
        domain, short = parts
        if not domain:
            scope.errors.invalid(path, "", "the domain must not be empty", at)
        else:
            if names.byte_length(domain) > names.DRIVER_MAX:
                scope.errors.too_long(path, names.DRIVER_MAX, at)
            scope.errors.invalid_each(path, domain, names.dns_subdomain_errors(names.lower(domain)), at)
        if not short:
            scope.errors.invalid(path, "", "the name must not be empty", at)
        else:
            check_identifier(scope, short, path, at)


def _check_qualified_name_1_34(scope: Scope, name: str, path: Path, at: Path | None) -> None:
    """The same rule with the reasons and texts of 1.34."""
    parts = name.split("/")
    if not name:
        scope.errors.required(path, "name required", at)
    elif len(parts) == 1:
        check_identifier(scope, name, path, at)
    elif len(parts) == 2:
        if not parts[0]:
            scope.errors.required(path, "the domain must not be empty", at)
        else:
            check_driver(scope, parts[0], path)
        if not parts[1]:
            scope.errors.required(path, "the name must not be empty", at)
        else:
            check_identifier(scope, parts[1], path, at)


def check_fully_qualified_name(scope: Scope, name: str, path: Path) -> None:
    """As a qualified name, and with a domain."""
    check_qualified_name(scope, name, path)
    if scope.minor < 35:
        if name and "/" not in name:
            scope.errors.invalid_named(path, name, "must include a domain")
    elif "/" not in name:
        scope.errors.invalid_named(
            path, name, "a fully qualified name must be a domain and a name separated by a slash"
        )


def check_class_name(scope: Scope, name: str, path: Path) -> None:
    """The name of a DeviceClass in a request."""
    if not name:
        scope.errors.required(path)
        return
    problems = names.dns_subdomain_errors(name)
    if problems:
        scope.errors.invalid_each(path, name, problems)


# --- selectors ------------------------------------------------------------------------------------------------------


def check_selectors(scope: Scope, selectors: list[dict[str, Any]] | None, path: Path, stored: bool) -> None:
    """CEL selectors of a class or request. ``stored`` ones were accepted before."""

    def check_selector(selector: dict[str, Any], at: Path) -> None:
        cel = selector.get("cel")
        if cel is None:
            scope.errors.required((*at, "cel"))
        else:
            check_expression(scope, cel.get("expression", ""), (*at, "cel", "expression"), stored)

    check_list(scope, selectors, limits.SELECTORS_MAX, check_selector, path)


def check_expression(scope: Scope, expression: str, path: Path, stored: bool, derived: bool = False) -> int:
    """One CEL expression: length, compilation, estimated cost, which is given back."""
    if stored and scope.minor >= 37:
        return 0
    settings = environment(scope, stored, derived)
    if settings.has_cost_limit and names.byte_length(expression) > limits.EXPRESSION_MAX:
        scope.errors.too_long(path, limits.EXPRESSION_MAX)
        return 0
    selector = compile_selector(expression, settings)
    if selector.error is not None:
        if selector.error_type == "InternalError":
            scope.errors.internal(path, selector.error)
        else:
            scope.errors.invalid(path, expression, selector.error)
        return 0
    if settings.has_cost_limit and selector.max_cost > limits.EXPRESSION_COST_MAX:
        scope.errors.forbidden(path, "too complex, exceeds cost limit")
    return selector.max_cost


def environment(scope: Scope, stored: bool, derived: bool = False) -> Environment:
    """The CEL environment of the release and gates."""
    return Environment(
        kubernetes=(1, scope.minor),
        consumable_capacity=scope.on("DRAConsumableCapacity"),
        list_attributes=scope.on("DRAListTypeAttributes"),
        stored=stored,
        derived_attribute=derived,
    )


# --- configuration --------------------------------------------------------------------------------------------------


def check_configuration(scope: Scope, config: dict[str, Any], path: Path, stored: bool) -> None:
    """The opaque parameters for a driver."""
    opaque = config.get("opaque")
    if opaque is None:
        scope.errors.required((*path, "opaque"))
        return
    check_driver(scope, opaque.get("driver", ""), (*path, "opaque", "driver"))
    at: Path = (*path, "opaque", "parameters")
    if "parameters" not in opaque:
        scope.errors.required(at)
    else:
        check_raw_object(scope, opaque["parameters"], at, limits.PARAMETERS_MAX, stored)


def check_raw_object(scope: Scope, value: Any, path: Path, limit: int, stored: bool) -> None:
    """Raw JSON that has to be an object of limited size."""
    if not stored and json_size(value) > limit:
        scope.errors.too_long(path, limit)
    elif not isinstance(value, dict):
        scope.errors.invalid(path, "<value omitted>", "must be a valid JSON object")


def check_request_reference(scope: Scope, name: str, path: Path, requests: dict[str, frozenset[str]]) -> None:
    """A request, or a request and one of its alternatives."""
    segments = name.split("/")
    if len(segments) > 2:
        scope.errors.invalid(path, name, REQUEST_REFERENCE)
        return
    for segment in segments:
        check_label_name(scope, segment, path)
    known = requests.get(segments[0])
    if known is None or (len(segments) == 2 and segments[1] not in known):
        scope.errors.invalid(path, name, REQUEST_REFERENCE)


# --- taints and tolerations -----------------------------------------------------------------------------------------


def check_taint(scope: Scope, taint: dict[str, Any], path: Path, old: dict[str, Any] | None = None) -> None:
    """A device taint; an effect that did not change is not looked at again."""
    errors = scope.errors
    key, value, effect = taint.get("key", ""), taint.get("value", ""), taint.get("effect", "")
    errors.invalid_each((*path, "key"), key, names.label_key_errors(key, scope.errors.unit))
    if value:
        errors.invalid_each((*path, "value"), value, names.label_value_errors(value, scope.errors.unit))
    if old is None or scope.minor < 35 or old.get("effect", "") != effect:
        if not effect:
            errors.required((*path, "effect"))
        elif effect not in taint_effects(scope):
            errors.not_supported((*path, "effect"), json_string(effect), taint_effects(scope))


def taint_effects(scope: Scope) -> tuple[str, ...]:
    """Effects that the release knows."""
    return TAINT_EFFECTS if scope.minor >= 35 else TAINT_EFFECTS[:2]


def check_toleration(scope: Scope, toleration: dict[str, Any], path: Path) -> None:
    """A toleration of device taints."""
    errors = scope.errors
    key, value = toleration.get("key", ""), toleration.get("value", "")
    operator, effect = toleration.get("operator", ""), toleration.get("effect", "")
    if key:
        errors.invalid_each((*path, "key"), key, names.label_key_errors(key, scope.errors.unit))
    if operator == "Exists":
        if value:
            errors.invalid((*path, "value"), value, "must be empty for operator `Exists`")
    elif operator == "Equal":
        errors.invalid_each((*path, "value"), value, names.label_value_errors(value, scope.errors.unit))
    elif not operator:
        errors.required((*path, "operator"))
    else:
        errors.not_supported((*path, "operator"), json_string(operator), ("Equal", "Exists"))
    if effect and effect not in taint_effects(scope):
        errors.not_supported((*path, "effect"), json_string(effect), taint_effects(scope))


def check_binding_conditions(scope: Scope, item: dict[str, Any], path: Path) -> None:
    """bindingConditions and bindingFailureConditions: both or none, no repetition, no overlap."""
    errors = scope.errors
    good = item.get("bindingConditions")
    bad = item.get("bindingFailureConditions")
    if not good and not bad:
        return
    for name, listed in (("bindingConditions", good), ("bindingFailureConditions", bad)):
        check_list(
            scope,
            listed,
            limits.BINDING_CONDITIONS_MAX,
            lambda text, at: errors.invalid_each(at, text, names.label_key_errors(text, scope.errors.unit)),
            (*path, name),
        )
    seen: set[str] = set()
    for index, condition in enumerate(good or ()):
        if condition in seen:
            errors.duplicate((*path, "bindingConditions", index), quote(condition))
        seen.add(condition)
    seen_bad: set[str] = set()
    for index, condition in enumerate(bad or ()):
        at: Path = (*path, "bindingFailureConditions", index)
        if condition in seen_bad:
            errors.duplicate(at, quote(condition))
        seen_bad.add(condition)
        if condition in seen:
            errors.invalid(at, condition, "bindingFailureConditions must not overlap with bindingConditions")
    if not good:
        text = "null" if good is None else "[]"
        detail = "bindingConditions are required to use bindingFailureConditions"
        errors.invalid_text((*path, "bindingConditions"), text, detail)
    if not bad:
        text = "null" if bad is None else "[]"
        detail = "bindingFailureConditions are required to use bindingConditions"
        errors.invalid_text((*path, "bindingFailureConditions"), text, detail)


# --- nodes ----------------------------------------------------------------------------------------------------------


def check_node_name(scope: Scope, name: str, path: Path) -> None:
    """The name of a node."""
    scope.errors.invalid_each(path, name, names.dns_subdomain_errors(name))


def check_node_selector(scope: Scope, selector: dict[str, Any], path: Path) -> None:
    """core NodeSelector: at least one term; expressions on labels and on the name."""
    terms = selector.get("nodeSelectorTerms")
    at: Path = (*path, "nodeSelectorTerms")
    if not terms:
        scope.errors.required(at, "must have at least one node selector term")
        return
    for index, term in enumerate(terms):
        for position, requirement in enumerate(term.get("matchExpressions") or ()):
            _check_label_requirement(scope, requirement, (*at, index, "matchExpressions", position))
        for position, requirement in enumerate(term.get("matchFields") or ()):
            _check_field_requirement(scope, requirement, (*at, index, "matchFields", position))


def _check_label_requirement(scope: Scope, requirement: dict[str, Any], path: Path) -> None:
    errors = scope.errors
    operator, values = requirement.get("operator", ""), requirement.get("values") or []
    if operator in ("In", "NotIn"):
        if not values:
            errors.required((*path, "values"), "must be specified when `operator` is 'In' or 'NotIn'")
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            errors.forbidden((*path, "values"), "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")
    elif operator in ("Gt", "Lt"):
        if len(values) != 1:
            errors.required((*path, "values"), "must be specified single value when `operator` is 'Lt' or 'Gt'")
    else:
        errors.invalid_named((*path, "operator"), operator, "not a valid selector operator")
    key = requirement.get("key", "")
    errors.invalid_each((*path, "key"), key, names.label_key_errors(key, scope.errors.unit))
    for index, value in enumerate(values):
        errors.invalid_each((*path, "values", index), value, names.label_value_errors(value, scope.errors.unit))


def _check_field_requirement(scope: Scope, requirement: dict[str, Any], path: Path) -> None:
    errors = scope.errors
    operator, values = requirement.get("operator", ""), requirement.get("values") or []
    if operator in ("In", "NotIn"):
        if len(values) != 1:
            detail = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
            errors.required((*path, "values"), detail)
    else:
        errors.invalid_named((*path, "operator"), operator, "not a valid selector operator")
    key = requirement.get("key", "")
    if key != NODE_NAME_FIELD:
        errors.invalid((*path, "key"), key, "not a valid field selector key")
    else:
        for index, value in enumerate(values):
            errors.invalid_each((*path, "values", index), value, names.dns_subdomain_errors(value))
