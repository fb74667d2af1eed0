"""The exporter: numbers of the recorded fleet, clean text formats, freshness and failures."""

from __future__ import annotations

import threading
import urllib.request

import pytest

from dractl.errors import DractlError
from dractl.metrics import catalogue
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

    assert value("dractl_devices", driver="gpu.nvidia.com", node="h100-1", state="used") == 8
    assert value("dractl_devices", driver="gpu.nvidia.com", node="h100-3", state="pool-incomplete") == 4
    assert value("dractl_devices", driver="gpu.nvidia.com", node="h100-gone", state="node-missing") == 8
    assert value("dractl_pools", driver="gpu.nvidia.com", status="incomplete") == 1
    assert value("dractl_findings", code="DRA401", severity="error", category="publication") == 1
    assert value("dractl_findings", code="DRA230", severity="error", category="conflicts") == 10
    assert value("dractl_claims", namespace="ml", **{"class": "gpu.nvidia.com"}, state="pending") == 1
    pending = sum(number for (name, _), number in found.items() if name == "dractl_claims_pending_reason")
    assert pending == 10
    devices = sum(number for (name, _), number in found.items() if name == "dractl_devices")
    assert devices == 230
    assert value("dractl_pods_topology", quality="root") == 10


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


def test_freshness_and_failures():
    from dractl.cli.exporter import Exporter

    time = [1000.0]
    answers: list[object] = [[Family(catalogue.CHECKS, {("passed",): 1.0})], DractlError("cannot reach it")]

    def read():
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    exporter = Exporter(read, 60, lambda: time[0])
    assert not exporter.healthy
    assert exporter.refresh()
    assert exporter.healthy
    time[0] += 100
    assert not exporter.refresh()
    # the last good numbers stay, with their own time
    values = {family.definition.name: family.samples for family in exporter.families()}
    assert values["dractl_checks"] == {("passed",): 1.0}
    assert values["dractl_read_timestamp_seconds"] == {(): 1000.0}
    assert values["dractl_read_errors_total"] == {(): 1.0}
    assert exporter.healthy
    time[0] += 100
    assert not exporter.healthy
    assert exporter.problem == "cannot reach it"


def test_served_over_http():
    from dractl.cli.exporter import Exporter, server

    exporter = Exporter(lambda: [Family(catalogue.CHECKS, {("passed",): 2.0})], 60)
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
