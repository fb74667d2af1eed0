"""Every metric that dractl serves: name, meaning, labels and what bounds its number of series.

Alerts and dashboards that dractl writes may use these names and those of Kubernetes' own components listed below.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Definition:
    """A gauge, unless ``kind`` says counter. ``bound`` says what limits the number of series.

    ``gives_up`` names the labels whose values are not limited by dractl itself, in the order in which they are emptied
    where a metric would have too many series (see ``dractl.metrics.bounds``); ``merge`` tells how values become one.
    """

    name: str
    help: str
    labels: tuple[str, ...]
    bound: str
    gives_up: tuple[str, ...] = ()
    kind: str = "gauge"
    merge: str = "sum"


DEVICES = Definition(
    "dractl_devices",
    "Published devices of current pool generations by state: free, used, shared, full, tainted, counters-exhausted, "
    "pool-incomplete, node-missing.",
    ("driver", "pool", "node", "state"),
    "pools x nodes that use them x states that occur",
    ("pool", "node", "driver"),
)
CLASS_DEVICES = Definition(
    "dractl_class_devices",
    "Devices that a DeviceClass selects, by state.",
    ("class", "state"),
    "classes x states that occur",
    ("class",),
)
FREE_TOGETHER = Definition(
    "dractl_class_free_on_one_node_max",
    "Most free devices that a DeviceClass selects on any one node: what a claim for several can get, however many are "
    "free in all.",
    ("class",),
    "classes",
    ("class",),
    merge="max",
)
POOLS = Definition("dractl_pools", "Pools by completeness.", ("driver", "status"), "drivers x 3", ("driver",))
CLAIMS = Definition(
    "dractl_claims",
    "ResourceClaims by state: pending, allocated, reserved, deleting. A claim of several classes counts once, under "
    "the class of its first request.",
    ("namespace", "class", "state"),
    "namespaces x classes x 4 that occur",
    ("class", "namespace"),
)
PENDING_AGE = Definition(
    "dractl_claims_pending_age_seconds_max",
    "Age of the oldest claim that is not allocated and that a pod waits for. Pods held back on purpose (scheduling "
    "gates) do not count.",
    ("namespace",),
    "namespaces with pending claims",
    ("namespace",),
    merge="max",
)
PENDING_REASONS = Definition(
    "dractl_claims_pending_reason",
    "Claims that pods wait for, by verdict of the allocator and by the code of the worst finding (none: empty).",
    ("namespace", "verdict", "code"),
    "namespaces with pending claims x 5 verdicts x codes that occur",
    ("namespace",),
)
FINDINGS = Definition(
    "dractl_findings", "Findings of dractl diagnose.", ("code", "severity", "category"), "codes that occur"
)
CHECKS = Definition(
    "dractl_checks", "Checks of dractl diagnose by outcome: passed, found, skipped, failed.", ("outcome",), "4"
)
TOPOLOGY = Definition(
    "dractl_pods_topology",
    "Running pods with a NIC and another device, by how near the nearest pair is: root (one PCIe root), numa (one "
    "NUMA node), apart, unknown.",
    ("quality",),
    "4",
)
READ_TIME = Definition(
    "dractl_read_timestamp_seconds",
    "Unix time as of which all the other numbers are known to be right: while all kinds are followed, that of the "
    "last refresh; else when the last of the missing ones was heard of.",
    (),
    "1",
)
KIND_TIME = Definition(
    "dractl_kind_timestamp_seconds",
    "Unix time as of which the objects of a kind are known. Only with a running cluster.",
    ("kind",),
    "kinds",
)
READ_DURATION = Definition("dractl_read_duration_seconds", "How long the last computing of the numbers took.", (), "1")
READ_ERRORS = Definition(
    "dractl_read_errors_total", "Refreshes that failed, or found kinds that cannot be reached.", (), "1", kind="counter"
)
UNSEEN = Definition("dractl_unseen_kinds", "Kinds that could not be read (partial rights).", ("kind",), "kinds")
LEFT_OUT = Definition(
    "dractl_labels_left_out",
    "1 for each label of a metric that is empty because the metric would have had too many series.",
    ("metric", "label"),
    "labels that can be given up",
)
INFO = Definition("dractl_build_info", "1, with the version of dractl.", ("version",), "1")

OWN: tuple[Definition, ...] = (
    DEVICES,
    CLASS_DEVICES,
    FREE_TOGETHER,
    POOLS,
    CLAIMS,
    PENDING_AGE,
    PENDING_REASONS,
    FINDINGS,
    CHECKS,
    TOPOLOGY,
    READ_TIME,
    KIND_TIME,
    READ_DURATION,
    READ_ERRORS,
    UNSEEN,
    LEFT_OUT,
    INFO,
)

KUBERNETES: dict[str, tuple[str, ...]] = {
    # kubelet
    "dra_operations_duration_seconds": ("operation_name", "is_error"),
    "dra_grpc_operations_duration_seconds": ("driver_name", "method_name", "grpc_status_code"),
    "dra_resource_claims_in_use": ("driver_name",),
    # kube-scheduler
    "scheduler_unschedulable_pods": ("plugin", "profile"),
    "scheduler_plugin_execution_duration_seconds": ("plugin", "extension_point", "status"),
    # kube-controller-manager
    "resourceclaim_controller_resource_claims": ("allocated", "admin_access", "source"),
    "resourceclaim_controller_creates_total": ("status", "admin_access"),
    "workqueue_depth": ("name",),
}
"""Metrics of Kubernetes 1.36's own components that concern DRA, with their labels (histograms without suffix)."""
