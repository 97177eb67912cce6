"""A headless Chromium that a test drives by its DevTools protocol."""

import base64
import json
import os
import pathlib
import re
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
             "--no-sandbox", "--disable-gpu",
             "--disable-features=SpareRendererForSitePerProcess",  # find_renderer()
             f"--user-data-dir={self.folder.name}", "about:blank"],
            stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True,
            start_new_session=True)
        for line in self.process.stderr:
            if "DevTools listening on " in line:
                place = line.partition("ws://")[2].partition("/")[0]
                break
        self.place = place
        page = next(one for one in self.ask("/json") if one["type"] == "page")
        self.socket = websocket.create_connection(page["webSocketDebuggerUrl"], timeout=60)
        self.number = 0
        self.problems = []  # What the page's console and security policy complained of.
        for domain in ("Runtime", "Page", "Log", "Performance"):
            self.call(domain + ".enable")

    def ask(self, path):
        with urllib.request.urlopen(f"http://{self.place}{path}") as answer:
            return json.load(answer)

    def find_renderer(self):
        """The process that shows the page, which may be another one after open()."""
        whole = websocket.create_connection(self.ask("/json/version")["webSocketDebuggerUrl"],
                                            timeout=60)
        whole.send(json.dumps({"id": 1, "method": "SystemInfo.getProcessInfo"}))
        message = json.loads(whole.recv())
        whole.close()
        found = [one["id"] for one in message["result"]["processInfo"] if one["type"] == "renderer"]
        if len(found) != 1:
            raise AssertionError(f"not one renderer: {message}")
        return found[0]

    def memory(self):
        """Of the page's process in bytes, as Linux counts them: "pss", its own memory and its part
        of what it shares with others, and "peak", the most that it ever had resident."""
        process = self.find_renderer()

        def bytes_of(file, name):
            text = pathlib.Path(f"/proc/{process}/{file}").read_text()
            return 1024 * int(re.search(rf"^{name}:\s+(\d+) kB", text, re.MULTILINE)[1])
        return {"pss": bytes_of("smaps_rollup", "Pss"), "peak": bytes_of("status", "VmHWM")}

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

    def picture(self, path, most=None):
        """The whole page, or its first `most` pixels, as a PNG file. All of it is in sight, for a page
        need not draw the rest."""
        width = self.value("innerWidth")
        height = 0
        whole = f"Math.min(document.documentElement.scrollHeight, {most or 'Infinity'})"
        while height != (height := self.value(whole)):
            self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                      deviceScaleFactor=1, mobile=width < 500)
            self.value("new Promise(done => setTimeout(done, 300))")
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True,
                         clip={"x": 0, "y": 0, "width": width, "height": height, "scale": 1})
        pathlib.Path(path).write_bytes(base64.b64decode(shot["data"]))

    def go_offline(self):
        self.call("Network.enable")
        self.call("Network.emulateNetworkConditions", offline=True, latency=0,
                  downloadThroughput=-1, uploadThroughput=-1)

    def print_pdf(self, path):
        """The page on A4 paper; returns how many sheets there are."""
        data = base64.b64decode(self.call("Page.printToPDF", paperWidth=8.27, paperHeight=11.69,
                                          printBackground=False)["data"])
        pathlib.Path(path).write_bytes(data)
        return len(re.findall(rb"/Type\s*/Page\b", data))

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
