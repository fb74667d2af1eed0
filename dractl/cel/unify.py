"""Assignability and inference of types: which types fit together, and what type parameters then stand for.

Source: cel-go's ``checker/types.go``. Inference has an undo log in place of cel-go's copies of the whole mapping.
"""

from __future__ import annotations

from collections.abc import Sequence

from dractl.cel.types import DYN, Kind, Type, list_of, map_of, type_of

_NULLABLE = (Kind.OPAQUE, Kind.STRUCT, Kind.ANY, Kind.DURATION, Kind.TIMESTAMP)
_COMPOSITE = (Kind.OPAQUE, Kind.LIST, Kind.MAP)


class Bindings:
    """What type parameters are bound to."""

    __slots__ = ("_bound", "_log")

    def __init__(self) -> None:
        self._bound: dict[str, Type] = {}
        self._log: list[tuple[str, Type | None]] = []

    def find(self, param: Type) -> Type | None:
        return self._bound.get(param.name) if param.kind is Kind.PARAM else None

    def bind(self, param: Type, to: Type) -> None:
        self._log.append((param.name, self._bound.get(param.name)))
        self._bound[param.name] = to

    def assignable(self, given: Type, wanted: Type) -> bool:
        """Whether ``given`` may stand for ``wanted``; keeps the bindings that make it so, and none otherwise."""
        return self.all_assignable((given,), (wanted,))

    def all_assignable(self, given: Sequence[Type], wanted: Sequence[Type]) -> bool:
        self._log.clear()
        if self._all_assignable(given, wanted):
            return True
        while self._log:
            name, before = self._log.pop()
            if before is None:
                del self._bound[name]
            else:
                self._bound[name] = before
        return False

    def _all_assignable(self, given: Sequence[Type], wanted: Sequence[Type]) -> bool:
        return len(given) == len(wanted) and all(map(self._assignable, given, wanted))

    def _assignable(self, given: Type, wanted: Type) -> bool:
        if wanted.kind is Kind.PARAM:
            valid, bound = self._may_stand_for(given, wanted)
            if valid or bound:
                return valid
        if given.kind is Kind.PARAM:
            return self._may_stand_for(wanted, given)[0]
        if is_dyn_or_error(given) or is_dyn_or_error(wanted):
            return True
        if given.kind is Kind.NULL:
            return _accepts_null(wanted)
        if wanted.kind is Kind.NULL:
            return _accepts_null(given)
        if given.kind is Kind.TYPE:
            return wanted.kind is Kind.TYPE
        if given.kind in _COMPOSITE:
            return (
                given.kind is wanted.kind
                and given.name == wanted.name
                and self._all_assignable(given.params, wanted.params)
            )
        return wanted.accepts(given)

    def _may_stand_for(self, other: Type, param: Type) -> tuple[bool, bool]:
        """Whether ``param`` (or what it is bound to) may stand for ``other``, and whether it is bound."""
        if other.kind is Kind.PARAM and other.name == param.name:
            return True, True
        bound = self.find(param)
        if bound is None:
            if not self._occurs(param, other):
                self.bind(param, other)
                return True, False
            return False, False
        if other.kind is bound.kind and other.same(bound):
            return True, True
        if not self._assignable(other, bound):
            return False, True
        general = most_general(other, bound)
        if not self._occurs(param, general):
            self.bind(param, general)
        return True, True

    def _occurs(self, param: Type, within: Type) -> bool:
        if not within.is_open:
            return False
        if within.kind is Kind.PARAM:
            if within.name == param.name:
                return True
            bound = self.find(within)
            return bound is not None and self._occurs(param, bound)
        return any(self._occurs(param, inner) for inner in within.params)

    def substitute(self, each: Type, free_to_dyn: bool = False) -> Type:
        """``each`` with bound parameters replaced, and with ``free_to_dyn`` the free ones by dyn."""
        while each.kind is Kind.PARAM:
            bound = self.find(each)
            if bound is None:
                return DYN if free_to_dyn else each
            each = bound
        if not each.is_open:
            return each
        inner = tuple(self.substitute(param, free_to_dyn) for param in each.params)
        if all(new is old for new, old in zip(inner, each.params, strict=True)):
            return each
        match each.kind:
            case Kind.LIST:
                return list_of(*inner)
            case Kind.MAP:
                return map_of(*inner)
            case Kind.TYPE:
                return type_of(*inner)
        return Type(each.kind, each.name, inner)


def is_dyn(each: Type) -> bool:
    return each.kind is Kind.DYN or each.kind is Kind.ANY


def is_dyn_or_error(each: Type) -> bool:
    return each.kind is Kind.ERROR or is_dyn(each)


def _accepts_null(each: Type) -> bool:
    return each.kind in _NULLABLE or each.nullable or each.is_dynamic or each.kind is Kind.NULL


def most_general(first: Type, second: Type) -> Type:
    """The more general of two types that fit together."""
    return first if _is_equal_or_less_specific(first, second) else second


def _is_equal_or_less_specific(first: Type, second: Type) -> bool:
    if first.is_dynamic:
        return True
    if second.is_dynamic or first.kind is not second.kind:
        return False
    if first.kind is Kind.TYPE:
        return True
    if first.kind not in _COMPOSITE:
        return first.same(second)
    return (
        first.name == second.name
        and len(first.params) == len(second.params)
        and all(map(_is_equal_or_less_specific, first.params, second.params))
    )
