"""The command line as a whole: start-up, help, errors, streams, completion."""

import importlib
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from dractl import __version__
from dractl.cli import complete, frame
from dractl.errors import DractlError

ROOT = Path(__file__).resolve().parents[2]
HEAVY = {"kubernetes", "rich", "jsonschema", "yaml", "pynvml", "pydantic", "ruamel", "prometheus_client"}
COMMANDS = [name for name, _, _ in frame.COMMANDS]

REPORT_MODULES = """
import sys
from dractl.__main__ import main
sys.argv = ["dractl", *{arguments!r}]
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
print("MODULES", *sorted({{name.partition(".")[0] for name in sys.modules}}))
"""


def modules_after(*arguments: str) -> set[str]:
    """The top-level modules that a command line leaves loaded in a fresh interpreter."""
    code = REPORT_MODULES.format(arguments=list(arguments))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.rpartition("MODULES")[2].split())


QUICK = [["--help"], ["--version"], *([name, "--help"] for name in COMMANDS)]


@pytest.mark.parametrize("arguments", QUICK, ids=" ".join)
def test_help_and_version_load_nothing_heavy(arguments):
    loaded = modules_after(*arguments)
    assert "dractl" in loaded
    assert loaded & HEAVY == set()


def test_version_is_answered_without_typer():
    assert "typer" not in modules_after("--version")


def test_a_listing_needs_no_rich_and_no_kubernetes():
    assert modules_after("get", "devices", "--demo") & (HEAVY - {"jsonschema"}) == set()


def test_every_command_of_the_table_can_be_loaded():
    group = frame.root_command()
    assert list(group.commands) == COMMANDS
    for name in COMMANDS:
        assert group.load(name).name == name


def test_help_names_every_command(dractl):
    done = dractl("--help")
    assert done.code == 0
    assert done.err == ""
    for name in COMMANDS:
        assert f"\n  {name} " in done.out


def test_version(dractl):
    assert dractl("--version").out == f"dractl {__version__}\n"
    assert dractl("--version", "get").out == f"dractl {__version__}\n"


def test_no_command_shows_help_as_an_error(dractl):
    done = dractl()
    assert done.code == 2
    assert done.out == ""
    assert "Usage: dractl" in done.err


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        (["gett"], "no such command 'gett'. Did you mean 'get'?", "dractl --help"),
        (["get", "device"], "no such command 'device'. Did you mean 'devices'", "dractl get --help"),
        (["get", "devices", "--demoo"], "no such option: --demoo", "dractl get devices --help"),
        (["get", "devices", "-o", "xml"], "'xml'", "dractl get devices --help"),
        (["get", "devices", "--node"], "'--node' requires an argument", "--help"),
    ],
)
def test_wrong_usage_is_one_line_and_the_next_step(dractl, arguments, message, hint):
    done = dractl(*arguments)
    assert done.code == 2
    assert done.out == ""
    first, second = done.err.splitlines()
    assert first.startswith("error: ")
    assert message in first
    assert hint in second


def test_kubectl_plugin_speaks_of_kubectl(capfd):
    assert frame.run(["get", "nothing"], program="/usr/bin/kubectl-dra") == 2
    assert "kubectl dra get --help" in capfd.readouterr().err


def failing(error):
    class Root:
        def main(self, **_):
            raise error

    return Root


def test_an_error_of_ours_is_shown_with_its_hint_and_code(dractl, monkeypatch):
    monkeypatch.setattr(frame, "root_command", failing(DractlError("the message", "the hint", 3)))
    done = dractl("get")
    assert (done.code, done.out, done.err) == (3, "", "error: the message\n  the hint\n")


def test_a_bug_is_one_line_and_debug_shows_the_traceback(dractl, monkeypatch):
    monkeypatch.setattr(frame, "root_command", failing(KeyError("secret")))
    done = dractl("get")
    assert done.code == 2
    assert "Traceback" not in done.err
    assert "KeyError" in done.err
    assert "Traceback" in dractl("get", "--debug").err
    assert "Traceback" in dractl("--debug", "get").err


def test_colour_only_where_wanted(dractl):
    arguments = ("get", "pools", "--demo")
    assert "\x1b" not in dractl(*arguments).out
    assert "\x1b[1mPOOL" in dractl(*arguments, env={"FORCE_COLOR": "1"}).out
    assert "\x1b" not in dractl(*arguments, env={"FORCE_COLOR": "1", "NO_COLOR": "1"}).out


def test_a_terminal_narrows_the_table_but_not_the_names():
    import os
    import pty

    def lines(columns):
        main, other = pty.openpty()
        env = {**os.environ, "COLUMNS": columns, "NO_COLOR": "1"}
        command = [sys.executable, "-m", "dractl", "get", "devices", "--demo"]
        with subprocess.Popen(command, stdout=other, stdin=subprocess.DEVNULL, env=env):
            os.close(other)
            found = b""
            while True:
                try:
                    part = os.read(main, 1 << 16)
                except OSError:
                    break
                if not part:
                    break
                found += part
        os.close(main)
        return found.decode().splitlines()

    wide, narrow = lines("400"), lines("90")
    assert max(len(line) for line in wide) > 90 >= max(len(line) for line in narrow)
    assert [line.split()[0] for line in wide] == [line.split()[0] for line in narrow]


def test_columns_do_not_cut_what_scripts_read(dractl):
    whole = dractl("get", "devices", "--demo").out
    assert dractl("get", "devices", "--demo", env={"COLUMNS": "60"}).out == whole


def test_a_closed_pipe_ends_quietly():
    command = f'"{sys.executable}" -m dractl get devices --demo -o json | head -1'
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "{\n", "")


@pytest.mark.parametrize(("where", "code", "message"), [(">&-", 0, ""), ("> /dev/full", 2, "error: cannot write")])
def test_an_output_that_takes_nothing(where, code, message):
    command = f'"{sys.executable}" -m dractl get devices --node a100-0 --demo {where}'
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr.startswith(message)
    assert len(done.stderr.splitlines()) == (2 if message else 0)


def test_a_stream_that_cannot_show_a_character_still_prints(tmp_path):
    path = tmp_path / "s.yaml"
    path.write_text("apiVersion: v1\nkind: Node\nmetadata: {name: knöten}\n", encoding="utf-8")
    env = os.environ | {"PYTHONIOENCODING": "ascii"}
    command = [sys.executable, "-m", "dractl", "get", "nodes", "--snapshot", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, env=env, check=True)
    assert "kn\\xf6ten" in done.stdout


# --- completion -----------------------------------------------------------------------------------------------------


def offered(*words: str) -> list[str]:
    """What is offered for the last word."""
    return [line.partition("\t")[0] for line in complete.complete(frame.root_command(), words).splitlines()[:-1]]


def test_commands_options_and_values_complete():
    assert offered("") == COMMANDS
    assert offered("get", "no") == ["nodes"]
    assert offered("get", "devices", "--sn") == ["--snapshot"]
    assert offered("get", "devices", "--demo", "--de") == []
    formats = ["text", "wide", "json", "yaml", "name", "jsonpath=", "custom-columns="]
    assert offered("get", "devices", "-o", "") == formats
    assert offered("get", "devices", "--output=y") == ["--output=yaml"]
    assert offered("get", "devices", "--output", "=", "w") == ["wide"]


def test_files_complete_where_a_path_is_wanted():
    root = frame.root_command()
    assert complete.complete(root, ["get", "devices", "--snapshot", ""]) == ":0"
    assert complete.complete(root, ["get", "devices", "--node", ""]) == ":4"


def test_completion_scripts_are_current():
    spec = importlib.util.spec_from_file_location("completions", ROOT / "scripts" / "completions.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    written = {path.name: path.read_text() for path in (ROOT / "completions").iterdir() if path.name != ".gitkeep"}
    assert written == module.scripts(), "run: make completions"


def test_the_bash_script_completes(tmp_path):
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "dractl").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m dractl "$@"\n')
    (folder / "dractl").chmod(0o755)
    script = (
        f"source '{ROOT}/completions/dractl.bash'\n"
        "COMP_WORDS=(dractl get ta); COMP_CWORD=2; _dractl; echo ${COMPREPLY[@]}"
    )
    env = os.environ | {"PATH": f"{folder}:{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, env=env, check=True)
    assert done.stdout == "taints\n"


def _whole(arguments: list[str], closed: str = "") -> subprocess.CompletedProcess[str]:
    command = f'exec "$0" -m dractl "$@" {closed}'
    words = ["sh", "-c", command, sys.executable, *arguments]
    return subprocess.run(words, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("arguments", [["validate", "-"], ["convert", "-"], ["get", "devices", "--snapshot", "-"]])
def test_a_closed_standard_input_is_an_empty_one(arguments):
    done = _whole(arguments, "<&-")
    assert done.returncode == 2
    assert "bug of dractl" not in done.stdout + done.stderr


def test_strict_is_not_content_when_no_check_could_be_made():
    assert _whole(["diagnose", "hardware", "--demo", "--strict"]).returncode == 3
    assert _whole(["diagnose", "hardware", "--demo"]).returncode == 0


def test_devices_whose_taint_rule_the_scheduler_does_not_see_are_told():
    told = "8 devices are tainted by a DeviceTaintRule, which does not keep the scheduler from them"
    nics = ["get", "devices", "--demo", "--node", "h100-4", "--driver", "dra.net"]
    assert told in _whole(nics).stderr
    assert "DeviceTaintRule" not in _whole([*nics, "--kubernetes", "1.37"]).stderr
    assert "DeviceTaintRule" not in _whole([*nics[:3], "--node", "h100-0", "--driver", "dra.net"]).stderr
