"""Wait for something in a running cluster. Asks again and again; a connection that breaks meanwhile is no failure."""

from __future__ import annotations

import time
from collections.abc import Callable

from dractl.errors import DractlError
from dractl.sources.cluster import DRA, served_versions
from dractl.sources.connection import ApiError, Connection

INTERVAL = 2.0
"""Seconds between two questions."""
pause = time.sleep
"""How to wait; tests put something faster here."""


def wait_for_allocation(
    connection: Connection, namespace: str, name: str, timeout: float, say: Callable[[str], None]
) -> bool:
    """Wait until a claim is allocated; False if it is not after ``timeout`` seconds (0: no limit).

    Raises:
        DractlError: when the claim is not there (any more), or may not be read.
    """
    served = served_versions(connection)
    version = "v1" if served is None else served.get("resourceclaims", "v1")
    path = f"/apis/{DRA}/{version}/namespaces/{namespace}/resourceclaims/{name}"
    end = time.monotonic() + timeout if timeout else None
    seen = broken = False
    while True:
        try:
            body = connection.get(path)
            if broken:
                say("note: the cluster answers again")
            seen, broken = True, False
            status = body.get("status") if isinstance(body, dict) else None
            if isinstance(status, dict) and status.get("allocation") is not None:
                return True
        except ApiError as error:
            if error.status in (401, 403, 404):
                raise _gone(namespace, name, error, seen) from None
            broken = _say_once(say, broken, str(error))
        except DractlError as error:
            broken = _say_once(say, broken, error.message)
        if end is not None and time.monotonic() >= end:
            return False
        pause(INTERVAL if end is None else max(0.0, min(INTERVAL, end - time.monotonic())))


def _say_once(say: Callable[[str], None], broken: bool, text: str) -> bool:
    if not broken:
        say(f"note: {text}; still waiting")
    return True


def _gone(namespace: str, name: str, error: ApiError, seen: bool) -> DractlError:
    if error.status != 404:
        return DractlError(f"claim {namespace}/{name} may not be read: {error}", "See: dractl auth", 3)
    if seen:
        return DractlError(f"claim {namespace}/{name} was deleted while it was waited for", "Was its pod deleted?", 1)
    return DractlError(f"there is no claim {name} in namespace {namespace}", "See: dractl get claims -A")
