"""A PrometheusRule for DRA: over dractl's own metrics and those of kubelet and kube-scheduler.

Every expression uses only names of ``dractl.metrics.catalogue``; a test checks it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Alert:
    """One alerting rule. ``runbook`` is what the person on call does first."""

    name: str
    expression: str
    wait: str
    severity: str
    summary: str
    runbook: str


_REASONS = (
    '{{ range query (printf "sum by (verdict, code) (dractl_claims_pending_reason{namespace=%q})" '
    "$labels.namespace) }}"
    "{{ .Labels.verdict }} {{ .Labels.code }} ({{ .Value }}); {{ end }}"
)
"""Asked when the alert is sent: why claims of its namespace wait, and how many."""

_KNOWN = "and on () (time() - dractl_read_timestamp_seconds < 300)"
"""Only while the exporter sees the cluster: what it does not serve is not gone."""

ALERTS: tuple[Alert, ...] = (
    Alert(
        "DRAClaimPendingLong",
        "dractl_claims_pending_age_seconds_max > 600",
        "2m",
        "warning",
        "A pod in {{ $labels.namespace }} has waited {{ $value | humanizeDuration }} for devices",
        f"Why claims wait there (verdict, code, claims): {_REASONS}"
        "Run: dractl get claims -n {{ $labels.namespace }}; then for a pending one: dractl explain claim NAME "
        "-n {{ $labels.namespace }}. It says device by device why, and what would help.",
    ),
    Alert(
        "DRAClaimFailsWithError",
        'sum by (namespace, code) (dractl_claims_pending_reason{verdict="error"}) > 0',
        "5m",
        "warning",
        "Claims of {{ $labels.namespace }} that fail with an error ({{ $labels.code }}): {{ $value }}",
        "Waiting does not help: a selector, a class or a pool is at fault. Run: dractl explain {{ $labels.code }}; "
        "and: dractl diagnose conflicts",
    ),
    Alert(
        "DRAPoolIncomplete",
        'sum by (driver) (dractl_pools{status!="complete"}) > 0',
        "10m",
        "critical",
        "Pools of {{ $labels.driver }} that are not whole: {{ $value }}. None of their devices is given out",
        "Run: dractl get pools --driver {{ $labels.driver }}; it tells which. Then look at the driver's log on the "
        "pool's node: the driver publishes slices, nobody else can. More: dractl explain DRA401",
    ),
    Alert(
        "DRADeviceTainted",
        'sum by (driver, node) (dractl_devices{state="tainted"}) > 0',
        "15m",
        "warning",
        "Tainted devices of {{ $labels.driver }} on {{ $labels.node }}: {{ $value }}. They are not given to new pods",
        "Run: dractl get taints; it tells the taint's key and whether a driver or a DeviceTaintRule set it. A rule: "
        "delete it when the work is done. A driver: the key says what is wrong with the hardware (Xid, ECC).",
    ),
    Alert(
        "DRADriverGone",
        f"(sum by (driver) (max_over_time(dractl_pools[6h])) unless sum by (driver) (dractl_pools)) {_KNOWN}",
        "10m",
        "critical",
        "Driver {{ $labels.driver }} published devices in the last 6 hours and publishes none now",
        "New pods that want its devices stay pending; running ones go on. See whether the driver's DaemonSet is "
        "there and its pods run: kubectl get daemonsets,pods -A | grep -i dra. Removed on purpose: silence this for "
        "6 hours.",
    ),
    Alert(
        "DRADevicesOfMissingNode",
        'sum by (node) (dractl_devices{state="node-missing"}) > 0',
        "30m",
        "info",
        "Devices published for node {{ $labels.node }}, which does not exist: {{ $value }}",
        "If the node is gone for good, delete its slices: dractl diagnose publication --select DRA404 names them.",
    ),
    Alert(
        "DRAZombieReservation",
        'sum(dractl_findings{code="DRA306"}) > 0',
        "15m",
        "warning",
        "Claims that hold devices and are used by no pod: {{ $value }}",
        "Run: dractl diagnose --select DRA306; it names them. kube-controller-manager takes such reservations back; "
        "if they stay, look at its log for resourceclaim-controller.",
    ),
    Alert(
        "DRADeviceGivenOutTwice",
        'sum(dractl_findings{code=~"DRA231|DRA233|DRA234|DRA235"}) > 0',
        "1m",
        "critical",
        "Devices, counters or capacities given out more than once: {{ $value }}",
        "Two workloads use the same hardware now. Run: dractl diagnose --select DRA231,DRA233,DRA234,DRA235. End "
        "one of the pods that it names.",
    ),
    Alert(
        "DRAPrepareErrors",
        "sum by (driver_name, method_name) (increase("
        'dra_grpc_operations_duration_seconds_count{grpc_status_code!="OK"}[10m])) > 0',
        "5m",
        "warning",
        'Driver {{ $labels.driver_name }} failed about {{ $value | printf "%.0f" }} calls of {{ $labels.method_name '
        "}} in "
        "10 minutes",
        "NodePrepareResources: pods stay in ContainerCreating; NodeUnprepareResources: they stay in Terminating. Run: "
        "kubectl get events -A | grep -i FailedPrepareDynamicResources; it holds the driver's own text. Then see the "
        "driver's log on that node.",
    ),
    Alert(
        "DRAPrepareSlow",
        "histogram_quantile(0.99, sum by (le) (rate(dra_operations_duration_seconds_bucket"
        '{operation_name="PrepareResources"}[10m]))) > 30',
        "10m",
        "warning",
        "Preparing devices takes {{ $value | humanizeDuration }} or more for one pod in a hundred (40s is the most "
        "that kubelet measures)",
        "Pods start late. Compare the nodes: topk(5, rate(dra_operations_duration_seconds_sum[10m])); then look at "
        "the driver's kubelet plugin on the slowest.",
    ),
    Alert(
        "DRASchedulerSlow",
        "sum(rate(scheduler_plugin_execution_duration_seconds_sum"
        '{plugin="DynamicResources",extension_point="Filter"}[10m])) / '
        "sum(rate(scheduler_plugin_execution_duration_seconds_count"
        '{plugin="DynamicResources",extension_point="Filter"}[10m])) > 0.1',
        "15m",
        "warning",
        "The scheduler searches {{ $value | humanizeDuration }} for devices on each node that it tries",
        "All pods wait for it, not only those with claims. Claims with many devices and constraints take long; "
        "after 10 s a node is given up. Run: dractl get claims -A; then dractl explain claim NAME -n NAMESPACE on "
        "the largest pending one.",
    ),
    Alert(
        "DRAUnschedulablePods",
        'sum(scheduler_unschedulable_pods{plugin="DynamicResources"}) > 0',
        "30m",
        "info",
        "Pods that cannot be scheduled because of their claims: {{ $value }}",
        "Run: dractl diagnose conflicts; it says why each of them waits.",
    ),
    Alert(
        "DractlStale",
        "time() - dractl_read_timestamp_seconds > 300",
        "5m",
        "warning",
        "dractl's numbers are as of {{ $value | humanizeDuration }} ago; the alerts that rest on them say nothing new",
        "The exporter runs and cannot see the cluster. Its /healthz says why; its rights: dractl auth. An age of "
        "decades: it has not read anything since it started.",
    ),
    Alert(
        "DractlAbsent",
        "absent(dractl_read_timestamp_seconds)",
        "10m",
        "warning",
        "Nothing serves dractl's metrics; the alerts that rest on them are blind",
        "See whether the exporter (dractl metrics) runs, and whether Prometheus has it as a target (Status, Targets).",
    ),
)


def prometheus_rule(namespace: str = "monitoring") -> dict[str, Any]:
    """The PrometheusRule object of the Prometheus operator."""
    return {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PrometheusRule",
        "metadata": {"name": "dractl", "namespace": namespace, "labels": {"app.kubernetes.io/name": "dractl"}},
        "spec": rule_file(),
    }


def rule_file() -> dict[str, Any]:
    """The rules as a file for Prometheus itself."""
    rules = [
        {
            "alert": one.name,
            "expr": one.expression,
            "for": one.wait,
            "labels": {"severity": one.severity},
            "annotations": {"summary": one.summary, "runbook": one.runbook},
        }
        for one in ALERTS
    ]
    return {"groups": [{"name": "dractl", "rules": rules}]}
