"""Roots: folders and archives, real and hostile. A finding, never a crash, never a file written or read outside."""

import io
import os
import tarfile

import pytest

from dractl.errors import DractlError
from dractl.hardware.model import Unseen, Why
from dractl.hardware.readers.archive import ArchiveRoot
from dractl.hardware.readers.root import FolderRoot, open_root

from . import builder


def archive(path, entries, mode="w:gz"):
    """A tar with these entries: (name, content) or (name, link target, 'link')."""
    with tarfile.open(path, mode) as out:
        for name, content, *kind in entries:
            entry = tarfile.TarInfo(name)
            if kind:
                entry.type, entry.linkname = tarfile.SYMTYPE, content
                out.addfile(entry)
            else:
                entry.size = len(content)
                out.addfile(entry, io.BytesIO(content))
    return path


def test_a_link_never_leads_out_of_the_root(tmp_path):
    (tmp_path / "secret").write_text("outside")
    root = tmp_path / "root"
    builder.small_vm(root)
    (root / "sys/absolute").symlink_to(tmp_path / "secret")
    (root / "sys/upwards").symlink_to("../" * 12 + str(tmp_path)[1:] + "/secret")
    (root / "sys/inside").symlink_to("/proc/cpuinfo")
    where = FolderRoot(root)
    for name in ("absolute", "upwards"):
        assert isinstance(where.read(f"sys/{name}"), Unseen)
    assert b"Test CPU" in where.read("sys/inside")


@pytest.mark.parametrize("kind", ["folder", "archive"])
def test_loops_end(tmp_path, kind):
    root = tmp_path / "root"
    builder.small_vm(root)
    (root / "sys/one").symlink_to("two")
    (root / "sys/two").symlink_to("one")
    (root / "sys/self").symlink_to("self/self")
    if kind == "archive":
        with tarfile.open(tmp_path / "a.tar", "w") as out:
            out.add(root, "x")
        where = ArchiveRoot(tmp_path / "a.tar")
    else:
        where = FolderRoot(root)
    for name in ("one", "self", "one/below"):
        value = where.read(f"sys/{name}")
        assert isinstance(value, Unseen)
        assert (value.why, value.reason) == (Why.BROKEN, "too many links: a loop")


def test_a_fifo_is_not_waited_for(tmp_path):
    builder.small_vm(tmp_path)
    os.mkfifo(tmp_path / "sys/pipe")
    value = FolderRoot(tmp_path).read("sys/pipe")
    assert isinstance(value, Unseen)
    assert value.reason == "not a regular file"


@pytest.mark.skipif(os.getuid() == 0, reason="root may read everything")
def test_an_unreadable_file_says_so(tmp_path):
    builder.small_vm(tmp_path)
    (tmp_path / "proc/cpuinfo").chmod(0)
    value = FolderRoot(tmp_path).read("proc/cpuinfo")
    assert isinstance(value, Unseen)
    assert (value.why, value.reason) == (Why.DENIED, "permission denied")


def test_what_root_may_not_read_is_kept_apart_from_what_is_absent(tmp_path, monkeypatch):
    """The same as above where the tests run as root: the system call says no."""
    builder.dgx_h100(tmp_path, with_nvml=False, cores=2)
    real = os.open

    def refuse(path, *more):
        if str(path).endswith("/config") or str(path).endswith("numa_node"):
            raise PermissionError(13, "Permission denied")
        return real(path, *more)

    monkeypatch.setattr(os, "open", refuse)
    from dractl.hardware.readers.host import Asking, read_host

    host = read_host(open_root(str(tmp_path)), False, Asking(nvml=False))
    numa = host.functions["0000:1b:00.0"].numa
    assert isinstance(numa, Unseen)
    assert (numa.why, numa.reason) == (Why.DENIED, "permission denied")
    assert host.problems == []


@pytest.mark.parametrize("name", ["host", "host/sys"])
def test_the_mount_point_of_sys_may_be_named(tmp_path, name, report):
    builder.dgx_h100(tmp_path / "host", with_nvml=False, cores=2)
    found = report(tmp_path / name)
    assert len([device for device in found["devices"] if device["kind"] == "gpu"]) == 8
    assert found["host"] == "testhost"


def test_a_bare_sys_has_no_proc(tmp_path, report):
    builder.dgx_h100(tmp_path / "host", with_nvml=False, cores=2)
    (tmp_path / "host/sys").rename(tmp_path / "elsewhere")
    found = report(tmp_path / "elsewhere")
    assert len([device for device in found["devices"] if device["kind"] == "gpu"]) == 8
    assert found["host"] == ""
    assert found["processors"]["model"] == ""


def test_neither_folder_nor_archive(tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "text.tar").write_text("no archive")
    for name, text in (
        ("nowhere", "no such folder or file"),
        ("empty", "holds neither sys/ nor proc/"),
        ("text.tar", "not a readable tar archive"),
    ):
        with pytest.raises(DractlError, match=text):
            open_root(str(tmp_path / name))


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2", "w:xz"])
def test_archives_of_all_kinds(tmp_path, mode, report):
    builder.l40s_server(tmp_path / "tree")
    with tarfile.open(tmp_path / "a", mode) as out:
        out.add(tmp_path / "tree", "some-name")
    assert report(tmp_path / "a")["devices"] == report(tmp_path / "tree")["devices"]


def test_entries_that_lead_outside_are_left_out_and_said(tmp_path, dractl):
    before = sorted(entry.name for entry in tmp_path.iterdir())
    path = archive(
        tmp_path / "evil.tar.gz",
        [
            ("sys/devices/system/node/node0/cpulist", b"0-1\n"),
            ("../../evil", b"x"),
            ("/etc/evil", b"x"),
            ("sys/../../evil2", b"x"),
            ("sys/bus/pci/devices/0000:01:00.0", "/etc/passwd", "link"),
            ("sys/bus/pci/devices/0000:02:00.0", "../" * 20 + "etc", "link"),
        ],
    )
    run = dractl("discover", "--root", str(path), "--no-nvml")
    assert run.code == 0
    assert "DRA626" in run.out
    assert "2 entries of the archive lead outside of it, left out" in run.out.replace("\n" + " " * 20, " ")
    assert sorted(entry.name for entry in tmp_path.iterdir()) == [*before, "evil.tar.gz"]
    assert "root:" not in run.out


def test_a_cut_archive_is_refused_not_half_read(tmp_path):
    path = archive(tmp_path / "a.tar.gz", [("sys/devices/x", os.urandom(100_000))])
    path.write_bytes(path.read_bytes()[:50_000])
    with pytest.raises(DractlError, match="not a readable tar archive"):
        open_root(str(path))


def test_an_archive_that_is_too_large_is_not_read_to_its_end(tmp_path, monkeypatch):
    monkeypatch.setattr("dractl.hardware.readers.archive.MAX_MEMBERS", 3)
    path = archive(tmp_path / "a.tar", [(f"sys/{number}", b"x") for number in range(9)], "w")
    where = open_root(str(path))
    assert where.names("sys") == ["0", "1", "2"]
    assert where.warnings == ["the archive is larger than any host: the rest of it was not read"]


def test_a_file_where_a_folder_should_be(tmp_path):
    path = archive(
        tmp_path / "a.tar",
        [("sys", b"x"), ("sys/bus/pci/devices/0000:01:00.0/class", b"0x030200"), ("proc/cpuinfo", b"")],
        "w",
    )
    where = open_root(str(path))
    assert isinstance(where.names("sys/bus/pci/devices"), Unseen)


GARBAGE = {
    "numa_node": ["abc", "99999999999999999999", "-7", "0x0", "", "1 2", "70000", "\x00\x01", "-1\n-1"],
    "class": ["zz", "0x", "0x0302000000000000000000000000000000000000000000000000"],
    "vendor": ["nvidia", "", "0x10de0x10de"],
    "local_cpulist": ["0-", "9-3", "0-99999999", "a-b", "1,,2", "-", "0-7:0"],
    "current_link_width": ["255", "-1", "abc", "0"],
    "current_link_speed": ["Unknown speed", "", "GT/s", "1e309 GT/s"],
    "config": ["", "\xff", "\xff" * 64, "x" * 4096, "\x00" * 256],
    "sriov_totalvfs": ["abc", "-5", "999999999"],
    "uevent": ["DRIVER=", "\x00", "DRIVER"],
}


@pytest.mark.parametrize(
    ("name", "content"), [(name, content) for name, contents in GARBAGE.items() for content in contents]
)
def test_garbage_in_a_file_is_a_finding_at_most(tmp_path, report, name, content):
    machine = builder.l40s_server(tmp_path / "host.tar")
    machine.file(f"{machine.places['0000:21:00.0']}/{name}", content.encode("latin-1"))
    found = report(machine.finish())
    gpus = {device["address"]: device for device in found["devices"] if device["kind"] == "gpu"}
    assert {"0000:01:00.0", "0000:81:00.0", "0000:a1:00.0"} <= set(gpus)
    if name == "numa_node" and content:
        assert gpus["0000:21:00.0"]["numaNode"] is None
        assert [one for one in found["findings"] if one["code"] == "DRA625"]
        assert "resource.kubernetes.io/numaNode" not in gpus["0000:21:00.0"]["standardAttributes"]


def test_random_trees_never_break_it(tmp_path, report):
    """Files of a real shape replaced by noise, links cut and turned."""
    import random

    rng = random.Random(20261201)
    machine = builder.sriov(tmp_path, 8)
    builder_files = [path for path in tmp_path.rglob("*") if path.is_file() and not path.is_symlink()]
    links = [path for path in tmp_path.rglob("*") if path.is_symlink()]
    for path in rng.sample(builder_files, 60):
        path.write_bytes(rng.randbytes(rng.choice([0, 1, 5, 64, 300])))
    for path in rng.sample(links, 12):
        path.unlink()
        path.symlink_to(rng.choice(["/", ".", "..", "nowhere", "../" * 9, path.name, "a/../../b"]))
    found = report(tmp_path)
    assert found["kind"] == "HostReport"
    assert machine.root == tmp_path


def test_thousands_of_virtual_functions(tmp_path, dractl):
    root = builder.sriov(tmp_path / "host.tar", 1120).finish()
    run = dractl("discover", "--root", str(root))
    assert run.code == 0
    assert "1 NIC port (15b3:101d) with 1120 virtual functions." in run.out
    assert "1120 VFs: 840 mlx5_core, 280 vfio-pci" in run.out
    assert len(run.out.splitlines()) < 40


def test_many_devices_make_a_matrix_that_says_what_it_leaves_out(tmp_path, dractl):
    machine = builder.Machine(tmp_path / "host.tar")
    machine.cpus(1, 4)
    machine.numa({0: [10]})
    for number in range(150):
        machine.function(f"pci0000:00/0000:00:{number // 8:02x}.{number % 8}", "15b3", "1021", "020000", 0, "mlx5_core")
    run = dractl("discover", "--root", str(machine.finish()), "-o", "matrix")
    assert "22 more devices are left out; choose with --only." in run.out


def test_control_characters_of_a_tree_do_not_reach_the_terminal(tmp_path, dractl):
    machine = builder.l40s_server(tmp_path)
    machine.file("proc/sys/kernel/hostname", b"evil\x1b[2Jhost")
    machine.file("proc/cpuinfo", b"processor\t: 0\nmodel name\t: CPU\x1b]0;x\x07\n\n")
    machine.netdev(machine.places["0000:41:00.0"], "e\x1b[31m0")
    for output in ("table", "wide", "matrix", "tree", "svg", "dot"):
        assert "\x1b" not in dractl("discover", "--root", str(tmp_path), "--no-nvml", "-o", output).out
