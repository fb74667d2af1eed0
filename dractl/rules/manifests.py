"""DRA0xx: manifests that the API server refuses: structure and the server's own rules."""

from __future__ import annotations

from dractl.rules.finding import Rule

RULES: tuple[Rule, ...] = ()
