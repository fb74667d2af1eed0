"""``dractl validate --fix``: certain fixes written into the text of the files, and nothing else changed."""

from __future__ import annotations

import difflib
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any

from dractl.cli.output import emit, note
from dractl.errors import DractlError
from dractl.rules.finding import Severity
from dractl.sources import edit, jsontext
from dractl.sources.manifests import STDIN, Problem, Text, documents_in, find_inputs, read_text, split_text
from dractl.sources.yamltext import YamlProblem, read_documents
from dractl.validation import check, fixes
from dractl.validation.model import Fault, Json, Path, at

if TYPE_CHECKING:
    from dractl.cli.checking import Choice
    from dractl.sources.manifests import Document

_ROUNDS = 40


@dataclass(slots=True)
class FixedFile:
    """One file: its text before and after, and what was done."""

    name: str
    before: str
    after: str
    done: list[str] = field(default_factory=list)


def fix_files(paths: list[str], choice: Choice, diff: bool) -> list[FixedFile]:
    """Fix all files below the paths; write them unless ``diff``. Only files that change are given back."""
    changed = []
    for name in find_inputs(paths):
        if isinstance(name, Problem):
            continue
        before = _read(name)
        if before is None:
            continue
        fixed = fix_text(before, name, choice)
        if fixed.after == before:
            continue
        changed.append(fixed)
        if diff:
            emit(unified(fixed))
        elif name == STDIN:
            emit(fixed.after)
        else:
            _write(name, fixed.after)
            note(f"{name}: {', '.join(fixed.done)}")
    return changed


def _read(name: str) -> str | None:
    if name == STDIN:
        return sys.stdin.buffer.read().decode("utf-8", "replace")
    try:
        return FilePath(name).read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError):
        return None


def _write(name: str, text: str) -> None:
    try:
        FilePath(name).write_bytes(text.encode("utf-8"))
    except OSError as err:
        raise DractlError(f"{name}: cannot be written: {err.strerror}", "Check the permissions.") from None


def unified(fixed: FixedFile) -> str:
    """The changes as a patch."""
    name = fixed.name.removeprefix("/")
    before, after = fixed.before.splitlines(keepends=True), fixed.after.splitlines(keepends=True)
    rows = difflib.unified_diff(before, after, f"a/{name}", f"b/{name}")
    return "".join(row if row.endswith("\n") else row + "\n\\ No newline at end of file\n" for row in rows)


def fix_text(text: str, name: str, choice: Choice) -> FixedFile:
    """The fixed text of one file."""
    fixed = FixedFile(name, text, text)
    if "\r\n" in text:
        inner = fix_text(text.replace("\r\n", "\n"), name, choice)
        if inner.done:
            fixed.after, fixed.done = inner.after.replace("\n", "\r\n"), inner.done
        return fixed
    mark = "\ufeff" if text.startswith("\ufeff") else ""
    body = text.removeprefix(mark) if mark else text
    if body.lstrip()[:1] in ("{", "[") and not body.lstrip().startswith("{{"):
        fixed.after = mark + _fix_json(body, name, choice, fixed.done)
    else:
        fixed.after = mark + "".join(_fix_piece(piece, name, choice, fixed.done) for piece in split_text(body))
    return fixed


# --- YAML -----------------------------------------------------------------------------------------------------------


def _fix_piece(piece: str, name: str, choice: Choice, done: list[str]) -> str:
    """A piece with its documents fixed, one step after the other: each changes the places of the next."""
    for _ in range(_ROUNDS):
        step = next(_steps(piece, name, choice), None)
        if step is None:
            return piece
        piece, what = step
        done.append(what)
    return piece


def _steps(piece: str, name: str, choice: Choice) -> Iterator[tuple[str, str]]:
    """Possible next steps: the new text of the piece and what was done."""
    try:
        documents = documents_in(Text(name, piece, 0), 1)
    except YamlProblem:
        return
    for document in documents:
        for group in _groups(_fixable(document, choice)):
            changed = _edit(piece, document, group)
            if changed is not None and changed != piece and _as_wanted(changed, document, group):
                yield changed, _describe(document, group)


def _fixable(document: Document, choice: Choice) -> list[Fault]:
    """Faults of a document that carry a fix and are not left out by the settings."""
    if not isinstance(document.value, dict):
        return []
    from dractl.cli.checking import silenced_fault

    checked = check.check_object(document.value, choice.settings, lenient_about_kind=True)
    out: list[Fault] = []
    for fault in checked.faults:
        if silenced_fault(fault, document, choice):
            continue
        if fault.evidence.get("instead"):
            out += fixes.upgrade_faults(document.value, fault)
        elif fault.evidence.get("fix") and (fault.severity or fault.rule.severity) is Severity.ERROR:
            if fault.evidence["fix"] == "quote":
                written = document.written((*document.prefix, *fault.path))
                if written is None:
                    continue
                fault.evidence["to"] = written
            out.append(fault)
    # with another apiVersion other fields may be right
    upgrades = [fault for fault in out if fault.path == ("apiVersion",)]
    return out if not upgrades else [fault for fault in out if not fault.message or fault in upgrades]


def _groups(faults: list[Fault]) -> Iterator[list[Fault]]:
    """Fields that go below one new level are one step."""
    together: dict[Path, list[Fault]] = {}
    for fault in faults:
        if fault.evidence.get("fix") == "below":
            together.setdefault((*fault.path[:-1], str(fault.evidence["below"])), []).append(fault)
        else:
            yield [fault]
    yield from together.values()


def _edit(text: str, document: Document, group: list[Fault]) -> str | None:
    """The text after one step."""
    fault = group[0]
    kind = str(fault.evidence.get("fix"))
    path = (*document.prefix, *fault.path)
    root = document.node
    if kind in ("value", "quote"):
        value = fault.evidence.get("to", str(at(document.value, *fault.path)))
        return edit.replace_scalar(text, root, path, value)
    if kind == "rename":
        return edit.rename_key(text, root, path, str(fault.evidence["to"]))
    if kind == "nest":
        return edit.nest_scalar(text, root, path, str(fault.evidence["key"]))
    if kind == "below":
        names = [str(one.path[-1]) for one in group]
        return edit.wrap_keys(text, root, path[:-1], names, str(fault.evidence["below"]))
    if kind == "indent":
        return edit.shift_below(text, root, path, str(fault.evidence["below"]))
    if kind in fixes.UNWRAPPED:
        return edit.unwrap_key(text, root, path)
    return None


def _as_wanted(changed: str, document: Document, group: list[Fault]) -> bool:
    """Whether the new text says exactly what the fix on plain data says, and the other documents are as before."""
    wanted = fixes.fix(document.value, group)
    if len(wanted.applied) != len(group):
        return False
    try:
        before = [tree.value for tree in read_documents(document.text.text)]
        after = [tree.value for tree in read_documents(changed)]
    except YamlProblem:
        return False
    if len(before) != len(after):
        return False
    place = [tree.node.start_mark.index for tree in read_documents(document.text.text)]
    number = place.index(document.node.start_mark.index)
    others = before[:number] + before[number + 1 :] == after[:number] + after[number + 1 :]
    return others and at(after[number], *document.prefix) == wanted.value


def _describe(document: Document, group: list[Fault]) -> str:
    fault = group[0]
    what = {
        "below": f"fields moved under {fault.evidence.get('below')}",
        "nest": f"{fault.path[-1]} is now {{{fault.evidence.get('key')}: ...}}",
        "flat": "fields of exactly moved up",
        "basic": "fields of basic moved up",
        "source": "source taken away",
        "indent": f"{fault.path[-1]} indented",
        "rename": f"{fault.path[-1]} renamed to {fault.evidence.get('to')}",
        "value": f"{fault.path[-1]} set to {fault.evidence.get('to')}",
        "quote": f"{fault.path[-1]} quoted",
    }[str(fault.evidence["fix"])]
    kind = document.value.get("kind", "object")
    name = at(document.value, "metadata", "name") or ""
    return f"{kind} {name}: {what}"


# --- JSON -----------------------------------------------------------------------------------------------------------


def _fix_json(text: str, name: str, choice: Choice, done: list[str], rounds: int = _ROUNDS) -> str:
    """JSON has no comments: the values that change are written anew, with the indentation of the file."""
    try:
        trees = list(jsontext.read_values(text))
    except jsontext.JsonProblem:
        return "".join(_fix_piece(piece, name, choice, done) for piece in split_text(text))
    values = [tree.value for tree in trees]
    changed = False
    for document in read_text(text, "x.json"):
        if isinstance(document, Problem) or not isinstance(document.value, dict):
            continue
        fixed = fixes.fix(document.value, _fixable(document, choice))
        if fixed.applied:
            changed = True
            done += [_describe(document, [fault]) for fault in fixed.applied]
            _put(values, document.index - 1, document.prefix, fixed.value)
    if not changed or rounds == 0:
        return text
    indent = re.search(r"\n([ \t]+)", text)
    step: Any = indent.group(1) if indent else None
    shown = [json.dumps(value, indent=step, ensure_ascii=False) for value in values]
    again = "\n".join(shown) + ("\n" if text.endswith("\n") else "")
    return _fix_json(again, name, choice, done, rounds - 1)


def _put(values: list[Any], index: int, prefix: Path, value: Json) -> None:
    if not prefix:
        values[index] = value
        return
    at(values[index], *prefix[:-1])[prefix[-1]] = value
