"""What checks do not say: where the scheduler sees it otherwise, or where it is nobody's fault."""

from __future__ import annotations

from explain.builders import claim, class_, cluster, device, held, node, pod, question, request, slice_

from diagnose.pairs import PAIRS, generic, preparing, role, shaped
from diagnose.test_checks import flat
from dractl.diagnose.run import diagnose
from dractl.inventory import Inventory, Provenance


def codes(*objects, taken: str = "", release: str = "1.36.2"):
    inventory = cluster(*flat(list(objects)))
    if taken:
        inventory = Inventory(inventory.objects, Provenance("test", taken=taken))
    return {item.code: item for item in diagnose(question(inventory, release)).findings}


def test_a_pool_that_is_complete_on_each_node_is_not_called_incomplete():
    """Three nodes publish under one pool name, each one slice of one: each node sees a whole pool."""
    slices = [slice_("ports", [device("p0")], on=f"n{index}", name=f"s{index}") for index in range(3)]
    found = codes(*(node(f"n{index}") for index in range(3)), *slices)
    assert "DRA216" in found and not {"DRA401", "DRA402"} & found.keys()
    assert "n0 to n2" in found["DRA216"].message


def test_a_pod_put_on_its_node_by_hand_is_told_once():
    objects = preparing("ResourceClaim p: not allocated")
    objects[1]["status"] = {}
    assert codes(objects).keys() & {"DRA304", "DRA307", "DRA230"} == {"DRA304"}


def test_a_pod_of_seconds_is_nobodys_fault():
    objects = [node("n1"), slice_("n1", [device("gpu-0")]), class_("gpu.example.com"), held("h", "n1", "gpu-0")]
    objects += [claim("w", request("r")), pod("w", "w")]
    assert codes(objects)["DRA230"].severity.value == "warning"
    assert codes(objects, taken="2026-12-01T06:00:20Z")["DRA230"].severity.value == "info"
    assert codes(objects, taken="2026-12-01T06:02:00Z")["DRA230"].severity.value == "warning"
    # it fits, and is only seconds old: nothing to tell
    assert "DRA230" not in codes(objects[:3], claim("w", request("r")), pod("w", "w"), taken="2026-12-01T06:00:20Z")


def test_policies_that_do_nothing():
    may = role("gpu-driver", (["resourceslices"], ["create"]))
    policy = generic(
        "admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy", "p", spec={"match": "resourceslices"}
    )

    def binding(action):
        spec = {"policyName": "p", "validationActions": [action]}
        return generic("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicyBinding", "p", spec=spec)

    now = "2026-12-01T06:00:00Z"
    base = [node("n1"), may]
    assert "no ValidatingAdmissionPolicy looks at" in codes(base, taken=now)["DRA703"].message
    assert "DRA703" not in codes(base)  # whether policies were looked for is not known
    assert "has no binding" in codes(base, policy, taken=now)["DRA703"].message
    assert "does not deny (Audit)" in codes(base, policy, binding("Audit"), taken=now)["DRA703"].message
    assert "DRA703" not in codes(base, policy, binding("Deny"), taken=now)


def test_who_may_create_claims_with_admin_access():
    space = {"apiVersion": "v1", "kind": "Namespace"}
    space["metadata"] = {"name": "m", "labels": {"resource.kubernetes.io/admin-access": "true"}}
    may = role("claims", (["resourceclaims"], ["create"]))
    binding = generic("rbac.authorization.k8s.io/v1", "RoleBinding", "b", "m")
    binding["roleRef"] = {"kind": "ClusterRole", "name": "claims"}
    binding["subjects"] = [{"kind": "Group", "name": "operators"}, {"kind": "User", "name": "system:node"}]
    assert codes(space, may, binding)["DRA704"].evidence["mayCreate"] == ["Group operators"]
    binding["metadata"]["namespace"] = "other"
    assert codes(space, may, binding)["DRA704"].evidence["mayCreate"] == []


def test_a_rule_that_evicts_names_whom():
    rule = {"apiVersion": "resource.k8s.io/v1beta2", "kind": "DeviceTaintRule", "metadata": {"name": "rule"}}
    rule["spec"] = {"deviceSelector": {"pool": "n1"}, "taint": {"key": "k", "effect": "NoExecute"}}
    stays = held("stays", "n1", "gpu-1")
    stays[0]["status"]["allocation"]["devices"]["results"][0]["tolerations"] = [{"key": "k", "operator": "Exists"}]
    published = slice_("n1", [device("gpu-0"), device("gpu-1")])
    found = codes(node("n1"), published, held("goes", "n1", "gpu-0"), stays, rule)
    assert "it evicts ns/goes; ns/stays tolerates it" in found["DRA421"].message


def test_who_wrote_through_an_old_version():
    item = slice_("n1", [device("gpu-0")])
    item["metadata"]["managedFields"] = [{"manager": "gpu-plugin", "apiVersion": "resource.k8s.io/v1beta1"}]
    assert "DRA811" not in codes(node("n1"), item, release="1.34.4")
    early, late = (codes(node("n1"), item, release=one)["DRA811"] for one in ("1.36.2", "1.37.2"))
    assert (early.severity.value, late.severity.value) == ("info", "warning")
    assert "gpu-plugin" in early.message and "2 releases from now" in early.message


def test_a_shared_claim_of_finished_pods():
    objects = held("h", "n1", "gpu-0")
    objects[0]["status"]["reservedFor"] = []
    done = shaped(objects[1], phase="Succeeded")
    found = codes(node("n1"), slice_("n1", [device("gpu-0")]), objects[0], done)
    assert "the pods that refer to it are finished (ns/h)" in found["DRA306"].message


def test_the_worst_comes_first():
    """A device with two holders before a class that fails, before a pool, before claims that wait."""
    objects = [*PAIRS["DRA231"][0], *PAIRS["DRA301"][0][1:], slice_("n9", [device("x")], count=2), node("n9")]
    inventory = cluster(*flat(objects))
    order = [item.code for item in diagnose(question(inventory)).findings if item.severity.value == "error"]
    assert order == ["DRA231", "DRA401", "DRA301"]
