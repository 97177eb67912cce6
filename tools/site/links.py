"""Checks built pages: every link leads somewhere, and nothing is asked of another host."""

import html.parser
import pathlib
import re
import urllib.parse

# What a browser fetches by itself: by element, the attributes that name it.
FETCHED = {"script": ("src",), "link": ("href",), "img": ("src", "srcset"), "iframe": ("src",),
           "source": ("src", "srcset"), "video": ("src",), "audio": ("src",), "object": ("data",)}
OTHER_HOST = re.compile(r"\s*(?:https?:)?//", re.IGNORECASE)
IN_STYLE = re.compile(r"url\(\s*['\"]?([^'\")]*)|@import\s+['\"]([^'\"]*)", re.IGNORECASE)


class Page(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.links, self.names, self.fetched = [], set(), []
        self.in_style = False
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.names.update(found[key] for key in ("id", "name") if found.get(key))
        if tag == "a" and found.get("href"):
            self.links.append(found["href"])
        for key in FETCHED.get(tag, ()):
            if found.get(key) and found.get("rel") != "canonical":
                self.fetched.append(found[key])
        self.fetched += in_style(found.get("style") or "")
        self.in_style = tag == "style"

    def handle_endtag(self, tag):
        self.in_style = False

    def handle_data(self, data):
        if self.in_style:
            self.fetched += in_style(data)


def in_style(text):
    return [one or other for one, other in IN_STYLE.findall(text)]


def problems(folder):
    """Yields a sentence for each fault of the pages and style sheets below a folder."""
    read = {path: Page(path.read_text()) for path in sorted(folder.rglob("*.html"))}
    for path, page in read.items():
        place = path.relative_to(folder)
        for link in page.fetched:
            if OTHER_HOST.match(link):
                yield f"{place}: the page fetches {link} from another host"
        within = [link for link in page.fetched if not OTHER_HOST.match(link)]
        for link in dict.fromkeys(page.links + within):
            if re.match(r"\w+:", link) or OTHER_HOST.match(link):
                continue
            target, _, anchor = link.partition("#")
            target = urllib.parse.unquote(target.partition("?")[0])
            # 404.html is shown at any address, so its links begin at the root.
            there = folder / target[1:] if target.startswith("/") else path.parent / target
            there = pathlib.Path(re.sub(r"/\.(?=/|$)", "", str(there if target else path))).resolve()
            there = there / "index.html" if there.is_dir() else there
            if not there.exists():
                yield f"{place}: the link {link} leads nowhere"
            elif anchor and there in read and urllib.parse.unquote(anchor) not in read[there].names:
                yield f"{place}: the link {link} names nothing on that page"
    for path in sorted(folder.rglob("*.css")):
        for link in in_style(path.read_text()):
            if OTHER_HOST.match(link):
                yield f"{path.relative_to(folder)}: the style fetches {link} from another host"
