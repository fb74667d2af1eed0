"""``dractl top``: nodes, waiting claims and findings in the terminal, read again and again."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from dractl.cli import options
from dractl.cli.app import new_app

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dractl.cli.following import Followed
    from dractl.cli.refreshing import Refreshing
    from dractl.inventory import Inventory
    from dractl.render.top.board import Board
    from dractl.render.top.session import Session
    from dractl.sources.watch import Freshness

app = new_app()


class View(StrEnum):
    """The views, as the keys 1, 2 and 3 choose them."""

    FLEET = "fleet"
    CLAIMS = "claims"
    FINDINGS = "findings"


@app.command()
def top(
    view: Annotated[
        View | None, typer.Option("--view", help="What to begin with [fleet]; printed once: only this.")
    ] = None,
    search: Annotated[str, typer.Option("--search", metavar="WORDS", help="Show only what holds all words.")] = "",
    interval: Annotated[
        int, typer.Option("--interval", min=2, metavar="SECONDS", help="Longest time until ages are counted anew.")
    ] = 15,
    once: Annotated[bool, typer.Option("--once", help="Print it once and end, as into a file or pipe.")] = False,
    snapshot: options.Snapshot = None,
    demo: options.Demo = False,
    context: options.Context = None,
    kubeconfig: options.Kubeconfig = None,
    kubernetes: options.Kubernetes = None,
) -> int:
    """Watch the fleet, claims that pods wait for, and findings, full-screen; q ends it, ? shows the keys.

    A running cluster is followed. Where there is no terminal, everything is printed once.
    """
    from dractl.cli.following import Followed
    from dractl.cli.output import emit, terminal
    from dractl.cli.refreshing import Refreshing
    from dractl.cli.source import Source, one_source
    from dractl.errors import Exit
    from dractl.render.top.board import View as Shown
    from dractl.render.top.frame import lines_of, whole
    from dractl.render.top.session import Session

    one_source(snapshot, demo, context, kubeconfig)
    source = Source(snapshot, demo, context, kubeconfig, everything=True)
    keys = None if once else _keys()
    followed = Followed(source) if keys is not None and not (snapshot or demo) else None
    board = _board(_first(followed) if followed is not None else source.open(), kubernetes)
    session = Session(board, Shown(view.value) if view else Shown.FLEET, search)
    out = terminal()
    if keys is None:
        lines = whole(session, out.width, [session.view] if view else list(Shown))
        if out.colour:
            from dractl.cli.screen import coloured

            emit(coloured(lines))
        else:
            emit("\n".join(lines_of(lines)))
        return Exit.GOOD
    fresh = None
    if followed is not None:
        look = followed.look
        fresh = Refreshing(followed, lambda: _board(look(), kubernetes), interval)
    try:
        _watch(session, keys, out.colour, fresh)
    finally:
        if followed is not None:
            followed.close()
    return Exit.GOOD


def _keys() -> int | None:
    """Where keys come from, if there is a terminal that can be drawn on."""
    import os
    import sys

    from dractl.cli.screen import keyboard

    if not sys.stdout.isatty() or os.environ.get("TERM", "dumb") == "dumb":
        return None
    return keyboard()


def _watch(session: Session, keys: int, colour: bool, fresh: Refreshing[Board] | None) -> None:
    """Show the session until it is done; ``fresh`` brings new states of a running cluster."""
    import contextlib
    import io

    from dractl.cli.screen import Screen
    from dractl.render.top.frame import frame
    from dractl.render.top.spans import Line

    def draw(width: int, height: int) -> list[Line]:
        if fresh is None:
            return frame(session, width, height)
        board = fresh.take()
        if board is not None:
            session.show(board)
        return frame(session, width, height, fresh.status(), fresh.problem)

    def press(key: str) -> None:
        session.press(key)
        if session.reload:
            session.reload = False
            if fresh is not None:
                fresh.hurry()

    screen = Screen(draw, press, keys, colour)
    with contextlib.redirect_stderr(io.StringIO()):  # remarks of a reading must not run over the picture
        if fresh is not None:
            fresh.start(screen.wake)
        screen.run(lambda: not session.done, 1.0 if fresh is not None else None)


def _first(followed: Followed) -> Inventory:
    """The first look, with counts of what has arrived where it takes long."""
    from dractl.cli.output import Progress

    with Progress() as progress:

        def told(found: Mapping[str, Freshness]) -> None:
            for one in found.values():
                progress(one.kind, one.objects)

        return followed.look(told)


def _board(inventory: Inventory, kubernetes: str | None) -> Board:
    from dractl.cli.explain import question_of
    from dractl.diagnose.check import Context
    from dractl.render.top.board import board_of

    return board_of(Context(question_of(inventory, kubernetes)))
