"""Reads the recorded answers of Kubernetes' own code."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent


def lines(name: str) -> Iterator[dict[str, Any]]:
    """The JSON lines of a gzip file beside this one."""
    with gzip.open(HERE / name, "rt", encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)


@lru_cache
def document(name: str) -> dict[str, Any]:
    """The JSON of a gzip file in the directory of the conformance runner."""
    with gzip.open(HERE.parent / "conformance" / name, "rt", encoding="utf-8") as file:
        loaded: dict[str, Any] = json.load(file)
        return loaded
