"""The page of rules is what the registry says."""

from pathlib import Path

from dractl.render.rulebook import to_markdown
from dractl.rules.registry import all_rules

PAGE = Path(__file__).parents[2] / "docs" / "rules.md"


def test_the_page_is_up_to_date():
    assert PAGE.read_text("utf-8") == to_markdown(all_rules().values()), "write it: dractl rules -o markdown"


def test_every_rule_is_told_by_explain(dractl):
    for code, rule in list(all_rules().items())[::7]:
        run = dractl("explain", code)
        assert run.code == 0
        assert rule.title in run.out


def test_rules_are_listed_and_searched(dractl):
    assert dractl("rules").out.count("\n") == len(all_rules())
    assert all(line.startswith("DRA03") for line in dractl("rules", "DRA03").out.splitlines())
    assert "DRA031" in dractl("rules", "expensive").out
    assert dractl("rules", "no-such-word").code == 2
