"""The Go types behind the API: decoding as strict as the server's, the stored form, equality, and Go's JSON.

A decoded object is plain data: a struct is a dict with the JSON names that were set (null and unset are absent), a
quantity a ``Quantity``, a time its text in UTC, raw JSON as it was. A list or map that was given empty stays, as Go
keeps it apart from an unset one. The types come from ``data/apitypes.json``, made by scripts/apitypes.
"""

from __future__ import annotations

import json
from functools import lru_cache
from importlib.resources import files
from typing import Any

from dractl.kube.quantity import Quantity, QuantityError
from dractl.validation.decoding import (
    Context,
    DecodeAbort,
    DecodeProblem,
    DecodeState,
    Field,
    context_path,
    describe,
    type_problem,
)
from dractl.validation.gotext import ZERO_TIME, TimeError, json_string, json_text, parse_time

_INT_BITS = {"int": 64, "int8": 8, "int16": 16, "int32": 32, "int64": 64}


class Type:
    """A Go type. ``display`` is Go's name for it in errors; ``fast`` the Python type that needs no further look."""

    __slots__ = ("display", "fast")
    omits_empty = True

    def __init__(self, display: str, fast: type | None = None) -> None:
        self.display = display
        self.fast = fast

    def zero(self) -> Any:
        """The value of a null inside a list or map."""
        return None

    def decode(self, value: Any, context: Context, state: DecodeState) -> Any:
        """Plain data of a JSON value that is not null."""
        raise NotImplementedError

    def encode(self, value: Any) -> Any:
        """JSON as stored; None stands for unset."""
        return value

    def go_json(self, value: Any) -> str:
        """Go's JSON text of the internal form; None stands for unset."""
        return "null" if value is None else json_text(value)

    def equal(self, first: Any, second: Any) -> bool:
        """Semantic equality; None stands for unset."""
        return bool(first == second)


class StringType(Type):
    """A string, named or not."""

    __slots__ = ()

    def __init__(self, display: str) -> None:
        super().__init__(display, str)

    def zero(self) -> Any:
        return ""

    def decode(self, value: Any, context: Context, state: DecodeState) -> Any:
        if isinstance(value, str):
            return value
        state.type_error(value, self.display, context)
        return ""

    def encode(self, value: Any) -> Any:
        return value or ""

    def go_json(self, value: Any) -> str:
        return json_string(value or "")

    def equal(self, first: Any, second: Any) -> bool:
        return (first or "") == (second or "")


class BoolType(Type):
    """A bool."""

    __slots__ = ()

    def __init__(self, display: str) -> None:
        super().__init__(display, bool)

    def zero(self) -> Any:
        return False

    def decode(self, value: Any, context: Context, state: DecodeState) -> Any:
        if isinstance(value, bool):
            return value
        state.type_error(value, self.display, context)
        return False

    def encode(self, value: Any) -> Any:
        return bool(value)

    def go_json(self, value: Any) -> str:
        return "true" if value else "false"

    def equal(self, first: Any, second: Any) -> bool:
        return bool(first) == bool(second)


class IntType(Type):
    """A signed integer of some width."""

    __slots__ = ("high", "low")

    def __init__(self, display: str, bits: int) -> None:
        super().__init__(display)
        self.low, self.high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1

    def zero(self) -> Any:
        return 0

    def decode(self, value: Any, context: Context, state: DecodeState) -> Any:
        if type(value) is int and self.low <= value <= self.high:
            return value
        state.type_error(value, self.display, context, integer=True)
        return 0

    def encode(self, value: Any) -> Any:
        return value or 0

    def go_json(self, value: Any) -> str:
        return str(value or 0)

    def equal(self, first: Any, second: Any) -> bool:
        return (first or 0) == (second or 0)


_BLANKS = " \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
"""Blanks around a quantity that are passed over. A line feed or tab reaches the server as an escape and stays."""


class QuantityType(Type):
    """resource.Quantity, written as a string or a number."""

    __slots__ = ()
    omits_empty = False

    def zero(self) -> Any:
        return Quantity(0)

    def decode(self, value: Any, context: Context, state: DecodeState) -> Any:
        text = value if isinstance(value, str) else json_text(value)
        try:
            return _quantity(text.strip(_BLANKS))
        except QuantityError as error:
            raise DecodeAbort(DecodeProblem("quantity", str(error), context_path(context))) from None

    def encode(self, value: Any) -> Any:
        return "0" if value is None else str(value)

    def go_json(self, value: Any) -> str:
        return '"0"' if value is None else f'"{value}"'

    def equal(self, first: Any, second: Any) -> bool:
        return (first.nano if first is not None else 0) == (second.nano if second is not None else 0)


@lru_cache(maxsize=4096)
def _quantity(text: str) -> Quantity:
    return Quantity.parse(text)


class TimeType(Type):
    """metav1.Time: RFC 3339, kept in UTC with whole seconds."""

    __slots__ = ()
    omits_empty = False

    def decode(self, value: Any, context: Context, state: DecodeState) -> Any:
        if not isinstance(value, str):
            raise DecodeAbort(type_problem(describe(value), "string", context))
        try:
            time = parse_time(value)
        except TimeError as error:
            raise DecodeAbort(DecodeProblem("time", str(error), context_path(context))) from None
        return time

    def encode(self, value: Any) -> Any:
        return None if value == ZERO_TIME else value

    def go_json(self, value: Any) -> str:
        return "null" if value is None or value == ZERO_TIME else f'"{value}"'

    def equal(self, first: Any, second: Any) -> bool:
        return (first or ZERO_TIME) == (second or ZERO_TIME)


class IntOrStringType(Type):
    """intstr.IntOrString."""

    __slots__ = ()
    omits_empty = False

    def zero(self) -> Any:
        return 0

    def decode(self, value: Any, context: Context, state: DecodeState) -> Any:
        if isinstance(value, str) or (type(value) is int and -(1 << 31) <= value < 1 << 31):
            return value
        raise DecodeAbort(type_problem(describe(value, True), "int32", context))

    def encode(self, value: Any) -> Any:
        return 0 if value is None else value


class RawType(Type):
    """JSON that is kept as it is (opaque parameters, fieldsV1)."""

    __slots__ = ()
    omits_empty = False

    def decode(self, value: Any, context: Context, state: DecodeState) -> Any:
        return value

    def equal(self, first: Any, second: Any) -> bool:
        return json_text(first) == json_text(second)


class PointerType(Type):
    """A pointer: unset differs from the zero value."""

    __slots__ = ("item",)

    def __init__(self, item: Type) -> None:
        super().__init__(item.display, item.fast)
        self.item = item

    def decode(self, value: Any, context: Context, state: DecodeState) -> Any:
        return self.item.decode(value, context, state)

    def encode(self, value: Any) -> Any:
        return None if value is None else self.item.encode(value)

    def go_json(self, value: Any) -> str:
        return "null" if value is None else self.item.go_json(value)

    def equal(self, first: Any, second: Any) -> bool:
        if first is None or second is None:
            return first is second
        return self.item.equal(first, second)


class ListType(Type):
    """A slice."""

    __slots__ = ("item",)

    def __init__(self, item: Type, display: str) -> None:
        super().__init__(display)
        self.item = item

    def decode(self, value: Any, context: Context, state: DecodeState) -> Any:
        if not isinstance(value, list):
            state.type_error(value, self.display, context)
            return []
        item = self.item
        fast = item.fast
        out: list[Any] = []
        for index, element in enumerate(value):
            if type(element) is fast:
                out.append(element)
            elif element is None:
                out.append(item.zero())
            else:
                out.append(item.decode(element, (context, index), state))
        return out

    def encode(self, value: Any) -> Any:
        return None if value is None else [self.item.encode(element) for element in value]

    def go_json(self, value: Any) -> str:
        return "null" if value is None else f"[{','.join(map(self.item.go_json, value))}]"

    def equal(self, first: Any, second: Any) -> bool:
        first, second = first or (), second or ()
        return len(first) == len(second) and all(map(self.item.equal, first, second))


class MapType(Type):
    """A map with string keys."""

    __slots__ = ("item",)

    def __init__(self, item: Type, display: str) -> None:
        super().__init__(display)
        self.item = item

    def decode(self, value: Any, context: Context, state: DecodeState) -> Any:
        if not isinstance(value, dict):
            state.type_error(value, self.display, context)
            return {}
        item = self.item
        fast = item.fast
        out: dict[str, Any] = {}
        for key, element in value.items():
            name = key if isinstance(key, str) else _key_text(key)
            if state.duplicates and (*context_path(context), name) in state.duplicates:
                state.strict_error("duplicate field", context, name)
            if type(element) is fast:
                out[name] = element
            elif element is None:
                out[name] = item.zero()
            else:
                out[name] = item.decode(element, (context, name), state)
        return out

    def encode(self, value: Any) -> Any:
        return None if value is None else {key: self.item.encode(value[key]) for key in sorted(value, key=_bytes)}

    def go_json(self, value: Any) -> str:
        if value is None:
            return "null"
        pairs = (f"{json_string(key)}:{self.item.go_json(value[key])}" for key in sorted(value, key=_bytes))
        return f"{{{','.join(pairs)}}}"

    def equal(self, first: Any, second: Any) -> bool:
        first, second = first or {}, second or {}
        if first.keys() != second.keys():
            return False
        return all(self.item.equal(first[key], second[key]) for key in first)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _key_text(key: Any) -> str:
    return json_text(key) if isinstance(key, bool | int | float) or key is None else str(key)


class StructType(Type):
    """A struct. ``fields`` is by JSON name; ``printed`` lists what Go's JSON of the internal type shows, in order."""

    __slots__ = ("fields", "printed")
    omits_empty = False

    def __init__(self, display: str) -> None:
        super().__init__(display)
        self.fields: dict[str, Field] = {}
        self.printed: list[Field] = []

    def zero(self) -> Any:
        return {}

    def decode(self, value: Any, context: Context, state: DecodeState) -> Any:
        if not isinstance(value, dict):
            state.type_error(value, self.display, context)
            return {}
        fields = self.fields
        out: dict[str, Any] = {}
        for key, item in value.items():
            field = fields.get(key)
            if state.duplicates and (*context_path(context), key) in state.duplicates and field is not None:
                state.strict_error("duplicate field", context, str(key))
            if field is None:
                state.strict_error("unknown field", context, key if isinstance(key, str) else _key_text(key))
            elif item is None:
                continue
            elif type(item) is field.fast:
                out[key] = item
            else:
                decoded = field.type.decode(item, (context, field), state)
                if decoded is not None:
                    out[key] = decoded
        return out

    def encode(self, value: Any) -> Any:
        out: dict[str, Any] = {}
        value = value or {}
        for name, field in self.fields.items():
            item = value.get(name)
            if not (field.omit and omitted(field, item)):
                out[name] = field.type.encode(item)
        return out

    def go_json(self, value: Any) -> str:
        value = value or {}
        pairs = []
        for field in self.printed:
            at = value.get("metadata") or {} if field.embed == ("ObjectMeta",) else value
            item = at.get(field.name)
            if field.omit and omitted(field, item):
                continue
            pairs.append(f'"{field.go_name}":{field.type.go_json(item)}')
        return f"{{{','.join(pairs)}}}"

    def equal(self, first: Any, second: Any) -> bool:
        first, second = first or {}, second or {}
        for name in first.keys() | second.keys():
            field = self.fields.get(name)
            if field is not None and not field.type.equal(first.get(name), second.get(name)):
                return False
        return True


def omitted(field: Field, item: Any) -> bool:
    """Whether omitempty or omitzero leaves a value out."""
    if isinstance(field.type, PointerType):
        return item is None
    return (not item or item == ZERO_TIME) and (field.type.omits_empty or "z" in field.omit)


# --- the table ------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def _data() -> dict[str, Any]:
    text = files("dractl.validation").joinpath("data/apitypes.json").read_text("utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


@lru_cache(maxsize=16)
def table(minor: int) -> TypeTable:
    """The types of Kubernetes 1.``minor``; releases outside the known ones get the nearest."""
    minors = _data()["minors"]
    return TypeTable(min(max(minor, minors[0]), minors[-1]))


class TypeTable:
    """Types of one release, made as they are needed."""

    def __init__(self, minor: int) -> None:
        self.minor = minor
        self._types: dict[str, Type] = {}

    def kind(self, api_version: str, kind: str) -> dict[str, Any] | None:
        """Facts about a kind in this release (type, life cycle) in this release, or None where it is not served."""
        for first, last, facts in _data()["kinds"].get(f"{api_version} {kind}", ()):
            if first <= self.minor <= (last or self.minor):
                found: dict[str, Any] = facts
                return found
        return None

    def kinds_of(self, api_version: str) -> list[str]:
        """The known kinds of a group and version in this release."""
        names = [name.split(" ")[1] for name in _data()["kinds"] if name.startswith(api_version + " ")]
        return [name for name in names if self.kind(api_version, name)]

    def versions_of(self, kind: str) -> list[str]:
        """The versions in which a kind is served in this release."""
        names = [name.split(" ")[0] for name in _data()["kinds"] if name.endswith(" " + kind)]
        return [name for name in names if self.kind(name, kind)]

    def struct(self, name: str) -> StructType:
        """A struct by its name, as in ``resource/v1.DeviceClaim``."""
        found = self.get(name)
        assert isinstance(found, StructType)
        return found

    def get(self, name: str) -> Type:
        """A type by its Go expression."""
        found = self._types.get(name)
        return found if found is not None else self._make(name)

    def _make(self, name: str) -> Type:
        scalar = _data()["scalars"].get(name)
        made: Type
        if name.startswith("*"):
            made = PointerType(self.get(name[1:]))
        elif name.startswith("[]"):
            made = ListType(self.get(name[2:]), display(name))
        elif name.startswith("map["):
            made = MapType(self.get(name[name.index("]") + 1 :]), display(name))
        elif scalar == "custom":
            made = self._custom(name)
        elif name in _INT_BITS or scalar in _INT_BITS:
            made = IntType(display(name), _INT_BITS[scalar or name])
        elif "bool" in (name, scalar):
            made = BoolType(display(name))
        elif scalar is not None:
            made = MapType(self.get(scalar[scalar.index("]") + 1 :]), display(name))
        elif name in _data()["structs"]:
            return self._struct(name)
        else:
            made = StringType(display(name))
        self._types[name] = made
        return made

    @staticmethod
    def _custom(name: str) -> Type:
        short = name.rpartition(".")[2]
        if short == "Quantity":
            return QuantityType(display(name))
        if short == "Time":
            return TimeType(display(name))
        if short == "IntOrString":
            return IntOrStringType(display(name))
        return RawType(display(name))

    def _fields(self, name: str) -> list[list[Any]]:
        entries = _data()["structs"].get(name, ())
        return [entry for entry in entries if entry[5] <= self.minor <= (entry[6] or self.minor)]

    def _struct(self, name: str) -> Type:
        short = name.rpartition(".")[2]
        made = self._types[name] = StructType(display(name))
        for json_name, go_name, embed, kind, omit, *_ in self._fields(name):
            # Decoders before 1.35 leave the names of embedded structs out of their errors.
            parts = tuple(embed.split(".")) if embed and self.minor >= 35 else ()
            made.fields[json_name] = Field(short, json_name, go_name, parts, self.get(kind), omit)
        made.printed = self._printed(name, short, made)
        return made

    def _printed(self, name: str, short: str, made: StructType) -> list[Field]:
        """What the JSON of the internal struct shows; types without an internal twin print as they are."""
        package = name.partition("/")[0]
        internal = self._fields(f"internal/{package}.{short}") if package in ("resource", "core") else []
        if not internal:
            return [Field(short, f.name, f.name, (), f.type, f.omit) for f in made.fields.values()]
        by_go_name = {field.go_name: field for field in made.fields.values()}
        out = []
        for json_name, go_name, embed, kind, omit, *_ in internal:
            if embed == "ObjectMeta":
                out.append(Field(short, json_name, json_name, ("ObjectMeta",), self.get(kind), omit))
            elif go_name in by_go_name:
                twin = by_go_name[go_name]
                out.append(Field(short, twin.name, json_name, (), twin.type, omit))
            else:
                out.append(Field(short, f"internal:{go_name}", json_name, (), self.get(kind), omit))
        return out


@lru_cache(maxsize=4096)
def display(name: str) -> str:
    """Go's ``Type.String()`` of a type expression: packages by their last element."""
    if name.startswith("*"):
        return "*" + display(name[1:])
    if name.startswith("[]"):
        return "[]" + display(name[2:])
    if name.startswith("map["):
        key, _, item = name[4:].partition("]")
        return f"map[{display(key)}]{display(item)}"
    return name.rpartition("/")[2]
