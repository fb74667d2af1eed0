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

    def _detail(self, step: plan.Step, wanted: bool = True) -> str:
        """What was found and what has to be there for the step to be ``wanted``."""
        if isinstance(step, plan.Both):
            return self._both_detail(step, wanted)
        if isinstance(step, plan.Equality):
            return self._equality_detail(step, wanted != step.negated)
        if isinstance(step, plan.Membership):
            return f"{self._shown(step.element)}, asked for {_one(wanted)} of {', '.join(map(show, step.items))}"
        if isinstance(step, plan.Path):
            return self._choice_detail(step, wanted)
        return self._call_detail(step, wanted) if isinstance(step, plan.Call) else ""

    def _both_detail(self, step: plan.Both, wanted: bool) -> str:
        """Of parts that all have to be as wanted, those that are not; otherwise of every part."""
        parts = flattened(step)
        every = step.any != wanted
        if every:
            parts = [part for part in parts if not self._is(part, wanted)] or parts
        details = [self._detail(part, wanted) or f"{self._shown(part)}, asked for {show(wanted)}" for part in parts]
        return (" and " if every else " or ").join(details)

    def _is(self, step: plan.Step, wanted: bool) -> bool:
        try:
            return self.emitter.emit(step)(self.env) is wanted
        except (EvalError, Stopped):
            return False

    def _choice_detail(self, step: plan.Path, wanted: bool) -> str:
        """Of ``condition ? a : b`` that of the branch taken."""
        choice = step.source
        if not isinstance(choice, plan.Choice):
            return ""
        try:
            taken = choice.then if self.emitter.emit(choice.condition)(self.env) is True else choice.otherwise
        except (EvalError, Stopped):
            return ""
        if isinstance(taken, plan.Computed):
            return "" if taken.qualifiers else self._detail(taken.operand, wanted)
        return self._choice_detail(plan.Path(taken), wanted)

    def _equality_detail(self, step: plan.Equality, wanted: bool) -> str:
        found, asked = step.left, step.right
        if _is_constant(found):
            found, asked = asked, found
        order = _SIGNS.get(asked.value) if isinstance(asked, plan.Const) and asked.value.__class__ is int else None
        if order is not None and isinstance(found, plan.Call) and found.function == "compareTo":
            left, right = found.args
            return self._order_detail(left, right, order if wanted else _OPPOSITES[order])
        return f"{self._shown(found)}, asked for {'' if wanted else 'other than '}{self._shown(asked)}"

    def _order_detail(self, left: plan.Step, right: plan.Step, order: str) -> str:
        if _is_constant(left):
            left, right, order = right, left, _MIRRORED.get(order, order)
        return f"{self._shown(left)}, asked for {order}{' ' if order else ''}{self._shown(right)}"

    def _call_detail(self, step: plan.Call, wanted: bool) -> str:
        function, args = step.function, step.args
        if function == "!_":
            return self._detail(args[0], not wanted)
        order = _ORDER.get(function)
        if order is not None:
            left, right = _comparison(args[0], args[1]) or (args[0], args[1])
            return self._order_detail(left, right, order if wanted else _OPPOSITES[order])
        if function == "@in":
            return self._in_detail(args[0], args[1], wanted)
        if function in _ASKED and len(args) == 2:
            return f"{self._shown(args[0])}, asked for {_ASKED[function][not wanted]} {self._shown(args[1])}"
        return ""

    def _in_detail(self, element: plan.Step, container: plan.Step, wanted: bool) -> str:
        try:
            items = self.emitter.emit(container)(self.env)
        except (EvalError, Stopped):
            return ""
        if isinstance(items, CelMap):
            if isinstance(element, plan.Const):
                # the term itself says all
                return ""
            items = [key for key, _ in items.items()]
        if not isinstance(items, list):
            return ""
        shown = ", ".join(map(show, items[:_SHOWN])) + (", …" if len(items) > _SHOWN else "")
        return f"{self._shown(element)}, asked for {_one(wanted)} of {shown}" if items else ""


def _one(wanted: bool) -> str:
    return "one" if wanted else "none"


_ORDER = {"_<_": "<", "_<=_": "<=", "_>_": ">", "_>=_": ">=", "isLessThan": "<", "isGreaterThan": ">"}
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_OPPOSITES = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "": "other than", "other than": ""}
_SIGNS = {0: "", 1: ">", -1: "<"}
"""What a result of ``compareTo`` says."""
_ASKED = {
    "startsWith": ("a text that starts with", "a text that does not start with"),
    "endsWith": ("a text that ends with", "a text that does not end with"),
    "contains": ("a text that contains", "a text that does not contain"),
    "matches": ("a match of", "no match of"),
    "includes": ("one that includes", "one that does not include"),
}
_SHOWN = 12
"""How many elements of a list or keys of a map are shown."""


def _is_constant(step: plan.Step) -> bool:
    """Whether it says nothing of the device: ``40`` or ``quantity("40Gi")``."""
    return isinstance(step, plan.Const) or (isinstance(step, plan.Call) and all(map(_is_constant, step.args)))


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
