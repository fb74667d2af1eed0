"""``dractl get``: lists of devices, pools, slices, claims, templates, classes, nodes and taints."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dractl.cli import options
from dractl.cli.app import new_app
from dractl.cli.output import emit, emit_report, note
from dractl.cli.source import choose_release, open_inventory
from dractl.errors import DractlError, Exit

if TYPE_CHECKING:
    from dractl.cel.environment import Environment
    from dractl.inventory import Inventory
    from dractl.listing.rows import Listing

_KINDS = (
    "ResourceSlice", "DeviceClass", "ResourceClaim", "ResourceClaimTemplate", "DeviceTaintRule", "Pod", "Node"
)  # fmt: skip
"""What is read of a running cluster for lists: events, workloads and roles are not."""

app = new_app(help="List devices, pools, slices, claims, templates, classes, nodes and taints.")


class ListFormat(StrEnum):
    """Output formats of lists."""

    TEXT = "text"
    WIDE = "wide"
    JSON = "json"
    YAML = "yaml"
    NAME = "name"


_TEMPLATES = ("jsonpath", "custom-columns")


def _known(output: str) -> str:
    name, _, template = output.partition("=")
    if output in list(ListFormat) or (name in _TEMPLATES and template):
        return output
    raise typer.BadParameter(f"'{output}' is none of {', '.join([*ListFormat, *(f'{one}=...' for one in _TEMPLATES)])}")


Output = Annotated[
    str,
    typer.Option(
        "--output",
        "-o",
        metavar="|".join([*ListFormat, *(f"{name}=..." for name in _TEMPLATES)]),
        help="Output format; paths of jsonpath and custom-columns are those of -o json.",
        show_default=False,
        callback=_known,
    ),
]
Labels = Annotated[
    str | None, typer.Option("--selector", "-l", metavar="LABELS", help="Only with these labels: key=value, !key...")
]
NodeFilter = Annotated[
    str | None, typer.Option("--node", metavar="NAME", help="Only what concerns this node.")
]
DriverFilter = Annotated[str | None, typer.Option("--driver", metavar="NAME", help="Only of this driver.")]
SortBy = Annotated[
    str | None,
    typer.Option("--sort-by", metavar="FIELD", help="Sort by a field of the JSON form; -FIELD turns the order."),
]


@app.command()
def devices(
    where: Annotated[
        str | None,
        typer.Option(
            "--where",
            metavar="CEL",
            help="Only devices that a selector with this expression takes: "
            """'device.attributes["gpu.nvidia.com"].architecture == "Hopper"'.""",
        ),
    ] = None,
    state: Annotated[
        str | None, typer.Option("--state", metavar="STATE", help="Only devices in this state: free, used, tainted...")
    ] = None,
    namespace: Annotated[
        str | None,
        typer.Option("--namespace", "-n", metavar="NS", help="Only devices that claims of this namespace have."),
    ] = None,
    all_namespaces: Annotated[bool, typer.Option("--all-namespaces", "-A", hidden=True)] = False,
    node: NodeFilter = None,
    driver: DriverFilter = None,
    sort_by: SortBy = None,
    output: Output = ListFormat.TEXT.value,
    snapshot: options.Snapshot = None,
    demo: options.Demo = False,
    context: options.Context = None,
    kubeconfig: options.Kubeconfig = None,
    kubernetes: options.Kubernetes = None,
) -> int:
    """Published devices: state, holder, and what keeps them from use."""
    from dractl.listing import filters
    from dractl.listing.devices import device_rows

    inventory = open_inventory(snapshot, demo, context, kubeconfig, namespace=namespace, kinds=_KINDS)
    rows = device_rows(inventory)
    if namespace is not None and not all_namespaces:
        rows = [row for row in rows if any(holder.namespace == namespace for holder in row.holders)]
    if state is not None:
        rows = [row for row in rows if row.state == state]
    rows = _narrow(inventory, rows, node, driver)
    notes = []
    if where is not None:
        try:
            found = filters.where(inventory, rows, where, _environment(inventory, kubernetes))
        except filters.FilterError as error:
            raise DractlError(f"--where: {error}", "Write it as in a claim's selector.") from None
        rows = found.rows
        notes = [text for text in [found.note()] if text]
    return _show(inventory, "Device", _sorted(rows, sort_by), output, notes)


@app.command()
def pools(
    node: NodeFilter = None,
    driver: DriverFilter = None,
    server_status: Annotated[
        bool,
        typer.Option(
            "--server-status", help="Compare with the control plane's own counts. Creates and deletes requests: --yes."
        ),
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Yes, write to the cluster for --server-status.")] = False,
    sort_by: SortBy = None,
    output: Output = ListFormat.TEXT.value,
    snapshot: options.Snapshot = None,
    demo: options.Demo = False,
    context: options.Context = None,
    kubeconfig: options.Kubeconfig = None,
) -> int:
    """Pools of devices: generation, completeness, how many are free."""
    from dractl.listing.lists import pool_list

    if server_status and (snapshot or demo or not yes):
        what = "needs a running cluster" if snapshot or demo else "creates ResourcePoolStatusRequests in the cluster"
        raise DractlError(f"--server-status {what}", "Give --yes if it may, and no --snapshot or --demo.")
    inventory = open_inventory(snapshot, demo, context, kubeconfig, kinds=_KINDS)
    rows = _narrow(inventory, pool_list(inventory), node, driver)
    differences = _differences(inventory, driver, context, kubeconfig) if server_status else []
    code = _show(inventory, "Pool", _sorted(rows, sort_by), output, differences)
    return Exit.NOT_GOOD if differences else code


@app.command()
def slices(
    node: NodeFilter = None,
    driver: DriverFilter = None,
    labels: Labels = None,
    sort_by: SortBy = None,
    output: Output = ListFormat.TEXT.value,
    snapshot: options.Snapshot = None,
    demo: options.Demo = False,
    context: options.Context = None,
    kubeconfig: options.Kubeconfig = None,
) -> int:
    """ResourceSlices, and which of them are replaced."""
    from dractl.listing.lists import slice_list

    inventory = open_inventory(snapshot, demo, context, kubeconfig, kinds=_KINDS)
    rows = _narrow(inventory, slice_list(inventory), node, driver)
    rows = _labelled(inventory, rows, labels)
    return _show(inventory, "Slice", _sorted(rows, sort_by), output)


@app.command()
def claims(
    namespace: options.Namespace = None,
    all_namespaces: options.AllNamespaces = False,
    node: NodeFilter = None,
    driver: DriverFilter = None,
    labels: Labels = None,
    sort_by: SortBy = None,
    output: Output = ListFormat.TEXT.value,
    snapshot: options.Snapshot = None,
    demo: options.Demo = False,
    context: options.Context = None,
    kubeconfig: options.Kubeconfig = None,
) -> int:
    """ResourceClaims: requests, state, nodes and pods."""
    from dractl.listing.lists import claim_list

    inventory = open_inventory(snapshot, demo, context, kubeconfig, namespace=namespace, kinds=_KINDS)
    rows = _in_namespace(claim_list(inventory), namespace, all_namespaces)
    rows = _narrow(inventory, rows, node, driver)
    rows = _labelled(inventory, rows, labels)
    return _show(inventory, "Claim", _sorted(rows, sort_by), output)


@app.command()
def templates(
    namespace: options.Namespace = None,
    all_namespaces: options.AllNamespaces = False,
    labels: Labels = None,
    sort_by: SortBy = None,
    output: Output = ListFormat.TEXT.value,
    snapshot: options.Snapshot = None,
    demo: options.Demo = False,
    context: options.Context = None,
    kubeconfig: options.Kubeconfig = None,
) -> int:
    """ResourceClaimTemplates: requests, and pods that name them."""
    from dractl.listing.lists import template_list

    inventory = open_inventory(snapshot, demo, context, kubeconfig, namespace=namespace, kinds=_KINDS)
    rows = _in_namespace(template_list(inventory), namespace, all_namespaces)
    rows = _labelled(inventory, rows, labels)
    return _show(inventory, "Template", _sorted(rows, sort_by), output)


@app.command()
def classes(
    labels: Labels = None,
    sort_by: SortBy = None,
    output: Output = ListFormat.TEXT.value,
    snapshot: options.Snapshot = None,
    demo: options.Demo = False,
    context: options.Context = None,
    kubeconfig: options.Kubeconfig = None,
    kubernetes: options.Kubernetes = None,
) -> int:
    """DeviceClasses, and how many published devices each takes."""
    from dractl.listing.filters import class_matcher
    from dractl.listing.lists import class_list

    inventory = open_inventory(snapshot, demo, context, kubeconfig, kinds=_KINDS)
    rows = class_list(inventory, class_matcher(inventory, _environment(inventory, kubernetes)))
    rows = _labelled(inventory, rows, labels)
    return _show(inventory, "Class", _sorted(rows, sort_by), output)


@app.command()
def nodes(
    node: NodeFilter = None,
    driver: DriverFilter = None,
    labels: Labels = None,
    sort_by: SortBy = None,
    output: Output = ListFormat.TEXT.value,
    snapshot: options.Snapshot = None,
    demo: options.Demo = False,
    context: options.Context = None,
    kubeconfig: options.Kubeconfig = None,
) -> int:
    """Nodes with their devices; also nodes that only slices name."""
    from dractl.listing.lists import node_list

    inventory = open_inventory(snapshot, demo, context, kubeconfig, kinds=_KINDS)
    rows = _narrow(inventory, node_list(inventory), node, driver)
    rows = _labelled(inventory, rows, labels)
    return _show(inventory, "Node", _sorted(rows, sort_by), output)


@app.command()
def taints(
    driver: DriverFilter = None,
    sort_by: SortBy = None,
    output: Output = ListFormat.TEXT.value,
    snapshot: options.Snapshot = None,
    demo: options.Demo = False,
    context: options.Context = None,
    kubeconfig: options.Kubeconfig = None,
) -> int:
    """Taints that drivers publish, and DeviceTaintRules."""
    from dractl.listing.lists import taint_list

    inventory = open_inventory(snapshot, demo, context, kubeconfig, kinds=_KINDS)
    rows = _narrow(inventory, taint_list(inventory), None, driver)
    return _show(inventory, "Taint", _sorted(rows, sort_by), output)


def _differences(inventory: Inventory, driver: str | None, context: str | None, kubeconfig: str | None) -> list[str]:
    """Where the control plane counts otherwise than we do."""
    from dractl.cli.source import connect_to
    from dractl.listing.counts import compare_counts
    from dractl.sources.poolstatus import server_pools

    drivers = sorted({item.driver for item in inventory.slices if driver in (None, item.driver)})
    counted = server_pools(connect_to(context, kubeconfig), drivers)
    return compare_counts(inventory, {(one.driver, one.pool): (one.total, one.allocated, one.error) for one in counted})


def _environment(inventory: Inventory, kubernetes: str | None) -> Environment:
    from dractl.cel.environment import Environment

    major, minor = choose_release(inventory, kubernetes).minor.split(".")
    return Environment(kubernetes=(int(major), int(minor)))


def _in_namespace(rows: list[Any], namespace: str | None, everywhere: bool) -> list[Any]:
    if everywhere:
        return rows
    wanted = options.namespace_or_default(namespace)
    found = [row for row in rows if row.namespace == wanted]
    others = sorted({row.namespace for row in rows} - {wanted})
    if not found and others:
        note(f"note: nothing in namespace {wanted}; there is something in {', '.join(others)} (-A shows all)")
    return found


def _narrow(inventory: Inventory, rows: list[Any], node: str | None, driver: str | None) -> list[Any]:
    from dractl.explain.words import near
    from dractl.listing import filters

    if node is not None:
        known = inventory.nodes.keys() | inventory.slices_by_node.keys()
        if node not in known:
            hint = _suggest(near(node, known), "dractl get nodes lists all nodes.")
            raise DractlError(f"there is no node {node} in {inventory.provenance.description}", hint)
        rows = filters.on_node(inventory, rows, node)
    if driver is not None:
        drivers = {item.driver for item in inventory.slices}
        if driver not in drivers:
            hint = _suggest(near(driver, drivers), f"Drivers that publish: {', '.join(sorted(drivers)) or 'none'}.")
            raise DractlError(f"no driver {driver} publishes slices in {inventory.provenance.description}", hint)
        rows = filters.of_driver(rows, driver)
    return rows


def _suggest(names: list[str], otherwise: str) -> str:
    return f"Did you mean {' or '.join(names)}?" if names else otherwise


def _sorted(rows: list[Any], field: str | None) -> list[Any]:
    from dractl.listing.filters import FilterError, sort_by

    if field is None:
        return rows
    try:
        return sort_by(rows, field)
    except FilterError as error:
        raise DractlError(f"--sort-by: {error}", "Give one of these, or the name of an attribute.") from None


def _labelled(inventory: Inventory, rows: list[Any], selector: str | None) -> list[Any]:
    from dractl.listing.labels import LabelError, labels_of, parse_labels

    if selector is None:
        return rows
    try:
        wanted = parse_labels(selector)
    except LabelError as error:
        raise DractlError(f"--selector: {error}", "Write it as for kubectl get -l.") from None
    return [row for row in rows if all(one.holds(labels_of(inventory, row)) for one in wanted)]


def _templated(listing: Listing, name: str, template: str) -> None:
    from dractl.listing.paths import PathError, custom_columns, jsonpath
    from dractl.render.text.table import table

    plain = listing.to_json()
    try:
        if name == "jsonpath":
            emit(jsonpath(template, plain))
        else:
            headers, rows = custom_columns(template, plain["items"])
            emit(table(headers, rows))
    except PathError as error:
        hint = "Only a part of kubectl's syntax is known; -o json has it all."
        raise DractlError(f"-o {name}: {error}", hint) from None


def _show(
    inventory: Inventory, kind: str, rows: list[Any], output: str, notes: list[str] | None = None
) -> int:
    from dractl.listing.rows import Listing
    from dractl.render.text.lists import names, render_list

    chosen, _, template = output.partition("=")
    listing = Listing(kind, rows, inventory.provenance.description, notes or [])
    if template:
        _templated(listing, chosen, template)
        return Exit.GOOD
    form = ListFormat(chosen)
    if form in (ListFormat.JSON, ListFormat.YAML):
        emit_report(listing.to_json(), form, lambda terminal: "")
        return Exit.GOOD
    for text in listing.notes:
        note(f"note: {text}")
    if not rows:
        note(f"nothing found in {listing.source}")
    elif form is ListFormat.NAME:
        emit(names(listing))
    else:
        terminal_text: Callable[[Any], str] = lambda terminal: render_list(listing, terminal, form is ListFormat.WIDE)  # noqa: E731
        emit_report({}, form, terminal_text)
    return Exit.GOOD
