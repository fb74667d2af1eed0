"""Defaults of pods, pod templates and the workloads that have them, as the API server sets them.

Functions change a decoded object in place. Source: pkg/apis/{core,apps,batch}/v1/defaults.go.
"""

from __future__ import annotations

import re
from typing import Any

from dractl.kube.quantity import Quantity

Json = dict[str, Any]

TEMPLATES: dict[str, tuple[str, ...]] = {
    "Deployment": ("spec", "template"),
    "DaemonSet": ("spec", "template"),
    "StatefulSet": ("spec", "template"),
    "Job": ("spec", "template"),
    "CronJob": ("spec", "jobTemplate", "spec", "template"),
}
"""Where a workload keeps its pod template."""

CONTAINER_LISTS = ("initContainers", "containers", "ephemeralContainers")
_REFERENCE = re.compile(
    r"(?:[a-zA-Z0-9](?:[a-zA-Z0-9.-]*[a-zA-Z0-9])?(?::[0-9]+)?/)?"
    r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*)*"
    r"(?::(?P<tag>\w[\w.-]{0,127}))?(?P<digest>@[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,})?",
    re.ASCII,
)
_REPOSITORY_MAX = 255
_MODES = {"secret": 0o644, "configMap": 0o644, "downwardAPI": 0o644, "projected": 0o644}
_VOLUME_TEXTS: dict[str, Json] = {
    "iscsi": {"iscsiInterface": "default"},
    "rbd": {"pool": "rbd", "user": "admin", "keyring": "/etc/ceph/keyring"},
    "scaleIO": {"storageMode": "ThinProvisioned", "fsType": "xfs"},
    "azureDisk": {"cachingMode": "ReadWrite", "fsType": "ext4", "readOnly": False, "kind": "Shared"},
}
_NOT_READY = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")


def set_pod_defaults(api_version: str, kind: str, obj: Json, now: str, minor: int) -> None:
    """Defaults of a Pod: more than those of a template."""
    spec = obj.setdefault("spec", {})
    for name in ("containers", "initContainers"):
        for container in spec.get(name) or ():
            limits = container.get("resources", {}).get("limits")
            if limits is not None:
                requests = container["resources"].setdefault("requests", {})
                for resource, amount in limits.items():
                    requests.setdefault(resource, amount)
    spec.setdefault("enableServiceLinks", True)
    if spec.get("hostNetwork"):
        for name in ("containers", "initContainers"):
            for container in spec.get(name) or ():
                for port in container.get("ports") or ():
                    if not port.get("hostPort"):
                        port["hostPort"] = port.get("containerPort", 0)
    set_pod_spec_defaults(spec)


def set_workload_defaults(api_version: str, kind: str, obj: Json, now: str, minor: int) -> None:
    """Defaults of a workload and of its pod template."""
    spec = obj.setdefault("spec", {})
    template: Json = obj
    for part in TEMPLATES[kind]:
        template = template.setdefault(part, {})
    if kind == "Job":
        _job(spec, template, obj)
    else:
        _WORKLOADS[kind](spec)
    if kind == "StatefulSet" and minor >= 37 and "rollingUpdate" in spec["updateStrategy"]:
        spec["updateStrategy"]["rollingUpdate"].setdefault("maxUnavailable", 1)
    set_pod_spec_defaults(template.setdefault("spec", {}))


def set_pod_spec_defaults(spec: Json) -> None:
    """Defaults of a pod spec."""
    for name, value in (
        ("dnsPolicy", "ClusterFirst"),
        ("restartPolicy", "Always"),
        ("schedulerName", "default-scheduler"),
    ):
        if not spec.get(name):
            spec[name] = value
    spec.setdefault("securityContext", {})
    spec.setdefault("terminationGracePeriodSeconds", 30)
    account = spec.get("serviceAccountName") or spec.get("serviceAccount")
    if account:
        spec["serviceAccountName"] = spec["serviceAccount"] = account
    for volume in spec.get("volumes") or ():
        _volume(volume)
    for name in CONTAINER_LISTS:
        for container in spec.get(name) or ():
            _container(container)
    _round(spec.get("overhead"))
    for name in ("limits", "requests"):
        _round(spec.get("resources", {}).get(name))


def _container(container: Json) -> None:
    if not container.get("imagePullPolicy"):
        container["imagePullPolicy"] = "Always" if image_tag(container.get("image", "")) == "latest" else "IfNotPresent"
    if not container.get("terminationMessagePath"):
        container["terminationMessagePath"] = "/dev/termination-log"
    if not container.get("terminationMessagePolicy"):
        container["terminationMessagePolicy"] = "File"
    for port in container.get("ports") or ():
        if not port.get("protocol"):
            port["protocol"] = "TCP"
    for variable in container.get("env") or ():
        source = variable.get("valueFrom", {})
        _field_reference(source)
        if "fileKeyRef" in source:
            source["fileKeyRef"].setdefault("optional", False)
    for name in ("limits", "requests"):
        _round(container.get("resources", {}).get(name))
    for name in ("livenessProbe", "readinessProbe", "startupProbe"):
        if name in container:
            _probe(container[name])
    for handler in container.get("lifecycle", {}).values():
        if isinstance(handler, dict):
            _http_get(handler)


def image_tag(image: str) -> str:
    """The tag of an image: ``latest`` where none is given, empty with a digest or for a text that is no reference."""
    found = _REFERENCE.fullmatch(image)
    if found is None or len(_repository(image.partition("@")[0])) > _REPOSITORY_MAX:
        return ""
    return found["tag"] or ("" if found["digest"] else "latest")


def _repository(name: str) -> str:
    """The image's name without registry and tag."""
    first, slash, rest = name.partition("/")
    registry = slash and ("." in first or ":" in first or first == "localhost" or first != first.lower())
    path = rest if registry else name
    path = path.rpartition(":")[0] or path
    if "/" not in path and (not registry or first in ("docker.io", "index.docker.io")):
        return f"library/{path}"
    return path


def _probe(probe: Json) -> None:
    for name, value in (("timeoutSeconds", 1), ("periodSeconds", 10), ("successThreshold", 1), ("failureThreshold", 3)):
        if not probe.get(name):
            probe[name] = value
    _http_get(probe)
    if "grpc" in probe:
        probe["grpc"].setdefault("service", "")


def _http_get(handler: Json) -> None:
    if "httpGet" in handler:
        action = handler["httpGet"]
        action["path"] = action.get("path") or "/"
        action["scheme"] = action.get("scheme") or "HTTP"


def _field_reference(source: Json) -> None:
    if "fieldRef" in source and not source["fieldRef"].get("apiVersion"):
        source["fieldRef"]["apiVersion"] = "v1"


def _volume(volume: Json) -> None:
    if not any(name != "name" for name in volume):
        volume["emptyDir"] = {}
    for name, mode in _MODES.items():
        if name in volume:
            volume[name].setdefault("defaultMode", mode)
    for name, texts in _VOLUME_TEXTS.items():
        if name in volume:
            for field, value in texts.items():
                if volume[name].get(field) in (None, ""):
                    volume[name][field] = value
    if "hostPath" in volume:
        volume["hostPath"].setdefault("type", "")
    for item in volume.get("downwardAPI", {}).get("items") or ():
        _field_reference(item)
    for source in volume.get("projected", {}).get("sources") or ():
        for item in source.get("downwardAPI", {}).get("items") or ():
            _field_reference(item)
        if "serviceAccountToken" in source:
            source["serviceAccountToken"].setdefault("expirationSeconds", 3600)
    template = volume.get("ephemeral", {}).get("volumeClaimTemplate")
    if template is not None:
        template.setdefault("spec", {}).setdefault("volumeMode", "Filesystem")
    if "image" in volume and not volume["image"].get("pullPolicy"):
        latest = image_tag(volume["image"].get("reference", "")) == "latest"
        volume["image"]["pullPolicy"] = "Always" if latest else "IfNotPresent"


def _round(amounts: dict[str, Quantity] | None) -> None:
    """Resource amounts are rounded up to thousandths."""
    for name, amount in (amounts or {}).items():
        if amount.nano % 10**6:
            milli = -(-amount.nano // 10**6)
            assert amounts is not None
            amounts[name] = Quantity(milli * 10**6, amount.notation)


# --- workloads ------------------------------------------------------------------------------------------------------


def _deployment(spec: Json) -> None:
    spec.setdefault("replicas", 1)
    strategy = spec.setdefault("strategy", {})
    strategy["type"] = strategy.get("type") or "RollingUpdate"
    if strategy["type"] == "RollingUpdate":
        rolling = strategy.setdefault("rollingUpdate", {})
        rolling.setdefault("maxUnavailable", "25%")
        rolling.setdefault("maxSurge", "25%")
    spec.setdefault("revisionHistoryLimit", 10)
    spec.setdefault("progressDeadlineSeconds", 600)


def _daemonset(spec: Json) -> None:
    strategy = spec.setdefault("updateStrategy", {})
    strategy["type"] = strategy.get("type") or "RollingUpdate"
    if strategy["type"] == "RollingUpdate":
        rolling = strategy.setdefault("rollingUpdate", {})
        rolling.setdefault("maxUnavailable", 1)
        rolling.setdefault("maxSurge", 0)
    spec.setdefault("revisionHistoryLimit", 10)


def _statefulset(spec: Json) -> None:
    spec["podManagementPolicy"] = spec.get("podManagementPolicy") or "OrderedReady"
    strategy = spec.setdefault("updateStrategy", {})
    if not strategy.get("type"):
        strategy["type"] = "RollingUpdate"
        strategy.setdefault("rollingUpdate", {})
    if strategy["type"] == "RollingUpdate" and "rollingUpdate" in strategy:
        strategy["rollingUpdate"].setdefault("partition", 0)
    retention = spec.setdefault("persistentVolumeClaimRetentionPolicy", {})
    for name in ("whenDeleted", "whenScaled"):
        retention[name] = retention.get(name) or "Retain"
    spec.setdefault("replicas", 1)
    spec.setdefault("revisionHistoryLimit", 10)
    for claim in spec.get("volumeClaimTemplates") or ():
        claim.setdefault("spec", {}).setdefault("volumeMode", "Filesystem")
        status = claim.setdefault("status", {})
        status["phase"] = status.get("phase") or "Pending"


def _job(spec: Json, template: Json, obj: Json) -> None:
    _job_spec_conditions(spec)
    if "completions" not in spec and "parallelism" not in spec:
        spec["completions"] = spec["parallelism"] = 1
    spec.setdefault("parallelism", 1)
    spec.setdefault("backoffLimit", 2**31 - 1 if "backoffLimitPerIndex" in spec else 6)
    labels = template.get("metadata", {}).get("labels")
    meta = obj.setdefault("metadata", {})
    if labels is not None and not meta.get("labels"):
        meta["labels"] = dict(labels)
    spec.setdefault("completionMode", "NonIndexed")
    spec.setdefault("suspend", False)
    spec.setdefault("podReplacementPolicy", "Failed" if "podFailurePolicy" in spec else "TerminatingOrFailed")
    spec.setdefault("manualSelector", False)


def _job_spec_conditions(spec: Json) -> None:
    for rule in spec.get("podFailurePolicy", {}).get("rules") or ():
        for pattern in rule.get("onPodConditions") or ():
            pattern["status"] = pattern.get("status") or "True"


def _cronjob(spec: Json) -> None:
    _job_spec_conditions(spec.get("jobTemplate", {}).get("spec", {}))
    spec["concurrencyPolicy"] = spec.get("concurrencyPolicy") or "Allow"
    spec.setdefault("suspend", False)
    spec.setdefault("successfulJobsHistoryLimit", 3)
    spec.setdefault("failedJobsHistoryLimit", 1)


_WORKLOADS = {"Deployment": _deployment, "DaemonSet": _daemonset, "StatefulSet": _statefulset, "CronJob": _cronjob}

# --- what the server does on top ------------------------------------------------------------------------------------


def pod_status(spec: Json) -> Json:
    """The status of a new pod."""
    status: Json = {"phase": "Pending", "qosClass": quality_class(spec)}
    if spec.get("schedulingGates"):
        reason = {"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}
        message = "Scheduling is blocked due to non-empty scheduling gates"
        status["conditions"] = [{**reason, "message": message}]
    return status


def quality_class(spec: Json) -> str:
    """Guaranteed, Burstable or BestEffort, by the cpu and memory of the containers or of the pod."""
    requests: dict[str, int] = {}
    limits: dict[str, int] = {}
    guaranteed = True
    holders = [spec] if "resources" in spec else [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
    for holder in holders:
        resources = holder.get("resources", {})
        for name, total in (("requests", requests), ("limits", limits)):
            for resource in ("cpu", "memory"):
                amount = (resources.get(name) or {}).get(resource)
                if amount is not None and amount.nano > 0:
                    total[resource] = total.get(resource, 0) + amount.nano
        given = resources.get("limits") or {}
        positive = [name for name in ("cpu", "memory") if name in given and given[name].nano > 0]
        guaranteed = guaranteed and len(positive) == 2
    if not requests and not limits:
        return "BestEffort"
    return "Guaranteed" if guaranteed and requests == limits else "Burstable"


def admit_pod(spec: Json) -> None:
    """What the default admission plugins add to a pod: tolerations of lost nodes, priority."""
    tolerations = spec.get("tolerations") or []
    added = []
    for key in _NOT_READY:
        known = any(
            (t.get("key") in (key, None, "")) and t.get("effect") in ("NoExecute", None, "") for t in tolerations
        )
        if not known:
            added.append({"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300})
    if added:
        spec["tolerations"] = [*tolerations, *added]
    if not spec.get("priorityClassName"):
        spec.setdefault("priority", 0)
        spec.setdefault("preemptionPolicy", "PreemptLowerPriority")


UID = "00000000-0000-0000-0000-000000000000"
"""Stands for the UID that the server gives a new object."""


def job_selector(obj: Json) -> None:
    """Selector and labels that the server makes for a job, unless ``manualSelector`` is set."""
    spec = obj["spec"]
    if spec.get("manualSelector"):
        return
    meta = obj["metadata"]
    labels = spec["template"].setdefault("metadata", {}).setdefault("labels", {})
    for name in ("job-name", "batch.kubernetes.io/job-name"):
        labels.setdefault(name, meta.get("name", ""))
    for name in ("controller-uid", "batch.kubernetes.io/controller-uid"):
        labels.setdefault(name, UID)
    selector = spec.setdefault("selector", {}).setdefault("matchLabels", {})
    selector.setdefault("batch.kubernetes.io/controller-uid", UID)
