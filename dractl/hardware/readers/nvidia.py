"""What the NVIDIA kernel driver says in /proc/driver/nvidia, without any library. Source: the driver's README."""

from __future__ import annotations

import re

from dractl.hardware.model import Details, PciFunction, Source, SourceState, Unseen, Why
from dractl.hardware.readers.tree import Tree

PROC = "proc/driver/nvidia"
_VERSION = re.compile(r"\b(\d{3,4}(?:\.\d{1,4}){1,2})\b")
_FIELDS = {"Model": "model", "GPU UUID": "uuid", "Device Minor": "minor", "Video BIOS": "vbios", "GPU Firmware": "gsp"}
_NUMA = re.compile(r"^(Node|Status|Size):\s*(\S+)", re.MULTILINE)


def read_nvidia(tree: Tree, functions: dict[str, PciFunction]) -> tuple[str, Source]:
    """Fill ``functions`` with model, UUID, minor and MIG instances; the driver's version is given back ('' unknown)."""
    version = _version(tree)
    names = tree.root.names(f"{PROC}/gpus")
    if isinstance(names, Unseen):
        if tree.root.exists("sys/module/nvidia"):
            reason = f"the nvidia module is loaded, /{PROC} is not visible here"
            return version, Source("nvidia-proc", SourceState.ABSENT, reason, "mount the host's /proc below the root")
        reason = "the nvidia kernel module is not loaded" if names.why is Why.ABSENT else names.reason
        return version, Source("nvidia-proc", SourceState.ABSENT, reason)
    for name in names:
        function = functions.get(name.lower())
        if function is not None:
            function.details["nvidia"] = _information(tree, f"{PROC}/gpus/{name}")
    _mig(tree, functions)
    return version, Source("nvidia-proc", SourceState.READ, f"{len(names)} GPUs")


def _version(tree: Tree) -> str:
    version = tree.text("sys/module/nvidia/version")
    if version:
        return version
    match = _VERSION.search(tree.text(f"{PROC}/version"))
    return match[1] if match else ""


def _information(tree: Tree, path: str) -> Details:
    details: Details = {}
    for line in tree.text(f"{path}/information").splitlines():
        key, _, value = line.partition(":")
        field = _FIELDS.get(key.strip())
        if field and value.strip():
            details[field] = value.strip()
    minor = details.get("minor")
    details["minor"] = int(minor) if isinstance(minor, str) and minor.isdigit() and len(minor) < 6 else None
    numa = dict(_NUMA.findall(tree.text(f"{path}/numa_status")))
    if numa.get("Node", "").isdigit():
        details["memoryNode"] = int(numa["Node"][:6])
    if re.fullmatch(r"[0-9a-f]{1,16}", numa.get("Size", "")):
        details["memory"] = int(numa["Size"], 16)
    return details


def _mig(tree: Tree, functions: dict[str, PciFunction]) -> None:
    """GPU instances that exist, from the capability files, by the GPU's minor."""
    by_minor = {
        function.details["nvidia"].get("minor"): function
        for function in functions.values()
        if "nvidia" in function.details
    }
    for name in tree.names(f"{PROC}/capabilities"):
        if not name.startswith("gpu") or not name[3:].isdigit():
            continue
        function = by_minor.get(int(name[3:][:6]))
        if function is None:
            continue
        instances = [
            int(entry[2:][:6])
            for entry in tree.names(f"{PROC}/capabilities/{name}/mig")
            if entry.startswith("gi") and entry[2:].isdigit()
        ]
        if instances:
            function.details["nvidia"]["migInstances"] = sorted(instances)
