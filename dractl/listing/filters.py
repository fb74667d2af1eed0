"""Narrowing and sorting of lists: by node, driver, namespace, a CEL expression, and by any field."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from dractl.cel.environment import Environment
from dractl.cel.selector import Selector, compile_selector
from dractl.explain.words import natural
from dractl.inventory import DeviceId, Inventory
from dractl.kube.node_selector import NodeSelectorError, matches
from dractl.kube.objects import DeviceSelector, Node, NodeSelector
from dractl.kube.quantity import Quantity, QuantityError
from dractl.listing.rows import ClaimRow, DeviceRow, NodeRow, PoolRow, Row, SliceRow, TaintRow
from dractl.report import to_plain

T = TypeVar("T", bound=Row)


class FilterError(ValueError):
    """An expression or a name that cannot be used; the message is for the user."""


@dataclass(slots=True)
class Where:
    """Devices that an expression takes; ``errors`` counts those on which it raised an error, by Kubernetes' text."""

    rows: list[DeviceRow] = field(default_factory=list)
    errors: dict[str, int] = field(default_factory=dict)

    def note(self) -> str | None:
        """One sentence about the errors."""
        if not self.errors:
            return None
        total = sum(self.errors.values())
        text, _ = max(self.errors.items(), key=lambda item: item[1])
        return f"{total} devices are left out because the expression raises an error on them, for example: {text}"


def where(inventory: Inventory, rows: Iterable[DeviceRow], expression: str, environment: Environment) -> Where:
    """The rows whose device the CEL expression takes, as a selector of a claim would.

    Raises:
        FilterError: when the expression does not compile.
    """
    selector = compile_selector(expression, environment)
    if selector.error is not None:
        raise FilterError(selector.error)
    found = Where()
    for row in rows:
        published = inventory.devices[DeviceId(row.driver, row.pool, row.device)]
        outcome = selector.evaluate(row.driver, published.device)
        if outcome.error is not None:
            found.errors[outcome.error] = found.errors.get(outcome.error, 0) + 1
        elif outcome.match:
            found.rows.append(row)
    return found


def class_matcher(
    inventory: Inventory, environment: Environment
) -> Callable[[list[DeviceSelector]], tuple[int | None, list[str]]]:
    """Counts the published devices that the selectors of a class take, and collects what is wrong with them."""

    def match(selectors: list[DeviceSelector]) -> tuple[int | None, list[str]]:
        if any(selector.cel is None for selector in selectors):
            return None, ["has a selector of an unknown kind"]
        compiled = [compile_selector(selector.cel or "", environment) for selector in selectors]
        errors = [selector.error for selector in compiled if selector.error is not None]
        if errors:
            return None, errors
        return _count(inventory, compiled)

    return match


def _count(inventory: Inventory, selectors: Sequence[Selector]) -> tuple[int, list[str]]:
    taken = 0
    errors: dict[str, None] = {}
    for key, published in inventory.devices.items():
        for selector in selectors:
            outcome = selector.evaluate(key.driver, published.device)
            if outcome.error is not None:
                errors.setdefault(outcome.error)
            if not outcome.match:
                break
        else:
            taken += 1
    return taken, list(errors)


def on_node(inventory: Inventory, rows: Iterable[T], node: str) -> list[T]:
    """The rows that concern a node: devices that can be used there, claims allocated there, the node itself."""
    return [row for row in rows if _concerns(inventory, row, node)]


def _concerns(inventory: Inventory, row: Row, node: str) -> bool:
    if isinstance(row, NodeRow):
        return row.name == node
    if isinstance(row, ClaimRow):
        return node in row.nodes
    if isinstance(row, PoolRow):
        return node in row.nodes
    if isinstance(row, DeviceRow | SliceRow):
        if row.node or row.nodes is None:
            return row.node == node
        return row.nodes == "all nodes" or _selected(inventory, row, node)
    return True


def _selected(inventory: Inventory, row: DeviceRow | SliceRow, name: str) -> bool:
    node = inventory.nodes.get(name)
    if node is None:
        return False
    selectors: list[NodeSelector | None]
    if isinstance(row, DeviceRow):
        published = inventory.devices[DeviceId(row.driver, row.pool, row.device)]
        selectors = [published.device.node_selector or published.slice.node_selector]
    else:
        item = next(item for item in inventory.slices if item.meta.name == row.name)
        selectors = [item.node_selector, *(device.node_selector for device in item.devices)]
    return any(selects(selector, node) for selector in selectors if selector is not None)


def selects(selector: NodeSelector, node: Node) -> bool:
    """Whether a node selector takes a node; one that cannot be parsed takes none."""
    try:
        return matches(selector, node.meta.name, node.meta.labels)
    except NodeSelectorError:
        return False


def of_driver(rows: Iterable[T], driver: str) -> list[T]:
    """The rows of one driver; claims that have a device of it, and nodes that carry one."""
    return [row for row in rows if driver in _drivers(row)]


def _drivers(row: Row) -> set[str | None]:
    if isinstance(row, ClaimRow):
        return {device.partition("/")[0] for device in row.devices}
    if isinstance(row, NodeRow):
        return {count.driver for count in row.drivers}
    if isinstance(row, DeviceRow | PoolRow | SliceRow | TaintRow):
        return {row.driver}
    return set()


def sort_by(rows: Iterable[T], name: str) -> list[T]:
    """Sort by a field of the JSON form (``node``), an attribute or a capacity; a ``-`` before it turns the order.

    Numbers inside names count as numbers; rows without the field come last.

    Raises:
        FilterError: when no row has such a field.
    """
    rows = list(rows)
    descending = name.startswith("-")
    # kubectl writes fields as paths: {.node}
    field_name = name.removeprefix("-").removeprefix("{").removesuffix("}").removeprefix(".")
    keyed = [(_value(to_plain(row), field_name), row) for row in rows]
    if rows and all(value is None for value, _ in keyed):
        plain = [item for row in rows for item in to_plain(row).items()]
        known = sorted({key for key, value in plain if not isinstance(value, list | dict)})
        raise FilterError(f"no row has a field {field_name or name}; fields are: {', '.join(known)}")
    present = [(value, row) for value, row in keyed if value is not None]
    present.sort(key=lambda pair: _sort_key(pair[0]), reverse=descending)
    return [row for _, row in present] + [row for value, row in keyed if value is None]


def _value(plain: dict[str, Any], name: str) -> Any:
    if name in plain:
        return plain[name]
    for group in ("attributes", "capacity"):
        found = plain.get(group, {})
        if name in found:
            return found[name]
        local = [value for key, value in found.items() if key.rpartition("/")[2] == name]
        if local:
            return local[0]
    return None


def _sort_key(value: Any) -> tuple[int, Any]:
    if isinstance(value, bool | int):
        return (0, int(value) * 10**9)
    if isinstance(value, str):
        try:
            return (0, Quantity.parse(value).nano)
        except QuantityError:
            return (1, natural(value))
    return (2, natural(str(value)))
