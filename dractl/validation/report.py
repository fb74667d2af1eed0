"""The result of a validation as plain data, in the form that every renderer takes."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from dractl.report import API_VERSION
from dractl.rules import manifests as rules
from dractl.rules.finding import Finding, Severity

_OF_THE_VERSION = frozenset(
    rule.code for rule in (rules.UNKNOWN_KIND, rules.UNKNOWN_VERSION, rules.REMOVED_VERSION, rules.NOT_SERVED)
)
TOOL = "dractl"
ADDRESS = "https://github.com/dractl/dractl"
MESSAGE_LIMIT = 800
SERVER_LIMIT = 4000
"""Characters of our own and of the server's sentences; a value of megabytes may be part of them."""


@dataclass(slots=True)
class Item:
    """One finding with the line that it stands in.

    ``excerpt`` is the text of the line (cut if it is very long), ``excerpt_column`` the column in it (from 1) and
    ``length`` how many characters are meant. ``key_line`` is the line of the key that the value belongs to.
    """

    finding: Finding
    excerpt: str = ""
    excerpt_column: int = 0
    length: int = 1
    key_line: int = 0
    document: int = 0
    also: list[int] = field(default_factory=list)

    @property
    def server(self) -> str:
        """What the API server itself says."""
        return str(self.finding.evidence.get("apiServer", ""))

    @property
    def note(self) -> str:
        """What happens without strict checking, or another remark."""
        return str(self.finding.evidence.get("note", ""))

    @property
    def file(self) -> str:
        """The file, or an empty text."""
        return self.finding.location.file if self.finding.location else ""

    @property
    def line(self) -> int:
        """The line, 0 if unknown."""
        return (self.finding.location.line or 0) if self.finding.location else 0

    @property
    def column(self) -> int:
        """The column, 0 if unknown."""
        return (self.finding.location.column or 0) if self.finding.location else 0

    def fingerprint(self) -> str:
        """What stays the same when lines move: code, file, object, field and the server's words (or ours)."""
        found = self.finding
        path = found.location.path if found.location else ""
        parts = (found.code, self.file, str(found.subject or ""), path, self.server or found.message)
        return hashlib.sha256("\x00".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:32]


@dataclass(slots=True)
class ObjectResult:
    """One object and its verdict: accepted, accepted-with-warning, rejected or passed-over."""

    file: str
    document: int
    line: int
    api_version: str
    kind: str
    namespace: str
    name: str
    verdict: str
    defaults: list[str] = field(default_factory=list)
    stored: dict[str, Any] | None = None
    warnings: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """The form in the JSON report; what is not set is left out."""
        found = {
            "file": self.file,
            "document": self.document,
            "line": self.line,
            "apiVersion": self.api_version,
            "kind": self.kind,
            "namespace": self.namespace,
            "name": self.name,
            "verdict": self.verdict,
            "serverWarnings": self.warnings,
            "stored": self.stored,
        }
        return {name: value for name, value in found.items() if value not in ("", None, [])}


@dataclass(slots=True)
class FleetResult:
    """How a claim or template stands against a fleet with what is in use now.

    ``nodes`` counts those to which pods can be scheduled; ``left_out`` names others that would serve, with the reason;
    ``tainted`` the taints that a pod has to tolerate on some of ``on``.
    """

    file: str
    document: int
    kind: str
    namespace: str
    name: str
    requests: list[dict[str, Any]]
    nodes: int
    fits: int
    on: list[str] = field(default_factory=list)
    note: str = ""
    left_out: dict[str, str] = field(default_factory=dict)
    tainted: dict[str, str] = field(default_factory=dict)
    undecided: int = 0
    allocated: bool = False
    """It has its devices already, so that it was not tried."""

    def to_json(self) -> dict[str, Any]:
        """The form in the JSON report."""
        found: dict[str, Any] = {
            "file": self.file,
            "document": self.document,
            "kind": self.kind,
            "namespace": self.namespace,
            "name": self.name,
            "requests": self.requests,
            "nodes": self.nodes,
            "fitsOnNodes": self.fits,
            "fitsOn": self.on,
            "undecidedOnNodes": self.undecided or "",
            "leftOut": [{"node": name, "reason": reason} for name, reason in self.left_out.items()] or "",
            "tainted": [{"node": name, "taints": taints} for name, taints in self.tainted.items()] or "",
            "allocated": self.allocated or "",
            "note": self.note,
        }
        return {name: value for name, value in found.items() if value != ""}


@dataclass(slots=True)
class ValidationReport:
    """Everything that one run found."""

    kubernetes: str
    items: list[Item] = field(default_factory=list)
    objects: list[ObjectResult] = field(default_factory=list)
    fleet: list[FleetResult] = field(default_factory=list)
    files: int = 0
    passed_over: Counter[str] = field(default_factory=Counter)
    suppressed: int = 0
    in_baseline: int = 0
    unreadable: bool = False
    """Whether some input could not be read."""
    excluded: int = 0
    """Files that were left out by name."""
    counts: Counter[str] = field(default_factory=Counter)
    """Objects by verdict, also where ``objects`` is not kept."""
    gates: dict[str, bool] = field(default_factory=dict)

    def count(self, severity: Severity) -> int:
        """Findings of one severity."""
        return sum(item.finding.severity is severity for item in self.items)

    def verdicts(self) -> Counter[str]:
        """Objects by verdict."""
        return self.counts or Counter(one.verdict for one in self.objects)

    @property
    def verdict(self) -> str:
        """The verdict on everything: the worst of the objects'."""
        found = self.verdicts()
        for verdict in ("rejected", "accepted-with-warning", "accepted"):
            if found[verdict]:
                return verdict
        return "rejected" if self.items else "accepted"

    def at_least(self, threshold: Severity) -> bool:
        """Whether any finding is as bad as a threshold."""
        return any(item.finding.severity.at_least(threshold) for item in self.items)

    def to_json(self) -> dict[str, Any]:
        """The report of ``-o json``."""
        return {
            "apiVersion": API_VERSION,
            "kind": "ValidationReport",
            "kubernetes": self.kubernetes,
            "gates": self.gates,
            "verdict": self.verdict,
            "summary": {
                "files": self.files,
                "objects": self.verdicts().total(),
                "verdicts": dict(sorted(self.verdicts().items())),
                "passedOver": dict(sorted(self.passed_over.items())),
                "errors": self.count(Severity.ERROR),
                "warnings": self.count(Severity.WARNING),
                "notes": self.count(Severity.INFO),
                "suppressed": self.suppressed,
                "inBaseline": self.in_baseline,
            },
            "objects": [one.to_json() for one in self.objects],
            "findings": [item_json(item) for item in self.items],
            **({"fleet": [one.to_json() for one in self.fleet]} if self.fleet else {}),
        }


def cut(text: str, limit: int) -> str:
    """A text with its middle left out where it is too long."""
    if len(text) <= limit:
        return text
    half = (limit - 5) // 2
    return f"{text[:half]} ... {text[-half:]}"


def item_json(item: Item) -> dict[str, Any]:
    """A finding with its line, document and fingerprint."""
    out = item.finding.to_json()
    if item.excerpt:
        out["excerpt"] = item.excerpt
    if item.document:
        out["document"] = item.document
    if item.also:
        out["alsoLines"] = item.also
    out["fingerprint"] = item.fingerprint()
    return out


def in_order(items: Iterable[Item]) -> list[Item]:
    """Findings by file, line and column; files stay in the order in which they were given.

    What is said of an object's version comes before all else about it: it is why the rest is looked at as it is.
    """
    files: dict[str, int] = {}
    first: dict[tuple[Any, ...], int] = {}
    found = list(items)
    for item in found:
        files.setdefault(item.file, len(files))
        about = (item.file, item.document, item.finding.subject)
        first[about] = min(item.line, first.get(about, item.line))

    def place(item: Item) -> tuple[Any, ...]:
        code = item.finding.code
        if code in _OF_THE_VERSION:
            about = (item.file, item.document, item.finding.subject)
            return files[item.file], first[about], 0, item.column, code
        return files[item.file], item.line, 1, item.column, code

    return sorted(found, key=place)
