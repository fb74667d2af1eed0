"""Run the commands of README.md and put their real output below them.

A block is marked ``console`` and begins with ``$ dractl ...``; a final ``| head -N`` keeps a part, and what was cut is
shown as ``...``.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

README = Path(__file__).resolve().parent.parent / "README.md"
_BLOCK = re.compile(r"(```console\n\$ )(dractl [^\n]*)\n.*?(```)", re.DOTALL)
_HEAD = re.compile(r"(.*?)\s*\| head -(\d+)$")


def refreshed(text: str) -> str:
    """The text with current outputs."""
    return _BLOCK.sub(lambda match: f"{match[1]}{match[2]}\n{output_of(match[2])}{match[3]}", text)


def output_of(command: str) -> str:
    """What a command line of the README prints, stderr included where it prints nothing else."""
    head = _HEAD.match(command)
    words = shlex.split(head[1] if head else command)
    done = subprocess.run([sys.executable, "-m", *words], capture_output=True, text=True, check=False, env=_plain())
    lines = (done.stdout or done.stderr).splitlines()
    if head and len(lines) > int(head[2]):
        lines = [*lines[: int(head[2])], "..."]
    return "".join(f"{line}\n" for line in lines)


def _plain() -> dict[str, str]:
    import os

    unwanted = {"COLUMNS", "FORCE_COLOR", "NO_COLOR"}
    return {name: value for name, value in os.environ.items() if name not in unwanted}


def main() -> None:
    """Write the README anew."""
    README.write_text(refreshed(README.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
