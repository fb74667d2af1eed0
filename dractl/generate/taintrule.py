"""DeviceTaintRules: take devices out of service, with what that does to the fleet."""

from __future__ import annotations

from dataclasses import dataclass

from dractl.errors import DractlError
from dractl.explain.words import count as counted
from dractl.explain.words import listing, near, ranges
from dractl.generate.manifest import Manifest, Said, manifest, metadata
from dractl.inventory import Inventory
from dractl.inventory.pools import PublishedDevice

EFFECTS = ("NoSchedule", "NoExecute", "None")
_WHY = {
    "NoSchedule": "no new claim gets them; pods that have them stay",
    "NoExecute": "no new claim gets them, and pods that have them are evicted",
    "None": "only tells; nothing is kept away",
}


@dataclass(frozen=True, slots=True)
class Chosen:
    """Which devices are tainted: by driver, pool, device; at least one is set."""

    driver: str | None = None
    pool: str | None = None
    device: str | None = None


def taint_rule(
    name: str, chosen: Chosen, key: str, value: str | None, effect: str, release: tuple[int, int]
) -> Manifest:
    """A rule in the newest version that the release serves.

    Raises:
        DractlError: for an unknown effect, and for a selector that is empty: it would taint all devices.
    """
    if effect not in EFFECTS:
        raise DractlError(f"--effect {effect}: there is no such effect", f"Effects are {listing(EFFECTS, 3)}.")
    if not (chosen.driver or chosen.pool or chosen.device):
        raise DractlError(
            "without a selector all devices of the cluster would be tainted", "Give --driver, --pool or --device."
        )
    version = "v1" if release >= (1, 37) else "v1beta2" if release >= (1, 36) else "v1alpha3"
    tree = {
        "apiVersion": f"resource.k8s.io/{version}",
        "kind": "DeviceTaintRule",
        "metadata": metadata(name),
        "spec": {
            "deviceSelector": Said(
                {"driver": chosen.driver, "pool": chosen.pool, "device": chosen.device},
                "all of these have to fit; a field left out fits everything",
            ),
            "taint": {
                "key": Said(key, "claims with a toleration of this key are not kept away"),
                "value": value,
                "effect": Said(effect, _WHY[effect]),
            },
        },
    }
    head = [f"Taints {_words(chosen)}."]
    if version != "v1":
        head.append(
            f"The API server serves resource.k8s.io/{version} only with --runtime-config, and the rule is heeded only "
            "with the gate DRADeviceTaintRules."
        )
    return manifest(tree, head)


def _words(chosen: Chosen) -> str:
    what = f"device {chosen.device}" if chosen.device else "all devices"
    pool = f" of pool {chosen.pool}" if chosen.pool else " of every pool" if chosen.device else ""
    return f"{what}{pool}" + (f" of driver {chosen.driver}" if chosen.driver else "")


@dataclass(frozen=True, slots=True)
class Reach:
    """What a rule does to a fleet: ``devices`` tainted, and one sentence about them."""

    devices: int
    text: str


def reach(inventory: Inventory, chosen: Chosen, effect: str) -> Reach:
    """The devices that a rule taints, and who uses them."""
    found = [one for one in inventory.devices.values() if _selected(one, chosen)]
    if not found:
        pools = {pool.pool for pool in inventory.pools}
        drivers = {pool.driver for pool in inventory.pools}
        alike = [*near(chosen.driver or "", drivers), *near(chosen.pool or "", pools)]
        hint = f"; did you mean {listing(alike, 3, 'or')}" if alike else ""
        return Reach(0, f"taints no device of the fleet{hint}")
    nodes = sorted({one.node_name for one in found if one.node_name})
    holders = [holder for one in found for holder in inventory.holders.get(one.id, [])]
    used = len({one.id for one in found if inventory.holders.get(one.id)})
    out = f"taints {counted(len(found), 'device')} on {ranges(nodes, 4) or 'no named node'}; {used} in use"
    pods = sorted({f"{pod.meta.namespace}/{pod.meta.name}" for holder in holders for pod in holder.pods})
    if effect == "NoExecute" and pods:
        out += f"; evicts {listing(pods, 5)} unless their claims tolerate it"
    return Reach(len(found), out)


def _selected(one: PublishedDevice, chosen: Chosen) -> bool:
    return (
        chosen.driver in (None, one.id.driver)
        and chosen.pool in (None, one.id.pool)
        and chosen.device in (None, one.id.device)
    )
