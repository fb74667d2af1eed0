"""What a device's kernel driver means for its use: nouveau, vfio for whom, groups with strangers, states of drivers."""

import pytest

from .builder import Machine

GPU = ("10de", "27b8", "030200")


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path)


@pytest.fixture
def found(machine, report):
    """The findings of a machine of one root and the functions given, by code: (message, hint)."""

    def found(*functions):
        for place, ids, driver in functions:
            machine.function(place, *ids, 0, driver)
        return {one["code"]: (one["message"], one.get("hint", "")) for one in report(machine.finish())["findings"]}

    return found


def test_nouveau_is_not_enough(found, machine, report):
    message, hint = found(("pci0000:15/0000:17:00.0", GPU, "nouveau"))["DRA628"]
    assert "nouveau drives it, not NVIDIA's driver" in message
    assert "blacklist nouveau" in hint
    assert report(machine.finish())["devices"][0]["state"] == "with nouveau"


def test_no_driver_for_a_gpu(found):
    other = ("pci0000:15/0000:18:00.0", ("8086", "1592", "020000"), "ice")
    assert "modprobe nvidia" in found(("pci0000:15/0000:17:00.0", GPU, ""), other)["DRA628"][1]


@pytest.mark.parametrize(
    ("ids", "words"),
    [
        (GPU, "no use by containers and not through the NVIDIA driver, only by a virtual machine"),
        (
            ("8086", "1592", "020000"),
            "no network interface here, only for a virtual machine or a program with a driver",
        ),
        (("1da3", "1020", "120000"), "only for a virtual machine or a program with a driver of its own"),
    ],
)
def test_vfio_by_kind_of_device(found, ids, words):
    assert words in found(("pci0000:15/0000:17:00.0", ids, "vfio-pci"))["DRA604"][0]


def test_tpus_are_used_through_vfio(found, machine, report):
    assert "DRA604" not in found(("pci0000:00/0000:00:04.0", ("1ae0", "0063", "120000"), "vfio-pci"))
    assert report(machine.finish())["devices"][0]["usable"] is True


@pytest.mark.parametrize(
    ("stranger", "says"), [("0000:17:00.1", "Bind 0000:17:00.1"), ("0000:18:00.0", "takes it away")]
)
def test_a_group_with_a_stranger(found, machine, stranger, says):
    for address in ("0000:17:00.0", stranger):
        machine.link(f"sys/devices/pci0000:15/{address}/iommu_group", "../../../kernel/iommu_groups/3")
        machine.link(f"sys/kernel/iommu_groups/3/devices/{address}", f"../../../../devices/pci0000:15/{address}")
    hint = found(
        ("pci0000:15/0000:17:00.0", GPU, "vfio-pci"), (f"pci0000:15/{stranger}", ("144d", "a80a", "010802"), "nvme")
    )["DRA605"][1]
    assert says in hint


def test_quickassist_down_and_without_functions(found, machine):
    folder = "sys/devices/pci0000:6b/0000:6b:00.0"
    machine.file(f"{folder}/qat/state", "down")
    machine.files(folder, sriov_totalvfs=16, sriov_numvfs=0)
    said = found(("pci0000:6b/0000:6b:00.0", ("8086", "4940", "0b4000"), "4xxx"))
    assert "reports the status 'down'" in said["DRA634"][0]
    assert "no virtual functions are created" in said["DRA622"][0]


def test_partitioned_amd_gpus_are_shown_as_such(machine, dractl):
    folder = "sys/devices/pci0000:05/0000:05:00.0"
    machine.files(folder, current_compute_partition="CPX", current_memory_partition="NPS4")
    machine.function("pci0000:05/0000:05:00.0", "1002", "74a1", "120000", 0, "amdgpu")
    assert "CPX/NPS4" in dractl("discover", "--root", str(machine.finish()), "--no-nvml").out
