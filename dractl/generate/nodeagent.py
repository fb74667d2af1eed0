"""``dractl discover`` on every node: reads sysfs and procfs, writes nothing, asks nobody, serves one report."""

from __future__ import annotations

from collections.abc import Sequence

from dractl.errors import DractlError
from dractl.generate.manifest import Json, Manifest, Said, manifest, metadata
from dractl.generate.rbac import service_account

_LABEL = "app.kubernetes.io/name"
_NOBODY = 65534


PORT = 9431
"""Where the report is served."""
AGENT_LABEL = "dractl.dev/node-agent"
"""By this label of its pods ``dractl diagnose hardware`` finds the agents."""


def node_agent(
    name: str, namespace: str, image: str | None, interval: int, api_servers: Sequence[str] = ()
) -> list[Manifest]:
    """ServiceAccount, DaemonSet and NetworkPolicy; ``api_servers`` are the networks (CIDR) that may ask for the report.

    Raises:
        DractlError: without an image.
    """
    if not image:
        raise DractlError(
            "which image has dractl in it is not known", "Give it: --image registry.example.com/dractl:0.1.0."
        )
    labels = {_LABEL: name}
    daemonset = {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": metadata(name, namespace, labels),
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": {**labels, AGENT_LABEL: "true"}},
                "spec": _pod(name, image, interval),
            },
        },
    }
    network = {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": metadata(name, namespace),
        "spec": {
            "podSelector": {"matchLabels": labels},
            "policyTypes": Said(["Ingress", "Egress"], "nothing out, and in only to the report"),
            "ingress": [
                {
                    "ports": [{"protocol": "TCP", "port": PORT}],
                    **({"from": [{"ipBlock": {"cidr": one}} for one in api_servers]} if api_servers else {}),
                }
            ],
        },
    }
    head = [
        "dractl discover on every node: serves what hardware is there, read-only, to the API server's pod proxy;",
        "dractl diagnose hardware asks all of them (it needs the right to get pods/proxy here). Changes are in kubectl "
        "logs.",
        "Host paths need a namespace of Pod Security level privileged.",
    ]
    return [
        service_account(name, namespace, "An account without any right: the agent asks the API server for nothing."),
        manifest(daemonset, head),
        manifest(network),
    ]


def _pod(name: str, image: str, interval: int) -> Json:
    mounts = [{"name": path, "mountPath": f"/host/{path}", "readOnly": True} for path in ("sys", "proc")]
    return {
        "serviceAccountName": name,
        "automountServiceAccountToken": Said(False, "no token, as there is nothing to ask"),
        "tolerations": [Said({"operator": "Exists"}, "on tainted nodes too: GPU nodes mostly are")],
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": Said(_NOBODY, "sysfs is readable to all; what is not is reported as not seen"),
            "runAsGroup": _NOBODY,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [
            {
                "name": "discover",
                "image": image,
                "command": ["dractl", "discover"],
                "args": [
                    *("--root", "/host", "--serve", f":{PORT}", "--interval", str(interval)),
                    *("--node", "$(NODE_NAME)"),
                ],
                "env": [{"name": "NODE_NAME", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}],
                "ports": [{"name": "report", "containerPort": PORT, "protocol": "TCP"}],
                "readinessProbe": {"httpGet": {"path": "/healthz", "port": "report"}, "periodSeconds": 30},
                "securityContext": {
                    "allowPrivilegeEscalation": False,
                    "readOnlyRootFilesystem": True,
                    "capabilities": {"drop": ["ALL"]},
                },
                "resources": {"requests": {"cpu": "10m", "memory": "64Mi"}, "limits": {"memory": "256Mi"}},
                "volumeMounts": mounts,
            }
        ],
        "volumes": [
            {"name": path, "hostPath": {"path": Said(f"/{path}", "mounted read-only"), "type": "Directory"}}
            for path in ("sys", "proc")
        ],
    }
