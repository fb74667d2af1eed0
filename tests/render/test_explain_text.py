"""The text of an explanation lays out its report and says nothing that the report lacks."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from dractl.render.text.explain import render_claim, render_pod
from dractl.render.text.terminal import Terminal

CASES = Path(__file__).parent.parent / "cases"
WIDE = Terminal(width=100_000)

# the layout's own words; every other word of a text has to be in its report
_LAYOUT = set(
    re.findall(
        r"\S+",
        """
    - > x all request admin access published in usable pools the class match selectors have capacity not tainted free
    counters left within constraints on nodes pod may use near value node devices claims allocation by what would help
    each tried out to do events notes worth a look more More about dractl explain fits times last ago wanted be prepared
    for used still named finished reserved vanished pods pending
    cannot hold together being deleted and its claim is missing values wide
    shows them groups those of other classes among o
    """,
    )
)


def _reports(dractl):
    commands = [
        ["explain", "claim", name, "-n", namespace, "--demo"]
        for namespace, name in [("ml", "pair-on-h100-1"), ("research", "all-nics-cpu"), ("research", "sixteen")]
    ]
    commands.append(["explain", "pod", "missing-template", "-n", "research", "--demo"])
    for folder in sorted(CASES.iterdir()):
        if not (folder / "expect.md").exists():
            continue
        found = re.search(r"command: `dractl (explain .*?)`", (folder / "expect.md").read_text(encoding="utf-8"))
        if found:
            commands.append([str(folder / word) if word == "objects.yaml" else word for word in found[1].split()])
    for command in commands:
        yield command, json.loads(dractl(*command, "-o", "json").out)


def _strings(value) -> list[str]:
    if isinstance(value, dict):
        return [text for key, item in value.items() for text in [key, *_strings(item)]]
    if isinstance(value, list):
        return [text for item in value for text in _strings(item)]
    return [str(value)] if value is not None else []


def _words(text: str) -> set[str]:
    return {word for word in re.split(r"[^\w./:-]+", text) if word.strip("./:-_")}


def test_the_text_has_no_word_that_the_report_lacks(dractl):
    for command, report in _reports(dractl):
        known = {word.strip("./:-") for word in _words(" ".join(_strings(report)))}
        text = render_pod(report, WIDE) if report["kind"] == "PodExplanation" else render_claim(report, WIDE)
        own = {word.strip("./:-") for word in _words(text)} - known
        rest = {word for word in own if word not in _LAYOUT and not re.fullmatch(r"\d+|x\d+", word)}
        numbers = {word for word in own if word.isdigit()}
        joined = {f"{one['namespace']}/{one['name']}" for one in _named(report)}
        assert rest <= joined | set(_devices(report)), command
        assert len(numbers) <= 6, f"{numbers} in {' '.join(command)}"


def _named(report) -> list[dict]:
    claims = [claim["claim"] for claim in report.get("claims", [])]
    return [report.get("claim", report.get("pod")), *report["pods"], *claims]


def _devices(report) -> list[str]:
    allocation = report.get("allocation") or {"results": []}
    for claim in report.get("claims", []):
        yield from _devices(claim)
    yield from (f"{one['driver']}/{one['pool']}/{one['device']}" for one in allocation["results"])


def test_every_sentence_of_the_report_is_shown(dractl):
    for command, report in _reports(dractl):
        text = render_pod(report, WIDE) if report["kind"] == "PodExplanation" else render_claim(report, WIDE)
        told = [report["summary"], *report["details"], *report["actions"], *report["notes"]]
        told += [fix["text"] for fix in report["fixes"]]
        for sentence in told:
            assert " ".join(sentence.split()) in " ".join(text.split()), f"{sentence!r} in {' '.join(command)}"


@pytest.mark.parametrize("width", [40, 72, 100])
def test_lines_keep_to_the_terminal(dractl, width):
    _, report = next(_reports(dractl))
    text = render_claim(report, Terminal(width=width))
    prose = [line for line in text.splitlines() if line.startswith("  - ")]
    assert prose
    assert all(len(line) <= width or " " not in line.strip("- ") for line in prose)


def test_control_characters_of_the_cluster_do_not_reach_the_terminal(dractl):
    _, report = next(_reports(dractl))
    report["summary"] = "evil \x1b[2J name"
    assert "\x1b" not in render_claim(report)


def test_colour_only_where_it_is_asked_for(dractl):
    _, report = next(_reports(dractl))
    assert "\x1b" not in render_claim(report)
    assert "\x1b[1m" in render_claim(report, Terminal(colour=True))
