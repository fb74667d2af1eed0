"""``dractl top`` in a terminal of its own: keys, sizes, and that the terminal is put back however it ends."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time

import pytest

from dractl.cli.keys import Keys

ENTER, LEAVE = b"\x1b[?1049h", b"\x1b[?1049l"
HIDE, SHOW = b"\x1b[?25l", b"\x1b[?25h"


SMALL = """
apiVersion: v1
kind: Node
metadata: {name: alone}
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: alone-gpu}
spec:
  driver: gpu.example.com
  nodeName: alone
  pool: {name: alone, generation: 1, resourceSliceCount: 2}
  devices: [{name: gpu-0}, {name: gpu-1}]
"""


class Window:
    """A pseudo terminal with ``dractl top`` in it."""

    def __init__(self, *arguments: str, columns: int = 100, lines: int = 30, **env: str) -> None:
        self.main, self.other = pty.openpty()
        self.size(columns, lines)
        self.before = termios.tcgetattr(self.other)
        environment = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "COLUMNS", "LINES")}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "dractl", "top", *arguments],
            stdin=self.other,
            stdout=self.other,
            stderr=self.other,
            env={**environment, "TERM": "xterm-256color", **env},
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # noqa: PLW1509
        )
        self.out = b""

    def size(self, columns: int, lines: int) -> None:
        fcntl.ioctl(self.main, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def until(self, words: str | bytes, since: int = 0, seconds: float = 60) -> str:
        """Read until ``words`` stand in what came after ``since``; that, without colours."""
        wanted = words.encode() if isinstance(words, str) else words
        end = time.monotonic() + seconds
        while wanted not in (found := self.out[since:]) and wanted not in bare(found).encode():
            assert time.monotonic() < end, f"{words!r} did not come; the end is {self.out[-2000:]!r}"
            if select.select([self.main], [], [], 0.2)[0]:
                try:
                    self.out += os.read(self.main, 65536)
                except OSError:
                    break
            assert self.process.poll() is None or wanted in self.out[since:] or select.select([self.main], [], [], 0)[0]
        return bare(self.out[since:])

    def press(self, keys: bytes) -> int:
        """Type; where the answer begins."""
        os.write(self.main, keys)
        return len(self.out)

    def end(self) -> int:
        """Wait for the end; the exit code."""
        code = self.process.wait(20)
        self.drain()
        return code

    def drain(self) -> int:
        """Read what is on its way, such as the rest of a frame; where what comes later begins."""
        while select.select([self.main], [], [], 0.1)[0]:
            try:
                self.out += os.read(self.main, 65536)
            except OSError:
                break
        return len(self.out)

    def restored(self) -> bool:
        """Whether screen, cursor and the mode of the terminal are as before."""
        return (
            self.out.rfind(LEAVE) > self.out.rfind(ENTER) >= 0
            and self.out.rfind(SHOW) > self.out.rfind(HIDE) >= 0
            and termios.tcgetattr(self.other) == self.before
        )

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.main)
        os.close(self.other)


def bare(data: bytes) -> str:
    return re.sub(r"\x1b(\[[0-9;?]*[@-~]|\][^\x07]*\x07)", "", data.decode(errors="replace"))


@pytest.fixture
def small(tmp_path):
    """A recorded cluster that is read fast."""
    file = tmp_path / "small.yaml"
    file.write_text(SMALL)
    return str(file)


@pytest.fixture
def window():
    opened: list[Window] = []

    def new(*arguments: str, **more) -> Window:
        opened.append(Window(*arguments, **more))
        return opened[-1]

    yield new
    for one in opened:
        one.close()


def test_keys_sizes_and_the_end(window):
    top = window("--demo")
    shown = top.until("h100-gone")
    assert "Fleet 14" in shown and "> a100-0" in shown
    assert top.out.count(b"\x1b[32m") > 5  # free devices are green
    since = top.press(b"/whole-node\r")
    assert "1-1 of 1" in top.until("1-1 of 1", since)
    since = top.press(b"\x1b")
    top.until("1-14 of 14", since)
    since = top.press(b"2\x1b[B\x1b[B\r")
    top.until("research/needs-141g (pending", since)
    since = top.press(b"\x1b")
    top.until("by oldest", since)
    since = top.drain()  # the rest of a wide frame is not to be taken for a narrow one
    top.size(40, 15)
    shown = top.until(" 1 Fleet   2 Pending   3 Findings", since)
    assert all(len(line.rstrip()) <= 40 for line in shown.splitlines())
    top.press(b"q")
    assert top.end() == 0
    assert top.restored()


@pytest.mark.parametrize(("how", "code"), [("ctrl-c", 130), (signal.SIGTERM, 130), (signal.SIGHUP, 130)])
def test_the_terminal_is_put_back_however_it_ends(window, small, how, code):
    top = window("--snapshot", small)
    top.until("q quit")
    if how == "ctrl-c":
        top.press(b"\x03")
    else:
        top.process.send_signal(how)
    assert top.end() == code
    assert top.restored()


def test_no_colour(window, small):
    top = window("--view", "findings", "--snapshot", small, NO_COLOR="1")
    top.until("DRA401")
    top.press(b"q")
    assert top.end() == 0
    colours = re.findall(rb"\x1b\[([0-9;]*)m", top.out)
    assert not [code for code in colours if re.search(rb"(^|;)(3[0-7]|4[0-7]|9[0-7]|38|48)(;|$)", code)]
    assert top.restored()


def test_a_terminal_that_cannot_be_drawn_on_gets_it_once(window, small):
    top = window("--snapshot", small, TERM="dumb")
    assert "alone" in top.until("DRA401")
    assert top.end() == 0
    assert ENTER not in top.out and b"\x1b" not in top.out


def test_printed_once(dractl, small):
    run = dractl("top", "--snapshot", small)
    assert run.code == 0 and run.err == "" and "\x1b" not in run.out
    assert "  alone   0/2  gpu.example.com II" in run.out and "DRA401" in run.out
    assert "Not seen" not in run.out and "No pod waits for a claim." in run.out
    only = dractl("top", "--snapshot", small, "--view", "findings", "--once")
    assert "DRA401" in only.out and "alone   0/2" not in only.out
    assert "\x1b[95mII\x1b[0m" in dractl("top", "--snapshot", small, env={"FORCE_COLOR": "1"}).out
    assert "Nothing matches 'other'" in dractl("top", "--snapshot", small, "--search", "other").out


def test_errors(dractl):
    run = dractl("top", "--snapshot", "nowhere.json")
    assert run.code == 2 and "nowhere.json" in run.err
    assert dractl("top", "--demo", "--snapshot", "x").code == 2
    assert dractl("top", "--demo", "--interval", "0").code == 2


@pytest.mark.parametrize(
    ("data", "keys"),
    [
        (b"jq/", ["j", "q", "/"]),
        (b"\x1b[A\x1b[B\x1bOA\x1bOB", ["up", "down", "up", "down"]),
        (b"\x1b[5~\x1b[6~\x1b[H\x1b[F\x1b[1~\x1b[4~", ["page-up", "page-down", "home", "end", "home", "end"]),
        (b"\x1b[1;5A\x1b[5;2~\x1b[Z\t", ["up", "page-up", "shift-tab", "tab"]),
        (b"\r\n\x7f\x08\x15", ["enter", "enter", "backspace", "backspace", "ctrl-u"]),
        (b"\x1b[200~\x1b[M\x01", []),
        ("é漢".encode(), ["é", "漢"]),
        (b"\xff\xfej", ["j"]),
    ],
)
def test_bytes_are_keys(data, keys):
    assert Keys().feed(data) == keys
    # and when each byte comes alone
    one = Keys()
    assert [key for byte in data for key in one.feed(bytes([byte]))] == keys


def test_a_lone_escape_is_a_key():
    keys = Keys()
    assert keys.feed(b"\x1b") == [] and keys.waiting
    assert keys.flush() == ["escape"] and not keys.waiting
    assert keys.feed(b"\x1b\x1b[A") == ["escape", "up"]
    assert keys.feed(b"\x1bx") == ["escape", "x"]
