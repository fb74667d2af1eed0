"""A validation for people: each finding with its line, a mark under what is meant, the reason and the next step."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from dractl.render.text.terminal import PLAIN, Terminal
from dractl.rules.finding import Severity
from dractl.validation.report import FleetResult, Item, ValidationReport

_WORDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
_GUTTER = 5
_SERVER_LIMIT = 400
_NAMES = 8
_GIVES_UP = "kube-scheduler would give up"


def render_validation(report: ValidationReport, terminal: Terminal = PLAIN) -> str:
    """The whole report."""
    rows: list[str] = []
    last = {(item.file, item.document, item.note): number for number, item in enumerate(report.items)}
    for number, item in enumerate(report.items):
        rows += _item(item, last[item.file, item.document, item.note] == number, terminal)
        rows.append("")
    for one in report.objects:
        if one.defaults:
            rows += [f"{one.kind} {_name(one.namespace, one.name)}: as stored"]
            rows += [f"  {row}" for row in one.defaults]
            rows.append("")
    for result in report.fleet:
        rows += _fleet(result, terminal)
        rows.append("")
    rows += _summary(report, terminal)
    return "\n".join(rows) + "\n"


def _name(namespace: str, name: str) -> str:
    return f"{namespace}/{name}" if namespace else name


def _colour(severity: Severity, text: str, terminal: Terminal) -> str:
    paint = {Severity.ERROR: terminal.red, Severity.WARNING: terminal.yellow, Severity.INFO: terminal.cyan}
    return paint[severity](text)


def _item(item: Item, with_note: bool, terminal: Terminal) -> Iterator[str]:
    found = item.finding
    where = str(found.location) if found.location else ""
    word = _colour(found.severity, f"{_WORDS[found.severity]} {found.code}", terminal)
    about = f" ({found.subject})" if found.subject is not None else ""
    head = f"{terminal.bold(where)}: {word}{terminal.dim(about)}" if where else f"{word}{terminal.dim(about)}"
    yield head
    yield from _wrapped(found.message, terminal, "  ", "  ")
    yield from _excerpt(item, terminal)
    if item.also:
        yield _margin(terminal) + f"see also line {', '.join(map(str, item.also))}"
    if item.server:
        yield from _wrapped(_short(item.server), terminal, _margin(terminal) + "API server: ", _margin(terminal) + "  ")
    if item.note and with_note:
        yield from _wrapped(item.note, terminal, _margin(terminal), _margin(terminal) + "  ")
    after = str(found.evidence.get("after", ""))
    if found.hint:
        hint = f"{found.hint}; {after}" if after else found.hint
        yield from _wrapped(hint, terminal, _margin(terminal) + "fix: ", _margin(terminal) + "  ")


def _short(text: str) -> str:
    """The server's words on one line; a compile error's drawing of the expression is in the excerpt above."""
    first, drawing, _ = text.partition("\n |")
    before, marker, rest = first.partition("compilation failed: ")
    if marker and drawing:
        first = before.partition("Invalid value: ")[0] + marker + rest
    one_line = " ".join((first if drawing else text).split())
    return one_line if len(one_line) <= _SERVER_LIMIT else one_line[: _SERVER_LIMIT - 3] + "..."


def _margin(terminal: Terminal) -> str:
    return terminal.dim(" " * _GUTTER + " | ")


def _wrapped(text: str, terminal: Terminal, first: str, rest: str) -> list[str]:
    width = max(40, terminal.width - _GUTTER)
    plain_first = "x" * len(_plain(first))
    lines = textwrap.wrap(
        text,
        width=width,
        initial_indent=plain_first,
        subsequent_indent=" " * len(_plain(rest)),
        break_long_words=False,
        break_on_hyphens=False,
    ) or [plain_first]
    out = [first + lines[0][len(plain_first) :]]
    return out + [rest + line[len(_plain(rest)) :] for line in lines[1:]]


def _plain(text: str) -> str:
    """A text without colour."""
    out, skip = [], False
    for character in text:
        if character == "\x1b":
            skip = True
        elif skip:
            skip = character != "m"
        else:
            out.append(character)
    return "".join(out)


def _excerpt(item: Item, terminal: Terminal) -> Iterator[str]:
    """The line, and a mark below what is meant; on narrow terminals the part around it."""
    if not item.excerpt.strip():
        return
    room = max(30, terminal.width - _GUTTER - 3)
    shown, column = item.excerpt, item.excerpt_column
    if len(shown) > room:
        cut = max(0, min(column - 1 - room // 3, len(shown) - room))
        shown, column = shown[cut : cut + room], column - cut
    length = max(1, min(item.length, len(shown) - column + 1))
    shown = "".join(character if character.isprintable() else "?" for character in shown)
    yield terminal.dim(f"{item.line:>{_GUTTER}} | ") + shown
    mark = "^" * length
    yield terminal.dim(" " * _GUTTER + " | ") + " " * (column - 1) + _colour(item.finding.severity, mark, terminal)


def _fleet(result: FleetResult, terminal: Terminal) -> Iterator[str]:
    tried = not result.note or result.note.startswith(_GIVES_UP)
    fits = f"fits on {result.fits} of {_many(result.nodes, 'node')}" if tried else result.note
    paint = terminal.green if result.fits or result.allocated else terminal.red
    yield f"{result.kind} {_name(result.namespace, result.name)}: {paint(fits)}"
    for request in result.requests:
        counts = f"{request['matching']} published devices match, on {request['nodes']} nodes"
        yield f"  request {request['name']} (class {request['class']}): {counts}"
    if result.on:
        yield f"  on {_listed(result.on)}"
    if result.undecided:
        yield f"  undecided on {_many(result.undecided, 'node')}"
    if result.left_out:
        yield f"  left out: {_listed([f'{name} ({reason})' for name, reason in result.left_out.items()])}"
    if result.tainted:
        named = _listed([f"{name} ({taints})" for name, taints in result.tainted.items()])
        yield f"  only for pods that tolerate the node's taint: {named}"
    if result.note and tried:
        yield f"  {result.note}"


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - _NAMES} more" if len(names) > _NAMES else ""
    return f"{', '.join(names[:_NAMES])}{more}"


def _summary(report: ValidationReport, terminal: Terminal) -> Iterator[str]:
    found = report.verdicts()
    objects = found.total()
    errors, warnings, notes = (report.count(severity) for severity in Severity)
    counts = ", ".join(
        f"{number} {word}{'s' if number != 1 else ''}"
        for number, word in ((errors, "error"), (warnings, "warning"), (notes, "note"))
        if number
    )
    checked = f"{_many(report.files, 'file')}, {_many(objects, 'object')} checked for Kubernetes {report.kubernetes}"
    if found["rejected"]:
        verdict = terminal.red(f"the API server refuses {found['rejected']} of {objects}")
    elif objects:
        verdict = terminal.green("the API server accepts all" if objects > 1 else "the API server accepts it")
    elif report.excluded and not report.files:
        verdict = "nothing to check, as all files are excluded"
    else:
        verdict = "nothing to check"
    yield f"{checked}: {verdict}" + (f"; {counts}" if counts else "")
    over = sum(report.passed_over.values())
    if over:
        kinds = ", ".join(f"{name} {number}" for name, number in report.passed_over.most_common(6))
        yield terminal.dim(f"passed over: {_many(over, 'object')} of other kinds ({kinds})")
    silent = [f"{report.suppressed} by comments or settings"] if report.suppressed else []
    silent += [f"{report.in_baseline} in the baseline"] if report.in_baseline else []
    if silent:
        yield terminal.dim(f"not shown: {', '.join(silent)}")


def _many(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"
