"""Machines as public documents describe them: devices, places, distances."""

import pytest

from . import builder

NODE, SYS, PXB, PIX = "NODE", "SYS", "PXB", "PIX"


@pytest.fixture
def made(tmp_path, report):
    """Build a machine and report on it."""

    def made(make, **settings):
        return report(make(tmp_path / "host.tar", **settings).finish())

    return made


def rows(report):
    matrix = report["topology"]["matrix"]
    return {
        label: dict(zip(matrix["labels"], row, strict=True))
        for label, row in zip(matrix["labels"], matrix["rows"], strict=True)
    }


def devices(report, kind):
    return [device for device in report["devices"] if device["kind"] == kind]


def affinity(report):
    return {entry["label"]: (entry["cpus"], entry["numaNode"]) for entry in report["topology"]["matrix"]["affinity"]}


PUBLISHED_DGX_H100 = """
GPU0 X NV18 NV18 NV18 NV18 NV18 NV18 NV18 PXB NODE NODE NODE NODE NODE SYS SYS SYS SYS SYS SYS 0-55,112-167 0
GPU1 NV18 X NV18 NV18 NV18 NV18 NV18 NV18 NODE NODE NODE PXB NODE NODE SYS SYS SYS SYS SYS SYS 0-55,112-167 0
GPU2 NV18 NV18 X NV18 NV18 NV18 NV18 NV18 NODE NODE NODE NODE PXB NODE SYS SYS SYS SYS SYS SYS 0-55,112-167 0
GPU3 NV18 NV18 NV18 X NV18 NV18 NV18 NV18 NODE NODE NODE NODE NODE PXB SYS SYS SYS SYS SYS SYS 0-55,112-167 0
GPU4 NV18 NV18 NV18 NV18 X NV18 NV18 NV18 SYS SYS SYS SYS SYS SYS PXB NODE NODE NODE NODE NODE 56-111,168-223 1
GPU5 NV18 NV18 NV18 NV18 NV18 X NV18 NV18 SYS SYS SYS SYS SYS SYS NODE NODE NODE PXB NODE NODE 56-111,168-223 1
GPU6 NV18 NV18 NV18 NV18 NV18 NV18 X NV18 SYS SYS SYS SYS SYS SYS NODE NODE NODE NODE PXB NODE 56-111,168-223 1
GPU7 NV18 NV18 NV18 NV18 NV18 NV18 NV18 X SYS SYS SYS SYS SYS SYS NODE NODE NODE NODE NODE PXB 56-111,168-223 1
NIC0 PXB NODE NODE NODE SYS SYS SYS SYS X NODE NODE NODE NODE NODE SYS SYS SYS SYS SYS SYS 0-55,112-167 0
NIC1 NODE NODE NODE NODE SYS SYS SYS SYS NODE X PIX NODE NODE NODE SYS SYS SYS SYS SYS SYS 0-55,112-167 0
NIC2 NODE NODE NODE NODE SYS SYS SYS SYS NODE PIX X NODE NODE NODE SYS SYS SYS SYS SYS SYS 0-55,112-167 0
NIC3 NODE PXB NODE NODE SYS SYS SYS SYS NODE NODE NODE X NODE NODE SYS SYS SYS SYS SYS SYS 0-55,112-167 0
NIC4 NODE NODE PXB NODE SYS SYS SYS SYS NODE NODE NODE NODE X NODE SYS SYS SYS SYS SYS SYS 0-55,112-167 0
NIC5 NODE NODE NODE PXB SYS SYS SYS SYS NODE NODE NODE NODE NODE X SYS SYS SYS SYS SYS SYS 0-55,112-167 0
"""
"""``nvidia-smi topo -m`` of a DGX H100 as it was published; the rows of NIC6 to NIC11 are cut off there."""


def test_dgx_h100_matrix_is_the_published_one(tmp_path, dractl):
    root = builder.dgx_h100(tmp_path / "host.tar").finish()
    lines = dractl("discover", "--root", str(root), "-o", "matrix").out.splitlines()
    shown = {line.split()[0]: line.split() for line in lines[1:21]}
    for line in PUBLISHED_DGX_H100.split("\n"):
        if line:
            assert shown[line.split()[0]] == line.split()
    assert shown["NIC7"][1:21] == ["SYS"] * 4 + ["NODE"] * 4 + ["SYS"] * 6 + [
        "NODE",
        "X",
        "PIX",
        "NODE",
        "NODE",
        "NODE",
    ]


def test_dgx_h100_devices(made):
    found = made(builder.dgx_h100)
    gpus = devices(found, "gpu")
    assert [gpu["address"][5:7] for gpu in gpus] == ["1b", "43", "52", "61", "9d", "c3", "d1", "df"]
    assert [gpu["pcieRoot"] for gpu in gpus] == [
        f"pci0000:{bus}" for bus in ("15", "37", "48", "59", "97", "b7", "c7", "d7")
    ]
    assert [gpu["numaNode"] for gpu in gpus] == [0, 0, 0, 0, 1, 1, 1, 1]
    assert {gpu["memoryBytes"] for gpu in gpus} == {81559 << 20}
    assert len(devices(found, "fabric-switch")) == 4
    assert (found["processors"]["packages"], found["processors"]["cores"]) == (2, 112)
    assert found["summary"] == "8 GPUs (10de:2330), 4 NVSwitches (10de:22a3), 12 NIC ports of 10 cards (15b3:1021)."
    assert found["topology"]["pairs"][0]["nearest"] == ["GPU0"]
    assert found["topology"]["pairs"][3] == {
        "device": "NIC3",
        "nearest": ["GPU1"],
        "distance": PXB,
        "rail": 1,
        "pcieRoot": "pci0000:37",
        "bridge": "0000:38:00.0",
    }
    assert found["findings"] == []


def test_nvlink_is_nvmls_word(made):
    """Without NVML the GPUs are as far as PCIe says; dractl does not guess NVLink from the product."""
    found = rows(made(builder.dgx_h100, with_nvml=False))
    assert found["GPU0"]["GPU1"] == NODE
    assert found["GPU0"]["GPU4"] == SYS


@pytest.mark.parametrize(("control", "redirects"), [(0x1D, True), (0x04, True), (0x01, False), (0x00, False)])
def test_acs_between_gpu_and_nic(made, control, redirects):
    found = made(builder.dgx_h100, acs=control)
    acs = [finding for finding in found["findings"] if finding["code"] == "DRA621"]
    assert len(acs) == (8 if redirects else 0)
    if redirects:
        assert acs[0]["evidence"]["ports"] == ["0000:17:00.0", "0000:17:01.0"]
        assert "GPU0 and NIC0" in acs[0]["message"]


def test_mi300x(made):
    found = made(builder.mi300x)
    words = rows(found)
    for one in range(8):
        for two in range(8):
            assert words[f"GPU{one}"][f"GPU{two}"] == ("X" if one == two else "XGMI")
            near = PXB if one == two else NODE if one // 4 == two // 4 else SYS
            assert words[f"GPU{one}"][f"NIC{two}"] == near
    gpu = devices(found, "gpu")[0]
    assert gpu["memoryBytes"] == 206141652992
    assert gpu["product"] == "AMD Instinct MI300X OAM"
    assert affinity(found)["GPU4"] == ("48-95,144-191", 1)
    assert found["findings"] == []


def test_grace_hopper(tmp_path, dractl, made):
    found = made(builder.grace_hopper)
    assert found["processors"]["model"] == "Arm Neoverse-V2"
    assert (found["processors"]["cores"], found["processors"]["threads"]) == (72, 72)
    node = found["numaNodes"][1]
    assert (node["memoryOnly"], node["memoryOf"]) == (True, "GPU0 0009:01:00.0")
    assert rows(found)["GPU0"]["NIC0"] == NODE
    assert devices(found, "gpu")[0]["pcieRoot"] == "pci0009:00"
    text = dractl("discover", "--root", str(tmp_path / "host.tar"), "-o", "matrix").out.splitlines()
    assert text[0].split("  ")[-1].strip() == "GPU NUMA ID"
    assert text[1].split() == ["GPU0", "X", "NODE", "0-71", "0", "1"]
    assert text[2].split() == ["NIC0", "NODE", "X", "0-71", "0", "N/A"]


def test_l40s_server(made):
    found = made(builder.l40s_server)
    words = rows(found)
    assert words["GPU2"]["NIC1"] == "PHB"
    assert words["GPU3"]["NIC1"] == NODE
    assert words["GPU0"]["NIC1"] == SYS
    assert words["GPU0"]["NIC0"] == NODE
    assert words["NIC0"]["NVME0"] == "PHB"
    (disk,) = devices(found, "nvme")
    assert disk["memoryBytes"] == 7501476528 * 512
    assert disk["product"] == "SAMSUNG MZQL2"
    assert [pair["nearest"] for pair in found["topology"]["pairs"]] == [["GPU0", "GPU1"], ["GPU2"]]
    gpu = devices(found, "gpu")[0]
    assert gpu["memoryBytes"] is None
    assert gpu["unknown"]["memoryBytes"].startswith("only NVML tells")
    assert gpu["link"] == {
        "speed": 16.0, "maxSpeed": 16.0, "generation": 4, "width": 16, "maxWidth": 16, "gigabytesPerSecond": 31.51
    }  # fmt: skip


def test_gaudi(made):
    found = made(builder.gaudi)
    cards = devices(found, "accelerator")
    assert len(cards) == 8
    assert {card["product"] for card in cards} == {"Gaudi2"}
    assert rows(found)["ACC0"]["ACC3"] == NODE
    assert rows(found)["ACC0"]["ACC4"] == SYS
    (finding,) = found["findings"]
    assert (finding["code"], finding["severity"]) == ("DRA634", "error")
    assert "ACC5 0000:69:00.0 (Gaudi2)" in finding["message"]
    assert [card["usable"] for card in cards] == [True] * 5 + [False] + [True] * 2


def test_fpga_node(made):
    found = made(builder.fpga_node)
    cards = devices(found, "fpga")
    assert [(card["address"], card["driver"]) for card in cards] == [
        ("0000:3b:00.0", "xclmgmt"),
        ("0000:86:00.0", "dfl-pci"),
    ]
    assert cards[0]["companions"] == ["0000:3b:00.1"]
    assert cards[1]["details"]["fpga"][0]["name"] == "region0"
    (assist,) = devices(found, "accelerator")
    assert assist["details"]["qat"] == {"state": "up", "services": "sym;asym"}
    assert rows(found)["FPGA0"]["FPGA1"] == NODE


def test_sriov_with_32_functions(made):
    found = made(builder.sriov)
    nics = devices(found, "nic")
    assert len(nics) == 33
    assert found["topology"]["matrix"]["labels"] == ["NIC0"]
    physical = nics[0]
    assert (physical["sriov"]["total"], physical["sriov"]["created"]) == (64, 32)
    assert len(physical["sriov"]["virtualFunctions"]) == 32
    functions = {nic["label"]: nic for nic in nics[1:]}
    assert set(functions) == {f"NIC0v{number}" for number in range(32)}
    assert sorted(name for name, nic in functions.items() if nic["driver"] == "vfio-pci") == sorted(
        f"NIC0v{number}" for number in range(3, 32, 4)
    )
    assert "netdevs" not in functions["NIC0v3"]
    assert functions["NIC0v4"]["netdevs"][0]["name"] == "ens3f0v4"
    assert [finding["code"] for finding in found["findings"]] == ["DRA604"]


def test_virtual_machine_without_pci(made):
    found = made(builder.small_vm)
    assert found["devices"] == []
    assert found["machine"]["virtual"] == "unknown hypervisor (the processor says it runs a guest)"
    assert [netdev["name"] for netdev in found["netdevs"]] == ["eth0"]
    assert [finding["code"] for finding in found["findings"]] == ["DRA601"]
    assert found["topology"]["matrix"]["labels"] == []


def test_container_without_the_infiniband_class(tmp_path, report):
    machine = builder.l40s_server(tmp_path)
    for name in ("mlx5_0", "mlx5_1"):
        (tmp_path / "sys/class/infiniband" / name).unlink()
    (tmp_path / "sys/class/infiniband").rmdir()
    machine.file("sys/module/ib_core/refcnt", "1")
    found = report(tmp_path)
    source = next(source for source in found["sources"] if source["name"] == "rdma")
    assert source["state"] == "partial"
    assert source["reason"] == "2 devices by their functions; no /sys/class/infiniband"
    assert devices(found, "nic")[0]["rdma"][0]["name"] == "mlx5_0"


def test_hidden_rdma_is_said_not_denied(tmp_path, report):
    machine = builder.sriov(tmp_path, 0)
    machine.file("sys/module/ib_core/refcnt", "1")
    source = next(source for source in report(tmp_path)["sources"] if source["name"] == "rdma")
    assert source["state"] == "absent"
    assert "ib_core is loaded, so it is hidden here" in source["reason"]


def test_sub_numa_clusters_nest_in_their_package(tmp_path, report):
    """NPS4: four NUMA nodes a package; SYS between nodes of one package as nvidia-smi has it."""
    machine = builder.Machine(tmp_path / "host.tar")
    machine.cpus(2, 16, nodes_per_package=4)
    machine.numa(
        {
            node: [10 if other == node else 12 if other // 4 == node // 4 else 32 for other in range(8)]
            for node in range(8)
        }
    )
    for number, node in enumerate((3, 1, 7)):
        machine.port(f"pci0000:{number:02x}/0000:{number:02x}:01.0", numa=node)
        machine.function(
            f"pci0000:{number:02x}/0000:{number:02x}:01.0/0000:{0x10 + number:02x}:00.0",
            "10de",
            "20b2",
            "030200",
            node,
            "nvidia",
        )
    found = report(machine.finish())
    assert rows(found)["GPU0"] == {"GPU0": "X", "GPU1": SYS, "GPU2": SYS}
    tree = found["topology"]["tree"]
    assert [child["name"] for child in tree["children"]] == ["package 0", "package 1"]
    assert [child["name"] for child in tree["children"][0]["children"]] == [f"NUMA node {node}" for node in range(4)]
    assert found["numaNodes"][3]["distances"]["7"] == 32


def test_vmd_domain(tmp_path, report):
    """A disk behind Intel VMD: seen and placed, but Kubernetes' helper refuses its address."""
    machine = builder.Machine(tmp_path / "host.tar")
    machine.cpus(1, 8)
    machine.numa({0: [10]})
    machine.function(
        "pci0000:e0/0000:e0:05.5/pci10000:e0/10000:e0:02.0/10000:e1:00.0", "144d", "a80a", "010802", 0, "nvme", 16.0, 4
    )
    found = report(machine.finish())
    (disk,) = devices(found, "nvme")
    assert disk["pcieRoot"] == "pci0000:e0"
    assert disk["bridges"] == ["0000:e0:05.5", "10000:e0:02.0"]
    assert disk["standardAttributes"] == {"resource.kubernetes.io/numaNode": 0}
    assert (
        disk["standardAttributeErrors"]["resource.kubernetes.io/pciBusID"] == "invalid PCI Bus ID format: 10000:e1:00.0"
    )
    assert [finding["code"] for finding in found["findings"]] == ["DRA629"]
