"""All rules, by code. The files of rules are listed here explicitly, one for each range of codes."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from dractl.rules import (
    access,
    advice,
    allocation,
    hardware,
    itself,
    lifecycle,
    manifests,
    publication,
    scheduler,
    topology,
    workloads,
)
from dractl.rules.finding import Rule

_TABLES: tuple[tuple[Rule, ...], ...] = (
    manifests.RULES,
    (*advice.RULES, *workloads.RULES),
    allocation.RULES,
    lifecycle.RULES,
    publication.RULES,
    topology.RULES,
    hardware.RULES,
    access.RULES,
    scheduler.RULES,
    itself.RULES,
)


@cache
def all_rules() -> Mapping[str, Rule]:
    """Every rule by its code, in order of codes."""
    rules = [rule for table in _TABLES for rule in table]
    return {rule.code: rule for rule in sorted(rules, key=lambda rule: rule.code)}


def rule(code: str) -> Rule:
    """The rule of a code (``DRA201``, in any case) or of a name (``unknown-class``). KeyError if there is none."""
    known = all_rules()
    if code.upper() in known:
        return known[code.upper()]
    for candidate in known.values():
        if candidate.name == code:
            return candidate
    raise KeyError(code)
