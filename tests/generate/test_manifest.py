"""Manifests as YAML: whatever the object, reading the text gives it back, and comments are only comments."""

from hypothesis import given, settings
from hypothesis import strategies as st

from dractl.generate.manifest import Said, manifest
from dractl.render.manifest import to_yaml


def read_all(text):
    import yaml

    return list(yaml.safe_load_all(text))


def read_one(text):
    (document,) = read_all(text)
    return document


TEXT = st.text(max_size=12) | st.sampled_from(
    ["yes", "1e3", "0x10", "1_000", "10Gi", "null", "~", "- a", "a: b", "# c", "a #b", "1:30", "a\nb", " a\n b",
     "a\n\nb\n",
     "2026-01-01", ".5", "=", "<<", "!x", "&a", "*a", "%", "@", "`", "a:b", "12:30:45", "-1", "+1", "{}", "'", '"']
)  # fmt: skip
SCALAR = TEXT | st.booleans() | st.integers() | st.none()
NODES = st.recursive(
    SCALAR,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(TEXT.filter(lambda key: "\n" not in key), inner, max_size=3)
    ),
    max_leaves=12,
)


def paths(node, path=()):
    yield path
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, value in items:
        yield from paths(value, (*path, key))


@settings(max_examples=300, deadline=None)
@given(
    body=st.dictionaries(st.sampled_from(["a", "b", "spec"]), NODES, min_size=1),
    note=st.sampled_from(["why", "a # b: - c " * 30]),
)
def test_reading_gives_the_object_back(body, note):
    notes = {path: note for path in paths(body) if path}
    assert read_one(to_yaml(body, notes, ["head", note])) == body


def test_reasons_are_taken_out_and_said_once():
    tree = {"kind": "X", "a": Said(1, "why"), "b": [Said({"c": Said(None, "gone")}, "why")], "d": Said([2], "list")}
    made = manifest(tree)
    assert made.body == {"kind": "X", "a": 1, "b": [{}], "d": [2]}
    assert made.notes == {("a",): "why", ("d",): "list"}
    assert to_yaml(made.body, made.notes) == "kind: X\na: 1  # why\nb:\n  - {}\nd:  # list\n  - 2\n"
