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

RULES: tuple[Rule, ...] = (
    TAINT_RULES_IGNORED,
    COUNTERS_LEAK,
    ERROR_STOPS_ALL,
    NO_PREEMPTION,
    TIMED_OUT,
    ORDER_NOT_KNOWN,
)
