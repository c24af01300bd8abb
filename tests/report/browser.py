"""A headless Chromium, driven through ChromeDriver's own HTTP interface: no package needed."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any, Self

# How a report may be looked at; a printer has no dark paper.
VIEWS: dict[str, dict[str, Any]] = {
    "phone": {"width": 390},
    "phone, dark": {"width": 390, "dark": True},
    "desk": {"width": 1280},
    "desk, dark": {"width": 1280, "dark": True},
    "paper": {"width": 703, "media": "print"},  # A4 without its margins
}
FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--force-device-scale-factor=1",
)  # fmt: skip
AXE = Path(__file__).parents[2] / "build" / "axe" / "axe_playwright_python" / "axe.min.js"


def missing() -> str | None:
    """Why no browser can be driven here, or None."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None or shutil.which("chromedriver") is None:
        return "no Chromium with ChromeDriver on this machine; `make browser` installs them on Debian"
    return None


class Browser:
    """One session; `with Browser() as b: b.open(path)`."""

    def __enter__(self) -> Self:
        self.profile = tempfile.mkdtemp()
        self.driver = subprocess.Popen(["chromedriver", "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        assert self.driver.stdout is not None
        for line in self.driver.stdout:
            if "on port" in line and "successfully" in line:
                self.base = f"http://127.0.0.1:{line.rsplit(' ', 1)[1].strip().rstrip('.')}"
                break
        binary = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
        options = {"args": [*FLAGS, f"--user-data-dir={self.profile}"], "binary": binary}
        wanted = {"browserName": "chrome", "goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
        try:
            made = self._call("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
        except BaseException:
            self.__exit__()
            raise
        self.base += f"/session/{made['sessionId']}"
        self._call("POST", "/timeouts", {"script": 300_000})  # axe takes its time on a long page
        return self

    def __exit__(self, *_: object) -> None:
        if "/session/" in getattr(self, "base", ""):
            self._call("DELETE", "", None)
        self.driver.terminate()
        self.driver.wait(10)
        assert self.driver.stdout is not None
        self.driver.stdout.close()
        shutil.rmtree(self.profile, ignore_errors=True)

    def _call(self, method: str, path: str, body: Any) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.base + path, data, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=300) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise RuntimeError(error.read().decode()[:2000]) from None

    def open(self, path: Path, *, width: int = 1280, height: int = 900, dark: bool = False, media: str = "") -> None:
        """Load a file from disk in a window of this size; media="print" shows it as on paper."""
        self.devtools("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.devtools("Emulation.setEmulatedMedia", media=media, features=[scheme])
        self._call("POST", "/url", {"url": path.resolve().as_uri()})
        time.sleep(0.1)

    def devtools(self, command: str, **params: Any) -> Any:
        """A command of the DevTools protocol."""
        return self._call("POST", "/goog/cdp/execute", {"cmd": command, "params": params})

    def run(self, script: str, *arguments: Any) -> Any:
        """The value that a script in the page returns."""
        return self._call("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def wait(self, script: str) -> Any:
        """The value that a script hands to its last argument, a callback."""
        return self._call("POST", "/execute/async", {"script": script, "args": []})

    def serious(self) -> list[tuple[str, str, str]]:
        """What axe-core finds serious or critical in the page: the rule, how bad, and the first element."""
        self.run(AXE.read_text("utf-8") + ";window.axe = axe;")
        found = self.wait("const done = arguments[arguments.length - 1]; axe.run({preload: false}).then(r => done(r.violations));")
        bad = [one for one in found if one["impact"] in ("serious", "critical")]
        return [(one["id"], one["impact"], one["nodes"][0]["html"][:200]) for one in bad]

    def press(self, key: str) -> None:
        """A key, sent to whatever has the focus."""
        down = {"type": "key", "id": "keyboard", "actions": [{"type": "keyDown", "value": key}, {"type": "keyUp", "value": key}]}
        self._call("POST", "/actions", {"actions": [down]})

    def console(self) -> list[str]:
        """What the page said since the last call, warnings and errors."""
        return [f"{entry['level']}: {entry['message']}" for entry in self._call("POST", "/se/log", {"type": "browser"})]

    def screenshot(self, path: Path) -> None:
        """The whole page as a PNG file."""
        size = self.devtools("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], 12000), "scale": 1}
        made = self.devtools("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)
        path.write_bytes(base64.b64decode(made["data"]))

    def pdf(self, path: Path) -> None:
        """The page as it prints."""
        path.write_bytes(base64.b64decode(self.devtools("Page.printToPDF", preferCSSPageSize=True, printBackground=False)["data"]))
