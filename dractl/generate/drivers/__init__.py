"""What each known DRA driver publishes and accepts: data, not code.

One file a vendor; ``DRIVERS`` lists them all. ``form`` describes the classes that the data is written in. A fact that
was not found in a public source is left out rather than made up. This package imports nothing but itself.
"""

from __future__ import annotations

from dractl.generate.drivers import accelerators, amd, example, intel, network, nvidia, processors
from dractl.generate.drivers.form import (
    Attribute,
    Capacity,
    ConfigKind,
    DeviceClassData,
    DeviceForm,
    Driver,
    PluginResource,
    release_key,
)

DRIVERS: dict[str, Driver] = {
    driver.name: driver
    for driver in (
        *nvidia.DRIVERS,
        *amd.DRIVERS,
        *intel.DRIVERS,
        *network.DRIVERS,
        *processors.DRIVERS,
        *accelerators.DRIVERS,
        *example.DRIVERS,
    )
}
"""All known drivers by name."""


def driver_names() -> list[str]:
    """Names of all known drivers, sorted."""
    return sorted(DRIVERS)


__all__ = [
    "DRIVERS",
    "Attribute",
    "Capacity",
    "ConfigKind",
    "DeviceClassData",
    "DeviceForm",
    "Driver",
    "PluginResource",
    "driver_names",
    "release_key",
]
