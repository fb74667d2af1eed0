"""A node's hardware against its ResourceSlices."""

import copy
import json

import pytest

from dractl.hardware.publish import publish

from . import builder

ADDRESSES = [gpu[1] for _, _, _, gpu in builder.DGX if gpu]


@pytest.fixture
def compared(tmp_path, look, dractl):
    """Compare a machine with what its drivers publish for it after ``change`` was made to the objects."""

    def compared(make, change=None, drivers=("gpu.nvidia.com", "dra.net"), release=None, features=(), node=None):
        machine = make(tmp_path / "host.tar")
        root = machine.finish()
        host = look(root)
        slices = []
        for name in drivers:
            own = frozenset(features) if name == "gpu.nvidia.com" else frozenset()
            slices += publish(host, name, "testhost", release if name == "gpu.nvidia.com" else None, own).slices
        objects = copy.deepcopy(slices)
        if change is not None:
            objects = change(objects) or objects
        if node is not None:
            objects.append({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "testhost"}, **node})
        snapshot = tmp_path / "snapshot.json"
        snapshot.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
        run = dractl(
            "discover",
            "--root",
            str(root),
            "--compare",
            "--snapshot",
            str(snapshot),
            "--node",
            "testhost",
            "-o",
            "json",
        )
        assert run.code in {0, 1}, run.err
        report = json.loads(run.out)
        report["code"] = run.code
        return report

    return compared


def small_dgx(root):
    return builder.dgx_h100(root, cores=2)


def found(report):
    return [(one["code"], one["message"]) for one in report["findings"] if one["code"] >= "DRA640"]


def device(objects, name, driver="gpu.nvidia.com"):
    for piece in objects:
        for one in piece["spec"].get("devices", []):
            if piece["spec"]["driver"] == driver and one["name"] == name:
                return one
    raise KeyError(name)


def test_what_is_published_is_what_is_there(compared):
    report = compared(small_dgx)
    assert found(report) == []
    assert report["code"] == 0
    assert report["comparison"] == {
        "node": "testhost",
        "drivers": [
            {"driver": "dra.net", "published": 12, "matched": 12},
            {"driver": "gpu.nvidia.com", "published": 8, "matched": 8},
        ],
    }


@pytest.mark.parametrize("release", ["25.3", "25.8", "25.12", "0.5"])
def test_every_release_of_the_driver_is_understood(compared, release):
    assert found(compared(small_dgx, release=release)) == []


def test_dynamic_mig_is_understood(compared):
    report = compared(small_dgx, features=("DynamicMIG",), drivers=("gpu.nvidia.com",))
    assert found(report) == []
    assert report["comparison"]["drivers"][0]["matched"] == 8 * 26


def test_missing_and_extra(compared):
    def change(objects):
        gone = device(objects, "gpu-3")
        gone["name"] = "gpu-9"
        gone["attributes"]["resource.kubernetes.io/pciBusID"] = {"string": "0000:ee:00.0"}

    report = compared(small_dgx, change)
    assert found(report) == [
        (
            "DRA641",
            "gpu.nvidia.com/testhost/gpu-9 is published with the address 0000:ee:00.0, and the host has no such device",
        ),
        (
            "DRA640",
            "gpu.nvidia.com publishes 8 devices of this node and not gpu-3 (GPU3 0000:61:00.0 (NVIDIA H100 80GB HBM3))",
        ),
    ]
    assert report["code"] == 1


def test_changed_values_are_told_once_for_all_devices(compared):
    def change(objects):
        for index in range(8):
            device(objects, f"gpu-{index}")["attributes"]["driverVersion"] = {"version": "570.86.15"}
        device(objects, "gpu-1")["capacity"]["memory"] = {"value": "80Gi"}
        device(objects, "gpu-2")["attributes"]["resource.kubernetes.io/numaNode"] = {"int": 1}
        device(objects, "gpu-5")["attributes"]["resource.kubernetes.io/pcieRoot"] = {"string": "pci0000:00"}

    assert found(compared(small_dgx, change)) == [
        (
            "DRA642",
            "gpu.nvidia.com: driverVersion is published as 570.86.15 for gpu-0, gpu-1, gpu-2, gpu-3, gpu-4, gpu-5, "
            "gpu-6 "
            "and gpu-7, the host says 580.105.8",
        ),
        ("DRA642", "gpu.nvidia.com: memory is published as 80Gi for gpu-1, the host says 81559Mi"),
        (
            "DRA642",
            "gpu.nvidia.com: resource.kubernetes.io/numaNode is published as 1 for gpu-2, the host says 0",
        ),
        (
            "DRA642",
            "gpu.nvidia.com: resource.kubernetes.io/pcieRoot is published as pci0000:00 for gpu-5, the host says "
            "pci0000:b7",
        ),
    ]


def test_a_numa_node_that_nobody_knows(compared):
    def make(root):
        machine = small_dgx(root)
        machine.file(f"{machine.places['0000:1b:00.0']}/numa_node", "-1")
        return machine

    def change(objects):
        device(objects, "gpu-0")["attributes"]["resource.kubernetes.io/numaNode"] = {"int": 0}

    assert found(compared(make, change, drivers=("gpu.nvidia.com",))) == [
        (
            "DRA642",
            "gpu.nvidia.com: resource.kubernetes.io/numaNode is published as 0 for gpu-0, the host says numa_node is "
            "-1: "
            "unknown",
        )
    ]


def lost(root):
    machine = small_dgx(root)
    answers = builder.h100_answers(ADDRESSES)
    answers["gpus"][2].update(lost=True, handle_error="NVML_ERROR_GPU_IS_LOST", name="")
    machine.nvml(**answers)
    return machine


def whole_again(objects):
    """As the driver published before the GPU was lost."""
    one = copy.deepcopy(device(objects, "gpu-1"))
    one["name"] = "gpu-2"
    one["attributes"]["resource.kubernetes.io/pciBusID"] = {"string": "0000:52:00.0"}
    one["attributes"]["resource.kubernetes.io/pcieRoot"] = {"string": "pci0000:48"}
    one["attributes"]["uuid"] = {"string": "GPU-00000002-1111-2222-3333-444444444444"}
    next(piece for piece in objects if piece["spec"]["driver"] == "gpu.nvidia.com")["spec"]["devices"].append(one)
    return one


def test_a_lost_gpu_must_be_tainted_or_gone(compared):
    assert found(compared(lost)) == []
    (one,) = found(compared(lost, lambda objects: whole_again(objects) and None))
    assert one == (
        "DRA645",
        "gpu.nvidia.com/testhost/gpu-2 is published without a taint, and GPU2 0000:52:00.0 (H100 SXM5 80GB) is lost",
    )

    def tainted(objects):
        whole_again(objects)["taints"] = [{"key": "gpu.nvidia.com/gpu-lost", "effect": "NoSchedule"}]

    assert found(compared(lost, tainted)) == []

    def by_rule(objects):
        whole_again(objects)
        rule = {
            "deviceSelector": {"driver": "gpu.nvidia.com", "device": "gpu-2"},
            "taint": {"key": "a/b", "effect": "NoExecute"},
        }
        return [
            *objects,
            {
                "apiVersion": "resource.k8s.io/v1beta2",
                "kind": "DeviceTaintRule",
                "metadata": {"name": "r"},
                "spec": rule,
            },
        ]

    assert found(compared(lost, by_rule)) == []


def test_a_narrow_link_and_vfio(compared):
    def make(root):
        machine = small_dgx(root)
        machine.file(f"{machine.places['0000:43:00.0']}/current_link_width", "8")
        return machine

    (one,) = found(compared(make))
    assert one == (
        "DRA645",
        "gpu.nvidia.com/testhost/gpu-1 is published without a taint, and GPU1 0000:43:00.0 (NVIDIA H100 80GB HBM3) "
        "runs at "
        "x8 of x16",
    )


def test_a_gpu_given_to_vfio_after_it_was_published(compared):
    def make(root):
        machine = builder.Machine(root)
        machine.cpus(1, 2)
        machine.numa({0: [10]})
        machine.function("pci0000:15/0000:17:00.0", "10de", "2330", "030200", 0, "vfio-pci", group="7")
        machine.function("pci0000:25/0000:27:00.0", "10de", "2330", "030200", 0, "nvidia", group="8")
        return machine

    def change(objects):
        one = copy.deepcopy(device(objects, "gpu-1"))
        one["name"] = "gpu-0"
        one["attributes"]["resource.kubernetes.io/pciBusID"] = {"string": "0000:17:00.0"}
        one["attributes"]["resource.kubernetes.io/pcieRoot"] = {"string": "pci0000:15"}
        objects[0]["spec"]["devices"].append(one)

    codes = found(compared(make, change, drivers=("gpu.nvidia.com",)))
    assert codes == [
        (
            "DRA644",
            "gpu.nvidia.com/testhost/gpu-0 is published for containers, and GPU0 0000:17:00.0 (H100 SXM5 80GB) is "
            "bound to "
            "vfio-pci",
        )
    ]


SMALL = {"profile": "1g.10gb", "profile_id": 19, "start": 6, "size": 1, "memory": 9984 << 20}
LARGE = {"profile": "3g.40gb", "profile_id": 9, "start": 0, "size": 4, "memory": 40448 << 20}
INSTANCES = [
    {"uuid": "MIG-aaaaaaaa-0000-0000-0000-000000000000", **SMALL},
    {"uuid": "MIG-bbbbbbbb-0000-0000-0000-000000000000", **LARGE},
]


def with_mig(instances):
    def make(root):
        machine = small_dgx(root)
        answers = builder.h100_answers(ADDRESSES)
        answers["gpus"][0].update(mig=1, mig_pending=1, mig_instances=instances)
        machine.nvml(**answers)
        return machine

    return make


def test_mig_as_it_is_cut(compared):
    assert found(compared(with_mig(INSTANCES), drivers=("gpu.nvidia.com",))) == []


def test_mig_drift(compared):
    """The slices still show the GPU whole, and one MIG device that is gone; one that is there is missing."""

    def change(objects):
        whole = copy.deepcopy(device(objects, "gpu-1"))
        whole["name"] = "gpu-0"
        whole["attributes"]["resource.kubernetes.io/pciBusID"] = {"string": "0000:1b:00.0"}
        whole["attributes"]["resource.kubernetes.io/pcieRoot"] = {"string": "pci0000:15"}
        whole["attributes"]["uuid"] = {"string": "GPU-00000000-1111-2222-3333-444444444444"}
        objects[0]["spec"]["devices"].append(whole)
        device(objects, "gpu-0-mig-1g10gb-19-6")["attributes"]["uuid"] = {
            "string": "MIG-cccccccc-0000-0000-0000-000000000000"
        }

    assert found(compared(with_mig(INSTANCES), change, drivers=("gpu.nvidia.com",))) == [
        (
            "DRA643",
            "gpu.nvidia.com/testhost/gpu-0 is published as a whole GPU, and GPU0 0000:1b:00.0 (NVIDIA H100 80GB HBM3) "
            "is in "
            "MIG mode with 2 instances",
        ),
        (
            "DRA643",
            "gpu.nvidia.com/testhost/gpu-0-mig-1g10gb-19-6 (profile 1g.10gb) is published, and the host has no such "
            "MIG device "
            "any more",
        ),
        ("DRA643", "1 MIG device of GPU0 is not published"),
        (
            "DRA642",
            "gpu.nvidia.com: uuid is published as MIG-cccccccc-0000-0000-0000-000000000000 for gpu-0-mig-1g10gb-19-6, "
            "the host "
            "says MIG-aaaaaaaa-0000-0000-0000-000000000000",
        ),
    ]


def test_a_device_plugin_advertises_them_too(compared):
    node = {"status": {"allocatable": {"nvidia.com/gpu": "8", "cpu": "8", "rdma/hca_shared_devices_a": "0"}}}
    assert found(compared(small_dgx, node=node)) == [
        (
            "DRA646",
            "the node's allocatable has nvidia.com/gpu: 8 from a device plugin while gpu.nvidia.com publishes 8 "
            "devices of the "
            "same hardware",
        )
    ]


def test_no_driver_publishes(compared):
    node = {"status": {"allocatable": {"cpu": "8"}}}
    (one,) = found(compared(small_dgx, drivers=(), node=node))
    assert one[0] == "DRA647"
    assert one[1].endswith("no slice of gpu.nvidia.com or hami-core-gpu.project-hami.io names this node")
    node = {"status": {"allocatable": {"nvidia.com/gpu": "8"}}}
    (one,) = found(compared(small_dgx, drivers=(), node=node))
    assert one[1].endswith("names this node; a device plugin advertises nvidia.com/gpu: 8")


def test_an_unknown_driver_is_not_called_fine(compared):
    pool = {"name": "p", "generation": 1, "resourceSliceCount": 1}
    piece = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": "x"},
        "spec": {"driver": "nic.example.org", "nodeName": "testhost", "pool": pool, "devices": [{"name": "one"}]},
    }
    report = compared(small_dgx, lambda objects: [*objects, piece])
    assert report["comparison"]["drivers"][-1] == {
        "driver": "nic.example.org", "published": 1, "matched": 0, "notCompared": "dractl has no data about this driver"
    }  # fmt: skip


def test_former_generations_are_passed_over(compared):
    def change(objects):
        old = copy.deepcopy(objects)
        for piece in old:
            piece["metadata"]["name"] += "-old"
            piece["spec"]["devices"] = []
        for piece in objects:
            piece["spec"]["pool"]["generation"] = 4
        return [*old, *objects]

    assert found(compared(small_dgx, change)) == []


@pytest.mark.parametrize(
    ("make", "drivers"),
    [
        (builder.mi300x, ("gpu.amd.com", "dra.net", "dra.cpu")),
        (builder.gaudi, ("gaudi.intel.com",)),
        (builder.l40s_server, ("gpu.nvidia.com", "dra.net", "dra.memory", "dra.cpu")),
        (builder.sriov, ("dra.net", "sriovnetwork.k8snetworkplumbingwg.io")),
    ],
    ids=lambda value: getattr(value, "__name__", "+".join(value) if isinstance(value, tuple) else str(value)),
)
def test_other_drivers_match_their_own_hardware(compared, make, drivers):
    report = compared(make, drivers=drivers)
    assert found(report) == []
    assert all(entry["matched"] == entry["published"] > 0 for entry in report["comparison"]["drivers"])


def test_the_text_says_what_was_compared(tmp_path, look, dractl):
    root = small_dgx(tmp_path / "host.tar").finish()
    snapshot = tmp_path / "s.json"
    snapshot.write_text(
        json.dumps({"kind": "List", "apiVersion": "v1", "items": publish(look(root), "dra.net", "testhost").slices})
    )
    run = dractl("discover", "--root", str(root), "--compare", "--snapshot", str(snapshot))
    assert "Compared with the ResourceSlices of node testhost" in run.out
    assert "dra.net: 12 published, 12 matched" in run.out
    assert "DRA647" in run.out
    missing = dractl("discover", "--root", str(root), "--compare", "--snapshot", str(snapshot), "--node", "other")
    assert missing.code == 2
    assert "no node and no slices of the name other" in missing.err
