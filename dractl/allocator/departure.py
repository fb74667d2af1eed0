"""Where a release's answer is not the one that the API promises, and which of its quirks make the difference."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from dractl.allocator.allocator import DOES_NOT_FIT, FITS, NO_LIMITS, UNDECIDED, Allocator, NodeResult
from dractl.allocator.quirks import CONFIG_REPEATED, Quirk
from dractl.allocator.solution import Limits
from dractl.kube import encode
from dractl.kube.objects import Node, ResourceClaim

MISSED = "missed"
"""The claims fit, but this release does not find it."""
GRANTED = "granted"
"""This release allocates what the API does not allow."""
OTHER_DEVICES = "other-devices"
"""Both allocate, but not the same devices."""
OTHER_FORM = "other-form"
"""The same devices, recorded in another form (such as repeated config)."""
OTHER_ERROR = "other-error"
"""At least one of the two is an error."""


@dataclass(slots=True, eq=False)
class Departure:
    """A release's answer for a node beside the correct one. ``quirks`` together make the difference, none without the
    others."""

    kind: str
    node: str
    real: NodeResult
    correct: NodeResult
    quirks: list[Quirk]


def departures(
    allocator: Allocator, claims: Sequence[ResourceClaim], nodes: Iterable[Node], limits: Limits = NO_LIMITS
) -> list[Departure]:
    """The nodes on which the allocator's release departs from the correct answer; undecided ones are left out."""
    nodes = list(nodes)
    real = allocator.allocate_nodes(claims, nodes, limits)
    correct = allocator.under(allocator.profile.correct()).allocate_nodes(claims, nodes, limits)
    result: list[Departure] = []
    explained: dict[tuple[int, int], list[Quirk]] = {}
    for index, node in enumerate(nodes):
        name = node.meta.name
        mine, theirs = real.by_node[name], correct.by_node[name]
        if UNDECIDED in (mine.verdict, theirs.verdict) or same(mine, theirs):
            continue
        key = (mine.group, theirs.group)
        if key not in explained:
            # What the first node sees of a pool may count for the others, so the nodes before it come along.
            likely = CONFIG_REPEATED if kind_of(mine, theirs) == OTHER_FORM else None
            explained[key] = _blame(allocator, claims, nodes[: index + 1], theirs, limits, likely)
        result.append(Departure(kind_of(mine, theirs), name, mine, theirs, explained[key]))
    return result


def kind_of(real: NodeResult, correct: NodeResult) -> str:
    """What sort of difference lies between two answers that are not the same."""
    if FITS == real.verdict == correct.verdict:
        return OTHER_FORM if _devices(real) == _devices(correct) else OTHER_DEVICES
    if correct.verdict == FITS and real.verdict == DOES_NOT_FIT:
        return MISSED
    if real.verdict == FITS and correct.verdict == DOES_NOT_FIT:
        return GRANTED
    return OTHER_ERROR


def same(a: NodeResult, b: NodeResult) -> bool:
    """Whether two answers are equal: the same allocations in every detail, the same error, or nothing."""
    if (a.verdict, a.error) != (b.verdict, b.error):
        return False
    return [encode.allocation(item) for item in a.allocations or []] == [
        encode.allocation(item) for item in b.allocations or []
    ]


def _same_devices(a: NodeResult, b: NodeResult) -> bool:
    return (a.verdict, a.error, _devices(a)) == (b.verdict, b.error, _devices(b))


def _devices(result: NodeResult) -> list[list[tuple[str, str, str, str]]]:
    return [[(r.request, r.driver, r.pool, r.device) for r in item.results] for item in result.allocations or []]


def _blame(
    allocator: Allocator,
    claims: Sequence[ResourceClaim],
    nodes: Sequence[Node],
    correct: NodeResult,
    limits: Limits,
    likely: str | None,
) -> list[Quirk]:
    """A smallest set of quirks without which the answer for the last node is the correct one.

    Where more than the form differs, quirks that only change the form are no part of the answer.
    """
    profile = allocator.profile
    matters = same if likely else _same_devices

    def cures(names: Iterable[str]) -> bool:
        other = allocator.under(profile.without(*names))
        return matters(other.allocate_nodes(claims, nodes, limits).by_node[nodes[-1].meta.name], correct)

    names = sorted(profile.quirks, key=lambda name: (name != likely, name))
    for name in names:
        if cures([name]):
            return [profile.quirk(name)]
    return [profile.quirk(name) for name in _smallest(sorted(names), cures)]


def _smallest(names: list[str], cures: Callable[[Iterable[str]], bool]) -> list[str]:
    """Leave out one name after the other as long as the rest still cures."""
    kept = list(names)
    for name in names:
        fewer = [other for other in kept if other != name]
        if cures(fewer):
            kept = fewer
    return kept
