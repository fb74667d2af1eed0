"""Compare ``admit`` with Kubernetes' own code on mutated requests, and record its answers.

    python tests/validation/differential.py PROGRAM --release 1.36 [--count N] [--seed S] [--all-beta] [--record FILE]

PROGRAM reads one JSON request a line and answers one JSON line with ``code``, ``causes`` or ``message``, ``stored`` and
``warnings``, from the API server's registry strategies of that release. No test needs it; the recorded answers do the
work there.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from apiserver_answers import GATES_OFF, compare, gate_settings, put
from apiserver_requests import DRA_KINDS, POD_KINDS, requests
from apiserver_wild import wild_requests

from dractl.kube.gates import parse_release
from dractl.validation.apiserver import SERVER_ERROR
from dractl.validation.gotext import json_text


class GateError(Exception):
    """The program refuses the gates."""


def ask(program: str, cases: list[dict[str, Any]], gates: str) -> list[dict[str, Any]]:
    """The program's answers to all cases."""
    lines = []
    for case in cases:
        lines.append(json_text({**case, "gates": gates} if gates else case))
    done = subprocess.run([program], input="\n".join(lines) + "\n", capture_output=True, text=True, check=False)
    if done.returncode:
        raise GateError(done.stderr[-2000:])
    return [json.loads(line) for line in done.stdout.splitlines()]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--release", default="1.36")
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--all-beta", action="store_true")
    parser.add_argument("--all-alpha", action="store_true")
    parser.add_argument("--wild", action="store_true", help="damage as people do it, pods and workloads too")
    parser.add_argument("--random-gates", action="store_true", help="each gate on or off by the seed")
    parser.add_argument("--off", default="", help="gates to turn off, separated by commas")
    parser.add_argument("--show", type=int, default=5)
    parser.add_argument("--width", type=int, default=700)
    parser.add_argument("--only", default="", help="show the request with this id in full")
    parser.add_argument("--kinds", default="")
    parser.add_argument("--skip-cel", action="store_true", help="leave out requests refused for an expression")
    parser.add_argument("--record", type=Path)
    options = parser.parse_args()
    release = parse_release(options.release)
    kinds = tuple(options.kinds.split(",")) if options.kinds else (*DRA_KINDS, *(POD_KINDS if options.wild else ()))
    settings = gate_settings(release, options.all_beta, options.all_alpha)
    if options.random_gates:
        rng = random.Random(f"gates/{options.seed}/{release}")
        settings = {name: rng.random() < 0.5 for name in gate_settings(release, True, True) | settings}
    for name in filter(None, options.off.split(",")):
        settings[name] = False
    for name in GATES_OFF:
        settings.pop(name, None)
    while True:
        gates = ",".join(f"{name}={str(value).lower()}" for name, value in settings.items())
        try:
            ask(options.program, [{"id": "gates", "object": {"apiVersion": "v1", "kind": "Pod"}}], gates)
            break
        except GateError as error:
            # a gate that is on may need others
            needed = re.search(r"features that are disabled: \[([^\]]*)\]", str(error))
            if needed is None:
                sys.exit(str(error))
            settings |= dict.fromkeys(re.split(r"[ ,]+", needed[1]), True)
    cases = [
        case
        for case in (wild_requests if options.wild else requests)(options.seed, release[1], options.count, kinds)
        if put(case, release, settings).code != SERVER_ERROR
    ]
    answers = ask(options.program, cases, gates)
    totals = {"verdict": 0, "causes": 0, "stored": 0, "warnings": 0}
    shown = 0
    codes: dict[int, int] = {}
    for case, answer in zip(cases, answers, strict=True):
        if options.skip_cel and "cel.expression" in json.dumps(answer.get("causes")):
            continue
        if answer["code"] == 500:  # no name was generated: that is done by the HTTP layer
            continue
        codes[answer["code"]] = codes.get(answer["code"], 0) + 1
        problems = compare(case, answer, release, settings)
        if options.only:
            if case["id"] == options.only:
                print(json_text(case), json_text(answer), problems, sep="\n")
            continue
        for respect, expected, got in problems:
            totals[respect] += 1
            shown += 1
            if shown <= options.show:
                width = options.width
                print(
                    f"--- {case['id']} {respect}\n expected: {repr(expected)[:width]}\n got:      {repr(got)[:width]}"
                )
                print(f" object: {json_text(case['object'])[: options.width]}")
                if "old" in case:
                    print(f" old: {json_text(case['old'])[: options.width]}")
    if options.record:
        kept = [{"gates": settings, **case, "answer": answer} for case, answer in zip(cases, answers, strict=True)]
        text = "\n".join(json_text(item) for item in kept)
        options.record.write_bytes(gzip.compress(text.encode(), mtime=0))
    print(f"{options.release}: {len(cases)} requests {codes}; differences: {totals}")


if __name__ == "__main__":
    main()
