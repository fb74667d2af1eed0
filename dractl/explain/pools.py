"""Pools that do not count: incomplete or invalid ones whose devices would match."""

from __future__ import annotations

from collections.abc import Sequence

from dractl.explain.answer import Answer
from dractl.explain.case import Case
from dractl.explain.words import count, natural, plural, ranges
from dractl.inventory import DeviceId, PoolId


def explain_pools(case: Case, answer: Answer, indices: Sequence[int], nodes: Sequence[str]) -> None:
    """Say which pools of some nodes are left out although devices in them match, and what to do."""
    found: dict[PoolId, tuple[str, list[str]]] = {}
    for name in nodes:
        for pool in case.survey.nodes[name].pools:
            if pool.usable:
                continue
            why = f"is invalid ({pool.reason})" if pool.reason else f"has {pool.found} of {pool.expected} slices"
            found.setdefault(PoolId(pool.driver, pool.name), (why, []))[1].append(name)
    for key, (why, seen_on) in found.items():
        matching = _matching(case, key, indices)
        if not matching:
            continue
        names = ranges(sorted(seen_on, key=natural), 3)
        devices = ranges(sorted({one.device for one in matching}, key=natural), 4)
        label = case.survey.asks[indices[0]].label
        only = len(indices) == 1 and len(case.survey.asks) > 1
        request = f" request {label}" if only else ""
        answer.say(
            f"pool {key.pool} of driver {key.driver} {why}, so none of its devices count on {names}; among those "
            f"listed {count(len(matching), 'device')} would match{request} ({devices})"
        )
        known = case.inventory.pools[key]
        if known.former:
            old = ranges(sorted({str(item.pool.generation) for item in known.former}, key=natural), 3)
            slices = plural(len(known.former), "one slice", f"{len(known.former)} slices")
            answer.say(
                f"that is generation {known.generation}; of generation {old}, {slices} "
                f"{plural(len(known.former), 'is', 'are')} still there and without effect: only the highest generation "
                "counts, also while it is not complete"
            )
        answer.advise(f"look at driver {key.driver} on {names} until its pool {key.pool} is whole again")


def _matching(case: Case, key: PoolId, indices: Sequence[int]) -> list[DeviceId]:
    pool = case.inventory.pools.get(key)
    if pool is None:
        return []
    asks = [case.survey.asks[index] for index in indices]
    return [
        one.id
        for one in pool.devices()
        if any(case.survey.judge.selection(ask, one.id.driver, one.device).code is None for ask in asks)
    ]
