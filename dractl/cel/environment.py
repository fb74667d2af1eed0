"""Which CEL a release of Kubernetes speaks: libraries, macros and the type of ``device``, by release and gate.

``Environment`` names a choice; ``declarations(environment)`` gives what follows from it. To find where a function comes
from, look its name up in ``library/decl_*.py``; the table ``_LIBRARIES`` below says in which releases a library counts.
Sources: ``k8s.io/apiserver/pkg/cel/environment`` and ``k8s.io/dynamic-resource-allocation/cel`` of each release.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from dractl.cel import types as t
from dractl.cel.library import decl_extensions as ext
from dractl.cel.library import decl_kubernetes as kube
from dractl.cel.library import decl_standard as std
from dractl.cel.signatures import Function, Overload, parse_signatures

OLDEST = (1, 31)
NEWEST = (1, 37)


@dataclass(frozen=True, slots=True)
class Environment:
    """The release and the gates an expression is compiled for."""

    kubernetes: tuple[int, int] = (1, 36)
    """Release, at least ``OLDEST``; a release after ``NEWEST`` is treated like it."""
    consumable_capacity: bool = True
    """Gate DRAConsumableCapacity: ``device.allowMultipleAllocations`` (since 1.34)."""
    list_attributes: bool = False
    """Gate DRAListTypeAttributes: attributes may be lists (since 1.36)."""
    stored: bool = True
    """True: as the scheduler compiles, and the API server an expression that is already stored. False: as the API
    server compiles a new expression, which may use only what the release before knows too."""
    derived_attribute: bool = False
    """True: an expression that computes an attribute of a request (since 1.37) instead of a selector."""

    @property
    def release(self) -> tuple[int, int]:
        """The release whose rules count."""
        return min(max(self.kubernetes, OLDEST), NEWEST)

    @property
    def cel_go(self) -> tuple[int, int]:
        """The cel-go that the release was built with."""
        return _CEL_GO[self.release]

    @property
    def has_cost_limit(self) -> bool:
        """Whether the API server rejects selectors by their cost estimate and by their length."""
        return self.release >= (1, 32)

    @property
    def escapes(self) -> bool:
        """Whether the grammar has names in backticks."""
        return self.cel_go >= (0, 23)

    @property
    def copies_receivers(self) -> bool:
        """Whether macros that need their receiver twice copy it; before, one node stood at two places."""
        return self.cel_go >= (0, 22)

    @property
    def old_places(self) -> bool:
        """Whether faults are placed as old releases did it (see ``errors.Source``)."""
        return self.cel_go < (0, 22)


_CEL_GO = {
    (1, 31): (0, 20),
    (1, 32): (0, 22),
    (1, 33): (0, 23),
    (1, 34): (0, 26),
    (1, 35): (0, 26),
    (1, 36): (0, 26),
    (1, 37): (0, 29),
}

MacroKey = tuple[str, int, bool]
"""Name, number of arguments, and whether it is called on a receiver."""


@dataclass(frozen=True)
class Declarations:
    """What an expression may name in one environment."""

    functions: dict[str, Function]
    idents: dict[str, t.Type]
    """Variables, and type names (whose type is ``type(...)``)."""
    planned_types: frozenset[str]
    """The type names that a program may hold; one with another of the type names is rejected when it is planned."""
    constants: dict[str, int]
    """Enum values."""
    fields: dict[str, dict[str, t.Type]]
    """Fields of the message types, by type name; ``*`` stands for any name."""
    macros: frozenset[MacroKey]


@dataclass(frozen=True, slots=True)
class _Library:
    """A library's signatures (nothing where only macros count), macros and the environments it belongs to."""

    signatures: str
    counts: Callable[[Environment], bool]
    macros: tuple[MacroKey, ...] = ()


def _since(major: int, minor: int) -> Callable[[Environment], bool]:
    """Counts from a release on; for new expressions one release later, when all servers know it."""
    introduced = (major, minor)
    return lambda env: env.release > introduced or (env.stored and env.release == introduced)


def _always(env: Environment) -> bool:
    return True


def _without(signatures: str, *overloads: str) -> str:
    lines = signatures.splitlines(keepends=True)
    return "".join(line for line in lines if line.partition(":")[0] not in overloads)


_STANDARD_MACROS: tuple[MacroKey, ...] = (
    ("has", 1, False),
    ("all", 2, True),
    ("exists", 2, True),
    ("exists_one", 2, True),
    ("map", 2, True),
    ("map", 3, True),
    ("filter", 2, True),
)
_TWO_VARIABLE_MACROS: tuple[MacroKey, ...] = (
    ("all", 3, True),
    ("exists", 3, True),
    ("existsOne", 3, True),
    ("exists_one", 3, True),
    ("transformList", 3, True),
    ("transformList", 4, True),
    ("transformMap", 3, True),
    ("transformMap", 4, True),
    ("transformMapEntry", 3, True),
    ("transformMapEntry", 4, True),
)

_OPTIONAL_MACROS: tuple[MacroKey, ...] = (("optMap", 2, True), ("optFlatMap", 2, True))
_OPTIONALS_SINCE_133 = ("list_first", "list_last", "optional_unwrap", "optional_unwrapOpt")
_SEMVER_1 = _since(1, 33)

# In the order in which the environment applies them: it decides the order of overloads that two libraries add to one
# function.
_LIBRARIES = (
    _Library(std.STANDARD, lambda env: env.cel_go < (0, 29), _STANDARD_MACROS),
    _Library(_without(std.STANDARD, "int64_to_duration"), lambda env: env.cel_go >= (0, 29), _STANDARD_MACROS),
    _Library(kube.URLS, _always),
    _Library(kube.REGEX, _always),
    _Library(kube.LISTS, lambda env: env.release < (1, 37) or not env.stored),
    _Library(kube.AUTHZ, _always),
    _Library(_without(std.OPTIONALS, *_OPTIONALS_SINCE_133), lambda env: env.release < (1, 33), _OPTIONAL_MACROS),
    _Library(std.OPTIONALS, lambda env: env.release >= (1, 33), _OPTIONAL_MACROS),
    _Library(kube.QUANTITY, _always),
    _Library(ext.STRINGS, _always),
    _Library(ext.SETS, _always),
    _Library(kube.IP, _always),
    _Library(kube.CIDR, _always),
    _Library(kube.FORMAT, _since(1, 31)),
    _Library(kube.AUTHZ_SELECTORS, _since(1, 31)),
    _Library(std.COMPREHENSIONS, _since(1, 32), _TWO_VARIABLE_MACROS),
    _Library(kube.SEMVER, _since(1, 33)),
    _Library(ext.LISTS, _since(1, 34), (("sortBy", 2, True),)),
    _Library(kube.LISTS, lambda env: env.release >= (1, 37) and env.stored),
    _Library("", _always, (("bind", 3, True),)),
    _Library(_without(kube.SEMVER, "is_semver_string_bool", "string_bool_to_semver"), lambda env: not _SEMVER_1(env)),
    _Library(kube.INCLUDES_136, lambda env: env.release == (1, 36) and (env.stored or env.list_attributes)),
    _Library(kube.INCLUDES_137, lambda env: env.release >= (1, 37) and (env.stored or env.list_attributes)),
)

_LIST_A = t.list_of(t.param("A"))
_MAP_AB = t.map_of(t.param("A"), t.param("B"))
_TYPE_NAMES = {
    "bool": t.BOOL,
    "bytes": t.BYTES,
    "double": t.DOUBLE,
    "google.protobuf.Duration": t.DURATION,
    "int": t.INT,
    "list": _LIST_A,
    "map": _MAP_AB,
    "null_type": t.NULL,
    "string": t.STRING,
    "google.protobuf.Timestamp": t.TIMESTAMP,
    "type": t.TYPE,
    "uint": t.UINT,
    # Kubernetes' own short names
    "duration": t.DURATION,
    "timestamp": t.TIMESTAMP,
    "optional_type": t.opaque("optional_type"),
    "net.IP": t.IP,
    "net.CIDR": t.CIDR,
    "kubernetes.DRADevice": t.DEVICE,
    # protobuf's well-known messages
    "google.protobuf.Any": t.ANY,
    "google.protobuf.Empty": t.struct("google.protobuf.Empty"),
    "google.protobuf.Value": t.DYN,
    "google.protobuf.Struct": t.map_of(t.STRING, t.DYN),
    "google.protobuf.Struct.FieldsEntry": t.struct("google.protobuf.Struct.FieldsEntry"),
    "google.protobuf.ListValue": t.list_of(t.DYN),
    "google.protobuf.BoolValue": t.wrapper(t.BOOL),
    "google.protobuf.BytesValue": t.wrapper(t.BYTES),
    "google.protobuf.DoubleValue": t.wrapper(t.DOUBLE),
    "google.protobuf.FloatValue": t.wrapper(t.DOUBLE),
    "google.protobuf.Int32Value": t.wrapper(t.INT),
    "google.protobuf.Int64Value": t.wrapper(t.INT),
    "google.protobuf.StringValue": t.wrapper(t.STRING),
    "google.protobuf.UInt32Value": t.wrapper(t.UINT),
    "google.protobuf.UInt64Value": t.wrapper(t.UINT),
}
_MESSAGE_FIELDS: dict[str, dict[str, t.Type]] = {
    **{name: {} for name in ("bool", "bytes", "double", "int", "list", "string", "uint", "duration", "timestamp")},
    "map": {"*": t.DYN},
    "google.protobuf.Any": {"type_url": t.STRING, "value": t.BYTES},
    "google.protobuf.Duration": {"seconds": t.INT, "nanos": t.INT},
    "google.protobuf.Timestamp": {"seconds": t.INT, "nanos": t.INT},
    "google.protobuf.Empty": {},
    "google.protobuf.Struct": {"fields": t.map_of(t.STRING, t.DYN)},
    "google.protobuf.Struct.FieldsEntry": {"key": t.STRING, "value": t.DYN},
    "google.protobuf.ListValue": {"values": t.list_of(t.DYN)},
    "google.protobuf.Value": {
        "null_value": t.INT,
        "number_value": t.DOUBLE,
        "string_value": t.STRING,
        "bool_value": t.BOOL,
        "struct_value": t.map_of(t.STRING, t.DYN),
        "list_value": t.list_of(t.DYN),
    },
    "google.protobuf.BoolValue": {"value": t.BOOL},
    "google.protobuf.BytesValue": {"value": t.BYTES},
    "google.protobuf.DoubleValue": {"value": t.DOUBLE},
    "google.protobuf.FloatValue": {"value": t.DOUBLE},
    "google.protobuf.Int32Value": {"value": t.INT},
    "google.protobuf.Int64Value": {"value": t.INT},
    "google.protobuf.StringValue": {"value": t.STRING},
    "google.protobuf.UInt32Value": {"value": t.UINT},
    "google.protobuf.UInt64Value": {"value": t.UINT},
}

# the names of Kubernetes' own type provider; until 1.31 they stood for a value of the type, not for the type (sic)
_DECLARED_TYPES = ("duration", "timestamp", t.DEVICE.name)
_PLANNED_KINDS = (t.Kind.DURATION, t.Kind.TIMESTAMP, t.Kind.STRUCT)
_UNPLANNED_TYPES = frozenset(
    name
    for name, each in _TYPE_NAMES.items()
    if name in _DECLARED_TYPES or (name.startswith("google.protobuf.") and each.kind not in _PLANNED_KINDS)
)


@lru_cache(maxsize=32)
def declarations(env: Environment) -> Declarations:
    """Everything that an expression may name in ``env``."""
    functions: dict[str, Function] = {}
    macros: list[MacroKey] = []
    for library in _LIBRARIES:
        if library.counts(env):
            macros += library.macros
            for overload in parse_signatures(library.signatures):
                functions.setdefault(overload.function, Function(overload.function, [])).overloads.append(overload)
    device = device_fields(env)
    parts = {f"{t.DEVICE.name}.{name}": device[name] for name in ("attributes", "capacity")}
    types = _TYPE_NAMES | parts
    idents = {name: t.type_of(inner) for name, inner in types.items()}
    if env.release < (1, 32):
        idents |= {name: types[name] for name in (*_DECLARED_TYPES, *parts)}
    if env.cel_go >= (0, 29):
        idents["optional_type"] = t.type_of(t.optional_of(t.DYN))
    idents["device"] = t.DEVICE
    return Declarations(
        functions=functions,
        idents=idents,
        planned_types=frozenset(idents) - _UNPLANNED_TYPES - set(parts),
        constants={"google.protobuf.NullValue.NULL_VALUE": 0},
        fields=_MESSAGE_FIELDS
        | {t.DEVICE.name: device}
        | {name: {"*": each.params[1]} for name, each in parts.items()},
        macros=frozenset(macros),
    )


def attribute_type(env: Environment) -> t.Type:
    """The type of ``device.attributes[domain].name``."""
    # since 1.37 a stored expression may use attributes as lists whether the gate is on or not
    lists = env.list_attributes or (env.stored and env.release >= (1, 37))
    return t.DYN if lists and env.release >= (1, 36) else t.ANY


def device_fields(env: Environment) -> dict[str, t.Type]:
    """The fields of ``device``, with their types."""
    fields = {
        "driver": t.STRING,
        "attributes": t.map_of(t.STRING, t.map_of(t.STRING, attribute_type(env))),
        "capacity": t.map_of(t.STRING, t.map_of(t.STRING, t.QUANTITY)),
    }
    # a stored expression may use the field whether the gate is on or not
    if env.release >= (1, 34) and (env.consumable_capacity or env.stored):
        fields["allowMultipleAllocations"] = t.BOOL
    return fields


__all__ = [
    "NEWEST",
    "OLDEST",
    "Declarations",
    "Environment",
    "Function",
    "MacroKey",
    "Overload",
    "attribute_type",
    "declarations",
    "device_fields",
]
