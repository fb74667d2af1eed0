"""Label selectors as kubectl takes them with ``-l``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dractl.inventory import Inventory, Key
from dractl.listing.rows import ClaimRow, ClassRow, NodeRow, Row, SliceRow, TemplateRow

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
    parts = [part.strip() for part in re.split(r",(?![^()]*\))", text)]
    return [_requirement(part) for part in parts if part]


def _requirement(part: str) -> Requirement:
    if found := _SET.fullmatch(part):
        values = frozenset(value.strip() for value in found[3].split(","))
        return Requirement(found[1], values, found[2] == "notin")
    if found := _EQUAL.fullmatch(part):
        return Requirement(found[1], frozenset([found[3]]), found[2] == "!=")
    if found := _EXISTS.fullmatch(part):
        return Requirement(found[2], None, bool(found[1]))
    raise LabelError(f"{part!r} is not understood; known are key=value, key!=value, key in (a,b), key and !key")


def labels_of(inventory: Inventory, row: Row) -> Mapping[str, str]:
    """The labels of the object that a row is about; of one that was not read (a node that only slices name) none."""
    if isinstance(row, NodeRow):
        item: Any = inventory.nodes.get(row.name)
    elif isinstance(row, ClassRow):
        item = inventory.classes.get(row.name)
    elif isinstance(row, ClaimRow):
        item = inventory.claims.get(Key(row.namespace, row.name))
    elif isinstance(row, TemplateRow):
        item = inventory.templates.get(Key(row.namespace, row.name))
    else:
        item = next((one for one in inventory.slices if isinstance(row, SliceRow) and one.meta.name == row.name), None)
    return item.meta.labels if item is not None else {}
