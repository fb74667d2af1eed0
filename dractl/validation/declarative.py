"""The server's declarative rules, which since 1.37 are enforced beside its handwritten ones.

They run on the object in the version of the request, so their paths are those of that version (``basic``, flat
requests), and they leave alone what an update does not change. The rules are data (``data/declared.json``, made by
scripts/apitypes/declared.py); this module is their interpreter. Source: apimachinery's pkg/api/validate of 1.37.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import lru_cache
from importlib.resources import files
from typing import Any

from dractl.kube import names
from dractl.validation.errors import Cause, Errors, Key, Path
from dractl.validation.gotext import json_string, json_text, quote
from dractl.validation.gotypes import ListType, MapType, PointerType, StructType, Type, TypeTable
from dractl.validation.semantic.scope import sorted_items

Rule = dict[str, Any]

IDENTIFIER_MAX = 32
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
SHARED_TYPES = ("meta/v1.ObjectMeta", "meta/v1.Condition")
"""Types whose declarative rules are alpha throughout, and so never count."""


@lru_cache(maxsize=1)
def _table() -> dict[str, Any]:
    text = files("dractl.validation").joinpath("data/declared.json").read_text("utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


def declared_causes(
    struct: str, obj: dict[str, Any], old: dict[str, Any] | None, types: TypeTable, options: dict[str, bool], beta: bool
) -> list[tuple[Cause, str]]:
    """Causes that count, each with the stability of its rule ("" or ``beta``).

    ``struct`` is the kind's type, as in ``resource/v1.ResourceClaim``; ``old`` the object before an update, in the
    same version; ``options`` feature gates that rules ask for; ``beta`` whether beta rules are enforced.
    """
    checker = _Checker(types, options, old is not None)
    checker.type(struct, obj, old, ())
    marked = zip(checker.errors.causes, checker.marks, strict=True)
    return [(cause, mark) for cause, mark in marked if mark == "" or (mark == "beta" and beta)]


_NORMALIZED = (
    (
        re.compile(
            r"(spec\.(?:spec\.)?devices\.requests\[\d+\])\.(deviceClassName|selectors|allocationMode|count|adminAccess"
            r"|tolerations|derivedAttributes)"
        ),
        r"\1.exactly.\2",
    ),
    (re.compile(r"(spec\.devices\[\d+\])\.basic\."), r"\1."),
)


def normalized(field: str) -> str:
    """A field of any version as the handwritten rules name it."""
    for pattern, replacement in _NORMALIZED:
        field = pattern.sub(replacement, field)
    return field


class _Step:
    """One rule, ready to run."""

    __slots__ = ("each", "mark", "name", "quiet", "rule", "stop", "structural", "type", "value")

    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        self.name: str = rule["rule"]
        self.mark: str = rule["mark"]
        self.stop = bool(rule.get("stop"))
        self.quiet = bool(rule.get("quiet"))
        self.type: str = rule.get("type", "")
        self.each: tuple[_Step, ...] = (_Step(rule["each"]),) if "each" in rule else ()
        self.structural = _STRUCTURAL.get(self.name)
        self.value = _VALUE_RULES.get(self.name)

    def idle(self, types: TypeTable) -> bool:
        """Whether the rule has nothing to say about an absent value of a new object."""
        if self.name == "type":
            return _plan(types, self.type).idle
        if self.name in ("Subfield", "IfOption"):
            return self.each[0].idle(types)
        return self.name not in _HEEDS_ABSENCE


_HEEDS_ABSENCE = ("RequiredValue", "RequiredPointer", "RequiredSlice", "RequiredMap", "Enum", "Union")


def _idle(steps: tuple[_Step, ...], types: TypeTable) -> bool:
    """The same for rules in order; after one for an optional value only those that stop run."""
    stopped = False
    for step in steps:
        if step.name.startswith("Optional") and step.quiet and step.stop:
            stopped = True
        elif (step.stop or not stopped) and not step.idle(types):
            return False
    return True


class _Plan:
    """The rules of a type: its own, and those of its fields with the field's type and whether absence is good."""

    __slots__ = ("fields", "idle", "steps", "type")

    def __init__(self, types: TypeTable, name: str) -> None:
        empty: dict[str, Any] = {"rules": [], "fields": {}}
        entry = empty if name in SHARED_TYPES else _table().get(name, empty)
        self.type = types.get(name) if entry["rules"] or entry["fields"] else None
        self.steps = tuple(map(_Step, entry["rules"]))
        self.fields: list[tuple[str, tuple[_Step, ...], Type, bool]] = []
        if entry["fields"]:
            self._add(types, types.struct(name), entry["fields"])
        self.idle = _idle(self.steps, types) and all(idle for _, _, _, idle in self.fields)

    def _add(self, types: TypeTable, holder: StructType, fields: dict[str, list[Rule]]) -> None:
        """Rules of fields; those of an embedded struct (no name) are for the fields of its holder."""
        for name, rules in fields.items():
            if not name:
                for embedded in rules:
                    self._add(types, holder, _table().get(embedded["type"], {"fields": {}})["fields"])
            elif name in holder.fields:
                steps = tuple(step for step in map(_Step, rules) if not _is_void(step, types))
                if steps:
                    self.fields.append((name, steps, holder.fields[name].type, _idle(steps, types)))


def _is_void(step: _Step, types: TypeTable) -> bool:
    """Whether a step leads to a type without rules."""
    if step.name != "type":
        return False
    plan = _plan(types, step.type)
    return not plan.steps and not plan.fields


@lru_cache(maxsize=1024)
def _plan(types: TypeTable, name: str) -> _Plan:
    return _Plan(types, name)


class _Checker:
    """Runs rules and keeps, beside each cause, the mark of its rule."""

    def __init__(self, types: TypeTable, options: dict[str, bool], update: bool) -> None:
        self.types = types
        self.options = options
        self.update = update
        self.errors = Errors()
        self.marks: list[str] = []

    def type(self, name: str, value: Any, old: Any, path: Path) -> None:
        """The rules of a type on a value."""
        plan = _plan(self.types, name)
        if plan.steps:
            self.run(plan.steps, value, old, path, plan.type)
        update, obj = self.update, value or {}
        for field, steps, kind, idle in plan.fields:
            found = obj.get(field)
            if found is None and idle and not update:
                continue
            before = None if old is None else old.get(field)
            if old is not None and kind.equal(found, before):
                continue
            self.run(steps, found, before, (*path, field), kind)

    def run(self, steps: tuple[_Step, ...], value: Any, old: Any, path: Path, kind: Type | None) -> None:
        """Rules in order; after one that stops has failed, only those that stop too."""
        stopped = False
        for step in steps:
            if stopped and not step.stop:
                return
            before = len(self.marks)
            if step.type:
                self.type(step.type, value, old, path)
                continue
            if step.structural is not None:
                step.structural(self, step, value, old, path, kind)
            else:
                assert step.value is not None
                step.value(self.errors, step.rule, value, path, kind)
            if len(self.errors.causes) > len(self.marks):
                self.marks += [""] * (len(self.errors.causes) - len(self.marks))
            if len(self.marks) == before:
                continue
            if step.quiet:
                del self.marks[before:], self.errors.causes[before:]
            elif step.mark:
                self.marks[before:] = [step.mark] * (len(self.marks) - before)
            stopped = stopped or step.stop

    # --- rules that lead to other rules or look at the old value ---

    def each_item(self, step: _Step, value: Any, old: Any, path: Path, kind: Type | None) -> None:
        item = _inner(kind)
        for index, element in enumerate(value or ()):
            match = _find(step.rule["key"], element, old, item) if old else None
            if self.update and match is not None and (not step.rule["same"] or _equal(item, element, match)):
                continue
            self.run(step.each, element, match, (*path, index), item)

    def each_value(self, step: _Step, value: Any, old: Any, path: Path, kind: Type | None) -> None:
        item = _inner(kind)
        for key, element in sorted_items(value or {}):
            match = (old or {}).get(key)
            if self.update and match is not None and _equal(item, element, match):
                continue
            self.run(step.each, element, match, (*path, Key(key)), item)

    def each_key(self, step: _Step, value: Any, old: Any, path: Path, kind: Type | None) -> None:
        for key, _ in sorted_items(value or {}):
            if not (self.update and key in (old or {})):
                self.run(step.each, key, None, path, None)

    def subfield(self, step: _Step, value: Any, old: Any, path: Path, kind: Type | None) -> None:
        name = step.rule["field"]
        new_value, before = (value or {}).get(name), (old or {}).get(name)
        if not (self.update and old is not None and new_value == before):
            self.run(step.each, new_value, before, (*path, name), None)

    def if_option(self, step: _Step, value: Any, old: Any, path: Path, kind: Type | None) -> None:
        if self.options.get(step.rule["option"], False) == step.rule["on"]:
            self.run(step.each, value, old, path, kind)

    def immutable(self, step: _Step, value: Any, old: Any, path: Path, kind: Type | None) -> None:
        if self.update:
            self.errors.invalid_text(path, "null", "field is immutable")

    def update_pointer(self, step: _Step, value: Any, old: Any, path: Path, kind: Type | None) -> None:
        if self.update and old is not None and value is not None:
            self.errors.invalid_text(path, "null", "field cannot be modified once set")

    def union(self, step: _Step, value: Any, old: Any, path: Path, kind: Type | None) -> None:
        given = _members(step.rule, value, kind)
        if self.update and old is not None and given == _members(step.rule, old, kind):
            return
        listed = ", ".join(f"`{name}`" for name in step.rule["names"])
        chosen = [name for name, is_set in zip(step.rule["names"], given, strict=True) if is_set]
        if len(chosen) > 1:
            self.errors.invalid(path, f"{{{', '.join(chosen)}}}", f"must specify exactly one of: {listed}")
        elif not chosen:
            self.errors.invalid(path, "", f"must specify one of: {listed}")

    def dependent(self, step: _Step, value: Any, old: Any, path: Path, kind: Type | None) -> None:
        trigger, needed = step.rule["trigger"], step.rule["dependent"]
        state = (trigger in value, needed in value)
        if self.update and old is not None and state == (trigger in old, needed in old):
            return
        if state == (True, False):
            self.errors.required((*path, needed), f"must be set when {trigger} is set")


def _inner(kind: Type | None) -> Type | None:
    if isinstance(kind, PointerType):
        kind = kind.item
    return kind.item if isinstance(kind, ListType | MapType) else None


def _equal(kind: Type | None, first: Any, second: Any) -> bool:
    return kind.equal(first, second) if kind is not None else bool(first == second)


def _json_names(kind: Type | None, go_names: list[str]) -> list[str]:
    """JSON names of Go fields."""
    assert isinstance(kind, StructType)
    by_go_name = {field.go_name: field.name for field in kind.fields.values()}
    return [by_go_name[name] for name in go_names]


def _identity(key: list[str], element: Any, kind: Type | None) -> Any:
    """What makes two elements the same: some fields, or the whole."""
    if not key:
        return element
    assert isinstance(kind, StructType)
    fields = _json_names(kind, key)
    empty: dict[str, Any] = {name: "" for name in fields if not isinstance(kind.fields[name].type, PointerType)}
    return tuple(element.get(name, empty.get(name)) for name in fields)


def _find(key: list[str] | None, element: Any, old: Any, kind: Type | None) -> Any:
    if key is None:
        return None
    wanted = _identity(key, element, kind)
    return next((other for other in old if _identity(key, other, kind) == wanted), None)


def _members(rule: Rule, value: Any, kind: Type | None) -> list[bool]:
    """Which members of a union are set."""
    names_of = _json_names(kind, [field for field, _ in rule["fields"]])
    how = [how for _, how in rule["fields"]]
    return [
        bool(value.get(name)) if mode == "filled" else name in value for name, mode in zip(names_of, how, strict=True)
    ]


_STRUCTURAL: dict[str, Callable[[_Checker, _Step, Any, Any, Path, Type | None], None]] = {
    "EachValSliceVal": _Checker.each_item,
    "EachMapVal": _Checker.each_value,
    "EachMapKey": _Checker.each_key,
    "Subfield": _Checker.subfield,
    "IfOption": _Checker.if_option,
    "Immutable": _Checker.immutable,
    "UpdatePointer": _Checker.update_pointer,
    "Union": _Checker.union,
    "DependentRequired": _Checker.dependent,
}

# --- rules on one value ---------------------------------------------------------------------------------------------


def _required(errors: Errors, rule: Rule, value: Any, path: Path, kind: Type | None) -> None:
    pointer = rule["rule"].endswith("Pointer")
    if value is None or (not pointer and not value):
        errors.required(path)


def _forbidden(errors: Errors, rule: Rule, value: Any, path: Path, kind: Type | None) -> None:
    if value is not None:
        errors.forbidden(path, "")


def _max_items(errors: Errors, rule: Rule, value: Any, path: Path, kind: Type | None) -> None:
    if len(value or ()) > rule["limit"]:
        errors.too_many(path, len(value), rule["limit"])


def _max_bytes(errors: Errors, rule: Rule, value: Any, path: Path, kind: Type | None) -> None:
    if names.byte_length(value or "") > rule["limit"]:
        errors.too_long(path, rule["limit"])


def _max_length(errors: Errors, rule: Rule, value: Any, path: Path, kind: Type | None) -> None:
    if len(value or "") > rule["limit"]:
        errors.add(path, "FieldValueTooLong", f"Too long: may not be more than {rule['limit']} characters")


def _minimum(errors: Errors, rule: Rule, value: Any, path: Path, kind: Type | None) -> None:
    if value is not None and value < rule["limit"]:
        errors.invalid(path, value, f"must be greater than or equal to {rule['limit']}")


def _maximum(errors: Errors, rule: Rule, value: Any, path: Path, kind: Type | None) -> None:
    if value is not None and value > rule["limit"]:
        errors.invalid(path, value, f"must be less than or equal to {rule['limit']}")


def _enum(errors: Errors, rule: Rule, value: Any, path: Path, kind: Type | None) -> None:
    if (value or "") not in rule["values"]:
        errors.not_supported(path, json_string(value or ""), tuple(rule["values"]))


def _unique(errors: Errors, rule: Rule, value: Any, path: Path, kind: Type | None) -> None:
    if not value or len(value) < 2:
        return
    item = _inner(kind)
    seen: list[Any] = []
    for index, element in enumerate(value):
        identity = _identity(rule["key"], element, item)
        if identity in seen:
            if isinstance(element, str):
                plain = item is not None and item.display == "string"
                errors.duplicate((*path, index), quote(element) if plain else json_string(element))
            else:
                assert item is not None
                errors.duplicate((*path, index), json_text(item.encode(element)))
        else:
            seen.append(identity)


def _format(rule: Callable[[str], names.Messages]) -> Callable[[Errors, Rule, Any, Path, Type | None], None]:
    def check(errors: Errors, _: Rule, value: Any, path: Path, kind: Type | None) -> None:
        if value is not None:
            errors.invalid_each(path, value, rule(value))

    return check


def _uuid(errors: Errors, rule: Rule, value: Any, path: Path, kind: Type | None) -> None:
    if not UUID.fullmatch(value):
        errors.invalid(path, value, "must be a lowercase UUID in 8-4-4-4-12 format")


def check_pool_name(errors: Errors, rule: Rule, value: Any, path: Path, kind: Type | None) -> None:
    """A pool name: segments with their number."""
    if names.byte_length(value) > names.POOL_MAX:
        errors.too_long(path, names.POOL_MAX)
    for index, part in enumerate(value.split("/")):
        if not part:
            errors.invalid(path, value, f"segment {index}: must not be empty")
        for message in names.dns_subdomain_errors(part, "bytes") if part else ():
            errors.invalid(path, part, f"segment {index}: {message}")


def _extended_resource(errors: Errors, rule: Rule, value: Any, path: Path, kind: Type | None) -> None:
    if "/" not in value:
        errors.invalid(path, value, "a name must be a domain-prefixed path, such as 'example.com/my-prop'")
    elif names.NATIVE_DOMAIN in value:
        errors.invalid(path, value, 'must not have "kubernetes.io/" domain')
    if value.startswith(names.QUOTA_PREFIX):
        errors.invalid(path, value, 'must not have "requests." prefix')
    errors.invalid_each(path, value, names.label_key_errors(names.QUOTA_PREFIX + value))


def _qualified_name(errors: Errors, rule: Rule, value: Any, path: Path, kind: Type | None) -> None:
    parts = value.split("/")
    if len(parts) == 1:
        _identifier(errors, value, path)
    elif len(parts) == 2:
        if not parts[0]:
            errors.invalid(path, "", "prefix must not be empty")
        else:
            if names.byte_length(parts[0]) > names.DRIVER_MAX:
                errors.too_long(path, names.DRIVER_MAX)
            for message in names.dns_subdomain_errors(parts[0], "bytes"):
                errors.invalid(path, parts[0], f"prefix: {message}")
        if not parts[1]:
            errors.invalid(path, "", "name must not be empty")
        else:
            _identifier(errors, parts[1], path)
    if "/" not in value:
        errors.invalid(path, value, "a fully qualified name must be a domain and a name separated by a slash")


def _identifier(errors: Errors, value: str, path: Path) -> None:
    if names.byte_length(value) > IDENTIFIER_MAX:
        errors.too_long(path, IDENTIFIER_MAX)
    errors.invalid_each(path, value, names.c_identifier_errors(value))


_VALUE_RULES: dict[str, Callable[[Errors, Rule, Any, Path, Type | None], None]] = {
    **{f"{how}{what}": _required for how in ("Required", "Optional") for what in ("Value", "Pointer", "Slice", "Map")},
    "ForbiddenPointer": _forbidden,
    "MaxItems": _max_items,
    "MaxBytes": _max_bytes,
    "MaxLength": _max_length,
    "Minimum": _minimum,
    "Maximum": _maximum,
    "Enum": _enum,
    "ValSliceUnique": _unique,
    "ShortName": _format(lambda value: names.dns_label_errors(value, "bytes")),
    "LongName": _format(lambda value: names.dns_subdomain_errors(value, "bytes")),
    "LongNameCaseless": _format(names.dns_subdomain_caseless_errors),
    "LabelKey": _format(names.label_key_errors),
    "UUID": _uuid,
    "ResourcePoolName": check_pool_name,
    "ExtendedResourceName": _extended_resource,
    "ResourceFullyQualifiedName": _qualified_name,
}
