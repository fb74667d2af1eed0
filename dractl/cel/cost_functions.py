"""What calling a function costs at most and at least, and how large its result is: one estimator a group of functions.

``estimate_call`` asks the tables in the order in which Kubernetes does: by overload id for cel-go's set and list
libraries, by function name for Kubernetes' own rules (``k8s.io/apiserver/pkg/cel/library/cost.go``), by overload id for
cel-go's standard functions. What is in no table costs 1. The functions that need to know more than their operands
(``&&``, ``||``, ``?:``, ``+`` of texts and lists) are in ``cost_static``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from dractl.cel.ast import Literal, Node
from dractl.cel.cost_range import FREE, HIGHEST, UNKNOWN, Range
from dractl.cel.cost_sizes import declared_size
from dractl.cel.environment import Environment
from dractl.cel.types import Kind, Type

if TYPE_CHECKING:
    from dractl.cel.cost_static import Operand

Estimate = tuple[Range, Range | None]
"""Cost without the arguments' own, and the size of the result where it is known."""
Estimator = Callable[["Operand | None", "Sequence[Operand]", Environment], "Estimate | None"]

_TRAVERSAL = 0.1
"""Cost of reading one character of a text."""
_REGEX = 0.25
"""Cost of one character of a pattern, for each unit of text."""
_ONE = Range(1, 1)
_ADDRESS_BYTES = Range(4, 16)
_FORMAT_REGEX_LENGTH = 128
_FORMAT_SIZE = 64
_MAX_VALUES = 48
"""ResourceSliceMaxAttributeValuesPerDevice: the longest list that ``includes`` takes in 1.36."""


def estimate_call(
    function: str, overload: str, target: Operand | None, args: Sequence[Operand], env: Environment
) -> Estimate | None:
    """The estimate for a call; None if no rule but "costs 1" applies."""
    for table, key in ((_BY_OVERLOAD, overload), (_by_function(env), function), (_STANDARD, overload)):
        estimator = table.get(key)
        found = estimator(target, args, env) if estimator else None
        if found is not None:
            return found
    return None


def _known(operand: Operand) -> Range:
    return operand.known or UNKNOWN


def _size(operand: Operand, env: Environment) -> Range:
    """The size of an operand, asked for again where it was not known: a path may lead further by now."""
    return operand.size or declared_size(operand.path, env) or UNKNOWN


def _elements(operand: Operand, env: Environment) -> tuple[Type, Range] | None:
    """Type and size of the elements of a list; None if the operand is not known to be one."""
    if not operand.type.params:
        return None
    return operand.type.params[0], declared_size(operand.path.copied_step("@items"), env) or UNKNOWN


# --- cel-go's list and set libraries, by overload id


def _int_literal(node: Node, otherwise: int) -> int:
    if isinstance(node, Literal) and isinstance(node.value, int) and not isinstance(node.value, bool):
        return max(node.value, 0)
    return otherwise


def _new_list(size: Range, factor: float) -> Estimate:
    return size.scale(factor).add(_ONE).add(Range(10, 10)), size


def _slice(target: Operand | None, args: Sequence[Operand], env: Environment) -> Estimate | None:
    if target is None or len(args) != 2:
        return None
    start = _int_literal(args[0].node, 0)
    end = _int_literal(args[1].node, _size(target, env).max)
    length = (end - start) & HIGHEST
    return _new_list(Range(length, length), 1)


def _flatten(target: Operand | None, args: Sequence[Operand], env: Environment) -> Estimate | None:
    if target is None or len(args) > 1:
        return None
    depth = _int_literal(args[0].node, HIGHEST) if args else 1
    return _new_list(_size(target, env), float(depth))


def _range(target: Operand | None, args: Sequence[Operand], env: Environment) -> Estimate | None:
    if target is not None or len(args) != 1:
        return None
    length = _int_literal(args[0].node, HIGHEST)
    return _new_list(Range(length, length), 1)


def _reverse(target: Operand | None, args: Sequence[Operand], env: Environment) -> Estimate | None:
    return _new_list(_size(target, env), 1) if target is not None and not args else None


def _compared(operand: Operand, factor: float, env: Environment) -> Estimate:
    """Every element compared with every other."""
    size = _size(operand, env)
    squared = size.multiply(size)
    return _new_list(squared, factor)


def _distinct(target: Operand | None, args: Sequence[Operand], env: Environment) -> Estimate | None:
    return _compared(target, 2.0, env) if target is not None and not args else None


def _sort(factor: float) -> Estimator:
    def estimator(target: Operand | None, args: Sequence[Operand], env: Environment) -> Estimate | None:
        return _compared(target, factor, env) if target is not None and not args else None

    return estimator


def _sort_by(factor: float) -> Estimator:
    def estimator(target: Operand | None, args: Sequence[Operand], env: Environment) -> Estimate | None:
        return _compared(args[0], factor, env) if target is not None and len(args) == 1 else None

    return estimator


def _sets(factor: float) -> Estimator:
    def estimator(target: Operand | None, args: Sequence[Operand], env: Environment) -> Estimate | None:
        return _size(args[0], env).multiply(_size(args[1], env)).scale(factor).add(_ONE), None

    return estimator


_BY_OVERLOAD: dict[str, Estimator] = {
    "list_slice": _slice,
    "list_flatten": _flatten,
    "list_flatten_int": _flatten,
    "lists_range": _range,
    "list_reverse": _reverse,
    "list_distinct": _distinct,
    "list_sets_contains_list": _sets(1),
    "list_sets_intersects_list": _sets(1),
    "list_sets_equivalent_list": _sets(2),
}
for _name in ("int", "uint", "double", "bool", "google.protobuf.Duration", "google.protobuf.Timestamp"):
    _BY_OVERLOAD[f"list_{_name}_sort"] = _sort(2.0)
    _BY_OVERLOAD[f"list_{_name}_sortByAssociatedKeys"] = _sort_by(2.0)
for _name in ("string", "bytes"):
    _BY_OVERLOAD[f"list_{_name}_sort"] = _sort(2.0 + _TRAVERSAL)
    _BY_OVERLOAD[f"list_{_name}_sortByAssociatedKeys"] = _sort_by(2.0 + _TRAVERSAL)


# --- Kubernetes' rules, by function name


def _accessor(target: Operand | None, args: Sequence[Operand], env: Environment) -> Estimate | None:
    return _ONE, None


def _authorization(target: Operand | None, args: Sequence[Operand], env: Environment) -> Estimate | None:
    return Range(350_000, 350_000), None


def _authorization_selector(target: Operand | None, args: Sequence[Operand], env: Environment) -> Estimate | None:
    if len(args) != 1:
        return None
    size = _size(args[0], env)
    return Range(10, 10).add(size.scale(_TRAVERSAL)).add(size.scale(0.5).scale(50.0)), None


def _over_list(target: Operand | None, args: Sequence[Operand], env: Environment) -> Estimate | None:
    """One pass over a list, comparing elements; of a text, one pass over it."""
    if target is None:
        return None
    elements = _elements(target, env)
    size = _size(target, env)
    if elements is None:
        return size.scale(_TRAVERSAL), None
    each = _ONE
    if elements[0].kind in (Kind.STRING, Kind.BYTES):
        each = each.add(elements[1].scale(_TRAVERSAL))
    return size.multiply(each), None


def _includes_136(target: Operand | None, args: Sequence[Operand], env: Environment) -> Estimate | None:
    return (Range(0, _MAX_VALUES), None) if target is not None else None


def _includes_137(target: Operand | None, args: Sequence[Operand], env: Environment) -> Estimate | None:
    if target is not None and _elements(target, env) is None:
        return _size(target, env), None
    return _over_list(target, args, env)


def _read_argument(factor: float, keeps_size: bool = False) -> Estimator:
    """One pass over the first argument."""

    def estimator(target: Operand | None, args: Sequence[Operand], env: Environment) -> Estimate | None:
        if not args or (keeps_size and len(args) != 1):
            return None
        size = _size(args[0], env)
        return size.scale(factor * _TRAVERSAL), size if keeps_size else None

    return estimator


def _transform(target: Operand | None, args: Sequence[Operand], env: Environment) -> Estimate | None:
    """A text like the receiver, at most as long."""
    if target is None:
        return None
    size = _size(target, env)
    return size.scale(_TRAVERSAL), size


def _replace(target: Operand | None, args: Sequence[Operand], env: Environment) -> Estimate | None:
    if target is None or len(args) < 2:
        return None
    size, old, new = _size(target, env), _size(args[0], env), _size(args[1], env)
    count_max = count_min = kept_max = kept_min = 0
    if old.min == 0:
        # nothing is replaced between all characters
        count_max, kept_max = min(size.max + 1, HIGHEST), size.max
    elif new.max <= old.min:
        kept_max = size.max
    else:
        count_max = min(math.ceil(float(size.max) / float(old.min)), HIGHEST)
    if old.max == 0:
        count_min, kept_min = min(size.min + 1, HIGHEST), size.min
    elif old.max <= new.min:
        kept_min = size.min
    else:
        count_min = math.ceil(float(size.min) / float(old.max))
    result = Range(count_min, count_max).multiply(new).add(Range(kept_min, kept_max))
    return size.scale(2 * _TRAVERSAL), result


def _split(target: Operand | None, args: Sequence[Operand], env: Environment) -> Estimate | None:
    if target is None:
        return None
    size = _size(target, env)
    most = size.max
    if len(args) > 1:
        limit = args[1].node
        if isinstance(limit, Literal) and isinstance(limit.value, int) and not isinstance(limit.value, bool):
            most = limit.value & HIGHEST
    return size.scale(2 * _TRAVERSAL), Range(0, most)


def _join(target: Operand | None, args: Sequence[Operand], env: Environment) -> Estimate | None:
    if target is None:
        return None
    count = _size(target, env)
    elements = _elements(target, env)
    size = count.multiply(elements[1]) if elements else FREE
    if args:
        separators = Range(max(count.min - 1, 0), max(count.max - 1, 0))
        size = size.add(_size(args[0], env).multiply(separators))
    return size.scale(_TRAVERSAL), size


def _find(target: Operand | None, args: Sequence[Operand], env: Environment) -> Estimate | None:
    if target is None or not args:
        return None
    size = _size(target, env)
    text_cost = size.add(_ONE).scale(_TRAVERSAL)
    return text_cost.multiply(_size(args[0], env).scale(_REGEX)), Range(0, size.max)


def _contains_address(is_network: bool, parsed_overload: str) -> Callable[[str], Estimator]:
    """Comparing an address, or a network, with a network; a text is parsed first."""
    cost = _ADDRESS_BYTES.add(_ADDRESS_BYTES).scale(_TRAVERSAL)
    if is_network:
        cost = cost.add(_ADDRESS_BYTES.scale(_TRAVERSAL)).add(_ONE)

    def for_overload(overload: str) -> Estimator:
        def estimator(target: Operand | None, args: Sequence[Operand], env: Environment) -> Estimate | None:
            if not args:
                return None
            if overload == parsed_overload:
                return cost.add(_size(args[0], env).scale(_TRAVERSAL)), None
            return cost, None

        return estimator

    return for_overload


def _validate(target: Operand | None, args: Sequence[Operand], env: Environment) -> Estimate | None:
    if not args:
        return None
    return _size(args[0], env).scale(_TRAVERSAL).scale(_FORMAT_REGEX_LENGTH * _REGEX), None


def _kubernetes_equality(target: Operand | None, args: Sequence[Operand], env: Environment) -> Estimate | None:
    left, right = args
    if left.type.name != right.type.name:
        return None
    each = left.type
    if each.kind is Kind.OPAQUE and each.name in ("net.IP", "net.CIDR"):
        return _ONE, None
    if each.kind is not Kind.STRUCT:
        return None
    if each.name == "kubernetes.NamedFormat":
        return Range(1, _FORMAT_SIZE).scale(_TRAVERSAL), None
    if each.name == "kubernetes.URL":
        return Range(1, right.size.max if right.size else 1).scale(_TRAVERSAL), None
    if each.name in _CONSTANT_EQUALITY:
        return _ONE, None
    return None


_CONSTANT_EQUALITY = frozenset(
    {"kubernetes.Quantity", "kubernetes.Semver"}
    | {f"kubernetes.authorization.{name}" for name in ("Authorizer", "PathCheck", "GroupCheck")}
    | {f"kubernetes.authorization.{name}" for name in ("ResourceCheck", "Decision")}
)


def _table(groups: dict[Estimator, str]) -> dict[str, Estimator]:
    return {name: estimator for estimator, names in groups.items() for name in names.split()}


_KUBERNETES: dict[str, Estimator] = _table(
    {
        _authorization: "check",
        _accessor: "serviceAccount path group resource subresource namespace name allowed reason error errored"
        " masked prefixLength family isUnspecified isLoopback isLinkLocalMulticast isLinkLocalUnicast isGlobalUnicast"
        " format.named sign asInteger isInteger asApproximateFloat isGreaterThan isLessThan compareTo add sub"
        " major minor patch getScheme getHostname getHost getPort getEscapedPath getQuery",
        _authorization_selector: "fieldSelector labelSelector",
        _over_list: "isSorted sum max min indexOf lastIndexOf",
        _transform: "lowerAscii upperAscii substring trim",
        _replace: "replace",
        _split: "split",
        _join: "join",
        _find: "find findAll",
        _validate: "validate",
        _kubernetes_equality: "_==_",
        _read_argument(1, keeps_size=True): "url",
        _read_argument(1): "cidr isIP isCIDR ip quantity isQuantity semver isSemver",
        _read_argument(2): "ip.isCanonical",
    }
)
_KUBERNETES_136 = _KUBERNETES
_KUBERNETES_132 = {name: each for name, each in _KUBERNETES.items() if name not in ("semver", "isSemver")}
_KUBERNETES_137 = _KUBERNETES | {"includes": _includes_137}


def _by_function(env: Environment) -> dict[str, Estimator]:
    if env.release >= (1, 37):
        return _KUBERNETES_137
    return _KUBERNETES_136 if env.release >= (1, 33) else _KUBERNETES_132


# These rules are Kubernetes' too, but ask for the overload. They stand before the rules by name.
_BY_OVERLOAD |= {
    "dra_includes_dyn_dyn": _includes_136,
    "cidr_ip": _accessor,
}
for _overload in ("cidr_contains_ip_string", "cidr_contains_ip_ip"):
    _BY_OVERLOAD[_overload] = _contains_address(False, "cidr_contains_ip_string")(_overload)
for _overload in ("cidr_contains_cidr_string", "cidr_contains_cidr"):
    _BY_OVERLOAD[_overload] = _contains_address(True, "cidr_contains_cidr_string")(_overload)


# --- cel-go's standard functions, by overload id


def _format(target: Operand | None, args: Sequence[Operand], env: Environment) -> Estimate | None:
    return (_known(target).scale(_TRAVERSAL), None) if target is not None else None


def _string_to_bytes(target: Operand | None, args: Sequence[Operand], env: Environment) -> Estimate | None:
    size = _known(args[0])
    return size.scale(_TRAVERSAL), Range(size.min, (size.max * 4) & HIGHEST)


def _bytes_to_string(target: Operand | None, args: Sequence[Operand], env: Environment) -> Estimate | None:
    size = _known(args[0])
    return size.scale(_TRAVERSAL), Range(size.min // 4, size.max)


def _quote(target: Operand | None, args: Sequence[Operand], env: Environment) -> Estimate | None:
    size = _known(args[0])
    return size.scale(_TRAVERSAL), Range((size.min + 2) & HIGHEST, (size.max * 2 + 2) & HIGHEST)


def _affix(target: Operand | None, args: Sequence[Operand], env: Environment) -> Estimate | None:
    return _known(args[0]).scale(_TRAVERSAL), None


def _in_list(target: Operand | None, args: Sequence[Operand], env: Environment) -> Estimate | None:
    return _known(args[1]).scale(1), None


def _match_cost(text: Operand, pattern: Operand) -> Estimate:
    return _known(text).add(_ONE).scale(_TRAVERSAL).multiply(_known(pattern).scale(_REGEX)), None


def _matches_method(target: Operand | None, args: Sequence[Operand], env: Environment) -> Estimate | None:
    return _match_cost(target, args[0]) if target is not None else None


def _matches_function(target: Operand | None, args: Sequence[Operand], env: Environment) -> Estimate | None:
    # before 0.29 cel-go forgot the function and counted 1
    return _match_cost(args[0], args[1]) if env.cel_go >= (0, 29) else None


def _contains(target: Operand | None, args: Sequence[Operand], env: Environment) -> Estimate | None:
    if target is None:
        return None
    return _known(target).scale(_TRAVERSAL).multiply(_known(args[0]).scale(_TRAVERSAL)), None


def _compare(target: Operand | None, args: Sequence[Operand], env: Environment) -> Estimate | None:
    """Up to the end of the shorter one."""
    most = min(_known(args[0]).max, _known(args[1]).max)
    return Range(1 if most > 0 else 0, most).scale(_TRAVERSAL), None


_STANDARD: dict[str, Estimator] = _table(
    {
        _format: "string_format",
        _string_to_bytes: "string_to_bytes",
        _bytes_to_string: "bytes_to_string",
        _quote: "strings_quote",
        _affix: "starts_with_string ends_with_string",
        _in_list: "in_list",
        _matches_method: "matches_string",
        _matches_function: "matches",
        _contains: "contains_string",
        _compare: "less_string greater_string less_equals_string greater_equals_string"
        " less_bytes greater_bytes less_equals_bytes greater_equals_bytes equals not_equals",
    }
)
