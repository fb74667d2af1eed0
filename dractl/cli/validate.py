"""``dractl validate``: the API server's verdict on manifests, offline, and what it would not say."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dractl.cli import options
from dractl.cli.app import new_app
from dractl.cli.output import emit, note, terminal
from dractl.errors import DractlError, Exit

if TYPE_CHECKING:
    from dractl.cli.checking import Choice
    from dractl.rules.finding import Severity
    from dractl.validation.report import ValidationReport
    from dractl.validation.settings import Settings

app = new_app(help="Check manifests as the API server would, and further.")

FORMATS = ("text", "json", "sarif", "junit", "github", "gitlab")
FAIL_ON = ("error", "warning", "note", "never")


@dataclass(frozen=True, slots=True)
class Sink:
    """One output: the format and the file (None: stdout)."""

    format: str
    file: str | None


@app.command()
def validate(
    paths: Annotated[
        list[str], typer.Argument(metavar="PATH...", help="Files, folders (with all below), globs, or - for stdin.")
    ],
    output: Annotated[
        list[str] | None,
        typer.Option(
            "--output", "-o", metavar="FORMAT[=FILE]", help=f"{', '.join(FORMATS)}; may be given several times."
        ),
    ] = None,
    kubernetes: Annotated[
        str | None,
        typer.Option(
            "--kubernetes",
            metavar="VERSION",
            help="Check as this release [1.36, or the snapshot's].",
            callback=options.known_release,
        ),
    ] = None,
    gate: Annotated[
        list[str] | None,
        typer.Option("--gate", metavar="NAME=true|false", help="Feature gate of the API server; several times."),
    ] = None,
    runtime_config: Annotated[
        list[str] | None,
        typer.Option(
            "--runtime-config",
            metavar="resource.k8s.io/v1beta1=true",
            help="API versions that the server serves besides the default ones.",
        ),
    ] = None,
    select: Annotated[
        list[str] | None, typer.Option("--select", metavar="CODES", help="Only these rules: DRA010, DRA1, a name.")
    ] = None,
    ignore: Annotated[list[str] | None, typer.Option("--ignore", metavar="CODES", help="Not these rules.")] = None,
    exclude: Annotated[
        list[str] | None, typer.Option("--exclude", metavar="GLOB", help="Leave out files found in folders.")
    ] = None,
    fail_on: Annotated[
        str | None, typer.Option("--fail-on", metavar="error|warning|note|never", help="Exit 1 from here on [error].")
    ] = None,
    baseline: Annotated[
        str | None, typer.Option("--baseline", metavar="FILE", help="Leave out the findings that this file lists.")
    ] = None,
    write_baseline: Annotated[
        str | None, typer.Option("--write-baseline", metavar="FILE", help="List all findings in this file; exit 0.")
    ] = None,
    complete: Annotated[
        bool, typer.Option("--complete", help="The manifests are all there is: report names that nothing defines.")
    ] = False,
    old: Annotated[
        str | None,
        typer.Option("--old", metavar="FILE", help="The objects as they are now: check the changes, too."),
    ] = None,
    against_live: Annotated[
        bool,
        typer.Option("--against-live", help="As --old, with the objects of the cluster: running, or of the snapshot."),
    ] = False,
    show_defaults: Annotated[
        bool, typer.Option("--show-defaults", help="Show what the server adds and drops when it stores the objects.")
    ] = False,
    fix: Annotated[bool, typer.Option("--fix", help="Write the certain fixes into the files.")] = False,
    diff: Annotated[bool, typer.Option("--diff", help="With --fix: show the changes and write nothing.")] = False,
    snapshot: options.Snapshot = None,
    demo: options.Demo = False,
    context: options.Context = None,
    kubeconfig: options.Kubeconfig = None,
    require_fit: Annotated[
        bool, typer.Option("--require-fit", help="With a cluster or snapshot: a claim has to fit on at least one node.")
    ] = False,
    min_nodes: Annotated[
        int,
        typer.Option("--min-nodes", metavar="N", min=0, help="With a cluster or snapshot: ... on at least N nodes."),
    ] = 0,
    jobs: Annotated[int, typer.Option("--jobs", "-j", metavar="N", min=0, help="Processes (0: by itself).")] = 0,
    config: Annotated[
        str | None, typer.Option("--config", metavar="FILE", help="Settings [dractl.toml or pyproject.toml].")
    ] = None,
    no_config: Annotated[bool, typer.Option("--no-config", help="Read no settings file.")] = False,
) -> int:
    """Check manifests as the API server of a release would, at file:line:column, and tell what it would not say.

    Exit codes: 0 clean, 1 findings at the threshold, 2 wrong usage or unreadable input.
    """
    from dataclasses import replace

    from dractl.cli import checking

    if diff and not fix:
        raise DractlError("--diff goes with --fix", "Give --fix --diff to see what would change.")
    sinks = parse_sinks(output or [])
    found = _settings(config, no_config)
    choice = _choice(found, kubernetes, gate, runtime_config, select, ignore, exclude, complete, jobs, show_defaults)
    if not show_defaults and not any(sink.format in ("json", "junit") for sink in sinks):
        choice = replace(choice, keep_objects=False)
    threshold = _threshold(fail_on or found.get("fail-on", "error"))
    snapshot = snapshot or (None if demo or context or kubeconfig else found.get("snapshot"))
    if old and against_live:
        raise DractlError("--old and --against-live exclude each other", "Give one of them.")
    if fix:
        code = _fix(paths, choice, diff)
        if code is not None:
            return code
    if old:
        choice = _with_old(choice, old)
    fleet = None
    if snapshot or demo or context or kubeconfig or against_live:
        from dractl.cli.fleet import Fleet, read_cluster_state

        state = read_cluster_state(snapshot, demo, context, kubeconfig, against_live)
        fleet = Fleet(state, kubernetes or found.get("kubernetes"), choice)
        choice = replace(fleet.choice, old=state.objects()) if against_live else fleet.choice
    elif require_fit or min_nodes:
        raise DractlError(
            "--require-fit and --min-nodes need a fleet", "Give --snapshot FILE, --context NAME, or --demo."
        )
    known = fleet.known if fleet is not None else None
    baseline = baseline or (None if write_baseline else found.get("baseline"))
    choice = _with_baseline(choice, baseline)
    report, total = checking.run(paths, choice, known)
    if fleet is not None:
        fleet.check(report, total, max(min_nodes, 1 if require_fit else 0))
    if write_baseline:
        return _write_baseline(report, write_baseline)
    for sink in sinks:
        _write(sink, report, threshold)
    return _exit_code(report, threshold)


def _exit_code(report: ValidationReport, threshold: Severity | None) -> int:
    if report.unreadable:
        return int(Exit.USAGE)
    bad = threshold is not None and report.at_least(threshold)
    return int(Exit.NOT_GOOD if bad else Exit.GOOD)


# --- options --------------------------------------------------------------------------------------------------------


def parse_sinks(texts: list[str]) -> list[Sink]:
    """``-o sarif=out.sarif -o text`` as sinks; at most one of them is stdout."""
    sinks = []
    for text in texts:
        name, _, file = text.partition("=")
        if name not in FORMATS:
            raise DractlError(f"-o {text}: unknown format {name}", f"There are {', '.join(FORMATS)}.")
        sinks.append(Sink(name, file or None))
    if sum(sink.file is None for sink in sinks) > 1:
        raise DractlError("only one output can go to stdout", "Write the others to files: -o sarif=FILE.")
    return sinks or [Sink("text", None)]


def _threshold(word: str) -> Severity | None:
    from dractl.rules.finding import Severity

    words = {"error": Severity.ERROR, "warning": Severity.WARNING, "note": Severity.INFO, "info": Severity.INFO}
    if word == "never":
        return None
    if word not in words:
        raise DractlError(f"--fail-on {word}: unknown", f"Use {', '.join(FAIL_ON)}.")
    return words[word]


def _settings(config: str | None, no_config: bool) -> dict[str, Any]:
    from dractl.cli.settings import find_settings, read_settings

    if no_config:
        return {}
    path = Path(config) if config else find_settings(Path.cwd())
    if config and path is not None and not path.is_file():
        raise DractlError(f"--config {config}: there is no such file", "Correct the path.")
    return read_settings(path) if path is not None else {}


def _words(option: list[str] | None, setting: Any) -> tuple[str, ...]:
    given = option if option is not None else list(setting or [])
    return tuple(word.strip() for text in given for word in str(text).split(",") if word.strip())


def _choice(
    found: dict[str, Any],
    kubernetes: str | None,
    gate: list[str] | None,
    runtime_config: list[str] | None,
    select: list[str] | None,
    ignore: list[str] | None,
    exclude: list[str] | None,
    complete: bool,
    jobs: int,
    show_defaults: bool,
) -> Choice:
    from dractl.cli.checking import Choice
    from dractl.cli.settings import switches

    gates = [*switches(found.get("gates", [])), *(gate or [])]
    runtime = [*switches(found.get("runtime-config", [])), *(runtime_config or [])]
    settings = make_settings(
        kubernetes or found.get("kubernetes"), gates, runtime, complete or bool(found.get("complete"))
    )
    chosen, left_out = _words(select, found.get("select")), _words(ignore, found.get("ignore"))
    _check_codes(chosen, "--select")
    _check_codes(left_out, "--ignore")
    return Choice(
        settings,
        chosen,
        left_out,
        _words(exclude, found.get("exclude")),
        jobs=jobs or int(found.get("jobs", 0)),
        show_defaults=show_defaults,
    )


def _check_codes(words: tuple[str, ...], option: str) -> None:
    """A misspelt code would silently select nothing."""
    from dractl.rules.registry import all_rules

    rules = all_rules()
    names = {rule.name.upper() for rule in rules.values()}
    for word in words:
        upper = word.upper()
        if upper not in names and not any(code.startswith(upper) for code in rules):
            raise DractlError(f"{option} {word}: there is no such rule", "'dractl rules' lists them.")


def make_settings(kubernetes: str | None, gates: list[str], runtime: list[str], complete: bool = False) -> Settings:
    """The assumed server from the options' texts."""
    from dractl.kube.gates import GATES, NEWEST, OLDEST, parse_release
    from dractl.validation.settings import DEFAULT_RELEASE, Settings, parse_switches

    try:
        release = parse_release(kubernetes) if kubernetes else DEFAULT_RELEASE
    except ValueError as err:
        raise DractlError(f"--kubernetes {kubernetes}: {err}", "Give it as 1.36 or 1.36.2.") from None
    if release < OLDEST or release[0] != NEWEST[0]:
        oldest = ".".join(map(str, OLDEST))
        raise DractlError(f"--kubernetes {kubernetes}: dractl knows {oldest} and later", "Give a later release.")
    if release > NEWEST:
        note(f"note: {kubernetes} is newer than dractl knows; checked as {NEWEST[0]}.{NEWEST[1]}")
        release = NEWEST
    try:
        switched, served = parse_switches(gates), parse_switches(runtime)
    except ValueError as err:
        raise DractlError(
            f"--gate or --runtime-config: {err}", "For example --gate DRAListTypeAttributes=true."
        ) from None
    for name in switched:
        if name not in GATES:
            from dractl.validation.versions import closest

            close = closest(name, list(GATES))
            raise DractlError(
                f"--gate {name}: unknown feature gate", f"Did you mean {close}?" if close else "Correct the name."
            )
    return Settings(release, switched, served, complete)


# --- old state, baseline --------------------------------------------------------------------------------------------


def _with_old(choice: Choice, old: str) -> Choice:
    from dataclasses import replace

    from dractl.cli.checking import documents_of

    if not Path(old).exists():
        raise DractlError(f"--old {old}: there is no such file", "Correct the path.")
    known: dict[tuple[str, str, str], dict[str, Any]] = {}
    for document in documents_of([old]):
        value = document.value
        if isinstance(value, dict) and isinstance(value.get("metadata"), dict):
            meta = value["metadata"]
            key = (str(value.get("kind")), str(meta.get("namespace") or ""), str(meta.get("name")))
            known[key] = value
    if not known:
        raise DractlError(f"--old {old}: holds no object", "Give what kubectl get -o yaml prints, or --against-live.")
    return replace(choice, old=known)


def _with_baseline(choice: Choice, baseline: str | None) -> Choice:
    import json
    from dataclasses import replace

    if baseline is None:
        return choice
    try:
        content = json.loads(Path(baseline).read_text("utf-8"))
        known = frozenset(str(entry["fingerprint"]) for entry in content["findings"])
    except (OSError, ValueError, KeyError, TypeError):
        raise DractlError(
            f"--baseline {baseline}: is not a baseline file", "Write one with --write-baseline FILE."
        ) from None
    return replace(choice, baseline=known)


def _write_baseline(report: ValidationReport, file: str) -> int:
    import json

    entries = [
        {
            "fingerprint": item.fingerprint(),
            "code": item.finding.code,
            "file": item.file,
            "line": item.line,
            "message": item.finding.message,
        }
        for item in report.items
    ]
    Path(file).write_text(json.dumps({"findings": entries}, indent=1, ensure_ascii=False) + "\n", "utf-8")
    note(f"{len(entries)} findings are listed in {file}")
    return int(Exit.GOOD)


# --- output ---------------------------------------------------------------------------------------------------------


def _write(sink: Sink, report: ValidationReport, threshold: Severity | None) -> None:
    text = _rendered(sink, report, threshold)
    if sink.file is None:
        emit(text)
        return
    try:
        Path(sink.file).write_text(text, "utf-8", errors="backslashreplace")
    except OSError as err:
        raise DractlError(f"{sink.file}: cannot be written: {err.strerror}", "Check the folder.") from None


def _rendered(sink: Sink, report: ValidationReport, threshold: Severity | None) -> str:
    from dractl.rules.finding import Severity

    if sink.format == "json":
        from dractl.render.json import to_json

        return to_json(report.to_json())
    if sink.format == "sarif":
        from dractl import __version__
        from dractl.render.sarif import to_sarif

        return to_sarif(report, __version__)
    if sink.format == "junit":
        from dractl.render.junit import to_junit

        return to_junit(report, threshold or Severity.ERROR)
    if sink.format == "github":
        from dractl.render.github import to_github

        return to_github(report)
    if sink.format == "gitlab":
        from dractl.render.gitlab import to_gitlab

        return to_gitlab(report)
    from dractl.render.text.terminal import PLAIN
    from dractl.render.text.validate import render_validation

    return render_validation(report, PLAIN if sink.file else terminal())


# --- fix ------------------------------------------------------------------------------------------------------------


def _fix(paths: list[str], choice: Choice, diff: bool) -> int | None:
    """Fix the files; an exit code where that is all, None to go on with checking what is left."""
    from dractl.cli.fixing import fix_files

    changed = fix_files(paths, choice, diff)
    if diff:
        return int(Exit.NOT_GOOD if changed else Exit.GOOD)
    if "-" in paths:
        return int(Exit.GOOD)
    return None
