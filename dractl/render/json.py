"""Reports as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def to_json(report: Mapping[str, Any]) -> str:
    """The report as indented JSON, its fields in the report's order."""
    return json.dumps(report, indent=2, ensure_ascii=False) + "\n"
