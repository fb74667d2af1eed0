"""Ask an API server what the user may do: SelfSubjectAccessReviews, which change nothing."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from dractl.listing.access import OPTIONAL, WATCHING, WITHOUT, AccessReport, AccessRow, Right
from dractl.sources.cluster import DRA, RESOURCES, Resource, served_versions, server_version
from dractl.sources.connection import ApiError, Connection

_REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
_STATUS_REQUESTS = "resourcepoolstatusrequests"


def read_access(connection: Connection, namespace: str) -> AccessReport:
    """The rights that dractl's commands need, in all namespaces and, where that is denied, in ``namespace``.

    Raises:
        DractlError: when the server cannot be reached or does not accept the credentials.
    """
    version = server_version(connection)
    served = served_versions(connection)
    asked = [(item, "list") for item in RESOURCES]
    asked += [(item, "watch") for item in RESOURCES if not item.optional]
    if served and _STATUS_REQUESTS in served:
        status = Resource("ResourcePoolStatusRequest", DRA, "", _STATUS_REQUESTS, False, optional=True)
        asked += [(status, verb) for verb in ("create", "get", "delete")]
    with ThreadPoolExecutor(4) as threads:
        rows = list(threads.map(lambda pair: _row(connection, pair[0], pair[1], served, namespace), asked))
    return AccessReport(connection.host, namespace, version, rows)


def _row(
    connection: Connection, item: Resource, verb: str, served: dict[str, str] | None, namespace: str
) -> AccessRow:
    commands: tuple[str, ...]
    if item.plural == _STATUS_REQUESTS:
        commands, without = ("get pools --server-status",), "the server's own counts cannot be compared"
    elif verb == "watch":
        commands, without = WATCHING
    else:
        commands, without = WITHOUT.get(item.plural, OPTIONAL)
    allowed: Right
    if item.group == DRA and served is not None and item.plural not in served:
        allowed = "not served"
    else:
        allowed = _right(connection, item, verb, namespace)
    return AccessRow(verb, item.plural, item.group, allowed, list(commands), without)


def _right(connection: Connection, item: Resource, verb: str, namespace: str) -> Right:
    try:
        if _may(connection, item, verb, None):
            return "yes"
        if item.namespaced and _may(connection, item, verb, namespace):
            return "namespace"
    except ApiError:
        return "unknown"
    return "no"


def _may(connection: Connection, item: Resource, verb: str, namespace: str | None) -> bool:
    attributes = {"verb": verb, "group": item.group, "resource": item.plural}
    if namespace is not None:
        attributes["namespace"] = namespace
    body = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": attributes},
    }
    answer = connection.create(_REVIEWS, body)
    status = answer.get("status") if isinstance(answer, dict) else None
    return isinstance(status, dict) and status.get("allowed") is True
