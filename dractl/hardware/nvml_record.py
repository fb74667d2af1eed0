"""NVML's answers as JSON and back, so that a capture can carry them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

from dractl.hardware.model import MigInstance, MigProfile, Nvml, NvmlGpu


def to_json(nvml: Nvml) -> dict[str, Any]:
    """All fields by their names."""
    return asdict(nvml)


def from_json(data: Mapping[str, Any]) -> Nvml:
    """The other way round; unknown fields of newer captures are left out. Raises on what is no such record."""
    nvml = Nvml(**_known(Nvml, data, {"gpus"}))
    for entry in data.get("gpus", []):
        gpu = NvmlGpu(**_known(NvmlGpu, entry, {"mig_instances", "mig_profiles"}))
        gpu.mig_instances = [MigInstance(**_known(MigInstance, item)) for item in entry.get("mig_instances", [])]
        for item in entry.get("mig_profiles", []):
            values = _known(MigProfile, item)
            values["starts"] = tuple(int(start) for start in values.get("starts", ()))
            gpu.mig_profiles.append(MigProfile(**values))
        nvml.gpus.append(gpu)
    return nvml


def _known(kind: type[Any], data: Mapping[str, Any], without: set[str] | None = None) -> dict[str, Any]:
    names = {field.name for field in fields(kind)} - (without or set())
    return {name: value for name, value in data.items() if name in names}
