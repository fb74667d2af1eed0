"""The other products: taint rules, slices, quotas, roles, admission policies, DaemonSets."""

import importlib.util

import pytest

from dractl.validation.apiserver import Request, admit
from tests.hardware.builder import l40s_server


def read_all(text):
    import yaml

    return list(yaml.safe_load_all(text))


def made(run, release=(1, 36)):
    """The documents that a command printed; the kinds whose rules are known are put to them."""
    assert run.code == 0, run.err
    documents = read_all(run.out)
    for one in documents:
        assert one["apiVersion"]
        assert one["metadata"]["name"]
        if one["kind"] in ("DaemonSet", "ResourceSlice", "DeviceTaintRule"):
            verdict = admit(one, release=release, request=Request(serve_gated=True))
            assert verdict.accepted, verdict.message
    return documents


def allowed(documents):
    """(group, resource, verb) triples of roles."""
    return {
        (group, resource, verb)
        for one in documents
        for rule in one.get("rules", [])
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


# --- taint rules, slices, quotas --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("release", "version"), [("1.35", "v1alpha3"), ("1.36", "v1beta2"), ("1.37", "v1")])
def test_taint_rules_in_the_version_of_the_release(dractl, release, version):
    run = dractl("generate", "taintrule", "t", "--pool", "h100-4", "--kubernetes", release)
    (rule,) = made(run, tuple(map(int, release.split("."))))
    assert rule["apiVersion"] == f"resource.k8s.io/{version}"


def test_a_taint_rule_says_whom_it_hits(dractl):
    run = dractl("generate", "taintrule", "t", "--pool", "h100-4", "--effect", "NoExecute", "--demo")
    assert "Taints 18 devices on h100-4; 5 in use; evicts ml/classic-gpu, ml/train-0 and ml/train-1" in run.err
    nothing = dractl("generate", "taintrule", "t", "--pool", "h100-44", "--demo", "--require-fit")
    assert (nothing.code, nothing.out) == (1, "")
    assert "did you mean h100-4" in nothing.err
    everything = dractl("generate", "taintrule", "t")
    assert everything.code == 2
    assert "all devices of the cluster" in everything.err


def test_slices_of_a_host_as_its_driver_should_publish_them(dractl, tmp_path):
    l40s_server(tmp_path)
    run = dractl("generate", "slice", "--driver", "dra.net", "--node", "n1", "--root", str(tmp_path))
    documents = made(run)
    assert {one["kind"] for one in documents} == {"ResourceSlice"}
    assert {one["spec"]["nodeName"] for one in documents} == {"n1"}
    assert sum(len(one["spec"]["devices"]) for one in documents) > 0
    none = dractl("generate", "slice", "--driver", "gpu.amd.com", "--root", str(tmp_path))
    assert (none.code, none.out) == (1, "")
    assert dractl("generate", "slice", "--driver", "nope", "--root", str(tmp_path)).code == 2


def test_quota_counts_what_is_claimed(dractl):
    run = dractl("generate", "quota", "q", "-n", "ml", "--class", "gpu.nvidia.com=64", "--claims", "10", "--demo")
    (quota,) = made(run)
    assert quota["spec"]["hard"] == {
        "gpu.nvidia.com.deviceclass.resource.k8s.io/devices": "64",
        "requests.deviceclass.resource.kubernetes.io/gpu.nvidia.com": "64",
        "count/resourceclaims.resource.k8s.io": "10",
    }
    assert "20 of 64 devices of gpu.nvidia.com are claimed in ml now" in run.err
    assert dractl("generate", "quota", "q", "--class", "gpu.nvidia.com=x").code == 2
    assert dractl("generate", "quota", "q").code == 2


# --- roles ------------------------------------------------------------------------------------------------------------


def test_a_driver_may_report_on_its_own_node_only(dractl):
    run = dractl(
        "generate", "rbac", "--persona", "driver", "--driver", "gpu.example.com", "--service-account", "dra:plugin"
    )
    role, binding = made(run)
    granular = [rule for rule in role["rules"] if rule["resources"] == ["resourceclaims/driver"]]
    assert granular == [
        {
            "apiGroups": ["resource.k8s.io"],
            "resources": ["resourceclaims/driver"],
            "resourceNames": ["gpu.example.com"],
            "verbs": ["associated-node:update", "associated-node:patch"],
        }
    ]
    assert binding["roleRef"]["name"] == role["metadata"]["name"]
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": "plugin", "namespace": "dra"}]
    # nothing about claims but reading one and writing the status
    claims = {(resource, verb) for _, resource, verb in allowed([role]) if resource.startswith("resourceclaims")}
    assert claims == {
        ("resourceclaims", "get"),
        ("resourceclaims/status", "update"),
        ("resourceclaims/status", "patch"),
        ("resourceclaims/driver", "associated-node:update"),
        ("resourceclaims/driver", "associated-node:patch"),
    }


def test_granular_verbs_only_from_1_36_on(dractl):
    for persona, more in (("driver", ("--driver", "gpu.example.com")), ("scheduler", ())):
        new = allowed(made(dractl("generate", "rbac", "--persona", persona, *more)))
        old = allowed(made(dractl("generate", "rbac", "--persona", persona, *more, "--kubernetes", "1.35")))
        gone = {resource for _, resource, _ in new - old}
        assert gone == {"resourceclaims/driver" if persona == "driver" else "resourceclaims/binding"}
        assert not old - new


@pytest.mark.parametrize("persona", ["admin", "workload", "driver", "scheduler", "viewer"])
def test_no_role_has_wildcards_and_viewers_change_nothing(dractl, persona):
    more = ("--driver", "gpu.example.com") if persona == "driver" else ()
    rules = allowed(made(dractl("generate", "rbac", "--persona", persona, *more)))
    assert rules
    assert not any("*" in word for rule in rules for word in rule)
    if persona == "viewer":
        assert {verb for _, _, verb in rules} == {"get", "list", "watch"}
    if persona == "workload":
        assert {resource for _, resource, _ in rules} == {"resourceclaims", "resourceclaimtemplates"}


def test_personas_and_drivers_that_are_not_there(dractl):
    for flags in (("--persona", "king"), ("--persona", "driver"), ("--service-account", "x")):
        run = dractl("generate", "rbac", *flags)
        assert (run.code, run.out) == (2, "")
        assert len(run.err.rstrip("\n").split("\n")) == 2


# --- admission policies: judged by another implementation of CEL ------------------------------------------------------

needs_cel = pytest.mark.skipif(importlib.util.find_spec("cel_expr_python") is None, reason="cel-expr-python is missing")
NODE_KEY = "authentication.kubernetes.io/node-name"


def judge(policy, activation):
    """Whether a policy lets a request pass (matchConditions, variables, validations)."""
    from cel_expr_python import cel

    names = ["object", "oldObject", "request", "namespaceObject", "variables"]
    environment = cel.NewEnv(variables=dict.fromkeys(names, cel.Type.DYN))

    def value(expression, variables):
        data = {**dict.fromkeys(names), **activation, "variables": variables}
        return environment.compile(expression).eval(data=data).value()

    spec = policy["spec"]
    if not all(value(one["expression"], {}) for one in spec.get("matchConditions", [])):
        return True
    variables = {}
    for one in spec.get("variables", []):
        variables[one["name"]] = value(one["expression"], dict(variables))
    return all(value(one["expression"], variables) for one in spec["validations"])


def user(name, groups=(), node=None):
    extra = {"extra": {NODE_KEY: [node]}} if node else {}
    return {"username": name, "groups": list(groups), **extra}


@needs_cel
def test_a_driver_writes_slices_of_its_node_only(dractl):
    run = dractl("generate", "admission-policy", "--driver", "d.example.com", "--service-account", "dra:plugin")
    policy, binding = made(run)
    assert binding["spec"]["policyName"] == policy["metadata"]["name"]
    me = "system:serviceaccount:dra:plugin"

    def passes(who, spec, operation="CREATE"):
        part = "oldObject" if operation == "DELETE" else "object"
        return judge(policy, {"request": {"operation": operation, "userInfo": who}, part: {"spec": spec}})

    mine = {"driver": "d.example.com", "nodeName": "a"}
    for operation in ("CREATE", "UPDATE", "DELETE"):
        assert passes(user(me, node="a"), mine, operation)
        assert not passes(user(me, node="b"), mine, operation)
    assert not passes(user(me), mine)
    assert not passes(user(me, node="a"), {**mine, "driver": "other.example.com"})
    assert not passes(user(me, node="a"), {"driver": "d.example.com", "allNodes": True})
    assert passes(user("system:admin"), {"driver": "other.example.com", "allNodes": True})


@needs_cel
def test_admin_access_needs_the_label_and_the_group(dractl):
    documents = made(dractl("generate", "admission-policy", "--admin-access", "--allow-group", "ops"))
    claims, _, templates, _, label, _ = documents
    key = "resource.kubernetes.io/admin-access"
    spec = {
        "devices": {"requests": [{"name": "a", "firstAvailable": []}, {"name": "b", "exactly": {"adminAccess": True}}]}
    }
    plain = {"devices": {"requests": [{"name": "b", "exactly": {"count": 1}}]}}

    def passes(policy, wanted, labels, groups):
        body = {"spec": wanted} if policy is claims else {"spec": {"spec": wanted}}
        space = {"metadata": {"labels": labels} if labels is not None else {}}
        request = {"operation": "CREATE", "userInfo": user("someone", groups)}
        return judge(policy, {"request": request, "object": body, "namespaceObject": space})

    for policy in (claims, templates):
        assert passes(policy, spec, {key: "true"}, ["ops"])
        assert not passes(policy, spec, {key: "True"}, ["ops"])
        assert not passes(policy, spec, None, ["ops"])
        assert not passes(policy, spec, {key: "true"}, ["dev"])
        assert passes(policy, plain, None, ["dev"])
        assert passes(policy, {}, None, ["dev"])

    def labelling(before, after, groups):
        request = {"operation": "UPDATE", "userInfo": user("someone", groups)}
        old = {"metadata": {"labels": before}} if before is not None else None
        return judge(label, {"request": request, "object": {"metadata": {"labels": after}}, "oldObject": old})

    assert labelling({}, {"x": "y"}, ["dev"])
    assert not labelling({}, {key: "true"}, ["dev"])
    assert not labelling(None, {key: "true"}, ["dev"])
    assert labelling({}, {key: "true"}, ["ops"])


# --- DaemonSets -------------------------------------------------------------------------------------------------------


def test_the_device_plugin_registers_where_the_kubelet_listens(dractl):
    (daemonset,) = made(dractl("generate", "deviceplugin"))
    spec = daemonset["spec"]
    assert spec["selector"]["matchLabels"] == spec["template"]["metadata"]["labels"]
    pod = spec["template"]["spec"]
    assert [one["hostPath"]["path"] for one in pod["volumes"]] == ["/var/lib/kubelet/device-plugins"]
    assert pod["tolerations"] == [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}]
    (container,) = pod["containers"]
    assert "nvidia.com/gpu" not in container["resources"]["limits"]
    assert container["securityContext"] == {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}


def test_other_vendors_need_an_image_with_a_release(dractl):
    assert "--image rocm/k8s-device-plugin:TAG" in dractl("generate", "deviceplugin", "--vendor", "amd").err
    assert "no tag" in dractl("generate", "deviceplugin", "--vendor", "amd", "--image", "host:5000/amd").err
    made(dractl("generate", "deviceplugin", "--vendor", "amd", "--image", "rocm/k8s-device-plugin:1.31"))
    assert dractl("generate", "deviceplugin", "--vendor", "acme").code == 2


def test_the_node_agent_can_write_nothing_reach_nobody_and_be_asked_for_its_report_only(dractl):
    account, daemonset, network = made(dractl("generate", "node-agent", "--image", "registry.example.com/dractl:1"))
    pod = daemonset["spec"]["template"]["spec"]
    assert pod["serviceAccountName"] == account["metadata"]["name"]
    assert pod["automountServiceAccountToken"] is False
    (container,) = pod["containers"]
    assert all(one["readOnly"] for one in container["volumeMounts"])
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    assert network["spec"] == {
        "podSelector": daemonset["spec"]["selector"],
        "policyTypes": ["Ingress", "Egress"],
        "ingress": [{"ports": [{"protocol": "TCP", "port": 9431}]}],
    }
    narrow = made(dractl("generate", "node-agent", "--image", "x:1", "--api-server", "10.0.0.1/32"))[2]
    assert narrow["spec"]["ingress"][0]["from"] == [{"ipBlock": {"cidr": "10.0.0.1/32"}}]
    assert dractl("generate", "node-agent").code == 2
