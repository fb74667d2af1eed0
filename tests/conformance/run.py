"""Run dractl's own code over recorded cases and count the matches.

``python tests/conformance/run.py KIND FILE [--show N] [--only ID] [--profile 1.36]`` prints up to N mismatches
(expected against got), then one line per figure: ``cel: outcome 612 of 612``. The exit code is 0 only if all figures
are full. Kinds: allocator, cel, cel-spec, validation. Each kind is a module beside this file with
``run(cases_path, show, only, profile) -> list[Figure]``. Files are plain or gzip.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
KINDS = {
    "allocator": "kind_allocator",
    "cel": "kind_cel",
    "cel-spec": "kind_cel_spec",
    "validation": "kind_validation",
}


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Count how many recorded cases dractl answers as Kubernetes did.")
    parser.add_argument("kind", choices=sorted(KINDS))
    parser.add_argument("file", type=Path)
    parser.add_argument("--show", type=int, default=0, metavar="N", help="print up to N mismatches")
    parser.add_argument("--only", metavar="ID", help="run one case: its id, or its number from 0")
    parser.add_argument("--profile", default="1.36", metavar="RELEASE", help="Kubernetes release, such as 1.36")
    options = parser.parse_args(arguments)
    sys.path[:0] = [str(HERE), str(HERE.parent.parent)]
    kind = importlib.import_module(KINDS[options.kind])
    figures = kind.run(options.file, options.show, options.only, options.profile)
    for figure in figures:
        print(f"{options.kind}: {figure.name} {figure.matched} of {figure.total}")
    return 0 if figures and all(figure.matched == figure.total for figure in figures) else 1


if __name__ == "__main__":
    sys.exit(main())
