"""The alerts as Prometheus itself evaluates them: each on made-up series, and all in a running server that scrapes."""

from __future__ import annotations

import json
import re
import shutil
import socket
import subprocess
import threading
import time
import urllib.parse
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from dractl.cli.exporter import Exporter, server
from dractl.cli.following import following
from dractl.cli.metrics import _ages, _compute
from dractl.cli.source import Source
from dractl.generate.alerts import ALERTS, rule_file
from dractl.generate.dashboard import DASHBOARDS, dashboard
from dractl.render.json import to_json

pytestmark = pytest.mark.prometheus
PROMTOOL, PROMETHEUS = shutil.which("promtool"), shutil.which("prometheus")
needs_promtool = pytest.mark.skipif(PROMTOOL is None, reason="needs promtool (Debian package prometheus)")
needs_prometheus = pytest.mark.skipif(PROMETHEUS is None, reason="needs prometheus (Debian package prometheus)")

FRESH = {"dractl_read_timestamp_seconds": "0+60x1000"}
"""An exporter that sees the cluster: its time is that of the test, in steps of a minute."""
GRPC = 'dra_grpc_operations_duration_seconds_count{driver_name="gpu",method_name="NodePrepareResources",'
SLOW = 'dra_operations_duration_seconds_bucket{operation_name="PrepareResources",is_error="false",le='
FILTER = '{plugin="DynamicResources",extension_point="Filter",status="Success"}'

FIRES: dict[str, tuple[dict[str, str], str, str, dict[str, str], str]] = {
    # series, before it fires, when it fires, its labels, words of its texts
    "DRAClaimPendingLong": (
        {'dractl_claims_pending_age_seconds_max{namespace="ml"}': "0+60x60",
         'dractl_claims_pending_reason{namespace="ml",verdict="doesNotFit",code="DRA207"}': "2x60",
         'dractl_claims_pending_reason{namespace="other",verdict="error",code="DRA201"}': "9x60"},
        "12m", "14m", {"namespace": "ml"},
        "A pod in ml has waited 14m 0s for devices | doesNotFit DRA207 (2); Run: dractl get claims -n ml"),
    "DRAClaimFailsWithError": (
        {'dractl_claims_pending_reason{namespace="ml",verdict="error",code="DRA222"}': "3x60",
         'dractl_claims_pending_reason{namespace="ml",verdict="doesNotFit",code="DRA207"}': "3x60"},
        "4m", "6m", {"namespace": "ml", "code": "DRA222"},
        "Claims of ml that fail with an error (DRA222): 3 | dractl explain DRA222"),
    "DRAPoolIncomplete": (
        {'dractl_pools{driver="gpu",status="complete"}': "5x60",
         'dractl_pools{driver="gpu",status="incomplete"}': "1x60",
         'dractl_pools{driver="nic",status="complete"}': "5x60"},
        "9m", "11m", {"driver": "gpu"}, "Pools of gpu that are not whole: 1. | dractl get pools --driver gpu"),
    "DRADeviceTainted": (
        {'dractl_devices{driver="gpu",pool="a",node="a",state="tainted"}': "2x60",
         'dractl_devices{driver="gpu",pool="b",node="b",state="free"}': "8x60"},
        "14m", "16m", {"driver": "gpu", "node": "a"}, "Tainted devices of gpu on a: 2 | dractl get taints"),
    "DRADriverGone": (
        {'dractl_pools{driver="gpu",status="complete"}': "5x60 _x600",
         'dractl_pools{driver="nic",status="complete"}': "5x600", **FRESH},
        "70m", "90m", {"driver": "gpu"},
        "Driver gpu published devices in the last 6 hours | kubectl get daemonsets,pods"),
    "DRADevicesOfMissingNode": (
        {'dractl_devices{driver="gpu",pool="a",node="gone",state="node-missing"}': "8x60"},
        "29m", "31m", {"node": "gone"}, "Devices published for node gone, which does not exist: 8 | --select DRA404"),
    "DRAZombieReservation": (
        {'dractl_findings{code="DRA306",severity="warning",category="conflicts"}': "1x60"},
        "14m", "16m", {}, "Claims that hold devices and are used by no pod: 1 | --select DRA306"),
    "DRADeviceGivenOutTwice": (
        {'dractl_findings{code="DRA231",severity="error",category="conflicts"}': "1x60",
         'dractl_findings{code="DRA235",severity="error",category="conflicts"}': "1x60"},
        "0m", "2m", {}, "given out more than once: 2 | End one of the pods"),
    "DRAPrepareErrors": (
        {GRPC + 'grpc_status_code="Internal"}': "0+1x60", GRPC + 'grpc_status_code="OK"}': "0+9x60"},
        "5m", "20m", {"driver_name": "gpu", "method_name": "NodePrepareResources"},
        "failed about 10 calls of NodePrepareResources in 10 minutes | FailedPrepareDynamicResources"),
    "DRAPrepareSlow": (
        {SLOW + '"0.1"}': "0x60", SLOW + '"26"}': "0x60", SLOW + '"40"}': "0+1x60", SLOW + '"+Inf"}': "0+1x60"},
        "10m", "20m", {}, "takes 39.86s or more for one pod in a hundred | slowest"),
    "DRASchedulerSlow": (
        {f"scheduler_plugin_execution_duration_seconds_sum{FILTER}": "0+30x60",
         f"scheduler_plugin_execution_duration_seconds_count{FILTER}": "0+100x60"},
        "14m", "20m", {}, "The scheduler searches 300ms for devices | dractl explain claim NAME"),
    "DRAUnschedulablePods": (
        {'scheduler_unschedulable_pods{plugin="DynamicResources",profile="default-scheduler"}': "4x60"},
        "29m", "31m", {}, "because of their claims: 4 | dractl diagnose conflicts"),
    "DractlStale": (
        {"dractl_read_timestamp_seconds": "0+60x10 600x60"},
        "19m", "22m", {}, "as of 12m 0s ago | /healthz"),
    "DractlAbsent": ({}, "9m", "11m", {}, "Nothing serves dractl's metrics | Status, Targets"),
}  # fmt: skip


def promtool(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([PROMTOOL, *arguments], capture_output=True, text=True, check=False)


@needs_promtool
def test_each_alert_fires_when_it_should_and_not_before(tmp_path):
    assert FIRES.keys() == {alert.name for alert in ALERTS}
    (tmp_path / "rules.yaml").write_text(to_json(rule_file()))
    tests = []
    for alert in ALERTS:
        series, before, after, labels, _ = FIRES[alert.name]
        asked = [{"series": name, "values": values} for name, values in series.items()]
        fired = {"exp_labels": {"severity": alert.severity, **labels}, "exp_annotations": {}}
        tests.append({
            "interval": "1m", "name": alert.name, "input_series": asked,
            "alert_rule_test": [
                {"eval_time": before, "alertname": alert.name, "exp_alerts": []},
                {"eval_time": after, "alertname": alert.name, "exp_alerts": [fired]},
            ],
        })  # fmt: skip
    (tmp_path / "tests.yaml").write_text(json.dumps({"rule_files": ["rules.yaml"], "tests": tests}))
    done = promtool("test", "rules", str(tmp_path / "tests.yaml"))
    told = done.stdout + done.stderr
    # texts are asked for by leaving them out: promtool says what it got instead
    groups = [part for part in re.split(r"(?=alertname: )", told) if part.startswith("alertname: ")]
    found = {re.match(r"alertname: (\w+)", part)[1]: part for part in groups}
    assert [part for part in groups if re.search(r"exp:\[\s*\],", part)] == [], told  # nothing fired before
    for alert in ALERTS:
        *_, labels, words = FIRES[alert.name]
        part = found[alert.name]
        got = part.partition("got:")[2]
        for key, value in {"alertname": alert.name, "severity": alert.severity, **labels}.items():
            assert f'{key}="{value}"' in got, part
        summary, _, runbook = words.partition(" | ")
        assert summary in got.replace('\\"', '"') and runbook in got.replace('\\"', '"'), part
        assert "error expanding" not in got, part


@needs_promtool
def test_a_dead_exporter_is_no_dead_driver(tmp_path):
    (tmp_path / "rules.yaml").write_text(to_json(rule_file()))
    quiet = {"eval_time": "120m", "alertname": "DRADriverGone", "exp_alerts": []}
    pools = {"series": 'dractl_pools{driver="gpu",status="complete"}', "values": "5x60 _x600"}
    gone = [pools, {"series": "dractl_read_timestamp_seconds", "values": "0+60x60 _x600"}]
    stale = [pools, {"series": "dractl_read_timestamp_seconds", "values": "0+60x60 3600x600"}]
    restarted = [pools, {"series": "dractl_read_timestamp_seconds", "values": "0+60x60 0x600"}]
    tests = [
        {"interval": "1m", "input_series": series, "alert_rule_test": [quiet]} for series in (gone, stale, restarted)
    ]
    (tmp_path / "tests.yaml").write_text(json.dumps({"rule_files": ["rules.yaml"], "tests": tests}))
    done = promtool("test", "rules", str(tmp_path / "tests.yaml"))
    assert done.returncode == 0, done.stdout + done.stderr


COMPONENTS = """\
# TYPE dra_grpc_operations_duration_seconds histogram
dra_grpc_operations_duration_seconds_bucket{driver_name="gpu.nvidia.com",method_name="NodePrepareResources",\
grpc_status_code="Internal",le="+Inf"} %(n)d
dra_grpc_operations_duration_seconds_sum{driver_name="gpu.nvidia.com",method_name="NodePrepareResources",\
grpc_status_code="Internal"} %(n)d
dra_grpc_operations_duration_seconds_count{driver_name="gpu.nvidia.com",method_name="NodePrepareResources",\
grpc_status_code="Internal"} %(n)d
# TYPE dra_operations_duration_seconds histogram
dra_operations_duration_seconds_bucket{operation_name="PrepareResources",is_error="false",le="26"} 0
dra_operations_duration_seconds_bucket{operation_name="PrepareResources",is_error="false",le="40"} %(n)d
dra_operations_duration_seconds_bucket{operation_name="PrepareResources",is_error="false",le="+Inf"} %(n)d
dra_operations_duration_seconds_sum{operation_name="PrepareResources",is_error="false"} %(n)d
dra_operations_duration_seconds_count{operation_name="PrepareResources",is_error="false"} %(n)d
# TYPE scheduler_unschedulable_pods gauge
scheduler_unschedulable_pods{plugin="DynamicResources",profile="default-scheduler"} 4
# TYPE dra_resource_claims_in_use gauge
dra_resource_claims_in_use{driver_name="<any>"} 4
"""
"""What kubelet and kube-scheduler say, as far as the alerts look at it; counters grow with each scrape."""


def components() -> ThreadingHTTPServer:
    scrapes = [0]

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            scrapes[0] += 5
            data = (COMPONENTS % {"n": scrapes[0]}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            return

    return ThreadingHTTPServer(("127.0.0.1", 0), Handler)


def asked(base: str, path: str, **parameters: str):
    query = urllib.parse.urlencode(parameters)
    with urllib.request.urlopen(f"{base}/api/v1/{path}?{query}", timeout=20) as answer:
        return json.load(answer)["data"]


@needs_prometheus
def test_a_real_prometheus_scrapes_and_alerts(tmp_path):
    exporter = Exporter(following(Source(demo=True)), _compute(None), _ages(live=False), 60)
    assert exporter.refresh()
    mine, theirs = server(exporter, "127.0.0.1", 0), components()
    for one in (mine, theirs):
        threading.Thread(target=one.serve_forever, daemon=True).start()
    rules = rule_file()
    for rule in rules["groups"][0]["rules"]:
        rule["for"] = "0s"
        # the recording's claims are seconds old
        rule["expr"] = rule["expr"].replace("_max > 600", "_max > 60")
    (tmp_path / "rules.yaml").write_text(json.dumps(rules))
    jobs = [
        {"job_name": name, "static_configs": [{"targets": [f"127.0.0.1:{one.server_address[1]}"]}]}
        for name, one in (("dractl", mine), ("kubelet", theirs))
    ]
    settings = {"scrape_interval": "1s", "evaluation_interval": "1s"}
    (tmp_path / "prometheus.yaml").write_text(
        json.dumps({"global": settings, "rule_files": ["rules.yaml"], "scrape_configs": jobs})
    )
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [
            PROMETHEUS,
            f"--config.file={tmp_path}/prometheus.yaml",
            f"--storage.tsdb.path={tmp_path}/data",
            f"--web.listen-address=127.0.0.1:{port}",
            "--log.level=warn",
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    base = f"http://127.0.0.1:{port}"
    expected = {
        "DRAClaimPendingLong", "DRAClaimFailsWithError", "DRAPoolIncomplete", "DRADeviceTainted",
        "DRADevicesOfMissingNode", "DRAZombieReservation", "DRAPrepareErrors", "DRAPrepareSlow",
        "DRAUnschedulablePods",
    }  # fmt: skip
    try:
        firing: dict[str, list] = {}
        end = time.monotonic() + 60
        while firing.keys() != expected and time.monotonic() < end:
            time.sleep(0.5)
            assert process.poll() is None
            try:
                alerts = asked(base, "alerts")["alerts"]
            except OSError:
                continue
            firing = {}
            for alert in alerts:
                firing.setdefault(alert["labels"]["alertname"], []).append(alert)
        assert firing.keys() == expected
        targets = {one["labels"]["job"]: one["health"] for one in asked(base, "targets")["activeTargets"]}
        assert targets == {"dractl": "up", "kubelet": "up"}
        health = {rule["name"]: rule["health"] for rule in asked(base, "rules")["groups"][0]["rules"]}
        assert health == dict.fromkeys((alert.name for alert in ALERTS), "ok")
        (pool,) = firing["DRAPoolIncomplete"]
        assert pool["annotations"]["summary"].startswith("Pools of gpu.nvidia.com that are not whole: 1.")
        pending = {one["labels"]["namespace"]: one["annotations"]["runbook"] for one in firing["DRAClaimPendingLong"]}
        assert pending.keys() == {"ml", "research"}
        assert "doesNotFit DRA" in pending["ml"] and "error DRA" in pending["research"]
        # the answer to each panel of the dashboards, as Grafana would ask
        for name in DASHBOARDS:
            for panel in dashboard(name)["panels"]:
                for target in panel["targets"]:
                    found = asked(base, "query", query=target["expr"].replace("$node", "h100-0"))["result"]
                    if "scheduler_plugin" not in target["expr"] and 'status!="complete"' not in target["expr"]:
                        assert found or "increase" in target["expr"] or "dra_resource" in target["expr"], target["expr"]
        total = asked(base, "query", query="sum(dractl_devices)")["result"][0]["value"][1]
        assert total == "230"
    finally:
        process.terminate()
        process.wait(20)
        for one in (mine, theirs):
            one.shutdown()
            one.server_close()
