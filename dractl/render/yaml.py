"""Reports as YAML."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def to_yaml(report: Mapping[str, Any]) -> str:
    """The report as YAML, its fields in the report's order, without anchors."""
    import yaml

    base: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)

    class Dumper(base):  # type: ignore[misc]
        """Writes equal objects twice instead of as alias."""

        def ignore_aliases(self, data: Any) -> bool:
            return True

    text: str = yaml.dump(report, Dumper=Dumper, sort_keys=False, allow_unicode=True, width=120)
    return text
