"""Node selectors as the scheduler evaluates them."""

from __future__ import annotations

import pytest

from dractl.kube.node_selector import NodeSelectorError, matches
from dractl.kube.objects import NodeRequirement, NodeSelector, NodeSelectorTerm

LABELS = {"zone": "a", "cores": "96", "word": "x1"}


def fits(*terms: NodeSelectorTerm, name: str = "n1") -> bool:
    return matches(NodeSelector(list(terms)), name, LABELS)


def labels(*requirements: tuple[str, str, list[str]]) -> NodeSelectorTerm:
    return NodeSelectorTerm(match_expressions=[NodeRequirement(*r) for r in requirements])


def by_name(operator: str, *names: str) -> NodeSelectorTerm:
    return NodeSelectorTerm(match_fields=[NodeRequirement("metadata.name", operator, list(names))])


@pytest.mark.parametrize(
    ("key", "operator", "values", "expected"),
    [
        ("zone", "In", ["a", "b"], True),
        ("zone", "In", ["b"], False),
        ("none", "In", ["a"], False),
        ("zone", "NotIn", ["b"], True),
        ("zone", "NotIn", ["a"], False),
        ("none", "NotIn", ["a"], True),
        ("zone", "Exists", [], True),
        ("none", "Exists", [], False),
        ("none", "DoesNotExist", [], True),
        ("zone", "DoesNotExist", [], False),
        ("cores", "Gt", ["95"], True),
        ("cores", "Gt", ["96"], False),
        ("cores", "Lt", ["97"], True),
        ("word", "Gt", ["0"], False),
        ("none", "Lt", ["5"], False),
    ],
)
def test_requirements_on_labels(key: str, operator: str, values: list[str], expected: bool) -> None:
    assert fits(labels((key, operator, values))) is expected


def test_terms_are_alternatives_and_requirements_are_not() -> None:
    good, bad = ("zone", "In", ["a"]), ("zone", "In", ["b"])
    assert fits(labels(bad), labels(good))
    assert not fits(labels(good, bad))


def test_an_empty_term_fits_nothing() -> None:
    assert not fits(NodeSelectorTerm())
    assert not fits()


def test_names() -> None:
    assert fits(by_name("In", "n1"))
    assert not fits(by_name("In", "n2"))
    assert fits(by_name("NotIn", "n2"))
    other = NodeSelectorTerm(match_fields=[NodeRequirement("spec.x", "In", ["n1"])])
    assert not fits(other)


@pytest.mark.parametrize(
    "term",
    [
        labels(("zone", "Near", ["a"])),
        labels(("zone", "In", [])),
        labels(("zone", "Exists", ["a"])),
        labels(("zone", "Gt", ["1", "2"])),
        labels(("zone", "Lt", ["x"])),
        by_name("Exists"),
        by_name("In", "a", "b"),
    ],
)
def test_what_cannot_be_evaluated_is_an_error_even_beside_a_good_term(term: NodeSelectorTerm) -> None:
    with pytest.raises(NodeSelectorError, match=r"nodeSelectorTerms\[1\]"):
        fits(labels(("zone", "Exists", [])), term)
