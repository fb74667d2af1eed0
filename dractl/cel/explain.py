"""Why an expression holds or does not hold for a device: the value of every part of its top-level conjunction.

``explain`` gives the terms in the order in which they are written. Terms that Kubernetes would not have evaluated any
more have their value too. The words in ``Term.detail`` say what was found and what was asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dractl.cel import ast, guard, plan
from dractl.cel.ast import Uint
from dractl.cel.device import DeviceScope, unusable
from dractl.cel.evaluator import Emitter, Program
from dractl.cel.folds import UNSET, Run, first_value
from dractl.cel.gotext import duration_text, go_float, go_quote, timestamp_text
from dractl.cel.lexer import Token, tokens
from dractl.cel.recursion import deep_recursion
from dractl.cel.result import ResultError, to_bool
from dractl.cel.values import (
    NO_OVERLOAD,
    CelMap,
    Duration,
    EvalError,
    Optional,
    Stopped,
    Timestamp,
    TypeValue,
    Value,
    text_of,
)
from dractl.kube.objects import Device

if TYPE_CHECKING:
    from dractl.cel.selector import Selector

Env = list[Any]
Closure = Callable[[Env], Value]


@dataclass(frozen=True, slots=True)
class Term:
    """One part of the conjunction.

    ``value`` is its value (None with ``error``). ``decided`` marks the term that made the whole what it is: the first
    one that is false, else the first one in error. ``detail`` says what was found, such as ``40Gi, asked for >= 80Gi``;
    it is empty where the text says it all. ``missing`` is the (domain, name) that the device does not have.
    """

    text: str
    value: Value
    error: str | None
    decided: bool
    detail: str = ""
    missing: tuple[str, str] | None = None


def explain(selector: Selector, driver: str, device: Device) -> list[Term]:
    """The terms of a selector's conjunction on a device; empty if the selector does not compile."""
    checked, program = selector.checked, selector.program
    if checked is None or program is None or selector.error is not None:
        return []
    fault = unusable(device, selector.lists)
    if fault is not None:
        return [Term(selector.expression.strip(), None, fault, decided=True)]
    with deep_recursion():
        guard.begin()
        found = _Explainer(program, selector.environment, DeviceScope(driver, device)).terms()
        texts = _texts(selector.expression, checked.ast.root, len(found))
    return _decided([Term(text, *rest) for text, rest in zip(texts, found, strict=True)])


def _decided(terms: list[Term]) -> list[Term]:
    chosen = next((index for index, term in enumerate(terms) if term.value is False), None)
    if chosen is None:
        chosen = next((index for index, term in enumerate(terms) if term.error is not None), None)
    if chosen is None:
        return terms
    term = terms[chosen]
    terms[chosen] = Term(term.text, term.value, term.error, True, term.detail, term.missing)
    return terms


_Found = tuple[Value, str | None, bool, str, tuple[str, str] | None]


class _Explainer:
    def __init__(self, program: Program, environment: Any, scope: DeviceScope) -> None:
        self.emitter = Emitter(environment, counting=False)
        self.root = program.root
        self.env = program.environment(scope, Run())

    def terms(self) -> list[_Found]:
        root = self._inside_bindings(self.root)
        if isinstance(root, plan.Both) and not root.any:
            return [self._term(step, alone=False) for step in flattened(root)]
        return [self._term(root, alone=True)]

    def _inside_bindings(self, step: plan.Step) -> plan.Step:
        """The body of ``cel.bind``, with its variable bound."""
        while isinstance(step, plan.Fold) and isinstance(step.range, plan.Const) and step.range.value == []:
            init = self.emitter.emit(step.init)
            self.emitter.lazy[step.accumulator] = first_value(step.accumulator, step.mutable, init)
            self.env[step.accumulator] = UNSET
            self.env[step.mutable] = False
            step = step.result
        return step

    def _term(self, step: plan.Step, alone: bool) -> _Found:
        try:
            value = self.emitter.emit(step)(self.env)
            if not alone and value.__class__ is not bool:
                raise EvalError(NO_OVERLOAD)
            return to_bool(value), None, False, self._detail(step), None
        except EvalError as error:
            return None, error.text, False, "", error.missing
        except (Stopped, ResultError) as error:
            return None, error.text, False, "", None

    # --- what was found ---------------------------------------------------------------------------------------------

    def _shown(self, step: plan.Step) -> str:
        try:
            return show(self.emitter.emit(step)(self.env))
        except (EvalError, Stopped) as error:
            return f"error: {error.text}"

    def _detail(self, step: plan.Step) -> str:
        if isinstance(step, plan.Both):
            details = [self._detail(term) for term in flattened(step)]
            return (" or " if step.any else " and ").join(detail for detail in details if detail)
        if isinstance(step, plan.Equality):
            return self._equality_detail(step)
        if isinstance(step, plan.Membership):
            return f"{self._shown(step.element)}, asked for one of {', '.join(map(show, step.items))}"
        if isinstance(step, plan.Call):
            return self._call_detail(step)
        return ""

    def _equality_detail(self, step: plan.Equality) -> str:
        found, asked = step.left, step.right
        if isinstance(found, plan.Const):
            found, asked = asked, found
        return f"{self._shown(found)}, asked for {'other than ' if step.negated else ''}{self._shown(asked)}"

    def _call_detail(self, step: plan.Call) -> str:
        args = step.args
        if step.function in _ORDER:
            order = _ORDER[step.function]
            compared = _comparison(args[0], args[1])
            if compared is not None:
                return f"{self._shown(compared[0])}, asked for {order} {self._shown(compared[1])}"
            if isinstance(args[0], plan.Const):
                return f"{self._shown(args[1])}, asked for {_MIRRORED[order]} {self._shown(args[0])}"
            return f"{self._shown(args[0])}, asked for {order} {self._shown(args[1])}"
        if step.function in _ASKED and len(args) == 2:
            return f"{self._shown(args[0])}, asked for {_ASKED[step.function]} {self._shown(args[1])}"
        if step.function == "!_":
            return self._detail(args[0])
        return ""


_ORDER = {"_<_": "<", "_<=_": "<=", "_>_": ">", "_>=_": ">="}
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_ASKED = {
    "isGreaterThan": ">",
    "isLessThan": "<",
    "startsWith": "a text that starts with",
    "endsWith": "a text that ends with",
    "contains": "a text that contains",
    "matches": "a match of",
    "includes": "one that includes",
    "@in": "one of",
}


def _comparison(left: plan.Step, right: plan.Step) -> tuple[plan.Step, plan.Step] | None:
    """The two sides of ``a.compareTo(b) >= 0``."""
    if not isinstance(left, plan.Call) or left.function != "compareTo":
        return None
    return (left.args[0], left.args[1]) if isinstance(right, plan.Const) and right.value == 0 else None


def flattened(step: plan.Both) -> list[plan.Step]:
    """The terms of a chain of ``&&`` or ``||`` in the order in which they are written."""
    terms: list[plan.Step] = []
    queue: list[plan.Step] = [step]
    while queue:
        each = queue.pop()
        if isinstance(each, plan.Both) and each.any == step.any:
            queue += reversed(each.terms)
        else:
            terms.append(each)
    return terms


def show(value: Value) -> str:
    """A value for people to read."""
    if isinstance(value, list | CelMap):
        guard.spend(len(value) + 4)
    kind = value.__class__
    if kind is str:
        return go_quote(value)
    if kind is bool:
        return "true" if value else "false"
    if kind is int:
        return str(value)
    if kind is Uint:
        return f"{value.value}u"
    if kind is float:
        return go_float(value)
    if value is None:
        return "null"
    if kind is bytes:
        return f"b{go_quote(value.decode('utf-8', 'backslashreplace'))}"
    if isinstance(value, list):
        return "[" + ", ".join(map(show, value)) + "]"
    if isinstance(value, CelMap):
        return "{" + ", ".join(f"{show(key)}: {show(item)}" for key, item in value.items()) + "}"
    if kind is Optional:
        return show(value.value) if value.has_value else "nothing"
    if kind is Duration:
        return duration_text(value.nanos)
    if kind is Timestamp:
        return timestamp_text(value)
    if kind is TypeValue:
        return str(value.name)
    if isinstance(value, EvalError):
        return f"error: {value.text}"
    return text_of(value)


# --- the text of each term ------------------------------------------------------------------------------------------


def _texts(expression: str, root: ast.Node, count: int) -> list[str]:
    """The source of each term: the expression cut at the operators of its top-level conjunction."""
    cuts: list[int] = []
    _collect_cuts(root, cuts)
    if len(cuts) + 1 != count:
        return [expression.strip()] * count
    cuts.sort()
    parts: list[list[Token]] = [[]]
    for token in tokens(expression):
        if not isinstance(token, Token) or token.hidden:
            continue
        if token.start in cuts:
            parts.append([])
        else:
            parts[-1].append(token)
    return [_source(expression, part) for part in parts]


def _collect_cuts(node: ast.Node, cuts: list[int]) -> None:
    queue = [node]
    while queue:
        each = queue.pop()
        if isinstance(each, ast.Call) and each.function == "_&&_":
            cuts.append(each.pos)
            queue += each.args
        elif (
            isinstance(each, ast.Comprehension)
            and not cuts
            and isinstance(each.iter_range, ast.ListExpr)
            and not each.iter_range.elements
        ):
            queue.append(each.result)


def _source(expression: str, part: Sequence[Token]) -> str:
    """The text of some tokens without the brackets that are open at either end."""
    depth, start, end = 0, 0, len(part)
    opened: list[int] = []
    for index, token in enumerate(part):
        if token.text in ("(", "[", "{"):
            opened.append(index)
        elif token.text in (")", "]", "}"):
            if not opened:
                end = index
                break
            opened.pop()
    if opened:
        start = opened[-1] + 1
        for index in range(start, end):
            text = part[index].text
            depth += (text in ("(", "[", "{")) - (text in (")", "]", "}"))
            if text == "," and depth == 0:
                start = index + 1
    while end - start > 2 and part[start].text == "(" and _closer(part, start) == end - 1:
        start, end = start + 1, end - 1
    if start >= end:
        return expression.strip()
    last = part[end - 1]
    return expression[part[start].start : last.start + len(last.text)]


def _closer(part: Sequence[Token], start: int) -> int:
    """The index of the bracket that closes the one at ``start``; -1 if there is none."""
    depth = 0
    for index in range(start, len(part)):
        depth += (part[index].text in ("(", "[", "{")) - (part[index].text in (")", "]", "}"))
        if depth == 0:
            return index
    return -1
