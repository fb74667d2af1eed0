"""What stands beside DRA objects in a chart: roles and quotas whose words name nothing, and drivers' folders.

These objects are another API group's business; only what concerns resource.k8s.io is looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dractl.rules import advice as rules
from dractl.rules import workloads
from dractl.validation.model import Fault, Json, Path, PodView, entries, listing, mapping, pod_views, text
from dractl.validation.plugins import is_dra_driver
from dractl.validation.settings import GROUP, Settings

_KINDS = {
    "resourceclaims": ("status", "binding", "driver"),
    "resourceclaimtemplates": (),
    "resourceslices": (),
    "deviceclasses": (),
    "devicetaintrules": ("status",),
    "resourcepoolstatusrequests": ("status",),
}
"""The resources of resource.k8s.io and their subresources."""

_GONE = {
    "resourceclasses": "1.31 (deviceclasses took its place)",
    "resourceclassparameters": "1.31",
    "resourceclaimparameters": "1.31",
    "podschedulingcontexts": "1.32",
    "podschedulings": "1.28",
}
_CLUSTER_WIDE = ("resourceslices", "deviceclasses", "devicetaintrules", "resourcepoolstatusrequests")
_GATE = "DRAResourceClaimGranularStatusAuthorization"
_REGISTRY = "/plugins_registry"
_ROOTS = ("/var/lib/kubelet", "/var/lib", "/")


def around_faults(value: Json, settings: Settings) -> list[Fault]:
    """Faults of a role, a quota or a driver's workload; other objects have none."""
    kind, version = text(value.get("kind")), text(value.get("apiVersion"))
    if kind in ("Role", "ClusterRole") and version.startswith("rbac.authorization.k8s.io/"):
        return [*_role_words(value, kind), *_driver_verbs(value, settings)]
    if kind == "ResourceQuota" and version == "v1":
        return list(_quota(value))
    return [fault for pod in pod_views(value) for fault in _folders(pod)] if kind == "DaemonSet" else []


# --- roles ----------------------------------------------------------------------------------------------------------


def _role_words(value: Json, kind: str) -> Iterator[Fault]:
    for number, rule in entries(value.get("rules")):
        path: Path = ("rules", number)
        groups = [text(one) for one in listing(rule.get("apiGroups"))]
        for index, group in enumerate(groups):
            if group.startswith(f"{GROUP}/"):
                message = f'"{group}" is no API group, so the rule grants nothing: a group is named without its version'
                yield Fault(rules.ROLE_WORDS, message, (*path, "apiGroups", index), hint=f"write {GROUP}")
        if not any(group == GROUP or group.startswith(f"{GROUP}/") for group in groups):
            continue
        for index, item in enumerate(listing(rule.get("resources"))):
            yield from _resource(text(item), (*path, "resources", index), kind, alone=groups == [GROUP])


def _resource(name: str, path: Path, kind: str, alone: bool) -> Iterator[Fault]:
    from dractl.validation.versions import closest

    main, slash, sub = name.partition("/")
    if not main or main == "*" or not alone:
        return
    if main in _GONE:
        message = f"{GROUP} has no {main} since Kubernetes {_GONE[main]}: this part of the rule grants nothing"
        yield Fault(rules.ROLE_WORDS, message, path)
    elif main not in _KINDS:
        close = closest(main, list(_KINDS)) or next((one for one in _KINDS if one.startswith(main.lower())), "")
        hint = f"did you mean {close}{slash}{sub}? Resources are named in the plural and in lower case" if close else ""
        message = f"{GROUP} has no resource {main}: this part of the rule grants nothing"
        yield Fault(rules.ROLE_WORDS, message, path, hint=hint or f"it has {', '.join(_KINDS)}")
    elif sub and sub != "*" and sub not in _KINDS[main]:
        message = f"{main} have no subresource {sub}: this part of the rule grants nothing"
        yield Fault(rules.ROLE_WORDS, message, path)
    elif kind == "Role" and main in _CLUSTER_WIDE:
        message = f"{main} belong to no namespace: a Role cannot grant rights on them"
        yield Fault(rules.ROLE_WORDS, message, path, hint="use a ClusterRole with a ClusterRoleBinding")


def _driver_verbs(value: Json, settings: Settings) -> Iterator[Fault]:
    """A driver's role that may write the status of claims, but not what 1.36 asks for beside it."""
    if not settings.enabled(_GATE):
        return
    verbs: dict[str, set[str]] = {}
    place: Path = ("rules",)
    for number, rule in entries(value.get("rules")):
        groups = [text(one) for one in listing(rule.get("apiGroups"))]
        if GROUP not in groups and "*" not in groups:
            continue
        for resource in listing(rule.get("resources")):
            verbs.setdefault(text(resource), set()).update(text(one) for one in listing(rule.get("verbs")))
            if resource == "resourceclaims/status":
                place = ("rules", number)
    writes = verbs.get("resourceclaims/status", set()) & {"update", "patch", "*"}
    publishes = verbs.get("resourceslices", set()) & {"create", "*"}
    granted = verbs.get("resourceclaims/driver", set()) | verbs.get("*", set())
    if not writes or not publishes or any(one == "*" or "-node:" in one for one in granted):
        return
    message = (
        f"the role may write resourceclaims/status, but not resourceclaims/driver: from 1.36 on (gate {_GATE}, on by "
        "default) changing status.devices of a driver needs both, so the driver's status updates are refused"
    )
    hint = (
        "add a rule: apiGroups [resource.k8s.io], resources [resourceclaims/driver], verbs [associated-node:update, "
        "associated-node:patch], resourceNames [NAME OF THE DRIVER]"
    )
    yield Fault(rules.DRIVER_ROLE, message, place, hint=hint)


# --- quotas ---------------------------------------------------------------------------------------------------------

_PER_CLASS = ".deviceclass.resource.k8s.io/"


def _quota(value: Json) -> Iterator[Fault]:
    for key in mapping(mapping(value.get("spec")).get("hard")):
        name = text(key)
        path: Path = ("spec", "hard", name)
        if name in ("count/resourceclaims", "count/resourceclaimtemplates"):
            kind = name.rpartition("/")[2]
            message = f"{name} counts nothing: kinds of other groups than the core are named with their group"
            yield Fault(rules.QUOTA_KEY, message, path, key=True, hint=f"write count/{kind}.{GROUP}")
        elif _PER_CLASS in name and not name.endswith(f"{_PER_CLASS}devices"):
            class_name, _, unit = name.partition(_PER_CLASS)
            message = f"{name} limits nothing: what is counted of a class is called devices, not {unit}"
            yield Fault(rules.QUOTA_KEY, message, path, key=True, hint=f"write {class_name}{_PER_CLASS}devices")
        elif name.endswith(".deviceclass.resource.k8s.io"):
            message = f"{name} limits nothing: the name ends in /devices"
            yield Fault(rules.QUOTA_KEY, message, path, key=True, hint=f"write {name}/devices")


# --- drivers --------------------------------------------------------------------------------------------------------


def _folders(pod: PodView) -> Iterator[Fault]:
    """A DRA driver's kubelet plugin has to reach the folder where kubelet looks for registrations."""
    container = next(((path, one) for path, one in pod.containers() if is_dra_driver(pod, one)), None)
    hosts = _host_paths(pod)
    if container is None or not hosts:
        return
    if any(host.endswith(_REGISTRY) or host in _ROOTS or host.endswith("/kubelet") for host in hosts):
        return
    message = (
        "no volume mounts the host's /var/lib/kubelet/plugins_registry, where kubelet looks for the sockets by which "
        "DRA drivers register: kubelet would say that the driver is not registered"
    )
    hint = (
        "mount hostPath /var/lib/kubelet/plugins_registry and /var/lib/kubelet/plugins (the socket of the driver "
        "itself) at the same paths; /var/lib/kubelet/device-plugins is for device plugins only"
    )
    yield Fault(workloads.DRIVER_FOLDERS, message, (*pod.path, "volumes"), key=True, hint=hint)


def _host_paths(pod: PodView) -> list[str]:
    volumes: list[Mapping[str, Any]] = [volume for _, volume in entries(pod.spec.get("volumes"))]
    paths = [text(mapping(volume.get("hostPath")).get("path")).rstrip("/") for volume in volumes]
    return [path or "/" for path, volume in zip(paths, volumes, strict=True) if "hostPath" in volume]
