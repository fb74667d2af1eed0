"""What an explanation says: one sentence, further facts, advice and findings, as they are put together."""

from __future__ import annotations

from dataclasses import dataclass, field

from dractl.explain.words import sentence
from dractl.rules.finding import Finding


@dataclass(slots=True)
class Answer:
    """``summary`` comes first and is enough by itself; ``details`` are further facts, ``actions`` next steps."""

    summary: str = ""
    details: list[str] = field(default_factory=list)
    actions: list[str] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def say(self, text: str) -> None:
        """Add a fact; the first one becomes the summary. What was said already is not said again."""
        full = sentence(text)
        if not self.summary:
            self.summary = full
        elif full != self.summary and full not in self.details:
            self.details.append(full)

    def advise(self, text: str) -> None:
        """Add a next step."""
        full = sentence(text)
        if full not in self.actions:
            self.actions.append(full)

    def find(self, finding: Finding) -> None:
        """Add a finding once."""
        if all((one.code, one.message) != (finding.code, finding.message) for one in self.findings):
            self.findings.append(finding)

    def note(self, text: str) -> None:
        """Add a remark about what was not seen or not judged."""
        full = sentence(text)
        if full not in self.notes:
            self.notes.append(full)
