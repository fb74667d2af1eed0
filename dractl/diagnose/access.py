"""Who may do what: drivers' and schedulers' roles, admin access, slices of other nodes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dractl.diagnose.check import Context
from dractl.explain.words import count, listing
from dractl.inventory import Inventory
from dractl.kube.objects import GenericObject
from dractl.rules import access
from dractl.rules.finding import Finding, ObjectRef

_GROUP = "resource.k8s.io"
_ADMIN_LABEL = "resource.kubernetes.io/admin-access"
_WRITES = frozenset({"update", "patch", "*"})
_GRANULAR = "DRAResourceClaimGranularStatusAuthorization"
_BUILT_IN = ("system:", "cluster-admin", "admin", "edit", "view")


def _rules(role: GenericObject) -> list[dict[str, Any]]:
    rules = role.body.get("rules")
    return [item for item in rules if isinstance(item, dict)] if isinstance(rules, list) else []


def _verbs(role: GenericObject, resource: str) -> set[str]:
    """Verbs that a role gives on one resource of resource.k8s.io; wildcards count."""
    verbs: set[str] = set()
    for rule in _rules(role):
        groups, resources = rule.get("apiGroups") or [], rule.get("resources") or []
        if (_GROUP in groups or "*" in groups) and (resource in resources or "*" in resources):
            verbs |= {str(verb) for verb in rule.get("verbs") or []}
    return verbs


def _names(role: GenericObject, resource: str) -> list[str]:
    names: list[str] = []
    for rule in _rules(role):
        if resource in (rule.get("resources") or []):
            names.extend(str(name) for name in rule.get("resourceNames") or [])
    return names


def _roles(context: Context, *kinds: str) -> Iterator[GenericObject]:
    """Roles that come with no Kubernetes: ClusterRoles, and of further kinds if asked for."""
    for item in context.inventory.others:
        if item.kind in ("ClusterRole", *kinds) and not _built_in(item.meta.name):
            yield item


def _built_in(name: str) -> bool:
    return name.startswith(_BUILT_IN[0]) or name in _BUILT_IN[1:]


def _role_ref(role: GenericObject) -> ObjectRef:
    return ObjectRef(role.kind, role.meta.name, role.meta.namespace, role.api_version)


def _granular(context: Context) -> bool:
    major, minor = (int(part) for part in context.question.release.minor.split("."))
    return (major, minor) >= (1, 36)


def drivers_without_verb(context: Context) -> Iterator[Finding]:
    """Roles that write the status of claims but lack what 1.36 wants for devices."""
    if not _granular(context):
        return
    drivers = sorted({item.driver for item in context.inventory.slices})
    for role in _roles(context):
        if not _verbs(role, "resourceclaims/status") & _WRITES or not _verbs(role, "resourceslices") & {"create", "*"}:
            continue
        granted = _verbs(role, "resourceclaims/driver")
        if any(verb == "*" or verb.startswith(("associated-node:", "arbitrary-node:")) for verb in granted):
            continue
        named = _driver_of(role, drivers)
        whose = f"driver {named}" if named else "its driver"
        yield access.DRIVER_LACKS_VERB.finding(
            f"ClusterRole {role.meta.name} may write resourceclaims/status, but not resourceclaims/driver: from 1.36 "
            f"on (gate {_GRANULAR}, on by default) changing status.devices of {whose} also needs the verb "
            "associated-node:update or associated-node:patch there, so its status updates are refused and the device "
            "status stays empty",
            _role_ref(role),
            hint="add to the role: apiGroups [resource.k8s.io], resources [resourceclaims/driver], verbs "
            f"[associated-node:update, associated-node:patch], resourceNames [{named or 'NAME OF THE DRIVER'}]",
        )


def _driver_of(role: GenericObject, drivers: list[str]) -> str | None:
    """The driver that a role is for: its resourceNames, its name, or the only driver there is."""
    for name in _names(role, "resourceclaims/driver"):
        return name
    labels = [*role.meta.labels.values(), role.meta.name]
    found = [one for one in drivers if any(one in text for text in labels)]
    if len(found) == 1:
        return found[0]
    words = [one for one in drivers if any(part in role.meta.name for part in one.split(".") if len(part) > 2)]
    if len(words) == 1:
        return words[0]
    return drivers[0] if len(drivers) == 1 else None


def schedulers_without_verb(context: Context) -> Iterator[Finding]:
    """Roles of schedulers that may not bind claims."""
    if not _granular(context):
        return
    for role in _roles(context):
        if "scheduler" not in role.meta.name.lower() or not _verbs(role, "resourceclaims/status") & _WRITES:
            continue
        if not _verbs(role, "resourceclaims/binding") & _WRITES:
            yield access.SCHEDULER_LACKS_VERB.finding(
                f"ClusterRole {role.meta.name} may write resourceclaims/status, but not resourceclaims/binding: from "
                "1.36 on it can neither allocate nor reserve claims",
                _role_ref(role),
                hint="add to the role: resources [resourceclaims/binding], verbs [update, patch]",
            )


def slices_of_others(context: Context) -> Iterator[Finding]:
    """Roles that write slices where no admission policy limits them to their node."""
    inventory = context.inventory
    if "ValidatingAdmissionPolicy" not in inventory.kinds and not inventory.provenance.taken:
        # nobody says that policies were looked for
        return
    policies = {
        item.meta.name: item
        for item in inventory.others
        if item.kind == "ValidatingAdmissionPolicy" and _RESOURCE in str(item.body.get("spec"))
    }
    bound = [item for item in inventory.others if _binds(item, policies)]
    seen = "ValidatingAdmissionPolicyBinding" not in inventory.provenance.unseen
    if any("Deny" in _actions(item) for item in bound) or (policies and not seen):
        return
    why = f"no ValidatingAdmissionPolicy looks at {_RESOURCE}"
    if policies:
        names = listing(policies)
        if bound:
            why = f"the binding of policy {names} does not deny ({listing(_actions(bound[0]))})"
        elif "ValidatingAdmissionPolicyBinding" not in inventory.kinds and not inventory.provenance.taken:
            return
        else:
            why = f"policy {names} has no binding, so that it is without effect"
    roles = [role.meta.name for role in _roles(context) if _verbs(role, _RESOURCE) & {"create", "update", "*"}]
    if roles:
        yield access.SLICES_OPEN.finding(
            f"{listing([f'ClusterRole {name}' for name in roles])} may write the slices of all nodes, and {why}",
            ObjectRef("ClusterRole", roles[0]),
            related=tuple(ObjectRef("ClusterRole", name) for name in roles[1:]),
            hint="write a policy that ties slices to the node of the token: dractl generate admission-policy",
        )


_RESOURCE = "resourceslices"


def _binds(item: GenericObject, policies: dict[str, GenericObject]) -> bool:
    spec = item.body.get("spec")
    return (
        item.kind == "ValidatingAdmissionPolicyBinding"
        and isinstance(spec, dict)
        and str(spec.get("policyName")) in policies
    )


def _actions(item: GenericObject) -> list[str]:
    spec = item.body.get("spec")
    actions = spec.get("validationActions") if isinstance(spec, dict) else None
    return [str(one) for one in actions] if isinstance(actions, list) else []


def admin_namespaces(context: Context) -> Iterator[Finding]:
    """Namespaces with the label for admin access, the claims that use it, and who may create more."""
    inventory = context.inventory
    open_ = [name for name, item in inventory.namespaces.items() if item.meta.labels.get(_ADMIN_LABEL) == "true"]
    for name in open_:
        users = [
            claim.meta.name
            for key, claim in inventory.claims.items()
            if key.namespace == name
            and any(request.exactly and request.exactly.admin_access for request in claim.spec.requests)
        ]
        who = f"{count(len(users), 'claim')} there uses it" if len(users) == 1 else f"{len(users)} claims there use it"
        subjects = _creators(inventory, name)
        may = f"; beside cluster administrators {listing(subjects, 6)} may create claims there" if subjects else ""
        yield access.ADMIN_ACCESS_OPEN.finding(
            f"namespace {name} is open for admin access; {who}{': ' + listing(users, 4) if users else ''}{may}",
            ObjectRef("Namespace", name),
            evidence={"claims": users, "mayCreate": subjects},
            hint=f"if it is not meant so: kubectl label namespace {name} {_ADMIN_LABEL}-",
        )


def _creators(inventory: Inventory, namespace: str) -> list[str]:
    """Subjects whose roles let them create claims or templates in a namespace; the system's own are left out."""
    roles = {
        (item.kind, item.meta.namespace, item.meta.name)
        for item in inventory.others
        if item.kind in ("Role", "ClusterRole")
        and (_verbs(item, "resourceclaims") | _verbs(item, "resourceclaimtemplates")) & {"create", "*"}
    }
    found: dict[str, None] = {}
    for item in inventory.others:
        if item.kind not in ("RoleBinding", "ClusterRoleBinding"):
            continue
        if item.kind == "RoleBinding" and item.meta.namespace != namespace:
            continue
        ref = item.body.get("roleRef")
        ref = ref if isinstance(ref, dict) else {}
        kind, name = str(ref.get("kind")), str(ref.get("name"))
        where = item.meta.namespace if kind == "Role" else ""
        if (kind, where, name) not in roles or name.startswith("system:") or name == "cluster-admin":
            continue
        subjects = item.body.get("subjects")
        for subject in subjects if isinstance(subjects, list) else []:
            if isinstance(subject, dict) and not str(subject.get("name")).startswith("system:"):
                space = f"{subject['namespace']}/" if subject.get("namespace") else ""
                found[f"{subject.get('kind')} {space}{subject.get('name')}"] = None
    return list(found)


def wildcard_roles(context: Context) -> Iterator[Finding]:
    """Roles with every verb, or on every resource, of DRA; those for everything of every group are another matter."""
    for role in _roles(context, "Role"):
        for rule in _rules(role):
            groups, resources, verbs = (rule.get(one) or [] for one in ("apiGroups", "resources", "verbs"))
            if _GROUP not in groups or not ("*" in resources or "*" in verbs):
                continue
            if not ("*" in verbs or {"create", "update", "patch", "delete"} & set(verbs)):
                continue
            what = "every resource" if "*" in resources else listing(map(str, resources))
            how = "every verb" if "*" in verbs else f"the verbs {listing(map(str, verbs))}"
            yield access.WILDCARD_ROLE.finding(
                f"{role.kind} {_named(role)} has {how} on {what} of {_GROUP}{_scope(rule)}", _role_ref(role)
            )
            break


def _named(role: GenericObject) -> str:
    return f"{role.meta.namespace}/{role.meta.name}" if role.meta.namespace else role.meta.name


def _scope(rule: dict[str, Any]) -> str:
    resources = rule.get("resources") or []
    extra = [
        text
        for resource, text in (
            ("resourceclaims/driver", "the status of every driver's devices"),
            ("resourceclaims/binding", "allocations and reservations"),
            ("resourceslices", "the slices of every node"),
        )
        if "*" in resources or resource in resources
    ]
    return f": also {listing(extra)}" if extra and "*" in resources else ""
