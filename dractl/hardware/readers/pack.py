"""Pack what was read of a host into a tar archive that ``--root`` reads again."""

from __future__ import annotations

import gzip
import io
import json
import os
import tarfile
from pathlib import Path
from typing import Any

from dractl import __version__
from dractl.errors import DractlError
from dractl.hardware.masking import Mask
from dractl.hardware.model import Host, SourceState, Why
from dractl.hardware.nvml_record import to_json
from dractl.hardware.readers.archive import MANIFEST
from dractl.hardware.readers.host import NVML_RECORD
from dractl.hardware.readers.pciids import PLACES, subset
from dractl.hardware.readers.root import Record

_FORMAT = 1


def pack(where: str, record: Record, host: Host, masked: bool = True) -> str:
    """Write the archive; a sentence about it is given back. Only what was read is in it, and nothing else.

    Raises:
        DractlError: if the file can not be written.
    """
    mask = Mask()
    members = _members(record, host, mask if masked else None)
    data = _archive(members)
    target = Path(where)
    scratch = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        scratch.write_bytes(data)
        if not masked:
            scratch.chmod(0o600)
        scratch.replace(target)
    except OSError as error:
        scratch.unlink(missing_ok=True)
        raise DractlError(f"{where}: {error.strerror or error}", "Choose a folder that can be written to.") from error
    files = sum(1 for kind, _ in members.values() if kind == "file")
    hidden = (
        f"{mask.count} serial numbers, addresses and UUIDs masked" if masked else "serial numbers and UUIDs as they are"
    )
    return f"wrote {where}: {files} files, {len(data) // 1024} KiB, {hidden}"


def _members(record: Record, host: Host, mask: Mask | None) -> dict[str, tuple[str, bytes]]:
    """Entries by path: kind and content (the target of a link)."""
    members: dict[str, tuple[str, bytes]] = {}

    def rename(path: str) -> str:
        return path if mask is None else mask.path(path)

    for folder in record.folders:
        members[rename(folder)] = ("folder", b"")
    for place, data in record.files.items():
        if place not in record.unseen:
            members[rename(place)] = ("file", data if mask is None else mask.file(place, data))
    for place, target in record.links.items():
        members[rename(place)] = ("link", rename(target).encode())
    members.pop("", None)
    unseen = {
        rename(path): {"reason": entry.reason, "why": entry.why.value}
        for path, entry in sorted(record.unseen.items())
        if entry.why is not Why.ABSENT
    }
    nvml: Any = {"skipped": _skipped(host)} if host.nvml is None else to_json(host.nvml)
    members[NVML_RECORD] = ("file", _json(nvml if mask is None else mask.record(nvml)))
    names = any(source.name == "pci.ids" and source.state is SourceState.READ for source in host.sources)
    members[PLACES[0]] = ("file", subset(dict(host.names), names))
    manifest = {"format": _FORMAT, "dractl": __version__, "masked": mask is not None, "unseen": unseen}
    members[MANIFEST] = ("file", _json(manifest))
    return members


def _skipped(host: Host) -> str:
    return next((source.reason for source in host.sources if source.name == "nvml"), "not asked")


def _json(data: Any) -> bytes:
    return (json.dumps(data, indent=1, sort_keys=True) + "\n").encode()


def _archive(members: dict[str, tuple[str, bytes]]) -> bytes:
    """The same bytes for the same content: entries sorted, without times and owners."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path, (kind, content) in sorted(members.items()):
            entry = tarfile.TarInfo(path)
            entry.mode = 0o755 if kind == "folder" else 0o644
            if kind == "folder":
                entry.type = tarfile.DIRTYPE
                archive.addfile(entry)
            elif kind == "link":
                entry.type, entry.linkname = tarfile.SYMTYPE, content.decode("utf-8", "surrogateescape")
                archive.addfile(entry)
            else:
                entry.size = len(content)
                archive.addfile(entry, io.BytesIO(content))
    return gzip.compress(plain.getvalue(), 6, mtime=0)
