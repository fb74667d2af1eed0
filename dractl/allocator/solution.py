"""What goes into and comes out of a search: limits, and the devices taken."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dractl.allocator.counters import Groups
from dractl.allocator.request import RequestSpec
from dractl.allocator.view import Candidate
from dractl.kube.quantity import Quantity


@dataclass(frozen=True, slots=True)
class Limits:
    """When to stop: after so many steps, or once ``expired`` says so (asked every 256 steps)."""

    steps: int = 500_000
    expired: Callable[[], bool] | None = None


class Undecided(Exception):
    """The search reached its limit, or needs what dractl does not know; the message says which."""


@dataclass(slots=True, eq=False)
class Taken:
    """A device given to a request, and what is needed to undo that."""

    spec: RequestSpec
    candidate: Candidate
    consumed: dict[str, Quantity] | None
    """What a share takes; None for a device given out alone."""
    counters: bool = False
    marked: bool = False
    inserted: bool = False
    entry_existed: bool = False
    groups: dict[tuple[str, str, str], Groups] | None = None


@dataclass(slots=True, eq=False)
class Solution:
    """Devices by claim, in the order taken, and the chosen alternative by (claim, request)."""

    taken: list[list[Taken]]
    chosen: dict[tuple[int, int], int]
