"""Rules for metadata: names, namespaces, labels, annotations, owners, finalizers; and for lists of conditions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from dractl.kube import names
from dractl.validation.errors import Errors, Path
from dractl.validation.gotext import ZERO_TIME, json_string, quote
from dractl.validation.gotypes import TypeTable

OWN_FINALIZERS = frozenset({"kubernetes", "orphan", "foregroundDeletion"})
NameRule = Callable[[str], names.Messages]

METADATA: Path = ("metadata",)
ANNOTATIONS_MAX = 256 * 1024
MANAGER_MAX = 128
SUBRESOURCE_MAX = 256
CONDITION_REASON_MAX = 1024
CONDITION_MESSAGE_MAX = 32 * 1024
IMMUTABLE = "field is immutable"
GENERATED = "xxxxx"
"""Stands for the five random characters that the server appends to ``generateName``."""


def path_segment_rule(name: str) -> names.Messages:
    """The rule for names that holds for every kind."""
    return names.path_segment_errors(name)


def generated_name(prefix: str) -> str:
    """The name made from ``generateName``: at most 63 characters."""
    return prefix[: 63 - len(GENERATED)] + GENERATED


def check_metadata(errors: Errors, meta: dict[str, Any], rule: NameRule, namespaced: bool, types: TypeTable) -> None:
    """Rules for a new object, or for a whole object after a change.

    ``rule`` is that of the name. DeviceClass checks no ``generateName`` (see ``check_class_metadata``).
    """
    prefix = meta.get("generateName")
    if prefix:
        errors.invalid_each(("metadata", "generateName"), prefix, rule(names.mask_trailing_dash(prefix)))
    name = meta.get("name")
    if not name:
        errors.required(("metadata", "name"), "name or generateName is required")
    else:
        problems = rule(name)
        if problems:
            errors.invalid_each(("metadata", "name"), name, problems)
    check_common(errors, meta, namespaced, types)
    check_qualified(errors, meta.get("finalizers", ()))


def check_common(errors: Errors, meta: dict[str, Any], namespaced: bool, types: TypeTable) -> None:
    """Everything but the name."""
    namespace = meta.get("namespace")
    if namespaced:
        if not namespace:
            errors.required(("metadata", "namespace"))
        else:
            errors.invalid_each(("metadata", "namespace"), namespace, names.dns_label_errors(namespace))
    elif namespace:
        errors.forbidden(("metadata", "namespace"), "not allowed on this type")
    if meta.get("generation", 0) < 0:
        errors.invalid(("metadata", "generation"), meta["generation"], "must be greater than or equal to 0")
    check_maps(errors, meta, METADATA)
    if "ownerReferences" in meta:
        check_owners(errors, meta["ownerReferences"], types)
    if "finalizers" in meta:
        check_finalizers(errors, meta["finalizers"])
    if "managedFields" in meta:
        check_managed_fields(errors, meta["managedFields"], types.minor)


def check_maps(errors: Errors, meta: dict[str, Any], path: Path) -> None:
    """Labels and annotations under ``path``."""
    if "labels" in meta:
        check_labels(errors, meta["labels"], (*path, "labels"))
    if "annotations" in meta:
        check_annotations(errors, meta["annotations"], (*path, "annotations"))


def check_labels(errors: Errors, labels: dict[str, str], path: Path) -> None:
    """Label keys and values."""
    for key, value in labels.items():
        problems = names.label_key_errors(key, errors.unit)
        if problems:
            errors.invalid_each(path, key, problems, (*path, key))
        problems = names.label_value_errors(value, errors.unit)
        if problems:
            errors.invalid_each(path, value, problems, (*path, key))


def check_annotations(errors: Errors, annotations: dict[str, str], path: Path) -> None:
    """Annotation keys (in either case) and the size of all of them."""
    total = 0
    for key, value in annotations.items():
        total += names.byte_length(key) + names.byte_length(value)
        problems = names.label_key_errors(names.lower(key), errors.unit)
        if problems:
            errors.invalid_each(path, key, problems, (*path, key))
    if total > ANNOTATIONS_MAX:
        errors.too_long(path, ANNOTATIONS_MAX)


def check_owners(errors: Errors, owners: list[dict[str, Any]], types: TypeTable) -> None:
    """Owner references; the server names no index in its errors."""
    path: Path = ("metadata", "ownerReferences")
    controller = ""
    since_37 = types.minor >= 37
    for index, owner in enumerate(owners):
        at: Path = (*path, index)
        named: Path = at if since_37 else path
        version = owner.get("apiVersion", "")
        group, slash, rest = version.partition("/")
        parsed = rest if slash else group
        if not version and since_37:
            errors.required((*named, "apiVersion"), "must not be empty")
        elif version.count("/") > 1 or not parsed:
            detail = "must be <group>/<version> or <version>" if since_37 else "version must not be empty"
            errors.invalid((*named, "apiVersion"), version, detail, (*at, "apiVersion"))
        for name in ("kind", "name", "uid"):
            if not owner.get(name) and since_37:
                errors.required((*named, name), "must not be empty")
            elif not owner.get(name):
                printed = '""'
                errors.invalid_text((*named, name), printed, "must not be empty", (*at, name))
        if version == "v1" and owner.get("kind") == "Event":
            text = types.struct("meta/v1.OwnerReference").go_json(owner)
            errors.invalid_text(named, text, "/v1, Kind=Event is disallowed from being an owner", at)
        if owner.get("controller"):
            current = f"{owner.get('kind', '')}/{owner.get('name', '')}"
            if controller:
                text = types.get("[]meta/v1.OwnerReference").go_json(owners)
                found = f'Found "true" in references for {controller} and {current}'
                errors.invalid_text(path, text, f"Only one reference can have Controller set to true. {found}", at)
            else:
                controller = current


def check_finalizers(errors: Errors, finalizers: list[str]) -> None:
    """Finalizers are label keys."""
    path: Path = ("metadata", "finalizers")
    for index, finalizer in enumerate(finalizers):
        errors.invalid_each(path, finalizer, names.label_key_errors(finalizer, errors.unit), (*path, index))
    if "orphan" in finalizers and "foregroundDeletion" in finalizers:
        text = f"[{','.join(map(json_string, finalizers))}]"
        errors.invalid_text(path, text, "finalizer orphan and foregroundDeletion cannot be both set")


def check_qualified(errors: Errors, finalizers: Iterable[str]) -> None:
    """A finalizer without a domain has to be one of Kubernetes' own."""
    for index, finalizer in enumerate(finalizers):
        if "/" not in finalizer and finalizer not in OWN_FINALIZERS:
            detail = "name is neither a standard finalizer name nor is it fully qualified"
            errors.invalid(("metadata", "finalizers", index), finalizer, detail)


def check_managed_fields(errors: Errors, entries: list[dict[str, Any]], minor: int) -> None:
    """Entries that servers write; people rarely do."""
    for index, entry in enumerate(entries):
        path: Path = ("metadata", "managedFields", index)
        operation = entry.get("operation", "")
        if minor >= 37 and not operation:
            errors.required((*path, "operation"), "must not be empty")
        elif minor >= 37 and operation not in {"Apply", "Update"}:
            errors.not_supported((*path, "operation"), json_string(operation), ("Apply", "Update"))
        elif operation not in {"Apply", "Update"}:
            errors.invalid_named((*path, "operation"), operation, "must be `Apply` or `Update`")
        kind = entry.get("fieldsType", "")
        if kind and kind != "FieldsV1":
            errors.invalid((*path, "fieldsType"), kind, "must be `FieldsV1`")
        manager = entry.get("manager", "")
        if names.byte_length(manager) > MANAGER_MAX:
            errors.too_long((*path, "manager"), MANAGER_MAX)
        offset = 0
        for char in manager:
            if not (char.isprintable() and (char == " " or not char.isspace())):
                shown = f"U+{ord(char):04X}" + (f" '{char}'" if char.isprintable() else "")
                errors.invalid((*path, "manager"), manager, f"invalid character {shown} (at position {offset})")
            offset += names.byte_length(char)
        if names.byte_length(entry.get("subresource", "")) > SUBRESOURCE_MAX:
            errors.too_long((*path, "subresource"), SUBRESOURCE_MAX)


def check_metadata_update(errors: Errors, meta: dict[str, Any], old: dict[str, Any], types: TypeTable) -> None:
    """What must not change in metadata, and its maps once more."""
    check_qualified(errors, meta.get("finalizers", ()))
    if old.get("deletionTimestamp"):
        extra = sorted(set(meta.get("finalizers", ())) - set(old.get("finalizers", ())))
        if extra:
            listed = f"[]string{{{', '.join(map(quote, extra))}}}"
            detail = f"no new finalizers can be added if the object is being deleted, found new finalizers {listed}"
            errors.forbidden(("metadata", "finalizers"), detail)
    if not meta.get("resourceVersion"):
        errors.invalid(("metadata", "resourceVersion"), "", "must be specified for an update")
    if meta.get("generation", 0) < old.get("generation", 0):
        errors.invalid(("metadata", "generation"), meta.get("generation", 0), "must not be decremented")
    for name, empty in (
        ("name", '""'),
        ("namespace", '""'),
        ("uid", '""'),
        ("creationTimestamp", "null"),
        ("deletionTimestamp", "null"),
        ("deletionGracePeriodSeconds", "null"),
    ):
        new_value, old_value = meta.get(name), old.get(name)
        unset = (None, "", ZERO_TIME) if name == "creationTimestamp" else (None, "")
        if new_value in unset and old_value in unset:
            continue
        if new_value != old_value:
            text = empty if new_value in (None, ZERO_TIME) else value_json(name, new_value)
            errors.invalid_text(("metadata", name), text, IMMUTABLE)
    check_maps(errors, meta, METADATA)
    if "ownerReferences" in meta:
        check_owners(errors, meta["ownerReferences"], types)
    if "managedFields" in meta:
        check_managed_fields(errors, meta["managedFields"], types.minor)


def value_json(name: str, value: Any) -> str:
    """The printed form of an immutable field of metadata: names as Go strings, UIDs and times as JSON."""
    if isinstance(value, str):
        return json_string(value) if name == "uid" else quote(value)
    return str(value)


def check_conditions(errors: Errors, conditions: list[dict[str, Any]], path: Path) -> None:
    """metav1 conditions: unique types, a known status, a time and a reason."""
    seen: set[str] = set()
    for index, condition in enumerate(conditions):
        at: Path = (*path, index)
        kind = condition.get("type", "")
        if kind in seen:
            errors.duplicate((*at, "type"), quote(kind))
        seen.add(kind)
        errors.invalid_each((*at, "type"), kind, names.label_key_errors(kind, errors.unit))
        status = condition.get("status", "")
        if status not in {"True", "False", "Unknown"}:
            errors.not_supported((*at, "status"), json_string(status), ("False", "True", "Unknown"))
        if condition.get("observedGeneration", 0) < 0:
            errors.invalid(
                (*at, "observedGeneration"), condition["observedGeneration"], "must be greater than or equal to zero"
            )
        if condition.get("lastTransitionTime", ZERO_TIME) == ZERO_TIME:
            errors.required((*at, "lastTransitionTime"))
        reason = condition.get("reason", "")
        if not reason:
            errors.required((*at, "reason"))
        else:
            errors.invalid_each((*at, "reason"), reason, names.condition_reason_errors(reason))
            if names.byte_length(reason) > CONDITION_REASON_MAX:
                errors.too_long((*at, "reason"), CONDITION_REASON_MAX)
        if names.byte_length(condition.get("message", "")) > CONDITION_MESSAGE_MAX:
            errors.too_long((*at, "message"), CONDITION_MESSAGE_MAX)
