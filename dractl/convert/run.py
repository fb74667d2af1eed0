"""Convert the documents of one stream."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dractl.convert.beta import CONVERTED, convert_beta, lacking, lower
from dractl.convert.first import PARAMETERS, VERSIONS, convert_first, foreign_parameters, scheduling_text
from dractl.convert.model import GROUP, Note, Target, Work, document_of, vanish, write_remarks
from dractl.convert.nodes import head_comment, plain
from dractl.convert.plugin import convert_workload


@dataclass(slots=True)
class Converted:
    """The result: documents in order, the notes, and how many documents changed or vanished."""

    nodes: list[Any]
    notes: list[Note]
    changed: int
    dropped: int


def convert(nodes: Sequence[Any], target: Target) -> Converted:
    """Convert parsed documents in place; documents that are no Kubernetes objects pass unchanged.

    ``v1 List`` documents are converted item by item.
    """
    work = Work([document_of(node) for node in _flat(nodes)], target)
    for document in work.documents:
        node = document.node
        if not isinstance(node, dict) or not isinstance(node.get("apiVersion"), str):
            continue
        group, _, version = node["apiVersion"].rpartition("/")
        kind = str(node.get("kind"))
        if group != GROUP:
            convert_workload(document, work)
        elif version in VERSIONS:
            if kind not in PARAMETERS:
                convert_first(document, work)
        elif kind == "PodSchedulingContext":
            vanish(document, work, scheduling_text(kind))
        elif kind in CONVERTED:
            convert_beta(document, work)
    for document in work.documents:
        # parameters may stand before or after what names them, so they go last
        if document.node is not None and str(document.node.get("kind", "")).endswith("Parameters"):
            if document.node.get("kind") in PARAMETERS:
                convert_first(document, work)
            else:
                foreign_parameters(document, work)
    return _result(nodes, work)


def _flat(nodes: Sequence[Any]) -> list[Any]:
    flat: list[Any] = []
    for node in nodes:
        if _is_list(node):
            flat.extend(item for item in node["items"] if isinstance(item, dict))
        else:
            flat.append(node if isinstance(node, dict) else _Other(node))
    return flat


def _is_list(node: Any) -> bool:
    return isinstance(node, dict) and node.get("kind") == "List" and isinstance(node.get("items"), list)


class _Other(dict[str, Any]):
    """A document that is no map; it passes as it is."""

    def __init__(self, value: Any) -> None:
        super().__init__()
        self.value = value


def _result(nodes: Sequence[Any], work: Work) -> Converted:
    by_node: dict[int, list[Any]] = {}
    left: list[str] = []
    changed = dropped = 0
    originals = _flat(nodes)
    for document, original in zip(work.documents, originals, strict=True):
        made = [*document.added, *([document.node] if document.node is not None else []), *document.after]
        for one in made:
            # what was written anew has the shape of v1
            if isinstance(one, dict) and one.get("apiVersion") == f"{GROUP}/v1beta1":
                lower(one)
        changed += document.changed
        dropped += document.node is None
        if document.node is None:
            left += document.remarks
        elif made and not isinstance(document.node, _Other):
            first = made[0]
            lines = left + (head_comment(document.node) if document.added else []) + document.remarks
            if lines:
                write_remarks(first, lines)
            left = []
            for name in lacking(document.node, work.target.release) if _is_dra(document.node) else ():
                release = ".".join(map(str, work.target.release))
                work.note(document, f"{name} is not known to {release}: it would be refused or dropped")
        by_node[id(original)] = made
    out: list[Any] = []
    flat = iter(originals)
    for node in nodes:
        if _is_list(node):
            items = [next(flat) for item in node["items"] if isinstance(item, dict)]
            node["items"][:] = [one for item in items for one in by_node[id(item)]]
            out.append(node)
        else:
            out.extend(one.value if isinstance(one, _Other) else one for one in by_node[id(next(flat))])
    return Converted(out, work.notes, changed, dropped)


def _is_dra(node: Any) -> bool:
    return str(node.get("apiVersion", "")).startswith(f"{GROUP}/")


def plain_documents(nodes: Sequence[Any]) -> list[Any]:
    """The documents as plain data, for checks and for JSON."""
    return [plain(node) for node in nodes]
