"""Bytes -> JSON documents, each with the line it starts at. Knows JSON, several YAML documents and gzip."""

from __future__ import annotations

import gc
import json
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from dractl.errors import DractlError

_GZIP = b"\x1f\x8b"
_BOMS = {b"\xef\xbb\xbf": "utf-8-sig", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
MAX_BYTES = 4 << 30
"""Larger content, also out of a small gzip file, is refused."""


@dataclass(slots=True)
class Document:
    """One document; ``line`` counts from 1 and ``item_lines`` are those of the entries of its ``items`` (YAML only)."""

    body: Any
    line: int | None = None
    item_lines: list[int] = field(default_factory=list)


def parse(data: bytes, name: str) -> list[Document]:
    """All documents of a file. Empty YAML documents are left out.

    Raises:
        DractlError: when it is neither JSON nor YAML, cut off, or not text. ``name`` is said in the message.
    """
    text = _decode(_unzip(data, name), name)
    if text.lstrip()[:1] in ("{", "["):
        return _parse_json(text, name)
    return list(_parse_yaml(text, name))


def _unzip(data: bytes, name: str) -> bytes:
    if not data.startswith(_GZIP):
        return data
    chunks: list[bytes] = []
    size = 0
    rest = data
    while rest.startswith(_GZIP):
        unzip = zlib.decompressobj(wbits=31)
        try:
            chunk = unzip.decompress(rest, MAX_BYTES - size + 1)
        except zlib.error as error:
            raise DractlError(f"{name}: damaged gzip data ({error})", "Fetch the file again.") from None
        size += len(chunk)
        if size > MAX_BYTES:
            raise DractlError(f"{name}: unpacks to more than {MAX_BYTES >> 30} GiB", "Give a smaller snapshot.")
        if not unzip.eof:
            raise DractlError(f"{name}: is cut off, the gzip data end early", "Fetch the file again.")
        chunks.append(chunk)
        rest = unzip.unused_data
    return b"".join(chunks)


def _decode(data: bytes, name: str) -> str:
    encoding = next((code for bom, code in _BOMS.items() if data.startswith(bom)), "utf-8")
    hint = "Give JSON or YAML as kubectl prints it (kubectl get ... -o json), plain or gzip."
    if b"\x00" in data[:4096] and encoding != "utf-16":
        raise DractlError(f"{name}: is a binary file, neither JSON nor YAML", hint)
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise DractlError(f"{name}:{line}: is not UTF-8 text (byte 0x{data[error.start]:02x})", hint) from None
    if not text.strip():
        raise DractlError(f"{name}: is empty", "Write a snapshot with: kubectl get ... -o json > FILE")
    return text


@contextmanager
def collector_paused() -> Iterator[None]:
    """Decoding makes many objects and no cycles; the collector would take half of the time (measured)."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _parse_json(text: str, name: str) -> list[Document]:
    with collector_paused():
        try:
            return [Document(json.loads(text), 1)]
        except json.JSONDecodeError as error:
            if error.msg == "Extra data":
                return _parse_json_stream(text, name)
            failed = error
        except RecursionError:
            raise DractlError(f"{name}: is nested too deeply", "Give Kubernetes objects.") from None
    if failed.pos >= len(text.rstrip()) or failed.msg.startswith("Unterminated string"):
        raise DractlError(
            f"{name}:{failed.lineno}: is cut off, the JSON ends in the middle of an object", "Write the file again."
        ) from None
    # YAML's flow style begins with the same characters; it is tried where a key without quotes gives it away
    if failed.msg.startswith(("Expecting property name", "Expecting value")):
        try:
            return list(_parse_yaml(text, name))
        except DractlError:
            pass
    raise DractlError(
        f"{name}:{failed.lineno}:{failed.colno}: is not JSON: {failed.msg[:1].lower()}{failed.msg[1:]}",
        "Correct the file at this place, or write it again.",
    )


def _parse_json_stream(text: str, name: str) -> list[Document]:
    """Several JSON documents one after the other (JSON lines, or outputs of kubectl appended to each other)."""
    decoder = json.JSONDecoder()
    documents: list[Document] = []
    position = 0
    line = 1
    space = re.compile(r"\s*")
    while True:
        start = space.match(text, position).end()  # type: ignore[union-attr]
        line += text.count("\n", position, start)
        if start == len(text):
            return documents
        try:
            body, end = decoder.raw_decode(text, start)
        except json.JSONDecodeError as error:
            if error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated string"):
                raise DractlError(
                    f"{name}:{error.lineno}: is cut off, the JSON ends in the middle of an object",
                    "Write the file again.",
                ) from None
            raise DractlError(
                f"{name}:{error.lineno}:{error.colno}: is not JSON: {error.msg[:1].lower()}{error.msg[1:]}",
                "Correct the file at this place, or write it again.",
            ) from None
        documents.append(Document(body, line))
        line += text.count("\n", start, end)
        position = end


def _parse_yaml(text: str, name: str) -> Iterator[Document]:
    import yaml

    from dractl.sources.yamlloader import kubernetes_loader

    try:
        loader = kubernetes_loader()(text)
        try:
            while loader.check_node():
                node = loader.get_node()
                body = loader.construct_document(node)
                if body is not None:
                    yield Document(body, node.start_mark.line + 1, _item_lines(node))
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f":{mark.line + 1}:{mark.column + 1}" if mark else ""
        problem = error.problem or error.context or "wrong syntax"
        raise DractlError(f"{name}{place}: is not YAML: {problem}", "Correct the file at this place.") from None
    except yaml.YAMLError as error:
        raise DractlError(f"{name}: is not YAML: {str(error).splitlines()[0]}", "Correct the file.") from None
    except RecursionError:
        raise DractlError(f"{name}: is nested too deeply", "Give Kubernetes objects.") from None


def _item_lines(node: Any) -> list[int]:
    if node.id == "sequence":
        return [item.start_mark.line + 1 for item in node.value]
    for key, value in node.value if node.id == "mapping" else ():
        if key.value == "items" and value.id == "sequence":
            return [item.start_mark.line + 1 for item in value.value]
    return []
