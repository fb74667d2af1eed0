"""DRA6xx: the hardware of a host, and where it differs from what is published."""

from __future__ import annotations

from dractl.rules.finding import Rule

RULES: tuple[Rule, ...] = ()
