"""The strings extension (version 2): positions count code points. ``format`` is in ``formatting``.

Declarations: ``decl_extensions.STRINGS``. Source: cel-go ``ext/strings.go``.
"""

from __future__ import annotations

from collections.abc import Callable

from dractl.cel import guard
from dractl.cel.gotext import go_value
from dractl.cel.library.formatting import format_string
from dractl.cel.values import EvalError, Value

_SPACES = "\t\n\v\f\r \x85\xa0\u1680" + "".join(map(chr, range(0x2000, 0x200B))) + "\u2028\u2029\u202f\u205f\u3000"


def _out_of_range(index: int) -> EvalError:
    return EvalError(f"index out of range: {index}")


def char_at(text: str, index: int) -> str:
    if index < 0 or index > len(text):
        raise _out_of_range(index)
    return text[index : index + 1]


def index_of(text: str, part: str, offset: int = 0) -> int:
    if not part:
        return offset
    if offset < 0:
        raise _out_of_range(offset)
    return text.find(part, offset) if offset < len(text) else -1


def last_index_of(text: str, part: str) -> int:
    if not part:
        return len(text)
    if len(text.encode("utf-8", "surrogateescape")) < len(part.encode("utf-8", "surrogateescape")):
        return -1
    return last_index_from(text, part, len(text) - 1)


def last_index_from(text: str, part: str, offset: int) -> int:
    if not part:
        return offset
    if offset < 0:
        raise _out_of_range(offset)
    if offset >= len(text):
        return -1
    return text.rfind(part, 0, offset + len(part))


def index_from_strict(text: str, part: str, offset: int) -> int:
    """``indexOf`` with an offset since 1.37: the offset is checked for an empty part as well."""
    if offset < 0:
        raise _out_of_range(offset)
    return index_of(text, part, offset) if part else min(offset, len(text))


def last_index_from_strict(text: str, part: str, offset: int) -> int:
    """``lastIndexOf`` with an offset since 1.37."""
    if offset < 0:
        raise _out_of_range(offset)
    return last_index_from(text, part, offset) if part else min(offset, len(text))


def lower_ascii(text: str) -> str:
    return text.lower() if text.isascii() else "".join(char.lower() if char.isascii() else char for char in text)


def upper_ascii(text: str) -> str:
    return text.upper() if text.isascii() else "".join(char.upper() if char.isascii() else char for char in text)


def replace(text: str, old: str, new: str, limit: int = -1) -> str:
    count = len(text) + 1 if not old else text.count(old)
    if 0 <= limit < count:
        count = limit
    guard.check_text(len(text) + count * (len(new) - len(old)))
    return text.replace(old, new, limit if limit >= 0 else -1)


def split(text: str, separator: str, limit: int = -1) -> list[str]:
    if limit == 0:
        return []
    guard.check_items(text.count(separator))
    if not separator:
        parts = list(text)
        return parts if limit < 0 or len(parts) <= limit else [*parts[: limit - 1], "".join(parts[limit - 1 :])]
    return text.split(separator, limit - 1 if limit > 0 else -1)


def substring(text: str, start: int, end: int | None = None) -> str:
    if end is None:
        if start < 0 or start > len(text):
            raise _out_of_range(start)
        return text[start:]
    if start > end:
        raise EvalError(f"invalid substring range. start: {start}, end: {end}")
    if start < 0 or start > len(text):
        raise _out_of_range(start)
    if end < 0 or end > len(text):
        raise _out_of_range(end)
    return text[start:end]


def trim(text: str) -> str:
    return text.strip(_SPACES)


def join(items: list[Value], separator: str = "") -> str:
    for item in items:
        if item.__class__ is not str:
            raise EvalError(f"join: invalid input: {go_value(item)}")
    guard.check_text(sum(map(len, items)) + len(separator) * max(len(items) - 1, 0))
    return separator.join(items)


_QUOTED = str.maketrans(
    {
        "\a": "\\a",
        "\b": "\\b",
        "\f": "\\f",
        "\n": "\\n",
        "\r": "\\r",
        "\t": "\\t",
        "\v": "\\v",
        "\\": "\\\\",
        '"': '\\"',
        **{chr(code): "\ufffd" for code in range(0xDC80, 0xDD00)},
    }
)


def quote(text: str) -> str:
    return f'"{text.translate(_QUOTED)}"'


SINCE_137: dict[str, Callable[..., Value]] = {
    "string_index_of_string_int": index_from_strict,
    "string_last_index_of_string_int": last_index_from_strict,
}

OVERLOADS: dict[str, Callable[..., Value]] = {
    "string_char_at_int": char_at,
    "string_index_of_string": index_of,
    "string_index_of_string_int": index_of,
    "string_last_index_of_string": last_index_of,
    "string_last_index_of_string_int": last_index_from,
    "string_lower_ascii": lower_ascii,
    "string_upper_ascii": upper_ascii,
    "string_replace_string_string": replace,
    "string_replace_string_string_int": replace,
    "string_split_string": split,
    "string_split_string_int": split,
    "string_substring_int": substring,
    "string_substring_int_int": substring,
    "string_trim": trim,
    "list_join": join,
    "list_join_string": join,
    "strings_quote": quote,
    "string_format": format_string,
}
