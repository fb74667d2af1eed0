"""Processors and caches from /sys/devices/system/cpu and /proc/cpuinfo.

Source: Linux Documentation/admin-guide/cputopology.rst, ABI/testing/sysfs-devices-system-cpu.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from dractl.hardware.cpuset import parse_list
from dractl.hardware.model import Cache, Cpus, Source, SourceState, Unseen, Why
from dractl.hardware.readers.tree import Tree

CPUS = "sys/devices/system/cpu"
_CPU = re.compile(r"^cpu(\d{1,5})$")
_INDEX = re.compile(r"^index\d{1,2}$")
_SIZE = re.compile(r"^(\d{1,12})([KMG]?)$")
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_FIRST_CPU = 8192
"""Bytes of /proc/cpuinfo that hold the first processor; reading all of it is slow on large machines."""
_MODEL_KEYS = ("model name", "cpu model", "cpu", "Processor", "vendor_id", "system type")
_ARM = {"0x41": "Arm", "0x42": "Broadcom", "0x43": "Cavium", "0x46": "Fujitsu", "0x48": "HiSilicon", "0x4e": "NVIDIA",
        "0x50": "Applied Micro", "0x51": "Qualcomm", "0x61": "Apple", "0xc0": "Ampere"}  # fmt: skip
_ARM_PARTS = {("0x41", "0xd0c"): "Neoverse-N1", ("0x41", "0xd40"): "Neoverse-V1", ("0x41", "0xd49"): "Neoverse-N2",
              ("0x41", "0xd4f"): "Neoverse-V2", ("0xc0", "0xac3"): "Ampere-1"}  # fmt: skip


def read_cpus(tree: Tree) -> tuple[Cpus, Source]:
    """Packages, cores and threads that are online; Unseen where neither /sys nor /proc tells."""
    cpus = Cpus()
    blocks = _cpuinfo(tree.root.text("proc/cpuinfo", _FIRST_CPU))
    if blocks:
        cpus.model = _model(blocks[0])
        cpus.compute_units = blocks[0].get("vendor_id") == "AuthenticAMD" and blocks[0].get("cpu family") == "21"
        cpus.flags = frozenset((blocks[0].get("flags") or blocks[0].get("Features") or "").split())
    numbers = sorted(int(match[1]) for match in map(_CPU.match, tree.names(CPUS)) if match)
    online = _online(tree, numbers)
    if online:
        cpus.online, cpus.offline = frozenset(online), frozenset(numbers) - frozenset(online)
        cpus.threads = len(online)
        _topology(tree, cpus, online)
        _caches(tree, cpus, online)
        if cpus.core_of:
            return cpus, Source("cpu", SourceState.READ, _count(cpus))
    return _from_cpuinfo(tree, cpus)


def _count(cpus: Cpus) -> str:
    return f"{len(cpus.online)} threads"


def _online(tree: Tree, numbers: list[int]) -> list[int]:
    text = tree.root.text(f"{CPUS}/online")
    listed: frozenset[int] | None = None
    if isinstance(text, str):
        try:
            listed = parse_list(text)
        except ValueError as error:
            tree.problem(f"{CPUS}/online", str(error))
    if listed:
        return sorted(set(numbers) & listed) if numbers else sorted(listed)
    return [number for number in numbers if tree.text(f"{CPUS}/cpu{number}/online") != "0"]


@dataclass(slots=True)
class _Groups:
    """Sets of CPUs, each read once from its first CPU."""

    of: dict[int, int] = field(default_factory=dict)
    count: int = 0

    def add(self, members: frozenset[int]) -> int:
        for cpu in members:
            self.of[cpu] = self.count
        self.count += 1
        return self.count - 1


def _topology(tree: Tree, cpus: Cpus, online: list[int]) -> None:
    packages, cores = _Groups(), _Groups()
    present = frozenset(online)
    for cpu in online:
        path = f"{CPUS}/cpu{cpu}/topology"
        if cpu not in packages.of:
            members = _siblings(tree, path, ("package_cpus", "core_siblings"))
            if members is None:
                continue
            packages.add((members & present) | {cpu})
            identity = tree.maybe(f"{path}/physical_package_id")
            cpus.package_ids.append(identity if identity is not None else -1)
        if cpu not in cores.of:
            members = _siblings(tree, path, ("core_cpus", "thread_siblings")) or frozenset()
            if cpus.compute_units:
                # these AMD processors list both cores of a module as threads of one
                own = tree.maybe(f"{path}/core_id")
                members = frozenset(
                    other for other in members if tree.maybe(f"{CPUS}/cpu{other}/topology/core_id") == own
                )
            cores.add((members & present) | {cpu})
    if not packages.count:
        return
    cpus.core_of, cpus.cores = cores.of, cores.count
    if set(cpus.package_ids) == {-1}:
        cpus.packages = Unseen("the kernel numbers no packages on this machine")
        cpus.package_ids = []
    else:
        cpus.package_of, cpus.packages = packages.of, packages.count


def _siblings(tree: Tree, path: str, names: tuple[str, ...]) -> frozenset[int] | None:
    for name in names:
        members = tree.cpus(f"{path}/{name}_list", f"{path}/{name}")
        if not isinstance(members, Unseen):
            return members
    return None


def _caches(tree: Tree, cpus: Cpus, online: list[int]) -> None:
    """Each cache is read from the first CPU that shares it."""
    seen: dict[str, set[int]] = {}
    found: dict[tuple[int, str, int], list[int]] = {}
    present = frozenset(online)
    for cpu in online:
        path = f"{CPUS}/cpu{cpu}/cache"
        indexes = _indexes(tree, path, cpu, online, seen)
        for index in indexes:
            if cpu in seen.setdefault(index, set()):
                continue
            members = tree.cpus(f"{path}/{index}/shared_cpu_list", f"{path}/{index}/shared_cpu_map")
            level, size = tree.maybe(f"{path}/{index}/level"), _size(tree.text(f"{path}/{index}/size"))
            if isinstance(members, Unseen) or level is None or size is None:
                continue
            members = (members & present) | {cpu}
            seen[index].update(members)
            kind = tree.text(f"{path}/{index}/type") or "Unified"
            sharers = found.setdefault((level, kind, size), [])
            if level == 3:
                for member in members:
                    cpus.l3_of[member] = sum(len(other) for key, other in found.items() if key[0] == 3)
            sharers.append(len(members))
    cpus.caches = [
        Cache(level, kind, size, len(sharers), max(sharers)) for (level, kind, size), sharers in sorted(found.items())
    ]


def _indexes(tree: Tree, path: str, cpu: int, online: list[int], seen: dict[str, set[int]]) -> list[str]:
    """The index folders of one CPU; those of the first CPU are tried elsewhere before a folder is listed."""
    if seen and all(cpu in members for members in seen.values()):
        return []
    if cpu != online[0] and seen and tree.root.exists(f"{path}/{next(iter(seen))}"):
        return sorted(seen)
    return [name for name in tree.names(path) if _INDEX.match(name)]


def _size(text: str) -> int | None:
    match = _SIZE.match(text)
    return int(match[1]) * _UNITS[match[2]] if match else None


# --- /proc/cpuinfo --------------------------------------------------------------------------------------------------


def _cpuinfo(text: str | Unseen) -> list[dict[str, str]]:
    if isinstance(text, Unseen):
        return []
    blocks = []
    for part in text.split("\n\n"):
        pairs = (line.partition(":") for line in part.splitlines() if ":" in line)
        block = {key.strip(): value.strip() for key, _, value in pairs}
        if block:
            blocks.append(block)
    return blocks


def _model(block: dict[str, str]) -> str:
    implementer, part = block.get("CPU implementer", ""), block.get("CPU part", "")
    if implementer:
        vendor = _ARM.get(implementer, f"implementer {implementer}")
        return f"{vendor} {_ARM_PARTS.get((implementer, part), f'part {part}')}"
    for key in _MODEL_KEYS:
        if block.get(key):
            return re.sub(r"\s+", " ", block[key])
    return ""


def _from_cpuinfo(tree: Tree, cpus: Cpus) -> tuple[Cpus, Source]:
    """Old kernels and bare containers: what /proc/cpuinfo alone tells."""
    text = tree.root.text("proc/cpuinfo")
    if isinstance(text, Unseen):
        reason = "neither /sys/devices/system/cpu nor /proc/cpuinfo is readable"
        unseen = Unseen(reason, text.why if text.why is Why.DENIED else Why.ABSENT)
        if not cpus.online:
            cpus.threads = unseen
        cpus.packages = cpus.cores = unseen
        return cpus, Source("cpu", SourceState.PARTIAL if cpus.online else SourceState.ABSENT, reason)
    blocks = [block for block in _cpuinfo(text) if "processor" in block and block["processor"].isdigit()]
    if blocks:
        cpus.online = cpus.online or frozenset(int(block["processor"][:5]) for block in blocks)
        cpus.threads = len(cpus.online)
    packages = {block["physical id"] for block in blocks if "physical id" in block}
    cores = {(block.get("physical id"), block["core id"]) for block in blocks if "core id" in block}
    unsaid = Unseen("/proc/cpuinfo does not say")
    cpus.packages, cpus.cores = len(packages) or unsaid, len(cores) or unsaid
    return cpus, Source("cpu", SourceState.PARTIAL, "no topology in /sys; counted from /proc/cpuinfo")
