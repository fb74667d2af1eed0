"""One change that might make claims fit, and whose object it changes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from dractl.explain.judge import Ask
from dractl.simulate.variant import Variant

CLAIM, POD, ADMIN = "claim", "pod", "cluster"
"""Whose object is changed: the claim (or its template), the pod, or something of the cluster."""


@dataclass(slots=True)
class Change:
    """One change: ``text`` is an instruction, ``who`` whose object it is, ``cost`` orders changes (small is cheap).

    ``touched`` are the only nodes whose answer can change, or None for all. Changes with equal ``choice`` are
    alternatives of one kind and are told together.
    """

    kind: str
    text: str
    who: str
    cost: int
    apply: Callable[[Variant], None]
    touched: list[str] | None = None
    choice: str = ""
    name: str = ""
    subjects: frozenset[str] = field(default_factory=frozenset)
    """What is changed; two changes of one thing are not combined."""
    proven: bool = True
    """False where what will be published is not known, and the trial was made with what is."""
    detail: str = ""
    """What is good to know of this very change, left out where several are told together."""


def request_setter(ask: Ask, **changes: object) -> Callable[[Variant], None]:
    """A change of fields of a request."""

    def apply(variant: Variant) -> None:
        variant.change_request(ask.claim, ask.name, **changes)

    return apply
