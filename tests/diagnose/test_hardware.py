"""Node reports: what is published against what is there, over many nodes, through the API server's pod proxy."""

from __future__ import annotations

import copy
import json
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from explain.builders import cluster, node, pod, question

from diagnose.hosts import HOST_PAIRS, NODE, Change
from dractl.cli.nodeserver import Agent, server
from dractl.diagnose.check import Context
from dractl.diagnose.run import diagnose
from dractl.hardware.exchange import NotAHost, host_of, node_report, to_plain
from dractl.hardware.health import health
from dractl.hardware.publish import publish
from dractl.hardware.readers.host import Asking, read_host
from dractl.hardware.readers.root import open_root
from dractl.sources import nodereports
from tests.cluster.server import ApiServer, Fault
from tests.hardware import builder

AGENT = {nodereports.AGENT_LABEL: "true"}


@pytest.fixture(scope="module")
def tree(tmp_path_factory) -> Path:
    return builder.dgx_h100(tmp_path_factory.mktemp("host") / "host.tar", cores=2).finish()


@pytest.fixture(scope="module")
def machine(tree):
    """The host with NVML's answers, and what its drivers publish."""
    host = read_host(open_root(str(tree)), False, Asking())
    slices = [piece for name in ("gpu.nvidia.com", "dra.net") for piece in publish(host, name, NODE).slices]
    return host, slices


def agent_pod(name: str, on: str, **labels: str):
    made = pod(name, on=on, namespace="dractl")
    made["metadata"]["labels"] = {**AGENT, **labels}
    return made


def diagnosed(machine, change: Change):
    host, slices = copy.deepcopy(machine)
    silent: dict[str, str] = {}
    change(host, slices, silent)
    asked = question(cluster(node(NODE), *slices))
    context = Context(asked, {} if silent else {NODE: host}, silent, True)
    return diagnose(asked, ["hardware"], context=context)


@pytest.mark.parametrize("code", sorted(HOST_PAIRS))
def test_fires_on_the_bad_one_and_not_on_the_other(machine, code):
    bad, good = HOST_PAIRS[code]
    report = diagnosed(machine, bad)
    assert not [item.reason for item in report.checks if item.outcome == "failed"]
    found = [item for item in report.findings if item.code == code]
    assert found, [(item.code, item.message) for item in report.findings]
    assert all(NODE in item.message and item.subject.kind in ("Node", "Device") for item in found)
    assert [item.message for item in diagnosed(machine, good).findings if item.code == code] == []


def test_a_machine_as_it_is_published_has_no_finding(machine):
    assert diagnosed(machine, HOST_PAIRS["DRA640"][1]).findings == []


def test_without_reports_nothing_is_called_passed(dractl):
    report = json.loads(dractl("diagnose", "hardware", "--demo", "-o", "json").out)
    assert {item["outcome"] for item in report["checks"]} == {"skipped"}
    assert "no check could be made" in dractl("diagnose", "hardware", "--demo").out


# --- the form of a report -------------------------------------------------------------------------------------------


def test_a_host_comes_back_as_it_was(machine):
    host, slices = machine
    text = json.dumps(node_report(host, NODE, "2026-12-01T06:00:00Z", 300, "0"))
    back = host_of(json.loads(text), NODE)
    assert to_plain(back) == to_plain(host)
    assert [item.message for item in health(back)] == [item.message for item in health(host)]
    assert publish(back, "gpu.nvidia.com", NODE).slices == slices[:1]
    assert len(text) < 200_000


def test_serial_numbers_and_addresses_of_networks_stay_on_the_node(machine):
    host = copy.deepcopy(machine[0])
    gpu = next(device.nvml for device in host.devices if device.nvml is not None)
    gpu.serial = "1650924012345"
    ports = [port for function in host.functions.values() for port in function.netdevs]
    ports[0].mac = "02:11:22:33:44:55"
    text = json.dumps(node_report(host, NODE, "t", 300, "0"))
    assert ports and gpu.serial not in text and ports[0].mac not in text


@pytest.mark.parametrize(
    "change",
    [
        lambda report: report.pop("host"),
        lambda report: report.update(kind="Pod"),
        lambda report: report["host"].update(devices={"a": 1}),
        lambda report: report["host"]["machine"].update(hostname=["x"]),
        lambda report: report["host"].update(functions={"0000:17:00.0": 7}),
        lambda report: report["host"]["devices"][0].update(kind="toaster"),
        lambda report: report["host"]["devices"][0].pop("label"),
        lambda report: report["host"]["cpus"].update(packages={"unseen": "x", "why": "because"}),
    ],
)
def test_what_is_no_host_is_refused(machine, change):
    report = json.loads(json.dumps(node_report(machine[0], NODE, "t", 300, "0")))
    change(report)
    with pytest.raises(NotAHost):
        host_of(report, NODE)


def test_the_report_of_another_node_is_refused(machine):
    with pytest.raises(NotAHost, match="that of node testhost"):
        host_of(node_report(machine[0], NODE, "t", 300, "0"), "other")


# --- over HTTP ------------------------------------------------------------------------------------------------------


def ask(port: int, request: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.sendall(request)
        data = b""
        while chunk := connection.recv(65536):
            data += chunk
    return data


@pytest.fixture
def serving():
    agent = Agent(lambda: {"a": 1}, 60)
    http = server(agent, "127.0.0.1", 0)
    threading.Thread(target=http.serve_forever, daemon=True).start()
    yield agent, http.server_address[1]
    http.shutdown()
    http.server_close()


def test_the_agent_only_answers_questions(serving):
    agent, port = serving
    assert b" 503 " in ask(port, b"GET /report HTTP/1.0\r\n\r\n")
    assert b" 503 " in ask(port, b"GET /healthz HTTP/1.0\r\n\r\n")
    assert agent.refresh()
    assert ask(port, b"GET /report HTTP/1.0\r\n\r\n").endswith(b'{"a":1}\n')
    assert b" 200 " in ask(port, b"GET /healthz HTTP/1.0\r\n\r\n")
    assert ask(port, b"HEAD /report HTTP/1.0\r\n\r\n").endswith(b"\r\n\r\n")
    for path in (b"/", b"/../etc/passwd", b"/report/../../proc/self/environ"):
        assert b" 404 " in ask(port, b"GET " + path + b" HTTP/1.0\r\n\r\n")
    for method in (b"POST", b"PUT", b"DELETE"):
        assert b" 501 " in ask(port, method + b" /report HTTP/1.0\r\nContent-Length: 0\r\n\r\n")


def test_a_last_report_stays_and_grows_old():
    from dractl.errors import DractlError

    now, broken = [0.0], []

    def read():
        if broken:
            raise DractlError("sysfs is gone")
        return {"a": 1}

    agent = Agent(read, 10, lambda: now[0])
    assert agent.refresh()
    broken.append(1)
    assert not agent.refresh()
    assert agent.answer("/report")[0] == 200 and agent.answer("/healthz")[0] == 200
    now[0] = 31
    assert agent.answer("/healthz")[:2] == (503, b"stale: sysfs is gone\n")


def test_a_real_agent_through_the_api_server(dractl, machine, tree, tmp_path):
    """What generate node-agent makes, run on loopback; the API server's proxy passes its answer on as it is."""
    import yaml

    made = dractl("generate", "node-agent", "--image", "registry.example.com/dractl:1").out
    template = next(item for item in yaml.safe_load_all(made) if item["kind"] == "DaemonSet")["spec"]["template"]
    (container,) = template["spec"]["containers"]
    there = {"/host": str(tree), ":9431": "127.0.0.1:0", "$(NODE_NAME)": NODE}
    command = [*container["command"][1:], *(there.get(word, word) for word in container["args"])]
    (environment,) = container["env"]
    assert environment == {"name": "NODE_NAME", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}
    slices = copy.deepcopy(machine[1])
    slices[0]["spec"]["devices"].pop()
    process = subprocess.Popen(
        [sys.executable, "-m", "dractl", *command], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
    )
    try:
        assert process.stderr is not None
        url = process.stderr.readline().split()[-1]
        objects = [node(NODE), node("n2"), *slices, agent_pod("agent-a", NODE, **template["metadata"]["labels"])]
        with ApiServer(objects) as api:
            api.proxies["agent-a"] = url.removesuffix("/report")
            kubeconfig = str(api.kubeconfig(tmp_path / "kc"))
            for _ in range(100):  # the first look takes a moment
                run = dractl("diagnose", "hardware", "--kubeconfig", kubeconfig, "-o", "json")
                report = json.loads(run.out)
                if "DRA649" not in {item["code"] for item in report["findings"]}:
                    break
                time.sleep(0.2)
    finally:
        process.terminate()
        process.wait(10)
    assert {(item["code"], item["subject"]["name"]) for item in report["findings"]} == {("DRA640", NODE)}
    assert "gpu.nvidia.com publishes 7 devices of this node and not gpu-7" in report["findings"][0]["message"]
    writing = [method for method, *_ in api.requests if method != "GET"]
    assert run.code == 0 and writing == []


def test_many_agents_at_once_and_some_that_fail(dractl, machine, tmp_path):
    """Each agent is slow; some do not answer, lie, or are not there. The others are told all the same."""
    host, slices = machine
    objects = []
    reports = {}
    for number in range(14):
        name = f"n{number:02}"
        objects += [node(name), agent_pod(f"agent-{number}", name)]
        for piece in copy.deepcopy(slices):
            piece["metadata"] = {"name": f"{piece['spec']['driver']}-{name}"}
            piece["spec"]["nodeName"] = piece["spec"]["pool"]["name"] = name
            objects.append(piece)
        reports[f"agent-{number}"] = json.dumps(node_report(host, name, "t", 60, "0")).encode()
    reports["agent-1"] = b"<html>"
    reports["agent-2"] = reports["agent-3"]
    reports["agent-4"] = b'{"kind": "NodeReport"}'
    with ApiServer(objects) as api:
        api.proxies.update(reports)
        del api.proxies["agent-5"]

        at_once = []

        def faults(path, params):
            if not path.endswith("/proxy/report"):
                return None
            if "/agent-6/" in path:
                return Fault(403, "forbidden")
            if "/agent-7/" in path:
                return Fault(cut=100)
            at_once.append(1)
            while len(at_once) < 4 and time.monotonic() < patience:  # an agent waits for three others to be asked
                time.sleep(0.01)
            return None

        api.faults = faults
        kubeconfig = str(api.kubeconfig(tmp_path / "kc"))
        patience = time.monotonic() + 60
        run = dractl("diagnose", "hardware", "--kubeconfig", kubeconfig, "-o", "json")
        assert time.monotonic() < patience
        strict = dractl("diagnose", "hardware", "--kubeconfig", kubeconfig, "--strict")
    findings = json.loads(run.out)["findings"]
    assert {item["code"] for item in findings} == {"DRA649"}
    silent = {name: item["message"] for item in findings for name in item["evidence"]["nodes"]}
    assert sorted(silent) == [f"n{number:02}" for number in (1, 2, 4, 5, 6, 7)]
    for name, words in {
        "n01": "the answer is not JSON",
        "n02": "the report is that of node n03",
        "n04": "is no NodeReport",
        "n05": "cannot be reached through the API server (503)",
        "n06": "not allowed to get pods/proxy",
        "n07": "the connection broke off",
    }.items():
        assert words in silent[name]
    assert (run.code, strict.code) == (0, 3)


def test_a_report_without_end_is_not_read_to_its_end(dractl, tmp_path, machine, monkeypatch):
    monkeypatch.setattr(nodereports, "LIMIT", 1000)
    with ApiServer([node(NODE), *machine[1], agent_pod("agent-a", NODE)]) as api:
        api.proxies["agent-a"] = b'"' + b"x" * 100_000 + b'"'
        run = dractl("diagnose", "hardware", "--kubeconfig", str(api.kubeconfig(tmp_path / "kc")))
    assert "has more than 1000 bytes" in run.out


def test_agents_of_another_namespace_are_not_asked(dractl, tmp_path, machine):
    """Whoever may create a pod in a namespace of their own could tell anything."""
    stranger = agent_pod("agent-a", NODE)
    stranger["metadata"]["namespace"] = "mine"
    with ApiServer([node(NODE), *machine[1], stranger]) as api:
        kubeconfig = str(api.kubeconfig(tmp_path / "kc"))
        assert "no node agent runs there" in dractl("diagnose", "hardware", "--kubeconfig", kubeconfig).out
        assert not [path for _, path, *_ in api.requests if "/proxy/" in path]
        dractl("diagnose", "hardware", "--kubeconfig", kubeconfig, "--agent-namespace", "mine")
        assert [path for _, path, *_ in api.requests if "/proxy/" in path]


def test_a_cluster_without_agents(dractl, tmp_path, machine):
    with ApiServer([node(NODE), *machine[1]]) as api:
        run = dractl("diagnose", "hardware", "--kubeconfig", str(api.kubeconfig(tmp_path / "kc")))
    assert "no node agent runs there" in run.out and "dractl generate node-agent" in run.out
