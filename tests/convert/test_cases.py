"""Users' manifests and the article's: what each becomes, and what is said of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml  # noqa: TID253

ROOT = Path(__file__).parent.parent
ARTICLE = ROOT / "fixtures" / "article.yaml"


@pytest.fixture
def convert(dractl):
    def run(path: Path, *options: str):
        result = dractl("convert", str(path), *options)
        assert result.code == 0, result.err
        return [item for item in yaml.safe_load_all(result.out) if item], result.out, result.err

    return run


@pytest.fixture
def accepted(dractl, tmp_path):
    def check(text: str) -> None:
        file = tmp_path / "converted.yaml"
        file.write_text(text)
        result = dractl("validate", str(file), "--fail-on", "error")
        assert result.code == 0, result.out

    return check


def case(name: str) -> Path:
    return ROOT / "cases" / name / "manifest.yaml"


def test_first_generation(convert, accepted):
    objects, text, said = convert(case("54-first-generation"))
    device_class, template, pod = objects
    assert (device_class["apiVersion"], device_class["kind"]) == ("resource.k8s.io/v1", "DeviceClass")
    expression = device_class["spec"]["selectors"][0]["cel"]["expression"]
    assert expression == 'device.driver == "gpu.resource.example.com"'
    request = template["spec"]["spec"]["devices"]["requests"][0]
    assert request["exactly"]["deviceClassName"] == "gpu.example.com"
    assert request["exactly"]["count"] == 2
    assert pod["spec"]["resourceClaims"] == [{"name": "gpus", "resourceClaimTemplateName": "two-gpus"}]
    assert "# keep me" in text
    assert "# from the first days of DRA" in text
    assert "may use another name" in text
    assert "GpuClaimParameters two has no counterpart" in said
    accepted(text)


def test_device_plugin_pod(convert, accepted):
    (template, pod), text, said = convert(case("56-device-plugin-pod"))
    exactly = template["spec"]["spec"]["devices"]["requests"][0]["exactly"]
    assert (exactly["deviceClassName"], exactly["count"]) == ("gpu.nvidia.com", 2)
    assert '.productName == "NVIDIA A100-SXM4-80GB"' in exactly["selectors"][0]["cel"]["expression"]
    main, sidecar = pod["spec"]["containers"]
    assert main["resources"] == {
        "requests": {"cpu": "8"},
        "limits": {"memory": "64Gi"},
        "claims": [{"name": "devices"}],
    }
    assert "resources" not in sidecar
    assert pod["spec"]["nodeSelector"] == {"topology.kubernetes.io/zone": "zone-a"}
    assert pod["spec"]["tolerations"] == [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}]
    assert "extendedResourceName nvidia.com/gpu" in said
    accepted(text)


def test_device_plugin_pod_with_a_class_instead(convert, accepted):
    (device_class, pod), text, _ = convert(case("56-device-plugin-pod"), "--plugin", "class")
    assert device_class["spec"]["extendedResourceName"] == "nvidia.com/gpu"
    assert pod == yaml.safe_load(case("56-device-plugin-pod").read_text())
    accepted(text)


def test_globs_indices_and_sharing(convert, accepted):
    (template, deployment), text, said = convert(case("84-glob-selectors-of-the-first-gpu-driver"))
    devices = template["spec"]["spec"]["devices"]
    exactly = devices["requests"][0]["exactly"]
    expression = exactly["selectors"][0]["cel"]["expression"]
    assert 'productName.lowerAscii().matches("^.*a100.*$")' in expression
    assert "index" not in expression
    assert exactly["count"] == 1
    assert devices["config"][0]["opaque"] == {
        "driver": "gpu.nvidia.com",
        "parameters": {
            "apiVersion": "resource.nvidia.com/v1beta1",
            "kind": "GpuConfig",
            "sharing": {"strategy": "TimeSlicing", "timeSlicingConfig": {"interval": "Long"}},
        },
    }
    for fact in ("index: 0", "index: 2", "uuid", "pciBusID", "TimeSlicingSettings"):
        assert fact in said
    entries = deployment["spec"]["template"]["spec"]["resourceClaims"]
    assert entries == [{"name": "gpu", "resourceClaimTemplateName": "a100"}]
    assert "# two containers share the GPU of their pod" in text
    assert "# one GPU a pod" in text
    accepted(text)


def test_objects_of_1_31(convert, accepted):
    (piece, template), text, said = convert(case("86-objects-of-1.31"))
    assert piece["spec"]["devices"][0] == {
        "name": "core-0",
        "attributes": {"numa": {"int": 0}, "model": {"string": "any"}},
        "capacity": {"cache": {"value": "2Mi"}},
    }
    spec = template["spec"]["spec"]
    assert spec["devices"]["requests"][0]["exactly"] == {
        "deviceClassName": "cpu.example.com",
        "allocationMode": "ExactCount",
        "count": 16,
    }
    assert spec["devices"]["constraints"] == [{"matchAttribute": "cpu.example.com/numa", "requests": ["cpu"]}]
    assert "controller" not in spec
    assert ":26: ResourceClaimTemplate lab/sixteen-cores: controller cpu.example.com was dropped" in said
    assert "# left from the tutorial" in text
    assert "PodSchedulingContext is gone since 1.32 and nothing takes its place" in said
    assert "slices are written by drivers" in said
    accepted(text)


def test_the_article(convert, accepted, dractl, tmp_path):
    (device_class, claim, plugin), _, said = convert(ARTICLE)
    assert "asks for memory 16Gi, this claim for 32Gi" in said
    assert plugin == list(yaml.safe_load_all(ARTICLE.read_text()))[2]
    accepted("---\n".join(yaml.safe_dump(item) for item in (device_class, claim)))
    # on the recorded fleet: fits exactly where there are A100, if they are free
    state = json.loads(dractl_snapshot(dractl, tmp_path))
    names = {item["metadata"]["name"]: item for item in state["items"] if item["kind"] == "Node"}
    state["items"] = [item for item in state["items"] if item["kind"] in ("Node", "ResourceSlice")]
    state["items"] += [device_class, {**claim, "metadata": {**claim["metadata"], "namespace": "default"}}]
    file = tmp_path / "state.json"
    file.write_text(json.dumps(state))
    report = json.loads(dractl("explain", "claim", "ai-training-claim", "--snapshot", str(file), "-o", "json").out)
    fits = {node["name"] for node in report["nodes"] if node["allocator"]["verdict"] == "fits"}
    assert fits == {name for name in names if name.startswith("a100-")}


def dractl_snapshot(dractl, tmp_path) -> str:
    file = tmp_path / "fleet.json"
    assert dractl("snapshot", "save", str(file), "--demo").code == 0
    return file.read_text()


def test_in_place_diff_and_what_is_not_ours(dractl, tmp_path):
    text = '# mine\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}   # as it is\ndata: {x: "1"}\n'
    file = tmp_path / "a.yaml"
    file.write_text(text)
    assert dractl("convert", str(file), "--in-place").code == 0
    assert file.read_text() == text
    file.write_text(case("86-objects-of-1.31").read_text())
    shown = dractl("convert", str(file), "--diff")
    assert "+apiVersion: resource.k8s.io/v1\n" in shown.out
    assert file.read_text() == case("86-objects-of-1.31").read_text()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"\xff\xfe\x00", "is not a text file"),
        (b"a: [1\n", "is not YAML"),
        (b"a: 1\na: 2\n", "is not YAML"),
        (b"\tx: 1\n", "is not YAML"),
    ],
)
def test_bad_input(dractl, tmp_path, content, said):
    file = tmp_path / "bad.yaml"
    file.write_bytes(content)
    result = dractl("convert", str(file))
    assert result.code == 2
    assert said in result.err
    assert str(file) in result.err
    assert "Traceback" not in result.err


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("hello world\n", "the text 'hello world'"),
        ("", "nothing"),
        ("# only words\n---\n", "nothing"),
        ("replicas: 2\n", "a mapping without apiVersion and kind"),
        ("- a\n- b\n", "a list"),
    ],
)
def test_a_file_without_objects_is_an_error(dractl, tmp_path, text, what):
    (tmp_path / "x.yaml").write_text(text)
    run = dractl("convert", str(tmp_path / "x.yaml"))
    assert (run.code, run.out) == (2, "")
    assert f"holds no Kubernetes object, but {what}" in run.err


def test_a_document_that_is_no_object_is_named_and_stays(dractl):
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n---\nhello\n---\n"
    text += "apiVersion: v1\nkind: List\nitems: [3]\n"
    run = dractl("convert", "-", stdin=text)
    assert (run.code, run.out) == (1, text)
    assert "document 2 is the text 'hello', no Kubernetes object: left as it is" in run.err
    assert "items[0] is the text '3'" in run.err


def test_json_stays_json(dractl):
    old = {
        "apiVersion": "resource.k8s.io/v1beta1",
        "kind": "ResourceClaim",
        "metadata": {"name": "x"},
        "spec": {"devices": {"requests": [{"name": "a", "deviceClassName": "c"}]}},
    }
    run = dractl("convert", "-", stdin=json.dumps(old, indent=2))
    assert run.code == 0
    new = json.loads(run.out)
    assert new["spec"]["devices"]["requests"] == [{"name": "a", "exactly": {"deviceClassName": "c"}}]
    assert '\n  "apiVersion": "resource.k8s.io/v1",\n' in run.out
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p"},
        "spec": {"containers": [{"name": "c", "image": "i", "resources": {"limits": {"nvidia.com/gpu": 1}}}]},
    }
    made = json.loads(dractl("convert", "-", stdin=json.dumps(pod)).out)
    assert made["kind"] == "List"
    assert {item["kind"] for item in made["items"]} == {"ResourceClaimTemplate", "Pod"}
