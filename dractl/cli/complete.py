"""``dractl __complete WORDS...``: what may stand in place of the last word, for the shells and for ``kubectl dra``.

Prints one candidate a line, with its help after a tab, and then a line ``:0`` (files may be completed too) or ``:4``
(they may not). This is the protocol that kubectl speaks with its plugins (``kubectl_complete-dra``); the scripts in
``completions/`` speak it too. It is computed here and not by typer, whose own way imports rich (300 ms at each key).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

COMMAND = "__complete"
_FILES = ":0"
_NO_FILES = ":4"
_PATHS = ("FILE", "DIR", "PATH")


def complete(root: Any, words: Sequence[str]) -> str:
    """The answer for a command line without the program's name; its last word is the one to complete."""
    words = _joined(words) or [""]
    done, current = words[:-1], words[-1]
    command, waiting = _walk(root, done)
    if waiting is None and current.startswith("--") and "=" in current:
        name, _, current = current.partition("=")
        option = _option(command, name)
        if option is None:
            return _NO_FILES
        return _answer([(f"{name}={value}", text) for value, text in _values(option, current)], _wants_files(option))
    if waiting is not None:
        if waiting.name in ("namespace", "node", "driver"):
            from dractl.cli.names import names

            return _answer(names(done[:-1], current, waiting.name), files=False)
        return _answer(_values(waiting, current), _wants_files(waiting))
    if current.startswith("-"):
        return _answer(_options(command, done, current), files=False)
    if hasattr(command, "list_commands"):
        return _answer(_commands(command, current), files=False)
    argument = next((param for param in command.params if param.param_type_name == "argument"), None)
    if argument is None:
        return _NO_FILES
    if argument.metavar in ("NAME", "DRIVER/POOL/DEVICE"):
        from dractl.cli.names import names

        what = None if argument.metavar == "NAME" else "device"
        return _answer(names(done, current, what), files=False)
    return _answer(_values(argument, current), _wants_files(argument))


def _answer(candidates: Any, files: bool) -> str:
    lines = [f"{value}\t{' '.join(text.split())}" if text else value for value, text in candidates]
    return "\n".join([*lines, _FILES if files else _NO_FILES])


def _joined(words: Sequence[str]) -> list[str]:
    """bash takes ``--output=json`` apart at the equals sign."""
    out: list[str] = []
    words = list(words)
    while words:
        word = words.pop(0)
        if word == "=" and out and out[-1].startswith("--"):
            word = words.pop(0) if words else ""
        out.append(word)
    return out


def _walk(root: Any, words: Sequence[str]) -> tuple[Any, Any]:
    """The command that the finished words lead to, and the option whose value comes next, if one does."""
    command = root
    waiting = None
    for word in words:
        if waiting is not None:
            waiting = None
        elif word.startswith("-") and word != "-":
            option = _option(command, word)
            if option is not None and not option.is_flag and "=" not in word:
                waiting = option
        elif hasattr(command, "load"):
            command = command.load(word) or command
        elif hasattr(command, "list_commands"):
            command = command.commands.get(word, command)
    return command, waiting


def _option(command: Any, name: str) -> Any:
    name = name.partition("=")[0]
    return next((p for p in command.params if p.param_type_name == "option" and name in _names(p)), None)


def _names(option: Any) -> list[str]:
    return [*option.opts, *option.secondary_opts]


def _options(command: Any, done: Sequence[str], current: str) -> Iterator[tuple[str, str]]:
    for option in command.params:
        if option.param_type_name != "option" or option.hidden:
            continue
        if any(name in done for name in _names(option)) and not option.multiple:
            continue
        for name in _names(option):
            if name.startswith(current) and (name.startswith("--") or current == name):
                yield name, option.help or ""
    if "--help".startswith(current):
        yield "--help", "Show this message and exit."


def _commands(group: Any, current: str) -> Iterator[tuple[str, str]]:
    for name, command in group.commands.items():
        if name.startswith(current) and not command.hidden:
            yield name, command.get_short_help_str(limit=100)


def _values(param: Any, current: str) -> Iterator[tuple[str, str]]:
    alternatives = (param.metavar or "").split("|") if "|" in (param.metavar or "") else []
    # -o of lists also takes templates, so it is no choice of typer's
    spelled = [text.removesuffix("...") for text in alternatives if text == text.lower() and text != "-"]
    for choice in [*getattr(param.type, "choices", ()), *spelled]:
        value = str(getattr(choice, "value", choice))
        if value.startswith(current):
            yield value, ""


def _wants_files(param: Any) -> bool:
    return any(word in (param.metavar or "").upper() for word in _PATHS)
