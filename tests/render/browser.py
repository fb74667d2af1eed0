"""A headless Chromium, driven through its DevTools protocol; only what the tests of the HTML report need."""

from __future__ import annotations

import base64
import json
import subprocess
import time
from pathlib import Path

import websocket


class Browser:
    """One tab. ``faults`` collects errors and warnings of the console and of the page's policy."""

    def __init__(self, program: str, folder: Path, width: int = 1400, height: int = 1000) -> None:
        self.process = subprocess.Popen(
            [
                program,
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--hide-scrollbars",
                "--remote-debugging-port=0",
                "--remote-allow-origins=*",
                f"--user-data-dir={folder}",
                f"--window-size={width},{height}",
                "about:blank",
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.faults: list[str] = []
        self.requests: list[str] = []
        self._number = 0
        port, path = self._address(folder / "DevToolsActivePort")
        self._socket = websocket.create_connection(f"ws://127.0.0.1:{port}{path}", timeout=60)
        self._session = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.size(width, height)

    def _address(self, file: Path) -> tuple[str, str]:
        for _ in range(300):
            if file.exists() and len(words := file.read_text().split()) == 2:
                return words[0], words[1]
            time.sleep(0.1)
        self.close()
        raise RuntimeError("chromium did not start")

    def call(self, method: str, **parameters):
        """One command; events that arrive meanwhile are noted."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        self._socket.send(json.dumps(message))
        while True:
            answer = json.loads(self._socket.recv())
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                return answer["result"]
            self._note(answer)

    def _note(self, event) -> None:
        method, data = event.get("method"), event.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.faults.append(json.dumps(data["exceptionDetails"]))
        elif method == "Runtime.consoleAPICalled" and data["type"] in ("error", "warning", "assert"):
            self.faults.append(json.dumps(data["args"]))
        elif method == "Log.entryAdded" and data["entry"]["level"] in ("error", "warning"):
            self.faults.append(data["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(data["request"]["url"])

    def open(self, file: Path) -> None:
        """Load a file and wait until the page's script has run."""
        self.call("Page.navigate", url=file.as_uri())
        self.wait("document.readyState === 'complete' && location.protocol === 'file:'")

    def ask(self, expression: str):
        """The value of an expression in the page."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def wait(self, expression: str) -> None:
        """Until an expression is true."""
        for _ in range(600):
            if self.ask(expression):
                return
            time.sleep(0.05)
        raise AssertionError(f"never true: {expression}")

    def size(self, width: int, height: int = 1000) -> None:
        """The size of the window."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def scheme(self, name: str) -> None:
        """What the system prefers: light or dark."""
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": name}])

    def press(self, key: str, code: int) -> None:
        """One key, as from a keyboard."""
        text = "\r" if key == "Enter" else ""
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code, text=text)

    def picture(self, file: Path) -> None:
        """A screenshot of the window."""
        file.write_bytes(base64.b64decode(self.call("Page.captureScreenshot")["data"]))

    def close(self) -> None:
        """End the browser."""
        self.process.terminate()
        self.process.wait(20)
