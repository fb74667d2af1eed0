"""What the checker found out about a syntax tree."""

from __future__ import annotations

from dataclasses import dataclass, field

from dractl.cel.ast import Ast
from dractl.cel.environment import Environment
from dractl.cel.types import Type


@dataclass(frozen=True, slots=True)
class Reference:
    """What a node stands for: a name (variable, type, enum value) or the overloads of a function that may apply."""

    name: str = ""
    overloads: tuple[str, ...] = ()
    value: int | None = None
    """The constant that an enum name stands for."""


@dataclass(slots=True)
class Checked:
    """A checked expression. ``ast`` is the tree with names resolved: ``a.b.c`` that names a type is one ``Ident``, a
    call of a namespaced function (``sets.contains(...)``) has no target."""

    ast: Ast
    environment: Environment
    output_type: Type
    types: dict[int, Type] = field(default_factory=dict)
    references: dict[int, Reference] = field(default_factory=dict)

    def overloads(self, node_id: int) -> tuple[str, ...]:
        """Overload ids that a call may resolve to; empty where the node is no call."""
        reference = self.references.get(node_id)
        return reference.overloads if reference else ()
