"""What is to be said of the cases 200 and up, beside those of ``test_cases``: facts, wrong causes, verdict."""

from __future__ import annotations

MORE: dict[str, tuple[list[str], list[str], str]] = {
    "200-node-older-than-the-cluster": (
        [
            r"waits for no device, but for the preparation on gb-1",
            r"Kubelet on gb-1 is v1\.33\.1 and asks for claims in a version of resource\.k8s\.io that the API server "
            r"does not serve: the claim is there",
            r"kubelet on gb-1 to the release of the control plane; or let the API server serve v1beta1",
        ],
        [r"no device is free", r"does not exist", r"Read the log"],
        "allocated",
    ),
    "201-rule-without-selector": (
        [
            r"g-1/gpu-0 and gpu-1 and g-2/gpu-0 and gpu-1 are tainted example\.com/maintenance:NoExecute "
            r"\(DeviceTaintRule drain-gpu-2\)",
            r"deviceSelector of DeviceTaintRule drain-gpu-2 is empty, so the rule is for every device of every driver",
            r"pods that run are evicted too",
            r"name them in spec\.deviceSelector \(driver, pool, device\)",
        ],
        [r"by its driver", r"in use"],
        "doesNotFit",
    ),
    "202-two-terms-in-a-device-selector": (
        [
            r"the nodeSelector of fabric/fabric-0 has 2 terms, and it takes exactly one",
            r"Driver fab\.example\.com has to publish one term",
        ],
        [r"no device is free", r"in use"],
        "error",
    ),
    "203-rolling-update-waits-for-itself": (
        [
            r"g-1/gpu-0 is in use by web/llm-a-gpu-w1",
            r"web/llm-b is to replace web/llm-a in a rolling update \(both are of Deployment llm\)",
            r"strategy Recreate, or rollingUpdate with maxSurge 0 and maxUnavailable 1; to go on now, delete web/llm-a",
        ],
        [r"No GPU matches"],
        "doesNotFit",
    ),
    "204-replicas-of-one-claim": (
        [
            r"Claim s/one is allocated on g-1 and can be used only there",
            r"required pod anti-affinity to app=r within kubernetes\.io/hostname, and s/r-0 is there",
            r"drop the anti-affinity\), or give the pod a claim of its own \(resourceClaimTemplateName",
        ],
        [r"no device is free", r"does not fit"],
        "allocated",
    ),
    "205-gpu-nodes-are-tainted": (
        [
            r"would fit on g-1 and g-2, which its pod may not use \(node taint nvidia\.com/gpu=present:NoSchedule\)",
            r"admission plugin ExtendedResourceToleration, a pod with claims is not",
            r"tolerate the node taint nvidia\.com/gpu=present:NoSchedule in pod a/job",
        ],
        [r"in use", r"device taint"],
        "doesNotFit",
    ),
    "206-class-without-a-driver-guard": (
        [
            r"selector of class fast-gpu fails on m-1 with a CEL error, no such key: productName",
            r"the NIC m-1/pci-0000-18-00-0 does not publish it",
            r"does not ask for the driver, so it is evaluated on devices of dra\.net too",
            r"Put device\.driver == 'gpu\.nvidia\.com' && in front of the expression of the class",
        ],
        [r"in use", r"the GPU m-1/pci", r"Guard the selector"],
        "error",
    ),
    "207-new-generation-half-written": (
        [
            r"Pool g-1 of driver gpu\.nvidia\.com has 1 of 2 slices, so none of its devices count",
            r"That is generation 5; of generation 4, one slice is still there and without effect",
            r"Look at driver gpu\.nvidia\.com on g-1",
        ],
        [r"in use", r"No GPU of class gpu\.nvidia\.com is published"],
        "doesNotFit",
    ),
    "208-driver-does-not-reach-the-node": (
        [
            r"g-1/gpu-0 is in use by a/b",
            r"g-2 carries nvidia\.com/gpu\.present=true, but no slice of gpu\.nvidia\.com is published for it",
            r"DaemonSet nv/dra-driver-nvidia-gpu-kubelet-plugin does not run there \(node taint "
            r"team=vision:NoSchedule\)",
        ],
        [r"g-2 has no GPU"],
        "doesNotFit",
    ),
    "209-holder-on-a-dead-node": (
        [
            r"g-1: node taint node\.kubernetes\.io/unreachable",
            r"g-1/gpu-0 is in use by a/old",
            r"a/old, which holds g-1/gpu-0, is being deleted since 2026-11-30T12:00:00Z, but its node g-1 is not ready",
            r"node\.kubernetes\.io/out-of-service or delete the Node",
        ],
        [r"No GPU matches"],
        "doesNotFit",
    ),
    "210-whole-gpu-where-all-is-cut": (
        [
            r"gpu\.nvidia\.com/type == 'gpu' is true of none of the 4 GPUs \(they have mig\)",
            r"All GPUs on g-1 are in MIG mode",
            r"Class mig\.nvidia\.com selects 4 devices of them; with it the claim would fit on g-1",
        ],
        [r"in use", r"is published by"],
        "doesNotFit",
    ),
    "211-mps-without-the-gate": (
        [
            r"preparation on g-1: kubelet says: .*unknown GPU sharing strategy: MPS",
            r"driver gpu\.nvidia\.com knows only with its feature gate MPSSupport, off by default; the word itself is",
            r"Set MPSSupport=true",
        ],
        [r"no device is free", r"misspelt"],
        "allocated",
    ),
    "212-extended-resource-on-1.35": (
        [
            r"asks for nvidia\.com/gpu: 1, which no node advertises; DeviceClass gpu\.nvidia\.com maps it",
            r"DRAExtendedResource is off by default in 1\.35",
            r"Use a claim .*1\.36, where it is on",
        ],
        [r"in use", r"fits on"],
        "doesNotFit",
    ),
    "213-slice-without-devices": (
        [
            r"publishes slice g-1-gpu\.nvidia\.com-7k2vq for g-1 without any device: it runs, but finds no hardware",
            r"nvidia\.com/gpu\.count=4",
            r"kernel driver of the devices is not loaded there",
        ],
        [r"in use", r"not running"],
        "doesNotFit",
    ),
    "214-scheduler-that-may-not-bind": (
        [
            r"fits on g-1",
            r"account system:serviceaccount:kube-system:batch-scheduler lacks the right to update "
            r"resourceclaims/binding",
            r"resources \[resourceclaims/binding\], verbs \[update, patch\]",
        ],
        [r"in use", r"something other than devices"],
        "fits",
    ),
}
