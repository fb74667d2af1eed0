"""Ids, positions, types and overloads of every node, as cel-go numbers and checks them."""

from __future__ import annotations

from typing import Any

from cases import lines

from dractl.cel.ast import Ast, Call, Ident, Node
from dractl.cel.builder import Builder
from dractl.cel.checked import Checked
from dractl.cel.checker import check
from dractl.cel.descent import parse_tokens
from dractl.cel.environment import Environment
from dractl.cel.errors import Issues, Source
from dractl.cel.lexer import Token, tokens
from dractl.cel.parser import parse
from dractl.cel.recovery import parse as parse_slowly
from dractl.cel.syntax import Syntax
from dractl.cel.walk import bottom_up

ENV = Environment((1, 36))
KINDS = {
    "Comprehension": "comprehension",
    "ListExpr": "list",
    "Literal": "literal",
    "MapExpr": "map",
    "Select": "select",
}


def kind(node: Node) -> str:
    match node:
        case Call(function=function):
            return f"call {function}"
        case Ident(name=name):
            return f"ident {name}"
    return KINDS.get(type(node).__name__, "struct")


def described(checked: Checked, node: Node) -> list[Any]:
    found = checked.types.get(node.id)
    parts: list[Any] = [kind(node), node.pos, found.format() if found else None]
    reference = checked.references.get(node.id)
    if reference:
        parts.append(list(reference.overloads) or reference.name)
    return parts


def test_nodes() -> None:
    count = 0
    for case in lines("trees-1.36.jsonl.gz"):
        checked = check(parse(case["expression"], ENV), ENV)
        nodes = {str(node.id): described(checked, node) for node in bottom_up(checked.ast.root)}
        assert nodes == case["nodes"], case["expression"]
        assert checked.ast.root.id == case["root"]
        count += 1
    assert count > 1700


def tree(syntax: Syntax | None, source: str) -> Ast:
    issues = Issues(Source(source))
    builder = Builder(ENV, issues)
    root = builder.build(syntax)
    assert not issues
    return Ast(source, root)


def test_both_parsers_agree() -> None:
    """The parser for texts with errors, on texts without."""
    for number, case in enumerate(lines("trees-1.36.jsonl.gz")):
        if number % 5:
            continue
        source = case["expression"]
        visible = [token for token in tokens(source) if isinstance(token, Token) and not token.hidden]
        fast = tree(parse_tokens(visible), source)
        issues = Issues(Source(source))
        slow = tree(parse_slowly(source, issues), source)
        assert not issues
        assert repr(fast.root) == repr(slow.root), source
