"""The wiring of a host for Graphviz: clusters for packages and NUMA nodes, edges along PCIe, NVLink between GPUs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dractl.render.topology_layout import COLOURS, fabric

_MANY_LINKS = 12
"""Fabric links that are drawn as edges; more make a tangle that Graphviz fails on."""


def render_dot(report: Mapping[str, Any]) -> str:
    """The graph as text for ``dot -Tsvg``."""
    tree = report["topology"]["tree"]
    lines = [
        f"graph {_quoted(tree['name'])} {{",
        '  graph [rankdir=LR, fontname="Helvetica", fontsize=11, compound=true];',
        '  node [shape=box, style="rounded,filled", fontname="Helvetica", fontsize=10, fillcolor="#ffffff"];',
        '  edge [color="#777777"];',
    ]
    counter = [0]
    _walk(tree, "", lines, counter, "  ")
    lines += _fabric(report)
    lines.append("}")
    return "\n".join(lines) + "\n"


def _walk(node: Mapping[str, Any], parent: str, lines: list[str], counter: list[int], indent: str) -> None:
    counter[0] += 1
    children = node.get("children", [])
    if node["type"] in {"package", "numa"}:
        label = node["name"] + (f"\n{node['text']}" if node.get("text") else "")
        lines.append(f"{indent}subgraph cluster_{counter[0]} {{")
        lines.append(f'{indent}  label={_quoted(label)}; style="rounded"; color="#8c8c80";')
        if not children:
            lines.append(f'{indent}  empty_{counter[0]} [style=invis, label=""];')
        for child in children:
            _walk(child, "", lines, counter, indent + "  ")
        lines.append(f"{indent}}}")
        return
    if node["type"] == "machine":
        for child in children:
            _walk(child, "", lines, counter, indent)
        return
    name = node["name"] if node["type"] == "device" else f"{node['type']}_{counter[0]}"
    lines.append(f"{indent}{_quoted(name)} [{_attributes(node)}];")
    if parent:
        lines.append(f"{indent}{_quoted(parent)} -- {_quoted(name)};")
    for child in children:
        _walk(child, name, lines, counter, indent)


def _attributes(node: Mapping[str, Any]) -> str:
    if node["type"] == "device":
        fill, line = COLOURS.get(node.get("kind", "other"), COLOURS["other"])
        text = node["name"] + (f"\n{node['text']}" if node.get("text") else "")
        return f"label={_quoted(text)}, fillcolor={_quoted(fill)}, color={_quoted(line)}"
    shape = "ellipse" if node["type"] == "root" else "box"
    return f"label={_quoted(node['name'])}, shape={shape}"


def _fabric(report: Mapping[str, Any]) -> list[str]:
    matrix = report["topology"]["matrix"]
    labels = matrix["labels"]
    links = [
        (labels[one], labels[two], matrix["rows"][one][two])
        for one in range(len(labels))
        for two in range(one + 1, len(labels))
        if matrix["rows"][one][two].startswith("NV") or matrix["rows"][one][two] == "XGMI"
    ]
    if len(links) > _MANY_LINKS:
        words = sorted({word for _, _, word in links})
        text = fabric(report) or f"{len(links)} pairs are tied by {', '.join(words)}"
        return [f'  label={_quoted(text)}; labelloc="t";']
    return [
        f'  {_quoted(one)} -- {_quoted(two)} [label={_quoted(word)}, color="#2e7d32", constraint=false];'
        for one, two, word in links
    ]


def _quoted(text: str) -> str:
    clean = "".join(char if char.isprintable() or char == "\n" else "?" for char in text)
    return '"' + clean.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
