"""A host as plain JSON and back, so that a node can be looked at from elsewhere: the ``NodeReport`` of a node agent.

Serial numbers, MAC addresses and GUIDs are left out; nothing in a host is a credential. Fields that hold their default
are not written. Reading is strict: what does not have the form of a host is refused, since it comes over a network.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Callable, Mapping
from enum import Enum
from functools import cache, lru_cache
from typing import Any

from dractl.hardware.cpuset import format_list, parse_list
from dractl.hardware.model import Host, Netdev, NvmlGpu, Rdma, Unseen, Why

API_VERSION, KIND = "dractl.dev/v1alpha1", "NodeReport"
_PRIVATE = {(NvmlGpu, "serial"), (Netdev, "mac"), (Rdma, "guid")}
_LONGEST_LIST = 65536
"""Characters of the longest list of CPUs that is read."""
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
    host = _reader(Host)(report.get("host"))
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
        # sets of numbers are those of CPUs, which the kernel writes as 0-55,112-167
        return format_list(value) if all(type(item) is int for item in value) else sorted(value)
    if isinstance(value, list | tuple):
        return [to_plain(item) for item in value]
    return value


def _is_default(one: dataclasses.Field[Any], content: Any) -> bool:
    if one.default is not dataclasses.MISSING:
        return bool(type(content) is type(one.default) and content == one.default)
    if one.default_factory is not dataclasses.MISSING:
        return isinstance(content, list | dict) and not content
    return False


_Reader = Callable[[Any], Any]


@cache
def _reader(hint: Any) -> _Reader:
    """How to read a value of a type; made once, since a report has some ten thousand values."""
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any:
        return _open
    if origin in (typing.Union, types.UnionType):
        return _union(parts)
    if hint == frozenset[int]:
        return _numbers
    if origin is not None:
        return _mapping(*parts) if issubclass(origin, Mapping) else _several(origin, parts)
    if dataclasses.is_dataclass(hint):
        return _object(hint)  # type: ignore[arg-type]
    if isinstance(hint, type) and issubclass(hint, Enum):
        return _enum(hint)
    return _bytes if hint is bytes else _scalar(hint)


def _scalar(hint: type) -> _Reader:
    def read(value: Any) -> Any:
        if type(value) is hint:
            return value
        if hint is float and type(value) is int:
            return float(value)
        raise NotAHost(f"is {type(value).__name__}, not {hint.__name__}")

    return read


def _enum(hint: type[Enum]) -> _Reader:
    def read(value: Any) -> Enum:
        try:
            return hint(value)
        except ValueError:
            raise NotAHost(f"is none of {', '.join(str(one.value) for one in hint)}") from None

    return read


def _bytes(value: Any) -> bytes:
    try:
        return bytes.fromhex(value)
    except (TypeError, ValueError):
        raise NotAHost("is no hexadecimal text") from None


def _numbers(value: Any) -> frozenset[int]:
    if not isinstance(value, str) or len(value) > _LONGEST_LIST:
        raise NotAHost("is no list of CPUs")
    return _cpus(value)


@lru_cache(maxsize=1024)
def _cpus(text: str) -> frozenset[int]:
    try:
        return parse_list(text)
    except ValueError:
        raise NotAHost("is no list of CPUs") from None


def _open(value: Any) -> Any:
    """Details without a form of their own."""
    if isinstance(value, dict):
        return _unseen(value) if value.keys() == _UNSEEN else {key: _open(content) for key, content in value.items()}
    return [_open(item) for item in value] if isinstance(value, list) else value


def _unseen(value: Json) -> Unseen:
    try:
        return Unseen(str(value["unseen"]), Why(value["why"]))
    except ValueError:
        raise NotAHost("says why it was not seen in no known way") from None


def _union(parts: tuple[Any, ...]) -> _Reader:
    may_be_none, may_be_unseen = types.NoneType in parts, Unseen in parts
    inner = _reader(next(part for part in parts if part not in (types.NoneType, Unseen)))

    def read(value: Any) -> Any:
        if value is None and may_be_none:
            return None
        if may_be_unseen and isinstance(value, dict) and value.keys() == _UNSEEN:
            return _unseen(value)
        return inner(value)

    return read


def _mapping(key: Any, hint: Any) -> _Reader:
    inner = _reader(hint)

    def read(value: Any) -> dict[Any, Any]:
        if not isinstance(value, dict):
            raise NotAHost("is no mapping")
        try:
            return {int(name) if key is int else name: inner(content) for name, content in value.items()}
        except NotAHost:
            raise
        except ValueError:
            raise NotAHost("has a name that is no number") from None

    return read


def _several(origin: Any, parts: tuple[Any, ...]) -> _Reader:
    readers = [_reader(part) for part in parts if part is not Ellipsis]
    fixed = origin is tuple and Ellipsis not in parts

    def read(value: Any) -> Any:
        if not isinstance(value, list):
            raise NotAHost("is no list")
        if not fixed:
            return origin(map(readers[0], value))
        if len(value) != len(readers):
            raise NotAHost(f"has {len(value)} values, not {len(readers)}")
        return tuple(reader(item) for reader, item in zip(readers, value, strict=True))

    return read


def _object(kind: type) -> _Reader:
    hints = {name: hint for name, hint in typing.get_type_hints(kind).items() if not name.startswith("_")}
    readers: dict[str, _Reader] = {name: _reader(hint) for name, hint in hints.items()}

    def read(value: Any) -> Any:
        if not isinstance(value, dict):
            raise NotAHost("is no object")
        name = ""
        found = {}
        try:
            for name, content in value.items():
                reader = readers.get(name)
                # a newer agent may say more; what is not known here is not looked at
                if reader is not None:
                    found[name] = reader(content)
            return kind(**found)
        except NotAHost as error:
            raise NotAHost(f"{name}{_after(error)}") from None
        except TypeError:
            raise NotAHost(f"is no whole {kind.__name__}") from None

    return read


def _after(error: NotAHost) -> str:
    text = str(error)
    return f" {text}" if text.split(" ", 1)[0] in ("is", "has", "says") else f".{text}"
