"""From file names to a ValidationReport: read, check, place, silence, compare. Used by ``dractl validate``."""

from __future__ import annotations

import fnmatch
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dractl.rules import manifests as rules
from dractl.rules.finding import Finding, Location, ObjectRef, Rule, Severity
from dractl.sources.manifests import STDIN, STDIN_NAME, Document, Place, Problem, find_inputs, read_file
from dractl.validation import check, references
from dractl.validation.facts import Facts, Spot
from dractl.validation.model import Fault, dotted, text
from dractl.validation.report import (
    MESSAGE_LIMIT,
    SERVER_LIMIT,
    Item,
    ObjectResult,
    ValidationReport,
    cut,
    in_order,
)
from dractl.validation.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Callable

PROBLEM_RULES: Mapping[str, Rule] = {
    "unreadable": rules.UNREADABLE,
    "binary": rules.NOT_TEXT,
    "syntax": rules.YAML_SYNTAX,
    "value": rules.YAML_SYNTAX,
    "json": rules.JSON_SYNTAX,
    "template": rules.TEMPLATE_TEXT,
    "depth": rules.TOO_DEEP,
    "alias": rules.ALIASES,
}
NAME_LIMIT = 260
"""Characters of a name that are shown; valid ones have at most 253."""

PARALLEL_FROM = 64
"""Files from which on several processes are worth their start."""


@dataclass(frozen=True, slots=True)
class Choice:
    """What to check and what to show."""

    settings: Settings
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    baseline: frozenset[str] = frozenset()
    jobs: int = 1
    show_defaults: bool = False
    old: Mapping[tuple[str, str, str], dict[str, Any]] = field(default_factory=dict)


@dataclass(slots=True)
class FileResult:
    """What one file gave."""

    items: list[Item] = field(default_factory=list)
    objects: list[ObjectResult] = field(default_factory=list)
    facts: list[Facts] = field(default_factory=list)
    passed_over: Counter[str] = field(default_factory=Counter)
    suppressed: int = 0
    unreadable: bool = False
    claims: list[tuple[ObjectResult, dict[str, Any]]] = field(default_factory=list)
    """Claims and templates as read, for the checks against a fleet."""
    classes: list[dict[str, Any]] = field(default_factory=list)


@dataclass(slots=True)
class _Where:
    """Enough of a document to silence a later finding in it."""

    source: str
    index: int
    prefix: tuple[str | int, ...]
    ignores: list[Any]
    subject: ObjectRef | None


def run(
    paths: Iterable[str], choice: Choice, known: references.Known | None = None, keep_claims: bool = False
) -> tuple[ValidationReport, list[FileResult]]:
    """Check everything below the paths.

    Returns:
        The report, and the files' results (with their claims, if ``keep_claims``).
    """
    named = list(paths)
    inputs = [one for one in find_inputs(named) if isinstance(one, Problem) or not _excluded(one, choice.exclude)]
    report = ValidationReport(choice.settings.version, gates=dict(choice.settings.gates))
    given = set(named)
    tasks = [(one, one in given or one == STDIN) for one in inputs if isinstance(one, str)]
    results: list[FileResult] = []
    problems = [one for one in inputs if isinstance(one, Problem)]
    if problems:
        results.append(_problems(problems))
    results += _check_files(tasks, choice, keep_claims)
    report.files = len(tasks)
    facts = [one for result in results for one in result.facts]
    for result in results:
        report.items += result.items
        report.objects += result.objects
        report.passed_over += result.passed_over
        report.suppressed += result.suppressed
        report.unreadable = report.unreadable or result.unreadable
    places = _Places()
    for one, spot, fault in references.cross_faults(facts, known or references.Known(), choice.settings):
        where: _Where = one.document
        fault.path = spot.path
        item = _item_at(fault, places.find(where, spot), where.source, where.subject, where.index)
        if _silenced(item, where.ignores):
            report.suppressed += 1
        else:
            report.items.append(item)
            _raise_verdict(report.objects, where, item)
    _filter(report, choice)
    report.items = in_order(report.items)
    return report, results


def _raise_verdict(objects: list[ObjectResult], where: _Where, item: Item) -> None:
    """An accepted object with a later warning is accepted with a warning; one with a refusal is rejected."""
    for one in objects:
        if one.file == where.source and one.document == where.index and _same(one, where.subject):
            if item.finding.code == rules.ADMIN_LABEL.code:
                one.verdict = check.REJECTED
            elif one.verdict == check.ACCEPTED and item.finding.severity.at_least(Severity.WARNING):
                one.verdict = check.WARNED


def _same(one: ObjectResult, subject: ObjectRef | None) -> bool:
    return subject is not None and (one.kind, one.namespace, one.name) == (
        subject.kind,
        subject.namespace,
        subject.name,
    )


def _excluded(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatch.fnmatch(name, pattern) or fnmatch.fnmatch(name, f"*/{pattern}") for pattern in patterns)


# --- files ----------------------------------------------------------------------------------------------------------


def _check_files(tasks: list[tuple[str, bool]], choice: Choice, keep_claims: bool) -> list[FileResult]:
    jobs = _jobs(choice.jobs, len(tasks))
    if jobs < 2 or any(name == STDIN for name, _ in tasks):
        return [check_file(name, explicit, choice, keep_claims) for name, explicit in tasks]
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    size = max(1, min(200, len(tasks) // (jobs * 4)))
    batches = [tasks[start : start + size] for start in range(0, len(tasks), size)]
    context = multiprocessing.get_context("fork" if "fork" in multiprocessing.get_all_start_methods() else "spawn")
    with ProcessPoolExecutor(jobs, mp_context=context, initializer=_start, initargs=(choice, keep_claims)) as pool:
        return [result for batch in pool.map(_check_batch, batches) for result in batch]


def _jobs(wanted: int, files: int) -> int:
    import os

    if wanted > 0:
        return wanted
    return min(os.cpu_count() or 1, 8) if files >= PARALLEL_FROM * 4 else 1


_STATE: list[tuple[Choice, bool]] = []


def _start(choice: Choice, keep_claims: bool) -> None:
    _STATE.append((choice, keep_claims))


def _check_batch(batch: list[tuple[str, bool]]) -> list[FileResult]:
    choice, keep_claims = _STATE[-1]
    return [check_file(name, explicit, choice, keep_claims) for name, explicit in batch]


def check_file(name: str, explicit: bool, choice: Choice, keep_claims: bool = False) -> FileResult:
    """Check the objects of one file. ``explicit`` says that the file was named and not found in a folder."""
    result = FileResult()
    for one in read_file(name):
        if isinstance(one, Problem):
            result.items.append(problem_item(one))
            result.unreadable = result.unreadable or one.kind == "unreadable"
        else:
            _check_document(one, explicit, choice, keep_claims, result)
    return result


def _problems(problems: list[Problem]) -> FileResult:
    return FileResult(items=[problem_item(one) for one in problems], unreadable=True)


_HINTS = {
    "template": "render it first: helm template CHART | dractl validate -  (kubectl kustomize DIR | dractl validate -)",
    "binary": "save the file as UTF-8",
    "unreadable": "check the path and its permissions",
}


def problem_item(problem: Problem) -> Item:
    """The item of something that could not be read."""
    rule = PROBLEM_RULES[problem.kind]
    message = problem.message
    if problem.kind == "template":
        message = "the file is a template that has not been rendered ({{ }} is no YAML)"
    elif problem.context:
        message = f"{message} ({problem.context})"
    fault = Fault(rule, message, hint=_HINTS.get(problem.kind, ""))
    return _item_at(fault, problem.place, problem.source, None, 0)


def _check_document(document: Document, explicit: bool, choice: Choice, keep_claims: bool, result: FileResult) -> None:
    value = document.value
    old = choice.old.get(_identity(value)) if choice.old else None
    repeated = frozenset(one.path for one in document.repeats) if document.repeats else frozenset()
    checked = check.check_object(
        value,
        choice.settings,
        old=old,
        repeated=repeated,
        source=document.source,
        lenient_about_kind=not explicit,
    )
    for one in document.repeats:
        message = f"{one.key} is written twice; the first is in line {one.first_line}, the last one counts"
        checked.faults.append(Fault(rules.REPEATED_KEY, message, one.path, key=True))
        checked.verdict = check.REJECTED if document.text.is_json else checked.verdict
    if checked.verdict == check.PASSED_OVER:
        result.passed_over[checked.kind or "no kind"] += 1
        if not checked.faults:
            _keep_facts(checked, document, result)
            return
    kind, space, name = (cut(one, NAME_LIMIT) for one in (checked.kind, checked.namespace, checked.name))
    checked.kind, checked.namespace, checked.name = kind, space, name
    subject = ObjectRef(kind or "document", name, space, cut(checked.api_version, NAME_LIMIT))
    for fault in checked.faults:
        item = place_fault(fault, document, subject)
        if document.text.ignores and _silenced(item, document.text.ignores):
            result.suppressed += 1
        else:
            result.items.append(item)
    if checked.verdict != check.PASSED_OVER and checked.kind != "Namespace":
        result.objects.append(_object_result(document, checked, choice.show_defaults))
        if keep_claims and checked.kind in ("ResourceClaim", "ResourceClaimTemplate"):
            result.claims.append((result.objects[-1], value))
        elif keep_claims and checked.kind == "DeviceClass":
            result.classes.append(value)
    _keep_facts(checked, document, result, subject)


def _keep_facts(
    checked: check.Checked, document: Document, result: FileResult, subject: ObjectRef | None = None
) -> None:
    if checked.facts is None:
        return
    if document.source == STDIN_NAME:
        # stdin cannot be read again
        for spot in checked.facts.spots():
            spot.place = document.place(spot.path, key=spot.key, offset=spot.offset)
    ignores = document.text.ignores
    checked.facts.document = _Where(document.source, document.index, document.prefix, ignores, subject)
    result.facts.append(checked.facts)


class _Places:
    """Places of findings that come up when all files were seen: the file is read again."""

    def __init__(self) -> None:
        self._source = ""
        self._documents: dict[tuple[int, tuple[str | int, ...]], Document] = {}

    def find(self, where: _Where, spot: Spot) -> Place | None:
        """The place of a spot; None if the file has changed meanwhile."""
        if spot.place is not None:
            found: Place = spot.place
            return found
        if where.source != self._source:
            self._source = where.source
            self._documents = {
                (one.index, one.prefix): one for one in read_file(where.source) if isinstance(one, Document)
            }
        document = self._documents.get((where.index, where.prefix))
        return document.place(spot.path, key=spot.key, offset=spot.offset) if document is not None else None


def _identity(value: Any) -> tuple[str, str, str]:
    meta = value.get("metadata") if isinstance(value, dict) else None
    if not isinstance(meta, dict):
        return ("", "", "")
    return text(value.get("kind")), text(meta.get("namespace")) or "default", text(meta.get("name"))


def _object_result(document: Document, checked: check.Checked, show_defaults: bool) -> ObjectResult:
    one = ObjectResult(
        document.source,
        document.index,
        document.line,
        checked.api_version,
        checked.kind,
        checked.namespace,
        checked.name,
        checked.verdict,
        warnings=checked.warnings,
    )
    if show_defaults and checked.stored is not None:
        from dractl.validation.stored import changes

        one.stored = checked.stored
        one.defaults = changes(document.value, checked.stored) or ["nothing is added or dropped"]
    return one


# --- places, comments -----------------------------------------------------------------------------------------------


def place_fault(fault: Fault, document: Document, subject: ObjectRef) -> Item:
    """A fault with its line and column."""
    place = document.place(fault.path, key=fault.key, offset=fault.offset)
    item = _item_at(fault, place, document.source, subject, document.index)
    item.also = [document.place(path).line for path in fault.also]
    return item


def item_of(fault: Fault, document: Document | None, one: ObjectResult, subject: ObjectRef) -> Item:
    """A fault found later in an object: at its place if the document can be read again, else at its first line."""
    if document is not None:
        return place_fault(fault, document, subject)
    return _item_at(fault, Place(one.line, 1), one.file, subject, one.document)


def _item_at(fault: Fault, place: Place | None, source: str, subject: ObjectRef | None, index: int) -> Item:
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


def _silenced(item: Item, ignores: Iterable[Any]) -> bool:
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


def silenced_fault(fault: Fault, document: Document, choice: Choice) -> bool:
    """Whether a fault would not be shown: by a comment or by the settings."""
    item = place_fault(fault, document, ObjectRef("", ""))
    if choice.select and not _matcher(choice.select)(item.finding):
        return True
    return _matcher(choice.ignore)(item.finding) or _silenced(item, document.text.ignores)


def code_names(finding: Finding) -> frozenset[str]:
    """The ways to name a finding's rule: code and slug, in capitals."""
    from dractl.rules.registry import all_rules

    rule = all_rules().get(finding.code)
    return frozenset({finding.code, rule.name.upper() if rule else finding.code})


def _filter(report: ValidationReport, choice: Choice) -> None:
    """Leave out what is not selected, ignored, or known from the baseline."""
    wanted: Callable[[Finding], bool] = _matcher(choice.select)
    unwanted = _matcher(choice.ignore)
    kept = []
    for item in report.items:
        if (choice.select and not wanted(item.finding)) or (choice.ignore and unwanted(item.finding)):
            report.suppressed += 1
        elif choice.baseline and item.fingerprint() in choice.baseline:
            report.in_baseline += 1
        else:
            kept.append(item)
    report.items = kept


def _matcher(words: tuple[str, ...]) -> Callable[[Finding], bool]:
    """Whether a finding is meant by codes (DRA101), beginnings of codes (DRA1) or names."""
    capitals = [word.upper() for word in words]

    def matches(finding: Finding) -> bool:
        return any(
            finding.code.startswith(word) if word.startswith("DRA") else word in code_names(finding)
            for word in capitals
        )

    return matches


def documents_of(names: Iterable[str]) -> Iterator[Document]:
    """The readable objects below some paths, for ``--old``."""
    for name in find_inputs(names):
        if isinstance(name, str):
            for one in read_file(name):
                if isinstance(one, Document):
                    yield one
