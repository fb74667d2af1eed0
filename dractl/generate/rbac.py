"""Least privilege for the people and programs around DRA. Source: default roles of Kubernetes 1.36."""

from __future__ import annotations

from dractl.errors import DractlError
from dractl.explain.words import listing
from dractl.generate.manifest import Json, Manifest, Said, manifest, metadata

GROUP = "resource.k8s.io"
API = "rbac.authorization.k8s.io/v1"
PERSONAS = ("admin", "workload", "driver", "scheduler", "viewer")
GRANULAR_SINCE = (1, 36)
_READ = ["get", "list", "watch"]
_WRITE = ["create", "update", "patch", "delete", "deletecollection"]
_TITLES = {
    "admin": "Manages classes and taint rules and cleans up after drivers.",
    "workload": "Makes claims and templates in its namespace; what devices there are it cannot see.",
    "driver": "A DRA driver: publishes slices, reads claims, reports the state of devices.",
    "scheduler": "A scheduler besides the default one, or what does its work: allocates and reserves claims.",
    "viewer": "Sees all of DRA and changes nothing; what dractl --context needs.",
}


def rbac(
    persona: str,
    name: str,
    release: tuple[int, int],
    driver: str | None = None,
    account: tuple[str, str] | None = None,
    subject_namespace: str | None = None,
    any_node: bool = False,
) -> list[Manifest]:
    """The roles of a persona, bound to a ServiceAccount (namespace, name) if one is given.

    ``driver`` names the driver whose devices a driver may report on; ``any_node`` lets it do so from other nodes, for
    devices in the network.

    Raises:
        DractlError: for an unknown persona, and for a driver without a name.
    """
    if persona not in PERSONAS:
        raise DractlError(f"--persona {persona}: there is none of this name", f"There are {listing(PERSONAS, 6)}.")
    if persona == "driver" and not driver:
        raise DractlError("--persona driver needs --driver NAME", "Name it as in its slices: --driver gpu.example.com.")
    if driver and persona != "driver":
        raise DractlError(f"--driver does not go with --persona {persona}", "Leave it out.")
    rules = _rules(persona, release, driver or "", any_node)
    namespaced = persona == "workload"
    kind = "Role" if namespaced else "ClusterRole"
    role = {
        "apiVersion": API,
        "kind": kind,
        "metadata": metadata(name, subject_namespace if namespaced else None),
        "rules": rules,
    }
    made = [manifest(role, [_TITLES[persona]])]
    if account is not None:
        binding = {
            "apiVersion": API,
            "kind": f"{kind}Binding",
            "metadata": metadata(name, subject_namespace if namespaced else None),
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name},
            "subjects": [{"kind": "ServiceAccount", "name": account[1], "namespace": account[0]}],
        }
        made.append(manifest(binding))
    return made


def _rule(resources: list[str], verbs: list[str], why: str, group: str = GROUP, names: list[str] | None = None) -> Said:
    return Said({"apiGroups": [group], "resources": resources, "resourceNames": names, "verbs": verbs}, why)


def _rules(persona: str, release: tuple[int, int], driver: str, any_node: bool) -> list[Said]:
    if persona == "driver":
        return _driver(release, driver, any_node)
    if persona == "scheduler":
        return _scheduler(release)
    if persona == "workload":
        return [
            _rule(["resourceclaims", "resourceclaimtemplates"], [*_READ, *_WRITE], "its claims, not their status"),
        ]
    if persona == "viewer":
        return [
            _rule(
                ["deviceclasses", "devicetaintrules", "resourceclaims", "resourceclaimtemplates", "resourceslices"],
                _READ,
                "all kinds of DRA; the role view has only claims and templates",
            ),
            _rule(["nodes", "namespaces", "pods", "events"], _READ, "who uses devices, and where", ""),
        ]
    return [
        _rule(
            ["deviceclasses", "devicetaintrules"], [*_READ, *_WRITE], "what can be asked for; devices in maintenance"
        ),
        _rule(["devicetaintrules/status"], ["get"], "how far an eviction is"),
        _rule(["resourceslices"], [*_READ, "delete"], "slices that a removed driver left; drivers write their own"),
        _rule(["resourceclaims", "resourceclaimtemplates"], [*_READ, "delete"], "claims that nobody gives back"),
        _rule(["resourceclaims/status"], ["get"], "who holds what; only scheduler and drivers write it"),
    ]


def _driver(release: tuple[int, int], driver: str, any_node: bool) -> list[Said]:
    rules = [
        _rule(["resourceclaims"], ["get"], "the kubelet names the claims to prepare; no list is needed"),
        _rule(["resourceclaims/status"], ["update", "patch"], "the state of allocated devices"),
        _rule(
            ["resourceslices"],
            [*_READ, "create", "update", "patch", "delete"],
            "its own slices; RBAC cannot say whose they are: dractl generate admission-policy can",
        ),
        _rule(["nodes"], ["get"], "the owner of its slices", ""),
    ]
    if release >= GRANULAR_SINCE:
        scope = "arbitrary-node" if any_node else "associated-node"
        why = "on claims of any node" if any_node else "only on claims allocated on the node of its pod"
        rules.insert(
            2,
            _rule(
                ["resourceclaims/driver"],
                [f"{scope}:update", f"{scope}:patch"],
                f"from 1.36 on also needed to change status.devices of this driver, {why}",
                names=[driver],
            ),
        )
    return rules


def _scheduler(release: tuple[int, int]) -> list[Said]:
    rules = [
        _rule(["deviceclasses", "resourceslices"], _READ, "what there is"),
        _rule(["devicetaintrules"], _READ, "devices in maintenance"),
        _rule(["resourceclaims"], [*_READ, "update", "patch"], "the finalizer is set before a claim is allocated"),
        _rule(["resourceclaims/status"], ["update", "patch"], "allocation and reservation"),
        _rule(["resourceclaims"], ["create", "delete"], "claims for extended resources that a class serves"),
        _rule(["pods/finalizers"], ["update"], "such claims are owned by the pod", ""),
    ]
    if release >= GRANULAR_SINCE:
        rules.insert(
            4,
            _rule(
                ["resourceclaims/binding"],
                ["update", "patch"],
                "from 1.36 on also needed to change status.allocation and status.reservedFor",
            ),
        )
    return rules


def subject(text: str) -> tuple[str, str]:
    """``namespace:name`` of a ServiceAccount. DractlError for anything else."""
    namespace, given, name = text.partition(":")
    if not (given and namespace and name) or ":" in name:
        raise DractlError(
            f"--service-account {text}: has to be NAMESPACE:NAME",
            "Write it as --service-account kube-system:my-driver.",
        )
    return namespace, name


def service_account(name: str, namespace: str, why: str) -> Manifest:
    """A ServiceAccount."""
    tree: Json = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata(name, namespace)}
    return manifest(tree, [why])
