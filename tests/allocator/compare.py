"""Compare dractl's allocator with Kubernetes' own code on random fleets.

``python tests/allocator/compare.py PROGRAM RELEASE [--count N] [--seed S] [--show N] [--record FILE]``

PROGRAM reads recorded inputs as JSON lines (``{"id": ..., "alloc": INPUT}``) and answers with Kubernetes' allocator of
RELEASE. With ``--record`` the cases and the program's answers are written to a gzip file for the replay test.
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "conformance"), str(HERE.parent.parent)]

import fleets  # noqa: E402
from kind_allocator import answer  # noqa: E402
from orders import Shuffled, determined  # noqa: E402

from dractl.allocator import (  # noqa: E402
    Features,
    Profile,
)

Json = dict[str, Any]


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("program", type=Path)
    parser.add_argument("release")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", type=int, default=3)
    parser.add_argument("--only", type=int)
    parser.add_argument("--record", type=Path)
    parser.add_argument("--odd", action="store_true", help="with objects that the API server would refuse")
    options = parser.parse_args()
    seeds = [options.only] if options.only is not None else range(options.seed, options.seed + options.count)
    kinds: Counter[str] = Counter()
    differences = total = 0
    recorded = []
    for seed, given, expected in ask(options.program, options.release, seeds, options.odd):
        case = {"id": str(seed), "input": given, "expected": expected}
        wrong = mismatch(case, options.release, kinds)
        total += 1
        if options.record:
            recorded.append(case)
        if wrong:
            differences += 1
            if differences <= options.show:
                print(f"--- seed {seed}: {wrong}")
            else:
                print(f"--- seed {seed}")
    print(dict(kinds.most_common()))
    print(f"{options.release}: {differences} differences in {total} fleets")
    if options.record:
        with gzip.GzipFile(options.record, "wb", mtime=0) as file:
            for case in recorded:
                file.write((json.dumps(case, separators=(",", ":")) + "\n").encode())
    return 1 if differences else 0


def ask(program: Path, release: str, seeds: Iterable[int], odd: bool) -> Iterator[tuple[int, Json, Json]]:
    """Inputs with the program's answers, in batches."""
    for batch in batched(seeds, 500):
        inputs = {seed: fleets.fleet(seed, release, odd) for seed in batch}
        lines = "".join(
            json.dumps({"id": str(seed), "alloc": {**i, "timeoutMs": 60000}}) + "\n" for seed, i in inputs.items()
        )
        done = subprocess.run([program], input=lines, capture_output=True, text=True, check=True)
        for line in done.stdout.splitlines():
            reply = json.loads(line)
            if "badInput" in reply:
                continue
            seed = int(reply["id"])
            reply["alloc"].pop("ms", None)
            if "context deadline exceeded" in line:
                continue  # it did not get to an answer
            yield seed, inputs[seed], reply["alloc"]


def batched(items: Iterable[int], size: int) -> Iterator[list[int]]:
    iterator = iter(items)
    while batch := list(itertools.islice(iterator, size)):
        yield batch


def mismatch(case: Json, release: str, kinds: Counter[str] | None = None) -> str:
    """What differs between the recorded answer and dractl's, or nothing."""
    given, expected = case["input"], determined(case["expected"])
    profile = Profile.of_features(release, Features.of(given["features"]))
    got = determined(answer(given, profile))
    if kinds is not None:
        for node in expected.get("nodes", {"panic": expected}).values():
            kinds[kind(node)] += 1
    for name, node in got.get("nodes", {}).items():
        if node and "undecided after" in str(node) and name in expected.get("nodes", {}):
            # no answer is not a wrong answer; these are counted by kind
            expected["nodes"][name] = node
            if kinds is not None:
                kinds["undecided by dractl"] += 1
    if got == expected:
        return ""
    if "panic" in expected:
        crash = {"error": f"panic: {expected['panic']}"}
        if crash in got["nodes"].values() or (
            not profile.ordered and Shuffled(given, profile).crashes(expected["panic"])
        ):
            return ""
        return f"expected {expected}, got {got}"
    if not profile.ordered and Shuffled(given, profile).any_order(expected["nodes"]):
        return ""
    return "\n".join(
        f"{node}\n  expected {json.dumps(want)}\n  got      {json.dumps(got['nodes'].get(node))}"
        for node, want in expected["nodes"].items()
        if got["nodes"].get(node) != want
    )


def kind(node: Any) -> str:
    """A word for an answer."""
    if node is None:
        return "nothing"
    if isinstance(node, list):
        return "allocation"
    return "panic" if "panic" in node else f"error: {' '.join(node['error'].split(': ', 1)[-1].split(' ')[0:3])}"


if __name__ == "__main__":
    sys.exit(main())
