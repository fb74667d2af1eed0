"""What a call costs at run time, as Kubernetes counts it. What the other steps cost is in ``counted``.

cel-go charges a call once all its arguments have been evaluated, even if they or the result are errors.
Source: cel-go ``interpreter/runtimecost.go``, ``ext/sets.go``, ``ext/lists.go``;
``k8s.io/apiserver/pkg/cel/library/cost.go`` (CallCost).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from dractl.cel import guard
from dractl.cel.ast import Uint
from dractl.cel.environment import Environment
from dractl.cel.values import (
    CelMap,
    Cidr,
    Duration,
    EvalError,
    IpAddress,
    NamedFormat,
    Optional,
    Stopped,
    Timestamp,
    Url,
    Value,
    go_type,
    size_of,
)
from dractl.kube.quantity import Quantity
from dractl.kube.semver import Semver

LIMIT = 1_000_000
"""Kubernetes' limit for a selector (resource.CELSelectorExpressionMaxCost)."""
LIMIT_EXCEEDED = "operation cancelled: actual cost limit exceeded"

LIST_COST = 10
MESSAGE_COST = 40
_TEXT = 0.1
_REGEX = 0.25

Charge = Callable[[Sequence[Value], Value], int]


def _size(value: Value) -> int:
    size = size_of(value)
    return 1 if size is None else size


def _deep_size(value: Value) -> int:
    if value.__class__ is Optional and value.has_value:
        return _deep_size(value.value)
    return _size(value)


def _ceil(number: float) -> int:
    return math.ceil(number)


# --- Kubernetes' functions ------------------------------------------------------------------------------------------


def _traversal(value: Value) -> int:
    kind = value.__class__
    if kind is str:
        return int(len(value.encode("utf-8", "surrogateescape")) * _TEXT)
    if kind is bytes:
        return int(len(value) * _TEXT)
    if isinstance(value, list | CelMap):
        guard.spend(len(value) + 4)
    if isinstance(value, list):
        return sum(map(_traversal, value))
    if isinstance(value, CelMap):
        return sum(_traversal(key) + _traversal(item) for key, item in value.items())
    return 1


def once(args: Sequence[Value], result: Value) -> int:
    """The charge of what costs the same for all arguments."""
    return 1


def _walk(args: Sequence[Value], result: Value) -> int:
    return _traversal(args[0]) if args else 0


def _scan(args: Sequence[Value], result: Value) -> int:
    return _ceil(_size(args[0]) * _TEXT)


def _scan_twice(args: Sequence[Value], result: Value) -> int:
    return _ceil(_size(args[0]) * 2 * _TEXT)


def _write(args: Sequence[Value], result: Value) -> int:
    return _ceil(_size(result) * 2 * _TEXT)


def _match(text: int, pattern: int) -> int:
    return _ceil((1.0 + text) * _TEXT) * _ceil(pattern * _REGEX)


def _find(args: Sequence[Value], result: Value) -> int:
    return _match(_size(args[0]), _size(args[1]))


def _validate(args: Sequence[Value], result: Value) -> int | None:
    format_ = args[0]
    while format_.__class__ is Optional:
        format_ = format_.value
    if format_.__class__ is not NamedFormat:
        return None
    return _match(_size(args[1]), format_.regex_size)


def _requirements(args: Sequence[Value], result: Value) -> int:
    """Parsing a field or label selector: a list, the text, and what each requirement in it may take."""
    size = _size(args[1])
    return LIST_COST + _ceil(size * _TEXT) + _ceil(_ceil(size * 0.5) * (LIST_COST + MESSAGE_COST))


def _contains_ip(overload: str, args: Sequence[Value]) -> int:
    own = _size(args[0])
    cost = _ceil((own + own) * _TEXT)
    return cost + (_ceil(_size(args[1]) * _TEXT) if overload == "cidr_contains_ip_string" else 0)


def _contains_cidr(overload: str, args: Sequence[Value]) -> int:
    own = _size(args[0])
    cost = _ceil((own + own) * _TEXT) + _ceil(own * _TEXT) + 1
    return cost + (_ceil(_size(args[1]) * _TEXT) if overload == "cidr_contains_cidr_string" else 0)


_BY_FUNCTION: dict[str, tuple[int, Callable[[Sequence[Value], Value], int | None]]] = {
    **dict.fromkeys(("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf"), (0, _walk)),
    **dict.fromkeys(("url", "lowerAscii", "upperAscii", "substring", "trim"), (1, _scan)),
    **dict.fromkeys(("replace", "split"), (1, _scan_twice)),
    "join": (1, _write),
    **dict.fromkeys(("find", "findAll"), (2, _find)),
    **dict.fromkeys(("cidr", "isIP", "isCIDR"), (1, _scan)),
    "ip.isCanonical": (1, _scan_twice),
    **dict.fromkeys(
        (
            "masked",
            "prefixLength",
            "family",
            "isUnspecified",
            "isLoopback",
            "isLinkLocalMulticast",
            "isLinkLocalUnicast",
            "isGlobalUnicast",
            "format.named",
            "sign",
            "asInteger",
            "isInteger",
            "asApproximateFloat",
            "isGreaterThan",
            "isLessThan",
            "compareTo",
            "add",
            "sub",
            "major",
            "minor",
            "patch",
            "getScheme",
            "getHostname",
            "getHost",
            "getPort",
            "getEscapedPath",
            "getQuery",
            "serviceAccount",
            "path",
            "group",
            "resource",
            "subresource",
            "namespace",
            "name",
            "allowed",
            "reason",
            "error",
            "errored",
        ),
        (0, once),
    ),
    **dict.fromkeys(("quantity", "isQuantity", "semver", "isSemver"), (1, _scan)),
    "validate": (2, _validate),
    "check": (0, lambda args, result: 350_000),
    **dict.fromkeys(("fieldSelector", "labelSelector"), (2, _requirements)),
}
"""Kubernetes' charge by function name, with the number of arguments it needs."""

_UNIT_EQUALITY = (Quantity, Semver, IpAddress, Cidr, Url, NamedFormat)


# --- cel-go's own ---------------------------------------------------------------------------------------------------


def _equality(args: Sequence[Value], result: Value) -> int:
    return _ceil(min(_deep_size(args[0]), _deep_size(args[1])) * _TEXT)


def _concat(args: Sequence[Value], result: Value) -> int:
    return _ceil((_deep_size(args[0]) + _deep_size(args[1])) * _TEXT)


def _text_first(args: Sequence[Value], result: Value) -> int:
    return _ceil(_deep_size(args[0]) * _TEXT)


def _text_second(args: Sequence[Value], result: Value) -> int:
    return _ceil(_deep_size(args[1]) * _TEXT)


def _in_list(args: Sequence[Value], result: Value) -> int:
    return _deep_size(args[1])


def _matches(args: Sequence[Value], result: Value) -> int:
    return _match(_deep_size(args[0]), _deep_size(args[1]))


def _contains(args: Sequence[Value], result: Value) -> int:
    return _text_first(args, result) * _text_second(args, result)


def _sets(factor: int) -> Charge:
    return lambda args, result: 1 + _size(args[0]) * _size(args[1]) * factor


def _allocating(factor: float, size: int) -> int:
    return (_to_uint64(float(size) * factor) + 1 + LIST_COST) % 2**64


def _to_uint64(number: float) -> int:
    """A double as Go's ``uint64()`` converts it on amd64: a negative one wraps around."""
    return int(number) % 2**64 if -(2.0**63) < number < 2.0**64 else 2**63


def _new_list(args: Sequence[Value], result: Value) -> int:
    return _allocating(1, _size(result))


def _flatten(negative: float | None) -> Charge:
    """The charge for flatten; a negative depth counts as ``negative``, or as it is."""

    def charge(args: Sequence[Value], result: Value) -> int:
        depth = 1.0
        if len(args) == 2:
            if args[1].__class__ is not int:
                raise _assertion(args[1], "types.Int")
            depth = float(args[1])
            if depth < 0 and negative is not None:
                depth = negative
        return _allocating(depth, _size(args[0]))

    return charge


def _compare_all(position: int) -> Charge:
    def charge(args: Sequence[Value], result: Value) -> int:
        items = args[position]
        if not isinstance(items, list):
            raise _not_a_list(items)
        if not items:
            return _allocating(2.0, 0)
        factor = 2.1 if items[0].__class__ in (str, bytes) else 2.0
        return _allocating(factor, len(items) ** 2)

    return charge


def _go_name(value: Value) -> str:
    return "*types.Err" if isinstance(value, EvalError) else go_type(value)


def _assertion(value: Value, wanted: str) -> Stopped:
    return Stopped(f"internal error: interface conversion: ref.Val is {_go_name(value)}, not {wanted}")


def _not_a_list(value: Value) -> Stopped:
    method = "Contains" if value.__class__ in _ADDERS else "Add"
    return Stopped(
        f"internal error: interface conversion: {_go_name(value)} is not traits.Lister: missing method {method}"
    )


_ADDERS = frozenset((bytes, float, int, str, Duration, Timestamp, Uint))


_COMPARABLE = (
    "int",
    "uint",
    "double",
    "bool",
    "google.protobuf.Duration",
    "google.protobuf.Timestamp",
    "string",
    "bytes",
)

_BY_OVERLOAD: dict[str, Charge] = {
    **dict.fromkeys(("string_to_bytes", "bytes_to_string", "strings_quote", "string_format"), _text_first),
    "in_list": _in_list,
    **dict.fromkeys(
        [
            f"{order}_{kind}"
            for order in ("less", "greater", "less_equals", "greater_equals")
            for kind in ("string", "bytes")
        ],
        _equality,
    ),
    "equals": _equality,
    "not_equals": _equality,
    "add_string": _concat,
    "add_bytes": _concat,
    "matches_string": _matches,
    "contains_string": _contains,
}

_TRACKED: dict[str, Charge] = {
    "list_sets_contains_list": _sets(1),
    "list_sets_intersects_list": _sets(1),
    "list_sets_equivalent_list": _sets(2),
}
_TRACKED_LISTS: dict[str, Charge] = {
    "list_slice": _new_list,
    "list_flatten": _flatten(None),
    "list_flatten_int": _flatten(None),
    "lists_range": _new_list,
    "list_reverse": _new_list,
    "list_distinct": _compare_all(0),
    **{f"list_{name}_sort": _compare_all(0) for name in _COMPARABLE},
    **{f"list_{name}_sortByAssociatedKeys": _compare_all(1) for name in _COMPARABLE},
}


def charge_of(env: Environment, function: str, overload: str) -> Charge:
    """What a call costs, given its arguments and its result (which may be errors)."""
    tracked = _TRACKED.get(overload) or (_TRACKED_LISTS.get(overload) if env.release >= (1, 34) else None)
    if tracked is not None:
        return _flatten(1.0) if env.cel_go >= (0, 29) and function == "flatten" else tracked
    plain = _cel_charge(env, overload)
    if function == "_==_":
        return lambda args, result: 1 if isinstance(args[0], _UNIT_EQUALITY) else plain(args, result)
    if function == "containsIP":
        return lambda args, result: _contains_ip(overload, args)
    if function == "containsCIDR":
        return lambda args, result: _contains_cidr(overload, args)
    if function == "ip":
        return once if overload == "cidr_ip" else _scan
    if function == "includes" and env.release >= (1, 37):
        return _walk
    if function not in _BY_FUNCTION:
        return plain
    needed, special = _BY_FUNCTION[function]

    def charge(args: Sequence[Value], result: Value) -> int:
        cost = special(args, result) if len(args) >= needed else None
        return plain(args, result) if cost is None else cost

    return charge


def _cel_charge(env: Environment, overload: str) -> Charge:
    if env.cel_go >= (0, 29):
        if overload in ("starts_with_string", "ends_with_string"):
            return _text_second
        if overload == "matches":
            return _matches
    elif overload in ("starts_with_string", "ends_with_string"):
        return _text_first
    return _BY_OVERLOAD.get(overload, once)
