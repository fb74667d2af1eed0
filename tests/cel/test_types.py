"""Types: one object each, and their two spellings."""

from __future__ import annotations

import pickle

from dractl.cel import types as t
from dractl.cel.signatures import parse_signatures


def test_one_object() -> None:
    assert t.list_of(t.map_of(t.STRING, t.INT)) is t.list_of(t.map_of(t.STRING, t.INT))
    assert pickle.loads(pickle.dumps(t.optional_of(t.INT))) is t.optional_of(t.INT)


def test_spellings() -> None:
    assert str(t.list_of(t.DURATION)) == "list(google.protobuf.Duration)"
    assert t.list_of(t.DURATION).format() == "list(duration)"
    assert t.wrapper(t.INT).format() == "wrapper(int)"
    assert str(t.map_of(t.param("K"), t.DYN)) == "map(K, dyn)"


def test_wrappers() -> None:
    assert t.wrapper(t.INT) is not t.INT
    assert t.wrapper(t.INT).same(t.INT)
    assert t.list_of(t.wrapper(t.BOOL)).plain is t.list_of(t.BOOL)


def test_deep_types_do_not_recurse() -> None:
    deep = t.INT
    for _ in range(5000):
        deep = t.list_of(deep)
    assert str(deep).endswith("(int" + ")" * 5000)


def test_doubling_types_are_cut_off() -> None:
    deep = t.INT
    for _ in range(60):
        deep = t.map_of(deep, deep)
    assert str(deep).endswith("...")


def test_signatures() -> None:
    (overload,) = parse_signatures("list_first: (list(T)).first() -> optional(T)\n")
    assert overload.is_method
    assert overload.args == (t.list_of(t.param("T")),)
    assert overload.result is t.optional_of(t.param("T"))
    assert overload.params == ("T",)
