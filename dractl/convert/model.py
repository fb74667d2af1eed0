"""What a conversion is asked for and what it says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dractl.convert.nodes import Map, head_comment, line_of, say

GROUP = "resource.k8s.io"


@dataclass(frozen=True, slots=True)
class Target:
    """The version to write and the release of the cluster. ``plugin`` says what becomes of device plugin workloads:

    ``claims`` (a claim template and an edited pod), ``class`` (a DeviceClass with extendedResourceName, the pod as it
    is) or ``keep``.
    """

    version: str = "v1"
    release: tuple[int, int] = (1, 36)
    plugin: str = "claims"


@dataclass(slots=True)
class Note:
    """A remark for the user: ``exact`` ones only tell what was done, others want a person's judgement."""

    line: int | None
    subject: str
    text: str
    exact: bool = False


@dataclass(slots=True)
class Document:
    """One document of a stream. ``node`` becomes None when nothing takes its place; ``added`` are put before it."""

    node: Map | None
    subject: str
    line: int | None
    changed: bool = False
    added: list[Map] = field(default_factory=list)
    after: list[Map] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    """Comment lines to put above the result."""


@dataclass(slots=True)
class Work:
    """The stream that is converted, and everything said on the way."""

    documents: list[Document]
    target: Target
    notes: list[Note] = field(default_factory=list)
    used: set[int] = field(default_factory=set)
    """Documents that were merged into others (parameters), by identity of the document."""

    def note(self, document: Document, text: str, line: int | None = None, *, exact: bool = False) -> None:
        """Say something about a document."""
        self.notes.append(Note(line or document.line, document.subject, text, exact))

    def propose(self, document: Document, text: str, line: int | None = None) -> None:
        """Say something that a person has to judge, also as a comment in the result."""
        if text not in document.remarks:
            self.note(document, text, line)
            document.remarks.append(text)

    def find(self, kind: str, name: str, group: str = "", namespace: str = "") -> Document | None:
        """A document of the stream by kind and name; group and namespace count where both sides state them."""
        for document in self.documents:
            node = document.node
            if node is None or node.get("kind") != kind or name_of(node) != name:
                continue
            if group and str(node.get("apiVersion", "")).rpartition("/")[0] != group:
                continue
            if namespace and namespace_of(node) and namespace_of(node) != namespace:
                continue
            return document
        return None


def name_of(node: Any) -> str:
    """metadata.name of an object."""
    meta = node.get("metadata") if isinstance(node, Mapping) else None
    return str(meta.get("name") or meta.get("generateName") or "") if isinstance(meta, Mapping) else ""


def namespace_of(node: Any) -> str:
    """metadata.namespace of an object, or nothing."""
    meta = node.get("metadata") if isinstance(node, Mapping) else None
    return str(meta.get("namespace") or "") if isinstance(meta, Mapping) else ""


def subject_of(node: Any) -> str:
    """``Kind namespace/name``."""
    if not isinstance(node, Mapping):
        return "document"
    namespace = namespace_of(node)
    return f"{node.get('kind') or 'object'} {namespace + '/' if namespace else ''}{name_of(node) or '(unnamed)'}"


def document_of(node: Any) -> Document:
    """A parsed document before any conversion."""
    return Document(node, subject_of(node), line_of(node))


def vanish(document: Document, work: Work, text: str) -> None:
    """Take a document out: nothing takes its place. Its head comment goes to the next document."""
    work.note(document, text)
    if document.node is not None:
        document.remarks += head_comment(document.node)
    document.node = None
    document.changed = True


def write_remarks(node: Map, lines: list[str]) -> None:
    """Put lines above the first key of a document."""
    keys = list(node)
    if keys:
        say(node, keys[0], lines)
