"""What a flag asks for: ``h100*8``, ``memory>=40Gi``, ``1g.5gb*2`` -> words and a count, not yet what they mean."""

from __future__ import annotations

import re
from dataclasses import dataclass

from dractl.errors import DractlError

ALL = -1
"""Stands for all matching devices of a node."""
MAX_DEVICES = 32
"""Devices of one claim (resource.k8s.io/v1, AllocationResultsMaxSize)."""

_COUNT = re.compile(r"\*\s*([^*\s]*)\s*$")
_OPERATORS = (">=", "<=", "!=", "==", "=", ">", "<")
_OPERATOR = re.compile(r"\s*(>=|<=|!=|==|=|>|<)\s*")
_TOKEN = re.compile(r"""(?:[^\s&"']+|"[^"]*"|'[^']*')+""")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_./-]*")
KINDS = ("gpu", "mig", "nic", "cpu", "device")


@dataclass(frozen=True, slots=True)
class Word:
    """One condition: ``name operator value``, or only a name (a product, an architecture, a vendor, a true flag)."""

    name: str
    operator: str = ""
    value: str = ""

    def __str__(self) -> str:
        return self.name + self.operator + self.value


@dataclass(frozen=True, slots=True)
class Wish:
    """Devices of one kind. ``count`` is None where the flag does not say, ``ALL`` for ``*all``."""

    kind: str
    words: tuple[Word, ...]
    count: int | None = None
    text: str = ""

    @property
    def flag(self) -> str:
        """The flag as it was written, for messages."""
        return f"--{self.kind} {self.text!r}"


def parse_wish(kind: str, text: str) -> Wish:
    """Read a flag.

    Raises:
        DractlError: for a count that is none, and for words that cannot be told apart.
    """
    flag = f"--{kind} {text!r}"
    body, count = text.strip(), None
    if re.fullmatch(r"\d+", body) and kind != "cpu":
        body, count = "", _count(body, flag)
    elif match := _COUNT.search(body):
        body, count = body[: match.start()].strip(), _count(match[1], flag)
    if "," in body:
        raise DractlError(
            f"{flag}: a comma says neither 'and' nor 'or'",
            "Write several conditions with a blank between them ('h100 memory>=40Gi'), alternatives with --fallback.",
        )
    words = tuple(_word(token, flag) for token in _TOKEN.findall(_OPERATOR.sub(r"\1", body)))
    if kind == "cpu":
        _check_cpus(words, count, flag)
    return Wish(kind, tuple(word for word in words if str(word).lower() != "any"), count, text)


def parse_fallback(kind: str, text: str) -> list[Wish]:
    """``a100,l40s*2``: alternatives in the order of preference."""
    parts = [part.strip() for part in text.split(",")]
    if not all(parts):
        raise DractlError(f"--fallback {text!r}: has an empty alternative", "Write it as --fallback 'a100,l40s'.")
    return [parse_wish(kind, part) for part in parts]


def _check_cpus(words: tuple[Word, ...], count: int | None, flag: str) -> None:
    numbers = [word.name for word in words if not word.operator and word.name.isdigit()]
    if count is not None or len(numbers) != 1 or not 0 < int(numbers[0]) <= 4096:
        raise DractlError(f"{flag}: has to say how many CPUs", "Write it as --cpu 16.")


def _count(text: str, flag: str) -> int:
    if text.lower() == "all":
        return ALL
    if not re.fullmatch(r"[0-9]{1,9}", text) or int(text) < 1:
        raise DractlError(f"{flag}: {text or 'nothing'} is no count", "Write it as *2, or *all for all of a node.")
    if int(text) > MAX_DEVICES:
        raise DractlError(
            f"{flag}: a claim may hold {MAX_DEVICES} devices, not {int(text):,}",
            "Divide the workload into several pods.",
        )
    return int(text)


def _word(token: str, flag: str) -> Word:
    bare = token.replace('"', "").replace("'", "")
    for operator in _OPERATORS:
        name, found, value = bare.partition(operator)
        if not found:
            continue
        if not _NAME.fullmatch(name) or not value or any(sign in value for sign in "<>=!"):
            break
        return Word(name, "=" if operator == "==" else operator, value)
    else:
        if re.fullmatch(r"[\w.+/-]+", bare, re.ASCII):
            return Word(bare)
    raise DractlError(f"{flag}: {token!r} cannot be read", "Write a product (h100), or NAME>=VALUE as in memory>=40Gi.")
