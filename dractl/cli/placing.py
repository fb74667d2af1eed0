"""From faults to findings with their places; comments and options that silence them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

from dractl.rules import manifests as rules
from dractl.rules.finding import Finding, Location, ObjectRef, Rule
from dractl.sources.manifests import Document, Ignore, Place, Problem
from dractl.validation.model import Fault, dotted
from dractl.validation.report import MESSAGE_LIMIT, SERVER_LIMIT, Item, ObjectResult, cut

PROBLEM_RULES: Mapping[str, Rule] = {
    "unreadable": rules.UNREADABLE,
    "empty": rules.UNREADABLE,
    "binary": rules.NOT_TEXT,
    "syntax": rules.YAML_SYNTAX,
    "value": rules.YAML_SYNTAX,
    "json": rules.JSON_SYNTAX,
    "template": rules.TEMPLATE_TEXT,
    "depth": rules.TOO_DEEP,
    "alias": rules.ALIASES,
}
_HINTS = {
    "template": "render it first: helm template CHART | dractl validate -  (kubectl kustomize DIR | dractl validate -)",
    "binary": "leave it out, or save it as UTF-8 if it is a manifest",
    "unreadable": "check the path and its permissions",
    "empty": "check the path, or what was to write it: nothing was checked",
}


_ENDED_EARLY = re.compile(r'[-\w.]+: +"[^"\\\\]*"[^\s,}\]#]')
"""A quoted text with a quote inside: ``expression: "device.driver == "x""``."""


def problem_item(problem: Problem) -> Item:
    """The item of something that could not be read."""
    rule = PROBLEM_RULES[problem.kind]
    message = problem.message
    if problem.kind == "template":
        message = "the file is a template that has not been rendered ({{ }} is no YAML)"
    elif problem.context:
        message = f"{message} ({problem.context})"
    hint = _HINTS.get(problem.kind, "")
    excerpt = problem.place.excerpt if problem.place else ""
    if "mapping values are not allowed" in message and "expression:" in excerpt:
        # the second colon of a line: that of a CEL condition
        hint = "put the expression in quotes, or write it as a block: expression: |- and the text on the next line"
    if problem.kind == "syntax" and _ENDED_EARLY.search(excerpt):
        hint = 'the text ends at its second "; put all of it in single quotes'
    fault = Fault(rule, message, hint=hint)
    return item_at(fault, problem.place, problem.source, None, 0)


def place_fault(fault: Fault, document: Document, subject: ObjectRef) -> Item:
    """A fault with its line and column."""
    place = document.place(fault.path, key=fault.key, offset=fault.offset)
    item = item_at(fault, place, document.source, subject, document.index)
    item.also = [document.place(path).line for path in fault.also]
    return item


def item_of(fault: Fault, document: Document | None, one: ObjectResult, subject: ObjectRef) -> Item:
    """A fault found later in an object: at its place if the document can be read again, else at its first line."""
    if document is not None:
        return place_fault(fault, document, subject)
    return item_at(fault, Place(one.line, 1), one.file, subject, one.document)


def item_at(fault: Fault, place: Place | None, source: str, subject: ObjectRef | None, index: int) -> Item:
    evidence = dict(fault.evidence)
    if fault.server:
        evidence["apiServer"] = cut(fault.server, SERVER_LIMIT)
    if "note" in evidence:
        evidence["note"] = cut(str(evidence["note"]), SERVER_LIMIT)
    location = Location(
        source, place.line if place else None, place.column if place else None, cut(dotted(fault.path), MESSAGE_LIMIT)
    )
    finding = fault.rule.finding(
        cut(fault.message, MESSAGE_LIMIT),
        subject,
        location,
        evidence=evidence,
        hint=cut(fault.hint, MESSAGE_LIMIT),
        severity=fault.severity,
    )
    if place is None:
        return Item(finding, document=index)
    return Item(finding, place.excerpt, place.excerpt_column, place.length, place.key_line, index)


def silenced(item: Item, ignores: Iterable[Ignore]) -> bool:
    """Whether a comment of the file silences a finding."""
    names = code_names(item.finding)
    for ignore in ignores:
        if not names & ignore.codes and "ALL" not in ignore.codes:
            continue
        if ignore.lines is None:
            return True
        first, last = ignore.lines
        if first <= item.line <= last or first <= item.key_line <= last:
            return True
    return False


def code_names(finding: Finding) -> frozenset[str]:
    """The ways to name a finding's rule: code and slug, in capitals."""
    from dractl.rules.registry import all_rules

    rule = all_rules().get(finding.code)
    return frozenset({finding.code, rule.name.upper() if rule else finding.code})


def matcher(words: tuple[str, ...]) -> Callable[[Finding], bool]:
    """Whether a finding is meant by codes (DRA101), beginnings of codes (DRA1) or names."""
    capitals = [word.upper() for word in words]

    def matches(finding: Finding) -> bool:
        return any(
            finding.code.startswith(word) if word.startswith("DRA") else word in code_names(finding)
            for word in capitals
        )

    return matches
