"""Values of CEL expressions at run time, and the rules that hold between any two of them.

Most CEL types are Python's own: bool, int (within int64), float, str, bytes, None and list. The others are classes
here. bool is never an int: every rule asks for the exact class. Lists are never changed once made, except
``MutableList``, which accumulates inside a comprehension as cel-go's does. Errors are ``EvalError``; inside ``equal``
an error is a value, because lists and maps ignore it.
Source: the CEL specification, "Values"; cel-go ``common/types`` of the release in question.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dractl.cel.ast import Uint
from dractl.kube.quantity import Notation, Quantity
from dractl.kube.semver import Semver

if TYPE_CHECKING:
    from ipaddress import IPv4Address, IPv6Address

MIN_INT = -(2**63)
MAX_INT = 2**63 - 1
MAX_UINT = 2**64 - 1

NO_OVERLOAD = "no such overload"

Value = Any
"""Any value of an expression; its CEL type is ``type_name(value)``."""


class EvalError(Exception):
    """An expression failed while it was evaluated; the text is Kubernetes'.

    ``missing`` names the (domain, name) of the device's attribute or capacity whose absence is the error.
    """

    def __init__(self, text: str, missing: tuple[str, str] | None = None) -> None:
        super().__init__(text)
        self.text = text
        self.missing = missing


class Stopped(Exception):  # noqa: N818 - not an error of the expression: nothing absorbs it
    """Evaluation was ended from outside: a limit was reached. Neither ``&&`` nor a list absorbs it."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


class MutableList(list[Value]):
    """An accumulator that starts empty; adding to it changes it in place."""

    __slots__ = ()


@dataclass(slots=True, frozen=True)
class Duration:
    """A span of time in nanoseconds, within int64."""

    nanos: int


@dataclass(slots=True, frozen=True)
class Timestamp:
    """An instant: nanoseconds since 1970 in UTC, and the offset of the zone it was written in, in seconds."""

    nanos: int
    offset: int = 0


@dataclass(slots=True, frozen=True)
class TypeValue:
    """A type as a value: ``type(1)`` or ``int``."""

    name: str


@dataclass(slots=True, eq=False)
class Optional:
    """``optional.of(value)``; ``OPTIONAL_NONE`` is the empty one."""

    value: Value
    has_value: bool = True


OPTIONAL_NONE = Optional(None, has_value=False)


@dataclass(frozen=True, slots=True)
class Form:
    """How Kubernetes keeps a number: ``unscaled * 10**exponent``, as an int64 or (``wide``) a decimal of any size."""

    unscaled: int
    exponent: int
    wide: bool


class ComputedQuantity(Quantity):
    """A quantity from ``add`` or ``sub``. Kubernetes keeps these apart: on the right of ``==`` they are an error."""

    __slots__ = ("form",)

    def __init__(self, nano: int, notation: Notation, form: Form) -> None:
        super().__init__(nano, notation)
        self.form = form


@dataclass(slots=True, eq=False)
class IpAddress:
    """A ``net.IP``."""

    address: IPv4Address | IPv6Address


@dataclass(slots=True, eq=False)
class Cidr:
    """A ``net.CIDR``: an address, not masked, and the length of the prefix in bits."""

    address: IPv4Address | IPv6Address
    bits: int


@dataclass(slots=True, eq=False)
class Url:
    """A ``kubernetes.URL`` by parts. ``text`` is the URL written again, which is what ``==`` compares."""

    scheme: str
    host: str
    path: str
    raw_query: str
    text: str


@dataclass(slots=True, eq=False)
class NamedFormat:
    """A ``kubernetes.NamedFormat``. ``validate`` gives the faults; ``regex_size`` enters into the cost."""

    name: str
    validate: Callable[[str], list[str]]
    regex_size: int


@dataclass(slots=True, eq=False)
class Message:
    """A protobuf message that no CEL value stands for, such as google.protobuf.Empty."""

    name: str
    fields: dict[str, Value]


Key = Any
"""The key of a map, coded so that no two keys of different types are equal in Python."""


def encode_key(key: Value) -> Key:
    """The Python key for a CEL key. Keys that cannot be compared by value get one that nothing equals."""
    kind = key.__class__
    if kind is str or kind is int or kind is bytes or key is None:
        return key
    if kind is bool:
        return (bool, key)
    if kind is Uint:
        return (Uint, key.value)
    if kind is float:
        return (float, key) if key == key else object()  # noqa: PLR0124 - NaN is never found again
    if kind is Duration or kind is TypeValue:
        return key
    if kind is Timestamp:
        return (Timestamp, key.nanos, key.offset)
    return object() if kind is list else (kind, id(key))


def numeric_keys(key: Value) -> Iterator[Key]:
    """The keys of other numeric types under which a number is also found, in cel-go's order."""
    kind = key.__class__
    if kind is float:
        whole = int(key) if key == key and abs(key) != float("inf") and key == int(key) else None  # noqa: PLR0124
        if whole is not None:
            if MIN_INT < whole <= MAX_INT:
                yield whole
            if 0 <= whole <= MAX_UINT:
                yield (Uint, whole)
    elif kind is int:
        if key >= 0:
            yield (Uint, key)
    elif kind is Uint and key.value <= MAX_INT:
        yield key.value


class CelMap:
    """A map. Keys of different types are different keys; lookup also finds an equal number of another type."""

    __slots__ = ("entries",)

    def __init__(self, entries: dict[Key, tuple[Value, Value]]) -> None:
        self.entries = entries

    @classmethod
    def of(cls, pairs: Iterable[tuple[Value, Value]]) -> CelMap:
        """A map of (key, value) pairs; of equal keys the last counts."""
        return cls({encode_key(key): (key, value) for key, value in pairs})

    def find(self, key: Value) -> tuple[Value, Value] | None:
        """The (key, value) under a key, or None."""
        found = self.entries.get(encode_key(key))
        if found is None and key.__class__ in _NUMBERS:
            for other in numeric_keys(key):
                found = self.entries.get(other)
                if found is not None:
                    return found
        return found

    def contains(self, key: Value) -> bool:
        """Whether ``key in map``."""
        return self.find(key) is not None

    def keys(self) -> list[Value]:
        return [key for key, _ in self.entries.values()]

    def items(self) -> list[tuple[Value, Value]]:
        return list(self.entries.values())

    def __len__(self) -> int:
        return len(self.entries)


class MutableMap(CelMap):
    """An accumulator that starts empty; insertion changes it in place."""

    __slots__ = ()


class StringMap(CelMap):
    """A map from a device: its keys are strings and nothing else is ever found."""

    __slots__ = ()

    def find(self, key: Value) -> tuple[Value, Value] | None:
        return self.entries.get(key) if key.__class__ is str else None


class CapacityMap(StringMap):
    """The capacities of one domain. A key that converts to a string is found as well."""

    __slots__ = ()

    def find(self, key: Value) -> tuple[Value, Value] | None:
        if key.__class__ is Optional and key.has_value:
            key = key.value
        if key.__class__ in _STRING_LIKE:
            key = text_of(key)
        return self.entries.get(key) if key.__class__ is str else None


class DomainMap(StringMap):
    """``device.attributes`` and ``device.capacity``: looking up an unknown domain gives an empty map."""

    __slots__ = ()

    def find(self, key: Value) -> tuple[Value, Value] | None:
        return super().find(key) or (key, EMPTY_MAP)

    def contains(self, key: Value) -> bool:
        return super().find(key) is not None


EMPTY_MAP = StringMap({})

_NUMBERS = frozenset((int, float, Uint))
_STRING_LIKE = frozenset((Quantity, ComputedQuantity, Semver, IpAddress, Cidr, Url))

_TYPE_NAMES: dict[type, str] = {
    bool: "bool",
    int: "int",
    Uint: "uint",
    float: "double",
    str: "string",
    bytes: "bytes",
    type(None): "null_type",
    list: "list",
    MutableList: "list",
    CelMap: "map",
    MutableMap: "map",
    StringMap: "map",
    CapacityMap: "map",
    DomainMap: "map",
    Duration: "google.protobuf.Duration",
    Timestamp: "google.protobuf.Timestamp",
    TypeValue: "type",
    Optional: "optional_type",
    Quantity: "kubernetes.Quantity",
    ComputedQuantity: "kubernetes.Quantity",
    Semver: "kubernetes.Semver",
    IpAddress: "net.IP",
    Cidr: "net.CIDR",
    Url: "kubernetes.URL",
    NamedFormat: "kubernetes.NamedFormat",
}

_GO_TYPES: dict[type, str] = {
    bool: "types.Bool",
    int: "types.Int",
    Uint: "types.Uint",
    float: "types.Double",
    str: "types.String",
    bytes: "types.Bytes",
    type(None): "types.Null",
    list: "*types.baseList",
    MutableList: "*types.mutableList",
    CelMap: "*types.baseMap",
    MutableMap: "*types.mutableMap",
    StringMap: "*types.baseMap",
    CapacityMap: "*types.baseMap",
    DomainMap: "cel.mapper",
    Duration: "types.Duration",
    Timestamp: "types.Timestamp",
    TypeValue: "*types.Type",
    Optional: "*types.Optional",
    Quantity: "cel.Quantity",
    ComputedQuantity: "*cel.Quantity",
    Semver: "cel.Semver",
    IpAddress: "cel.IP",
    Cidr: "cel.CIDR",
    Url: "cel.URL",
    NamedFormat: "cel.Format",
    Message: "*types.protoObj",
}


def type_name(value: Value) -> str:
    """The run-time name of a value's type, such as ``int`` or ``kubernetes.Quantity``."""
    name = _TYPE_NAMES.get(value.__class__)
    return name if name is not None else str(value.name)


def go_type(value: Value) -> str:
    """The name of the Go type that stands for a value: some of Kubernetes' messages show it."""
    return _GO_TYPES[value.__class__]


def is_list(value: Value) -> bool:
    return isinstance(value, list)


def is_map(value: Value) -> bool:
    return isinstance(value, CelMap)


def is_quantity(value: Value) -> bool:
    return isinstance(value, Quantity)


def size_of(value: Value) -> int | None:
    """The size that counts for the cost: of a string, bytes, list, map, address or prefix; None for others."""
    kind = value.__class__
    if kind is str or kind is bytes or kind is list or kind is MutableList or isinstance(value, CelMap):
        return len(value)
    if kind is IpAddress:
        return int(value.address.max_prefixlen) // 8
    if kind is Cidr:
        return int(-(-value.bits // 8))
    return None


def text_of(value: Value) -> str:
    """The canonical text of a Kubernetes value."""
    kind = value.__class__
    if kind is IpAddress:
        return str(value.address)
    if kind is Cidr:
        return f"{value.address}/{value.bits}"
    return str(value.text) if kind is Url else str(value)


# --- equality -------------------------------------------------------------------------------------------------------

_SELF_EQUAL = frozenset((str, bytes, bool))


def equal(left: Value, right: Value) -> bool | EvalError:
    """``left == right``: True, False, or the error as a value.

    Numbers compare across types, NaN equals nothing, null only null. Kubernetes' types give an error when compared
    with another type.
    """
    kind = left.__class__
    other = right.__class__
    if left is None or right is None:
        return left is right
    if kind is other and kind in _SELF_EQUAL:
        return bool(left == right)
    if kind in _NUMBERS:
        return other in _NUMBERS and compare_numbers(left, right) == 0
    rule = _EQUAL.get(kind)
    if rule is not None:
        return rule(left, right)
    return False


def compare_numbers(left: Value, right: Value) -> int | None:
    """-1, 0 or 1 for two numbers of any numeric types; None if one is NaN.

    A double is compared with an integer as doubles once it is inside the integer's range, as cel-go does it.
    """
    kind = left.__class__
    other = right.__class__
    if kind is float:
        if other is float:
            if left != left or right != right:  # noqa: PLR0124
                return None
            return (left > right) - (left < right)
        return _compare_double(left, right)
    if other is float:
        result = _compare_double(right, left)
        return None if result is None else -result
    left_value = left.value if kind is Uint else left
    right_value = right.value if other is Uint else right
    return int(left_value > right_value) - int(left_value < right_value)


def _compare_double(double: float, whole: int | Uint) -> int | None:
    if double != double:  # noqa: PLR0124
        return None
    if whole.__class__ is Uint:
        if double < 0:
            return -1
        if double > float(MAX_UINT):
            return 1
        other = float(whole.value)  # type: ignore[union-attr]
    else:
        if double < float(MIN_INT):
            return -1
        if double > float(MAX_INT):
            return 1
        other = float(whole)  # type: ignore[arg-type]
    return (double > other) - (double < other)


def _equal_lists(left: list[Value], right: Value) -> bool | EvalError:
    if not isinstance(right, list) or len(left) != len(right):
        return False
    return all(equal(a, b) is not False for a, b in zip(left, right, strict=True))


def _equal_maps(left: CelMap, right: Value) -> bool | EvalError:
    if not isinstance(right, CelMap) or len(left) != len(right):
        return False
    for key, value in left.entries.values():
        found = right.find(key)
        if found is None or equal(value, found[1]) is False:
            return False
    return True


def _equal_optionals(left: Optional, right: Value) -> bool | EvalError:
    if right.__class__ is not Optional:
        return False
    if not left.has_value or not right.has_value:
        return bool(left.has_value == right.has_value)
    if left.value is None or right.value is None:
        return type_name(left.value) == type_name(right.value)
    return equal(left.value, right.value)


def _no_overload() -> EvalError:
    return EvalError(NO_OVERLOAD)


def _equal_quantities(left: Quantity, right: Value) -> bool | EvalError:
    return left.nano == right.nano if right.__class__ is Quantity else _no_overload()


def _equal_semvers(left: Semver, right: Value) -> bool | EvalError:
    return left.key == right.key if right.__class__ is Semver else _no_overload()


def _equal_addresses(left: IpAddress, right: Value) -> bool | EvalError:
    return left.address == right.address if right.__class__ is IpAddress else _no_overload()


def _equal_cidrs(left: Cidr, right: Value) -> bool | EvalError:
    if right.__class__ is not Cidr:
        return _no_overload()
    return bool(left.address == right.address and left.bits == right.bits)


def _equal_urls(left: Url, right: Value) -> bool | EvalError:
    return left.text == right.text if right.__class__ is Url else _no_overload()


def _equal_formats(left: NamedFormat, right: Value) -> bool | EvalError:
    return left.name == right.name if right.__class__ is NamedFormat else _no_overload()


def _equal_plain(left: Value, right: Value) -> bool | EvalError:
    return left.__class__ is right.__class__ and bool(left == right)


def _equal_instants(left: Timestamp, right: Value) -> bool | EvalError:
    return right.__class__ is Timestamp and left.nanos == right.nanos


def _equal_messages(left: Message, right: Value) -> bool | EvalError:
    if right.__class__ is not Message or left.name != right.name or left.fields.keys() != right.fields.keys():
        return False
    return all(equal(value, right.fields[name]) is True for name, value in left.fields.items())


_EQUAL: dict[type, Callable[[Any, Value], bool | EvalError]] = {
    list: _equal_lists,
    MutableList: _equal_lists,
    CelMap: _equal_maps,
    MutableMap: _equal_maps,
    StringMap: _equal_maps,
    CapacityMap: _equal_maps,
    DomainMap: _equal_maps,
    Optional: _equal_optionals,
    Duration: _equal_plain,
    Timestamp: _equal_instants,
    TypeValue: _equal_plain,
    Quantity: _equal_quantities,
    ComputedQuantity: _equal_quantities,
    Semver: _equal_semvers,
    IpAddress: _equal_addresses,
    Cidr: _equal_cidrs,
    Url: _equal_urls,
    NamedFormat: _equal_formats,
    Message: _equal_messages,
}


# --- order ----------------------------------------------------------------------------------------------------------

COMPARABLE = frozenset((bool, bytes, float, Duration, int, str, Timestamp, Uint))
"""Classes whose values can stand on the left of ``<``."""


def compare(left: Value, right: Value) -> int:
    """-1, 0 or 1 for two comparable values; the left one's class is in ``COMPARABLE``.

    Raises:
        EvalError: for values of types that do not go together, and for NaN.
    """
    kind = left.__class__
    other = right.__class__
    if kind in _NUMBERS:
        if kind is float and left != left:  # noqa: PLR0124
            raise EvalError("NaN values cannot be ordered")
        if other not in _NUMBERS:
            raise EvalError(NO_OVERLOAD)
        result = compare_numbers(left, right)
        if result is None:
            raise EvalError("NaN values cannot be ordered")
        return result
    if kind is not other:
        raise EvalError(NO_OVERLOAD)
    if kind is Duration or kind is Timestamp:
        return int(left.nanos > right.nanos) - int(left.nanos < right.nanos)
    return int(left > right) - int(left < right)


def is_zero(value: Value) -> bool:
    """Whether ``optional.ofNonZeroValue`` takes a value for none."""
    kind = value.__class__
    if value is None:
        return True
    if kind is bool or kind is int or kind is float:
        return not value
    if kind is Uint:
        return bool(value.value == 0)
    if kind is Duration:
        return bool(value.nanos == 0)
    if kind is Timestamp:
        return bool(value.nanos == YEAR_ONE_NANOS)
    if kind is Message:
        return not value.fields
    if kind is str or kind is bytes or isinstance(value, list | CelMap):
        return len(value) == 0
    return False


YEAR_ONE_NANOS = -62135596800 * 10**9
"""The start of year 1, which Go takes for the zero of time."""
