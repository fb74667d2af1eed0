"""The state of a cluster in memory: objects and the indexes over them. See :class:`Inventory`."""

from dractl.inventory.ids import DeviceId, Key, PoolId
from dractl.inventory.inventory import Inventory, Provenance, key_of, kind_of
from dractl.inventory.links import Holder, LinkState, PodClaim
from dractl.inventory.pools import Pool, PublishedDevice
from dractl.inventory.release import Release, parse_release, release_of

__all__ = [
    "DeviceId",
    "Holder",
    "Inventory",
    "Key",
    "LinkState",
    "PodClaim",
    "Pool",
    "PoolId",
    "Provenance",
    "PublishedDevice",
    "Release",
    "key_of",
    "kind_of",
    "parse_release",
    "release_of",
]
