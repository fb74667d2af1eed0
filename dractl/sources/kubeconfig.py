"""What is wrong with a kubeconfig, in words: the ``kubernetes`` package tells of it in Python's.

Only names, paths and lines become part of a message; never a value that could be a credential.
Source: kubectl's documentation of kubeconfig files (KUBECONFIG, merging: the first file that has a name wins).
"""

from __future__ import annotations

import base64
import binascii
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dractl.errors import DractlError, Exit

DEFAULT = "~/.kube/config"
_SECTIONS = ("clusters", "users", "contexts")
_FILES = {
    "cluster": ("certificate-authority",),
    "user": ("client-certificate", "client-key", "tokenFile"),
}
_DATA = {
    "cluster": ("certificate-authority-data",),
    "user": ("client-certificate-data", "client-key-data"),
}


@dataclass(slots=True)
class _Merged:
    """The named entries of all files, each with the file that it stands in, and the current context."""

    entries: dict[str, dict[str, tuple[dict[str, Any], Path]]] = field(
        default_factory=lambda: {section: {} for section in _SECTIONS}
    )
    current: str = ""


def check_kubeconfig(given: str | None, context: str | None) -> str | None:
    """Look at the files that are going to be used; returns them (as in KUBECONFIG), None where there are none.

    Args:
        given: the value of ``--kubeconfig``.
        context: the value of ``--context``.

    Raises:
        DractlError: names the file, the line or entry, and what to do.
    """
    files = _files(given)
    if not files:
        return None
    merged = _Merged()
    for file in files:
        _merge(merged, file, _parsed(file))
    chosen = context or merged.current
    if not chosen:
        known = ", ".join(merged.entries["contexts"])
        raise DractlError(
            f"{_shown(files)}: no current context is set",
            f"Give --context; contexts are: {known}." if known else "It has no context at all: log in to a cluster.",
            Exit.USAGE,
        )
    found = merged.entries["contexts"].get(chosen)
    if found is None:
        known = ", ".join(merged.entries["contexts"]) or "none"
        raise DractlError(f"the kubeconfig has no usable context {chosen!r}", f"Contexts are: {known}.", Exit.USAGE)
    body, file = _inner(found, "context", chosen)
    for part in ("cluster", "user"):
        name = body.get(part)
        if part == "user" and not name:
            continue
        entry = merged.entries[f"{part}s"].get(str(name))
        if entry is None:
            raise DractlError(
                f"{file}: context {chosen!r} names the {part} {name!r}, which is not there",
                f"See: kubectl config view; {part}s are: {', '.join(merged.entries[f'{part}s']) or 'none'}.",
                Exit.USAGE,
            )
        _check_part(part, str(name), *_inner(entry, part, str(name)))
    return _shown(files)


def _files(given: str | None) -> list[Path]:
    if given:
        path = Path(given).expanduser()
        if not path.is_file():
            what = "is a directory, not a kubeconfig" if path.is_dir() else "no such kubeconfig"
            raise DractlError(f"{given}: {what}", "Check the path given to --kubeconfig.")
        return [path]
    listed = os.environ.get("KUBECONFIG")
    if not listed:
        path = Path(DEFAULT).expanduser()
        return [path] if path.is_file() else []
    names = [name for name in listed.split(os.pathsep) if name]
    # kubectl passes over files that are not there, as long as one is
    files = [path for path in (Path(name).expanduser() for name in names) if path.is_file()]
    if not files:
        raise DractlError(
            f"KUBECONFIG names no file that is there: {', '.join(names)}",
            "Correct the variable, or give --kubeconfig FILE, --snapshot FILE or --demo.",
            Exit.NO_CLUSTER,
        )
    return files


def _parsed(file: Path) -> dict[str, Any]:
    import yaml

    try:
        content: Any = yaml.load(file.read_bytes(), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except OSError as error:
        raise DractlError(f"{file}: cannot be read: {error.strerror}", "Check its permissions.") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{file}:{mark.line + 1}" if mark is not None else f"{file}"
        raise DractlError(f"{where}: the kubeconfig is not YAML", "Does kubectl work with it?") from None
    if content is None:
        raise DractlError(f"{file}: the kubeconfig is empty", "Log in to a cluster, or give --kubeconfig another file.")
    if not isinstance(content, dict):
        what = "a list" if isinstance(content, list) else "a text or number"
        raise DractlError(f"{file}: holds {what}, so it is not a kubeconfig", "Does kubectl work with it?")
    return content


def _merge(merged: _Merged, file: Path, content: dict[str, Any]) -> None:
    for section in _SECTIONS:
        entries = content.get(section) or []
        if not isinstance(entries, list):
            raise DractlError(f"{file}: {section} of the kubeconfig is not a list", "Does kubectl work with it?")
        for index, entry in enumerate(entries):
            if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
                raise DractlError(
                    f"{file}: {section}[{index}] of the kubeconfig has no name", "Does kubectl work with it?"
                )
            merged.entries[section].setdefault(entry["name"], (entry, file))
    current = content.get("current-context")
    if isinstance(current, str):
        merged.current = merged.current or current


def _inner(found: tuple[dict[str, Any], Path], part: str, name: str) -> tuple[dict[str, Any], Path]:
    entry, file = found
    body = entry.get(part)
    if body is None:
        body = {}
    if not isinstance(body, dict):
        raise DractlError(f"{file}: the {part} {name!r} of the kubeconfig is not an object", "See: kubectl config view")
    return body, file


def _check_part(part: str, name: str, body: dict[str, Any], file: Path) -> None:
    if part == "cluster" and not isinstance(body.get("server"), str):
        raise DractlError(f"{file}: the cluster {name!r} has no server", "See: kubectl config view")
    for key in _DATA[part]:
        value = body.get(key)
        if value is None:
            continue
        try:
            base64.b64decode(str(value).encode(), validate=True)
        except (binascii.Error, ValueError):
            raise DractlError(
                f"{file}: {key} of the {part} {name!r} is not base64", "Get the kubeconfig anew from where it came."
            ) from None
    for key in _FILES[part]:
        value = body.get(key)
        if not isinstance(value, str) or not value or body.get(f"{key}-data"):
            continue
        path = file.parent / Path(value).expanduser()
        if not os.access(path, os.R_OK):
            what = "cannot be read" if path.exists() else "is not there"
            raise DractlError(
                f"{path}, the {key} of {part} {name!r} in {file}, {what}", "Log in again, or correct the kubeconfig."
            )


def _shown(files: list[Path]) -> str:
    return os.pathsep.join(map(str, files))


@contextmanager
def plugin_errors_raised() -> Iterator[None]:
    """The ``kubernetes`` package logs it when a credential plugin fails, and goes on without credentials.

    Raises:
        DractlError: in place of that log line. What the plugin printed is not repeated: it may hold a token.
    """
    seen = _Kept()
    root = logging.getLogger()
    root.addHandler(seen)
    try:
        yield
    finally:
        root.removeHandler(seen)
    if seen.messages:
        text = seen.messages[0]
        why = ": the program is not there" if "No such file" in text else ""
        for missing in ("missing token", "missing clientKeyData", "missing status"):
            why = f": {missing} in its answer" if missing in text else why
        raise DractlError(
            f"the credential plugin of the kubeconfig failed{why}",
            "Run kubectl with the same context; log in again if it asks for that.",
            Exit.NO_CLUSTER,
        )


class _Kept(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(record.getMessage())
