"""Reading manifests: every form of input, and the place of every value."""

from __future__ import annotations

import io
import json
import os
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dractl.sources import jsontext, manifests, yamltext
from dractl.sources.manifests import Document, Problem, find_inputs, read_file, read_stream, read_text


def only(text: str, source: str = "x.yaml") -> Document:
    (document,) = read_text(text, source)
    assert isinstance(document, Document)
    return document


def problem(text: str, source: str = "x.yaml") -> Problem:
    found = [item for item in read_text(text, source) if isinstance(item, Problem)]
    assert len(found) == 1
    return found[0]


def where(document: Document, *path: str | int, **more: Any) -> tuple[int, int]:
    place = document.place(path, **more)
    return place.line, place.column


# --- scalars as kubectl resolves them -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("yes", True), ("y", True), ("off", False), ("~", None), ("null", None), ("Null", None),
        ("010", 8), ("0o17", 15), ("0x1F", 31), ("-0b11", -3), ("1_000", 1000), ("+5", 5), ("08", 8),
        ("1e3", 1000), ("1.5", 1.5), (".5", 0.5), ("1e400", "1e400"), ("1:30", "1:30"), ("2024-01-01", "2024-01-01"),
        ("1.2.3", "1.2.3"), ("-", "-"), ("0x", "0x"), ("40Gi", "40Gi"), ("nULL", "nULL"), ("1__0", 10), ("e5", "e5"),
    ],
)  # fmt: skip
def test_plain_scalars_are_resolved_as_go_yaml_does(text: str, value: object) -> None:
    got = yamltext.plain_scalar(text)
    assert got == value
    assert type(got) is type(value)


def test_quotes_and_tags_keep_text() -> None:
    document = only("a: '010'\nb: \"yes\"\nc: !!str 5\nd: !custom x\n")
    assert document.value == {"a": "010", "b": "yes", "c": "5", "d": "x"}


def test_keys_become_text() -> None:
    assert only("1: a\ntrue: b\n1.5: c\n'2': d\n").value == {"1": "a", "true": "b", "1.5": "c", "2": "d"}


@given(st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(min_size=1, max_size=5), inner, max_size=3),
    max_leaves=8,
))  # fmt: skip
@settings(max_examples=200, deadline=None)
def test_json_read_by_either_reader_is_the_same(value: object) -> None:
    text = json.dumps({"v": value}, ensure_ascii=False)
    if any(ord(c) in (0x85, 0x2028, 0x2029, 0x7F, 0xFEFF) or 0x80 <= ord(c) < 0xA0 for c in text):
        return
    (tree,) = jsontext.read_values(text)
    assert tree.value == {"v": value}
    (by_yaml,) = yamltext.read_documents(text)
    assert by_yaml.value == tree.value


# --- places ---------------------------------------------------------------------------------------------------------

CLAIM = """\
# first
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: a, labels: {"x": 'é'}}
spec:
  devices:
    requests:
    - name: gpu
      exactly:
        deviceClassName: "gpu.example.com"
"""


def test_places_in_yaml() -> None:
    document = only(CLAIM)
    assert where(document, "kind") == (3, 7)
    assert where(document, "kind", key=True) == (3, 1)
    assert where(document, "metadata", "labels", "x") == (4, 35)
    assert where(document, "spec", "devices", "requests") == (7, 5)
    assert where(document, "spec", "devices", "requests", 0) == (8, 7)
    assert where(document, "spec", "devices", "requests", 0, "exactly", "deviceClassName") == (10, 26)
    assert where(document, "spec", "devices", "requests", 0, "exactly", "count") == (9, 7)
    assert where(document, "spec", "devices", "constraints") == (6, 3)
    # of what is missing altogether, the kind is shown
    assert where(document, "status") == (3, 1)
    assert document.line == 2


def test_places_in_json_are_found_without_yaml_rules() -> None:
    text = '{\n\t"a": [1, {"b\\"": "x"}],\n\t"c": "\\ud83d\\ude00"\n}\n{"second": true}'
    first, second = list(read_text(text, "x.json"))
    assert isinstance(first, Document)
    assert isinstance(second, Document)
    assert where(first, "a", 1, 'b"') == (2, 19)
    assert where(first, "c") == (3, 7)
    assert first.value["c"] == "\U0001f600"
    assert where(second, "second") == (5, 12)


def test_lines_go_on_through_documents_and_items() -> None:
    text = "a: 1\n---\n# note\nkind: List\nitems:\n- kind: A\n  x: 1\n- kind: B\n---\n\n---\nb: 2\n"
    documents = [item for item in read_text(text, "x") if isinstance(item, Document)]
    assert [item.value.get("kind") for item in documents] == [None, "A", "B", None]
    assert [item.index for item in documents] == [1, 2, 2, 3]
    assert where(documents[1], "x") == (7, 6)
    assert documents[2].line == 8
    assert where(documents[3], "b") == (12, 4)


def test_items_of_a_typed_list_get_its_kind() -> None:
    (document,) = read_text("apiVersion: v1\nkind: PodList\nitems: [{metadata: {name: a}}]", "x")
    assert isinstance(document, Document)
    assert document.value == {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}


def test_windows_line_ends_and_byte_order_mark() -> None:
    data = b"\xef\xbb\xbf" + CLAIM.replace("\n", "\r\n").encode() + b"---\r\na: |\r\n  x\r\n  y\r\n"
    first, second = list(read_stream(io.BytesIO(data), "x"))
    assert isinstance(first, Document)
    assert isinstance(second, Document)
    assert where(first, "spec", "devices", "requests", 0, "exactly", "deviceClassName") == (10, 26)
    assert second.value == {"a": "x\ny\n"}
    assert where(second, "a", offset=2) == (14, 3)


SCALARS = {
    "plain": "e: device.driver == 'x'  # c\n",
    "folded plain": "e: device.driver\n  ==\n\n  'x'\n",
    "single": "e: 'device.driver == ''x'' '\n",
    "double": 'e: "device.driver ==\\n \\"x\\" \\u00e9 \\\n   end"\n',
    "literal": "e: |-\n  device.driver ==\n\n    'x'\n",
    "folded": "e: >-  # c\n    device.driver ==\n    'x'\n\n      more\n    less\n",
    "indented": "e: |2\n    device\n  x\n",
}


@pytest.mark.parametrize("text", SCALARS.values(), ids=SCALARS.keys())
def test_every_character_of_a_scalar_is_found(text: str) -> None:
    document = only(text)
    value = document.value["e"]
    rows = text.split("\n")
    for offset, character in enumerate(value):
        if character in " \n'\"é":
            continue
        line, column = where(document, "e", offset=offset)
        assert rows[line - 1][column - 1] == character, (offset, value)


@given(st.text(st.sampled_from("ab .'\"\\é\n\t"), min_size=1, max_size=60), st.sampled_from(["'", '"', "|", ">", None]))
@settings(max_examples=300, deadline=None)
def test_characters_are_found_whatever_the_style(value: str, style: str | None) -> None:
    yaml = pytest.importorskip("yaml")
    text = yaml.dump({"k": {"e": value}}, default_style=style, width=20, allow_unicode=True)
    document = only(text)
    assert document.value == {"k": {"e": value}}
    rows = text.split("\n")
    for offset, character in enumerate(value):
        if character in "ab.é":
            line, column = where(document, "k", "e", offset=offset)
            assert rows[line - 1][column - 1] == character


def test_long_lines_are_shown_in_part() -> None:
    document = only("a: " + "x" * 5000 + "!\n")
    place = document.place(("a",), offset=5000)
    assert place.column == 5004
    assert len(place.excerpt) <= manifests.EXCERPT
    assert place.excerpt[place.excerpt_column - 1] == "!"


# --- anchors, repeated keys -----------------------------------------------------------------------------------------


def test_anchors_and_merge_keys() -> None:
    document = only("base: &b {x: 1, z: 2}\nuse:\n  <<: *b\n  z: 3\nagain: *b\n")
    assert document.value["use"] == {"x": 1, "z": 3}
    assert where(document, "use", "x") == (1, 14)
    assert where(document, "again", "z") == (1, 20)


def test_an_anchor_may_be_defined_again() -> None:
    document = only("a: &x 1\nb: &x {q: 2}\nc: *x\n")
    assert document.value == {"a": 1, "b": {"q": 2}, "c": {"q": 2}}
    assert where(document, "c", "q") == (2, 11)


@pytest.mark.parametrize(
    "text", ["a: 1\nb:\n  c: 1\n  d: 0\n  c: 2\n", '{"a": 1,\n "b":\n {"c": 1,\n "d": 0,\n "c": 2}}']
)
def test_repeated_keys_are_reported_and_the_last_one_counts(text: str) -> None:
    document = only(text)
    assert document.value["b"] == {"c": 2, "d": 0}
    (repeat,) = document.repeats
    assert (repeat.path, repeat.line, repeat.first_line) == (("b", "c"), 5, 3)


# --- what cannot be read --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "kind", "line"),
    [
        ("a: b: c\n", "syntax", 1),
        ("a:\n\tb: 1\n", "syntax", 2),
        ("a: [1, 2\nb: 3\n", "syntax", 2),
        ("a: *nowhere\n", "alias", 1),
        ("a: &x [*x]\n", "alias", 1),
        ("? [a]\n: b\n", "value", 1),
        ("a: .nan\n", "value", 1),
        ("a: !!int x\n", "value", 1),
        ("a: 1\nname: {{ .Values.name }}\n", "template", 2),
        ("{{- if .Values.x }}\na: 1\n{{- end }}\n", "template", 1),
        ('{"a": 1,}', "json", 1),
        ('{\n"a": NaN}', "json", 2),
        ("a: \x07\n", "syntax", 1),
    ],
)
def test_faults_are_named_at_their_line(text: str, kind: str, line: int) -> None:
    found = problem(text, "x.json" if kind == "json" else "x.yaml")
    assert found.kind == kind
    assert found.place is not None
    assert found.place.line == line


def test_a_broken_document_does_not_hide_the_others() -> None:
    items = list(read_text("a: 1\n---\nb: [\n---\nc: 3\n", "x"))
    assert [getattr(item, "value", None) for item in items] == [{"a": 1}, None, {"c": 3}]


CLOSING = {"[": "]", "{a: ": "}", "- ": ""}


@pytest.mark.parametrize("opening", CLOSING)
@pytest.mark.parametrize("levels", [300, 10_000, 1_000_000])
def test_deep_nesting_is_refused(opening: str, levels: int) -> None:
    assert problem("a:\n  " + opening * levels + "x" + CLOSING[opening] * levels).kind == "depth"


@pytest.mark.parametrize("levels", [300, 10_000, 1_000_000])
def test_deep_json_is_refused(levels: int) -> None:
    assert problem("[" * levels + "]" * levels, "x.json").kind == "depth"


def test_aliases_that_multiply_are_refused() -> None:
    rows = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    rows += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 40)]
    found = problem("\n".join(rows))
    assert found.kind == "alias"
    assert "aliases" in found.message


def test_binary_and_other_encodings_are_named(tmp_path: Path) -> None:
    for name, data, words in (
        ("a.yaml", b"\x7fELF\x00\x01\x02" + bytes(range(256)), "binary"),
        ("b.yaml", "a: 1".encode("utf-16"), "UTF-16"),
        ("c.yaml", b"a: 1\nb: caf\xe9\n", "0xe9 is not UTF-8"),
    ):
        (tmp_path / name).write_bytes(data)
        (found,) = read_file(str(tmp_path / name))
        assert isinstance(found, Problem)
        assert found.kind == "binary"
        assert words in found.message
    assert found.place is not None
    assert (found.place.line, found.place.column) == (2, 7)


def test_a_scalar_of_ten_megabytes_is_read() -> None:
    document = only("a: '" + "x" * 10_000_000 + "'\nb: 1\n")
    assert len(document.value["a"]) == 10_000_000
    assert len(document.place(("a",)).excerpt) <= manifests.EXCERPT


def test_memory_follows_the_document_not_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manifests, "WHOLE_FILE", 32 * 1024)
    path = tmp_path / "big.yaml"
    path.write_text((CLAIM + "---\n") * 6000)
    assert path.stat().st_size > 30 * manifests.WHOLE_FILE
    tracemalloc.start()
    count = sum(1 for item in read_file(str(path)) if isinstance(item, Document))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert count == 6000
    assert peak < 12 * manifests.WHOLE_FILE


def test_lines_are_right_in_a_large_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manifests, "WHOLE_FILE", 64)
    text = "".join(f"num: {number}\n---\n# c\n" for number in range(50))
    path = tmp_path / "x.yaml"
    path.write_text(text)
    documents = [item for item in read_file(str(path)) if isinstance(item, Document)]
    assert [item.value["num"] for item in documents] == list(range(50))
    assert [item.line for item in documents] == [1 + 3 * number for number in range(50)]


# --- which files ----------------------------------------------------------------------------------------------------


def test_folders_globs_links_and_what_is_passed_over(tmp_path: Path) -> None:
    for name in ("b.yaml", "a.yml", "c.json", "d.txt", "sub/e.yaml", ".git/f.yaml", "node_modules/g.yaml"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("a: 1")
    (tmp_path / "sub" / "loop").symlink_to(tmp_path)
    (tmp_path / "gone.yaml").symlink_to(tmp_path / "nowhere")
    names = [str(Path(str(item)).relative_to(tmp_path)) for item in find_inputs([str(tmp_path)])]
    assert names == ["a.yml", "b.yaml", "c.json", "gone.yaml", "sub/e.yaml"]
    globbed = find_inputs([str(tmp_path / "*.y*ml")])
    assert [Path(str(item)).name for item in globbed] == ["a.yml", "b.yaml", "gone.yaml"]
    assert list(find_inputs(["-", str(tmp_path / "d.txt")])) == ["-", str(tmp_path / "d.txt")]
    (lost,) = read_file(str(tmp_path / "gone.yaml"))
    assert isinstance(lost, Problem)
    assert lost.kind == "unreadable"


def test_what_is_not_there_is_said(tmp_path: Path) -> None:
    (pattern,) = find_inputs([str(tmp_path / "*.yaml")])
    assert isinstance(pattern, Problem)
    assert pattern.message == "no file matches this pattern"
    (name,) = find_inputs([str(tmp_path / "x.yaml")])
    (missing,) = read_file(str(name))
    assert isinstance(missing, Problem)
    assert missing.message == "no such file or directory"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_folder_without_permission_is_said(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0)
    (found,) = find_inputs([str(tmp_path)])
    assert isinstance(found, Problem)
    assert found.message == "permission denied"


def test_a_folder_that_cannot_be_listed_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    closed = tmp_path / "closed"
    closed.mkdir()
    (tmp_path / "x.yaml").write_text("a: 1")
    listing = os.scandir

    def scandir(name: str) -> Any:
        if name == str(closed):
            raise PermissionError(13, "Permission denied", name)
        return listing(name)

    monkeypatch.setattr(os, "scandir", scandir)
    found, file = find_inputs([str(tmp_path)])
    assert isinstance(found, Problem)
    assert (found.kind, found.message) == ("unreadable", "permission denied")
    assert file == str(tmp_path / "x.yaml")


# --- comments that silence ------------------------------------------------------------------------------------------


def test_ignore_comments_and_what_they_cover() -> None:
    text = (
        "# dractl:ignore=DRA101 known\n"
        "a: 1\n"
        "b: 2  # dractl:ignore=dra102,DRA103\n"
        "# dractl:ignore=DRA104 because\n"
        "# more\n"
        "c: 3\n"
        "---\n"
        "# dractl:ignore-file=DRA105\n"
        "d: 4\n"
        "---\n"
        "e: 5\n"
    )
    first, second, third = [item for item in read_text(text, "x") if isinstance(item, Document)]
    assert [(sorted(one.codes), one.lines, one.reason) for one in first.text.ignores] == [
        (["DRA101"], None, "known"),
        (["DRA102", "DRA103"], (3, 3), ""),
        (["DRA104"], (4, 6), "because"),
    ]
    assert [sorted(one.codes) for one in second.text.ignores][-1:] == [["DRA105"]]
    assert [sorted(one.codes) for one in third.text.ignores] == [["DRA105"]]
