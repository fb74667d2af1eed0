"""Bounds that keep a hostile expression from using up memory or time. Kubernetes has no such bounds, only its cost.

An evaluation that reaches one ends in an error. The bounds are far above what an expression can need whose cost stays
below Kubernetes' limit and that does not double texts or lists.
"""

from __future__ import annotations

from dractl.cel.values import Stopped

MAX_TEXT = 8 << 20
"""The longest text, in code points or bytes."""
MAX_ITEMS = 1 << 18
"""The longest list or map."""
MAX_STEPS = 400_000
"""How many steps all comprehensions of one evaluation may take together."""


def check_text(length: int) -> None:
    """Stop the evaluation if a text would become too long."""
    if length > MAX_TEXT:
        raise Stopped(f"evaluation stopped: a text of {length} characters is too long to be handled")


def check_items(count: int) -> None:
    """Stop the evaluation if a list or map would become too long."""
    if count > MAX_ITEMS:
        raise Stopped(f"evaluation stopped: a list of {count} elements is too long to be handled")
