"""Pools that do not count: completed with what is published already, or taken away where they stop the search."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from dractl.allocator.pools import INCOMPLETE, Pool
from dractl.explain.case import Case
from dractl.explain.nodes import drivers_of
from dractl.explain.words import count
from dractl.simulate.candidates.model import ADMIN, Change
from dractl.simulate.variant import Variant


def pools(case: Case) -> Iterator[Change]:
    """An incomplete pool is made whole; an incomplete or invalid one that ends the attempt is taken away.

    What a missing slice holds cannot be known. For requests with a count it can only add devices to those that are
    published, so that the claims fit afterwards if they fit with those alone (and nothing else changes). For a request
    of all devices that does not follow, and nothing is offered.
    """
    drivers = {driver for index in range(len(case.survey.asks)) for driver in drivers_of(case.survey, index)}
    counted = not any(ask.all for ask in case.survey.asks)
    failing = {answer.name for answer in case.errors}
    found: dict[tuple[str, str], tuple[Pool, list[str]]] = {}
    for answer in case.eligible:
        for pool in answer.reason.facts.pools:
            if not pool.usable:
                found.setdefault((pool.driver, pool.name), (pool, []))[1].append(answer.name)
    for key, (pool, nodes) in found.items():
        seen = None if failing or case.seen_by.get(key) is None else nodes
        subjects = frozenset({f"pool {pool}"})
        if counted and pool.status == INCOMPLETE and pool.driver in drivers and pool.found < pool.expected:
            missing = f"the {count(pool.expected - pool.found, 'missing slice')}"
            text = (
                f"let driver {pool.driver} publish {missing} of pool {pool.name}: the devices that it publishes "
                "already then count and suffice, unless they change (what else will come is not known)"
            )
            yield Change("pool", text, ADMIN, 58, _complete(pool), seen, subjects=subjects, proven=False)
        if failing & set(nodes):
            what = "is invalid" if pool.reason else f"has {pool.found} of {pool.expected} slices"
            text = f"delete the slices of pool {pool}, which {what} and stops the attempt on all nodes"
            yield Change("pool", text, ADMIN, 64, _gone(pool), subjects=subjects)


def _complete(pool: Pool) -> Callable[[Variant], None]:
    def apply(variant: Variant) -> None:
        variant.slices = [
            replace(item, pool=replace(item.pool, resource_slice_count=pool.found))
            if (item.driver, item.pool.name, item.pool.generation) == (pool.driver, pool.name, pool.generation)
            else item
            for item in variant.slices
        ]

    return apply


def _gone(pool: Pool) -> Callable[[Variant], None]:
    def apply(variant: Variant) -> None:
        variant.slices = [item for item in variant.slices if (item.driver, item.pool.name) != (pool.driver, pool.name)]

    return apply
