"""Sources one by one: what each says, and what it says when it is not there."""

import pytest

from dractl.hardware.model import Unseen
from dractl.hardware.publish import publish

from . import builder


@pytest.fixture
def machine(tmp_path):
    made = builder.Machine(tmp_path / "host.tar")
    made.cpus(2, 4)
    made.numa({0: [10, 21], 1: [21, 10]})
    return made


def by_label(report):
    return {device["label"]: device for device in report["devices"]}


def source(report, name):
    return next(source for source in report["sources"] if source["name"] == name)


def codes(report):
    return [finding["code"] for finding in report["findings"]]


def test_every_source_says_how_it_went(tmp_path, report):
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/version").write_text("Linux version 5.0")
    found = report(tmp_path)
    assert found["numaNodes"] is None
    assert found["unknown"]["numaNodes"].startswith("the kernel shows no NUMA nodes")
    assert found["processors"]["unknown"]["threads"] == "neither /sys/devices/system/cpu nor /proc/cpuinfo is readable"
    assert found["machine"]["kernel"] == "5.0"
    for one in found["sources"]:
        if one["name"] == "pci.ids":
            continue
        assert one["state"] in {"absent", "skipped"}, one
        assert one["reason"], one


# --- NVIDIA without NVML ---


def test_the_nvidia_drivers_own_files(machine, report):
    machine.function("pci0000:15/0000:17:00.0", "10de", "20b0", "030200", 0, "nvidia")
    machine.file(
        "proc/driver/nvidia/gpus/0000:17:00.0/information",
        "Model: \t\t NVIDIA A100-SXM4-40GB\nGPU UUID: \t GPU-5d1d46ee-c7f8-4a5b-9c7d-123456789abc\nDevice Minor: \t "
        "3\n",
    )
    for instance in ("gi1", "gi5"):
        machine.file(f"proc/driver/nvidia/capabilities/gpu3/mig/{instance}/access", "DeviceFileMinor: 1")
    machine.file(
        "proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.14  Thu Feb 22\n"
    )
    found = report(machine.finish())
    gpu = by_label(found)["GPU0"]
    assert gpu["product"] == "NVIDIA A100-SXM4-40GB"
    assert gpu["details"]["nvidia"]["migInstances"] == [1, 5]
    assert found["modules"]["nvidia"] == "550.54.14"


def test_published_by_the_drivers_own_files(machine, look):
    machine.function("pci0000:15/0000:17:00.0", "10de", "20b0", "030200", 0, "nvidia")
    machine.file(
        "proc/driver/nvidia/gpus/0000:17:00.0/information",
        "Model: NVIDIA A100\nGPU UUID: GPU-5d1d46ee-c7f8-4a5b-9c7d-123456789abc\nDevice Minor: 3\n",
    )
    (piece,) = publish(look(machine.finish()), "gpu.nvidia.com", "n").slices
    (device,) = piece["spec"]["devices"]
    assert device["name"] == "gpu-3"
    assert device["attributes"]["uuid"] == {"string": "GPU-5d1d46ee-c7f8-4a5b-9c7d-123456789abc"}


def test_xids_of_the_kernels_log(machine, report):
    machine.function("pci0000:15/0000:17:00.0", "10de", "2330", "030200", 0, "nvidia")
    machine.file(
        "dev/kmsg",
        "6,1,2,-;NVRM: loading NVIDIA UNIX x86_64 Kernel Module  580.105.08\n"
        "3,2,3,-;NVRM: Xid (PCI:0000:17:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.\n"
        "3,3,4,-;NVRM: Xid (PCI:0000:17:00): 31, pid=77, name=python, Ch 00000008\n"
        "3,3,5,-;something else Xid 12\n",
    )
    found = report(machine.finish())
    (xid,) = [finding for finding in found["findings"] if finding["code"] == "DRA614"]
    assert xid["evidence"] == {"xids": [31, 79]}
    assert "GPU0 0000:17:00.0: Xid 31 (pid=77" in xid["message"]
    assert xid["severity"] == "warning"
    assert source(found, "kernel-log")["reason"] == "/dev/kmsg: 2 Xid"


@pytest.mark.parametrize(
    ("driver", "text"), [(None, "NVIDIA's driver is not bound"), ("nouveau", "nouveau drives it, not NVIDIA's driver")]
)
def test_no_nvidia_driver(machine, report, driver, text):
    machine.function("pci0000:15/0000:17:00.0", "10de", "2330", "030200", 0, driver)
    machine.function("pci0000:15/0000:18:00.0", "15b3", "1021", "020000", 0, "mlx5_core")
    found = report(machine.finish())
    (finding,) = [finding for finding in found["findings"] if finding["code"] == "DRA628"]
    assert finding["message"] == f"GPU0 0000:17:00.0 (H100 SXM5 80GB): {text}"


# --- AMD ---


def test_partitions_of_an_amd_gpu(machine, look, report):
    """A MI300X cut into eight (CPX): one GPU on the bus, eight KFD nodes, seven platform devices."""
    folder = machine.function("pci0000:15/0000:17:00.0", "1002", "74a1", "120000", 0, "amdgpu")
    machine.files(
        folder,
        product_name="AMD Instinct MI300X OAM",
        unique_id="dcea97b8c4ed6aa6",
        mem_info_vram_total=206141652992,
        current_compute_partition="CPX",
        current_memory_partition="NPS4",
    )
    for name in ("card1", "renderD128"):
        machine.file(f"{folder}/drm/{name}/dev", "226:0")
    nodes = "sys/class/kfd/kfd/topology/nodes"
    machine.file(f"{nodes}/0/properties", "cpu_cores_count 8\nsimd_count 0\n")
    for number in range(8):
        machine.file(
            f"{nodes}/{number + 1}/properties",
            f"simd_count 152\nsimd_per_cu 4\ngfx_target_version 90402\nlocation_id {0x17 << 8}\ndomain 0\n"
            f"drm_render_minor {128 + number}\n",
        )
        machine.file(
            f"{nodes}/{number + 1}/mem_banks/0/properties", f"heap_type 1\nsize_in_bytes {206141652992 // 8}\n"
        )
        if number:
            for name in (f"card{number + 1}", f"renderD{128 + number}"):
                machine.file(f"sys/devices/platform/amdgpu_xcp_{number}/drm/{name}/dev", "226:0")
    root = machine.finish()
    assert [device["kind"] for device in report(root)["devices"]] == ["gpu"]
    (piece,) = publish(look(root), "gpu.amd.com", "n").slices
    parts = {device["name"]: device for device in piece["spec"]["devices"]}
    assert list(parts) == [f"gpu-{number + 1}-{128 + number}" for number in range(8)]
    last = parts["gpu-8-135"]
    assert last["attributes"]["type"] == {"string": "amdgpu-partition"}
    assert last["attributes"]["parentPciAddr"] == {"string": "0000:17:00.0"}
    assert last["attributes"]["partitionProfile"] == {"string": "cpx_nps4"}
    assert last["capacity"] == {
        "memory": {"value": "24574Mi"},
        "computeUnits": {"value": "38"},
        "simdUnits": {"value": "152"},
    }


# --- other accelerators ---


def test_google_tpus(machine, look, report):
    for number in range(4):
        folder = machine.function(
            f"pci0000:00/0000:00:0{number + 4}.0", "1ae0", "0063", "088000", number // 2, "gasket", None
        )
        machine.file(f"{folder}/accel/accel{number}/dev", "120:0")
        machine.link(f"sys/class/accel/accel{number}", f"../../{folder.removeprefix('sys/')}/accel/accel{number}")
    root = machine.finish()
    assert [device["product"] for device in report(root)["devices"]] == ["TPU v5e"] * 4
    (piece,) = publish(look(root), "tpu.google.com", "n").slices
    assert piece["spec"]["devices"][2] == {
        "name": "accel2",
        "attributes": {
            "index": {"int": 2},
            "tpuGen": {"string": "v5lite"},
            "brand": {"string": "Google"},
            "chipCount": {"int": 4},
        },
    }


def test_aws_neuron(machine, look, report):
    for number in range(2):
        machine.function(f"pci0000:00/0000:00:1{number}.0", "1d0f", "7364", "088000", 0, "neuron", None)
        machine.files(
            f"sys/devices/virtual/neuron_device/neuron{number}", core_count=8, connected_devices=f"{1 - number}"
        )
        machine.file(
            f"sys/devices/virtual/neuron_device/neuron{number}/info/architecture/instance_type", "trn2.48xlarge"
        )
    machine.file("sys/module/neuron/version", "2.25.4.0")
    root = machine.finish()
    found = report(root)
    assert [device["product"] for device in found["devices"]] == ["Trainium2"] * 2
    # which function is which is not in sysfs: it is not guessed
    assert [entry["name"] for entry in found["unplaced"]["neuron"]] == ["neuron0", "neuron1"]
    assert "details" not in found["devices"][0]
    (piece,) = publish(look(root), "neuron.aws.com", "n").slices
    assert piece["spec"]["devices"][1]["attributes"]["instanceType"] == {"string": "trn2.48xlarge"}
    assert piece["spec"]["devices"][1]["attributes"]["neuronDriverVersion"] == {"string": "2.25.4.0"}


def test_gaudi_of_older_kernels(machine, report):
    machine.function("pci0000:15/0000:17:00.0", "1da3", "1020", "120000", 0, "habanalabs")
    machine.files("sys/class/habanalabs/hl0", pci_addr="0000:17:00.0", status="Operational", driver_ver="1.16.0")
    found = report(machine.finish())
    assert by_label(found)["ACC0"]["details"]["accel"] == {
        "name": "hl0",
        "status": "Operational",
        "driverVersion": "1.16.0",
    }


def test_intel_gpus_and_their_functions(machine, look, report):
    folder = machine.function("pci0000:15/0000:17:00.0", "8086", "56c0", "038000", 1, "xe")
    machine.files(folder, sriov_totalvfs=31, sriov_numvfs=1)
    machine.file(f"{folder}/drm/card0/lmem_total_bytes", str(16 << 30))
    child = machine.function("pci0000:15/0000:17:00.1", "8086", "56c0", "038000", 1, "xe-vfio-pci", None)
    machine.link(f"{child}/physfn", "../0000:17:00.0")
    machine.link(f"{folder}/virtfn0", "../0000:17:00.1")
    root = machine.finish()
    labels = by_label(report(root))
    assert set(labels) == {"GPU0", "GPU0v0"}
    assert labels["GPU0"]["memoryBytes"] == 16 << 30
    (piece,) = publish(look(root), "gpu.intel.com", "n").slices
    first, second = piece["spec"]["devices"]
    assert first["name"] == "0000-17-00-0-0x56c0"
    assert first["attributes"]["model"] == {"string": "Flex 170"}
    assert first["attributes"]["sriov"] == {"bool": True}
    assert first["capacity"] == {"memory": {"value": "16384Mi"}, "millicores": {"value": "1k"}}
    assert (second["attributes"]["type"], second["attributes"]["driver"]) == (
        {"string": "vf"},
        {"string": "xe-vfio-pci"},
    )


def test_vgpu_types(machine, report):
    folder = machine.function("pci0000:15/0000:17:00.0", "10de", "26b9", "030200", 0, "nvidia")
    machine.files(f"{folder}/mdev_supported_types/nvidia-1049", name="NVIDIA L40S-4Q", available_instances=12)
    machine.link("sys/class/mdev_bus/0000:17:00.0", "../../devices/pci0000:15/0000:17:00.0")
    found = report(machine.finish())
    assert by_label(found)["GPU0"]["details"]["vgpu"] == [
        {"type": "nvidia-1049", "name": "NVIDIA L40S-4Q", "available": 12}
    ]
    assert source(found, "vgpu")["reason"] == "1 GPUs offer vGPUs, 0 are made"


# --- memory ---


def test_cxl_memory_becomes_a_node(machine, report):
    machine.numa({0: [10, 21, 14], 1: [21, 10, 24], 2: [14, 24, 10]}, {0: 256, 1: 256, 2: 128}, memory_only={2})
    folder = machine.function("pci0000:15/0000:17:00.0", "1af4", "0500", "050210", 0, "cxl_pci")
    machine.files(f"{folder}/mem0", numa_node=0, firmware_version="1.0")
    machine.file(f"{folder}/mem0/ram/size", hex(128 << 30))
    machine.link("sys/bus/cxl/devices/mem0", f"../../../{folder.removeprefix('sys/')}/mem0")
    machine.files("sys/bus/dax/devices/dax0.0", target_node=2, size=128 << 30)
    found = report(machine.finish())
    assert by_label(found)["CXL0"]["memoryBytes"] == 128 << 30
    assert {"name": "dax0.0", "size": 128 << 30, "targetNode": 2} in found["cxl"]
    assert found["numaNodes"][2]["memoryOnly"] is True
    assert codes(found) == []


def test_memory_that_nobody_owns(machine, report):
    machine.numa({0: [10, 21, 31], 1: [21, 10, 31], 2: [31, 31, 10]}, {0: 96, 1: 96, 2: 16}, memory_only={2})
    machine.file("sys/devices/system/node/node2/access0/initiators/node0", "")
    found = report(machine.finish())
    (finding,) = [finding for finding in found["findings"] if finding["code"] == "DRA633"]
    assert finding["message"] == "NUMA node 2 has memory (16 GiB) and no CPU, and nothing says whose it is"
    assert found["numaNodes"][2]["initiators"] == [0]


def test_huge_pages(machine, report):
    machine.files("sys/devices/system/node/node0/hugepages/hugepages-2048kB", nr_hugepages=512, free_hugepages=500)
    machine.files("sys/kernel/mm/hugepages/hugepages-1048576kB", nr_hugepages=4, free_hugepages=4)
    found = report(machine.finish())
    assert found["numaNodes"][0]["hugePages"] == [{"bytes": 2 << 20, "total": 512, "free": 500}]
    assert found["hugePages"] == [{"bytes": 1 << 30, "total": 4, "free": 4}]


# --- PCI ---


def test_vfio_without_an_iommu(machine, report):
    machine.function("pci0000:15/0000:17:00.0", "10de", "2330", "030200", 0, "vfio-pci")
    machine.file("sys/kernel/iommu_groups/.keep", "")
    assert sorted(codes(report(machine.finish()))) == ["DRA604", "DRA606"]


def test_whether_an_iommu_is_there_may_be_unknown(machine, report):
    machine.function("pci0000:15/0000:17:00.0", "10de", "2330", "030200", 0, "vfio-pci")
    found = report(machine.finish())
    assert found["iommu"]["on"] is None
    assert sorted(codes(found)) == ["DRA604", "DRA606"]
    said = next(one for one in found["findings"] if one["code"] == "DRA606")
    assert said["severity"] == "info"
    assert "the IOMMU is off, or what was read does not show the groups" in said["message"]


def test_pcie_errors_and_a_slot_that_is_narrow(machine, report):
    machine.port("pci0000:15/0000:15:01.0")
    folder = machine.function(
        "pci0000:15/0000:15:01.0/0000:17:00.0", "15b3", "1021", "020000", 0, "mlx5_core", 32.0, 8, None, 16
    )
    machine.file(f"{folder}/aer_dev_nonfatal", "DLP 0\nTOTAL_ERR_NONFATAL 2")
    machine.file(f"{folder}/aer_dev_correctable", "RxErr 5\nTOTAL_ERR_COR 5")
    machine.file("sys/devices/pci0000:15/0000:15:01.0/max_link_width", "8")
    found = report(machine.finish())
    narrow, errors = (next(one for one in found["findings"] if one["code"] == code) for code in ("DRA608", "DRA623"))
    assert narrow["severity"] == "info"
    assert narrow["message"].endswith("runs at x8 of x16: the port above it, 0000:15:01.0, has 8 lanes")
    assert "0 fatal, 2 non-fatal and 5 corrected" in errors["message"]


def test_widths_from_the_configuration_space(machine, report):
    from .test_units import endpoint

    machine.function("pci0000:15/0000:17:00.0", "10de", "2330", "030200", 0, "nvidia", None, config=endpoint())
    link = by_label(report(machine.finish()))["GPU0"]["link"]
    assert (link["speed"], link["maxSpeed"], link["width"], link["maxWidth"]) == (8.0, 32.0, 8, 16)


def test_paths_from_bus_numbers_where_the_tree_has_no_links(tmp_path, look):
    """Trees that were gathered without links: the bridges' bus numbers tell what is behind them."""
    from .test_units import bridge

    machine = builder.Machine(tmp_path / "host.tar")
    machine.cpus(1, 4)
    machine.numa({0: [10]})
    base = "sys/bus/pci/devices"
    for address, secondary in (("0000:17:00.0", 0x18), ("0000:18:00.0", 0x19), ("0000:19:08.0", 0x1B)):
        machine.files(f"{base}/{address}", vendor="0x8086", device="0x2030", **{"class": "0x060400"})
        machine.file(f"{base}/{address}/config", bridge(secondary))
    machine.files(f"{base}/0000:1b:00.0", vendor="0x1bcf", device="0x001c", **{"class": "0x0b4000"}, local_cpus="f")
    function = look(machine.finish()).functions["0000:1b:00.0"]
    assert function.root == "pci0000:17"
    assert function.path == ("0000:17:00.0", "0000:18:00.0", "0000:19:08.0")
    assert isinstance(function.driver, Unseen)
    assert function.numa == 0


def test_rdma_without_an_interface_and_a_port_that_is_down(machine, report):
    folder = machine.function("pci0000:15/0000:17:00.0", "15b3", "1021", "020700", 0, "mlx5_core")
    machine.rdma(folder, "mlx5_0", "2: INIT")
    found = report(machine.finish())
    messages = {finding["code"]: finding["message"] for finding in found["findings"]}
    assert messages["DRA619"] == (
        "NIC0 0000:17:00.0: RDMA device mlx5_0 has no network interface here (IPoIB is not set up, or a pod has it)"
    )
    assert messages["DRA620"] == "NIC0 0000:17:00.0: port 1 of mlx5_0 is INIT (LinkUp)"


# --- processors ---


def test_processors_of_old_kernels_have_masks_only(tmp_path, report):
    machine = builder.Machine(tmp_path / "host.tar")
    base = "sys/devices/system/cpu"
    for cpu in range(4):
        machine.files(
            f"{base}/cpu{cpu}/topology",
            physical_package_id=cpu // 2,
            core_id=0,
            core_siblings=f"{0b11 << cpu // 2 * 2:08x}",
            thread_siblings=f"{1 << cpu:08x}",
        )
    machine.file(f"{base}/cpu3/online", "0")
    found = report(machine.finish())["processors"]
    assert (found["packages"], found["cores"], found["threads"], found["offline"]) == (2, 3, 3, "3")


def test_processors_from_cpuinfo_alone(tmp_path, report):
    machine = builder.Machine(tmp_path / "host.tar")
    blocks = [
        f"processor\t: {cpu}\nmodel name\t: Old CPU\nphysical id\t: {cpu // 2}\ncore id\t: {cpu % 2}\n"
        for cpu in range(4)
    ]
    machine.file("proc/cpuinfo", "\n".join(blocks))
    found = report(machine.finish())
    assert (found["processors"]["packages"], found["processors"]["cores"], found["processors"]["threads"]) == (2, 4, 4)
    assert source(found, "cpu")["reason"] == "no topology in /sys; counted from /proc/cpuinfo"


def test_modules_of_two_cores_are_not_threads(tmp_path, report):
    """AMD family 21: the kernel lists both cores of a module as siblings."""
    machine = builder.Machine(tmp_path / "host.tar")
    for cpu in range(4):
        machine.files(
            f"sys/devices/system/cpu/cpu{cpu}/topology",
            physical_package_id=0,
            core_id=cpu,
            core_siblings_list="0-3",
            thread_siblings_list=f"{cpu // 2 * 2}-{cpu // 2 * 2 + 1}",
        )
    machine.file(
        "proc/cpuinfo", "processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 21\nmodel name\t: Opteron\n\n"
    )
    found = report(machine.finish())["processors"]
    assert (found["packages"], found["cores"], found["threads"]) == (1, 4, 4)


def test_a_machine_that_numbers_no_packages(tmp_path, report):
    machine = builder.Machine(tmp_path / "host.tar")
    for cpu in range(2):
        machine.files(
            f"sys/devices/system/cpu/cpu{cpu}/topology",
            physical_package_id=-1,
            core_id=cpu,
            core_siblings_list=str(cpu),
            thread_siblings_list=str(cpu),
        )
    found = report(machine.finish())["processors"]
    assert (found["packages"], found["cores"], found["threads"]) == (None, 2, 2)
    assert found["unknown"]["packages"] == "the kernel numbers no packages on this machine"


def test_a_secret_on_the_kernels_command_line_is_not_shown(machine, report):
    machine.file("proc/cmdline", "BOOT_IMAGE=/vmlinuz password=hunter2 intel_iommu=on iommu=pt quiet")
    found = report(machine.finish())
    assert found["machine"]["iommuOptions"] == ["intel_iommu=on", "iommu=pt"]


def test_uevent_says_the_same_as_the_single_files(machine, report):
    folder = machine.function("pci0000:15/0000:17:00.0", "10de", "2330", "030200", 0, None)
    before = report(machine.finish())
    machine.event(folder, "10de", "2330", "030200", "nvidia")
    gpu = by_label(report(machine.finish()))["GPU0"]
    assert (gpu["pciId"], gpu["class"], gpu["subsystemId"], gpu["driver"]) == (
        "10de:2330",
        "0302",
        "10de:0001",
        "nvidia",
    )
    assert by_label(before)["GPU0"]["pciId"] == "10de:2330"
    machine.file(f"{folder}/uevent", "PCI_CLASS=xyz\nPCI_ID=10DE\n")
    assert by_label(report(machine.finish()))["GPU0"]["pciId"] == "10de:2330"
