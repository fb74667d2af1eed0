"""For every check of hardware a change of a machine or of its slices that it finds, and one that it does not mind.

The machine is a DGX H100 whose slices say what its drivers publish for it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dractl.hardware.model import Host, NvmlGpu

Json = dict[str, Any]
Change = Callable[[Host, list[Json], dict[str, str]], None]
"""Changes a host, the slices, or the reasons why a node is silent; a silent node has no report."""
NODE = "testhost"
GPU_DRIVER = "gpu.nvidia.com"


def gpus(slices: list[Json]) -> list[Json]:
    """The devices that the GPU driver publishes."""
    return next(item["spec"]["devices"] for item in slices if item["spec"]["driver"] == GPU_DRIVER)


def function_of(host: Host) -> Any:
    """The PCI function of the first GPU."""
    return next(device for device in host.devices if device.kind.value == "gpu").function


def as_it_is(host: Host, slices: list[Json], silent: dict[str, str]) -> None:
    """Nothing is changed."""


def not_there(host: Host, slices: list[Json], silent: dict[str, str]) -> None:
    gpus(slices)[0]["attributes"]["resource.kubernetes.io/pciBusID"] = {"string": "0000:ff:00.0"}


def one_less(host: Host, slices: list[Json], silent: dict[str, str]) -> None:
    gpus(slices).pop()


def other_numa(host: Host, slices: list[Json], silent: dict[str, str]) -> None:
    gpus(slices)[0]["attributes"]["resource.kubernetes.io/numaNode"] = {"int": 7}


def mig_on(host: Host, slices: list[Json], silent: dict[str, str]) -> None:
    first = next(device for device in host.devices if device.kind.value == "gpu")
    assert isinstance(first.nvml, NvmlGpu)
    first.nvml.mig = first.nvml.mig_pending = 1


def vfio(host: Host, slices: list[Json], silent: dict[str, str]) -> None:
    function_of(host).driver = "vfio-pci"


def narrow(host: Host, slices: list[Json], silent: dict[str, str]) -> None:
    link = function_of(host).link
    link.width, link.max_width, link.speed, link.max_speed = 8, 16, 32.0, 32.0


def narrow_and_tainted(host: Host, slices: list[Json], silent: dict[str, str]) -> None:
    narrow(host, slices, silent)
    for device in gpus(slices):
        device["taints"] = [{"key": "x.io/narrow", "effect": "NoSchedule"}]


def no_driver(host: Host, slices: list[Json], silent: dict[str, str]) -> None:
    slices[:] = [item for item in slices if item["spec"]["driver"] != GPU_DRIVER]


def no_answer(host: Host, slices: list[Json], silent: dict[str, str]) -> None:
    silent[NODE] = "agent dractl/a cannot be reached through the API server (503)"


HOST_PAIRS: dict[str, tuple[Change, Change]] = {
    "DRA640": (one_less, as_it_is),
    "DRA641": (not_there, as_it_is),
    "DRA642": (other_numa, as_it_is),
    "DRA643": (mig_on, as_it_is),
    "DRA644": (vfio, as_it_is),
    "DRA645": (narrow, narrow_and_tainted),
    "DRA647": (no_driver, one_less),
    "DRA648": (narrow, one_less),
    "DRA649": (no_answer, as_it_is),
}
