"""What would make claims fit: the smallest changes, each tried out on the allocator before it is named.

One change is tried first; only where no single one helps, sets of holders on one node and pairs of changes. The number
of trials is bounded, and what was not tried is said.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from dractl.explain.case import FITS, Case
from dractl.explain.holders import holders_of
from dractl.explain.report import FixView
from dractl.explain.words import listing, natural
from dractl.simulate.candidates import candidates
from dractl.simulate.candidates.devices import free
from dractl.simulate.candidates.model import CLAIM, Change
from dractl.simulate.variant import Variant

_TRIALS = 90
_NODE_TRIALS = 120_000
"""Trials times nodes: on large clusters fewer changes are tried."""

_SHOWN = 6
_PAIRED = 14
_NODES_FOR_SETS = 4

IMMUTABLE = "A claim's spec cannot be changed: make the claim anew, and change the template it came from."


@dataclass(slots=True)
class Fixes:
    """Changes that help, the cheapest first, and what is to be said about the search."""

    fixes: list[FixView] = field(default_factory=list)
    note: str = ""


@dataclass(slots=True)
class _Found:
    change: Change
    nodes: list[str]


class _Search:
    def __init__(self, case: Case) -> None:
        self.case = case
        self.base = Variant.of(case)
        self.left = max(8, min(_TRIALS, _NODE_TRIALS // max(1, len(case.nodes))))
        self.skipped = 0
        self.trials = 0

    def changed(self, changes: Iterable[Change]) -> Variant:
        """The state after some changes."""
        variant = self.base.copy()
        for change in changes:
            change.apply(variant)
        return variant

    def tried(self, changes: Sequence[Change]) -> list[str]:
        """The nodes on which the claims fit after all of these changes; empty too where there is no time left."""
        if self.left <= 0:
            self.skipped += 1
            return []
        self.left -= 1
        self.trials += 1
        variant = self.changed(changes)
        touched: set[str] | None = set()
        for change in changes:
            if change.touched is None or touched is None or not change.touched:
                touched = None
            else:
                touched |= set(change.touched)
        return variant.fitting(touched)


def find_fixes(case: Case) -> Fixes:
    """The fixes for claims that do not fit as things are; none where they fit."""
    if case.verdict == FITS or not case.claims:
        return Fixes()
    search = _Search(case)
    changes = candidates(case)
    for change in changes:
        case.alike.expect(search.changed([change]).claims)
    found = [_Found(change, nodes) for change in changes if (nodes := search.tried([change]))]
    out = Fixes(_views(found))
    if not found:
        sets = _holder_sets(search)
        pairs = _pairs(search, changes)
        out.fixes = [*sets, *pairs][:_SHOWN]
        if out.fixes:
            out.note = "No single change helps; these together do."
    if not out.fixes:
        tried = search.trials
        if tried:
            out.note = f"None of the {tried} changes that were tried makes it fit."
        if tried == 1:
            out.note = "The one change that was tried does not make it fit."
    claims = any(CLAIM in fix.who.split(" and ") for fix in out.fixes)
    if claims:
        out.note = f"{out.note} {IMMUTABLE}".strip()
    if search.skipped:
        out.note = f"{out.note} {search.skipped} more changes were not tried.".strip()
    return out


def _views(found: Sequence[_Found]) -> list[FixView]:
    """Alternatives of one kind told together, then in order of cost."""
    by_choice: dict[str, list[_Found]] = {}
    for one in found:
        by_choice.setdefault(one.change.choice or one.change.text, []).append(one)
    out = []
    for choice, members in by_choice.items():
        first = members[0].change
        nodes = _nodes(node for one in members for node in one.nodes)
        if len(members) == 1 or not first.choice or choice.startswith("count"):
            best = members[0]
            out.append(_view(best))
            continue
        names = listing([one.change.name for one in members], 5, "or")
        if first.kind == "free":
            text, who = f"end one of the claims {names}: one is enough", "owner of the claim"
        else:
            text, who = f"{first.kind} one of {names}", first.who
        out.append(FixView(text, first.kind, nodes, who=who))
    return out[:_SHOWN]


def _view(found: _Found) -> FixView:
    change = found.change
    return FixView(change.text, change.kind, found.nodes, change.proven, change.who, change.detail or None)


def _nodes(names: Iterable[str]) -> list[str]:
    return sorted(dict.fromkeys(names), key=natural)


def _holder_sets(search: _Search) -> list[FixView]:
    """For the nodes closest to a fit: the fewest holders whose devices, given back together, suffice."""
    case = search.case
    if case.idle is not None:
        return []
    close = sorted(case.eligible, key=lambda answer: (-answer.reason.depth, natural(answer.name)))
    out = []
    for answer in close[:_NODES_FOR_SETS]:
        held = holders_of(case.survey, range(len(case.survey.asks)), [answer.name])
        changes = [free(case, one) for one in held]
        if len(changes) < 2 or answer.name not in search.tried(changes):
            continue
        needed = _minimal(search, changes, answer.name)
        if len(needed) < 2:
            continue
        names = listing([change.name for change in needed], 8)
        text = f"end the {len(needed)} claims {names} (all of them)"
        out.append(FixView(text, "free", [answer.name], who="owners of the claims"))
    out.sort(key=lambda fix: len(fix.text))
    return out[:2]


def _minimal(search: _Search, changes: list[Change], node: str) -> list[Change]:
    """Leave out one change after the other as long as the rest still makes the claims fit on a node."""
    needed = list(changes)
    for change in sorted(changes, key=lambda one: -one.cost):
        rest = [one for one in needed if one is not change]
        if search.left > 0 and node in search.tried(rest):
            needed = rest
    return needed


def _pairs(search: _Search, changes: Sequence[Change]) -> list[FixView]:
    out: list[FixView] = []
    some = _varied(changes)
    for number, first in enumerate(some):
        for second in some[number + 1 :]:
            if first.subjects & second.subjects or (first.kind == "free" and second.kind == "free"):
                continue
            nodes = search.tried([first, second])
            if nodes:
                who = first.who if first.who == second.who else f"{first.who} and {second.who}"
                proven = first.proven and second.proven
                out.append(FixView(f"{first.text}, and {second.text}", "pair", nodes, proven, who))
            if len(out) >= 3:
                return out
    return out


def _varied(changes: Sequence[Change]) -> list[Change]:
    """Some changes of every kind, so that pairs are not all of the commonest kind."""
    by_kind: dict[str, int] = {}
    out = []
    for change in changes:
        limit = 2 if change.kind in ("free", "uncordon") else 3
        if by_kind.get(change.kind, 0) < limit:
            by_kind[change.kind] = by_kind.get(change.kind, 0) + 1
            out.append(change)
    return out[:_PAIRED]
