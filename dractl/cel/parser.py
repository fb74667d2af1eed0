"""Text to syntax tree: ``parse``.

``lexer`` makes tokens, ``descent`` a parse tree, ``builder`` with ``macros`` the syntax tree. Only where the text has
a syntax error does ``recovery`` parse it again, to find the errors that cel-go's parser reports.
"""

from __future__ import annotations

from dractl.cel import recovery
from dractl.cel.ast import Ast
from dractl.cel.builder import MAX_NODES, Builder, TooLarge
from dractl.cel.descent import MAX_DEPTH, NotInGrammar, TooDeep, parse_tokens
from dractl.cel.environment import Environment
from dractl.cel.errors import NO_POSITION, CelLimit, CelSyntaxErrors, Issues, Source
from dractl.cel.lexer import LexError, tokens
from dractl.cel.recursion import deep_recursion
from dractl.cel.syntax import Syntax

MAX_CODE_POINTS = 100_000


def parse(source: str, env: Environment) -> Ast:
    """The syntax tree of ``source`` for ``env``, macros expanded. Raises CelSyntaxErrors, CelLimit."""
    text = Source(source, env.old_places)
    issues = Issues(text)
    with deep_recursion():
        if len(source) > MAX_CODE_POINTS:
            issues.add(
                NO_POSITION,
                f"expression code point size exceeds limit: size: {len(source)}, limit {MAX_CODE_POINTS}",
                placeless=True,
            )
            raise CelSyntaxErrors(issues)
        try:
            tree = _parse_tree(source, issues, env.escapes)
        except TooDeep:
            issues.add(NO_POSITION, f"expression recursion limit exceeded: {MAX_DEPTH}", placeless=True)
            raise CelSyntaxErrors(issues) from None
        except recovery.GaveUp:
            raise CelSyntaxErrors(issues) from None
        builder = Builder(env, issues)
        try:
            root = builder.build(tree)
        except TooLarge:
            message = f"not compiled: its macros write the expression out to more than {MAX_NODES} parts"
            raise CelLimit(message, text, internal=True) from None
    if issues:
        raise CelSyntaxErrors(issues)
    return Ast(source, root, builder.macro_calls)


def _parse_tree(source: str, issues: Issues, escapes: bool) -> Syntax | None:
    visible = []
    for token in tokens(source, escapes):
        if isinstance(token, LexError):
            break
        if not token.hidden:
            visible.append(token)
    else:
        try:
            return parse_tokens(visible)
        except NotInGrammar:
            pass
    return recovery.parse(source, issues, escapes)
