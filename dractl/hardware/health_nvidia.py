"""Findings about NVIDIA GPUs, from NVML, the kernel driver's files and the kernel's log. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from dractl.hardware.model import Device, Host, Kind, NvmlGpu
from dractl.hardware.words import listed, subject, titled
from dractl.rules import hardware as rules
from dractl.rules.finding import Finding, ObjectRef, Severity

LIBRARY_MISSING, DRIVER_NOT_LOADED = "NVML_ERROR_LIBRARY_NOT_FOUND", "NVML_ERROR_DRIVER_NOT_LOADED"
VERSION_MISMATCH = "NVML_ERROR_LIB_RM_VERSION_MISMATCH"
PROGRAM_XIDS = {13, 31, 43, 45, 68, 109}
"""Xids that a program mostly causes itself; NVIDIA's drivers ignore them too."""
_TAKE_OUT = (
    "Take it out of service (taint it, drain the node), then reset the GPU or reboot; reseat or replace it when it "
    "comes "
    "back. If it is in a ResourceSlice it must be tainted or removed."
)


def nvidia_findings(host: Host) -> Iterator[Finding]:
    """Everything that NVML and its neighbours tell."""
    gpus = [device for device in host.devices if device.kind is Kind.GPU and device.vendor_name == "NVIDIA"]
    yield from _whole(host, gpus)
    for device in gpus:
        if device.nvml is not None:
            yield from _one(device, device.nvml, host)
    yield from _xids(host)
    yield from _nvlinks(gpus)


def _host(host: Host) -> ObjectRef:
    return ObjectRef("Host", host.machine.hostname or "host")


def _driven(device: Device) -> bool:
    return device.function is not None and device.function.driver == "nvidia"


def _whole(host: Host, gpus: list[Device]) -> Iterator[Finding]:
    nvml = host.nvml
    for_containers = [
        device
        for device in gpus
        if device.function is not None and device.function.driver in {None, "nouveau"} and device.nvml is None
    ]
    drivers_shown = any(function.driver for function in host.functions.values())
    if for_containers and drivers_shown and (nvml is None or nvml.init):
        nouveau = any(device.function and device.function.driver == "nouveau" for device in for_containers)
        yield rules.NVIDIA_NOT_LOADED.finding(
            f"{listed(titled(device) for device in for_containers)}: "
            + ("nouveau drives it, not NVIDIA's driver" if nouveau else "NVIDIA's driver is not bound"),
            _host(host),
            hint="Install NVIDIA's kernel driver and keep nouveau from loading (blacklist nouveau, new initramfs, "
            "reboot): neither containers nor the DRA driver can use a GPU through nouveau."
            if nouveau
            else "Load it (modprobe nvidia), or see in the kernel log (NVRM) why it does not take the device: not "
            "installed, built for another kernel, or too old for the GPU.",
        )
    if nvml is None:
        return
    if nvml.init == VERSION_MISMATCH:
        loaded = host.modules.get("nvidia")
        versions = f" (loaded: {loaded}" + (f", library: {nvml.library})" if nvml.library else ")") if loaded else ""
        yield rules.VERSION_MISMATCH.finding(
            f"NVML: driver and library versions differ{versions}: nothing that uses NVML works until they agree",
            _host(host),
            evidence={"kernelModule": loaded or "", "library": nvml.library},
        )
    elif nvml.init and nvml.init not in {LIBRARY_MISSING, DRIVER_NOT_LOADED}:
        yield rules.NVML_FAILED.finding(f"NVML could not be asked: {nvml.init}", _host(host))
    if nvml.count_error:
        yield rules.NVML_FAILED.finding(f"NVML did not list the GPUs: {nvml.count_error}", _host(host))
    if not nvml.init and not nvml.count_error:
        for device in gpus:
            if _driven(device) and device.nvml is None:
                yield rules.NOT_IN_NVML.finding(
                    f"{titled(device)} is bound to the nvidia driver and NVML does not know it", subject(device)
                )


def _one(device: Device, gpu: NvmlGpu, host: Host) -> Iterator[Finding]:
    if gpu.lost:
        yield rules.GPU_LOST.finding(
            f"{device.label} {device.address} is lost (NVML: GPU is lost); the other GPUs are not concerned",
            subject(device),
            hint=_TAKE_OUT,
        )
        return
    if gpu.handle_error:
        yield rules.NVML_FAILED.finding(
            f"{device.label} {device.address}: NVML gives no handle for index {gpu.index}: {gpu.handle_error}",
            subject(device),
        )
        return
    yield from _mig(device, gpu, host)
    if gpu.ecc_uncorrected or gpu.remap_failed or gpu.remap_pending:
        what = []
        if gpu.ecc_uncorrected:
            what.append(f"{gpu.ecc_uncorrected} uncorrected ECC errors since the driver was loaded")
        if gpu.remap_failed:
            what.append("a row could not be remapped")
        if gpu.remap_pending:
            what.append("a remapping waits for a reset")
        yield rules.ECC.finding(
            f"{device.label} {device.address}: {listed(what)}",
            subject(device),
            severity=None if gpu.ecc_uncorrected or gpu.remap_failed else Severity.WARNING,
        )
    if gpu.recovery:
        yield rules.RECOVERY.finding(
            f"{device.label} {device.address}: the driver asks for {gpu.recovery.replace('-', ' ')}", subject(device)
        )
    if gpu.errors:
        calls = listed((f"{call}: {error}" for call, error in sorted(gpu.errors.items())), most=3)
        yield rules.NVML_FAILED.finding(f"{device.label} {device.address}: {calls}", subject(device))


def _mig(device: Device, gpu: NvmlGpu, host: Host) -> Iterator[Finding]:
    if gpu.mig is not None and gpu.mig_pending is not None and gpu.mig != gpu.mig_pending:
        now, then = ("on", "off") if gpu.mig else ("off", "on")
        yield rules.MIG_PENDING.finding(
            f"{device.label} {device.address}: MIG mode is {now} and will be {then} after a reset", subject(device)
        )
    if not gpu.mig or gpu.mig_instances or "nvmlDeviceGetMigDeviceHandleByIndex" in gpu.errors:
        return
    others = [
        other.label
        for other in host.devices
        if other is not device and other.nvml is not None and other.kind is Kind.GPU and not other.nvml.mig
        and not other.nvml.lost
    ]  # fmt: skip
    rest = f"it then publishes {listed(others)} alone" if others else "it then publishes no whole GPU of this node"
    yield rules.MIG_EMPTY.finding(
        f"{device.label} {device.address} is in MIG mode and has no instances: it can be used neither whole nor in "
        "part. "
        f"The NVIDIA DRA driver (without DynamicMIG) leaves it out since 25.12: {rest}. The NVIDIA device plugin with "
        "strategy single does not start on such a node; with strategy mixed it leaves the GPU out (older releases fail "
        "too)",
        subject(device),
        hint=f"Create GPU and compute instances (nvidia-smi mig -i {gpu.index} -cgi PROFILE -C), or switch MIG off "
        f"(nvidia-smi -i {gpu.index} -mig 0).",
    )


def _xids(host: Host) -> Iterator[Finding]:
    seen: dict[str, dict[int, str]] = {}
    for xid in host.xids:
        seen.setdefault(xid.address, {})[xid.code] = xid.text
    for gpu in host.nvml.gpus if host.nvml is not None else []:
        for code in gpu.xids:
            seen.setdefault(gpu.address or f"index {gpu.index}", {}).setdefault(code, "reported by NVML")
    for address, codes in sorted(seen.items()):
        device = host.device_at(address)
        name = f"{device.label} {address}" if device is not None else address
        harmless = set(codes) <= PROGRAM_XIDS
        texts = listed((f"Xid {code}" + (f" ({text})" if text else "") for code, text in sorted(codes.items())), most=4)
        yield rules.XID.finding(
            f"{name}: {texts}" + ("; mostly a program's own fault" if harmless else ""),
            subject(device) if device is not None else _host(host),
            severity=Severity.INFO if harmless else None,
            evidence={"xids": sorted(codes)},
        )


def _nvlinks(gpus: list[Device]) -> Iterator[Finding]:
    most: dict[str, int] = {}
    for device in gpus:
        if device.nvml is not None:
            most[device.product] = max(most.get(device.product, 0), device.nvml.nvlinks)
    for device in gpus:
        gpu = device.nvml
        if gpu is None or gpu.lost or not gpu.nvlinks_down or gpu.nvlinks >= most[device.product]:
            continue
        yield rules.NVLINK_DOWN.finding(
            f"{device.label} {device.address} has {gpu.nvlinks} active NVLinks, its neighbours {most[device.product]}; "
            f"down: {', '.join(map(str, gpu.nvlinks_down))}",
            subject(device),
        )
