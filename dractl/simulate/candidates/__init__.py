"""Single changes that might make claims fit: what is nearly right is changed, never everything. None is proven here."""

from __future__ import annotations

from dractl.explain.case import Case
from dractl.simulate.candidates.amounts import capacities, constraints, counts
from dractl.simulate.candidates.devices import device_taints, holders
from dractl.simulate.candidates.model import Change
from dractl.simulate.candidates.placement import avoid, placement
from dractl.simulate.candidates.pools import pools
from dractl.simulate.candidates.selectors import classes, selectors


def candidates(case: Case) -> list[Change]:
    """The changes worth trying, the cheapest for the user first."""
    found = [
        *selectors(case),
        *classes(case),
        *constraints(case),
        *counts(case),
        *capacities(case),
        *placement(case),
        *avoid(case),
        *holders(case),
        *device_taints(case),
        *pools(case),
    ]
    return sorted(found, key=lambda change: change.cost)
