"""DRA8xx: faults and limits of the scheduler and of particular releases."""

from __future__ import annotations

from dractl.rules.finding import Rule

RULES: tuple[Rule, ...] = ()
