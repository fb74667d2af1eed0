"""Writes synthetic trees of /sys and /proc: machines as public documents describe them, small and readable."""

from __future__ import annotations

import io
import json
import tarfile
from dataclasses import dataclass, field
from pathlib import Path

NO_NAMES = "# no names\n"
ROOT_PORT, SWITCH, AMD_PORT = ("8086", "352a"), ("1000", "c030"), ("1022", "1483")


def spans(numbers):
    """A list of CPUs as the kernel writes it."""
    out = []
    for number in sorted(numbers):
        if out and number == out[-1][1] + 1:
            out[-1][1] = number
        else:
            out.append([number, number])
    return ",".join(str(low) if low == high else f"{low}-{high}" for low, high in out)


@dataclass
class Machine:
    """A tree under construction, below the folder ``root``, or in an archive where ``root`` ends in ``.tar``.

    Paths are relative to the root. An archive is written by ``finish``; it is much faster where files are many.
    """

    root: Path
    packed: dict[str, bytes | Path] = field(default_factory=dict)
    cpus_of_node: dict[int, list[int]] = field(default_factory=dict)
    places: dict[str, str] = field(default_factory=dict)

    # --- files ---

    def __post_init__(self) -> None:
        # names must not depend on the pci.ids of the machine that the tests run on
        self.file("usr/share/hwdata/pci.ids", NO_NAMES)

    @property
    def is_archive(self) -> bool:
        return self.root.suffix == ".tar"

    def finish(self) -> Path:
        """Write the archive; the place of the tree is given back."""
        if self.is_archive:
            with tarfile.open(self.root, "w") as archive:
                for path, content in self.packed.items():
                    entry = tarfile.TarInfo(path)
                    if isinstance(content, Path):
                        entry.type, entry.linkname = tarfile.SYMTYPE, str(content)
                        archive.addfile(entry)
                    else:
                        entry.size = len(content)
                        archive.addfile(entry, io.BytesIO(content))
        return self.root

    def file(self, path: str, content: str | bytes) -> None:
        if self.is_archive:
            text = content if isinstance(content, bytes) or content.endswith("\n") else content + "\n"
            self.packed[path] = text if isinstance(text, bytes) else text.encode()
            return
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, bytes):
            target.write_bytes(content)
        else:
            target.write_text(content if content.endswith("\n") else content + "\n")

    def files(self, folder: str, **contents: object) -> None:
        for name, content in contents.items():
            self.file(f"{folder}/{name}", str(content))

    def link(self, path: str, target: str) -> None:
        if self.is_archive:
            self.packed[path] = Path(target)
            return
        place = self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(target)

    def up(self, folder: str) -> str:
        """``../..`` from inside ``folder`` to the root's ``sys``."""
        return "/".join([".."] * (folder.count("/")))

    # --- processors and memory ---

    def cpus(
        self, packages: int, cores: int, threads: int = 2, nodes_per_package: int = 1, model: str = "Test CPU"
    ) -> None:
        """``cores`` in each package; second threads are numbered after all first ones, as on x86."""
        total = packages * cores
        base = "sys/devices/system/cpu"
        every = range(total * threads)
        self.file(f"{base}/online", spans(every))
        siblings = {core: [core + total * thread for thread in range(threads)] for core in range(total)}
        per_node = cores // nodes_per_package
        for package in range(packages):
            members = [cpu for core in range(package * cores, (package + 1) * cores) for cpu in siblings[core]]
            for core in range(package * cores, (package + 1) * cores):
                for cpu in siblings[core]:
                    self.files(
                        f"{base}/cpu{cpu}/topology",
                        physical_package_id=package,
                        core_id=core - package * cores,
                        package_cpus_list=spans(members),
                        core_cpus_list=spans(siblings[core]),
                    )
                self.files(
                    f"{base}/cpu{core}/cache/index3",
                    level=3,
                    type="Unified",
                    size="32768K",
                    shared_cpu_list=spans(members),
                )
        for node in range(packages * nodes_per_package):
            here = [cpu for core in range(node * per_node, (node + 1) * per_node) for cpu in siblings[core]]
            self.cpus_of_node[node] = here
        flags = "fpu sse"
        self.file("proc/cpuinfo", f"processor\t: 0\nmodel name\t: {model}\nflags\t\t: {flags}\n\n")
        self.file("proc/sys/kernel/hostname", "testhost")
        self.file("proc/sys/kernel/osrelease", "6.8.0-test")

    def numa(self, distances: dict[int, list[int]], gibibytes: dict[int, int] | int = 512, memory_only=()) -> None:
        self.file("sys/devices/system/node/online", spans(distances))
        for node, row in distances.items():
            size = gibibytes if isinstance(gibibytes, int) else gibibytes[node]
            cpus = [] if node in memory_only else self.cpus_of_node.get(node, [])
            self.files(
                f"sys/devices/system/node/node{node}",
                cpulist=spans(cpus),
                distance=" ".join(map(str, row)),
                meminfo=f"Node {node} MemTotal:       {size * 1024 * 1024} kB",
            )

    # --- PCI ---

    def function(
        self,
        place: str,
        vendor: str,
        device: str,
        klass: str,
        numa: int | None = 0,
        driver: str | None = None,
        speed: float | None = 32.0,
        width: int | None = 16,
        max_speed: float | None = None,
        max_width: int | None = None,
        group: str | None = None,
        config: bytes | None = None,
    ) -> str:
        """A function at ``pci0000:15/0000:15:01.0/0000:16:00.0``; its folder is given back."""
        address = place.rpartition("/")[2]
        folder = f"sys/devices/{place}"
        self.places[address] = folder
        self.files(folder, vendor=f"0x{vendor}", device=f"0x{device}", **{"class": f"0x{klass}"})
        if numa is not None:
            cpus = self.cpus_of_node.get(numa, [cpu for some in self.cpus_of_node.values() for cpu in some])
            self.files(folder, numa_node=numa, local_cpulist=spans(cpus))
        if speed is not None:
            self.files(
                folder,
                current_link_speed=f"{speed} GT/s PCIe",
                max_link_speed=f"{max_speed or speed} GT/s PCIe",
                current_link_width=width,
                max_link_width=max_width or width,
            )
        if driver:
            self.link(f"{folder}/driver", f"{self.up(folder)}/bus/pci/drivers/{driver}")
        if group is not None:
            self.link(f"{folder}/iommu_group", f"{self.up(folder)}/kernel/iommu_groups/{group}")
            self.link(f"sys/kernel/iommu_groups/{group}/devices/{address}", f"../../../../devices/{place}")
        if config is not None:
            self.file(f"{folder}/config", config)
        self.link(f"sys/bus/pci/devices/{address}", f"../../../devices/{place}")
        return folder

    def event(self, folder: str, vendor: str, device: str, klass: str, driver: str = "") -> None:
        """uevent as the kernel writes it."""
        lines = [f"DRIVER={driver}"] if driver else []
        lines += [f"PCI_CLASS={klass.lstrip('0').upper()}", f"PCI_ID={vendor.upper()}:{device.upper()}"]
        self.file(f"{folder}/uevent", "\n".join([*lines, f"PCI_SUBSYS_ID={vendor.upper()}:0001", ""]))

    def port(self, place: str, ids: tuple[str, str] = ROOT_PORT, numa: int = 0, config: bytes | None = None) -> str:
        """A bridge: root port or port of a switch."""
        address = place.rpartition("/")[2]
        if address not in self.places:
            self.function(place, *ids, "060400", numa, "pcieport", config=config)
        return place

    def below_switch(self, root: str, ports: list[tuple[str, str]], numa: int, acs: bytes | None = None) -> list[str]:
        """Root port, switch, and one place behind each downstream port: (downstream port, address)."""
        number = int(root.rpartition(":")[2], 16)
        top = self.port(f"{root}/0000:{number:02x}:01.0", numa=numa)
        up = self.port(f"{top}/0000:{number + 1:02x}:00.0", SWITCH, numa)
        places = []
        for port, address in ports:
            places.append(f"{self.port(f'{up}/{port}', SWITCH, numa, acs)}/{address}")
        return places

    def netdev(self, folder: str, name: str, carrier: int | None = 1, mac: str = "", kind: int = 1) -> None:
        place = f"{folder}/net/{name}"
        self.files(place, operstate="up" if carrier else "down", type=kind, mtu=1500)
        if carrier is not None:
            self.file(f"{place}/carrier", str(carrier))
        if mac:
            self.file(f"{place}/address", mac)
        self.link(f"sys/class/net/{name}", f"../../{place.removeprefix('sys/')}")

    def rdma(
        self, folder: str, name: str, state: str = "4: ACTIVE", layer: str = "InfiniBand", shown: bool = True
    ) -> None:
        place = f"{folder}/infiniband/{name}"
        self.files(
            f"{place}/ports/1", state=state, link_layer=layer, rate="400 Gb/sec (4X NDR)", phys_state="5: LinkUp"
        )
        if shown:
            self.link(f"sys/class/infiniband/{name}", f"../../{place.removeprefix('sys/')}")

    def virtual_function(self, parent: str, index: int, place: str, vendor: str, device: str, **more) -> str:
        folder = self.function(place, vendor, device, "020000", **more)
        address, above = place.rpartition("/")[2], self.places[parent]
        self.link(f"{folder}/physfn", f"../{parent}")
        self.link(f"{above}/virtfn{index}", f"../{address}")
        return folder

    def nvml(self, **answers) -> None:
        """What NVML answered, as a capture keeps it."""
        self.file("dractl/nvml.json", json.dumps(answers))


def acs_config(control: int) -> bytes:
    """Configuration space of 4 KiB with an ACS capability whose control register is ``control``."""
    data = bytearray(4096)
    data[0x0E] = 1
    data[0x100:0x108] = (
        (0x000D | 1 << 16).to_bytes(4, "little") + (0x7F).to_bytes(2, "little") + control.to_bytes(2, "little")
    )
    return bytes(data)


# --- machines ---------------------------------------------------------------------------------------------------------

DGX = (
    # root, numa, NIC (downstream port, address, second port), GPU (downstream port, address)
    ("pci0000:15", 0, ("0000:17:00.0", "0000:18:00.0", False), ("0000:17:01.0", "0000:1b:00.0")),
    ("pci0000:26", 0, ("0000:28:00.0", "0000:29:00.0", True), None),
    ("pci0000:37", 0, ("0000:39:00.0", "0000:40:00.0", False), ("0000:39:01.0", "0000:43:00.0")),
    ("pci0000:48", 0, ("0000:4a:00.0", "0000:4f:00.0", False), ("0000:4a:01.0", "0000:52:00.0")),
    ("pci0000:59", 0, ("0000:5b:00.0", "0000:5e:00.0", False), ("0000:5b:01.0", "0000:61:00.0")),
    ("pci0000:97", 1, ("0000:99:00.0", "0000:9a:00.0", False), ("0000:99:01.0", "0000:9d:00.0")),
    ("pci0000:a7", 1, ("0000:a9:00.0", "0000:aa:00.0", True), None),
    ("pci0000:b7", 1, ("0000:b9:00.0", "0000:c0:00.0", False), ("0000:b9:01.0", "0000:c3:00.0")),
    ("pci0000:c7", 1, ("0000:c9:00.0", "0000:ce:00.0", False), ("0000:c9:01.0", "0000:d1:00.0")),
    ("pci0000:d7", 1, ("0000:d9:00.0", "0000:dc:00.0", False), ("0000:d9:01.0", "0000:df:00.0")),
)


def dgx_h100(root: Path, acs: int | None = None, with_nvml: bool = True, cores: int = 56) -> Machine:
    """DGX H100: 8 GPUs, 8 single and 2 double NICs, 4 NVSwitches; the published distances of its manual."""
    machine = Machine(root)
    machine.cpus(2, cores, model="Intel(R) Xeon(R) Platinum 8480C")
    machine.numa({0: [10, 21], 1: [21, 10]}, 1024)
    ports = None if acs is None else acs_config(acs)
    number = 0
    for place, numa, nic, gpu in DGX:
        downstream = [nic[:2]] + ([gpu] if gpu else [])
        below = machine.below_switch(place, downstream, numa, ports)
        for function in range(2 if nic[2] else 1):
            at = below[0][:-1] + str(function)
            folder = machine.function(at, "15b3", "1021", "020700", numa, "mlx5_core", group=f"{20 + number}")
            machine.rdma(folder, f"mlx5_{number}")
            machine.netdev(folder, f"ib{number}", kind=32)
            number += 1
        if gpu:
            machine.function(below[1], "10de", "2330", "030200", numa, "nvidia", group=f"{60 + number}")
    for number in range(4):
        machine.function(
            f"pci0000:00/0000:00:0{number + 1}.0/0000:{7 + number:02x}:00.0",
            "10de",
            "22a3",
            "068000",
            0,
            "nvidia-nvswitch",
        )
    machine.file("sys/module/nvidia/version", "580.105.08")
    if with_nvml:
        machine.nvml(**h100_answers([gpu[1] for _, _, _, gpu in DGX if gpu]))
    return machine


def h100_answers(addresses: list[str], nvlinks: int = 18) -> dict:
    """NVML's answers for H100 GPUs at these addresses."""
    gpus = [
        {
            "index": index,
            "address": address,
            "name": "NVIDIA H100 80GB HBM3",
            "uuid": f"GPU-{index:08d}-1111-2222-3333-444444444444",
            "serial": f"165{index:07d}",
            "minor": index,
            "brand": "Nvidia",
            "architecture": "Hopper",
            "compute_capability": "9.0",
            "memory": 85520809984,
            "mig": 0,
            "mig_pending": 0,
            "max_mig_devices": 7,
            "nvlinks": nvlinks,
            "nvlink_peers": {"switch": nvlinks} if nvlinks else {},
        }
        for index, address in enumerate(addresses)
    ]
    return {"init": "", "driver": "580.105.08", "library": "13.580.105.08", "cuda": 13000, "gpus": gpus}


def mi300x(root: Path) -> Machine:
    """Eight MI300X, all tied by XGMI, one NIC beside each behind a switch."""
    machine = Machine(root)
    machine.cpus(2, 48, model="AMD EPYC 9474F 48-Core Processor")
    machine.numa({0: [10, 32], 1: [32, 10]}, 1152)
    machine.file("sys/module/amdgpu/version", "6.12.12")
    machine.file("sys/module/amdgpu/srcversion", "AE1A7E2B8A8F5E2F31A4B3C")
    gpus = ("05", "26", "46", "65", "85", "a6", "c6", "e5")
    for number, bus in enumerate(gpus):
        numa, base = number // 4, int(bus, 16)
        root_bus, port_bus = base - 4, base - 2
        gpu, nic = machine.below_switch(
            f"pci0000:{root_bus:02x}",
            [
                (f"0000:{port_bus:02x}:00.0", f"0000:{bus}:00.0"),
                (f"0000:{port_bus:02x}:01.0", f"0000:{base + 1:02x}:00.0"),
            ],
            numa,
        )
        folder = machine.function(gpu, "1002", "74a1", "120000", numa, "amdgpu")
        machine.files(
            folder,
            mem_info_vram_total=206141652992,
            product_name="AMD Instinct MI300X OAM",
            unique_id=f"{0xDCEA97B8C4ED6A00 + number:016x}",
            current_compute_partition="SPX",
            current_memory_partition="NPS1",
        )
        for name in (f"card{number + 1}", f"renderD{128 + 8 * number}"):
            machine.file(f"{folder}/drm/{name}/dev", "226:0")
        machine.netdev(machine.function(nic, "15b3", "1021", "020000", numa, "mlx5_core"), f"rdma{number}np0")
        machine.rdma(f"sys/devices/{nic}", f"mlx5_{number}", layer="Ethernet")
    nodes = "sys/class/kfd/kfd/topology/nodes"
    for node in range(10):
        if node < 2:
            machine.file(f"{nodes}/{node}/properties", "cpu_cores_count 96\nsimd_count 0\n")
            continue
        location = int(gpus[node - 2], 16) << 8
        machine.file(
            f"{nodes}/{node}/properties",
            f"cpu_cores_count 0\nsimd_count 1216\nsimd_per_cu 4\ngfx_target_version 90402\nlocation_id {location}\n"
            f"domain 0\ndrm_render_minor {128 + 8 * (node - 2)}\nunique_id {1000 + node}\n",
        )
        machine.file(f"{nodes}/{node}/gpu_id", str(40000 + node))
        machine.file(f"{nodes}/{node}/mem_banks/0/properties", "heap_type 1\nsize_in_bytes 206141652992\n")
        for link, other in enumerate(other for other in range(2, 10) if other != node):
            machine.file(f"{nodes}/{node}/io_links/{link}/properties", f"type 11\nnode_to {other}\nweight 15\n")
    return machine


def grace_hopper(root: Path) -> Machine:
    """GH200: one Grace CPU, one Hopper GPU whose memory is NUMA node 1, a ConnectX-7 in another PCI domain."""
    machine = Machine(root)
    machine.cpus(1, 72, threads=1)
    machine.file("proc/cpuinfo", "processor\t: 0\nFeatures\t: fp asimd\nCPU implementer\t: 0x41\nCPU part\t: 0xd4f\n\n")
    machine.numa({0: [10, 80], 1: [80, 10]}, {0: 480, 1: 95}, memory_only={1})
    machine.function("pci0009:00/0009:00:00.0/0009:01:00.0", "10de", "2342", "030200", 0, "nvidia")
    nic = machine.function("pci0002:00/0002:00:00.0/0002:01:00.0", "15b3", "1021", "020700", 0, "mlx5_core")
    machine.rdma(nic, "mlx5_0")
    machine.netdev(nic, "ib0", kind=32)
    answers = h100_answers(["0009:01:00.0"], 0)
    answers["gpus"][0].update(name="NVIDIA GH200 480GB", memory=102625181696, addressing="ATS", numa_memory=1)
    machine.nvml(**answers)
    return machine


def l40s_server(root: Path) -> Machine:
    """A two-socket EPYC server: four L40S and two ConnectX-7, each on a root port of its own; GPU2 and NIC1 share a "
    "root."""
    machine = Machine(root)
    machine.cpus(2, 32, model="AMD EPYC 9354 32-Core Processor")
    machine.numa({0: [10, 32], 1: [32, 10]}, 384)
    for place, numa in (
        ("pci0000:00/0000:00:01.1/0000:01:00.0", 0),
        ("pci0000:20/0000:20:01.1/0000:21:00.0", 0),
        ("pci0000:80/0000:80:01.1/0000:81:00.0", 1),
        ("pci0000:a0/0000:a0:01.1/0000:a1:00.0", 1),
    ):
        machine.port(place.rpartition("/")[0], AMD_PORT, numa)
        machine.function(place, "10de", "26b9", "030200", numa, "nvidia", speed=16.0)
    for number, (place, numa) in enumerate(
        (("pci0000:40/0000:40:01.1/0000:41:00.0", 0), ("pci0000:80/0000:80:03.1/0000:82:00.0", 1))
    ):
        machine.port(place.rpartition("/")[0], AMD_PORT, numa)
        folder = machine.function(place, "15b3", "1021", "020000", numa, "mlx5_core")
        machine.netdev(folder, f"ens{number + 1}np0", mac=f"b8:ce:f6:00:00:0{number}")
        machine.rdma(folder, f"mlx5_{number}", layer="Ethernet")
    machine.function("pci0000:40/0000:40:03.1/0000:42:00.0", "144d", "a80a", "010802", 0, "nvme", speed=16.0, width=4)
    machine.files(
        "sys/devices/pci0000:40/0000:40:03.1/0000:42:00.0/nvme/nvme0", model="SAMSUNG MZQL2", serial="S64HNE0T"
    )
    machine.link("sys/class/nvme/nvme0", "../../devices/pci0000:40/0000:40:03.1/0000:42:00.0/nvme/nvme0")
    machine.file("sys/devices/virtual/block/nvme0n1/size", "7501476528")
    machine.link("sys/class/block/nvme0n1", "../../devices/virtual/block/nvme0n1")
    return machine


def gaudi(root: Path) -> Machine:
    """Eight Gaudi2 of a two-socket server; one of them reports a fault."""
    machine = Machine(root)
    machine.cpus(2, 40)
    machine.numa({0: [10, 21], 1: [21, 10]})
    for number in range(8):
        numa, bus = number // 4, 0x19 + 0x10 * number
        place = f"pci0000:{bus - 2:02x}/0000:{bus - 2:02x}:01.0/0000:{bus:02x}:00.0"
        machine.port(place.rpartition("/")[0], numa=numa)
        folder = machine.function(place, "1da3", "1020", "120000", numa, "habanalabs", speed=16.0)
        machine.files(folder, status="Operational" if number != 5 else "Malfunction", device_type="GAUDI2")
        machine.file(f"{folder}/accel/accel{number}/dev", "261:0")
        machine.link(f"{folder}/accel/accel{number}/device", "../..")
        machine.link(f"sys/class/accel/accel{number}", f"../../{folder.removeprefix('sys/')}/accel/accel{number}")
    return machine


def fpga_node(root: Path) -> Machine:
    """A Xilinx U55C with its two functions, an Intel N3000 with a region, and a QuickAssist device."""
    machine = Machine(root)
    machine.cpus(1, 16)
    machine.numa({0: [10]})
    machine.port("pci0000:3a/0000:3a:00.0")
    machine.function(
        "pci0000:3a/0000:3a:00.0/0000:3b:00.0", "10ee", "505c", "120000", 0, "xclmgmt", speed=16.0, width=8
    )
    machine.function("pci0000:3a/0000:3a:00.0/0000:3b:00.1", "10ee", "505d", "120000", 0, "xocl", speed=16.0, width=8)
    machine.port("pci0000:85/0000:85:00.0")
    folder = machine.function(
        "pci0000:85/0000:85:00.0/0000:86:00.0", "8086", "0b30", "120000", 0, "dfl-pci", speed=8.0, width=8
    )
    machine.file(f"{folder}/fpga_region/region0/compat_id", "f9384800e2f6ae0bd5a2a3b7")
    machine.link("sys/class/fpga_region/region0", f"../../{folder.removeprefix('sys/')}/fpga_region/region0")
    folder = machine.function("pci0000:6b/0000:6b:00.0", "8086", "4940", "0b4000", 0, "4xxx", speed=None)
    machine.files(f"{folder}/qat", state="up", cfg_services="sym;asym")
    return machine


def sriov(root: Path, functions: int = 32) -> Machine:
    """A ConnectX-6 Dx with virtual functions, every fourth bound to vfio-pci."""
    machine = Machine(root)
    machine.cpus(2, 16)
    machine.numa({0: [10, 21], 1: [21, 10]})
    machine.port("pci0000:5d/0000:5d:00.0")
    base = "pci0000:5d/0000:5d:00.0"
    folder = machine.function(f"{base}/0000:5e:00.0", "15b3", "101d", "020000", 0, "mlx5_core", speed=16.0, group="40")
    machine.files(folder, sriov_totalvfs=max(64, functions), sriov_numvfs=functions)
    machine.netdev(folder, "ens3f0np0", mac="b8:ce:f6:11:22:33")
    for index in range(functions):
        number = index + 2
        address = f"0000:{0x5E + number // 256:02x}:{number % 256 // 8:02x}.{number % 8}"
        vfio = index % 4 == 3
        child = machine.virtual_function(
            "0000:5e:00.0",
            index,
            f"{base}/{address}",
            "15b3",
            "101e",
            driver="vfio-pci" if vfio else "mlx5_core",
            speed=None,
            group=str(100 + index),
        )
        if not vfio:
            machine.netdev(child, f"ens3f0v{index}")
    return machine


def small_vm(root: Path) -> Machine:
    """A virtual machine without PCI (virtio-mmio)."""
    machine = Machine(root)
    machine.cpus(1, 2, threads=1)
    machine.file("proc/cpuinfo", "processor\t: 0\nmodel name\t: Test CPU\nflags\t\t: fpu hypervisor\n\n")
    machine.numa({0: [10]}, 4)
    machine.files("sys/devices/virtual/net/eth0", operstate="up", carrier=1)
    machine.link("sys/class/net/eth0", "../../devices/virtual/net/eth0")
    return machine


def sixteen_gpus(root: Path) -> Machine:
    """A large node for timings: 16 GPUs, 16 NICs, 16 disks, 224 threads, and 200 functions that nobody asks for."""
    machine = Machine(root)
    machine.cpus(2, 56)
    machine.numa({0: [10, 21], 1: [21, 10]})
    for number in range(16):
        bus, numa = 0x10 * (number % 15) + 4, number // 8
        domain = "0000" if number < 15 else "0001"
        top = f"pci{domain}:{bus:02x}/{domain}:{bus:02x}:01.0"
        machine.port(top, numa=numa)
        machine.port(f"{top}/{domain}:{bus + 1:02x}:00.0", SWITCH, numa)
        for port, (ids, klass, driver) in enumerate(
            (
                (("10de", "2330"), "030200", "nvidia"),
                (("15b3", "1021"), "020700", "mlx5_core"),
                (("144d", "a80a"), "010802", "nvme"),
            )
        ):
            place = machine.port(f"{top}/{domain}:{bus + 1:02x}:00.0/{domain}:{bus + 2:02x}:0{port}.0", SWITCH, numa)
            folder = machine.function(
                f"{place}/{domain}:{bus + 3 + port:02x}:00.0", *ids, klass, numa, driver, group=str(number)
            )
            machine.event(folder, *ids, klass, driver)
            machine.file(f"{folder}/config", bytes(64))
            if driver == "mlx5_core":
                machine.rdma(folder, f"mlx5_{number}")
                machine.netdev(folder, f"ib{number}", kind=32)
    for number in range(200):
        folder = machine.function(
            f"pci0000:fe/0000:fe:{number // 8:02x}.{number % 8}", "8086", "3240", "088000", 0, speed=None
        )
        machine.event(folder, "8086", "3240", "088000")
    return machine
