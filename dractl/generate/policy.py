"""ValidatingAdmissionPolicies: what RBAC cannot say about slices and admin access.

Source: the pattern of Kubernetes' documentation for drivers on nodes; it rests on the node name in a ServiceAccount's
token (gate ServiceAccountTokenPodNodeInfo, always on since 1.32).
"""

from __future__ import annotations

from collections.abc import Sequence

from dractl.convert.parameters import cel_text
from dractl.generate.claim import ADMIN_LABEL
from dractl.generate.manifest import Json, Manifest, Said, manifest, metadata

_API = "admissionregistration.k8s.io/v1"
_NODE_KEY = "authentication.kubernetes.io/node-name"
CLAIM_CONTROLLER = "system:serviceaccount:kube-system:resource-claim-controller"
"""Makes claims from templates for pods; the template has been judged before."""


def slices_policy(name: str, driver: str, account: tuple[str, str]) -> list[Manifest]:
    """A driver may write slices of its own name and node only."""
    user = f"system:serviceaccount:{account[0]}:{account[1]}"
    extra = f"request.userInfo.extra[{cel_text(_NODE_KEY)}]"
    subject = '(request.operation == "DELETE" ? oldObject : object)'
    spec: Json = {
        "failurePolicy": Said("Fail", "refuse rather than let pass what could not be judged"),
        "matchConstraints": _rules(["resourceslices"], ["CREATE", "UPDATE", "DELETE"]),
        "matchConditions": [
            {
                "name": "is-the-driver",
                "expression": Said(
                    f"request.userInfo.username == {cel_text(user)}",
                    "others are restrained by RBAC, nodes by the kubelet's",
                ),
            }
        ],
        "variables": [
            {
                "name": "caller",
                "expression": Said(
                    f'has(request.userInfo.extra) && {cel_text(_NODE_KEY)} in request.userInfo.extra ? {extra}[0] : ""',
                    "the node of the driver's pod, as its token says",
                ),
            },
            {
                "name": "node",
                "expression": Said(
                    f'has({subject}.spec.nodeName) ? {subject}.spec.nodeName : ""',
                    "the node of the slice; empty for slices of several nodes",
                ),
            },
        ],
        "validations": [
            {
                "expression": Said('variables.caller != ""', "a token without a node is not one of a running pod"),
                "message": "the token of this ServiceAccount names no node",
                "reason": "Forbidden",
            },
            {
                "expression": Said("variables.node == variables.caller", "not the slices of other nodes"),
                "messageExpression": '"on node " + variables.caller + " only slices of that node may be written"',
                "reason": "Forbidden",
            },
            {
                "expression": Said(f"{subject}.spec.driver == {cel_text(driver)}", "not the slices of other drivers"),
                "message": f"this ServiceAccount may only write slices of driver {driver}",
                "reason": "Forbidden",
            },
        ],
    }
    return _pair(name, spec, f"Driver {driver} ({user}) may write ResourceSlices of its own node only.")


def admin_policies(name: str, groups: Sequence[str]) -> list[Manifest]:
    """Admin access only in labelled namespaces; with ``groups`` only by them, and only they may set the label."""
    made: list[Manifest] = []
    for resource, path in (("resourceclaims", "object.spec"), ("resourceclaimtemplates", "object.spec.spec")):
        made += _pair(
            f"{name}-{resource}",
            _admin_spec(resource, path, groups),
            f"Admin access to devices in {resource} only in namespaces labelled {ADMIN_LABEL}=true"
            + (f", and only by {', '.join(groups)}." if groups else "."),
        )
    if groups:
        made += _pair(
            f"{name}-label",
            _label_spec(groups),
            f"Only {', '.join(groups)} may give a namespace the label {ADMIN_LABEL}.",
        )
    else:
        made[0].head.append(
            "The API server demands the label by itself; whoever may label namespaces can still open them: "
            "--allow-group GROUP restrains that."
        )
    return made


def _admin_spec(resource: str, path: str, groups: Sequence[str]) -> Json:
    requests = f"{path}.devices.requests"
    asked = "has(r.exactly) && has(r.exactly.adminAccess) && r.exactly.adminAccess"
    labels = "namespaceObject.metadata.labels"
    validations: list[Json] = [
        {
            "expression": Said(
                f"!variables.admin ||\n(has({labels}) && {cel_text(ADMIN_LABEL)} in {labels} &&\n"
                f'{labels}[{cel_text(ADMIN_LABEL)}] == "true")',
                "the label has to have exactly this value",
            ),
            "message": f"admin access needs the namespace label {ADMIN_LABEL}=true",
            "reason": "Forbidden",
        }
    ]
    if groups:
        by_template = (
            f"request.userInfo.username == {cel_text(CLAIM_CONTROLLER)} ||\n" if resource == "resourceclaims" else ""
        )
        why = "claims from templates are made by the controller; their template was judged" if by_template else ""
        expression = f"!variables.admin ||\n{by_template}{_member(groups)}"
        validations.append(
            {
                "expression": Said(expression, why) if why else expression,
                "message": f"admin access is for {', '.join(groups)}",
                "reason": "Forbidden",
            }
        )
    return {
        "failurePolicy": "Fail",
        "matchConstraints": _rules([resource], ["CREATE", "UPDATE"]),
        "variables": [
            {
                "name": "admin",
                "expression": Said(
                    f"has({path}.devices) && has({requests}) &&\n{requests}.exists(r, {asked})",
                    "whether any request asks for admin access; alternatives cannot",
                ),
            }
        ],
        "validations": validations,
    }


def _label_spec(groups: Sequence[str]) -> Json:
    def value(of: str) -> str:
        labels = f"{of}.metadata.labels"
        return f'has({labels}) && {cel_text(ADMIN_LABEL)} in {labels} ? {labels}[{cel_text(ADMIN_LABEL)}] : ""'

    return {
        "failurePolicy": "Fail",
        "matchConstraints": _rules(["namespaces"], ["CREATE", "UPDATE"], ""),
        "variables": [
            {"name": "wanted", "expression": value("object")},
            {"name": "present", "expression": f'oldObject == null ? "" : ({value("oldObject")})'},
        ],
        "validations": [
            {
                "expression": f"variables.wanted == variables.present ||\n{_member(groups)}",
                "message": f"only {', '.join(groups)} may set the label {ADMIN_LABEL}",
                "reason": "Forbidden",
            }
        ],
    }


def _member(groups: Sequence[str]) -> str:
    return f"request.userInfo.groups.exists(g, g in [{', '.join(map(cel_text, groups))}])"


def _rules(resources: list[str], operations: list[str], group: str = "resource.k8s.io") -> Json:
    version = Said("v1", "other versions are converted before they are judged")
    rule = {"apiGroups": [group], "apiVersions": [version], "operations": operations, "resources": resources}
    return {"matchPolicy": "Equivalent", "resourceRules": [rule]}


def _pair(name: str, spec: Json, head: str) -> list[Manifest]:
    """The policy and the binding that puts it into force."""
    policy = {"apiVersion": _API, "kind": "ValidatingAdmissionPolicy", "metadata": metadata(name), "spec": spec}
    binding = {
        "apiVersion": _API,
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": metadata(name),
        "spec": {
            "policyName": name,
            "validationActions": Said(["Deny"], "Audit or Warn to try it first; without a binding nothing is judged"),
        },
    }
    return [manifest(policy, [head]), manifest(binding)]
