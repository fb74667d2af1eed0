"""A pod with a claim template of its own."""

from __future__ import annotations

from typing import Any

from dractl.generate.claim import Spec, template
from dractl.generate.manifest import Manifest, Said, manifest, metadata

DEFAULT_IMAGE = "registry.k8s.io/pause:3.10"
_ENTRY = "devices"


def pod(name: str, namespace: str | None, spec: Spec, image: str | None, command: list[str]) -> list[Manifest]:
    """The template and the pod that names it."""
    template_name = f"{name}-devices"
    container: dict[str, Any] = {
        "name": "main",
        "image": image or Said(DEFAULT_IMAGE, "replace it by the workload's image"),
        "command": command or None,
        "resources": {"claims": Said([{"name": _ENTRY}], "only containers that list the claim see its devices")},
        "securityContext": {
            "allowPrivilegeEscalation": Said(False, "devices come by the claim, no privilege is needed"),
        },
    }
    body = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata(name, namespace),
        "spec": {
            "restartPolicy": "Never",
            "containers": [container],
            "resourceClaims": [
                {
                    "name": _ENTRY,
                    "resourceClaimTemplateName": Said(template_name, "a claim is made for this pod and goes with it"),
                }
            ],
        },
    }
    return [template(template_name, namespace, spec), manifest(body)]
