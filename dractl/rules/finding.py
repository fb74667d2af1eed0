"""What a check reports: a finding, what it is about and where that was written; and the rule that it breaks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any


class Severity(Enum):
    """How bad a finding is. ``rank`` grows with it; compare with :meth:`at_least`."""

    ERROR = "error"
    """Wrong: it is refused, or it does not work as written."""
    WARNING = "warning"
    """It works, but not as somebody would expect, or not for long."""
    INFO = "info"
    """Worth knowing."""

    @property
    def rank(self) -> int:
        """3 for error, 2 for warning, 1 for info."""
        return {"error": 3, "warning": 2, "info": 1}[self.value]

    def at_least(self, other: Severity) -> bool:
        """Whether this is as bad as ``other`` or worse."""
        return self.rank >= other.rank


class Category(Enum):
    """The area of a rule; its first digit of the code says the same."""

    MANIFESTS = "manifests"
    ADVICE = "advice"
    ALLOCATION = "allocation"
    LIFECYCLE = "lifecycle"
    PUBLICATION = "publication"
    TOPOLOGY = "topology"
    HARDWARE = "hardware"
    ACCESS = "access"
    SCHEDULER = "scheduler"
    DRACTL = "dractl"


CATEGORY_BY_DIGIT: Mapping[str, Category] = {
    "0": Category.MANIFESTS,
    "1": Category.ADVICE,
    "2": Category.ALLOCATION,
    "3": Category.LIFECYCLE,
    "4": Category.PUBLICATION,
    "5": Category.TOPOLOGY,
    "6": Category.HARDWARE,
    "7": Category.ACCESS,
    "8": Category.SCHEDULER,
    "9": Category.DRACTL,
}
"""The digit after ``DRA`` and its area. Codes are never renumbered or used again."""


@dataclass(frozen=True, slots=True)
class ObjectRef:
    """An object of the cluster, a device (kind ``Device``, name ``driver/pool/device``) or a host (kind ``Host``)."""

    kind: str
    name: str
    namespace: str = ""
    api_version: str = ""

    def __str__(self) -> str:
        name = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"{self.kind} {name}" if self.name else self.kind


@dataclass(frozen=True, slots=True)
class Location:
    """Where something is written. ``line`` and ``column`` count from 1; ``path`` is the field (``spec.devices``)."""

    file: str = ""
    line: int | None = None
    column: int | None = None
    path: str = ""

    def __str__(self) -> str:
        parts = [self.file] if self.file else []
        if self.line is not None:
            parts.append(str(self.line))
            if self.column is not None:
                parts.append(str(self.column))
        return ":".join(parts) or self.path


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing found.

    ``message`` is one sentence in the reader's terms with the names and values that prove it; ``evidence`` holds what
    it was drawn from as plain JSON; ``hint`` is the next step for this very case (the rule's ``fix`` is the general
    one). ``severity`` is usually the rule's.
    """

    code: str
    severity: Severity
    message: str
    subject: ObjectRef | None = None
    location: Location | None = None
    evidence: Mapping[str, Any] = field(default_factory=dict)
    hint: str = ""
    related: tuple[ObjectRef, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The form of a finding in every JSON report; fields without a value are left out."""
        out: dict[str, Any] = {"code": self.code, "severity": self.severity.value, "message": self.message}
        if self.subject is not None:
            out["subject"] = _ref_json(self.subject)
        if self.location is not None:
            place = {
                "file": self.location.file,
                "line": self.location.line,
                "column": self.location.column,
                "path": self.location.path,
            }
            out["location"] = {name: value for name, value in place.items() if value not in ("", None)}
        if self.related:
            out["related"] = [_ref_json(ref) for ref in self.related]
        if self.evidence:
            out["evidence"] = dict(self.evidence)
        if self.hint:
            out["hint"] = self.hint
        return out


@dataclass(frozen=True, slots=True)
class Rule:
    """What a code means, once for every output: SARIF, JUnit, ``explain DRAnnn`` and the documentation.

    ``code`` is ``DRA`` and three digits, ``name`` a stable slug (``unknown-class``), ``title`` a short noun phrase.
    ``cause`` explains how it comes about and what follows, ``example`` shows it, ``fix`` says what to do,
    ``reference`` names the source (a KEP, an API field, a document's address). ``needs`` lists the kinds that a check
    must have seen (``ResourceSlice``, ``DeviceClass``...); where one was not readable the check is skipped, not passed.
    """

    code: str
    name: str
    title: str
    severity: Severity
    cause: str
    fix: str
    example: str = ""
    reference: str = ""
    needs: tuple[str, ...] = ()

    @property
    def category(self) -> Category:
        """The area that the first digit names."""
        return CATEGORY_BY_DIGIT[self.code[3]]

    def finding(
        self,
        message: str,
        subject: ObjectRef | None = None,
        location: Location | None = None,
        *,
        evidence: Mapping[str, Any] | None = None,
        hint: str = "",
        severity: Severity | None = None,
        related: tuple[ObjectRef, ...] = (),
    ) -> Finding:
        """A finding of this rule."""
        return Finding(self.code, severity or self.severity, message, subject, location, evidence or {}, hint, related)


class Outcome(Enum):
    """How one check ended. ``PASSED`` is said only of something that was looked at."""

    PASSED = "passed"
    FOUND = "found"
    SKIPPED = "skipped"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class CheckResult:
    """One check's end: ``reason`` says why it was skipped (not readable, not in the snapshot) or how it failed."""

    code: str
    outcome: Outcome
    reason: str = ""

    def to_json(self) -> dict[str, Any]:
        """The form of a check in every JSON report."""
        out = {"code": self.code, "outcome": self.outcome.value}
        if self.reason:
            out["reason"] = self.reason
        return out


def _ref_json(ref: ObjectRef) -> dict[str, str]:
    fields = {"apiVersion": ref.api_version, "kind": ref.kind, "namespace": ref.namespace, "name": ref.name}
    return {name: value for name, value in fields.items() if value}
