"""Durations and timestamps as CEL reads them: Go's ``time.ParseDuration`` and ``time.Parse(time.RFC3339, ...)``."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache
from pathlib import PurePosixPath
from zoneinfo import ZoneInfo, available_timezones

from dractl.cel.values import MAX_INT, EvalError, Timestamp

SECOND = 10**9
MIN_SECONDS = -62135596800
"""0001-01-01T00:00:00Z, the first timestamp."""
MAX_SECONDS = 253402300799
"""9999-12-31T23:59:59Z, the last whole second."""
_DAY = 86_400

_UNITS = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,
    "μs": 10**3,
    "ms": 10**6,
    "s": SECOND,
    "m": 60 * SECOND,
    "h": 3600 * SECOND,
}
_PART = re.compile(r"([0-9]*)(?:\.([0-9]*))?([^0-9.]+)")
_RFC3339 = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{1,2}):([0-9]{2}):([0-9]{2})(?:[.,]([0-9]+))?(Z|[+-][0-9]{2}:[0-9]{2})"
)
_EPOCH = datetime(1970, 1, 1)


def parse_duration(text: str) -> int | None:
    """The nanoseconds of a Go duration such as ``1h2.5s``; None if it is none or does not fit in int64."""
    negative = text.startswith("-")
    rest = text[1:] if text[:1] in ("+", "-") else text
    if rest == "0":
        return 0
    if not rest:
        return None
    total = 0
    place = 0
    while place < len(rest):
        part = _PART.match(rest, place)
        if part is None:
            return None
        nanos = _part_nanos(*part.groups())
        if nanos is None:
            return None
        total += nanos
        if total > 2**63:
            return None
        place = part.end()
    if negative:
        return -total
    return total if total <= MAX_INT else None


def _part_nanos(whole: str, fraction: str | None, unit: str) -> int | None:
    scale = _UNITS.get(unit)
    if scale is None or not (whole or fraction):
        return None
    value = int(whole or "0")
    if value > 2**63:
        return None
    total = value * scale
    if total > 2**63:
        return None
    if fraction:
        digits, power = _leading_fraction(fraction)
        if digits:
            # Go computes this part as a double
            total += int(float(digits) * (float(scale) / power))
    return total if total <= 2**63 else None


def _leading_fraction(text: str) -> tuple[int, float]:
    """The digits that still count before int64 overflows, and ten to their number."""
    value, power = 0, 1.0
    for char in text:
        if value > MAX_INT // 10:
            break
        following = value * 10 + int(char)
        if following > 2**63:
            break
        value = following
        power *= 10
    return value, power


def parse_timestamp(text: str) -> Timestamp | None:
    """The timestamp of an RFC 3339 text as Go reads it; None if it is none. The range is not checked."""
    shape = _RFC3339.fullmatch(text)
    if shape is None:
        return None
    year, month, day, hour, minute, second = (int(part) for part in shape.groups()[:6])
    if not (1 <= month <= 12 and 1 <= day <= _days(year, month) and hour < 24 and minute < 60 and second < 60):
        return None
    offset = _offset(shape.group(8))
    if offset is None:
        return None
    # Python's calendar starts with year 1: year 0 is read through the like year 400
    shift = 146097 if year == 0 else 0
    date = datetime(year or 400, month, day, hour, minute, second)
    seconds = int((date - _EPOCH) / timedelta(seconds=1)) - shift * 86400 - offset
    nanos = int((shape.group(7) or "0")[:9].ljust(9, "0"))
    return Timestamp(seconds * SECOND + nanos, offset)


def _days(year: int, month: int) -> int:
    if month == 2:
        return 29 if year % 4 == 0 and (year % 100 != 0 or year % 400 == 0) else 28
    return 30 if month in (4, 6, 9, 11) else 31


def _offset(zone: str) -> int | None:
    if zone == "Z":
        return 0
    hours, minutes = int(zone[1:3]), int(zone[4:6])
    if hours > 24 or minutes > 60:
        return None
    seconds = hours * 3600 + minutes * 60
    return -seconds if zone[0] == "-" else seconds


def in_range(stamp: Timestamp) -> bool:
    """Whether a timestamp is between the years 1 and 9999."""
    return MIN_SECONDS <= stamp.unix_seconds <= MAX_SECONDS


def zone_offset(stamp: Timestamp, zone: str) -> int:
    """The offset from UTC in seconds that a time zone has at an instant. The zone is a name or like ``-08:00``.

    Raises:
        EvalError: for an unknown zone.
    """
    name, colon, minutes = zone.partition(":")
    if not colon:
        return _named_offset(stamp.unix_seconds, zone)
    hour = _atoi(name)
    minute = _atoi(minutes)
    return (hour * 60 - minute if zone[0] == "-" else hour * 60 + minute) * 60


def _atoi(text: str) -> int:
    if re.fullmatch(r"[+-]?[0-9]+", text):
        value = int(text)
        if abs(value) <= MAX_INT:
            return value
        raise EvalError(f'strconv.Atoi: parsing "{text}": value out of range')
    raise EvalError(f'strconv.Atoi: parsing "{text}": invalid syntax')


def _named_offset(seconds: int, zone: str) -> int:
    if zone in ("", "UTC", "Local"):
        return 0
    if ".." in zone or zone[0] in "/\\" or "\\" in zone:
        raise EvalError("time: invalid location name")
    info = _zone(zone)
    if isinstance(info, str):
        raise EvalError(info)
    # away from the ends of Python's calendar, where no zone changes
    within = min(max(seconds, MIN_SECONDS + 2 * _DAY), MAX_SECONDS - 2 * _DAY)
    instant = datetime.fromtimestamp(0, UTC) + timedelta(seconds=within)
    offset = instant.astimezone(info).utcoffset()
    return int(offset.total_seconds()) if offset is not None else 0


@lru_cache(maxsize=64)
def _zone(name: str) -> tzinfo | str:
    """A time zone, or why Go, for which it is a path below a directory of files, finds none."""
    if "\0" in name:
        return "invalid argument"
    parts = [part for part in name.split("/") if part not in ("", ".")]
    plain = "/".join(parts)
    above = ["/".join(parts[:length]) for length in range(1, len(parts) + name.endswith(("/", "/.")))]
    if any(_load(file) is not None for file in above):
        return "not a directory"
    found = _load(plain) if plain else None
    if found is not None:
        return found
    return "is a directory" if not plain or plain in _directories() else f"unknown time zone {name}"


def _load(name: str) -> tzinfo | None:
    try:
        return ZoneInfo(name)
    except (OSError, ValueError, KeyError):
        return None


@lru_cache(maxsize=1)
def _directories() -> frozenset[str]:
    return frozenset(str(parent) for name in available_timezones() for parent in PurePosixPath(name).parents)
