"""Whatever the text: an answer or a CelError, soon, and never another exception."""

from __future__ import annotations

import random
import sys
import time

import pytest
from generate import FRAGMENTS, SELECTORS, expressions, mutate
from hypothesis import given, settings
from hypothesis import strategies as st

from dractl.cel.cost_static import estimate
from dractl.cel.environment import Environment
from dractl.cel.errors import CelError
from dractl.cel.frontend import compile

ENV = Environment((1, 36))
LIMIT = 5.0
"""Seconds of this process; far above what is needed, because the machine may be slow."""


def answer(text: str, env: Environment = ENV) -> str:
    started = time.process_time()
    try:
        checked = compile(text, env)
        estimate(checked, env)
        found = "accepted"
    except CelError as error:
        found = str(error)
    assert time.process_time() - started < LIMIT, text[:200]
    return found


def test_mutated() -> None:
    for text in expressions(99, 1500, ENV):
        answer(text)


def test_much_mutated() -> None:
    rng = random.Random(5)
    for _ in range(700):
        text = rng.choice(SELECTORS)
        for _ in range(rng.randrange(1, 8)):
            text = mutate(rng, text)
        answer(text)


def test_fragments() -> None:
    rng = random.Random(6)
    for _ in range(1500):
        answer("".join(rng.choice(FRAGMENTS) for _ in range(rng.randrange(1, 25))))


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=60))
def test_any_text(text: str) -> None:
    answer(text)


DEEP = {
    "parentheses": "(" * 249 + "1 == 1" + ")" * 249,
    "lists": "[" * 249 + "1" + "]" * 249 + " == []",
    "negations": "!" * 2001 + "true",
    "minuses": "-" * 2001 + "1 == 1",
    "chain of and": " && ".join(["true"] * 1000),
    "chain of or": " || ".join(["device.driver == 'a'"] * 400),
    "calls": "string(" * 240 + "1" + ")" * 240 + " == ''",
    "macros": "[1].exists(x, " * 80 + "true" + ")" * 80,
    "binds": "".join(f"cel.bind(v{number}, 1, " for number in range(100)) + "true" + ")" * 100,
    "ternaries": "true ? 1 : " * 200 + "2 == 2 ? true : false",
    "long text": '"' + "x" * 9000 + '" == ""',
    "indices": "device.attributes" + "[" * 100 + "1" + "]" * 100,
}


@pytest.mark.parametrize("name", DEEP)
def test_deep(name: str) -> None:
    before = sys.getrecursionlimit()
    answer(DEEP[name])
    assert sys.getrecursionlimit() == before


TOO_DEEP = {
    "parentheses": ("(" * 260 + "1" + ")" * 260, "<input>:-1:0: expression recursion limit exceeded: 250"),
    "lists": ("[" * 300, "<input>:-1:0: expression recursion limit exceeded: 250"),
    "selections": ("a" + ".b" * 251, "<input>:-1:0: max recursion depth exceeded"),
    "sums": ("1" + " + 1" * 251 + " == 1", "<input>:-1:0: max recursion depth exceeded"),
}


@pytest.mark.parametrize("name", TOO_DEEP)
def test_too_deep(name: str) -> None:
    text, error = TOO_DEEP[name]
    assert answer(text) == f"compilation failed: ERROR: {error}"


GARBAGE = {
    "closing": ")" * 10_000,
    "opening": "(" * 10_000,
    "quotes": '"' * 9_999,
    "minus": "-" * 10_000,
    "dots": "." * 10_000,
    "names and dots": "a." * 5000,
    "names and in": "1 in " * 2000,
    "questions": "?" * 10_000,
    "broken calls": "a(-1.b(]," * 1000,
    "broken maps": "{1:,2" * 1500,
    "numbers": "1 " * 5000,
    "hashes": "#" * 10_000,
    "nested minus": "[-1," * 200 + "]",
    "names and braces": "a.b.c{" * 1500,
    "unicode": "é日😀" * 3000,
}


@pytest.mark.parametrize("name", GARBAGE)
def test_garbage(name: str) -> None:
    assert answer(GARBAGE[name]).startswith("compilation failed: ")
