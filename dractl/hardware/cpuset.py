"""Sets of CPU numbers in the kernel's two writings: lists (``0-7,16-23``) and masks (``00ff00ff,00000000``)."""

from __future__ import annotations

from collections.abc import Iterable

MAX_CPU = 1 << 16
"""Above what any kernel is built for; a larger number is garbage, not a machine."""


def parse_list(text: str) -> frozenset[int]:
    """``0-3,8,10-14:2`` as numbers; the empty text is the empty set. ValueError if it is not such a list."""
    numbers: set[int] = set()
    for part in text.replace("\n", ",").split(","):
        part = part.strip()
        if not part:
            continue
        span, _, step = part.partition(":")
        first, dash, last = span.partition("-")
        low, high = _number(first), _number(last if dash else first)
        if high < low:
            raise ValueError(f"not a list of numbers: {text[:60]!r}")
        # steps are written ``0-31:1/2`` (used/group); nobody writes them in sysfs, so only the plain form is read
        numbers.update(range(low, high + 1, _number(step) or 1 if step else 1))
    return frozenset(numbers)


def parse_mask(text: str) -> frozenset[int]:
    """``0000000f,ffffffff``: groups of eight hexadecimal digits, the highest first. ValueError if it is not."""
    digits = text.strip().replace(",", "")
    if len(digits) > MAX_CPU // 4 or not digits or any(char not in "0123456789abcdefABCDEF" for char in digits):
        raise ValueError(f"not a mask of CPUs: {text[:60]!r}")
    value = int(digits, 16)
    return frozenset(bit for bit in range(value.bit_length()) if value >> bit & 1)


def format_list(numbers: Iterable[int]) -> str:
    """The shortest list: ``0-7,16-23``; empty for no numbers."""
    spans: list[list[int]] = []
    for number in sorted(numbers):
        if spans and number == spans[-1][1] + 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    return ",".join(str(low) if low == high else f"{low}-{high}" for low, high in spans)


def _number(text: str) -> int:
    text = text.strip()
    if not text.isascii() or not text.isdigit() or len(text) > 6 or int(text) >= MAX_CPU:
        raise ValueError(f"not a CPU number: {text[:60]!r}")
    return int(text)
