"""DRA7xx: permissions, admin access, quota and policies."""

from __future__ import annotations

from dractl.rules.finding import Rule

RULES: tuple[Rule, ...] = ()
