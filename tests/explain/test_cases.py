"""Reported cases: the answer holds the facts that explain them, and names no wrong cause."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from .more_cases import MORE

CASES = Path(__file__).parent.parent / "cases"

FACTS: dict[str, tuple[list[str], list[str], str]] = {
    "10-toleration-on-the-pod": (
        [
            r"gpu-a/gpu-1 is free and matches, but tainted gpu\.nvidia\.com/xid=79:NoSchedule by its driver",
            r"since 2026-11-27T22:14:03Z",
            r"gpu-a/gpu-0 is in use by web/base",
            r"toleration for gpu\.nvidia\.com/xid in pod web/infer is a node toleration and has no effect",
            r"spec\.devices\.requests\[\]\.exactly\.tolerations",
            r"until the driver's kubelet plugin on gpu-a is restarted",
            r"reported Xid 79",
        ],
        [r"all 2 GPUs .* in use", r"node taint", r"gpu-a is tainted"],
        "doesNotFit",
    ),
    "12-mig-placements-blocked": (
        [
            r"No MIG device that matches request m is allocated itself",
            r"gpu-0-mig-3g20gb-9-0 lacks counters: memory-slice-0 \(.*?held by dev/one with gpu-0-mig-1g5gb-19-0\)",
            r"gpu-0-mig-3g20gb-9-4 lacks counters: memory-slice-4 \(.*?held by dev/two with gpu-0-mig-1g5gb-19-4\)",
            r"6 of 8 memory slices .* fragmentation",
            r"end one of the claims dev/one or dev/two: one is enough \(fits on a100-0\)",
        ],
        [r"3g20gb\S* is in use", r"No MIG device matches"],
        "doesNotFit",
    ),
    "14-all-and-a-foreign-pool": (
        [
            r"allocationMode All.*every pool that a node sees.*pool mi-1 of driver dra\.net is not complete \(1 slice "
            r"of 2",
            r"fails on mi-1",
            r"would fit on mi-0 \(it would take gpu-0-128 and gpu-1-129.*2 of 2.*free\)",
            r"ends the scheduling attempt for all nodes",
            r"driver dra\.net on mi-1 until it publishes the missing slice",
            r"keep the pod away from mi-1",
        ],
        [r"GPUs? .*in use", r"pool mi-1 of driver gpu\.amd\.com"],
        "error",
    ),
    "16-capacity-not-named": (
        [
            r"hpc-1/cpudevnuma000: of 32 dra\.cpu/cpu are taken 32 by render/left",
            r"hpc-1/cpudevnuma001: of 32 dra\.cpu/cpu are taken 32 by render/right",
            r"4 asked for",
            r"render/left and render/right name no capacity.*no requestPolicy with a default.*charged the whole value "
            r"\(32\)",
            r"capacity\.requests dra\.cpu/cpu.*make them anew.*several fit on one device",
        ],
        [r"exclusive", r"more than 32"],
        "doesNotFit",
    ),
    "18-free-gpu-and-free-nic-on-two-roots": (
        [
            r"share one PCIe root \(resource\.kubernetes\.io/pcieRoot\): gpu has pci0000:25 and nic has pci0000:15",
            r"pci0000:15 on h-3: GPU h-3/gpu-0 is in use by ml/solo-gpu and NIC h-3/pci-0000-18-00-0 is free",
            r"pci0000:25 on h-3: GPU h-3/gpu-1 is free and NIC h-3/pci-0000-28-00-0 is in use by ml/solo-nic",
            r"end one of the claims ml/solo-gpu or ml/solo-nic: one is enough",
            r"drop the constraint on resource\.kubernetes\.io/pcieRoot",
        ],
        [r"missing", r"all \d+ GPUs", r"publishes resource"],
        "doesNotFit",
    ),
    "20-admin-label-misspelt": (
        [
            r"claim for entry gpus of pod watch/meter-x7 does not exist: creating it from template watch/all-gpus is "
            r"refused",
            r"adminAccess.*resource\.kubernetes\.io/admin-access with exactly the value true",
            r"Namespace watch carries the label, but with the value True \(upper case\), which does not count",
            r"set the label of namespace watch to true \(lower case\)|Set the label of namespace watch to true "
            r"\(lower case\)",
            r"controller then makes the claim by itself",
            r"in use by others are no obstacle to admin access",
        ],
        [r"template .*does not exist", r"is in use by ml/train"],
        "undecided",
    ),
    "22-two-classes-one-resource-name": (
        [
            r"asks for nvidia\.com/gpu: 1, which no node advertises, but 2 DeviceClasses map",
            r"gpu\.nvidia\.com \(2026-11-20\) and a100\.nvidia\.com \(2026-11-29\)",
            r"created last, a100\.nvidia\.com, is used",
            r"productName containing 'A100' is true of none of the 2 GPUs \(they have 'NVIDIA H100 80GB HBM3'\)",
            r"Class gpu\.nvidia\.com would select 2 free devices on gpu-a",
            r"another extendedResourceName \(or none\)",
        ],
        [r"in use", r"no DeviceClass serves"],
        "doesNotFit",
    ),
    "24-quota-and-all": (
        [
            r"entry gpus of pod lab/sweep is not made: ResourceQuota lab/gpus limits "
            r"gpu\.nvidia\.com\.deviceclass\.resource\.k8s\.io/devices to 8 \(used 0\), and the claim asks for 32",
            r"lab/everything",
            r"allocationMode All; quota charges .*\(32\), not with the 4 that gpu-a has",
            r"a count \(4 is within the quota\) instead of All, or raise quota gpus to at least 32",
        ],
        [r"in use", r"used up"],
        "undecided",
    ),
    "28-placed-by-hand": (
        [
            r"telco/radio is not allocated, although pod telco/radio already sits on edge-0",
            r"spec\.nodeName set by hand, or by a scheduler without DRA",
            r"controller only reserves a claim that is allocated already",
            r"would fit on edge-0 \(pci-0000-18-00-0 is free\)",
            r"create it without nodeName, with a nodeSelector kubernetes\.io/hostname: edge-0 \(or node affinity\)",
        ],
        [r"in use", r"driver .*not run"],
        "fits",
    ),
    "32-root-under-another-name": (
        [
            r"GPU of request gpu carries the attribute resource\.kubernetes\.io/pcieRoot",
            r"the attribute is missing there, not different",
            r"gpu\.intel\.com/pciRoot \(15 and 25: only the bus part\).*pcieRoot \(pci0000:15 and pci0000:25\)",
            r"under buses 15 and 25 would share a root",
            r"publishes the standard attribute resource\.kubernetes\.io/pcieRoot \(gpu\.intel\.com: 0\.10\.0 or "
            r"newer\)",
            r"drop the constraint",
        ],
        [r"in use", r"share one PCIe root"],
        "doesNotFit",
    ),
    "34-driver-gone-slices-stay": (
        [
            r"web/infer is allocated \(gpu-b/gpu-0.*reserved for pod web/infer; it waits for no device",
            r"driver's pod gpu-driver/gpu-driver-kx2 is not running \(CrashLoopBackOff\)",
            r"DRA driver gpu\.nvidia\.com is not registered",
            r"still published, so the scheduler goes on placing pods there",
            r"Repair the driver gpu\.nvidia\.com on gpu-b .*cordon the node or taint its devices",
        ],
        [r"no device is free", r"not allocated"],
        "allocated",
    ),
    "36-zombie-claim": (
        [
            r"gpu-a/gpu-0 is held by claim ml/previous, which is being deleted since 2026-11-29T20:00:00Z",
            r"kept by the finalizer resource\.kubernetes\.io/delete-protection",
            r"reservation names pod ml/previous \(by uid\), which exists no more: nothing uses the device",
            r"kube-controller-manager\) should remove the stale reservation and the finalizer",
            r"last step clear status\.reservedFor of ml/previous by hand",
        ],
        [r"pod ml/previous (is using|uses|still uses)", r"No GPU matches"],
        "doesNotFit",
    ),
    "38-attribute-lost-on-one-device": (
        [
            r"no such key: rdma \(dra\.net/rdma\): worker-0/pci-0000-18-00-0 does not publish it",
            r"1 other NIC publishes it, on worker-0",
            r"worker-0/pci-0000-18-00-0 lacks all of ifName, .*rdma",
            r"host's network namespace",
            r"'rdma' in device\.attributes\['dra\.net'\] &&",
            r"reboot the node",
            r"DRA204",
        ],
        [r"No NIC matches", r"in use"],
        "error",
    ),
    "40-eighty-gib-is-not-eighty": (
        [
            r"h-0/gpu-0 and gpu-1, free, match in everything but gpu\.nvidia\.com/memory: they publish 81559Mi "
            r"\(79\.6Gi\), "
            r"asked for is >= 80Gi",
            r"79Gi instead of 80Gi.*below the nominal size",
        ],
        [r"in use", r"do not publish"],
        "doesNotFit",
    ),
    "42-shared-claim-elsewhere": (
        [
            r"team/model is allocated on east-0 and can be used only there",
            r"pod team/second may not run there \(east-0: nodeSelector topology\.kubernetes\.io/zone=west, the node "
            r"has "
            r"topology\.kubernetes\.io/zone=east\): there is no node for it",
            r"drop the node selector\), or give the pod a claim of its own",
        ],
        [r"no device is free", r"does not fit"],
        "allocated",
    ),
    "46-driver-runs-but-publishes-nothing": (
        [
            r"No ResourceSlice of driver gpu\.amd\.com exists on any node, so class gpu\.amd\.com .*selects nothing",
            r"DaemonSet amd/amd-dra-driver is ready on 2 of 2 nodes, and the nodes report its hardware",
            r"runs but its slices are not there, so it is refused or fails at publishing",
            r"log.*rejected ResourceSlice.*semantic version\), or for missing rights on resourceslices",
        ],
        [r"in use", r"not running", r"is not well"],
        "doesNotFit",
    ),
    "48-held-by-a-queue": (
        [
            r"team/epoch-gpu-t5r8z fits on gpu-a \(.*2 of 2 matching GPUs are free\); devices are not what it waits "
            r"for",
            r"team/epoch carries the scheduling gate kueue\.x-k8s\.io/admission, so the scheduler does not look at it "
            r"\(condition SchedulingGated\)",
            r"Kueue: its Workload for pod team/epoch in queue night says why .*quota, or class gpu\.nvidia\.com is "
            r"not mapped",
        ],
        [r"in use", r"found no device"],
        "fits",
    ),
    "110-scaled-to-zero": (
        [
            r"No ResourceSlice of driver gpu\.nvidia\.com exists",
            r"both nodes are without labels of that hardware.*DaemonSet gpu-driver/gpu-driver wants 0 nodes \(its "
            r"nodeSelector nvidia\.com/gpu\.present=true matches none\)",
            r"cluster-autoscaler has looked at pod chat/serve and did not scale up",
            r"knows from its provider which slices a new node of a group will have.*dynamic resource allocation",
            r"Start one node of the group.*minimum at 1\), or teach the autoscaler's node template",
        ],
        [r"in use", r"is not well", r"is ready on only"],
        "doesNotFit",
    ),
    "112-no-preemption-for-devices": (
        [
            r"gpu-a/gpu-0 is in use by play/try-1 and gpu-a/gpu-1 is in use by play/try-2",
            r"play/try-1 \(priority -10, class scavenger\) and play/try-2 \(priority -10, class scavenger\) have a "
            r"lower "
            r"priority than pod prod/checkout \(100000\)",
            r"scheduler of 1\.36 does not preempt .* will not remove them by itself",
            r"end one of the claims play/try-1 or play/try-2: one is enough",
        ],
        [r"No GPU matches", r"will be preempted"],
        "doesNotFit",
    ),
    "114-one-name-on-three-nodes": (
        [
            r"publishes pool ports with device port0 from 3 nodes \(n1 to n3\)",
            r"one and the same, netdriver\.example\.com/ports/port0",
            r"in use because of claim net/first \(on n1\), and n2 and n3 are refused too although the hardware there "
            r"is another",
            r"pool name of its own on each node \(for example the node's name\), or device names that occur once",
            r"only one claim at a time",
        ],
        [r"incomplete", r"not complete"],
        "doesNotFit",
    ),
    "116-one-channel-a-node": (
        [
            r"gb-1/channel-0 is in use by hpc/rank-a-0-channel-c3n8d and gb-2/channel-0 is in use by "
            r"hpc/rank-a-1-channel-h6z2s",
            r"every node publishes only one channel|Every node publishes only one channel",
            r"hpc/rank-a-0-channel-c3n8d \(pod hpc/rank-a-0\).*hpc/rank-a-1-channel-h6z2s \(pod hpc/rank-a-1\)",
            r"id == 0, so another compute domain cannot run on a node as long as one is there",
            r"gb-1 \(2 of 4 matching devices free\) and gb-2 \(2 of 4 matching devices free\)",
            r"nodes without a compute domain, or after the first.*one compute domain and share one claim",
        ],
        [r"no GPU is free", r"publishes no channel"],
        "doesNotFit",
    ),
    "120-index-no-longer-published": (
        [
            r"fails on blade-2 with a CEL error, no such key: index \(gpu\.nvidia\.com/index\): none of the 4 GPUs "
            r"there "
            r"publishes it",
            r"publish it, on blade-1 \(index is 0 to 3 there\)",
            r"would fit on blade-1 \(it would take gpu-2 and gpu-3.*free\), but the error ends the scheduling attempt "
            r"for all",
            r"index, minor and pcieBusID only there",
            r"different releases of the driver",
            r"\?index\.orValue\(-1\) >= 2",
            r"productName, architecture and uuid",
        ],
        [r"in use", r"no Blackwell"],
        "error",
    ),
    "122-devices-of-the-former-generation": (
        [
            r"pool mole-1 of gpu\.nvidia\.com is at generation 12 \(slice mole-1-gpu\.nvidia\.com-t5w0z, complete: 1 "
            r"of 1\), "
            r"which lists mole-1/gpu-0 to gpu-2|Pool mole-1 of gpu\.nvidia\.com is at generation 12 \(slice "
            r"mole-1-gpu\.nvidia\.com-t5w0z, complete: 1 of 1\), which lists mole-1/gpu-0 to gpu-2",
            r"gpu-3 is listed only in slice mole-1-gpu\.nvidia\.com-2hx8r of generation 11, which does not count any "
            r"more",
            r"needs 4 GPUs on one node",
            r"batch/render.*mole-2/gpu-2",
            r"why gpu-3 went missing on mole-1.*why slice mole-1-gpu\.nvidia\.com-2hx8r was not deleted",
            r"end claim batch/render \(fits on mole-2\)",
            r"ask for 3 instead of 4",
        ],
        [r"mole-1 .*(is|are) incomplete", r"of 8 that match", r"mole-1/gpu-3 is in use"],
        "doesNotFit",
    ),
    "124-driver-remembers-a-deleted-claim": (
        [
            r"infer/server-b-gpus-4tkzw is allocated \(ox-1/gpu-0 and gpu-1.*reserved for pod infer/server-b; it "
            r"waits for no "
            r"device, but for the preparation on ox-1",
            r"refuses gpu-0 because it has it prepared for claim UID 9b1d7e52-40c6-4a7f-8f2e-c3d90a6b1e74; no claim "
            r"in the "
            r"cluster has that UID: it was deleted, and the driver kept its entry",
            r"server-b-gpus-4tkzw is the only claim with ox-1/gpu-0 and gpu-1",
            r"clear the stale entry out of the checkpoint .* no process is left on the devices",
            r"cordon ox-1, delete pod infer/server-b and create it again.*ox-2 \(2 devices free\)",
        ],
        [r"no device is free", r"not running", r"not registered"],
        "allocated",
    ),
    "128-class-of-a-part-that-is-off": (
        [
            r"request card names DeviceClass gpu\.nvidia\.com, which does not exist|Request card names DeviceClass "
            r"gpu\.nvidia\.com, which does not exist",
            r"compute-domain-daemon\.nvidia\.com and compute-domain-default-channel\.nvidia\.com",
            r"A class alone would not help: no slice of a driver gpu\.nvidia\.com is published on pine-1 and pine-2",
            r"compute-domain\.nvidia\.com \(channel-0 and daemon-0\)",
            r"container compute-domains alone, without container gpus",
            r"resources\.gpus\.enabled together with gpuResourcesEnabledOverride.*claim needs no change",
        ],
        [r"in use", r"too few", r"name class compute-domain", r"not running"],
        "error",
    ),
}

FACTS |= MORE


def _command(folder: Path) -> list[str]:
    found = re.search(r"command: `dractl (.*?)`", (folder / "expect.md").read_text(encoding="utf-8"))
    assert found is not None
    return found[1].split()


@pytest.mark.parametrize("name", FACTS, ids=str)
def test_case(name, dractl, monkeypatch):
    folder = CASES / name
    monkeypatch.chdir(folder)
    facts, wrong, verdict = FACTS[name]
    words = _command(folder)
    run = dractl(*words, env={"COLUMNS": "200"})
    assert run.err == ""
    text = " ".join(run.out.split())
    for fact in facts:
        assert re.search(fact, text), f"{fact!r} is not said in:\n{run.out}"
    for cause in wrong:
        assert not re.search(cause, text), f"{cause!r} is said in:\n{run.out}"
    report = json.loads(dractl(*words, "-o", "json").out)
    assert report["verdict"] == verdict
    expected = re.search(r"verdict: (\S+)", (folder / "expect.md").read_text(encoding="utf-8"))
    assert expected is not None
    assert expected[1] in (verdict, "n/a")


def test_every_copied_case_is_tested():
    explained = {
        folder.name
        for folder in CASES.iterdir()
        if (folder / "expect.md").exists() and "`dractl explain" in (folder / "expect.md").read_text(encoding="utf-8")
    }
    assert explained == set(FACTS)
