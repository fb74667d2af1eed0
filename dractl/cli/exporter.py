"""The HTTP server of ``dractl metrics``: the last good reading, and how fresh it is."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from dractl.errors import DractlError
from dractl.metrics import catalogue
from dractl.metrics.families import Family

OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"
PLAIN = "text/plain; version=0.0.4; charset=utf-8"


class Exporter:
    """Reads the cluster again and again. After a failure the last good numbers stay, and their age is told."""

    def __init__(
        self, read: Callable[[], list[Family]], interval: float, clock: Callable[[], float] = time.time
    ) -> None:
        self._read = read
        self._interval = interval
        self._clock = clock
        self._lock = threading.Lock()
        self._families: list[Family] = []
        self._timestamp = 0.0
        self._duration = 0.0
        self._errors = 0
        self.problem = "nothing was read yet"
        self._stop = threading.Event()

    def refresh(self) -> bool:
        """Read once; whether it succeeded."""
        begun = self._clock()
        try:
            found = self._read()
        except DractlError as error:
            with self._lock:
                self._errors += 1
                self.problem = error.message
            return False
        with self._lock:
            self._families = found
            self._timestamp = self._clock()
            self._duration = self._timestamp - begun
            self.problem = ""
        return True

    def families(self) -> list[Family]:
        """The last good reading and the exporter's own numbers."""
        with self._lock:
            own = [
                Family(catalogue.READ_TIME, {(): self._timestamp}),
                Family(catalogue.READ_DURATION, {(): self._duration}),
                Family(catalogue.READ_ERRORS, {(): float(self._errors)}),
            ]
            return [*self._families, *own]

    @property
    def healthy(self) -> bool:
        """Whether the last good reading is younger than three intervals."""
        with self._lock:
            return self._timestamp > 0 and self._clock() - self._timestamp < 3 * self._interval

    def run(self) -> None:
        """Refresh until ``stop``."""
        while not self._stop.is_set():
            self.refresh()
            self._stop.wait(self._interval)

    def stop(self) -> None:
        """End ``run`` at its next wait."""
        self._stop.set()


def server(exporter: Exporter, host: str, port: int) -> ThreadingHTTPServer:
    """The HTTP server, not yet serving.

    Raises:
        DractlError: the address cannot be used.
    """
    from dractl.render.openmetrics import to_text

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            if path == "/metrics":
                wants = "application/openmetrics-text" in (self.headers.get("Accept") or "")
                self._send(200, to_text(exporter.families(), wants), OPENMETRICS if wants else PLAIN)
            elif path == "/healthz":
                good = exporter.healthy
                text = "ok\n" if good else f"stale: {exporter.problem or 'the last reading is too old'}\n"
                self._send(200 if good else 503, text.encode(), "text/plain; charset=utf-8")
            else:
                self._send(404, b"see /metrics\n", "text/plain; charset=utf-8")

        def _send(self, code: int, data: bytes, kind: str) -> None:
            self.send_response(code)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            return

    try:
        return ThreadingHTTPServer((host, port), Handler)
    except OSError as error:
        raise DractlError(f"cannot listen on {host}:{port}: {error.strerror}", "Choose another --listen.") from None


def serve(exporter: Exporter, host: str, port: int) -> None:
    """Serve until interrupted."""
    http = server(exporter, host, port)
    threading.Thread(target=exporter.run, daemon=True).start()
    try:
        http.serve_forever()
    finally:
        exporter.stop()
        http.server_close()
