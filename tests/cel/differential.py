"""Ask Kubernetes' own CEL and dractl's about the same random expressions and print where they differ.

``python tests/cel/differential.py PROGRAM --release 1.36 --count 10000 --seed 1`` runs PROGRAM, which takes JSON
lines ``{"id", "cel": {"expressions", "driver", "devices", "list", "consumable"}}``
and answers with lines whose ``cel`` holds,
for each expression, ``compileError`` and ``errorType``, or ``outputType``, ``maxCost`` and ``results``.
``--record FILE`` adds the answers to a file of JSON lines, as ``test_recorded.py`` reads them.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "conformance"), str(HERE.parent.parent)]

import calls  # noqa: E402
import generate  # noqa: E402
import texts  # noqa: E402
from grammar import DRIVER, expression  # noqa: E402
from kind_cel import Checker, device_of  # noqa: E402

from dractl.cel.environment import Environment  # noqa: E402

BATCH = 100


def devices() -> list[dict]:
    """The devices of the recorded cases."""
    with gzip.open(HERE.parent / "conformance" / "cel.json.gz") as file:
        return json.load(file)["devices"]


def ask(program: str, expressions: list[str], chosen: list[dict], lists: bool, consumable: bool) -> list[dict]:
    """Kubernetes' answers."""
    request = {
        "id": "1",
        "cel": {
            "expressions": expressions,
            "driver": DRIVER,
            "devices": chosen,
            "list": lists,
            "consumable": consumable,
        },
    }
    line = json.dumps(request).encode() + b"\n"
    try:
        done = subprocess.run([program], input=line, capture_output=True, check=False, timeout=20)
    except subprocess.TimeoutExpired:
        return []
    if done.returncode != 0 or not done.stdout:
        return []
    return json.loads(done.stdout)["cel"]


def answers(program: str, expressions: list[str], chosen: list[dict], lists: bool, consumable: bool) -> list[dict]:
    """Answers to a batch; an expression that brings the program down is left out."""
    found = ask(program, expressions, chosen, lists, consumable)
    if found or len(expressions) == 1:
        if not found:
            print("brings the program down:", expressions[0])
        return found
    half = len(expressions) // 2
    return answers(program, expressions[:half], chosen, lists, consumable) + answers(
        program, expressions[half:], chosen, lists, consumable
    )


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--release", default="1.36")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--depth", type=int, default=4)
    parser.add_argument("--show", type=int, default=20)
    parser.add_argument("--lists", action="store_true")
    parser.add_argument("--file", type=Path, help="expressions, one JSON text a line, instead of random ones")
    parser.add_argument("--texts", choices=texts.KINDS, help="expressions over functions that read texts")
    parser.add_argument("--calls", action="store_true", help="every overload, macro and form in turn (calls.py)")
    parser.add_argument("--mutated", action="store_true", help="typed ones and mutations (generate.py)")
    parser.add_argument("--record", type=Path)
    options = parser.parse_args()
    major, minor = map(int, options.release.split("."))
    env = Environment((major, minor), consumable_capacity=True, list_attributes=options.lists)
    data = devices()
    if not options.lists:
        data = [each for each in data if each["name"] != "lists"]
    made = {each["name"]: device_of(each) for each in data}
    source = random.Random(options.seed)
    checker = Checker(options.show)
    kept = []
    if options.file:
        wanted = [json.loads(line) for line in options.file.read_text().splitlines()]
    elif options.texts:
        wanted = list(texts.expressions(options.texts, source, options.count))
    elif options.calls:
        wanted = list(calls.expressions(source, env, options.count))
    elif options.mutated:
        wanted = list(generate.expressions(options.seed, options.count, env))
    else:
        wanted = [expression(source, env, options.depth) for _ in range(options.count)]
    for start in range(0, len(wanted), BATCH):
        for case in answers(options.program, wanted[start : start + BATCH], data, options.lists, True):
            checker.check("", case, env, DRIVER, made)
            kept.append({"list": options.lists, **case})
    for figure in checker.figures():
        print(f"{figure.name} {figure.matched} of {figure.total}")
    if options.record:
        with gzip.open(options.record, "at") as file:
            file.writelines(json.dumps(each, ensure_ascii=False) + "\n" for each in kept)
    return 0


if __name__ == "__main__":
    sys.exit(main())
