"""What explain says of a single device is what the allocator does: a device that it calls usable for a request is given
to a claim that asks for this device alone, and one that it refuses is not.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TESTS / "allocator"), str(TESTS / "conformance")]

import fleets  # noqa: E402
from kind_allocator import cluster, read  # noqa: E402

from dractl.allocator import FITS, Allocator, Features, Limits, Profile  # noqa: E402
from dractl.allocator.request import AllocationError  # noqa: E402
from dractl.allocator.search import Search  # noqa: E402
from dractl.explain.judge import ERROR, Ask, asks_of  # noqa: E402
from dractl.explain.nodes import Reasons  # noqa: E402
from dractl.explain.survey import Survey  # noqa: E402
from dractl.inventory import Inventory  # noqa: E402
from dractl.kube.objects import ClaimRequest, ClaimSpec, Node, ResourceClaim  # noqa: E402

FLEETS = 20
Id = tuple[str, str, str]


def given_out(allocator: Allocator, node: Node, ask: Ask) -> dict[Id, bool | None] | None:
    """Whether each device of a node would be given to the request if there was no other device and no constraint.

    None in place of an answer stands for an error; None for all of them if the claim itself is one.
    """
    exact = replace(ask.spec, allocation_mode="ExactCount", count=1)
    alternatives = [exact] if ask.request.first_available else []
    lone = ClaimRequest(ask.request.name, None if alternatives else exact, alternatives)
    plans = allocator.plan([ResourceClaim(ask.claim.meta, ClaimSpec([lone]))])
    if any(request.error or any(request.errors) for plan in plans for request in plan.requests):
        return None
    found: dict[Id, bool | None] = {}
    for index in range(len(allocator.view(node).candidates)):
        view = allocator.view(node)
        search = Search(
            allocator.profile,
            view,
            plans,
            allocator.state,
            allocator.selection,
            allocator.attributes,
            allocator.rules,
            {},
            Limits(),
        )
        search._candidates = view.candidates = [replace(view.candidates[index], index=0)]
        search._allocated = [search._allocated[index]]
        view.verdicts, view.aborts = {}, {}
        # 1.34 looks at the capacity of another device, which is a fault of the search
        search._rechecked = lambda candidate, number: candidate  # type: ignore[method-assign]
        try:
            search.prepare()
            found[view.candidates[0].id] = search.run() is not None
        except AllocationError:
            found[view.candidates[0].id] = None
    return found


@pytest.mark.parametrize("release", ["1.34", "1.35", "1.36.0", "1.36", "1.37"])
def test_judgements_are_those_of_the_allocator(release: str) -> None:
    usable = refused = 0
    for seed in range(1100, 1100 + FLEETS):
        given = fleets.fleet(seed, release)
        profile = Profile.of_features(release, Features.of(given["features"]))
        slices, classes, allocated = cluster(given)
        nodes, claims = read(given["nodes"], Node), read(given["claims"], ResourceClaim)
        inventory = Inventory([*nodes, *classes, *slices, *allocated, *claims])
        survey = Survey(inventory, profile, asks_of(inventory, claims))
        allocator = Allocator(profile, slices, classes, allocated)
        for name, facts in survey.nodes.items():
            if facts.error is not None:
                continue
            for number, ask in enumerate(survey.asks):
                answers = None if ask.device_class is None else given_out(allocator, facts.node, ask)
                for device, answer in (answers or {}).items():
                    seen = [one for one in survey.nodes_of_device if (one.driver, one.pool, one.device) == device]
                    if not seen or name not in survey.nodes_of_device[seen[0]]:
                        assert not answer, (seed, name, ask.label, device)
                        continue
                    code = survey.judgements[number][seen[0]].code
                    if answer is None:
                        assert code == ERROR or (code or "").startswith("capacity"), (seed, name, device)
                        continue
                    assert (code is None) == answer, (seed, name, ask.label, device, code)
                    assert bool(survey.judgements[number][seen[0]].text) == (code is not None)
                    usable += answer
                    refused += not answer
    assert usable > 60 and refused > 60


@pytest.mark.parametrize(("release", "correct"), [("1.34", False), ("1.36", True), ("1.37", False), ("1.37", True)])
def test_no_node_that_fits_is_said_to_be_blocked(release: str, correct: bool) -> None:
    """A blocker is a true statement that by itself keeps the claims from the node."""
    blocked = fitting = 0
    for seed in range(2000, 2080):
        given = fleets.fleet(seed, release)
        profile = Profile.of_features(release, Features.of(given["features"]))
        if correct:
            profile = profile.correct()
        slices, classes, allocated = cluster(given)
        nodes, claims = read(given["nodes"], Node), read(given["claims"], ResourceClaim)
        inventory = Inventory([*nodes, *classes, *slices, *allocated, *claims])
        reasons = Reasons(Survey(inventory, profile, asks_of(inventory, claims)))
        answers = Allocator(profile, slices, classes, allocated).allocate_nodes(claims, nodes).by_node
        for name, reason in reasons.nodes.items():
            if answers[name].verdict == FITS:
                assert not reason.blockers, (seed, name)
                fitting += 1
            blocked += bool(reason.blockers)
    assert fitting > 10 and blocked > 30
