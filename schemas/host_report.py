"""Write the JSON Schema (2020-12) of the HostReport of ``dractl discover`` beside this file.

The report is made by ``dractl.hardware.report``; a value that could not be looked at is null, and ``unknown`` beside it
says why. Fields may be added within ``v1alpha1``.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from reports import DIALECT, FINDING

from dractl.hardware.model import Kind, SourceState
from dractl.report import API_VERSION

Json = dict[str, Any]
TEXT: Json = {"type": "string"}
WHOLE: Json = {"type": "integer", "minimum": 0}
FLAG: Json = {"type": "boolean"}
REASONS: Json = {
    "type": "object",
    "description": "Why values beside it are null: what could not be looked at, by the name of the field.",
    "additionalProperties": TEXT,
}


def maybe(schema: Json, description: str = "") -> Json:
    """The same or null (not known, or none: see unknown)."""
    out: Json = {"anyOf": [schema, {"type": "null"}]}
    return {**out, "description": description} if description else out


def listed(schema: Json) -> Json:
    """An array of it."""
    return {"type": "array", "items": schema}


def record(description: str, required: list[str], **properties: Json) -> Json:
    """An object; further fields are allowed."""
    return {"type": "object", "description": description, "properties": properties, "required": required}


PAGES = record("Huge pages of one size.", ["bytes", "total"], bytes=WHOLE, total=WHOLE, free=maybe(WHOLE))
LINK = record(
    "A PCIe link: speeds in GT/s, widths in lanes, bandwidth in GB/s of one direction.",
    ["speed", "maxSpeed", "width", "maxWidth", "generation", "gigabytesPerSecond"],
    speed=maybe({"type": "number"}),
    maxSpeed=maybe({"type": "number"}),
    generation=maybe(WHOLE),
    width=maybe(WHOLE),
    maxWidth=maybe(WHOLE),
    gigabytesPerSecond=maybe({"type": "number"}),
)
NETDEV = record(
    "A network interface; speed in Mbit/s.",
    ["name", "state", "carrier"],
    name=TEXT,
    state=TEXT,
    carrier=maybe(FLAG),
    speedMbit=WHOLE,
    mtu=WHOLE,
    mac=TEXT,
    port=TEXT,
    virtual=FLAG,
)
PORT = record("", ["number", "state"], number=WHOLE, state=TEXT, linkLayer=TEXT, rate=TEXT)
RDMA = record("An RDMA device.", ["name", "ports"], name=TEXT, guid=TEXT, firmware=TEXT, ports=listed(PORT))
SRIOV = record(
    "SR-IOV: role physical, virtual, or virtual function without a visible parent.",
    ["role"],
    role=TEXT,
    total=maybe(WHOLE),
    created=maybe(WHOLE),
    virtualFunctions=listed(TEXT),
    physicalFunction=TEXT,
    physicalLabel=maybe(TEXT),
    index=maybe(WHOLE),
)
MIG = record(
    "MIG of a GPU; supported null where it could not be asked.",
    ["supported"],
    supported=maybe(FLAG),
    enabled=FLAG,
    pending=FLAG,
    maxInstances=maybe(WHOLE),
    instances=listed({"type": "object"}),
    profiles=listed(TEXT),
)
GPU = record("What NVML says of a GPU; what it does not say is not there.", ["lost", "mig"], lost=FLAG, mig=MIG)
DEVICE = record(
    "A device. Labels are unique within a report (GPU0, NIC1, NIC1v3).",
    ["label", "kind", "address", "vendor", "product", "usable", "numaNode", "pcieRoot", "driver", "link"],
    label=TEXT,
    kind={"enum": [kind.value for kind in Kind if kind is not Kind.BRIDGE]},
    address=maybe(TEXT, "PCI address; null for a GPU whose address nobody tells."),
    vendor=TEXT,
    product=TEXT,
    parent={**TEXT, "description": "Label of the physical function's device."},
    memoryBytes=maybe(WHOLE),
    usable={**FLAG, "description": "Whether containers can use it as it stands."},
    state={**TEXT, "description": "Why it is not usable."},
    pciId=maybe({**TEXT, "pattern": "^[0-9a-f]{4}:[0-9a-f]{4}$"}),
    **{"class": maybe({**TEXT, "pattern": "^[0-9a-f]{4}$"})},
    numaNode=maybe(WHOLE),
    cpus=maybe(TEXT),
    pcieRoot=maybe(TEXT),
    bridges=maybe(listed(TEXT)),
    standardAttributes={"type": "object", "description": "By the rules of Kubernetes' own helpers for drivers."},
    standardAttributeErrors=REASONS,
    driver=maybe(TEXT, "Kernel driver; null for none."),
    iommuGroup=maybe(TEXT),
    link=maybe(LINK),
    sriov=SRIOV,
    netdevs=listed(NETDEV),
    rdma=listed(RDMA),
    companions={**listed(TEXT), "description": "Addresses of further functions of the same card."},
    nvml=GPU,
    details={"type": "object", "description": "What vendors' kernel drivers say, by source."},
    unknown=REASONS,
)
NUMA = record(
    "A NUMA node.",
    ["id", "cpus", "memoryBytes", "distances", "memoryOnly"],
    id=WHOLE,
    cpus=maybe(TEXT),
    memoryBytes=maybe(WHOLE),
    freeBytes=maybe(WHOLE),
    distances=maybe({"type": "object", "additionalProperties": WHOLE}, "By the number of the other node."),
    hugePages=listed(PAGES),
    memoryOnly=FLAG,
    memoryOf={**TEXT, "description": "Label and address of the device whose memory this is."},
    initiators=listed(WHOLE),
    unknown=REASONS,
)
NODE: Json = record(
    "A box of the drawing: machine, package, numa, root, bridge or device.",
    ["type", "name"],
    type={"enum": ["machine", "package", "numa", "root", "bridge", "device"]},
    name=TEXT,
    text=TEXT,
    kind=TEXT,
    children=listed({"$ref": "#/$defs/Node"}),
)
AFFINITY = record(
    "", ["label", "cpus", "numaNode"], label=TEXT, cpus=maybe(TEXT), numaNode=maybe(WHOLE), memoryNode=maybe(WHOLE)
)
MATRIX = record(
    "Distances: X, NV#, XGMI, PIX, PXB, PHB, NODE, SYS, or ? where it is not known.",
    ["labels", "rows", "leftOut", "affinity"],
    labels=listed(TEXT),
    rows=listed(listed({**TEXT, "pattern": r"^(X|NV\d+|XGMI|PIX|PXB|PHB|NODE|SYS|\?)$"})),
    leftOut=WHOLE,
    affinity=listed(AFFINITY),
)
PAIR = record(
    "The nearest GPUs of a NIC.",
    ["device", "nearest", "distance"],
    device=TEXT,
    nearest=listed(TEXT),
    distance=TEXT,
    rail={**WHOLE, "description": "Place among the GPUs that have a NIC of their own behind the same switch."},
    pcieRoot=TEXT,
    bridge=TEXT,
)
TOPOLOGY = record(
    "How the devices are wired. flat: a virtual machine that hides it.",
    ["flat", "matrix", "legend", "pairs", "tree"],
    flat=FLAG,
    matrix=MATRIX,
    legend={"type": "object", "additionalProperties": TEXT},
    pairs=listed(PAIR),
    tree={"$ref": "#/$defs/Node"},
)
SOURCE = record(
    "A source and how reading it went.",
    ["name", "state", "reason"],
    name=TEXT,
    state={"enum": [state.value for state in SourceState]},
    reason=TEXT,
    hint=TEXT,
)
COMPARED = record("", ["driver", "published", "matched"], driver=TEXT, published=WHOLE, matched=WHOLE, notCompared=TEXT)
COMPARISON = record("With --compare.", ["node", "drivers"], node=TEXT, drivers=listed(COMPARED))
MACHINE = record(
    "The machine as firmware and kernel name it.",
    ["vendor", "product", "kernel", "virtual", "container"],
    vendor=TEXT,
    product=TEXT,
    board=TEXT,
    kernel=TEXT,
    memoryBytes=maybe(WHOLE),
    virtual=maybe(TEXT),
    container=maybe(TEXT),
    iommuOptions=listed(TEXT),
)
PROCESSORS = record(
    "What is online; null where it could not be counted.",
    ["model", "packages", "cores", "threads", "caches"],
    model=TEXT,
    packages=maybe(WHOLE),
    cores=maybe(WHOLE),
    threads=maybe(WHOLE),
    online=TEXT,
    offline=TEXT,
    caches=listed(record("", ["level", "type", "bytes", "count", "sharedBy"])),
    unknown=REASONS,
)


def schema() -> Json:
    """The whole schema."""
    body = record(
        "What hardware a host has, how it is wired and what is wrong with it (dractl discover).",
        ["apiVersion", "kind", "host", "root", "summary", "machine", "processors", "numaNodes", "devices", "topology",
         "sources", "findings"],
        apiVersion={"const": API_VERSION},
        kind={"const": "HostReport"},
        host=TEXT,
        root={**TEXT, "description": "The tree that was read."},
        summary=TEXT,
        machine=MACHINE,
        processors=PROCESSORS,
        numaNodes=maybe(listed(NUMA)),
        unknown=REASONS,
        hugePages=listed(PAGES),
        iommu=record("", ["on", "reason", "groups"], on=maybe(FLAG), reason=TEXT, units=listed(TEXT), groups=WHOLE),
        nvml=maybe(record("", ["error", "gpus"], error=maybe(TEXT), gpus=WHOLE)),
        modules={"type": "object", "additionalProperties": TEXT},
        devices=listed(DEVICE),
        netdevs=listed(NETDEV),
        rdma=listed(RDMA),
        topology=TOPOLOGY,
        sources=listed(SOURCE),
        comparison=COMPARISON,
        findings=listed(FINDING),
    )  # fmt: skip
    return {"$schema": DIALECT, "title": "HostReport", **body, "$defs": {"Node": NODE}}


def text() -> str:
    """The file's content."""
    return json.dumps(schema(), indent=2) + "\n"


if __name__ == "__main__":
    Path(__file__).with_name("HostReport.json").write_text(text(), encoding="utf-8")
