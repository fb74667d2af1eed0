"""``dractl get``: lists of devices, pools, slices, claims, templates, classes, nodes and taints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dractl.cli import options
from dractl.cli.app import new_app
from dractl.cli.output import note
from dractl.cli.showing import TEMPLATES, ListFormat, present, show
from dractl.cli.source import Source, choose_release
from dractl.errors import DractlError, Exit
from dractl.listing.rows import DEVICE_STATES

if TYPE_CHECKING:
    from dractl.cel.environment import Environment
    from dractl.inventory import Inventory
    from dractl.listing.rows import Listing

_KINDS = (
    "ResourceSlice", "DeviceClass", "ResourceClaim", "ResourceClaimTemplate", "DeviceTaintRule", "Pod", "Node"
)  # fmt: skip
"""What is read of a running cluster for lists: events, workloads and roles are not."""

app = new_app(help="List devices, pools, slices, claims, templates, classes, nodes and taints.")


def _known(output: str) -> str:
    name, equals, template = output.partition("=")
    if output in list(ListFormat) or (name in TEMPLATES and template):
        return output
    if name in TEMPLATES:
        example = "'{.items[*].name}'" if name == "jsonpath" else "DEVICE:.device,STATE:.state"
        raise typer.BadParameter(f"'{output}' lacks its template: {name}={example}")
    hint = " (it takes no '=')" if equals and name in list(ListFormat) else ""
    raise typer.BadParameter(
        f"'{output}' is none of {', '.join([*ListFormat, *(f'{one}=...' for one in TEMPLATES)])}{hint}"
    )


def _states(given: str | None) -> str | None:
    for state in (given or "").split(",") if given is not None else ():
        if state not in DEVICE_STATES:
            raise typer.BadParameter(f"'{state}' is none of {', '.join(DEVICE_STATES)}")
    return given


Output = Annotated[
    str,
    typer.Option(
        "--output",
        "-o",
        metavar="|".join([*ListFormat, *(f"{name}=..." for name in TEMPLATES)]),
        help="Output format; paths of jsonpath and custom-columns are those of -o json.",
        show_default=False,
        callback=_known,
    ),
]
Labels = Annotated[
    str | None, typer.Option("--selector", "-l", metavar="LABELS", help="Only with these labels: key=value, !key...")
]
NodeFilter = Annotated[str | None, typer.Option("--node", metavar="NAME", help="Only what concerns this node.")]
DriverFilter = Annotated[str | None, typer.Option("--driver", metavar="NAME", help="Only of this driver.")]
SortBy = Annotated[
    str | None,
    typer.Option("--sort-by", metavar="FIELD", help="Sort by a field of the JSON form; -FIELD turns the order."),
]


@dataclass(frozen=True, slots=True)
class _Narrow:
    """The options that every list has: which rows, and in which order."""

    node: str | None = None
    driver: str | None = None
    labels: str | None = None
    sort_by: str | None = None
    namespace: str | None = None
    namespaced: bool = False
    everywhere: bool = False

    def listing(self, inventory: Inventory, kind: str, rows: list[Any]) -> Listing:
        """The list of ``rows`` that are asked for."""
        from dractl.listing.rows import Listing

        listing = Listing(kind, rows, inventory.provenance.description)
        if self.namespaced and not self.everywhere:
            listing.namespace = options.namespace_or_default(self.namespace)
            listing.items = [row for row in rows if row.namespace == listing.namespace]
            if not listing.items:
                listing.elsewhere = sorted({row.namespace for row in rows})
        listing.items = _narrow(inventory, listing.items, self.node, self.driver)
        listing.items = _sorted(_labelled(inventory, listing.items, self.labels), self.sort_by)
        return listing


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
        str | None,
        typer.Option(
            "--state",
            metavar="|".join(DEVICE_STATES),
            help="Only devices in this state, or in one of several: free,shared.",
            callback=_states,
        ),
    ] = None,
    namespace: Annotated[
        str | None,
        typer.Option("--namespace", "-n", metavar="NS", help="Only devices that claims of this namespace have."),
    ] = None,
    all_namespaces: Annotated[bool, typer.Option("--all-namespaces", "-A", hidden=True)] = False,
    node: NodeFilter = None,
    driver: DriverFilter = None,
    labels: Labels = None,
    sort_by: SortBy = None,
    output: Output = ListFormat.TEXT.value,
    watch: options.Watch = False,
    snapshot: options.Snapshot = None,
    demo: options.Demo = False,
    context: options.Context = None,
    kubeconfig: options.Kubeconfig = None,
    kubernetes: options.Kubernetes = None,
) -> int:
    """Published devices: state, holder, and what keeps them from use."""
    from dractl.listing.devices import device_rows

    narrow = _Narrow(node, driver, labels, sort_by)
    _one_of(namespace, all_namespaces)
    holders = None if all_namespaces else namespace
    states = state.split(",") if state is not None else None

    def make(inventory: Inventory) -> Listing:
        rows = device_rows(inventory)
        if holders is not None:
            rows = [row for row in rows if any(holder.namespace == holders for holder in row.holders)]
        if states is not None:
            rows = [row for row in rows if row.state in states]
        notes: list[str] = []
        if where is not None:
            rows, notes = _where(inventory, rows, where, kubernetes)
        listing = narrow.listing(inventory, "Device", rows)
        listing.notes = [*notes, *_unheeded_rules(inventory, listing.items, kubernetes)]
        return listing

    source = Source(snapshot, demo, context, kubeconfig, namespace=namespace, kinds=_KINDS)
    return present(source, make, output, watch)


@app.command()
def pools(
    node: NodeFilter = None,
    driver: DriverFilter = None,
    labels: Labels = None,
    server_status: Annotated[
        bool,
        typer.Option(
            "--server-status", help="Compare with the control plane's own counts. Creates and deletes requests: --yes."
        ),
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Yes, write to the cluster for --server-status.")] = False,
    sort_by: SortBy = None,
    output: Output = ListFormat.TEXT.value,
    watch: options.Watch = False,
    snapshot: options.Snapshot = None,
    demo: options.Demo = False,
    context: options.Context = None,
    kubeconfig: options.Kubeconfig = None,
) -> int:
    """Pools of devices: generation, completeness, how many are free."""
    from dractl.listing.lists import pool_list

    narrow = _Narrow(node, driver, labels, sort_by)
    source = Source(snapshot, demo, context, kubeconfig, kinds=_KINDS)
    if not server_status:
        return present(source, lambda inventory: narrow.listing(inventory, "Pool", pool_list(inventory)), output, watch)
    if snapshot or demo or watch or not yes:
        what = "needs a running cluster" if snapshot or demo else "creates ResourcePoolStatusRequests in the cluster"
        raise DractlError(f"--server-status {what}", "Give --yes if it may, and no --snapshot, --demo or --watch.")
    inventory = source.open()
    listing = narrow.listing(inventory, "Pool", pool_list(inventory))
    listing.notes = _differences(inventory, driver, context, kubeconfig)
    show(listing, output)
    return Exit.NOT_GOOD if listing.notes else Exit.GOOD


@app.command()
def slices(
    node: NodeFilter = None,
    driver: DriverFilter = None,
    labels: Labels = None,
    sort_by: SortBy = None,
    output: Output = ListFormat.TEXT.value,
    watch: options.Watch = False,
    snapshot: options.Snapshot = None,
    demo: options.Demo = False,
    context: options.Context = None,
    kubeconfig: options.Kubeconfig = None,
) -> int:
    """ResourceSlices, and which of them are replaced."""
    from dractl.listing.lists import slice_list

    narrow = _Narrow(node, driver, labels, sort_by)
    source = Source(snapshot, demo, context, kubeconfig, kinds=_KINDS)
    return present(source, lambda inventory: narrow.listing(inventory, "Slice", slice_list(inventory)), output, watch)


@app.command()
def claims(
    namespace: options.Namespace = None,
    all_namespaces: options.AllNamespaces = False,
    node: NodeFilter = None,
    driver: DriverFilter = None,
    labels: Labels = None,
    sort_by: SortBy = None,
    output: Output = ListFormat.TEXT.value,
    watch: options.Watch = False,
    snapshot: options.Snapshot = None,
    demo: options.Demo = False,
    context: options.Context = None,
    kubeconfig: options.Kubeconfig = None,
) -> int:
    """ResourceClaims: requests, state, nodes and pods."""
    from dractl.listing.lists import claim_list

    _one_of(namespace, all_namespaces)
    narrow = _Narrow(node, driver, labels, sort_by, namespace, True, all_namespaces)
    source = Source(snapshot, demo, context, kubeconfig, namespace=namespace, kinds=_KINDS)
    return present(source, lambda inventory: narrow.listing(inventory, "Claim", claim_list(inventory)), output, watch)


@app.command()
def templates(
    namespace: options.Namespace = None,
    all_namespaces: options.AllNamespaces = False,
    labels: Labels = None,
    sort_by: SortBy = None,
    output: Output = ListFormat.TEXT.value,
    watch: options.Watch = False,
    snapshot: options.Snapshot = None,
    demo: options.Demo = False,
    context: options.Context = None,
    kubeconfig: options.Kubeconfig = None,
) -> int:
    """ResourceClaimTemplates: requests, and pods that name them."""
    from dractl.listing.lists import template_list

    _one_of(namespace, all_namespaces)
    narrow = _Narrow(None, None, labels, sort_by, namespace, True, all_namespaces)
    source = Source(snapshot, demo, context, kubeconfig, namespace=namespace, kinds=_KINDS)
    return present(
        source, lambda inventory: narrow.listing(inventory, "Template", template_list(inventory)), output, watch
    )


@app.command()
def classes(
    labels: Labels = None,
    sort_by: SortBy = None,
    output: Output = ListFormat.TEXT.value,
    watch: options.Watch = False,
    snapshot: options.Snapshot = None,
    demo: options.Demo = False,
    context: options.Context = None,
    kubeconfig: options.Kubeconfig = None,
    kubernetes: options.Kubernetes = None,
) -> int:
    """DeviceClasses, and how many published devices each takes."""
    from dractl.listing.filters import class_matcher
    from dractl.listing.lists import class_list

    def make(inventory: Inventory) -> Listing:
        rows = class_list(inventory, class_matcher(inventory, _environment(inventory, kubernetes)))
        return _Narrow(labels=labels, sort_by=sort_by).listing(inventory, "Class", rows)

    return present(Source(snapshot, demo, context, kubeconfig, kinds=_KINDS), make, output, watch)


@app.command()
def nodes(
    node: NodeFilter = None,
    driver: DriverFilter = None,
    labels: Labels = None,
    sort_by: SortBy = None,
    output: Output = ListFormat.TEXT.value,
    watch: options.Watch = False,
    snapshot: options.Snapshot = None,
    demo: options.Demo = False,
    context: options.Context = None,
    kubeconfig: options.Kubeconfig = None,
) -> int:
    """Nodes with their devices; also nodes that only slices name."""
    from dractl.listing.lists import node_list

    narrow = _Narrow(node, driver, labels, sort_by)
    source = Source(snapshot, demo, context, kubeconfig, kinds=_KINDS)
    return present(source, lambda inventory: narrow.listing(inventory, "Node", node_list(inventory)), output, watch)


@app.command()
def taints(
    driver: DriverFilter = None,
    labels: Labels = None,
    sort_by: SortBy = None,
    output: Output = ListFormat.TEXT.value,
    watch: options.Watch = False,
    snapshot: options.Snapshot = None,
    demo: options.Demo = False,
    context: options.Context = None,
    kubeconfig: options.Kubeconfig = None,
) -> int:
    """Taints that drivers publish, and DeviceTaintRules."""
    from dractl.listing.lists import taint_list

    narrow = _Narrow(None, driver, labels, sort_by)
    source = Source(snapshot, demo, context, kubeconfig, kinds=_KINDS)
    return present(source, lambda inventory: narrow.listing(inventory, "Taint", taint_list(inventory)), output, watch)


def _where(
    inventory: Inventory, rows: list[Any], expression: str, kubernetes: str | None
) -> tuple[list[Any], list[str]]:
    from dractl.listing import filters

    try:
        found = filters.where(inventory, rows, expression, _environment(inventory, kubernetes))
    except filters.FilterError as error:
        raise DractlError(f"--where: {error}", "Write it as in a claim's selector.") from None
    return found.rows, [text for text in [found.note()] if text]


def _unheeded_rules(inventory: Inventory, rows: list[Any], kubernetes: str | None) -> list[str]:
    """That the scheduler gives out devices of the rows although a DeviceTaintRule taints them, if it does."""
    from dractl.listing.unheeded import unheeded_rules

    # most clusters have no rules, and need no look at the allocator
    return unheeded_rules(rows, choose_release(inventory, kubernetes)) if inventory.taint_rules else []


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
    from dractl.listing.labels import LabelError, labelled, parse_labels

    if selector is None:
        return rows
    try:
        wanted = parse_labels(selector)
    except LabelError as error:
        raise DractlError(f"--selector: {error}", "Write it as for kubectl get -l.") from None
    return labelled(inventory, rows, wanted)


def _one_of(namespace: str | None, all_namespaces: bool) -> None:
    if namespace is not None and all_namespaces:
        note(f"note: -A shows all namespaces; -n {namespace} narrows nothing")
