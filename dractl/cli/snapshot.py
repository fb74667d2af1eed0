"""``dractl snapshot``: record a cluster, look at a recording."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from dractl.cli import options
from dractl.cli.app import new_app

if TYPE_CHECKING:
    from dractl.sources.cluster import RawState

app = new_app()


@app.callback()
def snapshot() -> None:
    """Record a cluster in a file that every command reads with --snapshot, and look at such files."""


@app.command()
def save(
    file: Annotated[str, typer.Argument(metavar="FILE", help="Where to write (.json or .json.gz).")],
    namespace: Annotated[
        str | None,
        typer.Option("--namespace", "-n", metavar="NS", help="Where to look for what may not be listed everywhere."),
    ] = None,
    snapshot: options.Snapshot = None,
    demo: options.Demo = False,
    context: options.Context = None,
    kubeconfig: options.Kubeconfig = None,
    redact: Annotated[
        bool,
        typer.Option(
            "--redact", help="With pseudonyms for all names, and without identifiers, messages and parameters."
        ),
    ] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 3 if anything could not be read.")] = False,
) -> int:
    """Write the DRA objects, pods, nodes, events and what else diagnosis reads to FILE."""
    from dractl.cli.output import emit, note
    from dractl.errors import Exit
    from dractl.sources.save import write_snapshot

    state = _state(namespace, snapshot, demo, context, kubeconfig)
    if redact:
        from dractl.sources.redact import redact as without_names

        state = without_names(state)
    size = write_snapshot(file, state)
    for kind, reason in sorted(state.unseen.items()):
        note(f"note: {kind}: {reason}")
    emit(f"{file}: {len(state.items)} objects, {size:,} bytes" + (", incomplete" if state.unseen else ""))
    return Exit.NO_CLUSTER if strict and state.unseen else Exit.GOOD


def _state(
    namespace: str | None, snapshot: str | None, demo: bool, context: str | None, kubeconfig: str | None
) -> RawState:
    from dractl.cli.output import Progress
    from dractl.cli.source import connect_to, one_source
    from dractl.sources.cluster import RESOURCES, read_cluster
    from dractl.sources.snapshot import read_raw

    one_source(snapshot, demo, context, kubeconfig)
    if demo or snapshot:
        return read_raw(snapshot)
    with Progress() as progress:
        kinds = [item.kind for item in RESOURCES]
        return read_cluster(connect_to(context, kubeconfig), kinds, namespace, progress)


@app.command()
def info(
    file: Annotated[str, typer.Argument(metavar="FILE|DIR|-", help="The recording.")],
    output: options.Output = options.Format.TEXT,
) -> int:
    """Say what a recording holds: when and of which Kubernetes it was taken, what is in it, what is missing."""
    from dractl.cli.output import emit_report
    from dractl.listing.recording import describe_recording
    from dractl.render.text.recording import render_recording
    from dractl.sources.snapshot import read_snapshot

    report = describe_recording(read_snapshot(file))
    emit_report(report.to_json(), output, lambda terminal: render_recording(report, terminal))
    return 0


@app.command()
def diff(
    before: Annotated[str, typer.Argument(metavar="BEFORE", help="The earlier recording.")],
    after: Annotated[str, typer.Argument(metavar="AFTER", help="The later recording.")],
    output: options.Output = options.Format.TEXT,
) -> int:
    """List what changed between two recordings: claims, allocations, devices, taints, pools, nodes."""
    from dractl.cli.output import emit_report
    from dractl.errors import Exit
    from dractl.listing.recording import compare_recordings
    from dractl.render.text.recording import render_changes
    from dractl.sources.snapshot import read_snapshot

    report = compare_recordings(read_snapshot(before), read_snapshot(after))
    emit_report(report.to_json(), output, lambda terminal: render_changes(report, terminal))
    return Exit.NOT_GOOD if report.changes else Exit.GOOD
