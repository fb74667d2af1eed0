"""What a rule needs besides the object: release, gates, types, and where errors go; and the limits of the DRA API."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any

from dractl.validation.errors import Errors, Path
from dractl.validation.gotypes import StructType, TypeTable, table

REQUESTS_MAX = 32
CONSTRAINTS_MAX = 32
CONFIG_MAX = 32
SELECTORS_MAX = 32
FIRST_AVAILABLE_MAX = 8
RESULTS_MAX = 32
RESERVED_FOR_MAX = 256
EXPRESSION_MAX = 10 * 1024
EXPRESSION_COST_MAX = 1_000_000
PARAMETERS_MAX = 10 * 1024
STATUS_DATA_MAX = 10 * 1024
DEVICES_MAX = 128
DEVICES_ADVANCED_MAX = 64
COUNTER_SETS_MAX = 8
COUNTERS_MAX = 32
CONSUMPTIONS_MAX = 2
COMPATIBILITY_GROUPS_MAX = 2
ATTRIBUTES_AND_CAPACITIES_MAX = 32
ATTRIBUTE_VALUES_MAX = 48
ATTRIBUTE_VALUE_MAX = 64
ATTRIBUTE_KEY_SHOWN = 96
COUNTER_KEY_SHOWN = 63
BINDING_CONDITIONS_MAX = 4
VALID_VALUES_MAX = 10
STATUS_CONDITIONS_MAX = 8
INTERFACE_NAME_MAX = 256
HARDWARE_ADDRESS_MAX = 128
IPS_MAX = 16

COUNTERS_1_34_MAX = 32
"""1.34 counted counters over all sets of a slice and over all consumption of a device."""
SLICE_COUNTERS_1_34_MAX = 1024
FIRST_WITH_V1 = 34
"""The release since which resource.k8s.io/v1 is served."""


def taints_max(minor: int) -> int:
    """Taints of one device."""
    return 4 if minor < 35 else 16


class Scope:
    """One run of the rules over one object."""

    __slots__ = ("crash", "errors", "gates", "minor", "namespace_labels", "types")

    def __init__(
        self,
        minor: int,
        gates: Mapping[str, bool],
        types: TypeTable,
        namespace_labels: Mapping[str, str] | None = None,
    ) -> None:
        self.errors = Errors("bytes" if minor >= 35 else "characters")
        self.crash = ""
        """Why the server's own code would fail on the object instead of answering; empty if it would not."""
        self.minor = minor
        self.gates = gates
        self.types = types
        self.namespace_labels = namespace_labels
        """Labels of the object's namespace; None when they are not known."""

    def on(self, gate: str) -> bool:
        """Whether a gate is on."""
        return self.gates.get(gate, False)

    def internal(self, name: str) -> StructType:
        """A resource type of the internal form, which looks like v1, also in releases that do not serve v1."""
        types = self.types if self.minor >= FIRST_WITH_V1 else table(FIRST_WITH_V1)
        return types.struct(f"resource/v1.{name}")


def check_list(
    scope: Scope, items: list[Any] | None, limit: int, rule: Callable[[Any, Path], None], path: Path
) -> bool:
    """Apply a rule to each item, unless there are too many; whether the items were looked at.

    Releases before 1.35 look at the items in any case.
    """
    if not items:
        return True
    too_many = 0 <= limit < len(items)
    if too_many and scope.minor >= 35:
        scope.errors.too_many(path, len(items), limit)
        return False
    for index, item in enumerate(items):
        rule(item, (*path, index))
    if too_many:
        scope.errors.too_many(path, len(items), limit)
    return True


def check_set(
    scope: Scope,
    items: list[Any] | None,
    limit: int,
    rule: Callable[[Any, Path], None],
    key: Callable[[Any], Hashable],
    show: Callable[[Any], str],
    path: Path,
    key_field: str = "",
) -> None:
    """As ``check_list``; after the items, repeated keys. ``show`` prints the key of an item, for the error.

    ``key_field`` is where 1.34 points at: the field of the key instead of the item.
    """
    if not items or not check_list(scope, items, limit, rule, path):
        return
    seen: set[Hashable] = set()
    for index, item in enumerate(items):
        found = key(item)
        if found in seen:
            tail = (index, key_field) if key_field and scope.minor < 35 else (index,)
            scope.errors.duplicate((*path, *tail), show(item))
        seen.add(found)


def sorted_items(items: Mapping[str, Any]) -> Iterable[tuple[str, Any]]:
    """Entries of a map by key; the server's order is random."""
    return sorted(items.items())


def shortened(text: str, limit: int) -> str:
    """A key cut in the middle where it is longer than ``limit`` bytes."""
    raw = text.encode("utf-8", "surrogatepass")
    if len(raw) <= limit:
        return text
    left = limit - 3
    tail = raw[len(raw) - left // 2 :] if left // 2 else b""
    return (raw[: (left + 1) // 2] + b"..." + tail).decode("utf-8", "replace")
