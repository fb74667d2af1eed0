"""Feature gates by release."""

from __future__ import annotations

import pytest

from dractl.kube.gates import GATES, enabled, parse_release, stage

FACTS = {
    # gate: defaults in 1.30 .. 1.37; None where the release does not know the gate
    "DynamicResourceAllocation": (False, False, False, False, True, True, True, True),
    "DRAAdminAccess": (None, None, False, False, True, True, True, True),
    "DRAPrioritizedList": (None, None, None, False, True, True, True, True),
    "DRAResourceClaimDeviceStatus": (None, None, False, True, True, True, True, True),
    "DRAPartitionableDevices": (None, None, None, False, False, False, True, True),
    "DRADeviceTaints": (None, None, None, False, False, False, True, True),
    "DRADeviceTaintRules": (None, None, None, None, None, False, False, True),
    "DRAConsumableCapacity": (None, None, None, None, False, False, True, True),
    "DRAExtendedResource": (None, None, None, None, False, False, True, True),
    "DRADeviceBindingConditions": (None, None, None, None, False, False, True, True),
    "DRAListTypeAttributes": (None, None, None, None, None, None, False, False),
    "DRAFractionalCapacityRange": (None, None, None, None, None, None, None, False),
    "DeclarativeValidationBeta": (None, None, None, None, None, None, True, True),
    "KubeletPodResourcesDynamicResources": (False, False, False, False, True, True, True, None),
}


@pytest.mark.parametrize("gate", FACTS)
def test_defaults(gate: str) -> None:
    stages = [stage(gate, (1, minor)) for minor in range(30, 38)]
    assert tuple(None if found is None else found.default for found in stages) == FACTS[gate]


def test_settings_of_locked_and_unknown_gates_are_ignored() -> None:
    assert enabled((1, 36), {"DRAAdminAccess": False})["DRAAdminAccess"]
    assert not enabled((1, 35), {"DRAAdminAccess": False})["DRAAdminAccess"]
    assert "DRAFractionalCapacityRange" not in enabled((1, 36), {"DRAFractionalCapacityRange": True})


def test_a_gate_is_off_when_what_it_needs_is_off() -> None:
    on = enabled((1, 36), {"DRADeviceTaintRules": True})
    assert on["DRADeviceTaintRules"]
    off = enabled((1, 36), {"DRADeviceTaintRules": True, "DRADeviceTaints": False})
    assert not off["DRADeviceTaintRules"]
    old = enabled((1, 33))
    assert not old["DRAResourceClaimDeviceStatus"], "on by default, but DynamicResourceAllocation is off"
    assert not enabled((1, 36), {"DRAResourceClaimDeviceStatus": False})["DRADeviceBindingConditions"]


def test_every_need_is_a_gate() -> None:
    for gate in GATES.values():
        assert all(need in GATES for need in gate.needs), gate.name


@pytest.mark.parametrize(
    ("text", "release"), [("1.36", (1, 36)), ("v1.36.2", (1, 36)), ("1.35+", (1, 35)), ("v1.34.1-gke.100", (1, 34))]
)
def test_parse_release(text: str, release: tuple[int, int]) -> None:
    assert parse_release(text) == release


@pytest.mark.parametrize("text", ["", "1", "latest", "1.x"])
def test_parse_release_refuses(text: str) -> None:
    with pytest.raises(ValueError, match="not a Kubernetes release"):
        parse_release(text)
