"""The README shows what the commands print."""

import importlib.util
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def script(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_outputs_in_the_readme_are_current():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert text.count("```console\n$ dractl ") >= 5
    assert script("readme").refreshed(text) == text, "run: make readme"


def test_no_output_that_is_shown_is_a_fault_of_dractl():
    for path in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]:
        text = path.read_text(encoding="utf-8")
        faults = r"bug of dractl|Traceback \(most recent|\b(Name|Type|Attribute|Key|Index)Error:"
        assert not re.search(faults, text), path


def test_the_make_targets_it_names_exist():
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = set(re.findall(r"`?make ([a-z]+)`?", (ROOT / "README.md").read_text()))
    assert {"demo", "test", "lint"} <= named
    assert named - targets - {"are"} == set()


def test_the_layout_it_shows_is_there():
    text = (ROOT / "README.md").read_text()
    packages = set(re.findall(r"^  ([a-z]+)/ ", text, re.MULTILINE))
    assert packages <= {path.name for path in (ROOT / "dractl").iterdir()}
    assert {"allocator", "cel", "explain", "inventory"} <= packages
