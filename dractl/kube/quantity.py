"""Exact Kubernetes quantities (k8s.io/apimachinery/pkg/api/resource).

A quantity is a number with at most nine decimal places and a preferred notation. The value is kept as a whole
number of nano units, so comparison and arithmetic never round. ``str()`` gives what Kubernetes prints and stores: the
canonical form, but some texts (``01``, ``1.500``, ``1E3``) as they were read.
"""

from __future__ import annotations

import re
from enum import Enum
from functools import lru_cache, total_ordering

NANO = 10**9
MAX_INT64 = 2**63 - 1
MIN_INT64 = -(2**63)

_MAX_FAST_BINARY = 40
_MAX_EXPONENT = 3000
"""Largest decimal exponent that is materialised; Go keeps exponent and mantissa apart and has no such bound."""

_MAX_LENGTH = 4096
_FAST_PATH_DIGITS = 18
_FAST_BINARY_DIGITS = 14
"""Digits that Go reads with whole numbers of 64 bits; of binary quantities less those of the suffix."""

_SHAPE = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?(.*)", re.DOTALL)
_EXPONENT = re.compile(r"[eE][+-]?[0-9]+")
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL_SUFFIX = {power: suffix for suffix, power in _DECIMAL.items()}
_BINARY_SUFFIX = {0: "", **{power: suffix for suffix, power in _BINARY.items()}}

FORMAT_WRONG = r"quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
SUFFIX_WRONG = "unable to parse quantity's suffix"
NUMERIC_WRONG = "unable to parse numeric part of quantity"


class QuantityError(ValueError):
    """The text is not a quantity; the message is Kubernetes' own."""


class Notation(Enum):
    """How the canonical form is written."""

    DECIMAL_SI = "DecimalSI"
    BINARY_SI = "BinarySI"
    DECIMAL_EXPONENT = "DecimalExponent"


@total_ordering
class Quantity:
    """A number of nano units and a notation. Equality and order look at the number alone."""

    __slots__ = ("nano", "notation", "text")

    def __init__(self, nano: int, notation: Notation = Notation.DECIMAL_SI, text: str | None = None) -> None:
        self.nano = nano
        self.notation = notation
        self.text = text
        """The text that was parsed, or None for a computed quantity."""

    @classmethod
    def of(cls, value: int, notation: Notation = Notation.DECIMAL_SI) -> Quantity:
        """The quantity of a whole number."""
        return cls(value * NANO, notation)

    @classmethod
    def parse(cls, text: str) -> Quantity:
        """Read a quantity as ``resource.ParseQuantity`` does.

        Raises:
            QuantityError: with Kubernetes' message.
        """
        return _parse(text)

    def value(self) -> int:
        """The number rounded up to a whole one (``Quantity.Value``): away from zero for negative fractions."""
        whole = -(-abs(self.nano) // NANO)
        return whole if self.nano >= 0 else -whole

    def milli_value(self) -> int:
        """The number of thousandths, rounded up away from zero (``Quantity.MilliValue``)."""
        milli = -(-abs(self.nano) // 10**6)
        return milli if self.nano >= 0 else -milli

    def is_integer(self) -> bool:
        """Whether the number is whole and fits in int64 (``Quantity.AsInt64``)."""
        return self.nano % NANO == 0 and MIN_INT64 <= self.nano // NANO <= MAX_INT64

    def __add__(self, other: Quantity) -> Quantity:
        notation = other.notation if self.nano == 0 else self.notation
        return Quantity(self.nano + other.nano, notation)

    def __sub__(self, other: Quantity) -> Quantity:
        notation = other.notation if self.nano == 0 else self.notation
        return Quantity(self.nano - other.nano, notation)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Quantity) and self.nano == other.nano

    def __lt__(self, other: Quantity) -> bool:
        return self.nano < other.nano

    def __hash__(self) -> int:
        return hash(self.nano)

    def __str__(self) -> str:
        return self.text if self.text is not None and _is_kept(self.text) else canonical(self)

    def __repr__(self) -> str:
        return f"Quantity({canonical(self)!r})"


def canonical(quantity: Quantity) -> str:
    """Kubernetes' canonical text: no fraction, the largest suffix that loses nothing."""
    nano = quantity.nano
    if nano == 0:
        return "0"
    if quantity.notation is Notation.BINARY_SI and abs(nano) >= 1024 * NANO and nano % NANO == 0:
        return _canonical_binary(nano // NANO)
    return _canonical_decimal(nano, quantity.notation is Notation.DECIMAL_EXPONENT)


@lru_cache(maxsize=4096)
def _is_kept(text: str) -> bool:
    """Whether Kubernetes keeps the text: its fast way of reading holds some that are not canonical for it."""
    shape = _SHAPE.fullmatch(text)
    if text == "0" or shape is None:
        return text == "0"
    whole, fraction, suffix = shape.group(2).lstrip("0") or "0", shape.group(3) or "", shape.group(4)
    _, power, notation = _interpret(suffix)
    if notation is Notation.BINARY_SI:
        room = _FAST_BINARY_DIGITS - power * 3 // 10 - len(whole)
        value = int(whole)
        return not fraction and room >= 0 and value << power <= MAX_INT64 and value & 7 != 0
    digits, scale = whole + fraction, power - len(fraction)
    if len(digits) > _FAST_PATH_DIGITS or scale < -9:
        return False
    return scale % 3 == 0 and not digits.endswith("000") and digits[0] != "0"


def _canonical_binary(value: int) -> str:
    power = 0
    while value % 1024 == 0 and power < 60:
        value //= 1024
        power += 10
    return f"{value}{_BINARY_SUFFIX[power]}"


def _canonical_decimal(mantissa: int, exponent_form: bool) -> str:
    exponent = -9
    while mantissa % 10 == 0:
        mantissa //= 10
        exponent += 1
    shift = exponent % 3
    mantissa *= 10**shift
    exponent -= shift
    if exponent_form:
        return f"{mantissa}e{exponent}" if exponent else str(mantissa)
    return f"{mantissa}{_DECIMAL_SUFFIX.get(exponent, '')}"


def _parse(text: str) -> Quantity:
    if not text:
        raise QuantityError(FORMAT_WRONG)
    if text == "0":
        return Quantity(0, Notation.DECIMAL_SI, text)
    if len(text) > _MAX_LENGTH:
        raise QuantityError(f"quantity of {len(text)} characters is too long to be handled")
    shape = _SHAPE.fullmatch(text)
    assert shape is not None  # every part is optional
    sign, whole, fraction, suffix = shape.group(1), shape.group(2), shape.group(3) or "", shape.group(4)
    if not _suffix_shaped(suffix):
        raise QuantityError(FORMAT_WRONG)
    base, power, notation = _interpret(suffix)
    if not whole and not fraction:
        return _without_digits(text, base, power, notation)
    digits = int(whole + fraction)
    nano_power = 9 - len(fraction)
    if base == 10:
        nano_power += power
    else:
        digits <<= power
    if abs(nano_power) > _MAX_EXPONENT:
        if digits == 0:
            return Quantity(0, notation, text)
        if nano_power > 0:
            raise QuantityError(f"quantity {text!r} is too large to be handled")
        nano_power = -_MAX_EXPONENT - len(text)
    nano = digits * 10**nano_power if nano_power >= 0 else -(-digits // 10**-nano_power)
    if notation is Notation.BINARY_SI:
        nano = min(nano, MAX_INT64 * NANO)
        if 0 < nano < NANO:
            notation = Notation.DECIMAL_SI
    return Quantity(-nano if sign == "-" else nano, notation, text)


def exponent_of(suffix: str) -> int:
    """The exponent that a suffix such as ``e+3`` stands for; Go keeps 32 bits of it."""
    return (int(suffix[1:]) + 2**31) % 2**32 - 2**31


def _without_digits(text: str, base: int, power: int, notation: Notation) -> Quantity:
    """``.``, ``+`` or ``Ki``: zero for Kubernetes, unless the suffix is one for its slow way of reading."""
    if power > _MAX_FAST_BINARY if base == 2 else power < -9:
        raise QuantityError(NUMERIC_WRONG)
    return Quantity(0, notation, text)


def _suffix_shaped(suffix: str) -> bool:
    return re.fullmatch(r"[eEinumkKMGTP]*[-+]?[0-9]*", suffix) is not None


def _interpret(suffix: str) -> tuple[int, int, Notation]:
    if suffix in _DECIMAL:
        return 10, _DECIMAL[suffix], Notation.DECIMAL_SI
    if suffix in _BINARY:
        return 2, _BINARY[suffix], Notation.BINARY_SI
    if _EXPONENT.fullmatch(suffix) and MIN_INT64 <= int(suffix[1:]) <= MAX_INT64:
        return 10, exponent_of(suffix), Notation.DECIMAL_EXPONENT
    raise QuantityError(SUFFIX_WRONG)
