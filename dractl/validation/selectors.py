"""What a selector reads, compares and guards, taken from its syntax tree without running it."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

from dractl.cel.ast import Ast, Call, Ident, ListExpr, Literal, Node, Select
from dractl.cel.environment import Environment
from dractl.cel.walk import bottom_up

_COMPARISONS = frozenset({"_==_", "_!=_", "_<_", "_<=_", "_>_", "_>=_"})


@dataclass(frozen=True, slots=True)
class Read:
    """``device.attributes["domain"].name`` (or capacity): ``offset`` is where it starts in the expression.

    ``asked`` says that the expression asks somewhere whether it is there, so that its absence is no error.
    """

    kind: str
    domain: str
    name: str
    offset: int
    asked: bool = False


@dataclass(frozen=True, slots=True)
class Comparison:
    """A read compared with a constant. ``value`` is the constant; ``wrapped`` names the function around it (quantity,
    semver). ``lower`` says that the read has to be at least (or more than) the value.
    """

    read: Read
    value: bool | int | float | str
    wrapped: str
    operator: str
    offset: int
    lower: bool


@dataclass(slots=True)
class SelectorView:
    """One expression. ``drivers`` are the drivers that it lets through (None: it does not ask)."""

    drivers: frozenset[str] | None = None
    guarded: bool = False
    """Whether devices of other drivers give false and no error."""
    reads: list[Read] = field(default_factory=list)
    comparisons: list[Comparison] = field(default_factory=list)
    constants: list[tuple[str, str, int]] = field(default_factory=list)
    """Texts given to quantity() and semver(): function, text, place."""
    dotted: list[tuple[str, tuple[str, ...], int]] = field(default_factory=list)
    """Reads of a domain without brackets: attributes or capacity, the names behind it, place."""


@lru_cache(maxsize=4096)
def selector_view(expression: str, environment: Environment) -> SelectorView | None:
    """The view of an expression; None if it is not valid CEL."""
    from dractl.cel.errors import CelSyntaxErrors
    from dractl.cel.parser import parse

    try:
        tree = parse(expression, environment)
    except CelSyntaxErrors:
        return None
    return _view(tree)


def _view(tree: Ast) -> SelectorView:
    view = SelectorView()
    view.drivers = _drivers(tree.root)
    asked = _asked(tree)
    for node in bottom_up(tree.root):
        found = _read(node)
        if found is not None:
            kind, domain, name = found
            view.reads.append(Read(kind, domain, name, _start(node), (kind, domain, name) in asked))
        if isinstance(node, Call):
            made = _constant(node)
            if made is not None and isinstance(made[0], str):
                view.constants.append((made[1], made[0], node.args[0].pos))
            comparison = _comparison(node, asked)
            if comparison is not None:
                view.comparisons.append(comparison)
    view.guarded = _safe_elsewhere(tree.root, asked)
    view.dotted = _dotted(tree)
    return view


def _dotted(tree: Ast) -> list[tuple[str, tuple[str, ...], int]]:
    """The longest chains of dots behind ``device.attributes`` and ``device.capacity``, of three names or more."""
    nodes = list(bottom_up(tree.root))
    inner = {id(node.operand) for node in nodes if isinstance(node, Select)}
    out = []
    for node in nodes:
        names: list[str] = []
        here: Node = node
        while isinstance(here, Select):
            names.insert(0, here.field)
            here = here.operand
        if not (isinstance(here, Ident) and here.name == "device") or id(node) in inner:
            continue
        if len(names) > 3 and names[0] in ("attributes", "capacity"):
            out.append((names[0], tuple(names[1:]), here.pos))
    return out


def _member(node: Node) -> tuple[str, str] | None:
    """``device.attributes["d"]`` and ``device.capacity["d"]``: the kind and the domain."""
    if not (isinstance(node, Call) and node.function in ("_[_]", "_[?_]") and len(node.args) == 2):
        return None
    base, key = node.args
    if not (isinstance(base, Select) and isinstance(base.operand, Ident) and base.operand.name == "device"):
        return None
    kind = {"attributes": "attribute", "capacity": "capacity"}.get(base.field)
    return (kind, key.value) if kind and isinstance(key, Literal) and isinstance(key.value, str) else None


def _read(node: Node) -> tuple[str, str, str] | None:
    """The attribute or capacity that a node reads."""
    if isinstance(node, Select):
        member = _member(node.operand)
        return (*member, node.field) if member else None
    if isinstance(node, Call) and node.function in ("_[_]", "_[?_]", "_?._") and len(node.args) == 2:
        member, key = _member(node.args[0]), node.args[1]
        if member and isinstance(key, Literal) and isinstance(key.value, str):
            return (*member, key.value)
    return None


def _start(node: Node) -> int:
    """The first character of what a node stands for."""
    here = node
    while True:
        if isinstance(here, Select):
            here = here.operand
        elif isinstance(here, Call) and here.target is not None:
            here = here.target
        elif isinstance(here, Call) and here.function in ("_[_]", "_[?_]", "_?._"):
            here = here.args[0]
        else:
            return here.pos


def _asked(tree: Ast) -> set[tuple[str, str, str]]:
    """What the expression asks for before it reads it: has(), ``in``, optional access."""
    out: set[tuple[str, str, str]] = set()
    for node in bottom_up(tree.root):
        found = _read(node)
        tested = isinstance(node, Select) and node.test_only
        if found and (tested or (isinstance(node, Call) and node.function in ("_[?_]", "_?._"))):
            out.add(found)
        elif isinstance(node, Call) and node.function == "@in" and isinstance(node.args[0], Literal):
            member, key = _member(node.args[1]), node.args[0].value
            if member and isinstance(key, str):
                out.add((*member, key))
        elif (
            isinstance(node, Select | Call)
            and found
            and any(isinstance(part, Call) and part.function == "_[?_]" for part in bottom_up(node))
        ):
            out.add(found)
    return out


def _is_driver(node: Node) -> bool:
    return (
        isinstance(node, Select)
        and node.field == "driver"
        and isinstance(node.operand, Ident)
        and node.operand.name == "device"
    )


def _drivers(node: Node) -> frozenset[str] | None:
    """The drivers of devices for which a node can be true; None if any."""
    if isinstance(node, Call):
        if node.function == "_&&_":
            parts = [found for found in map(_drivers, node.args) if found is not None]
            return frozenset.intersection(*parts) if parts else None
        if node.function == "_||_":
            each = [_drivers(part) for part in node.args]
            return None if None in each else frozenset().union(*[one for one in each if one is not None])
        if node.function == "_==_":
            for side, other in (node.args, reversed(node.args)):
                if _is_driver(side) and isinstance(other, Literal) and isinstance(other.value, str):
                    return frozenset([other.value])
        if node.function == "@in" and _is_driver(node.args[0]) and isinstance(node.args[1], ListExpr):
            values = [item.value for item in node.args[1].elements if isinstance(item, Literal)]
            return frozenset(value for value in values if isinstance(value, str))
    return None


def _safe_elsewhere(node: Node, asked: set[tuple[str, str, str]]) -> bool:
    """Whether a device of another driver gives false (or true) without an error.

    ``false && error`` is false in CEL and ``true || error`` is true, whatever the order.
    """
    if isinstance(node, Call) and node.function == "_&&_":
        return any(_refuses_others(part) for part in node.args) or all(
            _safe_elsewhere(part, asked) for part in node.args
        )
    if isinstance(node, Call) and node.function == "_||_":
        return all(_safe_elsewhere(part, asked) for part in node.args)
    if isinstance(node, Call) and node.function == "_?_:_":
        if _refuses_others(node.args[0]):
            return _safe_elsewhere(node.args[2], asked)
        return all(_safe_elsewhere(part, asked) for part in node.args)
    if isinstance(node, Call) and node.function == "!_":
        return _safe_elsewhere(node.args[0], asked)
    return not any((found := _read(part)) is not None and found not in asked for part in bottom_up(node))


def _refuses_others(node: Node) -> bool:
    """Whether a node is false for devices of other drivers: it asks for the driver, or whether a name is there."""
    if _drivers(node) is not None:
        return True
    if isinstance(node, Select) and node.test_only and _member(node.operand) is not None:
        return True
    if isinstance(node, Call):
        if node.function == "@in" and _member(node.args[1]) is not None:
            return True
        if node.function == "_&&_":
            return any(_refuses_others(part) for part in node.args)
        if node.target is not None and _is_driver(node.target):
            return True
    return False


def _constant(node: Node) -> tuple[bool | int | float | str, str] | None:
    """A constant and the function around it."""
    if isinstance(node, Literal) and isinstance(node.value, bool | int | float | str):
        return node.value, ""
    if isinstance(node, Call) and node.target is None and len(node.args) == 1 and isinstance(node.args[0], Literal):
        inner = node.args[0].value
        if node.function in ("quantity", "semver") and isinstance(inner, str):
            return inner, node.function
    return None


def _comparison(node: Call, asked: set[tuple[str, str, str]]) -> Comparison | None:
    if node.function in _COMPARISONS and len(node.args) == 2:
        return _by_operator(node, asked)
    if node.target is not None and node.function in ("isGreaterThan", "isLessThan") and node.args:
        return _made(node.target, node.args[0], node, node.function, asked, node.function == "isGreaterThan")
    return None


def _by_operator(node: Call, asked: set[tuple[str, str, str]]) -> Comparison | None:
    left, right = node.args
    sign = node.function.strip("_")
    # read.compareTo(quantity("x")) >= 0
    if isinstance(left, Call) and left.function == "compareTo" and left.target is not None and left.args:
        if isinstance(right, Literal) and right.value == 0:
            return _made(left.target, left.args[0], left, sign, asked, sign in (">", ">=", "=="))
        return None
    made = _made(left, right, node, sign, asked, sign in (">", ">=", "=="))
    return made or _made(right, left, node, sign, asked, sign in ("<", "<=", "=="))


def _made(
    subject: Node, other: Node, node: Call, operator: str, asked: set[tuple[str, str, str]], lower: bool
) -> Comparison | None:
    found, constant = _read(subject), _constant(other)
    if found is None or constant is None:
        return None
    read = Read(*found, _start(subject), found in asked)
    return Comparison(read, constant[0], constant[1], operator, other.pos, lower)
