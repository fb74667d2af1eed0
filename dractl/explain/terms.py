"""The terms of a selector: the parts that ``&&`` joins, each with what it asks of which attribute or capacity.

``a && b && c`` is false as soon as one part is false and an error only if no part is false, so a device can be judged
part by part, and "matches all but the memory" can be said.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dractl.cel.ast import Call, Ident, ListExpr, Literal, Node, Select, Uint
from dractl.cel.environment import Environment
from dractl.cel.errors import CelSyntaxErrors
from dractl.cel.parser import parse
from dractl.inventory import PublishedDevice
from dractl.kube.objects import Device

_ENVIRONMENT = Environment()
"""Only syntax is read here, and that is the same in all of them."""

_OPEN, _CLOSE = "([{", ")]}"
_SYMBOL = {"_==_": "==", "_!=_": "!=", "_<_": "<", "_<=_": "<=", "_>_": ">", "_>=_": ">="}
_MIRROR = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_ORDER = {"isGreaterThan": ">", "isLessThan": "<"}
_TEXT_TESTS = {
    "contains": "containing",
    "startsWith": "starting with",
    "endsWith": "ending with",
    "matches": "matching",
}
_FOLDS = ("lowerAscii", "upperAscii", "trim")


@dataclass(frozen=True, slots=True)
class Field:
    """An attribute or capacity that an expression reads: ``kind`` is attribute, capacity, driver or multi."""

    kind: str
    domain: str = ""
    name: str = ""

    def __str__(self) -> str:
        return f"{self.domain}/{self.name}" if self.domain else self.kind


@dataclass(frozen=True, slots=True)
class Term:
    """One part of a selector.

    ``field``, ``operator`` and ``wanted`` are set where the part compares one field with constants: ``operator`` is a
    comparison sign, ``in``, ``containing``, ``starting with``, ``ending with``, ``matching``, ``is`` or ``is not``.
    ``wanted`` holds the constants as text, ``typed`` the function that made a quantity or version of them.
    """

    source: str
    field: Field | None = None
    operator: str = ""
    wanted: tuple[str, ...] = ()
    typed: str = ""
    folded: bool = False

    @property
    def text(self) -> str:
        """What is asked, for people: ``gpu.nvidia.com/memory >= 80Gi``; else the source."""
        if self.field is None:
            return self.source
        if self.operator in ("is", "is not"):
            return f"{self.field} {self.operator} {self.wanted[0]}"
        return f"{self.field} {self.asked}"

    @property
    def asked(self) -> str:
        """What is asked of the field, without its name: ``>= 80Gi``, ``== 'A100'``."""
        shown = [word if self.typed or not self._quoted else f"'{word}'" for word in self.wanted]
        if self.operator == "in":
            return f"in [{', '.join(shown)}]"
        return f"{self.operator} {shown[0]}"

    @property
    def _quoted(self) -> bool:
        return self.operator not in ("is", "is not") and not self.typed.startswith("number")


def terms_of(expression: str) -> list[Term]:
    """The terms of an expression, in order; one term with the whole source where it cannot be taken apart."""
    return [_read(source) for source in conjuncts(expression)]


def conjuncts(expression: str) -> list[str]:
    """The parts that ``&&`` joins at the outermost level; parentheses around a whole part are opened.

    An expression with ``||`` or ``?:`` at that level is one part, for they bind weaker.
    """
    text = _opened(expression.strip())
    cuts: list[int] = []
    for index, depth in _code(text):
        if depth:
            continue
        if text.startswith("||", index) or (text[index] == "?" and not _optional(text, index)):
            return [text]
        if text.startswith("&&", index):
            cuts.append(index)
    if not cuts:
        return [text]
    parts: list[str] = []
    start = 0
    for cut in [*cuts, len(text)]:
        part = text[start:cut].strip()
        parts.extend(conjuncts(part) if part else [part])
        start = cut + 2
    return parts


def _optional(text: str, index: int) -> bool:
    """Whether a question mark belongs to ``.?name`` or ``[?key]``."""
    return index > 0 and text[index - 1] in ".["


def _opened(text: str) -> str:
    while text.startswith("(") and _closing(text) == len(text) - 1:
        text = text[1:-1].strip()
    return text


def _closing(text: str) -> int:
    """Index of the bracket that closes the first character's."""
    for index, depth in _code(text):
        if depth == 0 and index > 0 and text[index] in _CLOSE:
            return index
    return -1


def _code(text: str) -> Iterator[tuple[int, int]]:
    """(index, depth of brackets) of every character outside of string literals and comments.

    A bracket has the depth outside of it.
    """
    depth = 0
    index = 0
    while index < len(text):
        char = text[index]
        if char in "'\"":
            index = _after_string(text, index)
            continue
        if text.startswith("//", index):
            end = text.find("\n", index)
            index = len(text) if end < 0 else end
            continue
        if char in _CLOSE:
            depth -= 1
        yield index, depth
        if char in _OPEN:
            depth += 1
        index += 1


def _after_string(text: str, index: int) -> int:
    quote = text[index] * 3 if text.startswith(text[index] * 3, index) else text[index]
    start = index - 1
    while start >= 0 and text[start] in "rRbB":
        start -= 1
    raw = "r" in text[start + 1 : index].lower()
    index += len(quote)
    while index < len(text) and not text.startswith(quote, index):
        index += 2 if text[index] == "\\" and not raw else 1
    return min(len(text), index + len(quote))


# --- what a term asks -----------------------------------------------------------------------------------------------


def _read(source: str) -> Term:
    try:
        root = parse(source, _ENVIRONMENT).root
    except CelSyntaxErrors:
        return Term(source)
    return _term(source, root) or Term(source)


def _term(source: str, node: Node) -> Term | None:
    found = field_of(node)
    if found is not None:
        return Term(source, found, "is", ("true",))
    if isinstance(node, Select) and node.test_only:
        tested = field_of(Select(node.id, node.pos, node.operand, node.field))
        return Term(source, tested, "is", ("published",)) if tested else None
    if not isinstance(node, Call):
        return None
    if node.function == "!_" and node.args and (found := field_of(node.args[0])) is not None:
        return Term(source, found, "is", ("false",))
    if node.function in _SYMBOL:
        return _comparison(source, _SYMBOL[node.function], node.args[0], node.args[1])
    if node.function == "@in":
        return _presence(source, node) or _membership(source, node.args[0], node.args[1])
    if node.target is not None and node.function in _ORDER and len(node.args) == 1:
        return _typed(source, _ORDER[node.function], node.target, node.args[0])
    if node.target is not None and node.function in _TEXT_TESTS and len(node.args) == 1:
        target, folded = _unfolded(node.target)
        field, word = field_of(target), node.args[0]
        if field is not None and isinstance(word, Literal) and isinstance(word.value, str):
            return Term(source, field, _TEXT_TESTS[node.function], (word.value,), folded=folded)
    return None


def _comparison(source: str, sign: str, left: Node, right: Node) -> Term | None:
    if isinstance(left, Literal) and not isinstance(right, Literal):
        left, right, sign = right, left, _MIRROR[sign]
    if isinstance(left, Call) and left.function == "compareTo" and left.target is not None:
        zero = isinstance(right, Literal) and right.value == 0 and not isinstance(right.value, bool)
        if not zero or len(left.args) != 1:
            return None
        straight = _typed(source, sign, left.target, left.args[0])
        return straight or _typed(source, _MIRROR[sign], left.args[0], left.target)
    target, folded = _unfolded(left)
    field = field_of(target)
    if field is None:
        return None
    if isinstance(right, Literal):
        if isinstance(right.value, bool) and sign in ("==", "!="):
            wanted = right.value if sign == "==" else not right.value
            return Term(source, field, "is", (str(wanted).lower(),))
        typed = "" if isinstance(right.value, str) else "number"
        return Term(source, field, sign, (_constant(right),), typed, folded)
    return _typed(source, sign, left, right)


def _typed(source: str, sign: str, left: Node, right: Node) -> Term | None:
    """A comparison with ``quantity('80Gi')`` or ``semver('1.2.3')``."""
    field = field_of(left)
    if field is None and isinstance(left, Call) and left.function in ("quantity", "semver") and left.args:
        field = field_of(left.args[0])
    if field is None or not isinstance(right, Call) or right.function not in ("quantity", "semver") or not right.args:
        return None
    word = right.args[0]
    if not isinstance(word, Literal) or not isinstance(word.value, str):
        return None
    return Term(source, field, sign, (word.value,), right.function)


def _membership(source: str, left: Node, right: Node) -> Term | None:
    target, folded = _unfolded(left)
    field = field_of(target)
    if field is None or not isinstance(right, ListExpr):
        return None
    if not right.elements or not all(isinstance(one, Literal) for one in right.elements):
        return None
    literals = [one for one in right.elements if isinstance(one, Literal)]
    typed = "" if isinstance(literals[0].value, str) else "number"
    return Term(source, field, "in", tuple(_constant(one) for one in literals), typed, folded)


def _presence(source: str, node: Call) -> Term | None:
    """``'name' in device.attributes['domain']``."""
    name, whole = node.args
    if not isinstance(name, Literal) or not isinstance(name.value, str):
        return None
    access = Select(node.id, node.pos, whole, name.value)
    field = field_of(access)
    return Term(source, field, "is", ("published",)) if field else None


def _unfolded(node: Node) -> tuple[Node, bool]:
    folded = False
    while isinstance(node, Call) and node.function in _FOLDS and node.target is not None and not node.args:
        node, folded = node.target, True
    return node, folded


def _constant(literal: Literal) -> str:
    value = literal.value
    if isinstance(value, bool):
        return str(value).lower()
    return str(value.value) if isinstance(value, Uint) else str(value)


def field_of(node: Node) -> Field | None:
    """The field that a node reads: ``device.attributes['d'].name``, ``device.capacity['d']['name']`` and the like.

    Optional access that falls back with ``orValue`` counts as well.
    """
    if isinstance(node, Call) and node.function == "orValue" and node.target is not None:
        return field_of(node.target)
    if isinstance(node, Select) and not node.test_only and _is_device(node.operand):
        if node.field == "driver":
            return Field("driver")
        return Field("multi") if node.field == "allowMultipleAllocations" else None
    step = _step(node)
    if step is None:
        return None
    inner, name = step
    outer = _step(inner)
    if outer is None:
        return None
    base, domain = outer
    if isinstance(base, Select) and _is_device(base.operand) and base.field in ("attributes", "capacity"):
        return Field("attribute" if base.field == "attributes" else "capacity", domain, name)
    return None


def _step(node: Node) -> tuple[Node, str] | None:
    """One access by name or by constant key: (what is accessed, the name)."""
    if isinstance(node, Select) and not node.test_only:
        return node.operand, node.field
    if isinstance(node, Call) and node.function in ("_[_]", "_[?_]", "_?._") and len(node.args) == 2:
        key = node.args[1]
        if isinstance(key, Literal) and isinstance(key.value, str):
            return node.args[0], key.value
    return None


def _is_device(node: Node) -> bool:
    return isinstance(node, Ident) and node.name == "device"


# --- what a device has ----------------------------------------------------------------------------------------------


def value_of(published: PublishedDevice, field: Field) -> str | None:
    """The value of a field as text, or None where the device does not have it."""
    return value_text(published.id.driver, published.device, field)


def value_text(driver: str, device: Device, field: Field) -> str | None:
    """The value of a field of a driver's device as text, or None."""
    if field.kind == "driver":
        return driver
    if field.kind == "multi":
        return str(device.allow_multiple_allocations).lower()
    for key in keys_of(driver, field):
        if field.kind == "capacity" and key in device.capacity:
            return str(device.capacity[key].value)
        if field.kind == "attribute" and key in device.attributes:
            return attribute_text(device.attributes[key].value)
    return None


def keys_of(driver: str, field: Field) -> list[str]:
    """The keys under which a device may carry a field: with its domain, or bare where the domain is the driver's."""
    full = f"{field.domain}/{field.name}"
    return [full, field.name] if field.domain == driver else [full]


def attribute_text(value: object) -> str:
    """An attribute's value as text: ``true``, ``8``, ``NVIDIA L4``, ``[1, 2]``."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return f"[{', '.join(attribute_text(one) for one in value)}]"
    return str(value)


def names_of(driver: str, device: Device, kind: str = "attribute") -> dict[tuple[str, str], str]:
    """(domain, name) -> value text of all attributes or capacities of a device."""
    out = {}
    if kind == "capacity":
        for key, capacity in device.capacity.items():
            out[_split(driver, key)] = str(capacity.value)
    else:
        for key, attribute in device.attributes.items():
            out[_split(driver, key)] = attribute_text(attribute.value)
    return out


def _split(driver: str, key: str) -> tuple[str, str]:
    domain, slash, name = key.partition("/")
    return (domain, name) if slash else (driver, key)
