"""-o jsonpath, -o custom-columns and -l as kubectl has them, and clear refusals beyond."""

from __future__ import annotations

import json

import pytest

from dractl.listing.labels import LabelError, parse_labels
from dractl.listing.paths import PathError, custom_columns, jsonpath

REPORT = {
    "kind": "DeviceList",
    "items": [
        {"name": "a", "n": 1, "labels": {"x.y/z": "1"}, "list": ["p", "q"], "state": "free"},
        {"name": "b", "n": 2, "labels": {}, "list": [], "state": "used"},
    ],
}


@pytest.mark.parametrize(("template", "text"), [
    ("{.kind}", "DeviceList"), (".kind", "DeviceList"), ("{$.kind}", "DeviceList"),
    ("{.items[*].name}", "a b"), ("{.items[0].name}", "a"), ("{.items[-1].name}", "b"), ("{.items[5].name}", ""),
    ("{.items[*]['name']}", "a b"), ("{.items[0].labels['x.y/z']}", "1"), (r"{.items[0].labels.x\.y/z}", "1"),
    ('{.items[?(@.state=="free")].name}', "a"), ("{.items[?(@.n!=1)].name}", "b"), ("{.items[*].list}", '["p","q"] []'),
    ('{range .items[*]}{.name}{"\\t"}{.n}{"\\n"}{end}', "a\t1\nb\t2\n"), ("n={.items[0].n}!", "n=1!"),
    ("{range .items[*].list[*]}<{@}>{end}", "<p><q>"), ("{.items[0].list[*]}", "p q"), ("{.nothing.at.all}", ""),
])  # fmt: skip
def test_jsonpath(template, text):
    assert jsonpath(template, REPORT) == text


@pytest.mark.parametrize(
    "template", ["{.items[0:2]}", "{..name}", "{.items[?(@.n>1)]}", "{range .items[*]}{.name}", "{.a", "{.a}}", "{end}"]
)
def test_jsonpath_beyond_what_is_known(template):
    with pytest.raises(PathError):
        jsonpath(template, REPORT)


def test_custom_columns():
    headers, rows = custom_columns("NAME:.name,ALL:.list[*],X:{.labels['x.y/z']}", REPORT["items"])
    assert headers == ["NAME", "ALL", "X"]
    assert rows == [["a", "p,q", "1"], ["b", "<none>", "<none>"]]
    for wrong in ("NAME", "NAME:", ":.name", "A:.b[x]"):
        with pytest.raises(PathError):
            custom_columns(wrong, REPORT["items"])


LABELS = {"app": "x", "a.example/tier": "web"}


@pytest.mark.parametrize(("selector", "holds"), [
    ("app=x", True), ("app==x", True), ("app=y", False), ("app!=y", True), ("gone!=y", True), ("app", True),
    ("!app", False), ("!gone", True), ("app in (x, y)", True), ("app notin (x)", False), ("gone notin (x)", True),
    ("app=x,a.example/tier in (web,db),!gone", True), ("app=x,gone", False), ("", True), ("app=", False),
])  # fmt: skip
def test_labels(selector, holds):
    assert all(one.holds(LABELS) for one in parse_labels(selector)) is holds


@pytest.mark.parametrize("selector", ["app>3", "app in x", "=x", "app=x y", "app in (x"])
def test_no_selector(selector):
    with pytest.raises(LabelError):
        parse_labels(selector)


def test_the_command(dractl):
    run = dractl("get", "nodes", "--demo", "-l", "topology.kubernetes.io/zone=zone-a", "-o", "name")
    everything = dractl("get", "nodes", "--demo", "-o", "name")
    assert 0 < len(run.out.splitlines()) < len(everything.out.splitlines())
    columns = dractl("get", "claims", "-A", "--demo", "-o", "custom-columns=NAME:.name,STATE:.state")
    assert columns.out.splitlines()[0].split() == ["NAME", "STATE"]
    names = dractl("get", "claims", "-n", "ml", "--demo", "-o", "jsonpath={.items[*].name}").out.split()
    assert "pair-on-h100-1" in names
    for wrong in ("jsonpath={..x}", "custom-columns=x", "xml", "jsonpath="):
        run = dractl("get", "claims", "-A", "--demo", "-o", wrong)
        assert run.code == 2 and run.out == ""
    assert dractl("get", "nodes", "--demo", "-l", "a>b").code == 2


def test_formats_are_completed(dractl):
    offered = dractl("__complete", "get", "devices", "-o", "").out.splitlines()
    assert {"json", "wide", "name", "jsonpath=", "custom-columns="} <= set(offered)


@pytest.mark.parametrize("output", [
    "jsonpath={.items[*].metadata.name}", "custom-columns=NAME:.metadata.name", "jsonpath={.list[*].id}",
    'jsonpath={range .items[*]}{.metadata.name}{"\\n"}{end}',
])  # fmt: skip
def test_fields_that_there_never_are_are_refused(dractl, output):
    run = dractl("get", "devices", "--demo", "-o", output)
    assert (run.code, run.out) == (2, "") and "there is no field" in run.err and "fields are: " in run.err


def test_fields_that_are_not_there_now_are_empty(dractl):
    columns = "custom-columns=ID:.id,HOLDER:.holders[*].name"
    run = dractl("get", "devices", "--demo", "--driver", "dra.cpu", "-o", columns)
    assert run.code == 0 and all(line.endswith("<none>") for line in run.out.splitlines()[1:])


def test_labels_of_every_list(dractl, tmp_path):
    """Devices and pools go by their slices, taints by their rules."""
    def labelled(body, **labels):
        body["metadata"]["labels"] = labels
        return body

    def slice_(name, device):
        spec = {"driver": "d.example.com", "nodeName": "n1", "devices": [{"name": device}],
                "pool": {"name": name, "generation": 1, "resourceSliceCount": 1}}  # fmt: skip
        return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": name}, "spec": spec}

    rule = {"apiVersion": "resource.k8s.io/v1alpha3", "kind": "DeviceTaintRule", "metadata": {"name": "r"},
            "spec": {"taint": {"key": "k", "effect": "NoSchedule"}, "deviceSelector": {"driver": "d.example.com"}}}
    items = [labelled(slice_("s1", "a"), tier="gold"), slice_("s2", "b"), labelled(rule, tier="gold")]
    file = tmp_path / "s.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    for kind, name in (("devices", "d.example.com/s1/a"), ("pools", "d.example.com/s1"),
                       ("slices", "resourceslice.resource.k8s.io/s1"),
                       ("taints", "devicetaintrule.resource.k8s.io/r")):  # fmt: skip
        run = dractl("get", kind, "-l", "tier=gold", "-o", "name", "--snapshot", str(file))
        assert run.out.split() == [name], (kind, run.err)
        other = dractl("get", kind, "-l", "tier!=gold", "-o", "name", "--snapshot", str(file))
        assert name not in other.out.split()


def test_sorting_as_kubectl_writes_it(dractl):
    plain = dractl("get", "devices", "--demo", "--sort-by", "state", "-o", "name")
    assert dractl("get", "devices", "--demo", "--sort-by", "{.state}", "-o", "name").out == plain.out


def test_names_of_taints_are_unique(dractl):
    names = dractl("get", "taints", "--demo", "-o", "name").out.split()
    assert len(names) == len(set(names)) > 1


@pytest.mark.parametrize("state", ["broken", "free,broken", ""])
def test_states_that_there_are_not(dractl, state):
    run = dractl("get", "devices", "--demo", "--state", state)
    assert run.code == 2 and "free, used, shared, full" in run.err
