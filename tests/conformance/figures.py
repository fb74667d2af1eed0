"""What the kinds of conformance cases share: figures, reading of files, printing of mismatches."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass
class Figure:
    """How many of the cases match in one respect."""

    name: str
    matched: int = 0
    total: int = 0

    def add(self, matches: bool) -> bool:
        self.total += 1
        self.matched += matches
        return matches


@dataclass
class Mismatches:
    """Prints the first ``show`` mismatches."""

    show: int
    seen: int = 0
    kept: list[str] = field(default_factory=list)

    def add(self, case: str, respect: str, expected: object, got: object) -> None:
        self.seen += 1
        self.kept.append(case)
        if self.seen <= self.show:
            print(f"--- {case}: {respect}\n  expected: {expected!r}\n  got:      {got!r}")


def read_text(path: Path) -> str:
    """The text of a plain or gzip file."""
    data = Path(path).read_bytes()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    return data.decode()


def read_json(path: Path) -> Any:
    """The JSON of a plain or gzip file."""
    return json.loads(read_text(path))


def read_lines(path: Path) -> Iterator[Any]:
    """The JSON lines of a plain or gzip file."""
    for line in read_text(path).splitlines():
        if line.strip():
            yield json.loads(line)
