"""Files per second of ``dractl validate``: one object a file with its selectors, YAML and JSON, one and two processes.

Run with: pytest -m benchmarks -s tests/benchmarks/test_validate_speed.py
"""

from __future__ import annotations

import json
import os
import random
import time
from pathlib import Path
from typing import Any

import pytest

FILES = 10_000


def objects(count: int) -> list[dict[str, Any]]:
    """A class and nine claims of it, again and again, with many different expressions."""
    rng = random.Random(1)
    out: list[dict[str, Any]] = []
    for number in range(count):
        driver = f"gpu{number % 7}.example.com"
        if number % 10 == 0:
            expression = f'device.driver == "{driver}" && device.attributes["{driver}"].type == "gpu"'
            spec: dict[str, Any] = {"selectors": [{"cel": {"expression": expression}}]}
            kind, name = "DeviceClass", f"class-{number}"
        else:
            amount = rng.randint(1, 200)
            expression = f'device.capacity["{driver}"].memory.compareTo(quantity("{amount}Gi")) >= 0'
            exactly = {
                "deviceClassName": f"class-{number // 10 * 10}",
                "count": rng.randint(1, 8),
                "selectors": [{"cel": {"expression": expression}}],
            }
            constraint = {"requests": ["gpu"], "matchAttribute": f"{driver}/model"}
            spec = {"devices": {"requests": [{"name": "gpu", "exactly": exactly}], "constraints": [constraint]}}
            kind, name = "ResourceClaim", f"claim-{number}"
        out.append({"apiVersion": "resource.k8s.io/v1", "kind": kind, "metadata": {"name": name}, "spec": spec})
    return out


def write(folder: Path, form: str) -> None:
    yaml = pytest.importorskip("yaml")
    for number, one in enumerate(objects(FILES)):
        text = json.dumps(one) if form == "json" else yaml.dump(one, Dumper=yaml.CSafeDumper, sort_keys=False)
        (folder / f"{number:05}.{form}").write_text(text)


@pytest.mark.benchmarks
@pytest.mark.parametrize("form", ["yaml", "json"])
def test_files_per_second(tmp_path: Path, form: str) -> None:
    from dractl.cli.checking import Choice, run
    from dractl.validation.settings import Settings

    write(tmp_path, form)
    for jobs in (1, 2):
        before, start = os.times(), time.perf_counter()
        report, _ = run([str(tmp_path)], Choice(Settings(), jobs=jobs, keep_objects=False))
        wall = time.perf_counter() - start
        after = os.times()
        spent = sum(after[:4]) - sum(before[:4])
        assert (report.files, report.verdicts().total(), report.items) == (FILES, FILES, [])
        print(
            f"validate {form}, {jobs} process(es): {FILES / wall:,.0f} files/s; "
            f"{spent / FILES * 1e6:,.0f} us of CPU a file"
        )
