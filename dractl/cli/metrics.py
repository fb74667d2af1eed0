"""``dractl metrics``: the state of a cluster for Prometheus."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from dractl.cli import options
from dractl.cli.app import new_app

if TYPE_CHECKING:
    from collections.abc import Callable

    from dractl.metrics.families import Family

app = new_app()


@app.command()
def metrics(
    once: Annotated[bool, typer.Option("--once", help="Print the metrics once and end.")] = False,
    openmetrics: Annotated[bool, typer.Option("--openmetrics", help="With --once: in OpenMetrics.")] = False,
    listen: Annotated[
        str, typer.Option("--listen", metavar="HOST:PORT", help="Where to serve /metrics and /healthz.")
    ] = "127.0.0.1:9430",
    interval: Annotated[int, typer.Option("--interval", min=5, metavar="SECONDS", help="Time between readings.")] = 60,
    snapshot: options.Snapshot = None,
    demo: options.Demo = False,
    context: options.Context = None,
    kubeconfig: options.Kubeconfig = None,
    kubernetes: options.Kubernetes = None,
) -> int:
    """Serve devices, claims, pending reasons, topology and findings as metrics; read again every interval."""
    from dractl.cli.exporter import Exporter, serve
    from dractl.cli.output import emit, note
    from dractl.errors import Exit
    from dractl.render.openmetrics import to_text

    read = _reader(snapshot, demo, context, kubeconfig, kubernetes)
    if once:
        emit(to_text(read(), openmetrics).decode())
        return Exit.GOOD
    host, port = _address(listen)
    exporter = Exporter(read, interval)
    note(f"serving http://{host}:{port}/metrics, reading every {interval}s")
    serve(exporter, host, port)
    return Exit.GOOD


def _reader(
    snapshot: str | None, demo: bool, context: str | None, kubeconfig: str | None, kubernetes: str | None
) -> Callable[[], list[Family]]:
    def read() -> list[Family]:
        from dractl.cli.explain import question_of
        from dractl.cli.source import open_inventory
        from dractl.metrics.families import families

        inventory = open_inventory(snapshot, demo, context, kubeconfig, everything=True)
        return families(question_of(inventory, kubernetes))

    return read


def _address(text: str) -> tuple[str, int]:
    from dractl.errors import DractlError

    host, _, port = text.rpartition(":")
    if not port.isdigit() or not 0 <= int(port) < 65536:
        raise DractlError(f"--listen {text}: is not HOST:PORT", "Give it as 0.0.0.0:9430 or :9430.")
    return host.strip("[]") or "0.0.0.0", int(port)
