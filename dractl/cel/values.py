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


class Stopped(Exception):
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
    """An instant: nanoseconds since 1970 in UTC, and the offset of the zone it was written in, in seconds.

    Go counts seconds since the year 1 in an int64. A ``google.protobuf.Timestamp`` message can hold later ones: they
    wrap around, so that instants are ordered by ``nanos`` and ``unix_seconds`` is what was written.
    """

    nanos: int
    offset: int = 0

    @property
    def unix_seconds(self) -> int:
        """Whole seconds since 1970, as an int64."""
        seconds = self.nanos // 10**9
        return seconds if seconds >= MIN_INT else seconds + 2**64


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
    """The Python key for a CEL key. Keys that are told apart by identity get one that nothing equals.

    Raises:
        Stopped: for types that Kubernetes cannot look up: it panics.
    """
    kind = key.__class__
    if kind is str or kind is int or key is None:
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
    if kind in _UNHASHABLE:
        raise Stopped(f"internal error: runtime error: hash of unhashable type {go_type(key)}")
    return object()


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
        if not self.entries:
            return None
        found = self.entries.get(encode_key(key))
        if found is None and key.__class__ in NUMBERS:
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

NUMBERS = frozenset((int, float, Uint))
_UNHASHABLE = frozenset((bytes, Semver, NamedFormat))
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
    EvalError: "error",
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
    EvalError: "*types.Err",
}


def type_name(value: Value) -> str:
    """The run-time name of a value's type, such as ``int`` or ``kubernetes.Quantity``."""
    name = _TYPE_NAMES.get(value.__class__)
    return name if name is not None else str(value.name)


def classes_of(name: str) -> frozenset[type]:
    """The classes of the values of a type."""
    return frozenset(kind for kind, own in _TYPE_NAMES.items() if own == name)


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
