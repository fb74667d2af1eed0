"""Semantic versions 2.0.0 as the ``version`` attribute of a device holds them (https://semver.org/spec/v2.0.0.html)."""

from __future__ import annotations

import re
from functools import total_ordering

_NUMBER = r"(?:0|[1-9][0-9]*)"
_PRE = rf"(?:{_NUMBER}|[0-9]*[a-zA-Z-][0-9a-zA-Z-]*)"
_SHAPE = re.compile(
    rf"({_NUMBER})\.({_NUMBER})\.({_NUMBER})(?:-({_PRE}(?:\.{_PRE})*))?(?:\+([0-9a-zA-Z-]+(?:\.[0-9a-zA-Z-]+)*))?"
)


class SemverError(ValueError):
    """The text is not a semantic version."""


@total_ordering
class Semver:
    """A version. Order and equality follow precedence: build metadata does not count."""

    __slots__ = ("build", "key", "major", "minor", "patch", "pre")

    def __init__(self, major: int, minor: int, patch: int, pre: str = "", build: str = "") -> None:
        self.major = major
        self.minor = minor
        self.patch = patch
        self.pre = pre
        self.build = build
        self.key = (major, minor, patch, _precedence(pre))

    @classmethod
    def parse(cls, text: str) -> Semver:
        """Read a strict version: three numbers without leading zeros, no leading ``v``.

        Raises:
            SemverError: when the text has another shape.
        """
        shape = _SHAPE.fullmatch(text)
        if shape is None or not text.isascii():
            raise SemverError("must be a string compatible with semver.org spec 2.0.0")
        major, minor, patch, pre, build = shape.groups()
        return cls(int(major), int(minor), int(patch), pre or "", build or "")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Semver) and self.key == other.key

    def __lt__(self, other: Semver) -> bool:
        return self.key < other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __str__(self) -> str:
        text = f"{self.major}.{self.minor}.{self.patch}"
        text += f"-{self.pre}" if self.pre else ""
        return text + (f"+{self.build}" if self.build else "")

    def __repr__(self) -> str:
        return f"Semver({str(self)!r})"


def _precedence(pre: str) -> tuple[int, tuple[tuple[int, int, str], ...]]:
    """A release sorts after its pre-releases; numeric identifiers sort below others."""
    if not pre:
        return (1, ())
    parts = pre.split(".")
    return (0, tuple((0, int(part), "") if part.isdigit() else (1, 0, part) for part in parts))
