"""``dractl discover``: what hardware is here, how it is wired, and what a driver should publish for it."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dractl.cli import options
from dractl.cli.app import new_app

if TYPE_CHECKING:
    from collections.abc import Callable

    from dractl.hardware.model import Host, Kind
    from dractl.hardware.reconcile import Comparison

app = new_app()


class View(StrEnum):
    """What ``-o`` may be."""

    TABLE = "table"
    TEXT = "text"
    WIDE = "wide"
    JSON = "json"
    YAML = "yaml"
    MATRIX = "matrix"
    TREE = "tree"
    SVG = "svg"
    DOT = "dot"
    RESOURCESLICE = "resourceslice"


class Threshold(StrEnum):
    """From which severity on findings make the exit code 1."""

    ERROR = "error"
    WARNING = "warning"
    NEVER = "never"


@app.command(no_args_is_help=False)
def discover(
    output: Annotated[View, typer.Option("--output", "-o", help="What to print.", show_default=False)] = View.TABLE,
    root: Annotated[
        str | None,
        typer.Option(
            "--root",
            metavar="DIR|TAR",
            help="Read this tree instead of this machine: a folder that holds "
            "sys/ and proc/ (a container's /host), or a capture.",
        ),
    ] = None,
    only: Annotated[
        str | None,
        typer.Option(
            "--only", metavar="KINDS", help="Only these kinds, as in gpu,nic (accelerator, fpga, nvme, cxl, ...)."
        ),
    ] = None,
    driver: Annotated[
        str | None,
        typer.Option("--driver", metavar="NAME", help="With -o resourceslice: the DRA driver to publish as."),
    ] = None,
    driver_version: Annotated[
        str | None,
        typer.Option("--driver-version", metavar="V", help="The driver's release (0.4.1, 25.8); newest if not given."),
    ] = None,
    feature: Annotated[
        list[str] | None,
        typer.Option("--feature", metavar="GATE", help="A gate of the driver that is on (DynamicMIG)."),
    ] = None,
    node: Annotated[
        str | None, typer.Option("--node", metavar="NAME", help="Name of the node; this host's name if not given.")
    ] = None,
    compare: Annotated[bool, typer.Option("--compare", help="Compare with the node's ResourceSlices.")] = False,
    snapshot: options.Snapshot = None,
    demo: options.Demo = False,
    context: options.Context = None,
    kubeconfig: options.Kubeconfig = None,
    capture: Annotated[
        str | None, typer.Option("--capture", metavar="FILE", help="Also pack what was read into FILE (tar.gz).")
    ] = None,
    show_ids: Annotated[
        bool, typer.Option("--show-ids", help="Keep serial numbers, MAC addresses and UUIDs in the capture.")
    ] = False,
    nvml: Annotated[
        bool | None,
        typer.Option(
            "--nvml/--no-nvml", help="Ask NVML; by default where it speaks of the same machine.", show_default=False
        ),
    ] = None,
    nvml_timeout: Annotated[
        float, typer.Option("--nvml-timeout", metavar="SECONDS", min=0.1, help="How long to wait for NVML.")
    ] = 30.0,
    watch: Annotated[bool, typer.Option("--watch", "-w", help="Look again and again and print what changes.")] = False,
    serve: Annotated[
        str | None,
        typer.Option(
            "--serve",
            metavar="HOST:PORT",
            help="Serve the report of this node over HTTP, read-only, for dractl diagnose hardware.",
        ),
    ] = None,
    interval: Annotated[
        float, typer.Option("--interval", metavar="SECONDS", min=0.2, help="With --watch, --serve: how often to look.")
    ] = 10.0,
    fail_on: Annotated[
        Threshold, typer.Option("--fail-on", help="Exit with 1 from this severity of findings on.")
    ] = Threshold.ERROR,
) -> int:
    """Show this host's devices and their wiring, what is wrong with them, and what a DRA driver publishes."""
    from dractl.cli.output import emit
    from dractl.hardware.report import host_report

    kinds = _kinds(only)
    _check_options(output, driver, compare, capture, watch, snapshot or context or kubeconfig or demo)
    if serve is not None:
        _alone("--serve", watch or compare or capture or kinds or output is not View.TABLE)
        return _serve(serve, node, interval, lambda: _read(root, nvml, nvml_timeout))
    host = _read(root, nvml, nvml_timeout, capture, show_ids)
    findings = _findings(host)
    comparison = _compare(host, node, snapshot, demo, context, kubeconfig) if compare else None
    if output is View.RESOURCESLICE:
        emit(_slices(host, driver or "", driver_version, frozenset(feature or ()), node))
        return 0
    report = host_report(host, findings, kinds, comparison)
    _show(report, output)
    if watch:
        return _watch(report, lambda: _again(root, nvml, nvml_timeout, kinds), interval)
    return _exit_code(report, fail_on)


def _alone(option: str, others: object) -> None:
    from dractl.errors import DractlError

    if others:
        raise DractlError(f"{option} goes with --root, --node, --interval and --nvml only", "Leave the others out.")


def _serve(where: str, node: str | None, interval: float, read: Callable[[], Host]) -> int:
    """Serve the node's report until interrupted; what changes meanwhile is printed."""
    import time

    from dractl import __version__
    from dractl.cli.nodeserver import Agent, address, serve
    from dractl.cli.output import emit, note
    from dractl.hardware.changes import changes
    from dractl.hardware.exchange import node_report
    from dractl.hardware.report import host_report

    last: list[dict[str, Any]] = []

    def look() -> dict[str, Any]:
        host = read()
        shown = host_report(host, _findings(host))
        for line in changes(last.pop(), shown) if last else ():
            emit(f"{time.strftime('%Y-%m-%dT%H:%M:%S')}  {line}")
        last.append(shown)
        name = node or host.machine.hostname
        return node_report(host, name, time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), interval, __version__)

    host, port = address(where)
    serve(Agent(look, interval), host, port, note)
    return 0


def _kinds(only: str | None) -> frozenset[Kind] | None:
    from dractl.errors import DractlError
    from dractl.hardware.model import Kind

    if only is None:
        return None
    words = {kind.value: kind for kind in Kind if kind is not Kind.BRIDGE}
    words.update({"gpus": Kind.GPU, "nics": Kind.NIC, "acc": Kind.ACCELERATOR, "accelerators": Kind.ACCELERATOR})
    found = set()
    for word in only.lower().replace(" ", "").split(","):
        if word not in words:
            kinds = ", ".join(kind.value for kind in Kind if kind is not Kind.BRIDGE)
            raise DractlError(f"--only: unknown kind {word!r}", f"Kinds are {kinds}.")
        found.add(words[word])
    return frozenset(found)


def _check_options(
    output: View, driver: str | None, compare: bool, capture: str | None, watch: bool, cluster: object
) -> None:
    from dractl.errors import DractlError

    if output is View.RESOURCESLICE and not driver:
        from dractl.generate.drivers import driver_names

        raise DractlError("-o resourceslice needs --driver NAME", f"Known drivers: {', '.join(driver_names())}.")
    if driver and output is not View.RESOURCESLICE:
        raise DractlError("--driver goes with -o resourceslice only", "Add -o resourceslice.")
    if cluster and not compare:
        raise DractlError("--snapshot, --context, --kubeconfig and --demo go with --compare only", "Add --compare.")
    if watch and capture:
        raise DractlError("--watch and --capture exclude each other", "Give one of them.")
    if watch and output not in {View.TABLE, View.TEXT, View.WIDE}:
        raise DractlError(f"--watch prints text, not {output.value}", "Leave -o out.")


def _read(
    root: str | None, nvml: bool | None, timeout: float, capture: str | None = None, show_ids: bool = False
) -> Host:
    from dractl.cli.output import note
    from dractl.hardware.readers.host import Asking, read_host
    from dractl.hardware.readers.root import Record, open_root

    where = open_root(root)
    if capture is not None:
        where.record = Record()
    host = read_host(where, root is None, Asking(nvml, timeout, note))
    if capture is not None and where.record is not None:
        from dractl.hardware.readers.pack import pack

        note(pack(capture, where.record, host, masked=not show_ids))
    return host


def _again(root: str | None, nvml: bool | None, timeout: float, kinds: frozenset[Kind] | None) -> dict[str, Any]:
    from dractl.hardware.report import host_report

    host = _read(root, nvml, timeout)
    return host_report(host, _findings(host), kinds)


def _findings(host: Host) -> list[Any]:
    from dractl.hardware.health import health

    return health(host)


def _compare(
    host: Host, node: str | None, snapshot: str | None, demo: bool, context: str | None, kubeconfig: str | None
) -> Comparison:
    from dractl.cli.source import open_inventory
    from dractl.errors import DractlError
    from dractl.hardware.reconcile import reconcile

    inventory = open_inventory(snapshot, demo, context, kubeconfig)
    name = node or host.machine.hostname
    if not name:
        raise DractlError("the tree does not say the host's name", "Give --node NAME.")
    if name not in inventory.nodes and not any(piece.node_name == name for piece in inventory.slices):
        raise DractlError(f"the cluster has no node and no slices of the name {name}", "Give --node NAME.")
    return reconcile(host, inventory.slices, inventory.nodes.get(name), name, inventory.taint_rules)


def _slices(host: Host, driver: str, version: str | None, features: frozenset[str], node: str | None) -> str:
    from dractl.cli.output import note
    from dractl.hardware.publish import publish
    from dractl.render.yaml import to_yaml

    made = publish(host, driver, node or host.machine.hostname or "this-node", version, features)
    for text in made.notes:
        note(f"note: {text}")
    return "---\n".join(to_yaml(piece) for piece in made.slices)


def _show(report: dict[str, Any], output: View) -> None:
    from dractl.cli.output import emit, emit_report
    from dractl.render.text import discover as text

    if output is View.SVG:
        from dractl.render.svg import render_svg

        emit(render_svg(report))
    elif output is View.DOT:
        from dractl.render.dot import render_dot

        emit(render_dot(report))
    elif output is View.MATRIX:
        emit_report(report, "text", lambda terminal: text.render_matrix(report, terminal))
    elif output is View.TREE:
        emit_report(report, "text", lambda terminal: text.render_tree(report, terminal))
    else:
        wide = output is View.WIDE
        emit_report(report, output, lambda terminal: text.render_table(report, terminal, wide))


def _exit_code(report: dict[str, Any], fail_on: Threshold) -> int:
    from dractl.errors import Exit
    from dractl.hardware.report import usable_severity
    from dractl.rules.finding import Severity

    worst = usable_severity(report["findings"])
    if fail_on is Threshold.NEVER or worst is None:
        return Exit.GOOD
    return Exit.NOT_GOOD if worst.at_least(Severity(fail_on.value)) else Exit.GOOD


def _watch(report: dict[str, Any], again: Callable[[], dict[str, Any]], interval: float) -> int:
    """Print what changes until interrupted."""
    import time

    from dractl.cli.output import emit, note
    from dractl.hardware.changes import changes

    note(f"watching, every {interval:g} s; interrupt to end")
    while True:
        time.sleep(interval)
        following = again()
        lines = changes(report, following)
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S")
        for line in lines:
            emit(f"{stamp}  {line}")
        report = following
