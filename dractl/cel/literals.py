"""Reads the literals of an expression: numbers, strings, bytes. Source: cel-go's ``parser/unescape.go``."""

from __future__ import annotations

import math
import re

_ESCAPE = re.compile(r"\\(?:[xX](..)|u(....)|U(........)|([0-3]..)|(.))", re.DOTALL)
_SIMPLE = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_MAX_INT, _MIN_INT, _MAX_UINT = 2**63 - 1, -(2**63), 2**64 - 1


class InvalidLiteral(Exception):
    """A literal that the grammar allows but that has no value; ``str()`` says so in cel-go's words."""


def parse_int(text: str, negative: bool) -> int:
    """A decimal or hexadecimal int64."""
    value = int(text[2:], 16) if text.startswith("0x") else _decimal(text)
    value = -value if negative else value
    if not _MIN_INT <= value <= _MAX_INT:
        raise InvalidLiteral("invalid int literal")
    return value


def parse_uint(text: str) -> int:
    """A decimal or hexadecimal uint64 with its ``u``."""
    text = text[:-1]
    value = int(text[2:], 16) if text.startswith("0x") else _decimal(text)
    if value > _MAX_UINT:
        raise InvalidLiteral("invalid uint literal")
    return value


def _decimal(text: str) -> int:
    # int() refuses very long texts, which are out of range anyway
    digits = text.lstrip("0")
    return int(digits or "0") if len(digits) < 30 else _MAX_UINT + 1


def parse_float(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise InvalidLiteral("invalid double literal")
    return value


def parse_string(text: str) -> str:
    body, raw = _body(text)
    if raw or "\\" not in body:
        return body
    return _ESCAPE.sub(_unescape_char, body)


def _unescape_char(match: re.Match[str]) -> str:
    octal, simple = match.group(4), match.group(5)
    if simple is not None:
        return _SIMPLE.get(simple, simple)
    code = int(octal, 8) if octal else int(match.group(1) or match.group(2) or match.group(3), 16)
    if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
        raise InvalidLiteral("invalid unicode code point")
    return chr(code)


def parse_bytes(text: str) -> bytes:
    body, raw = _body(text[1:])
    if raw or "\\" not in body:
        return _encode(body)
    parts: list[bytes] = []
    at = 0
    for match in _ESCAPE.finditer(body):
        parts.append(_encode(body[at : match.start()]))
        parts.append(_unescape_byte(match))
        at = match.end()
    parts.append(_encode(body[at:]))
    return b"".join(parts)


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _unescape_byte(match: re.Match[str]) -> bytes:
    hexadecimal, octal, simple = match.group(1), match.group(4), match.group(5)
    if simple is not None:
        return _SIMPLE.get(simple, simple).encode()
    if hexadecimal:
        return bytes((int(hexadecimal, 16),))
    if octal:
        return bytes((int(octal, 8),))
    # \u and \U stand for characters, which bytes do not have
    raise InvalidLiteral("unable to unescape string")


def _body(text: str) -> tuple[str, bool]:
    """What stands between the quotes, and whether the literal is raw."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    raw = text[0] in "rR"
    if raw:
        text = text[1:]
    width = 3 if len(text) >= 6 and text.startswith(('"""', "'''")) else 1
    return text[width:-width], raw
