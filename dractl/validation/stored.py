"""What the server adds to an object and leaves out of it, as lines for people."""

from __future__ import annotations

from typing import Any

from dractl.kube.quantity import Quantity, QuantityError
from dractl.validation.model import Json, Path, dotted


def changes(given: Json, stored: Json) -> list[str]:
    """``path: value`` for what was added, with the former value where one was changed; ``- path`` for what is gone."""
    out: list[str] = []
    skipped = {"apiVersion", "kind", "metadata"}
    for key in [*given, *(key for key in stored if key not in given)]:
        if key not in skipped:
            _compare(given.get(key), stored.get(key), (key,), out)
    return out


def _compare(given: Any, stored: Any, path: Path, out: list[str]) -> None:
    if isinstance(given, dict) and isinstance(stored, dict):
        for key in [*given, *(key for key in stored if key not in given)]:
            _compare(given.get(key), stored.get(key), (*path, key), out)
    elif isinstance(given, list) and isinstance(stored, list) and len(given) == len(stored):
        for index, (one, other) in enumerate(zip(given, stored, strict=True)):
            _compare(one, other, (*path, index), out)
    elif stored is None and given is not None:
        out.append(f"- {dotted(path)} (dropped)")
    elif given is None and stored is not None:
        if stored not in ({}, []):
            out.append(f"+ {dotted(path)}: {_short(stored)}")
    elif given != stored and not _same_amount(given, stored):
        out.append(f"~ {dotted(path)}: {_short(given)} becomes {_short(stored)}")


def _same_amount(given: Any, stored: Any) -> bool:
    """A number for a quantity is stored as text; that is worth no word."""
    if isinstance(given, int) and not isinstance(given, bool) and isinstance(stored, str):
        try:
            return Quantity.parse(str(given)) == Quantity.parse(stored) and str(given) == stored
        except QuantityError:
            return False
    return False


def _short(value: Any) -> str:
    import json

    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 80 else text[:77] + "..."
