"""``dractl explain DRAnnn`` as text: what a code means."""

from __future__ import annotations

import textwrap

from dractl.render.text.terminal import PLAIN, Terminal
from dractl.rules.finding import Rule


def render_rule(rule: Rule, terminal: Terminal = PLAIN) -> str:
    """The rule's title, how it comes about, an example, and what to do."""
    lines = [terminal.bold(f"{rule.code} {rule.name}: {rule.title}"), ""]
    lines += _wrapped(rule.cause, terminal)
    if rule.example:
        lines += ["", *(f"    {line}" for line in rule.example.rstrip().splitlines())]
    lines += ["", *_wrapped(f"What to do: {rule.fix}", terminal)]
    severity = f"Severity: {rule.severity.value}"
    lines += ["", f"{severity}. Source: {rule.reference}." if rule.reference else f"{severity}."]
    return "\n".join(lines) + "\n"


def _wrapped(text: str, terminal: Terminal) -> list[str]:
    return textwrap.wrap(text, max(40, terminal.width), break_long_words=False, break_on_hyphens=False)
