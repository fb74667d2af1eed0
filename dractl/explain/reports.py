"""What ``dractl explain device``, ``node`` and ``class`` answer, as plain data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from dractl.explain.report import HolderView, Json
from dractl.report import API_VERSION, to_plain
from dractl.rules.finding import Finding


@dataclass(slots=True)
class AskView:
    """A pending request in the eyes of a device or node: ``code`` is the refusal, or None where it could be served."""

    claim: str
    request: str
    code: str | None
    text: str


@dataclass(slots=True)
class ClassView:
    """Whether a class selects a device, and why not."""

    name: str
    selects: bool
    text: str


@dataclass(slots=True)
class DeviceExplanation:
    """The answer to ``dractl explain device``: who has it, who could have it, and why not."""

    device: str
    node: str | None
    state: Literal["free", "used", "shared", "blocked", "tainted", "unpublished"]
    summary: str
    details: list[str] = field(default_factory=list)
    attributes: dict[str, str] = field(default_factory=dict)
    capacity: dict[str, str] = field(default_factory=dict)
    taints: list[str] = field(default_factory=list)
    holders: list[HolderView] = field(default_factory=list)
    classes: list[ClassView] = field(default_factory=list)
    claims: list[AskView] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)

    def to_json(self) -> Json:
        """The whole report."""
        return _report("DeviceExplanation", self)


@dataclass(slots=True)
class DriverOnNode:
    """The devices of one driver on one node, by state."""

    driver: str
    devices: int
    free: int
    used: int
    tainted: int
    blocked: int
    pools: list[str] = field(default_factory=list)


@dataclass(slots=True)
class NodeExplanation:
    """The answer to ``dractl explain node``: its devices, who has them, and which pending claims it could serve."""

    node: str
    summary: str
    details: list[str] = field(default_factory=list)
    drivers: list[DriverOnNode] = field(default_factory=list)
    holders: list[HolderView] = field(default_factory=list)
    claims: list[AskView] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)

    def to_json(self) -> Json:
        """The whole report."""
        return _report("NodeExplanation", self)


@dataclass(slots=True)
class MissView:
    """Devices that a class does not select, for one reason."""

    devices: int
    example: str
    text: str


@dataclass(slots=True)
class ClassExplanation:
    """The answer to ``dractl explain class``: which devices it selects, which nearly, and who asks for it."""

    name: str
    summary: str
    details: list[str] = field(default_factory=list)
    selected: int = 0
    free: int = 0
    by_node: dict[str, int] = field(default_factory=dict)
    misses: list[MissView] = field(default_factory=list)
    claims: list[AskView] = field(default_factory=list)
    extended_resource: str | None = None
    findings: list[Finding] = field(default_factory=list)

    def to_json(self) -> Json:
        """The whole report."""
        return _report("ClassExplanation", self)


def _report(kind: str, value: DeviceExplanation | NodeExplanation | ClassExplanation) -> Json:
    plain = {key: item for key, item in to_plain(value).items() if key != "findings"}
    return {
        "apiVersion": API_VERSION,
        "kind": kind,
        **plain,
        "findings": [finding.to_json() for finding in value.findings],
    }
