"""NVML through the real pynvml, which loads a stand-in for the library."""

import json

import pytest

from dractl.hardware.readers.nvml import address_of, bus_id_of

from . import builder

ADDRESSES = [gpu[1] for _, _, _, gpu in builder.DGX if gpu]


def gpu(index, **more):
    bus = bus_id_of(ADDRESSES[index]).decode()
    settings = {
        "bus": bus, "name": "NVIDIA_H100_80GB_HBM3", "memory": 85520809984, "minor": index, "mig": "0/0", "maxmig": 7,
        "uuid": f"GPU-0000000{index}-1111-2222-3333-444444444444", "serial": f"165{index}", "arch": 9, "ecc": "1/1",
        "nvlinks": 18, "peer": "switch", "processes": 0, **more,
    }  # fmt: skip
    return "gpu " + " ".join(f"{key}={value}" for key, value in settings.items())


@pytest.fixture(scope="module")
def dgx(tmp_path_factory):
    """A DGX H100 as a folder: NVML is asked for folders only."""
    return builder.dgx_h100(tmp_path_factory.mktemp("dgx") / "root", with_nvml=False, cores=2).finish()


@pytest.fixture
def asked(dgx, with_nvml):
    """The report of a DGX H100 whose NVML answers like this."""

    def asked(*lines):
        run = with_nvml(list(lines), "discover", "--root", str(dgx), "-o", "json")
        assert run.returncode in {0, 1}, run.stderr
        assert "Traceback" not in run.stderr
        return json.loads(run.stdout)

    return asked


def found(report, code):
    return [finding for finding in report["findings"] if finding["code"] == code]


def by_label(report):
    return {device["label"]: device for device in report["devices"]}


def source(report):
    return next(source for source in report["sources"] if source["name"] == "nvml")


def test_eight_gpus_with_nvlink(asked):
    report = asked(*[gpu(index) for index in range(8)])
    assert report["nvml"] == {
        "error": None,
        "driverVersion": "580.105.08",
        "libraryVersion": "13.580.105.08",
        "cudaVersion": "13.0",
        "gpus": 8,
    }
    matrix = report["topology"]["matrix"]
    assert matrix["rows"][0][:8] == ["X"] + ["NV18"] * 7
    first = by_label(report)["GPU0"]
    assert first["product"] == "NVIDIA H100 80GB HBM3"
    assert first["memoryBytes"] == 85520809984
    assert first["nvml"]["computeCapability"] == "9.0"
    assert first["nvml"]["architecture"] == "Hopper"
    assert first["nvml"]["nvlinkPeers"] == {"switch": 18}
    assert first["nvml"]["mig"] == {
        "supported": True, "enabled": False, "pending": False, "maxInstances": 7, "instances": [], "profiles": []
    }  # fmt: skip
    assert report["findings"] == []
    assert source(report) == {"name": "nvml", "state": "read", "reason": "8 GPUs, driver 580.105.08"}


def test_direct_links_count_by_pair(asked):
    """Two GPUs tied to each other and not by a switch."""
    lines = [
        gpu(0, nvlinks=12, peer=bus_id_of(ADDRESSES[1]).decode()),
        gpu(1, nvlinks=12, peer=bus_id_of(ADDRESSES[0]).decode()),
    ]
    rows = asked(*lines, *[gpu(index, nvlinks=0) for index in range(2, 8)])["topology"]["matrix"]["rows"]
    assert rows[0][:3] == ["X", "NV12", "NODE"]


def test_a_gpu_with_mig_instances(asked):
    parts = [
        f"mig parent=0 uuid=MIG-{number}1111111-0000-0000-0000-000000000000 name=NVIDIA_H100_80GB_HBM3_MIG_{profile} "
        f"gi={number + 7} ci=0 profile={identity} start={start} size={size} memory={megabytes}"
        for number, (profile, identity, start, size, megabytes) in enumerate(
            [("1g.10gb", 19, 6, 1, 9984), ("3g.40gb", 9, 0, 4, 40448)]
        )
    ]
    report = asked(gpu(0, mig="1/1"), *[gpu(index) for index in range(1, 8)], *parts)
    mig = by_label(report)["GPU0"]["nvml"]["mig"]
    assert [(one["profile"], one["profileId"], one["start"], one["size"]) for one in mig["instances"]] == [
        ("1g.10gb", 19, 6, 1), ("3g.40gb", 9, 0, 4)
    ]  # fmt: skip
    assert mig["instances"][1]["memoryBytes"] == 40448 << 20
    assert by_label(report)["GPU0"]["usable"] is True
    assert found(report, "DRA616") == []


def test_mig_without_instances_and_a_pending_change(asked):
    report = asked(gpu(0, mig="1/1"), gpu(1, mig="0/1"), *[gpu(index) for index in range(2, 8)])
    (empty,) = found(report, "DRA616")
    assert empty["message"].startswith("GPU0 0000:1b:00.0 is in MIG mode and has no instances")
    (pending,) = found(report, "DRA617")
    assert pending["message"] == "GPU1 0000:43:00.0: MIG mode is off and will be on after a reset"
    assert by_label(report)["GPU0"]["state"] == "MIG without instances"


def test_a_lost_gpu_hides_no_other(asked):
    report = asked(*[gpu(index) if index != 3 else gpu(3, handle=15) for index in range(8)])
    (lost,) = found(report, "DRA611")
    assert lost["severity"] == "error"
    assert lost["message"].startswith("GPU3 0000:61:00.0 is lost")
    labels = by_label(report)
    assert [labels[f"GPU{index}"]["usable"] for index in range(8)] == [True] * 3 + [False] + [True] * 4
    assert report["summary"].startswith("8 GPUs (10de:2330, 7 usable by containers)")
    assert source(report)["reason"] == "8 GPUs, driver 580.105.08, 1 lost"


def test_a_gpu_lost_between_two_calls(asked):
    report = asked(*[gpu(index) for index in range(8)], "fail nvmlDeviceGetMemoryInfo 15 2")
    (lost,) = found(report, "DRA611")
    assert lost["message"].startswith("GPU2 0000:52:00.0 is lost")


def test_an_xid_that_waits(asked):
    report = asked(*[gpu(index, xid=79 if index == 1 else 13 if index == 2 else 0) for index in range(8)])
    xids = found(report, "DRA614")
    assert [(one["severity"], one["message"].split(":")[-1].strip()) for one in xids] == [
        ("warning", "Xid 79 (reported by NVML)"),
        ("info", "Xid 13 (reported by NVML); mostly a program's own fault"),
    ]
    assert xids[0]["evidence"] == {"xids": [79]}


def test_a_version_mismatch_is_one_finding(asked):
    report = asked("init 18")
    (mismatch,) = found(report, "DRA613")
    assert "driver and library versions differ (loaded: 580.105.08)" in mismatch["message"]
    assert source(report)["state"] == "failed"
    assert found(report, "DRA612") == []
    assert len(by_label(report)) == 24


def test_the_driver_is_not_loaded(asked):
    report = asked("init 9")
    assert source(report) == {
        "name": "nvml",
        "state": "absent",
        "reason": "NVML: driver not loaded (the nvidia kernel module is missing)",
        "hint": "load the nvidia kernel module on this host",
    }
    assert report["nvml"]["error"] == "NVML_ERROR_DRIVER_NOT_LOADED"


FAILING = [
    "nvmlDeviceGetMemoryInfo",
    "nvmlDeviceGetName",
    "nvmlDeviceGetUUID",
    "nvmlDeviceGetMigMode",
    "nvmlDeviceGetPciInfo_v3",
    "nvmlDeviceGetNvLinkState",
    "nvmlDeviceGetFieldValues",
    "nvmlSystemGetDriverVersion",
    "nvmlEventSetCreate",
]


@pytest.mark.parametrize("call", FAILING)
def test_a_call_that_fails_costs_only_its_answer(asked, call):
    report = asked(*[gpu(index) for index in range(8)], f"fail {call} 999")
    assert [device["address"] for device in report["devices"] if device["kind"] == "gpu"] == ADDRESSES
    if call == "nvmlDeviceGetMemoryInfo":
        first = by_label(report)["GPU0"]
        assert first["memoryBytes"] is None
        assert first["nvml"]["errors"] == {call: "NVML_ERROR_UNKNOWN"}
        assert len(found(report, "DRA627")) == 8


def test_a_count_that_fails(asked):
    report = asked("count_error 999")
    (failed,) = found(report, "DRA627")
    assert failed["message"] == "NVML did not list the GPUs: NVML_ERROR_UNKNOWN"


def test_gpus_that_nvml_does_not_list(asked):
    report = asked(*[gpu(index) for index in range(7)])
    (missing,) = found(report, "DRA612")
    assert missing["message"].startswith("GPU7 0000:df:00.0 (H100 SXM5 80GB) is bound to the nvidia driver")


def test_memory_errors_recovery_and_links_down(asked):
    report = asked(gpu(0, eccerrors=3), gpu(1, recovery=1), gpu(2, down=2), *[gpu(index) for index in range(3, 8)])
    assert [one["message"] for one in found(report, "DRA615")] == [
        "GPU0 0000:1b:00.0: 3 uncorrected ECC errors since the driver was loaded"
    ]
    assert [one["message"] for one in found(report, "DRA630")] == ["GPU1 0000:43:00.0: the driver asks for reset"]
    assert [one["message"] for one in found(report, "DRA631")] == [
        "GPU2 0000:52:00.0 has 16 active NVLinks, its neighbours 18; down: 0, 1"
    ]
    assert report["topology"]["matrix"]["rows"][2][:3] == ["NV16", "NV16", "X"]


def test_a_library_that_hangs_is_left_behind(dgx, with_nvml):
    run = with_nvml(
        [gpu(0), "hang nvmlDeviceGetName"], "discover", "--root", str(dgx), "--nvml-timeout", "0.5", "-o", "json"
    )
    report = json.loads(run.stdout)
    assert source(report)["reason"] == "NVML did not answer within 0.5 s: a GPU may hang in the kernel"
    assert len([device for device in report["devices"] if device["kind"] == "gpu"]) == 8


def test_answers_about_another_machine_are_not_used(tmp_path, with_nvml):
    root = tmp_path / "root"
    builder.gaudi(root)
    run = with_nvml([gpu(0)], "discover", "--root", str(root), "-o", "json")
    report = json.loads(run.stdout)
    assert source(report)["reason"] == "NVML knows none of the GPUs of this tree: it speaks of another machine"
    assert [device["kind"] for device in report["devices"]] == ["accelerator"] * 8


def test_another_boot_is_another_machine(tmp_path, with_nvml):
    root = tmp_path / "root"
    builder.dgx_h100(root, with_nvml=False, cores=2).file(
        "proc/sys/kernel/random/boot_id", "00000000-0000-0000-0000-000000000001"
    )
    report = json.loads(with_nvml([gpu(0)], "discover", "--root", str(root), "-o", "json").stdout)
    assert source(report)["reason"] == "the tree is of another machine or boot (boot_id differs)"
    asked = json.loads(with_nvml([gpu(0)], "discover", "--root", str(root), "--nvml", "-o", "json").stdout)
    assert asked["nvml"]["gpus"] == 1


def test_a_stand_in_for_pynvml(tmp_path, report, monkeypatch):
    """A module that has only some of the functions, as tests of others use it."""
    import sys
    import types

    from dractl.hardware.readers.nvml import read_nvml

    class Error(Exception):
        def __init__(self, value):
            super().__init__(value)
            self.value = value

    def handle(index):
        if index:
            raise Error(15)
        return "first"

    module = types.ModuleType("pynvml")
    module.nvmlInit = lambda: None
    module.nvmlDeviceGetCount = lambda: 2
    module.nvmlDeviceGetHandleByIndex = handle
    module.nvmlDeviceGetPciInfo = lambda handle: types.SimpleNamespace(busId="00000000:17:00.0")
    module.nvmlDeviceGetName = lambda handle: "NVIDIA H100 80GB HBM3"
    monkeypatch.setitem(sys.modules, "pynvml", module)
    nvml, said = read_nvml(["0000:17:00.0", "0000:c1:00.0"])
    assert said.reason == "2 GPUs, driver unknown, 1 lost"
    assert [(gpu.address, gpu.name, gpu.lost) for gpu in nvml.gpus] == [
        ("0000:17:00.0", "NVIDIA H100 80GB HBM3", False),
        ("0000:c1:00.0", "", True),
    ]
    assert nvml.gpus[0].errors == {}


def test_addresses_go_both_ways():
    assert address_of(b"00000000:C1:00.0\0\0") == "0000:c1:00.0"
    assert address_of("00010000:01:00.0") == "10000:01:00.0"
    assert address_of("nonsense") is None
    assert bus_id_of("0009:01:00.0") == b"00000009:01:00.0"
