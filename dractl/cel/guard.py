"""Bounds that keep a hostile expression from using up memory or time. Kubernetes has no such bounds, only its cost.

An evaluation that reaches one ends in an error. The bounds are far above what an expression can need whose cost stays
below Kubernetes' limit and that neither doubles texts or lists nor nests one list in itself many times over.
"""

from __future__ import annotations

from dractl.cel.values import Stopped

MAX_TEXT = 8 << 20
"""The longest text, in code points or bytes."""
MAX_ITEMS = 1 << 20
"""The longest list or map."""
MAX_MATCHES = 1 << 17
"""The most matches that a regular expression may find."""
MAX_STEPS = 400_000
"""How many steps all comprehensions of one evaluation may take together."""
MAX_WORK = 2_000_000
"""How many elements of lists and maps one evaluation may look at in comparing, searching and writing."""


class _Work:
    """What is left of ``MAX_WORK`` in the evaluation that runs."""

    __slots__ = ("left",)

    def __init__(self) -> None:
        self.left = MAX_WORK


_work = _Work()


def begin() -> None:
    """An evaluation begins."""
    _work.left = MAX_WORK


def spend(elements: int) -> None:
    """Stop the evaluation if it looks at too many elements."""
    _work.left -= elements
    if _work.left < 0:
        raise Stopped("evaluation stopped: too many elements to compare")


def check_text(length: int) -> None:
    """Stop the evaluation if a text would become too long."""
    if length > MAX_TEXT:
        raise Stopped(f"evaluation stopped: a text of {length} characters is too long to be handled")


def check_items(count: int, limit: int = MAX_ITEMS) -> None:
    """Stop the evaluation if a list or map would become too long."""
    if count > limit:
        raise Stopped(f"evaluation stopped: a list of {count} elements is too long to be handled")
