"""Answers used for many nodes, or kept for later units, are those that a fresh allocator gives on each node."""

from __future__ import annotations

from dataclasses import replace

from explain.builders import GPU, claim, class_, cluster, device, held, node, pod, question, request, slice_
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dractl.allocator.allocator import Allocator
from dractl.allocator.search import Limits
from dractl.explain.case import FITS
from dractl.inventory import Inventory
from dractl.simulate import changes
from dractl.simulate.cluster import Cluster
from dractl.simulate.place import Placement, place_on, waiting_units
from simulate.test_fixes import _case, _check

ROOT = f"{GPU}/root"
_KINDS = st.lists(st.lists(st.tuples(st.sampled_from("AB"), st.integers(0, 1)), max_size=3), min_size=1, max_size=3)


def _fleet(kinds, chosen, taken, *more) -> Inventory:
    """Nodes of a few kinds; on some of them the first device is held."""
    objects = [class_(GPU), *more]
    for number, kind in enumerate(chosen):
        name = f"n{number}"
        objects.append(node(name))
        devices = kinds[kind % len(kinds)]
        made = [device(f"g{index}", {"model": one, "root": root}) for index, (one, root) in enumerate(devices)]
        if made:
            objects.append(slice_(name, made))
            if number in taken:
                objects += held(f"held-{number}", name, "g0")
    return cluster(*objects)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(_KINDS, st.lists(st.integers(0, 2), min_size=4, max_size=8), st.sets(st.integers(0, 7)), st.sampled_from("ABC"),
       st.integers(1, 2))
def test_fixes_on_nodes_of_few_kinds(kinds, chosen, taken, model, count):
    wanted = request("r", GPU, f"device.attributes['{GPU}'].model == '{model}'", count=count)
    asked = claim("c", wanted, constraints=[{"matchAttribute": ROOT}])
    inventory = _fleet(kinds, chosen, taken, asked, pod("p", "c"))
    _check(_case(question(inventory), "ns", "c"))


def _plainly(inventory: Inventory, profile, units) -> list[tuple[str, str | None, list[str]]]:
    """The same placing, asking a fresh allocator for every unit on every node."""
    holding = [one for one in inventory.claims.values() if one.allocation is not None]
    out = []
    for unit in units:
        allocator = Allocator(profile, inventory.slices, inventory.classes.values(), holding)
        found = next(
            (
                result
                for one in inventory.nodes.values()
                if not one.unschedulable
                and (result := allocator.allocate(unit.claims, one, Limits())).verdict == FITS
            ),
            None,
        )
        devices = [str(one.device) for given in (found.allocations or [] if found else []) for one in given.results]
        out.append((FITS if found else "doesNotFit", found.node if found else None, devices))
        if found:
            pairs = zip(unit.claims, found.allocations or [], strict=True)
            holding += [replace(one, allocation=given) for one, given in pairs]
    return out


def _short(placements: list[Placement]) -> list[tuple[str, str | None, list[str]]]:
    return [(one.verdict, one.node, [text.rpartition("/")[2] for text in one.devices]) for one in placements]


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(_KINDS, st.lists(st.integers(0, 2), min_size=3, max_size=6), st.sets(st.integers(0, 5)),
       st.lists(st.tuples(st.sampled_from("AB"), st.integers(1, 2)), min_size=1, max_size=6), st.integers(0, 2))
def test_placing_keeps_answers_that_still_hold(kinds, chosen, taken, wants, cordoned):
    waiting = []
    for number, (model, count) in enumerate(wants):
        wanted = request("r", GPU, f"device.attributes['{GPU}'].model == '{model}'", count=count)
        waiting.append(claim(f"c{number}", wanted, constraints=[{"matchAttribute": ROOT}]))
        waiting.append(pod(f"p{number}", f"c{number}"))
    before = _fleet(kinds, chosen, taken, *waiting)
    profile = question(before).profile
    first = Cluster(before, profile, Limits())
    units = waiting_units(before)
    assert _short(place_on(first, units, "1.36").placements) == _plainly(before, profile, units)
    after = changes.apply(before, [changes.cordon(f"n{cordoned}"), changes.remove_node("n0")])
    units = waiting_units(after)
    second = Cluster(after, profile, Limits(), like=first)
    assert _short(place_on(second, units, "1.36").placements) == _plainly(after, profile, units)
