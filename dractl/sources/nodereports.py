"""Reports of node agents (``dractl discover --serve``), fetched through the API server's pod proxy, in parallel.

What comes back is written by a pod: its size and form are checked, and one that does not answer takes nothing from the
others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from dractl.errors import DractlError
from dractl.hardware.exchange import NotAHost, host_of
from dractl.hardware.model import Host
from dractl.kube.objects import Pod
from dractl.sources.connection import ApiError, Connection

AGENT_LABEL = "dractl.dev/node-agent"
"""The label of node agents' pods, with the value true."""
TIMEOUT = 10.0
"""Seconds for one report."""
LIMIT = 4 << 20
"""Bytes of the largest report that is read; those of large machines have some hundred thousand."""
_THREADS = 16


@dataclass(slots=True)
class NodeReports:
    """Hosts by node, and the nodes whose agent gave none, with the reason."""

    hosts: dict[str, Host] = field(default_factory=dict)
    silent: dict[str, str] = field(default_factory=dict)


def collect(
    connection: Connection,
    pods: Iterable[Pod],
    namespace: str,
    progress: Callable[[str, int], None] | None = None,
) -> NodeReports:
    """Ask every agent among ``pods``. Nothing is raised for a single agent.

    Only pods of ``namespace`` count: anybody who may create a pod somewhere can give it the label.
    """
    agents = [
        pod
        for pod in pods
        if pod.meta.namespace == namespace and pod.meta.labels.get(AGENT_LABEL) == "true" and pod.node_name
    ]
    # of two on one node (an update) the one that runs
    agents.sort(key=lambda pod: (pod.phase == "Running" and not pod.meta.deletion_timestamp, pod.meta.name))
    by_node = {pod.node_name: pod for pod in agents}
    found = NodeReports()
    with ThreadPoolExecutor(_THREADS) as threads:
        for node, answer in zip(by_node, threads.map(lambda pod: _ask(connection, pod), by_node.values()), strict=True):
            if isinstance(answer, Host):
                found.hosts[node] = answer
            else:
                found.silent[node] = answer
            if progress is not None:
                progress("NodeReport", len(found.hosts))
    return found


def _ask(connection: Connection, pod: Pod) -> Host | str:
    """The host, or why there is none."""
    name = f"{pod.meta.namespace}/{pod.meta.name}"
    if pod.phase != "Running":
        return f"agent {name} is {pod.phase or 'not running'}"
    path = f"/api/v1/namespaces/{pod.meta.namespace}/pods/{pod.meta.name}/proxy/report"
    try:
        return host_of(connection.get_small(path, TIMEOUT, LIMIT), pod.node_name)
    except ApiError as error:
        if error.status == 403:
            return "not allowed to get pods/proxy"
        if error.status in (502, 503, 504):
            return f"agent {name} cannot be reached through the API server ({error.status}): does a policy keep it out?"
        return f"agent {name} answers {error}"
    except DractlError as error:
        return f"agent {name}: {error.message}"
    except (NotAHost, RecursionError) as error:
        return f"agent {name}: {error}"
