"""Captures of other tools give the answers of the fleet they are of; archives are read where they are."""

from __future__ import annotations

import io
import json
import tarfile
import zipfile
from pathlib import Path

import pytest

from dractl.errors import DractlError
from dractl.sources.snapshot import read_raw, read_snapshot
from tests.cluster.server import PLURALS

LOG = "2026-12-01T06:40:00Z level=info msg=started\n{not json\n"


@pytest.fixture(scope="module")
def demo():
    return read_raw(None).items


def put(root: Path, path: str, content) -> None:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    if not isinstance(content, str):
        import yaml

        content = json.dumps(content) if path.endswith(".json") else yaml.dump(content, Dumper=yaml.CSafeDumper)
    file.write_text(content)


def grouped(items):
    """(group, plural, namespace or None) -> objects."""
    found = {}
    for item in items:
        group, plural, namespaced = PLURALS[item["kind"]]
        found.setdefault((group, plural, item["metadata"]["namespace"] if namespaced else None), []).append(item)
    return found


def bare(items):
    """As the items of a list of one kind: without kind and version."""
    return [{key: value for key, value in item.items() if key not in ("kind", "apiVersion")} for item in items]


def must_gather(root: Path, items) -> Path:
    """Lists in namespaces, one file an object outside of them; pods once more beside their logs."""
    base = "quay-io-openshift-must-gather-sha256-1d3f"
    put(root, f"{base}/timestamp", "2026-12-01 06:39:11.384613345 +0000 UTC m=+0.2\n"
        "2026-12-01 06:40:02.117 +0000 UTC m=+50.9\n")  # fmt: skip
    put(root, f"{base}/version", "openshift/must-gather\n4.20.3\n")
    put(root, f"{base}/cluster-scoped-resources/config.openshift.io/proxies.yaml", "half: [a\n")
    for (group, plural, namespace), objects in grouped(items).items():
        folder = group or "core"
        if namespace is None:
            for item in objects:
                name = item["metadata"]["name"]
                place = f"namespaces/{name}/{name}.yaml" if plural == "namespaces" else (
                    f"cluster-scoped-resources/{folder}/{plural}/{name}.yaml")  # fmt: skip
                put(root, f"{base}/{place}", item)
        else:
            kind = objects[0]["kind"]
            body = {"apiVersion": objects[0]["apiVersion"], "kind": f"{kind}List", "items": bare(objects)}
            put(root, f"{base}/namespaces/{namespace}/{folder}/{plural}.yaml", body)
        for item in objects if plural == "pods" else []:
            name = item["metadata"]["name"]
            put(root, f"{base}/namespaces/{namespace}/pods/{name}/{name}.yaml", item)
            put(root, f"{base}/namespaces/{namespace}/pods/{name}/main/main/logs/current.log", LOG)
    return root


def kubectl_gather(root: Path, items, cluster="kind-a") -> Path:
    put(root, "gather.log", LOG)
    for (group, plural, namespace), objects in grouped(items).items():
        folder = f"{group}/{plural}" if group else plural
        for item in objects:
            where = "cluster" if namespace is None else f"namespaces/{namespace}"
            put(root, f"{cluster}/{where}/{folder}/{item['metadata']['name']}.yaml", item)
    return root


def support_bundle(root: Path, items) -> Path:
    """troubleshoot.sh: JSON, and bare lists without kinds in older releases."""
    put(root, "b/version.yaml", {"apiVersion": "troubleshoot.sh/v1beta2", "kind": "SupportBundle"})
    put(root, "b/cluster-info/cluster_version.json", {"info": {"gitVersion": "v1.36.2"}, "string": "v1.36.2"})
    put(root, "b/cluster-resources/pods/logs/ml/train-0/main.log", LOG)
    put(root, "b/cluster-resources/nodes-errors.json", ["none"])
    for (_, plural, namespace), objects in grouped(items).items():
        where = f"{plural}.json" if namespace is None else f"{plural}/{namespace}.json"
        put(root, f"b/cluster-resources/{where}", bare(objects))
    return root


def answers(dractl, source):
    return [
        json.loads(dractl(*command, "-o", "json", "--snapshot", str(source)).out)
        for command in (("explain", "claim", "pair-on-h100-1", "-n", "ml"), ("get", "devices"), ("get", "claims", "-A"))
    ]


def same(found, right):
    """The same but for what the tool says of the reading itself."""
    ours, theirs = found[0], right[0]
    for key in ("verdict", "nodes", "requests"):
        assert ours[key] == theirs[key]
    assert found[1]["items"] == right[1]["items"]
    assert [(row["name"], row["state"], row["pods"]) for row in found[2]["items"]] == [
        (row["name"], row["state"], row["pods"]) for row in right[2]["items"]
    ]


@pytest.fixture(scope="module")
def plain(demo, tmp_path_factory):
    file = tmp_path_factory.mktemp("plain") / "all.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": demo}))
    return file


@pytest.mark.parametrize("make", [must_gather, kubectl_gather, support_bundle])
def test_a_folder_tree(dractl, demo, plain, tmp_path, make):
    same(answers(dractl, make(tmp_path / "g", demo)), answers(dractl, plain))


def tar(root: Path, file: Path, mode: str) -> Path:
    with tarfile.open(file, mode) as archive:
        archive.add(root, "gathered")
        link = tarfile.TarInfo("gathered/link.json")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
        escape = tarfile.TarInfo("../../escaped.json")
        escape.size = 2
        archive.addfile(escape, io.BytesIO(b"{}"))
    return file


def zipped(root: Path, file: Path) -> Path:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for item in sorted(root.rglob("*")):
            if item.is_file():
                archive.write(item, item.relative_to(root))
    return file


@pytest.mark.parametrize("form", ["tar", "tar.gz", "tar.xz", "zip", "stdin"])
def test_an_archive_is_read_in_place(dractl, demo, plain, tmp_path, form):
    root = support_bundle(tmp_path / "g", demo)
    file = tmp_path / f"b.{form}"
    if form == "zip":
        zipped(root, file)
    else:
        tar(root, file, {"tar": "w", "tar.xz": "w:xz"}.get(form, "w:gz"))
    before = set(tmp_path.rglob("*"))
    if form == "stdin":
        out = dractl("get", "devices", "-o", "json", "--snapshot", "-", stdin=file.read_bytes()).out
        assert json.loads(out)["items"] == answers(dractl, plain)[1]["items"]
    else:
        same(answers(dractl, file), answers(dractl, plain))
    assert set(tmp_path.rglob("*")) == before
    assert not (tmp_path.parent.parent / "escaped.json").exists()


def test_facts_of_the_gathering(demo, tmp_path):
    gathered = read_snapshot(str(must_gather(tmp_path / "m", demo)))
    assert gathered.provenance.taken == "2026-12-01T06:40:02Z"
    bundle = read_snapshot(str(support_bundle(tmp_path / "b", demo)))
    assert bundle.provenance.server_version == "v1.36.2"


def test_kinds_that_were_not_gathered_are_not_said_to_be_absent(demo, tmp_path):
    some = [item for item in demo if item["kind"] in ("Node", "Pod", "Namespace", "Event", "ResourceClaim")]
    unseen = read_snapshot(str(must_gather(tmp_path / "m", some))).provenance.unseen
    absent = ("ResourceSlice", "DeviceClass", "ResourceClaimTemplate", "DeviceTaintRule")
    assert unseen == dict.fromkeys(absent, "not in this must-gather")


def dump(items) -> str:
    """What kubectl cluster-info dump prints: lists without kinds in their items, and logs between them."""
    parts = []
    for kind in ("Node", "Event", "Pod"):
        chosen = bare(item for item in items if item["kind"] == kind)
        parts.append(json.dumps({"kind": f"{kind}List", "apiVersion": "v1", "metadata": {}, "items": chosen}, indent=4))
    of = "logs for container main of pod ml/train-0 ===="
    logs = f"==== START {of}\n{LOG}==== END {of}\n"
    return "\n".join(parts) + "\n" + logs + logs


def test_cluster_info_dump(demo, tmp_path):
    file = tmp_path / "dump.txt"
    file.write_text(dump(demo))
    printed = read_snapshot(str(file))
    assert (len(printed.nodes), len(printed.pods)) == (13, 37)
    assert printed.provenance.unseen["ResourceSlice"] == "not in this cluster-info dump"
    nodes = [item for item in demo if item["kind"] == "Node"]
    put(tmp_path / "d", "nodes.json", {"kind": "NodeList", "apiVersion": "v1", "items": nodes})
    put(tmp_path / "d", "ml/replication-controllers.json", {"kind": "ReplicationControllerList", "apiVersion": "v1",
        "items": []})  # fmt: skip
    put(tmp_path / "d", "ml/train-0/logs.txt", LOG)
    folder = read_snapshot(str(tmp_path / "d"))
    assert len(folder.nodes) == 13
    assert "ResourceClaim" in folder.provenance.unseen and "Node" not in folder.provenance.unseen


def test_kai_snapshot(dractl, demo, plain, tmp_path):
    raw = {}
    for (_, plural, _), objects in grouped(demo).items():
        key = {"resourceslices": "resourceSlices", "resourceclaims": "resourceClaims", "deviceclasses": "deviceClasses"}
        raw.setdefault(key.get(plural, plural), []).extend(bare(objects))
    raw["queues"] = [{"metadata": {"name": "q"}}]
    file = tmp_path / "snapshot.zip"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("snapshot.json", json.dumps({"config": {}, "schedulerParams": {}, "rawObjects": raw}))
    found = json.loads(dractl("get", "devices", "-o", "json", "--snapshot", str(file)).out)
    right = json.loads(dractl("get", "devices", "-o", "json", "--snapshot", str(plain)).out)
    taints = [item for item in right["items"] if item["taints"]]
    assert len(found["items"]) == len(right["items"]) and taints
    assert [item["id"] for item in found["items"]] == [item["id"] for item in right["items"]]


def test_several_clusters_are_not_mixed(demo, tmp_path):
    some = [item for item in demo if item["kind"] in ("Node", "Pod")]
    kubectl_gather(tmp_path / "g", some, "a")
    kubectl_gather(tmp_path / "g", some, "b")
    with pytest.raises(DractlError, match="several clusters: a, b"):
        read_snapshot(str(tmp_path / "g"))
    assert len(read_snapshot(str(tmp_path / "g" / "a")).nodes) == 13


@pytest.mark.parametrize("form", ["tar.gz", "zip"])
def test_a_damaged_archive(demo, tmp_path, form):
    root = support_bundle(tmp_path / "g", demo)
    file = tmp_path / f"b.{form}"
    zipped(root, file) if form == "zip" else tar(root, file, "w:gz")
    data = file.read_bytes()
    file.write_bytes(data[: len(data) // 2])
    with pytest.raises(DractlError, match="damaged archive"):
        read_snapshot(str(file))
