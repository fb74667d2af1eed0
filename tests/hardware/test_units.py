"""Small pieces: sets of CPUs, configuration space, standard attributes, names."""

import pytest

from dractl.hardware import config_space as space
from dractl.hardware.cpuset import format_list, parse_list, parse_mask
from dractl.hardware.model import NO_NUMA, PciFunction
from dractl.hardware.readers.pciids import read_names, subset
from dractl.hardware.readers.root import FolderRoot
from dractl.hardware.standard import NotPublished, numa_node, pci_bus_id, pcie_root, standard_attributes

from . import builder


@pytest.mark.parametrize(
    ("text", "numbers"),
    [("0-3,8", {0, 1, 2, 3, 8}), ("", set()), ("0", {0}), ("0-6:2", {0, 2, 4, 6}), ("5,1-2\n", {1, 2, 5})],
)
def test_lists(text, numbers):
    assert parse_list(text) == numbers


@pytest.mark.parametrize("text", ["a", "3-1", "-1", "0-99999999", "1..3", "٣"])
def test_no_lists(text):
    with pytest.raises(ValueError, match="not a"):
        parse_list(text)


@pytest.mark.parametrize(
    ("text", "numbers"),
    [("f", {0, 1, 2, 3}), ("00000001,00000000", {32}), ("0000,0000ffff", set(range(16))), ("0", set())],
)
def test_masks(text, numbers):
    assert parse_mask(text) == numbers


@pytest.mark.parametrize("text", ["", "xyz", "f" * 40000, "0x1"])
def test_no_masks(text):
    with pytest.raises(ValueError, match="not a mask"):
        parse_mask(text)


def test_lists_are_written_as_the_kernel_writes_them():
    assert format_list({0, 1, 2, 3, 16, 18, 19}) == "0-3,16,18-19"
    assert format_list(()) == ""


def bridge(secondary=0x18, subordinate=0x1E):
    data = bytearray(64)
    data[0:4] = bytes.fromhex("86803020")
    data[9:12] = bytes.fromhex("000406")
    data[0x0E], data[0x19], data[0x1A] = 1, secondary, subordinate
    return bytes(data)


def endpoint(speed=3, width=8, top_speed=5, top_width=16):
    data = bytearray(256)
    data[0:4] = bytes.fromhex("de103023")
    data[0x06] = 0x10
    data[0x34] = 0x60
    data[0x60:0x62] = bytes([0x01, 0x78])
    data[0x78:0x7A] = bytes([0x10, 0x00])
    data[0x84:0x88] = (top_speed | top_width << 4).to_bytes(4, "little")
    data[0x8A:0x8C] = (speed | width << 4).to_bytes(2, "little")
    return bytes(data)


def test_configuration_space():
    assert space.secondary_buses(bridge()) == (0x18, 0x1E)
    assert space.identity(bridge()) == (0x8086, 0x2030, 0x060400)
    assert space.secondary_buses(endpoint()) is None
    assert space.link_registers(endpoint()) == (8.0, 32.0, 8, 16)
    assert space.link_registers(endpoint()[:64]) is None
    assert space.all_ones(b"\xff" * 64)
    assert not space.all_ones(b"\xff" * 3)
    assert not space.all_ones(endpoint())
    assert space.identity(b"\xff" * 64) is None


@pytest.mark.parametrize("first", range(0, 256, 4))
def test_a_circle_of_capabilities_ends(first):
    data = bytearray(endpoint())
    data[0x34] = first
    for at in range(0x40, 0x100, 4):
        data[at : at + 2] = bytes([0x01, at])
    assert space.link_registers(bytes(data)) is None
    extended = bytes(data) + (0x0001 | 0x100 << 20).to_bytes(4, "little") * 900
    assert space.acs(extended) is None


def test_acs_control():
    assert space.acs(builder.acs_config(0x1D)) == space.Acs(True, True, True)
    assert space.acs(builder.acs_config(0x10)).redirects is False
    assert space.acs(endpoint()) is None


# --- standard attributes: Kubernetes' own rules, with their texts ---


@pytest.mark.parametrize(
    ("address", "target", "root"),
    [
        ("0000:17:00.0", "../../../devices/pci0000:15/0000:15:01.0/0000:17:00.0", "pci0000:15"),
        ("0009:01:00.0", "../../../devices/pci0009:00/0009:00:00.0/0009:01:00.0/", "pci0009:00"),
    ],
)
def test_pcie_root(address, target, root):
    assert pcie_root(address, target) == root


HEAD = "failed to resolve PCIe Root Complex for PCI Bus ID "


@pytest.mark.parametrize(
    ("address", "target", "text"),
    [
        ("", None, f"{HEAD}: PCI Bus ID cannot be empty"),
        ("0000:17:00", None, f"{HEAD}0000:17:00: invalid PCI Bus ID format: 0000:17:00"),
        ("0000:1B:00.0", "x", f"{HEAD}0000:1B:00.0: invalid PCI Bus ID format: 0000:1B:00.0"),
        ("10000:00:04.0", "x", f"{HEAD}10000:00:04.0: invalid PCI Bus ID format: 10000:00:04.0"),
        (
            "0000:17:00.0",
            "/sys/devices/pci0000:15/0000:17:00.0",
            f"{HEAD}0000:17:00.0: symlink target for PCI Bus ID 0000:17:00.0 is invalid: it must start with "
            "devices/pci: "
            "/sys/devices/pci0000:15/0000:17:00.0",
        ),
        (
            "0000:17:00.0",
            "../../../devices/platform/0000:17:00.0",
            f"{HEAD}0000:17:00.0: symlink target for PCI Bus ID 0000:17:00.0 is invalid: it must start with "
            "devices/pci: "
            "devices/platform/0000:17:00.0",
        ),
        (
            "0000:17:00.0",
            "../../../devices/pci0000:15/0000:18:00.0",
            f"{HEAD}0000:17:00.0: symlink target for PCI Bus ID 0000:17:00.0 is invalid: it must end with "
            "0000:17:00.0: "
            "devices/pci0000:15/0000:18:00.0",
        ),
    ],
)
def test_no_pcie_root(address, target, text):
    with pytest.raises(NotPublished) as error:
        pcie_root(address, target)
    assert str(error.value) == text


def test_bus_id_and_numa_node():
    assert pci_bus_id("0000:17:00.0") == "0000:17:00.0"
    function = PciFunction("0000:17:00.0", numa=3)
    assert numa_node(function) == 3
    function.numa = NO_NUMA
    with pytest.raises(NotPublished, match=r"has no NUMA affinity \(numa_node=-1\); do not publish"):
        numa_node(function)
    function.numa, function.numa_from = 3, "local_cpus"
    assert "resource.kubernetes.io/numaNode" not in standard_attributes(function)[0]
    function.numa, function.numa_from = 1024, "numa_node"
    with pytest.raises(NotPublished, match="invalid NUMA node 1024"):
        numa_node(function)


# --- names ---

PCI_IDS = """# comment
10dd  Before
\t2330  Wrong vendor
10de  NVIDIA Corporation
\t2330  GH100 [H100 SXM5 80GB]
\t\t10de 16c1  A subsystem
\t2331  GH100 [H100 PCIe]
15b3  Mellanox Technologies
\t1021  MT2910 Family [ConnectX-7]
C 02  Network controller
"""


def test_names_from_the_systems_file(tmp_path):
    place = tmp_path / "usr/share/misc/pci.ids"
    place.parent.mkdir(parents=True)
    place.write_text(PCI_IDS)
    (tmp_path / "sys").mkdir()
    wanted = {(0x10DE, 0x2330), (0x15B3, 0x1021), (0x10DE, 0x26B9), (0xDEAD, 0xBEEF)}
    names, source = read_names(wanted, [FolderRoot(tmp_path)])
    assert names == {
        "10de": "NVIDIA Corporation", "10de:2330": "GH100 [H100 SXM5 80GB]", "10de:26b9": "L40S",
        "15b3": "Mellanox Technologies", "15b3:1021": "MT2910 Family [ConnectX-7]",
    }  # fmt: skip
    assert source.state.value == "read"
    place.write_bytes(subset(names, True))
    assert read_names(wanted, [FolderRoot(tmp_path)])[0] == names
    place.unlink()
    names, source = read_names(wanted, [FolderRoot(tmp_path)])
    assert (names["10de:2330"], source.state.value) == ("H100 SXM5 80GB", "absent")


def test_brackets_of_a_name_are_the_products_name(tmp_path, report):
    machine = builder.l40s_server(tmp_path)
    machine.file("usr/share/hwdata/pci.ids", PCI_IDS)
    machine.file(f"{machine.places['0000:01:00.0']}/device", "0x2330")
    found = report(tmp_path)
    assert found["devices"][0]["product"] == "H100 SXM5 80GB"
