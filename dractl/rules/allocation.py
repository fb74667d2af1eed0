"""DRA2xx: why a claim cannot be allocated."""

from __future__ import annotations

from dractl.rules.finding import Rule

RULES: tuple[Rule, ...] = ()
