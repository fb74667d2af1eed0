"""Field errors as the API server words them: the causes of a 422."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dractl.kube.names import Messages
from dractl.validation.gotext import json_string, quote

Path = tuple[str | int, ...]


class Key(str):
    """A key of a map inside a path; the API server writes it as ``[key]``."""

    __slots__ = ()


@dataclass(slots=True, frozen=True)
class Cause:
    """One reason for a refusal.

    ``field``, ``reason`` and ``message`` are the API server's own; ``path`` leads to the place in the object as it was
    given (keys and indices), as far as it is there.
    """

    field: str
    reason: str
    message: str
    path: Path = ()

    def __str__(self) -> str:
        return f"{self.field}: {self.message}"


def path_text(path: Path) -> str:
    """A path as in ``spec.devices[0].attributes[x].int``."""
    text = ""
    for part in path:
        if isinstance(part, int | Key):
            text += f"[{part}]"
        else:
            text += f".{part}" if text else part
    return text


def value_text(value: Any) -> str:
    """A bad value of a plain Go type: a string, number, bool or nil."""
    if isinstance(value, str):
        return quote(value)
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


class Errors:
    """Collects causes in the order in which the rules find them."""

    __slots__ = ("causes", "unit")

    def __init__(self, unit: str = "bytes") -> None:
        self.causes: list[Cause] = []
        self.unit = unit
        """The word that the release's messages about the length of names use: bytes, or characters before 1.35."""

    def add(self, path: Path, reason: str, message: str, at: Path | None = None) -> None:
        """A cause with its whole message; ``at`` is the place to point at when it is not ``path``."""
        self.causes.append(Cause(path_text(path), reason, message, path if at is None else at))

    def required(self, path: Path, detail: str = "", at: Path | None = None) -> None:
        """A value that has to be there."""
        self.add(path, "FieldValueRequired", f"Required value: {detail}" if detail else "Required value", at)

    def invalid(self, path: Path, value: Any, detail: str, at: Path | None = None) -> None:
        """A bad string, number, bool or nil."""
        self.add(path, "FieldValueInvalid", f"Invalid value: {value_text(value)}: {detail}", at)

    def invalid_text(self, path: Path, text: str, detail: str, at: Path | None = None) -> None:
        """A bad value whose JSON text is already made."""
        self.add(path, "FieldValueInvalid", f"Invalid value: {text}: {detail}", at)

    def invalid_named(self, path: Path, value: str, detail: str, at: Path | None = None) -> None:
        """A bad string of a named type, which Go prints as JSON."""
        self.invalid_text(path, json_string(value), detail, at)

    def invalid_each(self, path: Path, value: str, details: Messages, at: Path | None = None) -> None:
        """A bad string, once a message."""
        for detail in details:
            self.invalid(path, value, detail, at)

    def forbidden(self, path: Path, detail: str, at: Path | None = None) -> None:
        """A value that is not permitted here."""
        self.add(path, "FieldValueForbidden", f"Forbidden: {detail}" if detail else "Forbidden", at)

    def too_long(self, path: Path, limit: int, at: Path | None = None) -> None:
        """More bytes than allowed."""
        unit = "byte" if limit == 1 else "bytes"
        self.add(path, "FieldValueTooLong", f"Too long: may not be more than {limit} {unit}", at)

    def too_many(self, path: Path, count: int, limit: int) -> None:
        """More items than allowed."""
        unit = "item" if limit == 1 else "items"
        self.add(path, "FieldValueTooMany", f"Too many: {count}: must have at most {limit} {unit}")

    def duplicate(self, path: Path, text: str) -> None:
        """A value that is there already; ``text`` as printed."""
        self.add(path, "FieldValueDuplicate", f"Duplicate value: {text}")

    def not_supported(self, path: Path, text: str, supported: tuple[str, ...]) -> None:
        """A value outside a closed list; ``text`` as printed."""
        detail = f": supported values: {', '.join(map(quote, supported))}" if supported else ""
        self.add(path, "FieldValueNotSupported", f"Unsupported value: {text}{detail}")

    def not_found(self, path: Path, text: str) -> None:
        """A reference to something that is not there; ``text`` as printed."""
        self.add(path, "FieldValueNotFound", f"Not found: {text}")

    def move(self, start: int, position: int, part: str) -> None:
        """Insert a part into the places (not the names) of the causes from ``start`` on."""
        for index in range(start, len(self.causes)):
            cause = self.causes[index]
            path = (*cause.path[:position], part, *cause.path[position:])
            self.causes[index] = Cause(cause.field, cause.reason, cause.message, path)

    def internal(self, path: Path, detail: str) -> None:
        """Something that the server could not do."""
        self.add(path, "InternalError", f"Internal error: {detail}")
