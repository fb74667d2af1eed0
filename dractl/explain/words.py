"""Plain English for numbers, lists, ages and names: the small words that every explanation shares."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

_NOUNS = {"mig": "MIG device", "gpu": "GPU", "npu": "NPU", "tpu": "TPU", "nic": "NIC", "channel": "channel"}
_DRIVER_NOUNS = {
    "dra.net": "NIC",
    "rdma.dra.net": "NIC",
    "dra.cpu": "CPU device",
    "dra.memory": "memory device",
    "sriovnetwork.k8snetworkplumbingwg.io": "VF",
}
_IRREGULAR = {"is": "are", "has": "have", "does": "do", "was": "were", "it": "they", "this": "these"}
_NUMBERED = re.compile(r"^(.*?)([0-9]+)([^0-9]*)$")
_TIME = re.compile(r"^(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d:\d\d)(?:\.\d+)?(Z|z|[+-]\d\d:\d\d)$")


def plural(number: int, word: str, many: str | None = None) -> str:
    """The word in the number's form, without the number: ``plural(2, "device")`` is ``devices``."""
    if number == 1:
        return word
    if many is not None:
        return many
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if word.endswith("y") and word[-2:-1] not in tuple("aeiou"):
        return word[:-1] + "ies"
    if word.endswith(("s", "x", "ch", "sh")):
        return word + "es"
    return word + "s"


def count(number: int, word: str, many: str | None = None) -> str:
    """``1 device``, ``3 devices``, ``no device``."""
    if number == 0:
        return f"no {word}"
    return f"{number:,} {plural(number, word, many)}"


def listing(items: Iterable[str], limit: int = 6, last: str = "and") -> str:
    """``a, b and c``; beyond ``limit`` items ``a, b, c and 9 more``."""
    names = list(items)
    if len(names) > limit:
        rest = len(names) - limit + 1
        return f"{', '.join(names[: limit - 1])} {last} {rest:,} more"
    if len(names) <= 1:
        return "".join(names)
    return f"{', '.join(names[:-1])} {last} {names[-1]}"


def ranges(names: Iterable[str], limit: int = 6) -> str:
    """A list in which runs of numbered names are drawn together: ``gpu-0 to gpu-7 and gpu-9``."""
    runs = _runs(list(names))
    if len(runs) <= limit:
        return listing([text for text, _ in runs], limit)
    rest = sum(number for _, number in runs[limit - 1 :])
    return f"{', '.join(text for text, _ in runs[: limit - 1])} and {rest:,} more"


def _runs(names: Sequence[str]) -> list[tuple[str, int]]:
    """Runs of numbered names drawn together, each with the number of its names."""
    out: list[tuple[str, int]] = []
    start = 0
    while start < len(names):
        end = start
        while end + 1 < len(names) and _follows(names[end], names[end + 1]):
            end += 1
        if end - start >= 2:
            out.append((f"{names[start]} to {names[end]}", end + 1 - start))
        else:
            out.extend((name, 1) for name in names[start : end + 1])
        start = end + 1
    return out


def _follows(first: str, second: str) -> bool:
    one, two = _NUMBERED.match(first), _NUMBERED.match(second)
    if one is None or two is None:
        return False
    same = one.group(1) == two.group(1) and one.group(3) == two.group(3)
    return same and len(one.group(2)) <= len(two.group(2)) and int(two.group(2)) == int(one.group(2)) + 1


def noun_for(name: str) -> str:
    """What devices of a driver or class are called, where its name says so; else ``device``."""
    labels = re.split(r"[./-]", name.lower())
    for label, noun in _NOUNS.items():
        if label in labels:
            return noun
    return _DRIVER_NOUNS.get(name, "device")


def natural(name: str) -> tuple[object, ...]:
    """A sort key under which ``gpu-10`` comes after ``gpu-9``."""
    return tuple((1, int(part), "") if part.isdigit() else (0, 0, part) for part in re.split(r"([0-9]+)", name))


def near(name: str, candidates: Iterable[str], limit: int = 3) -> list[str]:
    """The candidates that look like a slip of the pen away from ``name``, nearest first; never ``name`` itself.

    Close means: equal but for letter case or punctuation, or one letter in five (at least one, at most two) wrong,
    missing, doubled or swapped.
    """
    scored = []
    allowed = max(1, min(2, len(name) // 5))
    plain = _plain(name)
    for candidate in dict.fromkeys(candidates):
        if candidate == name:
            continue
        if plain and _plain(candidate) == plain:
            scored.append((0, candidate))
            continue
        if abs(len(candidate) - len(name)) > allowed:
            continue
        distance = edits(name.lower(), candidate.lower())
        if distance <= allowed:
            scored.append((distance, candidate))
    return [candidate for _, candidate in sorted(scored)[:limit]]


def _plain(text: str) -> str:
    return re.sub(r"[^a-z0-9]", "", text.lower())


def edits(left: str, right: str) -> int:
    """How many letters have to be inserted, deleted, replaced or swapped with their neighbour."""
    before: list[int] = []
    row = list(range(len(right) + 1))
    for i, letter in enumerate(left, 1):
        older, before, row = before, row, [i]
        for j, other in enumerate(right, 1):
            best = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != other))
            if i > 1 and j > 1 and letter == right[j - 2] and left[i - 2] == other:
                best = min(best, older[j - 2] + 1)
            row.append(best)
    return row[-1]


def moment(text: str | None) -> datetime | None:
    """An RFC 3339 time, or None where there is none or it cannot be read. Fractions of a second are dropped."""
    match = _TIME.match(text or "")
    if match is None:
        return None
    zone = "+00:00" if match.group(3) in "Zz" else match.group(3)
    try:
        return datetime.fromisoformat(f"{match.group(1)}T{match.group(2)}{zone}").astimezone(UTC)
    except ValueError:
        return None


def seconds_between(start: str | None, end: datetime | None) -> int | None:
    """Whole seconds from ``start`` to ``end``, not below zero; None where one of them is unknown."""
    begun = moment(start)
    if begun is None or end is None:
        return None
    return max(0, int((end - begun).total_seconds()))


def duration(seconds: int) -> str:
    """A length of time as kubectl writes ages: ``45s``, ``2m30s``, ``95m``, ``5h20m``, ``3d4h``, ``40d``."""
    minutes, hours, days = seconds // 60, seconds // 3600, seconds // 86400
    if seconds < 120:
        return f"{seconds}s"
    if minutes < 10:
        return _two(minutes, "m", seconds % 60, "s")
    if hours < 3:
        return f"{minutes}m"
    if hours < 8:
        return _two(hours, "h", minutes % 60, "m")
    if hours < 48:
        return f"{hours}h"
    if days < 8:
        return _two(days, "d", hours % 24, "h")
    if days < 730:
        return f"{days}d"
    return _two(days // 365, "y", days % 365, "d")


def _two(large: int, unit: str, small: int, minor: str) -> str:
    return f"{large}{unit}{small}{minor}" if small else f"{large}{unit}"


def sentence(text: str) -> str:
    """The text with a capital first letter and a full stop, unless it starts with a name (``ml/a``, ``h100-1``)."""
    stripped = text.strip()
    first = stripped.split(" ", 1)[0]
    if first.isalpha() and first.islower():
        stripped = stripped[0].upper() + stripped[1:]
    return stripped if stripped.endswith((".", "!", "?")) else stripped + "."
