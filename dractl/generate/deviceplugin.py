"""The DaemonSet of a vendor's device plugin as the API server accepts it, with no more rights than it needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dractl.errors import DractlError
from dractl.explain.words import listing
from dractl.generate.manifest import Json, Manifest, Said, manifest, metadata

PLUGIN_DIRECTORY = "/var/lib/kubelet/device-plugins"


@dataclass(frozen=True, slots=True)
class Plugin:
    """A vendor's plugin. ``image`` is empty where no release is known; ``mounts``: host paths besides the sockets."""

    name: str
    resource: str
    driver: str
    driver_text: str
    image: str = ""
    repository: str = ""
    mounts: tuple[tuple[str, bool], ...] = ()
    """Path and whether it is read-only."""


PLUGINS: Mapping[str, Plugin] = {
    "nvidia": Plugin(
        "nvidia-device-plugin",
        "nvidia.com/gpu",
        "gpu.nvidia.com",
        "chart dra-driver-nvidia-gpu, DaemonSet dra-driver-nvidia-gpu-kubelet-plugin, image "
        "registry.k8s.io/dra-driver-nvidia/dra-driver-nvidia-gpu",
        image="nvcr.io/nvidia/k8s-device-plugin:v0.20.0",
    ),
    "amd": Plugin(
        "amdgpu-device-plugin",
        "amd.com/gpu",
        "gpu.amd.com",
        "project ROCm/k8s-gpu-dra-driver",
        repository="rocm/k8s-device-plugin",
        mounts=(("/sys", True),),
    ),
    "intel": Plugin(
        "intel-gpu-plugin",
        "gpu.intel.com/i915",
        "gpu.intel.com",
        "project intel/intel-resource-drivers-for-kubernetes",
        repository="intel/intel-gpu-plugin",
        mounts=(("/dev/dri", True), ("/sys/class/drm", True), ("/var/run/cdi", False)),
    ),
}
"""Source: the plugins' own deployments (NVIDIA 0.20.0)."""


def device_plugin(
    vendor: str, name: str | None, namespace: str, image: str | None, node_selector: Mapping[str, str]
) -> Manifest:
    """The DaemonSet.

    Raises:
        DractlError: for an unknown vendor, and for one without a known image when none is given.
    """
    plugin = PLUGINS.get(vendor)
    if plugin is None:
        raise DractlError(f"--vendor {vendor}: no device plugin is known", f"Known are {listing(PLUGINS, 6)}.")
    chosen = image or plugin.image
    if not chosen:
        raise DractlError(
            f"--vendor {vendor}: which release of {plugin.repository} is wanted is not known",
            f"Give it with its tag: --image {plugin.repository}:TAG.",
        )
    if ":" not in chosen.rpartition("/")[2] and "@" not in chosen:
        raise DractlError(f"--image {chosen}: has no tag", "Name a release, or each start may bring another one.")
    labels = {"app.kubernetes.io/name": name or plugin.name}
    spec: Json = {
        "selector": Said({"matchLabels": labels}, "required, and it cannot be changed later"),
        "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1}},
        "template": {
            "metadata": {"labels": Said(labels, "have to match the selector")},
            "spec": _pod(plugin, chosen, node_selector),
        },
    }
    tree = {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": metadata(name or plugin.name, namespace, labels),
        "spec": spec,
    }
    head = [
        f"The device plugin for {plugin.resource}. With DRA its place is taken by driver {plugin.driver}",
        f"({plugin.driver_text}).",
        "One of the two per node: both would give out the same devices, each without knowing of the other.",
        f"It asks for no {plugin.resource} itself: that would take a device from the workloads.",
    ]
    return manifest(tree, [" ".join(head[:2]), *head[2:]])


def _pod(plugin: Plugin, image: str, node_selector: Mapping[str, str]) -> Json:
    mounts = [{"name": "device-plugins", "mountPath": PLUGIN_DIRECTORY}]
    volumes: list[Json] = [
        {
            "name": "device-plugins",
            "hostPath": {
                "path": Said(PLUGIN_DIRECTORY, "where the kubelet's socket for registration is"),
                "type": Said("Directory", "fails where there is none, rather than make an empty one"),
            },
        }
    ]
    for path, read_only in plugin.mounts:
        title = path.strip("/").replace("/", "-")
        mounts.append({"name": title, "mountPath": path, **({"readOnly": True} if read_only else {})})  # type: ignore[dict-item]
        volumes.append({"name": title, "hostPath": {"path": path}})
    container = {
        "name": plugin.name,
        "image": image,
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": Said(["ALL"], "writing a socket needs none")},
        },
        "resources": {"requests": {"cpu": "50m", "memory": "64Mi"}, "limits": {"memory": "256Mi"}},
        "volumeMounts": mounts,
    }
    return {
        "automountServiceAccountToken": Said(False, "it talks to the kubelet, not to the API server"),
        "priorityClassName": Said("system-node-critical", "without it no device of the node can be given out"),
        "nodeSelector": dict(node_selector) or None,
        "tolerations": [
            Said(
                {"key": plugin.resource, "operator": "Exists", "effect": "NoSchedule"},
                "nodes with such devices are often kept free by this taint",
            )
        ],
        "securityContext": {"seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [container],
        "volumes": volumes,
    }
