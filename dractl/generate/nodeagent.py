"""``dractl discover`` on every node: reads sysfs and procfs, writes nothing, talks to nobody."""

from __future__ import annotations

from dractl.errors import DractlError
from dractl.generate.manifest import Json, Manifest, Said, manifest, metadata
from dractl.generate.rbac import service_account

_LABEL = "app.kubernetes.io/name"
_NOBODY = 65534


def node_agent(name: str, namespace: str, image: str | None, interval: int) -> list[Manifest]:
    """ServiceAccount, DaemonSet and NetworkPolicy.

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
            "template": {"metadata": {"labels": labels}, "spec": _pod(name, image, interval)},
        },
    }
    network = {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": metadata(name, namespace),
        "spec": {
            "podSelector": {"matchLabels": labels},
            "policyTypes": Said(["Ingress", "Egress"], "no rule follows: nothing in, nothing out"),
        },
    }
    head = [
        "dractl discover on every node: what hardware is there, and what changes; read it with kubectl logs.",
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
                "args": ["--root", "/host", "--watch", "--interval", str(interval), "--fail-on", "never"],
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
