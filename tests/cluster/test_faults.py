"""What can go wrong between dractl and an API server: nothing is lost in silence, and nobody sees a traceback."""

from __future__ import annotations

import copy
import json
import shutil
import socket
import subprocess

import pytest

from tests.cluster.server import ApiServer, Fault

DEVICES = ("get", "devices", "-o", "json")
SECRET = "sha256~bearer-nobody-may-see-3f9a"


@pytest.fixture
def kubeconfig(server, tmp_path):
    return str(server.kubeconfig(tmp_path / "kc"))


@pytest.fixture
def right(dractl, kubeconfig):
    """The undisturbed answer."""
    return json.loads(dractl(*DEVICES, "--kubeconfig", kubeconfig).out)["items"]


def first_times(number, ending, fault):
    """The fault for the first requests of a path, then none."""
    seen = []

    def faults(path, params):
        if path.endswith(ending) and len(seen) < number:
            seen.append(params)
            return fault
        return None

    return faults


def clean(run):
    assert "Traceback" not in run.out + run.err
    return run


@pytest.mark.parametrize("fault", [
    Fault(500, "etcdserver: leader changed"), Fault(503, "apiserver is shutting down"), Fault(504, "timeout"),
    Fault(429, "too many requests", {"Retry-After": "3"}), Fault(cut=2000), Fault(cut=0),
], ids=["500", "503", "504", "429", "cut in the middle", "cut at once"])  # fmt: skip
def test_passing_faults_are_waited_out(dractl, server, kubeconfig, right, steady, fault):
    server.faults = first_times(2, "/resourceslices", fault)
    run = clean(dractl(*DEVICES, "--kubeconfig", kubeconfig))
    assert (run.code, run.err) == (0, "")
    assert json.loads(run.out)["items"] == right
    assert len(steady) == 2
    if fault.headers:
        assert all(2.4 <= pause <= 3.6 for pause in steady)


@pytest.mark.parametrize(("fault", "words"), [
    (Fault(500, "etcdserver: no leader"), "500 InternalError: etcdserver: no leader"),
    (Fault(429, "slow down", {"Retry-After": "1"}), "429 TooManyRequests: slow down"),
    (Fault(cut=100), "the connection broke off"),
    (Fault(raw=b"<html>Sign in</html>"), "the answer is not JSON"),
    (Fault(raw=b'{"items": 7}'), "the server sent no list"),
], ids=["500", "429", "cut", "html", "no list"])  # fmt: skip
def test_lasting_faults_of_one_list_are_named_and_the_others_are_served(dractl, server, kubeconfig, fault, words):
    server.faults = lambda path, params: fault if path.endswith("/pods") else None
    run = clean(dractl(*DEVICES, "--kubeconfig", kubeconfig))
    assert run.code == 0
    assert len(json.loads(run.out)["items"]) > 200
    assert run.err.startswith("note: Pod: listing pods failed: ") and words in run.err


def test_an_expired_continue_token_starts_the_list_anew(dractl, server, tmp_path, monkeypatch, right):
    from dractl.sources import cluster

    monkeypatch.setattr(cluster, "PAGE", 5)
    kubeconfig = str(server.kubeconfig(tmp_path / "kc"))
    expired = []

    def faults(path, params):
        if path.endswith("/resourceslices") and params.get("continue") == "10" and len(expired) < 1:
            expired.append(path)
            return Fault(410, "The provided continue parameter is too old")
        return None

    server.faults = faults
    run = clean(dractl(*DEVICES, "--kubeconfig", kubeconfig))
    assert expired and json.loads(run.out)["items"] == right
    # and if it always expires, one list without pages
    server.faults = lambda path, params: Fault(410, "too old") if params.get("continue") else None
    run = clean(dractl(*DEVICES, "--kubeconfig", kubeconfig))
    assert (run.code, json.loads(run.out)["items"]) == (0, right)


def test_a_list_that_may_not_be_read_everywhere_is_read_in_the_namespace(dractl, server, tmp_path):
    server.faults = lambda path, params: Fault(403, "forbidden") if "/namespaces/" not in path and path.endswith(
        ("/pods", "/resourceclaims", "/events", "/resourceclaimtemplates")) else None  # fmt: skip
    kubeconfig = str(server.kubeconfig(tmp_path / "kc", namespace="ml"))
    run = clean(dractl("get", "claims", "--kubeconfig", kubeconfig, "-o", "json"))
    assert {item["namespace"] for item in json.loads(run.out)["items"]} == {"ml"}
    said = [line for line in run.err.splitlines() if "ResourceClaim:" in line]
    assert said == [
        "note: ResourceClaim: not allowed in all namespaces, only those of namespace ml were read"
    ]
    other = clean(dractl("get", "claims", "-n", "infer", "--kubeconfig", kubeconfig, "-o", "json"))
    assert {item["namespace"] for item in json.loads(other.out)["items"]} == {"infer"}
    assert clean(dractl("explain", "claim", "pair-on-h100-1", "--kubeconfig", kubeconfig)).code == 1


def test_what_may_not_be_read_is_written_into_the_snapshot(dractl, server, kubeconfig, tmp_path):
    server.faults = lambda path, params: Fault(403, "forbidden") if path.endswith(("/pods", "/nodes")) else None
    file = str(tmp_path / "s.json")
    run = clean(dractl("snapshot", "save", file, "--kubeconfig", kubeconfig, "--strict"))
    assert run.code == 3 and "incomplete" in run.out
    info = json.loads(dractl("snapshot", "info", file, "-o", "json").out)
    assert info["unseen"] == {
        "Node": "not allowed to list nodes",
        "Pod": "not allowed to list pods in all namespaces",
    }


def test_nothing_may_be_read(dractl, server, kubeconfig):
    server.faults = lambda path, params: Fault(403, "forbidden")
    run = clean(dractl(*DEVICES, "--kubeconfig", kubeconfig))
    assert run.code == 3 and run.err.startswith("error: nothing may be read in this cluster: not allowed to list")


def test_wrong_credentials(dractl, demo_objects, tmp_path):
    with ApiServer(demo_objects, token="right") as server:
        kubeconfig = str(server.kubeconfig(tmp_path / "kc", token=SECRET))
        run = clean(dractl(*DEVICES, "--kubeconfig", kubeconfig))
    assert run.code == 3 and "does not accept the credentials (401 Unauthorized)" in run.err
    assert SECRET not in run.out + run.err


def test_no_dra_served(dractl, demo_objects, tmp_path):
    nodes = [item for item in demo_objects if item["kind"] == "Node"]
    with ApiServer(nodes, version="v1.30.2") as server:
        run = clean(dractl(*DEVICES, "--kubeconfig", str(server.kubeconfig(tmp_path / "kc"))))
    assert run.code == 3 and "(Kubernetes v1.30.2) does not serve resource.k8s.io" in run.err


def as_beta(body):
    """A v1 object of the demo fleet as v1beta1 has it."""
    body = copy.deepcopy(body)
    if body["apiVersion"] != "resource.k8s.io/v1":
        return body
    body["apiVersion"] = "resource.k8s.io/v1beta1"
    for device in body.get("spec", {}).get("devices", []) if body["kind"] == "ResourceSlice" else []:
        name = device.pop("name")
        basic = {**device}
        device.clear()
        device.update(name=name, basic=basic)
    spec = body.get("spec", {})
    spec = spec.get("spec", spec)
    if body["kind"].startswith("ResourceClaim"):
        for request in spec["devices"].get("requests", []):
            request.update(request.pop("exactly", {}))
    return body


def test_an_older_served_version_gives_the_same_answer(dractl, demo_objects, tmp_path, right):
    with ApiServer(map(as_beta, demo_objects), version="v1.32.9") as server:
        kubeconfig = str(server.kubeconfig(tmp_path / "kc32"))
        run = clean(dractl(*DEVICES, "--kubeconfig", kubeconfig))
        assert any("/v1beta1/resourceslices" in path for _, path, *_ in server.requests)
    assert (run.code, json.loads(run.out)["items"]) == (0, right)


def test_slow_answers(dractl, server, kubeconfig, right):
    server.faults = lambda path, params: Fault(delay=0.3) if path.endswith("/pods") else None
    run = clean(dractl(*DEVICES, "--kubeconfig", kubeconfig))
    assert json.loads(run.out)["items"] == right
    server.faults = lambda path, params: Fault(delay=2.5) if path == "/version" else None
    run = clean(dractl(*DEVICES, "--kubeconfig", kubeconfig, "--request-timeout", "1s"))
    assert run.code == 3 and "did not answer in time" in run.err and "--request-timeout" in run.err
    assert sum(path == "/version" for _, path, *_ in server.requests[-4:]) == 2


def test_nobody_listens(dractl, tmp_path, demo_objects):
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        server = ApiServer(demo_objects[:1])
        kubeconfig = server.kubeconfig(tmp_path / "kc")
        text = kubeconfig.read_text().replace(server.url, f"http://127.0.0.1:{reserved.getsockname()[1]}")
        kubeconfig.write_text(text)
        run = clean(dractl(*DEVICES, "--kubeconfig", str(kubeconfig)))
    assert run.code == 3 and "connection refused" in run.err


def config(cluster="", user="", context="cluster: a, user: a"):
    """A kubeconfig with one cluster, user and context, all named a."""
    return (
        f"current-context: a\nclusters: [{{name: a, cluster: {{server: 'https://127.0.0.1:1'{cluster}}}}}]\n"
        f"users: [{{name: a, user: {{{user}}}}}]\ncontexts: [{{name: a, context: {{{context}}}}}]\n"
    )


PLUGIN = "exec: {apiVersion: client.authentication.k8s.io/v1, command: %s, interactiveMode: Never}"


@pytest.mark.parametrize(("content", "words"), [
    ("{", "kc:2: the kubeconfig is not YAML"),
    ("[]", "kc: holds a list, so it is not a kubeconfig"),
    ("", "kc: the kubeconfig is empty"),
    ("users: 7", "kc: users of the kubeconfig is not a list"),
    ("users: [7]", "kc: users[0] of the kubeconfig has no name"),
    ("users: []", "kc: no current context is set"),
    (config(context="cluster: b, user: a"), "context 'a' names the cluster 'b', which is not there"),
    (config(context="cluster: a, user: b"), "context 'a' names the user 'b', which is not there"),
    (config(cluster=", certificate-authority-data: '!'"), "authority-data of the cluster 'a' is not base64"),
    (config(cluster=", certificate-authority: none.crt"), "none.crt, the certificate-authority of cluster 'a' in"),
    (config(user="client-certificate: /none.crt, client-key: /none.key"), "/none.crt, the client-certificate of user"),
    (config(user=PLUGIN % "no-such-plugin"), "credential plugin of the kubeconfig failed: the program is not there"),
    (config(user=PLUGIN % "'false'"), "the credential plugin of the kubeconfig failed"),
], ids=["yaml", "list", "empty", "users", "entry", "context", "cluster", "user", "base64", "ca", "certificate",
        "plugin", "plugin that fails"])  # fmt: skip
def test_broken_kubeconfigs(dractl, tmp_path, content, words):
    (tmp_path / "kc").write_text(content)
    run = clean(dractl(*DEVICES, "--kubeconfig", str(tmp_path / "kc")))
    assert run.code in (2, 3) and words in run.err and "failed: " not in run.err.replace(words, "")
    assert run.out == "" and len(run.err.splitlines()) == 2 and "Error" not in run.err


def test_the_variable_that_names_kubeconfigs(dractl, server, kubeconfig, tmp_path):
    run = clean(dractl(*DEVICES, env={"KUBECONFIG": "/nonexistent"}))
    assert run.code == 3 and run.err.startswith("error: KUBECONFIG names no file that is there: /nonexistent\n")
    # one of several is enough, as for kubectl
    assert dractl(*DEVICES, env={"KUBECONFIG": f"/nonexistent:{kubeconfig}"}).code == 0


def test_a_plugin_that_fails_later_is_told_without_its_output(dractl, server, tmp_path):
    """The first token has expired, and for the second the plugin fails."""
    plugin = tmp_path / "plugin"
    plugin.write_text(
        "#!/bin/sh\n"
        f"[ -e {tmp_path}/asked ] && {{ echo {SECRET} >&2; exit 1; }}\ntouch {tmp_path}/asked\n"
        """echo '{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential","""
        f""" "status": {{"token": "{SECRET}", "expirationTimestamp": "2020-01-01T00:00:00Z"}}}}'\n"""
    )
    plugin.chmod(0o755)
    text = config(user=PLUGIN % str(plugin)).replace("https://127.0.0.1:1", server.url)
    (tmp_path / "kc").write_text(text)
    run = clean(dractl(*DEVICES, "--kubeconfig", str(tmp_path / "kc")))
    assert SECRET not in run.out + run.err
    assert run.code == 3 and "credential plugin of the kubeconfig failed" in run.err


@pytest.mark.parametrize(("path", "hint"), [
    ("/nonexistent/x.json", "There is no folder /nonexistent"), ("/proc/x.json", "choose another folder"),
    ("{}", "It is a folder"),
])  # fmt: skip
def test_snapshots_that_cannot_be_written(dractl, tmp_path, path, hint):
    run = clean(dractl("snapshot", "save", path.format(tmp_path), "--demo"))
    assert run.code == 2 and "cannot be written" in run.err and hint in run.err


def test_a_context_that_is_not_there(dractl, server, kubeconfig):
    run = clean(dractl(*DEVICES, "--kubeconfig", kubeconfig, "--context", "prod"))
    assert run.code == 2 and "'prod'" in run.err


def certificate(folder, name):
    if shutil.which("openssl") is None:
        pytest.skip("needs openssl to make a certificate")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
         "-days", "2", "-subj", f"/CN={name}", "-addext", f"subjectAltName={name}", "-keyout", str(folder / "key.pem"),
         "-out", str(folder / "cert.pem")],
        check=True, capture_output=True,
    )  # fmt: skip
    return folder / "cert.pem", folder / "key.pem"


def test_tls(dractl, demo_objects, tmp_path, right):
    cert, key = certificate(tmp_path, "IP:127.0.0.1")
    server = ApiServer(demo_objects)
    server.use_tls(cert, key)
    with server:
        trusted = dractl(*DEVICES, "--kubeconfig", str(server.kubeconfig(tmp_path / "a", ca=cert)))
        assert (trusted.code, json.loads(trusted.out)["items"]) == (0, right)
        unknown = clean(dractl(*DEVICES, "--kubeconfig", str(server.kubeconfig(tmp_path / "b"))))
        assert unknown.code == 3 and "certificate is not trusted" in unknown.err
        plain = tmp_path / "c"
        plain.write_text((tmp_path / "b").read_text().replace("https://", "http://"))
        assert clean(dractl(*DEVICES, "--kubeconfig", str(plain))).code == 3


def test_a_certificate_for_another_name(dractl, demo_objects, tmp_path):
    cert, key = certificate(tmp_path, "DNS:other.example")
    server = ApiServer(demo_objects)
    server.use_tls(cert, key)
    with server:
        run = clean(dractl(*DEVICES, "--kubeconfig", str(server.kubeconfig(tmp_path / "a", ca=cert))))
    assert run.code == 3 and "certificate is for another name" in run.err


def test_a_token_is_sent_and_never_shown(dractl, demo_objects, tmp_path):
    with ApiServer(demo_objects, token=SECRET) as server:
        kubeconfig, file = str(server.kubeconfig(tmp_path / "kc", token=SECRET)), tmp_path / "s.json"
        runs = [
            dractl("snapshot", "save", str(file), "--kubeconfig", kubeconfig, "--debug"),
            dractl("diagnose", "-o", "json", "--kubeconfig", kubeconfig),
            dractl("explain", "claim", "nope", "--kubeconfig", kubeconfig, "--debug"),
        ]
        server.faults = lambda path, params: Fault(cut=5)
        runs.append(dractl(*DEVICES, "--kubeconfig", kubeconfig, "--debug"))
        server.faults = lambda path, params: Fault(raw=b"nonsense")
        runs.append(dractl(*DEVICES, "--kubeconfig", kubeconfig, "--debug"))
        assert [run.code for run in runs] == [0, 1, 2, 3, 3]
        assert all(SECRET in headers["authorization"] for *_, headers in server.requests)
    for text in [file.read_text(), *(run.out + run.err for run in runs)]:
        assert SECRET not in text and "Bearer" not in text


def test_impersonation(dractl, server, kubeconfig):
    asked = ("--as", "jane", "--as-group", "dev", "--as-group", "ops")
    assert dractl(*DEVICES, "--kubeconfig", kubeconfig, *asked).code == 0
    headers = server.requests[-1][3]
    assert headers["Impersonate-User"] == "jane"
    assert dractl(*DEVICES, "--kubeconfig", kubeconfig).code == 0
    assert "Impersonate-User" not in server.requests[-1][3]
