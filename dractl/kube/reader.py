"""Typed reading of one JSON object: the primitives that ``dractl.kube.decode`` is written with.

A reader knows the path of the object it reads, so that a wrong type is reported with the field it was found in.
As in the API server's decoder, ``null`` is the same as an absent field.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NoReturn, TypeVar

from dractl.kube.objects import Json
from dractl.kube.quantity import MAX_INT64, MIN_INT64, Quantity, QuantityError

T = TypeVar("T")

_QUANTITY_CACHE: dict[str | int | float, Quantity] = {}
_QUANTITY_CACHE_LIMIT = 100_000


class FieldError(ValueError):
    """A field holds something that its type does not allow. ``path`` is relative to the object being read."""

    def __init__(self, path: str, message: str) -> None:
        super().__init__(f"{path}: {message}" if path else message)
        self.path = path
        self.message = message


class Unknown:
    """Collects the paths of fields that no known version of the API has."""

    __slots__ = ("paths",)

    def __init__(self) -> None:
        self.paths: list[str] = []

    def check(self, body: Json, known: frozenset[str], path: str) -> None:
        """Note every key of ``body`` that is not among ``known``."""
        if not body.keys() <= known:
            self.paths.extend(join(path, key) for key in body if key not in known)


def fields(names: str) -> frozenset[str]:
    """The set of field names in a text that separates them by blanks."""
    return frozenset(names.split())


def join(path: str, key: str) -> str:
    """The path of field ``key`` below ``path``."""
    return f"{path}.{key}" if path else key


def kind_of(value: object) -> str:
    """What a JSON value is, for messages."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, int | float):
        return f"the number {value}"
    if isinstance(value, str):
        return f'the text "{value}"' if len(value) <= 40 else "a text"
    return "a list" if isinstance(value, list) else "an object"


def wrong(path: str, wanted: str, value: object) -> NoReturn:
    """Raise a FieldError for a value of the wrong type."""
    raise FieldError(path, f"expected {wanted}, got {kind_of(value)}")


def obj(body: Json, key: str, path: str) -> Json:
    """The object at ``key``, empty when absent."""
    value = body.get(key)
    if value is None:
        return {}
    if not isinstance(value, dict):
        wrong(join(path, key), "an object", value)
    return value


def opt_obj(body: Json, key: str, path: str) -> Json | None:
    """The object at ``key``, or None when absent."""
    return None if body.get(key) is None else obj(body, key, path)


def items(body: Json, key: str, path: str) -> list[Any]:
    """The list at ``key``, empty when absent."""
    value = body.get(key)
    if value is None:
        return []
    if not isinstance(value, list):
        wrong(join(path, key), "a list", value)
    return value


def each(body: Json, key: str, path: str, read: Callable[[Json, str], T]) -> list[T]:
    """The list of objects at ``key``, each read with ``read(object, path)``."""
    below = join(path, key)
    result = []
    for index, item in enumerate(items(body, key, path)):
        if item is None:
            item = {}
        elif not isinstance(item, dict):
            wrong(f"{below}[{index}]", "an object", item)
        result.append(read(item, f"{below}[{index}]"))
    return result


def text(body: Json, key: str, path: str) -> str:
    """The text at ``key``, empty when absent."""
    value = body.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        wrong(join(path, key), "a text", value)
    return value


def opt_text(body: Json, key: str, path: str) -> str | None:
    """The text at ``key``, or None when absent."""
    value = body.get(key)
    if value is not None and not isinstance(value, str):
        wrong(join(path, key), "a text", value)
    return value


def integer(body: Json, key: str, path: str) -> int:
    """The whole number (int64) at ``key``, 0 when absent."""
    return opt_integer(body, key, path) or 0


def opt_integer(body: Json, key: str, path: str) -> int | None:
    """The whole number (int64) at ``key``, or None when absent."""
    value = body.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int):
        wrong(join(path, key), "a whole number", value)
    if not MIN_INT64 <= value <= MAX_INT64:
        raise FieldError(join(path, key), f"{value} does not fit into 64 bits")
    return value


def boolean(body: Json, key: str, path: str) -> bool:
    """The boolean at ``key``, False when absent."""
    return bool(opt_boolean(body, key, path))


def opt_boolean(body: Json, key: str, path: str) -> bool | None:
    """The boolean at ``key``, or None when absent."""
    value = body.get(key)
    if value is not None and not isinstance(value, bool):
        wrong(join(path, key), "true or false", value)
    return value


def texts(body: Json, key: str, path: str) -> list[str]:
    """The list of texts at ``key``, empty when absent."""
    values = items(body, key, path)
    for index, value in enumerate(values):
        if not isinstance(value, str):
            wrong(f"{join(path, key)}[{index}]", "a text", value)
    return values


def opt_texts(body: Json, key: str, path: str) -> list[str] | None:
    """The list of texts at ``key``, or None when absent."""
    return None if body.get(key) is None else texts(body, key, path)


def text_map(body: Json, key: str, path: str) -> dict[str, str]:
    """The map from text to text at ``key``; a null value reads as the empty text."""
    values = obj(body, key, path)
    if all(type(value) is str for value in values.values()):
        return values
    result = {}
    for name, value in values.items():
        if value is not None and not isinstance(value, str):
            wrong(f"{join(path, key)}[{name}]", "a text", value)
        result[name] = value or ""
    return result


def quantity(value: object, path: str) -> Quantity:
    """A quantity from its JSON form, a text or a number; null reads as zero."""
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        known = _QUANTITY_CACHE.get(value)
        if known is not None and (type(value) is str or str(value) == known.text):
            return known
        try:
            parsed = Quantity.parse(value if isinstance(value, str) else str(value))
        except QuantityError as error:
            raise FieldError(path, f"{kind_of(value)} is not a quantity: {error}") from None
        if len(_QUANTITY_CACHE) < _QUANTITY_CACHE_LIMIT:
            _QUANTITY_CACHE[value] = parsed
        return parsed
    if value is None:
        return Quantity(0)
    wrong(path, "a quantity", value)


def opt_quantity(body: Json, key: str, path: str) -> Quantity | None:
    """The quantity at ``key``, or None when absent."""
    value = body.get(key)
    return None if value is None else quantity(value, join(path, key))


def quantities(values: Mapping[str, object], path: str) -> dict[str, Quantity]:
    """A map from name to quantity."""
    return {name: quantity(value, f"{path}[{name}]") for name, value in values.items()}


def quantity_map(body: Json, key: str, path: str) -> dict[str, Quantity]:
    """The map from name to quantity at ``key``, empty when absent."""
    return quantities(obj(body, key, path), join(path, key))
