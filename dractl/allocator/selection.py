"""Which devices the selectors of classes and requests choose.

Every expression is compiled once and evaluated once for each distinct projection of a device; the verdict of a chain of
selectors on a device is kept for the life of the allocator.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

from dractl.allocator.profile import Profile
from dractl.allocator.state import DeviceId, id_text
from dractl.cel.selector import Outcome, Selector, compile_selector
from dractl.kube.objects import Device, DeviceClass, DeviceSelector, ResourceClaim

_HINT = (
    ". consider using CEL optional chaining (.? followed by orValue()) or guarding the check with has() "
    "for optional fields"
)


@dataclass(slots=True, eq=False)
class Verdict:
    """What a chain of selectors says about a device."""

    match: bool
    by_class: bool = False
    """Whether a selector of the class decided (else one of the request)."""
    index: int = 0
    """Position of the deciding selector in its list."""
    selector: Selector | None = None
    owner: str = ""
    """``class NAME`` or ``claim NAMESPACE/NAME``, for errors."""
    outcome: Outcome | None = None

    @property
    def failed(self) -> bool:
        """Whether it is an error, which ends the scheduling of the pod."""
        return self.selector is not None and (self.selector.error is not None or self.error is not None)

    @property
    def error(self) -> str | None:
        """The runtime error."""
        return self.outcome.error if self.outcome is not None else None


MATCH = Verdict(True)


class SelectorStep:
    """One selector with its outcomes by projection."""

    __slots__ = ("by_class", "by_projection", "index", "owner", "refused", "selector")

    def __init__(self, selector: Selector, owner: str, by_class: bool, index: int) -> None:
        self.selector = selector
        self.owner = owner
        self.by_class = by_class
        self.index = index
        self.by_projection: dict[Hashable, Verdict | None] = {}
        self.refused = Verdict(False, by_class, index, selector, owner)

    def verdict(self, driver: str, device: Device) -> Verdict | None:
        """None where the device is chosen."""
        selector = self.selector
        if selector.error is not None:
            return self.refused
        key = selector.projection(driver, device)
        known = self.by_projection
        if key in known:
            return known[key]
        outcome = selector.evaluate(driver, device)
        result: Verdict | None
        if outcome.error is not None:
            result = Verdict(False, self.by_class, self.index, selector, self.owner, outcome)
        else:
            result = None if outcome.match else self.refused
        known[key] = result
        return result


class Chain:
    """The selectors of a class and then those of a request."""

    __slots__ = ("_hidden", "by_device", "hide_sharing", "steps")

    def __init__(self, steps: Sequence[SelectorStep], hide_sharing: bool) -> None:
        self.steps = steps
        self.hide_sharing = hide_sharing
        """Older copies of the allocator do not show allowMultipleAllocations to selectors."""
        self.by_device: dict[int, Verdict] = {}
        # kept alive, because outcomes are remembered by the identity of devices
        self._hidden: list[Device] = []

    def verdict(self, driver: str, device: Device) -> Verdict:
        """The verdict on a device; devices are known by identity."""
        key = id(device)
        found = self.by_device.get(key)
        if found is None:
            found = MATCH
            if self.hide_sharing and device.allow_multiple_allocations:
                device = replace(device, allow_multiple_allocations=False)
                self._hidden.append(device)
            for step in self.steps:
                refused = step.verdict(driver, device)
                if refused is not None:
                    found = refused
                    break
            self.by_device[key] = found
        return found


def hides_sharing(profile: Profile) -> bool:
    """Whether selectors do not get to see ``device.allowMultipleAllocations``."""
    return bool(profile.quirks) and not profile.knows_sharing


class Selection:
    """Makes chains; equal ones are shared."""

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        self._environment = profile.environment()
        self._hide_sharing = hides_sharing(profile)
        self._chains: dict[Hashable, Chain] = {}
        self._steps: dict[tuple[str, str, bool, int], SelectorStep] = {}

    def chain(self, claim: ResourceClaim, device_class: DeviceClass, selectors: Sequence[DeviceSelector]) -> Chain:
        """The chain of a request; every selector must have an expression."""
        class_owner = f"class {device_class.meta.name}"
        claim_owner = (
            f"claim {claim.meta.namespace}/{claim.meta.name}" if claim.meta.namespace else f"claim {claim.meta.name}"
        )
        wanted = [(class_owner, s.cel or "", True, i) for i, s in enumerate(device_class.selectors)]
        wanted += [(claim_owner, s.cel or "", False, i) for i, s in enumerate(selectors)]
        key = (id(device_class), *wanted)
        chain = self._chains.get(key)
        if chain is None:
            chain = Chain([self._step(*item) for item in wanted], self._hide_sharing)
            self._chains[key] = chain
        return chain

    def _step(self, owner: str, expression: str, by_class: bool, index: int) -> SelectorStep:
        key = (owner, expression, by_class, index)
        step = self._steps.get(key)
        if step is None:
            step = SelectorStep(compile_selector(expression, self._environment), owner, by_class, index)
            self._steps[key] = step
        return step

    def error_text(self, verdict: Verdict, device: DeviceId) -> str:
        """kube-scheduler's text for a failed verdict on a device."""
        assert verdict.selector is not None
        where = f"{verdict.owner}: selector #{verdict.index}"
        if verdict.selector.error is not None:
            return f"{where}: CEL compile error: {verdict.selector.error}"
        if not self.profile.is_at_least(37):
            return f"{where}: CEL runtime error: {verdict.error}"
        hint = _HINT if "no such key:" in (verdict.error or "") else ""
        return f"{where} on device {id_text(device)}: CEL runtime error: {verdict.error}{hint}"
