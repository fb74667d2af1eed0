"""Assignability and inference of types: which types fit together, and what type parameters then stand for.

Source: cel-go's ``checker/types.go``. Inference has an undo log in place of cel-go's copies of the whole mapping, and
remembers what it has looked at: a hostile expression can have a type whose spelling doubles with every variable.
"""

from __future__ import annotations

from collections.abc import Sequence

from dractl.cel.types import DYN, Kind, Type

_NULLABLE = (Kind.OPAQUE, Kind.STRUCT, Kind.ANY, Kind.DURATION, Kind.TIMESTAMP)
_COMPOSITE = (Kind.OPAQUE, Kind.LIST, Kind.MAP)


class Bindings:
    """What type parameters are bound to."""

    __slots__ = ("_bound", "_fitting", "_log", "_replaced")

    def __init__(self) -> None:
        self._bound: dict[str, Type] = {}
        self._fitting: set[tuple[Type, Type]] = set()
        self._log: list[tuple[str, Type | None]] = []
        self._replaced: dict[Type, Type] = {}

    def find(self, param: Type) -> Type | None:
        return self._bound.get(param.name) if param.kind is Kind.PARAM else None

    def bind(self, param: Type, to: Type) -> None:
        self._log.append((param.name, self._bound.get(param.name)))
        self._bound[param.name] = to
        self._replaced.clear()

    def assignable(self, given: Type, wanted: Type) -> bool:
        """Whether ``given`` may stand for ``wanted``; keeps the bindings that make it so, and none otherwise."""
        return self.all_assignable((given,), (wanted,))

    def all_assignable(self, given: Sequence[Type], wanted: Sequence[Type]) -> bool:
        self._log.clear()
        self._fitting.clear()
        if self._all_assignable(given, wanted):
            return True
        if self._log:
            self._replaced.clear()
        while self._log:
            name, before = self._log.pop()
            if before is None:
                del self._bound[name]
            else:
                self._bound[name] = before
        return False

    def _all_assignable(self, given: Sequence[Type], wanted: Sequence[Type]) -> bool:
        if len(given) != len(wanted):
            return False
        # a loop, as recursion through builtins would take C stack
        for one, other in zip(given, wanted, strict=True):  # noqa: SIM110
            if not self._assignable(one, other):
                return False
        return True

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
            return self._composite_assignable(given, wanted)
        return wanted.accepts(given)

    def _composite_assignable(self, given: Type, wanted: Type) -> bool:
        if given is wanted or (given, wanted) in self._fitting:
            return True
        if given.kind is not wanted.kind or given.name != wanted.name:
            return False
        fits = self._all_assignable(given.params, wanted.params)
        if fits:
            self._fitting.add((given, wanted))
        return fits

    def _may_stand_for(self, other: Type, param: Type) -> tuple[bool, bool]:
        """Whether ``param`` (or what it is bound to) may stand for ``other``, and whether it is bound."""
        if other.kind is Kind.PARAM and other.name == param.name:
            return True, True
        bound = self.find(param)
        if bound is None:
            if not self._occurs(param, other, set()):
                self.bind(param, other)
                return True, False
            return False, False
        if other.kind is bound.kind and other.same(bound):
            return True, True
        if not self._assignable(other, bound):
            return False, True
        general = most_general(other, bound)
        if not self._occurs(param, general, set()):
            self.bind(param, general)
        return True, True

    def _occurs(self, param: Type, within: Type, seen: set[Type]) -> bool:
        if not within.is_open or within in seen:
            return False
        seen.add(within)
        if within.kind is Kind.PARAM:
            if within.name == param.name:
                return True
            bound = self.find(within)
            return bound is not None and self._occurs(param, bound, seen)
        for inner in within.params:  # noqa: SIM110
            if self._occurs(param, inner, seen):
                return True
        return False

    def substitute(self, each: Type, free_to_dyn: bool = False, known: dict[Type, Type] | None = None) -> Type:
        """``each`` with bound parameters replaced, and with ``free_to_dyn`` the free ones by dyn.

        ``known`` holds what ``free_to_dyn`` replaced already; it may be shared as long as nothing is bound in between.
        """
        while each.kind is Kind.PARAM:
            bound = self.find(each)
            if bound is None:
                return DYN if free_to_dyn else each
            each = bound
        if not each.is_open:
            return each
        if known is None:
            known = {} if free_to_dyn else self._replaced
        found = known.get(each)
        if found is None:
            inner = [self.substitute(param, free_to_dyn, known) for param in each.params]
            found = known[each] = Type(each.kind, each.name, tuple(inner), each.nullable)
        return found


def is_dyn(each: Type) -> bool:
    return each.kind is Kind.DYN or each.kind is Kind.ANY


def is_dyn_or_error(each: Type) -> bool:
    return each.kind is Kind.ERROR or is_dyn(each)


def _accepts_null(each: Type) -> bool:
    return each.kind in _NULLABLE or each.nullable or each.is_dynamic or each.kind is Kind.NULL


def most_general(first: Type, second: Type) -> Type:
    """The more general of two types that fit together."""
    return first if first is second or _is_no_more_specific(first, second, set()) else second


def _is_no_more_specific(first: Type, second: Type, seen: set[tuple[Type, Type]]) -> bool:
    if first.is_dynamic:
        return True
    if second.is_dynamic or first.kind is not second.kind:
        return False
    if first.kind is Kind.TYPE or (first, second) in seen:
        return True
    if first.kind not in _COMPOSITE:
        return first.same(second)
    if first.name != second.name or len(first.params) != len(second.params):
        return False
    for one, other in zip(first.params, second.params, strict=True):
        if not _is_no_more_specific(one, other, seen):
            return False
    seen.add((first, second))
    return True
