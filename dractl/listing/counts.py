"""Our counts of pools beside those of kube-controller-manager."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from dractl.inventory import Inventory

ServerCount = tuple[int | None, int | None, str | None]
"""Devices, allocation results, and the error if the server does not count this pool."""


def compare_counts(inventory: Inventory, server: Mapping[tuple[str, str], ServerCount]) -> list[str]:
    """One sentence for each pool in which the two differ.

    As the server counts: the devices of the pool's newest generation, and every result of an allocation, adminAccess
    and shares included. Pools that it calls incomplete have no counts.
    """
    allocated = Counter(
        (result.driver, result.pool)
        for claim in inventory.claims.values()
        for result in (claim.allocation.results if claim.allocation else ())
    )
    pools = {(key.driver, key.pool): pool for key, pool in inventory.pools.items()}
    ours = {key: sum(len(item.devices) for item in pool.current) for key, pool in pools.items()}
    drivers = {driver for driver, _ in server}
    found = []
    for key in sorted({one for one in ours if one[0] in drivers} | server.keys()):
        name = "/".join(key)
        if key not in server:
            found.append(f"pool {name}: the control plane does not know it")
            continue
        total, given, error = server[key]
        if error is not None:
            if key in pools and len(pools[key].current) == pools[key].expected_slices:
                found.append(f"pool {name}: complete as published, but the control plane says: {error}")
            continue
        if (total, given) != (ours.get(key), allocated[key]):
            found.append(
                f"pool {name}: the control plane counts {total} devices, {given} of them given out; "
                f"from the objects it is {ours.get(key, 0)} and {allocated[key]}"
            )
    return found

