"""Snapshots: lists, documents, directories, standard input; what is refused, and what is passed over."""

import gzip
import json
import os

import pytest

from dractl.errors import DractlError
from dractl.inventory import DeviceId, Key, PoolId
from dractl.sources.snapshot import read_demo, read_snapshot


def node(name: str, **meta) -> dict:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, **meta}}


def claim(name: str, **spec) -> dict:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": "ns"},
        "spec": {"devices": {"requests": []}} | spec,
    }


def a_list(*items, kind="List", version="v1", **more) -> dict:
    return {"apiVersion": version, "kind": kind, "items": list(items), **more}


@pytest.fixture
def write(tmp_path):
    def write_file(content, name="snapshot.json"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return str(path)

    return write_file


def refused(path: str) -> str:
    """The message with which a path is refused; it is one line, says what to do, and ends with code 2."""
    with pytest.raises(DractlError) as caught:
        read_snapshot(path)
    assert caught.value.exit_code == 2
    assert caught.value.hint
    assert "\n" not in caught.value.message
    return caught.value.message


# --- what is read ---------------------------------------------------------------------------------------------------


def test_the_demo_fleet_is_whole():
    inventory = read_demo()
    assert (len(inventory.nodes), len(inventory.slices), len(inventory.claims), len(inventory.pods)) == (13, 32, 36, 37)
    assert len(inventory.classes) == 6
    assert len(inventory.templates) == 3
    assert len(inventory.taint_rules) == 1
    assert inventory.as_of == "2026-12-01T06:34:19Z"


def test_a_list_in_every_wrapping(write, monkeypatch):
    text = json.dumps(a_list(node("a"), node("b")))
    yaml = "apiVersion: v1\nkind: List\nitems:\n" + "".join(
        f"- apiVersion: v1\n  kind: Node\n  metadata: {{name: {name}}}\n" for name in "ab"
    )
    documents = "---\n".join(f"apiVersion: v1\nkind: Node\nmetadata: {{name: {name}}}\n" for name in "ab")
    for content in (text, yaml, documents, gzip.compress(text.encode()), json.dumps([node("a"), node("b")])):
        assert list(read_snapshot(write(content)).nodes) == ["a", "b"]


def test_standard_input(dractl):
    done = dractl("get", "nodes", "--snapshot", "-", "-o", "name", stdin=json.dumps(a_list(node("a"))))
    assert (done.code, done.out) == (0, "node/a\n")


def test_typed_lists_do_not_repeat_the_kind(write):
    bare = {key: value for key, value in node("a").items() if key == "metadata"}
    assert list(read_snapshot(write(a_list(bare, kind="NodeList"))).nodes) == ["a"]


def test_an_empty_typed_list_may_be_null(write):
    empty = {"apiVersion": "v1", "kind": "PodList", "items": None}
    assert list(read_snapshot(write(a_list(node("a"), kind="NodeList") | {}, "a.json")).nodes) == ["a"]
    assert "holds no Kubernetes object" in refused(write(empty, "b.json"))


def test_a_directory_is_read_with_all_below_it(write, tmp_path):
    write(a_list(node("a")), "dump/nodes.json")
    write("apiVersion: v1\nkind: Node\nmetadata: {name: b}\n", "dump/more/b.yml")
    write(gzip.compress(json.dumps(node("c")).encode()), "dump/c.json.gz")
    write("not read", "dump/README.md")
    write(a_list(node("hidden")), "dump/.git/x.json")
    write("image: {tag: 1}\n", "dump/values.yaml")
    inventory = read_snapshot(str(tmp_path / "dump"))
    assert list(inventory.nodes) == ["a", "b", "c"]
    assert len(inventory.provenance.notes) == 1
    assert "values.yaml: passed over" in inventory.provenance.notes[0]
    assert inventory.nodes["b"].origin.source.endswith("b.yml")


def test_objects_know_their_lines(write):
    path = write("# a comment\napiVersion: v1\nkind: Node\nmetadata: {name: a}\n", "n.yaml")
    assert str(read_snapshot(path).nodes["a"].origin) == f"{path}:2"


def test_recorded_version_time_and_gaps(write):
    notes = {
        "dractl.dev/kubernetes": "v1.35.4",
        "dractl.dev/taken": "2026-01-02T03:04:05Z",
        "dractl.dev/unseen": "Pod: forbidden\nEvent: forbidden",
    }
    provenance = read_snapshot(write(a_list(node("a"), metadata={"annotations": notes}))).provenance
    assert provenance.server_version == "v1.35.4"
    assert provenance.taken == "2026-01-02T03:04:05Z"
    assert provenance.unseen == {"Pod": "forbidden", "Event": "forbidden"}


def test_of_two_recordings_the_newer_counts(write, tmp_path):
    write(node("a", resourceVersion="9", labels={"v": "9"}), "d/1.json")
    write(node("a", resourceVersion="10", labels={"v": "10"}), "d/2.json")
    write(node("a", resourceVersion="8", labels={"v": "8"}), "d/3.json")
    assert read_snapshot(str(tmp_path / "d")).nodes["a"].meta.labels == {"v": "10"}


def test_one_object_in_two_versions_of_its_api_is_one(write):
    old = claim("c") | {"apiVersion": "resource.k8s.io/v1beta2"}
    old["metadata"] = old["metadata"] | {"resourceVersion": "1"}
    new = claim("c")
    new["metadata"] = new["metadata"] | {"resourceVersion": "2"}
    inventory = read_snapshot(write(a_list(old, new)))
    assert len(inventory.claims) == 1
    assert inventory.claims[Key("ns", "c")].meta.resource_version == "2"


def test_an_event_that_cannot_be_read_is_passed_over(write):
    event = {"apiVersion": "v1", "kind": "Event", "metadata": {"name": "e"}, "count": "many"}
    inventory = read_snapshot(write(a_list(node("a"), event)))
    assert list(inventory.nodes) == ["a"]
    assert "Event e: count" in inventory.provenance.notes[0]


# --- what is refused ------------------------------------------------------------------------------------------------


def test_files_that_are_not_there_or_not_readable(write, tmp_path):
    assert refused(str(tmp_path / "no")) == f"{tmp_path}/no: no such file or directory"
    if os.geteuid() != 0:
        path = write(a_list(node("a")))
        os.chmod(path, 0)  # noqa: PTH101
        assert "Permission denied" in refused(path)


def test_an_empty_directory(tmp_path):
    assert refused(str(tmp_path)).startswith(f"{tmp_path}: has no file that ends with .json")


def test_a_list_without_items(write):
    path = write({"apiVersion": "v1", "kind": "List"})
    assert refused(path) == f"{path}:1: is a List without items"
    path = write("apiVersion: v1\nkind: PodList\n", "l.yaml")
    assert refused(path) == f"{path}:1: is a PodList without items"


def test_an_empty_list(write):
    path = write(a_list())
    assert refused(path) == f"{path}: holds no Kubernetes object"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('"text"', ":1: holds a text, not a Kubernetes object"),
        ("just words", ":1: holds a text, not a Kubernetes object"),
        ("- 1\n", ":1: items[0] is the value 1, not an object"),
        ('{"a": 1}', ":1: has no kind, so it is not a Kubernetes object"),
        ('{"kind": "List", "items": {}}', ":1: items of the List is an object, not a list"),
        ('{"kind": "List", "items": [null]}', ": items[0] is nothing, not an object"),
        ('{"kind": "List", "items": [{"metadata": {}}]}', ": items[0] has no kind"),
    ],
)
def test_other_things_than_objects(write, content, message):
    path = write(content)
    assert refused(path).startswith(path + message)


def test_a_wrong_type_names_object_and_field(write):
    bad = claim("c", devices={"requests": [{"name": "r", "exactly": {"deviceClassName": "x", "count": "two"}}]})
    path = write(a_list(node("a"), bad))
    message = refused(path)
    assert message.startswith(f"{path}: ResourceClaim ns/c: spec.devices.requests[0].exactly.count: ")
    assert 'the text "two"' in message
    text = "kind: List\napiVersion: v1\nitems:\n- apiVersion: v1\n  kind: Node\n  metadata: {name: a, labels: [x]}\n"
    path = write(text, "y.yaml")
    assert refused(path).startswith(f"{path}:4: Node a: metadata.labels: ")


def test_the_same_object_twice_without_a_version(write):
    message = refused(write(a_list(claim("c"), claim("c"))))
    assert "ResourceClaim ns/c is there twice" in message


def test_the_command_line_shows_them_on_one_line(dractl, write, tmp_path):
    files = [write("{"), write("a: [", "b.yaml"), write(b"\x00", "c.json"), write("", "e.json")]
    for path in [*files, str(tmp_path / "no")]:
        done = dractl("get", "devices", "--snapshot", path)
        assert (done.code, done.out) == (2, "")
        first, second = done.err.splitlines()
        assert first.startswith(f"error: {path}")
        assert second.startswith("  ")


def test_sources_exclude_each_other(dractl, write):
    for text in ("--demo --snapshot x", "--demo --context x", "--snapshot x --kubeconfig y"):
        done = dractl("get", "devices", *text.split())
        assert done.code == 2
        assert len(done.err.splitlines()) == 2


# --- what the demo holds --------------------------------------------------------------------------------------------


def test_pools_of_the_demo():
    inventory = read_demo()
    incomplete = [pool for pool in inventory.pools.values() if not pool.complete]
    assert [pool.id for pool in incomplete] == [PoolId("gpu.nvidia.com", "h100-3")]
    assert (incomplete[0].generation, len(incomplete[0].current), incomplete[0].expected_slices) == (3, 1, 2)
    assert len(inventory.devices) == 230
    held = inventory.holders[DeviceId("gpu.nvidia.com", "h100-1", "gpu-0")]
    assert [str(Key(holder.claim.meta.namespace, holder.claim.meta.name)) for holder in held] == ["ml/whole-node"]
