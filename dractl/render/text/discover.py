"""A HostReport as text: the table, the matrix and the tree."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from dractl.render.text.table import cell_width, table
from dractl.render.text.terminal import PLAIN, Terminal

Report = Mapping[str, Any]
_HEADERS = ("DEVICE", "ADDRESS", "WHAT", "NUMA", "PCIE ROOT", "DRIVER", "LINK")
_WHAT, _WIDTH = 24, 100
"""Least columns of WHAT, and columns of the whole table."""
_HIDDEN = {"storage", "display", "other"}
_FEW_FUNCTIONS = 4
_STATES = {"lost": "LOST", "does not answer": "DOES NOT ANSWER", "for virtual machines": "for VMs", "with vfio": "vfio"}
_UNKNOWN = "?"
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


def render_table(report: Report, terminal: Terminal = PLAIN, wide: bool = False) -> str:
    """The default: the machine, its devices, NUMA nodes, near pairs, findings, and what could not be looked at."""
    report = _printable(report)
    parts = [
        _head(report, terminal),
        _devices(report, terminal, wide),
        _numa(report, terminal),
        _pairs(report, terminal),
        _comparison(report, terminal),
        _findings(report, terminal),
        _sources(report, terminal, wide),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


# --- head -----------------------------------------------------------------------------------------------------------


def _head(report: Report, terminal: Terminal) -> str:
    machine, cpus = report["machine"], report["processors"]
    name = report["host"] or report["root"]
    facts = [" ".join(part for part in (machine["vendor"], machine["product"] or machine["board"]) if part)]
    if machine["virtual"]:
        facts.append(f"virtual machine: {machine['virtual']}")
    if machine["container"]:
        facts.append(f"seen from a {machine['container']} container")
    if machine["kernel"]:
        facts.append(f"Linux {machine['kernel']}")
    title = _wrapped(f"{name}  {', '.join(fact for fact in facts if fact)}".rstrip(), terminal.width, "")
    lines = [terminal.bold(name) + title[0][len(name) :], *(f"  {line}" for line in title[1:])]
    memory = f", {_bytes(machine['memoryBytes'])} of memory" if machine["memoryBytes"] else ""
    lines += _wrapped(_processors(cpus) + memory, terminal.width, "  ")
    driver = _driver(report)
    if driver:
        lines.append("  " + driver)
    lines.append("")
    lines += _wrapped(report["summary"], terminal.width, "  ")
    return "\n".join(lines)


def _processors(cpus: Mapping[str, Any]) -> str:
    packages = cpus["packages"]
    if packages is None and not cpus["model"]:
        return "processors unknown"
    model = cpus["model"] or "processor of unknown model"
    text = f"{packages} x {model}" if packages else model
    for name in ("cores", "threads"):
        if cpus[name] is not None:
            text += f", {cpus[name]} {name if cpus[name] != 1 else name[:-1]}"
    large = [cache for cache in cpus["caches"] if cache["level"] == 3]
    if large:
        text += ", L3 " + " + ".join(f"{cache['count']} x {_bytes(cache['bytes'])}" for cache in large)
    return text


def _driver(report: Report) -> str:
    nvml = report["nvml"]
    if nvml and nvml["error"] is None:
        cuda = f", CUDA {nvml['cudaVersion']}" if nvml["cudaVersion"] else ""
        return f"NVIDIA driver {nvml['driverVersion']}{cuda}"
    version = report["modules"].get("nvidia")
    return f"NVIDIA kernel module {version}" if version else ""


# --- devices --------------------------------------------------------------------------------------------------------


def _devices(report: Report, terminal: Terminal, wide: bool) -> str:
    devices = [device for device in report["devices"] if wide or device["kind"] not in _HIDDEN]
    if not devices:
        return ""
    if wide:
        return table(_HEADERS, _rows(devices, 0), terminal, indent="  ")
    tight = _rows(devices, 1)
    widths = [max([len(header), *(cell_width(row[at]) for row in tight)]) for at, header in enumerate(_HEADERS)]
    room = _WIDTH - 2 - 2 * (len(widths) - 1) - sum(widths) + widths[2]
    return table(_HEADERS, _rows(devices, max(_WHAT, room)), terminal, indent="  ")


def _rows(devices: Sequence[Mapping[str, Any]], room: int) -> list[list[str]]:
    """A row for each device and its virtual functions; WHAT gets ``room`` columns, 0 cuts nothing."""
    children: dict[str, list[Mapping[str, Any]]] = {}
    for device in devices:
        if device.get("parent"):
            children.setdefault(device["parent"], []).append(device)
    rows: list[list[str]] = []
    for device in devices:
        if not device.get("parent"):
            rows.append(_row(device, room))
            rows += _functions(children.pop(device["label"], []), room)
    for orphans in children.values():
        rows += _functions(orphans, room)
    return rows


def _row(device: Mapping[str, Any], room: int) -> list[str]:
    """The cells of a device; ``room`` 0 cuts nothing."""
    return [
        device["label"],
        device["address"] or _UNKNOWN,
        _what(device, room),
        _or_unknown(device.get("numaNode")),
        device.get("pcieRoot") or _UNKNOWN,
        device.get("driver") or ("-" if "driver" not in device.get("unknown", {}) else _UNKNOWN),
        _link(device.get("link"), "link" in device.get("unknown", {})),
    ]


def _what(device: Mapping[str, Any], room: int) -> str:
    """Product, memory, interfaces and state; the product is cut first, it may be long."""
    extras = []
    memory = device.get("memoryBytes")
    if memory:
        extras.append(_bytes(memory))
    extras += [rdma["name"] for rdma in device.get("rdma", [])]
    extras += [_netdev(netdev) for netdev in device.get("netdevs", [])]
    sriov = device.get("sriov", {})
    if sriov.get("total"):
        extras.append(f"{sriov['created'] if sriov['created'] is not None else _UNKNOWN}/{sriov['total']} VFs")
    elif sriov.get("role", "").startswith("virtual function without"):
        extras.append("a virtual function")
    instances = device.get("nvml", {}).get("mig", {}).get("instances") or []
    if instances:
        extras.append(f"{len(instances)} MIG")
    amd = device.get("details", {}).get("amdgpu", {})
    if amd.get("computePartition", "SPX") != "SPX":
        # one GPU that is cut into several for its driver
        extras.append(
            "/".join([amd["computePartition"], *([amd["memoryPartition"]] if amd.get("memoryPartition") else [])])
        )
    if device.get("state"):
        extras.append(_STATES.get(device["state"], device["state"]))
    tail = ", ".join(extras)
    product = device["product"] or device.get("pciId") or "class " + str(device.get("class") or _UNKNOWN)
    full = product
    if device["vendor"] and not product.lower().startswith(device["vendor"].lower()):
        full = f"{device['vendor']} {product}"
    if not room:
        return f"{full}, {tail}" if tail else full
    room = max(10, room - cell_width(tail) - 2) if tail else room
    # the vendor goes first when there is no room for all
    product = full if cell_width(full) <= room else product
    if cell_width(product) > room:
        product = product[: room - 1].rstrip() + "…"
    return f"{product}, {tail}" if tail else product


def _netdev(netdev: Mapping[str, Any]) -> str:
    return str(netdev["name"]) + (" (no carrier)" if netdev["carrier"] is False else "")


def _functions(functions: Sequence[Mapping[str, Any]], room: int) -> list[list[str]]:
    """Virtual functions: one by one while they are few, else one line of counts by driver."""
    if not functions:
        return []
    if not room or len(functions) <= _FEW_FUNCTIONS:
        return [_row(function, room) for function in functions]
    counts: dict[str, int] = {}
    for function in functions:
        counts[function.get("driver") or "no driver"] = counts.get(function.get("driver") or "no driver", 0) + 1
    first, last = functions[0], functions[-1]
    same = {key: {str(function.get(key)) for function in functions} for key in ("numaNode", "pcieRoot")}
    text = f"{len(functions)} VFs: " + ", ".join(f"{count} {name}" for name, count in counts.items())
    return [
        [
            f"{first['label']}..",
            first["address"],
            text,
            _or_unknown(first.get("numaNode")) if len(same["numaNode"]) == 1 else "mixed",
            (first.get("pcieRoot") or _UNKNOWN) if len(same["pcieRoot"]) == 1 else "mixed",
            "",
            f"to {last['address'].partition(':')[2]}",
        ]
    ]


def _link(link: Mapping[str, Any] | None, unknown: bool) -> str:
    if not link:
        return _UNKNOWN if unknown else "-"
    speed = f"gen{link['generation']}" if link["generation"] else f"{link['speed']}GT/s" if link["speed"] else ""
    width = "" if link["width"] is None else f"x{link['width']}"
    if link["width"] is not None and link["maxWidth"] and link["width"] < link["maxWidth"]:
        width += f" of x{link['maxWidth']}"
    return f"{speed} {width}".strip() or "-"


# --- NUMA, pairs ----------------------------------------------------------------------------------------------------


def _numa(report: Report, terminal: Terminal) -> str:
    nodes = report["numaNodes"]
    if nodes is None:
        return f"  NUMA nodes unknown: {report['unknown']['numaNodes']}"
    if not nodes:
        return ""
    rows = []
    for node in nodes:
        memory = "unknown" if node["memoryBytes"] is None else _bytes(node["memoryBytes"])
        cpus = _UNKNOWN if node["cpus"] is None else node["cpus"] or "none"
        if node.get("memoryOf"):
            cpus += f" (memory of {node['memoryOf'].split()[0]})"
        far = node["distances"]
        rows.append(
            [str(node["id"]), cpus, memory, _UNKNOWN if far is None else " ".join(map(str, far.values())), _huge(node)]
        )
    return table(("NUMA NODE", "CPUS", "MEMORY", "DISTANCES", "HUGE PAGES"), rows, terminal, indent="  ")


def _huge(node: Mapping[str, Any]) -> str:
    return ", ".join(f"{pages['total']} x {_bytes(pages['bytes'])}" for pages in node["hugePages"] if pages["total"])


def _pairs(report: Report, terminal: Terminal) -> str:
    pairs = report["topology"]["pairs"]
    if not pairs:
        return ""
    lines = ["  " + terminal.bold("Nearest to each NIC")]
    for pair in pairs[:16]:
        where = f", both below bridge {pair['bridge']}" if pair.get("bridge") and len(pair["nearest"]) == 1 else ""
        root = f", root {pair['pcieRoot']}" if pair.get("pcieRoot") else ""
        rail = f", rail {pair['rail']}" if "rail" in pair else ""
        lines.append(f"    {pair['device']}: {', '.join(pair['nearest'])} ({pair['distance']}{where}{root}{rail})")
    if len(pairs) > 16:
        lines.append(f"    and {len(pairs) - 16} more (-o json)")
    return "\n".join(lines)


def _comparison(report: Report, terminal: Terminal) -> str:
    comparison = report.get("comparison")
    if comparison is None:
        return ""
    lines = ["  " + terminal.bold(f"Compared with the ResourceSlices of node {comparison['node']}")]
    for entry in comparison["drivers"]:
        text = f"{entry['driver']}: {entry['published']} published"
        text += f", not compared: {entry['notCompared']}" if "notCompared" in entry else f", {entry['matched']} matched"
        lines.append("    " + text)
    if not comparison["drivers"]:
        lines.append("    no slice names this node")
    return "\n".join(lines)


# --- findings, sources ----------------------------------------------------------------------------------------------


def _findings(report: Report, terminal: Terminal) -> str:
    findings = report["findings"]
    if not findings:
        return "  No findings."
    lines = ["  " + terminal.bold("Findings")]
    colours = {"error": terminal.red, "warning": terminal.yellow, "info": terminal.cyan}
    for finding in findings:
        mark = finding["severity"].ljust(7)
        head = f"    {mark} {finding['code']}  "
        body = _wrapped(finding["message"], terminal.width, " " * len(head))
        if finding.get("hint"):
            body += _wrapped("-> " + finding["hint"], terminal.width, " " * len(head))
        coloured = f"    {colours[finding['severity']](mark)} {finding['code']}  "
        lines.append(coloured + body[0][len(head) :])
        lines += body[1:]
    return "\n".join(lines)


def _sources(report: Report, terminal: Terminal, wide: bool) -> str:
    """What could not be looked at and why; sources that are merely not there are named together."""
    told = [
        source
        for source in report["sources"]
        if source["state"] in {"partial", "failed", "skipped"} or (source["state"] == "absent" and source.get("hint"))
    ]
    silent = [source for source in report["sources"] if source["state"] == "absent" and not source.get("hint")]
    lines = []
    if told or (wide and silent):
        lines.append("  " + terminal.bold("Could not be looked at, or not wholly"))
    for source in told + (silent if wide else []):
        hint = f" ({source['hint']})" if source.get("hint") else ""
        body = _wrapped(f"{source['name']}: {source['reason']}{hint}", terminal.width, "      ")
        lines += ["    " + body[0].lstrip(), *body[1:]]
    if silent and not wide:
        names = ", ".join(source["name"] for source in silent)
        lines += _wrapped(f"Not there: {names} (-o wide says why).", terminal.width, "  ")
    return "\n".join(lines)


# --- matrix and tree ------------------------------------------------------------------------------------------------


def render_matrix(report: Report, terminal: Terminal = PLAIN) -> str:
    """Distances between devices as ``nvidia-smi topo -m`` shows them."""
    report = _printable(report)
    found = report["topology"]["matrix"]
    labels = found["labels"]
    if not labels:
        return f"{report['summary']}\nThere is nothing to measure distances between.\n"
    affinity = found["affinity"]
    memory = any(entry["memoryNode"] is not None for entry in affinity)
    headers = ["", *labels, "CPU Affinity", "NUMA Affinity"] + (["GPU NUMA ID"] if memory else [])
    rows = []
    for label, words, near in zip(labels, found["rows"], affinity, strict=True):
        row = [label, *words, near["cpus"] or _UNKNOWN, _or_unknown(near["numaNode"])]
        if memory:
            row.append("N/A" if near["memoryNode"] is None else str(near["memoryNode"]))
        rows.append(row)
    parts = [table(headers, rows)]
    if found["leftOut"]:
        parts.append(f"{found['leftOut']} more devices are left out; choose with --only.")
    parts.append("Legend:\n" + "\n".join(f"  {word:<5} {text}" for word, text in report["topology"]["legend"].items()))
    names = _names(report, set(labels))
    if names:
        parts.append("Devices:\n" + "\n".join(names))
    if report["topology"]["flat"]:
        parts.append("This is how a virtual machine shows it: it says nothing about distances on the host.")
    remarks = [finding for finding in report["findings"] if finding["code"] in {"DRA602", "DRA603", "DRA624"}]
    parts += ["\n".join(_wrapped(f"{one['code']}  {one['message']}", terminal.width, "")) for one in remarks]
    return "\n\n".join(parts) + "\n"


def _names(report: Report, labels: set[str]) -> list[str]:
    lines = []
    for device in report["devices"]:
        if device["label"] not in labels:
            continue
        names = [rdma["name"] for rdma in device.get("rdma", [])]
        names += [netdev["name"] for netdev in device.get("netdevs", [])]
        text = f"  {device['label']:<6} {device['address'] or _UNKNOWN}  {device['product']}".rstrip()
        lines.append(text + (f"  {' '.join(names)}" if names else ""))
    return lines


def render_tree(report: Report, terminal: Terminal = PLAIN) -> str:
    """Packages, NUMA nodes, roots, bridges and devices, one a line."""
    lines: list[str] = []
    _branch(_printable(report["topology"]["tree"]), "", "", lines, terminal)
    return "\n".join(lines) + "\n"


def _branch(node: Mapping[str, Any], first: str, rest: str, lines: list[str], terminal: Terminal) -> None:
    name = node["name"]
    words = {"root": "PCI root ", "bridge": "bridge "}
    title = words.get(node["type"], "") + name if not name.startswith(("not on", "PCI root")) else name
    shown = terminal.bold(title) if node["type"] == "device" else title
    text = node.get("text", "")
    lines.append(first + shown + (f"  {text}" if text else ""))
    children = node.get("children", [])
    for place, child in enumerate(children):
        last = place == len(children) - 1
        _branch(child, rest + ("└─ " if last else "├─ "), rest + ("   " if last else "│  "), lines, terminal)


# --- words ----------------------------------------------------------------------------------------------------------


def _printable(data: Any) -> Any:
    """The same data with control characters written out: files of a strange tree must not steer the terminal."""
    if isinstance(data, Mapping):
        return {key: _printable(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_printable(value) for value in data]
    if isinstance(data, str) and not data.isprintable():
        return "".join(char if char.isprintable() else repr(char)[1:-1] for char in data)
    return data


def _or_unknown(value: object) -> str:
    return _UNKNOWN if value is None else str(value)


def _bytes(size: int) -> str:
    value = float(size)
    for unit in _UNITS:
        if value < 1024 or unit == _UNITS[-1]:
            return f"{value:.1f}".rstrip("0").rstrip(".") + f" {unit}"
        value /= 1024
    return str(size)


def _wrapped(text: str, width: int, indent: str) -> list[str]:
    return textwrap.wrap(
        text, max(40, width), initial_indent=indent, subsequent_indent=indent, break_long_words=False,
        break_on_hyphens=False,
    ) or [indent]  # fmt: skip
