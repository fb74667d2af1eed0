"""A host as plain JSON and back, so that a node can be looked at from elsewhere: the ``NodeReport`` of a node agent.

Serial numbers, MAC addresses and GUIDs are left out; nothing in a host is a credential. Fields that hold their default
are not written. Reading is strict: what does not have the form of a host is refused, since it comes over a network.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping
from enum import Enum
from functools import cache
from typing import Any

from dractl.hardware.model import Host, Netdev, NvmlGpu, Rdma, Unseen, Why

API_VERSION, KIND = "dractl.dev/v1alpha1", "NodeReport"
_PRIVATE = {(NvmlGpu, "serial"), (Netdev, "mac"), (Rdma, "guid")}
_UNSEEN = frozenset({"unseen", "why"})
Json = dict[str, Any]


class NotAHost(ValueError):
    """The data does not have the form of a host; the text says where."""


def node_report(host: Host, node: str, taken: str, interval: float, version: str) -> Json:
    """The report of one node. ``taken`` is RFC 3339, ``interval`` how often the agent looks, in seconds."""
    head = {"apiVersion": API_VERSION, "kind": KIND, "node": node, "taken": taken}
    return {**head, "interval": interval, "dractl": version, "host": to_plain(host)}


def host_of(report: object, node: str) -> Host:
    """The host in a report for ``node``.

    Raises:
        NotAHost: it is no NodeReport, or that of another node.
    """
    if not isinstance(report, dict) or (report.get("apiVersion"), report.get("kind")) != (API_VERSION, KIND):
        raise NotAHost(f"the answer is no {KIND} of {API_VERSION}")
    if report.get("node") != node:
        raise NotAHost(f"the report is that of node {str(report.get('node'))[:253]}")
    host = _read(report.get("host"), Host, "host")
    assert isinstance(host, Host)
    return host


def to_plain(value: Any) -> Any:
    """Plain JSON of a host or a part of one."""
    if isinstance(value, Unseen):
        return {"unseen": value.reason, "why": value.why.value}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, bytes):
        return value.hex()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            one.name: to_plain(content)
            for one in dataclasses.fields(value)
            if not one.name.startswith("_")
            and (type(value), one.name) not in _PRIVATE
            and not _is_default(one, content := getattr(value, one.name))
        }
    if isinstance(value, Mapping):
        return {str(key): to_plain(content) for key, content in value.items()}
    if isinstance(value, frozenset | set):
        return sorted(value)
    if isinstance(value, list | tuple):
        return [to_plain(item) for item in value]
    return value


def _is_default(one: dataclasses.Field[Any], content: Any) -> bool:
    if one.default is not dataclasses.MISSING:
        return bool(type(content) is type(one.default) and content == one.default)
    if one.default_factory is not dataclasses.MISSING:
        return isinstance(content, list | dict) and not content
    return False


@cache
def _hints(kind: type) -> dict[str, Any]:
    return {name: hint for name, hint in typing.get_type_hints(kind).items() if not name.startswith("_")}


def _read(value: Any, hint: Any, where: str) -> Any:
    if hint is Any:
        return _open(value)
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return _read_union(value, parts, where)
    if origin is not None:
        return _read_many(value, origin, parts, where)
    if dataclasses.is_dataclass(hint):
        return _read_fields(value, hint, where)  # type: ignore[arg-type]
    if isinstance(hint, type) and issubclass(hint, Enum):
        try:
            return hint(value)
        except ValueError:
            raise NotAHost(f"{where}: is none of {', '.join(str(one.value) for one in hint)}") from None
    if hint is bytes:
        return _bytes(value, where)
    if hint is float and type(value) is int:
        return float(value)
    if type(value) is not hint:
        raise NotAHost(f"{where}: is {type(value).__name__}, not {hint.__name__}")
    return value


def _open(value: Any) -> Any:
    """Details without a form of their own."""
    if isinstance(value, dict):
        if value.keys() == _UNSEEN:
            return _unseen(value, "details")
        return {key: _open(content) for key, content in value.items()}
    return [_open(item) for item in value] if isinstance(value, list) else value


def _unseen(value: Json, where: str) -> Unseen:
    try:
        return Unseen(str(value["unseen"]), Why(value["why"]))
    except ValueError:
        raise NotAHost(f"{where}: says why it was not seen in no known way") from None


def _read_union(value: Any, parts: tuple[Any, ...], where: str) -> Any:
    if value is None and types.NoneType in parts:
        return None
    if isinstance(value, dict) and value.keys() == _UNSEEN and Unseen in parts:
        return _unseen(value, where)
    rest = [part for part in parts if part not in (types.NoneType, Unseen)]
    return _read(value, rest[0], where)


def _read_many(value: Any, origin: Any, parts: tuple[Any, ...], where: str) -> Any:
    if origin is dict or issubclass(origin, Mapping):
        if not isinstance(value, dict):
            raise NotAHost(f"{where}: is no mapping")
        return {_key(key, parts[0], where): _read(item, parts[1], f"{where}.{key}") for key, item in value.items()}
    if not isinstance(value, list):
        raise NotAHost(f"{where}: is no list")
    if origin is tuple and parts[-1] is not Ellipsis:
        if len(value) != len(parts):
            raise NotAHost(f"{where}: has {len(value)} values, not {len(parts)}")
        return tuple(_read(item, part, where) for item, part in zip(value, parts, strict=True))
    return origin(_read(item, parts[0], f"{where}[{index}]") for index, item in enumerate(value))


def _key(text: str, hint: Any, where: str) -> Any:
    if hint is not int:
        return text
    try:
        return int(text)
    except ValueError:
        raise NotAHost(f"{where}: {text[:40]} is no number") from None


def _bytes(value: Any, where: str) -> bytes:
    try:
        return bytes.fromhex(value)
    except (TypeError, ValueError):
        raise NotAHost(f"{where}: is no hexadecimal text") from None


def _read_fields(value: Any, kind: type, where: str) -> Any:
    if not isinstance(value, dict):
        raise NotAHost(f"{where}: is no object")
    hints = _hints(kind)
    unknown = value.keys() - hints.keys()
    if unknown:
        # a newer agent may say more; what is not known here is not looked at
        value = {name: content for name, content in value.items() if name in hints}
    try:
        return kind(**{name: _read(content, hints[name], f"{where}.{name}") for name, content in value.items()})
    except TypeError as error:
        raise NotAHost(f"{where}: {error}") from None
