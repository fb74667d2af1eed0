"""A small API server on loopback: discovery, lists with real pages and continue tokens, watches, and faults on demand.

It serves the objects of a recorded state. What it does with a request can be changed by ``faults``: a function of the
path and the parameters that returns None, or a ``Fault``. ``put`` and ``take_away`` change the state and tell watches;
``forget`` makes older resourceVersions answer 410, ``cut_watches`` breaks their connections off.
"""

from __future__ import annotations

import base64
import json
import socket
import ssl
import threading
import time
import urllib.request
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
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
    ``delay`` seconds, the right one. A watch that is cut is cut within its first event.
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

    def __init__(
        self, objects: Iterable[dict[str, Any]], version: str = "v1.36.2", token: str = "", port: int = 0
    ) -> None:
        self.objects = list(objects)
        self.version = version
        self.token = token
        self.faults: Faults = lambda path, params: None
        self.allowed: Callable[[str, str, str | None], bool] = lambda verb, resource, namespace: True
        self.on_create: Callable[[str, dict[str, Any]], dict[str, Any]] = lambda path, body: body
        self.requests: list[tuple[str, str, dict[str, str], dict[str, str]]] = []
        self.singles: dict[str, dict[str, Any]] = {}
        self.proxies: dict[str, bytes | str] = {}
        """What the pod proxy passes on, by the pod's name: bytes, or the address of a server to ask."""
        self._lists: dict[str, list[dict[str, Any]]] = {}
        self._served: dict[str, dict[str, tuple[str, bool]]] = {}
        self.now = 100
        self.bookmark_every = 60.0
        self.open_watches = 0
        self.bookmarked: dict[str, int] = {}
        self._events: list[tuple[int, str, str, dict[str, Any]]] = []
        self._forgotten = 0
        self._cuts = 0
        self._moved = threading.Condition()
        self._index()
        self._server = ThreadingHTTPServer(("127.0.0.1", port), self._handler())
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
        self.cut_watches()
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

    def put(self, body: dict[str, Any]) -> None:
        """Add an object, or replace the one of its name, and tell watches."""
        path, item = self._placed(body)
        with self._moved:
            self.now += 1
            item["metadata"] = {**item["metadata"], "resourceVersion": str(self.now)}
            kind = "MODIFIED" if self._drop(path, item) else "ADDED"
            for listed in self._paths(path, item):
                self._lists.setdefault(listed, []).append(item)
            self._events.append((self.now, path, kind, item))
            self._moved.notify_all()

    def take_away(self, body: dict[str, Any]) -> None:
        """Delete an object, and tell watches."""
        path, item = self._placed(body)
        with self._moved:
            self.now += 1
            item["metadata"] = {**item["metadata"], "resourceVersion": str(self.now)}
            self._drop(path, item)
            self._events.append((self.now, path, "DELETED", item))
            self._moved.notify_all()

    def forget(self) -> None:
        """Compact: watches from before now get 410."""
        with self._moved:
            self._forgotten = self.now
            self._events.clear()

    def cut_watches(self) -> None:
        """Break off the connections of all watches."""
        with self._moved:
            self._cuts += 1
            self._moved.notify_all()

    def _placed(self, body: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        group, plural, _ = PLURALS[body["kind"]]
        version = body["apiVersion"].rpartition("/")[2]
        item = {key: value for key, value in body.items() if key not in ("kind", "apiVersion")}
        return f"/apis/{group}/{version}/{plural}" if group else f"/api/{version}/{plural}", item

    @staticmethod
    def _paths(path: str, item: dict[str, Any]) -> list[str]:
        base, _, plural = path.rpartition("/")
        namespace = item["metadata"].get("namespace")
        return [path, f"{base}/namespaces/{namespace}/{plural}"] if namespace else [path]

    def _drop(self, path: str, item: dict[str, Any]) -> bool:
        def same(other: dict[str, Any]) -> bool:
            return all(other["metadata"].get(key) == item["metadata"].get(key) for key in ("namespace", "name"))

        found = False
        for listed in self._paths(path, item):
            kept = [other for other in self._lists.get(listed, []) if not same(other)]
            found = found or len(kept) < len(self._lists.get(listed, []))
            self._lists[listed] = kept
        return found

    def watch(self, path: str, params: dict[str, str], write: Callable[[dict[str, Any]], None]) -> None:
        """Write the events of one watch until it is cut or its time is over."""
        seen = int(params.get("resourceVersion") or self.now)
        bookmarks = params.get("allowWatchBookmarks") == "true"
        end = time.monotonic() + float(params.get("timeoutSeconds") or 600)
        with self._moved:
            cuts = self._cuts
            if seen < self._forgotten:
                write({"type": "ERROR", "object": status(410, "Expired", "too old resource version")})
                return
            self.open_watches += 1
        try:
            while time.monotonic() < end:
                with self._moved:
                    fresh = [event for event in self._events if event[0] > seen]
                    quiet = not fresh and not self._moved.wait(min(self.bookmark_every, end - time.monotonic()))
                    if self._cuts != cuts:
                        return
                    reached = self.now
                for at, where, kind, item in fresh:
                    seen = at
                    if path in self._paths(where, item):
                        write({"type": kind, "object": item})
                if quiet and bookmarks:
                    seen = reached
                    write({"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": str(reached)}}})
                    self.bookmarked[path] = reached
        finally:
            with self._moved:
                self.open_watches -= 1

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
        meta = {"resourceVersion": str(self.now)}
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
                if params.get("watch") == "true":
                    self._watch(split.path, params, fault)
                    return
                if "/proxy/" in split.path:
                    self._pass_on(split.path, fault)
                    return
                if method == "DELETE":
                    code, body = server.remove(split.path)
                elif sent is not None:
                    code, body = server.accept(split.path, sent)
                else:
                    code, body = server.answer(split.path, params)
                self._send(code, body, {}, fault)

            def _watch(self, path: str, params: dict[str, str], fault: Fault | None) -> None:
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
                self.close_connection = True

                def write(event: dict[str, Any]) -> None:
                    data = json.dumps(event).encode() + b"\n"
                    if fault is not None and fault.cut is not None:
                        data = data[: fault.cut]
                    self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))
                    self.wfile.flush()
                    if fault is not None and fault.cut is not None:
                        self.connection.shutdown(socket.SHUT_RDWR)
                        raise ConnectionAbortedError

                server.watch(path, params, write)

            def _pass_on(self, path: str, fault: Fault | None) -> None:
                """As the pod proxy does: the pod's own answer, or 503 where it cannot be reached."""
                pod, _, rest = path.partition("/proxy/")
                found = server.proxies.get(pod.rpartition("/")[2])
                try:
                    if isinstance(found, str):
                        with urllib.request.urlopen(f"{found}/{rest}", timeout=10) as answer:
                            found = answer.read()
                except OSError:
                    found = None
                if found is None:
                    self._send(503, status(503, "ServiceUnavailable", "error trying to reach service"), {})
                else:
                    self._send(200, {}, {}, replace(fault, raw=found) if fault else Fault(raw=found))

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
