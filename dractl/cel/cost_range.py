"""Ranges of sizes and costs: unsigned 64-bit numbers that stop at the highest instead of overflowing."""

from __future__ import annotations

import math
from dataclasses import dataclass

HIGHEST = 2**64 - 1


@dataclass(frozen=True, slots=True)
class Range:
    """At least ``min``, at most ``max``."""

    min: int
    max: int

    def add(self, other: Range) -> Range:
        return Range(min(self.min + other.min, HIGHEST), min(self.max + other.max, HIGHEST))

    def multiply(self, other: Range) -> Range:
        return Range(min(self.min * other.min, HIGHEST), min(self.max * other.max, HIGHEST))

    def scale(self, factor: float) -> Range:
        """Times a factor, rounded up."""
        return Range(_scaled(self.min, factor), _scaled(self.max, factor))

    def union(self, other: Range) -> Range:
        return Range(min(self.min, other.min), max(self.max, other.max))


UNKNOWN = Range(0, HIGHEST)
FREE = Range(0, 0)
NOTHING = Range(HIGHEST, 0)
"""What ``union`` leaves out of account."""


def _scaled(value: int, factor: float) -> int:
    number = float(value)
    if number > 0 and factor > 0 and number > float(HIGHEST) / factor:
        return HIGHEST
    product = math.ceil(number * factor)
    return min(product, HIGHEST)
