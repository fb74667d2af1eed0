"""Consumable capacity: how much of a device a request takes, and whether it is there (KEP-5075).

Amounts are whole numbers of nano units. Up to 1.36 the allocator calculates in wrapping 64-bit integers; 1.37 refuses
what does not fit and can step in thousandths.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dractl.allocator import quirks as q
from dractl.allocator.profile import Profile
from dractl.kube.objects import CapacityRange, CapacityRequestPolicy, DeviceCapacity
from dractl.kube.quantity import MAX_INT64, MIN_INT64, NANO, Notation, Quantity

_MILLI = NANO // 1000
_UNREPRESENTABLE = "capacity request cannot be represented in the device's range arithmetic"
_NEGATIVE = "capacity value is negative"

Amounts = Mapping[str, int]


class CapacityError(Exception):
    """A request or a published capacity makes no sense; ends the scheduling of the pod."""


class SchedulerPanic(Exception):
    """kube-scheduler would crash here; the message is Go's."""


@dataclass(frozen=True, slots=True)
class CapacityShort:
    """Why a device's capacity does not serve a request."""

    name: str
    """The capacity; empty for a request of something that the device does not define."""
    code: str
    """capacity-undefined or capacity-insufficient."""
    wanted: Quantity | None = None
    """What the request comes to on this device."""
    has: Quantity | None = None
    taken: int = 0
    """Nano units that other shares hold."""
    by_policy: bool = False
    """Whether the request policy refuses the amount."""


class CapacityRules:
    """The arithmetic of one profile."""

    def __init__(self, profile: Profile) -> None:
        self._unchecked = q.CAPACITY_UNCHECKED in profile.quirks
        self._fractional = profile.features.fractional_capacity_range
        self._panics = q.ZERO_STEP_PANIC in profile.quirks
        # 1.37 writes amounts in the notation of the step, older releases always in binary.
        self._keeps_notation = profile.is_at_least(37)

    def shortage(
        self,
        requests: Mapping[str, Quantity] | None,
        capacity: Mapping[str, DeviceCapacity],
        taken: Amounts | None,
        taking: Amounts | None = None,
    ) -> CapacityShort | None:
        """Why a device with ``capacity`` cannot serve a request, or None if it can.

        Args:
            requests: capacity.requests of the request.
            capacity: what the device has.
            taken: what shares in the cluster hold of it.
            taking: what this search has given out of it.

        Raises:
            CapacityError: for amounts that are refused outright.
            SchedulerPanic: where kube-scheduler crashes.
        """
        for name in requests or ():
            if name not in capacity:
                return CapacityShort(name, "capacity-undefined", (requests or {})[name])
        wanted = {}
        for name in sorted(capacity):
            wanted[name] = self._wanted(name, (requests or {}).get(name), capacity[name])
        for name, amount in wanted.items():
            has = capacity[name]
            held = (taken or {}).get(name, 0)
            if self._violates(amount, has.request_policy):
                return CapacityShort(name, "capacity-insufficient", amount, has.value, held, True)
            held += (taking or {}).get(name, 0)
            if held + amount.nano > has.value.nano:
                return CapacityShort(name, "capacity-insufficient", amount, has.value, held)
        return None

    def consumed(
        self, requests: Mapping[str, Quantity] | None, capacity: Mapping[str, DeviceCapacity]
    ) -> dict[str, Quantity]:
        """What a share takes of every capacity of a device."""
        return {name: self._wanted(name, (requests or {}).get(name), has) for name, has in capacity.items()}

    def _wanted(self, name: str, requested: Quantity | None, has: DeviceCapacity) -> Quantity:
        try:
            amount = self._calculate(requested, has)
        except _Unrepresentable as error:
            raise CapacityError(f'capacity "{name}": {_UNREPRESENTABLE}: {error}') from None
        if amount.nano < 0 and not self._unchecked:
            raise CapacityError(f'capacity "{name}": {_NEGATIVE}')
        return amount

    def _calculate(self, requested: Quantity | None, has: DeviceCapacity) -> Quantity:
        policy = has.request_policy
        if requested is None:
            return policy.default if policy is not None and policy.default is not None else has.value
        if policy is None:
            return requested
        if policy.valid_range is not None and policy.valid_range.min is not None:
            return self._round_up(requested, policy.valid_range, policy.valid_range.min)
        for value in policy.valid_values:
            if requested <= value:
                return value
        return requested

    def _round_up(self, requested: Quantity, bounds: CapacityRange, least: Quantity) -> Quantity:
        """The smallest amount that the range allows and that is no less than the request."""
        if requested < least:
            return least
        step = bounds.step
        if step is None:
            return requested
        if self._milli(bounds):
            return self._round_up_milli(requested, step, least)
        if not self._unchecked and requested.nano > MAX_INT64 * NANO:
            raise _Unrepresentable(f"request {requested} exceeds MaxInt64")
        by, start = _int64(step), _int64(least)
        # Being compared with a big decimal makes one of a quantity, and those are cut to 64 bits in another way.
        wanted = _int64(requested) if _form(least) is not None else _wrap(requested.value())
        if by == 0:
            if self._panics:
                raise SchedulerPanic("runtime error: integer divide by zero")
            return requested
        steps = _steps(_wrap(wanted - start), by)
        if not self._unchecked and start >= 0 and steps > _quotient(MAX_INT64 - start, by):
            raise _Unrepresentable(f"rounding request {requested} up to the next step passes MaxInt64")
        notation = step.notation if self._keeps_notation else Notation.BINARY_SI
        return Quantity.of(_wrap(start + by * steps), notation)

    @staticmethod
    def _round_up_milli(requested: Quantity, step: Quantity, least: Quantity) -> Quantity:
        if not _is_milli(requested):
            raise _Unrepresentable(f"request {requested} is not a representable milli value")
        wanted, by, start = (item.nano // _MILLI for item in (requested, step, least))
        steps = _steps(_wrap(wanted - start), by)
        if steps > _quotient(_wrap(MAX_INT64 - start), by):
            raise _Unrepresentable(f"rounding request {requested} up to the next step passes the milli-value range")
        return Quantity((start + by * steps) * _MILLI, step.notation)

    def _violates(self, amount: Quantity, policy: CapacityRequestPolicy | None) -> bool:
        if policy is None:
            return False
        if policy.default is not None and same_form(amount, policy.default):
            return False
        if policy.valid_range is not None:
            return self._outside(amount, policy.valid_range)
        return bool(policy.valid_values) and amount not in policy.valid_values

    def _outside(self, amount: Quantity, bounds: CapacityRange) -> bool:
        if bounds.max is not None and amount > bounds.max:
            return True
        step = bounds.step
        if step is None:
            return False
        if bounds.min is None:
            raise SchedulerPanic("runtime error: invalid memory address or nil pointer dereference")
        if self._milli(bounds):
            return not _is_milli(amount) or (amount.nano - bounds.min.nano) // _MILLI % (step.nano // _MILLI) != 0
        by = _int64(step)
        if by == 0:
            if self._panics:
                raise SchedulerPanic("runtime error: integer divide by zero")
            return False
        wide = bounds.max is not None and _form(bounds.max) is None
        return _wrap((_wrap(amount.value()) if wide else _int64(amount)) - _int64(bounds.min)) % by != 0

    def _milli(self, bounds: CapacityRange) -> bool:
        """Whether to calculate in thousandths: the feature is on, and all bounds are whole thousandths."""
        if not self._fractional:
            return False
        if any(bound is not None and not _is_milli(bound) for bound in (bounds.min, bounds.max, bounds.step)):
            return False
        return bounds.step is not None and bounds.step.nano >= _MILLI


class _Unrepresentable(Exception):
    pass


def _wrap(number: int) -> int:
    """A whole number cut to 64 bits as Go does."""
    return (number + 2**63) % 2**64 - 2**63


def _int64(quantity: Quantity) -> int:
    """``Quantity.Value``: zero where a mantissa with its scale overflows, wrapped where Go keeps a big decimal."""
    value = quantity.value()
    if MIN_INT64 <= value <= MAX_INT64:
        return value
    return 0 if _form(quantity) is not None else _wrap(value)


def _is_milli(quantity: Quantity) -> bool:
    """Whether a quantity is a whole number of thousandths that fits into 64 bits."""
    return quantity.nano % _MILLI == 0 and MIN_INT64 <= quantity.nano // _MILLI <= MAX_INT64


def _quotient(number: int, by: int) -> int:
    """Go's division, which cuts towards zero."""
    quotient = abs(number) // abs(by)
    return quotient if (number < 0) == (by < 0) else -quotient


def _steps(number: int, by: int) -> int:
    quotient = _quotient(number, by)
    return quotient if quotient * by == number else quotient + 1


_FACTORS = 18
"""Digits that Go's fast path of parsing allows."""

_EXPONENTS = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18} | {
    "Ki": 10,
    "Mi": 20,
    "Gi": 30,
    "Ti": 40,
    "Pi": 50,
    "Ei": 60,
}


def same_form(a: Quantity, b: Quantity) -> bool:
    """Go's ``==`` on two quantities: equal in number, notation and written form, not only in amount."""
    if a is b:
        return _form(a) is not None
    form = _form(a)
    return form is not None and form == _form(b)


def _form(quantity: Quantity) -> tuple[int, int, str, Notation] | None:
    """Mantissa, decimal scale, cached text and notation as Go keeps them; None where it keeps a big decimal."""
    text = quantity.text
    if text is None:
        whole, rest = divmod(quantity.nano, NANO)
        return (whole, 0, "", quantity.notation) if rest == 0 else (quantity.nano // _MILLI, -3, "", quantity.notation)
    if text == "0":
        return 0, 0, "0", Notation.DECIMAL_SI
    digits, point, exponent = _split(text, quantity.notation)
    value = int(digits)
    negative = text.startswith("-")
    if text.endswith("i"):
        precision = 15 - len(digits) - int(exponent * 3 / 10) - 1 if exponent >= 0 and not point else -1
        result, scale = value << max(exponent, 0), 0
        canonical = exponent % 10 == 0 and value & 7 != 0
    else:
        precision, scale, result = _FACTORS - len(digits), exponent - point, value
        canonical = scale % 3 == 0 and not digits.endswith("000") and digits[0] != "0"
    if precision < 0 or scale < -9:
        return None
    return (-result if negative else result), scale, text if canonical else "", quantity.notation


def _split(text: str, notation: Notation) -> tuple[str, int, int]:
    """Digits without the point, number of decimals, exponent (of two or ten) of a quantity's text."""
    body = text.lstrip("+-")
    end = next((i for i, c in enumerate(body) if not (c.isdigit() or c == ".")), len(body))
    number, suffix = body[:end], body[end:]
    whole, _, fraction = number.partition(".")
    whole = whole.lstrip("0") or "0"
    if notation is Notation.DECIMAL_EXPONENT and suffix:
        return whole + fraction, len(fraction), int(suffix[1:])
    return whole + fraction, len(fraction), _EXPONENTS[suffix]
