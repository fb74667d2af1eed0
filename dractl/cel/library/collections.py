"""Sets, lists (cel-go's and Kubernetes'), maps of comprehensions, optionals, and DRA's ``includes``.

Declarations: ``decl_extensions.SETS`` and ``LISTS``, ``decl_kubernetes.LISTS`` and ``INCLUDES_*``,
``decl_standard.OPTIONALS`` and ``COMPREHENSIONS``.
Source: cel-go ``ext/sets.go``, ``ext/lists.go``, ``cel/library.go``; ``k8s.io/apiserver/pkg/cel/library/lists.go``;
``k8s.io/dynamic-resource-allocation/cel``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cmp_to_key, partial

from dractl.cel import guard
from dractl.cel.ast import Uint
from dractl.cel.compare import COMPARABLE, compare, equal, is_zero
from dractl.cel.gotext import go_value
from dractl.cel.library.standard import add, contains_element
from dractl.cel.values import (
    NO_OVERLOAD,
    OPTIONAL_NONE,
    CelMap,
    Duration,
    EvalError,
    MutableMap,
    Optional,
    Value,
    encode_key,
    type_name,
)

Items = list[Value]
MAX_INCLUDES = 48
"""Longest list that ``includes`` takes (resource.ResourceSliceMaxAttributeValuesPerDevice)."""
MAX_RANGE = 1_000_000


# --- sets -----------------------------------------------------------------------------------------------------------


def sets_contains(items: Items, part: Items) -> bool:
    guard.spend(len(items) * len(part))
    return all(contains_element(items, element) for element in part)


def sets_equivalent(left: Items, right: Items) -> bool:
    return sets_contains(left, right) and sets_contains(right, left)


def sets_intersects(left: Items, right: Items) -> bool:
    guard.spend(len(left) * len(right))
    return any(contains_element(right, element) for element in left)


# --- cel-go's lists -------------------------------------------------------------------------------------------------


def slice_list(items: Items, start: int, end: int) -> Items:
    shown = f"cannot slice({start}, {end})"
    if start < 0 or end < 0:
        raise EvalError(f"{shown}, negative indexes not supported")
    if start > end:
        raise EvalError(f"{shown}, start index must be less than or equal to end index")
    if len(items) < end:
        raise EvalError(f"{shown}, list is length {len(items)}")
    return items[start:end]


def _shown_type(value: Value, since_137: bool) -> str:
    """A type as cel-go's own text shows it, with what a map (and since 1.37 an optional) is made of."""
    if isinstance(value, CelMap):
        return "map(dyn, dyn)"
    return "optional_type(dyn)" if since_137 and value.__class__ is Optional else type_name(value)


def flatten(items: Value, since_137: bool = False) -> Items:
    if not isinstance(items, list):
        raise EvalError(f"no such overload: {_shown_type(items, since_137)}.flatten()")
    found: Items = []
    _flatten_into(found, items, 1)
    return found


def flatten_deep(items: Value, depth: Value, since_137: bool = False) -> Items:
    if not isinstance(items, list) or depth.__class__ is not int:
        shown = f"{_shown_type(items, since_137)}.flatten({_shown_type(depth, since_137)})"
        raise EvalError(f"no such overload: {shown}")
    if depth < 0:
        raise EvalError("level must be non-negative")
    found: Items = []
    _flatten_into(found, items, depth)
    return found


def _flatten_into(found: Items, items: Items, depth: int) -> None:
    for item in items:
        if depth > 0 and isinstance(item, list):
            _flatten_into(found, item, depth - 1)
        else:
            found.append(item)
    guard.check_items(len(found))


def sort_list(items: Items) -> Items:
    return sort_by_keys(items, items)


def sort_by_keys(items: Items, keys: Items) -> Items:
    if len(items) != len(keys):
        raise EvalError(
            "@sortByAssociatedKeys() expected a list of the same size as the associated keys list, but got "
            f"{len(items)} and {len(keys)} elements respectively"
        )
    if not items:
        return items
    first = keys[0].__class__
    if first not in COMPARABLE:
        raise EvalError("list elements must be comparable")
    if any(key.__class__ is not first for key in keys):
        raise EvalError("list elements must have the same type")
    pairs = list(zip(keys, items, strict=True))
    pairs.sort(key=cmp_to_key(_order_of_pairs))
    return [item for _, item in pairs]


def _order_of_pairs(one: tuple[Value, Value], other: tuple[Value, Value]) -> int:
    return _order(one[0], other[0])


def _order(left: Value, right: Value) -> int:
    try:
        return compare(left, right)
    except EvalError:
        return 0


def make_range(count: int) -> Items:
    guard.check_items(count)
    return list(range(count))


def make_range_checked(count: int) -> Items:
    """``lists.range`` since 1.37."""
    if count < 0:
        raise EvalError(f"lists.range: size must be non-negative, got {count}")
    if count > MAX_RANGE:
        raise EvalError(f"lists.range: size {count} exceeds maximum allowed ({MAX_RANGE})")
    return make_range(count)


def reverse_list(items: Items) -> Items:
    return items[::-1]


def distinct(items: Items) -> Items:
    found: Items = []
    seen: set[object] = set()
    for item in items:
        # a key tells most elements apart at once; only the others are compared one by one
        key = encode_key(item) if item.__class__ in (str, bool) else None
        if key is not None:
            if key not in seen:
                seen.add(key)
                found.append(item)
        else:
            guard.spend(len(found))
            if not any(equal(item, other) is True for other in found):
                found.append(item)
    return found


# --- Kubernetes' lists ----------------------------------------------------------------------------------------------


def is_sorted(items: Items) -> bool:
    for item in items:
        if item.__class__ not in COMPARABLE:
            raise EvalError(NO_OVERLOAD)
    previous: list[Value] = []
    for item in items:
        if previous and _order(previous[0], item) > 0:
            return False
        previous = [item]
    return True


def _sum(zero: Value) -> Callable[[Items], Value]:
    def total(items: Items) -> Value:
        result = zero
        for item in items:
            result = add(result, item)
        return result

    return total


def _extreme(name: str, sign: int) -> Callable[[Items], Value]:
    def choose(items: Items) -> Value:
        if not items:
            raise EvalError(f"{name} called on empty list")
        best = items[0]
        for item in items:
            if item.__class__ not in COMPARABLE:
                raise EvalError(NO_OVERLOAD)
            if _order(best, item) == sign:
                best = item
        return best

    return choose


def index_of(items: Items, element: Value) -> int:
    guard.spend(len(items))
    return next((index for index, item in enumerate(items) if equal(item, element) is True), -1)


def last_index_of(items: Items, element: Value) -> int:
    guard.spend(len(items))
    return next((index for index in range(len(items) - 1, -1, -1) if equal(items[index], element) is True), -1)


# --- maps of comprehensions -----------------------------------------------------------------------------------------


def insert_entry(entries: CelMap, key: Value, value: Value) -> CelMap:
    if entries.find(key) is not None:
        raise EvalError(f"insert failed: key {go_value(key)} already exists")
    if entries.__class__ is MutableMap:
        entries.entries[encode_key(key)] = (key, value)
        return entries
    return CelMap({encode_key(key): (key, value), **entries.entries})


def insert_entries(entries: CelMap, more: CelMap) -> CelMap:
    for key, value in more.items():
        entries = insert_entry(entries, key, value)
    return entries


# --- optionals ------------------------------------------------------------------------------------------------------


def optional_of(value: Value) -> Optional:
    return Optional(value)


def optional_of_non_zero(value: Value) -> Optional:
    return OPTIONAL_NONE if is_zero(value) else Optional(value)


def optional_none() -> Optional:
    return OPTIONAL_NONE


def optional_value(value: Optional) -> Value:
    if not value.has_value:
        raise EvalError("optional.none() dereference")
    if value.value.__class__ is EvalError:
        raise value.value
    return value.value


def optional_has_value(value: Optional) -> bool:
    return value.has_value


def first(items: Items) -> Optional:
    return Optional(items[0]) if items else OPTIONAL_NONE


def last(items: Items) -> Optional:
    return Optional(items[-1]) if items else OPTIONAL_NONE


def unwrap(items: Items) -> Items:
    for item in items:
        if item.__class__ is not Optional:
            raise EvalError(f"value {go_value(item)} is not optional")
    return [item.value for item in items if item.has_value]


# --- DRA ------------------------------------------------------------------------------------------------------------


def includes_any(target: Value, element: Value) -> bool:
    """``includes`` since 1.37: a list of any length."""
    if not isinstance(target, list):
        return equal(target, element) is True
    return any(equal(item, element) is True for item in target)


def includes(target: Value, element: Value) -> bool:
    """``includes`` of 1.36."""
    if not isinstance(target, list):
        return equal(target, element) is True
    for index, item in enumerate(target):
        if index >= MAX_INCLUDES:
            raise EvalError(f"'includes' function cannot be applied to lists longer than {MAX_INCLUDES} values")
        if equal(item, element) is True:
            return True
    return False


_COMPARABLE_NAMES = ("int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes")
_ZEROES: dict[str, Value] = {"int": 0, "uint": Uint(0), "double": 0.0, "duration": Duration(0)}

OVERLOADS: dict[str, Callable[..., Value]] = {
    "list_sets_contains_list": sets_contains,
    "list_sets_equivalent_list": sets_equivalent,
    "list_sets_intersects_list": sets_intersects,
    "list_slice": slice_list,
    "list_flatten": flatten,
    "list_flatten_int": flatten_deep,
    "lists_range": make_range,
    "list_reverse": reverse_list,
    "list_distinct": distinct,
    **{f"list_{name}_is_sorted_bool": is_sorted for name in _COMPARABLE_NAMES},
    **{f"list_{name}_sum_{name}": _sum(zero) for name, zero in _ZEROES.items()},
    **{f"list_{name}_max_{name}": _extreme("max", -1) for name in _COMPARABLE_NAMES},
    **{f"list_{name}_min_{name}": _extreme("min", 1) for name in _COMPARABLE_NAMES},
    "list_a_index_of_int": index_of,
    "list_a_last_index_of_int": last_index_of,
    "@mapInsert_map_key_value": insert_entry,
    "@mapInsert_map_map": insert_entries,
    "optional_of": optional_of,
    "optional_ofNonZeroValue": optional_of_non_zero,
    "optional_none": optional_none,
    "optional_value": optional_value,
    "optional_hasValue": optional_has_value,
    "list_first": first,
    "list_last": last,
    "optional_unwrap": unwrap,
    "optional_unwrapOpt": unwrap,
    "dra_includes_dyn_dyn": includes,
    "list_includes_dyn_dyn": includes_any,
}

SINCE_137: dict[str, Callable[..., Value]] = {
    "list_flatten": partial(flatten, since_137=True),
    "list_flatten_int": partial(flatten_deep, since_137=True),
    "lists_range": make_range_checked,
}
