"""``--watch``: what changes is shown, on a terminal as a picture and elsewhere line by line, until Ctrl-C."""

from __future__ import annotations

import copy
import json
import os
import pty
import signal
import subprocess
import sys
import threading
import time

import pytest

from tests.cluster.server import Fault

SECONDS = 30.0


class Running:
    """dractl in a process of its own; what it prints is read as it comes."""

    def __init__(self, arguments, tty=False):
        self.out, self.err = "", ""
        self._more = threading.Condition()
        main, other = pty.openpty() if tty else os.pipe()
        env = {**os.environ, "PYTHONUNBUFFERED": "1", "COLUMNS": "150", "LINES": "30", "TERM": "xterm"}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "dractl", *arguments],
            stdin=subprocess.DEVNULL, stdout=other, stderr=subprocess.PIPE, env=env,
        )  # fmt: skip
        os.close(other)
        self._readers = [
            threading.Thread(target=self._read, args=(main, "out"), daemon=True),
            threading.Thread(target=self._read, args=(self.process.stderr.fileno(), "err"), daemon=True),
        ]
        for reader in self._readers:
            reader.start()

    def _read(self, descriptor, name):
        while True:
            try:
                data = os.read(descriptor, 1 << 16)
            except OSError:
                data = b""
            if not data:
                return
            with self._more:
                setattr(self, name, getattr(self, name) + data.decode(errors="replace"))
                self._more.notify_all()

    def until(self, true):
        with self._more:
            assert self._more.wait_for(lambda: true(self), SECONDS), (self.out[-3000:], self.err)

    def interrupt(self, number=signal.SIGINT):
        self.process.send_signal(number)
        code = self.process.wait(SECONDS)
        for reader in self._readers:
            reader.join(SECONDS)
        self.process.stderr.close()
        assert "Traceback" not in self.out + self.err
        return code


@pytest.fixture
def start(server, tmp_path):
    kubeconfig = str(server.kubeconfig(tmp_path / "kc"))
    running = []

    def begin(*arguments, tty=False):
        running.append(Running([*arguments, "--kubeconfig", kubeconfig], tty))
        return running[-1]

    yield begin
    for one in running:
        if one.process.poll() is None:
            one.process.kill()
            one.process.wait()


@pytest.fixture
def claim(server):
    return next(copy.deepcopy(item) for item in server.objects
                if item["kind"] == "ResourceClaim" and item["metadata"]["name"] == "pair-on-h100-1")  # fmt: skip


def named(claim, name):
    made = copy.deepcopy(claim)
    made["metadata"]["name"] = name
    return made


def test_rows_are_printed_when_they_change(start, server, dractl, claim, tmp_path):
    run = start("get", "claims", "-n", "ml", "--watch")
    whole = dractl("get", "claims", "-n", "ml", "--kubeconfig", str(server.kubeconfig(tmp_path / "k2"))).out
    # ages are counted from now in the other process, so only the names are compared
    run.until(lambda run: run.out.count("\n") >= whole.count("\n"))
    first = run.out.splitlines()
    assert [line.split()[:3] for line in first] == [line.split()[:3] for line in whole.splitlines()]
    server.put(named(claim, "fresh"))
    run.until(lambda run: "fresh" in run.out)
    held = named(claim, "fresh")
    held["metadata"]["deletionTimestamp"] = "2026-12-01T06:39:00Z"
    server.put(held)
    run.until(lambda run: run.out.count("fresh") == 2)
    server.take_away(held)
    run.until(lambda run: run.out.count("fresh") == 3)
    added = run.out.splitlines()[len(first) :]
    assert [line.split()[1:3] for line in added] == [["fresh", "pending"], ["fresh", "deleted"], ["fresh", "deleted"]]
    assert [line.endswith("(deleted)") for line in added] == [False, False, True]
    assert run.out.count("NAMESPACE") == 1
    assert run.interrupt() == 130
    assert run.err == ""


def test_json_is_one_line_a_change(start, server, claim):
    run = start("get", "claims", "-A", "-w", "-o", "json")
    run.until(lambda run: "pair-on-h100-1" in run.out)
    server.put(named(claim, "fresh"))
    server.take_away(named(claim, "fresh"))
    server.put(named(claim, "last"))
    run.until(lambda run: "last" in run.out)
    assert run.interrupt() == 130
    events = [json.loads(line) for line in run.out.splitlines()]
    assert events[-1]["type"] == "ADDED" and events[-1]["object"]["name"] == "last"
    assert {event["type"] for event in events[:-3]} == {"ADDED"}
    states = [event["type"] for event in events if event["object"]["name"] == "fresh"]
    # what came and went between two looks need not be seen
    assert states in ([], ["ADDED", "DELETED"])


def test_a_screen_is_drawn_and_put_back(start, server, claim):
    run = start("get", "claims", "-n", "ml", "-w", tty=True)
    run.until(lambda run: "pair-on-h100-1" in run.out)
    assert "\x1b[?1049h" in run.out and "following the cluster" in run.out
    server.put(named(claim, "fresh"))
    run.until(lambda run: "fresh" in run.out)
    assert run.interrupt() == 130
    after = run.out.rpartition("\x1b[?1049l")[2]
    # the last picture stays
    assert "fresh" in after and "NAMESPACE" in after


def test_terminated_means_put_back_too(start):
    run = start("get", "claims", "-n", "ml", "-w", tty=True)
    run.until(lambda run: "pair-on-h100-1" in run.out)
    assert run.interrupt(signal.SIGTERM) == 143
    assert "\x1b[?1049l" in run.out


def test_a_report_is_printed_again_when_it_says_something_else(start, server, claim):
    run = start("explain", "claim", "pair-on-h100-1", "-n", "ml", "--watch")
    run.until(lambda run: "== 20" in run.out and "may only run on h100-1" in run.out)
    server.put(named(claim, "stranger"))
    time.sleep(0.5)
    server.take_away(claim)
    run.until(lambda run: "is not in" in run.err)
    changed = copy.deepcopy(claim)
    changed["spec"]["devices"]["requests"][0]["exactly"]["count"] = 99
    server.put(changed)
    run.until(lambda run: run.out.count("== 20") >= 2 and "99" in run.out)
    assert "still watching" in run.err
    assert run.interrupt() == 130


def test_a_pod_is_followed_as_documents(start, server, claim):
    run = start("explain", "pod", "pair-on-h100-1", "-n", "ml", "--watch", "-o", "json")
    run.until(lambda run: run.out.endswith("}\n"))
    first = json.loads(run.out)
    server.take_away(claim)
    run.until(lambda run: run.out.count('"kind": "PodExplanation"') == 2 and run.out.endswith("}\n"))
    second, _ = json.JSONDecoder().raw_decode(run.out[len(json.dumps(first, indent=2)) :].lstrip())
    assert (first["state"], second["state"]) == ("pending", "missing")
    assert run.interrupt() == 130


def test_a_diagnosis_is_printed_again_when_it_finds_something_else(start, server):
    run = start("diagnose", "health", "--watch")
    run.until(lambda run: "maintenance-h100-4-nics" in run.out)
    node = next(copy.deepcopy(item) for item in server.objects if item["metadata"]["name"] == "l40s-0")
    for beat in range(3):
        # what only tells that a node lives changes no finding
        node["metadata"]["annotations"] = {"beat": str(beat)}
        server.put(node)
    server.take_away(next(item for item in server.objects if item["kind"] == "DeviceTaintRule"))
    run.until(lambda run: run.out.count("== 20") >= 2)
    assert run.interrupt() == 130
    assert run.out.count("== 20") == 2 and "maintenance" not in run.out.rpartition("== 20")[2]


def test_a_server_that_goes_away_is_told_once(start, server, claim):
    run = start("get", "claims", "-n", "ml", "-w")
    run.until(lambda run: "pair-on-h100-1" in run.out)
    server.faults = lambda path, params: Fault(503, "apiserver is shutting down")
    server.cut_watches()
    run.until(lambda run: "still watching" in run.err)
    server.put(named(claim, "meanwhile"))
    server.faults = lambda path, params: None
    run.until(lambda run: "meanwhile" in run.out)
    run.until(lambda run: "the cluster answers again" in run.err)
    assert run.interrupt() == 130
    assert run.err.count("still watching") == 1


@pytest.mark.parametrize(("arguments", "words"), [
    (("get", "devices", "-w", "--demo"), "--watch needs a running cluster"),
    (("get", "devices", "-w", "-o", "yaml", "--demo"), "--watch does not go with -o yaml"),
    (("get", "devices", "-w", "-o", "jsonpath={.items}", "--demo"), "--watch does not go with -o jsonpath"),
    (("explain", "claim", "x", "-w", "--demo"), "--watch needs a running cluster"),
    (("explain", "claim", "x", "-w", "--wait"), "--wait and --watch exclude each other"),
    (("explain", "pod", "x", "-w", "--demo"), "--watch needs a running cluster"),
    (("diagnose", "-w", "--demo"), "--watch needs a running cluster"),
    (("diagnose", "-w", "--wait"), "--wait and --watch exclude each other"),
    (("diagnose", "-w", "-o", "sarif"), "--watch does not go with -o sarif"),
], ids=["demo", "yaml", "jsonpath", "explain", "wait", "pod", "diagnose", "diagnose wait", "sarif"])  # fmt: skip
def test_wrong_use(dractl, arguments, words):
    run = dractl(*arguments)
    assert run.code == 2 and words in run.err


def test_what_is_wrong_at_the_beginning_ends_it(dractl, server, tmp_path):
    kubeconfig = str(server.kubeconfig(tmp_path / "kc"))
    run = dractl("explain", "claim", "nope", "-n", "ml", "-w", "--kubeconfig", kubeconfig)
    assert run.code == 2 and "is not in" in run.err
    end = time.monotonic() + SECONDS
    while [one for one in threading.enumerate() if one.name.startswith("follow-")]:
        assert time.monotonic() < end
        time.sleep(0.02)
