"""A real control plane on loopback: etcd and kube-apiserver from a folder, with certificates of their own."""

from __future__ import annotations

import base64
import json
import signal
import socket
import ssl
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

START_SECONDS = 120
ADMIN, PARTIAL, NOBODY = "admin-token-5e1f", "partial-token-77ab", "nobody-token-90cd"
TOKENS = f"""{ADMIN},admin,u1,"system:masters"
{PARTIAL},partial,u2,"some"
{NOBODY},nobody,u3,"none"
"""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class ControlPlane:
    """``start`` and ``stop``; in between ``request`` asks as an administrator and ``kubeconfig`` writes one."""

    def __init__(self, assets: Path, folder: Path) -> None:
        self.assets = assets
        self.folder = folder
        self.port = free_port()
        self.url = f"https://127.0.0.1:{self.port}"
        self._processes: list[tuple[str, subprocess.Popen[bytes]]] = []

    def start(self) -> None:
        self._certificates()
        clients, peers = (f"http://127.0.0.1:{free_port()}" for _ in range(2))
        self._run("etcd", "--data-dir", str(self.folder / "etcd"), "--listen-client-urls", clients,
                  "--advertise-client-urls", clients, "--listen-peer-urls", peers,
                  "--initial-advertise-peer-urls", peers, "--initial-cluster", f"default={peers}")  # fmt: skip
        pki = self.folder
        (pki / "tokens.csv").write_text(TOKENS)
        self._run(
            "kube-apiserver", f"--etcd-servers={clients}", f"--secure-port={self.port}", "--bind-address=127.0.0.1",
            "--advertise-address=127.0.0.1", f"--cert-dir={pki}", f"--tls-cert-file={pki}/server.crt",
            f"--tls-private-key-file={pki}/server.key", f"--client-ca-file={pki}/ca.crt",
            f"--token-auth-file={pki}/tokens.csv", f"--service-account-key-file={pki}/sa.key",
            f"--service-account-signing-key-file={pki}/sa.key",
            "--service-account-issuer=https://kubernetes.default.svc", "--service-cluster-ip-range=10.0.0.0/24",
            "--authorization-mode=RBAC", "--runtime-config=api/beta=true", "--feature-gates=AllBeta=true",
            # pods need no service account, and nodes that no kubelet reports on keep their taints as written
            "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition",
        )  # fmt: skip
        self._wait()

    def start_scheduler(self) -> None:
        """Start kube-scheduler with the gates of its release, and let it rest until ``scheduling``."""
        configuration = self.kubeconfig(self.folder / "scheduler.kubeconfig")
        port = free_port()
        self._run("kube-scheduler", f"--kubeconfig={configuration}", "--leader-elect=false", f"--secure-port={port}",
                  "--bind-address=127.0.0.1", f"--authentication-kubeconfig={configuration}",
                  f"--authorization-kubeconfig={configuration}", f"--cert-dir={self.folder}/scheduler")  # fmt: skip
        end = time.monotonic() + START_SECONDS
        while "Caches populated" not in self._log("kube-scheduler", 10_000) and time.monotonic() < end:
            if self._processes[-1][1].poll() is not None:
                raise RuntimeError(f"kube-scheduler ended:\n{self._log('kube-scheduler')}")
            time.sleep(0.2)
        self.rest()

    def rest(self) -> None:
        """Stop the scheduler where it is: nothing is scheduled meanwhile."""
        self._processes[-1][1].send_signal(signal.SIGSTOP)

    @contextmanager
    def scheduling(self) -> Iterator[None]:
        """Let the scheduler work in between."""
        self._processes[-1][1].send_signal(signal.SIGCONT)
        try:
            yield
        finally:
            self.rest()

    def stop(self) -> None:
        for _, process in self._processes:
            process.send_signal(signal.SIGCONT)
        for _, process in reversed(self._processes):
            process.terminate()
        for _, process in reversed(self._processes):
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def request(self, method: str, path: str, body: Any = None, token: str = ADMIN) -> Any:
        """JSON of an answer; raises urllib's HTTPError with the server's text."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        asked = urllib.request.Request(self.url + path, data, headers, method=method)
        context = ssl.create_default_context(cafile=str(self.folder / "ca.crt"))
        try:
            with urllib.request.urlopen(asked, timeout=30, context=context) as answer:
                content = answer.read()
        except urllib.error.HTTPError as error:
            raise RuntimeError(f"{method} {path}: {error.code} {error.read().decode(errors='replace')[:600]}") from None
        return json.loads(content) if content.startswith(b"{") else content.decode()

    def kubeconfig(self, file: Path, token: str = "", namespace: str = "default") -> str:
        """Write a kubeconfig with a token, or without one with the administrator's client certificate."""
        certificates = {
            "client-certificate-data": self._encoded("admin.crt"), "client-key-data": self._encoded("admin.key")
        }  # fmt: skip
        user = {"token": token} if token else certificates
        cluster = {"server": self.url, "certificate-authority-data": self._encoded("ca.crt")}
        file.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "real",
            "clusters": [{"name": "real", "cluster": cluster}], "users": [{"name": "me", "user": user}],
            "contexts": [{"name": "real", "context": {"cluster": "real", "user": "me", "namespace": namespace}}],
        }))  # fmt: skip
        return str(file)

    def _encoded(self, name: str) -> str:
        return base64.b64encode((self.folder / name).read_bytes()).decode()

    def _run(self, program: str, *arguments: str) -> None:
        log = (self.folder / f"{program}.log").open("wb")
        process = subprocess.Popen([self.assets / program, *arguments], stdout=log, stderr=log, cwd=self.folder)
        self._processes.append((program, process))

    def _wait(self) -> None:
        end = time.monotonic() + START_SECONDS
        last = ""
        while time.monotonic() < end:
            for program, process in self._processes:
                if process.poll() is not None:
                    raise RuntimeError(f"{program} ended with {process.returncode}:\n{self._log(program)}")
            try:
                if self.request("GET", "/readyz") == "ok":
                    return
            except (OSError, RuntimeError) as error:
                last = str(error)
            time.sleep(0.5)
        raise RuntimeError(f"not ready after {START_SECONDS} s: {last}\n{self._log('kube-apiserver')}")

    def _log(self, program: str, lines: int = 25) -> str:
        return "\n".join((self.folder / f"{program}.log").read_text(errors="replace").splitlines()[-lines:])

    def _certificates(self) -> None:
        self._openssl("genrsa", "-out", "sa.key", "2048")
        self._openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=test-ca",
                      "-keyout", "ca.key", "-out", "ca.crt")  # fmt: skip
        for name, subject, extension in (
            ("server", "/CN=kube-apiserver", "subjectAltName=IP:127.0.0.1,DNS:localhost"),
            ("admin", "/O=system:masters/CN=admin-by-certificate", "extendedKeyUsage=clientAuth"),
        ):
            self._openssl("req", "-newkey", "rsa:2048", "-nodes", "-subj", subject, "-keyout", f"{name}.key",
                          "-out", f"{name}.csr")  # fmt: skip
            (self.folder / f"{name}.ext").write_text(extension + "\n")
            self._openssl("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial",
                          "-days", "2", "-extfile", f"{name}.ext", "-out", f"{name}.crt")  # fmt: skip

    def _openssl(self, *arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=self.folder, check=True, capture_output=True)
