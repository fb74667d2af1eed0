"""Timings (marked ``benchmarks``): they print ratios, and are not part of the test run."""

from __future__ import annotations

import time

import pytest

from dractl.cel.environment import Environment
from dractl.cel.selector import SelectorCache, compile_selector
from dractl.kube.objects import Device, DeviceAttribute, DeviceCapacity
from dractl.kube.quantity import Quantity

DRIVER = "gpu.nvidia.com"
SELECTORS = (
    'device.driver == "gpu.nvidia.com"',
    'device.attributes["gpu.nvidia.com"].type == "mig" && device.attributes["gpu.nvidia.com"].index < 4',
    'device.attributes["gpu.nvidia.com"].productName.startsWith("NVIDIA H100")',
    'device.capacity["gpu.nvidia.com"].memory.compareTo(quantity("40Gi")) >= 0',
    'device.driver == "gpu.nvidia.com" && device.attributes["gpu.nvidia.com"].productName in '
    '["NVIDIA A100-SXM4-80GB", "NVIDIA H100 80GB HBM3"] && has(device.attributes["gpu.nvidia.com"].uuid)',
)
# what the second opinion cannot compile (it has no quantities) it gets in a form that it can
SECOND_OPINION = {SELECTORS[3]: 'device.capacity["gpu.nvidia.com"].memory >= 42949672960'}
COUNT = 100_000


def _devices(count: int, distinct: bool) -> list[Device]:
    memory = Quantity.parse("80Gi")
    return [
        Device(
            name=f"gpu-{index}",
            attributes={
                "type": DeviceAttribute("string", "mig" if index % 2 else "gpu"),
                "index": DeviceAttribute("int", index % 8),
                "productName": DeviceAttribute("string", f"NVIDIA {('A100-SXM4-80GB', 'H100 80GB HBM3')[index % 2]}"),
                "uuid": DeviceAttribute("string", f"GPU-{index if distinct else index % 8}"),
                "driverVersion": DeviceAttribute("version", "550.54.15"),
                "resource.kubernetes.io/pcieRoot": DeviceAttribute("string", f"pci0000:{index % 8:02x}"),
            },
            capacity={"memory": DeviceCapacity(memory)},
        )
        for index in range(count)
    ]


def _as_json(device: Device) -> dict:
    return {
        "driver": DRIVER,
        "attributes": {DRIVER: {name: attribute.value for name, attribute in device.attributes.items()}},
        "capacity": {DRIVER: {name: amount.value.value() for name, amount in device.capacity.items()}},
    }


@pytest.mark.benchmarks
@pytest.mark.parametrize("expression", SELECTORS)
def test_against_second_opinion(expression: str, capsys: pytest.CaptureFixture[str]) -> None:
    cel = pytest.importorskip("cel_expr_python.cel", exc_type=ImportError)
    devices = _devices(COUNT, distinct=True)
    selector = compile_selector(expression, Environment())
    start = time.process_time()
    matches = sum(selector.evaluate(DRIVER, device).match for device in devices)
    own = COUNT / (time.process_time() - start)

    env = cel.NewEnv(variables={"device": cel.Type.DYN})
    program = env.compile(SECOND_OPINION.get(expression, expression))
    sample = devices[: COUNT // 10]
    start = time.process_time()
    theirs = [program.eval(data={"device": _as_json(device)}).value() for device in sample]
    other = len(sample) / (time.process_time() - start)
    assert sum(theirs) == sum(selector.evaluate(DRIVER, device).match for device in sample)
    assert matches > 0
    with capsys.disabled():
        print(f"\n{own:9,.0f}/s against {other:9,.0f}/s: {own / other:5.1f} times  {expression[:70]}")


@pytest.mark.benchmarks
def test_identical_nodes(capsys: pytest.CaptureFixture[str]) -> None:
    devices = _devices(80_000, distinct=False)
    for expression in SELECTORS:
        cache = SelectorCache(compile_selector(expression, Environment()))
        start = time.process_time()
        matches = sum(cache.evaluate(DRIVER, device).match for device in devices)
        seconds = time.process_time() - start
        assert 0 < matches <= len(devices)
        with capsys.disabled():
            print(f"\n{seconds:.2f} s for {len(devices):,} devices, {len(cache)} distinct  {expression[:70]}")
        assert seconds < 1
