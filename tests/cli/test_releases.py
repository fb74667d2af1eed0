"""``--kubernetes`` in every command that has it: a release without known rules is refused, not guessed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from dractl.cli import frame, options
from dractl.errors import DractlError


def commands(command: Any, words: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """A command and those under it, with the words that call them."""
    if not hasattr(command, "commands"):
        yield words, command
        return
    for name, stub in command.commands.items():
        loaded = command.load(name) if isinstance(command, frame.LazyGroup) else stub
        yield from commands(loaded, (*words, name))


WITH_RELEASE = {
    " ".join(words): command
    for words, command in commands(frame.root_command())
    if any("--kubernetes" in each.opts for each in command.params)
}


def test_that_they_are_found() -> None:
    assert {"cel check", "cel eval", "validate", "explain claim", "diagnose", "get devices"} <= set(WITH_RELEASE)
    assert len(WITH_RELEASE) > 20


@pytest.mark.parametrize("name", WITH_RELEASE)
def test_unknown_release(dractl, name) -> None:
    run = dractl(*name.split(), "--kubernetes", "1.99")
    assert (run.code, run.out) == (2, "")
    assert run.err.splitlines()[0] == "error: --kubernetes 1.99: dractl knows Kubernetes 1.30 to 1.37"


@pytest.mark.parametrize("text", ["1.36", "v1.37.2", "1.36.2-gke.1", None])
def test_known_release(text) -> None:
    assert options.known_release(text) == text


@pytest.mark.parametrize("text", ["1.29", "1.38", "2.0", "new", "", "36", "1.x"])
def test_no_known_release(text) -> None:
    with pytest.raises(DractlError):
        options.known_release(text)
