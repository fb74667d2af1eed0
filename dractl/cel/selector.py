"""Selectors: a CEL expression compiled for one environment and evaluated on devices.

``compile_selector`` never raises for a bad expression: the error is part of the ``Selector``. ``Selector.evaluate``
gives what Kubernetes' ``DeviceMatches`` gives; ``projection`` is the part of a device that an expression reads, so that
devices that are alike are evaluated once (``SelectorCache``).
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dractl.kube.objects import Device

if TYPE_CHECKING:
    from dractl.cel.environment import Environment

Read = tuple[str, str, str]
"""(kind, domain, name): kind is attribute, capacity, driver or multi (allowMultipleAllocations). The name ``*`` stands
for all names of a domain; domain and name are empty for driver and multi."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one evaluation gave. ``error`` is Kubernetes' text; then ``match`` is False.

    ``missing`` is the (domain, name) of the attribute or capacity whose absence is the error.
    """

    match: bool
    error: str | None = None
    cost: int = 0
    missing: tuple[str, str] | None = None


class Selector:
    """A compiled expression; ``error`` is set if it does not compile."""

    __slots__ = ("environment", "error", "error_type", "expression", "max_cost", "output_type", "reads")

    def __init__(self, expression: str, environment: Environment) -> None:
        self.expression = expression
        self.environment = environment
        self.error: str | None = None
        self.error_type = ""
        self.output_type = ""
        self.max_cost = 0
        self.reads: frozenset[Read] | None = None

    def evaluate(self, driver: str, device: Device) -> Outcome:
        """What the expression gives for a device of a driver."""
        raise NotImplementedError

    def projection(self, driver: str, device: Device) -> Hashable:
        """A key: devices with equal keys have equal outcomes."""
        raise NotImplementedError


def compile_selector(expression: str, environment: Environment) -> Selector:
    """Compile an expression; memoised by expression and environment."""
    return Selector(expression, environment)
