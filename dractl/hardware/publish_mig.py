"""How the NVIDIA DRA driver publishes GPUs with MIG: as they are cut now, or (DynamicMIG) as they could be. Pure.

Source: kubernetes-sigs/dra-driver-nvidia-gpu, cmd/gpu-kubelet-plugin/{mig,partitions}.go; see ``generate.drivers.mig``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dractl.generate.drivers import DeviceForm
from dractl.generate.drivers.mig import AMPERE, BY_DEVICE, PLACEMENTS
from dractl.generate.drivers.nvidia import GPU, MIG_CAPACITY
from dractl.hardware.facts import Facts, mig_engines, mig_names, minor_of, nvidia_devices, nvidia_facts
from dractl.hardware.model import Device, Host, MigProfile

if TYPE_CHECKING:
    from dractl.hardware.publish import Settings

Json = dict[str, Any]
Make = Callable[[DeviceForm, Facts, "Settings", list[str]], "Json | None"]
_SLICES = 8
_CAPITAL = re.compile(r"([A-Z])")


def static_allows(form: DeviceForm, facts: Facts, host: Host, settings: Settings) -> bool:
    """Without DynamicMIG: since 25.12 a GPU in MIG mode is published by its MIG devices alone."""
    if form.type != "gpu":
        return True
    device = host.device_at(str(facts.get("pci.address", "")))
    in_mode = device is not None and device.nvml is not None and bool(device.nvml.mig)
    return not in_mode or not settings.at_least("25.12")


def with_slices(made: Json, facts: Facts) -> Json:
    """A static MIG device also has one capacity for each memory slice of its placement."""
    for number in facts.get("mig.slices", []):
        made.setdefault("capacity", {})[f"memorySlice{number}"] = {"value": "1"}
    return made


def profiles_of(device: Device) -> tuple[list[MigProfile], bool]:
    """The GPU's profiles with placements, and whether they come from the table instead of NVML."""
    gpu = device.nvml
    if gpu is not None and gpu.mig_profiles and all(profile.starts for profile in gpu.mig_profiles):
        return gpu.mig_profiles, False
    known = BY_DEVICE.get(device.function.device or 0, ()) if device.function is not None else ()
    if gpu is not None and gpu.mig_unsupported:
        return [], False
    return [
        MigProfile(
            entry.id, entry.name, round(entry.gib * 1024) << 20, entry.multiprocessors, entry.copy_engines,
            entry.decoders, 0, entry.jpeg_engines, entry.ofa_engines, *PLACEMENTS[entry.id],
        )
        for entry in known
    ], bool(known)  # fmt: skip


def dynamic(host: Host, settings: Settings, notes: list[str], make: Make) -> tuple[list[Json], list[list[Json]]]:
    """Counter sets of all GPUs, and one group of devices for each GPU: the whole one and every possible MIG device."""
    # a MIG device that is made on demand has no UUID yet
    whole_form, mig_form = GPU.forms[0], _without(GPU.forms[1], "uuid")
    counters: list[Json] = []
    groups: list[list[Json]] = []
    for device in nvidia_devices(host):
        facts = nvidia_facts(device, host)
        profiles, from_table = profiles_of(device)
        if from_table:
            _note(notes, "MIG sizes are from NVIDIA's documents; the driver's own differ by some MiB")
        gpu = device.nvml
        in_mode = gpu is not None and bool(gpu.mig)
        fixed = _is_ampere(device) and settings.at_least("0.4")
        whole = make(whole_form, facts, settings, notes)
        if not profiles or (fixed and not in_mode):
            groups.append([whole] if whole is not None else [])
            continue
        name = f"gpu-{minor_of(device, nvidia_devices(host))}-counter-set"
        most = _maxima(profiles)
        counters.append({"name": name, "counters": _counters(most, range(_slices_of(profiles)))})
        made = []
        if whole is not None and not fixed:
            whole["capacity"] = {entry.name: {"value": _amount(most[entry.fact])} for entry in MIG_CAPACITY}
            whole["consumesCounters"] = [{"counterSet": name, "counters": _counters(most, range(_slices_of(profiles)))}]
            made.append(whole)
        made += _placements(facts, profiles, name, mig_form, settings, notes, make)
        groups.append(sorted(made, key=lambda one: str(one["name"])))
    return counters, [group for group in groups if group]


def _without(form: DeviceForm, name: str) -> DeviceForm:
    return replace(form, attributes=tuple(attribute for attribute in form.attributes if attribute.name != name))


def _placements(
    facts: Facts, profiles: list[MigProfile], counter_set: str, form: DeviceForm, settings: Settings, notes: list[str],
    make: Make,
) -> list[Json]:  # fmt: skip
    made = []
    for profile in profiles:
        own = {**mig_engines(profile), "mig.memory": profile.memory}
        for start in profile.starts:
            entry = make(form, {**facts, **own, **mig_names(profile.name, profile.id, start)}, settings, notes)
            if entry is None:
                continue
            taken = _counters(own, range(start, start + profile.size))
            entry["consumesCounters"] = [{"counterSet": counter_set, "counters": taken}]
            made.append(entry)
    return made


def _is_ampere(device: Device) -> bool:
    if device.nvml is not None and device.nvml.architecture:
        return device.nvml.architecture == "Ampere"
    return device.function is not None and (device.function.device or 0) in AMPERE


def _slices_of(profiles: list[MigProfile]) -> int:
    return max((start + profile.size for profile in profiles for start in profile.starts), default=_SLICES)


def _maxima(profiles: list[MigProfile]) -> Facts:
    each = [{**mig_engines(profile), "mig.memory": profile.memory} for profile in profiles]
    return {name: max(one[name] for one in each) for name in each[0]}


def _counters(values: Facts, slices: range) -> Json:
    named = {_kebab(entry.name): {"value": _amount(values[entry.fact])} for entry in MIG_CAPACITY}
    return {**named, **{f"memory-slice-{number}": {"value": "1"} for number in slices}}


def _kebab(name: str) -> str:
    return _CAPITAL.sub(lambda match: "-" + match[1].lower(), name)


def _amount(value: int) -> str:
    from dractl.hardware.publish import quantity

    return quantity(value)


def _note(notes: list[str], text: str) -> None:
    if text not in notes:
        notes.append(text)
