"""Published devices against the hardware that node agents report, and what is wrong with that hardware."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from dractl.diagnose.check import Context
from dractl.explain.words import count, natural, plural, ranges
from dractl.hardware.health import health
from dractl.hardware.model import Host
from dractl.hardware.reconcile import reconcile
from dractl.rules import hardware
from dractl.rules.finding import Finding, ObjectRef, Rule, Severity

_AGENT_HINT = "dractl generate node-agent --image IMAGE writes the agent; --agent-namespace names where it runs"


def differences(context: Context) -> list[Finding]:
    """What differs between published and real, of all nodes with a report; made once for a context."""
    if context.differing is None:
        context.differing = [found for node, host in context.reports.items() for found in _compare(context, node, host)]
    return context.differing


def _compare(context: Context, node: str, host: Host) -> Iterator[Finding]:
    inventory = context.inventory
    slices = [*inventory.slices_by_node.get(node, []), *inventory.slices_by_node.get("", [])]
    found = reconcile(host, slices, inventory.nodes.get(node), node, inventory.taint_rules).findings
    for one in found:
        about = one.subject if one.subject is not None and one.subject.kind == "Device" else ObjectRef("Node", node)
        yield replace(
            one,
            message=f"{node}: {one.message}",
            subject=about,
            hint=one.hint or f"dractl explain {one.code}; on the node: dractl discover --compare",
        )


def of(rule: Rule) -> Callable[[Context], Iterable[Finding]]:
    """The check for one kind of difference."""

    def check(context: Context) -> Iterator[Finding]:
        return (found for found in differences(context) if found.code == rule.code)

    return check


def faults_on_nodes(context: Context) -> Iterator[Finding]:
    """Nodes whose hardware is not well by itself."""
    for node, host in context.reports.items():
        found = [one for one in health(host) if one.severity.at_least(Severity.WARNING)]
        if not found:
            continue
        texts = [f"{one.code} {one.message}" for one in found]
        yield hardware.FAULT_ON_NODE.finding(
            f"{node}: {'; '.join(texts[:3])}{f'; and {len(texts) - 3} more' if len(texts) > 3 else ''}",
            ObjectRef("Node", node),
            severity=max((one.severity for one in found), key=lambda one: one.rank),
            evidence={"findings": [one.to_json() for one in found]},
            hint=f"dractl explain {found[0].code}; on the node: dractl discover",
        )


def nodes_without_report(context: Context) -> Iterator[Finding]:
    """Nodes with devices of which no report came, by reason."""
    inventory = context.inventory
    nodes = {name for name in inventory.slices_by_node if name in inventory.nodes or not inventory.nodes} - {""}
    reasons: dict[str, list[str]] = {}
    for node in sorted(nodes - context.reports.keys(), key=natural):
        reason = context.silent.get(node, "no node agent runs there")
        # names of pods differ from node to node; what keeps them does not
        reasons.setdefault(_shared(reason), []).append(node)
    for names in reasons.values():
        example = context.silent.get(names[0], "no node agent runs there")
        yield hardware.NO_NODE_REPORT.finding(
            f"{count(len(names), 'node')} with published devices {plural(len(names), 'gives', 'give')} no report: "
            f"{ranges(names)}; {names[0]}: {example}",
            ObjectRef("Node", names[0]),
            evidence={"nodes": names},
            hint=_AGENT_HINT if "no node agent" in example else "",
            related=tuple(ObjectRef("Node", name) for name in names[1:20]),
        )


def _shared(reason: str) -> str:
    return " ".join(word for word in reason.split() if "/" not in word)

