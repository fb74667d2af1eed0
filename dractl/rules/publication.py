"""DRA4xx: what drivers publish: slices, pools, devices and their attributes; and the state they report."""

from __future__ import annotations

from dractl.rules.finding import Rule, Severity

_ERROR, _WARNING, _INFO = Severity.ERROR, Severity.WARNING, Severity.INFO
_SLICE = ("ResourceSlice",)

POOL_INCOMPLETE = Rule(
    "DRA401",
    "pool-incomplete",
    "A pool has not all of its slices",
    _ERROR,
    cause="resourceSliceCount says how many slices of the current generation there are; as long as another number is "
    "there the scheduler gives out no device of the pool, and a request for all devices stops at it on every node that "
    "sees the pool.",
    fix="See the driver's log on that node: it was interrupted while publishing, or the API server refused a slice.",
    example="resourceSliceCount 2, and one slice of generation 3",
    reference="resource.k8s.io/v1 ResourcePool.resourceSliceCount",
    needs=_SLICE,
)
POOL_INVALID = Rule(
    "DRA402",
    "pool-invalid",
    "A pool contradicts itself",
    _ERROR,
    cause="A device or counter set is there twice, or a device draws from a counter that does not exist. The API "
    "server checks each slice alone and accepts them; the scheduler gives out no device of the pool.",
    fix="This is a fault of the driver: report it, with the names below.",
    example="device gpu-3 draws on counter set gpu-3-counter-set, which no slice has",
    reference="KEP-4815",
    needs=_SLICE,
)
STALE_SLICES = Rule(
    "DRA403",
    "stale-slices",
    "Slices of a former generation are still there",
    _WARNING,
    cause="A driver deletes them after it has published the new generation. Their devices do not count any more.",
    fix="See why the driver did not delete them; deleting them by hand does no harm.",
    example="generation 12 is published, and a slice of generation 11 still lists gpu-3",
    reference="resource.k8s.io/v1 ResourcePool.generation",
    needs=_SLICE,
)
SLICE_OF_UNKNOWN_NODE = Rule(
    "DRA404",
    "slice-of-unknown-node",
    "A slice is for a node that does not exist",
    _WARNING,
    cause="The node was removed and nobody deleted the driver's slice. It does no harm to scheduling, but its devices "
    "are counted by dashboards, and a new node of that name would get them.",
    fix="Delete the slice, if the node is gone for good: kubectl delete resourceslice NAME.",
    example="a slice with nodeName h100-gone, and no node of that name",
    reference="resource.k8s.io/v1 ResourceSlice spec.nodeName",
    needs=("Node", "ResourceSlice"),
)
SLICE_OF_UNREADY_NODE = Rule(
    "DRA405",
    "slice-of-unready-node",
    "Devices are published on a node that is not ready",
    _WARNING,
    cause="kubelet has not reported for some time. The slices stay, so the devices look free.",
    fix="Look at the node; its devices cannot be used until it is ready again.",
    example="Ready is Unknown for an hour, and eight GPUs are still published",
    reference="core/v1 Node status.conditions",
    needs=("Node", "ResourceSlice"),
)
CLASS_SELECTS_NOTHING = Rule(
    "DRA406",
    "class-selects-nothing",
    "A DeviceClass selects no published device",
    _INFO,
    cause="Its driver publishes nothing yet, or the selector asks for what no device carries.",
    fix="Nothing, if the hardware is still to come. Else compare the selector with `dractl cel fields`.",
    example="device.driver == 'gpu.amd.co'",
    reference="resource.k8s.io/v1 DeviceClass spec.selectors",
    needs=("DeviceClass", "ResourceSlice"),
)
CLASS_SELECTOR_ERROR = Rule(
    "DRA407",
    "class-selector-error",
    "A DeviceClass has a selector that fails on published devices",
    _ERROR,
    cause="An error of a selector on one device ends the scheduling of every pod that uses the class, on all nodes.",
    fix="Guard the attribute: ask for device.driver first, then whether the attribute is there.",
    example="device.attributes['gpu.example.com'].model on devices without model",
    reference="resource.k8s.io/v1 DeviceClass spec.selectors",
    needs=("DeviceClass", "ResourceSlice"),
)
DEVICES_WITHOUT_CLASS = Rule(
    "DRA408",
    "devices-without-class",
    "Devices are published that no DeviceClass selects",
    _INFO,
    cause="Without a class nobody can ask for them.",
    fix="Add a class, for example with `dractl generate deviceclass`, unless the devices are meant to be hidden.",
    example="devices of type daemon, and classes for type channel only",
    reference="resource.k8s.io/v1 DeviceClass spec.selectors",
    needs=("DeviceClass", "ResourceSlice"),
)
DRIVER_POD_TROUBLE = Rule(
    "DRA409",
    "driver-pod-trouble",
    "A pod of a driver is not well",
    _WARNING,
    cause="Without its driver a node prepares no claim, and its slices are deleted after a while or grow old.",
    fix="kubectl describe and logs of the pod.",
    example="pod nvidia-dra-driver-x is in CrashLoopBackOff on the node",
    reference="core/v1 Pod status.containerStatuses",
    needs=("Pod", "ResourceSlice"),
)
ATTRIBUTE_TYPE_DIFFERS = Rule(
    "DRA410",
    "attribute-type-differs",
    "One attribute has several types in one driver's devices",
    _WARNING,
    cause="Values of different types are never equal: a constraint between such devices cannot be met, and a selector "
    "fails on one kind of them. Usually nodes run different releases of the driver.",
    fix="Bring all nodes to one release of the driver.",
    example="index is an int on n1 and a string on n2",
    reference="resource.k8s.io/v1 DeviceAttribute",
    needs=_SLICE,
)
WHOLE_AND_PARTS = Rule(
    "DRA411",
    "whole-and-parts-published",
    "A whole device is published beside its parts without shared counters",
    _WARNING,
    cause="The scheduler may give out the whole and a part of it, since nothing tells it that they exclude each other.",
    fix="Update the driver, or keep the class of whole devices off devices that are partitioned.",
    example="gpu-0 beside gpu-0-mig-1g10gb-19-0, without consumesCounters",
    reference="KEP-4815; kubernetes-sigs/dra-driver-nvidia-gpu",
    needs=_SLICE,
)
DEVICE_NEVER_FITS = Rule(
    "DRA412",
    "counters-too-small",
    "A device needs more of a counter than its set has",
    _WARNING,
    cause="Such a device can never be allocated.",
    fix="This is a fault of the driver: report it.",
    example="a device that takes 48Gi of a counter of 40Gi",
    reference="KEP-4815, Device.consumesCounters",
    needs=_SLICE,
)
LOCAL_FOR_ALL = Rule(
    "DRA413",
    "local-devices-for-all-nodes",
    "Hardware of one node is published for all nodes",
    _WARNING,
    cause="The slice has allNodes where it should have nodeName: every node seems to have the device, so that pods are "
    "placed where it is not, and their preparation fails.",
    fix="This is a fault of the driver: its slices of devices inside a node have to set spec.nodeName.",
    example="pool gpu-node-1 with a PCI address in its devices, and spec.allNodes: true",
    reference="resource.k8s.io/v1 ResourceSlice spec.nodeName, spec.allNodes",
    needs=("Node", "ResourceSlice"),
)
ATTRIBUTE_LOST = Rule(
    "DRA414",
    "attribute-lost",
    "Some devices lack an attribute that all others of their kind carry",
    _WARNING,
    cause="Selectors that read the attribute fail on these devices, and a failing selector stops the pod on every node "
    "that sees them; constraints refuse them. Usually the driver could not read the hardware there, or nodes run "
    "different releases of the driver.",
    fix="Restart the driver on the nodes named and see its log; bring all nodes to one release of the driver.",
    example="87 GPUs carry productName, gpu-3 of node n7 does not",
    reference="resource.k8s.io/v1 Device.attributes",
    needs=_SLICE,
)
IDENTITY_TWICE = Rule(
    "DRA415",
    "identity-twice",
    "One device is published by two nodes",
    _WARNING,
    cause="A UUID or serial number is unique in the world. The device was moved and the former node's slice is still "
    "there, a node was renamed, or a disk image carries what a driver had remembered.",
    fix="See which node has the device (dractl discover), and restart the driver on the other one or delete its slice.",
    example="uuid GPU-1234 in the pools of nodes n1 and n1-old",
    reference="resource.k8s.io/v1 Device.attributes",
    needs=_SLICE,
)
NOTHING_PUBLISHED_THERE = Rule(
    "DRA416",
    "driver-publishes-nothing",
    "A driver's pod runs on a node for which it publishes nothing",
    _INFO,
    cause="There is no such hardware on the node, or the driver does not see it: its kernel driver is missing, a "
    "device plugin or a virtual machine has it, or the API server refuses its slices.",
    fix="Compare with the hardware: dractl discover on the node; see the log of the pod.",
    example="DaemonSet dranet is ready on 10 nodes, and 9 of them have slices of dra.net",
    reference="resource.k8s.io/v1 ResourceSlice",
    needs=("Pod", "ResourceSlice"),
)
DEVICES_TAINTED = Rule(
    "DRA420",
    "devices-tainted",
    "Devices are tainted by their driver",
    _WARNING,
    cause="The driver found the device unfit (NoSchedule), or wants its users gone (NoExecute).",
    fix="Bring the device back to health; the driver's documentation says what the taint's key means.",
    example="taint gpu.nvidia.com/xid=79:NoSchedule on gpu-5",
    reference="KEP-5055, Device.taints",
    needs=_SLICE,
)
TAINT_RULE_ACTIVE = Rule(
    "DRA421",
    "taint-rule-active",
    "A DeviceTaintRule taints devices",
    _INFO,
    cause="An administrator keeps devices from being given out, or evicts their users.",
    fix="Delete the rule when the work is done.",
    example="deviceSelector with pool h100-4, taint example.com/maintenance:NoSchedule",
    reference="KEP-5055, DeviceTaintRule",
    needs=("DeviceTaintRule", "ResourceSlice"),
)
DEVICE_CONDITION = Rule(
    "DRA422",
    "device-condition",
    "A driver reports an allocated device as not ready",
    _WARNING,
    cause="status.devices of the claim has a condition Ready=False written by the driver.",
    fix="See the condition's message and the driver's log on the node.",
    example="status.devices[].conditions: Ready=False, reason LinkDown",
    reference="KEP-4817, ResourceClaim status.devices",
    needs=("ResourceClaim",),
)
DEVICE_UNHEALTHY = Rule(
    "DRA423",
    "device-unhealthy",
    "kubelet reports a device in use as unhealthy",
    _WARNING,
    cause="The driver told kubelet so; the pod keeps the device.",
    fix="Move the pod away and see to the device.",
    example="resourceID gpu-3, health Unhealthy",
    reference="Pod status.containerStatuses[].allocatedResourcesStatus",
    needs=("Pod",),
)
BINDING_FAILED = Rule(
    "DRA424",
    "binding-condition",
    "A device that has to be made ready before its pod starts is not",
    _WARNING,
    cause="The device carries binding conditions: the scheduler waits for its driver to set them in status.devices "
    "before it binds the pod. A failure condition is set, or they have not come for longer than the scheduler waits "
    "(ten minutes), after which it allocates anew.",
    fix="See the condition's message and the log of the driver's controller that attaches devices.",
    example="condition dra.example.com/attach-failed is True",
    reference="KEP-5007, resource.k8s.io/v1 Device.bindingConditions",
    needs=("ResourceClaim",),
)

RULES: tuple[Rule, ...] = (
    POOL_INCOMPLETE,
    POOL_INVALID,
    STALE_SLICES,
    SLICE_OF_UNKNOWN_NODE,
    SLICE_OF_UNREADY_NODE,
    CLASS_SELECTS_NOTHING,
    CLASS_SELECTOR_ERROR,
    DEVICES_WITHOUT_CLASS,
    DRIVER_POD_TROUBLE,
    ATTRIBUTE_TYPE_DIFFERS,
    WHOLE_AND_PARTS,
    DEVICE_NEVER_FITS,
    LOCAL_FOR_ALL,
    ATTRIBUTE_LOST,
    IDENTITY_TWICE,
    NOTHING_PUBLISHED_THERE,
    DEVICES_TAINTED,
    TAINT_RULE_ACTIVE,
    DEVICE_CONDITION,
    DEVICE_UNHEALTHY,
    BINDING_FAILED,
)
