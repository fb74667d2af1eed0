"""``dractl convert``: manifests of older API versions and device plugin workloads to the API of today."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dractl.cli import options
from dractl.cli.app import new_app

if TYPE_CHECKING:
    from dractl.convert.model import Note, Target

app = new_app()


class Version(StrEnum):
    """Versions that can be written."""

    V1 = "v1"
    V1BETA2 = "v1beta2"
    V1BETA1 = "v1beta1"


class Plugin(StrEnum):
    """What becomes of workloads that ask a device plugin."""

    CLAIMS = "claims"
    CLASS = "class"
    KEEP = "keep"


@app.command()
def convert(
    files: Annotated[list[str], typer.Argument(metavar="FILE|-...", help="Manifests to convert; - for stdin.")],
    to: Annotated[Version, typer.Option("--to", help="API version to write.")] = Version.V1,
    plugin: Annotated[
        Plugin,
        typer.Option(
            "--plugin",
            help="Device plugin workloads: to claims, a class with extendedResourceName beside them, or keep them.",
        ),
    ] = Plugin.CLAIMS,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE|-", help="Where to write the result (default: stdout).")
    ] = "-",
    in_place: Annotated[bool, typer.Option("--in-place", "-i", help="Write the files themselves.")] = False,
    diff: Annotated[bool, typer.Option("--diff", help="Show what would change, as a diff.")] = False,
    kubernetes: options.Kubernetes = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Say only what needs a person's judgement.")] = False,
) -> int:
    """Convert old manifests (v1alpha1 to v1beta2) and device plugin workloads; comments and order are kept.

    What was done goes to stderr, with file and line; what needs judgement also becomes a comment in the result.
    """
    from dractl.cli.output import emit
    from dractl.errors import DractlError, Exit

    if sum((in_place, diff, output != "-")) > 1:
        raise DractlError("--in-place, --diff and -o FILE exclude each other", "Give one of them.")
    if in_place and "-" in files:
        raise DractlError("--in-place does not go with stdin", "Give files.")
    target = _target(to, plugin, kubernetes)
    results: list[str] = []
    bad = 0
    for name in files:
        before = _read(name)
        after, notes, faults = _convert(name, before, target)
        bad += faults
        for note in notes:
            _tell(name, note, quiet)
        if diff:
            emit(_diff(name, before, after))
        elif in_place:
            _write(name, after)
        else:
            results.append(after)
    if results:
        text = "---\n".join(results)
        if output == "-":
            emit(text)
        else:
            _write(output, text)
    return Exit.NOT_GOOD if bad else Exit.GOOD


def _target(to: Version, plugin: Plugin, kubernetes: str | None) -> Target:
    from dractl.convert.model import Target
    from dractl.errors import DractlError
    from dractl.inventory import parse_release

    release = (1, 36)
    if kubernetes is not None:
        parsed = parse_release(kubernetes, "--kubernetes")
        if parsed is None:
            raise DractlError(f"--kubernetes {kubernetes}: is not a version", "Give it as 1.36.")
        major, minor = parsed.minor.split(".")
        release = (int(major), int(minor))
        oldest = {"v1": (1, 34), "v1beta2": (1, 33), "v1beta1": (1, 32)}[to.value]
        if release < oldest:
            raise DractlError(
                f"Kubernetes {kubernetes} does not know {to.value}", "Choose another version with --to v1beta1."
            )
    return Target(to.value, release, plugin.value)


def _convert(name: str, text: str, target: Target) -> tuple[str, list[Note], int]:
    """The converted text, the notes, and how many objects the API server would refuse or are none."""
    from dractl.cli.output import note
    from dractl.convert.run import convert as run
    from dractl.convert.run import plain_documents
    from dractl.sources import roundtrip
    from dractl.validation.apiserver import admit

    nodes = roundtrip.load(text, name)
    faults = _tell_others(nodes, name)
    found = run(nodes, target)
    for body in plain_documents(found.nodes):
        if not isinstance(body, dict) or not str(body.get("apiVersion", "")).startswith("resource.k8s.io/"):
            continue
        verdict = admit(body, release=target.release)
        if verdict.code >= 400 and verdict.code != 404:
            faults += 1
            meta = body.get("metadata") or {}
            why = verdict.message or "; ".join(f"{cause.field}: {cause.message}" for cause in verdict.causes)
            note(f"{name}: {body.get('kind')} {meta.get('name')}: the result would be refused: {why}")
    if not found.changed and not found.dropped:
        return text, found.notes, faults
    if roundtrip.is_json(text):
        return roundtrip.dump_json(plain_documents(found.nodes), text), found.notes, faults
    return roundtrip.dump(found.nodes, text), found.notes, faults


def _tell_others(nodes: list[Any], name: str) -> int:
    """How many documents are no Kubernetes objects; they are named and left as they are.

    Raises:
        DractlError: where there is no object at all.
    """
    from dractl.cli.output import note
    from dractl.errors import DractlError

    what = [_not_an_object(node) for node in nodes]
    if all(what):
        seen = what[0] if what else "nothing"
        raise DractlError(
            f"{name}: holds no Kubernetes object, but {seen}",
            "Give manifests with apiVersion and kind; check the path.",
        )
    others = [f"document {number} is {word}" for number, word in enumerate(what, 1) if word]
    for node in nodes:
        if isinstance(node, dict) and node.get("kind") == "List" and isinstance(node.get("items"), list):
            inner = [_not_an_object(item) for item in node["items"]]
            others += [f"items[{number}] is {word}" for number, word in enumerate(inner) if word]
    for text in others:
        note(f"{name}: {text}, no Kubernetes object: left as it is")
    return len(others)


def _not_an_object(node: Any) -> str:
    """What a document is that is no object; empty for an object."""
    if isinstance(node, dict):
        named = isinstance(node.get("apiVersion"), str) and isinstance(node.get("kind"), str)
        return "" if named else "a mapping without apiVersion and kind"
    return "a list" if isinstance(node, list) else f"the text {str(node)[:40]!r}"


def _read(name: str) -> str:
    import sys
    from pathlib import Path

    from dractl.errors import DractlError

    try:
        data = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    except OSError as error:
        raise DractlError(f"{name}: cannot be read: {error.strerror}", "Check the path and its permissions.") from None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise DractlError(f"{name}: is not a text file", "Give YAML or JSON manifests.") from None


def _write(name: str, text: str) -> None:
    from pathlib import Path

    from dractl.errors import DractlError

    try:
        Path(name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise DractlError(f"{name}: cannot be written: {error.strerror}", "Check the path's permissions.") from None


def _tell(name: str, item: Note, quiet: bool) -> None:
    from dractl.cli.output import note

    if not (quiet and item.exact):
        place = f"{name}:{item.line}" if item.line else name
        note(f"{place}: {item.subject}: {item.text}")


def _diff(name: str, before: str, after: str) -> str:
    from difflib import unified_diff

    lines = unified_diff(before.splitlines(), after.splitlines(), name, f"{name} (converted)", lineterm="")
    return "\n".join(lines) or f"{name}: nothing to convert"
