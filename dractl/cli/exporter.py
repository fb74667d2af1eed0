"""The HTTP server of ``dractl metrics``: the last good numbers, and how fresh they are."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

from dractl.cli.following import Following, Health, problem_of
from dractl.errors import DractlError
from dractl.metrics import catalogue
from dractl.metrics.bounds import MOST, bounded
from dractl.metrics.families import Family

if TYPE_CHECKING:
    from dractl.inventory import Inventory

OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"
PLAIN = "text/plain; version=0.0.4; charset=utf-8"
REST = 4
"""After computing, so many times as long nothing is computed: a large cluster changes all the time."""
RENEW = 5
"""After so many intervals everything is computed anew even if nothing changed: some findings depend on the time."""


class Exporter:
    """Computes the numbers after changes, and ages every ``interval`` seconds.

    After a failure the last good numbers stay, and their age is told. ``compute`` makes the numbers of an inventory,
    ``ages`` those that grow by themselves.
    """

    def __init__(
        self,
        following: Following,
        compute: Callable[[Inventory], list[Family]],
        ages: Callable[[Inventory, float], list[Family]],
        interval: float,
        most: int = MOST,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._following = following
        self._compute = compute
        self._ages = ages
        self._interval = interval
        self._most = most
        self._clock = clock
        self._lock = threading.Lock()
        self._inventory: Inventory | None = None
        self._families: dict[str, Family] = {}
        self._health = Health(0.0)
        self._computed = 0.0
        self._duration = 0.0
        self._errors = 0
        self.problem = "nothing was read yet"
        self._stop = threading.Event()

    def refresh(self, changed: bool = True) -> bool:
        """Bring the numbers up to date; whether they are now. Without a change only ages are computed, and freshness.

        The health is asked before the objects: they are at least as new as it says.
        """
        begun = self._clock()
        try:
            if self._inventory is not None:
                health = self._following.health()
            if changed or self._inventory is None or begun - self._computed >= RENEW * self._interval:
                first = self._inventory is None
                found = self._following.look()
                if first:
                    health = self._following.health()
                families = self._compute(found)
                self._inventory, self._computed = found, begun
                self._duration = self._clock() - begun
            else:
                families = self._ages(self._inventory, begun)
        except Exception as error:  # the thread that refreshes must not die
            with self._lock:
                self._errors += 1
                self.problem = problem_of(error)
            return False
        with self._lock:
            self._families |= {family.definition.name: family for family in bounded(families, self._most)}
            self._health, self.problem = health, health.problem
            self._errors += bool(health.problem)
        return not health.problem

    def families(self) -> list[Family]:
        """The last good numbers and the exporter's own."""
        from dractl import __version__

        with self._lock:
            own = [
                Family(catalogue.READ_TIME, {(): self._health.as_of}),
                Family(catalogue.KIND_TIME, {(kind,): at for kind, at in sorted(self._health.kinds.items())}),
                Family(catalogue.READ_DURATION, {(): self._duration}),
                Family(catalogue.READ_ERRORS, {(): float(self._errors)}),
                Family(catalogue.INFO, {(__version__,): 1.0}),
            ]
            return [*self._families.values(), *own]

    @property
    def healthy(self) -> bool:
        """Whether the numbers are right as of less than three intervals ago."""
        with self._lock:
            return self._health.as_of > 0 and self._clock() - self._health.as_of < 3 * self._interval

    def run(self) -> None:
        """Refresh until ``stop``."""
        while not self._stop.is_set():
            changed = self._following.wait(self._interval)
            if self._stop.is_set():
                return
            self.refresh(changed)
            if changed:
                self._stop.wait(min(self._interval, max(5.0, REST * self._duration)))

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
        timeout = 30

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

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request: object, client_address: object) -> None:
            """A scraper that went away is no fault of ours."""

    try:
        if ":" in host:
            import socket

            Server.address_family = socket.AF_INET6
        return Server((host, port), Handler)
    except OSError as error:
        raise DractlError(f"cannot listen on {host}:{port}: {error.strerror}", "Choose another --listen.") from None


def serve(exporter: Exporter, http: ThreadingHTTPServer) -> None:
    """Serve until interrupted, or ended by SIGTERM as a pod is."""
    import signal
    from types import FrameType

    def ended(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, ended)
    threading.Thread(target=exporter.run, daemon=True).start()
    try:
        http.serve_forever()
    except KeyboardInterrupt:
        return
    finally:
        signal.signal(signal.SIGTERM, before)
        exporter.stop()
        http.server_close()
