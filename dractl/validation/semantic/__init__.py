"""The API server's rules, one module a kind; ``KINDS`` tells which functions belong to a kind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dractl.validation import defaults as default_values
from dractl.validation import pod_defaults
from dractl.validation.semantic import (
    claim,
    deviceclass,
    pod,
    poolstatusrequest,
    slice,
    taintrule,
    template,
    workloads,
)
from dractl.validation.semantic.scope import Scope

Json = dict[str, Any]


def _no_warnings(_: Json, __: int) -> list[str]:
    return []


@dataclass(frozen=True, slots=True)
class Rules:
    """How one kind is handled."""

    namespaced: bool
    check: Callable[[Scope, Json], None]
    check_update: Callable[[Scope, Json, Json], None]
    warnings: Callable[[Json, int], list[str]] = _no_warnings
    defaults: Callable[[str, str, Json, str, int], None] = default_values.set_defaults
    partial: bool = False
    """Whether only a part of the server's rules is known."""


def _workload(check: Callable[[Scope, Json], None], check_update: Callable[[Scope, Json, Json], None]) -> Rules:
    return Rules(True, check, check_update, _no_warnings, pod_defaults.set_workload_defaults, partial=True)


KINDS = {
    "DeviceClass": Rules(False, deviceclass.check, deviceclass.check_update),
    "ResourceClaim": Rules(True, claim.check, claim.check_update),
    "ResourceClaimTemplate": Rules(True, template.check, template.check_update),
    "ResourceSlice": Rules(False, slice.check, slice.check_update, slice.warnings),
    "DeviceTaintRule": Rules(False, taintrule.check, taintrule.check_update),
    "ResourcePoolStatusRequest": Rules(False, poolstatusrequest.check, poolstatusrequest.check_update),
    "Pod": Rules(True, pod.check, pod.check_update, _no_warnings, pod_defaults.set_pod_defaults, partial=True),
    "DaemonSet": _workload(workloads.check_daemonset, workloads.check_daemonset_update),
    "Deployment": _workload(workloads.check_deployment, workloads.check_deployment_update),
    "StatefulSet": _workload(workloads.check_statefulset, workloads.check_statefulset_update),
    "Job": _workload(workloads.check_job, workloads.check_job_update),
    "CronJob": _workload(workloads.check_cronjob, workloads.check_cronjob_update),
}
