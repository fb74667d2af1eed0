"""The tree that hardware is read from: a live or captured folder, or a tar archive. Never a global.

Paths are written without a leading slash (``sys/bus/pci/devices``). Links are followed inside the root only, as if it
were the root of the file system: an absolute target or a ``..`` at the top stays inside, so that a captured tree can
not make anybody read a file of the machine it is looked at on. Nothing is ever written or extracted.

Whatever can not be read is a value with a reason (``Unseen``), never an exception.
"""

from __future__ import annotations

import errno
import os
import stat
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from pathlib import Path

from dractl.errors import DractlError
from dractl.hardware.model import Unseen, Why

MAX_FILE = 1 << 20
"""Bytes read of one file; nothing in sysfs or procfs that we ask for is larger."""
MAX_LINKS = 40
"""Links followed for one path, as in the kernel."""

FILE, FOLDER, LINK, OTHER = "file", "folder", "link", "other"
"""Kinds of an entry."""

ABSENT = Unseen("no such file", Why.ABSENT)
IS_LINK = Unseen("is a link", Why.BROKEN)
"""What ``_read`` says of a link, which is then followed; most files are none."""


@dataclass(slots=True)
class Record:
    """What was read, for a capture: contents, link targets, folders, and what could not be read and why."""

    files: dict[str, bytes] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)
    folders: set[str] = field(default_factory=set)
    unseen: dict[str, Unseen] = field(default_factory=dict)


class Root(ABC):
    """Reads below one root. ``record`` is filled when it is set before reading."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.record: Record | None = None
        self.warnings: list[str] = []
        """What was wrong with the root itself (entries that point outside)."""
        self._places: dict[str, str | Unseen] = {"": ""}

    # --- what readers use -------------------------------------------------------------------------------------------

    def read(self, path: str, limit: int = MAX_FILE) -> bytes | Unseen:
        """The content of a file, at most ``limit`` bytes of it."""
        parent, _, name = path.rpartition("/")
        folder = self._place(parent)
        if isinstance(folder, Unseen):
            self._note_unseen(path, folder)
            return folder
        place = f"{folder}/{name}" if folder else name
        data = self._read(place, limit)
        if data is IS_LINK:
            found = self._place(path)
            if isinstance(found, Unseen):
                self._note_unseen(path, found)
                return found
            place, data = found, self._read(found, limit)
        if self.record is not None:
            if isinstance(data, bytes):
                self.record.files[place] = data
            else:
                self._note_unseen(place, data)
        return data

    def text(self, path: str, limit: int = MAX_FILE) -> str | Unseen:
        """The content of a text file without the white space around it."""
        data = self.read(path, limit)
        return data if isinstance(data, Unseen) else data.decode("utf-8", "replace").strip()

    def log(self, path: str) -> str | Unseen:
        """The text of a log, where it may be a device that gives the kernel's messages."""
        return self.text(path)

    def names(self, path: str) -> list[str] | Unseen:
        """The entries of a folder, sorted."""
        place = self._place(path)
        if isinstance(place, Unseen):
            self._note_unseen(path, place)
            return place
        names = self._list(place)
        if isinstance(names, Unseen):
            self._note_unseen(place, names)
            return names
        names.sort()
        if self.record is not None:
            self.record.folders.add(place)
            self._note_entries(place, names)
        return names

    def peek(self, path: str) -> frozenset[str] | None:
        """The names in a folder, for asking only for what is there; not noted for a capture. None if not readable."""
        place = self._place(path)
        names = place if isinstance(place, Unseen) else self._list(place)
        return None if isinstance(names, Unseen) else frozenset(names)

    def link(self, path: str) -> str | None:
        """The target of a link as it is written, or None where there is no link."""
        parent, _, name = path.rpartition("/")
        folder = self._place(parent)
        if isinstance(folder, Unseen):
            return None
        place = f"{folder}/{name}" if folder else name
        target = self._readlink(place)
        if target is not None and self.record is not None:
            self.record.links[place] = target
        return target

    def real(self, path: str) -> str | Unseen:
        """The path with all links followed, below the root."""
        return self._place(path)

    def exists(self, path: str) -> bool:
        """Whether there is anything, links followed."""
        place = self._place(path)
        if isinstance(place, Unseen):
            return False
        kind = self._kind(place)
        if self.record is not None:
            if kind == FOLDER:
                self.record.folders.add(place)
            elif kind is not None:
                self.record.files.setdefault(place, b"")
        return kind is not None

    # --- how a kind of root does it ---------------------------------------------------------------------------------

    @abstractmethod
    def _kind(self, place: str) -> str | None:
        """Kind of the entry itself (a link is a link), or None."""

    @abstractmethod
    def _readlink(self, place: str) -> str | None:
        """Target of a link, or None."""

    @abstractmethod
    def _read(self, place: str, limit: int) -> bytes | Unseen:
        """Content of a regular file; IS_LINK where the last part of the path is a link."""

    @abstractmethod
    def _list(self, place: str) -> list[str] | Unseen:
        """Names in a folder that is reached by no link."""

    # --- links ------------------------------------------------------------------------------------------------------

    def _place(self, path: str) -> str | Unseen:
        """Where ``path`` leads, as a path without links; cached, since most files lie in few folders."""
        known = self._places.get(path)
        if known is not None:
            return known
        place = self._walk(path)
        self._places[path] = place
        return place

    def _walk(self, path: str) -> str | Unseen:
        parent, _, name = path.rpartition("/")
        base = self._place(parent)
        if isinstance(base, Unseen):
            return base
        todo, at, links = [name], base, 0
        while todo:
            step = todo.pop()
            if step in {"", "."}:
                continue
            if step == "..":
                at = at.rpartition("/")[0]
                continue
            here = f"{at}/{step}" if at else step
            target = self._readlink(here)
            if target is None:
                at = here
                continue
            if self.record is not None:
                self.record.links[here] = target
            links += 1
            if links > MAX_LINKS or len(todo) > 4096:
                return Unseen("too many links: a loop", Why.BROKEN)
            if target.startswith("/"):
                at = ""
            todo += reversed(target.split("/"))
        return at

    def _note_unseen(self, path: str, unseen: Unseen) -> None:
        if self.record is not None and unseen.why is not Why.ABSENT:
            self.record.unseen[path] = unseen

    def _note_entries(self, place: str, names: list[str]) -> None:
        """A capture must list the same names: note what each entry is, as far as it was not read anyway."""
        assert self.record is not None
        for name in names:
            here = f"{place}/{name}" if place else name
            kind = self._kind(here)
            if kind == LINK:
                self.record.links[here] = self._readlink(here) or ""
            elif kind == FOLDER:
                self.record.folders.add(here)
            else:
                self.record.files.setdefault(here, b"")


class FolderRoot(Root):
    """A folder: ``/``, ``/host``, or a tree gathered elsewhere. ``prefixes`` maps first parts of paths to folders.

    A folder that is itself a /sys (``/host/sys``) is recognised: then only paths below ``sys/`` can be read.
    """

    def __init__(self, folder: Path, name: str = "") -> None:
        super().__init__(name or str(folder))
        self._top = str(folder) if str(folder) != "/" else ""
        self._only_sys = not (folder / "sys").is_dir() and (folder / "devices").is_dir()

    def _path(self, place: str) -> str:
        if self._only_sys:
            if place == "sys":
                return self._top
            if not place.startswith("sys/"):
                return f"{self._top}/.outside-of-sys/{place}" if place else self._top
            return f"{self._top}/{place[4:]}"
        return f"{self._top}/{place}"

    def _kind(self, place: str) -> str | None:
        try:
            mode = os.lstat(self._path(place)).st_mode
        except (OSError, ValueError):
            return None
        return kind_of_mode(mode)

    def _readlink(self, place: str) -> str | None:
        try:
            return os.readlink(self._path(place))  # noqa: PTH115 - thousands of calls
        except (OSError, ValueError):
            return None

    def _read(self, place: str, limit: int) -> bytes | Unseen:
        try:
            # O_NONBLOCK: a FIFO in a strange tree must not make us wait
            handle = os.open(self._path(place), os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
        except (OSError, ValueError) as error:
            return IS_LINK if getattr(error, "errno", None) == errno.ELOOP else unseen_of(error)
        try:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                return Unseen("not a regular file", Why.BROKEN)
            return _read_all(handle, limit)
        except OSError as error:
            return unseen_of(error)
        finally:
            os.close(handle)

    def _list(self, place: str) -> list[str] | Unseen:
        try:
            return os.listdir(self._path(place))  # noqa: PTH208 - thousands of calls
        except (OSError, ValueError) as error:
            return unseen_of(error)

    def log(self, path: str) -> str | Unseen:
        """As for files; and the messages of the running kernel from /dev/kmsg, of which a capture keeps NVIDIA's."""
        place = self._place(path)
        if isinstance(place, Unseen) or self._kind(place) != OTHER:
            return self.text(path)
        messages = _kernel_messages(self._path(place))
        if isinstance(messages, Unseen):
            self._note_unseen(place, messages)
        elif self.record is not None:
            kept = [line for line in messages.splitlines() if "NVRM:" in line]
            self.record.files[place] = "".join(line + "\n" for line in kept).encode()
        return messages


_KMSG = os.makedev(1, 11)
_MAX_MESSAGES = 1 << 24


def _kernel_messages(path: str) -> str | Unseen:
    """All messages that the kernel still has; each read gives one."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        return unseen_of(error)
    parts: list[bytes] = []
    size = 0
    try:
        if os.fstat(handle).st_rdev != _KMSG:
            return Unseen("not a regular file", Why.BROKEN)
        while size < _MAX_MESSAGES:
            try:
                parts.append(os.read(handle, 8192))
            except BrokenPipeError:
                continue  # the kernel dropped the oldest message meanwhile
            size += len(parts[-1])
    except BlockingIOError:
        pass
    except OSError as error:
        return unseen_of(error)
    finally:
        os.close(handle)
    return b"".join(parts).decode("utf-8", "replace")


def _read_all(handle: int, limit: int) -> bytes:
    data = os.read(handle, min(limit, 65536))
    # sysfs gives a whole attribute at once; only long procfs files come in parts
    if len(data) < 4096:
        return data
    parts = [data]
    size = len(data)
    while size < limit:
        part = os.read(handle, min(65536, limit - size))
        if not part:
            break
        parts.append(part)
        size += len(part)
    return b"".join(parts)


def kind_of_mode(mode: int) -> str:
    """The kind of an entry from its st_mode."""
    if stat.S_ISLNK(mode):
        return LINK
    if stat.S_ISDIR(mode):
        return FOLDER
    return FILE if stat.S_ISREG(mode) else OTHER


def unseen_of(error: Exception) -> Unseen:
    """Why a system call failed, in words."""
    number = getattr(error, "errno", None)
    if number in {errno.ENOENT, errno.ENOTDIR}:
        return ABSENT
    if number in {errno.EACCES, errno.EPERM}:
        return Unseen("permission denied", Why.DENIED)
    if number in {errno.ELOOP, errno.ENAMETOOLONG}:
        return Unseen("too many links: a loop", Why.BROKEN)
    if number in {errno.EINVAL, errno.EOPNOTSUPP, errno.ENODATA, errno.ENETDOWN, errno.ENODEV, errno.ENXIO}:
        # how a driver says that it has no answer now
        return Unseen(os.strerror(number).lower(), Why.UNSAID)
    return Unseen(os.strerror(number).lower() if number else str(error), Why.BROKEN)


def open_root(where: str | None) -> Root:
    """The root that ``--root`` names: None for this machine, a folder, or a tar archive. DractlError if it is "
    "neither."""
    if where is None:
        return FolderRoot(Path("/"), "this machine")
    path = Path(where)
    if path.is_dir():
        return FolderRoot(_top_of(path), where)
    if not path.exists():
        raise DractlError(
            f"{where}: no such folder or file", "Give a folder that holds sys/ (and proc/), or a capture."
        )
    from dractl.hardware.readers.archive import ArchiveRoot

    return ArchiveRoot(path)


def _top_of(folder: Path) -> Path:
    """``folder``, or the single folder in it that holds ``sys`` (an unpacked archive often has one on top)."""
    if (folder / "sys").is_dir():
        return folder
    if (folder / "devices").is_dir():
        # /host/sys beside /host/proc: both belong to the same host
        beside = folder.resolve().parent
        return beside if folder.name == "sys" and (beside / "proc").is_dir() else folder
    inner = [entry for entry in sorted(folder.iterdir()) if (entry / "sys").is_dir()]
    if len(inner) == 1:
        return inner[0]
    if (folder / "proc").is_dir():
        return folder
    raise DractlError(
        f"{folder}: holds neither sys/ nor proc/", "Point --root at the folder that /sys and /proc were copied below."
    )
