"""A running cluster -> the raw objects that a command needs, as one ``RawState``.

Lists are read in pages and in parallel, in the newest API version that is served. What may not be listed cluster-wide
is tried in one namespace; what cannot be listed at all is named in ``unseen`` with the server's reason.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from dractl.errors import DractlError, Exit
from dractl.sources.connection import ApiError, Connection

PAGE = 500
"""Objects in one page, as kubectl asks for."""
_RESTARTS = 2
_THREADS = 6
DRA = "resource.k8s.io"
_DRA_VERSIONS = ("v1", "v1beta2", "v1beta1", "v1alpha3")

Progress = Callable[[str, int], None]
"""Called with a kind and the number of its objects that have arrived."""
Keep = Callable[[dict[str, Any]], Any]
"""What is kept of an object; called from several threads."""


def whole(body: dict[str, Any]) -> Any:
    """Keep the object as the server sent it."""
    return body


@dataclass(frozen=True, slots=True)
class Resource:
    """A kind and where its list is. ``optional`` kinds belong to a full snapshot but not to every question."""

    kind: str
    group: str
    version: str
    plural: str
    namespaced: bool
    optional: bool = False


RESOURCES: tuple[Resource, ...] = (
    Resource("ResourceSlice", DRA, "", "resourceslices", False),
    Resource("DeviceClass", DRA, "", "deviceclasses", False),
    Resource("ResourceClaim", DRA, "", "resourceclaims", True),
    Resource("ResourceClaimTemplate", DRA, "", "resourceclaimtemplates", True),
    Resource("DeviceTaintRule", DRA, "", "devicetaintrules", False),
    Resource("Pod", "", "v1", "pods", True),
    Resource("Node", "", "v1", "nodes", False),
    Resource("Namespace", "", "v1", "namespaces", False),
    Resource("Event", "", "v1", "events", True),
    Resource("ResourceQuota", "", "v1", "resourcequotas", True, optional=True),
    Resource("DaemonSet", "apps", "v1", "daemonsets", True, optional=True),
    Resource("ClusterRole", "rbac.authorization.k8s.io", "v1", "clusterroles", False, optional=True),
    Resource("ClusterRoleBinding", "rbac.authorization.k8s.io", "v1", "clusterrolebindings", False, optional=True),
    Resource("Role", "rbac.authorization.k8s.io", "v1", "roles", True, optional=True),
    Resource("RoleBinding", "rbac.authorization.k8s.io", "v1", "rolebindings", True, optional=True),
    Resource("PriorityClass", "scheduling.k8s.io", "v1", "priorityclasses", False, optional=True),
    Resource(
        "ValidatingAdmissionPolicy",
        "admissionregistration.k8s.io",
        "v1",
        "validatingadmissionpolicies",
        False,
        optional=True,
    ),
    Resource(
        "ValidatingAdmissionPolicyBinding",
        "admissionregistration.k8s.io",
        "v1",
        "validatingadmissionpolicybindings",
        False,
        optional=True,
    ),
)


@dataclass(slots=True)
class RawState:
    """Objects as the server sent them (or what ``keep`` made of them), and what is known of the reading."""

    items: list[Any] = field(default_factory=list)
    version: str | None = None
    taken: str | None = None
    unseen: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    description: str = ""


@dataclass(slots=True)
class Listed:
    """What could be listed of one kind. ``unseen`` says what could not, and ``forbidden`` that rights lack; ``path`` is
    the list that was read and ``version`` the resourceVersion that it shows (empty where no list was read).
    """

    items: list[Any]
    unseen: str | None = None
    forbidden: bool = False
    path: str = ""
    version: str = ""


def clock() -> datetime:
    """The time that is written down as that of the reading, from which ages are counted."""
    return datetime.now(UTC)


def read_cluster(
    connection: Connection,
    kinds: Collection[str] | None = None,
    namespace: str | None = None,
    progress: Progress | None = None,
    events_of: str | None = None,
    keep: Keep = whole,
) -> RawState:
    """Read the objects of ``kinds`` (None: all that a question about claims needs, optional ones left out).

    Args:
        connection: the cluster.
        kinds: names of kinds in ``RESOURCES``.
        namespace: where to look for what may not be listed in all namespaces; None: the context's namespace.
        progress: told of what has arrived.
        events_of: the only namespace whose Events are wanted; None: those of all.
        keep: what is kept of each object; by default the whole, which takes four times the memory of a decoded one.

    Raises:
        DractlError: when the server cannot be reached, or serves no DRA at all, or nothing may be read.
    """
    wanted = [item for item in RESOURCES if (not item.optional if kinds is None else item.kind in kinds)]
    version, served = greet(connection)
    state = RawState(version=version, taken=moment(), description=connection.host)
    fallback = namespace or connection.namespace
    with ThreadPoolExecutor(_THREADS) as threads:
        only = {"Event": events_of} if events_of else {}
        answers = list(
            threads.map(
                lambda item: list_kind(connection, item, served, fallback, progress, only.get(item.kind), keep), wanted
            )
        )
    for item, answer in zip(wanted, answers, strict=True):
        state.items.extend(answer.items)
        if answer.unseen:
            state.unseen[item.kind] = answer.unseen
    if wanted and not state.items and len(state.unseen) == len(wanted):
        raise nothing_readable(next(iter(state.unseen.values())))
    return state


def moment() -> str:
    """The time of a reading as it is written down."""
    return clock().strftime("%Y-%m-%dT%H:%M:%SZ")


def nothing_readable(reason: str) -> DractlError:
    """Not one of the wanted kinds could be listed."""
    return DractlError(
        f"nothing may be read in this cluster: {reason}", "See: kubectl auth can-i --list", Exit.NO_CLUSTER
    )


def greet(connection: Connection) -> tuple[str | None, dict[str, str] | None]:
    """``server_version`` and ``served_versions``.

    Raises:
        DractlError: when the server cannot be reached, does not accept the credentials, or serves no DRA at all.
    """
    version = server_version(connection)
    served = served_versions(connection)
    if served is not None and not served:
        raise DractlError(
            f"the cluster (Kubernetes {version or 'of unknown version'}) does not serve {DRA}",
            "DRA needs Kubernetes 1.34, or 1.32 and 1.33 with its feature gate and --runtime-config.",
            Exit.NO_CLUSTER,
        )
    return version, served


def served_versions(connection: Connection) -> dict[str, str] | None:
    """For each plural of resource.k8s.io the newest version that serves it; None when discovery is not allowed."""
    try:
        group = connection.get(f"/apis/{DRA}")
    except ApiError as error:
        if error.status == 404:
            return {}
        return None
    offered = {str(item.get("version")) for item in group.get("versions") or []}
    found: dict[str, str] = {}
    for version in _DRA_VERSIONS:
        if version not in offered:
            continue
        try:
            listed = connection.get(f"/apis/{DRA}/{version}")
        except ApiError:
            continue
        for entry in listed.get("resources") or []:
            plural = str(entry.get("name"))
            if "/" not in plural:
                found.setdefault(plural, version)
    return found


def server_version(connection: Connection) -> str | None:
    """The server's version as it writes it (``v1.36.2``); None where that may not be asked.

    Raises:
        DractlError: when the credentials are not accepted.
    """
    try:
        answer = connection.get("/version")
    except ApiError as error:
        if error.status == 401:
            raise DractlError(
                "the API server does not accept the credentials (401 Unauthorized)",
                "Log in again; kubectl would fail likewise.",
                Exit.NO_CLUSTER,
            ) from None
        return None
    version = answer.get("gitVersion") if isinstance(answer, dict) else None
    return version if isinstance(version, str) else None


def list_kind(
    connection: Connection,
    item: Resource,
    served: dict[str, str] | None,
    namespace: str,
    progress: Progress | None = None,
    only: str | None = None,
    keep: Keep = whole,
) -> Listed:
    """List one kind: in all namespaces, or where that is forbidden in ``namespace``; or in namespace ``only``.

    Nothing is raised: what cannot be listed is told in ``unseen``.
    """
    version = item.version or ("v1" if served is None else served.get(item.plural, ""))
    if not version:
        # not served is not unseen: there can be no such object
        return Listed([])
    base = f"/apis/{item.group}/{version}" if item.group else f"/api/{version}"
    api_version = f"{item.group}/{version}" if item.group else version
    inside = f"namespaces/{only}/" if only and item.namespaced else ""
    try:
        return _collect(connection, f"{base}/{inside}{item.plural}", item, api_version, progress, keep)
    except DractlError as error:
        # one list that is too slow, or cut by a proxy, does not take the others with it
        return Listed([], f"listing {item.plural} failed: {error.message}")
    except ApiError as error:
        if error.status == 404:
            return Listed([])
        if error.status != 403 or not item.namespaced or inside:
            return Listed([], _why(item, error), error.status == 403)
    try:
        found = _collect(connection, f"{base}/namespaces/{namespace}/{item.plural}", item, api_version, progress, keep)
    except ApiError as error:
        return Listed([], _why(item, error), error.status == 403)
    except DractlError as error:
        return Listed([], f"listing {item.plural} failed: {error.message}")
    found.unseen = f"not allowed in all namespaces, only those of namespace {namespace} were read"
    return found


def _why(item: Resource, error: ApiError) -> str:
    if error.status == 403:
        return f"not allowed to list {item.plural}" + (" in all namespaces" if item.namespaced else "")
    return f"listing {item.plural} failed: {error}"


def _collect(
    connection: Connection, path: str, item: Resource, api_version: str, progress: Progress | None, keep: Keep
) -> Listed:
    """All pages of one list. An expired continue token starts the list anew, the last time without pages."""
    for attempt in range(_RESTARTS + 1):
        try:
            found = Listed([], path=path)
            for page, found.version in _pages(connection, path, 0 if attempt == _RESTARTS else PAGE):
                for body in page:
                    body.setdefault("apiVersion", api_version)
                    body.setdefault("kind", item.kind)
                    found.items.append(keep(body))
                if progress is not None:
                    progress(item.kind, len(found.items))
            return found
        except ApiError as error:
            if error.status != 410 or attempt == _RESTARTS:
                raise
    raise AssertionError("unreachable")


def _pages(connection: Connection, path: str, limit: int) -> Iterator[tuple[list[dict[str, Any]], str]]:
    """Objects of each page, and the resourceVersion that the whole list shows."""
    params: dict[str, str | int] = {"limit": limit} if limit else {}
    while True:
        answer = connection.get(path, params)
        items = answer.get("items") if isinstance(answer, dict) else None
        if items is not None and not isinstance(items, list):
            raise DractlError(f"{path}: the server sent no list", "Is a proxy changing the answers?", Exit.NO_CLUSTER)
        meta = (answer.get("metadata") or {}) if isinstance(answer, dict) else {}
        yield [body for body in items or [] if isinstance(body, dict)], str(meta.get("resourceVersion") or "")
        token = meta.get("continue")
        if not token:
            return
        params["continue"] = str(token)
