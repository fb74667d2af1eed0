"""Regular expressions as Go's ``regexp`` package knows them: ``matches``, ``find`` and ``findAll``.

RE2 does the work (Python's own ``re`` differs in syntax and backtracks). Go's syntax is RE2's but for ``\\C``; the
texts of syntax errors are put into Go's words. Declarations: ``decl_kubernetes.REGEX``.
Source: Go ``regexp/syntax``; ``k8s.io/apiserver/pkg/cel/library/regex.go``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from dractl.cel import guard
from dractl.cel.values import NO_OVERLOAD, EvalError, Optional, TypeValue, Value

_GO_WORDS = {
    "invalid escape sequence": "invalid escape sequence",
    "invalid character class": "invalid character class",
    "invalid character class range": "invalid character class range",
    "missing ]": "missing closing ]",
    "missing )": "missing closing )",
    "unexpected )": "unexpected )",
    "trailing \\": "trailing backslash at end of expression",
    "no argument for repetition operator": "missing argument to repetition operator",
    "invalid repetition size": "invalid repeat count",
    "bad repetition operator": "invalid nested repetition operator",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "invalid UTF-8": "invalid UTF-8",
    "invalid named capture group": "invalid named capture",
}
_LOOKBEHIND = ("(?<=", "(?<!")
_MAX_MEMORY = 64 << 20
_GROUPS = re.compile(
    r"\\Q.*?(?:\\E|$)|\\.|\[\^?\]?(?:\[:[^\]]*:\]|\\.|[^\]\\])*\]|\(\?P?<(?P<name>[^>]*)(?P<end>>?)", re.DOTALL
)
"""Groups with a name, past what only looks like one in quotes and classes."""
_NAME = re.compile("[A-Za-z0-9_]+")
_ESCAPES = re.compile(r"\\Q.*?(?:\\E|$)|\\.", re.DOTALL)


class Regex:
    """A compiled expression, or the text of its syntax error."""

    __slots__ = ("_program", "error")

    def __init__(self, program: Any, error: str | None) -> None:
        self._program = program
        self.error = error

    def search(self, text: str) -> bool:
        """Whether the expression matches anywhere in the text."""
        return self._first(_bytes(text), 0) is not None

    def _first(self, data: bytes, place: int) -> Any:
        """The leftmost match; RE2 finds ``\\B`` between the bytes of one character, too, Go does not."""
        match = self._program.search(data, place)
        while match is not None and _within_character(data, match.start()):
            match = self._program.search(data, match.start() + 1)
        return match

    def find(self, text: str) -> str:
        """The leftmost match, or an empty text."""
        found = self._first(_bytes(text), 0)
        return _text(found.group()) if found is not None else ""

    def find_all(self, text: str, limit: int) -> list[str]:
        """Up to ``limit`` matches that do not overlap (a negative limit: all), as Go's ``FindAllString``.

        An empty match right after a match does not count.
        """
        data = _bytes(text)
        found: list[str] = []
        place, last_end = 0, -1
        while place <= len(data) and (limit < 0 or len(found) < limit):
            match = self._first(data, place)
            if match is None:
                break
            start, end = match.span()
            if end > start or start != last_end:
                found.append(_text(data[start:end]))
                guard.check_items(len(found), guard.MAX_MATCHES)
            last_end = end
            place = end if end > place else place + _width(data, place)
            place = max(place, start)
        return found


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _within_character(data: bytes, place: int) -> bool:
    return place < len(data) and data[place] & 0xC0 == 0x80


def _width(data: bytes, place: int) -> int:
    """The number of bytes of the character at a place."""
    end = place + 1
    while end < len(data) and data[end] & 0xC0 == 0x80:
        end += 1
    return end - place


@lru_cache(maxsize=1024)
def compile_regex(pattern: str) -> Regex:
    """Compile a pattern; ``error`` of the result is Go's text if it is not well formed."""
    import re2

    options = re2.Options()
    options.log_errors = False
    options.max_mem = _MAX_MEMORY
    try:
        program = re2.compile(_bytes(_without_any_byte(pattern)), options)
        bad = _bad_name(pattern) if "<" in pattern and not pattern.isascii() else None
        if bad is not None:
            return Regex(None, f"error parsing regexp: invalid named capture: `{bad}`")
        return Regex(program, None)
    except re2.error as fault:
        message = fault.args[0]
        text = message.decode("utf-8", "replace") if isinstance(message, bytes) else str(message)
        return Regex(None, _go_error(pattern, text))


def _without_any_byte(pattern: str) -> str:
    """The pattern with ``\\C``, which RE2 takes and Go does not, made an escape that neither takes."""
    if "\\C" not in pattern:
        return pattern
    return _ESCAPES.sub(lambda found: "\\Y" if found.group() == "\\C" else found.group(), pattern)


def _go_error(pattern: str, message: str) -> str:
    for words, go_words in sorted(_GO_WORDS.items(), key=lambda pair: -len(pair[0])):
        if message.startswith(words):
            argument = message[len(words) :].removeprefix(": ")
            if argument == "\\Y":
                argument = "\\C"
            if words.endswith(" )"):
                argument = pattern
            if words == "invalid repetition size":
                argument = argument.removesuffix("?")
            if argument in _LOOKBEHIND:
                # to Go these begin the name of a group
                go_words, argument = _GO_WORDS["invalid named capture group"], _bad_name(pattern) or argument
            if go_words.startswith("trailing"):
                return f"error parsing regexp: {go_words}: ``"
            return f"error parsing regexp: {go_words}: `{argument}`"
    return "error parsing regexp: expression too large: ``"


def _bad_name(pattern: str) -> str | None:
    """The first group whose name Go refuses, as Go quotes it: up to the end of the name, or all the rest."""
    for found in _GROUPS.finditer(pattern):
        name = found["name"]
        if name is not None and not (found["end"] and _NAME.fullmatch(name)):
            return found.group() if found["end"] else pattern[found.start() :]
    return None


def search(pattern: str, text: Value) -> bool:
    """``text.matches(pattern)``.

    Raises:
        EvalError: when the pattern is not well formed.
    """
    regex = compile_regex(pattern)
    if regex.error is not None:
        raise EvalError(regex.error)
    return _search(regex, text)


@lru_cache(maxsize=65536)
def _search(regex: Regex, text: str) -> bool:
    return regex.search(text)


def _compiled(pattern: str) -> Regex:
    regex = compile_regex(pattern)
    if regex.error is not None:
        raise EvalError(f"Illegal regex: {regex.error}")
    return regex


def find(text: str, pattern: str) -> str:
    return _compiled(pattern).find(text)


def find_all(text: str, pattern: str, limit: int = -1) -> list[str]:
    return _compiled(pattern).find_all(text, limit)


def _held(value: Value) -> Value:
    while value.__class__ is Optional:
        value = value.value
    return value


def with_constant_pattern(function: str, regex: Regex) -> Callable[..., Value]:
    """``matches``, ``find`` or ``findAll`` with a pattern that was compiled beforehand.

    What is asked for is the Go value: that of a type is its name, that of an optional what it holds.
    """

    def checked(text: Value) -> str:
        text = _held(text)
        if text.__class__ is str:
            return str(text)
        if text.__class__ is TypeValue:
            return str(text.name)
        raise EvalError(NO_OVERLOAD)

    if function == "matches":
        return lambda text, pattern: _search(regex, checked(text))
    if function == "find":
        return lambda text, pattern: regex.find(checked(text))

    def find_some(text: Value, pattern: Value, limit: Value = -1) -> list[str]:
        whole, limit = checked(text), _held(limit)
        if limit.__class__ is not int:
            raise EvalError(NO_OVERLOAD)
        return regex.find_all(whole, limit)

    return find_some


OVERLOADS: dict[str, Callable[..., Value]] = {
    "string_find_string": find,
    "string_find_all_string": find_all,
    "string_find_all_string_int": find_all,
}
