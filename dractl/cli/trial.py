"""Manifests that are to be tried on a cluster: only those that the API server would accept are of use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from dractl.errors import DractlError

if TYPE_CHECKING:
    from dractl.kube.objects import KubeObject
    from dractl.sources.manifests import Document
    from dractl.validation.report import Item
    from dractl.validation.settings import Settings


def read_manifests(files: list[str], release: str, gates: Mapping[str, bool] | None = None) -> list[KubeObject]:
    """The objects of manifests.

    Args:
        files: paths, folders, or ``-`` for stdin.
        release: minor release of the API server that judges them (``1.36``).
        gates: its feature gates that differ from the defaults.

    Raises:
        DractlError: something cannot be read, or the API server would refuse an object; with file and line.
    """
    from dractl.kube.decode import DecodeError, decode
    from dractl.kube.gates import parse_release
    from dractl.kube.objects import Origin
    from dractl.validation.settings import Settings

    settings = Settings(parse_release(release), dict(gates or {}), {})
    found: list[KubeObject] = []
    refused: list[Item] = []
    for document in _documents(files):
        items = _refusals(document, settings)
        if items:
            refused += items
            continue
        if not isinstance(document.value, dict):
            continue
        try:
            found.append(decode(document.value, Origin(document.source, document.line)))
        except DecodeError as error:
            raise DractlError(str(error), f"See: dractl validate {document.source}") from None
    if refused:
        raise _refusal(refused)
    return found


def _documents(files: list[str]) -> Iterator[Document]:
    from dractl.cli.checking import Reader
    from dractl.sources.manifests import Problem, find_inputs

    reader = Reader()
    for name in find_inputs(files):
        if isinstance(name, Problem):
            raise _unreadable(name)
        for one in reader.read(name):
            if isinstance(one, Problem):
                raise _unreadable(one)
            yield one


def _unreadable(problem: object) -> DractlError:
    from dractl.cli.placing import problem_item
    from dractl.sources.manifests import Problem

    assert isinstance(problem, Problem)
    finding = problem_item(problem).finding
    where = str(finding.location or problem.source)
    return DractlError(f"{where}: {finding.message}", finding.hint or "Check the file given to --filename.")


def _refusals(document: Document, settings: Settings) -> list[Item]:
    """Why the API server would refuse an object: what ``dractl validate`` says as an error."""
    from dractl.cli.checking import subject_of
    from dractl.cli.placing import place_fault
    from dractl.rules.finding import Severity
    from dractl.validation import check

    checked = check.check_object(document.value, settings, source=document.source)
    if checked.verdict != check.REJECTED:
        return []
    subject = subject_of(document.value)
    items = [place_fault(fault, document, subject) for fault in checked.faults]
    return [item for item in items if item.finding.severity is Severity.ERROR] or items


def _refusal(items: list[Item]) -> DractlError:
    first = items[0].finding
    more = f" (and {len(items) - 1} more)" if len(items) > 1 else ""
    files = " ".join(dict.fromkeys(item.file for item in items))
    return DractlError(
        f"{first.location}: {first.code} ({first.subject}) {first.message}{more}",
        f"The API server would refuse this, so there is nothing to try. More about it: dractl validate {files}",
    )
