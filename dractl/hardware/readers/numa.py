"""NUMA nodes from /sys/devices/system/node. Source: Linux Documentation/admin-guide/mm/numaperf.rst and ABI/stable."""

from __future__ import annotations

import re

from dractl.hardware.cpuset import parse_list
from dractl.hardware.model import HugePages, NumaNode, Source, SourceState, Unseen, Why
from dractl.hardware.readers.tree import Tree, absent

NODES = "sys/devices/system/node"
_NODE = re.compile(r"^node(\d{1,5})$")
_PAGES = re.compile(r"^hugepages-(\d{1,12})kB$")
_MEMINFO = re.compile(r"(MemTotal|MemFree):\s+(\d{1,18})\s*kB")


def read_numa(tree: Tree) -> tuple[list[NumaNode] | Unseen, Source]:
    """The nodes in order of their number; Unseen where the kernel shows none (no NUMA support, no /sys)."""
    names = tree.root.names(NODES)
    if isinstance(names, Unseen):
        reason = "the kernel shows no NUMA nodes (/sys/devices/system/node is not there)"
        if names.why is not Why.ABSENT:
            reason = f"/sys/devices/system/node: {names.reason}"
        return Unseen(reason, names.why), Source("numa", SourceState.ABSENT, reason)
    numbers = sorted(int(match[1]) for match in map(_NODE.match, names) if match)
    online = set(_online(tree))
    numbers = [number for number in numbers if number in online] if online & set(numbers) else numbers
    if not numbers:
        reason = "/sys/devices/system/node lists no node"
        return Unseen(reason, Why.ABSENT), Source("numa", SourceState.ABSENT, reason)
    nodes = [_read_node(tree, number) for number in numbers]
    _distances(tree, nodes)
    dark = [node.id for node in nodes if isinstance(node.memory, Unseen)]
    if dark:
        which = ", ".join(map(str, dark))
        return nodes, Source(
            "numa", SourceState.PARTIAL, f"{_count(nodes)}; memory of node {which} unknown: no meminfo"
        )
    return nodes, Source("numa", SourceState.READ, _count(nodes))


def read_hugepages(tree: Tree) -> list[HugePages]:
    """Huge pages of the whole machine."""
    return _hugepages(tree, "sys/kernel/mm/hugepages")


def _count(nodes: list[NumaNode]) -> str:
    return f"{len(nodes)} node" + ("s" if len(nodes) != 1 else "")


def _read_node(tree: Tree, number: int) -> NumaNode:
    path = f"{NODES}/node{number}"
    cpus = tree.cpus(f"{path}/cpulist", f"{path}/cpumap")
    sizes: dict[str, int] = {}
    text = tree.root.text(f"{path}/meminfo")
    if isinstance(text, str):
        sizes = {name: int(value) * 1024 for name, value in _MEMINFO.findall(text)}
        if "MemTotal" not in sizes:
            tree.problem(f"{path}/meminfo", "holds no MemTotal")
    why = text if isinstance(text, Unseen) and text.why is not Why.ABSENT else absent("meminfo")
    return NumaNode(
        number,
        cpus,
        sizes.get("MemTotal", why),
        sizes.get("MemFree", why),
        _row(tree, path),
        _hugepages(tree, f"{path}/hugepages"),
        _initiators(tree, path),
    )


def _row(tree: Tree, path: str) -> dict[int, int] | Unseen:
    """The distances as written: by column for now, by node once all nodes are known."""
    text = tree.root.text(f"{path}/distance")
    if isinstance(text, Unseen):
        return absent("distance") if text.why is Why.ABSENT else text
    words = text.split()
    if not words or any(not word.isascii() or not word.isdigit() or len(word) > 6 for word in words):
        tree.problem(f"{path}/distance", "does not hold distances")
        return Unseen("distance holds no numbers", Why.BROKEN)
    return dict(enumerate(int(word) for word in words))


def _distances(tree: Tree, nodes: list[NumaNode]) -> None:
    """Columns are the online nodes in order, not the node numbers (POWER has 0, 8, 250...)."""
    numbers = _online(tree) or [node.id for node in nodes]
    for node in nodes:
        row = node.distances
        if isinstance(row, Unseen):
            continue
        columns = numbers
        if len(row) != len(columns):
            columns = [other.id for other in nodes]
        if len(row) != len(columns):
            tree.problem(f"{NODES}/node{node.id}/distance", f"has {len(row)} columns for {len(columns)} nodes")
            node.distances = Unseen(f"distance has {len(row)} columns for {len(columns)} nodes", Why.BROKEN)
            continue
        node.distances = {column: row[place] for place, column in enumerate(columns)}


def _online(tree: Tree) -> list[int]:
    text = tree.root.text(f"{NODES}/online")
    if isinstance(text, Unseen):
        return []
    try:
        return sorted(parse_list(text))
    except ValueError as error:
        tree.problem(f"{NODES}/online", str(error))
        return []


def _hugepages(tree: Tree, folder: str) -> list[HugePages]:
    pages = []
    for name in tree.names(folder):
        match = _PAGES.match(name)
        if not match:
            continue
        total = tree.maybe(f"{folder}/{name}/nr_hugepages")
        if total is not None:
            pages.append(HugePages(int(match[1]) * 1024, total, tree.maybe(f"{folder}/{name}/free_hugepages")))
    return sorted(pages, key=lambda page: page.size)


def _initiators(tree: Tree, path: str) -> list[int]:
    matches = (_NODE.match(name) for name in tree.names(f"{path}/access0/initiators"))
    return sorted(int(match[1]) for match in matches if match)
