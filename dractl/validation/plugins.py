"""Device plugins: DaemonSets that register a resource with the kubelet, and the ways in which they do not.

A workload counts as a device plugin if its image or name says so (``device-plugin``, ``dp-ds``, known images) or if it
mounts the kubelet's socket folder.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from dractl.rules import workloads
from dractl.validation.model import Fault, Json, Path, PodView, entries, listing, mapping, pod_views, text

SOCKETS = "/var/lib/kubelet/device-plugins"
_NAME = re.compile(
    r"device-?plugin|deviceplugin|-dp-ds|gpu-plugin|(gpu|qat|dsa|sgx|fpga|npu)-plugin\b|shared-dp", re.IGNORECASE
)
_NOT = re.compile(r"dra-driver|dra-plugin|kubelet-?plugin|config-manager", re.IGNORECASE)
_DRIVER = re.compile(r"\bdra-driver|\bdra-plugin|dra-kubelet-?plugin|resource-driver", re.IGNORECASE)
_SIDE = re.compile(r"controller|webhook|device-?plugin", re.IGNORECASE)
_MIG_FLAG = re.compile(r"--mig-strategy[= ](\w+)")


@dataclass(frozen=True, slots=True)
class Vendor:
    """What a vendor's plugin brings and which taint its nodes usually carry."""

    words: re.Pattern[str]
    resource: str
    taint: str


VENDORS = (
    Vendor(re.compile(r"nvidia|nvcr\.io", re.IGNORECASE), "nvidia.com/gpu", "nvidia.com/gpu"),
    Vendor(re.compile(r"rocm|amdgpu|\bamd\b", re.IGNORECASE), "amd.com/gpu", "amd.com/gpu"),
    Vendor(re.compile(r"habana", re.IGNORECASE), "habana.ai/gaudi", "habana.ai/gaudi"),
    Vendor(re.compile(r"neuron", re.IGNORECASE), "aws.amazon.com/neuron", "aws.amazon.com/neuron"),
    Vendor(re.compile(r"\btpu\b", re.IGNORECASE), "google.com/tpu", "google.com/tpu"),
)


def plugin_faults(value: Json) -> Iterator[Fault]:
    """Faults of a device plugin's DaemonSet (or pod)."""
    if text(value.get("kind")) not in ("DaemonSet", "Pod", "Deployment"):
        return
    for pod in pod_views(value):
        container = _plugin_container(pod)
        if container is not None:
            yield from _socket(pod, *container)
            yield from _toleration(pod, container[1])
            yield from _mig(*container, pod)
            yield from _own_resource(*container, pod)


def is_dra_driver(pod: PodView, container: Mapping[str, Any]) -> bool:
    """Whether a container is the kubelet plugin of a DRA driver, by its names."""
    names = f"{pod.name} {text(container.get('name'))} {text(container.get('image'))}"
    return _DRIVER.search(names) is not None and not _SIDE.search(names)


def _plugin_container(pod: PodView) -> tuple[Path, Mapping[str, Any]] | None:
    """The container of a pod that is a device plugin."""
    for path, container in pod.containers():
        names = f"{pod.name} {text(container.get('name'))} {text(container.get('image'))}"
        if _NAME.search(names) and not _NOT.search(names):
            return path, container
        mounts = [text(mount.get("mountPath")) for _, mount in entries(container.get("volumeMounts"))]
        if any(_same(mount, SOCKETS) for mount in mounts) and not _NOT.search(names):
            return path, container
    return None


def _same(path: str, other: str) -> bool:
    return path.rstrip("/") == other


def _socket(pod: PodView, path: Path, container: Mapping[str, Any]) -> Iterator[Fault]:
    """The kubelet's registration socket has to be where the plugin looks for it."""
    volumes = {text(volume.get("name")): (index, volume) for index, volume in entries(pod.spec.get("volumes"))}
    mounts = listing(container.get("volumeMounts"))
    seen = False
    for _, mount in entries(mounts):
        found = volumes.get(text(mount.get("name")))
        if found is None:
            continue
        index, entry = found
        host = text(mapping(entry.get("hostPath")).get("path"))
        inside = text(mount.get("mountPath"))
        if _covers(host, inside):
            seen = True
        elif _same(inside, SOCKETS) or "device-plugin" in host:
            seen = True
            what = f"the host path is {host}" if host else f"volume {text(mount.get('name'))} is no hostPath"
            message = (
                f"{what}, but the kubelet's registration socket is in {SOCKETS}: the plugin would register nowhere"
            )
            place: Path = (*pod.path, "volumes", index, "hostPath", "path") if host else (*pod.path, "volumes", index)
            yield Fault(workloads.PLUGIN_PATH, message, place, hint=f"hostPath: {{path: {SOCKETS}}}")
    if not seen:
        message = f"no volume mounts the host's {SOCKETS}: the plugin cannot register with the kubelet"
        hint = (
            f"volumes: [{{name: dp, hostPath: {{path: {SOCKETS}}}}}] and "
            f"volumeMounts: [{{name: dp, mountPath: {SOCKETS}}}]"
        )
        yield Fault(workloads.PLUGIN_PATH, message, path, hint=hint)


def _covers(host: str, inside: str) -> bool:
    """Whether a mount shows the socket folder at its usual path."""
    if _same(host, SOCKETS):
        return _same(inside, SOCKETS)
    return bool(host) and SOCKETS.startswith(host.rstrip("/") + "/") and _same(inside, host.rstrip("/"))


def _vendor(pod: PodView, container: Mapping[str, Any]) -> Vendor | None:
    names = f"{pod.name} {text(container.get('name'))} {text(container.get('image'))}"
    return next((vendor for vendor in VENDORS if vendor.words.search(names)), None)


def _toleration(pod: PodView, container: Mapping[str, Any]) -> Iterator[Fault]:
    """Nodes with accelerators are usually tainted."""
    vendor = _vendor(pod, container)
    image = text(container.get("image"))
    if vendor is None and "gpu" in f"{pod.name} {image}":
        vendor = VENDORS[0]
    if vendor is None:
        return
    for _, item in entries(pod.spec.get("tolerations")):
        key, operator = text(item.get("key")), text(item.get("operator")) or "Equal"
        if key == vendor.taint or (not key and operator == "Exists"):
            return
    message = f"no toleration for {vendor.taint}: it does not run on nodes with that taint, which GPU nodes often have"
    path: Path = (*pod.path, "tolerations") if pod.spec.get("tolerations") else pod.path
    hint = f"tolerations: [{{key: {vendor.taint}, operator: Exists, effect: NoSchedule}}]"
    yield Fault(workloads.PLUGIN_TOLERATION, message, path, key=True, hint=hint)


def _words(container: Mapping[str, Any]) -> list[tuple[Path, str]]:
    """Command and arguments with their paths."""
    out: list[tuple[Path, str]] = []
    for group in ("command", "args"):
        out += [((group, index), text(item)) for index, item in enumerate(listing(container.get(group)))]
    return out


def _environment(container: Mapping[str, Any]) -> dict[str, str]:
    return {text(item.get("name")): text(item.get("value")) for _, item in entries(container.get("env"))}


def _mig(path: Path, container: Mapping[str, Any], pod: PodView) -> Iterator[Fault]:
    """A MIG strategy needs the right to look at MIG devices."""
    where, strategy = _strategy(path, container)
    if strategy in ("single", "mixed"):
        context = mapping(container.get("securityContext"))
        capabilities = mapping(context.get("capabilities"))
        added = [text(item) for item in listing(capabilities.get("add"))]
        may = context.get("privileged") is True or "SYS_ADMIN" in added or "ALL" in added
        monitor = _environment(container).get("NVIDIA_MIG_MONITOR_DEVICES") == "all"
        lacks = []
        if not monitor:
            lacks.append("NVIDIA_MIG_MONITOR_DEVICES=all")
        if not may:
            dropped = "ALL" in [text(item) for item in listing(capabilities.get("drop"))]
            lacks.append("every capability (drop: ALL)" if dropped else "the capability SYS_ADMIN")
        if lacks:
            message = (
                f"--mig-strategy={strategy} is asked for, but the container lacks {' and '.join(lacks)}: with MIG on "
                f"the plugin gets Insufficient Permissions and the node shows nvidia.com/gpu: 0"
            )
            hint = (
                "env NVIDIA_MIG_MONITOR_DEVICES=all and securityContext: {capabilities: {add: [SYS_ADMIN]}} (or "
                "privileged: true), as the chart does for every strategy but none"
            )
            also: tuple[Path, ...] = ((*path, "securityContext"),) if context else ()
            yield Fault(workloads.MIG_RIGHTS, message, where, hint=hint, also=also)
    for place, word in _words(container):
        if word.replace(" ", "=") == "--fail-on-init-error=false":
            message = "with --fail-on-init-error=false the pod may look healthy while nothing is registered"
            yield Fault(workloads.INIT_ERROR_HIDDEN, message, (*path, *place))


def _strategy(path: Path, container: Mapping[str, Any]) -> tuple[Path, str]:
    """Where a MIG strategy is set, and to what."""
    words = _words(container)
    for index, (place, word) in enumerate(words):
        match = _MIG_FLAG.search(word)
        if match:
            return (*path, *place), match[1]
        if word == "--mig-strategy" and index + 1 < len(words):
            return (*path, *words[index + 1][0]), words[index + 1][1]
    for index, item in entries(container.get("env")):
        if item.get("name") == "MIG_STRATEGY":
            return (*path, "env", index, "value"), text(item.get("value"))
    return path, ""


def _own_resource(path: Path, container: Mapping[str, Any], pod: PodView) -> Iterator[Fault]:
    """A plugin that waits for what only it can bring."""
    vendor = _vendor(pod, container)
    if vendor is None:
        return
    for group in ("limits", "requests"):
        for resource in mapping(mapping(container.get("resources")).get(group)):
            if resource.split("/")[0] == vendor.resource.split("/")[0]:
                message = (
                    f"the plugin itself asks for {resource}: no node offers it before the plugin runs, so its pod is "
                    f"never scheduled"
                )
                yield Fault(
                    workloads.PLUGIN_ASKS_ITSELF, message, (*path, "resources", group, resource), key=True,
                    hint="remove it from the plugin's container; pods that use the device ask for it",
                )  # fmt: skip
                return
