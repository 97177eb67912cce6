"""Checks what no compiler does: includes between folders, words, hard phrases, pages and links.

Run by ctest as the test "tidy" and by `make tidy`. The outpace_module() calls of CMakeLists.txt say
which folder may include which, and which are pure, so that there is only one list.
tidy_test.py proves that every rule fires.
"""

import os
import pathlib
import re
import sys

FILE_LINES_MAX = 500
CLASS_LINES_MAX = 600  # Over all its files.
PAGE_LINES_MAX = 250
GENERATED_PAGES = ("options.md",)  # `make docs` writes them; they are looked up, not read.
GLOO = ("src/world/collective/gloo_group.cc", "src/world/collective/gloo_waits.h")
SUFFIXES = (".h", ".cc")
CODE_FOLDERS = ("src", "lab", "include", "examples", "bench", "test", "fuzz")
# From the ground up: a folder may depend on none of a higher wing. They are in src/, but for lab/.
WINGS = ("core", "virtual", "ask", "world", "see", "predict", "face", "lab")
WING_PAIRS_MAX = 12  # Pairs in src/ of which one includes files of the other.

BANNED_IN_PURE = {  # what makes a run depend on anything but its inputs
    r"_clock::now\(": "pass `now` in",
    r"std::(jthread|thread|mutex|async|atomic|random_device)\b": "drivers own threads and seeds",
    r"#include <(iostream|fstream|filesystem|thread|mutex|random|unistd\.h)>": "drivers own I/O",
    r"\bgetenv\b": "pass the option in",
    r"std::unordered_(map|set)\b": "its order is not the same on every run; use std::map",
}
BANNED = {
    r"\bFIXME\b": "finish it before it lands",
    r"\bDISABLED_|\bGTEST_SKIP\b": "a test may not be disabled",
    r"\bNOLINT(NEXTLINE|BEGIN)?\b(?!\()": "name the check in parentheses, then say why",
    r"\bstd::views::": "clang-tidy 14 cannot parse libstdc++ 12's views",
    r"\bstd::source_location\b": "clang-tidy 14 cannot parse it",
    r"\bstd::\w+_distribution\b": "it differs from library to library; use base/rng",
    r"\busing namespace (?!.*literals)": "name what you use",
    r"#include \"\.": "include from the wing, as \"folder/file.h\"",
}
BANNED_FILE_WORDS = {  # one word per idea: ARCHITECTURE.md has the table
    "strategy": "policy",
    "manager": "what it does",
    "handler": "what it does",
    "helper": "what it does",
    "helpers": "what it does",
    "util": "what it does",
    "utils": "what it does",
    "misc": "what it does",
    "common": "base, or what it does",
}
PHRASES = {  # CONTRIBUTING.md, "Words": never right in a sentence that a person reads
    r"(?i)\bso many\b(?![^.;,:)]*\bthat\b)": "'number of nodes', 'this many updates'",
    r"(?i)\bwhoever\b": "'a worker that ...', 'any worker'",
    r"(?i)\bwhom\b": "'the workers that ...', with their noun",
    r"(?i)\bgone (?:through|beyond)\b": "what happens: 'simulated', 'exceeded'",
    r"(?i)\bforet(?:old|ells?|elling)\b": "'predicted', 'forecast'",
    r"(?i)\basked for ahead\b": "'prefetched'",
    r"(?i)\btaken for (?:a )?(?:wholes?|full)\b": "'counted as full mini-batches'",
    r"(?i)\bin hand\b": "'current', or the name of the thing",
    r"(?i)\bwhat of (?:it|them|this|that|these|those)\b": "'the part that ...', with its noun",
    r"(?i)\bnot alike\b": "'heterogeneous', 'different'",
    r"(?i)\bthrice\b": "'three times'",
    r"(?:^|[.:;] )Who (?!else\b)[a-z](?![^.]*\?)": "'A worker that ...': name the noun",
    r"(?:^|[.:;?!|] )Of [a-z0-9`]+": "the subject first: 'The weights' version', 'One of four'",
}
# What a formatter leaves of an indented table: the last word of a line, alone on the next one.
LONE_WORD = re.compile(r"^\s*(?://|#) {2,}[A-Za-z][\w./-]*[).,:]*$")
PROSE_SUFFIXES = (".h", ".cc", ".proto", ".py", ".md", ".toml", ".yaml")
PROSE_FOLDERS = ("docs", "src", "lab", "include", "python", "bench", "test", "tools", "examples",
                 "fuzz")
PROSE_EXCEPT = ("tidy.py", "tidy_test.py")  # They name the phrases.
STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
TORCH = re.compile(r"#include <(torch|ATen|c10|caffe2)/|#include <torch\.h>|\btorch::")
TESTED_BY = re.compile(r"^// Tested by (\S*_test\.(?:cc|py))(?: \(class (\w+)\))?\.$", re.MULTILINE)
PROGRAM_TEST = re.compile(r"\bprogram_test\((\w+)\s([^)]*)\)")
# Its name, its first base, and its body.
TEST_CLASS = re.compile(r"^class (\w+)\(([\w.]+).*\n(?:(?!\S).*\n)*", re.MULTILINE)
NETWORK = re.compile(
    r"#include <(sys/socket\.h|sys/un\.h|netinet|arpa|netdb\.h|openssl)|::socket\(")
CLASS_HEAD = re.compile(r" *(?:class|struct) (?:\[\[.*?\]\] )?([\w:]+)")
MEMBER_HEAD = re.compile(r"\b((?:\w+::)+)(?:~?\w+|operator\W+)\(")
LARGE_CLASS = re.compile(r"// Large class: \S")
PROXY = re.compile(r"lab/chaos_run/fault_proxy(_test)?\.cc")  # It spoils what others send by wire/.


def modules_of(cmake):
    """Returns {folder: (folders it may include, whether it is pure)}, from outpace_module() calls."""
    cmake = re.sub(r"#.*", "", cmake)
    modules = {}
    for call in re.findall(r"\boutpace_module\(\s*([^)]*)\)", cmake):
        name, *words = call.split()
        depends, keyword = set(), ""
        for word in words:
            if word.isupper():
                keyword = word
            elif keyword in ("DEPENDS", "EXCEPT_DEPENDS"):
                depends.add(word)
        modules[name] = (depends, "PURE" in words)
    modules.pop("${name}", None)
    return modules


def reachable(name, modules):
    found, todo = {name}, [name]
    while todo:
        for below in modules.get(todo.pop(), (set(), False))[0] - found:
            found.add(below)
            todo.append(below)
    return found


def room_of(place):
    """(wing, folder) of a file by its path in the tree; (None, None): it is in no wing."""
    parts = place.parts[1:] if place.parts[0] == "src" else place.parts
    if place.parts[0] in ("src", "lab") and len(parts) > 2:
        return parts[0], parts[1]
    return None, None


def wing_problems(root, modules):
    """Folders outside the wings, or that are no module, and arrows that point up."""
    wing_of = {}
    for wing in [*(root / "src").iterdir(), root / "lab"]:
        if wing.is_dir() and wing.name not in WINGS:
            yield wing, 1, f"no wing is called so; move its folders to one of {', '.join(WINGS)}"
        for folder in sorted(path for path in wing.glob("*") if path.is_dir()):
            wing_of[folder.name] = wing.name
            if folder.name not in modules and any(folder.glob("*.cc")):
                yield folder, 1, "no outpace_module() in CMakeLists.txt names this folder"
    for name, (depends, _) in modules.items():
        for below in sorted(depends):
            wings = [wing_of.get(one) for one in (name, below)]
            if all(one in WINGS for one in wings) and WINGS.index(wings[0]) < WINGS.index(wings[1]):
                yield root / "CMakeLists.txt", 1, (
                    f"{name} of {wings[0]}/ may not depend on {below} of {wings[1]}/, a higher wing")


def wing_pair_problems(root):
    """Pairs of wings of src/ that include each other's files, where there are too many of them."""
    wing_of = {path.name: path.parent.name for path in (root / "src").glob("*/*") if path.is_dir()}
    counts = {}
    for path in sorted((root / "src").rglob("*")):
        if path.suffix in SUFFIXES and not path.stem.endswith("_test"):
            wing = path.relative_to(root / "src").parts[0]
            for folder in re.findall(r'^#include "(\w+)/', path.read_text(), re.MULTILINE):
                if wing_of.get(folder, wing) != wing:
                    pair = f"{wing} -> {wing_of[folder]}"
                    counts[pair] = counts.get(pair, 0) + 1
    if len(counts) > WING_PAIRS_MAX:
        weakest = ", ".join(f"{pair} ({counts[pair]})" for pair in sorted(counts, key=counts.get)[:3])
        yield root / "src", 1, (f"{len(counts)} pairs of wings include each other's files; "
                                f"{WING_PAIRS_MAX} may. The fewest includes: {weakest}")


def whole_file_problems(path, pure):
    """The problems of the file as a whole."""
    text = path.read_text()
    lines = text.count("\n")
    if lines > FILE_LINES_MAX:
        yield 1, f"{lines} lines; split it at {FILE_LINES_MAX}"
    if path.suffix == ".h" and not re.match(r"// \S.*", text):
        yield 1, "a header opens with a sentence that says what it is"
    if path.suffix == ".h" and "#pragma once" not in text:
        yield 1, "no #pragma once"
    if path.suffix == ".cc" and pure and not path.stem.endswith("_test"):
        if not path.with_name(path.stem + "_test.cc").exists():
            yield 1, "no test beside it"
    for word in path.stem.split("_"):
        if word in BANNED_FILE_WORDS:
            yield 1, f"'{word}' in a file name; say {BANNED_FILE_WORDS[word]}"


def tested_by_problems(path, root):
    """A source of the program that no test is known to cover, or whose test is not there."""
    beside = path.with_name(path.stem + "_test.cc")
    covered = beside.exists()
    for source in (path, path.with_suffix(".h")):
        text = source.read_text() if source.exists() else ""
        for found in TESTED_BY.finditer(text):
            covered = True
            test, name = root / found[1], found[2]
            number = text.count("\n", 0, found.start()) + 1
            if not test.is_file():
                yield source, number, f"there is no {found[1]}; name the test that covers this file"
            elif name and not re.search(rf"\bclass {name}\b", test.read_text()):
                yield source, number, f"{found[1]} has no class {name}; name one that it has"
    if not covered:
        yield path, 1, (f"no test: write {beside.name}, or say which test covers this file: "
                        "'// Tested by src/world/live/worker_test.cc.' or "
                        "'// Tested by test/program/signals_test.py (class Train).'")


def may_include_torch(place):
    return room_of(place)[1] in ("learn", "fit") or (
        place.parts[0] == "examples" or place.as_posix() == "include/outpace/torch.h")


def line_problems(path, place, modules):
    _, folder = room_of(place)
    pure = folder is not None and modules.get(folder, (set(), False))[1]
    is_test = path.stem.endswith("_test")
    banned = {**BANNED, **(BANNED_IN_PURE if pure and not is_test else {})}
    allowed = reachable(folder, modules) if folder else set()
    before = ""
    for number, line in enumerate(path.read_text().splitlines(), 1):
        included = re.match(r'#include "(\w+)/', line)
        if included and folder and included[1] not in allowed | {"outpace"}:
            yield number, f"{folder}/ may not include {included[1]}/"
        code = re.sub(r"//.*", "", line)
        if TORCH.search(code) and not may_include_torch(place):
            yield number, "libtorch belongs in src/world/learn, src/world/fit and include/outpace/torch.h"
        if "#include <gloo/" in code and place.as_posix() not in GLOO:
            yield number, "Gloo belongs in src/world/collective/gloo_group.cc"
        if NETWORK.search(code) and folder != "wire" and not PROXY.fullmatch(place.as_posix()):
            yield number, "sockets and TLS belong in src/world/wire"
        if "#include <CLI/" in code and folder and folder != "command_line":
            yield number, "CLI11 belongs in src/face/command_line"
        if LONE_WORD.match(line) and re.match(r"^\s*(?://|#) {2,}\S", before):
            yield number, f"'{line.split()[-1]}' stands alone in an indented comment; mend the table"
        before = line
        for pattern, instead in banned.items():
            if re.search(pattern, line):
                yield number, f"{pattern} is banned: {instead}"


def prose_of(path):
    """Yields (line number, text): comments and strings of C++, whole lines of other files."""
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if path.suffix not in SUFFIXES:
            yield number, line.strip()
            continue
        for text in STRING.findall(line):
            yield number, text
        comment = re.search(r"//\s*(.*)", STRING.sub('""', line))
        if comment:
            yield number, comment[1]


def phrase_problems(root):
    """Phrases that a reader has to read twice."""
    paths = [path for top in PROSE_FOLDERS for path in (root / top).rglob("*")]
    for path in sorted([*root.glob("*.md"), *paths]):
        if path.suffix not in PROSE_SUFFIXES or path.name in PROSE_EXCEPT:
            continue
        for number, text in prose_of(path):
            for pattern, instead in PHRASES.items():
                found = re.search(pattern, text)
                if found:
                    yield path, number, f"'{found[0]}' is hard to read; write {instead}"


def class_parts(path):
    """Yields (class, its definition's line or None, lines) for each part of a class in the file.

    A part is the definition, without the classes inside, or a member function's definition outside
    of it. This relies on the formatter's layout: what begins in a column ends in it with a brace.
    """
    lines = path.read_text().splitlines()
    spaces, opened = [], []  # Opened: [indentation, class, line of the definition, lines so far].
    for number, line in enumerate(lines, 1):
        at_class = CLASS_HEAD.match(line)
        if at_class or (not opened and re.match(r"(?!template\b)[\w\[]", line)):
            head = []
            for one in lines[number - 1:]:
                head.append(re.sub(r"\s*//.*", "", one))
                if head[-1].endswith((";", "{", "}")):
                    break
            text = " ".join(head)
            space = re.fullmatch(r"namespace ?([\w:]*) \{", text)
            member = None if at_class else MEMBER_HEAD.search(text)
            part = ["::".join([*spaces, member[1][:-2]]) if member else path.name, None]
            if space:
                spaces.append(space[1] or f"({path.name})")
            elif at_class and text.endswith("{"):
                inside = opened[-1][1] if opened else "::".join(spaces)
                indent = len(line) - len(line.lstrip())
                opened.append([indent, f"{inside}::{at_class[1]}", number, 0])
            elif not at_class and text.endswith("{") and not re.search(r"(= |\w)\{$", text):
                opened.append([0, *part, 0])
            elif member:
                yield *part, len(head)
        if opened:
            opened[-1][-1] += 1
            if line.startswith(" " * opened[-1][0] + "}"):
                yield tuple(opened.pop()[1:])
        elif spaces and re.match(r"\}(?!;)", line):
            spaces.pop()


def class_problems(root):
    """Classes that are too large without a reason, and reasons of classes that are not."""
    sizes, defined = {}, {}
    for path in sorted(path for top in CODE_FOLDERS for path in (root / top).rglob("*")):
        if path.suffix in SUFFIXES and not path.stem.endswith("_test"):
            for name, number, lines in class_parts(path):
                sizes[name] = sizes.get(name, 0) + lines
                if number:
                    defined[name] = (path, number)
    for name, (path, number) in defined.items():
        above = path.read_text().splitlines()[:number - 1]
        while above and above[-1].startswith("template"):
            above.pop()
        comment = []
        while above and above[-1].lstrip().startswith("//"):
            comment.append(above.pop().lstrip())
        has_reason = any(LARGE_CLASS.match(line) for line in comment)
        if sizes[name] > CLASS_LINES_MAX and not has_reason:
            yield path, number, (
                f"{name} has {sizes[name]} lines over all its files; split it at {CLASS_LINES_MAX}, "
                "or say above it why it is one: '// Large class: its parts share all state.'")
        elif sizes[name] <= CLASS_LINES_MAX and has_reason:
            yield path, number, f"{name} has {sizes[name]} lines: its reason to be large is not needed"


def page_problems(root):
    """The problems of the pages of docs/ as a whole."""
    for path in sorted((root / "docs").rglob("*.md")):
        lines = path.read_text().count("\n")
        if lines > PAGE_LINES_MAX and path.name not in GENERATED_PAGES:
            yield path, 1, (f"{lines} lines; split the page at {PAGE_LINES_MAX}, and put the proof "
                            "on the second one")


def anchor_of(heading):
    """The name that GitHub gives to a heading."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def anchors_of(text):
    """The names of the headings of a page."""
    found = []
    for heading in re.findall(r"^#+ (.*)$", re.sub(r"(?ms)^```.*?^```$", "", text), re.MULTILINE):
        name = anchor_of(re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading))
        found.append(f"{name}-{found.count(name)}" if name in found else name)
    return found


def link_problems(root):
    """Links of pages to files and headings that are not there."""
    pages = [*root.glob("*.md"), *(root / "docs").rglob("*.md"), *(root / "examples").rglob("*.md")]
    for path in sorted(pages):
        text = re.sub(r"(?ms)^```.*?^```$", lambda code: "\n" * code[0].count("\n"), path.read_text())
        for link in re.finditer(r"\]\(([^()\s]+)\)", text):
            place, _, anchor = link[1].partition("#")
            if re.match(r"\w+:", place):
                continue
            number = text.count("\n", 0, link.start()) + 1
            target = path.parent / place if place else path
            if not target.exists():
                yield path, number, f"the link {link[1]} leads nowhere"
            elif anchor and target.suffix == ".md" and anchor not in anchors_of(target.read_text()):
                yield path, number, f"the link {link[1]} names no heading of that page"


def index_problems(root):
    """Pages that docs/README.md, the table of contents, does not list."""
    index = root / "docs" / "README.md"
    listed = {os.path.normpath(root / "docs" / link)
              for link in re.findall(r"\]\(([^()#\s]+)\)", index.read_text())} if index.exists() else ()
    for path in sorted((root / "docs").rglob("*.md")) if index.exists() else ():
        if path != index and str(path) not in listed:
            yield path, 1, "docs/README.md does not list this page; say there who wants it"


def unrun_problems(root):
    """Tests of real programs that neither ctest nor a target of the Makefile runs."""
    listed = root / "test" / "CMakeLists.txt"
    run = {}  # By file: the classes that ctest runs.
    cmake = re.sub(r"#.*", "", listed.read_text() if listed.exists() else "")
    for file, classes in PROGRAM_TEST.findall(cmake):
        run.setdefault(file, set()).update(classes.split())
    makefile = (root / "Makefile").read_text() if (root / "Makefile").exists() else ""
    by_make = set(re.findall(r"[\w.]+", makefile))
    for path in sorted((root / "test" / "program").glob("*_test.py")):
        text, with_tests = path.read_text(), set()
        for found in TEST_CLASS.finditer(text):
            name, base = found[1], found[2]
            if "def test_" not in found[0] and base not in with_tests and "." not in base:
                continue
            with_tests.add(name)
            if name not in run.get(path.stem.removesuffix("_test"), ()) and path.name not in by_make:
                yield path, text.count("\n", 0, found.start()) + 1, (
                    f"nobody runs class {name}: name it in a program_test() of test/CMakeLists.txt")


def problems(root):
    """Yields (path, line number, message)."""
    modules = modules_of((root / "CMakeLists.txt").read_text())
    for name, (depends, _) in modules.items():
        for below in depends:
            if name in reachable(below, modules):
                yield root / "CMakeLists.txt", 1, f"{name} and {below} depend on each other"
    yield from wing_problems(root, modules)
    yield from wing_pair_problems(root)
    for path in sorted(p for top in CODE_FOLDERS for p in (root / top).rglob("*")):
        if path.suffix not in SUFFIXES:
            continue
        place = path.relative_to(root)
        _, folder = room_of(place)
        pure = modules.get(folder, (set(), False))[1]
        for number, message in whole_file_problems(path, pure):
            yield path, number, message
        for number, message in line_problems(path, place, modules):
            yield path, number, message
        if folder and folder != "cli" and not pure:
            if path.suffix == ".cc" and not path.stem.endswith("_test"):
                yield from tested_by_problems(path, root)
    yield from class_problems(root)
    yield from page_problems(root)
    yield from phrase_problems(root)
    yield from link_problems(root)
    yield from index_problems(root)
    yield from unrun_problems(root)


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    found = list(problems(root))
    for path, number, message in found:
        print(f"{path.relative_to(root)}:{number}: {message}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
