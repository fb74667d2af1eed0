"""Shared by all tests: run dractl in this process."""

from __future__ import annotations

import io
import sys
from dataclasses import dataclass

import pytest


@dataclass
class Run:
    """What one command line did."""

    code: int
    out: str
    err: str


@pytest.fixture
def dractl(monkeypatch):
    """Run a command line and get its exit code and output; ``stdin`` takes text or bytes."""

    def run_dractl(*arguments: str, stdin: str | bytes = b"", env: dict[str, str] | None = None) -> Run:
        from dractl.cli.frame import run

        data = stdin.encode() if isinstance(stdin, str) else stdin
        with monkeypatch.context() as patch:
            for name in ("COLUMNS", "NO_COLOR", "FORCE_COLOR"):
                patch.delenv(name, raising=False)
            for name, value in (env or {}).items():
                patch.setenv(name, value)
            out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.TextIOWrapper(io.BytesIO(), "utf-8")
            patch.setattr(sys, "stdout", out)
            patch.setattr(sys, "stderr", err)
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data), "utf-8"))
            code = run(arguments)
            out.flush()
            err.flush()
            return Run(code, out.buffer.getvalue().decode(), err.buffer.getvalue().decode())

    return run_dractl
