"""DRA3xx: claims that are stuck on their way from creation to deletion."""

from __future__ import annotations

from dractl.rules.finding import Rule, Severity

_ERROR, _WARNING, _INFO = Severity.ERROR, Severity.WARNING, Severity.INFO

TEMPLATE_MISSING = Rule(
    "DRA301",
    "template-missing",
    "A pod names a ResourceClaimTemplate that does not exist",
    _ERROR,
    cause="The claim controller makes a pod's claim from the template. Without the template there is no claim, and the "
    "scheduler does not look at the pod.",
    fix="Create the template, or correct its name: the pod has to be made anew for that.",
    example="a pod with resourceClaimTemplateName: gpu-nic, and no such template in its namespace",
    reference="core/v1 Pod spec.resourceClaims[].resourceClaimTemplateName",
    needs=("Pod", "ResourceClaimTemplate"),
)
CLAIM_MISSING = Rule(
    "DRA302",
    "claim-missing",
    "A pod names a ResourceClaim that does not exist",
    _ERROR,
    cause="The scheduler does not look at a pod whose claim is not there, and says nothing about it in an event.",
    fix="Create the claim under that name in the pod's namespace, or correct the name in the pod.",
    example="a pod with resourceClaimName: shared-gpu, and no such claim in its namespace",
    reference="core/v1 Pod spec.resourceClaims[].resourceClaimName",
    needs=("Pod", "ResourceClaim"),
)
CREATION_REFUSED = Rule(
    "DRA303",
    "claim-creation-refused",
    "A pod's claim cannot be created from its template",
    _ERROR,
    cause="The claim controller tries again and again, and the API server refuses the claim: a quota, an admission "
    "rule, or a field that it does not accept. The event FailedResourceClaimCreation holds its answer.",
    fix="Remove what the API server's answer names; the controller then makes the claim by itself.",
    example="FailedResourceClaimCreation: admission webhook denied the request",
    reference="event FailedResourceClaimCreation of the resource claim controller",
    needs=("Pod", "ResourceClaimTemplate"),
)
PLACED_PAST_SCHEDULER = Rule(
    "DRA304",
    "placed-past-scheduler",
    "A pod was put on a node before its claim was allocated",
    _ERROR,
    cause="Only a scheduler that knows claims allocates them, before it binds the pod. A pod whose spec.nodeName was "
    "set by hand or by another scheduler has a claim that nobody allocates.",
    fix="Delete the pod and make it anew without nodeName; choose the node with a nodeSelector or node affinity.",
    example="a pod with spec.nodeName set by hand, and its claim without allocation",
    reference="core/v1 Pod spec.nodeName; KEP-4381",
    needs=("Pod", "ResourceClaim"),
)
SCHEDULING_GATED = Rule(
    "DRA305",
    "scheduling-gated",
    "The pod has a scheduling gate, so the scheduler does not look at it",
    _INFO,
    cause="A queue or another controller holds the pod back until it removes the gate.",
    fix="Ask whoever set the gate why it is still there.",
    needs=("Pod",),
)
STALE_HOLDER = Rule(
    "DRA306",
    "stale-holder",
    "A claim holds devices that nobody uses",
    _WARNING,
    cause="The claim is still allocated although the pods that its reservation names are gone, or it is being deleted "
    "and its finalizer is still there. The resource claim controller should have released it.",
    fix="Look at kube-controller-manager (resource claim controller) first. As a last step, and only after making sure "
    "that nothing runs on the devices any more, clear status.reservedFor by hand.",
    example="claim infer/serve-5 is reserved for pod serve-5 only, which is deleted",
    reference="resource.k8s.io/v1 ResourceClaim status.reservedFor",
    needs=("Pod", "ResourceClaim"),
)
PREPARE_FAILED = Rule(
    "DRA307",
    "prepare-failed",
    "The devices are allocated, but cannot be prepared on the node",
    _ERROR,
    cause="kubelet asks the driver to prepare the devices of a claim before it starts the containers. It tries again "
    "for ever; the pod stays in ContainerCreating.",
    fix="Read kubelet's event FailedPrepareDynamicResources and the driver's log on that node.",
    example="FailedPrepareDynamicResources: prepare failed: no such device",
    reference="event FailedPrepareDynamicResources of kubelet",
    needs=("Event", "Pod", "ResourceClaim"),
)
ALLOCATED_ELSEWHERE = Rule(
    "DRA308",
    "allocated-elsewhere",
    "A shared claim is allocated where the pod may not run",
    _ERROR,
    cause="An allocated claim can be used only on the nodes of its allocation. A second pod that may not use them "
    "waits.",
    fix="Change the pod's node rules, or give it a claim of its own.",
    example="claim team/model is allocated on east-0; its second pod has nodeSelector zone=west",
    reference="resource.k8s.io/v1 ResourceClaim status.allocation.nodeSelector",
    needs=("Node", "Pod", "ResourceClaim"),
)
UNUSED_CLAIM = Rule(
    "DRA309",
    "claim-without-pod",
    "No pod refers to the claim",
    _INFO,
    cause="A claim is allocated only when a pod that refers to it is scheduled.",
    fix="Refer to it in spec.resourceClaims of a pod, or delete it.",
    example="a ResourceClaim that nobody names in spec.resourceClaims",
    reference="resource.k8s.io/v1 ResourceClaim",
    needs=("Pod", "ResourceClaim"),
)
CLAIM_DELETING = Rule(
    "DRA310",
    "claim-deleting",
    "The claim is being deleted",
    _WARNING,
    cause="A claim with a deletion time goes as soon as its finalizer is removed, and that happens once no pod uses "
    "it. New pods cannot use it.",
    fix="End the pods that use it; pods that wait for it need another claim.",
    example="deletionTimestamp an hour ago, finalizer resource.kubernetes.io/delete-protection",
    reference="finalizer resource.kubernetes.io/delete-protection",
    needs=("ResourceClaim",),
)
FOREIGN_CLAIM = Rule(
    "DRA311",
    "claim-of-another-pod",
    "The claim that a pod's status names belongs to another pod",
    _ERROR,
    cause="A claim made from a template belongs to the pod it was made for. A pod of the same name made anew must not "
    "use it.",
    fix="Delete the old claim, or the pod; the controller then makes a claim of the pod's own.",
    example="status.resourceClaimStatuses names a claim whose owner is a pod of another uid",
    reference="core/v1 Pod status.resourceClaimStatuses",
    needs=("Pod", "ResourceClaim"),
)
ADMIN_LABEL = Rule(
    "DRA312",
    "admin-access-label",
    "Admin access needs a label on the namespace",
    _ERROR,
    cause="Requests with adminAccess are accepted only in a namespace with the label "
    "resource.kubernetes.io/admin-access of exactly the value true.",
    fix="Set the label on the namespace (kubectl label namespace NS resource.kubernetes.io/admin-access=true "
    "--overwrite).",
    example="namespace watch carries resource.kubernetes.io/admin-access=True, where true is wanted",
    reference="KEP-5018",
    needs=("Namespace",),
)
QUOTA = Rule(
    "DRA313",
    "quota-refuses-claim",
    "A ResourceQuota refuses the claim",
    _ERROR,
    cause="Quota counts the devices that a claim may take at most: allocationMode All counts 32, and of a "
    "firstAvailable list the largest alternative.",
    fix="Ask for fewer devices (a count instead of All), or raise the quota.",
    example="quota gpus allows 8 devices of class gpu.nvidia.com, and the claim asks for all (counted as 32)",
    reference="resource quota <class>.deviceclass.resource.k8s.io/devices; event FailedResourceClaimCreation",
    needs=("ResourceQuota",),
)
DRIVER_KEEPS_CLAIM = Rule(
    "DRA314",
    "driver-keeps-deleted-claim",
    "A driver refuses a device because of a claim that is gone",
    _ERROR,
    cause="The driver's own record on the node (its checkpoint) still has the device prepared for a claim that the "
    "cluster does not know any more; its unprepare never came through.",
    fix="Clear the entry in the driver's checkpoint on that node after making sure that no process uses the device.",
    example="gpu-0 is already prepared for claim 9b1d7e52-...",
    reference="event FailedPrepareDynamicResources of kubelet",
    needs=("Event", "ResourceClaim"),
)
DRIVER_NOT_REGISTERED = Rule(
    "DRA315",
    "driver-not-registered",
    "kubelet does not know the driver of an allocated device",
    _ERROR,
    cause="The driver's plugin is not running on the node, or has not registered with kubelet, although its slices are "
    "still there.",
    fix="Repair the driver's pod on that node; cordon the node or taint its devices meanwhile.",
    example="DRA driver gpu.nvidia.com is not registered",
    reference="event FailedPrepareDynamicResources; kubelet plugin registration",
    needs=("Event", "Pod"),
)

POD_TERMINATING = Rule(
    "DRA316",
    "pod-terminating",
    "A pod that is being deleted still holds devices",
    _WARNING,
    cause="Devices are free again when kubelet has stopped the containers and the driver has unprepared the claim. An "
    "error while unpreparing, or a node that is gone, keeps the pod, and with it the devices.",
    fix="Look at kubelet and the driver on the pod's node. Delete the pod by force only if the node is gone for good.",
    example="deletionTimestamp two hours ago, and its claim holds gpu-1",
    reference="core/v1 Pod metadata.deletionTimestamp; ResourceClaim status.reservedFor",
    needs=("Pod", "ResourceClaim"),
)

RULES: tuple[Rule, ...] = (
    TEMPLATE_MISSING,
    CLAIM_MISSING,
    CREATION_REFUSED,
    PLACED_PAST_SCHEDULER,
    SCHEDULING_GATED,
    STALE_HOLDER,
    PREPARE_FAILED,
    ALLOCATED_ELSEWHERE,
    UNUSED_CLAIM,
    CLAIM_DELETING,
    FOREIGN_CLAIM,
    ADMIN_LABEL,
    QUOTA,
    DRIVER_KEEPS_CLAIM,
    DRIVER_NOT_REGISTERED,
    POD_TERMINATING,
)
