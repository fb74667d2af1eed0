"""A captured tree inside a tar archive (plain, gzip, bzip2 or xz), read into memory and never unpacked to disk."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

from dractl.errors import DractlError
from dractl.hardware.model import Unseen, Why
from dractl.hardware.readers.root import ABSENT, FILE, FOLDER, IS_LINK, LINK, MAX_FILE, OTHER, Root

MAX_MEMBERS = 1_000_000
MAX_TOTAL = 512 << 20
"""Limits of an archive; a real /sys and /proc of a large machine has some 300,000 entries and 20 MiB."""
MANIFEST = "dractl/capture.json"
"""Where our own captures say what could not be read on the machine (see ``capture``)."""


class ArchiveRoot(Root):
    """A tar archive as a root. DractlError if it is no archive."""

    def __init__(self, path: Path) -> None:
        super().__init__(str(path))
        self._files: dict[str, bytes] = {}
        self._links: dict[str, str] = {}
        self._folders: dict[str, set[str]] = {"": set()}
        self._odd: set[str] = set()
        self._unseen: dict[str, Unseen] = {}
        self._outside: list[str] = []
        try:
            with tarfile.open(path, "r:*") as archive:
                self._load(archive)
        except (tarfile.TarError, EOFError, OSError, ValueError, MemoryError) as error:
            raise DractlError(
                f"{path}: not a readable tar archive: {error}", "Give a capture (discover --capture) or a folder."
            ) from error
        self._strip_top()
        self._load_manifest()
        if self._outside:
            shown = ", ".join(repr(name) for name in self._outside[:3])
            self.warnings.append(f"{len(self._outside)} entries of the archive lead outside of it, left out: {shown}")

    def _load(self, archive: tarfile.TarFile) -> None:
        total = 0
        for count, member in enumerate(archive):
            if count >= MAX_MEMBERS or total > MAX_TOTAL:
                self.warnings.append("the archive is larger than any host: the rest of it was not read")
                return
            parts = [part for part in member.name.split("/") if part not in {"", "."}]
            if ".." in parts:
                self._outside.append(member.name)
                continue
            place = "/".join(parts)
            if not place:
                continue
            if not self._attach(place):
                continue
            total += self._add(archive, member, place)

    def _add(self, archive: tarfile.TarFile, member: tarfile.TarInfo, place: str) -> int:
        """Keep one entry; the bytes it took."""
        if member.isdir():
            self._folders.setdefault(place, set())
        elif member.issym():
            self._links[place] = member.linkname
        elif member.islnk():
            self._files[place] = self._files.get(member.linkname.removeprefix("./"), b"")
        elif member.isfile():
            stream = archive.extractfile(member)
            self._files[place] = stream.read(MAX_FILE) if stream is not None else b""
            return len(self._files[place])
        else:
            self._odd.add(place)
        return 0

    def _attach(self, place: str) -> bool:
        """Enter ``place`` and the folders above it; False where one of them is a file or a link."""
        above = place
        while "/" in above:
            above = above.rpartition("/")[0]
            if above in self._files or above in self._links or above in self._odd:
                return False
        while place:
            parent, _, name = place.rpartition("/")
            names = self._folders.setdefault(parent, set())
            if name in names:
                return True
            names.add(name)
            place = parent
        return True

    def _strip_top(self) -> None:
        """Drop a single folder on top of everything, as ``tar`` of a folder makes it."""
        if self._folders[""] & {"sys", "proc", "dractl"}:
            return
        tops = [name for name in self._folders[""] if self._folders.get(name, set()) & {"sys", "proc"}]
        if len(tops) != 1:
            raise DractlError(
                f"{self.name}: holds neither sys/ nor proc/", "Give an archive of the folder that holds sys/ and proc/."
            )
        cut = len(tops[0]) + 1
        self._files = {place[cut:]: data for place, data in self._files.items() if place.startswith(tops[0] + "/")}
        self._links = {place[cut:]: to for place, to in self._links.items() if place.startswith(tops[0] + "/")}
        self._odd = {place[cut:] for place in self._odd if place.startswith(tops[0] + "/")}
        self._folders = {
            place[cut:]: names for place, names in self._folders.items() if (place + "/").startswith(tops[0] + "/")
        }

    def _load_manifest(self) -> None:
        data = self._files.get(MANIFEST)
        if data is None:
            return
        try:
            entries = json.loads(data).get("unseen", {})
            self._unseen = {
                str(path): Unseen(str(entry["reason"]), Why(entry["why"])) for path, entry in entries.items()
            }
        except (ValueError, AttributeError, KeyError, TypeError) as error:
            self._unseen = {}
            self.warnings.append(f"{MANIFEST} in the archive can not be read ({error}): gaps may look like absences")

        for path in self._unseen:
            # they were listed on the machine, so that they must be here
            self._attach(path)

    # --- Root -------------------------------------------------------------------------------------------------------

    def _kind(self, place: str) -> str | None:
        if place in self._files:
            return FILE
        if place in self._folders:
            return FOLDER
        if place in self._links:
            return LINK
        return OTHER if place in self._odd or place in self._unseen else None

    def _readlink(self, place: str) -> str | None:
        return self._links.get(place)

    def _read(self, place: str, limit: int) -> bytes | Unseen:
        unseen = self._unseen.get(place)
        if unseen is not None:
            return unseen
        data = self._files.get(place)
        if data is not None:
            return data[:limit]
        if place in self._links:
            return IS_LINK
        if place in self._folders or place in self._odd:
            return Unseen("not a regular file", Why.BROKEN)
        return ABSENT

    def _list(self, place: str) -> list[str] | Unseen:
        unseen = self._unseen.get(place)
        if unseen is not None:
            return unseen
        names = self._folders.get(place)
        return ABSENT if names is None else list(names)
