"""What people read: whole outputs, kept as files.

To renew them: DRACTL_GOLDEN=write pytest tests/cli/test_validate_golden.py
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
GOLDEN = ROOT / "golden" / "validate"

COMMANDS = {
    "article": ("article.yaml",),
    "beta-shape": ("50-beta-shape-in-v1/manifest.yaml",),
    "plugin": ("58-plugin-daemonset-selector/manifest.yaml",),
    "slice": ("62-slice-with-a-four-part-version/manifest.yaml",),
    "counters": ("66-counters-beside-devices/manifest.yaml",),
    "gate": ("--kubernetes", "1.35", "74-extended-name-on-1.35/manifest.yaml"),
    "cost": ("78-list-in-a-string/manifest.yaml",),
    "chart": ("--kubernetes", "1.34", "80-chart-for-an-older-cluster/manifest.yaml"),
    "fleet": ("--demo", "72-time-slicing-config/manifest.yaml"),
    "defaults": ("--show-defaults", "72-time-slicing-config/manifest.yaml"),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_output(dractl: Any, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(GOLDEN if name == "article" else ROOT / "cases")
    run = dractl("validate", "--no-config", *COMMANDS[name])
    assert run.err == ""
    path = GOLDEN / f"{name}.txt"
    if os.environ.get("DRACTL_GOLDEN") == "write":
        path.write_text(run.out)
    assert run.out == path.read_text()
