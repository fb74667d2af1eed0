"""Quantities and semantic versions: Kubernetes' ``quantity`` and ``semver`` libraries.

A quantity's number is exact, but some functions show how Kubernetes keeps it: as an int64 with a decimal scale, or as a
decimal of any size once that is too small or the notation is binary with a fraction. ``form_of`` tells which.
Declarations: ``decl_kubernetes.QUANTITY`` and ``SEMVER``. Source: ``k8s.io/apiserver/pkg/cel/library/quantity.go`` and
``semverlib.go``; ``k8s.io/apimachinery/pkg/api/resource``; ``github.com/blang/semver/v4``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from dractl.cel.gotext import go_quote
from dractl.cel.values import MAX_INT, MAX_UINT, MIN_INT, ComputedQuantity, EvalError, Form, Value
from dractl.kube.quantity import NANO, Notation, Quantity, QuantityError, exponent_of
from dractl.kube.semver import Semver

# --- quantities -----------------------------------------------------------------------------------------------------


_SHAPE = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?(.*)", re.DOTALL)
_BINARY_EXPONENT = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_MAX_ZERO_EXPONENT = 4000
"""Zero keeps the exponent it is written with, as far as that can be told from its text as a double."""
_DECIMAL_EXPONENT = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_MAX_FACTORS = 18


def form_of(quantity: Quantity) -> Form:
    """How Kubernetes keeps the number of a quantity."""
    if isinstance(quantity, ComputedQuantity):
        return quantity.form
    if quantity.text is None:
        return _whole_form(quantity)
    return _parsed_form(quantity.text, quantity.nano)


def _whole_form(quantity: Quantity) -> Form:
    whole, rest = divmod(quantity.nano, NANO)
    if rest == 0 and MIN_INT <= whole <= MAX_INT:
        return Form(whole, 0, wide=False)
    return Form(quantity.nano, -9, wide=True)


@lru_cache(maxsize=4096)
def _parsed_form(text: str, nano: int) -> Form:
    if text == "0":
        return Form(0, 0, wide=False)
    shape = _SHAPE.fullmatch(text)
    assert shape is not None
    sign, whole, fraction, suffix = shape[1], shape[2].lstrip("0") or "0", shape[3] or "", shape[4]
    if suffix in _BINARY_EXPONENT:
        exponent = _BINARY_EXPONENT[suffix]
        spare = 15 - len(whole) - exponent * 3 // 10 - 1 if not fraction else -1
        scale, factor = 0, 1 << exponent
    else:
        exponent = _DECIMAL_EXPONENT[suffix] if suffix in _DECIMAL_EXPONENT else exponent_of(suffix)
        if nano == 0:
            exponent = max(-_MAX_ZERO_EXPONENT, min(exponent, _MAX_ZERO_EXPONENT))
        spare = _MAX_FACTORS - len(whole) - len(fraction)
        scale, factor = exponent - len(fraction), 1
    value = int((whole + fraction) or "0") * factor
    if spare >= 0 and scale >= -9 and value <= MAX_INT:
        return Form(-value if sign == "-" else value, scale, wide=False)
    if suffix in _BINARY_EXPONENT and abs(nano) == MAX_INT * NANO and value > MAX_INT:
        return Form(nano // NANO, 0, wide=True)
    if nano == 0:
        return Form(0, (0 if suffix in _BINARY_EXPONENT else exponent) - len(fraction), wide=True)
    return Form(nano, -9, wide=True)


@lru_cache(maxsize=1024)
def string_to_quantity(text: str) -> Quantity:
    try:
        return Quantity.parse(text)
    except QuantityError as error:
        raise EvalError(str(error)) from None


def is_quantity(text: str) -> bool:
    try:
        Quantity.parse(text)
    except QuantityError:
        return False
    return True


def sign(value: Quantity) -> int:
    return (value.nano > 0) - (value.nano < 0)


def is_integer(value: Quantity) -> bool:
    return _integer(value) is not None


def _integer(value: Quantity) -> int | None:
    form = form_of(value)
    if form.wide or form.exponent < 0:
        return None
    if form.exponent == 0:
        return form.unscaled
    whole = form.unscaled * 10 ** min(form.exponent, 40)
    return whole if MIN_INT <= whole <= MAX_INT else None


def as_integer(value: Quantity) -> int:
    whole = _integer(value)
    if whole is None:
        raise EvalError("cannot convert value to integer")
    return whole


def as_approximate_float(value: Quantity) -> float:
    form = form_of(value)
    try:
        base = float(form.unscaled)
    except OverflowError:
        base = float("inf") if form.unscaled > 0 else float("-inf")
    return base if form.exponent == 0 else base * _power_of_ten(form.exponent)


def _power_of_ten(exponent: int) -> float:
    """Go's ``math.Pow10``, which rounds twice."""
    if not -323 <= exponent <= 308:
        return 0.0 if exponent < 0 else float("inf")
    coarse, fine = divmod(abs(exponent), 32)
    if exponent < 0:
        return float(f"1e-{coarse * 32}") / float(f"1e{fine}")
    return float(f"1e{coarse * 32}") * float(f"1e{fine}")


def compare_quantities(left: Quantity, right: Quantity) -> int:
    return (left.nano > right.nano) - (left.nano < right.nano)


def quantity_is_greater(left: Quantity, right: Quantity) -> bool:
    return left.nano > right.nano


def quantity_is_less(left: Quantity, right: Quantity) -> bool:
    return left.nano < right.nano


def _sum(left: Quantity, right: Quantity, factor: int) -> ComputedQuantity:
    one, other = form_of(left), form_of(right)
    notation = right.notation if left.nano == 0 else left.notation
    nano = left.nano + factor * right.nano
    if factor < 0 and other.unscaled == MIN_INT and not (one.wide or other.wide):
        # Kubernetes negates in int64, where this number is its own negative (sic)
        form = _sum_form(one, other)
        if not form.wide:
            return ComputedQuantity(left.nano + right.nano, notation, form)
    return ComputedQuantity(nano, notation, _sum_form(one, Form(factor * other.unscaled, other.exponent, other.wide)))


def _sum_form(one: Form, other: Form) -> Form:
    wide = one.wide or other.wide
    if not wide and other.unscaled == 0:
        return one
    if not wide and one.unscaled == 0:
        return other
    exponent = min(one.exponent, other.exponent)
    left = one.unscaled * 10 ** (one.exponent - exponent)
    right = other.unscaled * 10 ** (other.exponent - exponent)
    fits = all(MIN_INT <= each <= MAX_INT for each in (left, right, left + right))
    return Form(left + right, exponent, wide or not fits)


def quantity_add(left: Quantity, right: Quantity) -> Quantity:
    return _sum(left, right, 1)


def quantity_sub(left: Quantity, right: Quantity) -> Quantity:
    return _sum(left, right, -1)


def quantity_add_int(left: Quantity, right: int) -> Quantity:
    return _sum(left, Quantity.of(right, Notation.DECIMAL_EXPONENT), 1)


def quantity_sub_int(left: Quantity, right: int) -> Quantity:
    return _sum(left, Quantity.of(right, Notation.DECIMAL_EXPONENT), -1)


# --- semantic versions ----------------------------------------------------------------------------------------------

_IDENTIFIER = re.compile(r"[0-9A-Za-z-]*", re.ASCII)


class VersionError(Exception):
    """The text is no version; the message is that of Kubernetes' parser."""


def _number(text: str, part: str) -> int:
    title = part.capitalize()
    if text.strip("0123456789"):
        raise VersionError(f"Invalid character(s) found in {part} number {go_quote(text)}")
    if len(text) > 1 and text[0] == "0":
        raise VersionError(f"{title} number must not contain leading zeroes {go_quote(text)}")
    return _uint64(text)


def _uint64(text: str) -> int:
    if not text:
        raise VersionError('strconv.ParseUint: parsing "": invalid syntax')
    if len(text) > 20 or int(text) > MAX_UINT:
        raise VersionError(f"strconv.ParseUint: parsing {go_quote(text)}: value out of range")
    return int(text)


def _check_pre_release(identifier: str) -> None:
    if not identifier:
        raise VersionError("Prerelease is empty")
    if identifier.isascii() and identifier.isdigit():
        if len(identifier) > 1 and identifier[0] == "0":
            raise VersionError(f"Numeric PreRelease version must not contain leading zeroes {go_quote(identifier)}")
        _uint64(identifier)
    elif not _IDENTIFIER.fullmatch(identifier):
        raise VersionError(f"Invalid character(s) found in prerelease {go_quote(identifier)}")


@lru_cache(maxsize=4096)
def parse_version(text: str) -> Semver:
    """Read a version as Kubernetes does where it evaluates CEL.

    Raises:
        VersionError: with the parser's message.
    """
    if not text:
        raise VersionError("Version string empty")
    parts = text.split(".", 2)
    if len(parts) != 3:
        raise VersionError("No Major.Minor.Patch elements found")
    major, minor = _number(parts[0], "major"), _number(parts[1], "minor")
    rest, plus, build = parts[2].partition("+")
    rest, dash, pre = rest.partition("-")
    patch = _number(rest, "patch")
    if dash:
        for identifier in pre.split("."):
            _check_pre_release(identifier)
    if plus:
        for identifier in build.split("."):
            if not identifier:
                raise VersionError("Build meta data is empty")
            if not _IDENTIFIER.fullmatch(identifier):
                raise VersionError(f"Invalid character(s) found in build meta data {go_quote(identifier)}")
    return Semver(major, minor, patch, pre, build)


def _normalized(text: str) -> str:
    parts = text.removeprefix("v").split(".", 2)
    for index, part in enumerate(parts):
        if len(part) > 1 or not part.isascii():
            stripped = part.lstrip("0")
            parts[index] = stripped if stripped and stripped[0] in "0123456789" else "0" + stripped
    if len(parts) < 3:
        if "+" in parts[-1] or "-" in parts[-1]:
            raise VersionError("short version cannot contain PreRelease/Build meta data")
        parts += ["0"] * (3 - len(parts))
    return ".".join(parts)


def string_to_semver(text: str, normalize: bool = False) -> Semver:
    try:
        return parse_version(_normalized(text) if normalize else text)
    except VersionError as error:
        raise EvalError(str(error)) from None


def is_semver(text: str, normalize: bool = False) -> bool:
    try:
        parse_version(_normalized(text) if normalize else text)
    except VersionError:
        return False
    return True


def _as_int64(value: int) -> int:
    return value if value <= MAX_INT else value - 2**64


def semver_major(value: Semver) -> int:
    return _as_int64(value.major)


def semver_minor(value: Semver) -> int:
    return _as_int64(value.minor)


def semver_patch(value: Semver) -> int:
    return _as_int64(value.patch)


def compare_semvers(left: Semver, right: Semver) -> int:
    return (left.key > right.key) - (left.key < right.key)


def semver_is_greater(left: Semver, right: Semver) -> bool:
    return left.key > right.key


def semver_is_less(left: Semver, right: Semver) -> bool:
    return left.key < right.key


OVERLOADS: dict[str, Callable[..., Value]] = {
    "string_to_quantity": string_to_quantity,
    "is_quantity_string": is_quantity,
    "quantity_sign": sign,
    "quantity_is_greater_than": quantity_is_greater,
    "quantity_is_less_than": quantity_is_less,
    "quantity_compare_to": compare_quantities,
    "quantity_get_float": as_approximate_float,
    "quantity_get_int": as_integer,
    "quantity_is_integer": is_integer,
    "quantity_add": quantity_add,
    "quantity_add_int": quantity_add_int,
    "quantity_sub": quantity_sub,
    "quantity_sub_int": quantity_sub_int,
    "string_to_semver": string_to_semver,
    "string_bool_to_semver": string_to_semver,
    "is_semver_string": is_semver,
    "is_semver_string_bool": is_semver,
    "semver_major": semver_major,
    "semver_minor": semver_minor,
    "semver_patch": semver_patch,
    "semver_compare_to": compare_semvers,
    "semver_is_greater_than": semver_is_greater,
    "semver_is_less_than": semver_is_less,
}
