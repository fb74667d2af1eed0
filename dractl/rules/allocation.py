"""DRA2xx: why a claim cannot be allocated."""

from __future__ import annotations

from dractl.rules import conflicts
from dractl.rules.finding import Rule, Severity

_ERROR, _WARNING, _INFO = Severity.ERROR, Severity.WARNING, Severity.INFO

UNKNOWN_CLASS = Rule(
    "DRA201",
    "unknown-class",
    "A request names a DeviceClass that does not exist",
    _ERROR,
    cause="The API server accepts any class name; the scheduler finds out and stops with `request R: device class C "
    "does not exist`. The class is misspelt, or the driver (or the part of it) that brings the class is not installed.",
    fix="Correct the name, or install what brings the class. A claim's spec cannot be changed: make it anew, and "
    "change the template that it came from.",
    example="deviceClassName: gpu.nvidia.con",
    reference="resource.k8s.io/v1 ResourceClaim spec.devices.requests[].exactly.deviceClassName",
    needs=("DeviceClass", "ResourceClaim"),
)
NOTHING_PUBLISHED = Rule(
    "DRA202",
    "nothing-published",
    "No device of the driver that a class selects is published anywhere",
    _ERROR,
    cause="A class only selects among published devices. Without a ResourceSlice of its driver the claim waits for "
    "ever and the scheduler says no more than `cannot allocate all claims`.",
    fix="See why the driver publishes nothing: is its DaemonSet there, on which nodes do its pods run, and what "
    "does its log say about ResourceSlices.",
    needs=("DeviceClass", "ResourceSlice"),
)
SELECTS_NOTHING = Rule(
    "DRA203",
    "selects-nothing",
    "No published device matches a request's selectors",
    _ERROR,
    cause="Each selector is evaluated on each device of the class; none of them gives true. Usually a value is written "
    "another way than the driver publishes it (a product name, a nominal memory size).",
    fix="Compare the selector with the values that the devices carry, and write the value as published.",
    example="device.attributes['gpu.nvidia.com'].productName == 'A100'",
    reference="resource.k8s.io/v1 DeviceSelector",
    needs=("DeviceClass", "ResourceClaim", "ResourceSlice"),
)
SELECTOR_ERROR = Rule(
    "DRA204",
    "selector-error",
    "A selector fails on a device instead of answering",
    _ERROR,
    cause="An attribute that a device does not carry is no false but an error (`no such key`), and an error on any "
    "device that the scheduler looks at ends the attempt for all nodes, also for those where the claim would fit.",
    fix="Ask whether the attribute is there first: `'index' in device.attributes['d'] && ...`, or use "
    "`device.attributes['d'].?index.orValue(0)`; or select by an attribute that every device carries.",
    example="device.attributes['gpu.nvidia.com'].memory == '80Gi'",
    reference="resource.k8s.io/v1 CELDeviceSelector",
    needs=("DeviceClass", "ResourceClaim", "ResourceSlice"),
)
JUST_MISSED = Rule(
    "DRA205",
    "just-missed",
    "An amount is asked for that devices miss by a little",
    _WARNING,
    cause="Drivers publish the memory that the hardware reports, which lies below the nominal size: an H100 80GB has "
    "81559Mi, 79.6Gi.",
    fix="Ask for a little less than the nominal size, for example 79Gi where 80Gi is meant.",
    needs=("ResourceClaim", "ResourceSlice"),
)
CONSTRAINT_ATTRIBUTE_MISSING = Rule(
    "DRA206",
    "constraint-attribute-missing",
    "A constraint names an attribute that devices do not carry",
    _ERROR,
    cause="matchAttribute and distinctAttribute refuse a device that lacks the attribute; it does not count as equal "
    "to anything. Drivers name one thing in several ways (`resource.kubernetes.io/numaNode`, `dra.net/numaNode`).",
    fix="Use a name that all devices of the constrained requests carry, or update the driver that lacks it, or drop "
    "the constraint.",
    example="matchAttribute dra.net/numaNode on GPUs that publish resource.kubernetes.io/numaNode",
    reference="resource.k8s.io/v1 DeviceConstraint",
    needs=("ResourceClaim", "ResourceSlice"),
)
POD_MAY_NOT = Rule(
    "DRA207",
    "pod-may-not-use-node",
    "The claim fits only on nodes that its pod may not use",
    _ERROR,
    cause="Devices decide together with the pod's own rules: cordons, node taints, nodeSelector, node affinity and "
    "room. The devices are free on some nodes, and the pod may run only on others.",
    fix="Change the pod's rule or the node's state, whichever was not meant.",
    needs=("Node", "Pod", "ResourceClaim", "ResourceSlice"),
)
NOT_TOGETHER = Rule(
    "DRA208",
    "fits-alone-not-together",
    "Each of a pod's claims fits, but not all of them on one node",
    _ERROR,
    cause="All unallocated claims of a pod are allocated together on one node; devices that one claim takes are gone "
    "for the next.",
    fix="Look for a node that has enough for all of them, or spread the devices over several pods.",
    needs=("Pod", "ResourceClaim", "ResourceSlice"),
)
MORE_THAN_A_NODE = Rule(
    "DRA209",
    "more-than-a-node-has",
    "More devices are asked for than any node has",
    _ERROR,
    cause="All devices of a claim have to be usable on one node. No node has as many matching devices, free or not, so "
    "that waiting does not help.",
    fix="Ask for at most as many devices as the largest node has, in several pods with a claim each.",
    needs=("ResourceClaim", "ResourceSlice"),
)
TAINTED = Rule(
    "DRA210",
    "device-tainted",
    "Free devices that match are tainted, and the request does not tolerate it",
    _WARNING,
    cause="A driver or an administrator has tainted the device (DeviceTaintRule, or the slice itself), mostly because "
    "it is broken or under maintenance. Only a toleration in the claim's request makes it usable.",
    fix="Bring the device back to health, or end the maintenance; tolerate the taint only if the work may run on such "
    "a device.",
    reference="KEP-5055",
    needs=("ResourceClaim", "ResourceSlice"),
)
TOLERATION_MISPLACED = Rule(
    "DRA211",
    "toleration-misplaced",
    "A device taint is tolerated in the pod, where it has no effect",
    _WARNING,
    cause="spec.tolerations of a pod are about nodes. A taint of a device is tolerated only by "
    "spec.devices.requests[].exactly.tolerations of the claim.",
    fix="Move the toleration into the claim's request if the device may be used in spite of the taint.",
    needs=("Pod", "ResourceClaim", "ResourceSlice"),
)
COUNTERS_TAKEN = Rule(
    "DRA212",
    "counters-taken",
    "Devices are free but what they share is taken",
    _WARNING,
    cause="Devices of one pool may draw from shared counters, as the MIG partitions of a GPU do. A device is refused "
    "once a counter that it needs is used up by other devices, even if the sums would suffice (fragmentation).",
    fix="Free a claim that holds a device on the same counters; place small partitions together.",
    reference="KEP-4815",
    needs=("ResourceClaim", "ResourceSlice"),
)
CHARGED_IN_FULL = Rule(
    "DRA213",
    "charged-in-full",
    "A claim that names no amount holds all of a shareable device",
    _WARNING,
    cause="A request without capacity.requests on a device with allowMultipleAllocations is charged the policy's "
    "default, or the whole amount where the driver sets none.",
    fix="Name an amount in capacity.requests of the other claims and make them anew.",
    reference="KEP-5075",
    needs=("ResourceClaim", "ResourceSlice"),
)
ALL_NEEDS_COMPLETE_POOLS = Rule(
    "DRA214",
    "all-needs-complete-pools",
    "A request for all devices meets a pool that is not complete",
    _ERROR,
    cause="For allocationMode All every pool that a node sees has to be complete and valid, also pools of other "
    "drivers. Otherwise the allocator fails with an error, which ends the attempt for all nodes.",
    fix="Find out why the driver of that pool does not publish all its slices; meanwhile keep the pod away from the "
    "node, or ask for a count.",
    needs=("ResourceClaim", "ResourceSlice"),
)
CONSTRAINT_NOT_MET = Rule(
    "DRA215",
    "constraint-not-met",
    "Devices are usable one by one, but not under a constraint",
    _WARNING,
    cause="A constraint binds the devices of several requests (or of one with a count): all of them have to carry the "
    "same value of an attribute, or different ones. The devices that can be taken do not go together so.",
    fix="Free the partner of a device that is left over, or drop or loosen the constraint.",
    reference="resource.k8s.io/v1 DeviceConstraint",
    needs=("ResourceClaim", "ResourceSlice"),
)
SHARED_DEVICE_NAME = Rule(
    "DRA216",
    "shared-device-name",
    "Devices of several nodes have one and the same name",
    _ERROR,
    cause="Kubernetes knows a device by driver, pool and name. A driver that uses one pool name on several nodes makes "
    "their devices one: in use on one node is in use on all.",
    fix="The driver has to use a pool name of its own on each node, usually the node's name.",
    example="pool ports with a device port0, published by n1, n2 and n3",
    reference="resource.k8s.io/v1 ResourceSlice spec.pool.name",
    needs=("ResourceSlice",),
)
OUTDATED_SLICE = Rule(
    "DRA217",
    "outdated-slice",
    "A device is listed only in a slice of a former generation",
    _WARNING,
    cause="Of a pool only the slices of the highest generation count. A device that the driver no longer lists is "
    "gone, although an old slice still shows it.",
    fix="See in the driver's log why it published the new generation without the device, and why the old slice was "
    "not deleted.",
    needs=("ResourceSlice",),
)
TOO_MANY_RESULTS = Rule(
    "DRA218",
    "too-many-results",
    "A claim asks for more devices than an allocation can hold",
    _ERROR,
    cause="An allocation holds at most 32 results; the API server accepts larger counts, the scheduler refuses them.",
    fix="Ask for at most 32 devices in one claim.",
    needs=("ResourceClaim",),
)
NEEDS_AN_ATTRIBUTE_NAME = Rule(
    "DRA219",
    "attribute-is-elsewhere",
    "A selector asks for a name that exists, but as something else",
    _INFO,
    cause="Attributes and capacities are kept apart, and each driver has names of its own: `memory` of a GPU is a "
    "capacity, and its name has the driver's domain.",
    fix="Read the name where it is published: `device.capacity['gpu.nvidia.com'].memory`.",
    needs=("ResourceClaim", "ResourceSlice"),
)
FULL_OF_HOLDERS = Rule(
    "DRA220",
    "all-in-use",
    "All devices that match are in use",
    _INFO,
    cause="Every device that a request could take is allocated to another claim. A device stays taken as long as the "
    "claim is allocated, whether a pod uses it or not.",
    fix="Wait for one of the holders, end one of them, or add devices.",
    needs=("ResourceClaim", "ResourceSlice"),
)
NO_NODE_HAS_LABEL = Rule(
    "DRA221",
    "no-node-matches-pod",
    "No node carries what a pod's node selector asks for",
    _ERROR,
    cause="The pod's nodeSelector or required node affinity names a label or value that no node has.",
    fix="Correct the value, or add a node that has it.",
    needs=("Node", "Pod"),
)
CLASS_SHADOWED = Rule(
    "DRA222",
    "extended-resource-twice",
    "Several DeviceClasses serve one extended resource",
    _WARNING,
    cause="Where several classes carry one extendedResourceName, the one that was created last is used (of equally old "
    "ones the first by name); the others are without effect.",
    fix="Give the name to one class only.",
    example="classes a and b both with extendedResourceName: nvidia.com/gpu",
    reference="KEP-5004",
    needs=("DeviceClass",),
)

RULES: tuple[Rule, ...] = (
    UNKNOWN_CLASS,
    NOTHING_PUBLISHED,
    SELECTS_NOTHING,
    SELECTOR_ERROR,
    JUST_MISSED,
    CONSTRAINT_ATTRIBUTE_MISSING,
    POD_MAY_NOT,
    NOT_TOGETHER,
    MORE_THAN_A_NODE,
    TAINTED,
    TOLERATION_MISPLACED,
    COUNTERS_TAKEN,
    CHARGED_IN_FULL,
    ALL_NEEDS_COMPLETE_POOLS,
    CONSTRAINT_NOT_MET,
    SHARED_DEVICE_NAME,
    OUTDATED_SLICE,
    TOO_MANY_RESULTS,
    NEEDS_AN_ATTRIBUTE_NAME,
    FULL_OF_HOLDERS,
    NO_NODE_HAS_LABEL,
    CLASS_SHADOWED,
    *conflicts.RULES,
)
