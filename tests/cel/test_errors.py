"""How faults are printed: places, carets, order, and the limit on their number."""

from __future__ import annotations

import pytest

from dractl.cel.environment import Environment
from dractl.cel.errors import CelError, CelLimit, CelSyntaxErrors, CelTypeErrors, Issues, Source
from dractl.cel.frontend import compile

ENV = Environment((1, 36))


def error(text: str, env: Environment = ENV) -> str:
    with pytest.raises(CelError) as caught:
        compile(text, env)
    return str(caught.value)


def test_caret() -> None:
    assert error("device.drive == 'a'") == (
        "compilation failed: ERROR: <input>:1:7: undefined field 'drive'\n"
        " | device.drive == 'a'\n"
        " | ......^"
    )  # fmt: skip


def test_second_line_with_tab() -> None:
    assert error("true &&\n\tfoo") == (
        "compilation failed: ERROR: <input>:2:2: undeclared reference to 'foo' (in container '')\n"
        " |  foo\n"
        " | .^"
    )  # fmt: skip


def test_wide_characters_get_wide_dots() -> None:
    assert error("'é日' == foo").endswith(" | 'é日' == foo\n | .\uff0e\uff0e.....^")
    assert error("'a' == é").splitlines()[2] == " | .......\uff3e"


def test_faults_are_ordered_by_place() -> None:
    found = error("b + a\n+ c")
    assert found.index("'b'") < found.index("'a'") < found.index("'c'")


def test_wrong_type_has_no_place() -> None:
    assert error("1u") == "must evaluate to bool or the unknown type, not uint"


def test_kinds_of_errors() -> None:
    with pytest.raises(CelSyntaxErrors) as syntax:
        compile("1 +", ENV)
    with pytest.raises(CelTypeErrors) as types:
        compile("1 + 'a'", ENV)
    assert [issue.offset for issue in syntax.value.issues] == [3]
    assert [issue.offset for issue in types.value.issues] == [2]
    assert not syntax.value.internal


def test_not_more_than_a_hundred() -> None:
    found = error("[" + ", ".join(f"x{number}" for number in range(150)) + "]")
    assert found.count("ERROR: ") == 100
    assert found.splitlines()[-1] == "50 more errors were truncated"


def test_empty() -> None:
    assert error("").startswith("compilation failed: ERROR: <input>:1:0: Syntax error: mismatched input '<EOF>'")
    assert error("", Environment((1, 31))).startswith("compilation failed: ERROR: <input>:1:1: ")


def test_old_places() -> None:
    """Until 1.31 what starts a line was placed at the end of the line before."""
    assert Source("a\nb", old=True).location(2) == (1, 2)
    assert Source("a\nb", old=True).location(2, of_token=True) == (2, 0)
    assert Source("a\nb").location(2) == (2, 0)


def test_long_lines_have_no_snippet() -> None:
    text = "x" * 20_000
    issues = Issues(Source(text))
    issues.add(0, "fault")
    assert issues.render() == "ERROR: <input>:1:1: fault"


@pytest.mark.parametrize("release", [(1, 31), (1, 36)])
def test_macros_that_double(release: tuple[int, int]) -> None:
    """optMap has its receiver twice: forty in a row would make a million million nodes."""
    text = "optional.of(1)" + ".optMap(x, x)" * 40
    with pytest.raises(CelLimit) as caught:
        compile(text, Environment(release))
    assert caught.value.internal
