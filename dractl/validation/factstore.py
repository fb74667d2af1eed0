"""The facts of many objects with alike ones kept once, so that memory follows the number of different objects.

Two objects are alike if they refer to the same names in the same way; where they stand may differ. What is found for
one then holds for all, and is placed by reading the others again.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field

from dractl.validation.facts import Facts
from dractl.validation.model import Path

Ref = tuple[str, int, Path]
"""File, number of the document in it, and the path inside the document for items of a List."""


@dataclass(slots=True)
class Alike:
    """One object's facts, and all objects that they hold for."""

    facts: Facts
    refs: list[Ref] = field(default_factory=list)


def signature(facts: Facts) -> Hashable:
    """What two objects have in common that are alike; None for objects that are only alike to themselves."""
    if facts.slice is not None or facts.kind in ("DeviceClass", "Namespace"):
        return None
    return (
        facts.kind,
        facts.namespace,
        tuple((use.kind, use.name, tuple(name for name, _ in use.requests)) for use in facts.uses),
        tuple((use.what, use.name, use.classes, use.requests) for use in facts.class_uses),
        facts.requests,
        facts.admin is not None,
        tuple(resource for resource, _ in facts.resources),
    )


class FactStore:
    """Facts by what they say, and objects by kind and name."""

    def __init__(self) -> None:
        self._alike: dict[Hashable, Alike] = {}
        self._single: list[Alike] = []
        self.names: dict[str, dict[str, dict[str, Facts]]] = {}
        """Kind -> namespace -> name -> facts of an object alike to it."""

    def add(self, facts: Facts, ref: Ref) -> None:
        """Take note of an object."""
        key = signature(facts)
        if key is None:
            entry = Alike(facts)
            self._single.append(entry)
        else:
            entry = self._alike.setdefault(key, Alike(facts))
        entry.refs.append(ref)
        self._name(facts, entry.facts)

    def _name(self, facts: Facts, kept: Facts) -> None:
        self.names.setdefault(facts.kind, {}).setdefault(facts.namespace, {})[facts.name] = kept

    def merge(self, other: FactStore) -> None:
        """Add everything that another store holds."""
        self._single += other._single
        renamed: dict[int, Facts] = {}
        for key, entry in other._alike.items():
            mine = self._alike.setdefault(key, entry)
            if mine is not entry:
                mine.refs += entry.refs
                renamed[id(entry.facts)] = mine.facts
        for kind, spaces in other.names.items():
            for space, names in spaces.items():
                into = self.names.setdefault(kind, {}).setdefault(space, {})
                into.update((name, renamed.get(id(facts), facts)) for name, facts in names.items())

    def __iter__(self) -> Iterator[Alike]:
        yield from self._alike.values()
        yield from self._single
