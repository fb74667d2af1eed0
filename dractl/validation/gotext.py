"""How Go prints values in API errors: quoted strings, compact JSON, times. Pure text, no Kubernetes knowledge."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

_ESCAPES = {7: "\\a", 8: "\\b", 12: "\\f", 10: "\\n", 13: "\\r", 9: "\\t", 11: "\\v", 92: "\\\\", 34: '\\"'}
_HTML = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
_HTML_RE = re.compile("[<>&\u2028\u2029]")
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False)

RFC3339 = "2006-01-02T15:04:05Z07:00"
ZERO_TIME = "0001-01-01T00:00:00Z"


class TimeError(ValueError):
    """A text that is not an RFC 3339 time; the message is Go's."""


def quote(text: str) -> str:
    """Go's ``strconv.Quote``."""
    if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    out = ['"']
    for char in text:
        code = ord(char)
        if code in _ESCAPES:
            out.append(_ESCAPES[code])
        elif char.isprintable():
            out.append(char)
        elif code < 0x80:
            out.append(f"\\x{code:02x}")
        elif code < 0x10000:
            out.append(f"\\u{code:04x}")
        else:
            out.append(f"\\U{code:08x}")
    out.append('"')
    return "".join(out)


def json_string(text: str) -> str:
    """A JSON string as Go's ``json.Marshal`` writes it: <, > and & are escaped."""
    return _HTML_RE.sub(lambda match: _HTML[match.group()], _ENCODER.encode(text))


def json_text(value: Any) -> str:
    """Compact JSON of plain data in the given order of keys, escaped as Go does."""
    try:
        text = _ENCODER.encode(value)
    except RecursionError:
        text = "".join(_flat(value))
    return _HTML_RE.sub(lambda match: _HTML[match.group()], text)


def json_size(value: Any) -> int:
    """Bytes of ``json_text``."""
    text = json_text(value)
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def _flat(value: Any) -> list[str]:
    """Pieces of the JSON text, for values nested too deeply for the encoder."""
    out: list[str] = []
    stack: list[Any] = [(value,)]
    while stack:
        top = stack.pop()
        if isinstance(top, str):
            out.append(top)
            continue
        item = top[0]
        if isinstance(item, dict):
            pieces: list[Any] = ["{"]
            for index, (key, inner) in enumerate(item.items()):
                pieces += ["," if index else "", _ENCODER.encode(str(key)) + ":", (inner,)]
            stack += reversed([*pieces, "}"])
        elif isinstance(item, list):
            pieces = ["["]
            for index, inner in enumerate(item):
                pieces += ["," if index else "", (inner,)]
            stack += reversed([*pieces, "]"])
        else:
            out.append(_ENCODER.encode(item))
    return out


# --- time.Parse(time.RFC3339, ...) ----------------------------------------------------------------------------------

_STRICT = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})(Z)")


def parse_time(text: str) -> str:
    """The time in UTC with whole seconds, as the API server prints it.

    Raises:
        TimeError: with Go's message.
    """
    if _STRICT.fullmatch(text):
        try:
            datetime.fromisoformat(text)
            return text
        except ValueError:
            pass
    return _TimeReader(text).read()


class _TimeReader:
    """Walks over the layout as Go's general parser does, to fail where it fails."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.rest = text

    def read(self) -> str:
        year = self._number(4, 4, "2006")
        self._literal("-")
        month = self._number(2, 2, "01")
        self._range("month", 1 <= month <= 12)
        self._literal("-")
        day = self._number(2, 2, "02")
        self._literal("T")
        hour = self._number(1, 2, "15")
        self._range("hour", hour < 24)
        self._literal(":")
        minute = self._number(2, 2, "04")
        self._range("minute", minute < 60)
        self._literal(":")
        second = self._number(2, 2, "05")
        self._range("second", second < 60)
        fraction = re.match(r"[.,][0-9]+", self.rest)
        if fraction:
            self.rest = self.rest[fraction.end() :]
        offset = self._zone()
        if self.rest:
            raise TimeError(f"parsing time {quote(self.text)}: extra text: {quote(self.rest)}")
        try:
            moment = datetime(max(year, 1), month, day, hour, minute, second, tzinfo=timezone(offset))
        except ValueError:
            raise TimeError(f"parsing time {quote(self.text)}: day out of range") from None
        with suppress(OverflowError):
            moment = moment.astimezone(UTC)
        return moment.strftime("%Y-%m-%dT%H:%M:%SZ").rjust(20, "0")

    def _fail(self, element: str, at: str | None = None) -> TimeError:
        at = self.rest if at is None else at
        where = f"cannot parse {quote(at)} as {quote(element)}"
        return TimeError(f"parsing time {quote(self.text)} as {quote(RFC3339)}: {where}")

    def _number(self, least: int, most: int, element: str) -> int:
        found = re.match(rf"[0-9]{{{least},{most}}}", self.rest)
        if not found:
            raise self._fail(element)
        self.rest = self.rest[found.end() :]
        return int(found.group())

    def _literal(self, char: str) -> None:
        if not self.rest.startswith(char):
            raise self._fail(char)
        self.rest = self.rest[1:]

    def _range(self, name: str, good: bool) -> None:
        if not good:
            raise TimeError(f"parsing time {quote(self.text)}: {name} out of range")

    def _zone(self) -> timedelta:
        if self.rest.startswith("Z"):
            self.rest = self.rest[1:]
            return timedelta()
        found = re.match(r"([+-])([0-9]{2}):([0-9]{2})", self.rest)
        if not found:
            raise self._fail("Z07:00")
        hours, minutes = int(found.group(2)), int(found.group(3))
        self._range("time zone offset hour", hours <= 24)
        self._range("time zone offset minute", minutes <= 60)
        self.rest = self.rest[found.end() :]
        offset = timedelta(hours=hours, minutes=minutes)
        limit = timedelta(hours=23, minutes=59)
        offset = min(offset, limit)
        return offset if found.group(1) == "+" else -offset
