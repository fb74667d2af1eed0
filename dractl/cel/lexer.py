"""Splits an expression into tokens, as cel-go's generated lexer does: the longest match wins, then the first rule.

Positions are offsets in code points. What no rule matches is reported and skipped, and reading goes on behind it.
Source: cel-go's grammar ``parser/gen/CEL.g4``; the texts of the errors are ANTLR's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

EOF = -1
(
    EQUALS, NOT_EQUALS, IN, LESS, LESS_EQUALS, GREATER_EQUALS, GREATER, LOGICAL_AND, LOGICAL_OR,
    LBRACKET, RBRACKET, LBRACE, RBRACE, LPAREN, RPAREN, DOT, COMMA, MINUS, EXCLAM, QUESTION, COLON,
    PLUS, STAR, SLASH, PERCENT, TRUE, FALSE, NULL, WHITESPACE, COMMENT,
    NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER, ESC_IDENTIFIER,
) = range(1, 38)  # fmt: skip

# How error texts name a token type.
NAMES = {
    EOF: "<EOF>", EQUALS: "'=='", NOT_EQUALS: "'!='", IN: "'in'", LESS: "'<'", LESS_EQUALS: "'<='",
    GREATER_EQUALS: "'>='", GREATER: "'>'", LOGICAL_AND: "'&&'", LOGICAL_OR: "'||'", LBRACKET: "'['", RBRACKET: "']'",
    LBRACE: "'{'", RBRACE: "'}'", LPAREN: "'('", RPAREN: "')'", DOT: "'.'", COMMA: "','", MINUS: "'-'", EXCLAM: "'!'",
    QUESTION: "'?'", COLON: "':'", PLUS: "'+'", STAR: "'*'", SLASH: "'/'", PERCENT: "'%'", TRUE: "'true'",
    FALSE: "'false'", NULL: "'null'", WHITESPACE: "WHITESPACE", COMMENT: "COMMENT", NUM_FLOAT: "NUM_FLOAT",
    NUM_INT: "NUM_INT", NUM_UINT: "NUM_UINT", STRING: "STRING", BYTES: "BYTES", IDENTIFIER: "IDENTIFIER",
    ESC_IDENTIFIER: "ESC_IDENTIFIER",
}  # fmt: skip

_OPERATORS = {name[1:-1]: kind for kind, name in NAMES.items() if name.startswith("'") and not name[1].isalpha()}
_WORDS = {"in": IN, "true": TRUE, "false": FALSE, "null": NULL}

_HEX = "[0-9a-fA-F]"
_ESCAPE = rf"""\\(?:[abfnrtv"'\\?`]|[xX]{_HEX}{{2}}|u{_HEX}{{4}}|U{_HEX}{{8}}|[0-3][0-7][0-7])"""
_PLAIN_STRING = (
    rf'"""(?:{_ESCAPE}|[^\\])*?"""'
    rf"|'''(?:{_ESCAPE}|[^\\])*?'''"
    rf'|"(?:{_ESCAPE}|[^\\"\n\r])*"'
    rf"|'(?:{_ESCAPE}|[^\\'\n\r])*'"
)
_RAW_STRING = '[rR](?:""".*?"""|' + "'''.*?'''" + r"""|"[^"\n\r]*"|'[^'\n\r]*')"""

_SPACE = re.compile(r"[\t \r\n\f]+")
_COMMENT = re.compile(r"//[^\n]*")
_NUMBER = re.compile(
    rf"(?P<float>[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+|\.[0-9]+(?:[eE][+-]?[0-9]+)?)"
    rf"|(?P<uint>0x{_HEX}+[uU]|[0-9]+[uU])|(?P<int>0x{_HEX}+|[0-9]+)"
)
_STRING = re.compile(f"{_PLAIN_STRING}|{_RAW_STRING}", re.DOTALL)
_BYTES = re.compile(f"[bB](?:{_PLAIN_STRING}|{_RAW_STRING})", re.DOTALL)
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_QUOTED_NAME = re.compile(r"`[A-Za-z0-9_.\-/ ]+`")
# What a string may contain before its end; where it stops, the lexer is stuck.
_STRING_BODY = {quote: re.compile(rf"(?:{_ESCAPE}|[^\\{quote}\n\r])*") for quote in "\"'"}
_QUOTED_NAME_BODY = re.compile(r"[A-Za-z0-9_.\-/ ]*")
_ESCAPE_BODIES = (
    re.compile(r"[0-3][0-7]{0,2}"),
    re.compile(rf"[xX]{_HEX}{{0,2}}"),
    re.compile(rf"u{_HEX}{{0,4}}"),
    re.compile(rf"U{_HEX}{{0,8}}"),
)
_DIGITS = frozenset("0123456789")
_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_")


@dataclass(slots=True)
class Token:
    """One token. ``index`` counts all tokens, hidden ones (white space, comments) included; -1 for a token that error
    recovery made up."""

    kind: int
    text: str
    start: int
    index: int = -1

    @property
    def hidden(self) -> bool:
        return self.kind in (WHITESPACE, COMMENT)


@dataclass(slots=True)
class LexError:
    """Text that is no token."""

    start: int
    message: str


def tokens(source: str, escapes: bool = True) -> Iterator[Token | LexError]:
    """All tokens in order, hidden ones too, the last one EOF; between them what could not be read.

    ``escapes``: names in backticks are tokens, as since cel-go 0.23.
    """
    position = index = 0
    end = len(source)
    while position < end:
        kind, stop = _match(source, position)
        if source[position] == "`" and not escapes:
            kind, stop = 0, position
        if kind:
            yield Token(kind, source[position:stop], position, index)
            index += 1
        else:
            # the text shown includes the character at which the lexer got stuck, and that one is skipped too
            yield LexError(position, f"token recognition error at: '{source[position : stop + 1]}'")
            stop += 1
        position = stop
    yield Token(EOF, "<EOF>", end, index)


def _match(source: str, at: int) -> tuple[int, int]:
    """Kind and end of the token at ``at``; kind 0 and the place where reading got stuck if there is none."""
    char = source[at]
    if char in _LETTERS:
        return _match_word(source, at)
    if char in "\t \r\n\f":
        return WHITESPACE, _end(_SPACE, source, at)
    if char in "\"'":
        found = _STRING.match(source, at)
        return (STRING, found.end()) if found else (0, _stuck_in_string(source, at))
    if char in _DIGITS or (char == "." and source[at + 1 : at + 2] in _DIGITS):
        number = _NUMBER.match(source, at)
        assert number is not None
        kinds = {"float": NUM_FLOAT, "uint": NUM_UINT, "int": NUM_INT}
        return kinds[number.lastgroup or ""], number.end()
    pair = source[at : at + 2]
    if pair == "//":
        return COMMENT, _end(_COMMENT, source, at)
    if pair in _OPERATORS:
        return _OPERATORS[pair], at + len(pair)
    if char in _OPERATORS:
        return _OPERATORS[char], at + 1
    if char == "`":
        found = _QUOTED_NAME.match(source, at)
        return (ESC_IDENTIFIER, found.end()) if found else (0, _end(_QUOTED_NAME_BODY, source, at + 1))
    return 0, at + 1 if char in "=&|" else at


def _match_word(source: str, at: int) -> tuple[int, int]:
    char = source[at]
    stop = _end(_WORD, source, at)
    for first, kind, pattern in (("rR", STRING, _STRING), ("bB", BYTES, _BYTES)):
        if char in first:
            found = pattern.match(source, at)
            if found and found.end() > stop:
                return kind, found.end()
    return _WORDS.get(source[at:stop], IDENTIFIER), stop


def _end(pattern: re.Pattern[str], source: str, at: int) -> int:
    found = pattern.match(source, at)
    return found.end() if found else at


def _stuck_in_string(source: str, at: int) -> int:
    """Where reading an unterminated or badly escaped string stops."""
    stop = _end(_STRING_BODY[source[at]], source, at + 1)
    if source[stop : stop + 1] == "\\":
        escape = stop + 1
        return max(_end(body, source, escape) for body in _ESCAPE_BODIES)
    return stop
