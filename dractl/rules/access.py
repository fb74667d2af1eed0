"""DRA7xx: permissions, admin access, quota and policies."""

from __future__ import annotations

from dractl.rules.finding import Rule, Severity

_ERROR, _WARNING, _INFO = Severity.ERROR, Severity.WARNING, Severity.INFO

DRIVER_LACKS_VERB = Rule(
    "DRA701",
    "driver-lacks-status-verb",
    "A driver may not write the status of its devices",
    _ERROR,
    cause="Since 1.36 (gate DRAResourceClaimGranularStatusAuthorization, on by default) changing status.devices needs, "
    "beside resourceclaims/status, the resource resourceclaims/driver with the verb associated-node:update (or patch). "
    "Without it the API server refuses the driver's update, and device status and network data stay empty.",
    fix="Add a rule for resourceclaims/driver with the verbs associated-node:update and associated-node:patch and the "
    "driver's name as resourceNames.",
    example="- apiGroups: [resource.k8s.io]\n  resources: [resourceclaims/driver]\n"
    "  verbs: ['associated-node:update', 'associated-node:patch']\n  resourceNames: [dra.net]",
    reference="KEP-4817; granular status authorization of 1.36",
    needs=("ClusterRole",),
)
SCHEDULER_LACKS_VERB = Rule(
    "DRA702",
    "scheduler-lacks-binding-verb",
    "A scheduler may not bind claims",
    _ERROR,
    cause="Since 1.36 changing status.allocation or status.reservedFor needs the resource resourceclaims/binding "
    "beside resourceclaims/status. A scheduler of one's own with an older role allocates, and fails to write it.",
    fix="Add a rule for resourceclaims/binding with the verbs update and patch.",
    example="a ClusterRole my-scheduler with resourceclaims/status only",
    reference="granular status authorization of 1.36",
    needs=("ClusterRole",),
)
SLICES_OPEN = Rule(
    "DRA703",
    "slices-of-other-nodes",
    "A driver may write the slices of every node",
    _WARNING,
    cause="RBAC cannot limit a service account to the slices of its own node. Without a ValidatingAdmissionPolicy the "
    "driver's pod on one node can publish or delete devices of all nodes.",
    fix="Install a policy that compares the token's node name with spec.nodeName: "
    "`dractl generate admission-policy` writes one.",
    example="verbs create and update on resourceslices, no policy",
    reference="dra-example-driver's ValidatingAdmissionPolicy",
    needs=("ClusterRole", "ValidatingAdmissionPolicy"),
)
ADMIN_ACCESS_OPEN = Rule(
    "DRA704",
    "admin-access-open",
    "Namespaces in which claims may ask for admin access",
    _INFO,
    cause="The label resource.kubernetes.io/admin-access=true lets whoever may create claims there reach devices that "
    "others use.",
    fix="Keep the label to namespaces of monitoring and administration, and see who may create claims there.",
    example="resource.kubernetes.io/admin-access=true on namespace monitoring",
    reference="KEP-5018",
    needs=("Namespace",),
)
WILDCARD_ROLE = Rule(
    "DRA705",
    "wildcard-role",
    "A role gives every right on DRA objects",
    _INFO,
    cause="A wildcard also covers adminAccess claims, status and slices of others.",
    fix="List the resources and verbs that are needed; `dractl generate rbac --persona ...` writes them.",
    example="apiGroups [resource.k8s.io], resources ['*'], verbs ['*']",
    reference="rbac.authorization.k8s.io/v1 PolicyRule",
    needs=("ClusterRole",),
)

RULES: tuple[Rule, ...] = (DRIVER_LACKS_VERB, SCHEDULER_LACKS_VERB, SLICES_OPEN, ADMIN_ACCESS_OPEN, WILDCARD_ROLE)
