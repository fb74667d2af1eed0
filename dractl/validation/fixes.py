"""Fixes that are certain, on plain data: what a fault's ``fix`` evidence means, and where values then stand.

The same fixes are written into the text of a file by ``dractl.cli.fixing``.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from dractl.validation.model import Fault, Json, Path, at, listing

UNWRAPPED = {"basic": "basic", "source": "source", "flat": "exactly"}
"""Fix -> the level that goes away: its fields move up to where it stood."""


@dataclass(slots=True)
class Fixed:
    """A corrected copy. ``moves`` maps prefixes of paths in it to where the same values stand in the original."""

    value: Json
    moves: list[tuple[Path, Path]] = field(default_factory=list)
    applied: list[Fault] = field(default_factory=list)

    def original(self, path: Path) -> Path:
        """A path of the corrected copy in the object as it was written."""
        for new, old in sorted(self.moves, key=lambda pair: -len(pair[0])):
            if path[: len(new)] == new:
                return (*old, *path[len(new) :])
        return path


def fix(value: Json, faults: Iterable[Fault]) -> Fixed:
    """Apply every fix that the faults carry."""
    out = Fixed(copy.deepcopy(value))
    for fault in faults:
        kind = fault.evidence.get("fix")
        if isinstance(kind, str) and fault.path and _apply(out, fault, kind):
            out.applied.append(fault)
    return out


def _apply(out: Fixed, fault: Fault, kind: str) -> bool:
    path = fault.path
    holder, key = at(out.value, *path[:-1]), path[-1]
    if kind in ("value", "quote"):
        return _set(holder, key, fault.evidence.get("to", str(at(out.value, *path))))
    if not isinstance(holder, dict) or not isinstance(key, str) or key not in holder:
        return False
    if kind in ("below", "indent"):
        return _below(out, holder, path, str(fault.evidence["below"]))
    if kind == "nest":
        inner_key = str(fault.evidence["key"])
        holder[key] = {inner_key: holder[key]}
        out.moves.append(((*path, inner_key), path))
        return True
    if kind == "rename":
        new = str(fault.evidence["to"])
        if new in holder:
            return False
        _replace_key(holder, key, {new: holder[key]})
        out.moves.append(((*path[:-1], new), path))
        return True
    if kind in UNWRAPPED:
        inner = holder[key]
        if not isinstance(inner, dict) or any(name in holder for name in inner):
            return False
        _replace_key(holder, key, inner)
        out.moves += [((*path[:-1], name), (*path, name)) for name in inner]
        return True
    return False


def _set(holder: Any, key: str | int, value: Any) -> bool:
    if isinstance(holder, dict) and isinstance(key, str) and key in holder:
        holder[key] = value
        return True
    if isinstance(holder, list) and isinstance(key, int) and key < len(holder):
        holder[key] = value
        return True
    return False


def _below(out: Fixed, holder: Json, path: Path, name: str) -> bool:
    """Move a field below a neighbour, which is made where it is missing or empty."""
    key = str(path[-1])
    inner = holder.get(name)
    if inner is None:
        inner = {}
        if name in holder:
            holder[name] = inner
        else:
            _replace_key(holder, key, {name: inner, key: holder[key]})
    if not isinstance(inner, dict) or key in inner:
        return False
    inner[key] = holder.pop(key)
    out.moves.append(((*path[:-1], name, key), path))
    return True


def _replace_key(holder: Json, key: str, fields: Json) -> None:
    """Put other fields in the place of one, in order."""
    entries = list(holder.items())
    holder.clear()
    for name, item in entries:
        if name == key:
            holder.update(fields)
        else:
            holder[name] = item


# --- versions -------------------------------------------------------------------------------------------------------


def upgrade_faults(value: Json, fault: Fault) -> list[Fault]:
    """The steps from a beta version to the one that is served: a new apiVersion, and the shape of requests and "
    "devices."""
    new = fault.evidence.get("instead")
    api_version = value.get("apiVersion")
    if not new or not isinstance(api_version, str):
        return []
    group, _, old = api_version.rpartition("/")
    steps = [Fault(fault.rule, fault.message, ("apiVersion",), evidence={"fix": "value", "to": f"{group}/{new}"})]
    if old != "v1beta1":
        return steps
    kind = value.get("kind")
    spec: Path = ("spec", "spec") if kind == "ResourceClaimTemplate" else ("spec",)
    for index, request in enumerate(listing(at(value, *spec, "devices", "requests"))):
        if isinstance(request, dict) and "firstAvailable" not in request:
            steps += [
                Fault(
                    fault.rule,
                    "",
                    (*spec, "devices", "requests", index, key),
                    evidence={"fix": "below", "below": "exactly"},
                )
                for key in request
                if key != "name"
            ]
    if kind == "ResourceSlice":
        for index, device in enumerate(listing(at(value, "spec", "devices"))):
            if isinstance(device, dict) and isinstance(device.get("basic"), dict):
                steps.append(Fault(fault.rule, "", ("spec", "devices", index, "basic"), evidence={"fix": "basic"}))
    return steps
