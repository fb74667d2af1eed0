"""Another implementation of CEL: every answer in which it differs from Kubernetes has a known reason."""

from __future__ import annotations

import pytest

pytest.importorskip("cel_expr_python", reason="cel-expr-python is missing")

from second_opinion import UNEXPLAINED, SecondOpinion, compare


def test_every_difference_is_explained() -> None:
    counts, examples = compare(SecondOpinion())
    assert counts.total() > 4500
    assert counts["same"] > 3600
    assert examples.get(UNEXPLAINED, []) == []
