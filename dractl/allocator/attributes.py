"""The attributes that constraints see: those that drivers publish, and those that a request derives (1.37, alpha).

Source: KEP-6080; ``lookupAttribute`` of the structured allocator.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace

from dractl.allocator.profile import Profile
from dractl.allocator.request import ClaimPlan, RequestSpec
from dractl.cel.derived import DerivedError, derive
from dractl.cel.selector import Selector, compile_selector
from dractl.kube.objects import Device, DeviceAttribute, DeviceRequest

Lookup = Callable[[RequestSpec, str, Device, str], DeviceAttribute | None]
"""Gives the attribute that a constraint sees: (request, driver, device, name)."""


class DerivedFailure(Exception):
    """A request's expression gives no attribute for a device, which ends the scheduling of the pod."""

    def __init__(self, name: str, error: str, compiling: bool) -> None:
        super().__init__(error)
        self.name = name
        self.error = error
        self.compiling = compiling

    def text(self, device: str) -> str:
        """kube-scheduler's text, for a device's ``driver/pool/name``."""
        if self.compiling:
            return f"compile derived attribute {self.name} failed: {self.error}"
        return f"evaluate derived attribute {self.name} on device {device} failed: {self.error}"


def published_attribute(driver: str, device: Device, name: str) -> DeviceAttribute | None:
    """The published attribute of a fully qualified name: as written, or without the domain if that is the driver."""
    found = device.attributes.get(name)
    if found is None:
        domain, slash, rest = name.partition("/")
        if slash and domain == driver:
            found = device.attributes.get(rest)
    return found


def _published(spec: RequestSpec, driver: str, device: Device, name: str) -> DeviceAttribute | None:
    return published_attribute(driver, device, name)


class Attributes:
    """Looks up attributes under one profile; expressions are evaluated once for devices that look alike to them."""

    def __init__(self, profile: Profile) -> None:
        self._environment = replace(profile.environment(), derived_attribute=True)
        self._on = profile.features.derived_attributes
        self._known: dict[tuple[str, Hashable], DeviceAttribute | str] = {}

    def lookup(self, plans: Sequence[ClaimPlan]) -> Lookup:
        """``of`` for some claims, without detour where none of their requests derives anything."""
        specs = (spec for plan in plans for request in plan.requests for spec in request.specs)
        derives = self._on and any(spec is not None and spec.request.derived_attributes for spec in specs)
        return self.of if derives else _published

    def of(self, spec: RequestSpec, driver: str, device: Device, name: str) -> DeviceAttribute | None:
        """The attribute that a constraint on a request sees; what the request derives goes before what is published.

        Raises:
            DerivedFailure: when it cannot be derived.
        """
        return self.of_request(spec.request, driver, device, name)

    def of_request(self, request: DeviceRequest, driver: str, device: Device, name: str) -> DeviceAttribute | None:
        """The same for a request or alternative as the claim has it."""
        expression = self.derivation(request, name)
        if expression is None:
            return published_attribute(driver, device, name)
        return self._derived(compile_selector(expression, self._environment), driver, device, name)

    def expression(self, spec: RequestSpec, name: str) -> str | None:
        """The expression with which a request derives an attribute, if it does."""
        return self.derivation(spec.request, name)

    def derivation(self, request: DeviceRequest, name: str) -> str | None:
        """The same for a request or alternative as the claim has it."""
        if not self._on:
            return None
        found = None
        for item in request.derived_attributes:
            if item.name == name:
                found = item.expression  # of equal names the last counts
        return found

    def _derived(self, selector: Selector, driver: str, device: Device, name: str) -> DeviceAttribute:
        if selector.error is not None:
            raise DerivedFailure(name, selector.error, True)
        key = (selector.expression, selector.projection(driver, device))
        found = self._known.get(key)
        if found is None:
            try:
                found = derive(selector, driver, device)
            except DerivedError as error:
                found = str(error)
            self._known[key] = found
        if isinstance(found, str):
            raise DerivedFailure(name, found, False)
        return found

    def key(self, spec: RequestSpec, driver: str, device: Device, name: str) -> Hashable:
        """A key: devices with equal keys look alike to a constraint on this attribute."""
        try:
            found = self.of(spec, driver, device, name)
        except DerivedFailure as failure:
            return failure.error
        return None if found is None else (found.kind, found.value)
