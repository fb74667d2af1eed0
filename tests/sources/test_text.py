"""Bytes to documents: JSON, YAML, gzip, and everything that is neither."""

import gzip
import json

import pytest

from dractl.errors import DractlError
from dractl.sources.text import parse


def bodies(data: bytes | str, name: str = "f"):
    return [document.body for document in parse(data.encode() if isinstance(data, str) else data, name)]


def error(data: bytes | str) -> str:
    with pytest.raises(DractlError) as caught:
        bodies(data)
    assert caught.value.exit_code == 2
    assert caught.value.hint
    assert "\n" not in caught.value.message
    return caught.value.message


def test_json_yaml_and_gzip_give_the_same():
    wanted = {"kind": "Node", "metadata": {"name": "n"}, "list": [1, 1.5, True, None]}
    text = json.dumps(wanted)
    yaml = "kind: Node\nmetadata: {name: n}\nlist: [1, 1.5, true, null]\n"
    for data in (text, yaml, gzip.compress(text.encode()), gzip.compress(yaml.encode()), "\ufeff" + text):
        assert bodies(data) == [wanted]


def test_utf16_as_windows_writes_it():
    assert bodies(b"\xff\xfe" + '{"kind": "K"}'.encode("utf-16-le")) == [{"kind": "K"}]


def test_several_documents():
    assert bodies("---\na: 1\n---\n---\n# nothing\n---\nb: 2\n") == [{"a": 1}, {"b": 2}]
    assert bodies('{"a": 1}\n{"b": 2}') == [{"a": 1}, {"b": 2}]
    assert bodies(gzip.compress(b"a: 1\n") + gzip.compress(b"b: 2\n")) == [{"a": 1, "b": 2}]


def test_documents_know_their_lines():
    documents = parse(b"# head\nkind: List\nitems:\n- kind: A\n- kind: B\n---\nkind: C\n", "f")
    assert [document.line for document in documents] == [2, 7]
    assert documents[0].item_lines == [4, 5]
    assert [document.line for document in parse(b'{"a": 1}\n\n{"b":\n 2}\n{"c": 3}', "f")] == [1, 3, 5]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0000:17:00.0", "0000:17:00.0"),
        ("10:20:30:40:50:59", "10:20:30:40:50:59"),
        ("2026-12-01T06:32:30Z", "2026-12-01T06:32:30Z"),
        ("2026-12-01", "2026-12-01"),
        ("0x1f", 31),
        ("017", 15),
        ("0o17", 15),
        ("0b11", 3),
        ("1_000", 1000),
        ("-12", -12),
        ("1e3", 1000.0),
        (".5", 0.5),
        ("80Gi", "80Gi"),
        ("yes", True),
        ("Off", False),
        ("~", None),
        ("", None),
        ("'1'", "1"),
    ],
)
def test_yaml_scalars_are_read_as_kubernetes_reads_them(text, value):
    read = bodies(f"a: {text}\n")[0]["a"]
    assert read == value
    assert type(read) is type(value)


def test_yaml_keys_are_texts_and_merges_work():
    assert bodies("1: a\ntrue: b\nnull: c\n") == [{"1": "a", "true": "b", "null": "c"}]
    assert bodies("x: &x {a: 1, b: 2}\ny: {<<: *x, b: 3}\n")[0]["y"] == {"a": 1, "b": 3}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "f: is empty"),
        (b" \n ", "f: is empty"),
        (b"\x00\x01\x02", "f: is a binary file"),
        (b"\x7fELF\x02\x01\x01\x00", "f: is a binary file"),
        (b"kind: K\nx: \xff\n", "f:2: is not UTF-8 text (byte 0xff)"),
        (b'{"kind": "List", "items": [{"kind"', "f:1: is cut off"),
        (b'{"kind": "List",\n "items": [{"kind": "No', "f:2: is cut off"),
        (b'{"a": 1}\n{"b": ', "f:2: is cut off"),
        (b'{"a": 1,\n "b" 2}', "f:2:6: is not JSON"),
        (b'{"a": 1} trailing', "f:1:10: is not JSON"),
        (b"a: [1,\nb: 2\n", "f:3:1: is not YAML"),
        (b"a: b: c\n", "f:1:5: is not YAML"),
        (b"a:\n\t- b\n", "f:2:1: is not YAML"),
        (b"a: !!python/object:os.system x\n", "f:1:4: is not YAML"),
        (b"a: &a [*a]\n", "f:1:"),
        (b"[" * 100_000, "f: is nested too deeply"),
        (gzip.compress(b'{"kind": "List"}' * 50, mtime=0)[:-12], "f: is cut off"),
        (b"\x1f\x8b\x08\x00garbage-garbage", "f: damaged gzip data"),
    ],
    ids=lambda value: repr(value)[:40] if isinstance(value, str) else "",
)
def test_bad_input_names_the_place(data, message):
    assert error(data).startswith(message)


def test_a_flow_mapping_is_yaml():
    assert bodies("{kind: Node, metadata: {name: n}}") == [{"kind": "Node", "metadata": {"name": "n"}}]


def test_a_small_gzip_file_cannot_fill_the_memory(monkeypatch):
    monkeypatch.setattr("dractl.sources.text.MAX_BYTES", 1 << 20)
    with pytest.raises(DractlError, match="unpacks to more than"):
        parse(gzip.compress(b" " * (2 << 20)), "f")
