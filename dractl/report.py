"""Reports as plain JSON: how a dataclass is written in every ``-o json`` of dractl."""

from __future__ import annotations

import re
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any

API_VERSION = "dractl.dev/v1alpha1"

_SNAKE = re.compile(r"_([a-z])")


def to_plain(value: Any) -> Any:
    """A dataclass as an object with camel-case names; fields that are None are left out; maps and lists as they are."""
    if is_dataclass(value) and not isinstance(value, type):
        content = ((name, getattr(value, field)) for field, name in _names(type(value)))
        return {name: to_plain(item) for name, item in content if item is not None}
    if isinstance(value, list | tuple):
        return [to_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: to_plain(item) for key, item in value.items()}
    return value


def camel(name: str) -> str:
    """``admin_access`` -> ``adminAccess``, ``class_`` -> ``class``."""
    return _SNAKE.sub(lambda match: match[1].upper(), name.rstrip("_"))


@cache
def _names(kind: Any) -> tuple[tuple[str, str], ...]:
    return tuple((field.name, camel(field.name)) for field in fields(kind))
