"""DRA18x: pods and DaemonSets around devices: device plugins, drivers, claims beside extended resources."""

from __future__ import annotations

from dractl.rules.finding import Rule, Severity

_WARNING, _INFO = Severity.WARNING, Severity.INFO

PLUGIN_PATH = Rule(
    "DRA180",
    "plugin-socket-path",
    "A device plugin that cannot reach the kubelet's socket",
    _WARNING,
    cause="Device plugins register at /var/lib/kubelet/device-plugins/kubelet.sock on the host. With another host "
    "path, or none, the plugin runs and registers nowhere; the node shows no resource.",
    fix="Mount hostPath /var/lib/kubelet/device-plugins at the same path.",
    reference="https://kubernetes.io/docs/concepts/extend-kubernetes/compute-storage-net/device-plugins/",
)
PLUGIN_TOLERATION = Rule(
    "DRA181",
    "plugin-toleration",
    "A device plugin that does not tolerate the taint of its nodes",
    _INFO,
    cause="Nodes with GPUs are often tainted with the name of their resource to keep other pods away; a plugin without "
    "the toleration does not run there.",
    fix="Add `{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}` (or the resource's own name).",
)
MIG_RIGHTS = Rule(
    "DRA182",
    "mig-without-rights",
    "A device plugin told to serve MIG that may not look at it",
    _WARNING,
    cause="With a MIG strategy the plugin has to read MIG devices of other processes, which takes the capability "
    "SYS_ADMIN (or privileged) and NVIDIA_MIG_MONITOR_DEVICES=all. Otherwise NVML answers Insufficient Permissions and "
    "the node shows `nvidia.com/gpu: 0`.",
    fix="Set the environment variable and `securityContext: {capabilities: {add: [SYS_ADMIN]}}`, as the chart does.",
    reference="NVIDIA/k8s-device-plugin chart",
)
CLAIM_AND_RESOURCE = Rule(
    "DRA184",
    "claim-beside-extended-resource",
    "A pod that asks for the same hardware twice",
    _WARNING,
    cause="The device plugin and the DRA driver do not know of each other. The pod needs both, and if both manage the "
    "same devices, one device may be given out twice.",
    fix="Keep one of the two.",
)
PLUGIN_ASKS_ITSELF = Rule(
    "DRA186",
    "plugin-asks-for-its-resource",
    "A device plugin that asks for the resource that it brings",
    _WARNING,
    cause="Its pod waits for a node that offers the resource, and no node offers it before the plugin runs.",
    fix="Remove the resource from the plugin's own container.",
)
INIT_ERROR_HIDDEN = Rule(
    "DRA187",
    "plugin-hides-failure",
    "A device plugin that stays up when it fails",
    _INFO,
    cause="With --fail-on-init-error=false the pod looks healthy while nothing is registered.",
    fix="Leave the flag at its default where all nodes of the DaemonSet have the hardware; watch the node's "
    "allocatable.",
)

DRIVER_FOLDERS = Rule(
    "DRA188",
    "driver-cannot-register",
    "A DRA driver that cannot register with the kubelet",
    _WARNING,
    cause="kubelet finds DRA drivers by sockets in /var/lib/kubelet/plugins_registry on the host. A driver that does "
    "not mount that folder runs and is never registered.",
    fix="Mount hostPath /var/lib/kubelet/plugins_registry and /var/lib/kubelet/plugins at the same paths.",
    reference="https://kubernetes.io/docs/concepts/extend-kubernetes/compute-storage-net/device-plugins/",
)

RULES: tuple[Rule, ...] = (
    PLUGIN_PATH,
    PLUGIN_TOLERATION,
    MIG_RIGHTS,
    CLAIM_AND_RESOURCE,
    PLUGIN_ASKS_ITSELF,
    INIT_ERROR_HIDDEN,
    DRIVER_FOLDERS,
)
