"""The command line of discover: outputs, options, exit codes, watching."""

import json
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from dractl.hardware.changes import changes

from . import builder

SCHEMA = Path(__file__).parents[2] / "schemas" / "HostReport.json"


@pytest.fixture
def server(tmp_path):
    return str(builder.l40s_server(tmp_path / "host.tar").finish())


def test_the_table_fits_100_columns(tmp_path, dractl):
    for make in (builder.dgx_h100, builder.mi300x, builder.sriov, builder.l40s_server, builder.fpga_node):
        path = make(tmp_path / f"{make.__name__}.tar").finish()
        run = dractl("discover", "--root", str(path))
        assert max(len(line) for line in run.out.splitlines()) <= 100, make.__name__


def test_json_and_yaml_are_the_same_report(server, dractl):
    import yaml

    as_json = json.loads(dractl("discover", "--root", server, "-o", "json").out)
    assert yaml.safe_load(dractl("discover", "--root", server, "-o", "yaml").out) == as_json


def test_the_schema_is_the_generated_one():
    run = subprocess.run(
        [sys.executable, "-c", "import host_report; print(host_report.text(), end='')"],
        cwd=SCHEMA.parent, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert run.stdout == SCHEMA.read_text()


@pytest.mark.parametrize(
    "make",
    [builder.dgx_h100, builder.mi300x, builder.grace_hopper, builder.l40s_server, builder.gaudi, builder.fpga_node,
     builder.sriov, builder.small_vm],
)  # fmt: skip
def test_reports_fit_the_schema(tmp_path, report, make):
    import jsonschema

    jsonschema.validate(report(make(tmp_path / "host.tar").finish()), json.loads(SCHEMA.read_text()))


def test_only_some_kinds(server, dractl):
    report = json.loads(dractl("discover", "--root", server, "--only", "gpu,nvme", "-o", "json").out)
    assert {device["kind"] for device in report["devices"]} == {"gpu", "nvme"}
    assert report["topology"]["matrix"]["labels"] == ["GPU0", "GPU1", "GPU2", "GPU3", "NVME0"]
    wrong = dractl("discover", "--root", server, "--only", "gpu,toaster")
    assert wrong.code == 2
    assert "unknown kind 'toaster'" in wrong.err


def test_tree_output(server, dractl):
    lines = dractl("discover", "--root", server, "-o", "tree").out.splitlines()
    assert lines[0].startswith("testhost  2 x AMD EPYC 9354 32-Core Processor, 64 cores")
    assert any(line.strip("│├└─ ").startswith("PCI root pci0000:80") for line in lines)
    place = next(number for number, line in enumerate(lines) if "NIC1" in line)
    assert "bridge 0000:80:03.1" in lines[place - 1]


def test_exit_codes(tmp_path, dractl):
    broken = str(builder.gaudi(tmp_path / "gaudi.tar").finish())
    assert dractl("discover", "--root", broken).code == 1
    assert dractl("discover", "--root", broken, "--fail-on", "never").code == 0
    assert dractl("discover", "--root", str(tmp_path / "nowhere")).code == 2
    vfio = builder.l40s_server(tmp_path / "narrow.tar")
    vfio.file(f"{vfio.places['0000:41:00.0']}/current_link_width", "8")
    narrow = str(vfio.finish())
    assert dractl("discover", "--root", narrow).code == 0
    assert dractl("discover", "--root", narrow, "--fail-on", "warning").code == 1


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["-o", "resourceslice"], "-o resourceslice needs --driver NAME"),
        (["--driver", "dra.net"], "--driver goes with -o resourceslice only"),
        (["--demo"], "go with --compare only"),
        (["--watch", "-o", "json"], "--watch prints text"),
        (["--watch", "--capture", "x"], "exclude each other"),
    ],
)
def test_options_that_do_not_go_together(server, dractl, options, text):
    run = dractl("discover", "--root", server, *options)
    assert run.code == 2
    assert text in run.err
    assert "Traceback" not in run.err


def test_the_resource_slice_is_yaml_with_notes_on_stderr(server, dractl):
    run = dractl("discover", "--root", server, "-o", "resourceslice", "--driver", "dra.net", "--node", "worker-1")
    assert run.code == 0
    assert "nodeName: worker-1" in run.out
    assert "note: as dra.net 1.5 publishes it" in run.err


def test_this_machine(dractl):
    """The machine that the tests run on: whatever it has, nothing is said of what could not be looked at."""
    run = dractl("discover", "-o", "json", "--no-nvml", "--fail-on", "never")
    assert run.code == 0, run.err
    report = json.loads(run.out)
    import os

    assert report["processors"]["threads"] == len(os.sched_getaffinity(0)) or report["processors"]["threads"] >= 1
    assert report["host"]
    for device in report["devices"]:
        if device.get("pcieRoot") is None:
            assert device["unknown"]["pcieRoot"]
        if device.get("numaNode") is None:
            assert device["unknown"]["numaNode"]


# --- watching ---


def test_changes_between_two_looks(tmp_path, report):
    machine = builder.sriov(tmp_path, 4)
    before = report(tmp_path)
    assert changes(before, before) == []
    folder = machine.places["0000:5e:00.0"]
    machine.file(f"{folder}/current_link_width", "8")
    machine.file(f"{folder}/net/ens3f0np0/carrier", "0")
    (tmp_path / machine.places["0000:5e:00.2"] / "driver").unlink()
    machine.function("pci0000:85/0000:86:00.0", "10de", "26b9", "030200", 1, "nvidia")
    assert changes(before, report(tmp_path)) == [
        "+ GPU0 0000:86:00.0 L40S has appeared",
        "~ NIC0 0000:5e:00.0 ConnectX-6 Dx: carrier of ens3f0np0 True -> False",
        "~ NIC0 0000:5e:00.0 ConnectX-6 Dx: link width 16 -> 8",
        "~ NIC0v0 0000:5e:00.2 ConnectX mlx5Gen VF: driver mlx5_core -> none",
        "+ found DRA608: NIC0 0000:5e:00.0 runs at x8 of x16",
        "+ found DRA618: NIC0 0000:5e:00.0 (ens3f0np0) has no carrier",
    ]


def test_watch_prints_what_changes_until_it_is_interrupted(tmp_path, dractl, monkeypatch):
    machine = builder.sriov(tmp_path, 0)
    real = time.sleep
    rounds = []

    def sleep(seconds):
        rounds.append(seconds)
        if len(rounds) == 1:
            machine.file(f"{machine.places['0000:5e:00.0']}/sriov_numvfs", "0")
            machine.file(f"{machine.places['0000:5e:00.0']}/net/ens3f0np0/operstate", "down")
        if len(rounds) == 3:
            raise KeyboardInterrupt

    if threading.current_thread() is threading.main_thread():
        monkeypatch.setattr(time, "sleep", sleep)
    try:
        run = dractl("discover", "--root", str(tmp_path), "--no-nvml", "--watch", "--interval", "5")
    finally:
        monkeypatch.setattr(time, "sleep", real)
    assert rounds == [5.0, 5.0, 5.0]
    changed = [line for line in run.out.splitlines() if "~ NIC0" in line]
    assert len(changed) == 1
    assert changed[0].endswith("interface ens3f0np0 up -> down")
    assert "Traceback" not in run.err
