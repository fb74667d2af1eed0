"""How Go writes values: Kubernetes' messages and some CEL functions show these spellings.

Source: Go's ``fmt``, ``strconv`` and ``time`` packages; cel-go's ``String`` methods.
"""

from __future__ import annotations

import math
import unicodedata
from datetime import UTC, datetime, timedelta

from dractl.cel import guard
from dractl.cel.ast import Uint
from dractl.cel.values import (
    CelMap,
    Duration,
    Message,
    NamedFormat,
    Optional,
    Timestamp,
    TypeValue,
    Value,
    text_of,
)

SECOND = 10**9
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def go_value(value: Value) -> str:
    """A value as ``%v`` prints it."""
    kind = value.__class__
    if kind is str:
        return str(value)
    if kind is bool:
        return "true" if value else "false"
    if kind is int:
        return str(value)
    if kind is Uint:
        return str(value.value)
    if kind is float:
        return go_float(value)
    if value is None:
        return "0"
    if kind is bytes:
        return "[" + " ".join(map(str, value)) + "]"
    if isinstance(value, list | CelMap):
        guard.spend(len(value) + 4)
    if isinstance(value, list):
        return "[" + ", ".join(map(go_value, value)) + "]"
    if isinstance(value, CelMap):
        return "{" + ", ".join(f"{go_value(key)}: {go_value(item)}" for key, item in value.items()) + "}"
    if kind is Optional:
        return f"optional({go_value(value.value)})" if value.has_value else "optional.none()"
    if kind is TypeValue:
        return str(value.name)
    if kind is Duration:
        return go_duration(value.nanos)
    if kind is Timestamp:
        return go_time(value)
    if kind is NamedFormat or kind is Message:
        return "{" + str(value.name) + "}"
    return text_of(value)


def go_float(value: float) -> str:
    """A double as ``%g`` prints it: the shortest digits that read back, with an exponent from 1e+06 on."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    digits, exponent, sign = _shortest(value)
    if exponent < -4 or exponent >= 6:
        head = digits[0] + ("." + digits[1:] if len(digits) > 1 else "")
        return f"{sign}{head}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"
    return sign + _plain(digits, exponent)


def go_fixed(value: float) -> str:
    """A double as ``strconv.FormatFloat(value, 'f', -1, 64)`` writes it: never an exponent."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    digits, exponent, sign = _shortest(value)
    return sign + _plain(digits, exponent)


def _shortest(value: float) -> tuple[str, int, str]:
    """The shortest decimal digits of a finite double, the exponent of the first digit, and the sign."""
    sign = "-" if math.copysign(1, value) < 0 else ""
    if value == 0:
        return "0", 0, sign
    mantissa, _, exponent = f"{abs(value)!r}".partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = whole + fraction
    stripped = digits.lstrip("0")
    power = int(exponent or 0) + len(whole) - 1 - (len(digits) - len(stripped))
    return stripped.rstrip("0") or "0", power, sign


def _plain(digits: str, exponent: int) -> str:
    if exponent < 0:
        return "0." + "0" * (-exponent - 1) + digits
    whole, fraction = digits[: exponent + 1].ljust(exponent + 1, "0"), digits[exponent + 1 :]
    return whole + ("." + fraction if fraction else "")


_ESCAPES = {7: "\\a", 8: "\\b", 12: "\\f", 10: "\\n", 13: "\\r", 9: "\\t", 11: "\\v", 92: "\\\\", 34: '\\"'}


def go_quote(text: str) -> str:
    """A string as ``%q`` prints it."""
    return '"' + "".join(map(_quote_character, text)) + '"'


def _quote_character(char: str) -> str:
    code = ord(char)
    if code in _ESCAPES:
        return _ESCAPES[code]
    if char == " " or _is_printable(char):
        return char
    if code < 0x20 or code == 0x7F:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _is_printable(char: str) -> bool:
    return unicodedata.category(char)[0] in "LMNPS"


def go_duration(nanos: int) -> str:
    """A duration as Go prints it, such as ``1h2m3.5s``."""
    sign = "-" if nanos < 0 else ""
    rest = abs(nanos)
    if rest == 0:
        return "0s"
    if rest < SECOND:
        for unit, scale in (("ns", 1), ("µs", 10**3), ("ms", 10**6)):
            if rest < scale * 1000:
                return sign + _with_fraction(rest, scale) + unit
    minutes, seconds = divmod(rest, 60 * SECOND)
    hours, minutes = divmod(minutes, 60)
    text = _with_fraction(seconds, SECOND) + "s"
    if hours:
        return f"{sign}{hours}h{minutes}m{text}"
    return f"{sign}{minutes}m{text}" if minutes else sign + text


def _with_fraction(value: int, scale: int) -> str:
    whole, fraction = divmod(value, scale)
    if not fraction:
        return str(whole)
    return f"{whole}.{str(fraction).rjust(len(str(scale)) - 1, '0').rstrip('0')}"


def duration_text(nanos: int) -> str:
    """A duration as CEL's ``string()`` writes it: seconds, such as ``5400s``."""
    whole = abs(nanos) // SECOND
    rest = abs(nanos) % SECOND
    seconds = float(whole) + float(rest) / 1e9
    return go_fixed(-seconds if nanos < 0 else seconds) + "s"


_CYCLE = 146_097 * 86_400
"""Seconds of 400 years, after which the calendar repeats."""


_FIRST = -9_223_372_028_715_321_600
"""The instant from which Go counts seconds as uint64 when it takes a date apart: the start of year -292277022399."""


def civil(stamp: Timestamp, offset: int | None = None) -> datetime:
    """The date and time of day at an offset in seconds (by default the timestamp's own), without nanoseconds.

    Years outside Python's calendar are replaced by ones like them.
    """
    return _civil(stamp, offset)[0]


def civil_year(stamp: Timestamp, offset: int | None = None) -> int:
    """The year at an offset in seconds."""
    local, years = _civil(stamp, offset)
    return local.year + years


def _civil(stamp: Timestamp, offset: int | None) -> tuple[datetime, int]:
    """A date and time of day, and the years by which it was brought forward."""
    seconds = stamp.nanos // SECOND + (stamp.offset if offset is None else offset)
    start = _EPOCH.replace(tzinfo=None)
    try:
        return start + timedelta(seconds=seconds), 0
    except OverflowError:
        cycles, rest = divmod((seconds - _FIRST) % 2**64 + _FIRST, _CYCLE)
        return start + timedelta(seconds=rest), cycles * 400


def timestamp_text(stamp: Timestamp) -> str:
    """A timestamp as RFC 3339 with nanoseconds, in the zone it was written in."""
    year = civil_year(stamp)
    text = f"{'-' if year < 0 else ''}{abs(year):04d}-{civil(stamp):%m-%dT%H:%M:%S}"
    nanos = stamp.nanos % SECOND
    if nanos:
        text += "." + f"{nanos:09d}".rstrip("0")
    if stamp.offset == 0:
        return text + "Z"
    sign = "-" if stamp.offset < 0 else "+"
    hours, minutes = divmod(abs(stamp.offset) // 60, 60)
    return f"{text}{sign}{hours:02d}:{minutes:02d}"


def go_time(stamp: Timestamp) -> str:
    """A timestamp as Go's ``Time.String`` prints it."""
    text = timestamp_text(stamp)
    date, _, rest = text.partition("T")
    clock = rest.rstrip("Z") if rest.endswith("Z") else rest[:-6]
    if stamp.offset == 0:
        return f"{date} {clock} +0000 UTC"
    zone = rest[-6:].replace(":", "")
    return f"{date} {clock} {zone} {zone}"
