"""Screenshots of the built site in headless Chromium, wide and narrow, light and dark.

    tools/site/pictures.py build/site/html FOLDER

It fails if any page is wider than a phone, if one asks another host for anything, or if the search
does not find a word.
tools/install-packages.sh site browser brings what it needs.
"""

import functools
import http.server
import pathlib
import sys
import threading

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "test" / "program"))
from browser import Browser  # noqa: E402

PAGES = {"home": "index.html", "contents": "docs/index.html",
         "tutorial": "docs/tutorials/3-your-cluster.html", "options": "docs/options.html",
         "cpp": "include/outpace/worker.h.html", "python": "python/outpace/torch/__init__.py.html"}
HEIGHT = 2400  # Of a picture, at most: what is below looks alike.


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def pictures(browser, address, folder):
    for name, page in PAGES.items():
        for width in (1280, 390):
            for dark in (False, True):
                browser.look(width, dark)
                browser.open(f"{address}/{page}")
                browser.value("localStorage.clear()")  # The scheme that the last visit had.
                browser.open(f"{address}/{page}")
                path = folder / f"{name}-{width}-{'dark' if dark else 'light'}.png"
                browser.picture(path, HEIGHT)


def faults(browser, address, site):
    """Yields what is wrong with a page on a phone."""
    browser.look(390, False)
    for path in sorted(site.rglob("*.html")):
        page = path.relative_to(site)
        browser.open(f"{address}/{page}")
        wide = browser.value("document.documentElement.scrollWidth")
        if wide > 390:
            yield f"{page} is {wide} pixels wide on a screen of 390"
        asked = browser.value("performance.getEntriesByType('resource').map(one => one.name)")
        yield from (f"{page} asks for {one}" for one in asked if not one.startswith(address))


def search(browser, address):
    """Yields what is wrong with the search of one word."""
    browser.look(1280, False)
    browser.open(f"{address}/index.html")
    browser.value("document.querySelector('.md-search__input').focus()")
    browser.until("document.querySelector('.md-search-result__meta').textContent.includes('Type')",
                  "the index of the search")
    browser.call("Input.insertText", text="expel")
    browser.press("Shift")  # It looks when a key is let go.
    found, _ = browser.until("document.querySelector('.md-search-result__list').textContent", "results")
    if "second machine joins" not in found:
        yield f"the search for 'expel' does not find the tutorial: {found[:300]}"


def main():
    site, folder = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0),
                                             functools.partial(Quiet, directory=site))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    browser = Browser()
    try:
        address = f"http://127.0.0.1:{server.server_port}"
        pictures(browser, address, folder)
        problems = [*search(browser, address), *faults(browser, address, site), *browser.problems]
    finally:
        browser.close()
        server.shutdown()
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
