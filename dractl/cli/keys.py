"""Bytes of a terminal -> the names of keys that ``dractl.render.top.session`` knows."""

from __future__ import annotations

import codecs
import re

_SEQUENCES = {
    "A": "up",
    "B": "down",
    "C": "right",
    "D": "left",
    "H": "home",
    "F": "end",
    "Z": "shift-tab",
    "1~": "home",
    "4~": "end",
    "5~": "page-up",
    "6~": "page-down",
    "7~": "home",
    "8~": "end",
    "3~": "delete",
}
_CONTROL = {
    "\r": "enter",
    "\n": "enter",
    "\t": "tab",
    "\x7f": "backspace",
    "\x08": "backspace",
    "\x15": "ctrl-u",
    "\x0c": "ctrl-l",
    "\x1a": "ctrl-z",
    "\x03": "ctrl-c",
    "\x04": "ctrl-d",
    "\x02": "page-up",
    "\x06": "page-down",
    "\x0e": "down",
    "\x10": "up",
}
_ESCAPE = re.compile(r"\x1b(?:\[([0-9;?]*[@-~])|O([@-~]))")
_UNFINISHED = re.compile(r"\x1b(?:\[[0-9;?]*|O)?$")
_MODIFIER = re.compile(r"(?:1;\d|;\d)(?=[A-Z~])")


class Keys:
    """Puts together what arrives in parts: characters of several bytes, and sequences that begin with escape."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="ignore")
        self._rest = ""

    @property
    def waiting(self) -> bool:
        """Whether a sequence has begun; a lone escape is one that nothing follows (``flush``)."""
        return bool(self._rest)

    def feed(self, data: bytes) -> list[str]:
        """The keys that are complete. What no key is known for is passed over."""
        text = self._rest + self._decoder.decode(data)
        self._rest = ""
        keys: list[str] = []
        while text:
            if text[0] != "\x1b":
                keys += [_CONTROL.get(text[0], text[0])] if text[0] in _CONTROL or text[0].isprintable() else []
                text = text[1:]
            elif found := _ESCAPE.match(text):
                name = _SEQUENCES.get(_MODIFIER.sub("", found[1] or found[2]))
                keys += [name] if name else []
                text = text[found.end() :]
            elif _UNFINISHED.match(text):
                self._rest = text
                break
            else:  # escape, and then something of its own
                keys.append("escape")
                text = text[1:]
        return keys

    def flush(self) -> list[str]:
        """Nothing more came: what was waiting was the escape key (and perhaps a character after it)."""
        rest, self._rest = self._rest, ""
        return ["escape", *rest[1:]] if rest else []
