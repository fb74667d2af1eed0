"""Conversions as a person has read them: the result with its comments, and what is said.

After a wanted change: ``UPDATE=1 pytest tests/convert/test_golden.py``, and read the difference.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent.parent / "golden" / "convert"
NAMES = sorted(path.name.removesuffix(".in.yaml") for path in FOLDER.glob("*.in.yaml"))


@pytest.mark.parametrize("name", NAMES)
def test_conversion(dractl, name, monkeypatch):
    monkeypatch.chdir(FOLDER)
    result = dractl("convert", f"{name}.in.yaml")
    out, said = FOLDER / f"{name}.out.yaml", FOLDER / f"{name}.said.txt"
    if os.environ.get("UPDATE"):
        out.write_text(result.out)
        said.write_text(result.err)
    assert (result.out, result.err) == (out.read_text(), said.read_text())
    assert result.code == 0


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_left_to_convert(dractl, name, tmp_path):
    out = FOLDER / f"{name}.out.yaml"
    again = dractl("convert", str(out))
    assert again.code == 0
    assert again.out == out.read_text()


@pytest.mark.parametrize("name", NAMES)
def test_the_result_passes_the_validator(dractl, name):
    # DeviceTaintRule is no part of a server with default settings before 1.37
    served = ("--runtime-config", "resource.k8s.io/v1beta2=true", "--gate", "DRADeviceTaintRules=true")
    file = str(FOLDER / f"{name}.out.yaml")
    result = dractl("validate", "--no-config", file, "-o", "json", "--select", "DRA0", *served)
    assert result.code == 0, result.out


def test_there_are_twenty_and_comments_stay():
    assert len(NAMES) >= 20
    for name in NAMES:
        before = (FOLDER / f"{name}.in.yaml").read_text()
        after = (FOLDER / f"{name}.out.yaml").read_text() + (FOLDER / f"{name}.said.txt").read_text()
        for line in before.splitlines():
            comment = line.partition(" #")[2].strip() if " #" in line else line[1:].strip() if line[:1] == "#" else ""
            dropped = ("gone", "left over")
            assert not comment or comment in after or comment in dropped, (name, comment)
