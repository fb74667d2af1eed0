"""Run the checks on a cluster and put the answer together."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from dractl.diagnose.check import CATEGORIES, Check, Context
from dractl.diagnose.damage import damage
from dractl.diagnose.registry import CHECKS
from dractl.explain.claim import Question
from dractl.report import API_VERSION
from dractl.rules import allocation, conflicts, itself, lifecycle
from dractl.rules.finding import Finding, Outcome, Severity


@dataclass(slots=True)
class CheckView:
    """How one check ended: passed, found, skipped (with the reason) or failed (a fault of dractl)."""

    code: str
    name: str
    title: str
    category: str
    outcome: str
    findings: int = 0
    reason: str = ""


@dataclass(slots=True)
class Diagnosis:
    """The answer to ``dractl diagnose``. ``findings`` are sorted: the worst first."""

    source: str
    kubernetes: str
    taken: str | None
    categories: list[str]
    summary: dict[str, int] = field(default_factory=dict)
    """Findings by severity."""
    checks: list[CheckView] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    ignored: int = 0
    """Checks left out by --ignore or --select."""
    notes: list[str] = field(default_factory=list)

    def worst(self) -> Severity | None:
        """The severity of the worst finding."""
        return max((item.severity for item in self.findings), key=lambda one: one.rank, default=None)

    def to_json(self) -> dict[str, Any]:
        """The report as plain data."""
        checks = [
            {
                "code": item.code,
                "name": item.name,
                "title": item.title,
                "category": item.category,
                "outcome": item.outcome,
                "findings": item.findings,
                "reason": item.reason,
            }
            for item in self.checks
        ]
        return {
            "apiVersion": API_VERSION,
            "kind": "Diagnosis",
            "source": self.source,
            "kubernetes": self.kubernetes,
            **({"taken": self.taken} if self.taken else {}),
            "categories": self.categories,
            "summary": self.summary,
            "checks": checks,
            "findings": [item.to_json() for item in self.findings],
            "ignored": self.ignored,
            "notes": self.notes,
        }


def diagnose(
    question: Question,
    categories: Collection[str] = (),
    select: Collection[str] = (),
    ignore: Collection[str] = (),
    context: Context | None = None,
) -> Diagnosis:
    """Run all checks of the categories (none given: of all).

    Args:
        question: the cluster, its release and profile.
        categories: names in ``dractl.diagnose.check.CATEGORIES``.
        select: codes, or beginnings of codes (``DRA4``), of which findings are kept; none given: all.
        ignore: codes, or beginnings of codes, of which findings are left out.
        context: what a caller who also shows the explanations has made for the same question.
    """
    context = context or Context(question)
    inventory = question.inventory
    chosen = [name for name in CATEGORIES if not categories or name in categories]
    report = Diagnosis(
        inventory.provenance.description, question.release.full, inventory.provenance.taken or inventory.as_of, chosen
    )
    if question.release.source.startswith("assumed"):
        report.notes.append(f"the input does not say which Kubernetes it is of; {question.release.minor} is assumed")
    wanted = context.asked or "hardware" in categories
    for check in checks_of(chosen, select, ignore):
        if check.category != "hardware" or wanted:
            _run(context, check, report)
    if "hardware" in chosen and not wanted:
        report.notes.append(
            "hardware is compared by dractl diagnose hardware (with node agents), or on a node: dractl discover "
            "--compare"
        )
    for kind, reason in sorted(inventory.provenance.unseen.items()):
        report.findings.append(itself.NOT_SEEN.finding(f"{kind} could not be read: {reason}"))
    report.findings = _once(report.findings)
    report.findings.sort(key=damage)
    report.summary = {one.value: sum(item.severity is one for item in report.findings) for one in Severity}
    report.ignored = len(checks_of(chosen)) - len(checks_of(chosen, select, ignore))
    return report


def checks_of(categories: Collection[str], select: Collection[str] = (), ignore: Collection[str] = ()) -> list[Check]:
    """The checks that such a choice leaves; arguments as of ``diagnose``."""
    return [
        check
        for check in CHECKS
        if (not categories or check.category in categories) and not _unwanted(check.rule.code, select, ignore)
    ]


def _once(findings: list[Finding]) -> list[Finding]:
    """Without the claims that wait for nothing but what another finding names already, with them in it."""
    told = {str(ref) for item in findings if item.code == allocation.UNKNOWN_CLASS.code for ref in item.related}
    refusing = {str(item.subject) for item in findings if item.code == lifecycle.QUOTA.code}
    return [
        item
        for item in findings
        if not (
            item.code == conflicts.CLAIM_PENDING.code
            and str(item.subject) in told
            and allocation.UNKNOWN_CLASS.code in item.evidence.get("codes", ())
        )
        and not (item.code == conflicts.QUOTA_EXHAUSTED.code and str(item.subject) in refusing)
    ]


def _unwanted(code: str, select: Collection[str], ignore: Collection[str]) -> bool:
    return (bool(select) and not code.startswith(tuple(select))) or code.startswith(tuple(ignore))


def _run(context: Context, check: Check, report: Diagnosis) -> None:
    rule = check.rule
    view = CheckView(rule.code, rule.name, rule.title, check.category, Outcome.PASSED.value)
    report.checks.append(view)
    blocked = check.blocked(context.inventory)
    if check.category == "hardware" and not context.asked:
        blocked = "no node report was read: they come from a running cluster, without --watch"
    if blocked:
        view.outcome, view.reason = Outcome.SKIPPED.value, blocked
        return
    try:
        found = list(check.run(context))
    except Exception as error:  # one check's fault must not hide what the others see
        view.outcome, view.reason = Outcome.FAILED.value, f"{type(error).__name__}: {error}"
        report.findings.append(itself.CHECK_FAILED.finding(f"check {rule.code} {rule.name} failed: {view.reason}"))
        return
    if found:
        view.outcome, view.findings = Outcome.FOUND.value, len(found)
        report.findings.extend(found)
