"""Rules for the workloads that make pods: selectors and labels, restart policy, numbers; and their templates."""

from __future__ import annotations

from typing import Any

from dractl.kube import names
from dractl.validation.errors import Path
from dractl.validation.gotext import json_string, json_text
from dractl.validation.semantic import meta, pod
from dractl.validation.semantic.scope import Scope

SPEC: Path = ("spec",)
TEMPLATE: Path = ("spec", "template")
NO_MATCH = "`selector` does not match template `labels`"
CRON_NAME_MAX = 52
CRON_FIELDS = 5


def check_daemonset(scope: Scope, obj: dict[str, Any]) -> None:
    """A new DaemonSet."""
    meta.check_metadata(scope.errors, obj["metadata"], names.dns_subdomain_errors, True, scope.types)
    check_daemonset_spec(scope, obj["spec"])


def check_daemonset_update(scope: Scope, obj: dict[str, Any], old: dict[str, Any]) -> None:
    """A changed DaemonSet: its selector must be the same."""
    meta.check_metadata_update(scope.errors, obj["metadata"], old["metadata"], scope.types)
    check_selector_unchanged(scope, obj["spec"], old["spec"])
    check_daemonset_spec(scope, obj["spec"])


def check_daemonset_spec(scope: Scope, spec: dict[str, Any]) -> None:
    """spec of a DaemonSet. Without a selector the server only says that it does not match."""
    selector = spec.get("selector")
    if selector is not None:
        check_selector(scope, selector, (*SPEC, "selector"))
    if selector_parses(selector):
        check_match(scope, spec, selector)
    if selector is not None and not selector.get("matchLabels") and not selector.get("matchExpressions"):
        check_not_empty(scope, selector, "daemonset")
    pod.check_template(scope, spec["template"], TEMPLATE)
    check_always(scope, spec, "DaemonSet")
    check_not_negative(scope, spec, ("minReadySeconds", "revisionHistoryLimit"), SPEC)
    strategy = spec.get("updateStrategy", {})
    check_strategy(scope, strategy, "updateStrategy", ("RollingUpdate", "OnDelete"), "apps/v1.DaemonSetUpdateStrategy")


def check_deployment(scope: Scope, obj: dict[str, Any]) -> None:
    """A new Deployment."""
    meta.check_metadata(scope.errors, obj["metadata"], names.dns_subdomain_errors, True, scope.types)
    check_deployment_spec(scope, obj["spec"])


def check_deployment_update(scope: Scope, obj: dict[str, Any], old: dict[str, Any]) -> None:
    """A changed Deployment: its selector must be the same."""
    meta.check_metadata_update(scope.errors, obj["metadata"], old["metadata"], scope.types)
    check_deployment_spec(scope, obj["spec"])
    check_selector_unchanged(scope, obj["spec"], old["spec"])


def check_deployment_spec(scope: Scope, spec: dict[str, Any]) -> None:
    """spec of a Deployment."""
    check_not_negative(scope, spec, ("replicas",), SPEC)
    selector = check_required_selector(scope, spec, "deployment")
    if not selector_parses(selector):
        text = json_text(scope.types.struct("meta/v1.LabelSelector").encode(selector))
        scope.errors.invalid_text((*SPEC, "selector"), text, "invalid label selector")
    else:
        if selector is None or not is_empty(selector):
            check_match(scope, spec, selector)
        pod.check_template(scope, spec["template"], TEMPLATE)
        check_always(scope, spec, "ReplicaSet")
    check_strategy(
        scope, spec.get("strategy", {}), "strategy", ("Recreate", "RollingUpdate"), "apps/v1.DeploymentStrategy"
    )
    check_not_negative(scope, spec, ("minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds"), SPEC)
    deadline = spec.get("progressDeadlineSeconds")
    if deadline is not None and deadline <= spec.get("minReadySeconds", 0):
        path: Path = (*SPEC, "progressDeadlineSeconds")
        scope.errors.invalid_text(path, str(deadline), "must be greater than minReadySeconds")


def check_statefulset(scope: Scope, obj: dict[str, Any]) -> None:
    """A new StatefulSet."""
    rule = names.dns_label_errors if scope.minor >= 33 else names.dns_subdomain_errors
    meta.check_metadata(scope.errors, obj["metadata"], rule, True, scope.types)
    check_statefulset_spec(scope, obj["spec"], new=True)


def check_statefulset_update(scope: Scope, obj: dict[str, Any], old: dict[str, Any]) -> None:
    """A changed StatefulSet: only some fields may change."""
    meta.check_metadata_update(scope.errors, obj["metadata"], old["metadata"], scope.types)
    aside = Scope(scope.minor, scope.gates, scope.types, scope.namespace_labels)
    check_statefulset_spec(aside, old["spec"], new=False)
    # what is stored with faults in its template may go on having them
    check_statefulset_spec(scope, obj["spec"], new=False, with_template=not aside.errors.causes)
    if scope.minor >= 37:
        check_statefulset_unchanged(scope, obj["spec"], old["spec"])
        return
    mutable = (
        "replicas",
        "ordinals",
        "template",
        "updateStrategy",
        "revisionHistoryLimit",
        "persistentVolumeClaimRetentionPolicy",
        "minReadySeconds",
    )
    struct = scope.types.struct("apps/v1.StatefulSetSpec")
    rest = {name: value for name, value in obj["spec"].items() if name not in mutable}
    before = {name: value for name, value in old["spec"].items() if name not in mutable}
    if not struct.equal(rest, before):
        listed = "'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', "
        listed += "'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds'"
        scope.errors.forbidden(SPEC, f"updates to statefulset spec for fields other than {listed} are forbidden")


def check_statefulset_unchanged(scope: Scope, spec: dict[str, Any], old: dict[str, Any]) -> None:
    """The fields that cannot change, one by one, as 1.37 names them."""
    struct = scope.types.struct("apps/v1.StatefulSetSpec")
    for name in ("selector", "volumeClaimTemplates", "serviceName", "podManagementPolicy"):
        kind = struct.fields[name].type
        if not kind.equal(spec.get(name), old.get(name)):
            scope.errors.invalid_text((*SPEC, name), json_text(kind.encode(spec.get(name))), meta.IMMUTABLE)


def check_statefulset_spec(scope: Scope, spec: dict[str, Any], new: bool, with_template: bool = True) -> None:
    """spec of a StatefulSet."""
    policy = spec.get("podManagementPolicy", "")
    if policy not in ("OrderedReady", "Parallel"):
        scope.errors.invalid_named((*SPEC, "podManagementPolicy"), policy, "must be 'OrderedReady' or 'Parallel'")
    check_not_negative(scope, spec, ("replicas", "minReadySeconds"), SPEC)
    if new and spec.get("serviceName") and scope.minor >= 34:
        name = spec["serviceName"]
        scope.errors.invalid_each((*SPEC, "serviceName"), name, names.dns_label_errors(name))
    selector = check_required_selector(scope, spec, "statefulset")
    if not selector_parses(selector):
        text = json_text(scope.types.struct("meta/v1.LabelSelector").encode(selector))
        scope.errors.add((*SPEC, "selector"), "FieldValueInvalid", f"Invalid value: {text}")
    else:
        if selector is None or not is_empty(selector):
            check_match(scope, spec, selector)
        extra = {claim.get("metadata", {}).get("name", "") for claim in spec.get("volumeClaimTemplates") or ()}
        template = spec["template"]
        if extra or template.get("spec", {}).get("hostname") or template.get("spec", {}).get("subdomain"):
            template = with_claim_volumes(template, extra)
        check = pod.check_template if with_template else pod.check_template_metadata
        check(scope, template, TEMPLATE)
    check_always(scope, spec, "StatefulSet")


def with_claim_volumes(template: dict[str, Any], names_of_claims: set[str]) -> dict[str, Any]:
    """The template as its pods will be: volumes of the claim templates, no host name of its own."""
    spec = {name: value for name, value in template.get("spec", {}).items() if name not in ("hostname", "subdomain")}
    if names_of_claims:
        volumes = [{"name": name} for name in sorted(names_of_claims)]
        spec["volumes"] = volumes + [v for v in spec.get("volumes") or () if v.get("name") not in names_of_claims]
    return {**template, "spec": spec}


def check_job(scope: Scope, obj: dict[str, Any]) -> None:
    """A new Job."""
    meta.check_metadata(scope.errors, obj["metadata"], names.dns_subdomain_errors, True, scope.types)
    check_job_rest(scope, obj)


def check_job_rest(scope: Scope, obj: dict[str, Any]) -> None:
    """All of a Job but its metadata."""
    check_job_spec(scope, obj["spec"], SPEC)
    selector = obj["spec"].get("selector")
    if selector is None:
        scope.errors.required((*SPEC, "selector"))
    else:
        check_selector(scope, selector, (*SPEC, "selector"))
    if selector_parses(selector):
        check_match(scope, obj["spec"], selector)


def check_job_update(scope: Scope, obj: dict[str, Any], old: dict[str, Any]) -> None:
    """A changed Job: template, selector and modes must be the same."""
    if scope.minor >= 37:
        check_job_rest(scope, obj)
    else:
        check_job(scope, obj)
    meta.check_metadata_update(scope.errors, obj["metadata"], old["metadata"], scope.types)
    check_selector_unchanged(scope, obj["spec"], old["spec"])
    struct = scope.types.struct("batch/v1.JobSpec")
    field = struct.fields["template"]
    if not field.type.equal(obj["spec"].get("template"), old["spec"].get("template")):
        text = json_text(field.type.encode(obj["spec"].get("template")))
        scope.errors.invalid_text((*SPEC, "template"), text, meta.IMMUTABLE)


def check_cronjob(scope: Scope, obj: dict[str, Any]) -> None:
    """A new CronJob."""
    meta.check_metadata(scope.errors, obj["metadata"], names.dns_subdomain_errors, True, scope.types)
    check_cronjob_spec(scope, obj["spec"])
    name = obj["metadata"].get("name", "")
    if names.byte_length(name) > CRON_NAME_MAX:
        scope.errors.invalid(("metadata", "name"), name, f"must be no more than {CRON_NAME_MAX} characters")


def check_cronjob_update(scope: Scope, obj: dict[str, Any], old: dict[str, Any]) -> None:
    """A changed CronJob."""
    meta.check_metadata_update(scope.errors, obj["metadata"], old["metadata"], scope.types)
    check_cronjob_spec(scope, obj["spec"])


def check_cronjob_spec(scope: Scope, spec: dict[str, Any]) -> None:
    """spec of a CronJob; of the schedule only the number of its fields is looked at."""
    schedule = spec.get("schedule", "")
    fields = schedule.split()
    if not schedule:
        scope.errors.required((*SPEC, "schedule"))
    elif not schedule.startswith(("@", "TZ=", "CRON_TZ=")) and len(fields) != CRON_FIELDS:
        detail = f"expected exactly {CRON_FIELDS} fields, found {len(fields)}: [{' '.join(fields)}]"
        scope.errors.invalid((*SPEC, "schedule"), schedule, detail)
    check_not_negative(
        scope, spec, ("startingDeadlineSeconds", "successfulJobsHistoryLimit", "failedJobsHistoryLimit"), SPEC
    )
    pod.check_choice(scope, spec, "concurrencyPolicy", ("Allow", "Forbid", "Replace"), SPEC)
    job = spec.get("jobTemplate", {}).get("spec", {})
    path: Path = (*SPEC, "jobTemplate", "spec")
    check_job_spec(scope, job, path)
    if "selector" in job:
        text = json_text(scope.types.struct("meta/v1.LabelSelector").encode(job["selector"]))
        scope.errors.invalid_text((*path, "selector"), text, "`selector` will be auto-generated")


def check_job_spec(scope: Scope, spec: dict[str, Any], path: Path) -> None:
    """What Jobs and the template of a CronJob share."""
    numbers = ("parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished")
    check_not_negative(scope, spec, numbers, path)
    pod.check_template(scope, spec.get("template", {}), (*path, "template"))
    policy = spec.get("template", {}).get("spec", {}).get("restartPolicy", "")
    at: Path = (*path, "template", "spec", "restartPolicy")
    if policy in ("", "Always"):
        scope.errors.required(at, 'valid values: "OnFailure", "Never"')
    elif policy not in ("OnFailure", "Never"):
        scope.errors.not_supported(at, json_string(policy), ("OnFailure", "Never"))


# --- shared ---------------------------------------------------------------------------------------------------------


def check_required_selector(scope: Scope, spec: dict[str, Any], kind: str) -> dict[str, Any] | None:
    """A selector that has to be there and to select something."""
    selector: dict[str, Any] | None = spec.get("selector")
    if selector is None:
        scope.errors.required((*SPEC, "selector"))
        return None
    check_selector(scope, selector, (*SPEC, "selector"))
    if not selector.get("matchLabels") and not selector.get("matchExpressions"):
        check_not_empty(scope, selector, kind)
    return selector


def check_not_empty(scope: Scope, selector: dict[str, Any], kind: str) -> None:
    """Say that a selector is empty."""
    text = json_text(scope.types.struct("meta/v1.LabelSelector").encode(selector))
    scope.errors.invalid_text((*SPEC, "selector"), text, f"empty selector is invalid for {kind}")


def check_selector(scope: Scope, selector: dict[str, Any], path: Path) -> None:
    """A label selector."""
    errors = scope.errors
    if "matchLabels" in selector:
        meta.check_labels(errors, selector["matchLabels"], (*path, "matchLabels"))
    for index, requirement in enumerate(selector.get("matchExpressions") or ()):
        at: Path = (*path, "matchExpressions", index)
        operator, values = requirement.get("operator", ""), requirement.get("values") or []
        if operator in ("In", "NotIn"):
            if not values:
                errors.required((*at, "values"), "must be specified when `operator` is 'In' or 'NotIn'")
        elif operator in ("Exists", "DoesNotExist"):
            if values:
                detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
                errors.forbidden((*at, "values"), detail)
        else:
            errors.invalid_named((*at, "operator"), operator, "not a valid selector operator")
        key = requirement.get("key", "")
        errors.invalid_each((*at, "key"), key, names.label_key_errors(key, errors.unit))
        for position, value in enumerate(values):
            errors.invalid_each((*at, "values", position), value, names.label_value_errors(value, errors.unit))


def selector_parses(selector: dict[str, Any] | None) -> bool:
    """Whether the server can make a matcher of a selector; without one it can: nothing matches."""
    if selector is None:
        return True
    for key, value in (selector.get("matchLabels") or {}).items():
        if names.label_key_errors(key) or names.label_value_errors(value):
            return False
    for requirement in selector.get("matchExpressions") or ():
        operator, values = requirement.get("operator", ""), requirement.get("values") or []
        if operator not in ("In", "NotIn", "Exists", "DoesNotExist") or names.label_key_errors(
            requirement.get("key", "")
        ):
            return False
        if (operator in ("In", "NotIn")) != bool(values) or any(map(names.label_value_errors, values)):
            return False
    return True


def is_empty(selector: dict[str, Any]) -> bool:
    """Whether a selector has no requirement."""
    return not selector.get("matchLabels") and not selector.get("matchExpressions")


def matches(selector: dict[str, Any] | None, labels: dict[str, str]) -> bool:
    """Whether labels fit a selector that parses; an unset selector fits nothing."""
    if selector is None:
        return False
    if any(labels.get(key) != value for key, value in (selector.get("matchLabels") or {}).items()):
        return False
    for requirement in selector.get("matchExpressions") or ():
        key, operator, values = requirement.get("key", ""), requirement["operator"], requirement.get("values") or []
        fits = {
            "In": labels.get(key) in values,
            "NotIn": labels.get(key) not in values,
            "Exists": key in labels,
            "DoesNotExist": key not in labels,
        }[operator]
        if not fits:
            return False
    return True


def check_match(scope: Scope, spec: dict[str, Any], selector: dict[str, Any] | None) -> None:
    """The template's labels must fit the selector."""
    labels = spec["template"].get("metadata", {}).get("labels")
    if not matches(selector, labels or {}):
        text = scope.types.get("map[string]string").go_json(labels)
        scope.errors.invalid_text((*TEMPLATE, "metadata", "labels"), text, NO_MATCH)


def check_selector_unchanged(scope: Scope, spec: dict[str, Any], old: dict[str, Any]) -> None:
    """The selector of a workload stays."""
    kind = scope.types.get("*meta/v1.LabelSelector")
    if not kind.equal(spec.get("selector"), old.get("selector")):
        text = json_text(kind.encode(spec.get("selector")))
        scope.errors.invalid_text((*SPEC, "selector"), text, meta.IMMUTABLE)


def check_always(scope: Scope, spec: dict[str, Any], kind: str) -> None:
    """Pods that are kept running restart always and have no deadline."""
    template = spec["template"].get("spec", {})
    policy = template.get("restartPolicy", "")
    if policy != "Always":
        path: Path = (*TEMPLATE, "spec", "restartPolicy")
        scope.errors.not_supported(path, json_string(policy), ("Always",))
    if "activeDeadlineSeconds" in template:
        at: Path = (*TEMPLATE, "spec", "activeDeadlineSeconds")
        scope.errors.forbidden(at, f"activeDeadlineSeconds in {kind} is not Supported")


def check_strategy(scope: Scope, strategy: dict[str, Any], name: str, choices: tuple[str, ...], struct: str) -> None:
    """The kind of an update strategy; its numbers are not looked at."""
    kind = strategy.get("type", "")
    if kind not in choices:
        text = scope.types.struct(struct).go_json(strategy)
        scope.errors.not_supported((*SPEC, name), text, choices)
    elif kind == "Recreate" and "rollingUpdate" in strategy:
        detail = "may not be specified when strategy `type` is 'Recreate'"
        scope.errors.forbidden((*SPEC, name, "rollingUpdate"), detail)


def check_not_negative(scope: Scope, spec: dict[str, Any], fields: tuple[str, ...], path: Path) -> None:
    """Numbers from zero on."""
    for name in fields:
        if spec.get(name, 0) < 0:
            scope.errors.invalid((*path, name), spec[name], "must be greater than or equal to 0")
