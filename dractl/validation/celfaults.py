"""Faults of CEL expressions: each error at its place in the expression, with what to write instead.

A proposal is only made if it compiles and its estimated cost is within the limit.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from dractl.cel.ast import Ast, Call, Comprehension, Ident, Literal, Node, Select
from dractl.cel.environment import Environment
from dractl.cel.walk import bottom_up
from dractl.rules import manifests as rules
from dractl.validation.model import Fault, Path

COST_LIMIT = 1_000_000
"""CELSelectorExpressionMaxCost."""

_BEYOND = 2**62
_ERROR = re.compile(r"ERROR: <input>:(\d+):(\d+): (.*)")
_COMPARISONS = {"_>_": ">", "_>=_": ">=", "_<_": "<", "_<=_": "<=", "_==_": "==", "_!=_": "!="}
_METHODS = {">": "isGreaterThan", "<": "isLessThan"}
_QUANTITY_METHODS = ("isGreaterThan", "isLessThan", "compareTo", "add", "sub")


def compile_faults(expression: str, message: str, path: Path, environment: Environment) -> list[Fault]:
    """The faults in the API server's answer to an expression that does not compile, one for each error."""
    found = list(_ERROR.finditer(message))
    if not found:
        kind = re.search(r"must evaluate to bool or the unknown type, not (.*)", message)
        if kind:
            sentence = f"a selector has to give true or false, this one gives {kind[1]}"
            hint = "compare its result, for example >= 0" if ".compareTo(" in expression else ""
            return [Fault(rules.CEL_COMPILE, sentence, path, hint=hint, server=message)]
        text = message.partition("compilation failed: ")[2] or message
        return [Fault(rules.CEL_COMPILE, f"the expression does not compile: {first_line(text)}", path, server=message)]
    tree = _parse(expression, environment)
    faults = []
    for match in found:
        offset = offset_of(expression, int(match[1]), int(match[2]))
        text = match[3].strip()
        sentence, hint = _explain(text, expression, tree, offset)
        where = f"{match[1]}:{match[2]}" if "\n" in expression else match[2]
        server = first_line(match[0]) if len(found) > 1 else message
        place = {"expressionPosition": where}
        faults.append(Fault(rules.CEL_COMPILE, sentence, path, offset=offset, hint=hint, server=server, evidence=place))
    return faults


def first_line(text: str) -> str:
    """The first line of a text, in which CEL puts the reason."""
    return text.strip().split("\n", 1)[0]


def offset_of(expression: str, line: int, column: int) -> int:
    """The character of a CEL position (line and column from 1)."""
    start = 0
    for _ in range(line - 1):
        following = expression.find("\n", start)
        if following < 0:
            return len(expression)
        start = following + 1
    return min(start + max(column - 1, 0), len(expression))


def _parse(expression: str, environment: Environment) -> Ast | None:
    from dractl.cel.errors import CelSyntaxErrors
    from dractl.cel.parser import parse

    try:
        return parse(expression, environment)
    except CelSyntaxErrors:
        return None


def _explain(text: str, expression: str, tree: Ast | None, offset: int) -> tuple[str, str]:
    """A sentence and a proposal for one error."""
    match = re.match(r"found no matching overload for '([^']+)' applied to '(.*)'", text)
    if match:
        return _no_overload(match[1], match[2], expression, tree, offset)
    match = re.match(r"undeclared reference to '([^']+)'", text)
    if match:
        return _undeclared(match[1], text)
    if text.startswith("Syntax error"):
        return f"the expression is not valid CEL: {text}", _syntax_hint(text, expression)
    return f"the expression does not compile: {text}", ""


def _no_overload(function: str, applied: str, expression: str, tree: Ast | None, offset: int) -> tuple[str, str]:
    shown = _types(applied)
    node = _call_at(tree, function, offset)
    if function in _COMPARISONS:
        sign = _COMPARISONS[function]
        sentence = f"{sign} has no overload for {shown}"
        if applied.count("Quantity") == 2:
            sentence += ": quantities are compared with methods"
            return sentence, _quantity_proposal(sign, node)
        if "Quantity" in applied and "quantity" not in expression[offset : offset + 12]:
            sentence += "; a capacity is a Quantity"
            return sentence, _quantity_proposal(sign, node)
        proposal = _member_proposal(node)
        if proposal:
            return sentence + f"; {proposal[0]}", proposal[1]
        if "Semver" in applied:
            return sentence + "; versions are compared with methods", 'isGreaterThan(semver("1.2.3")), isLessThan(...)'
        return sentence, "compare values of one type"
    if function in _QUANTITY_METHODS and "Quantity" in applied:
        literal = node.args[0] if node is not None and node.args else None
        given = literal.value if isinstance(literal, Literal) else None
        wants = f"{function} wants a Quantity, not {_article(shown)}"
        value = f'quantity("{given}")' if isinstance(given, str | int) else 'quantity("40Gi")'
        return wants, f"write .{function}({value})"
    return f"{function} has no form for {shown}", ""


def _syntax_hint(text: str, expression: str) -> str:
    """What was meant by some usual slips."""
    if "token recognition error at: '= " in text or "token recognition error at: '='" in text:
        return "== compares, = means nothing in CEL"
    match = re.search(r"(?:mismatched|extraneous) input '(\w+)'", text)
    if match and _UNITS.fullmatch(match[1]):
        bare = re.search(rf"(>=|<=|==|>|<)\s*(\d+(?:\.\d+)?{match[1]})\b", expression)
        unit = match[1].removesuffix("B")
        sign, amount = (bare[1], bare[2].removesuffix("B")) if bare else (">=", f"40{unit}")
        return f'an amount stands in quantity(): write .compareTo(quantity("{amount}")) {sign} 0'
    return f"write {_CONFUSED[match[1]]}" if match and match[1] in _CONFUSED else ""


def _member_proposal(node: Call | None) -> tuple[str, str] | None:
    """Comparisons of an attribute with a quantity, or of a whole domain with a value."""
    if node is None or len(node.args) != 2:
        return None
    sign = _COMPARISONS[node.function]
    for side, other in (node.args, tuple(reversed(node.args))):
        place = side.operand if isinstance(side, Select) else side
        if not (isinstance(place, Call) and place.function == "_[_]" and isinstance(place.args[1], Literal)):
            continue
        base, key = source_text(place.args[0]), place.args[1].value
        if not isinstance(key, str):
            continue
        if side is place and base in ("device.attributes", "device.capacity") and "." not in key:
            return (
                f'{base}["{key}"] is all that a domain "{key}" has; a name stands behind its domain',
                f'write {base}["DRIVER"].{key}, with the name of the driver',
            )
        if side is place and base == "device.attributes" and "/" in key:
            domain, _, name = key.rpartition("/")
            return "the domain and the name are two steps", f'write device.attributes["{domain}"].{name}'
        quantity = isinstance(other, Call) and other.function == "quantity"
        if quantity and isinstance(side, Select) and base == "device.attributes":
            text = _quantity_text(other)
            read = f'device.capacity["{key}"].{side.field}'
            return "quantities are capacities, not attributes", f"write {read}.compareTo({text}) {sign} 0"
    return None


def _quantity_text(node: Node) -> str:
    if isinstance(node, Call) and node.args and isinstance(node.args[0], Literal):
        return f'quantity("{node.args[0].value!s}")'
    return 'quantity("40Gi")'


def _types(applied: str) -> str:
    """The argument types of an error in short: ``(kubernetes.Quantity, string)`` is "Quantity and string"."""
    receiver, inner = "", applied
    match = re.match(r"(.*)\.\((.*)\)$", applied)
    if match:
        receiver, inner = match[1], match[2]
        return " and ".join(_short(part) for part in inner.split(", ")) or _short(receiver)
    return " and ".join(_short(part) for part in inner.strip("()").split(", "))


def _short(name: str) -> str:
    return name.rpartition(".")[2] if "(" not in name else name


def _article(kind: str) -> str:
    return f"{'an' if kind[:1] in 'aeiou' else 'a'} {kind}"


def _call_at(tree: Ast | None, function: str, offset: int) -> Call | None:
    if tree is None:
        return None
    for node in bottom_up(tree.root):
        if isinstance(node, Call) and node.function == function and node.pos == offset:
            return node
    return None


def _quantity_proposal(sign: str, node: Call | None) -> str:
    value = 'quantity("40Gi")'
    if node is not None and len(node.args) == 2:
        for side in node.args:
            if isinstance(side, Literal) and isinstance(side.value, str | int) and not isinstance(side.value, bool):
                value = f'quantity("{side.value}")'
            elif isinstance(side, Call) and side.function == "quantity" and isinstance(side.args[0], Literal):
                given = side.args[0].value
                value = f'quantity("{given}")' if isinstance(given, str) else value
    proposal = f"write .compareTo({value}) {sign} 0"
    if sign in _METHODS:
        proposal += f" or .{_METHODS[sign]}({value})"
    return proposal


_UNITS = re.compile(r"[KMGTP]i?B?")

_CONFUSED = {
    "Quantity": "quantity(...) in lower case",
    "Semver": "semver(...) in lower case",
    "AND": "&&",
    "OR": "||",
    "NOT": "!",
    "and": "&&",
    "or": "||",
    "not": "!",
    "len": "size(...)",
    "contains": ".contains(...) behind a text",
    "None": "null",
    "True": "true",
    "False": "false",
    "attributes": 'device.attributes["DRIVER"]',
    "capacity": 'device.capacity["DRIVER"]',
    "driver": "device.driver",
}


def _undeclared(name: str, text: str) -> tuple[str, str]:
    hint = f"write {_CONFUSED[name]}" if name in _CONFUSED else ""
    known = "device.driver, device.attributes, device.capacity"
    return f"the expression uses {name}, which does not exist here", hint or f"a selector may use {known}"


# --- cost -----------------------------------------------------------------------------------------------------------


def cost_fault(expression: str, message: str, path: Path, environment: Environment) -> Fault:
    """The fault of an expression that is too expensive, with cheaper ones that were compiled and are within the "
    "limit."""
    from dractl.cel.selector import compile_selector

    cost = compile_selector(expression, environment).max_cost
    tree = _parse(expression, environment)
    estimate = f"{cost:,}" if 0 < cost < _BEYOND else "beyond counting"
    amount = f"estimated cost {estimate}, limit {COST_LIMIT:,}"
    sentence = f"too complex, exceeds cost limit ({amount}): the estimate counts, not the run"
    dear = _dear_part(tree)
    if dear:
        sentence += f"; {dear}"
    proposals = [p for p in dict.fromkeys(_cheaper(tree)) if _within_limit(p, environment)] if tree else []
    hint = "take work out of the loops, or compare with whole values"
    if proposals:
        hint = "cheaper: " + "   or   ".join(proposals)
    return Fault(
        rules.CEL_COST,
        sentence,
        path,
        hint=hint,
        server=message,
        evidence={"estimatedCost": cost, "limit": COST_LIMIT, "proposals": proposals},
    )


def _within_limit(expression: str, environment: Environment) -> bool:
    from dractl.cel.selector import compile_selector

    compiled = compile_selector(expression, environment)
    return compiled.error is None and compiled.max_cost <= COST_LIMIT


def _loops(tree: Ast | None) -> Iterator[Comprehension]:
    if tree is not None:
        for node in bottom_up(tree.root):
            if isinstance(node, Comprehension):
                yield node


def _dear_part(tree: Ast | None) -> str:
    """What is done for each element of a list of unknown length, in words."""
    for loop in _loops(tree):
        called = [
            node
            for node in bottom_up(loop.loop_step)
            if isinstance(node, Call) and node.target is not None and node.function not in ("size",)
        ]
        source = _split_of(loop.iter_range)
        if called and source is not None:
            name = called[0].function
            return f"{name} inside the loop over the split text is what makes it dear"
        if called:
            return f"{called[0].function} is counted for every element of the loop"
    return ""


def _split_of(node: Node) -> Call | None:
    """The ``split`` call that a loop's list comes from."""
    if isinstance(node, Call) and node.function == "split":
        return node
    if isinstance(node, Comprehension):
        return _split_of(node.iter_range)
    return None


def _cheaper(tree: Ast) -> Iterator[str]:
    """Other ways to ask whether a text with separators has a certain part."""
    for loop in _loops(tree):
        split = _split_of(loop.iter_range)
        if split is None or split.target is None or not split.args or not isinstance(split.args[0], Literal):
            continue
        separator = split.args[0].value
        words = [
            side.value
            for node in bottom_up(loop)
            if isinstance(node, Call) and node.function == "_==_"
            for side in node.args
            if isinstance(side, Literal) and isinstance(side.value, str)
        ]
        subject = source_text(split.target)
        if subject is None or not isinstance(separator, str) or len(separator) != 1 or len(words) != 1:
            continue
        quoted, word = _literal(separator), words[0]
        mark = re.escape(separator)
        yield f"{subject}.matches({_literal(f'(^|{mark}) *{re.escape(word)} *({mark}|$)')})"
        yield f"{subject}.split({quoted}).exists(s, s == {_literal(word)})"


def _literal(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def source_text(node: Node) -> str | None:
    """A chain of selections and indices as CEL text; None for anything else."""
    if isinstance(node, Ident):
        return node.name
    if isinstance(node, Select):
        inner = source_text(node.operand)
        return f"{inner}.{node.field}" if inner else None
    if isinstance(node, Call) and node.function == "_[_]" and isinstance(node.args[1], Literal):
        inner, key = source_text(node.args[0]), node.args[1].value
        return f"{inner}[{_literal(key)}]" if inner and isinstance(key, str) else None
    return None
