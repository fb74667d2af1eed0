"""Room for deep recursion: an expression may nest 250 levels deep, which takes some thousand Python frames."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

_FRAMES = 30_000


@contextmanager
def deep_recursion() -> Iterator[None]:
    """Raises the interpreter's recursion limit while the block runs. Python functions that call Python functions take
    no C stack (since 3.11), so that the higher limit is safe for them."""
    before = sys.getrecursionlimit()
    if before >= _FRAMES:
        yield
        return
    sys.setrecursionlimit(_FRAMES)
    try:
        yield
    finally:
        sys.setrecursionlimit(before)
