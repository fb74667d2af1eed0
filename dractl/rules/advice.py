"""DRA1xx: manifests that are accepted but will not do what is wanted: advice, versions, feature gates."""

from __future__ import annotations

from dractl.rules.finding import Rule

RULES: tuple[Rule, ...] = ()
