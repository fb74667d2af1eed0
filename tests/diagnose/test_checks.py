"""Every check fires on its bad cluster and is silent on the good one beside it."""

from __future__ import annotations

import pytest
from explain.builders import cluster, question

from diagnose.hosts import HOST_PAIRS
from diagnose.pairs import PAIRS
from dractl.diagnose.check import CATEGORIES
from dractl.diagnose.registry import CHECKS
from dractl.diagnose.run import diagnose

CODES = [check.rule.code for check in CHECKS]


def flat(objects):
    return [one for item in objects for one in (flat(item) if isinstance(item, list) else [item])]


def report_of(objects):
    found = diagnose(question(cluster(*flat(objects))))
    assert not [(item.code, item.reason) for item in found.checks if item.outcome == "failed"]
    return found


def test_every_check_has_a_pair_and_a_category():
    assert sorted([*PAIRS, *HOST_PAIRS]) == sorted(CODES)
    assert len(set(CODES)) == len(CODES)
    assert {check.category for check in CHECKS} <= set(CATEGORIES)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.rule.code)
def test_every_check_says_what_why_and_what_to_do(check):
    about = check.rule
    assert all((about.title, about.cause, about.fix, about.example, about.reference)), about.code
    assert about.needs or check.category in ("hardware", "versions")


@pytest.mark.parametrize("code", sorted(PAIRS))
def test_fires_on_the_bad_one(code):
    report = report_of(PAIRS[code][0])
    found = [item for item in report.findings if item.code == code]
    assert found, [item.code for item in report.findings]
    assert all(item.message and item.subject is not None for item in found)


@pytest.mark.parametrize("code", sorted(PAIRS))
def test_is_silent_on_the_good_one(code):
    report = report_of(PAIRS[code][1])
    assert [item.message for item in report.findings if item.code == code] == []


def test_a_check_that_breaks_does_not_hide_the_others(monkeypatch):
    from dractl.diagnose import registry, run
    from dractl.diagnose.check import Check

    def broken(context):
        raise KeyError("x")

    first = CHECKS[0]
    monkeypatch.setattr(run, "CHECKS", (Check(first.rule, first.category, broken), *registry.CHECKS[1:]))
    found = diagnose(question(cluster(*flat(PAIRS["DRA401"][0]))))
    assert {item.outcome for item in found.checks if item.code == first.rule.code} == {"failed"}
    assert {"DRA903", "DRA401"} <= {item.code for item in found.findings}


def test_what_could_not_be_read_is_skipped_and_said():
    from dractl.inventory import Inventory, Provenance

    whole = cluster(*flat(PAIRS["DRA401"][0]))
    blind = Inventory(whole.objects, Provenance("test", unseen={"ResourceClaim": "not allowed"}))
    found = diagnose(question(blind))
    outcomes = {item.code: item.outcome for item in found.checks}
    assert outcomes["DRA230"] == "skipped"
    assert outcomes["DRA401"] == "found"
    assert "DRA901" in {item.code for item in found.findings}


def test_codes_keep_their_meaning():
    names = {check.rule.code: check.rule.name for check in CHECKS}
    assert names == {
        "DRA201": "unknown-class",
        "DRA216": "shared-device-name",
        "DRA222": "extended-resource-twice",
        "DRA230": "claim-pending",
        "DRA231": "device-held-twice",
        "DRA232": "allocated-device-gone",
        "DRA233": "counters-overdrawn",
        "DRA234": "capacity-overdrawn",
        "DRA235": "whole-and-part-held",
        "DRA236": "priority-inversion",
        "DRA237": "offered-twice",
        "DRA238": "quota-exhausted",
        "DRA301": "template-missing",
        "DRA302": "claim-missing",
        "DRA306": "stale-holder",
        "DRA307": "prepare-failed",
        "DRA308": "allocated-elsewhere",
        "DRA309": "claim-without-pod",
        "DRA310": "claim-deleting",
        "DRA311": "claim-of-another-pod",
        "DRA316": "pod-terminating",
        "DRA401": "pool-incomplete",
        "DRA402": "pool-invalid",
        "DRA403": "stale-slices",
        "DRA404": "slice-of-unknown-node",
        "DRA405": "slice-of-unready-node",
        "DRA406": "class-selects-nothing",
        "DRA407": "class-selector-error",
        "DRA408": "devices-without-class",
        "DRA409": "driver-pod-trouble",
        "DRA410": "attribute-type-differs",
        "DRA411": "whole-and-parts-published",
        "DRA412": "counters-too-small",
        "DRA420": "devices-tainted",
        "DRA421": "taint-rule-active",
        "DRA422": "device-condition",
        "DRA423": "device-unhealthy",
        "DRA510": "disjoint-roots",
        "DRA511": "allocated-across-roots",
        "DRA512": "cpu-on-other-numa",
        "DRA513": "attribute-names-differ",
        "DRA640": "hardware-not-published",
        "DRA641": "published-without-hardware",
        "DRA642": "published-value-differs",
        "DRA643": "mig-drift",
        "DRA644": "vfio-published-as-gpu",
        "DRA645": "degraded-published",
        "DRA647": "no-driver-publishes",
        "DRA648": "node-reports-fault",
        "DRA649": "no-node-report",
        "DRA701": "driver-lacks-status-verb",
        "DRA702": "scheduler-lacks-binding-verb",
        "DRA703": "slices-of-other-nodes",
        "DRA704": "admin-access-open",
        "DRA705": "wildcard-role",
        "DRA801": "taint-rules-ignored",
        "DRA812": "kubelet-older",
        "DRA811": "old-api-version",
        "DRA810": "gate-off-in-use",
        "DRA802": "counters-leak",
        "DRA514": "fragmented",
        "DRA424": "binding-condition",
        "DRA416": "driver-publishes-nothing",
        "DRA415": "identity-twice",
        "DRA414": "attribute-lost",
        "DRA413": "local-devices-for-all-nodes",
        "DRA315": "driver-not-registered",
        "DRA314": "driver-keeps-deleted-claim",
        "DRA313": "quota-refuses-claim",
        "DRA312": "admin-access-label",
        "DRA304": "placed-past-scheduler",
        "DRA303": "claim-creation-refused",
        "DRA239": "claims-compete",
        "DRA206": "constraint-attribute-missing",
    }


def test_a_healthy_fleet_has_no_finding_above_info():
    from explain.builders import claim, class_, device, node, pod, request, result, slice_

    objects = [class_("gpu.example.com"), class_("nic.example.com")]
    root = "resource.kubernetes.io/pcieRoot"
    for number in range(200):
        name = f"n{number:04}"
        objects.append(node(name))
        for driver, kind in (("gpu.example.com", "gpu"), ("nic.example.com", "nic")):
            devices = [device(f"{kind}-{index}", {root: f"pci0000:{index}0"}) for index in range(8)]
            objects.append(slice_(name, devices, driver=driver))
        consumer = {"resource": "pods", "name": name, "uid": f"uid-pod-{name}"}
        taken = [result("gpu", name, "gpu-0"), result("nic", name, "nic-0", "nic.example.com")]
        asked = [request("gpu", "gpu.example.com"), request("nic", "nic.example.com")]
        objects.append(claim(name, *asked, results=taken, on=name, reserved=[consumer]))
        objects.append(pod(name, name, on=name))
    report = report_of(objects)
    assert [item.message for item in report.findings if item.severity.value != "info"] == []
