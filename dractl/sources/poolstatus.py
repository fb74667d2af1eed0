"""Ask the control plane for its own counts of pools (ResourcePoolStatusRequest, KEP-5677).

This writes: one request a driver is created, waited for and deleted again.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from dractl.errors import DractlError, Exit
from dractl.sources.cluster import DRA, served_versions
from dractl.sources.connection import ApiError, Connection

PLURAL = "resourcepoolstatusrequests"
PATIENCE = 30.0
"""Seconds to wait for the controller."""
LIMIT = 1000
"""The most pools that one request may answer for."""
pause = time.sleep


@dataclass(frozen=True, slots=True)
class ServerPool:
    """A pool as kube-controller-manager counts it; ``allocated`` counts results of claims, also those with adminAccess
    and shares of one device. ``error`` says why it does not count.
    """

    driver: str
    pool: str
    total: int | None
    allocated: int | None
    error: str | None


def server_pools(connection: Connection, drivers: Iterable[str]) -> list[ServerPool]:
    """The server's counts for all pools of these drivers.

    Raises:
        DractlError: when this API is not served, may not be used, or nobody answers the request.
    """
    version = (served_versions(connection) or {}).get(PLURAL)
    if version is None:
        raise DractlError(
            "the cluster does not serve ResourcePoolStatusRequest",
            "It needs Kubernetes 1.36, the gate DRAResourcePoolStatus and its API version in --runtime-config.",
            Exit.NO_CLUSTER,
        )
    base = f"/apis/{DRA}/{version}/{PLURAL}"
    return [pool for driver in drivers for pool in _ask(connection, base, f"{DRA}/{version}", driver)]


def _ask(connection: Connection, base: str, api_version: str, driver: str) -> list[ServerPool]:
    name = f"dractl-{uuid4().hex[:12]}"
    body = {
        "apiVersion": api_version,
        "kind": "ResourcePoolStatusRequest",
        "metadata": {"name": name},
        "spec": {"driver": driver, "limit": LIMIT},
    }
    try:
        connection.create(base, body)
    except ApiError as error:
        raise DractlError(f"a ResourcePoolStatusRequest cannot be created: {error}", "See: dractl auth", 3) from None
    try:
        return [_pool(item) for item in _wait(connection, f"{base}/{name}", driver).get("pools") or []]
    finally:
        try:
            connection.delete(f"{base}/{name}")
        except (ApiError, DractlError) as error:
            raise DractlError(
                f"ResourcePoolStatusRequest {name} could not be deleted: {error}",
                f"Delete it with: kubectl delete resourcepoolstatusrequest {name}",
                Exit.NO_CLUSTER,
            ) from None


def _wait(connection: Connection, path: str, driver: str) -> dict[str, Any]:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        try:
            status = connection.get(path).get("status") or {}
        except ApiError as error:
            raise DractlError(f"the request for {driver} cannot be read: {error}", "See: dractl auth", 3) from None
        conditions = {item.get("type"): item for item in status.get("conditions") or []}
        if "Complete" in conditions:
            return dict(status)
        if "Failed" in conditions:
            text = conditions["Failed"].get("message") or "no reason given"
            raise DractlError(f"the server could not count the pools of {driver}: {text}", "Try again.", 3)
        pause(0.5)
    raise DractlError(
        f"nobody answered the ResourcePoolStatusRequest for {driver} within {PATIENCE:.0f} s",
        "Does kube-controller-manager run, and with the gate DRAResourcePoolStatus?",
        Exit.NO_CLUSTER,
    )


def _pool(item: dict[str, Any]) -> ServerPool:
    return ServerPool(
        str(item.get("driver") or ""),
        str(item.get("poolName") or ""),
        item.get("totalDevices"),
        item.get("allocatedDevices"),
        item.get("validationError"),
    )
