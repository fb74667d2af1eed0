"""What NVIDIA's management library says, through ``pynvml``. Source: the NVML API reference.

Every call may fail alone: one lost GPU must not hide the others. The library is asked in a thread of its own, because
it can hang in the kernel when a GPU has fallen off the bus.
"""

from __future__ import annotations

import ctypes
import re
import threading
from collections.abc import Callable, Iterable
from typing import Any

from dractl.hardware.model import MigInstance, MigProfile, Nvml, NvmlGpu, Source, SourceState

TIMEOUT = 30.0
"""Seconds to wait for the library; with many GPUs and no persistence mode it takes several."""
_SLOW = 1.0
_NOT_SUPPORTED, _NO_PERMISSION, _NOT_FOUND, _NOT_LOADED, _NO_LIBRARY = 3, 4, 6, 9, 12
_NO_FUNCTION, _LOST, _RESET, _MISMATCH = 13, 15, 16, 18
_ERRORS = {
    1: "NVML_ERROR_UNINITIALIZED", 2: "NVML_ERROR_INVALID_ARGUMENT", _NOT_SUPPORTED: "NVML_ERROR_NOT_SUPPORTED",
    _NO_PERMISSION: "NVML_ERROR_NO_PERMISSION", _NOT_FOUND: "NVML_ERROR_NOT_FOUND", 7: "NVML_ERROR_INSUFFICIENT_SIZE",
    8: "NVML_ERROR_INSUFFICIENT_POWER", _NOT_LOADED: "NVML_ERROR_DRIVER_NOT_LOADED", 10: "NVML_ERROR_TIMEOUT",
    11: "NVML_ERROR_IRQ_ISSUE", _NO_LIBRARY: "NVML_ERROR_LIBRARY_NOT_FOUND",
    _NO_FUNCTION: "NVML_ERROR_FUNCTION_NOT_FOUND",
    14: "NVML_ERROR_CORRUPTED_INFOROM", _LOST: "NVML_ERROR_GPU_IS_LOST", _RESET: "NVML_ERROR_RESET_REQUIRED",
    17: "NVML_ERROR_OPERATING_SYSTEM", _MISMATCH: "NVML_ERROR_LIB_RM_VERSION_MISMATCH", 19: "NVML_ERROR_IN_USE",
    20: "NVML_ERROR_MEMORY", 21: "NVML_ERROR_NO_DATA", 23: "NVML_ERROR_INSUFFICIENT_RESOURCES",
    999: "NVML_ERROR_UNKNOWN",
}  # fmt: skip
LIBRARY_MISSING, DRIVER_NOT_LOADED = _ERRORS[_NO_LIBRARY], _ERRORS[_NOT_LOADED]
VERSION_MISMATCH, GPU_IS_LOST = _ERRORS[_MISMATCH], _ERRORS[_LOST]
NO_PERMISSION = _ERRORS[_NO_PERMISSION]
TIMED_OUT = "no answer"
_SILENT = {_NOT_SUPPORTED, _NO_FUNCTION}
_BRANDS = {1: "Quadro", 2: "Tesla", 3: "NVS", 5: "GeForce", 6: "Titan", 7: "NvidiaVApps", 8: "NvidiaVPC",
           9: "NvidiaVCS", 10: "NvidiaVWS", 11: "NvidiaVGaming", 12: "QuadroRTX", 13: "NvidiaRTX", 14: "Nvidia",
           15: "GeForceRTX", 16: "TitanRTX"}  # fmt: skip
_ARCHITECTURES = {2: "Kepler", 3: "Maxwell", 4: "Pascal", 5: "Volta", 6: "Turing", 7: "Ampere", 8: "Ada Lovelace",
                  9: "Hopper", 10: "Blackwell", 13: "Rubin"}  # fmt: skip
_VIRTUALIZATION = {1: "passthrough", 2: "vgpu", 3: "host-vgpu", 4: "host-vsga"}
_RECOVERY = {1: "reset", 2: "reboot", 3: "drain-p2p", 4: "drain-and-reset", 5: "recover-imex-domain", 6: "bus-reset",
             7: "reboot"}  # fmt: skip
_ADDRESSING = {0: "None", 1: "HMM", 2: "ATS"}
_FIELD_RECOVERY = 230
_MAX_LINKS = 18
_MAX_GPUS = 256
_MAX_PROFILES = 18
_XID_EVENT = 0x8
_ADDRESS = re.compile(r"^([0-9a-f]{4,8}):([0-9a-f]{2}):([0-9a-f]{2})\.([0-7])$")
_MIG_NAME = re.compile(r"\b(\d+g\.\d+gb(?:[+-][a-z.]+)?)\s*$", re.IGNORECASE)


def read_nvml(
    expected: Iterable[str] = (), progress: Callable[[str], None] | None = None, timeout: float = TIMEOUT
) -> tuple[Nvml, Source]:
    """Ask the library. ``expected`` are addresses of GPUs that the nvidia driver is bound to, to be asked for one by
    one where the library does not list them. Never raises."""
    result = Nvml(init=TIMED_OUT)
    worker = threading.Thread(target=_fill, args=(result, list(expected)), daemon=True)
    worker.start()
    worker.join(_SLOW)
    if worker.is_alive() and progress is not None:
        progress("asking NVML...")
    worker.join(max(0.0, timeout - _SLOW))
    if worker.is_alive():
        # what the thread has gathered so far is of no use: it may still be changing
        hung = Nvml(init=TIMED_OUT)
        return hung, source_of(hung, timeout)
    return result, source_of(result, timeout)


def source_of(nvml: Nvml, timeout: float = TIMEOUT) -> Source:
    """How asking NVML went, in words."""
    if not nvml.init:
        lost = sum(1 for gpu in nvml.gpus if gpu.lost)
        text = f"{len(nvml.gpus)} GPUs, driver {nvml.driver or 'unknown'}" + (f", {lost} lost" if lost else "")
        state = SourceState.PARTIAL if lost or nvml.count_error else SourceState.READ
        return Source("nvml", state, text + (f"; {nvml.count_error}" if nvml.count_error else ""))
    reasons = {
        LIBRARY_MISSING: "libnvidia-ml.so.1 is not installed here",
        DRIVER_NOT_LOADED: "NVML: driver not loaded (the nvidia kernel module is missing)",
        VERSION_MISMATCH: "NVML: the library's version is not the loaded driver's",
        NO_PERMISSION: "NVML: no permission to talk to the driver",
        TIMED_OUT: f"NVML did not answer within {timeout:g} s: a GPU may hang in the kernel",
    }
    hint = ""
    if nvml.init == LIBRARY_MISSING:
        hint = "in a container give it the driver's libraries (NVIDIA_DRIVER_CAPABILITIES=utility)"
    if nvml.init == DRIVER_NOT_LOADED:
        hint = "load the nvidia kernel module on this host"
    absent = nvml.init in {LIBRARY_MISSING, DRIVER_NOT_LOADED}
    state = SourceState.ABSENT if absent else SourceState.FAILED
    return Source("nvml", state, reasons.get(nvml.init, f"NVML: {nvml.init}"), hint)


def address_of(bus_id: object) -> str | None:
    """NVML's bus id (eight digits of domain, capitals) as sysfs writes it; None if it is no address."""
    text = bus_id.decode("ascii", "replace") if isinstance(bus_id, bytes) else str(bus_id)
    match = _ADDRESS.match(text.strip().strip("\0").lower())
    return f"{int(match[1], 16):04x}:{match[2]}:{match[3]}.{match[4]}" if match else None


def bus_id_of(address: str) -> bytes:
    """The other way round."""
    domain, rest = address.split(":", 1)
    return f"{int(domain, 16):08x}:{rest}".upper().encode()


# --- the library ----------------------------------------------------------------------------------------------------


def _error_name(error: Exception) -> str:
    value = getattr(error, "value", None)
    if isinstance(value, int):
        return _ERRORS.get(value, f"NVML error {value}")
    return str(error) or type(error).__name__


def _code(error: Exception) -> int | None:
    value = getattr(error, "value", None)
    if isinstance(value, int):
        return value
    # a function that this pynvml or this library does not have
    return _NO_FUNCTION if isinstance(error, AttributeError) else None


def _fill(result: Nvml, expected: list[str]) -> None:
    try:
        import pynvml
    except Exception as error:
        result.init = f"pynvml can not be imported: {error}"
        return
    try:
        pynvml.nvmlInit()
    except Exception as error:
        result.init = _error_name(error)
        return
    try:
        _read_all(pynvml, result, expected)
    except Exception as error:
        result.count_error = _error_name(error)
    result.init = ""
    try:
        pynvml.nvmlShutdown()
    except Exception:
        # nothing depends on it: the process ends soon
        return


def _read_all(library: Any, result: Nvml, expected: list[str]) -> None:
    result.driver = _text(_quiet(library, "nvmlSystemGetDriverVersion"))
    result.library = _text(_quiet(library, "nvmlSystemGetNVMLVersion"))
    cuda = _quiet(library, "nvmlSystemGetCudaDriverVersion_v2") or _quiet(library, "nvmlSystemGetCudaDriverVersion")
    result.cuda = cuda if isinstance(cuda, int) else None
    count = library.nvmlDeviceGetCount()
    handles: dict[int, Any] = {}
    for index in range(min(int(count), _MAX_GPUS)):
        gpu = NvmlGpu(index)
        result.gpus.append(gpu)
        try:
            handles[index] = library.nvmlDeviceGetHandleByIndex(index)
        except Exception as error:
            gpu.handle_error = _error_name(error)
            gpu.lost = _code(error) == _LOST
            continue
        _Asking(library, handles[index], gpu).everything()
    _ask_for_missing(library, result, expected)
    _events(library, result, handles)


def _quiet(library: Any, name: str) -> Any:
    try:
        return getattr(library, name)()
    except Exception:
        return None


def _text(value: Any) -> str:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return value if isinstance(value, str) else ""


def _ask_for_missing(library: Any, result: Nvml, expected: list[str]) -> None:
    """A GPU without a handle has no address: ask by address for those that the driver is bound to."""
    seen = {gpu.address for gpu in result.gpus}
    blank = [gpu for gpu in result.gpus if gpu.address is None]
    missing = [address for address in expected if address not in seen]
    for address in missing:
        error_name = ""
        lost = False
        try:
            library.nvmlDeviceGetHandleByPciBusId(bus_id_of(address))
        except Exception as error:
            error_name, lost = _error_name(error), _code(error) == _LOST
        if not error_name:
            continue
        alike = [gpu for gpu in blank if gpu.handle_error == error_name]
        if alike:
            alike[0].address = address
            blank.remove(alike[0])
        elif lost:
            result.gpus.append(NvmlGpu(len(result.gpus), address=address, lost=True, handle_error=error_name))
    if len(blank) == 1 and len(missing) == 1 and blank[0].address is None:
        blank[0].address = missing[0]


def _events(library: Any, result: Nvml, handles: dict[int, Any]) -> None:
    """Xid errors that are waiting right now. History is in the kernel's log."""
    try:
        events = library.nvmlEventSetCreate()
    except Exception:
        return
    by_address: dict[int, NvmlGpu] = {}
    registered = False
    for gpu in result.gpus:
        handle = handles.get(gpu.index)
        if handle is None:
            continue
        try:
            library.nvmlDeviceRegisterEvents(handle, _XID_EVENT, events)
            by_address[_pointer(handle)] = gpu
            registered = True
        except Exception:
            continue
    for _ in range(64 if registered else 0):
        try:
            event = library.nvmlEventSetWait_v2(events, 0)
        except Exception:
            break
        gpu_of_event = by_address.get(_pointer(event.device))
        if gpu_of_event is not None and int(event.eventType) == _XID_EVENT:
            gpu_of_event.xids.append(int(event.eventData))
    try:
        library.nvmlEventSetFree(events)
    except Exception:
        return


def _pointer(handle: Any) -> int:
    try:
        return ctypes.cast(handle, ctypes.c_void_p).value or 0
    except (TypeError, ctypes.ArgumentError):
        return id(handle)


class _Asking:
    """Questions about one GPU; an answer that fails is noted and the next is asked."""

    def __init__(self, library: Any, handle: Any, gpu: NvmlGpu) -> None:
        self.library, self.handle, self.gpu = library, handle, gpu

    def ask(self, name: str, *arguments: Any, handle: Any = None) -> Any:
        """The answer, or None. A loss of the GPU on the way is noted on it."""
        if self.gpu.lost:
            return None
        try:
            function = getattr(self.library, name)
            return function(self.handle if handle is None else handle, *arguments)
        except Exception as error:
            code = _code(error)
            if code == _LOST:
                self.gpu.lost = True
            if code not in _SILENT:
                self.gpu.errors[name] = _error_name(error)
            return None

    def number(self, name: str, *arguments: Any, handle: Any = None) -> int | None:
        """A whole number, or None."""
        answer = self.ask(name, *arguments, handle=handle)
        return answer if isinstance(answer, int) else None

    def everything(self) -> None:
        """Fill the GPU."""
        gpu = self.gpu
        place = self.ask("nvmlDeviceGetPciInfo")
        gpu.address = address_of(getattr(place, "busId", "")) if place is not None else None
        gpu.name = _text(self.ask("nvmlDeviceGetName"))
        gpu.uuid = _text(self.ask("nvmlDeviceGetUUID"))
        gpu.serial = _text(self.ask("nvmlDeviceGetSerial"))
        gpu.minor = self.number("nvmlDeviceGetMinorNumber")
        gpu.brand = _BRANDS.get(self.number("nvmlDeviceGetBrand") or 0, "")
        gpu.architecture = _ARCHITECTURES.get(self.number("nvmlDeviceGetArchitecture") or 0, "")
        capability = self.ask("nvmlDeviceGetCudaComputeCapability")
        if isinstance(capability, list | tuple) and len(capability) == 2:
            gpu.compute_capability = f"{capability[0]}.{capability[1]}"
        memory = self.ask("nvmlDeviceGetMemoryInfo")
        total = getattr(memory, "total", None)
        gpu.memory = int(total) if total else None
        gpu.persistence = _flag(self.number("nvmlDeviceGetPersistenceMode"))
        processes = self.ask("nvmlDeviceGetComputeRunningProcesses")
        gpu.processes = len(processes) if isinstance(processes, list | tuple) else None
        mode = self.number("nvmlDeviceGetVirtualizationMode")
        gpu.virtualization = _VIRTUALIZATION.get(mode or 0, "")
        gpu.addressing = _ADDRESSING.get(_or(self.number("nvmlDeviceGetAddressingMode"), -1), "")
        node = self.number("nvmlDeviceGetNumaNodeId")
        gpu.numa_memory = node if node is not None and node >= 0 else None
        self._health()
        self._mig()
        self._nvlink()
        self._fabric()

    def _health(self) -> None:
        gpu = self.gpu
        ecc = self.ask("nvmlDeviceGetEccMode")
        if isinstance(ecc, list | tuple) and len(ecc) == 2:
            gpu.ecc, gpu.ecc_pending = bool(ecc[0]), bool(ecc[1])
            if gpu.ecc:
                # 1: uncorrected, 0: since the driver was loaded
                gpu.ecc_uncorrected = self.number("nvmlDeviceGetTotalEccErrors", 1, 0)
        rows = self.ask("nvmlDeviceGetRemappedRows")
        if isinstance(rows, list | tuple) and len(rows) == 4:
            gpu.remap_pending, gpu.remap_failed = bool(rows[2]), bool(rows[3])
        values = self.ask("nvmlDeviceGetFieldValues", [_FIELD_RECOVERY])
        try:
            if values is not None and values[0].nvmlReturn == 0:
                gpu.recovery = _RECOVERY.get(int(values[0].value.uiVal), "")
        except (AttributeError, IndexError, TypeError):
            gpu.recovery = ""

    # --- MIG --------------------------------------------------------------------------------------------------------

    def _mig(self) -> None:
        gpu = self.gpu
        try:
            mode = self.library.nvmlDeviceGetMigMode(self.handle)
            gpu.mig, gpu.mig_pending = int(mode[0]), int(mode[1])
        except Exception as error:
            gpu.mig_unsupported = _code(error) in _SILENT
            if not gpu.mig_unsupported:
                gpu.errors["nvmlDeviceGetMigMode"] = _error_name(error)
            return
        gpu.max_mig_devices = self.number("nvmlDeviceGetMaxMigDeviceCount")
        self._profiles()
        if not gpu.mig:
            return
        for index in range(min(gpu.max_mig_devices or 0, 64)):
            try:
                handle = self.library.nvmlDeviceGetMigDeviceHandleByIndex(self.handle, index)
            except Exception as error:
                if _code(error) not in {*_SILENT, _NOT_FOUND, 2}:
                    gpu.errors["nvmlDeviceGetMigDeviceHandleByIndex"] = _error_name(error)
                continue
            gpu.mig_instances.append(self._instance(handle))

    def _instance(self, handle: Any) -> MigInstance:
        instance = MigInstance(uuid=_text(self.ask("nvmlDeviceGetUUID", handle=handle)))
        match = _MIG_NAME.search(_text(self.ask("nvmlDeviceGetName", handle=handle)))
        instance.profile = match[1].lower() if match else ""
        instance.gpu_instance = self.number("nvmlDeviceGetGpuInstanceId", handle=handle)
        instance.compute_instance = self.number("nvmlDeviceGetComputeInstanceId", handle=handle)
        attributes = self.ask("nvmlDeviceGetAttributes", handle=handle)
        megabytes = getattr(attributes, "memorySizeMB", None)
        if megabytes:
            instance.memory = int(megabytes) << 20
        if instance.gpu_instance is not None:
            gpu_instance = self.ask("nvmlDeviceGetGpuInstanceById", instance.gpu_instance)
            info = None if gpu_instance is None else self.ask("nvmlGpuInstanceGetInfo", handle=gpu_instance)
            if info is not None:
                instance.profile_id = int(info.profileId)
                instance.start, instance.size = int(info.placement.start), int(info.placement.size)
        return instance

    def _profiles(self) -> None:
        """GPU instance profiles and where they may be placed; needs MIG to be possible, not to be on."""
        for profile in range(_MAX_PROFILES):
            try:
                info = self.library.nvmlDeviceGetGpuInstanceProfileInfo(self.handle, profile)
            except Exception as error:
                if _code(error) == _NO_FUNCTION:
                    return
                continue
            starts, size = self._placements(int(info.id))
            name = _text(getattr(info, "name", b"")).removeprefix("MIG ").lower()
            self.gpu.mig_profiles.append(
                MigProfile(
                    id=int(info.id),
                    name=name,
                    memory=int(info.memorySizeMB) << 20,
                    multiprocessors=int(info.multiprocessorCount),
                    copy_engines=int(info.copyEngineCount),
                    decoders=int(info.decoderCount),
                    encoders=int(info.encoderCount),
                    jpeg_engines=int(info.jpegCount),
                    ofa_engines=int(info.ofaCount),
                    starts=starts,
                    size=size,
                    slices=int(info.sliceCount),
                )
            )

    def _placements(self, profile: int) -> tuple[tuple[int, ...], int]:
        try:
            placement = self.library.c_nvmlGpuInstancePlacement_t
            places = (placement * 64)()
            count = ctypes.c_uint(64)
            self.library.nvmlDeviceGetGpuInstancePossiblePlacements(
                self.handle, profile, ctypes.byref(places), ctypes.byref(count)
            )
        except Exception:
            return (), 0
        found = [(int(place.start), int(place.size)) for place in places[: min(count.value, 64)]]
        return tuple(sorted(start for start, _ in found)), found[0][1] if found else 0

    # --- NVLink -----------------------------------------------------------------------------------------------------

    def _nvlink(self) -> None:
        gpu = self.gpu
        for link in range(_MAX_LINKS):
            try:
                active = self.library.nvmlDeviceGetNvLinkState(self.handle, link)
            except Exception as error:
                if _code(error) in _SILENT and not gpu.nvlinks:
                    return
                continue
            if not active:
                gpu.nvlinks_down.append(link)
                continue
            gpu.nvlinks += 1
            peer = self._peer(link)
            gpu.nvlink_peers[peer] = gpu.nvlink_peers.get(peer, 0) + 1

    def _peer(self, link: int) -> str:
        if self.number("nvmlDeviceGetNvLinkRemoteDeviceType", link) == 2:
            return "switch"
        place = self.ask("nvmlDeviceGetNvLinkRemotePciInfo", link)
        return address_of(getattr(place, "busId", "")) or "unknown" if place is not None else "unknown"

    def _fabric(self) -> None:
        try:
            info = self.library.c_nvmlGpuFabricInfoV_t()
            self.library.nvmlDeviceGetGpuFabricInfoV(self.handle, ctypes.byref(info))
            cluster = bytes(info.clusterUuid)
        except Exception:
            return
        if info.state == 3 and any(cluster):
            text = cluster.hex()
            uuid = "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))
            self.gpu.fabric = f"{uuid}.{info.cliqueId}"


def _flag(value: int | None) -> bool | None:
    return None if value is None else bool(value)


def _or(value: int | None, other: int) -> int:
    return other if value is None else value
