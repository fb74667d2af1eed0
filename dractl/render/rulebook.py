"""The page of all rules, in Markdown; docs/rules.md is what this makes of the registry."""

from __future__ import annotations

from collections.abc import Iterable

from dractl.rules.finding import Category, Rule

_TITLES = {
    Category.MANIFESTS: "DRA0xx: manifests that are refused",
    Category.ADVICE: "DRA1xx: advice on manifests, releases and gates",
    Category.ALLOCATION: "DRA2xx: allocation",
    Category.LIFECYCLE: "DRA3xx: life cycle of claims",
    Category.PUBLICATION: "DRA4xx: publication and drivers",
    Category.TOPOLOGY: "DRA5xx: topology",
    Category.HARDWARE: "DRA6xx: hardware",
    Category.ACCESS: "DRA7xx: access",
    Category.SCHEDULER: "DRA8xx: scheduler and version faults",
    Category.DRACTL: "DRA9xx: dractl itself",
}
_HEAD = """# Rules

What each code means. `dractl explain DRA010` prints one, `dractl rules` lists them, and SARIF, JUnit and the other
outputs carry the same texts. This page is written by `dractl rules -o markdown`.
"""


def to_markdown(rules: Iterable[Rule]) -> str:
    """The page."""
    rows = [_HEAD]
    category = None
    for rule in rules:
        if rule.category is not category:
            category = rule.category
            rows.append(f"## {_TITLES[category]}\n")
        rows.append(_rule(rule))
    return "\n".join(rows).rstrip("\n") + "\n"


def _rule(rule: Rule) -> str:
    rows = [f'### <a id="{rule.code.lower()}"></a>{rule.code}: {rule.title}', ""]
    rows += [f"`{rule.name}`, {rule.severity.value}", "", rule.cause, ""]
    if rule.example:
        rows += ["```", rule.example, "```", ""]
    rows += [f"**Fix.** {rule.fix}", ""]
    if rule.reference:
        rows += [f"Source: {rule.reference}", ""]
    return "\n".join(rows)
