"""Rules of the pods and of the nodes: selectors dropped, taints tolerated, cordons lifted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from dractl.explain.case import Case
from dractl.explain.words import listing, natural, plural, ranges
from dractl.inventory import key_of
from dractl.kube.objects import (
    Taint,
    Toleration,
)
from dractl.simulate.candidates.model import ADMIN, POD, Change
from dractl.simulate.variant import Variant


def placement(case: Case) -> Iterator[Change]:
    """What keeps the pods from a node is taken away."""
    done: set[str] = set()
    for answer in case.nodes.values():
        if answer.eligible:
            continue
        for reason in answer.pod.reasons:
            for change in _placement_change(case, reason.code, reason.key, answer.name):
                if change.text not in done:
                    done.add(change.text)
                    yield change


def _placement_change(case: Case, code: str, key: str, node: str) -> Iterator[Change]:
    pods = plural(len(case.pods), "pod")
    names = listing([str(key_of(pod)) for pod in case.pods], 3)
    if code == "node-selector":
        yield Change(
            "node-selector",
            f"drop nodeSelector {key} of {pods} {names}",
            POD,
            40,
            _without_selector(key.partition("=")[0]),
            touched=[],
            subjects=frozenset({f"nodeSelector {key}"}),
        )
    elif code == "node-affinity":
        yield Change(
            "node-affinity",
            f"drop the required node affinity of {pods} {names}",
            POD,
            41,
            _without_affinity,
            touched=[],
            subjects=frozenset({"affinity"}),
        )
    elif code == "node-taint":
        for taint in case.survey.nodes[node].node.taints:
            if taint.key == key and taint.effect in ("NoSchedule", "NoExecute"):
                text = f"{taint.key}={taint.value}:{taint.effect}" if taint.value else f"{taint.key}:{taint.effect}"
                yield Change(
                    "node-toleration",
                    f"tolerate the node taint {text} in {pods} {names}",
                    POD,
                    44,
                    _with_toleration(taint),
                    touched=[],
                    subjects=frozenset({f"node taint {text}"}),
                )
    elif code == "cordoned":
        yield Change(
            "uncordon",
            f"uncordon node {node}",
            ADMIN,
            60,
            _uncordoned(node),
            touched=[],
            choice="uncordon",
            name=node,
            subjects=frozenset({f"cordon of {node}"}),
        )


def _without_selector(key: str) -> Callable[[Variant], None]:
    def apply(variant: Variant) -> None:
        variant.pods = [
            replace(pod, node_selector={name: value for name, value in pod.node_selector.items() if name != key})
            for pod in variant.pods
        ]

    return apply


def _without_affinity(variant: Variant) -> None:
    variant.pods = [replace(pod, node_affinity_required=None) for pod in variant.pods]


def _with_toleration(taint: Taint) -> Callable[[Variant], None]:
    toleration = Toleration(key=taint.key, operator="Exists", effect=taint.effect)

    def apply(variant: Variant) -> None:
        variant.pods = [replace(pod, tolerations=[*pod.tolerations, toleration]) for pod in variant.pods]

    return apply


def _uncordoned(name: str) -> Callable[[Variant], None]:
    def apply(variant: Variant) -> None:
        node = variant.nodes[name]
        taints = [taint for taint in node.taints if taint.key != "node.kubernetes.io/unschedulable"]
        variant.nodes[name] = replace(node, unschedulable=False, taints=taints)

    return apply


def avoid(case: Case) -> Iterator[Change]:
    """Keep the pods from nodes on which the allocator fails."""
    if not case.errors or not case.pods:
        return
    failing = {answer.name for answer in case.errors}
    if len(failing) >= len(case.eligible):
        return
    names = ranges(sorted(failing, key=natural), 4)

    def apply(variant: Variant) -> None:
        variant.avoided |= failing

    yield Change(
        "avoid",
        f"keep {plural(len(case.pods), 'pod')} {listing([str(key_of(pod)) for pod in case.pods], 3)} away from {names} "
        "(node affinity NotIn, or a cordon)",
        POD,
        42,
        apply,
        subjects=frozenset({"avoid"}),
    )
