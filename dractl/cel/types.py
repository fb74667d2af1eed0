"""Types of CEL expressions, as the checker and the cost estimate see them.

``str(type)`` is the spelling of a result type in Kubernetes' messages; ``Type.format()`` is the spelling in the
checker's messages (the two differ for null, duration, timestamp and any). Source: the CEL specification, "Types";
cel-go's ``common/types``.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, auto
from weakref import WeakValueDictionary


class Kind(Enum):
    """The shape of a type."""

    DYN = auto()
    ANY = auto()
    BOOL = auto()
    BYTES = auto()
    DOUBLE = auto()
    DURATION = auto()
    ERROR = auto()
    INT = auto()
    LIST = auto()
    MAP = auto()
    NULL = auto()
    OPAQUE = auto()
    STRING = auto()
    STRUCT = auto()
    TIMESTAMP = auto()
    TYPE = auto()
    PARAM = auto()
    UINT = auto()
    MISSING = auto()
    """No type at all: a fault of cel-go before 0.23."""

    # a plain identity hash: the default one of Enum is a Python function, and types are hashed all the time
    __hash__ = object.__hash__


_DYNAMIC = (Kind.DYN, Kind.ANY, Kind.PARAM)
_MESSAGE_NAMES = {
    Kind.ANY: "any",
    Kind.DURATION: "duration",
    Kind.ERROR: "!error!",
    Kind.NULL: "null",
    Kind.TIMESTAMP: "timestamp",
}


_MAX_PARTS = 50_000

_known: WeakValueDictionary[tuple[Kind, str, tuple[Type, ...], bool], Type] = WeakValueDictionary()


class Type:
    """One type. ``name`` is its run-time name, ``nullable`` marks protobuf's wrapper types (``wrapper(bool)``).

    Equal types are one object, so that comparing deep ones takes no time.
    """

    __slots__ = ("__weakref__", "_plain", "is_open", "kind", "name", "nullable", "params")

    kind: Kind
    name: str
    params: tuple[Type, ...]
    nullable: bool
    is_open: bool
    """Whether a type parameter occurs in it."""
    _plain: Type | None

    def __new__(cls, kind: Kind, name: str, params: tuple[Type, ...] = (), nullable: bool = False) -> Type:
        key = (kind, name, params, nullable)
        known = _known.get(key)
        if known is not None:
            return known
        made = super().__new__(cls)
        made.kind = kind
        made.name = name
        made.params = params
        made.nullable = nullable
        made.is_open = kind is Kind.PARAM or any(inner.is_open for inner in params)
        made._plain = None
        if nullable or any(inner.plain is not inner for inner in params):
            made._plain = Type(kind, name, tuple([inner.plain for inner in params]))
        _known[key] = made
        return made

    def __reduce__(self) -> tuple[type[Type], tuple[Kind, str, tuple[Type, ...], bool]]:
        return Type, (self.kind, self.name, self.params, self.nullable)

    def __repr__(self) -> str:
        return f"Type({self})"

    @property
    def plain(self) -> Type:
        """The type with all wrapper types replaced by what they wrap."""
        return self._plain or self

    @property
    def is_dynamic(self) -> bool:
        """True for dyn, any and an unbound type parameter."""
        return self.kind in _DYNAMIC

    @property
    def is_optional(self) -> bool:
        return self.kind is Kind.OPAQUE and self.name == "optional_type"

    def declared_name(self) -> str:
        """The name as declared: a wrapper type is told apart from what it wraps."""
        return f"wrapper({self.name})" if self.nullable else self.name

    def __str__(self) -> str:
        return _spell(self, Type.declared_name)

    def format(self) -> str:
        """The spelling in the checker's messages."""
        return _spell(self, Type._message_name)

    def _message_name(self) -> str:
        return _MESSAGE_NAMES.get(self.kind) or (self.name if self.params else self.declared_name())

    def same(self, other: Type) -> bool:
        """Exactly the same type; a wrapper type and what it wraps are the same here."""
        return self is other or self.plain is other.plain

    def equivalent(self, other: Type) -> bool:
        """Like ``same``, but any two type parameters are taken for the same."""
        if self.same(other):
            return True
        if not (self.is_open and other.is_open) or self.kind is not other.kind:
            return False
        if self.kind is Kind.PARAM:
            return True
        if self.name != other.name or len(self.params) != len(other.params):
            return False
        for one, another in zip(self.params, other.params, strict=True):  # noqa: SIM110
            if not one.equivalent(another):
                return False
        return True

    def accepts(self, other: Type) -> bool:
        """Whether a value of ``other`` may stand where this type without parameters is declared."""
        if self.nullable and other.kind is Kind.NULL:
            return True
        if self.kind is Kind.MISSING:
            return False
        return self is other or self.is_dynamic or (self.kind is other.kind and self.name == other.name)


def _spell(each: Type, name: Callable[[Type], str]) -> str:
    """``name(parameters)``, without recursion: a hostile expression may nest thousands of lists, or make a type whose
    spelling doubles with every variable, so that it is cut off."""
    parts: list[str] = []
    pending: list[Type | str] = [each]
    while pending:
        if len(parts) > _MAX_PARTS:
            parts.append("...")
            break
        item = pending.pop()
        if isinstance(item, str):
            parts.append(item)
            continue
        parts.append(name(item))
        if item.params:
            parts.append("(")
            pending.append(")")
            for number, inner in enumerate(reversed(item.params)):
                pending += [", ", inner] if number else [inner]
    return "".join(parts)


DYN = Type(Kind.DYN, "dyn")
ANY = Type(Kind.ANY, "google.protobuf.Any")
BOOL = Type(Kind.BOOL, "bool")
BYTES = Type(Kind.BYTES, "bytes")
DOUBLE = Type(Kind.DOUBLE, "double")
DURATION = Type(Kind.DURATION, "google.protobuf.Duration")
ERROR = Type(Kind.ERROR, "error")
INT = Type(Kind.INT, "int")
NULL = Type(Kind.NULL, "null_type")
STRING = Type(Kind.STRING, "string")
TIMESTAMP = Type(Kind.TIMESTAMP, "google.protobuf.Timestamp")
TYPE = Type(Kind.TYPE, "type")
UINT = Type(Kind.UINT, "uint")
MISSING = Type(Kind.MISSING, "")


def list_of(element: Type) -> Type:
    return Type(Kind.LIST, "list", (element,))


def map_of(key: Type, value: Type) -> Type:
    return Type(Kind.MAP, "map", (key, value))


def optional_of(value: Type) -> Type:
    return opaque("optional_type", value)


def opaque(name: str, *params: Type) -> Type:
    return Type(Kind.OPAQUE, name, params)


def struct(name: str) -> Type:
    return Type(Kind.STRUCT, name)


def param(name: str) -> Type:
    return Type(Kind.PARAM, name)


def type_of(inner: Type) -> Type:
    return Type(Kind.TYPE, "type", (inner,))


def wrapper(inner: Type) -> Type:
    """A protobuf wrapper message (``google.protobuf.BoolValue``): the type or null."""
    return Type(inner.kind, inner.name, inner.params, nullable=True)


QUANTITY = struct("kubernetes.Quantity")
SEMVER = struct("kubernetes.Semver")
URL = struct("kubernetes.URL")
NAMED_FORMAT = struct("kubernetes.NamedFormat")
IP = opaque("net.IP")
CIDR = opaque("net.CIDR")
DEVICE = struct("kubernetes.DRADevice")
