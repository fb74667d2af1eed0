"""Rules for Pods and pod templates: claims, containers, resources, labels; other parts of a pod are checked in part."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dractl.kube import names
from dractl.kube.quantity import Quantity
from dractl.validation.errors import Key, Path
from dractl.validation.gotext import json_string, quote
from dractl.validation.semantic import common, meta
from dractl.validation.semantic.scope import Scope, sorted_items

SPEC: Path = ("spec",)
MIRROR = "kubernetes.io/config.mirror"
STANDARD = frozenset(
    (
        *("cpu", "memory", "ephemeral-storage", "storage", "pods", "services", "secrets", "configmaps"),
        *("requests.cpu", "requests.memory", "requests.ephemeral-storage", "requests.storage"),
        *("limits.cpu", "limits.memory", "limits.ephemeral-storage"),
        *("resourcequotas", "replicationcontrollers", "persistentvolumeclaims"),
        *("services.nodeports", "services.loadbalancers"),
    )
)
FOR_CONTAINERS = frozenset(("cpu", "memory", "ephemeral-storage"))
HUGE = "hugepages-"
SIDECAR_ONLY = ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe")


def check(scope: Scope, obj: dict[str, Any]) -> None:
    """A new pod."""
    check_pod(scope, obj)
    spec = obj.get("spec", {})
    for name in ("containers", "initContainers"):
        check_images(scope, spec.get(name) or (), (*SPEC, name))
    if spec.get("ephemeralContainers"):
        scope.errors.forbidden((*SPEC, "ephemeralContainers"), "cannot be set on create")
    if spec.get("nodeName") and spec.get("schedulingGates"):
        scope.errors.forbidden((*SPEC, "nodeName"), "cannot be set until all schedulingGates have been cleared")


def check_pod(scope: Scope, obj: dict[str, Any]) -> None:
    """metadata and spec of a pod, new or changed."""
    data = obj["metadata"]
    meta.check_metadata(scope.errors, data, names.dns_subdomain_errors, True, scope.types)
    spec = obj.get("spec", {})
    annotations = data.get("annotations") or {}
    if MIRROR in annotations and not spec.get("nodeName"):
        path: Path = ("metadata", "annotations", Key(MIRROR))
        detail = "must set spec.nodeName if mirror pod annotation is set"
        scope.errors.invalid(path, annotations[MIRROR], detail)
    check_spec(scope, spec, SPEC, mirror=MIRROR in annotations, pod=True)


def check_images(scope: Scope, containers: Iterable[dict[str, Any]], path: Path) -> None:
    """Images of a pod's containers: no blanks around them."""
    for index, container in enumerate(containers):
        image = container.get("image", "")
        if image != image.strip():
            scope.errors.invalid((*path, index, "image"), image, "must not have leading or trailing whitespace")


def name_warnings(obj: dict[str, Any], kind: str) -> list[str]:
    """What the server says of a new object whose name is no DNS label."""
    if kind not in ("Pod", "Deployment", "Job", "CronJob"):
        return []
    problems = names.dns_label_errors(obj["metadata"].get("name", ""))
    where = "the Pod's hostname" if kind == "Pod" else "Pod names and hostnames"
    text = (
        f"metadata.name: this is used in {where}, which can result in surprising behavior; a DNS label is recommended"
    )
    return [f"{text}: [{' '.join(problems)}]"] if problems else []


def check_update(scope: Scope, obj: dict[str, Any], old: dict[str, Any]) -> None:
    """A changed pod: nearly all of its spec, and all of its claims, must be the same."""
    errors = scope.errors
    meta.check_metadata_update(errors, obj["metadata"], old["metadata"], scope.types)
    check_pod(scope, obj)
    spec, before = obj.get("spec", {}), old.get("spec", {})
    for name in ("containers", "initContainers"):
        containers = spec.get(name) or ()
        if len(containers) != len(before.get(name) or ()):
            errors.forbidden((*SPEC, name), "pod updates may not add or remove containers")
            return
        check_images(scope, containers, (*SPEC, name))
    if not check_deadline_update(scope, spec, before):
        return
    check_only_added(scope, spec, before)
    types = scope.types.struct("core/v1.PodSpec")
    grace, grace_before = spec.get("terminationGracePeriodSeconds"), before.get("terminationGracePeriodSeconds")
    mutable = {"activeDeadlineSeconds", "tolerations", "schedulingGates"}
    if grace == 1 and grace_before is not None and grace_before < 0:
        mutable.add("terminationGracePeriodSeconds")
    for name, field in types.fields.items():
        if name in mutable or field.type.equal(_without_images(spec.get(name)), _without_images(before.get(name))):
            continue
        listed = "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,"
        detail = f"pod updates may not change fields other than {listed}`spec.tolerations` (only additions to existing "
        detail += "tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously "
        detail += "negative)"
        errors.forbidden(SPEC, detail, (*SPEC, name))


def check_deadline_update(scope: Scope, spec: dict[str, Any], before: dict[str, Any]) -> bool:
    """activeDeadlineSeconds may be set and made less; whether the server goes on after it."""
    path: Path = (*SPEC, "activeDeadlineSeconds")
    deadline, old = spec.get("activeDeadlineSeconds"), before.get("activeDeadlineSeconds")
    if deadline is None:
        if old is not None:
            scope.errors.invalid(path, None, "must not update from a positive integer to nil value")
        return True
    if not 0 <= deadline < 2**31:
        scope.errors.invalid(path, deadline, f"must be between 0 and {2**31 - 1}, inclusive")
        return False
    if old is not None and old < deadline:
        scope.errors.invalid(path, deadline, "must be less than or equal to previous value")
        return False
    return True


def check_only_added(scope: Scope, spec: dict[str, Any], before: dict[str, Any]) -> None:
    """Tolerations may be added, scheduling gates taken away."""
    path: Path = (*SPEC, "tolerations")
    now = [_without_seconds(one) for one in spec.get("tolerations") or ()]
    if all(_without_seconds(one) in now for one in before.get("tolerations") or ()):
        for index, toleration in enumerate(spec.get("tolerations") or ()):
            check_toleration(scope, toleration, (*path, index))
    else:
        scope.errors.forbidden(path, "existing toleration can not be modified except its tolerationSeconds")
    known = {gate.get("name") for gate in before.get("schedulingGates") or ()}
    for index, gate in enumerate(spec.get("schedulingGates") or ()):
        if gate.get("name") not in known:
            detail = f"only deletion is allowed, but found new scheduling gate '{gate.get('name', '')}'"
            scope.errors.forbidden((*SPEC, "schedulingGates", index, "name"), detail)


def _without_seconds(toleration: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in toleration.items() if key != "tolerationSeconds" and value}


def _without_images(value: Any) -> Any:
    """A field of a spec; in lists of containers the images may change."""
    if isinstance(value, list) and value and isinstance(value[0], dict) and "image" in value[0]:
        return [{key: item for key, item in entry.items() if key != "image"} for entry in value]
    return value


def check_template(scope: Scope, template: dict[str, Any], path: Path) -> None:
    """A pod template."""
    check_template_metadata(scope, template, path)
    spec = template.get("spec", {})
    check_spec(scope, spec, (*path, "spec"), mirror=False, pod=False)
    if spec.get("ephemeralContainers"):
        at: Path = (*path, "spec", "ephemeralContainers")
        scope.errors.forbidden(at, "ephemeral containers not allowed in pod template")


def check_template_metadata(scope: Scope, template: dict[str, Any], path: Path) -> None:
    """Labels and annotations of a template, which the server names without ``metadata``."""
    data = template.get("metadata", {})
    for name in ("labels", "annotations"):
        if name in data:
            check_moved(scope, data, name, path)


def check_moved(scope: Scope, data: dict[str, Any], name: str, path: Path) -> None:
    """Labels or annotations of a template at the path that the server names."""
    rule = meta.check_labels if name == "labels" else meta.check_annotations
    before = len(scope.errors.causes)
    rule(scope.errors, data[name], (*path, name))
    scope.errors.move(before, len(path), "metadata")


def check_spec(scope: Scope, spec: dict[str, Any], path: Path, *, mirror: bool, pod: bool) -> None:
    """A pod spec. ``pod`` tells a Pod from a template."""
    errors = scope.errors
    volumes = check_volumes(scope, spec.get("volumes") or [], (*path, "volumes"))
    claims = check_claims(scope, spec.get("resourceClaims") or [], (*path, "resourceClaims"), mirror)
    containers = spec.get("containers") or []
    if not containers:
        errors.required((*path, "containers"))
    seen: set[str] = set()
    for index, container in enumerate(containers):
        at: Path = (*path, "containers", index)
        check_container(scope, container, at, claims, volumes)
        name = container.get("name", "")
        if name in seen:
            errors.duplicate((*at, "name"), quote(name))
        seen.add(name)
    check_host_ports(scope, containers, (*path, "containers"))
    check_init_containers(scope, spec.get("initContainers") or [], (*path, "initContainers"), claims, volumes, seen)
    if spec.get("hostNetwork"):
        check_host_network(scope, containers, (*path, "containers"), pod)
    if "claims" in (spec.get("resources") or {}) and scope.minor >= 34:
        at = (*path, "resources", "claims")
        errors.forbidden(at, "claims may not be set for Resources at pod-level")
    check_choice(scope, spec, "restartPolicy", ("Always", "OnFailure", "Never"), path)
    check_choice(scope, spec, "dnsPolicy", ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"), path)
    if "nodeSelector" in spec:
        meta.check_labels(errors, spec["nodeSelector"], (*path, "nodeSelector"))
    for name, rule in (
        ("serviceAccountName", names.dns_subdomain_errors),
        ("nodeName", names.dns_subdomain_errors),
        ("hostname", names.dns_label_errors),
        ("subdomain", names.dns_label_errors),
        ("priorityClassName", names.dns_subdomain_errors),
        ("runtimeClassName", names.dns_subdomain_errors),
    ):
        value = spec.get(name)
        if value or (name == "runtimeClassName" and value is not None):
            errors.invalid_each((*path, name), value, rule(value))
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None and not 1 <= deadline < 2**31:
        errors.invalid((*path, "activeDeadlineSeconds"), deadline, f"must be between 1 and {2**31 - 1}, inclusive")
    for index, toleration in enumerate(spec.get("tolerations") or ()):
        check_toleration(scope, toleration, (*path, "tolerations", index))
    affinity = spec.get("affinity", {}).get("nodeAffinity", {})
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    if required is not None:
        field = "requiredDuringSchedulingIgnoredDuringExecution"
        common.check_node_selector(scope, required, (*path, "affinity", "nodeAffinity", field))


def check_choice(scope: Scope, spec: dict[str, Any], name: str, choices: tuple[str, ...], path: Path) -> None:
    """A field that takes one of a few words."""
    value = spec.get(name, "")
    if not value:
        scope.errors.required((*path, name))
    elif value not in choices:
        scope.errors.not_supported((*path, name), json_string(value), choices)


def check_volumes(scope: Scope, volumes: list[dict[str, Any]], path: Path) -> frozenset[str]:
    """Names of volumes; what they mount is not looked at."""
    known: set[str] = set()
    for index, volume in enumerate(volumes):
        name = volume.get("name", "")
        at: Path = (*path, index, "name")
        before = len(scope.errors.causes)
        if not name:
            scope.errors.required(at)
        else:
            common.check_label_name(scope, name, at)
        if name in known:
            scope.errors.duplicate(at, quote(name))
        if len(scope.errors.causes) == before:
            known.add(name)
    return frozenset(known)


# --- claims ---------------------------------------------------------------------------------------------------------


def check_claims(scope: Scope, claims: list[dict[str, Any]], path: Path, mirror: bool) -> frozenset[str]:
    """spec.resourceClaims; the names that containers may refer to."""
    errors = scope.errors
    seen: set[str] = set()
    for index, claim in enumerate(claims):
        at: Path = (*path, index)
        if mirror:
            errors.forbidden((), "static pods do not support resource claims", at)
            continue
        name = claim.get("name", "")
        if not name:
            errors.required((*at, "name"))
        elif name in seen:
            errors.duplicate((*at, "name"), quote(name))
        else:
            common.check_label_name(scope, name, (*at, "name"))
            seen.add(name)
        direct, template = claim.get("resourceClaimName"), claim.get("resourceClaimTemplateName")
        if (direct is None) == (template is None):
            text = scope.types.struct("core/v1.PodResourceClaim").go_json(claim)
            detail = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
            if direct is not None:
                detail = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
            errors.invalid_text(at, text, detail)
        for field, value in (("resourceClaimName", direct), ("resourceClaimTemplateName", template)):
            if value is not None:
                errors.invalid_each((*at, field), value, names.dns_subdomain_errors(value))
    return frozenset(claim["name"] for claim in claims if claim.get("name"))


def check_claim_references(scope: Scope, references: list[dict[str, Any]], path: Path, claims: frozenset[str]) -> None:
    """resources.claims of a container: known names, no request twice."""
    errors = scope.errors
    seen: set[str] = set()
    for index, reference in enumerate(references):
        at: Path = (*path, index)
        name, request = reference.get("name", ""), reference.get("request", "")
        if not name:
            errors.required(at)
            continue
        if name in seen:
            errors.duplicate(at, quote(name))
        else:
            key = name
            if request:
                common.check_label_name(scope, request, (*at, "request"))
                key += f"/{request}"
            if key in seen:
                errors.duplicate(at, quote(key))
            elif not request:
                for other in sorted(seen):
                    if other.partition("/")[0] == name and "/" in other:
                        errors.duplicate(at, quote(name))
            seen.add(key)
        if name not in claims:
            listed = f": {', '.join(sorted(claims))}" if claims else " which is empty"
            errors.not_found(at, f"{quote(name)}: must be one of the names in pod.spec.resourceClaims{listed}")


# --- containers -----------------------------------------------------------------------------------------------------


def check_container(
    scope: Scope, container: dict[str, Any], path: Path, claims: frozenset[str], volumes: frozenset[str]
) -> None:
    """What all kinds of containers share."""
    errors = scope.errors
    name = container.get("name", "")
    if not name:
        errors.required((*path, "name"))
    else:
        common.check_label_name(scope, name, (*path, "name"))
    if not container.get("image"):
        errors.required((*path, "image"))
    check_choice(scope, container, "terminationMessagePolicy", ("File", "FallbackToLogsOnError"), path)
    check_ports(scope, container.get("ports") or [], (*path, "ports"))
    for index, variable in enumerate(container.get("env") or ()):
        if not variable.get("name"):
            errors.required((*path, "env", index, "name"))
    check_mounts(scope, container.get("volumeMounts") or [], (*path, "volumeMounts"), volumes)
    check_choice(scope, container, "imagePullPolicy", ("Always", "IfNotPresent", "Never"), path)
    check_resources(scope, container.get("resources", {}), (*path, "resources"), claims)


def check_mounts(scope: Scope, mounts: list[dict[str, Any]], path: Path, volumes: frozenset[str]) -> None:
    """Mounts of known volumes at different paths."""
    seen: set[str] = set()
    for index, mount in enumerate(mounts):
        at: Path = (*path, index)
        name, place = mount.get("name", ""), mount.get("mountPath", "")
        if not name:
            scope.errors.required((*at, "name"))
        if name not in volumes:
            scope.errors.not_found((*at, "name"), quote(name))
        if not place:
            scope.errors.required((*at, "mountPath"))
        if place in seen:
            scope.errors.invalid((*at, "mountPath"), place, "must be unique")
        seen.add(place)


def check_ports(scope: Scope, ports: list[dict[str, Any]], path: Path) -> None:
    """Port numbers and protocols."""
    errors = scope.errors
    for index, port in enumerate(ports):
        at: Path = (*path, index)
        number, host = port.get("containerPort", 0), port.get("hostPort", 0)
        if number == 0:
            errors.required((*at, "containerPort"))
        elif not 1 <= number <= 65535:
            errors.invalid((*at, "containerPort"), number, "must be between 1 and 65535, inclusive")
        if host and not 1 <= host <= 65535:
            errors.invalid((*at, "hostPort"), host, "must be between 1 and 65535, inclusive")
        check_choice(scope, port, "protocol", ("SCTP", "TCP", "UDP"), at)


def check_host_ports(scope: Scope, containers: list[dict[str, Any]], path: Path) -> None:
    """No port of the host twice."""
    seen: set[str] = set()
    for index, container in enumerate(containers):
        for position, port in enumerate(container.get("ports") or ()):
            if port.get("hostPort"):
                text = f"{port.get('protocol', '')}/{port.get('hostIP', '')}/{port['hostPort']}"
                if text in seen:
                    scope.errors.duplicate((*path, index, "ports", position, "hostPort"), quote(text))
                seen.add(text)


def check_host_network(scope: Scope, containers: list[dict[str, Any]], path: Path, pod: bool) -> None:
    """On the host's network a port is the host's port."""
    for index, container in enumerate(containers):
        for position, port in enumerate(container.get("ports") or ()):
            host, number = port.get("hostPort", 0), port.get("containerPort", 0)
            if (pod or host) and host != number:
                at: Path = (*path, index, "ports", position, "hostPort")
                scope.errors.invalid(at, host, "must match `containerPort` when `hostNetwork` is true")


def check_init_containers(
    scope: Scope,
    containers: list[dict[str, Any]],
    path: Path,
    claims: frozenset[str],
    volumes: frozenset[str],
    seen: set[str],
) -> None:
    """Init containers and sidecars."""
    for index, container in enumerate(containers):
        at: Path = (*path, index)
        check_container(scope, container, at, claims, volumes)
        name = container.get("name", "")
        if name in seen:
            scope.errors.duplicate((*at, "name"), quote(name))
        elif name:
            seen.add(name)
        # One container at a time, and always under the first index, as the server does it.
        check_host_ports(scope, [container], path)
        if container.get("restartPolicy") != "Always":
            for field in SIDECAR_ONLY:
                if field in container:
                    detail = "may not be set for init containers without restartPolicy=Always"
                    scope.errors.forbidden((*at, field), detail)


# --- resources ------------------------------------------------------------------------------------------------------


def check_resources(scope: Scope, resources: dict[str, Any], path: Path, claims: frozenset[str]) -> None:
    """Limits, requests and claims of a container."""
    errors = scope.errors
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    for name, amount in sorted_items(limits):
        check_resource(scope, name, amount, (*path, "limits", Key(name)))
    for name, amount in sorted_items(requests):
        check_resource(scope, name, amount, (*path, "requests", Key(name)))
        overcommit = names.is_native_resource(name) and not name.startswith(HUGE)
        at: Path = (*path, "requests")
        if name in limits:
            if amount != limits[name] and not overcommit:
                detail = f"must be equal to {name} limit of {limits[name]}"
                errors.invalid(at, str(amount), detail, (*at, name))
            elif amount > limits[name]:
                detail = f"must be less than or equal to {name} limit of {limits[name]}"
                errors.invalid(at, str(amount), detail, (*at, name))
        elif not overcommit:
            errors.required((*path, "limits"), "Limit must be set for non overcommitable resources", (*at, name))
    both = limits.keys() | requests.keys()
    if any(name.startswith(HUGE) for name in both) and not both & {"cpu", "memory"}:
        errors.forbidden(path, "HugePages require cpu or memory")
    if "claims" in resources:
        check_claim_references(scope, resources["claims"], (*path, "claims"), claims)


def check_resource(scope: Scope, name: str, amount: Quantity, path: Path) -> None:
    """The name of a resource and its amount."""
    errors = scope.errors
    problems = names.label_key_errors(name, errors.unit)
    shown = json_string(name)
    for problem in problems:
        errors.invalid_text(path, shown, problem)
    if "/" not in name:
        huge = name.startswith(HUGE)
        if not problems and name not in STANDARD and not huge:
            errors.invalid_text(path, shown, "must be a standard resource type or fully qualified")
        if name not in FOR_CONTAINERS and not huge:
            errors.invalid_text(path, shown, "must be a standard resource for containers")
    elif not names.is_native_resource(name) and not names.is_extended_resource(name):
        errors.invalid_text(path, shown, "doesn't follow extended resource name standard")
    if amount.nano < 0:
        errors.invalid(path, str(amount), "must be greater than or equal to 0")
    if names.is_extended_resource(name) and amount.milli_value() % 1000:
        errors.invalid_text(path, f'"{amount}"', "must be an integer")


def check_toleration(scope: Scope, toleration: dict[str, Any], path: Path) -> None:
    """A toleration of node taints."""
    errors = scope.errors
    key, operator, value = toleration.get("key", ""), toleration.get("operator", ""), toleration.get("value", "")
    effect = toleration.get("effect", "")
    if key:
        errors.invalid_each((*path, "key"), key, names.label_key_errors(key, errors.unit))
    elif operator != "Exists":
        detail = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
        errors.invalid_named((*path, "operator"), operator, detail)
    if "tolerationSeconds" in toleration and effect != "NoExecute":
        detail = "effect must be 'NoExecute' when `tolerationSeconds` is set"
        errors.invalid_named((*path, "effect"), effect, detail)
    if operator in ("", "Equal"):
        problems = names.label_value_errors(value, errors.unit)
        if problems:
            errors.invalid((*path, "operator"), value, ";".join(problems))
    elif operator == "Exists":
        if value:
            errors.invalid((*path, "operator"), value, "value must be empty when `operator` is 'Exists'")
    elif operator in ("Lt", "Gt") and scope.minor >= 35:
        supported = ("Equal", "Exists", "Lt", "Gt")
        errors.not_supported((*path, "operator"), json_string(operator), supported)
    else:
        errors.not_supported((*path, "operator"), json_string(operator), ("Equal", "Exists"))
    effects = ("NoSchedule", "PreferNoSchedule", "NoExecute")
    if effect and effect not in effects:
        errors.not_supported((*path, "effect"), json_string(effect), effects)
