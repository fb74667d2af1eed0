"""The exporter: numbers of the recorded fleet, clean text formats, freshness and failures."""

from __future__ import annotations

import threading
import time
import urllib.request

import pytest

from dractl.cli.exporter import Exporter, server
from dractl.cli.following import Health
from dractl.errors import DractlError
from dractl.metrics import catalogue
from dractl.metrics.bounds import bounded
from dractl.metrics.families import Family


def parsed(text: str):
    from prometheus_client.parser import text_string_to_metric_families

    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


@pytest.fixture(scope="module")
def fleet():
    from dractl.allocator.profile import Profile
    from dractl.explain.claim import Question
    from dractl.inventory import release_of
    from dractl.metrics.families import families
    from dractl.sources.snapshot import read_demo

    inventory = read_demo()
    return families(Question(inventory, release_of(inventory), Profile.for_release("1.36")))


def test_numbers_of_the_recorded_fleet(fleet):
    from dractl.render.openmetrics import to_text

    found = parsed(to_text(fleet).decode())

    def value(name: str, **labels: str) -> float:
        return found[name, tuple(sorted(labels.items()))]

    assert value("dractl_devices", driver="gpu.nvidia.com", pool="h100-1", node="h100-1", state="used") == 8
    assert value("dractl_devices", driver="gpu.nvidia.com", pool="h100-3", node="h100-3", state="pool-incomplete") == 4
    assert (
        value("dractl_devices", driver="gpu.nvidia.com", pool="h100-gone", node="h100-gone", state="node-missing") == 8
    )
    assert value("dractl_pools", driver="gpu.nvidia.com", status="incomplete") == 1
    assert value("dractl_findings", code="DRA401", severity="error", category="publication") == 1
    assert value("dractl_findings", code="DRA230", severity="error", category="conflicts") == 9
    assert value("dractl_claims", namespace="ml", **{"class": "gpu.nvidia.com"}, state="pending") == 1
    pending = sum(number for (name, _), number in found.items() if name == "dractl_claims_pending_reason")
    assert pending == 10
    devices = sum(number for (name, _), number in found.items() if name == "dractl_devices")
    assert devices == 230
    assert value("dractl_pods_topology", quality="root") == 10
    # h100-5 has all of its GPUs free
    assert value("dractl_class_free_on_one_node_max", **{"class": "gpu.nvidia.com"}) == 8
    assert value("dractl_class_free_on_one_node_max", **{"class": "rdma.dra.net"}) == 7


def test_every_series_is_in_the_catalogue_with_its_labels(fleet):
    for family in fleet:
        assert family.definition in catalogue.OWN
        assert all(len(labels) == len(family.definition.labels) for labels in family.samples)


def test_both_formats_are_clean(dractl):
    from prometheus_client.openmetrics.parser import text_string_to_metric_families

    plain = dractl("metrics", "--once", "--demo")
    assert plain.code == 0
    assert parsed(plain.out)
    new = dractl("metrics", "--once", "--openmetrics", "--demo")
    assert new.out.endswith("# EOF\n")
    assert len(list(text_string_to_metric_families(new.out))) == len(
        {line for line in new.out.splitlines() if line.startswith("# TYPE")}
    )


class Given:
    """A source of what a test gives: each look takes the next answer."""

    def __init__(self, clock: list[float], *answers: object) -> None:
        self.clock = clock
        self.answers = list(answers)
        self.read = 0.0
        self.problem = ""

    def wait(self, seconds: float) -> bool:
        return bool(self.answers)

    def look(self):
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        self.read = self.clock[0]
        return answer

    def health(self) -> Health:
        return Health(self.read, {"Pod": self.read}, self.problem)

    def close(self) -> None:
        return


def exporter_of(clock: list[float], *answers: object, most: int = 1000) -> Exporter:
    """An exporter of families that are given, refreshed every minute."""
    given = Given(clock, *answers)
    made = Exporter(given, lambda found: found, lambda found, now: [], 60, most, lambda: clock[0])
    made.given = given
    return made


def values(exporter: Exporter) -> dict[str, dict[tuple[str, ...], float]]:
    return {family.definition.name: family.samples for family in exporter.families()}


PASSED = Family(catalogue.CHECKS, {("passed",): 1.0})


def test_freshness_and_failures():
    time = [1000.0]
    exporter = exporter_of(time, [PASSED], DractlError("cannot reach it"), ZeroDivisionError("oh"))
    assert not exporter.healthy
    assert exporter.refresh()
    assert exporter.healthy
    time[0] += 100
    assert not exporter.refresh()
    # the last good numbers stay, with their own time
    found = values(exporter)
    assert found["dractl_checks"] == {("passed",): 1.0}
    assert found["dractl_read_timestamp_seconds"] == {(): 1000.0}
    assert found["dractl_read_errors_total"] == {(): 1.0}
    assert exporter.healthy
    time[0] += 100
    assert not exporter.healthy
    assert exporter.problem == "cannot reach it"
    # nor does a fault of dractl itself end the exporter
    assert not exporter.refresh()
    assert exporter.problem == "dractl failed: ZeroDivisionError: oh"
    assert values(exporter)["dractl_read_errors_total"] == {(): 2.0}


def test_kinds_that_cannot_be_reached_are_failures_too():
    time = [1000.0]
    exporter = exporter_of(time, [PASSED], [PASSED])
    assert exporter.refresh()
    time[0] += 60
    exporter.given.problem = "Pod: no route"
    assert not exporter.refresh(changed=False)
    assert values(exporter)["dractl_read_errors_total"] == {(): 1.0}
    assert values(exporter)["dractl_kind_timestamp_seconds"] == {("Pod",): 1000.0}
    assert exporter.problem == "Pod: no route"


def test_without_changes_only_ages_are_counted_until_all_is_due():
    time = [1000.0]
    exporter = exporter_of(time, [PASSED], [Family(catalogue.CHECKS, {("found",): 2.0})])
    exporter.refresh()
    for _ in range(4):
        time[0] += 60
        exporter.refresh(changed=False)
    assert values(exporter)["dractl_checks"] == {("passed",): 1.0}
    time[0] += 60
    exporter.refresh(changed=False)
    assert values(exporter)["dractl_checks"] == {("found",): 2.0}


CONSTANT = {"state", "status", "verdict", "code", "severity", "category", "outcome", "quality", "kind", "metric",
            "label", "version"}  # fmt: skip
"""Labels whose values dractl itself limits."""


def test_every_label_is_limited_or_can_be_given_up():
    for definition in catalogue.OWN:
        assert set(definition.labels) - set(definition.gives_up) <= CONSTANT, definition.name
        assert set(definition.gives_up) <= set(definition.labels)


def test_series_are_bounded_and_sums_stay():
    devices = Family(
        catalogue.DEVICES,
        {("gpu", f"pool-{n}", f"node-{n % 500}", state): 2.0 for n in range(1000) for state in ("free", "used")},
    )
    ages = Family(catalogue.PENDING_AGE, {(f"ns-{n}",): float(n) for n in range(3000)})
    found = {family.definition.name: family.samples for family in bounded([devices, ages, PASSED], 1000)}
    assert len(found["dractl_devices"]) == 1000 and sum(found["dractl_devices"].values()) == 4000
    assert found["dractl_devices"]["gpu", "", "node-7", "free"] == 4.0
    assert found["dractl_claims_pending_age_seconds_max"] == {("",): 2999.0}
    assert found["dractl_checks"] == PASSED.samples
    assert found["dractl_labels_left_out"] == {
        ("dractl_devices", "pool"): 1.0,
        ("dractl_claims_pending_age_seconds_max", "namespace"): 1.0,
    }
    fewer = bounded([devices], 100)[0].samples
    assert fewer == {("gpu", "", "", "free"): 2000.0, ("gpu", "", "", "used"): 2000.0}
    assert bounded([devices])[0].samples == devices.samples


def test_the_bound_is_an_option(dractl):
    text = dractl("metrics", "--once", "--demo", "--max-series", "100").out
    assert len([key for key in parsed(text) if key[0] == "dractl_devices"]) <= 100
    assert 'dractl_labels_left_out{label="pool"' not in text  # 14 nodes are few
    assert dractl("metrics", "--once", "--demo", "--max-series", "3").code == 2


def test_openmetrics_belongs_to_once(dractl):
    result = dractl("metrics", "--demo", "--openmetrics")
    assert result.code == 2
    assert "--openmetrics goes with --once only" in result.err and "Accept" in result.err


def test_served_over_http():
    exporter = exporter_of([time.time()], [Family(catalogue.CHECKS, {("passed",): 2.0})])
    exporter.refresh()
    http = server(exporter, "127.0.0.1", 0)
    threading.Thread(target=http.serve_forever, daemon=True).start()
    try:
        base = f"http://127.0.0.1:{http.server_address[1]}"
        with urllib.request.urlopen(f"{base}/metrics") as answer:
            assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
            assert parsed(answer.read().decode())["dractl_checks", (("outcome", "passed"),)] == 2
        request = urllib.request.Request(f"{base}/metrics", headers={"Accept": "application/openmetrics-text"})
        with urllib.request.urlopen(request) as answer:
            assert answer.read().endswith(b"# EOF\n")
        with urllib.request.urlopen(f"{base}/healthz") as answer:
            assert answer.read() == b"ok\n"
    finally:
        http.shutdown()
        http.server_close()


def test_wrong_address(dractl):
    result = dractl("metrics", "--demo", "--listen", "nowhere")
    assert result.code == 2
    assert "HOST:PORT" in result.err
