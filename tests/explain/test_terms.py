"""Selectors taken apart into the terms that && joins."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dractl.explain.terms import conjuncts, terms_of

A = "device.attributes['d']"


@pytest.mark.parametrize(
    ("expression", "parts"),
    [
        ("a && b && c", ["a", "b", "c"]),
        ("(a && b) && c", ["a", "b", "c"]),
        ("((a)) && (b && (c && d))", ["a", "b", "c", "d"]),
        ("a || b && c", ["a || b && c"]),
        ("(a || b) && c", ["a || b", "c"]),
        ("a && b ? c : d", ["a && b ? c : d"]),
        ("'x && y' == a && b", ["'x && y' == a", "b"]),
        ('"it\'s" == a && b', ['"it\'s" == a', "b"]),
        (r"'don\'t && x' == a && b", [r"'don\'t && x' == a", "b"]),
        (r"r'\' == a && b", [r"r'\' == a", "b"]),
        ("'''a && ' b''' == x && y", ["'''a && ' b''' == x", "y"]),
        ("m[?'k'].hasValue() && n.?x.orValue(1) > 0", ["m[?'k'].hasValue()", "n.?x.orValue(1) > 0"]),
        ("[a && b].all(x, x) && c", ["[a && b].all(x, x)", "c"]),
        ("a // && b\n && c", ["a // && b", "c"]),
        ("a &&", ["a", ""]),
    ],
)
def test_conjuncts(expression, parts):
    assert conjuncts(expression) == parts


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (f"{A}.x == 'v'", "d/x == 'v'"),
        (f"'v' == {A}['x']", "d/x == 'v'"),
        (f"3 < {A}.x", "d/x > 3"),
        (f"{A}.x", "d/x is true"),
        (f"!{A}.x", "d/x is false"),
        (f"{A}.x == true", "d/x is true"),
        (f"{A}.x != true", "d/x is false"),
        (f"{A}.x in ['a', 'b']", "d/x in ['a', 'b']"),
        (f"'x' in {A}", "d/x is published"),
        (f"has({A}.x)", "d/x is published"),
        (f"{A}.?x.orValue(0) >= 2", "d/x >= 2"),
        (f"{A}.x.lowerAscii().contains('v')", "d/x containing 'v'"),
        ("device.capacity['d'].m.compareTo(quantity('8Gi')) >= 0", "d/m >= 8Gi"),
        ("quantity('8Gi').compareTo(device.capacity['d'].m) <= 0", "d/m >= 8Gi"),
        ("device.capacity['d'].m.isGreaterThan(quantity('8Gi'))", "d/m > 8Gi"),
        (f"{A}.v.compareTo(semver('1.2.3')) < 0", "d/v < 1.2.3"),
        ("device.driver == 'd'", "driver == 'd'"),
        ("size(device.attributes) > 2", "size(device.attributes) > 2"),
        (f"{A}.x == {A}.y", f"{A}.x == {A}.y"),
    ],
)
def test_what_a_term_asks(expression, text):
    (term,) = terms_of(expression)
    assert term.text == text


def test_something_that_is_no_expression_is_one_term():
    assert [term.source for term in terms_of("device.attributes[")] == ["device.attributes["]


@given(st.text(alphabet="a&|'\"\\()[]{} ?:/\n", max_size=40))
def test_any_text_is_taken_apart_without_an_error(text):
    assert "".join("".join(part.split()) for part in conjuncts(text)) is not None
    terms_of(text)
