"""Recorded cases of real reports: what their expect.md asks for."""

import re

import pytest

from .conftest import case_answers


def flat(text: str) -> str:
    """The text on one line: findings are wrapped."""
    return re.sub(r"\s+", " ", text)


@pytest.fixture
def discovered(dractl, case_tree):
    """``dractl discover --root sysfs`` of a case, on one line."""

    def discovered(case: str, *more: str) -> str:
        return flat(dractl("discover", "--root", str(case_tree(case)), "--no-nvml", *more).out)

    return discovered


@pytest.fixture
def discovered_with_nvml(with_nvml, case_tree):
    def discovered(case: str, *more: str) -> str:
        return flat(with_nvml(case_answers(case), "discover", "--root", str(case_tree(case)), *more).stdout)

    return discovered


def test_60_numa_unknown_and_vfio(discovered):
    text = discovered("60-numa-unknown-and-vfio")
    assert "2 GPUs (10de:2330, 1 usable by containers), 1 NIC port (15b3:1021)." in text
    assert "GPU0 0000:17:00.0 is bound to vfio-pci: no use by containers and not through the NVIDIA driver" in text
    assert "GPU1 0000:b7:00.0 has numa_node -1 although the machine has 2 NUMA nodes: the place is unknown" in text
    assert "NIC0 0000:18:00.0 runs at x8 of x16" in text
    assert "NIC0: GPU0 (PXB, both below bridge 0000:15:01.0, root pci0000:15)" in text
    assert re.search(r"GPU1 0000:b7:00.0 NVIDIA H100 SXM5 80GB \? pci0000:b5 nvidia", text)
    assert "IOMMU is off" not in text


def test_60_report_has_no_place_for_the_second_gpu(report, case_tree):
    found = report(case_tree("60-numa-unknown-and-vfio"))
    gpu = next(device for device in found["devices"] if device["address"] == "0000:b7:00.0")
    assert gpu["numaNode"] is None
    assert gpu["unknown"]["numaNode"] == "numa_node is -1: the firmware does not say"
    assert "resource.kubernetes.io/numaNode" not in gpu["standardAttributes"]
    affinity = {entry["label"]: entry for entry in found["topology"]["matrix"]["affinity"]}
    assert affinity["GPU1"] == {"label": "GPU1", "cpus": None, "numaNode": None, "memoryNode": None}
    matrix = found["topology"]["matrix"]
    assert dict(zip(matrix["labels"], matrix["rows"][1], strict=True)) == {"GPU0": "?", "GPU1": "X", "NIC0": "?"}


def test_88_port_without_virtual_functions(discovered):
    text = discovered("88-port-without-virtual-functions")
    assert "2 NIC ports of 1 card (8086:159b) with 2 virtual functions." in text
    assert "NIC0 0000:5e:00.0 (ens3f0) has no carrier" in text
    assert "no virtual functions are created (sriov_numvfs 0) on NIC0 0000:5e:00.0 (ens3f0, 0 of 64)" in text
    assert "a driver or plugin that hands them out finds nothing on this port" in text
    assert "Create them, and anew after each boot" in text
    assert re.search(r"NIC1 0000:5e:00\.1 .*ens3f1, 2/64 VFs 0 pci0000:5d ice", text)
    assert re.search(r"NIC1v0 0000:5e:11\.0 .*ens3f1v0 0 pci0000:5d iavf", text)
    assert "NIC1v1 0000:5e:11.1 (of NIC1) is bound to vfio-pci and therefore has no interface here" in text


def test_88_functions_belong_to_the_second_port(report, case_tree):
    devices = {device["label"]: device for device in report(case_tree("88-port-without-virtual-functions"))["devices"]}
    assert devices["NIC1"]["sriov"]["virtualFunctions"] == ["0000:5e:11.0", "0000:5e:11.1"]
    for name in ("NIC1v0", "NIC1v1"):
        assert devices[name]["parent"] == "NIC1"
        assert devices[name]["sriov"]["physicalFunction"] == "0000:5e:00.1"
        assert (devices[name]["numaNode"], devices[name]["pcieRoot"]) == (0, "pci0000:5d")


def test_90_audio_function_left_behind(discovered):
    text = discovered("90-audio-function-left-behind")
    assert "2 GPUs (10de:2231, 1 usable by containers)." in text
    assert (
        "GPU0 0000:86:00.0 is bound to vfio-pci, and its audio function 0000:86:00.1 in the same IOMMU group 6 to "
        "snd_hda_intel: the group is not viable, a virtual machine can not open it" in text
    )
    assert "Bind 0000:86:00.1 to vfio-pci too, or unbind it from snd_hda_intel." in text
    assert re.search(r"GPU1 0000:af:00.0 NVIDIA RTX A5000 1 pci0000:ae nvidia", text)
    assert "group 8" not in text
    assert text.count("DRA605") == 1
    assert "off" not in text.split("Findings")[1].split("Could not")[0]


def test_92_flat_virtual_machine(discovered):
    text = discovered("92-flat-virtual-machine")
    assert "2 GPUs (10de:2330), 1 NIC port (15b3:101e)." in text
    assert "a virtual function" in text
    assert "this looks like a virtual machine, QEMU" in text
    assert "numa_node is -1 for all: unknown, not to be published" in text
    assert "the machine shows one NUMA node" in text
    assert "a constraint on pcieRoot always holds here" in text
    assert "says nothing about their distance on the host" in text
    assert "Nearest" not in text


def test_94_gpu_that_fell_off(discovered_with_nvml):
    text = discovered_with_nvml("94-gpu-that-fell-off")
    assert "2 GPUs (10de:2330, 1 usable by containers)." in text
    assert "GPU1 0000:c1:00.0 is lost (NVML: GPU is lost); the other GPUs are not concerned" in text
    assert "GPU1 0000:c1:00.0 does not answer on the bus: its configuration space reads all ones (what Xid 79" in text
    assert "reset the GPU or reboot; reseat or replace it" in text
    assert "If it is in a ResourceSlice it must be tainted or removed." in text
    assert re.search(r"GPU0 0000:17:00.0 NVIDIA H100 80GB HBM3, 79.6 GiB 0 pci0000:15 nvidia", text)
    assert "not loaded" not in text


def test_96_mig_on_and_empty(discovered_with_nvml):
    text = discovered_with_nvml("96-mig-on-and-empty")
    assert "2 GPUs (10de:20b0, 1 usable by containers)." in text
    assert "GPU0 0000:21:00.0 is in MIG mode and has no instances: it can be used neither whole nor in part." in text
    assert "leaves it out since 25.12: it then publishes GPU1 alone" in text
    assert "with strategy single does not start on such a node; with strategy mixed it leaves the GPU out" in text
    assert "Create GPU and compute instances" in text
    assert "or switch MIG off" in text
    assert re.search(r"GPU1 0000:a1:00.0 NVIDIA A100-SXM4-40GB, 40 GiB 1 pci0000:a0", text)


def test_96_a_driver_publishes_the_whole_gpu_alone(with_nvml, case_tree):
    import yaml

    root = case_tree("96-mig-on-and-empty")
    run = with_nvml(
        case_answers("96-mig-on-and-empty"), "discover", "--root", str(root), "-o", "resourceslice", "--driver",
        "gpu.nvidia.com", "--driver-version", "25.12",
    )  # fmt: skip
    (piece,) = yaml.safe_load_all(run.stdout)
    assert [device["name"] for device in piece["spec"]["devices"]] == ["gpu-1"]
    assert piece["spec"]["devices"][0]["capacity"] == {"memory": {"value": "40Gi"}}


def test_98_container_without_pci(discovered_with_nvml):
    text = discovered_with_nvml("98-container-without-pci")
    assert "NVML knows GPU0 0000:65:00.0 (NVIDIA L40S); /sys/bus/pci/devices is not visible here" in text
    assert "NUMA node, PCIe root, link, IOMMU group and kernel driver could not be looked at" in text
    assert "Mount the host's /sys (for example at /host/sys) and run with --root /host." in text
    assert re.search(r"GPU0 0000:65:00.0 NVIDIA L40S, 45 GiB \? \? \? \?", text)
    assert "0 0-31 unknown 10 21" in text
    assert "1 32-63 unknown 21 10" in text
    assert "No GPU" not in text


def test_100_two_switches_one_root(discovered, report, case_tree):
    text = discovered("100-two-switches-one-root", "-o", "matrix")
    assert "GPU0 X PHB PXB PHB 0-31 0" in text
    assert "GPU1 PHB X PHB PXB 0-31 0" in text
    assert "NIC0 PXB PHB X PHB 0-31 0" in text
    assert "NIC1 PHB PXB PHB X 0-31 0" in text
    assert "GPU0, GPU1, NIC0 and NIC1 all report the PCIe root pci0000:40" in text
    assert "does not tell the near pairs (GPU0-NIC0, GPU1-NIC1) from those across the host bridge" in text
    assert "mlx5_0" in text
    assert "SYS" not in text
    assert "NODE" not in text


def test_219_disk_in_the_group_of_a_gpu(discovered):
    text = discovered("219-disk-in-the-group-of-a-gpu")
    assert "GPU0 0000:01:00.0 is bound to vfio-pci, and function 0000:02:00.0 in the same IOMMU group 1 to nvme" in text
    assert "0000:02:00.0 is another device: binding it to vfio-pci, or unbinding it, takes it away from" in text
    assert "Bind 0000:02:00.0 to vfio-pci too" not in text
