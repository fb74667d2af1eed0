"""A recorded cluster: a file, standard input, or a directory of files -> Inventory."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

from dractl.errors import DractlError
from dractl.inventory import Inventory, Provenance, kind_of
from dractl.kube.decode import DecodeError, decode
from dractl.kube.decode_resource import apply_defaults
from dractl.kube.objects import Event, GenericObject, KubeObject, Origin
from dractl.sources import captures, text
from dractl.sources.captures import Member
from dractl.sources.cluster import Progress, RawState, read_cluster
from dractl.sources.connection import Connection

STDIN = "-"
DEMO_NAME = "demo fleet"

VERSION_ANNOTATION = "dractl.dev/kubernetes"
"""On a List: the API server's version at the time of the reading."""
TAKEN_ANNOTATION = "dractl.dev/taken"
"""On a List: the moment of the reading, RFC 3339."""
FORMAT_ANNOTATION = "dractl.dev/snapshot"
FORMAT = "1"
"""On a List: the version of the recording's own form; it grows when an old dractl could misread a new file."""
UNSEEN_ANNOTATION = "dractl.dev/unseen"
"""On a List: kinds that could not be read, as ``Kind: reason`` lines."""

_WRITE_AGAIN = "Write it with: kubectl get resourceslices,deviceclasses,resourceclaims,... -A -o json"
_DISPENSABLE = {"Event"}
"""Kinds without which every answer is still true; one that cannot be read is passed over with a note."""


@dataclass(slots=True)
class _Reading:
    """What has been read so far."""

    objects: dict[tuple[str, str, str], KubeObject] = field(default_factory=dict)
    version: str | None = None
    taken: str | None = None
    unseen: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    raw: dict[int, dict[str, Any]] = field(default_factory=dict)
    """The JSON of each object, by the object's identity."""

    def inventory(self, description: str) -> Inventory:
        provenance = Provenance(description, self.version, self.taken, self.unseen, tuple(self.notes))
        return Inventory(self.objects.values(), provenance)


def read_snapshot(path: str) -> Inventory:
    """Read ``path``: a file, a directory (all JSON and YAML files below it), a capture of another tool, or ``-``.

    Raises:
        DractlError: one line that names the file, and the object and field where there is one.
    """
    return _read(path).inventory("stdin" if path == STDIN else path)


def read_raw(path: str | None) -> RawState:
    """Read a recording (None: the demo fleet) as the JSON objects it holds, of doubles the newest.

    Raises:
        DractlError: as ``read_snapshot``.
    """
    reading = _read(path) if path else _demo()
    items = [reading.raw[id(item)] for item in reading.objects.values()]
    return RawState(items, reading.version, reading.taken, reading.unseen, reading.notes, path or DEMO_NAME)


def _read(path: str) -> _Reading:
    reading = _Reading()
    root = Path(path)
    if path == STDIN:
        _read_file(reading, "stdin", sys.stdin.buffer.read())
    elif root.is_dir():
        _read_directory(reading, root)
    else:
        _read_file(reading, path, None)
    if not reading.objects:
        raise DractlError(f"{'stdin' if path == STDIN else path}: holds no Kubernetes object", _WRITE_AGAIN)
    return reading


def read_demo() -> Inventory:
    """The fleet that comes with dractl."""
    return _demo().inventory(DEMO_NAME)


def _demo() -> _Reading:
    reading = _Reading()
    data = resources.files("dractl.data").joinpath("demo.json.gz").read_bytes()
    _read_bytes(reading, data, DEMO_NAME)
    return reading


def inventory_of(state: RawState) -> Inventory:
    """The inventory of what was read from a running cluster.

    Raises:
        DractlError: names the object and field that cannot be understood.
    """
    reading = _Reading(version=state.version, taken=state.taken, unseen=dict(state.unseen), notes=list(state.notes))
    origins: dict[str, Origin] = {}
    with text.collector_paused():
        for body in state.items:
            kind = f"{state.description}, {body.get('kind')}"
            _add(reading, body, origins.setdefault(kind, Origin(kind)))
    return reading.inventory(state.description)


def read_live(
    connection: Connection,
    kinds: Collection[str] | None = None,
    namespace: str | None = None,
    progress: Progress | None = None,
    events_of: str | None = None,
) -> Inventory:
    """``read_cluster`` and ``inventory_of`` in one, each object decoded as it arrives: half of the memory.

    Raises:
        DractlError: as of both.
    """
    notes: list[str] = []
    origins: dict[Any, Origin] = {}

    def keep(body: dict[str, Any]) -> KubeObject | DractlError | None:
        kind = body.get("kind")
        origin = origins.get(kind) or origins.setdefault(kind, Origin(f"{connection.host}, {kind}"))
        try:
            return decoded(body, origin, notes)
        except DractlError as error:
            # raised below, since a list that fails is another matter
            return error

    with text.collector_paused():
        state = read_cluster(connection, kinds, namespace, progress, events_of, keep)
    for item in state.items:
        if isinstance(item, DractlError):
            raise item
    provenance = Provenance(
        state.description, state.version, state.taken, dict(state.unseen), (*state.notes, *notes)
    )
    return Inventory((item for item in state.items if item is not None), provenance)


def _bytes_of(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise DractlError(f"{path}: no such file or directory", "Check the path given to --snapshot.") from None
    except OSError as error:
        raise DractlError(f"{path}: cannot be read: {error.strerror}", "Check the file's permissions.") from None


def _read_file(reading: _Reading, path: str, data: bytes | None) -> None:
    """A file that is a recording, or an archive of several."""
    content = _bytes_of(Path(path)) if data is None else data
    members = captures.archive_members(path, content)
    if members is None:
        content, dumped = captures.without_logs(content)
        _read_bytes(reading, content, path)
        if dumped:
            _note_missing(reading, captures.DUMP, ())
    else:
        _read_members(reading, members, path)


def _read_directory(reading: _Reading, root: Path) -> None:
    try:
        members = captures.folder_members(root)
    except OSError as error:
        raise DractlError(f"{root}: cannot be read: {error.strerror}", "Check the directory's permissions.") from None
    _read_members(reading, members, str(root))


def _read_members(reading: _Reading, members: list[Member], name: str) -> None:
    shape = captures.shape_of(members, name)
    files = [item for item in members if captures.wanted(shape, item.path)]
    if not files:
        raise DractlError(
            f"{name}: has no file that ends with .json, .yaml or .yml (or these and .gz)",
            "Give the directory that kubectl's output was saved in.",
        )
    if shape:
        version, taken = captures.facts(members)
        reading.version, reading.taken = reading.version or version, reading.taken or taken
    for item in files:
        _read_member(reading, item, f"{name}/{item.path}", shape)
    if shape:
        gathered = {kind for item in files if (kind := captures.kind_by_path(item.path))}
        _note_missing(reading, shape, gathered)


def _read_member(reading: _Reading, member: Member, name: str, shape: str | None) -> None:
    try:
        documents = text.parse(_content(member, name), name)
    except DractlError as error:
        # a tool that collects what it can leaves halves and empty files behind
        if shape is None:
            raise
        reading.notes.append(f"passed over: {error.message}")
        return
    for document in documents:
        document.body = captures.with_kinds(document.body, member.path)
    # a directory may hold other JSON and YAML too: values of a chart, settings of a tool
    foreign = [document for document in documents if not _is_kubernetes(document.body)]
    if foreign and shape is None:
        reading.notes.append(f"{name}: passed over, it holds something else than Kubernetes objects")
    _add_documents(reading, [document for document in documents if document not in foreign], name)


def _content(member: Member, name: str) -> bytes:
    try:
        return member.read()
    except OSError as error:
        raise DractlError(f"{name}: cannot be read: {error.strerror}", "Check the file's permissions.") from None


def _note_missing(reading: _Reading, shape: str, gathered: Iterable[str]) -> None:
    present = {kind_of(item) for item in reading.objects.values()} | set(gathered)
    for kind, reason in captures.missing(shape, present):
        reading.unseen.setdefault(kind, reason)


def _is_kubernetes(body: Any) -> bool:
    return isinstance(body, dict) and "kind" in body and "apiVersion" in body


def _read_bytes(reading: _Reading, data: bytes, name: str) -> None:
    _add_documents(reading, text.parse(data, name), name)


def _add_documents(reading: _Reading, documents: Iterable[text.Document], name: str) -> None:
    with text.collector_paused():
        for number, document in enumerate(documents):
            for body, origin in _objects(reading, document, number, name):
                _add(reading, body, origin)


def _objects(
    reading: _Reading, document: text.Document, number: int, name: str
) -> Iterator[tuple[dict[str, Any], Origin]]:
    """The objects of one document: itself, or the items of a List."""
    body = document.body
    origin = Origin(name, document.line, number)
    if isinstance(body, list):
        body = {"apiVersion": "v1", "kind": "List", "items": body}
    if not isinstance(body, dict):
        raise DractlError(f"{origin}: holds {_describe(body)}, not a Kubernetes object", _WRITE_AGAIN)
    kind = body.get("kind")
    if not isinstance(kind, str) or not kind:
        raise DractlError(f"{origin}: has no kind, so it is not a Kubernetes object", _WRITE_AGAIN)
    if not kind.endswith("List") or (kind != "List" and "items" not in body and "spec" in body):
        yield body, origin
        return
    _note_metadata(reading, body)
    if "items" not in body:
        raise DractlError(f"{origin}: is a {kind} without items", _WRITE_AGAIN)
    items = body["items"] if body["items"] is not None else []
    if not isinstance(items, list):
        raise DractlError(f"{origin}: items of the {kind} is {_describe(items)}, not a list", _WRITE_AGAIN)
    for index, item in enumerate(items):
        line = document.item_lines[index] if index < len(document.item_lines) else None
        place = Origin(name, line, number)
        if not isinstance(item, dict):
            raise DractlError(f"{place}: items[{index}] is {_describe(item)}, not an object", _WRITE_AGAIN)
        # lists of one kind, as the API server sends them, do not repeat it in every item
        if "kind" not in item and kind != "List":
            item = {"apiVersion": body.get("apiVersion", ""), "kind": kind.removesuffix("List"), **item}
        if not isinstance(item.get("kind"), str) or not item["kind"]:
            raise DractlError(f"{place}: items[{index}] has no kind, so it is not a Kubernetes object", _WRITE_AGAIN)
        yield item, place


def _note_metadata(reading: _Reading, body: dict[str, Any]) -> None:
    meta = body.get("metadata")
    notes = meta.get("annotations") if isinstance(meta, dict) else None
    if not isinstance(notes, dict):
        return
    reading.version = notes.get(VERSION_ANNOTATION) or reading.version
    reading.taken = notes.get(TAKEN_ANNOTATION) or reading.taken
    for line in str(notes.get(UNSEEN_ANNOTATION) or "").splitlines():
        kind, _, reason = line.partition(":")
        reading.unseen[kind.strip()] = reason.strip()


def decoded(body: dict[str, Any], origin: Origin, notes: list[str]) -> KubeObject | None:
    """The object of ``body``; None, with a word in ``notes``, for one that is malformed and dispensable.

    Raises:
        DractlError: names the object and field that cannot be understood.
    """
    try:
        item = decode(body, origin)
        # what is recorded was stored, and a server stores no object without its defaults
        apply_defaults(item)
        return item
    except DecodeError as error:
        if body.get("kind") in _DISPENSABLE:
            notes.append(f"passed over: {error}")
            return None
        raise DractlError(
            str(error), "Correct this field, or take the object out if the question does not concern it."
        ) from None


def _add(reading: _Reading, body: dict[str, Any], origin: Origin) -> None:
    item = decoded(body, origin, reading.notes)
    if item is None:
        return
    reading.raw[id(item)] = body
    key = (_group_kind(item), item.meta.namespace, item.meta.name)
    known = reading.objects.get(key)
    reading.objects[key] = item if known is None else _newer(known, item)


def _group_kind(item: KubeObject) -> str:
    """Kind and group: one object may be recorded in several versions of its API."""
    if isinstance(item, GenericObject):
        group = item.api_version.rpartition("/")[0]
        return f"{item.kind}.{group}"
    return kind_of(item)


def _newer(known: KubeObject, other: KubeObject) -> KubeObject:
    """The later of two recordings of one object, by resourceVersion."""
    versions = (known.meta.resource_version, other.meta.resource_version)
    if versions[0] == versions[1] and versions[0]:
        return known
    if all(version.isdigit() for version in versions):
        return max(known, other, key=lambda item: int(item.meta.resource_version))
    if isinstance(known, Event | GenericObject):
        return other
    name = f"{known.meta.namespace}/{known.meta.name}" if known.meta.namespace else known.meta.name
    places = f"{known.origin} and {other.origin}" if str(known.origin) != str(other.origin) else f"{known.origin}"
    raise DractlError(
        f"{kind_of(known)} {name} is there twice ({places}), and nothing says which is newer",
        "Take one of them out.",
    )


def _describe(value: object) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, bool | int | float):
        return f"the value {str(value).lower()}"
    if isinstance(value, str):
        return "a text"
    return "a list" if isinstance(value, list) else "an object"
