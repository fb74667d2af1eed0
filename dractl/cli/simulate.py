"""``dractl simulate``: what if, how many more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from dractl.cli import options
from dractl.cli.app import new_app

if TYPE_CHECKING:
    from dractl.explain.claim import Question
    from dractl.kube.objects import KubeObject
    from dractl.simulate.changes import Change

app = new_app()

Files = Annotated[
    list[str] | None,
    typer.Option("--filename", "-f", metavar="FILE", help="Manifests to place: pods, workloads, claims, templates."),
]
Idle = Annotated[bool, typer.Option("--idle", help="As if no claim had any device.")]
_STEPS = 2_000_000


def _many(name: str, metavar: str, text: str) -> Any:
    return typer.Option(name, metavar=metavar, help=text)


@app.callback(invoke_without_command=True)
def simulate(
    ctx: typer.Context,
    files: Files = None,
    replicas: Annotated[
        int | None, typer.Option("--replicas", min=1, max=10000, help="So many copies of each pod or template.")
    ] = None,
    gang: Annotated[bool, typer.Option("--gang", help="All or none: exit with 1 unless all fit together.")] = False,
    idle: Idle = False,
    add_nodes: Annotated[list[str] | None, _many("--add-nodes", "NODE=N", "N more nodes like NODE, unused.")] = None,
    remove_node: Annotated[list[str] | None, _many("--remove-node", "NODE", "The node is gone.")] = None,
    cordon: Annotated[list[str] | None, _many("--cordon", "NODE", "No new pods on the node.")] = None,
    drain: Annotated[list[str] | None, _many("--drain", "NODE", "The node's pods have to go elsewhere.")] = None,
    taint: Annotated[list[str] | None, _many("--taint", "DEVICE", "driver/pool/device (or a pool) is tainted.")] = None,
    remove_driver: Annotated[list[str] | None, _many("--remove-driver", "DRIVER", "It publishes nothing.")] = None,
    delete: Annotated[list[str] | None, _many("--delete", "WHAT", "claim/NS/NAME or pod/NS/NAME is gone.")] = None,
    set_class: Annotated[list[str] | None, _many("--set-class", "FILE", "DeviceClasses replaced or added.")] = None,
    gate: Annotated[list[str] | None, _many("--gate", "NAME=BOOL", "A feature gate after the change.")] = None,
    namespace: options.Namespace = None,
    output: options.Output = options.Format.TEXT,
    snapshot: options.Snapshot = None,
    demo: options.Demo = False,
    context: options.Context = None,
    kubeconfig: options.Kubeconfig = None,
    kubernetes: options.Kubernetes = None,
) -> int | None:
    """Try manifests or changes on a cluster without touching it.

    With -f: would these pods and claims fit, where, with which devices. Without: which waiting pods fit before and
    after the changes, and whom the changes hit; exit code 1 if any pod is worse off then.
    """
    if ctx.invoked_subcommand is not None:
        return None
    from dractl.cli.output import emit_report
    from dractl.cli.source import open_inventory
    from dractl.errors import DractlError, Exit
    from dractl.render.text.simulate import render_comparison, render_simulation
    from dractl.simulate import changes, compare, place

    before = open_inventory(snapshot, demo, context, kubeconfig)
    now, then = _question(before, None, None), _question(before, kubernetes, gate)
    wanted = _changes(
        then.release.minor,
        idle=idle,
        add_nodes=add_nodes,
        remove_node=remove_node,
        cordon=cordon,
        drain=drain,
        taint=taint,
        remove_driver=remove_driver,
        delete=delete,
        set_class=set_class,
    )
    after = changes.apply(before, wanted)
    emptied = compare.Emptied(tuple(drain or ()), tuple(remove_node or ()))
    if files:
        items = place.prepared(_manifests(files, then.release.minor), options.namespace_or_default(namespace))
        after = changes.apply(after, [changes.add_objects(items)])
        report = compare.place_after(
            before, after, then.profile, then.release.full, _limits(), items, replicas, emptied
        )
        if not report.placements:
            raise DractlError(f"{', '.join(files)}: nothing in it asks for devices", "Give pods, claims or templates.")
        report.notes += changes.unseen_rules(after, then.profile)
        emit_report(report.to_json(), output, lambda terminal: render_simulation(report, terminal, gang))
        return Exit.GOOD if report.together and not report.worse else Exit.NOT_GOOD
    if not wanted and not kubernetes and not gate:
        raise DractlError("nothing to simulate", "Give manifests with -f, or a change such as --drain NODE.")
    profiles, releases = (now.profile, then.profile), (now.release.full, then.release.full)
    result = compare.compare(before, after, profiles, releases, _limits(), emptied)
    result.notes += changes.unseen_rules(after, then.profile)
    emit_report(result.to_json(), output, lambda terminal: render_comparison(result, terminal))
    return Exit.NOT_GOOD if result.worse else Exit.GOOD


@app.command()
def capacity(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A claim or claim template: NAME or NAMESPACE/NAME.")],
    files: Files = None,
    namespace: options.Namespace = None,
    output: options.Output = options.Format.TEXT,
    snapshot: options.Snapshot = None,
    demo: options.Demo = False,
    context: options.Context = None,
    kubeconfig: options.Kubeconfig = None,
    kubernetes: options.Kubernetes = None,
) -> int:
    """How many more of a claim fit, on each node and in all, now and on an idle fleet."""
    from dractl.cli.output import emit_report
    from dractl.cli.source import open_inventory
    from dractl.errors import DractlError, Exit
    from dractl.render.text.simulate import render_capacity
    from dractl.simulate import changes, place
    from dractl.simulate.capacity import capacity as count
    from dractl.simulate.capacity import find_claim

    inventory = open_inventory(snapshot, demo, context, kubeconfig)
    where = options.namespace_or_default(namespace)
    if files:
        release = _question(inventory, kubernetes, None).release.minor
        items = place.prepared(_manifests(files, release), where)
        inventory = changes.apply(inventory, [changes.add_objects(items)])
    claim = find_claim(inventory, name, where)
    if claim is None:
        known = sorted({str(key) for key in [*inventory.templates, *inventory.claims] if key.name == name})
        hint = f"There is {', '.join(known)}." if known else "See dractl get claims -A and dractl get templates -A."
        raise DractlError(f"there is no claim or template {name} in namespace {where}", hint)
    question = _question(inventory, kubernetes, None)
    report = count(inventory, question.profile, claim, question.release.full, _limits())
    report.notes += changes.unseen_rules(inventory, question.profile)
    emit_report(report.to_json(), output, lambda terminal: render_capacity(report, terminal))
    return Exit.GOOD if report.now else Exit.NOT_GOOD


def _limits() -> Any:
    from dractl.allocator.search import Limits

    return Limits(steps=_STEPS)


def _question(inventory: Any, kubernetes: str | None, gates: list[str] | None) -> Question:
    from dataclasses import replace

    from dractl.allocator.profile import Profile
    from dractl.cli.explain import question_of
    from dractl.errors import DractlError
    from dractl.kube.gates import GATES

    question = question_of(inventory, kubernetes)
    if not gates:
        return question
    chosen: dict[str, bool] = {}
    for text in gates:
        name, _, value = text.partition("=")
        if value.lower() not in ("true", "false"):
            raise DractlError(f"--gate {text}: is not NAME=true or NAME=false", "Give it as DRADeviceTaints=false.")
        if name not in GATES:
            raise DractlError(f"--gate {name}: unknown feature gate", "Correct the name.")
        chosen[name] = value.lower() == "true"
    try:
        profile = Profile.for_release(question.release.full, chosen)
    except (KeyError, ValueError) as error:
        raise DractlError(f"--gate: {error}", "See the names of gates in Kubernetes' documentation.") from None
    return replace(question, profile=profile)


def _manifests(files: list[str], release: str) -> list[KubeObject]:
    from dractl.cli.trial import read_manifests

    return read_manifests(files, release)


def _changes(release: str, *, idle: bool, set_class: list[str] | None, **given: list[str] | None) -> list[Change]:
    from dractl.kube.objects import DeviceClass
    from dractl.simulate import changes

    made = [changes.idle()] if idle else []
    for option, values in given.items():
        made += [getattr(changes, option)(value) for value in values or []]
    for item in _manifests(set_class or [], release):
        if isinstance(item, DeviceClass):
            made.append(changes.set_class(item))
    return made
