"""What drivers publish for a host, put to the API server's rules."""

import pytest

from dractl.errors import DractlError
from dractl.generate.drivers import DRIVERS, driver_names, release_key
from dractl.hardware.facts import select, version
from dractl.hardware.publish import publish, quantity
from dractl.validation.apiserver import admit

from . import builder

MACHINES = (
    builder.dgx_h100,
    builder.mi300x,
    builder.grace_hopper,
    builder.l40s_server,
    builder.gaudi,
    builder.fpga_node,
    builder.sriov,
    builder.small_vm,
)


@pytest.fixture
def host(tmp_path, look):
    def host(make, **settings):
        return look(make(tmp_path / "host.tar", **settings).finish())

    return host


def devices(published):
    return {device["name"]: device for piece in published.slices for device in piece["spec"].get("devices", [])}


@pytest.mark.parametrize("make", MACHINES, ids=lambda make: make.__name__)
def test_every_driver_on_every_machine_is_accepted(host, make):
    machine = host(make)
    for name in driver_names():
        published = publish(machine, name, "node-1")
        for piece in published.slices:
            verdict = admit(piece)
            assert verdict.accepted, (name, [str(cause) for cause in verdict.causes])
            assert piece["spec"]["pool"]["resourceSliceCount"] == len(published.slices)
        if not published.slices:
            assert "publishes nothing" in published.notes[-1]


def test_nvidia_whole_gpus(host):
    found = devices(publish(host(builder.dgx_h100), "gpu.nvidia.com", "dgx"))
    assert list(found) == [f"gpu-{index}" for index in range(8)]
    assert found["gpu-1"]["attributes"] == {
        "type": {"string": "gpu"},
        "uuid": {"string": "GPU-00000001-1111-2222-3333-444444444444"},
        "productName": {"string": "NVIDIA H100 80GB HBM3"},
        "brand": {"string": "Nvidia"},
        "architecture": {"string": "Hopper"},
        "cudaComputeCapability": {"version": "9.0.0"},
        "driverVersion": {"version": "580.105.8"},
        "cudaDriverVersion": {"version": "13.0.0"},
        "resource.kubernetes.io/pciBusID": {"string": "0000:43:00.0"},
        "resource.kubernetes.io/pcieRoot": {"string": "pci0000:37"},
        "resource.kubernetes.io/numaNode": {"int": 0},
    }
    assert found["gpu-1"]["capacity"] == {"memory": {"value": "81559Mi"}}


@pytest.mark.parametrize(
    ("release", "there", "not_there"),
    [
        (
            "25.3",
            {"minor", "index", "pcieBusID"},
            {"resource.kubernetes.io/pciBusID", "resource.kubernetes.io/numaNode"},
        ),
        ("25.8", {"pcieBusID"}, {"minor", "index", "resource.kubernetes.io/pciBusID"}),
        ("25.12", {"resource.kubernetes.io/pciBusID"}, {"pcieBusID", "resource.kubernetes.io/numaNode"}),
        ("0.4.1", {"resource.kubernetes.io/pciBusID"}, {"resource.kubernetes.io/numaNode"}),
        ("0.5", {"resource.kubernetes.io/numaNode"}, {"pcieBusID"}),
    ],
)
def test_nvidia_by_release(host, release, there, not_there):
    names = set(devices(publish(host(builder.dgx_h100), "gpu.nvidia.com", "dgx", release))["gpu-0"]["attributes"])
    assert there <= names
    assert not names & not_there


def test_list_attributes_by_gate(host):
    published = publish(host(builder.dgx_h100), "gpu.nvidia.com", "dgx", None, frozenset({"DRAListTypeAttributes"}))
    assert devices(published)["gpu-4"]["attributes"]["resource.kubernetes.io/numaNode"] == {"ints": [1]}


def test_dynamic_mig(host):
    published = publish(host(builder.dgx_h100), "gpu.nvidia.com", "dgx", None, frozenset({"DynamicMIG"}))
    assert len(published.slices) == 9
    counters = published.slices[0]["spec"]["sharedCounters"]
    assert [one["name"] for one in counters] == [f"gpu-{index}-counter-set" for index in range(8)]
    assert counters[0]["counters"]["memory"] == {"value": "81152Mi"}
    assert len(counters[0]["counters"]) == 7 + 8
    first = published.slices[1]["spec"]["devices"]
    names = [device["name"] for device in first]
    assert names == sorted(names)
    assert len(names) == 26
    whole = first[0]
    assert whole["name"] == "gpu-0"
    assert whole["capacity"]["memory"] == {"value": "81152Mi"}
    assert whole["consumesCounters"][0]["counters"] == counters[0]["counters"]
    part = next(device for device in first if device["name"] == "gpu-0-mig-3g40gb-9-4")
    assert part["attributes"]["profile"] == {"string": "3g.40gb"}
    assert part["capacity"]["multiprocessors"] == {"value": "60"}
    assert {name for name in part["consumesCounters"][0]["counters"] if name.startswith("memory-slice")} == {
        f"memory-slice-{number}" for number in (4, 5, 6, 7)
    }
    assert "uuid" not in part["attributes"]
    assert {name for name in names if "-me-" in name} == {f"gpu-0-mig-1g10gb-me-20-{start}" for start in range(7)}


def ampere(root, mig):
    machine = builder.dgx_h100(root, cores=2)
    answers = builder.h100_answers([gpu[1] for _, _, _, gpu in builder.DGX if gpu], 12)
    for gpu in answers["gpus"]:
        gpu.update(name="NVIDIA A100-SXM4-40GB", architecture="Ampere", memory=40 << 30)
        machine.file(f"{machine.places[gpu['address']]}/device", "0x20b0")
    answers["gpus"][0].update(mig)
    machine.nvml(**answers)
    return machine


def test_dynamic_mig_on_ampere_follows_the_mode(host):
    """Since 0.4 the driver does not switch the mode there: placements only, or the whole GPU only."""
    machine = host(ampere, mig={"mig": 1, "mig_pending": 1})
    new = devices(publish(machine, "gpu.nvidia.com", "a100", "0.4", frozenset({"DynamicMIG"})))
    assert "gpu-0" not in new
    assert len([name for name in new if name.startswith("gpu-0-mig-")]) == 25
    assert "gpu-1" in new
    assert not [name for name in new if name.startswith("gpu-1-mig-")]
    assert "consumesCounters" not in new["gpu-1"]
    old = devices(publish(machine, "gpu.nvidia.com", "a100", "25.12", frozenset({"DynamicMIG"})))
    assert {"gpu-0", "gpu-1"} <= set(old)
    assert len(old) == 8 * 26


def test_static_mig_by_release(host):
    small = {"profile": "1g.5gb", "profile_id": 19, "gpu_instance": 7, "start": 6, "size": 1, "memory": 4864 << 20}
    large = {"profile": "3g.20gb", "profile_id": 9, "gpu_instance": 1, "start": 0, "size": 4, "memory": 20096 << 20}
    instances = [{"uuid": "MIG-1", **small}, {"uuid": "MIG-2", **large}]
    machine = host(ampere, mig={"mig": 1, "mig_pending": 1, "mig_instances": instances})
    new = devices(publish(machine, "gpu.nvidia.com", "a100", "25.12"))
    assert set(new) == {"gpu-0-mig-1g5gb-19-6", "gpu-0-mig-3g20gb-9-0", *(f"gpu-{index}" for index in range(1, 8))}
    part = new["gpu-0-mig-3g20gb-9-0"]
    assert part["attributes"]["parentUUID"] == {"string": "GPU-00000000-1111-2222-3333-444444444444"}
    assert part["attributes"]["uuid"] == {"string": "MIG-2"}
    assert part["capacity"] == {
        "memory": {"value": "20096Mi"},
        **{f"memorySlice{number}": {"value": "1"} for number in range(4)},
    }
    # before 25.12 the whole GPU was published beside its parts, without counters
    assert "gpu-0" in devices(publish(machine, "gpu.nvidia.com", "a100", "25.8"))


def test_vfio_needs_its_gate(host):
    def with_vfio(root):
        machine = builder.l40s_server(root)
        machine.function("pci0000:e0/0000:e0:01.1/0000:e1:00.0", "10de", "26b9", "030200", 1, "vfio-pci")
        return machine

    machine = host(with_vfio)
    assert len(devices(publish(machine, "gpu.nvidia.com", "n"))) == 4
    found = devices(publish(machine, "gpu.nvidia.com", "n", None, frozenset({"PassthroughSupport"})))
    assert found["gpu-vfio-4"]["attributes"]["deviceID"] == {"string": "0x26b9"}
    assert found["gpu-vfio-4"]["attributes"]["type"] == {"string": "vfio"}


def test_amd(host):
    found = devices(publish(host(builder.mi300x), "gpu.amd.com", "mi300x"))
    assert found["gpu-2-136"]["attributes"] == {
        "type": {"string": "amdgpu"},
        "pciAddr": {"string": "0000:26:00.0"},
        "deviceID": {"string": str(0xDCEA97B8C4ED6A01)},
        "cardIndex": {"int": 2},
        "renderIndex": {"int": 136},
        "family": {"string": "AI"},
        "productName": {"string": "AMD_Instinct_MI300X_OAM"},
        "driverVersion": {"version": "6.12.12"},
        "driverSrcVersion": {"string": "AE1A7E2B8A8F5E2F31A4B3C"},
        "partitionProfile": {"string": "spx_nps1"},
        "resource.kubernetes.io/pcieRoot": {"string": "pci0000:22"},
    }
    assert found["gpu-2-136"]["capacity"] == {
        "memory": {"value": "196592Mi"}, "computeUnits": {"value": "304"}, "simdUnits": {"value": "1216"}
    }  # fmt: skip


def test_gaudi(host):
    found = devices(publish(host(builder.gaudi), "gaudi.intel.com", "hls2"))
    assert found["0000-69-00-0-0x1020"]["attributes"] == {
        "model": {"string": "Gaudi2"},
        "healthy": {"bool": False},
        "pciRoot": {"string": "67"},
        "resource.kubernetes.io/pcieRoot": {"string": "pci0000:67"},
    }


def test_dranet_and_sriov(host):
    machine = host(builder.sriov)
    nics = devices(publish(machine, "dra.net", "n"))
    assert len(nics) == 33
    assert nics["pci-0000-5e-00-0"]["attributes"]["sriovVfs"] == {"int": 32}
    assert nics["pci-0000-5e-00-2"]["attributes"]["isSriovVf"] == {"bool": True}
    assert "ifName" not in nics["pci-0000-5e-00-5"]["attributes"]
    assert "resource.kubernetes.io/pciBusID" not in nics["pci-0000-5e-00-0"]["attributes"]
    functions = devices(publish(machine, "sriovnetwork.k8snetworkplumbingwg.io", "n"))
    assert len(functions) == 32
    assert functions["0000-5e-00-2"]["attributes"]["PFName"] == {"string": "ens3f0np0"}
    assert functions["0000-5e-00-2"]["attributes"]["dra.net/numaNode"] == {"int": 0}


def test_slices_are_split_at_the_limit(host):
    published = publish(host(builder.sriov, functions=150), "dra.net", "n")
    assert [len(piece["spec"]["devices"]) for piece in published.slices] == [128, 23]
    assert {piece["spec"]["pool"]["resourceSliceCount"] for piece in published.slices} == {2}


def test_cpus_and_memory(host):
    machine = host(builder.l40s_server)
    groups = devices(publish(machine, "dra.cpu", "n"))
    assert groups["cpudevnuma001"]["capacity"] == {"dra.cpu/cpu": {"value": "64"}}
    assert groups["cpudevnuma001"]["allowMultipleAllocations"] is True
    assert len(devices(publish(machine, "dra.cpu", "n", None, frozenset({"individual"})))) == 128
    memory = devices(publish(machine, "dra.memory", "n"))["memory-1"]
    assert memory["capacity"]["size"]["value"] == "384Gi"


def test_nothing_is_published_of_an_unknown_place(host):
    """numa_node -1: no numaNode; a lost GPU: nothing at all."""

    def make(root):
        machine = builder.dgx_h100(root, cores=2)
        machine.file(f"{machine.places['0000:1b:00.0']}/numa_node", "-1")
        answers = builder.h100_answers([gpu[1] for _, _, _, gpu in builder.DGX if gpu])
        answers["gpus"][2].update(lost=True, handle_error="NVML_ERROR_GPU_IS_LOST")
        machine.nvml(**answers)
        return machine

    found = devices(publish(host(make), "gpu.nvidia.com", "n"))
    assert "gpu-2" not in found
    assert "resource.kubernetes.io/numaNode" not in found["gpu-0"]["attributes"]
    assert found["gpu-0"]["attributes"]["resource.kubernetes.io/pcieRoot"] == {"string": "pci0000:15"}


def test_without_nvml_nothing_is_made_up(host):
    published = publish(host(builder.l40s_server), "gpu.nvidia.com", "n")
    first = devices(published)["gpu-0"]
    assert set(first["attributes"]) == {
        "type", "resource.kubernetes.io/pciBusID", "resource.kubernetes.io/pcieRoot", "resource.kubernetes.io/numaNode"
    }  # fmt: skip
    assert "capacity" not in first
    assert any(note.startswith("not known here and left out: uuid, productName") for note in published.notes)


def test_unknown_names_are_refused_with_what_is_known(host):
    machine = host(builder.small_vm)
    with pytest.raises(DractlError, match=r"unknown driver 'gpu\.nvidia\.org'") as error:
        publish(machine, "gpu.nvidia.org", "n")
    assert "gpu.nvidia.com" in error.value.hint
    with pytest.raises(DractlError, match=r"release 9\.9 is not known"):
        publish(machine, "gpu.nvidia.com", "n", "9.9")
    with pytest.raises(DractlError, match="has no gate Turbo"):
        publish(machine, "gpu.nvidia.com", "n", None, frozenset({"Turbo"}))


# --- the data itself ---


@pytest.mark.parametrize("driver", DRIVERS.values(), ids=lambda driver: driver.name)
def test_data_of_a_driver_is_consistent(driver, tmp_path, look):
    host = look(builder.small_vm(tmp_path / "host.tar").finish())
    for form in driver.forms:
        select(host, form.of)
        for attribute in form.attributes:
            assert attribute.type in {"string", "int", "bool", "version"}
            for release in (attribute.since, attribute.until):
                assert not release or release in driver.releases
            assert not attribute.gate or attribute.gate in driver.gates
        assert not form.gate or form.gate in driver.gates
        assert not form.since or form.since in driver.releases
    for one in driver.classes:
        admitted = admit(
            {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": one.name},
             "spec": {"selectors": [{"cel": {"expression": one.expression}}]}}
        )  # fmt: skip
        assert admitted.accepted, one.name
    for index, release in enumerate(driver.releases):
        assert release_key(driver, release) == index


def test_releases_are_ordered_by_date_not_by_number():
    driver = DRIVERS["gpu.nvidia.com"]
    assert release_key(driver, "0.4.1") > release_key(driver, "25.12.0")


@pytest.mark.parametrize(
    ("text", "published"),
    [
        ("580.105.08", "580.105.8"),
        ("550.54", "550.54.0"),
        ("9.0", "9.0.0"),
        ("6.12.12", "6.12.12"),
        ("", ""),
        ("v1", ""),
    ],
)
def test_versions_as_drivers_publish_them(text, published):
    assert version(text) == published


@pytest.mark.parametrize(
    ("value", "text"), [(85520809984, "81559Mi"), (40 << 30, "40Gi"), (132, "132"), (0, "0"), ("1k", "1k")]
)
def test_quantities_are_canonical(value, text):
    assert quantity(value) == text
