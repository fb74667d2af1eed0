"""DRA3xx: claims that are stuck on their way from creation to deletion."""

from __future__ import annotations

from dractl.rules.finding import Rule

RULES: tuple[Rule, ...] = ()
