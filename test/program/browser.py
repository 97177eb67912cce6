"""A headless Chromium that a test drives by its DevTools protocol."""

import base64
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
import urllib.request

import websocket


class Browser:
    def __init__(self):
        program = shutil.which("chromium-headless-shell") or shutil.which("chromium")
        if program is None:
            raise AssertionError("no Chromium: tools/install-packages.sh browser")
        self.folder = tempfile.TemporaryDirectory(prefix="outpace-browser-",
                                                  ignore_cleanup_errors=True)
        # Nothing that it opens is a stranger's, and root may not use its sandbox.
        self.process = subprocess.Popen(
            [program, "--headless", "--remote-debugging-port=0", "--remote-allow-origins=*",
             "--no-sandbox", "--disable-gpu", f"--user-data-dir={self.folder.name}", "about:blank"],
            stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True,
            start_new_session=True)
        for line in self.process.stderr:
            if "DevTools listening on " in line:
                place = line.partition("ws://")[2].partition("/")[0]
                break
        with urllib.request.urlopen(f"http://{place}/json") as answer:
            pages = json.load(answer)
        page = next(one for one in pages if one["type"] == "page")
        self.socket = websocket.create_connection(page["webSocketDebuggerUrl"], timeout=60)
        self.number = 0
        self.problems = []  # What the page's console and security policy complained of.
        for domain in ("Runtime", "Page", "Log", "Performance"):
            self.call(domain + ".enable")

    def call(self, method, **parameters):
        self.number += 1
        self.socket.send(json.dumps({"id": self.number, "method": method, "params": parameters}))
        while True:
            message = json.loads(self.socket.recv())
            if message.get("id") == self.number:
                if "error" in message:
                    raise AssertionError(f"{method}: {message['error']}")
                return message["result"]
            if message.get("method") in ("Runtime.exceptionThrown", "Log.entryAdded"):
                self.problems.append(json.dumps(message["params"]))

    def value(self, expression):
        """What JavaScript says."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True,
                           awaitPromise=True)
        if "exceptionDetails" in result:
            raise AssertionError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def until(self, expression, what, seconds=100.0):
        """Waits until JavaScript says something true; returns it, and the seconds that it took."""
        begin = time.monotonic()
        while True:
            found = self.value(expression)
            if found:
                return found, time.monotonic() - begin
            if time.monotonic() - begin > seconds:
                raise AssertionError(f"after {seconds} s still waiting: {what}")
            time.sleep(0.02)

    def open(self, url):
        self.call("Page.navigate", url=url)
        self.until("location.href !== 'about:blank' && document.readyState === 'complete'", url)

    def look(self, width, dark):
        """As a screen of this width, in CSS pixels, and of a phone's kind below 500."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=900,
                  deviceScaleFactor=1, mobile=width < 500)
        self.call("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def press(self, key):
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key)

    def picture(self, path):
        """The whole page, as a PNG file."""
        height = self.value("document.documentElement.scrollHeight")
        width = self.value("innerWidth")
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True,
                         clip={"x": 0, "y": 0, "width": width, "height": height, "scale": 1})
        pathlib.Path(path).write_bytes(base64.b64decode(shot["data"]))

    def heap_bytes(self):
        """Of JavaScript, after a collection of garbage."""
        self.call("HeapProfiler.collectGarbage")
        found = self.call("Performance.getMetrics")["metrics"]
        return next(one["value"] for one in found if one["name"] == "JSHeapUsedSize")

    def close(self):
        self.socket.close()
        # The program that Debian installs is a script, and the browser its child.
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.process.stderr.close()
        self.folder.cleanup()
