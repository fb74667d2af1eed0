"""DRA23x: conflicts between claims of a cluster. Part of the range of allocation, which lists them."""

from __future__ import annotations

from dractl.rules.finding import Rule, Severity

_ERROR, _WARNING, _INFO = Severity.ERROR, Severity.WARNING, Severity.INFO

CLAIM_PENDING = Rule(
    "DRA230",
    "claim-pending",
    "A claim that pods wait for is not allocated",
    _ERROR,
    cause="No node has what the claim asks for and its pods may use, or something it names is missing. For information "
    "only where it would fit now, is kept back by a scheduling gate, or has waited for less than a minute.",
    example="a claim for 4 GPUs; no node that the pod may use has more than 2 free",
    fix="See what `dractl explain claim NAME -n NAMESPACE` says device by device, and what would help.",
    reference="dractl explain claim; resource.k8s.io/v1 ResourceClaim status.allocation",
    needs=("ResourceClaim",),
)
DEVICE_HELD_TWICE = Rule(
    "DRA231",
    "device-held-twice",
    "Two claims hold one device that cannot be shared",
    _ERROR,
    cause="The scheduler never does this. Two schedulers, a restored backup, or an allocation written by hand do.",
    fix="End the pods of one of the claims and delete that claim; find out who wrote the second allocation.",
    example="claims ml/a and ml/b both hold gpu.nvidia.com/h100-1/gpu-0",
    reference="resource.k8s.io/v1 ResourceClaim status.allocation",
    needs=("ResourceClaim",),
)
DEVICE_GONE = Rule(
    "DRA232",
    "allocated-device-gone",
    "A claim holds a device that no slice publishes any more",
    _WARNING,
    cause="The node or the device is gone, or the driver publishes it under another name. The claim keeps the name, "
    "and pods that still run on the device are not told.",
    fix="See whether the node and its driver are well. If the device is gone for good, delete the pods; the claim is "
    "then released.",
    example="claim ml/train holds gpu-7, and the node's slices end at gpu-6",
    reference="resource.k8s.io/v1 ResourceClaim status.allocation.devices.results",
    needs=("ResourceClaim", "ResourceSlice"),
)
COUNTERS_OVERDRAWN = Rule(
    "DRA233",
    "counters-overdrawn",
    "More of a shared counter is given out than there is",
    _ERROR,
    cause="Devices that exclude each other (a whole GPU and its partition) are both allocated. Known causes: "
    "kube-scheduler 1.36.0 did not count allocations of devices with allowMultipleAllocations (mended in 1.36.1), and "
    "a driver that changes counters of allocated devices.",
    fix="End one of the pods and make its claim anew; update the scheduler. Until then nothing more is given out of "
    "the whole pool, because every counter of a pool is checked.",
    example="80Gi of memory in the set, 40Gi and 80Gi given out of it",
    reference="KEP-4815, ResourceSlice spec.sharedCounters",
    needs=("ResourceClaim", "ResourceSlice"),
)
CAPACITY_OVERDRAWN = Rule(
    "DRA234",
    "capacity-overdrawn",
    "More of a device's capacity is given out than it has",
    _ERROR,
    cause="The shares of a device with allowMultipleAllocations add up to more than its capacity: the driver published "
    "less after the shares were given out, or two schedulers are at work.",
    fix="End one of the pods that share the device; see why the driver publishes less.",
    example="a device with 48 CPUs, of which claims hold 20, 20 and 20",
    reference="KEP-5075, ResourceClaim status.allocation.devices.results[].consumedCapacity",
    needs=("ResourceClaim", "ResourceSlice"),
)
WHOLE_AND_PART_HELD = Rule(
    "DRA235",
    "whole-and-part-held",
    "A device and a part of it are both given out",
    _ERROR,
    cause="The driver publishes a whole GPU beside its MIG devices and links them by no shared counters, so the "
    "scheduler takes them for independent devices. No rule of Kubernetes is broken, but two pods use one hardware.",
    fix="End or move one of the two. Update the driver (gpu.nvidia.com from 25.12 on does not publish a GPU in MIG "
    "mode whole), or keep the class of whole GPUs off GPUs in MIG mode.",
    example="claim a holds gpu-0, claim b holds gpu-0-mig-9-4-4, whose parentUUID is the uuid of gpu-0",
    reference="kubernetes-sigs/dra-driver-nvidia-gpu: static MIG up to 25.8",
    needs=("ResourceClaim", "ResourceSlice"),
)
PRIORITY_INVERSION = Rule(
    "DRA236",
    "priority-inversion",
    "A pod of low priority holds what a pod of high priority waits for",
    _WARNING,
    cause="Preemption does not free devices: the scheduler evicts no pod to release a claim, whatever the priorities.",
    fix="Delete the pod of low priority by hand if the other one matters more.",
    example="a pod of priority 1000 waits for the GPUs of pods with priority 0",
    reference="KEP-4381: DRA and preemption",
    needs=("Pod", "ResourceClaim"),
)
OFFERED_TWICE = Rule(
    "DRA237",
    "offered-twice",
    "A node offers the same hardware through a device plugin and through DRA",
    _WARNING,
    cause="kubelet counts the extended resource of the device plugin, the scheduler counts the devices of the driver; "
    "neither knows of the other, so two pods may be given the same hardware. Nothing in the API says which devices the "
    "plugin handed out.",
    fix="On each node let only one of them serve: stop the device plugin where the DRA driver runs, or map the "
    "extended resource to a DeviceClass (spec.extendedResourceName) and stop the plugin.",
    example="allocatable nvidia.com/gpu: 4, and 4 devices of gpu.nvidia.com on the same node",
    reference="KEP-5004; core/v1 Node status.allocatable",
    needs=("Node", "ResourceSlice"),
)
QUOTA_EXHAUSTED = Rule(
    "DRA238",
    "quota-exhausted",
    "A quota for claims or devices is used up",
    _WARNING,
    cause="Further claims in the namespace are refused when they are created; a pod's event is the only sign of it.",
    fix="Raise the quota, or delete claims that nobody uses.",
    example="used 2 of 2 of count/resourceclaims.resource.k8s.io",
    reference="<class>.deviceclass.resource.k8s.io/devices, count/resourceclaims.resource.k8s.io",
    needs=("ResourceQuota",),
)
CLAIMS_COMPETE = Rule(
    "DRA239",
    "claims-compete",
    "Waiting claims together ask for more devices than are free for them",
    _WARNING,
    cause="Each of the claims fits by itself, but they can be served only by the same devices, and there are fewer of "
    "these than the claims ask for. Which claim gets them depends on the order in which the scheduler takes the pods.",
    fix="Free devices, or delete or delay pods that matter less; the rest stays pending.",
    example="two pending claims for one GPU each, and one GPU is free",
    reference="kube-scheduler allocates claims pod by pod, by priority and then by age",
    needs=("ResourceClaim", "ResourceSlice"),
)

RULES: tuple[Rule, ...] = (
    CLAIM_PENDING,
    DEVICE_HELD_TWICE,
    DEVICE_GONE,
    COUNTERS_OVERDRAWN,
    CAPACITY_OVERDRAWN,
    WHOLE_AND_PART_HELD,
    PRIORITY_INVERSION,
    OFFERED_TWICE,
    QUOTA_EXHAUSTED,
    CLAIMS_COMPETE,
)
