"""What the readers share: numbers, lists and class folders of a root, with garbage noted instead of raised."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from dractl.hardware.cpuset import parse_list, parse_mask
from dractl.hardware.model import Problem, Unseen, Why
from dractl.hardware.readers.root import ABSENT, Root

ADDRESS = re.compile(r"^[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$")
"""A PCI address as sysfs names it; domains beyond 16 bits (VMD, Hyper-V) have more digits."""
PCI_ROOT = re.compile(r"^pci[0-9a-f]{4,8}:[0-9a-f]{2}$")
_MAX_PROBLEMS = 200


@dataclass(slots=True)
class Tree:
    """A root and what was wrong in it."""

    root: Root
    problems: list[Problem] = field(default_factory=list)

    def problem(self, path: str, text: str) -> None:
        """Note garbage; a tree full of it is noted once it is clear."""
        if len(self.problems) < _MAX_PROBLEMS:
            self.problems.append(Problem(path, text))

    def text(self, path: str) -> str:
        """The text of a file, empty where there is none."""
        value = self.root.text(path)
        if isinstance(value, Unseen):
            if value.why is Why.BROKEN:
                self.problem(path, value.reason)
            return ""
        return value

    def number(self, path: str, base: int = 10) -> int | Unseen:
        """A whole number; ``base`` 16 takes it with or without ``0x``."""
        text = self.root.text(path)
        if isinstance(text, Unseen):
            if text.why is Why.BROKEN:
                self.problem(path, text.reason)
            return text
        try:
            if len(text) > 40 or "_" in text:
                raise ValueError
            return int(text, base)
        except ValueError:
            self.problem(path, f"holds {_short(text)}, not a number")
            return Unseen(f"{path.rpartition('/')[2]} holds {_short(text)}, not a number", Why.BROKEN)

    def maybe(self, path: str, base: int = 10) -> int | None:
        """A number, or None where there is none."""
        value = self.number(path, base)
        return None if isinstance(value, Unseen) else value

    def cpus(self, list_path: str, mask_path: str) -> frozenset[int] | Unseen:
        """A set of CPUs from the list, or from the mask that older kernels have alone."""
        text = self.root.text(list_path)
        parse, path = parse_list, list_path
        if isinstance(text, Unseen):
            first = text
            text, parse, path = self.root.text(mask_path), parse_mask, mask_path
            if isinstance(text, Unseen):
                return first if first.why is not Why.ABSENT else text
        try:
            return parse(text)
        except ValueError as error:
            self.problem(path, str(error))
            return Unseen(f"{path.rpartition('/')[2]}: {error}", Why.BROKEN)

    def names(self, path: str) -> list[str]:
        """Entries of a folder, none where there is none."""
        names = self.root.names(path)
        if isinstance(names, Unseen):
            if names.why is Why.BROKEN:
                self.problem(path, names.reason)
            return []
        return names

    def entries(self, folder: str) -> list[ClassEntry] | Unseen:
        """The devices of a class (``sys/class/net``), with the PCI function that each hangs on."""
        names = self.root.names(folder)
        if isinstance(names, Unseen):
            if names.why is Why.BROKEN:
                self.problem(folder, names.reason)
            return names
        return [ClassEntry(name, f"{folder}/{name}", self.function_of(f"{folder}/{name}")) for name in names]

    def function_of(self, path: str) -> str | None:
        """Address of the PCI function whose folder ``path`` lies in, links followed; None for a virtual device."""
        place = self.root.real(path)
        if isinstance(place, Unseen):
            self.problem(path, place.reason)
            return None
        found = last_address(place)
        if found is None:
            # trees that were gathered without links have a folder with a ``device`` link, or nothing
            device = self.root.link(f"{path}/device")
            found = last_address(device) if device else None
        return found

    def target_name(self, path: str) -> str | None:
        """Last part of a link's target: the name of a driver, a group; None where there is no link."""
        target = self.root.link(path)
        return target.rstrip("/").rpartition("/")[2] if target else None


@dataclass(frozen=True, slots=True)
class ClassEntry:
    """One device of a class."""

    name: str
    path: str
    address: str | None


def last_address(path: str) -> str | None:
    """The last PCI address among the parts of a path."""
    return next((part for part in reversed(path.split("/")) if ADDRESS.match(part)), None)


def natural(name: str) -> list[object]:
    """A key that sorts mlx5_2 before mlx5_10."""
    return [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in re.split(r"(\d+)", name) if part]


def missing(value: object) -> bool:
    """Whether a value was not seen because there is no such file."""
    return isinstance(value, Unseen) and value.why is Why.ABSENT


def absent(what: str) -> Unseen:
    """There is no such file, said by its name."""
    return Unseen(f"{what} is not there", Why.ABSENT)


def _short(text: str) -> str:
    shown = repr(text[:40])
    return shown + "..." if len(text) > 40 else shown


__all__ = ["ABSENT", "ADDRESS", "PCI_ROOT", "ClassEntry", "Tree", "absent", "last_address", "missing", "natural"]
