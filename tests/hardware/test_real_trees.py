"""Trees of real machines from the public test set of hwloc; they are not part of this repository.

``DRACTL_HARDWARE_TREES`` names the folder of their archives. What is asserted was told of the machines beside the trees
and agrees with what lstopo says of them.
"""

import os
from pathlib import Path

import pytest

FOLDER = os.environ.get("DRACTL_HARDWARE_TREES", "")
pytestmark = pytest.mark.skipif(not FOLDER, reason="DRACTL_HARDWARE_TREES does not name a folder of trees")


@pytest.fixture
def tree(report):
    def tree(name):
        path = Path(FOLDER) / f"{name}.tar.bz2"
        if not path.exists():
            pytest.skip(f"{path} is not there")
        return report(path)

    return tree


def words(report):
    matrix = report["topology"]["matrix"]
    by_label = {device["label"]: device["address"][5:7] for device in report["devices"] if device["address"]}
    return {
        (by_label[one], by_label[two]): word
        for one, row in zip(matrix["labels"], matrix["rows"], strict=True)
        for two, word in zip(matrix["labels"], row, strict=True)
    }


def test_vector_engines(tree):
    """Supermicro 4029GP with eight NEC vector engines."""
    found = tree("32intel64-2p8co2t+8ve")
    cpus = found["processors"]
    assert (cpus["packages"], cpus["cores"], cpus["threads"]) == (2, 16, 32)
    large = [cache for cache in cpus["caches"] if cache["level"] == 3]
    assert [(cache["count"], cache["bytes"]) for cache in large] == [(2, 11 << 20)]
    nodes = found["numaNodes"]
    assert [round(node["memoryBytes"] / (1 << 30)) for node in nodes] == [46, 47]
    assert [node["distances"] for node in nodes] == [{"0": 10, "1": 21}, {"0": 21, "1": 10}]
    assert len(found["devices"]) == 12
    engines = [device for device in found["devices"] if device["kind"] == "accelerator"]
    assert [engine["address"][5:7] for engine in engines] == ["1b", "1c", "1d", "1e", "3d", "3f", "40", "41"]
    assert {(engine["pciId"], engine["class"]) for engine in engines} == {("1bcf:001c", "0b40")}
    assert {engine["link"]["gigabytesPerSecond"] for engine in engines} == {15.75}
    assert {engine["memoryBytes"] for engine in engines} == {48 << 30}
    nics = [device for device in found["devices"] if device["kind"] == "nic"]
    assert [(nic["address"], nic["pciId"], nic["class"]) for nic in nics] == [
        ("0000:1a:00.0", "15b3:1013", "0207"),
        ("0000:3e:00.0", "15b3:1013", "0207"),
        ("0000:60:00.0", "8086:37d2", "0200"),
        ("0000:60:00.1", "8086:37d2", "0200"),
    ]
    assert [netdev["name"] for nic in nics for netdev in nic.get("netdevs", [])] == ["enp96s0f0", "enp96s0f1"]
    assert [nic["link"]["gigabytesPerSecond"] for nic in nics[2:]] == [0.25, 0.25]
    assert {device["pcieRoot"] for device in found["devices"]} == {"pci0000:17", "pci0000:3a", "pci0000:5d"}
    assert {device["numaNode"] for device in found["devices"]} == {0}
    near = words(found)
    for bus in ("1b", "1c", "1d", "1e"):
        assert near[("1a", bus)] == "PXB"
    assert near[("1b", "3d")] == "NODE"
    assert near[("3e", "41")] == "PXB"


def test_a_domain_of_32_bits(tree):
    found = tree("2pa-pcidomain32bits")
    far = next(device for device in found["devices"] if device["address"] == "10000:00:04.0")
    assert far["pcieRoot"] == "pci10000:00"
    assert (
        far["standardAttributeErrors"]["resource.kubernetes.io/pciBusID"] == "invalid PCI Bus ID format: 10000:00:04.0"
    )
    assert far["standardAttributes"] == {}
    assert (found["processors"]["packages"], found["processors"]["cores"], found["processors"]["threads"]) == (2, 2, 2)
    assert found["machine"]["virtual"].startswith("KVM")


def test_gpus_whose_memory_is_numa_nodes(tree):
    found = tree("nvidiagpunumanodes")
    gpus = [device for device in found["devices"] if device["kind"] == "gpu"]
    assert len(gpus) == 6
    assert {gpu["class"] for gpu in gpus} == {"0300"}
    assert [node["id"] for node in found["numaNodes"]] == [0, 8, 250, 251, 252, 253, 254, 255]
    alone = [node for node in found["numaNodes"] if node["memoryOnly"]]
    assert [node["memoryOf"].split()[0] for node in alone] == ["GPU5", "GPU4", "GPU3", "GPU2", "GPU1", "GPU0"]
    assert [gpu["numaNode"] for gpu in gpus] == [0, 0, 0, 8, 8, 8]
    assert {gpu["numaNodeFrom"] for gpu in gpus} == {"local_cpus"}
    assert all("resource.kubernetes.io/numaNode" not in gpu["standardAttributes"] for gpu in gpus)
    assert found["numaNodes"][0]["distances"]["8"] == 40


def test_eight_nodes_and_no_pci(tree):
    found = tree("16amd64-8n2c")
    assert len(found["numaNodes"]) == 8
    assert (found["processors"]["packages"], found["processors"]["cores"], found["processors"]["threads"]) == (
        8,
        16,
        16,
    )
    assert {tuple(node["distances"].values()).count(20) for node in found["numaNodes"]} == {7}
    assert found["devices"] == []
    assert [finding["code"] for finding in found["findings"]] == ["DRA601"]
