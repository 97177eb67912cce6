"""Writes the reference of the public headers, those of include/outpace that `make install` installs.

Doxygen says what is declared in which line. The words are the comments above a declaration or behind
it, and the declaration is shown as it is written: both come from the header itself.
"""

import functools
import pathlib
import re
import subprocess
import tempfile
import xml.etree.ElementTree

import prose

HEADERS = pathlib.Path("include/outpace")
ENDS = {"concept": r"\n\};\n", "define": r"\n"}  # Of a declaration.
TYPES = ("class", "struct", "concept")
NOT_SHOWN = {"Overlap", "OUTPACE_API"}  # The headers' own.
SETTINGS = """
INPUT = {headers}
OUTPUT_DIRECTORY = {out}
GENERATE_HTML = NO
GENERATE_LATEX = NO
GENERATE_XML = YES
XML_PROGRAMLISTING = NO
EXTRACT_ALL = YES
MACRO_EXPANSION = YES
EXPAND_ONLY_PREDEF = YES
PREDEFINED = OUTPACE_API= __cplusplus
FULL_PATH_NAMES = NO
QUIET = YES
WARNINGS = NO
"""


class Entry:
    """A declaration: where it is, and what is declared inside."""

    def __init__(self, kind, name, line, end):
        self.kind, self.name, self.line, self.end = kind, name, line, end
        self.inside = []

    def anchor(self, above):
        return re.sub(r"[^\w-]", "", f"{above.name}-{self.name}" if above else self.name).lower()


def declared(root):
    """{header's file name: its entries}, by doxygen; private ones are left out."""
    with tempfile.TemporaryDirectory() as out:
        subprocess.run(["doxygen", "-"], check=True, text=True,
                       input=SETTINGS.format(headers=root / HEADERS, out=out))
        compounds = [compound for path in sorted(pathlib.Path(out, "xml").glob("*.xml"))
                     for compound in xml.etree.ElementTree.parse(path).getroot().findall("compounddef")]
    found, types = {}, {}
    for compound in compounds:
        if compound.get("kind") in TYPES and compound.get("prot") != "private":
            name = compound.findtext("compoundname")
            entry = entry_of(compound, compound.get("kind"), name.rpartition("::")[2])
            types[name] = (pathlib.Path(compound.find("location").get("file")).name, entry)
    for name, (file, entry) in types.items():
        above = types.get(name.rpartition("::")[0])
        (above[1].inside if above else found.setdefault(file, [])).append(entry)
    for compound in compounds:
        above = types.get(compound.findtext("compoundname"))
        for member in compound.iter("memberdef"):
            if not is_public(member) or member.findtext("name") in types:
                continue
            file = pathlib.Path(member.find("location").get("file")).name
            into = above[1].inside if above else found.setdefault(file, [])
            entry = entry_of(member, member.get("kind"), member.findtext("name"))
            while entry.kind == "variable" and not re.search(
                    rf"\b{entry.name}\b *[=;[]", (root / HEADERS / file).read_text().splitlines()[entry.line - 1]):
                entry.line += 1  # Doxygen takes the line before for some std::function.
            into.append(entry)
    return {file: sorted(entries, key=lambda one: one.line) for file, entries in found.items()}


def is_public(member):
    """Whether a user may call it, beside copies and moves."""
    return (member.get("prot") != "private" and member.get("kind") != "friend"
            and not re.search(r"= ?delete|&& ?other", member.findtext("argsstring") or ""))


def entry_of(element, kind, name):
    place = element.find("location")
    line = int(place.get("line"))
    return Entry(kind, name, line, max(line, int(place.get("bodyend") or 0)))


class Header:
    """A header's lines, from which declarations and comments are taken; they count from 1."""

    def __init__(self, path):
        self.lines = ["", *path.read_text().splitlines()]

    def first_line(self, entry):
        """Where the declaration begins, which may be above the line with its name."""
        line = entry.line
        while not re.search(r"(^\s*|[;{}:]|//.*|^#.*)$", self.lines[line - 1]):
            line -= 1
        return line

    def comment(self, entry):
        """The comment above, and the one behind if it is all on the declaration's line."""
        line = self.first_line(entry) - 1
        above = []
        while re.match(r"\s*//", self.lines[line]):
            above.insert(0, re.sub(r"^\s*// ?", "", self.lines[line]))
            line -= 1
        behind = re.search(r";\s*// (.*)| \{\s*// (.*)", self.lines[entry.line])
        return above + ([behind[1] or behind[2]] if behind else [])

    def opening(self):
        """The comment at the top."""
        found = []
        for line in self.lines[1:]:
            if not line.startswith("//"):
                return found
            found.append(re.sub(r"^// ?", "", line))
        return found

    def declaration(self, entry):
        """As it is written, without a body."""
        text, line = "", self.first_line(entry)
        indent = len(self.lines[line]) - len(self.lines[line].lstrip())
        while True:
            text += re.sub(r"\s*//.*", "", self.lines[line][indent:]) + "\n"
            ended = re.search(ENDS.get(entry.kind, r"\{\n|\{ [^\n]*\}\n|;\n"), text)
            if ended and text.count("(") == text.count(")"):
                break
            line += 1
        if entry.kind == "function":
            text = re.split(r"\s*\{|\n?\s+: |;\n$", text)[0] + ";"
        return text.strip()

    def values(self, entry):
        """[(value of an enumeration, its comment)]"""
        text = "\n".join(self.lines[self.first_line(entry):entry.end + 1])
        inside = text.partition("{")[2].rpartition("}")[0]
        return re.findall(r"(\w+(?: = \w+)?)[ ]*(?:,|$|(?=\s*//))(?:[ ]*// (.*))?", inside, re.MULTILINE)


class Writer:
    """The page of a header. `places`: {name: (header, anchor)} of what has an entry somewhere."""

    def __init__(self, file, header, entries, places):
        self.file, self.header, self.entries, self.places = file, header, entries, places

    def page(self):
        parts = [f"# outpace/{self.file}", self.prose(self.header.opening(), None),
                 f"    #include <outpace/{self.file}>"]
        for entry, others in groups_of(self.entries):
            parts += self.section(entry, others, None)
        return "\n\n".join(part for part in parts if part) + "\n"

    def section(self, entry, others, above):
        """A heading, the declarations of that name, and what they say."""
        level = "###" if above else "##"
        title = entry.name if entry.kind in ("function", "enumvalue") else f"{entry.kind} {entry.name}"
        if entry.kind == "function":
            title += "()"
        elif entry.name.startswith("@"):  # Without a name.
            title = "enum " + self.header.values(entry)[0][0].partition(" ")[0] + ", ..."
        yield f"{level} {title} {{#{entry.anchor(above)}}}"
        for one in (entry, *others):
            if one.kind in ("function", "typedef", "concept", "define"):
                yield f"```cpp\n{self.header.declaration(one)}\n```"
            yield self.prose(self.header.comment(one), above or one)
        if entry.kind == "enum":
            yield "\n".join(f"- `{name}`" + (f": {self.inline(text, above)}" if text else "")
                            for name, text in self.header.values(entry))
        fields = [one for one in entry.inside if one.kind == "variable"]
        if fields:
            yield "\n".join(self.field(one, entry) for one in fields)
        for one, more in groups_of([one for one in entry.inside if one.kind != "variable"]):
            yield from self.section(one, more, entry)

    def field(self, entry, above):
        written = re.sub(r"\s+", " ", self.header.declaration(entry)).rstrip(";")
        text = self.inline(" ".join(self.header.comment(entry)), above)
        return f"- `{written}`" + (f"<br>{text}" if text else "")

    def prose(self, lines, above):
        return prose.markdown(lines, "cpp", lambda name: self.link_of(name, above))

    def inline(self, text, above):
        return prose.inline(text, lambda name: self.link_of(name, above))

    def link_of(self, name, above):
        """Where the name leads that is said of `above`, or of what is in it."""
        if name.startswith("docs/"):
            return f"../../{name}"
        name = name.replace("outpace::", "")
        place = self.places.get(f"{above.name}::{name}" if above else name) or self.places.get(name)
        if not place or above and place == (self.file, above.anchor(None)):
            return None
        return ("" if place[0] == self.file else f"{place[0]}.md") + (place[1] and f"#{place[1]}")


def groups_of(entries):
    """Yields (entry, others of its name): functions that differ by their arguments stand together."""
    shown = [one for one in sorted(entries, key=lambda one: one.line) if is_shown(one)]
    for index, entry in enumerate(shown):
        if entry.kind != "function" or entry.name not in [one.name for one in shown[:index]]:
            yield entry, [one for one in shown[index + 1:]
                          if one.kind == entry.kind == "function" and one.name == entry.name]


def is_shown(entry):
    return entry.name not in NOT_SHOWN and not re.match(r"~|operator=", entry.name)


def all_places(declared_in, first):
    """{name, and class::name: (header, anchor)}; a name of several headers leads to the first one's."""
    found = {}
    for file, entries in sorted(declared_in.items(), key=lambda one: one[0] != first):
        found[f"outpace/{file}"] = (file, "")
        for entry in filter(is_shown, entries):
            found.setdefault(entry.name, (file, entry.anchor(None)))
            for one in filter(is_shown, entry.inside):
                found.setdefault(f"{entry.name}::{one.name}", (
                    file, entry.anchor(None) if one.kind == "variable" else one.anchor(entry)))
    return found


def pages(root):
    """{header: function that returns its page}"""
    entries = functools.cache(lambda: declared(root))

    def page(path):
        places = all_places(entries(), path.name)
        return Writer(path.name, Header(path), entries()[path.name], places).page()
    return {path.relative_to(root): functools.partial(page, path)
            for path in sorted((root / HEADERS).glob("*.h"))}
