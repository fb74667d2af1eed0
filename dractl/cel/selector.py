"""Selectors: a CEL expression compiled for one environment and evaluated on devices.

``compile_selector`` never raises for a bad expression: the error is part of the ``Selector``. ``Selector.evaluate``
gives what Kubernetes' ``DeviceMatches`` gives; ``projection`` is the part of a device that an expression reads, so that
devices that are alike are evaluated once (``SelectorCache``).
Source: ``k8s.io/dynamic-resource-allocation/cel/compile.go``.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from functools import lru_cache
from typing import TYPE_CHECKING

from dractl.cel.checked import Checked
from dractl.cel.cost_static import estimate
from dractl.cel.device import GOOD_VERSIONS, SCALARS, DeviceScope, unusable
from dractl.cel.environment import Environment
from dractl.cel.errors import CelError, Issue
from dractl.cel.evaluator import Program
from dractl.cel.folds import Closure, Order, Run
from dractl.cel.frontend import compile as compile_checked
from dractl.cel.guard import begin
from dractl.cel.library.registry import PlanError
from dractl.cel.plan import make_plan
from dractl.cel.reads import Read, find_reads, is_light
from dractl.cel.recursion import deep_recursion
from dractl.cel.result import ResultError, to_bool
from dractl.cel.values import EvalError, Stopped, Value
from dractl.kube.objects import Device

if TYPE_CHECKING:
    from dractl.cel.explain import Term

INVALID = "RuleInvalid"
INTERNAL = "InternalError"
MAX_UINT64 = 2**64 - 1
_SAFE_ESTIMATE = 200_000
"""Below this estimate a selector without comprehensions cannot reach the cost limit, so that its cost need not be
counted while it is evaluated."""
_DEEP = 40


class Outcome:
    """What one evaluation gave. ``error`` is Kubernetes' text; then ``match`` is False.

    ``missing`` is the (domain, name) of the attribute or capacity whose absence is the error. ``cost`` is Kubernetes'
    run-time cost; it is counted when it is asked for.
    """

    __slots__ = ("_cost", "_of", "error", "match", "missing")

    def __init__(
        self,
        match: bool,
        error: str | None = None,
        cost: int | None = 0,
        missing: tuple[str, str] | None = None,
        of: tuple[Selector, str, Device] | None = None,
    ) -> None:
        self.match = match
        self.error = error
        self.missing = missing
        self._cost = cost
        self._of = of

    @property
    def cost(self) -> int:
        if self._cost is None:
            assert self._of is not None
            selector, driver, device = self._of
            self._cost = selector.cost(driver, device)
            self._of = None
        return self._cost

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Outcome) and (self.match, self.error, self.missing) == (
            other.match,
            other.error,
            other.missing,
        )

    def __hash__(self) -> int:
        return hash((self.match, self.error, self.missing))

    def __repr__(self) -> str:
        return f"Outcome(match={self.match}, error={self.error!r}, missing={self.missing})"


class Selector:
    """A compiled expression; ``error`` is set if it does not compile.

    ``reads`` is what of a device the outcome depends on, or None if that may be anything.
    """

    __slots__ = (
        "_env",
        "_quick",
        "_scope",
        "checked",
        "environment",
        "error",
        "error_type",
        "expression",
        "faults",
        "lists",
        "max_cost",
        "output_type",
        "program",
        "reads",
    )

    def __init__(self, expression: str, environment: Environment) -> None:
        self.expression = expression
        self.environment = environment
        self.error: str | None = None
        self.error_type = ""
        self.output_type = ""
        self.max_cost = MAX_UINT64
        self.reads: frozenset[Read] | None = None
        self.faults: list[Issue] = []
        """The single faults of an expression that does not compile, where they have a place."""
        self.checked: Checked | None = None
        self.program: Program | None = None
        # since 1.37 lists are accepted whether the gate is on or not
        self.lists = environment.release >= (1, 37) or (environment.list_attributes and environment.release >= (1, 36))
        self._quick: Closure | None = None
        """Plain evaluation, where its cost is certain to stay below the limit."""
        # one scope and one environment serve all plain evaluations
        self._scope = DeviceScope("", Device())
        self._env: list[Value] = []
        self._compile()

    def _compile(self) -> None:
        try:
            checked = compile_checked(self.expression, self.environment)
        except CelError as error:
            self.error, self.error_type = str(error), INTERNAL if error.internal else INVALID
            self.faults = error.issues
            return
        self.checked = checked
        self.output_type = str(checked.output_type)
        with deep_recursion():
            try:
                made = make_plan(checked)
                self.program = Program(made, self.environment)
                self.program.plain()
            except PlanError as error:
                self.error, self.error_type = f"program instantiation failed: {error}", INTERNAL
                self.output_type = ""
                return
            self.max_cost = _estimate(checked)
            self.reads = find_reads(made.root)
            if self.max_cost <= _SAFE_ESTIMATE and is_light(made.root) and made.depth < _DEEP:
                self._quick = self.program.plain()
                self._env = self.program.environment(self._scope, Run())

    # --- evaluation -------------------------------------------------------------------------------------------------

    def evaluate(self, driver: str, device: Device) -> Outcome:
        """What the expression gives for a device of a driver."""
        quick = self._quick
        if quick is None:
            return self._evaluate(driver, device)
        for attribute in device.attributes.values():
            kind = attribute.kind
            if kind not in SCALARS and (kind != "version" or attribute.value not in GOOD_VERSIONS):
                fault = unusable(device, self.lists)
                if fault is not None:
                    return Outcome(False, fault)
                break
        try:
            begin()
            scope = self._scope
            scope.reset(driver, device)
            value = quick(self._env)
            return Outcome(
                value if value.__class__ is bool else to_bool(value), None, None, None, (self, driver, device)
            )
        except EvalError as error:
            return Outcome(False, error.text, None, error.missing, (self, driver, device))
        except (Stopped, ResultError) as error:
            return Outcome(False, error.text, None, None, (self, driver, device))

    def _evaluate(self, driver: str, device: Device) -> Outcome:
        """Evaluation of what does not compile, loops, costs much or nests deep."""
        program = self.program
        if program is None or self.error is not None:
            return Outcome(False, self.error)
        fault = unusable(device, self.lists)
        return self._counted(driver, device) if fault is None else Outcome(False, fault)

    def _run(self, program: Program, env: list[Value]) -> Value:
        if program.depth < _DEEP:
            return program.counting()(env)
        with deep_recursion():
            return program.counting()(env)

    def _counted(self, driver: str, device: Device, order: Order | None = None) -> Outcome:
        program = self.program
        assert program is not None
        begin()
        run = Run(order)
        env = program.environment(DeviceScope(driver, device), run)
        try:
            return Outcome(to_bool(self._run(program, env)), None, run.cost)
        except EvalError as error:
            return Outcome(False, error.text, run.cost, error.missing)
        except (Stopped, ResultError) as error:
            return Outcome(False, error.text, run.cost)

    def value(self, driver: str, device: Device) -> Value:
        """What an expression without compile error gives for a device, whatever its type.

        Raises:
            EvalError: when it fails, or the device has an attribute without a value that this release knows.
            Stopped: at the cost limit.
        """
        program = self.program
        assert program is not None and self.error is None
        fault = unusable(device, self.lists)
        if fault is not None:
            raise EvalError(fault)
        begin()
        return self._run(program, program.environment(DeviceScope(driver, device), Run()))

    def cost(self, driver: str, device: Device, order: Order | None = None) -> int:
        """The run-time cost of an evaluation, as Kubernetes counts it.

        Kubernetes goes through the entries of a map in random order, so that the cost of a search in a map varies;
        ``order`` may give another order than that in which they are written.
        """
        if self.program is None or self.error is not None or unusable(device, self.lists) is not None:
            return 0
        return self._counted(driver, device, order).cost

    def evaluate_in(self, order: Order, driver: str, device: Device) -> Outcome:
        """The outcome when the entries of maps are gone through in this order."""
        if self.program is None or self.error is not None or unusable(device, self.lists) is not None:
            return self.evaluate(driver, device)
        return self._counted(driver, device, order)

    def projection(self, driver: str, device: Device) -> Hashable:
        """A key: devices with equal keys have equal outcomes."""
        fault = unusable(device, self.lists)
        if fault is not None:
            return fault
        return (driver, id(device)) if self.reads is None else project(self.reads, driver, device)

    def explain(self, driver: str, device: Device) -> list[Term]:
        """The value of every part of the top-level conjunction, and which part decided."""
        from dractl.cel.explain import explain

        return explain(self, driver, device)


def project(reads: Iterable[Read], driver: str, device: Device) -> Hashable:
    """What of a device is read: devices with equal keys look alike to whatever reads no more than that."""
    found: list[Hashable] = []
    for kind, domain, name in reads:
        if kind == "driver":
            found.append(driver)
        elif kind == "multi":
            found.append(device.allow_multiple_allocations)
        elif name == "*":
            found.append(_whole_domain(driver, device, kind, domain))
        elif kind == "attribute":
            attribute = device.attributes.get(f"{domain}/{name}")
            if attribute is None and domain == driver:
                attribute = device.attributes.get(name)
            found.append(None if attribute is None else (attribute.kind, attribute.value))
        else:
            amount = device.capacity.get(f"{domain}/{name}")
            if amount is None and domain == driver:
                amount = device.capacity.get(name)
            found.append(None if amount is None else (amount.value.nano, amount.value.text))
    return tuple(found)


def _whole_domain(driver: str, device: Device, kind: str, domain: str) -> Hashable:
    prefix = f"{domain}/"
    found: list[Hashable] = []
    for name, attribute in device.attributes.items() if kind == "attribute" else ():
        if name.startswith(prefix) or ("/" not in name and domain == driver):
            found.append((name.removeprefix(prefix), attribute.kind, attribute.value))
    for name, amount in device.capacity.items() if kind == "capacity" else ():
        if name.startswith(prefix) or ("/" not in name and domain == driver):
            found.append((name.removeprefix(prefix), amount.value.nano, amount.value.text))
    return tuple(found)


def _estimate(checked: Checked) -> int:
    return estimate(checked, checked.environment)[1]


@lru_cache(maxsize=8192)
def compile_selector(expression: str, environment: Environment) -> Selector:
    """Compile an expression; memoised by expression and environment."""
    return Selector(expression, environment)


class SelectorCache:
    """Outcomes of one selector by projection: devices that look alike to it are evaluated once."""

    __slots__ = ("_outcomes", "selector")

    def __init__(self, selector: Selector) -> None:
        self.selector = selector
        self._outcomes: dict[Hashable, Outcome] = {}

    def evaluate(self, driver: str, device: Device) -> Outcome:
        """The outcome for a device."""
        key = self.selector.projection(driver, device)
        outcome = self._outcomes.get(key)
        if outcome is None:
            outcome = self._outcomes[key] = self.selector.evaluate(driver, device)
        return outcome

    def __len__(self) -> int:
        return len(self._outcomes)


def evaluate_many(selector: Selector, devices: Iterable[tuple[str, Device]]) -> list[Outcome]:
    """The outcomes for (driver, device) pairs, each distinct projection evaluated once."""
    cache = SelectorCache(selector)
    return [cache.evaluate(driver, device) for driver, device in devices]
