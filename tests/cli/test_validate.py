"""``dractl validate`` as it is called: options, files, exit codes."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import jsonschema  # noqa: TID253 (a test)
import pytest

GOOD = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: good, namespace: lab}
spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.example.com}}]}}
"""
BAD = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: bad, namespace: lab}
spec:
  devices:
    requests:
    - name: gpu
      exactly:
        deviceClassName: gpu.example.com
        count: -1
"""
WARNED = GOOD.replace("exactly: {", "exactly: {tolerations: [{key: a, operator: Exists}], ").replace("good", "warned")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / ".git").mkdir()
    for name, text in (("good.yaml", GOOD), ("bad.yaml", BAD), ("warned.yaml", WARNED)):
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def report(run: Any) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(run.out)
    return loaded


def codes(run: Any) -> list[str]:
    return [one["code"] for one in report(run)["findings"]]


# --- exit codes and thresholds --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("files", "options", "code"),
    [
        (["good.yaml"], [], 0),
        (["bad.yaml"], [], 1),
        (["warned.yaml"], [], 0),
        (["warned.yaml"], ["--fail-on", "warning"], 1),
        (["bad.yaml"], ["--fail-on", "never"], 0),
        (["."], [], 1),
        (["nowhere.yaml"], [], 2),
        (["*.yml"], [], 2),
        (["good.yaml", "nowhere.yaml"], ["--fail-on", "never"], 2),
        (["good.yaml"], ["--fail-on", "sometimes"], 2),
        (["good.yaml"], ["--kubernetes", "new"], 2),
        (["good.yaml"], ["--kubernetes", "1.20"], 2),
        (["good.yaml"], ["--gate", "DRAConsumableCapcity=true"], 2),
        (["good.yaml"], ["--gate", "DRAConsumableCapacity=maybe"], 2),
        (["good.yaml"], ["-o", "xml"], 2),
        (["good.yaml"], ["-o", "json", "-o", "text"], 2),
        (["good.yaml"], ["--ignore", "DRA01x"], 2),
        (["good.yaml"], ["--diff"], 2),
        (["good.yaml"], ["--require-fit"], 2),
        (["good.yaml"], ["--baseline", "good.yaml"], 2),
        (["good.yaml"], ["--old", "nowhere.yaml"], 2),
        ([], [], 2),
    ],
)
def test_exit_codes(dractl: Any, folder: Path, files: list[str], options: list[str], code: int) -> None:
    run = dractl("validate", *options, *files)
    assert run.code == code
    assert "Traceback" not in run.err + run.out
    if code == 2 and options[:1] not in (["--fail-on"],) and files and files[0] == "good.yaml" and len(files) == 1:
        assert run.err.startswith("error: ")


def test_a_wrong_gate_gets_a_proposal(dractl: Any, folder: Path) -> None:
    assert (
        "Did you mean DRAConsumableCapacity?" in dractl("validate", "--gate", "DRAConsumableCapcity", "good.yaml").err
    )


def test_findings_are_at_file_line_and_column(dractl: Any, folder: Path) -> None:
    run = dractl("validate", ".")
    assert "bad.yaml:10:16: error DRA021 (ResourceClaim lab/bad)" in run.out
    assert "count: must be greater than zero (it is -1)" in run.out
    assert "3 files, 3 objects checked for Kubernetes 1.36: the API server refuses 1 of 3" in run.out


# --- selection, comments, baseline ----------------------------------------------------------------------------------


def test_rules_are_selected_and_ignored_by_code_beginning_and_name(dractl: Any, folder: Path) -> None:
    assert codes(dractl("validate", ".", "-o", "json")) == ["DRA021", "DRA140"]
    assert codes(dractl("validate", ".", "-o", "json", "--select", "DRA0")) == ["DRA021"]
    assert codes(dractl("validate", ".", "-o", "json", "--ignore", "dra021,eviction-not-tolerated")) == []
    quiet = dractl("validate", "bad.yaml", "--ignore", "DRA0")
    assert quiet.code == 0
    assert "not shown: 1 by comments or settings" in quiet.out


@pytest.mark.parametrize(
    "change",
    [
        lambda text: "# dractl:ignore=DRA021 known\n" + text,
        lambda text: text.replace("count: -1", "count: -1  # dractl:ignore=invalid-value"),
        lambda text: text.replace("        count", "        # dractl:ignore=all for a test\n        count"),
        lambda text: "---\n# dractl:ignore-file=DRA021\n---\n" + text,
    ],
)
def test_comments_silence(dractl: Any, folder: Path, change: Any) -> None:
    (folder / "bad.yaml").write_text(change(BAD))
    run = dractl("validate", "bad.yaml")
    assert run.code == 0
    assert "not shown: 1" in run.out


def test_a_comment_elsewhere_silences_nothing(dractl: Any, folder: Path) -> None:
    (folder / "bad.yaml").write_text(BAD.replace("- name: gpu", "- name: gpu  # dractl:ignore=DRA021"))
    assert dractl("validate", "bad.yaml").code == 1


def test_a_baseline_hides_what_was_there_and_shows_what_is_new(dractl: Any, folder: Path) -> None:
    assert dractl("validate", ".", "--write-baseline", "base.json").code == 0
    assert len(json.loads((folder / "base.json").read_text())["findings"]) == 2
    (folder / "bad.yaml").write_text("\n\n" + BAD)
    run = dractl("validate", ".", "--baseline", "base.json")
    assert run.code == 0
    assert "2 in the baseline" in run.out
    (folder / "bad.yaml").write_text(BAD.replace("count: -1", "count: -2"))
    assert dractl("validate", ".", "--baseline", "base.json").code == 1


# --- settings -------------------------------------------------------------------------------------------------------


def test_settings_of_the_project(dractl: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "pyproject.toml").write_text(
        '[tool.dractl]\nkubernetes = "1.35"\nfail-on = "warning"\n[tool.dractl.validate]\nignore = ["DRA021"]\n'
        "[tool.dractl.validate.gates]\nDRADeviceTaints = true\n"
    )
    run = dractl("validate", ".", "-o", "json")
    assert (run.code, report(run)["kubernetes"], codes(run)) == (1, "1.35", ["DRA140"])
    (folder / "sub").mkdir()
    monkeypatch.chdir(folder / "sub")
    assert dractl("validate", "../bad.yaml").code == 0
    assert dractl("validate", "../bad.yaml", "--no-config").code == 1
    (folder / "sub" / "dractl.toml").write_text("[validate]\nselect = ['DRA1']\n")
    assert codes(dractl("validate", "..", "-o", "json")) == ["DRA140"]
    assert codes(dractl("validate", "..", "-o", "json", "--select", "DRA0")) == ["DRA021"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("fail-onn = 'error'", "unknown setting fail-onn"),
        ("ignore = 'DRA1'", "ignore has to be a list"),
        ("a = [", "dractl.toml"),
    ],
)
def test_wrong_settings_are_named(dractl: Any, folder: Path, text: str, words: str) -> None:
    (folder / "dractl.toml").write_text(text)
    run = dractl("validate", "good.yaml")
    assert run.code == 2
    assert words in run.err


# --- several outputs ------------------------------------------------------------------------------------------------


def test_several_outputs_at_once(dractl: Any, folder: Path) -> None:
    run = dractl("validate", ".", "-o", "sarif=a.sarif", "-o", "junit=b.xml", "-o", "gitlab=c.json", "-o", "github")
    assert run.code == 1
    assert run.out.startswith("::error file=bad.yaml,line=10")
    assert json.loads((folder / "a.sarif").read_text())["runs"][0]["results"][0]["ruleId"] == "DRA021"
    assert "<testsuites" in (folder / "b.xml").read_text()
    assert json.loads((folder / "c.json").read_text())[0]["check_name"] == "DRA021"


def test_an_output_that_cannot_be_written(dractl: Any, folder: Path) -> None:
    run = dractl("validate", "good.yaml", "-o", "json=no/such/dir.json")
    assert run.code == 2
    assert "no/such/dir.json: cannot be written" in run.err


def test_the_json_report_keeps_to_its_schema(dractl: Any, folder: Path) -> None:
    schema = json.loads((Path(__file__).parents[2] / "schemas" / "ValidationReport.json").read_text())
    (folder / "flat.yaml").write_text(FLAT)
    for options in ([], ["--show-defaults"], ["--demo"]):
        run = dractl("validate", ".", "-o", "json", *options)
        jsonschema.Draft202012Validator(schema).validate(report(run))


# --- input ----------------------------------------------------------------------------------------------------------


def test_stdin_lists_json_and_other_kinds(dractl: Any, folder: Path) -> None:
    listed = {"apiVersion": "v1", "kind": "List", "items": [{"apiVersion": "v1", "kind": "ConfigMap"}]}
    listed["items"].append(  # type: ignore[attr-defined]
        {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "A"}, "spec": {}}
    )
    run = dractl("validate", "-", "-o", "json", stdin=json.dumps(listed, indent=1))
    found = report(run)
    assert found["summary"]["passedOver"] == {"ConfigMap": 1}
    (finding,) = found["findings"]
    assert finding["code"] == "DRA032"
    assert finding["location"]["file"] == "<stdin>"
    assert '"name": "A"' in finding["excerpt"]


def test_several_processes_say_the_same(dractl: Any, folder: Path) -> None:
    for number in range(150):
        (folder / f"n{number:03}.yaml").write_text(BAD.replace("name: bad", f"name: bad-{number}"))
    one = dractl("validate", ".", "-o", "json", "-j", "1")
    two = dractl("validate", ".", "-o", "json", "-j", "2")
    assert one.out == two.out
    assert len(codes(one)) == 152


def test_files_in_folders_that_are_no_objects_are_passed_over(dractl: Any, folder: Path) -> None:
    (folder / "values.yaml").write_text("replicas: 2\nimage: {tag: x}\n")
    (folder / "list.yaml").write_text("- 1\n- 2\n")
    assert codes(dractl("validate", ".", "-o", "json", "--select", "DRA008")) == []
    for name in ("values.yaml", "list.yaml"):
        named = dractl("validate", name, "-o", "json")
        assert (named.code, codes(named)) == (0, ["DRA008"])
    assert dractl("validate", ".", "--exclude", "*.yaml").code == 0


BAD_INPUT = {
    "binary": (b"\x7fELF\x02\x01\x00\x00" + bytes(2000), "DRA002"),
    "utf-16": ("apiVersion: v1".encode("utf-16"), "DRA002"),
    "tabs": (b"apiVersion: v1\nkind: Pod\nspec:\n\tcontainers: []\n", "DRA003"),
    "repeated keys": (GOOD.encode() + b"kind: ResourceClaim\n", "DRA005"),
    "billion laughs": (
        b"a0: &a0 [x,x,x,x,x,x,x,x,x]\n"
        + b"".join(b"a%d: &a%d [%s]\n" % (i, i, b",".join([b"*a%d" % (i - 1)] * 9)) for i in range(1, 30)),
        "DRA006",
    ),
    "deep": (b"a: " + b"[" * 10_000 + b"]" * 10_000, "DRA007"),
    "deep json": (b'{"a":' * 10_000 + b"1" + b"}" * 10_000, "DRA007"),
    "many repeated keys": (GOOD.encode() + b"kind: ResourceClaim\n" * 3000, "DRA005"),
    "many separators": (b"---\n" * 100_000, "DRA001"),
    "a number of 100,000 digits": (
        GOOD.replace("gpu.example.com}", "g, count: " + "9" * 100_000 + "}").encode(),
        "DRA011",
    ),
    "a list of lists of lists": (b"- " * 10_000 + b"x\n", "DRA007"),
    "template": (b"kind: {{ .Values.kind }}\n", "DRA009"),
    "no kind": (b"apiVersion: resource.k8s.io/v1\nmetadata: {name: x}\n", "DRA008"),
}


@pytest.mark.parametrize(("data", "code"), BAD_INPUT.values(), ids=BAD_INPUT.keys())
def test_bad_input_gets_a_finding_in_bounded_time(dractl: Any, folder: Path, data: bytes, code: str) -> None:
    (folder / "x.yaml").write_bytes(data)
    start = time.monotonic()
    run = dractl("validate", "x.yaml", "-o", "json")
    assert time.monotonic() - start < 20
    assert run.code == (1 if code in ("DRA005", "DRA008", "DRA011") else 2)
    assert code in codes(run)
    assert len(run.out) < 20_000
    assert dractl("validate", "x.yaml").out.count("\n") < 60


def test_a_json_number_of_100_000_digits(dractl: Any, folder: Path) -> None:
    text = '{"apiVersion": "v1",\n"kind": ' + "9" * 100_000 + "}"
    (folder / "x.json").write_text(text)
    run = dractl("validate", "x.json")
    assert run.code == 2
    assert "x.json:2:9: error DRA004\n  a number of more than 4300 digits" in run.out
    assert len(dractl("validate", "-", stdin=text).out) < 2000


def test_a_key_of_yaml_that_is_there_twice_is_told_once(dractl: Any, folder: Path) -> None:
    text = GOOD + "kind: ResourceClaim\nkind: ResourceClaim\n"
    (finding,) = report(dractl("validate", "-", "-o", "json", stdin=text))["findings"]
    assert finding["message"] == "kind is written 3 times; the first is in line 2, the last counts"
    in_json = (
        '{"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "kind": "DeviceClass", "metadata": {"name": "x"}}'
    )
    answer = report(dractl("validate", "-", "-o", "json", stdin=in_json))
    assert [one["code"] for one in answer["findings"]] == ["DRA005"]
    assert answer["verdict"] == "rejected"


def test_a_scalar_of_ten_megabytes(dractl: Any, folder: Path) -> None:
    (folder / "x.yaml").write_text(GOOD.replace("name: gpu", "name: " + "x" * 10_000_000))
    run = dractl("validate", "x.yaml")
    assert run.code == 1
    assert len(run.out) < 20_000
    assert "must be no more than 63 characters" in run.out


def test_unreadable_input_is_reported_whatever_is_selected(dractl: Any, folder: Path) -> None:
    (folder / "chart.yaml").write_text(BAD_INPUT["template"][0].decode())  # type: ignore[union-attr]
    assert dractl("validate", ".", "--select", "DRA140").code == 2
    assert dractl("validate", "chart.yaml", "--fail-on", "never").code == 2
    assert dractl("validate", "good.yaml", "chart.yaml", "--ignore", "DRA009").code == 0


@pytest.mark.parametrize("text", ["", "# only words\n", "---\n---\n", "\ufeff\n\n", "null\n"])
def test_nothing_at_all_is_no_success(dractl: Any, folder: Path, text: str) -> None:
    (folder / "void.yaml").write_text(text)
    (folder / "sub").mkdir()
    (folder / "sub" / "readme.md").write_text("words")
    alone = dractl("validate", "void.yaml")
    assert (alone.code, "void.yaml: error DRA001" in alone.out) == (2, True)
    assert "there is no object in it" in alone.out
    stdin = dractl("validate", "-", stdin=text)
    assert (stdin.code, "<stdin>: error DRA001" in stdin.out) == (2, True)
    for paths in (["sub"], ["good.yaml", "sub"]):
        empty = dractl("validate", *paths)
        assert empty.code == 2
        assert "sub: error DRA001\n  no .yaml, .yml or .json file in this folder or below" in empty.out
    beside = dractl("validate", "good.yaml", "void.yaml", "-o", "json")
    assert (beside.code, codes(beside)) == (0, ["DRA008"])
    assert dractl("validate", ".", "--ignore", "DRA0").code == 0
    quiet = dractl("validate", "void.yaml", "--exclude", "*.yaml")
    assert (quiet.code, "nothing to check, as all files are excluded" in quiet.out) == (0, True)


def test_a_document_without_a_name_is_called_a_document(dractl: Any, folder: Path) -> None:
    assert "<stdin>:1:1: warning DRA008 (document)\n" in dractl("validate", "-", stdin="hello world\n").out


def test_files_are_told_in_the_order_in_which_they_were_given(dractl: Any, folder: Path) -> None:
    (folder / "void.yaml").write_text("")
    run = dractl("validate", "warned.yaml", "void.yaml", "nowhere.yaml", "bad.yaml", "gone/*.yaml", "-o", "json")
    files = [one["location"]["file"] for one in report(run)["findings"]]
    assert files == ["warned.yaml", "void.yaml", "nowhere.yaml", "bad.yaml", "gone/*.yaml"]


def test_a_link_that_goes_in_circles(dractl: Any, folder: Path) -> None:
    (folder / "round").symlink_to(folder)
    (folder / "self.yaml").symlink_to(folder / "self.yaml")
    run = dractl("validate", ".")
    assert run.code == 2
    assert "3 objects checked" in run.out
    assert "self.yaml: error DRA001" in run.out


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_folder_without_permission(dractl: Any, folder: Path) -> None:
    (folder / "closed").mkdir(mode=0)
    run = dractl("validate", ".")
    assert run.code == 2
    assert "closed: error DRA001" in run.out
    assert "permission denied" in run.out


def test_a_folder_that_may_not_be_listed(dractl: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "closed").mkdir()
    real = os.scandir

    def scandir(path: Any) -> Any:
        if str(path).endswith("closed"):
            raise PermissionError(13, "Permission denied", str(path))
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    run = dractl("validate", ".")
    assert run.code == 2
    assert "closed: error DRA001 \n  permission denied" in run.out.replace("DRA001\n", "DRA001 \n")
    assert "3 objects checked" in run.out


# --- releases, old state, defaults ----------------------------------------------------------------------------------


def test_beta_versions_by_release_and_setting(dractl: Any, folder: Path) -> None:
    (folder / "b.yaml").write_text(GOOD.replace("/v1\n", "/v1beta2\n"))
    assert codes(dractl("validate", "b.yaml", "-o", "json")) == ["DRA015"]
    served = ("--runtime-config", "resource.k8s.io/v1beta2=true")
    assert codes(dractl("validate", "b.yaml", "-o", "json", *served)) == []
    assert dractl("validate", "b.yaml", "--kubernetes", "1.33").code == 0
    early = dractl("validate", "good.yaml", "--kubernetes", "1.32", "-o", "json")
    assert codes(early) == ["DRA015"]
    assert "exists since Kubernetes 1.34" in report(early)["findings"][0]["message"]


def test_changes_of_what_cannot_change(dractl: Any, folder: Path) -> None:
    (folder / "old.yaml").write_text(GOOD)
    assert dractl("validate", "good.yaml", "--old", "old.yaml").code == 0
    (folder / "good.yaml").write_text(GOOD.replace("gpu.example.com", "other.example.com"))
    run = dractl("validate", "good.yaml", "--old", "old.yaml", "-o", "json")
    assert codes(run) == ["DRA027"]
    assert "field is immutable" in report(run)["findings"][0]["evidence"]["apiServer"]


@pytest.mark.parametrize("data", [b"", b"\x1f\x8b\x08\x00binary", b"kind: {{ x }}", b"a: [", b"just words"])
def test_an_old_state_that_cannot_be_read_is_an_error(dractl: Any, folder: Path, data: bytes) -> None:
    (folder / "old.yaml").write_bytes(data)
    run = dractl("validate", "good.yaml", "--old", "old.yaml")
    assert (run.code, run.out) == (2, "")
    assert "old.yaml" in run.err


def test_defaults_are_shown(dractl: Any, folder: Path) -> None:
    run = dractl("validate", "good.yaml", "--show-defaults")
    assert "+ spec.devices.requests[0].exactly.allocationMode: ExactCount" in run.out
    assert "+ spec.devices.requests[0].exactly.count: 1" in run.out
    stored = report(dractl("validate", "good.yaml", "--show-defaults", "-o", "json"))["objects"][0]["stored"]
    assert stored["spec"]["devices"]["requests"][0]["exactly"]["count"] == 1
    dropped = dractl("validate", "warned.yaml", "--show-defaults", "--gate", "DRADeviceTaints=false")
    assert "- spec.devices.requests[0].exactly.tolerations (dropped)" in dropped.out


# --- fix ------------------------------------------------------------------------------------------------------------

FLAT = """\
# ours
apiVersion: resource.k8s.io/v1
kind: ResourceClaim   # a claim
metadata: {name: flat}
spec:
  devices:
    requests:
    - name: gpu  # the GPU
      deviceClassName: gpu.example.com
      # two of them
      count: 2
"""
FIXED = FLAT.replace(
    "      deviceClassName: gpu.example.com\n      # two of them\n      count: 2\n",
    "      exactly:\n        deviceClassName: gpu.example.com\n        # two of them\n        count: 2\n",
)


def test_fixes_are_shown_and_written(dractl: Any, folder: Path) -> None:
    (folder / "flat.yaml").write_text(FLAT)
    shown = dractl("validate", "flat.yaml", "--fix", "--diff")
    assert shown.code == 1
    assert "--- a/flat.yaml" in shown.out
    assert "+      exactly:" in shown.out
    assert (folder / "flat.yaml").read_text() == FLAT
    run = dractl("validate", "flat.yaml", "--fix")
    assert run.code == 0
    assert (folder / "flat.yaml").read_text() == FIXED
    assert "fields moved under exactly" in run.err
    assert dractl("validate", "flat.yaml", "--fix", "--diff").code == 0


def test_windows_line_ends_stay(dractl: Any, folder: Path) -> None:
    (folder / "flat.yaml").write_bytes(b"\xef\xbb\xbf" + FLAT.replace("\n", "\r\n").encode())
    dractl("validate", "flat.yaml", "--fix")
    assert (folder / "flat.yaml").read_bytes() == b"\xef\xbb\xbf" + FIXED.replace("\n", "\r\n").encode()


def test_json_is_fixed_in_its_indentation(dractl: Any, folder: Path) -> None:
    body = {
        "apiVersion": "resource.k8s.io/v1beta1",
        "kind": "ResourceClaim",
        "metadata": {"name": "x"},
        "spec": {"devices": {"requests": [{"name": "gpu", "deviceClassName": "a", "count": 2}]}},
    }
    (folder / "x.json").write_text(json.dumps(body, indent=4) + "\n")
    assert dractl("validate", "x.json", "--fix").code == 0
    text = (folder / "x.json").read_text()
    assert '\n    "apiVersion": "resource.k8s.io/v1",' in text
    request = json.loads(text)["spec"]["devices"]["requests"][0]
    assert request == {"name": "gpu", "exactly": {"deviceClassName": "a", "count": 2}}


MORE_FIXES = {
    "a level left out": (
        "spec:\n  devices:  # all\n    requests: []\n",
        "spec:\n  spec:\n    devices:  # all\n      requests: []\n",
        "ResourceClaimTemplate",
    ),
    "an amount": (
        "spec:\n  driver: d.x\n  nodeName: n1\n  pool: {name: n1, resourceSliceCount: 1}\n"
        "  devices:\n  - name: a\n    capacity: {m: 80Gi}  # c\n    attributes:\n      model: two words\n",
        "spec:\n  driver: d.x\n  nodeName: n1\n  pool: {name: n1, resourceSliceCount: 1}\n"
        "  devices:\n  - name: a\n    capacity: {m: {value: 80Gi}}  # c\n    attributes:\n"
        '      model: {string: "two words"}\n',
        "ResourceSlice",
    ),
    "a word that is a boolean": (
        "spec:\n  devices:\n    requests:\n    - name: n  # no\n      exactly: {deviceClassName: 010}\n",
        'spec:\n  devices:\n    requests:\n    - name: "n"  # no\n      exactly: {deviceClassName: "010"}\n',
        "ResourceClaim",
    ),
    "letters": (
        "spec:\n  devices:\n    requests:\n    - name: a\n      exactly: {deviceclassname: x, cuont: 2}\n",
        "spec:\n  devices:\n    requests:\n    - name: a\n      exactly: {deviceClassName: x, count: 2}\n",
        "ResourceClaim",
    ),
    "a beta slice": (
        "spec:\n  driver: d.x\n  nodeName: n1\n  pool: {name: n1, resourceSliceCount: 1}\n"
        "  devices:\n  - name: a\n    basic:\n      # what it is\n      attributes: {x: {int: 1}}\n",
        "spec:\n  driver: d.x\n  nodeName: n1\n  pool: {name: n1, resourceSliceCount: 1}\n"
        "  devices:\n  - name: a\n    # what it is\n    attributes: {x: {int: 1}}\n",
        "ResourceSlice/v1beta1",
    ),
}


@pytest.mark.parametrize(("before", "after", "kind"), MORE_FIXES.values(), ids=MORE_FIXES.keys())
def test_more_certain_fixes(dractl: Any, folder: Path, before: str, after: str, kind: str) -> None:
    kind, _, version = kind.partition("/")
    head = f"# head\napiVersion: resource.k8s.io/VERSION\nkind: {kind}\nmetadata: {{name: x}}\n"
    (folder / "x.yaml").write_text(head.replace("VERSION", version or "v1") + before)
    assert dractl("validate", "x.yaml", "--fix").code == 0
    assert (folder / "x.yaml").read_text() == head.replace("VERSION", "v1") + after


def test_what_is_not_certain_is_not_touched(dractl: Any, folder: Path) -> None:
    before = BAD + "---\n" + FLAT + "---\nkind: {{ x }}\n"
    (folder / "x.yaml").write_text(before)
    run = dractl("validate", "x.yaml", "--fix")
    assert run.code == 2  # the template
    assert (folder / "x.yaml").read_text() == BAD + "---\n" + FIXED + "---\nkind: {{ x }}\n"
    assert "bad" in run.out


def test_silenced_findings_are_not_fixed(dractl: Any, folder: Path) -> None:
    (folder / "flat.yaml").write_text("# dractl:ignore=DRA010 old cluster\n" + FLAT)
    assert dractl("validate", "flat.yaml", "--fix", "--diff").code == 0


# --- the fleet ------------------------------------------------------------------------------------------------------

ON_THE_FLEET = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: NAME, namespace: ml}
spec:
  spec:
    devices:
      requests:
      - name: gpu
        exactly:
          deviceClassName: gpu.nvidia.com
          selectors:
          - cel:
              expression: EXPRESSION
"""


def on_the_fleet(name: str, expression: str) -> str:
    return ON_THE_FLEET.replace("NAME", name).replace("EXPRESSION", json.dumps(expression))


def test_claims_against_a_fleet(dractl: Any, folder: Path) -> None:
    hopper = 'device.attributes["gpu.nvidia.com"].architecture == "Hopper"'
    (folder / "x.yaml").write_text(on_the_fleet("hopper", hopper))
    run = dractl("validate", "x.yaml", "--demo", "-o", "json")
    assert run.code == 0
    (result,) = report(run)["fleet"]
    assert result["requests"][0]["matching"] > 0
    assert 0 < result["fitsOnNodes"] < result["nodes"]
    assert all(name.startswith("h100") for name in result["fitsOn"])
    enough = dractl("validate", "x.yaml", "--demo", "--min-nodes", str(result["fitsOnNodes"]))
    assert enough.code == 0
    assert f"fits on {result['fitsOnNodes']} of {result['nodes']} nodes" in enough.out
    more = dractl("validate", "x.yaml", "--demo", "--min-nodes", str(result["fitsOnNodes"] + 1), "-o", "json")
    assert more.code == 1
    assert codes(more) == ["DRA190"]


def test_a_selector_that_fails_on_a_published_device_is_an_error(dractl: Any, folder: Path) -> None:
    (folder / "x.yaml").write_text(on_the_fleet("broken", 'device.attributes["gpu.nvidia.com"].nothing == "x"'))
    run = dractl("validate", "x.yaml", "--demo", "-o", "json")
    assert run.code == 1
    found = {one["code"]: one for one in report(run)["findings"]}
    assert "no such key: nothing" in found["DRA204"]["message"]
    assert found["DRA204"]["location"]["line"] == 13
    assert "DRA111" in found


@pytest.mark.parametrize(
    ("key", "hint"),
    [
        ("gpu.nvidia.com/memory", "write memory; the keys are compared letter by letter"),
        ("memroy", "write memory; the keys are compared letter by letter"),
        ("slots", "they have memory"),
    ],
)
def test_capacities_that_no_device_has_are_named(dractl: Any, folder: Path, key: str, hint: str) -> None:
    text = on_the_fleet("amount", 'device.attributes["gpu.nvidia.com"].type == "gpu"')
    (folder / "x.yaml").write_text(text + f"          capacity: {{requests: {{{key}: 1Gi}}}}\n")
    found = report(dractl("validate", "x.yaml", "--demo", "-o", "json"))["findings"]
    (finding,) = [one for one in found if one["code"] == "DRA114"]
    assert finding["location"]["line"] == 14
    assert finding["hint"] in (hint, "write memory")
    (folder / "x.yaml").write_text(text + "          capacity: {requests: {memory: 1Gi}}\n")
    assert "DRA114" not in dractl("validate", "x.yaml", "--demo").out


def test_names_are_looked_up_in_the_fleet(dractl: Any, folder: Path) -> None:
    text = on_the_fleet("typo", "true").replace("gpu.nvidia.com", "gpu.nvidia.con")
    (folder / "x.yaml").write_text(text)
    run = dractl("validate", "x.yaml", "--demo", "-o", "json")
    (finding,) = [one for one in report(run)["findings"] if one["code"] == "DRA201"]
    assert finding["location"]["line"] == 10
    assert finding["hint"] == "did you mean gpu.nvidia.com?"
