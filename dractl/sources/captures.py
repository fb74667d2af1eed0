"""Other people's captures, read in place: folder trees and archives of the common tools, told apart by their shape.

Known shapes: ``oc adm must-gather`` and kubectl-gather, troubleshoot.sh support bundles, ``kubectl cluster-info dump``
(folder or printed), and the snapshot of the KAI scheduler. Archives (tar, also compressed, and zip) are never unpacked
to disk, and their links are not followed.
"""

from __future__ import annotations

import bz2
import io
import lzma
import re
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from dractl.errors import DractlError
from dractl.sources.cluster import RESOURCES
from dractl.sources.text import MAX_BYTES

SUFFIXES = (".json", ".yaml", ".yml", ".json.gz", ".yaml.gz", ".yml.gz")
MUST_GATHER = "must-gather"
GATHER = "kubectl-gather tree"
BUNDLE = "support bundle"
DUMP = "cluster-info dump"

_KINDS = {item.plural: item.kind for item in RESOURCES}
_VERSIONS = {item.kind: f"{item.group}/{item.version}".lstrip("/") for item in RESOURCES if item.version}
_NEEDED = tuple(item.kind for item in RESOURCES if not item.optional)
_LOGS = re.compile(rb"^==== START logs for [^\n]*\n.*?^==== END logs for [^\n]*\n?", re.DOTALL | re.MULTILINE)
_LOG_MARK = b"==== START logs for "
_STAMP = re.compile(r"(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)\S* (?:\+0000|UTC|Z)")


@dataclass(frozen=True, slots=True)
class Member:
    """One file of a folder or archive; ``path`` is relative to it, with slashes."""

    path: str
    read: Callable[[], bytes]


def folder_members(root: Path) -> list[Member]:
    """The files below a folder, hidden ones left out."""
    found = []
    for item in sorted(root.rglob("*")):
        relative = item.relative_to(root)
        if not any(part.startswith(".") for part in relative.parts) and item.is_file():
            found.append(Member(relative.as_posix(), item.read_bytes))
    return found


def archive_members(path: str, data: bytes) -> list[Member] | None:
    """The files in an archive with the content ``data``, or None if it is none.

    Raises:
        DractlError: for a damaged archive.
    """
    head = data[: 1 << 16]
    try:
        if head.startswith(b"PK\x03\x04"):
            return _zip_members(path, data)
        if _is_tar(head):
            return _tar_members(path, data)
    except (tarfile.TarError, zipfile.BadZipFile, EOFError, OSError, zlib.error, lzma.LZMAError) as error:
        raise _damaged(path, error) from None
    return None


def _is_tar(head: bytes) -> bool:
    try:
        if head.startswith(b"\x1f\x8b"):
            head = zlib.decompressobj(wbits=31).decompress(head, 1024)
        elif head.startswith(b"BZh"):
            head = bz2.BZ2Decompressor().decompress(head, 1024)
        elif head.startswith(b"\xfd7zXZ\x00"):
            head = lzma.LZMADecompressor().decompress(head, 1024)
    except (zlib.error, OSError, lzma.LZMAError):
        return False
    return head[257:262] == b"ustar"


def _damaged(path: str, error: Exception) -> DractlError:
    return DractlError(f"{path}: damaged archive ({str(error) or type(error).__name__})", "Fetch the file again.")


def _too_big(path: str) -> DractlError:
    return DractlError(f"{path}: unpacks to more than {MAX_BYTES >> 30} GiB", "Give a smaller capture.")


def _tar_members(path: str, data: bytes) -> list[Member]:
    # kept open for as long as the members are: they are read from it one after the other
    archive = tarfile.open(fileobj=io.BytesIO(data), mode="r:*")  # noqa: SIM115
    files = [item for item in archive.getmembers() if item.isreg()]
    if sum(item.size for item in files) > MAX_BYTES:
        raise _too_big(path)

    def reader(item: tarfile.TarInfo) -> Callable[[], bytes]:
        def read() -> bytes:
            try:
                content = archive.extractfile(item)
                return content.read() if content is not None else b""
            except (tarfile.TarError, EOFError, OSError, zlib.error, lzma.LZMAError) as error:
                raise _damaged(path, error) from None

        return read

    return [Member(_tidy(item.name), reader(item)) for item in files]


def _zip_members(path: str, data: bytes) -> list[Member]:
    archive = zipfile.ZipFile(io.BytesIO(data))
    files = [item for item in archive.infolist() if not item.is_dir()]
    if sum(item.file_size for item in files) > MAX_BYTES:
        raise _too_big(path)

    def reader(item: zipfile.ZipInfo) -> Callable[[], bytes]:
        def read() -> bytes:
            try:
                return archive.read(item)
            except (zipfile.BadZipFile, EOFError, OSError, zlib.error, RuntimeError, NotImplementedError) as error:
                raise _damaged(path, error) from None

        return read

    return [Member(_tidy(item.filename), reader(item)) for item in files]


def _tidy(name: str) -> str:
    return str(PurePosixPath(name.replace("\\", "/")))


# --- shapes -----------------------------------------------------------------------------------------------------------


def shape_of(members: Iterable[Member], name: str) -> str | None:
    """Which tool made this, or None for a plain folder of files.

    Raises:
        DractlError: for a gathering of several clusters, which must not be mixed.
    """
    paths = [PurePosixPath(item.path).parts for item in members]
    folders = {part for parts in paths for part in parts[:-1]}
    if "cluster-scoped-resources" in folders:
        return MUST_GATHER
    if "cluster-resources" in folders:
        return BUNDLE
    tops = {parts[:index] for parts in paths for index, part in enumerate(parts[:-1]) if part == "namespaces"}
    clusters = {top for top in tops if any(parts[: len(top) + 1] == (*top, "cluster") for parts in paths)}
    if len(clusters) > 1:
        known = sorted("/".join(top) for top in clusters)
        raise DractlError(f"{name}: holds several clusters: {', '.join(known)}", "Give the folder of one of them.")
    if clusters:
        return GATHER
    dumped = [parts for parts in paths if parts[-1] in ("nodes.json", "nodes.yaml")]
    if dumped and any(parts[-1].startswith("replication-controllers.") for parts in paths):
        return DUMP
    return None


def wanted(shape: str | None, path: str) -> bool:
    """Whether a file may hold objects that matter; logs and the hundreds of other kinds are not even opened."""
    if not path.endswith(SUFFIXES):
        return False
    if shape in (None, DUMP):
        return True
    parts = PurePosixPath(path).parts
    if "logs" in parts or "audit_logs" in parts or path.endswith("-errors.json"):
        return False
    if "namespaces" in parts and len(parts) > 1 and _stem(parts[-1]) == parts[-2]:
        return True  # a namespace itself, and a pod beside its logs
    return shape == BUNDLE or kind_by_path(path) is not None


def kind_by_path(path: str) -> str | None:
    """The kind that a file's name or folder speaks of: ``nodes/a.yaml``, ``nodes.json``, ``pods/default.json``."""
    parts = PurePosixPath(path).parts
    for part in (_stem(parts[-1]), *reversed(parts[:-1])):
        plural = part.partition(".")[0]
        if plural in _KINDS and (plural != "namespaces" or part != parts[0]):
            return _KINDS[plural]
    return None


def _stem(name: str) -> str:
    return name.removesuffix(".gz").rpartition(".")[0]


def with_kinds(body: Any, path: str) -> Any:
    """The document with kinds where the tool left them out: bare lists of items, and KAI's ``rawObjects``."""
    if isinstance(body, dict) and isinstance(body.get("rawObjects"), dict):
        items = []
        for key, listed in body["rawObjects"].items():
            kind = _KINDS.get(key.lower())
            items += [_named(item, kind) for item in listed or [] if kind and isinstance(item, dict)]
        return {"apiVersion": "v1", "kind": "List", "items": items}
    kind = kind_by_path(path)
    listed = body.get("items") if isinstance(body, dict) and "kind" not in body else body
    if kind and isinstance(listed, list) and all(isinstance(item, dict) and "metadata" in item for item in listed):
        return {"apiVersion": "v1", "kind": "List", "items": [_named(item, kind) for item in listed]}
    if kind and isinstance(body, dict) and "kind" not in body and "metadata" in body:
        return _named(body, kind)
    return body


def _named(item: dict[str, Any], kind: str | None) -> dict[str, Any]:
    if item.get("kind") and item.get("apiVersion"):
        return item
    return {**item, "apiVersion": _VERSIONS.get(kind or "") or _dra_version(item), "kind": kind}


def _dra_version(item: dict[str, Any]) -> str:
    """The version of resource.k8s.io that an object without apiVersion is of: before v1beta2 devices and requests
    had another form."""
    spec = item.get("spec") or {}
    spec = spec.get("spec") or spec
    devices = spec.get("devices") or []
    if isinstance(devices, list):
        old = any("basic" in device for device in devices)
    else:
        old = any("deviceClassName" in request for request in devices.get("requests") or [])
    return "resource.k8s.io/v1beta1" if old else "resource.k8s.io/v1"


def without_logs(data: bytes) -> tuple[bytes, bool]:
    """What ``kubectl cluster-info dump`` prints, without the logs between the JSON; and whether there were any."""
    if _LOG_MARK not in data:
        return data, False
    return _LOGS.sub(b"", data), True


def facts(members: Iterable[Member]) -> tuple[str | None, str | None]:
    """The server's version and the time of the gathering, where the tool wrote them down."""
    version = taken = None
    for member in members:
        name = PurePosixPath(member.path).name
        if name == "cluster_version.json":
            version = _version(member.read()) or version
        elif name == "timestamp":
            stamps = _STAMP.findall(member.read().decode(errors="replace"))
            taken = "T".join(stamps[-1]) + "Z" if stamps else taken
    return version, taken


def _version(data: bytes) -> str | None:
    found = re.search(rb'"gitVersion"\s*:\s*"(v[^"]+)"', data)
    return found[1].decode() if found else None


def missing(shape: str, present: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Kinds that answers need and of which a capture has no file: they were not gathered, rather than not there."""
    known = set(present)
    for kind in _NEEDED:
        if kind not in known:
            yield kind, f"not in this {shape}"
