"""DRA9xx: dractl itself: what it could not see or decide."""

from __future__ import annotations

from dractl.rules.finding import Rule

RULES: tuple[Rule, ...] = ()
