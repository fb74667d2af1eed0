"""Edits of YAML text: what is asked for, and not a character more."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dractl.sources import edit
from dractl.sources.yamltext import read_documents


def apply(function: Callable[..., str | None], text: str, *arguments: Any) -> str | None:
    (tree,) = read_documents(text)
    changed = function(text, tree.node, *arguments)
    if changed is not None:
        list(read_documents(changed))
    return changed


WRAP = {
    "block": (
        "r:\n- name: gpu  # one\n  # the class\n  class: a   # of ours\n  sel:\n  - x: 1\n\n  - y: |\n      z\n"
        "  count: 1\n",
        "r:\n- name: gpu  # one\n  exactly:\n    # the class\n    class: a   # of ours\n    sel:\n    - x: 1\n\n"
        "    - y: |\n        z\n    count: 1\n",
    ),
    "first beside the dash": (
        "r:\n- class: a  # c\n  count: 1\n  name: gpu\n",
        "r:\n- exactly:\n    class: a  # c\n    count: 1\n  name: gpu\n",
    ),
    "apart": (
        "r:\n- class: a\n  name: gpu\n  # how many\n  count: 1\n  other: 2\n",
        "r:\n- exactly:\n    class: a\n    # how many\n    count: 1\n  name: gpu\n  other: 2\n",
    ),
    "flow": ("r: [{name: gpu, class: a, count: 1}]\n", "r: [{name: gpu, exactly: {class: a, count: 1}}]\n"),
    "flow apart": (
        "r: [{class: a, name: gpu, count: 1}] # c\n",
        "r: [{exactly: {class: a, count: 1}, name: gpu}] # c\n",
    ),
}


@pytest.mark.parametrize(("before", "after"), WRAP.values(), ids=WRAP.keys())
def test_keys_go_below_a_new_one(before: str, after: str) -> None:
    (tree,) = read_documents(before)
    keys = [key for key in tree.value["r"][0] if key in ("class", "sel", "count")]
    assert apply(edit.wrap_keys, before, ("r", 0), keys, "exactly") == after


UNWRAP = {
    "block": (
        "r:\n- name: a\n  source:\n    # which\n    t: x  # one\n    u:\n    - 1\n  z: 1\n",
        "r:\n- name: a\n  # which\n  t: x  # one\n  u:\n  - 1\n  z: 1\n",
    ),
    "comment behind the key": ("r:\n- source:  # old\n    t: x\n  z: 1\n", "r:\n- # old\n  t: x\n  z: 1\n"),
    "four blanks": ("r:\n- name: a\n  source:\n      t: x\n", "r:\n- name: a\n  t: x\n"),
    "flow in block": ("r:\n- name: a\n  source: {t: x, u: y}  # c\n", "r:\n- name: a\n  t: x\n  u: y  # c\n"),
    "flow in flow": ("r: [{name: a, source: {t: x}}]\n", "r: [{name: a, t: x}]\n"),
}


@pytest.mark.parametrize(("before", "after"), UNWRAP.values(), ids=UNWRAP.keys())
def test_a_level_goes_away(before: str, after: str) -> None:
    assert apply(edit.unwrap_key, before, ("r", 0, "source")) == after


def test_a_key_is_indented_below_its_neighbour() -> None:
    before = "s:\n- cel:\n  # why\n  expression: |-\n    a &&\n    b\n- cel: {expression: c}\n"
    after = "s:\n- cel:\n  # why\n    expression: |-\n      a &&\n      b\n- cel: {expression: c}\n"
    assert apply(edit.shift_below, before, ("s", 0, "expression"), "cel") == after
    assert apply(edit.shift_below, "s:\n- cel: x\n  expression: y\n", ("s", 0, "expression"), "cel") is None
    assert apply(edit.shift_below, "s:\n- cel:\n  other: 1\n  expression: y\n", ("s", 0, "expression"), "cel") is None


@pytest.mark.parametrize(
    ("before", "value", "after"),
    [
        ("a: 144 Gi # c\n", "144Gi", "a: 144Gi # c\n"),
        ("a: '144 Gi'\n", "144Gi", "a: '144Gi'\n"),
        ('a: "x"\n', "y", 'a: "y"\n'),
        ("a: '2'\n", 2, "a: 2\n"),
        ("a: 010\n", "010", 'a: "010"\n'),
        ("a: yes\n", "yes", 'a: "yes"\n'),
        ("a:\nb: 1\n", 5, "a: 5\nb: 1\n"),
        ("a: x\n", "two words", 'a: "two words"\n'),
    ],
)
def test_a_value_is_replaced_in_its_style(before: str, value: object, after: str) -> None:
    changed = apply(edit.replace_scalar, before, ("a",), value)
    assert changed == after
    (tree,) = read_documents(changed)
    assert tree.value["a"] == value


REMOVE = {
    "block": ("a: 1\n# about b\nb:\n  c: 2\nd: 3\n", "b", "a: 1\nd: 3\n"),
    "last": ("a: 1\nb: 2\n", "b", "a: 1\n"),
    "flow": ("{a: 1, b: 2, d: 3}\n", "b", "{a: 1, d: 3}\n"),
    "flow last": ("{a: 1, b: 2}\n", "b", "{a: 1}\n"),
}


@pytest.mark.parametrize(("before", "key", "after"), REMOVE.values(), ids=REMOVE.keys())
def test_a_key_is_removed(before: str, key: str, after: str) -> None:
    assert apply(edit.remove_key, before, (key,)) == after


def test_the_first_key_beside_a_dash_is_removed() -> None:
    assert apply(edit.remove_key, "r:\n- a: 1\n  b: 2\n", ("r", 0, "a")) == "r:\n- b: 2\n"


def test_a_key_is_renamed() -> None:
    assert apply(edit.rename_key, "deviceclassname: x # c\n", ("deviceclassname",), "deviceClassName") == (
        "deviceClassName: x # c\n"
    )


VALUES = st.recursive(
    st.integers(0, 9) | st.sampled_from(["x", "two words", "a\nb", "", "# no"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("pqrst"), inner, max_size=3),
    max_leaves=5,
)


@given(
    st.dictionaries(st.sampled_from(["name", "class", "count", "sel", "mode"]), VALUES, min_size=1),
    st.booleans(),
    st.randoms(use_true_random=False),
)
@settings(max_examples=150, deadline=None)
def test_wrapping_changes_nothing_but_the_shape(request_: dict[str, Any], flow: bool, random: Any) -> None:
    yaml = pytest.importorskip("yaml")
    keys = list(request_)
    random.shuffle(keys)
    request_ = {key: request_[key] for key in keys}
    chosen = [key for key in keys if key != "name"]
    text = yaml.safe_dump({"r": [request_, {"name": "last"}], "z": 1}, default_flow_style=flow, sort_keys=False)
    if not chosen:
        return
    changed = apply(edit.wrap_keys, text, ("r", 0), chosen, "exactly")
    assert changed is not None
    (tree,) = read_documents(changed)
    wanted = {"exactly": {key: request_[key] for key in chosen}}
    if "name" in request_:
        wanted["name"] = request_["name"]
    assert tree.value == {"r": [wanted, {"name": "last"}], "z": 1}
    back = apply(edit.unwrap_key, changed, ("r", 0, "exactly"))
    if back is not None:
        (tree,) = read_documents(back)
        assert tree.value["r"][0] == request_
