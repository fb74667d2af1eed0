"""``dractl discover --serve``: the report of this node over HTTP, read-only, for ``dractl diagnose hardware``."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from dractl.errors import DractlError

_AT_ONCE = 8
"""Requests that are answered at one time; more are told to come back."""
_PATIENCE = 10.0
"""Seconds that a client may take to send its request or to take the answer."""
_JSON, _TEXT = "application/json", "text/plain; charset=utf-8"


class Agent:
    """Looks at the host again and again. After a failure the last report stays; its time tells how old it is."""

    def __init__(
        self, read: Callable[[], dict[str, Any]], interval: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._read = read
        self._interval = interval
        self._clock = clock
        self._lock = threading.Lock()
        self._body = b""
        self._at: float | None = None
        self.problem = "nothing was read yet"
        self._stop = threading.Event()

    def refresh(self) -> bool:
        """Look once; whether that succeeded."""
        try:
            report = self._read()
        except DractlError as error:
            with self._lock:
                self.problem = error.message
            return False
        data = (json.dumps(report, separators=(",", ":")) + "\n").encode()
        with self._lock:
            self._body, self._at, self.problem = data, self._clock(), ""
        return True

    def answer(self, path: str) -> tuple[int, bytes, str]:
        """Status, body and content type for a path."""
        with self._lock:
            body, at, problem = self._body, self._at, self.problem
        if path == "/report":
            return (200, body, _JSON) if body else (503, f"no report: {problem}\n".encode(), _TEXT)
        if path == "/healthz":
            fresh = at is not None and self._clock() - at < 3 * self._interval
            return (200, b"ok\n", _TEXT) if fresh else (503, f"stale: {problem or 'too old'}\n".encode(), _TEXT)
        return 404, b"see /report\n", _TEXT

    def run(self) -> None:
        """Refresh until ``stop``."""
        while not self._stop.is_set():
            self.refresh()
            self._stop.wait(self._interval)

    def stop(self) -> None:
        """End ``run`` at its next wait."""
        self._stop.set()


def server(agent: Agent, host: str, port: int) -> ThreadingHTTPServer:
    """The HTTP server, not yet serving. It answers GET and HEAD, and reads no body.

    Raises:
        DractlError: the address cannot be used.
    """
    places = threading.BoundedSemaphore(_AT_ONCE)

    class Handler(BaseHTTPRequestHandler):
        timeout = _PATIENCE
        server_version, sys_version = "dractl", ""

        def do_GET(self) -> None:
            self._answer(True)

        def do_HEAD(self) -> None:
            self._answer(False)

        def _answer(self, body: bool) -> None:
            if not places.acquire(blocking=False):
                self._send(503, b"busy\n", _TEXT, body)
                return
            try:
                self._send(*agent.answer(self.path.partition("?")[0]), body)
            finally:
                places.release()

        def _send(self, code: int, data: bytes, kind: str, body: bool) -> None:
            self.send_response(code)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(data)))
            self.send_header("X-Content-Type-Options", "nosniff")
            self.end_headers()
            if body:
                self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            return

    try:
        made = ThreadingHTTPServer((host, port), Handler)
    except OSError as error:
        raise DractlError(f"cannot listen on {host}:{port}: {error.strerror}", "Choose another --serve.") from None
    made.daemon_threads = True
    return made


def serve(agent: Agent, host: str, port: int, say: Callable[[str], None]) -> None:
    """Serve until interrupted."""
    http = server(agent, host, port)
    say(f"serving http://{host}:{http.server_address[1]}/report")
    threading.Thread(target=agent.run, daemon=True).start()
    try:
        http.serve_forever()
    finally:
        agent.stop()
        http.server_close()


def address(text: str) -> tuple[str, int]:
    """``:9431``, ``127.0.0.1:9431``, ``[::1]:9431`` as host and port; without a host all addresses of IPv4.

    Raises:
        DractlError: for anything else.
    """
    host, _, port = text.rpartition(":")
    if not port.isdigit() or not 0 <= int(port) < 65536:
        raise DractlError(f"--serve {text}: is not HOST:PORT", "Give it as 127.0.0.1:9431 or :9431.")
    return host.strip("[]") or "0.0.0.0", int(port)
