"""What the errors of kubelet, drivers and container runtimes mean when allocated devices are prepared on a node.

Each entry of ``TROUBLES`` is known by a piece of the error's text, which drivers keep from release to release. Texts:
kubelet's ``dra`` manager, the kubelet plugins of gpu.nvidia.com and compute-domain.nvidia.com (0.4), gpu.intel.com
(0.11), dra.net (1.4), and containerd and CRI-O for CDI.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Trouble:
    """A known error: how its text is recognized, what it means, what to do.

    ``meaning`` and ``advice`` may hold ``{node}``, ``{driver}``, ``{pod}`` and the named groups of ``text``. With
    ``log`` the driver's log is worth reading besides.
    """

    text: re.Pattern[str]
    meaning: str
    advice: str
    log: bool = False


def _trouble(text: str, meaning: str, advice: str, log: bool = False) -> Trouble:
    return Trouble(re.compile(text, re.IGNORECASE), meaning, advice, log)


_ANEW = (
    "delete pod {pod} and, if the claim was not made for it, the claim, and make them again: an allocation is never "
    "changed, only made anew"
)

TROUBLES = (
    # --- sharing of NVIDIA GPUs
    _trouble(
        r"unknown (?:GPU|MIG) sharing strategy:? (?P<strategy>TimeSlicing)|error setting timeslice",
        "the claim's config asks for time-slicing, which driver {driver} knows only with its feature gate "
        "TimeSlicingSettings, off by default; the word itself is right",
        "set TimeSlicingSettings=true among the feature gates of the driver's chart, or make the claim without that "
        "config",
    ),
    _trouble(
        r"unknown (?:GPU|MIG) sharing strategy:? (?P<strategy>MPS)",
        "the claim's config asks for MPS, which driver {driver} knows only with its feature gate MPSSupport, off by "
        "default; the word itself is right",
        "set MPSSupport=true among the feature gates of the driver's chart, or make the claim without that config",
    ),
    _trouble(
        r"MPS is not yet supported when using featureGates\.DynamicMIG|MPS sharing is not supported when consumable",
        "two features of driver {driver} exclude each other: MPS with DynamicMIG or with shared devices "
        "(ConsumableShares)",
        "make the claim without MPS, or run the driver on {node} without the other feature",
    ),
    _trouble(
        r"(?:MPS )?control daemon (?:is )?not yet ready",
        "the driver has started an MPS control daemon for the claim (a Deployment mps-control-daemon-... in the "
        "driver's namespace), and waits until it is ready",
        "look at the pod of that Deployment: it runs on {node}, and kubelet tries again until it is ready",
    ),
    _trouble(
        r"has conflicting configuration with already prepared claim",
        "another claim has the same device prepared with another configuration: claims that share a device have to "
        "ask for the same one",
        "give the claims that share the device the same config",
    ),
    # --- configuration
    _trouble(
        r"runtime object is not a recognized configuration",
        "the kind of the claim's config belongs to a feature of driver {driver} that is switched off",
        "switch on the driver's feature gate for that kind, or make the claim without that config",
    ),
    _trouble(
        r"cannot apply (?P<kind>\w+) to device (?P<device>\S+)?",
        "the claim's config is of kind {kind}, which is for devices of another type than the one allocated",
        "use the kind that belongs to the device's type (GpuConfig for whole GPUs, MigDeviceConfig for MIG devices, "
        "VfioDeviceConfig for vfio)",
    ),
    _trouble(
        r"error decoding config parameters|strict decoding error|json: unknown field",
        "driver {driver} does not understand the parameters of the claim's config; it reads them strictly, and one "
        "unknown field is enough",
        "correct the parameters (apiVersion, kind, field names) in the claim or its template, or in the DeviceClass "
        "if they stand there: dractl validate knows those of common drivers",
    ),
    # --- slices and node disagree
    _trouble(
        r"requested device (?:\S+ )?is not allocatable|allocatable not found for|could not find allocatable device",
        "the driver on {node} does not have the allocated device: what is allocated and what is there differ since "
        "devices were numbered anew (a reboot, a lost device) or partitioned anew",
        _ANEW + "; if slices and node still differ then, restart the driver's pod on {node}",
    ),
    _trouble(
        r"fail(?:ed)? to get network interface (?P<interface>\S+)|Link not found",
        "the network interface is not in the host's network namespace on {node}: it was removed, renamed, or another "
        "pod has it or left it behind",
        "see on {node} where the interface is (ip link, ip netns) and bring it back; " + _ANEW,
    ),
    _trouble(
        r"error creating MIG device|error creating GPU instance|Insufficient Resources",
        "the GPU cannot be cut as allocated: something else uses it, or MIG instances are left on it that the driver "
        "did not make",
        "see on {node} which processes and MIG instances the GPU has (nvidia-smi, nvidia-smi mig -lgi), and remove "
        "those that belong to no claim",
    ),
    _trouble(
        r"error enabling MIG mode",
        "MIG cannot be switched on: the GPU is in use, or its generation (Ampere) needs a reset for it",
        "free the GPU on {node} and reset it, or reboot the node",
    ),
    # --- passthrough
    _trouble(
        r"IOMMU is not enabled",
        "devices can be passed through only with an IOMMU, and on {node} it is off",
        "switch it on in the firmware and the kernel command line of {node} (intel_iommu=on or amd_iommu=on)",
    ),
    _trouble(
        r"has open fds by process|timed out waiting for gpu to be free",
        "a process on {node} still has the GPU open, so that it cannot be given to vfio-pci",
        "end that process on {node} (a monitoring agent such as dcgm-exporter or nvidia-persistenced, often)",
    ),
    _trouble(
        r"failed to find driver directory for vfio module",
        "the kernel module for vfio is not loaded on {node}",
        "load it there: modprobe vfio-pci",
    ),
    _trouble(
        r"does not match any FM partition",
        "the GPUs allocated are no partition that the Fabric Manager knows, so they cannot be given out together",
        "constrain the request to GPUs of one partition: matchAttribute gpu.nvidia.com/partitionN for N GPUs",
    ),
    # --- compute domains
    _trouble(
        r"ResourceClaim's namespace is different than the ComputeDomain's",
        "the claim is in another namespace than the ComputeDomain whose domainID its config names",
        "use the claim template that the ComputeDomain has made, in the ComputeDomain's own namespace",
    ),
    _trouble(
        r"compute ?domain not found",
        "the ComputeDomain that the claim's config names (domainID) does not exist any more",
        "make the ComputeDomain again and take the claim template that comes with it",
    ),
    _trouble(
        r"label already exists for a different ComputeDomain|channel \d+ already allocated by claim",
        "{node} belongs to another ComputeDomain already, and a node can be in one at a time",
        "wait for the other ComputeDomain to end, or keep the pod away from {node}",
    ),
    _trouble(
        r"error asserting ComputeDomain Ready|current node not ready in ComputeDomain",
        "the ComputeDomain is not ready on {node} yet: its IMEX daemon there has to be up first, and the driver "
        "refuses until it is",
        "look at the ComputeDomain's status and at its daemon's pod on {node} (in the driver's namespace): not "
        "started, not ready, or blocked by an nvidia-imex service of the host, which has to be off and masked",
    ),
    # --- others have it
    _trouble(
        r"already allocated to another claim and cannot be prepared without adminAccess",
        "the driver on {node} still has the device prepared for another claim",
        "see which pod on {node} has ended without being cleaned up; restart the driver's pod there if none has",
        log=True,
    ),
    _trouble(
        r"old ResourceClaim with same name \S+ and different UID",
        "kubelet on {node} still has a former claim of the same name prepared, of a pod that was deleted by force",
        "wait until the former pod is cleaned up on {node}; restart kubelet there if it never is",
    ),
    # --- between kubelet, API server and driver
    _trouble(
        r"connection refused|no such file or directory.*\.sock|error while dialing|code = Unavailable",
        "kubelet does not reach the driver through its socket on {node}: the driver has stopped or is being restarted",
        "look at the driver's pod on {node}: crashed, evicted, or being updated",
        log=True,
    ),
    _trouble(
        r"context deadline exceeded|code = DeadlineExceeded",
        "the driver on {node} did not answer in time",
        "see in the driver's log what it waits for; a device that does not answer any more can be the cause",
        log=True,
    ),
    _trouble(
        r"is forbidden: User",
        "the API server refuses what the driver or kubelet wants to read or write",
        "give the account that the error names the right that it lacks",
    ),
    # --- the container's start
    _trouble(
        r"unresolvable CDI devices|CDI device injection failed|failed to inject CDI devices|CDI .*not (?:enabled|supp)",
        "the claim is prepared, but the container runtime on {node} does not find the CDI devices that the driver has "
        "named: CDI is off in the runtime, it reads other folders than the driver writes to (/var/run/cdi, /etc/cdi), "
        "or the driver's file is gone",
        "see on {node} that CDI is on in the runtime (containerd before 2.0: enable_cdi = true), that cdi_spec_dirs "
        "holds the folder which the driver mounts, and that a file for the claim is in it; then restart the runtime",
    ),
)
"""In the order in which they are tried: what is narrow first."""


def trouble_in(message: str) -> tuple[Trouble, dict[str, str]] | None:
    """The known error in a message, and the parts of the message that its words need."""
    for one in TROUBLES:
        found = one.text.search(message)
        if found:
            return one, {name: value or "" for name, value in found.groupdict().items()}
    return None
