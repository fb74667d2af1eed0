"""``dractl auth``: what the commands need to read in a cluster, and whether you may."""

from __future__ import annotations

from dractl.cli import options
from dractl.cli.app import new_app

app = new_app()


@app.command()
def auth(
    namespace: options.Namespace = None,
    output: options.Output = options.Format.TEXT,
    context: options.Context = None,
    kubeconfig: options.Kubeconfig = None,
) -> int:
    """Show which rights each command needs, and which of them you have (ask for another user with --as)."""
    from dractl.cli.output import emit_report
    from dractl.cli.source import connect_to
    from dractl.errors import Exit
    from dractl.render.text.access import render_access
    from dractl.sources.rights import read_access

    connection = connect_to(context, kubeconfig)
    report = read_access(connection, options.namespace_or_default(namespace))
    emit_report(report.to_json(), output, lambda terminal: render_access(report, terminal))
    return Exit.GOOD if report.enough else Exit.NOT_GOOD
