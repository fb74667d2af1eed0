"""What of a device an expression can read: found by following paths that start at ``device``.

A read is (kind, domain, name); kind is attribute, capacity, driver or multi (allowMultipleAllocations). The name ``*``
stands for all names of a domain; domain and name are empty for driver and multi.
"""

from __future__ import annotations

from collections.abc import Iterator

from dractl.cel import plan

Read = tuple[str, str, str]

_KINDS = {"attributes": "attribute", "capacity": "capacity"}
_SCALARS = {"driver": "driver", "allowMultipleAllocations": "multi"}


class _Anything(Exception):
    """The expression may read anything."""


def find_reads(root: plan.Step) -> frozenset[Read] | None:
    """What an expression reads, or None if that may be anything of the device."""
    reader = _Reader()
    try:
        reader.visit(root)
    except _Anything:
        return None
    return frozenset(reader.reads)


class _Reader:
    def __init__(self) -> None:
        self.reads: set[Read] = set()
        self.aliases: dict[int, tuple[str, ...]] = {}
        """Slots of variables that stand for a part of the device: the path to it."""

    def visit(self, step: plan.Step) -> None:
        if isinstance(step, plan.Path):
            self._path(step.source)
        elif isinstance(step, plan.Fold):
            self._fold(step)
        elif self._presence(step):
            return
        else:
            for part in parts(step):
                self.visit(part)

    def _path(self, source: plan.Source) -> None:
        if isinstance(source, plan.Choice):
            self.visit(source.condition)
            self._path(source.then)
            self._path(source.otherwise)
            return
        if isinstance(source, plan.Computed):
            self.visit(source.operand)
        else:
            start = () if source.slot == plan.DEVICE_SLOT else self.aliases.get(source.slot)
            if start is not None:
                self._read(start + _names(source.qualifiers))
        for qualifier in source.qualifiers:
            if isinstance(qualifier, plan.Dynamic):
                self._path(qualifier.path)

    def _read(self, path: tuple[str, ...]) -> None:
        if not path:
            raise _Anything
        if path[0] in _SCALARS:
            self.reads.add((_SCALARS[path[0]], "", ""))
            return
        if path[0] not in _KINDS or len(path) < 2:
            raise _Anything
        self.reads.add((_KINDS[path[0]], path[1], path[2] if len(path) > 2 else "*"))

    def _presence(self, step: plan.Step) -> bool:
        """``"name" in device.attributes["domain"]`` reads one name."""
        if not isinstance(step, plan.Call) or step.function != "@in":
            return False
        name, where = step.args
        if not isinstance(name, plan.Const) or name.value.__class__ is not str or not isinstance(where, plan.Path):
            return False
        path = self._device_path(where.source)
        if path is None or len(path) != 2 or path[0] not in _KINDS:
            return False
        self.reads.add((_KINDS[path[0]], path[1], name.value))
        return True

    def _device_path(self, source: plan.Source) -> tuple[str, ...] | None:
        """The path to a part of the device, if a source is nothing but that."""
        if not isinstance(source, plan.Variable):
            return None
        start = () if source.slot == plan.DEVICE_SLOT else self.aliases.get(source.slot)
        names = _names(source.qualifiers)
        return None if start is None or len(names) != len(source.qualifiers) else start + names

    def _fold(self, step: plan.Fold) -> None:
        if isinstance(step.range, plan.Const) and isinstance(step.init, plan.Path):
            # cel.bind: the variable is another name for what it is bound to
            path = self._device_path(step.init.source)
            if path is not None and len(path) < 3 and not _optional(step.init.source):
                self.aliases[step.accumulator] = path
                self.visit(step.result)
                return
        for part in (step.range, step.init, step.condition, step.step, step.result):
            self.visit(part)


def _names(qualifiers: list[plan.Qualifier]) -> tuple[str, ...]:
    """The constant names at the start of a path."""
    names: list[str] = []
    for qualifier in qualifiers:
        if not isinstance(qualifier, plan.Constant) or qualifier.value.__class__ is not str:
            break
        names.append(qualifier.value)
    return tuple(names)


def _optional(source: plan.Source) -> bool:
    return isinstance(source, plan.Variable) and any(qualifier.optional for qualifier in source.qualifiers)


def parts(step: plan.Step) -> Iterator[plan.Step]:
    """The steps directly below one."""
    match step:
        case plan.Both():
            yield from step.terms
        case plan.Equality() | plan.OrElse():
            yield step.left
            yield step.right
        case plan.Call():
            yield from step.args
        case plan.Membership():
            yield step.element
        case plan.ListStep():
            yield from step.elements
        case plan.MapStep():
            for key, item, _ in step.entries:
                yield key
                yield item
        case plan.MessageStep():
            for _, item, _ in step.fields:
                yield item
        case plan.Fold():
            yield from (step.range, step.init, step.condition, step.step, step.result)
        case plan.Path():
            yield from _source_parts(step.source)


def _source_parts(source: plan.Source) -> Iterator[plan.Step]:
    if isinstance(source, plan.Choice):
        yield source.condition
        yield from _source_parts(source.then)
        yield from _source_parts(source.otherwise)
        return
    if isinstance(source, plan.Computed):
        yield source.operand
    for qualifier in source.qualifiers:
        if isinstance(qualifier, plan.Dynamic):
            yield from _source_parts(qualifier.path)


_HEAVY = frozenset(("replace", "join", "format", "lists.range", "findAll", "split"))
# counting the cost of these can itself fail
_FRAGILE = frozenset(("flatten", "distinct", "sort", "@sortByAssociatedKeys"))


def is_light(root: plan.Step) -> bool:
    """Whether an expression neither loops nor makes texts or lists grow: each step runs once at most."""
    queue = [root]
    while queue:
        step = queue.pop()
        if isinstance(step, plan.Fold) and not (isinstance(step.range, plan.Const) and step.range.value == []):
            return False
        if isinstance(step, plan.Call) and step.function in _HEAVY | _FRAGILE:
            return False
        if isinstance(step, plan.MapStep) and not all(isinstance(key, plan.Const) for key, _, _ in step.entries):
            # a key that cannot be looked up ends the evaluation, whatever comes before
            return False
        queue += parts(step)
    return True
