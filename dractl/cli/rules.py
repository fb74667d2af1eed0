"""``dractl rules``: the rules behind the codes."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from dractl.cli.app import new_app
from dractl.cli.output import emit, emit_report
from dractl.errors import DractlError

if TYPE_CHECKING:
    from dractl.rules.finding import Rule

app = new_app(help="List the rules behind the DRA codes.")


class RuleFormat(StrEnum):
    """Output formats of the list."""

    TEXT = "text"
    JSON = "json"
    YAML = "yaml"
    MARKDOWN = "markdown"


@app.command()
def rules(
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="[CODE|CATEGORY|WORD]...", help="Only these: DRA1, manifests, a word of the title."),
    ] = None,
    output: Annotated[
        RuleFormat, typer.Option("--output", "-o", help="Output format.", show_default=False)
    ] = RuleFormat.TEXT,
) -> None:
    """List the rules behind the DRA codes; 'dractl explain DRA010' tells one with its cause and fix."""
    from dractl.rules.registry import all_rules

    chosen = [rule for rule in all_rules().values() if not words or any(_meant(rule, word) for word in words)]
    if not chosen:
        raise DractlError(f"no rule for {' '.join(words or [])}", "'dractl rules' without words lists all.")
    if output is RuleFormat.MARKDOWN:
        from dractl.render.rulebook import to_markdown

        emit(to_markdown(chosen))
        return
    report = {
        "apiVersion": "dractl.dev/v1alpha1",
        "kind": "RuleList",
        "items": [
            {
                "code": rule.code,
                "name": rule.name,
                "title": rule.title,
                "severity": rule.severity.value,
                "category": rule.category.value,
            }
            for rule in chosen
        ],
    }
    emit_report(report, output, lambda _: _table(chosen))


def _meant(rule: Rule, word: str) -> bool:
    if rule.code.startswith(word.upper()):
        return True
    lowered = word.lower()
    return lowered in (rule.category.value, rule.severity.value) or lowered in f"{rule.name} {rule.title}".lower()


def _table(chosen: list[Rule]) -> str:
    width = max(len(rule.name) for rule in chosen)
    return "\n".join(f"{rule.code}  {rule.severity.value:<7}  {rule.name:<{width}}  {rule.title}" for rule in chosen)
