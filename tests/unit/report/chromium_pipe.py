"""A headless Chromium, driven over its debugging pipe: no port, no driver, no network.

The DevTools protocol over ``--remote-debugging-pipe``: JSON messages that end with a zero byte,
read by the browser from descriptor 3 and written to descriptor 4.
"""

from __future__ import annotations

import base64
import itertools
import json
import os
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

ANSWER_WITHIN_S = 60.0
SETTLE_S = 20.0

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-dev-shm-usage",
    "--disable-sync",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)

_LAUNCH = """
import fcntl, os, sys
ends = [fcntl.fcntl(int(end), fcntl.F_DUPFD, 10) for end in sys.argv[1:3]]
os.dup2(ends[0], 3)
os.dup2(ends[1], 4)
os.execv(sys.argv[3], sys.argv[3:])
"""
"""Gives the two pipes the numbers that the browser expects; above 9 first, so that neither
overwrites the other."""

Scheme = Literal["light", "dark"]


def find_chromium() -> str | None:
    """The first browser of the family on the PATH."""
    return next((path for name in _NAMES if (path := shutil.which(name))), None)


class Page:
    """One tab. Everything that the console or the log says is kept in ``complaints``."""

    def __init__(self, to_browser: int, from_browser: int) -> None:
        self._write, self._read = to_browser, from_browser
        self._numbers = itertools.count(1)
        self._buffer = b""
        self._session: str | None = None
        self.events: list[dict[str, Any]] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def open(self, path: Path, *, width: int, scheme: Scheme = "light") -> None:
        """Loads a file at a window of ``width`` px and waits until it is there."""
        self.events.clear()
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=900,
            deviceScaleFactor=1,
            mobile=False,
        )
        feature = {"name": "prefers-color-scheme", "value": scheme}
        self.call("Emulation.setEmulatedMedia", features=[feature])
        self.call("Page.navigate", url=path.as_uri())
        self._wait_for("Page.loadEventFired")

    def evaluate(self, expression: str) -> Any:
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in answer:
            raise AssertionError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def press(self, key: str) -> None:
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key)

    def screenshot(self, path: Path) -> None:
        """The whole page, not only the window."""
        answer = self.call("Page.captureScreenshot", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(answer["data"]))

    @property
    def complaints(self) -> list[str]:
        wanted = ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded")
        return [json.dumps(each) for each in self.events if each["method"] in wanted]

    @property
    def requests(self) -> list[str]:
        """What the page asked for, itself included."""
        return [
            event["params"]["request"]["url"]
            for event in self.events
            if event["method"] == "Network.requestWillBeSent"
        ]

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        number = next(self._numbers)
        message: dict[str, Any] = {"id": number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        deadline_s = time.monotonic() + ANSWER_WITHIN_S
        while (answer := self._next(deadline_s)).get("id") != number:
            self.events.append(answer)
        if "error" in answer:
            raise AssertionError(f"{method}: {answer['error']}")
        result: dict[str, Any] = answer["result"]
        return result

    def _wait_for(self, method: str) -> None:
        deadline_s = time.monotonic() + SETTLE_S
        while not any(event["method"] == method for event in self.events):
            self.events.append(self._next(deadline_s))

    def _next(self, deadline_s: float) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            left_s = deadline_s - time.monotonic()
            if left_s <= 0 or not select.select([self._read], [], [], left_s)[0]:
                raise TimeoutError("Chromium did not answer")
            part = os.read(self._read, 1 << 20)
            if not part:
                raise ConnectionError("Chromium ended")
            self._buffer += part
        message, self._buffer = self._buffer.split(b"\0", 1)
        found: dict[str, Any] = json.loads(message)
        return found


@contextmanager
def chromium_page(binary: str, profile: Path) -> Iterator[Page]:
    """A browser of its own with an empty profile; ended, with its children, on exit."""
    browser_reads, to_browser = os.pipe()
    from_browser, browser_writes = os.pipe()
    arguments = [binary, *_FLAGS, f"--user-data-dir={profile}"]
    process = subprocess.Popen(
        [sys.executable, "-c", _LAUNCH, str(browser_reads), str(browser_writes), *arguments],
        pass_fds=(browser_reads, browser_writes),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(browser_reads)
    os.close(browser_writes)
    try:
        yield Page(to_browser, from_browser)
    finally:
        os.close(to_browser)
        os.close(from_browser)
        _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    """A browser whose pipe is gone ends by itself."""
    try:
        process.wait(timeout=SETTLE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
