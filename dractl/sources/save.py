"""Write a recorded state as one file that every command reads again with ``--snapshot``."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

from dractl.errors import DractlError
from dractl.sources.cluster import DRA, RawState
from dractl.sources.snapshot import FORMAT, FORMAT_ANNOTATION, TAKEN_ANNOTATION, UNSEEN_ANNOTATION, VERSION_ANNOTATION


def snapshot_list(state: RawState) -> dict[str, Any]:
    """The state as a List: objects in a fixed order, what is known of the reading as annotations.

    Of ``managedFields``, half of most objects, only those who wrote through an old version of resource.k8s.io are kept,
    without the fields that they wrote: a diagnosis names them.
    """
    notes = {
        FORMAT_ANNOTATION: FORMAT,
        VERSION_ANNOTATION: state.version,
        TAKEN_ANNOTATION: state.taken,
        UNSEEN_ANNOTATION: "\n".join(f"{kind}: {reason}" for kind, reason in sorted(state.unseen.items())) or None,
    }
    return {
        "apiVersion": "v1",
        "kind": "List",
        "metadata": {"annotations": {key: value for key, value in notes.items() if value}},
        "items": [_slim(body) for body in sorted(state.items, key=_place)],
    }


def write_snapshot(path: str, state: RawState) -> int:
    """Write the file (gzip if it ends with .gz); the same state gives the same bytes. Returns the size in bytes.

    Raises:
        DractlError: the file cannot be written.
    """
    data = (json.dumps(snapshot_list(state), sort_keys=True, separators=(",", ":")) + "\n").encode()
    if path.endswith(".gz"):
        data = gzip.compress(data, mtime=0)
    try:
        Path(path).write_bytes(data)
    except OSError as error:
        folder = Path(path).parent
        hint = "Check the folder's permissions, and the space left."
        if not folder.is_dir():
            hint = f"There is no folder {folder}: make it first."
        elif isinstance(error, FileNotFoundError):
            hint = f"Nothing can be written in {folder}: choose another folder."
        elif isinstance(error, IsADirectoryError):
            hint = f"It is a folder: give the name of a file in it, as {path.rstrip('/')}/cluster.json.gz."
        raise DractlError(f"{path}: cannot be written: {error.strerror}", hint) from None
    return len(data)


def _place(body: dict[str, Any]) -> tuple[str, str, str, str]:
    meta = body.get("metadata") or {}
    return (
        str(body.get("kind")),
        str(meta.get("namespace") or ""),
        str(meta.get("name") or ""),
        str(body.get("apiVersion")),
    )


def _slim(body: dict[str, Any]) -> dict[str, Any]:
    meta = body.get("metadata")
    if not isinstance(meta, dict) or "managedFields" not in meta:
        return body
    slim = {key: value for key, value in meta.items() if key != "managedFields"}
    entries = meta["managedFields"]
    telling = [
        {key: value for key, value in entry.items() if key != "fieldsV1"}
        for entry in (entries if isinstance(entries, list) else ())
        if isinstance(entry, dict) and _old_version(entry.get("apiVersion"))
    ]
    return {**body, "metadata": {**slim, "managedFields": telling} if telling else slim}


def _old_version(version: Any) -> bool:
    return isinstance(version, str) and version.startswith(f"{DRA}/") and version != f"{DRA}/v1"
