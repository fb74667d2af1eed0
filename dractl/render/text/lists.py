"""The lists of ``dractl get`` as tables, and as bare names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from dractl.listing.lists import taint_name
from dractl.listing.rows import (
    ClaimRow,
    ClassRow,
    DeviceRow,
    HolderRow,
    Listing,
    NodeRow,
    PoolRow,
    RequestRow,
    SliceRow,
    TaintRow,
    TemplateRow,
)
from dractl.render.text.table import table
from dractl.render.text.terminal import PLAIN, Terminal

_FEW = 3


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its head, the cell of a row, and whether only the wide form shows it."""

    head: str
    cell: Callable[[Any], str]
    wide: bool = False


def render_list(listing: Listing, terminal: Terminal = PLAIN, wide: bool = False) -> str:
    """The table of a list; empty for an empty list."""
    if not listing.items:
        return ""
    return table(heads(listing.kind, wide), cells(listing.kind, listing.items, wide), terminal)


def heads(kind: str, wide: bool = False) -> list[str]:
    """The heads of a list's columns."""
    return [column.head for column in COLUMNS[kind] if wide or not column.wide]


def cells(kind: str, items: Sequence[Any], wide: bool = False) -> list[list[str]]:
    """The cells of rows."""
    columns = [column for column in COLUMNS[kind] if wide or not column.wide]
    return [[column.cell(item) for column in columns] for item in items]


def names(listing: Listing) -> str:
    """One name a line, as ``-o name`` prints them: a device's ID, for objects of Kubernetes as kubectl does."""
    return "\n".join(NAMES[listing.kind](item) for item in listing.items)


def few(values: Sequence[str], limit: int = _FEW) -> str:
    """``a,b,c`` or ``a,b,c +5``."""
    shown = ",".join(values[:limit])
    return shown if len(values) <= limit else f"{shown} +{len(values) - limit}"


def holder_text(holder: HolderRow) -> str:
    """``namespace/claim``, with a word where it has not the whole device."""
    mark = " (admin)" if holder.admin_access else ""
    return f"{holder.namespace}/{holder.name}{mark}"


def request_text(row: RequestRow) -> str:
    """``2x gpu.nvidia.com``, ``all gpu.nvidia.com``; an alternative with its name."""
    amount = "all" if row.count is None else f"{row.count}x"
    name = f"{row.name}:" if "/" in row.name else ""
    return f"{name}{amount} {row.class_}" + (" (admin)" if row.admin_access else "")


def _holders(row: DeviceRow) -> str:
    return few([holder_text(holder) for holder in row.holders], 2)


def _attributes(row: DeviceRow) -> str:
    return ",".join(f"{name.rpartition('/')[2]}={amount}" for name, amount in row.capacity.items())


def _yes(value: bool) -> str:
    return "yes" if value else "no"


COLUMNS: dict[str, tuple[Column, ...]] = {
    "Device": (
        Column("DEVICE", lambda row: row.device),
        Column("DRIVER", lambda row: row.driver),
        Column("POOL", lambda row: row.pool),
        Column("NODE", lambda row: row.node or (f"({row.nodes})" if row.nodes else "")),
        Column("PRODUCT", lambda row: row.product or ""),
        Column("STATE", lambda row: row.state),
        Column("HOLDER", _holders),
        Column("CAPACITY", _attributes, wide=True),
        Column("PODS", lambda row: few([pod for holder in row.holders for pod in holder.pods]), wide=True),
        Column("WHY", lambda row: "; ".join(row.reasons), wide=True),
    ),
    "Pool": (
        Column("POOL", lambda row: row.pool),
        Column("DRIVER", lambda row: row.driver),
        Column("GENERATION", lambda row: str(row.generation)),
        Column("SLICES", lambda row: f"{row.slices}/{row.expected_slices}"),
        Column("STATUS", lambda row: row.status),
        Column("DEVICES", lambda row: str(row.devices)),
        Column("FREE", lambda row: str(row.free)),
        Column("NODES", lambda row: few(row.nodes)),
        Column("FORMER", lambda row: str(row.former_slices), wide=True),
    ),
    "Slice": (
        Column("NAME", lambda row: row.name),
        Column("NODE", lambda row: row.node or (f"({row.nodes})" if row.nodes else "")),
        Column("DRIVER", lambda row: row.driver),
        Column("POOL", lambda row: row.pool),
        Column("GENERATION", lambda row: str(row.generation)),
        Column("CURRENT", lambda row: _yes(row.current)),
        Column("DEVICES", lambda row: str(row.devices)),
        Column("AGE", lambda row: row.age or ""),
        Column("COUNTERSETS", lambda row: str(row.shared_counters), wide=True),
    ),
    "Claim": (
        Column("NAMESPACE", lambda row: row.namespace),
        Column("NAME", lambda row: row.name),
        Column("STATE", lambda row: row.state),
        Column("REQUESTS", lambda row: few([request_text(one) for one in row.requests])),
        Column("NODE", lambda row: few(row.nodes)),
        Column("PODS", lambda row: few(row.pods)),
        Column("AGE", lambda row: row.age or ""),
        Column("DEVICES", lambda row: ",".join(row.devices), wide=True),
    ),
    "Template": (
        Column("NAMESPACE", lambda row: row.namespace),
        Column("NAME", lambda row: row.name),
        Column("REQUESTS", lambda row: few([request_text(one) for one in row.requests])),
        Column("PODS", lambda row: str(row.pods)),
        Column("AGE", lambda row: row.age or ""),
    ),
    "Class": (
        Column("NAME", lambda row: row.name),
        Column("DEVICES", lambda row: "?" if row.devices is None else str(row.devices)),
        Column("REQUESTS", lambda row: str(row.requests)),
        Column("EXTENDED-RESOURCE", lambda row: row.extended_resource_name or ""),
        Column("AGE", lambda row: row.age or ""),
        Column("SELECTORS", lambda row: " && ".join(row.selectors), wide=True),
        Column("ERRORS", lambda row: "; ".join(row.errors), wide=True),
    ),
    "Node": (
        Column("NAME", lambda row: row.name),
        Column("STATUS", lambda row: row.status + (",cordoned" if row.schedulable is False else "")),
        Column("FREE/DEVICES", lambda row: ", ".join(f"{one.driver} {one.free}/{one.devices}" for one in row.drivers)),
        Column("TAINTS", lambda row: few(row.taints, 2)),
        Column("AGE", lambda row: row.age or ""),
        Column("KUBELET", lambda row: row.kubelet or "", wide=True),
    ),
    "Taint": (
        Column("TAINT", taint_name),
        Column("SOURCE", lambda row: row.source if row.source == "driver" else f"rule {row.source}"),
        Column("DRIVER", lambda row: row.driver or "*"),
        Column("POOL", lambda row: row.pool or "*"),
        Column("DEVICE", lambda row: row.device or "*"),
        Column("DEVICES", lambda row: str(row.devices)),
        Column("AGE", lambda row: row.age or ""),
    ),
}
"""The columns of each kind of row."""


def _object(resource: str) -> Callable[[Any], str]:
    return lambda row: f"{resource}/{row.name}"


def _device_name(row: DeviceRow) -> str:
    return row.id


def _pool_name(row: PoolRow) -> str:
    return f"{row.driver}/{row.pool}"


def _taint_name(row: TaintRow) -> str:
    if row.source != "driver":
        return f"devicetaintrule.resource.k8s.io/{row.source}"
    return f"{row.driver}/{row.pool}/{row.device or '*'}:{taint_name(row)}"


NAMES: dict[str, Callable[[Any], str]] = {
    "Device": _device_name,
    "Pool": _pool_name,
    "Slice": _object("resourceslice.resource.k8s.io"),
    "Claim": _object("resourceclaim.resource.k8s.io"),
    "Template": _object("resourceclaimtemplate.resource.k8s.io"),
    "Class": _object("deviceclass.resource.k8s.io"),
    "Node": _object("node"),
    "Taint": _taint_name,
}

ROW_KINDS: dict[str, type] = {
    "Device": DeviceRow,
    "Pool": PoolRow,
    "Slice": SliceRow,
    "Claim": ClaimRow,
    "Template": TemplateRow,
    "Class": ClassRow,
    "Node": NodeRow,
    "Taint": TaintRow,
}
"""The row of each kind of list."""
