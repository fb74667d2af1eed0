"""Hints for expressions that Kubernetes rejects: what was probably meant, in one sentence.

``advise`` looks at the message of a fault and at the text around its place; it says nothing where it would guess.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from dractl.cel.environment import Environment, declarations
from dractl.cel.errors import Issue
from dractl.cel.library.regex import compile_regex

CURLY_QUOTES = "“”„‟‘’‚‛«»′″"
INVISIBLE = "\u200b\u200c\u200d\u2060\u00ad"
_QUANTITY = "kubernetes.Quantity"
_SEMVER = "kubernetes.Semver"


@dataclass(frozen=True, slots=True)
class _Fault:
    """A fault with the text around it."""

    message: str
    expression: str
    offset: int
    environment: Environment

    @property
    def at(self) -> str:
        """The expression from the fault on."""
        return self.expression[self.offset :]


def advise(issue: Issue, expression: str, environment: Environment) -> str | None:
    """A hint for one fault, or None."""
    fault = _Fault(issue.message, expression, max(issue.offset, 0), environment)
    for rule in _RULES:
        hint = rule(fault)
        if hint is not None:
            return hint
    return None


def advise_result(message: str) -> str | None:
    """A hint for an expression whose result is no bool, or whose regular expression is not well formed."""
    if message.startswith("must evaluate to bool"):
        found = message.rpartition("not ")[2]
        if found == _QUANTITY:
            return 'Compare the quantity: ….compareTo(quantity("40Gi")) >= 0.'
        if found.startswith("map("):
            return 'Name an attribute and compare it: device.attributes["DOMAIN"].NAME == "…".'
        if found.startswith("optional_type"):
            return "Ask for its value: ….orValue(false), or whether there is one: ….hasValue()."
        return "Compare the result with something: a selector has to be true or false."
    if "error parsing regexp" in message:
        return "Correct the regular expression (RE2 syntax)."
    return None


def advise_cost(expression: str) -> str:
    """A hint for an expression that is too expensive."""
    if ".join(" in expression or ".flatten(" in expression or re.search(r"\btype\(", expression):
        return "Kubernetes cannot bound the size of what join(), flatten() and type() are given; do without them."
    if re.search(r"\.(all|exists|exists_one|map|filter)\(", expression):
        return "Name the domain and the attribute instead of searching through them with all() or exists()."
    return "Split the expression into several selectors (all of them must hold), or make it simpler."


# --- rules ----------------------------------------------------------------------------------------------------------


def _stray(fault: _Fault) -> str | None:
    """Nothing at all, and characters that come from how the text was saved or typed."""
    if not fault.expression.strip():
        return "The expression is empty."
    if fault.at[:1] == "\ufeff":
        return "Save the text without the byte order mark at its start."
    if fault.at[:1] == "\0":
        return "Take out the zero byte."
    if fault.at[:2] in ("\\n", "\\t", "\\r"):
        return f"{fault.at[:2]} stands for a character only inside quotes; type a line break or a blank itself."
    if fault.at[:1] and (fault.at[0].isspace() or fault.at[0] in INVISIBLE) and not fault.at[0].isascii():
        return f"Use an ordinary blank instead of U+{ord(fault.at[0]):04X}."
    return None


def _curly_quotes(fault: _Fault) -> str | None:
    found = next((char for char in fault.at[:2] if char in CURLY_QUOTES), None)
    if found is None and "token recognition error" in fault.message:
        found = next((char for char in fault.message if char in CURLY_QUOTES), None)
    return f"Use straight quotes (\" or ') instead of {found}." if found else None


def _backtick(fault: _Fault) -> str | None:
    if "token recognition error" in fault.message and "`" in fault.message:
        return "Use straight quotes (\" or ') for texts; ` is no quote in CEL here."
    return None


def _single_operator(fault: _Fault) -> str | None:
    if "token recognition error at: '=" in fault.message or re.match(r"=[^=~]", fault.at):
        return "Use == to compare."
    for sign, double in (("&", "&&"), ("|", "||")):
        if f"token recognition error at: '{sign}" in fault.message and not fault.at.startswith(double):
            return f"Use {double}."
    return None


_WORDS = {"and": "&&", "or": "||", "not": "!", "is": "==", "AND": "&&", "OR": "||", "NOT": "!"}


def _word_operator(fault: _Fault) -> str | None:
    word = re.match(r"[A-Za-z]+", fault.at)
    if "Syntax error" in fault.message and word and word.group() in _WORDS:
        return f"Use {_WORDS[word.group()]} instead of {word.group()!r}."
    return None


def _unclosed(fault: _Fault) -> str | None:
    if "Syntax error" not in fault.message:
        return None
    counts = {pair: fault.expression.count(pair[0]) - fault.expression.count(pair[1]) for pair in ("()", "[]", "{}")}
    for pair, surplus in counts.items():
        if surplus > 0 and "<EOF>" in fault.message:
            return f"A {pair[0]} is not closed: add {pair[1]}."
        if surplus < 0 and f"'{pair[1]}'" in fault.message:
            return f"There is no {pair[0]} that this {pair[1]} closes."
    if "<EOF>" in fault.message and fault.message.endswith("IDENTIFIER}"):
        return "Something is missing at the end."
    return None


def _escape(fault: _Fault) -> str | None:
    if "token recognition error" in fault.message and re.search(r"at: '[\"'].*\\[^\\]?'$", fault.message, re.DOTALL):
        return "Write the backslash twice (\"\\\\d+\"), or use a raw text (r'\\d+')."
    if "token recognition error at: '\"" in fault.message or "token recognition error at: ''" in fault.message:
        return "A quote is not closed."
    return None


_CONSTANTS = {"True": "true", "TRUE": "true", "False": "false", "FALSE": "false", "None": "null", "nil": "null"}
_FUNCTIONS = {
    "len": "size",
    "length": "size",
    "count": "size",
    "lower": "lowerAscii",
    "toLower": "lowerAscii",
    "upper": "upperAscii",
    "toUpper": "upperAscii",
    "str": "string",
    "float": "double",
    "strip": "trim",
    "includes": "contains (texts) or in (lists)",
    "any": "exists",
    "regex": "matches",
    "match": "matches",
}


def _undeclared(fault: _Fault) -> str | None:
    found = re.match(r"undeclared reference to '([^']+)'", fault.message)
    if found is None:
        return None
    name = found.group(1)
    if name in _CONSTANTS:
        return f"Write {_CONSTANTS[name]}."
    known = declarations(fault.environment)
    if fault.at.startswith("(") or fault.at[len(name) :].lstrip().startswith("("):
        return _function(name, known.functions)
    if name in ("math",):
        return "Kubernetes does not offer the math functions."
    if name in ("attributes", "capacity", "driver", "allowMultipleAllocations"):
        return f"Write device.{name}."
    if re.fullmatch(r"[A-Za-z][A-Za-z0-9-]*", name) and fault.expression[fault.offset - 1 : fault.offset] == "[":
        return f'Put the name in quotes: ["{name}"].'
    close = difflib.get_close_matches(name, ["device", *known.idents], 1, 0.75)
    return f"Did you mean {close[0]}?" if close else "Texts need quotes; the only variable is device."


def _function(name: str, functions: Iterable[str]) -> str | None:
    if name in _FUNCTIONS:
        return f"Use {_FUNCTIONS[name]}."
    shown = {each.lower(): each for each in functions if each.isidentifier()}
    close = difflib.get_close_matches(name.lower(), list(shown), 1, 0.75)
    return f"Did you mean {shown[close[0]]}()?" if close else None


def _undefined_field(fault: _Fault) -> str | None:
    found = re.match(r"undefined field '([^']+)'", fault.message)
    if found is None:
        return None
    name = found.group(1)
    if name == "allowMultipleAllocations":
        return "That field needs Kubernetes 1.34 and the gate DRAConsumableCapacity."
    close = difflib.get_close_matches(name, ["driver", "attributes", "capacity", "allowMultipleAllocations"], 1, 0.75)
    if close:
        return f"Did you mean device.{close[0]}?"
    return f'Attributes stand under their domain: device.attributes["DOMAIN"].{name}.'


_NO_OVERLOAD = re.compile(r"found no matching overload for '([^']+)' applied to '(.*)'$", re.DOTALL)
_ORDERS = ("_<_", "_<=_", "_>_", "_>=_")


def _no_overload(fault: _Fault) -> str | None:
    found = _NO_OVERLOAD.match(fault.message)
    if found is None:
        return None
    function, arguments = found.groups()
    if function == "sign" and arguments.startswith(_QUANTITY):
        return "sign is a function, not a method: sign(q)."
    if _QUANTITY in arguments:
        return _quantity(function, arguments)
    if _SEMVER in arguments:
        return _semver(function)
    if "map(string, " in arguments and function in ("_==_", "_!=_", *_ORDERS, "matches", "startsWith", "@in"):
        return 'Here the domain or the name is missing: device.attributes["DOMAIN"].NAME.'
    if function in ("_==_", "_!=_", *_ORDERS):
        return _mixed_types(arguments)
    if function == "matches" or "string" in arguments:
        close = _function(function, declarations(fault.environment).functions)
        return close if close and f" {function}()" not in close else None
    return None


def _quantity(function: str, arguments: str) -> str | None:
    if function in _ORDERS:
        sign = function.strip("_")
        return f'Quantities have no {sign}: write ….compareTo(quantity("40Gi")) {sign} 0.'
    if function in ("_==_", "_!=_"):
        return 'Make the other side a quantity as well: quantity("40Gi").'
    if function in ("_+_", "_-_"):
        return f"Use ….{'add' if function == '_+_' else 'sub'}(…) for quantities."
    if function in ("isGreaterThan", "isLessThan", "compareTo") and "string" in arguments:
        return 'The argument must be a quantity: quantity("40Gi").'
    if function == "int":
        return "Use ….asInteger()."
    return None


def _semver(function: str) -> str | None:
    if function in _ORDERS:
        sign = function.strip("_")
        return f'Versions have no {sign}: write ….compareTo(semver("1.2.3")) {sign} 0.'
    if function in ("isGreaterThan", "isLessThan", "compareTo", "_==_", "_!=_"):
        return 'The other side must be a version: semver("1.2.3").'
    return None


def _mixed_types(arguments: str) -> str | None:
    sides = [side.strip() for side in arguments.strip("()").split(",")]
    if len(sides) != 2:
        return None
    numbers = {"int", "uint", "double"}
    if "string" in sides and numbers & set(sides):
        return "One side is a text and the other a number: leave the quotes away, or convert with int() or string()."
    if "bool" in sides and "string" in sides:
        return "One side is a text and the other true or false: leave the quotes away."
    return "Both sides must be of one type."


_LITERAL = re.compile(r"r?([\"'])(.*?)\1", re.DOTALL)


def _bad_literal(fault: _Fault) -> str | None:
    """What is wrong with a literal that is a pattern, a duration or a timestamp."""
    if not re.match(r"invalid \w+ argument", fault.message):
        return None
    literal = _LITERAL.match(fault.at)
    if "matches" in fault.message and literal is not None:
        error = compile_regex(literal.group(2)).error
        if error is not None:
            return f"The pattern is no regular expression (RE2): {error.removeprefix('error parsing regexp: ')}."
    if "duration" in fault.message:
        return "Write it as 1h30m, 90s or 1.5s."
    if "timestamp" in fault.message:
        return "Write it as 2026-01-31T12:00:00Z."
    return None


_RULES: tuple[Callable[[_Fault], str | None], ...] = (
    _stray,
    _curly_quotes,
    _backtick,
    _single_operator,
    _word_operator,
    _escape,
    _bad_literal,
    _undeclared,
    _undefined_field,
    _no_overload,
    _unclosed,
)
