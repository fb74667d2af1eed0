"""Types of CEL expressions, as the checker and the cost estimate see them.

A ``Type`` is a value: equal types are equal objects (``==``), so they serve as dictionary keys. ``str(type)`` is the
spelling of a result type in Kubernetes' messages; ``Type.format()`` is the spelling in the checker's messages (the two
differ for null, duration, timestamp and any). Source: the CEL specification, "Types"; cel-go's ``common/types``.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from functools import cached_property


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


@dataclass(frozen=True, eq=False)
class Type:
    """One type. ``name`` is its run-time name, ``nullable`` marks protobuf's wrapper types (``wrapper(bool)``)."""

    kind: Kind
    name: str
    params: tuple[Type, ...] = ()
    nullable: bool = False

    @cached_property
    def _key(self) -> tuple[object, ...]:
        return (self.kind, self.name, self.nullable, *(param._key for param in self.params))

    @cached_property
    def _hash(self) -> int:
        return hash(self._key)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, Type) and self._hash == other._hash and self._key == other._key

    @cached_property
    def is_open(self) -> bool:
        """Whether a type parameter occurs in it."""
        return self.kind is Kind.PARAM or any(inner.is_open for inner in self.params)

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
        if self.kind is Kind.PARAM:
            return f"<{self.declared_name()}>"
        if not self.params:
            return self.declared_name()
        return f"{self.declared_name()}({', '.join(map(str, self.params))})"

    def format(self) -> str:
        """The spelling in the checker's messages."""
        return self._formatted

    @cached_property
    def _formatted(self) -> str:
        short = _MESSAGE_NAMES.get(self.kind)
        if short is not None:
            return short
        if self.kind is Kind.PARAM:
            return self.name
        if not self.params:
            return self.declared_name()
        return f"{self.name}({', '.join(param.format() for param in self.params)})"

    def same(self, other: Type) -> bool:
        """Exactly the same type; a wrapper type and what it wraps are the same here."""
        if self is other:
            return True
        return (
            self.kind is other.kind
            and self.name == other.name
            and len(self.params) == len(other.params)
            and all(a.same(b) for a, b in zip(self.params, other.params, strict=True))
        )

    def equivalent(self, other: Type) -> bool:
        """Like ``same``, but any two type parameters are taken for the same."""
        if self is other:
            return True
        return (
            self.kind is other.kind
            and (self.kind is Kind.PARAM or self.name == other.name)
            and len(self.params) == len(other.params)
            and all(a.equivalent(b) for a, b in zip(self.params, other.params, strict=True))
        )

    def accepts(self, other: Type) -> bool:
        """Whether a value of ``other`` may stand where this type is declared (no inference involved)."""
        if self.nullable and other.kind is Kind.NULL:
            return True
        if self is other or self.is_dynamic:
            return True
        return (
            self.kind is other.kind
            and self.name == other.name
            and len(self.params) == len(other.params)
            and all(a.accepts(b) for a, b in zip(self.params, other.params, strict=True))
        )


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
