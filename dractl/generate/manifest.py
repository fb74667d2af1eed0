"""A manifest that is made: the object, and beside its fields why they are there."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]
Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Said:
    """A value in a tree that is being built, with the reason for it."""

    value: Any
    why: str


@dataclass(slots=True)
class Manifest:
    """One object. ``notes`` are reasons by path; ``head`` are lines about the whole."""

    body: Json
    notes: dict[Path, str] = field(default_factory=dict)
    head: list[str] = field(default_factory=list)

    @property
    def kind(self) -> str:
        """The object's kind."""
        return str(self.body["kind"])

    @property
    def name(self) -> str:
        """metadata.name."""
        return str(self.body["metadata"]["name"])


def manifest(tree: Json, head: Iterable[str] = ()) -> Manifest:
    """Take the reasons out of a tree; keys whose value is None are left out."""
    notes: dict[Path, str] = {}
    body = _plain(tree, (), notes)
    assert isinstance(body, dict)
    return Manifest(body, notes, list(head))


def _plain(node: Any, path: Path, notes: dict[Path, str]) -> Any:
    if isinstance(node, Said):
        if node.why not in notes.values():  # said once is enough
            notes[path] = node.why
        node = node.value
    if isinstance(node, dict):
        return {key: _plain(value, (*path, key), notes) for key, value in node.items() if not _absent(value)}
    if isinstance(node, list):
        return [_plain(value, (*path, index), notes) for index, value in enumerate(node)]
    return node


def _absent(value: Any) -> bool:
    return value is None or (isinstance(value, Said) and value.value is None)


def metadata(name: str, namespace: str | None = None, labels: Json | None = None) -> Json:
    """metadata of a new object."""
    return {"name": name, "namespace": namespace, "labels": labels}
