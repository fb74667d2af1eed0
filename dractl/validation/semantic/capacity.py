"""Rules for a capacity of a device: its request policy."""

from __future__ import annotations

from typing import Any

from dractl.kube.quantity import MAX_INT64, NANO, Quantity
from dractl.validation.errors import Path, path_text
from dractl.validation.gotext import quote
from dractl.validation.semantic import scope as limits
from dractl.validation.semantic.scope import Scope, check_set

FRACTIONS = "DRAFractionalCapacityRange"
MILLI = 10**6


def check_capacity(scope: Scope, capacity: dict[str, Any], path: Path, shared: bool) -> None:
    """A capacity; a policy needs a device that may be allocated more than once."""
    policy = capacity.get("requestPolicy")
    if policy is None:
        return
    at: Path = (*path, "requestPolicy")
    if not shared:
        scope.errors.forbidden(at, "allowMultipleAllocations must be true")
        return
    total = capacity.get("value") or Quantity(0)
    values, valid_range, default = policy.get("validValues"), policy.get("validRange"), policy.get("default")
    if values and valid_range is not None:
        detail = 'exactly one policy can be specified, cannot specify "validValues" and "validRange" at the same time'
        scope.errors.forbidden(at, detail)
    elif values:
        if default is None:
            scope.errors.required((*at, "default"), "required when validValues is defined")
        else:
            check_valid_values(scope, default, total, values, (*at, "validValues"))
    elif valid_range is not None:
        if default is None:
            scope.errors.required((*at, "default"), "required when validRange is defined")
        else:
            check_valid_range(scope, default, total, valid_range, (*at, "validRange"))


def check_valid_values(scope: Scope, default: Quantity, total: Quantity, values: list[Quantity], path: Path) -> None:
    """A closed list of amounts, in ascending order, that has the default."""
    errors = scope.errors
    for index in range(len(values) - 1):
        if values[index] > values[index + 1]:
            detail = "values must be sorted in ascending order"
            errors.invalid((*path, index + 1), str(values[index + 1]), detail)

    def check_value(value: Quantity, at: Path) -> None:
        if value > total:
            errors.invalid(at, str(value), f"option is larger than capacity value: {total}")

    key = _decimal_key if scope.on(FRACTIONS) else _whole_key
    check_set(scope, values, limits.VALID_VALUES_MAX, check_value, key, lambda value: quote(key(value)), path)
    looked_at = len(values) <= limits.VALID_VALUES_MAX or scope.minor < 35
    if not (looked_at and default in values):
        errors.invalid(path, str(default), "default value is not valid according to the requestPolicy")


def _whole_key(value: Quantity) -> str:
    return str(go_int64(value.value()))


def _decimal_key(value: Quantity) -> str:
    """The number with as many decimal places as were written: 1 and 1000m are two values."""
    text = (value.text or str(value)).strip()
    number = text.rstrip("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
    places = len(number.partition(".")[2])
    suffix = text[len(number) :]
    places -= _PLACES.get(suffix, 0)
    if "e" in number or "E" in number:
        mantissa, _, exponent = number.lower().partition("e")
        places = len(mantissa.partition(".")[2]) - int(exponent)
    places = min(max(places, 0), 9)
    sign, nano = ("-" if value.nano < 0 else ""), abs(value.nano)
    fraction = f"{nano % NANO:09d}"[:places]
    return f"{sign}{nano // NANO}.{fraction}" if fraction else f"{sign}{nano // NANO}"


_PLACES = {"n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}


def go_int64(value: int) -> int:
    """A number as it wraps around in an int64."""
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)


def check_valid_range(scope: Scope, default: Quantity, total: Quantity, given: dict[str, Any], path: Path) -> None:
    """A range of amounts, optionally in steps."""
    errors = scope.errors
    low, high, step = given.get("min"), given.get("max"), given.get("step")
    if low is None:
        errors.required((*path, "min"), "required when validRange is defined")
        return
    if low > total:
        errors.invalid((*path, "min"), str(low), f"min is larger than capacity value: {total}")
    bound = ("default", "default") if scope.minor >= 37 else ("min", "max")
    if default < low:
        errors.invalid((*path, bound[0]), str(default), f"default is less than min: {low}")
    if high is not None:
        if low > high:
            errors.invalid((*path, "max"), str(low), f"min is larger than max: {high}")
        if high > total:
            errors.invalid((*path, "max"), str(high), f"max is larger than capacity value: {total}")
        if default > high:
            errors.invalid((*path, bound[1]), str(default), f"default is more than max: {high}")
    amounts = {"default": default, "min": low, "max": high, "step": step}
    written = {name: amount for name, amount in amounts.items() if amount is not None}
    milli = scope.on(FRACTIONS) and any(amount.nano % NANO for amount in written.values())
    if milli and not _check_milli(scope, written, path):
        return
    if step is None:
        return
    if scope.minor >= 37 and step.nano <= 0:
        errors.invalid((*path, "step"), str(step), "must be greater than zero")
        return
    after = low + step
    if after > total:
        errors.invalid((*path, "step"), str(step), f"one step {after} is larger than capacity value: {total}")
    if scope.minor >= 37 and not milli and not _check_int64(scope, written, path):
        return
    for value in (default, high):
        if value is not None:
            check_step(scope, value, low, step, milli, (*path, "step"))


def _check_milli(scope: Scope, amounts: dict[str, Quantity], path: Path) -> bool:
    """Whether all amounts are whole thousandths that fit in an int64."""
    good = True
    for name, amount in amounts.items():
        if amount.nano % MILLI or go_int64(amount.nano // MILLI) != amount.nano // MILLI:
            scope.errors.invalid((*path, name), str(amount), "value cannot be represented as a milli value")
            good = False
    return good


def _check_int64(scope: Scope, amounts: dict[str, Quantity], path: Path) -> bool:
    """Whether all amounts are in the part of an int64 with which the server can calculate."""
    good = True
    for name, amount in amounts.items():
        if amount.nano < 0:
            scope.errors.invalid((*path, name), str(amount), "must be greater than or equal to 0")
        elif amount.nano > MAX_INT64 * NANO:
            scope.errors.invalid((*path, name), str(amount), f"must not be larger than {MAX_INT64}")
        else:
            continue
        good = False
    return good


def check_step(scope: Scope, value: Quantity, low: Quantity, step: Quantity, milli: bool, path: Path) -> None:
    """Whether a value is a whole number of steps above the minimum, in rounded int64 arithmetic."""
    number = Quantity.milli_value if milli else Quantity.value
    width = go_int64(number(step))
    if width == 0:
        scope.crash = f"{path_text(path)}: a step of {step} makes the server divide by zero"
        return
    if go_int64(go_int64(number(value)) - go_int64(number(low))) % abs(width):
        detail = f"value is not a multiple of a given step ({step}) from ({low})"
        scope.errors.invalid(path, str(value), detail)
