"""A capture holds what was read and gives the same answer; what identifies the hardware is masked."""

import json
import re
import tarfile

import pytest

from dractl.hardware.masking import Mask

from . import builder
from .test_nvml import ADDRESSES, gpu


def identified(root):
    """A machine full of serial numbers, addresses and UUIDs."""
    machine = builder.dgx_h100(root, with_nvml=False, cores=2)
    folder = machine.places["0000:18:00.0"]
    machine.file(f"{folder}/infiniband/mlx5_0/node_guid", "b83f:d203:00aa:bbcc")
    machine.netdev(machine.places["0000:29:00.0"], "enxb83fd2aabbcd", mac="b8:3f:d2:aa:bb:cd")
    machine.file(
        "proc/driver/nvidia/gpus/0000:1b:00.0/information",
        "Model: \t\t NVIDIA H100\nGPU UUID: \t GPU-5d1d46ee-c7f8-4a5b-9c7d-123456789abc\nDevice Minor: \t 0\n",
    )
    machine.file(
        "proc/cmdline", "root=UUID=5d1d46ee-c7f8-4a5b-9c7d-123456789abc password=hunter2 intel_iommu=on iommu=pt"
    )
    nvme = machine.function("pci0000:e0/0000:e1:00.0", "144d", "a80a", "010802", 1, "nvme")
    machine.files(f"{nvme}/nvme/nvme0", model="SAMSUNG", serial="S64HNE0T123456")
    machine.link("sys/class/nvme/nvme0", f"../../{nvme.removeprefix('sys/')}/nvme/nvme0")
    return machine


SECRETS = [
    b"b83f:d203:00aa:bbcc",
    b"b8:3f:d2:aa:bb:cd",
    b"b83fd2aabbcd",
    b"5d1d46ee",
    b"hunter2",
    b"S64HNE0T123456",
    b"-1111-2222-3333-",
]


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    return identified(tmp_path_factory.mktemp("identified") / "root").finish()


@pytest.fixture
def captured(tree, tmp_path, with_nvml):
    """Report and capture of the machine, NVML included."""

    def captured(*more):
        path = tmp_path / "host.tar.gz"
        run = with_nvml(
            [gpu(index) for index in range(8)],
            "discover",
            "--root",
            str(tree),
            "--capture",
            str(path),
            "-o",
            "json",
            *more,
        )
        assert run.returncode in {0, 1}, run.stderr
        return json.loads(run.stdout), path, run.stderr

    return captured


def without_identities(report):
    text = json.dumps({**report, "root": ""})
    text = re.sub(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "UUID", text)
    text = re.sub(r"(?:[0-9a-f]{2}:){5}[0-9a-f]{2}", "MAC", text)
    text = re.sub(r"enx[0-9a-f]{12}", "enxMAC", text)
    text = re.sub(r'"guid": "[0-9a-f:]+"', '"guid": "GUID"', text)
    return json.loads(re.sub(r'"serial": "[^"]*"', '"serial": "S"', text))


def test_the_capture_gives_the_same_answer(captured, dractl):
    before, path, said = captured()
    again = dractl("discover", "--root", str(path), "-o", "json")
    assert without_identities(json.loads(again.out)) == without_identities(before)
    assert json.loads(again.out)["nvml"]["gpus"] == 8
    assert re.search(r"wrote .*host\.tar\.gz: \d+ files, \d+ KiB, \d+ serial numbers, addresses and UUIDs masked", said)


def test_nothing_that_identifies_the_machine_is_in_it(captured):
    _, path, _ = captured()
    with tarfile.open(path) as archive:
        for member in archive:
            stream = archive.extractfile(member) if member.isfile() else None
            data = (stream.read() if stream else b"") + member.name.encode() + member.linkname.encode()
            assert not [secret for secret in SECRETS if secret in data], member.name
            assert (member.uid, member.mtime) == (0, 0)
        assert archive.extractfile("proc/cmdline").read() == b"intel_iommu=on iommu=pt\n"


def test_masks_keep_what_belongs_together(captured, dractl):
    """Eight GPUs keep eight UUIDs, and the parent of a part stays the parent."""
    _, path, _ = captured()
    report = json.loads(dractl("discover", "--root", str(path), "-o", "json").out)
    uuids = {device["nvml"]["uuid"] for device in report["devices"] if device["kind"] == "gpu"}
    assert len(uuids) == 8
    assert all(re.fullmatch(r"GPU-00000000-0000-0000-0000-[0-9a-f]{12}", one) for one in uuids)
    nic = next(device for device in report["devices"] if device["label"] == "NIC1")
    names = {netdev["name"] for netdev in nic["netdevs"]}
    assert any(re.fullmatch(r"enx02[0-9a-f]{10}", name) for name in names)


def test_identities_are_kept_when_asked(captured, dractl):
    before, path, said = captured("--show-ids")
    after = json.loads(dractl("discover", "--root", str(path), "-o", "json").out)
    assert {**after, "root": ""} == {**before, "root": ""}
    assert "as they are" in said
    assert path.stat().st_mode & 0o077 == 0


def test_the_same_machine_gives_the_same_bytes(captured):
    _, path, _ = captured()
    first = path.read_bytes()
    captured()
    assert path.read_bytes() == first


def test_only_what_was_read_is_packed(captured, tree):
    (tree / "sys/secret").write_text("never read\n")
    _, path, _ = captured()
    with tarfile.open(path) as archive:
        names = archive.getnames()
    assert "sys/secret" not in names
    assert "proc/cpuinfo" in names
    assert {"dractl/nvml.json", "dractl/capture.json", "dractl/pci.ids"} <= set(names)
    assert f"sys/devices/pci0000:15/0000:15:01.0/0000:16:00.0/0000:17:01.0/{ADDRESSES[0]}/class" in names


def test_what_could_not_be_read_is_the_same_gap_again(tmp_path, monkeypatch, look):
    import os

    from dractl.hardware.readers.host import Asking, read_host
    from dractl.hardware.readers.pack import pack
    from dractl.hardware.readers.root import Record, open_root

    builder.l40s_server(tmp_path / "root")
    real = os.open

    def refuse(path, *more):
        if str(path).endswith(("numa_node", "meminfo")):
            raise PermissionError(13, "Permission denied")
        return real(path, *more)

    root = open_root(str(tmp_path / "root"))
    root.record = Record()
    with monkeypatch.context() as patch:
        patch.setattr(os, "open", refuse)
        host = read_host(root, False, Asking(nvml=False))
    pack(str(tmp_path / "a.tar.gz"), root.record, host)
    again = look(tmp_path / "a.tar.gz")
    assert again.functions["0000:01:00.0"].numa == host.functions["0000:01:00.0"].numa
    assert again.numa[0].memory == host.numa[0].memory
    assert again.numa[0].memory.reason == "permission denied"


def test_an_unwritable_place_is_an_error_with_a_next_step(tmp_path, dractl):
    root = builder.small_vm(tmp_path / "root").finish()
    run = dractl("discover", "--root", str(root), "--no-nvml", "--capture", str(tmp_path / "no/such/folder/a.tar.gz"))
    assert run.code == 2
    assert "No such file or directory" in run.err
    assert "Choose a folder that can be written to." in run.err


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        ("sys/class/net/eth0/address", b"00:00:00:00:00:00\n", b"00:00:00:00:00:00\n"),
        ("sys/class/net/eth0/address", b"b8:ce:f6:01:02:03\n", b"02:00:00:00:00:01\n"),
        ("sys/x/unique_id", b"dcea97b8c4ed6a00\n", b"0000000000000001\n"),
        ("sys/x/serial", b"S123\n", b"masked-1\n"),
        ("sys/x/properties", b"simd_count 4\nunique_id 99\n", b"simd_count 4\nunique_id 1\n"),
        ("sys/x/vendor", b"0x10de\n", b"0x10de\n"),
        ("sys/devices/system/node/node0/cpulist", b"0-7,16-23\n", b"0-7,16-23\n"),
    ],
)
def test_masks_by_file(path, before, after):
    assert Mask().file(path, before) == after
