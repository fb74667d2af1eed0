"""The root command: a table of commands that are imported when they are called, and the one place where errors end."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from dractl.cli.app import new_app
from dractl.errors import DractlError, Exit

if TYPE_CHECKING:
    from dractl.cli.output import Streams

COMMANDS: tuple[tuple[str, str, str], ...] = (
    ("explain", "dractl.cli.explain", "Why a claim or pod is pending, device by device; what a DRA code means."),
    ("diagnose", "dractl.cli.diagnose", "What is wrong in this cluster, the worst first."),
    ("simulate", "dractl.cli.simulate", "What if: manifests placed, nodes drained, devices tainted; how many fit."),
    ("convert", "dractl.cli.convert", "Bring old manifests and device plugin workloads to the API of today."),
    ("generate", "dractl.cli.generate", "Make claims, classes, roles and more from what is wanted, tried on a fleet."),
    ("get", "dractl.cli.get", "List devices, pools, claims, classes, nodes and more."),
    ("validate", "dractl.cli.validate", "Check manifests as the API server would, at file:line:column, and further."),
    ("cel", "dractl.cli.cel", "Check CEL expressions, try them on devices, list the fields that drivers publish."),
    ("rules", "dractl.cli.rules", "List the rules behind the DRA codes."),
    ("report", "dractl.cli.report", "Write fleet, pending claims and findings as one HTML page or as Markdown."),
    ("top", "dractl.cli.top", "Watch nodes, waiting claims and findings in the terminal."),
    ("metrics", "dractl.cli.metrics", "Serve the cluster's state to Prometheus."),
    ("snapshot", "dractl.cli.snapshot", "Record a cluster in a file, describe and compare such files."),
    ("auth", "dractl.cli.auth", "Which rights in a cluster the commands need, and which you have."),
    ("discover", "dractl.cli.discover", "Show this host's devices, their wiring, and what a driver publishes."),
)
"""Name, module (it has ``app``) and one-line help, in the order of ``--help``."""

_INTERRUPTED = 130


class LazyGroup(TyperGroup):
    """Shows and completes all commands from ``COMMANDS``, and imports the module of the one that is called."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = {name: TyperCommand(name, help=text) for name, _, text in COMMANDS}

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """The real command where typer would run it or complete its options; listing sees the one-line ones."""
        name, stub, rest = super().resolve_command(ctx, args)
        return name, stub if name is None else self.load(name), rest

    def load(self, name: str) -> Any:
        """Import one command's module and build the command; None for a name that is not in the table."""
        module = next((module for command, module, _ in COMMANDS if command == name), None)
        if module is None:
            return None
        command = typer.main.get_command(importlib.import_module(module).app)
        command.name = name
        return command


def _version(value: bool) -> None:
    if value:
        from dractl import __version__

        print(f"dractl {__version__}")
        raise typer.Exit()


def root_command() -> Any:
    """The whole command line as a typer command."""
    app = new_app(cls=LazyGroup)

    @app.callback()
    def dractl(
        version: Annotated[
            bool, typer.Option("--version", help="Print the version and exit.", callback=_version, is_eager=True)
        ] = False,
        debug: Annotated[
            bool, typer.Option("--debug", help="Show a traceback with errors; may stand anywhere.")
        ] = False,
        as_user: Annotated[
            str | None, typer.Option("--as", metavar="USER", help="Ask the cluster as this user; may stand anywhere.")
        ] = None,
        as_group: Annotated[
            list[str] | None, typer.Option("--as-group", metavar="GROUP", help="And as this group (repeatable).")
        ] = None,
        request_timeout: Annotated[
            str | None,
            typer.Option(
                "--request-timeout", metavar="TIME", help="Longest wait for one answer of a cluster (60s; 0: no limit)."
            ),
        ] = None,
    ) -> None:
        """Explain, validate and discover Kubernetes Dynamic Resource Allocation (DRA).

        Give --snapshot FILE to read a recorded cluster, or --demo to try the commands on a recorded fleet that comes
        with dractl. Exit codes: 0 the answer is good, 1 it is not, 2 wrong usage or unreadable input, 3 the cluster
        could not be asked.
        """

    return typer.main.get_command(app)


def run(arguments: Sequence[str], program: str = "dractl") -> int:
    """Run one command line; the exit code. Every error ends here, as one line and a next step on stderr."""
    from dractl.cli import complete
    from dractl.cli.output import OutputClosed, emit, open_streams

    name = "kubectl dra" if "kubectl-dra" in program else "dractl"
    arguments, debug = _without_debug(arguments)
    streams = open_streams()
    try:
        arguments = _without_access(arguments)
        if arguments and arguments[0] == complete.COMMAND:
            emit(complete.complete(root_command(), arguments[1:]))
            return int(Exit.GOOD)
        code = root_command().main(args=list(arguments), prog_name=name, standalone_mode=False)
        sys.stdout.flush()
    except OutputClosed:
        return int(Exit.GOOD)
    except DractlError as error:
        return _fail(streams, debug, error.message, error.hint, error.exit_code)
    except (typer.Abort, KeyboardInterrupt):
        return _INTERRUPTED
    except Exception as error:
        return _unexpected(streams, debug, error, name)
    return 0 if code is None else int(code)


def _without_debug(arguments: Sequence[str]) -> tuple[Sequence[str], bool]:
    """Take ``--debug`` out from before any ``--``, so that it may follow the sub-command."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    kept = [word for word in arguments[:end] if word != "--debug"]
    return [*kept, *arguments[end:]], len(kept) < end


def _without_access(arguments: Sequence[str]) -> Sequence[str]:
    """Take the options of reaching a cluster out, which may stand anywhere as with kubectl."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    words, kept = list(arguments[:end]), []
    user: str | None = None
    groups: list[str] = []
    timeout: str | None = None
    while words:
        word = words.pop(0)
        name, given, value = word.partition("=")
        if name not in ("--as", "--as-group", "--request-timeout"):
            kept.append(word)
            continue
        if not given:
            if not words:
                raise DractlError(f"{name} needs a value", "See 'dractl --help'.")
            value = words.pop(0)
        if name == "--as":
            user = value
        elif name == "--as-group":
            groups.append(value)
        else:
            timeout = value
    if user or groups or timeout or "dractl.cli.source" in sys.modules:
        from dractl.cli import source

        if groups and not user:
            raise DractlError("--as-group needs --as", "Give the user too, as kubectl wants it.")
        seconds = 60.0 if timeout is None else seconds_of(timeout, "--request-timeout")
        source.settings = source.Settings(user, tuple(groups), seconds)
    return [*kept, *arguments[end:]]


def seconds_of(text: str, option: str) -> float:
    """``30``, ``30s``, ``2m``; 0 is no limit."""
    number, unit = (text[:-1], text[-1]) if text[-1:] in "smh" and text else (text, "s")
    if not number.isdigit():
        raise DractlError(f"{option} {text}: is not a duration", "Give it as 30s or 2m; 0 for no limit.")
    return float(number) * {"s": 1, "m": 60, "h": 3600}[unit]


def _unexpected(streams: Streams, debug: bool, error: Exception, program: str) -> int:
    """Typer's usage errors, a full disk or a closed pipe, and our own bugs."""
    show: Callable[..., None] | None = getattr(error, "format_message", None) and getattr(error, "show", None)
    if show is not None:
        return _usage(streams, error, program)
    if isinstance(error, RecursionError):
        return _fail(streams, debug, "the input is nested too deeply", "Check the input file.", Exit.USAGE)
    if isinstance(error, MemoryError):
        return _fail(streams, debug, "out of memory", "Give a smaller input, or more memory.", Exit.USAGE)
    if isinstance(error, OSError) and error.strerror:
        where = f"{error.filename}: " if error.filename else ""
        return _fail(streams, debug, f"{where}{error.strerror}", "Check the path and its permissions.", Exit.USAGE)
    return _fail(
        streams,
        debug,
        f"dractl failed: {type(error).__name__}: {error}",
        "This is a bug of dractl. Run again with --debug and report what it prints.",
        Exit.USAGE,
    )


def _usage(streams: Streams, error: Any, program: str) -> int:
    """A wrong option or argument; typer's own message and how to see the help."""
    if type(error).__name__ == "NoArgsIsHelpError":
        error.show()
        return int(Exit.USAGE)
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else program
    message = error.format_message()
    message = message[:1].lower() + message[1:]
    return _fail(streams, False, message.rstrip("."), f"See '{command} --help'.", error.exit_code)


def _fail(streams: Streams, debug: bool, message: str, hint: str, code: int) -> int:
    if debug:
        import traceback

        traceback.print_exc(file=sys.stderr)
    streams.error(message, hint)
    return int(code)
