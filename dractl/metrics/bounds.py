"""A bound on the number of series of each metric: labels that users and machines name are given up one by one."""

from __future__ import annotations

from collections.abc import Iterable

from dractl.metrics import catalogue
from dractl.metrics.catalogue import Definition
from dractl.metrics.families import Family

MOST = 50_000
"""Series of one metric, unless another bound is asked for."""


def bounded(families: Iterable[Family], most: int = MOST) -> list[Family]:
    """The families with at most ``most`` series each, and one that tells which labels were emptied for that.

    Where a metric has more, the labels in its definition's ``gives_up`` become empty, the first one first, until the
    number is kept; values that then share their labels are added up (of ages, the greatest is kept). So sums stay what
    they were.
    """
    kept = []
    left_out: dict[tuple[str, ...], float] = {}
    for family in families:
        samples = family.samples
        for label in family.definition.gives_up:
            if len(samples) <= most:
                break
            samples = _without(family.definition, samples, label)
            left_out[family.definition.name, label] = 1.0
        kept.append(Family(family.definition, samples))
    return [*kept, Family(catalogue.LEFT_OUT, left_out)]


def _without(definition: Definition, samples: dict[tuple[str, ...], float], label: str) -> dict[tuple[str, ...], float]:
    place = definition.labels.index(label)
    out: dict[tuple[str, ...], float] = {}
    for labels, value in samples.items():
        key = (*labels[:place], "", *labels[place + 1 :])
        before = out.get(key)
        if before is None:
            out[key] = value
        else:
            out[key] = max(before, value) if definition.merge == "max" else before + value
    return out
