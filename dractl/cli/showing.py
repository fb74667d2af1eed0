"""How ``dractl get`` prints a list: as a table, as JSON and YAML, by a template, or as it changes."""

from __future__ import annotations

import json
from collections.abc import Callable
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from dractl.cli.output import emit, emit_report, note
from dractl.cli.source import Source
from dractl.errors import DractlError, Exit

if TYPE_CHECKING:
    from dractl.inventory import Inventory
    from dractl.listing.rows import Listing
    from dractl.render.text.terminal import Terminal


class ListFormat(StrEnum):
    """Output formats of lists."""

    TEXT = "text"
    WIDE = "wide"
    JSON = "json"
    YAML = "yaml"
    NAME = "name"


TEMPLATES = ("jsonpath", "custom-columns")
_WATCHED = (ListFormat.TEXT, ListFormat.WIDE, ListFormat.NAME, ListFormat.JSON)

Make = Callable[["Inventory"], "Listing"]
"""What makes the list of an inventory."""


def present(source: Source, make: Make, output: str, watched: bool = False) -> int:
    """Print the list now, or follow it."""
    if watched:
        return _follow(source, make, output)
    inventory = source.open()
    listing = make(inventory)
    show(listing, output)
    return Exit.GOOD


def show(listing: Listing, output: str) -> None:
    """Print a list in the format that ``-o`` names."""
    from dractl.render.text.lists import names, render_list

    chosen, _, template = output.partition("=")
    if template:
        _templated(listing, chosen, template)
        return
    form = ListFormat(chosen)
    if form in (ListFormat.JSON, ListFormat.YAML):
        emit_report(listing.to_json(), form, lambda terminal: "")
        return
    for text in listing.notes:
        note(f"note: {text}")
    if not listing.items:
        note(listing.nothing())
        if listing.elsewhere:
            note(f"note: there is something in {_few(listing.elsewhere)} (-A shows all)")
    elif form is ListFormat.NAME:
        emit(names(listing))
    else:
        emit_report({}, form, lambda terminal: render_list(listing, terminal, form is ListFormat.WIDE))


def _few(names: list[str], limit: int = 5) -> str:
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return ", ".join(names[:limit]) + more


def _templated(listing: Listing, name: str, template: str) -> None:
    from dataclasses import fields

    from dractl.listing.paths import PathError, custom_columns, jsonpath
    from dractl.render.text.lists import ROW_KINDS
    from dractl.render.text.table import table
    from dractl.report import camel

    plain = listing.to_json()
    known = [camel(one.name) for one in fields(ROW_KINDS[listing.kind])]
    try:
        if name == "jsonpath":
            emit(jsonpath(template, plain, known))
        else:
            headers, rows = custom_columns(template, plain["items"], known)
            emit(table(headers, rows))
    except PathError as error:
        hint = "Only a part of kubectl's syntax is known; -o json has it all."
        raise DractlError(f"-o {name}: {error}", hint) from None


def _follow(source: Source, make: Make, output: str) -> int:
    from dractl.cli.live import watch

    if output not in _WATCHED:
        raise DractlError(
            f"--watch does not go with -o {output.partition('=')[0]}", f"Use -o {', '.join(_WATCHED[1:])} or none."
        )
    form = ListFormat(output)
    return watch(source, Rows(make, form), form in (ListFormat.TEXT, ListFormat.WIDE))


class Rows:
    """A list whose rows are printed when they change, as ``kubectl get -w`` prints them.

    A row that is gone is printed once more and marked. In JSON each change is a line with ``type`` (ADDED, MODIFIED or
    DELETED) and ``object``. That ages grow is no change.
    """

    def __init__(self, make: Make, form: ListFormat) -> None:
        self._make = make
        self._form = form
        self._known: dict[str, tuple[Any, Any]] | None = None
        self._widths: list[int] = []

    def whole(self, inventory: Inventory, terminal: Terminal) -> str:
        """The table."""
        from dractl.render.text.lists import render_list

        listing = self._make(inventory)
        if not listing.items:
            return listing.nothing()
        return render_list(listing, terminal, self._form is ListFormat.WIDE)

    def changes(self, inventory: Inventory) -> str:
        """The rows that differ from the last call's."""
        listing = self._make(inventory)
        rows = {key: (row, _ageless(_plain(row))) for key, row in _keyed(listing)}
        known, self._known = self._known, rows
        if known is None:
            for text in listing.notes:
                note(f"note: {text}")
            if not rows and self._form is not ListFormat.JSON:
                note(listing.nothing())
        before = known or {}
        changed = [
            (key, row, key in before) for key, (row, plain) in rows.items() if before.get(key, (0, 0))[1] != plain
        ]
        gone = [row for key, (row, _) in before.items() if key not in rows]
        if self._form is ListFormat.JSON:
            lines = [_event("MODIFIED" if old else "ADDED", row) for _, row, old in changed]
            return "\n".join([*lines, *(_event("DELETED", row) for row in gone)])
        return self._text(listing, [row for _, row, _ in changed], gone, first=known is None)

    def _text(self, listing: Listing, changed: list[Any], gone: list[Any], first: bool) -> str:
        from dractl.listing.rows import Listing as Made
        from dractl.render.text.lists import cells, heads, names
        from dractl.render.text.table import column_widths, table

        if self._form is ListFormat.NAME:
            return names(Made(listing.kind, [*changed, *gone]))
        if not changed and not gone:
            return ""
        wide = self._form is ListFormat.WIDE
        head = heads(listing.kind, wide)
        lines = cells(listing.kind, [*changed, *gone], wide)
        widths = column_widths(head, lines)
        titled = not self._widths
        self._widths = [max(pair) for pair in zip(widths, self._widths or widths, strict=True)]
        printed = table(head, lines, at_least=self._widths).splitlines()
        marks = ["", *("" for _ in changed), *("  (deleted)" for _ in gone)]
        lines_out = [line + mark for line, mark in zip(printed, marks, strict=True)]
        return "\n".join(lines_out if titled else lines_out[1:])


def _plain(row: Any) -> Any:
    from dractl.report import to_plain

    return to_plain(row)


def _ageless(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _ageless(item) for key, item in value.items() if key != "age"}
    return [_ageless(item) for item in value] if isinstance(value, list) else value


def _event(kind: str, row: Any) -> str:
    return json.dumps({"type": kind, "object": _plain(row)}, ensure_ascii=False, separators=(",", ":"))


def _keyed(listing: Listing) -> list[tuple[str, Any]]:
    from dractl.render.text.lists import NAMES

    name = NAMES[listing.kind]
    return [(f"{getattr(row, 'namespace', '')} {name(row)}", row) for row in listing.items]
