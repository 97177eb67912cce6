"""Stages the pages of the site: the repository's own, in the repository's folders.

docs/README.md is the table of contents. A link to a file that is no page, such as a script, leads on
the site to a page that shows the file; one to a public header or to the Python package leads to its
reference. So every link is right on the site as well as between the files.
"""

import os
import pathlib
import re
import shutil

INDEX = pathlib.Path("docs/README.md")
SHOWN_AS_THEY_ARE = (".svg", ".png", ".csv")
LANGUAGES = {".cc": "cpp", ".h": "cpp", ".c": "c", ".py": "python", ".sbatch": "bash", ".yaml": "yaml",
             ".yml": "yaml", ".cff": "yaml", ".toml": "toml", ".json": "json", ".proto": "protobuf",
             ".service": "ini", ".txt": "cmake", ".sh": "bash"}
LINK = re.compile(r"\[([^\[\]]*)\]\(([^()\s]+)\)")
CODE = re.compile(r"(?ms)^```.*?^```$|`[^`\n]+`")
ENTRY = re.compile(r"^- \[([^\]]+)\]\(([^)#]+)\)")


def contents(root):
    """[(section, [(title, file by its path in the repository)])] of the index."""
    found = []
    for line in (root / INDEX).read_text().splitlines():
        if line.startswith("## "):
            found.append((line[3:], []))
        elif entry := ENTRY.match(line):
            found[-1][1].append((entry[1], place_of(INDEX, entry[2])))
    return found


def place_of(page, link):
    """Where a link of a page leads, by its path in the repository."""
    return pathlib.Path(os.path.normpath(page.parent / link))


def page_of(place, root):
    """Where the site has what the repository has there."""
    if place.suffix == ".md" or place.suffix in SHOWN_AS_THEY_ARE:
        return place
    if (root / place).is_dir():
        return place / "README.md"
    return place.with_name(place.name + ".md")


class Stage:
    """`references`: {file: function that returns its page}, in place of the file's text."""

    def __init__(self, root, out, references):
        self.root, self.out, self.references = root, out, references
        self.done = set()
        self.titles = {place: title for _, entries in contents(root) for title, place in entries}

    def add(self, place):
        """The page of a file or folder, and all that it links to."""
        place = pathlib.Path(place)
        if place in self.done:
            return
        self.done.add(place)
        source = self.root / place
        if place.suffix in SHOWN_AS_THEY_ARE:
            target = self.out / place
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
            return
        if source.is_dir():
            if (source / "README.md").exists():
                self.add(place / "README.md")
                return
            text = self.list_of(place)
        elif place in self.references:  # Its links are the site's already.
            self.write(place, self.references[place]())
            return
        elif place.suffix == ".md":
            text = source.read_text()
        else:
            text = (f"# {place.name}\n\n`{place}`:\n\n````{LANGUAGES.get(place.suffix, 'text')}\n"
                    f"{source.read_text().rstrip()}\n````\n")
        text = self.with_links(place, page_of(place, self.root), text)
        self.write(place, with_lists_apart(text))

    def list_of(self, folder):
        files = sorted(path.name for path in (self.root / folder).iterdir() if path.is_file())
        return f"# {folder}\n\n" + "".join(f"- [{name}]({name})\n" for name in files)

    def write(self, place, text):
        target = self.out / page_of(place, self.root)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)

    def with_links(self, place, page, text):
        """The text with its links as the site has them; what they lead to is staged."""
        base = page if (self.root / place).is_dir() else place

        def on_site(link):
            words, (target, _, anchor) = link[1], link[2].partition("#")
            if not target or re.match(r"\w+:", target):
                return link[0]
            found = place_of(base, target)
            self.add(found)
            if words.endswith(".md"):  # A file's name is for readers of files.
                words = self.titles.get(found, words)
            there = os.path.relpath(page_of(found, self.root), page.parent)
            return f"[{words}]({there}{anchor and '#' + anchor})"

        parts, end = [], 0
        for code in CODE.finditer(text):  # What looks like a link in code is none.
            parts += [LINK.sub(on_site, text[end:code.start()]), code[0]]
            end = code.end()
        return "".join([*parts, LINK.sub(on_site, text[end:])])


def with_lists_apart(text):
    """A blank line between a paragraph and its list, which Python's Markdown needs."""
    return re.sub(r"(?m)^((?![-#|>`]|\d+\. |\s).*\n)(?=(?:- |1\. )\S)", r"\1\n", text)
