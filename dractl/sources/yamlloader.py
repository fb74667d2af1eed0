"""YAML as Kubernetes reads it: every document becomes the JSON that the API server would be sent."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

_BOOL = re.compile(r"^(?:yes|Yes|YES|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF)$")
_INT = re.compile(r"^[-+]?(?:0b[01_]+|0o?[0-7_]+|0x[0-9a-fA-F_]+|[1-9][0-9_]*|0)$")
_FLOAT = re.compile(r"^[-+]?(?:[0-9][0-9_]*\.[0-9_]*(?:[eE][-+]?[0-9]+)?|\.[0-9][0-9_]*(?:[eE][-+]?[0-9]+)?|"
                    r"[0-9][0-9_]*[eE][-+]?[0-9]+|\.(?:inf|Inf|INF))$|^\.(?:nan|NaN|NAN)$")
_NULL = re.compile(r"^(?:~|null|Null|NULL|)$")
_MERGE = re.compile(r"^<<$")


@cache
def kubernetes_loader() -> Any:
    """A loader class over libyaml.

    Other than PyYAML's own it leaves dates and numbers to the base of 60 as text (an unquoted ``0000:17:00.0`` is a
    PCI address, not a number), makes all keys texts, and refuses a document that contains itself.
    """
    import yaml

    base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

    class Loader(base):  # type: ignore[misc]
        """See :func:`kubernetes_loader`."""

        yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012

        def construct_object(self, node: Any, deep: bool = False) -> Any:
            """Always whole objects at once, so that a document inside itself is an error."""
            return super().construct_object(node, deep=True)

    for tag, pattern, first in (
        ("bool", _BOOL, "yYnNtTfFoO"),
        ("int", _INT, "-+0123456789"),
        ("float", _FLOAT, "-+0123456789."),
        ("null", _NULL, ["~", "n", "N", ""]),
        ("merge", _MERGE, ["<"]),
    ):
        Loader.add_implicit_resolver(f"tag:yaml.org,2002:{tag}", pattern, list(first))
    Loader.add_constructor("tag:yaml.org,2002:map", _construct_map)
    Loader.add_constructor("tag:yaml.org,2002:int", _construct_int)
    return Loader


def _construct_map(loader: Any, node: Any) -> dict[str, Any]:
    loader.flatten_mapping(node)
    return {_key(loader.construct_object(key)): loader.construct_object(value) for key, value in node.value}


def _construct_int(loader: Any, node: Any) -> int:
    text = loader.construct_scalar(node).replace("_", "").replace("0o", "0")
    sign = -1 if text.startswith("-") else 1
    digits = text.lstrip("+-")
    if digits.startswith(("0b", "0x")):
        return sign * int(digits, 0)
    return sign * int(digits, 8 if digits.startswith("0") and digits != "0" else 10)


def _key(value: Any) -> str:
    if isinstance(value, str):
        return value
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
