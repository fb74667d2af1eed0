"""A small API server on loopback: discovery, lists with real pages and continue tokens, and faults on demand.

It serves the objects of a recorded state. What it does with a request can be changed by ``faults``: a function of the
path and the parameters that returns None, or a ``Fault``.
"""

from __future__ import annotations

import base64
import json
import ssl
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

PLURALS = {
    "ResourceSlice": ("resource.k8s.io", "resourceslices", False),
    "DeviceClass": ("resource.k8s.io", "deviceclasses", False),
    "ResourceClaim": ("resource.k8s.io", "resourceclaims", True),
    "ResourceClaimTemplate": ("resource.k8s.io", "resourceclaimtemplates", True),
    "DeviceTaintRule": ("resource.k8s.io", "devicetaintrules", False),
    "Pod": ("", "pods", True),
    "Node": ("", "nodes", False),
    "Namespace": ("", "namespaces", False),
    "Event": ("", "events", True),
    "DaemonSet": ("apps", "daemonsets", True),
    "ResourceQuota": ("", "resourcequotas", True),
    "ClusterRole": ("rbac.authorization.k8s.io", "clusterroles", False),
    "ClusterRoleBinding": ("rbac.authorization.k8s.io", "clusterrolebindings", False),
    "ResourcePoolStatusRequest": ("resource.k8s.io", "resourcepoolstatusrequests", False),
}


REASONS = {401: "Unauthorized", 403: "Forbidden", 410: "Expired", 429: "TooManyRequests", 500: "InternalError"}


@dataclass(slots=True)
class Fault:
    """Instead of the right answer: a status with a message, ``cut`` after so many bytes, ``raw`` bytes, or, after
    ``delay`` seconds, the right one.
    """

    status: int = 0
    message: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    cut: int | None = None
    raw: bytes | None = None
    delay: float = 0.0


Faults = Callable[[str, dict[str, str]], Fault | None]


class ApiServer:
    """Serves ``objects``. ``requests`` keeps (method, path, parameters, headers) of everything that was asked;
    ``allowed`` answers access reviews, ``on_create`` may change what is created.
    """

    def __init__(self, objects: Iterable[dict[str, Any]], version: str = "v1.36.2", token: str = "") -> None:
        self.objects = list(objects)
        self.version = version
        self.token = token
        self.faults: Faults = lambda path, params: None
        self.allowed: Callable[[str, str, str | None], bool] = lambda verb, resource, namespace: True
        self.on_create: Callable[[str, dict[str, Any]], dict[str, Any]] = lambda path, body: body
        self.requests: list[tuple[str, str, dict[str, str], dict[str, str]]] = []
        self.singles: dict[str, dict[str, Any]] = {}
        self._lists: dict[str, list[dict[str, Any]]] = {}
        self._served: dict[str, dict[str, tuple[str, bool]]] = {}
        self._index()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        # clients that give up are part of the tests
        self._server.handle_error = lambda request, client_address: None
        self.scheme = "http"

    def use_tls(self, certificate: Path, key: Path) -> None:
        """Serve HTTPS with this certificate; before ``start``."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self.scheme = "https"

    @property
    def url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> ApiServer:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def kubeconfig(self, path: Path, namespace: str = "default", token: str = "", ca: Path | None = None) -> Path:
        """Write a kubeconfig for this server."""
        cluster: dict[str, Any] = {"server": self.url}
        if ca is not None:
            cluster["certificate-authority-data"] = base64.b64encode(ca.read_bytes()).decode()
        user = {"token": token} if token else {}
        body = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "test",
            "clusters": [{"name": "test", "cluster": cluster}],
            "users": [{"name": "test", "user": user}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test", "namespace": namespace}}],
        }
        path.write_text(json.dumps(body))
        return path

    def _index(self) -> None:
        for body in self.objects:
            group, plural, namespaced = PLURALS[body["kind"]]
            version = body["apiVersion"].rpartition("/")[2]
            base = f"/apis/{group}/{version}" if group else f"/api/{version}"
            if group:
                self._served.setdefault(f"{group}/{version}", {})[plural] = (body["kind"], namespaced)
            item = {key: value for key, value in body.items() if key not in ("kind", "apiVersion")}
            self._lists.setdefault(f"{base}/{plural}", []).append(item)
            if namespaced:
                namespace = body["metadata"]["namespace"]
                self._lists.setdefault(f"{base}/namespaces/{namespace}/{plural}", []).append(item)

    def lists(self, plural: str) -> list[dict[str, Any]]:
        """The listed objects of one resource, to be changed in place."""
        return [item for path, items in self._lists.items() if path.endswith("/" + plural) for item in items]

    def answer(self, path: str, params: dict[str, str]) -> tuple[int, Any]:
        """Status and JSON of one request."""
        if path == "/version":
            return 200, {"gitVersion": self.version}
        parts = path.strip("/").split("/")
        if parts[0] == "apis" and len(parts) == 2:
            versions = sorted(name.partition("/")[2] for name in self._served if name.startswith(parts[1] + "/"))
            if not versions:
                return 404, status(404, "NotFound", "the server could not find the requested resource")
            return 200, {"kind": "APIGroup", "name": parts[1], "versions": [{"version": v} for v in versions]}
        if parts[0] == "apis" and len(parts) == 3:
            kinds = self._served.get(f"{parts[1]}/{parts[2]}", {})
            resources = [
                {"name": plural, "kind": kind, "namespaced": spaced} for plural, (kind, spaced) in kinds.items()
            ]
            return 200, {"kind": "APIResourceList", "resources": resources}
        if path in self.singles:
            return 200, self.singles[path]
        if path not in self._lists:
            known = any(path.endswith("/" + plural) for _, plural, _ in PLURALS.values())
            if not known:
                return 404, status(404, "NotFound", "the server could not find the requested resource")
        return 200, self._page(self._lists.get(path, []), params)

    def accept(self, path: str, body: dict[str, Any]) -> tuple[int, Any]:
        """Status and JSON of a POST: an access review is answered, anything else kept."""
        if path.endswith("/selfsubjectaccessreviews"):
            asked = body["spec"]["resourceAttributes"]
            resource = "/".join(part for part in (asked["resource"], asked.get("subresource")) if part)
            allowed = self.allowed(asked["verb"], resource, asked.get("namespace"))
            return 201, {**body, "status": {"allowed": allowed}}
        made = self.on_create(path, body)
        self.singles[f"{path}/{made['metadata']['name']}"] = made
        return 201, made

    def remove(self, path: str) -> tuple[int, Any]:
        """Status and JSON of a DELETE."""
        return (200, self.singles.pop(path)) if path in self.singles else (404, status(404, "NotFound", "gone"))

    def _page(self, items: list[dict[str, Any]], params: dict[str, str]) -> Any:
        limit = int(params.get("limit") or 0)
        start = int(params.get("continue") or 0)
        end = start + limit if limit else len(items)
        meta = {"resourceVersion": "100"}
        if end < len(items):
            meta["continue"] = str(end)
        return {"metadata": meta, "items": items[start:end]}

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                self._serve("GET")

            def do_DELETE(self) -> None:
                self._serve("DELETE")

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)))
                self._serve("POST", body)

            def _serve(self, method: str, sent: dict[str, Any] | None = None) -> None:
                split = urlsplit(self.path)
                params = dict(parse_qsl(split.query))
                server.requests.append((method, split.path, params, dict(self.headers)))
                fault = server.faults(split.path, params)
                if fault is not None and fault.delay:
                    time.sleep(fault.delay)
                if server.token and self.headers.get("authorization") != f"Bearer {server.token}":
                    fault = Fault(401, "Unauthorized")
                if fault is not None and fault.status:
                    answer = status(fault.status, REASONS.get(fault.status, ""), fault.message)
                    self._send(fault.status, answer, fault.headers)
                    return
                if method == "DELETE":
                    code, body = server.remove(split.path)
                elif sent is not None:
                    code, body = server.accept(split.path, sent)
                else:
                    code, body = server.answer(split.path, params)
                self._send(code, body, {}, fault)

            def _send(self, code: int, body: Any, headers: dict[str, str], fault: Fault | None = None) -> None:
                data = json.dumps(body).encode()
                if fault is not None and fault.raw is not None:
                    data = fault.raw
                self.send_response(code)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                for name, value in headers.items():
                    self.send_header(name, value)
                self.end_headers()
                if fault is not None and fault.cut is not None:
                    self.wfile.write(data[: fault.cut])
                    self.close_connection = True
                    self.wfile.flush()
                    self.connection.close()
                    return
                self.wfile.write(data)

            def log_message(self, *_: Any) -> None:
                return

        return Handler


def status(code: int, reason: str, message: str) -> dict[str, Any]:
    """A Status object as the API server sends it with an error."""
    body = {"kind": "Status", "apiVersion": "v1", "status": "Failure"}
    return {**body, "code": code, "reason": reason, "message": message}
