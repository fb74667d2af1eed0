"""``string.format`` of the strings extension (version 2), as cel-go formats in the locale en_US.

``parse_clauses`` serves the compile-time check of format calls as well.
Declaration: ``decl_extensions.STRINGS``. Source: cel-go ``ext/formatting.go``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal

from dractl.cel import guard
from dractl.cel.ast import Uint
from dractl.cel.gotext import duration_text, go_float, go_quote, timestamp_text
from dractl.cel.values import (
    CelMap,
    Duration,
    EvalError,
    MutableList,
    Timestamp,
    TypeValue,
    Value,
    is_map,
    type_name,
)

DEFAULT_PRECISION = 6
_MAX_PRECISION = 10_000_009
"""Beyond it Go's printer gives up."""
_ALL_PLACES = 1074
"""No double has more decimal places."""
_NO_VERB = "%!(NOVERB)"
_BAD_PRECISION = "could not parse formatting clause: error while parsing precision"

STRING_ONLY = (
    "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and "
    "timestamps, was given "
)
DECIMAL_ONLY = "decimal clause can only be used on integers, was given "
FIXED_ONLY = "fixed-point clause can only be used on doubles, was given "
SCIENTIFIC_ONLY = "scientific clause can only be used on doubles, was given "
BINARY_ONLY = "only integers and bools can be formatted as binary, was given "
HEX_ONLY = "only integers, byte buffers, and strings can be formatted as hex, was given "
OCTAL_ONLY = "octal clause can only be used on integers, was given "


class FormatError(Exception):
    """A text that is no format; the message is cel-go's."""


@dataclass(frozen=True, slots=True)
class Clause:
    """A ``%`` clause: its verb, and the precision if one is given."""

    verb: str
    precision: int | None = None


def parse_clauses(text: str, has_argument: Callable[[int], bool]) -> Iterator[str | Clause]:
    """The literal parts and clauses of a format, one after another. ``has_argument(i)`` tells of the i-th argument.

    Raises:
        FormatError: when a fault is reached; what stands left of it was given before.
    """
    place = arguments = 0
    while place < len(text):
        if text[place] != "%":
            end = text.find("%", place)
            end = len(text) if end < 0 else end
            yield text[place:end]
            place = end
            continue
        if text[place + 1 : place + 2] == "%":
            yield "%"
            place += 2
            continue
        if not has_argument(arguments):
            raise FormatError(f"index {arguments} out of range")
        if place + 1 >= len(text):
            raise FormatError("unexpected end of string")
        clause, place = _parse_clause(text, place + 1)
        yield clause
        arguments += 1


def _parse_clause(text: str, place: int) -> tuple[Clause, int]:
    precision = None
    if text[place] == ".":
        end = place + 1
        while end < len(text) and text[end] in "0123456789":
            end += 1
        if end >= len(text):
            raise FormatError(f"{_BAD_PRECISION}: could not find end of precision specifier")
        digits = text[place + 1 : end]
        if not digits or int(digits) > 2**63 - 1:
            why = "invalid syntax" if not digits else "value out of range"
            raise FormatError(
                f"{_BAD_PRECISION}: error while converting precision to integer: "
                f'strconv.Atoi: parsing "{digits}": {why}'
            )
        precision = int(digits)
        place = end
    verb = text[place]
    if verb not in "sdfebxXo":
        shown = verb if verb.isascii() else chr(verb.encode("utf-8", "surrogateescape")[0])
        raise FormatError(f'could not parse formatting clause: unrecognized formatting clause "{shown}"')
    return Clause(verb, precision), place + 1


def format_string(text: str, arguments: list[Value]) -> str:
    """``text.format(arguments)``.

    Raises:
        EvalError: with cel-go's text.
    """
    done: list[str] = []
    used = 0
    try:
        for part in parse_clauses(text, lambda index: index < len(arguments)):
            if isinstance(part, str):
                done.append(part)
                continue
            try:
                done.append(_VERBS[part.verb](arguments[used], part))
            except FormatError as error:
                raise FormatError(f"error during formatting: {error}") from None
            used += 1
    except FormatError as error:
        raise EvalError(str(error)) from None
    guard.check_text(sum(map(len, done)))
    return "".join(done)


def _string(value: Value, clause: Clause) -> str:
    return _text(value)


def _text(value: Value) -> str:
    kind = value.__class__
    if kind is list or kind is MutableList:
        return _list(value)
    if isinstance(value, CelMap):
        return _map(value)
    if value is None:
        return "null"
    if kind is str:
        return str(value)
    if kind is bytes:
        try:
            return str(value.decode("utf-8"))
        except UnicodeDecodeError:
            message = go_quote("invalid UTF-8 in bytes, cannot convert to string")
            raise FormatError(f"could not convert argument {message} to string") from None
    if kind is bool:
        return "true" if value else "false"
    if kind is int:
        return str(value)
    if kind is Uint:
        return str(value.value)
    if kind is float:
        return go_float(value)
    if kind is Timestamp:
        return timestamp_text(value)
    if kind is Duration:
        return duration_text(value.nanos)
    if kind is TypeValue:
        return str(value.name)
    raise FormatError(STRING_ONLY + type_name(value))


def _inner(value: Value) -> str:
    """A value inside a list or map."""
    kind = value.__class__
    if kind is Timestamp:
        return f"timestamp({go_quote(timestamp_text(value))})"
    if kind is Duration:
        return f"duration({go_quote(duration_text(value.nanos))})"
    if kind is str:
        return go_quote(value)
    if kind is bytes:
        return "b" + go_quote(_text(value))
    if kind is float:
        if math.isnan(value) or math.isinf(value):
            return go_quote(_special(value))
        return f"{value:.6f}"
    if value is None or kind in (int, Uint, bool, TypeValue, list, MutableList) or is_map(value):
        return _text(value)
    raise FormatError(f"no formatting function for {type_name(value)}")


def _list(items: list[Value]) -> str:
    guard.spend(len(items) + 4)
    return "[" + ", ".join(map(_inner, items)) + "]"


def _map(entries: CelMap) -> str:
    guard.spend(len(entries) + 4)
    pairs = []
    for key, value in entries.items():
        kind = key.__class__
        if kind not in (str, bool, int, Uint):
            raise FormatError(f"no formatting function for map key of type {type_name(key)}")
        pairs.append((go_quote(key) if kind is str else _text(key), _inner(value)))
    pairs.sort(key=lambda pair: pair[0].encode("utf-8", "surrogateescape"))
    return "{" + ", ".join(f"{key}:{value}" for key, value in pairs) + "}"


def _special(value: float) -> str:
    return "NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf"


def _decimal(value: Value, clause: Clause) -> str:
    if value.__class__ is int or value.__class__ is Uint:
        return _text(value)
    raise FormatError(DECIMAL_ONLY + type_name(value))


def _double(value: Value, only: str) -> float:
    if value.__class__ is float:
        return float(value)
    if value.__class__ is str and value in ("NaN", "Infinity", "-Infinity"):
        return float(value)
    raise FormatError(only + type_name(value))


def _fixed(value: Value, clause: Clause) -> str:
    number = _double(value, FIXED_ONLY)
    precision = _precision(clause)
    if precision is None:
        return _NO_VERB
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "∞" if number > 0 else "-∞"
    text = _digits(abs(number), precision)
    whole, _, fraction = text.partition(".")
    fraction = fraction.rstrip("0").ljust(precision % 2**8, "0")
    grouped = f"{int(whole):,}"
    sign = "-" if number < 0 else ""
    return f"{sign}{grouped}" + (f".{fraction}" if fraction else "")


def _digits(number: float, precision: int) -> str:
    """As many decimal places as Go's printer takes at most: its count is an int16, and a negative one means all."""
    places = (precision + 2**15) % 2**16 - 2**15
    return f"{number:.{min(places, _ALL_PLACES)}f}" if places >= 0 else f"{Decimal(repr(number)):f}"


def _precision(clause: Clause) -> int | None:
    """The decimal places asked for; None if Go's printer gives up."""
    precision = DEFAULT_PRECISION if clause.precision is None else clause.precision
    return None if precision > _MAX_PRECISION else precision


_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def _scientific(value: Value, clause: Clause) -> str:
    """``%.12e``: six places always; cel-go hands the precision on as the width."""
    number = _double(value, SCIENTIFIC_ONLY)
    precision = _precision(clause)
    if precision is None:
        return _NO_VERB
    if math.isnan(number):
        text = "NaN"
    elif math.isinf(number):
        text = "∞" if number > 0 else "-∞"
    else:
        mantissa, _, exponent = f"{number or 0.0:.{DEFAULT_PRECISION}e}".partition("e")
        sign = "-" if exponent[0] == "-" else ""
        text = f"{mantissa}×10{(sign + exponent[1:].rjust(2, '0')).translate(_SUPERSCRIPT)}"
    return text.rjust(precision % 2**16)


def _binary(value: Value, clause: Clause) -> str:
    kind = value.__class__
    if kind is bool:
        return "1" if value else "0"
    if kind is int:
        return f"{value:b}"
    if kind is Uint:
        return f"{value.value:b}"
    raise FormatError(BINARY_ONLY + type_name(value))


def _hex(value: Value, clause: Clause) -> str:
    kind = value.__class__
    if kind is int:
        text = f"{value:x}"
    elif kind is Uint:
        text = f"{value.value:x}"
    elif kind is str:
        text = value.encode("utf-8", "surrogateescape").hex()
    elif kind is bytes:
        text = value.hex()
    else:
        raise FormatError(HEX_ONLY + type_name(value))
    return text.upper() if clause.verb == "X" else text


def _octal(value: Value, clause: Clause) -> str:
    if value.__class__ is int:
        return f"{value:o}"
    if value.__class__ is Uint:
        return f"{value.value:o}"
    raise FormatError(OCTAL_ONLY + type_name(value))


_VERBS: dict[str, Callable[[Value, Clause], str]] = {
    "s": _string,
    "d": _decimal,
    "f": _fixed,
    "e": _scientific,
    "b": _binary,
    "x": _hex,
    "X": _hex,
    "o": _octal,
}
