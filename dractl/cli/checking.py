"""From file names to a ValidationReport: read, check, compare, silence. Used by ``dractl validate``.

Memory follows the number of findings and of different objects, not the size of the input: what does not matter any more
is let go, and files are read again for findings that only show when all of them were seen.
"""

from __future__ import annotations

import fnmatch
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from dractl.cli.placing import item_at, matcher, place_fault, problem_item, silenced
from dractl.errors import DractlError
from dractl.rules import manifests as rules
from dractl.rules.finding import ObjectRef, Severity
from dractl.sources.manifests import STDIN, STDIN_NAME, Document, Problem, find_inputs, read_file, read_stream
from dractl.sources.yamltext import Repeat
from dractl.validation import check, references
from dractl.validation.facts import Facts, Spot, collect
from dractl.validation.factstore import Alike, FactStore, Ref
from dractl.validation.model import Fault, group_of, text
from dractl.validation.report import Item, ObjectResult, ValidationReport, cut, in_order
from dractl.validation.server import environment_of
from dractl.validation.settings import Settings

KIND_LIMIT = 64
NAME_LIMIT = 260
"""Characters of a name that are shown; valid ones have at most 253."""

REPEATS_SHOWN = 20
"""Keys of one object that are named as written twice."""

PARALLEL_FROM = 256
"""Files from which on several processes are worth their start."""


@dataclass(frozen=True, slots=True)
class Choice:
    """What to check and what to keep.

    ``keep_objects`` keeps an entry for each object (JSON and JUnit list them), ``keep_claims`` the claims and classes
    themselves (for a fleet).
    """

    settings: Settings
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    baseline: frozenset[str] = frozenset()
    jobs: int = 1
    show_defaults: bool = False
    keep_objects: bool = True
    keep_claims: bool = False
    old: Mapping[tuple[str, str, str], dict[str, Any]] = field(default_factory=dict)
    """Objects as they are now, by kind, namespace (empty where it has none) and name."""


@dataclass(slots=True)
class FileResult:
    """What one file gave."""

    items: list[Item] = field(default_factory=list)
    objects: list[ObjectResult] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    store: FactStore = field(default_factory=FactStore)
    warned: set[Ref] = field(default_factory=set)
    """Objects whose verdict is another than accepted."""
    passed_over: Counter[str] = field(default_factory=Counter)
    suppressed: int = 0
    documents: int = 0
    """Documents of any kind, and what could not be read."""
    empty: list[tuple[str, bool]] = field(default_factory=list)
    """Files without any, and whether they were named."""
    claims: list[tuple[ObjectResult, dict[str, Any]]] = field(default_factory=list)
    classes: list[dict[str, Any]] = field(default_factory=list)


class Reader:
    """Files by name, as often as needed: stdin is kept in a temporary file."""

    def __init__(self) -> None:
        self._stdin: BinaryIO | None = None

    def read(self, name: str) -> Iterator[Document | Problem]:
        """The documents of a file, or of stdin."""
        if name not in (STDIN, STDIN_NAME):
            yield from read_file(name)
            return
        if self._stdin is None:
            import shutil
            import sys
            import tempfile

            self._stdin = tempfile.TemporaryFile()  # noqa: SIM115 (kept until the end of the run)
            shutil.copyfileobj(sys.stdin.buffer, self._stdin)
        self._stdin.seek(0)
        yield from read_stream(self._stdin, STDIN_NAME)


def run(
    paths: Iterable[str], choice: Choice, known: references.Known | None = None
) -> tuple[ValidationReport, FileResult]:
    """Check everything below the paths.

    Returns:
        The report, and what the files gave together (with their claims, if they are kept).
    """
    named = list(paths)
    every = list(find_inputs(named))
    inputs = [one for one in every if isinstance(one, Problem) or not _excluded(one, choice.exclude)]
    report = ValidationReport(choice.settings.version, gates=dict(choice.settings.gates))
    report.excluded = len(every) - len(inputs)
    given = set(named)
    tasks = [(one, one in given or one == STDIN) for one in inputs if isinstance(one, str)]
    reader = Reader()
    total = FileResult()
    for one in inputs:
        if isinstance(one, Problem):
            total.items.append(problem_item(one))
            total.documents += 1
    for result in _check_files(tasks, choice, reader):
        _merge(total, result)
    total.items += _of_empty(total)
    place = {one if isinstance(one, str) else one.source: number for number, one in enumerate(inputs)}
    total.items.sort(key=lambda item: place.get(item.file, place.get(STDIN, 0)))
    report.files = len(tasks)
    report.items, report.objects, report.counts = total.items, total.objects, total.counts
    report.passed_over, report.suppressed = total.passed_over, total.suppressed
    _add_cross_faults(report, total, known or references.Known(), choice, reader)
    _filter(report, choice)
    report.unreadable = any(item.finding.code in _READING for item in report.items)
    report.items = in_order(report.items)
    return report, total


_READING = frozenset(rule.code for rule in rules.READING)
_HOLDS_NOTHING = "there is no object in it"


def _of_empty(total: FileResult) -> Iterator[Item]:
    """Where nothing was to be read at all that is no success; one empty file among others only gets a remark."""
    for name, explicit in total.empty:
        if not total.documents:
            yield problem_item(Problem(STDIN_NAME if name == STDIN else name, "empty", _HOLDS_NOTHING))
        elif explicit:
            fault = Fault(rules.NOT_AN_OBJECT, f"{_HOLDS_NOTHING}: empty, or only comments", severity=Severity.WARNING)
            yield item_at(fault, None, name, None, 0)


def _excluded(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatch.fnmatch(name, pattern) or fnmatch.fnmatch(name, f"*/{pattern}") for pattern in patterns)


def _merge(total: FileResult, result: FileResult) -> None:
    total.items += result.items
    total.objects += result.objects
    total.counts += result.counts
    total.store.merge(result.store)
    total.warned |= result.warned
    total.passed_over += result.passed_over
    total.suppressed += result.suppressed
    total.documents += result.documents
    total.empty += result.empty
    total.claims += result.claims
    total.classes += result.classes


# --- files ----------------------------------------------------------------------------------------------------------


def _check_files(tasks: list[tuple[str, bool]], choice: Choice, reader: Reader) -> Iterator[FileResult]:
    jobs = _jobs(choice.jobs, len(tasks))
    if jobs < 2 or any(name == STDIN for name, _ in tasks):
        for name, explicit in tasks:
            yield check_file(name, explicit, choice, reader)
        return
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    size = max(1, min(200, len(tasks) // (jobs * 4)))
    batches = [tasks[start : start + size] for start in range(0, len(tasks), size)]
    context = multiprocessing.get_context("fork" if "fork" in multiprocessing.get_all_start_methods() else "spawn")
    with ProcessPoolExecutor(jobs, mp_context=context, initializer=_start, initargs=(choice,)) as pool:
        yield from pool.map(_check_batch, batches)


def _jobs(wanted: int, files: int) -> int:
    import os

    if wanted > 0:
        return wanted
    return min(os.cpu_count() or 1, 8) if files >= PARALLEL_FROM else 1


_STATE: list[Choice] = []


def _start(choice: Choice) -> None:
    _STATE.append(choice)


def _check_batch(batch: list[tuple[str, bool]]) -> FileResult:
    total, reader = FileResult(), Reader()
    for name, explicit in batch:
        _merge(total, check_file(name, explicit, _STATE[-1], reader))
    return total


def check_file(name: str, explicit: bool, choice: Choice, reader: Reader) -> FileResult:
    """Check the objects of one file. ``explicit`` says that the file was named and not found in a folder."""
    result = FileResult()
    for one in reader.read(name):
        result.documents += 1
        if isinstance(one, Problem):
            result.items.append(problem_item(one))
        else:
            _check_document(one, explicit, choice, result)
    if not result.documents:
        result.empty.append((name, explicit))
    return result


def _check_document(document: Document, explicit: bool, choice: Choice, result: FileResult) -> None:
    value = document.value
    # kubectl's YAML keeps the last one, so that the server sees a field twice in JSON only
    in_json = document.repeats if document.text.is_json else []
    repeated = frozenset(one.path for one in in_json) if in_json else frozenset()
    checked = check.check_object(
        value,
        choice.settings,
        old=_old(value, choice) if choice.old else None,
        repeated=repeated,
        source=document.source,
        lenient_about_kind=not explicit,
    )
    if document.repeats:
        checked.faults += _repeat_faults(document.repeats)
        checked.verdict = check.REJECTED if document.text.is_json else checked.verdict
    ref: Ref = (document.source, document.index, document.prefix)
    if checked.facts is not None:
        result.store.add(checked.facts, ref)
    if checked.verdict == check.PASSED_OVER:
        result.passed_over[cut(checked.kind, KIND_LIMIT) or "no kind"] += 1
    elif checked.kind != "Namespace":
        result.counts[checked.verdict] += 1
        if checked.verdict != check.ACCEPTED:
            result.warned.add(ref)
        if choice.keep_objects:
            _keep(document, checked, choice, result)
    if not checked.faults:
        return
    subject = subject_of(value)
    for fault in checked.faults:
        item = place_fault(fault, document, subject)
        if document.text.ignores and silenced(item, document.text.ignores):
            result.suppressed += 1
        else:
            result.items.append(item)


def _repeat_faults(repeats: list[Repeat]) -> Iterator[Fault]:
    """Keys that are written several times in one mapping, each once."""
    times = Counter(one.path for one in repeats)
    first = {one.path: one for one in reversed(repeats)}
    for number, (path, more) in enumerate(times.items()):
        if number == REPEATS_SHOWN:
            message = f"and {len(times) - REPEATS_SHOWN} more keys are written twice"
            yield Fault(rules.REPEATED_KEY, message, path, key=True)
            return
        often = "twice" if more == 1 else f"{more + 1} times"
        message = (
            f"{first[path].key} is written {often}; the first is in line {first[path].first_line}, the last counts"
        )
        yield Fault(rules.REPEATED_KEY, message, path, key=True)


def subject_of(value: Any) -> ObjectRef:
    """How a finding names an object."""
    meta = value.get("metadata") if isinstance(value, dict) else None
    meta = meta if isinstance(meta, dict) else {}
    top = value if isinstance(value, dict) else {}
    prefix = text(meta.get("generateName"))
    name = text(meta.get("name")) or (f"{prefix}*" if prefix else "")
    parts = (text(top.get("kind")) or "document", name, text(meta.get("namespace")), text(top.get("apiVersion")))
    return ObjectRef(*(cut(part, NAME_LIMIT) for part in parts))


def _old(value: Any, choice: Choice) -> dict[str, Any] | None:
    """The object as it is now, by the names that the manifest gives."""
    meta = value.get("metadata") if isinstance(value, dict) else None
    if not isinstance(meta, dict):
        return None
    kind, space, name = text(value.get("kind")), text(meta.get("namespace")), text(meta.get("name"))
    for namespace in (space, choice.settings.namespace) if not space else (space, ""):
        found = choice.old.get((kind, namespace, name))
        if found is not None and group_of(text(found.get("apiVersion"))) == group_of(text(value.get("apiVersion"))):
            return found
    return None


def _keep(document: Document, checked: check.Checked, choice: Choice, result: FileResult) -> None:
    subject = subject_of(document.value)
    one = ObjectResult(
        document.source,
        document.index,
        document.line,
        subject.api_version,
        subject.kind,
        subject.namespace,
        subject.name,
        checked.verdict,
        warnings=checked.warnings,
    )
    if choice.show_defaults and checked.stored is not None:
        from dractl.validation.stored import changes

        one.stored = checked.stored
        one.defaults = changes(document.value, checked.stored) or ["nothing is added or dropped"]
    result.objects.append(one)
    if choice.keep_claims and checked.kind in ("ResourceClaim", "ResourceClaimTemplate"):
        result.claims.append((one, document.value))
    elif choice.keep_claims and checked.kind == "DeviceClass":
        result.classes.append(document.value)


# --- what shows only when all objects were seen ---------------------------------------------------------------------


def _add_cross_faults(
    report: ValidationReport, total: FileResult, known: references.Known, choice: Choice, reader: Reader
) -> None:
    raised = list(references.cross_faults(total.store, known, choice.settings))
    if not raised:
        return
    holders = {id(entry.facts): entry for entry in total.store}
    wanted: dict[str, dict[Ref, list[tuple[int, Fault]]]] = {}
    for facts, spot, fault in raised:
        entry: Alike = holders[id(facts)]
        number = next(index for index, one in enumerate(facts.spots()) if one is spot)
        for ref in entry.refs:
            wanted.setdefault(ref[0], {}).setdefault(ref, []).append((number, fault))
    environment = environment_of(choice.settings)
    objects = {(one.file, one.document, one.kind, one.namespace, one.name): one for one in report.objects}
    for source, refs in wanted.items():
        for document in reader.read(source):
            if not isinstance(document, Document):
                continue
            here: Ref = (document.source, document.index, document.prefix)
            mine = collect(document.value, environment, choice.settings.namespace) if here in refs else None
            if mine is not None:
                verdict = _place_all(report, document, mine, refs[here])
                _worsen(report, total, here, verdict, objects, document)


def _place_all(report: ValidationReport, document: Document, facts: Facts, found: list[tuple[int, Fault]]) -> str:
    """Add the findings of one object; the verdict that they make of an accepted one."""
    verdict = check.ACCEPTED
    spots: list[Spot] = list(facts.spots())
    subject = subject_of(document.value)
    for number, fault in found:
        if number >= len(spots):
            continue
        spot = spots[number]
        fault.path = spot.path
        place = document.place(spot.path, key=spot.key, offset=spot.offset)
        item = item_at(fault, place, document.source, subject, document.index)
        if silenced(item, document.text.ignores):
            report.suppressed += 1
            continue
        report.items.append(item)
        if fault.rule is rules.ADMIN_LABEL:
            verdict = check.REJECTED
        elif verdict == check.ACCEPTED and item.finding.severity.at_least(Severity.WARNING):
            verdict = check.WARNED
    return verdict


def _worsen(
    report: ValidationReport,
    total: FileResult,
    ref: Ref,
    verdict: str,
    objects: dict[tuple[str, int, str, str, str], ObjectResult],
    document: Document,
) -> None:
    """Change an accepted object's verdict."""
    if verdict == check.ACCEPTED or ref in total.warned:
        return
    report.counts[check.ACCEPTED] -= 1
    report.counts[verdict] += 1
    subject = subject_of(document.value)
    one = objects.get((document.source, document.index, subject.kind, subject.namespace, subject.name))
    if one is not None:
        one.verdict = verdict


# --- what is not to be shown ----------------------------------------------------------------------------------------


def _filter(report: ValidationReport, choice: Choice) -> None:
    """Leave out what is not selected, ignored, or known from the baseline.

    What could not be read stays, whatever is selected: nobody knows what the selected rules would find there.
    """
    wanted = matcher(choice.select)
    unwanted = matcher(choice.ignore)
    kept = []
    for item in report.items:
        reading = item.finding.code in _READING
        if (choice.select and not reading and not wanted(item.finding)) or (choice.ignore and unwanted(item.finding)):
            report.suppressed += 1
        elif choice.baseline and item.fingerprint() in choice.baseline:
            report.in_baseline += 1
        else:
            kept.append(item)
    report.items = kept


def silenced_fault(fault: Fault, document: Document, choice: Choice) -> bool:
    """Whether a fault would not be shown: by a comment or by the settings."""
    item = place_fault(fault, document, ObjectRef("", ""))
    if choice.select and not matcher(choice.select)(item.finding):
        return True
    return matcher(choice.ignore)(item.finding) or silenced(item, document.text.ignores)


def documents_of(names: Iterable[str]) -> Iterator[Document]:
    """The objects below some paths, for ``--old``.

    Raises:
        DractlError: for what cannot be read: a change would pass unseen.
    """
    for name in find_inputs(names):
        for one in read_file(name) if isinstance(name, str) else [name]:
            if isinstance(one, Problem):
                place = f":{one.place.line}" if one.place is not None else ""
                raise DractlError(f"{one.source}{place}: {one.message}", "The objects as they are now come from there.")
            yield one
