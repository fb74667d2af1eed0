"""Where 1.36 departs from the API on the 1,600 recorded cases: how often, and by which quirk. None is unexplained."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve().parent
CONFORMANCE = HERE.parent / "conformance"
sys.path[:0] = [str(HERE), str(CONFORMANCE)]

from figures import read_lines  # noqa: E402
from kind_allocator import cluster, read  # noqa: E402

from dractl.allocator import Allocator, Features, Profile  # noqa: E402
from dractl.allocator import quirks as q  # noqa: E402
from dractl.allocator.departure import departures  # noqa: E402
from dractl.kube.objects import Node, ResourceClaim  # noqa: E402

CASES = 224
"""Cases with a departure on at least one node."""
FOUND = {
    ("other-form", (q.CONFIG_REPEATED,)): 416,
    ("other-devices", (q.ADMIN_BLOCKS,)): 9,
    ("missed", (q.ADMIN_NEEDS_COUNTERS,)): 4,
    ("missed", (q.ADMIN_BLOCKS,)): 3,
    ("granted", (q.COUNTERS_BY_POOL_NAME,)): 2,
    ("missed", (q.OVERDRAWN_BLOCKS_POOL,)): 2,
    ("other-devices", (q.COUNTERS_BY_POOL_NAME,)): 2,
    ("missed", (q.COUNTERS_BY_POOL_NAME,)): 1,
    ("other-error", (q.ADMIN_NEEDS_COUNTERS,)): 1,
    ("other-devices", (q.COUNTERS_LEAK,)): 1,
    ("granted", (q.DISTINCT_FORGETS,)): 1,
    ("other-error", (q.ALL_LEAVES_OUT_FULL,)): 1,
    ("other-devices", (q.ADMIN_NEEDS_COUNTERS,)): 1,
}
"""How many nodes of how many cases, by kind and by the quirks that together make the difference."""


def test_every_departure_of_the_recorded_cases_is_explained() -> None:
    found: Counter[tuple[str, tuple[str, ...]]] = Counter()
    cases = 0
    for case in read_lines(CONFORMANCE / "allocator.jsonl.gz"):
        given = case["input"]
        allocator = Allocator(Profile.of_features("1.36", Features.of(given["features"])), *cluster(given))
        departed = departures(allocator, read(given["claims"], ResourceClaim), read(given["nodes"], Node))
        cases += bool(departed)
        for departure in departed:
            names = tuple(quirk.name for quirk in departure.quirks)
            assert names, (case["id"], departure.node)
            found[departure.kind, names] += 1
    assert dict(found) == FOUND
    assert cases == CASES
