"""``dractl metrics``: the state of a cluster for Prometheus."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from dractl.cli import options
from dractl.cli.app import new_app

if TYPE_CHECKING:
    from collections.abc import Callable

    from dractl.inventory import Inventory
    from dractl.metrics.families import Family

app = new_app()


@app.command()
def metrics(
    once: Annotated[bool, typer.Option("--once", help="Print the metrics once and end.")] = False,
    openmetrics: Annotated[
        bool,
        typer.Option("--openmetrics", help="With --once: in OpenMetrics. The server gives it to whoever asks for it."),
    ] = False,
    listen: Annotated[
        str, typer.Option("--listen", metavar="HOST:PORT", help="Where to serve /metrics and /healthz.")
    ] = "127.0.0.1:9430",
    interval: Annotated[
        int, typer.Option("--interval", min=5, metavar="SECONDS", help="Longest time between refreshes.")
    ] = 60,
    max_series: Annotated[
        int | None,
        typer.Option(
            "--max-series", min=100, metavar="N", help="Most series of one metric; labels are given up for it [50000]."
        ),
    ] = None,
    snapshot: options.Snapshot = None,
    demo: options.Demo = False,
    context: options.Context = None,
    kubeconfig: options.Kubeconfig = None,
    kubernetes: options.Kubernetes = None,
) -> int:
    """Serve devices, claims, pending reasons, topology and findings as metrics; a running cluster is followed."""
    from dractl.cli.exporter import Exporter, serve, server
    from dractl.cli.following import following
    from dractl.cli.output import emit, note
    from dractl.cli.source import Source, one_source
    from dractl.errors import DractlError, Exit
    from dractl.metrics.bounds import MOST, bounded
    from dractl.render.openmetrics import to_text

    if openmetrics and not once:
        raise DractlError(
            "--openmetrics goes with --once only",
            "Leave it out: the server answers in OpenMetrics whoever asks for it with Accept, as Prometheus does.",
        )
    one_source(snapshot, demo, context, kubeconfig)
    source = Source(snapshot, demo, context, kubeconfig, everything=True)
    compute = _compute(kubernetes)
    most = max_series or MOST
    if once:
        emit(to_text(bounded(compute(source.open()), most), openmetrics).decode())
        return Exit.GOOD
    host, port = _address(listen)
    exporter = Exporter(following(source), compute, _ages(live=not (snapshot or demo)), interval, most)
    http = server(exporter, host, port)
    shown = f"[{host}]" if ":" in host else host
    note(f"serving http://{shown}:{http.server_address[1]}/metrics, refreshed after changes and every {interval}s")
    serve(exporter, http)
    return Exit.GOOD


def _compute(kubernetes: str | None) -> Callable[[Inventory], list[Family]]:
    def compute(inventory: Inventory) -> list[Family]:
        from dractl.cli.explain import question_of
        from dractl.metrics.families import families

        return families(question_of(inventory, kubernetes))

    return compute


def _ages(live: bool) -> Callable[[Inventory, float], list[Family]]:
    """What counts pending ages: to the present, or (of a recording) to its own time."""

    def count(inventory: Inventory, now: float) -> list[Family]:
        from datetime import UTC, datetime

        from dractl.metrics.families import ages

        moment = datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if live else None
        return [ages(inventory, moment)]

    return count


def _address(text: str) -> tuple[str, int]:
    from dractl.errors import DractlError

    host, _, port = text.rpartition(":")
    if not port.isdigit() or not 0 <= int(port) < 65536:
        raise DractlError(f"--listen {text}: is not HOST:PORT", "Give it as 0.0.0.0:9430 or :9430.")
    return host.strip("[]") or "0.0.0.0", int(port)
