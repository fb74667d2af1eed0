"""The example driver, whose devices are made up. Source: kubernetes-sigs/dra-example-driver (July 2026)."""

from __future__ import annotations

from dractl.generate.drivers.form import Attribute, Capacity, ConfigKind, DeviceClassData, DeviceForm, Driver

GPU = Driver(
    name="gpu.example.com",
    title="Made-up GPUs of the example driver",
    source="kubernetes-sigs/dra-example-driver",
    forms=(
        DeviceForm(
            "gpu",
            "made-up",
            "gpu-{device.number}",
            (
                Attribute("index", "int", "device.number"),
                Attribute("uuid", "string", "example.uuid"),
                Attribute("model", "string", "=LATEST-GPU-MODEL"),
                Attribute("driverVersion", "version", "=1.0.0"),
            ),
            (Capacity("memory", "=80Gi"), Capacity("compute", "=100")),
        ),
    ),
    classes=(DeviceClassData("gpu.example.com", "device.driver == 'gpu.example.com'"),),
    configs=(
        ConfigKind(
            "gpu.resource.example.com/v1alpha1",
            "GpuConfig",
            (("sharing.strategy", "TimeSlicing | SpacePartitioning"),),
        ),
    ),
    notes=("the driver makes its devices up, eight by default; they have nothing to do with the hardware",),
)

DRIVERS = (GPU,)
