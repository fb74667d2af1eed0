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


ALERTS: tuple[Alert, ...] = (
    Alert(
        "DRAClaimPendingLong",
        "dractl_claims_pending_age_seconds_max > 600",
        "2m",
        "warning",
        "A pod in {{ $labels.namespace }} has waited over 10 minutes for a device",
        "Run: dractl get claims -n {{ $labels.namespace }}; then for the pending one: dractl explain claim NAME "
        "-n {{ $labels.namespace }}. It says device by device why, and what would help.",
    ),
    Alert(
        "DRAClaimFailsWithError",
        'sum by (code) (dractl_claims_pending_reason{verdict="error"}) > 0',
        "5m",
        "warning",
        "{{ $value }} claims fail with an error of the allocator ({{ $labels.code }})",
        "Waiting does not help: a selector, a class or a pool is at fault. Run: dractl diagnose conflicts; and: dractl "
        "explain {{ $labels.code }}",
    ),
    Alert(
        "DRAPoolIncomplete",
        'sum by (driver) (dractl_pools{status!="complete"}) > 0',
        "10m",
        "critical",
        "{{ $value }} pools of {{ $labels.driver }} are not complete; none of their devices is given out",
        "Run: dractl diagnose publication. Then look at the driver's log on the node that it names.",
    ),
    Alert(
        "DRADeviceTainted",
        'sum by (driver, node) (dractl_devices{state="tainted"}) > 0',
        "15m",
        "warning",
        "{{ $value }} devices of {{ $labels.driver }} on {{ $labels.node }} are tainted",
        "Run: dractl get taints; and: dractl diagnose health. An Xid or ECC fault needs the node to be serviced.",
    ),
    Alert(
        "DRADriverGone",
        "sum by (driver) (dractl_devices offset 1h) unless sum by (driver) (dractl_devices)",
        "10m",
        "critical",
        "Driver {{ $labels.driver }} published devices an hour ago and publishes none now",
        "See whether the driver's DaemonSet is there and its pods run: kubectl get daemonsets,pods -A | grep -i dra.",
    ),
    Alert(
        "DRADevicesOfMissingNode",
        'sum by (node) (dractl_devices{state="node-missing"}) > 0',
        "30m",
        "info",
        "{{ $value }} devices are published for node {{ $labels.node }}, which does not exist",
        "If the node is gone for good, delete its slices: dractl diagnose publication names them.",
    ),
    Alert(
        "DRAZombieReservation",
        'sum(dractl_findings{code="DRA306"}) > 0',
        "15m",
        "warning",
        "{{ $value }} claims hold devices that no pod uses",
        "Run: dractl diagnose conflicts --select DRA306. If they stay, look at the resource claim "
        "controller in kube-controller-manager.",
    ),
    Alert(
        "DRADeviceGivenOutTwice",
        'sum(dractl_findings{code=~"DRA231|DRA233|DRA234|DRA235"}) > 0',
        "1m",
        "critical",
        "{{ $value }} devices, counters or capacities are given out more than once",
        "Run: dractl diagnose conflicts --select DRA231,DRA233,DRA234,DRA235. End one of the pods that it names.",
    ),
    Alert(
        "DRAPrepareErrors",
        "sum by (driver_name, method_name) (increase("
        'dra_grpc_operations_duration_seconds_count{grpc_status_code!="OK"}[10m])) > 0',
        "5m",
        "warning",
        "Driver {{ $labels.driver_name }} failed {{ $value }} calls of {{ $labels.method_name }} in 10 minutes",
        "Pods stay in ContainerCreating. Run: dractl diagnose health; the pods' events hold the driver's own text.",
    ),
    Alert(
        "DRAPrepareSlow",
        "histogram_quantile(0.99, sum by (le) (rate(dra_operations_duration_seconds_bucket"
        '{operation_name="PrepareResources"}[10m]))) > 30',
        "10m",
        "warning",
        "Preparing devices takes over {{ $value }} s for one pod in a hundred",
        "Look at the kubelet plugin of the driver on the nodes with slow pods.",
    ),
    Alert(
        "DRASchedulerSlow",
        "histogram_quantile(0.99, sum by (le) (rate(scheduler_plugin_execution_duration_seconds_bucket"
        '{plugin="DynamicResources",extension_point="Filter"}[10m]))) > 1',
        "15m",
        "warning",
        "The scheduler's search for devices takes over {{ $value }} s on a node",
        "Large claims with constraints over many devices are slow; after 10 s a node is given up. Run: dractl explain "
        "claim on the waiting claims.",
    ),
    Alert(
        "DRAUnschedulablePods",
        'sum(scheduler_unschedulable_pods{plugin="DynamicResources"}) > 0',
        "30m",
        "info",
        "{{ $value }} pods cannot be scheduled because of their claims",
        "Run: dractl diagnose conflicts",
    ),
    Alert(
        "DractlStale",
        "time() - dractl_read_timestamp_seconds > 300",
        "5m",
        "warning",
        "dractl has not read the cluster for {{ $value }} s; the other alerts of it say nothing new",
        "See the exporter's /healthz and its rights: dractl auth",
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
