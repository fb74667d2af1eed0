"""The table of rules is whole: codes, names and texts."""

import re

import pytest

from dractl.rules import registry
from dractl.rules.finding import Category, Location, ObjectRef, Rule, Severity

RULES = [rule for table in registry._TABLES for rule in table]


def test_codes_and_names_are_unique():
    assert len({rule.code for rule in RULES}) == len(RULES)
    assert len({rule.name for rule in RULES}) == len(RULES)


def test_each_file_holds_its_own_range():
    for digit, table in enumerate(registry._TABLES):
        assert [rule.code for rule in table if not rule.code.startswith(f"DRA{digit}")] == []


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_a_rule_says_what_why_and_what_to_do(rule):
    assert re.fullmatch(r"DRA\d{3}", rule.code)
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", rule.name)
    assert rule.title
    assert rule.title[-1] != "."
    assert rule.cause.endswith((".", "`", ")"))
    assert rule.fix.endswith((".", "`", ")"))


def test_finding_carries_the_rule_and_leaves_out_what_is_unset():
    sample = Rule("DRA299", "sample", "A sample", Severity.WARNING, cause="Because.", fix="Change it.")
    found = sample.finding("m", ObjectRef("ResourceClaim", "c", "ns"), Location("f.yaml", 3, 5, "spec"), hint="h")
    assert sample.category is Category.ALLOCATION
    assert found.to_json() == {
        "code": "DRA299",
        "severity": "warning",
        "message": "m",
        "subject": {"kind": "ResourceClaim", "namespace": "ns", "name": "c"},
        "location": {"file": "f.yaml", "line": 3, "column": 5, "path": "spec"},
        "hint": "h",
    }
    assert str(found.subject) == "ResourceClaim ns/c"
    assert str(found.location) == "f.yaml:3:5"


def test_lookup_by_code_in_any_case_and_unknown():
    for rule in RULES[:1]:
        assert registry.rule(rule.code.lower()) is rule
        assert registry.rule(rule.name) is rule
    with pytest.raises(KeyError):
        registry.rule("DRA000X")


def test_severity_order():
    assert Severity.ERROR.at_least(Severity.WARNING)
    assert not Severity.INFO.at_least(Severity.WARNING)
