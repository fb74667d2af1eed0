"""Label selectors as kubectl takes them with ``-l``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from dractl.inventory import Inventory, Key, PoolId
from dractl.listing.rows import (
    ClaimRow,
    ClassRow,
    DeviceRow,
    NodeRow,
    PoolRow,
    Row,
    SliceRow,
    TaintRow,
    TemplateRow,
)

T = TypeVar("T", bound=Row)

_KEY = r"(?:[A-Za-z0-9][-A-Za-z0-9.]*/)?[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?"
_VALUE = r"[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?|"
_SET = re.compile(rf"({_KEY})\s+(in|notin)\s*\(([^()]*)\)")
_EQUAL = re.compile(rf"({_KEY})\s*(==|=|!=)\s*({_VALUE})")
_EXISTS = re.compile(rf"(!?)\s*({_KEY})")


class LabelError(ValueError):
    """A selector that is not understood; the message is for the user."""


@dataclass(frozen=True, slots=True)
class Requirement:
    """``values`` None: only whether the key is there counts. ``negated`` turns it round."""

    key: str
    values: frozenset[str] | None
    negated: bool

    def holds(self, labels: Mapping[str, str]) -> bool:
        """As in Kubernetes: ``!=`` and ``notin`` hold where the key is not there."""
        found = self.key in labels and (self.values is None or labels[self.key] in self.values)
        return found is not self.negated


def parse_labels(text: str) -> list[Requirement]:
    """The requirements of a selector, all of which must hold.

    Raises:
        LabelError: for what is no selector.
    """
    if not text.strip():
        return []
    return [_requirement(part.strip()) for part in re.split(r",(?![^()]*\))", text)]


def _requirement(part: str) -> Requirement:
    if found := _SET.fullmatch(part):
        values = frozenset(value.strip() for value in found[3].split(","))
        return Requirement(found[1], values, found[2] == "notin")
    if found := _EQUAL.fullmatch(part):
        return Requirement(found[1], frozenset([found[3]]), found[2] == "!=")
    if found := _EXISTS.fullmatch(part):
        return Requirement(found[2], None, bool(found[1]))
    raise LabelError(f"{part!r} is not understood; known are key=value, key!=value, key in (a,b), key and !key")


def labelled(inventory: Inventory, rows: Iterable[T], wanted: Sequence[Requirement]) -> list[T]:
    """The rows for which all requirements hold.

    Looked at are the labels of the object that a row is about: for a device those of its ResourceSlice, for a pool
    those of any of its slices, for a taint those of the DeviceTaintRule. An object that was not read (a node that only
    slices name) and a taint that a driver set have none.
    """
    find = _Labels(inventory)
    return [
        row for row in rows if any(all(one.holds(labels) for one in wanted) for labels in find.of(row))
    ]


class _Labels:
    """The labels of objects, with slices by name and by pool."""

    def __init__(self, inventory: Inventory) -> None:
        self._inventory = inventory
        self._slices = {item.meta.name: item.meta.labels for item in inventory.slices}
        self._rules = {item.meta.name: item.meta.labels for item in inventory.taint_rules}

    def of(self, row: Row) -> list[Mapping[str, str]]:
        """One map, or of a pool one for each slice."""
        if isinstance(row, PoolRow):
            pool = self._inventory.pools[PoolId(row.driver, row.pool)]
            return [item.meta.labels for item in pool.current]
        if isinstance(row, DeviceRow):
            return [self._slices.get(row.slice, {})]
        if isinstance(row, SliceRow):
            return [self._slices.get(row.name, {})]
        if isinstance(row, TaintRow):
            return [self._rules.get(row.source, {})]
        return [self._object(row)]

    def _object(self, row: Row) -> Mapping[str, str]:
        item: Any = None
        if isinstance(row, NodeRow):
            item = self._inventory.nodes.get(row.name)
        elif isinstance(row, ClassRow):
            item = self._inventory.classes.get(row.name)
        elif isinstance(row, ClaimRow):
            item = self._inventory.claims.get(Key(row.namespace, row.name))
        elif isinstance(row, TemplateRow):
            item = self._inventory.templates.get(Key(row.namespace, row.name))
        return item.meta.labels if item is not None else {}
