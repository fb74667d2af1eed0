"""``dractl report``: the cluster to look at, in one file."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from dractl.cli import options
from dractl.cli.app import new_app

app = new_app()


class Form(StrEnum):
    """Forms of the report."""

    HTML = "html"
    MD = "md"


_SUFFIXES = {".html": Form.HTML, ".htm": Form.HTML, ".md": Form.MD, ".markdown": Form.MD}


@app.command()
def report(
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE|html|md|-",
            help="Where to write: a file (.html, .md), or the form's name or - for stdout.",
        ),
    ],
    form: Annotated[
        Form | None,
        typer.Option("--format", help="The form, where the file's name does not tell [html].", show_default=False),
    ] = None,
    snapshot: options.Snapshot = None,
    demo: options.Demo = False,
    context: options.Context = None,
    kubeconfig: options.Kubeconfig = None,
    kubernetes: options.Kubernetes = None,
) -> int:
    """Write the fleet, pending claims and findings as one page for people (HTML), or for tickets (Markdown)."""
    from dractl import __version__
    from dractl.cli.explain import question_of
    from dractl.cli.output import emit, note
    from dractl.cli.source import open_inventory
    from dractl.diagnose.check import Context as Shared
    from dractl.errors import Exit
    from dractl.render.html import render_html
    from dractl.render.markdown import render_markdown
    from dractl.render.overview import overview_of

    path, chosen = _target(output, form)
    inventory = open_inventory(snapshot, demo, context, kubeconfig, everything=True)
    overview = overview_of(Shared(question_of(inventory, kubernetes)))
    text = render_html(overview, __version__) if chosen is Form.HTML else render_markdown(overview)
    if path is None:
        emit(text)
    else:
        _write(path, text)
        note(f"written: {path} ({len(text.encode()) / 1024:,.0f} KiB)")
    return Exit.GOOD


def _target(output: str, form: Form | None) -> tuple[str | None, Form]:
    """The file to write (None: stdout) and the form of the report."""
    from pathlib import Path

    from dractl.errors import DractlError

    if output == "-":
        return None, form or Form.HTML
    if output in list(Form):
        named = Form(output)
        if form not in (None, named):
            raise DractlError(f"-o {output} and --format {form} exclude each other", "Give one of them.")
        return None, named
    chosen = form or _SUFFIXES.get(Path(output).suffix.lower())
    if chosen is None:
        raise DractlError(
            f"-o {output}: the file's name does not tell the form", "Name it .html or .md, or give --format html or md."
        )
    return output, chosen


def _write(path: str, text: str) -> None:
    from pathlib import Path

    Path(path).write_text(text, encoding="utf-8", newline="\n")
