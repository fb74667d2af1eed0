"""DRA4xx: what drivers publish: slices, pools, devices and their attributes."""

from __future__ import annotations

from dractl.rules.finding import Rule

RULES: tuple[Rule, ...] = ()
