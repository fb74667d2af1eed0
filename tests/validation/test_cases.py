"""Manifests that real people wrote, and what they have to be told. Line numbers are those of the files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

CASES = Path(__file__).parent.parent / "cases"
ARTICLE = """\
apiVersion: resource.k8s.io/v1alpha1
kind: ResourceClass
metadata:
  name: high-performance-gpu
parameters:
  vendor: "nvidia"
  memory: "16Gi"
  type: "A100"
---
apiVersion: resource.k8s.io/v1alpha1
kind: ResourceClaim
metadata:
  name: ai-training-claim
spec:
  resourceClassName: high-performance-gpu
  parameters:
    memory: "32Gi"
    type: "A100"
---
apiVersion: apps/v1
kind: DaemonSet
metadata:
  name: nvidia-device-plugin
  namespace: kube-system
spec:
  template:
    spec:
      containers:
        - name: nvidia-device-plugin
          image: "nvidia/k8s-device-plugin:1.0"
          resources:
            limits:
              nvidia.com/gpu: 1
"""


class Answer:
    """What dractl said of a case."""

    def __init__(self, report: dict[str, Any], text: str) -> None:
        self.verdict = report["verdict"]
        self.findings = report["findings"]
        self.fleet = report.get("fleet", [])
        self.text = " ".join(text.replace("      |", " ").split())

    def at(self, line: int, code: str = "") -> str:
        """Everything that is said at a line (by one rule)."""
        return " ".join(
            json.dumps(one, ensure_ascii=False)
            for one in self.findings
            if (one["location"].get("line") == line or line in one.get("alsoLines", []))
            and one["code"].startswith(code)
        )


@pytest.fixture
def case(dractl: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    def run(name: str, *options: str) -> Answer:
        (folder,) = CASES.glob(f"{name}-*")
        monkeypatch.chdir(folder)
        command = ("validate", "--no-config", *options, "manifest.yaml")
        shown = dractl(*command)
        told = dractl(*command, "-o", "json")
        assert shown.err == ""
        return Answer(json.loads(told.out), shown.out)

    return run


def test_50_beta_shape_in_v1(case: Any) -> None:
    answer = case("50")
    assert answer.verdict == "rejected"
    for line, name in ((11, "deviceClassName"), (12, "allocationMode"), (13, "count")):
        assert f"{name} is no field of a v1 request: since v1beta2 it stands under `exactly:`" in answer.at(line)
    assert "without strict checking the fields would be dropped" in answer.text
    assert "exactly one of `exactly` or `firstAvailable` is required" in answer.text
    assert "dractl validate --fix or dractl convert does it" in answer.text
    assert "does not exist" not in answer.text
    assert {one["code"] for one in answer.findings} == {"DRA010"}


def test_52_memory_as_a_number(case: Any) -> None:
    answer = case("52")
    assert answer.verdict == "rejected"
    first, second = answer.findings
    assert (first["location"]["line"], first["location"]["column"]) == (10, 61)
    assert "> has no overload for Quantity and string; a capacity is a Quantity" in first["message"]
    assert first["hint"] == 'write .compareTo(quantity("40Gi")) > 0 or .isGreaterThan(quantity("40Gi"))'
    assert first["evidence"]["expressionPosition"] == "43"
    assert (second["location"]["line"], second["location"]["column"]) == (14, 64)
    assert "isGreaterThan wants a Quantity, not a string" in second["message"]
    assert 'quantity("40Gi")' in second["hint"]
    assert second["evidence"]["expressionPosition"] == "2:56"
    assert "no such" not in answer.text


def test_54_first_generation(case: Any) -> None:
    answer = case("54")
    assert answer.verdict == "rejected"
    assert "removed in Kubernetes 1.31" in answer.at(2)
    assert "DeviceClass with a selector on device.driver" in answer.at(2)
    assert "removed in Kubernetes 1.31" in answer.at(13)
    assert "source is gone since Kubernetes 1.31: resourceClaimTemplateName stands directly" in answer.at(36)
    assert "dractl convert manifest.yaml" in answer.text


def test_56_device_plugin_pod(case: Any) -> None:
    assert case("56").verdict == "accepted"


def test_58_plugin_daemonset_selector(case: Any) -> None:
    answer = case("58")
    assert answer.verdict == "rejected"
    assert "labels (app=gpu-plugin) do not match the selector (name=gpu-plugin)" in answer.at(9, "DRA036")
    assert "`selector` does not match template `labels`" in answer.at(9)
    assert "/var/lib/kubelet/device-plugin, but the kubelet's registration socket is in" in answer.at(18, "DRA180")
    assert "no toleration for nvidia.com/gpu" in answer.text
    assert "size" not in answer.text


def test_62_slice_with_a_four_part_version(case: Any) -> None:
    answer = case("62")
    assert answer.verdict == "rejected"
    assert "6.19.14.31400000 is not a semantic version (four parts)" in answer.at(13, "DRA034")
    assert "publish three parts as version and the full text as a string attribute" in answer.at(13)
    assert "attribute partition has no value: exactly one of bool, int, string, version" in answer.at(15, "DRA033")
    assert "'144 Gi' is not a quantity (the blank)" in answer.at(17, "DRA016")
    assert "write 144Gi" in answer.at(17)
    assert "the API server stops here" in answer.at(17)
    assert len(answer.findings) == 3
    assert "productName" not in answer.text


def test_64_product_name_too_long(case: Any) -> None:
    answer = case("64")
    assert answer.verdict == "rejected"
    (finding,) = answer.findings
    assert finding["location"]["line"] == 16
    assert finding["message"] == "the string of attribute dra.net/pciDevice has 67 bytes, at most 64 are allowed"
    assert finding["evidence"]["apiServer"] == (
        "spec.devices[1].attributes[dra.net/pciDevice].string: Too long: may not be more than 64 bytes"
    )
    assert "the whole slice is refused, its other devices are not published either" in finding["hint"]
    assert "the driver has to shorten the text or leave it out" in finding["hint"]


def test_66_counters_beside_devices(case: Any) -> None:
    answer = case("66")
    assert answer.verdict == "rejected"
    (finding,) = answer.findings
    assert finding["location"]["line"] == 8
    assert finding["alsoLines"] == [12]
    assert "since Kubernetes 1.35 a slice holds sharedCounters or devices, not both" in finding["message"]
    assert "spec: " in finding["evidence"]["apiServer"]
    assert "only one of `sharedCounters` or `devices` is allowed" in finding["evidence"]["apiServer"]
    for words in (
        "a slice of their own in pool worker-1 with the same generation (4)",
        "resourceSliceCount: 2",
        "1.34 took both in one (with DRAPartitionableDevices)",
        "publishes nothing on 1.35 and newer",
    ):
        assert words in finding["hint"]
    assert case("66", "--kubernetes", "1.34", "--gate", "DRAPartitionableDevices=true").verdict == "accepted"


def test_68_expression_beside_cel(case: Any) -> None:
    answer = case("68")
    assert answer.verdict == "rejected"
    (finding,) = answer.findings
    assert finding["location"]["line"] == 15
    assert "indented too little" in finding["message"]
    assert "next to cel" in finding["message"]
    assert finding["evidence"]["apiServer"] == (
        'unknown field "spec.spec.devices.requests[0].exactly.selectors[0].expression"'
    )
    assert "spec.spec.devices.requests[0].exactly.selectors[0].cel: Required value" in finding["evidence"]["note"]
    assert "indent it by two more" in finding["hint"]
    assert finding["evidence"]["after"].startswith("the expression itself compiles")


def test_70_toleration_under_spec(case: Any) -> None:
    answer = case("70")
    assert answer.verdict == "rejected"
    assert "resourceClassName is no field of a claim's spec: it is from the API up to 1.30" in answer.at(7)
    assert "spec.devices.requests[].exactly.deviceClassName" in answer.at(7)
    assert "tolerations is no field of a claim's spec" in answer.at(8)
    assert "spec.devices.requests[].exactly.tolerations" in answer.at(8)
    assert "an EMPTY claim is stored: it is allocated at once, the pod starts and has no device" in answer.text
    assert len(answer.findings) == 2


def test_72_time_slicing_config(case: Any) -> None:
    answer = case("72")
    assert answer.verdict == "accepted-with-warning"
    (finding,) = answer.findings
    assert finding["location"]["line"] == 21
    for words in ("TimeSlicingSettings, off by default", "unknown GPU sharing strategy", "ContainerCreating"):
        assert words in finding["message"]
    assert "the API server does not look into opaque parameters" in finding["evidence"]["note"]
    assert "apiVersion, kind and field names here are spelled as the driver wants them" in finding["evidence"]["note"]
    assert "enable the gate in the driver's chart" in finding["hint"]
    assert "or take the config out" in finding["hint"]


def test_74_extended_name_on_1_35(case: Any) -> None:
    answer = case("74", "--kubernetes", "1.35")
    assert answer.verdict == "accepted-with-warning"
    assert "alpha and off by default in 1.34 and 1.35, on by default from 1.36" in answer.at(9, "DRA170")
    assert "silently drops the field" in answer.at(9)
    assert "waits for a node that offers example.com/gpu by a device plugin" in answer.at(22, "DRA173")
    assert "enable DRAExtendedResource (API server, scheduler, kubelet), go to 1.36, or use a claim" in answer.at(22)
    assert case("74").verdict == "accepted"
    assert case("74", "--kubernetes", "1.35", "--gate", "DRAExtendedResource=true").findings == []


def test_76_source_in_a_daemonset(case: Any) -> None:
    answer = case("76")
    assert answer.verdict == "rejected"
    (finding,) = answer.findings
    assert finding["location"]["line"] == 11
    assert "source is gone since Kubernetes 1.31: resourceClaimTemplateName stands directly" in finding["message"]
    assert finding["evidence"]["apiServer"] == 'unknown field "spec.template.spec.resourceClaims[0].source"'
    note = finding["evidence"]["note"]
    assert "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`" in note
    assert "--fix or dractl convert" in finding["hint"]


def test_78_list_in_a_string(case: Any) -> None:
    answer = case("78")
    assert answer.verdict == "rejected"
    (finding,) = answer.findings
    assert finding["location"]["line"] == 17
    assert "spec.spec.devices.requests[0].exactly.selectors[1].cel.expression" in finding["evidence"]["apiServer"]
    assert "too complex, exceeds cost limit" in finding["message"]
    assert "the estimate counts, not the run" in finding["message"]
    assert "trim inside the loop over the split text is what makes it dear" in finding["message"]
    assert finding["evidence"]["proposals"] == [
        'device.attributes["qat.intel.com"].services.matches("(^|;) *asym *(;|$)")',
        'device.attributes["qat.intel.com"].services.split(";").exists(s, s == "asym")',
    ]


def test_78_each_proposal_is_within_the_limit(case: Any, dractl: Any) -> None:
    (finding,) = case("78").findings
    for proposal in finding["evidence"]["proposals"]:
        claim = {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "DeviceClass",
            "metadata": {"name": "x"},
            "spec": {"selectors": [{"cel": {"expression": f'device.driver == "qat.intel.com" && {proposal}'}}]},
        }
        assert dractl("validate", "--no-config", "-", stdin=json.dumps(claim)).code == 0


def test_80_chart_for_an_older_cluster(case: Any) -> None:
    answer = case("80", "--kubernetes", "1.34")
    assert answer.verdict == "rejected"
    for line in (1, 10):
        assert "--runtime-config=resource.k8s.io/v1beta1=true" in answer.at(line, "DRA015")
        assert "no matches for kind" in answer.at(line)
        assert "1.34 serves resource.k8s.io/v1 by default" in answer.at(line)
    assert "only the apiVersion changes" in answer.at(1)
    assert "move under `exactly`" in answer.at(10)
    assert "dractl convert" in answer.text
    assert "chart can ask which version is served" in answer.text
    assert len(answer.findings) == 2
    served = case("80", "--kubernetes", "1.34", "--runtime-config", "resource.k8s.io/v1beta1=true")
    assert served.verdict == "accepted"


def test_82_plugin_for_mig_without_rights(case: Any) -> None:
    answer = case("82")
    assert answer.verdict == "accepted-with-warning"
    mig = answer.at(15, "DRA182")
    assert "--mig-strategy=single" in mig
    assert "NVIDIA_MIG_MONITOR_DEVICES=all and every capability" in mig
    assert "Insufficient Permissions" in mig
    assert "nvidia.com/gpu: 0" in mig
    assert "add: [SYS_ADMIN]" in mig
    assert "(or privileged: true)" in mig
    assert "may look healthy while nothing is registered" in answer.at(15, "DRA187")
    assert {one["code"] for one in answer.findings} == {"DRA182", "DRA187"}


def test_84_and_86_old_objects_are_named_as_removed(case: Any) -> None:
    glob = case("84")
    assert "removed in Kubernetes 1.31" in glob.at(18)
    assert "source is gone" in glob.at(47)
    old = case("86")
    assert "v1alpha3 ResourceSlice was removed in Kubernetes 1.34" in old.at(1)
    assert "v1alpha3 ResourceClaimTemplate was removed in Kubernetes 1.34" in old.at(21)
    assert "controller has no counterpart since Kubernetes 1.32" in old.at(26)
    assert "PodSchedulingContext was removed in Kubernetes 1.32; nothing takes its place" in old.at(37)
    assert old.verdict == "rejected"


def test_the_article(dractl: Any) -> None:
    """The article that the project grew from: each fault at its line, with the way forward."""
    run = dractl("validate", "--no-config", "-o", "json", "-", stdin=ARTICLE)
    assert run.code == 1
    answer = Answer(json.loads(run.out), "")
    assert answer.verdict == "rejected"
    assert "v1alpha1 ResourceClass was removed in Kubernetes 1.27" in answer.at(1, "DRA014")
    assert "a DeviceClass with a selector on device.driver takes its place" in answer.at(1)
    assert "dractl convert" in answer.at(1)
    assert "driverName is missing" in answer.at(2, "DRA020")
    assert [one["code"] for one in answer.findings[:3]] == ["DRA014", "DRA020", "DRA010"]
    assert "parameters was never a field of v1alpha1 ResourceClass" in answer.at(5)
    assert "removed in Kubernetes 1.27" in answer.at(10, "DRA014")
    assert "parameters was never a field of v1alpha1 ResourceClaim" in answer.at(16)
    assert "becomes selectors and config of a request" in answer.at(16)
    assert "spec.selector is not set" in answer.at(26, "DRA036")
    assert "cannot register with the kubelet" in answer.at(29, "DRA180")
    assert "asks for nvidia.com/gpu" in answer.at(33, "DRA186")


def test_215_domain_without_brackets(case: Any) -> None:
    answer = case("215")
    assert answer.verdict == "accepted-with-warning"
    said = answer.at(8, "DRA111")
    assert "every dot is a step" in said
    assert "fails on every device" in said


def test_216_driver_in_the_folder_of_plugins(case: Any) -> None:
    answer = case("216")
    assert answer.verdict == "accepted-with-warning"
    assert "/var/lib/kubelet/plugins_registry" in answer.at(19, "DRA188")


def test_217_amount_without_quantity(case: Any) -> None:
    answer = case("217")
    assert answer.verdict == "rejected"
    assert '.compareTo(quantity(\\"40Gi\\")) >= 0' in answer.at(13, "DRA030")
    assert "is a capacity of gpu.nvidia.com, not an attribute" in answer.at(15)


def test_218_role_with_a_versioned_group(case: Any) -> None:
    answer = case("218")
    assert answer.verdict == "accepted-with-warning"
    assert "write resource.k8s.io" in answer.at(6, "DRA165")
    assert "did you mean resourceclaims?" in answer.at(10, "DRA165")
