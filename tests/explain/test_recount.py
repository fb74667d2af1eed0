"""Random fleets with every feature of the allocator: verdicts, counts and fixes of explanations, counted a second time.

Nothing here uses what the explanation itself counted: devices are looked at one by one with the selectors, nodes one by
one with a fresh allocator, and every fix on a cluster that was made anew with the change in it.
"""

from __future__ import annotations

import os
import re
from typing import Any

import pytest
from allocator.fleets import fleet
from simulate.test_fixes import _check

from dractl.allocator.allocator import Allocator
from dractl.allocator.pools import GatherError, PoolGatherer
from dractl.allocator.taints import with_taint_rules
from dractl.cel.selector import compile_selector
from dractl.explain.claim import case_of, explain
from dractl.explain.survey import visible_devices
from dractl.inventory import Inventory, key_of
from dractl.kube.decode import decode
from explain.builders import question

SEEDS = int(os.environ.get("RECOUNTED", "12"))
RELEASE = "1.36.2"


def _object(kind: str, body: dict[str, Any], group: str = "resource.k8s.io/v1") -> dict[str, Any]:
    return {"apiVersion": group, "kind": kind, **body}


def _inventory(seed: int) -> Inventory:
    made = fleet(seed, "1.36")
    objects = [_object("Node", one, "v1") for one in made["nodes"]]
    objects += [_object("DeviceClass", one) for one in made["classes"]]
    objects += [_object("ResourceSlice", one) for one in made["slices"]]
    for one in [*made["allocated"], *made["claims"]]:
        one["metadata"].setdefault("namespace", "ns")
        objects.append(_object("ResourceClaim", one))
    return Inventory([decode(one) for one in objects])


def _chosen(case, index: int) -> dict[str, set[Any]]:
    """For each node the devices that class and request select, with the compiled expressions alone."""
    ask = case.survey.asks[index]
    environment = case.profile.environment()
    lists = [ask.device_class.selectors if ask.device_class else [], ask.spec.selectors]
    gatherer = PoolGatherer(case.profile, with_taint_rules(case.inventory.slices, [], case.profile))
    found: dict[str, set[Any]] = {}
    for name, node in case.inventory.nodes.items():
        try:
            pools = gatherer.gather(node)
        except GatherError:
            continue
        for device_id, device in visible_devices(node, pools):
            if device.binding_conditions and not case.profile.features.binding_conditions:
                continue
            outcomes = [
                [compile_selector(one.cel or "", environment).evaluate(device_id.driver, device) for one in selectors]
                for selectors in lists
            ]
            passed = [all(one.match and one.error is None for one in some) for some in outcomes]
            for where, good in (("class", passed[0]), ("match", all(passed))):
                if good:
                    found.setdefault(f"{where} {name}", set()).add(device_id)
    return found


_MATCHED = re.compile(r"request ([\w./-]+)(?: needs (\d+))?(?: on one node)?: ([\d,]+|no) [A-Za-z ]+? match(?:es)?,")
_NONE_OF = re.compile(r"none of ([\d,]+|no) [A-Za-z ]+? match(?:es)? request ([\w./-]+)")
_FEW = re.compile(r"request ([\w./-]+) needs (\d+), and (\d+) match")


def _number(text: str) -> int:
    return 0 if text == "no" else int(text.replace(",", ""))


def _recount(case, report: dict[str, Any]) -> int:
    """The numbers of the groups' reasons, and of the funnels."""
    counted = 0
    chosen = {ask.label: _chosen(case, index) for index, ask in enumerate(case.survey.asks) if ask.device_class}

    def devices(what: str, label: str, nodes: list[str]) -> int:
        return len(set().union(*(chosen[label].get(f"{what} {name}", set()) for name in nodes)))

    for group in report["groups"]:
        for label, _, number in _MATCHED.findall(group["reason"]):
            assert _number(number) == devices("match", label, group["names"]), group["reason"]
            counted += 1
        for label, _, number in _FEW.findall(group["reason"]):
            assert int(number) == devices("match", label, group["names"]), group["reason"]
            counted += 1
    for view in report["requests"]:
        stages = {stage["stage"]: stage["devices"] for stage in view["funnel"]}
        if stages and not any("selector-error" in stage["refused"] for stage in view["funnel"]):
            nodes = list(case.inventory.nodes)
            assert stages["selectors"] == devices("match", view["name"], nodes), view["name"]
            counted += 1
    return counted


@pytest.mark.parametrize("seed", [*range(SEEDS), 81])
def test_verdicts_counts_and_fixes(seed):
    inventory = _inventory(seed)
    asked = question(inventory, RELEASE)
    for claim in inventory.claims.values():
        if claim.allocation is not None or claim.meta.deletion_timestamp:
            continue
        report = explain(asked, claim).to_json()
        case = case_of(asked, [claim], [])
        others = [one for one in inventory.claims.values() if one is not claim]
        assert [node["name"] for node in report["nodes"]] == sorted(inventory.nodes)
        for node in report["nodes"]:
            fresh = Allocator(asked.profile, inventory.slices, inventory.classes.values(), others)
            found = fresh.allocate([claim], inventory.nodes[node["name"]])
            assert (node["allocator"]["verdict"], node["allocator"]["error"]) == (found.verdict, found.error)
        names = [name for group in report["groups"] for name in group["names"]]
        assert sorted(names) == sorted(inventory.nodes)
        assert all(group["nodes"] == len(group["names"]) for group in report["groups"])
        _recount(case, report)
        _check(case)
        proven = [fix for fix in report["fixes"] if fix["proven"]]
        assert all(set(fix["nodes"]) <= set(inventory.nodes) and fix["nodes"] for fix in proven)
        assert key_of(claim).name in report["claim"]["name"]
