"""DRA8xx: faults and limits of the scheduler and of particular releases."""

from __future__ import annotations

from dractl.rules.finding import Rule, Severity

_ERROR, _WARNING, _INFO = Severity.ERROR, Severity.WARNING, Severity.INFO

TAINT_RULES_IGNORED = Rule(
    "DRA801",
    "taint-rules-ignored",
    "This scheduler ignores DeviceTaintRules",
    _WARNING,
    cause="kube-scheduler 1.36.0 to 1.36.2 does not handle the objects that its informer delivers: rules are without "
    "effect on scheduling (a slice that changes while there is a rule can even crash it). In 1.36 the feature gate "
    "DRADeviceTaintRules is off by default as well.",
    fix="Update kube-scheduler to 1.36.3 or later; until then let the driver publish the taint, or cordon the node.",
    example="kube-scheduler 1.36.2 and a DeviceTaintRule for a pool",
    reference="kubernetes/kubernetes#139681",
    needs=("DeviceTaintRule",),
)
COUNTERS_LEAK = Rule(
    "DRA802",
    "counters-leak",
    "The devices fit, but this scheduler's search does not find them",
    _ERROR,
    cause="In releases before 1.37 the search keeps counters of devices that it tried and refused (because of a taint "
    "or a constraint), so that devices tried later seem to lack them.",
    fix="Make the selector so narrow that the refused devices are not tried first, or update to 1.37.",
    example="gpu-0 is tainted and draws on the counters that gpu-1 needs; gpu-1 is not found",
    reference="kubernetes/kubernetes#140436",
    needs=("ResourceSlice",),
)
ERROR_STOPS_ALL = Rule(
    "DRA803",
    "error-stops-all-nodes",
    "An error on one node keeps the claim from all nodes",
    _ERROR,
    cause="The allocator's errors (a selector that fails, All with an incomplete pool, a missing class) are no "
    "refusal of one node: the scheduler ends the whole attempt and tries again later, with the same end.",
    fix="Remove the cause of the error; meanwhile keep the pod away from the node with a nodeSelector or node "
    "affinity.",
    needs=("ResourceClaim", "ResourceSlice"),
)
NO_PREEMPTION = Rule(
    "DRA804",
    "no-preemption-for-devices",
    "Preemption does not free devices",
    _INFO,
    cause="The scheduler does not evict pods of lower priority to free the devices of their claims, whatever the "
    "priorities are.",
    fix="End a holder of lower priority by hand, or let a queue (such as Kueue) do it.",
    needs=("Pod",),
)
TIMED_OUT = Rule(
    "DRA805",
    "search-timed-out",
    "The search on a node may take longer than the scheduler allows",
    _WARNING,
    cause="kube-scheduler gives the search ten seconds a node (filterTimeout); a claim with many alike devices and a "
    "constraint that cannot be satisfied needs exponentially many steps.",
    fix="Narrow the selectors, lower the count, or split the claim.",
    needs=("ResourceClaim", "ResourceSlice"),
)
ORDER_NOT_KNOWN = Rule(
    "DRA806",
    "order-not-known",
    "Which devices this release takes is not determined",
    _INFO,
    cause="Before 1.36 the allocator goes through pools in random order, so which of several fitting devices it takes "
    "changes from run to run.",
    fix="Do not rely on the devices named; that the claim fits is certain.",
    needs=("ResourceSlice",),
)
GATE_OFF = Rule(
    "DRA810",
    "gate-off-in-use",
    "An object uses a field whose feature gate is off in this release unless switched on",
    _INFO,
    cause="Either the gate was switched on for the control plane, or the object was written when it was (or by a newer "
    "release) and the field is now without effect: the API server keeps it, the scheduler and kubelet ignore it.",
    fix="See the feature gates of kube-apiserver, kube-scheduler and kubelet; all of them need the gate. "
    "--kubernetes says which release is meant, if it is another.",
    example="a ResourceSlice with list attributes on 1.36, where DRAListTypeAttributes is off by default",
    reference="pkg/features/kube_features.go of the release",
    needs=("ResourceSlice",),
)
OLD_API_VERSION = Rule(
    "DRA811",
    "old-api-version",
    "Objects are written through an API version that goes away",
    _INFO,
    cause="The API server converts between the versions that it serves, so all works until one is no longer served: "
    "then the manifest cannot be applied again, and a driver that writes through it publishes nothing. v1beta1 is "
    "deprecated since 1.35 and gone in 1.38, v1beta2 since 1.36 and gone in 1.39; beta versions are served only where "
    "--runtime-config switches them on.",
    fix="Bring the manifests to v1 (dractl convert --to v1) and update the driver or client named.",
    example="kubectl.kubernetes.io/last-applied-configuration with apiVersion resource.k8s.io/v1beta1",
    reference="APILifecycleDeprecated and APILifecycleRemoved of k8s.io/api/resource",
)
KUBELET_SKEW = Rule(
    "DRA812",
    "kubelet-older",
    "A kubelet with devices is older than the API that it needs",
    _WARNING,
    cause="kubelets before 1.34 read claims through v1beta1 or v1alpha3 of resource.k8s.io, and have DRA switched off "
    "unless its gate is set. A control plane of 1.34 or later serves v1 only unless told otherwise: pods with claims "
    "do not start on such nodes.",
    fix="Update kubelet on these nodes, or serve the old version meanwhile: --runtime-config=resource.k8s.io/v1beta1="
    "true.",
    example="kubelet 1.33 with published devices under a 1.36 control plane",
    reference="Kubernetes version skew policy; the API versions that kubelet's client uses",
    needs=("Node", "ResourceSlice"),
)

RULES: tuple[Rule, ...] = (
    TAINT_RULES_IGNORED,
    COUNTERS_LEAK,
    ERROR_STOPS_ALL,
    NO_PREEMPTION,
    TIMED_OUT,
    ORDER_NOT_KNOWN,
    GATE_OFF,
    OLD_API_VERSION,
    KUBELET_SKEW,
)
