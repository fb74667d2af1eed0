"""``dractl top``: nodes, waiting claims and findings in the terminal, read again and again."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from dractl.cli import options
from dractl.cli.app import new_app

if TYPE_CHECKING:
    from collections.abc import Callable

    from dractl.render.top.board import Board
    from dractl.render.top.session import Session

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
    interval: Annotated[int, typer.Option("--interval", min=2, metavar="SECONDS", help="Time between readings.")] = 15,
    once: Annotated[bool, typer.Option("--once", help="Print it once and end, as into a file or pipe.")] = False,
    snapshot: options.Snapshot = None,
    demo: options.Demo = False,
    context: options.Context = None,
    kubeconfig: options.Kubeconfig = None,
    kubernetes: options.Kubernetes = None,
) -> int:
    """Watch the fleet, claims that pods wait for, and findings, full-screen; q ends it, ? shows the keys."""
    from dractl.cli.output import emit, terminal
    from dractl.errors import Exit
    from dractl.render.top.board import View as Shown
    from dractl.render.top.frame import lines_of, whole
    from dractl.render.top.session import Session

    read = _reader(snapshot, demo, context, kubeconfig, kubernetes)
    session = Session(read(), Shown(view.value) if view else Shown.FLEET, search)
    out = terminal()
    keys = None if once else _keys()
    if keys is None:
        lines = whole(session, out.width, [session.view] if view else list(Shown))
        if out.colour:
            from dractl.cli.screen import coloured

            emit(coloured(lines))
        else:
            emit("\n".join(lines_of(lines)))
        return Exit.GOOD
    _watch(session, keys, out.colour, None if demo or snapshot else read, interval)
    return Exit.GOOD


def _keys() -> int | None:
    """Where keys come from, if there is a terminal that can be drawn on."""
    import os
    import sys

    from dractl.cli.screen import keyboard

    if not sys.stdout.isatty() or os.environ.get("TERM", "dumb") == "dumb":
        return None
    return keyboard()


def _watch(session: Session, keys: int, colour: bool, read: Callable[[], Board] | None, interval: float) -> None:
    """Show the session until it is done; ``read`` (of a running cluster) is called every ``interval`` seconds."""
    import contextlib
    import io

    from dractl.cli.refreshing import Refreshing
    from dractl.cli.screen import Screen
    from dractl.render.top.frame import frame
    from dractl.render.top.spans import Line

    fresh = Refreshing(read, interval) if read else None

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


def _reader(
    snapshot: str | None, demo: bool, context: str | None, kubeconfig: str | None, kubernetes: str | None
) -> Callable[[], Board]:
    def read() -> Board:
        from dractl.cli.explain import question_of
        from dractl.cli.source import open_inventory
        from dractl.diagnose.check import Context
        from dractl.render.top.board import board_of

        inventory = open_inventory(snapshot, demo, context, kubeconfig, everything=True)
        return board_of(Context(question_of(inventory, kubernetes)))

    return read
