"""What goes wrong when the API server decodes an object, in the words of Go's JSON decoder and of its strict mode."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dractl.validation.gotext import quote

if TYPE_CHECKING:
    from dractl.validation.gotypes import Type

Context = tuple[Any, Any] | None
"""Where decoding is: the context around it and a Field, an index or a key of a map."""

MAX_STRICT_ERRORS = 100


class Field:
    """A field of a struct."""

    __slots__ = ("embed", "fast", "go_name", "name", "omit", "struct", "type")

    def __init__(self, struct: str, name: str, go_name: str, embed: tuple[str, ...], kind: Type, omit: str) -> None:
        self.struct = struct
        self.name = name
        self.go_name = go_name
        self.embed = embed
        self.type = kind
        self.fast = kind.fast
        self.omit = omit


class DecodeProblem:
    """One reason for a 400: the text, and the path in the object."""

    __slots__ = ("kind", "path", "text")

    def __init__(self, kind: str, text: str, path: tuple[str | int, ...]) -> None:
        self.kind = kind
        self.text = text
        self.path = path


class DecodeAbort(Exception):
    """A type with its own decoder refused its value, which ends decoding at once."""

    def __init__(self, problem: DecodeProblem) -> None:
        super().__init__(problem.text)
        self.problem = problem


class DecodeState:
    """What went wrong so far: the first wrong type, and unknown or repeated fields."""

    __slots__ = ("duplicates", "seen", "strict", "wrong_type")

    def __init__(self, duplicates: frozenset[tuple[str | int, ...]] = frozenset()) -> None:
        self.wrong_type: DecodeProblem | None = None
        self.strict: list[DecodeProblem] = []
        self.seen: set[str] = set()
        self.duplicates = duplicates

    def type_error(self, value: Any, display: str, context: Context, integer: bool = False) -> None:
        """Keep the first value of a wrong type."""
        if self.wrong_type is None:
            self.wrong_type = type_problem(describe(value, integer), display, context)

    def strict_error(self, kind: str, context: Context, name: str) -> None:
        """Note an unknown or repeated field."""
        path = (*context_path(context), name)
        text = f"{kind} {quote(strict_path(path))}"
        if len(self.strict) < MAX_STRICT_ERRORS and text not in self.seen:
            self.seen.add(text)
            self.strict.append(DecodeProblem(kind, text, path))


def describe(value: Any, integer: bool = False) -> str:
    """What Go's decoder calls a JSON value."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, str):
        return "string"
    if isinstance(value, list):
        return "array"
    if isinstance(value, dict):
        return "object"
    return f"number {value}" if integer else "number"


def type_problem(what: str, display: str, context: Context) -> DecodeProblem:
    """The text about a value of a wrong type at a place."""
    names: list[str] = []
    struct = None
    at = context
    while at is not None:
        if isinstance(at[1], Field):
            struct = struct or at[1].struct
            names[:0] = [*at[1].embed, at[1].name]
        at = at[0]
    place = f"Go value of type {display}" if struct is None else None
    place = place or f"Go struct field {struct}.{'.'.join(names)} of type {display}"
    return DecodeProblem("wrong type", f"json: cannot unmarshal {what} into {place}", context_path(context))


def context_path(context: Context) -> tuple[str | int, ...]:
    """Keys and indices from the root."""
    path: list[str | int] = []
    while context is not None:
        context, part = context
        path.append(part.name if isinstance(part, Field) else part)
    return tuple(reversed(path))


def strict_path(path: tuple[str | int, ...]) -> str:
    """The path as the strict decoder writes it: a.b[0].c."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else (f".{part}" if text else str(part))
    return text
