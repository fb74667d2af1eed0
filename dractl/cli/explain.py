"""``dractl explain``: why a claim or pod is pending, device by device; what a DRA code means."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from dractl.cli import options
from dractl.cli.app import new_app
from dractl.cli.output import emit, emit_report
from dractl.cli.source import Source, choose_release, open_inventory
from dractl.errors import DractlError, Exit

if TYPE_CHECKING:
    from dractl.explain.claim import Question
    from dractl.explain.report import ClaimExplanation, PodExplanation
    from dractl.inventory import Inventory
    from dractl.render.text.terminal import Terminal

_CODE = re.compile(r"DRA\d{3}", re.IGNORECASE)


class _CodeGroup(TyperGroup):
    """``dractl explain DRA204`` is ``dractl explain code DRA204``."""

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """Route a code to the sub-command that explains codes."""
        if args and _CODE.fullmatch(args[0]):
            args = ["code", *args]
        return super().resolve_command(ctx, args)


app = new_app(cls=_CodeGroup, help="Why a claim or pod is pending, device by device; what a DRA code means.")

Node = Annotated[
    str | None, typer.Option("--node", metavar="NAME", help="Show this node device by device, for every request.")
]


@app.command()
def claim(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the ResourceClaim.")],
    namespace: options.Namespace = None,
    node: Node = None,
    wait: Annotated[
        bool, typer.Option("--wait", help="First wait until the claim is allocated (a running cluster only).")
    ] = False,
    timeout: Annotated[
        str, typer.Option("--timeout", metavar="TIME", help="Longest time to --wait (5m; 0: no limit).")
    ] = "5m",
    watch: options.Watch = False,
    output: options.Output = options.Format.TEXT,
    snapshot: options.Snapshot = None,
    demo: options.Demo = False,
    context: options.Context = None,
    kubeconfig: options.Kubeconfig = None,
    kubernetes: options.Kubernetes = None,
) -> int:
    """Why a claim is not allocated, or where it is and what its pods wait for."""
    from dractl.cli.live import watch_report
    from dractl.explain.claim import explain_claim
    from dractl.render.text.explain import render_claim

    given, name = _split_given(namespace, name)
    wide = output == options.Format.WIDE

    def explained(inventory: Inventory) -> ClaimExplanation:
        return explain_claim(question_of(inventory, kubernetes, node), options.namespace_or_default(given), name)

    def as_text(report: ClaimExplanation, terminal: Terminal) -> str:
        return render_claim(report.to_json(), terminal, wide)

    source = Source(snapshot, demo, context, kubeconfig, namespace=given, own_events=True)
    if watch:
        if wait:
            raise DractlError("--wait and --watch exclude each other", "Give one of them.")
        return watch_report(source, explained, as_text, output)
    waited = _wait(given, name, timeout, context, kubeconfig, bool(snapshot or demo)) if wait else True
    report = explained(source.open())
    emit_report(report.to_json(), output, lambda terminal: as_text(report, terminal))
    return Exit.GOOD if waited and report.verdict in ("fits", "allocated") else Exit.NOT_GOOD


@app.command()
def pod(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the Pod.")],
    namespace: options.Namespace = None,
    node: Node = None,
    watch: options.Watch = False,
    output: options.Output = options.Format.TEXT,
    snapshot: options.Snapshot = None,
    demo: options.Demo = False,
    context: options.Context = None,
    kubeconfig: options.Kubeconfig = None,
    kubernetes: options.Kubernetes = None,
) -> int:
    """Why a pod waits for devices: all its claims, also those that are not made yet, together."""
    from dractl.cli.live import watch_report
    from dractl.explain.pod import explain_pod
    from dractl.render.text.explain import render_pod

    given, name = _split_given(namespace, name)
    wide = output == options.Format.WIDE

    def explained(inventory: Inventory) -> PodExplanation:
        return explain_pod(question_of(inventory, kubernetes, node), options.namespace_or_default(given), name)

    def as_text(report: PodExplanation, terminal: Terminal) -> str:
        return render_pod(report.to_json(), terminal, wide)

    source = Source(snapshot, demo, context, kubeconfig, namespace=given, own_events=True)
    if watch:
        return watch_report(source, explained, as_text, output)
    report = explained(source.open())
    emit_report(report.to_json(), output, lambda terminal: as_text(report, terminal))
    return Exit.GOOD if report.good else Exit.NOT_GOOD


@app.command()
def device(
    name: Annotated[str, typer.Argument(metavar="DRIVER/POOL/DEVICE", help="The device; a unique end will do.")],
    output: options.Output = options.Format.TEXT,
    snapshot: options.Snapshot = None,
    demo: options.Demo = False,
    context: options.Context = None,
    kubeconfig: options.Kubeconfig = None,
    kubernetes: options.Kubernetes = None,
) -> int:
    """Who has a device, which classes select it, and which pending claims could take it."""
    from dractl.explain.device import explain_device
    from dractl.render.text.explain_more import render_device

    question = question_of(open_inventory(snapshot, demo, context, kubeconfig), kubernetes)
    plain = explain_device(question, name).to_json()
    wide = output == options.Format.WIDE
    emit_report(plain, output, lambda terminal: render_device(plain, terminal, wide))
    return Exit.GOOD


@app.command()
def node(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the Node.")],
    output: options.Output = options.Format.TEXT,
    snapshot: options.Snapshot = None,
    demo: options.Demo = False,
    context: options.Context = None,
    kubeconfig: options.Kubeconfig = None,
    kubernetes: options.Kubernetes = None,
) -> int:
    """What a node has, who has it, and which pending claims it could serve."""
    from dractl.explain.node import explain_node
    from dractl.render.text.explain_more import render_node

    question = question_of(open_inventory(snapshot, demo, context, kubeconfig), kubernetes)
    plain = explain_node(question, name).to_json()
    wide = output == options.Format.WIDE
    emit_report(plain, output, lambda terminal: render_node(plain, terminal, wide))
    return Exit.GOOD


@app.command("class")
def device_class(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the DeviceClass.")],
    output: options.Output = options.Format.TEXT,
    snapshot: options.Snapshot = None,
    demo: options.Demo = False,
    context: options.Context = None,
    kubeconfig: options.Kubeconfig = None,
    kubernetes: options.Kubernetes = None,
) -> int:
    """Which devices a class selects, which it nearly selects, and who asks for it."""
    from dractl.explain.device_class import explain_class
    from dractl.render.text.explain_more import render_class

    question = question_of(open_inventory(snapshot, demo, context, kubeconfig), kubernetes)
    plain = explain_class(question, name).to_json()
    wide = output == options.Format.WIDE
    emit_report(plain, output, lambda terminal: render_class(plain, terminal, wide))
    return Exit.GOOD if plain["selected"] else Exit.NOT_GOOD


@app.command()
def code(
    name: Annotated[str, typer.Argument(metavar="DRAnnn", help="Code or name of a finding.")],
) -> int:
    """What a code means: how it comes about and what to do."""
    from dractl.render.text.rule import render_rule
    from dractl.rules import registry

    try:
        rule = registry.rule(name)
    except KeyError:
        from dractl.explain.words import listing, near

        known = registry.all_rules()
        alike = near(name.upper(), known) or near(name.lower(), [one.name for one in known.values()])
        hint = f"Did you mean {listing(alike, 3, 'or')}?" if alike else "Codes are DRA and three digits: DRA201."
        raise DractlError(f"there is no code {name}", hint) from None
    emit(render_rule(rule))
    return Exit.GOOD


def question_of(inventory: Inventory, kubernetes: str | None, node: str | None = None) -> Question:
    """The question about an inventory under the rules of its release or of ``--kubernetes``."""
    from dractl.allocator.profile import Profile
    from dractl.explain.claim import Question

    release = choose_release(inventory, kubernetes)
    try:
        profile = Profile.for_release(release.full)
    except ValueError as error:
        raise DractlError(str(error), "Choose the release to behave as with --kubernetes 1.36.") from None
    return Question(inventory, release, profile, node=node)


def _split_given(namespace: str | None, name: str) -> tuple[str | None, str]:
    """Namespace (None if not given) and name; ``ns/name`` is understood where no namespace is given."""
    if namespace is None and name.count("/") == 1:
        first, _, second = name.partition("/")
        if first and second:
            return first, second
    return namespace, name


def _wait(
    namespace: str | None, name: str, timeout: str, context: str | None, kubeconfig: str | None, recorded: bool
) -> bool:
    from dractl.cli.frame import seconds_of
    from dractl.cli.output import note
    from dractl.cli.source import connect_to
    from dractl.sources.wait import wait_for_allocation

    if recorded:
        raise DractlError("--wait needs a running cluster", "Leave out --wait, or --snapshot and --demo.")
    limit = seconds_of(timeout, "--timeout")
    connection = connect_to(context, kubeconfig)
    done = wait_for_allocation(connection, options.namespace_or_default(namespace), name, limit, note)
    if not done:
        note(f"note: not allocated after {timeout}")
    return done
