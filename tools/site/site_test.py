"""The site's own parts, without mkdocs, doxygen or a browser: `make site` runs them together."""

import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import cpp_reference  # noqa: E402
import links  # noqa: E402
import pages  # noqa: E402
import prose  # noqa: E402
import python_reference  # noqa: E402

INDEX = "# Contents\n\n## Start\n\n- [Read](../README.md): first\n- [Run](run.md): a run\n"
HEADER = """// A worker. See `next()`.
//
//   worker.next();

#pragma once

// Belongs to one thread.
class Worker {
 public:
  // Connects, by --server.
  // Throws WorkerError.
  [[nodiscard]] static bool join(const std::string& name,
                                 int examples = 0);  // At once.
  explicit Worker(int options) : options_(options) {}
  enum class Kind { kOne, kTwo };
};
enum class Role {
  kAlone,   // There is no job.
  kWorker,  // There is one.
};
"""
MODULE = '''"""A package."""

from outpace._parts import Group, run

__all__ = ["Group", "run"]
'''
PARTS = '''from typing import NamedTuple, Optional


class Group(NamedTuple):
    """Parameters. See `run()`."""

    rate: float = 0.1  # Learning rate.


def run(first: int, *, second: Optional[int] = None) -> "Group":
    """Runs Group.

    Raises OutpaceError.
    """


def _own():
    """Nobody's."""
'''


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name).resolve()

    def write(self, place, text):
        path = self.root / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path


class Pages(Folder):
    def stage(self, references=None):
        pages.Stage(self.root, self.root / "out", references or {}).add("README.md")
        return {str(path.relative_to(self.root / "out")): path.read_text()
                for path in (self.root / "out").rglob("*") if path.is_file()}

    def test_the_contents_are_those_of_the_index(self):
        self.write("docs/README.md", INDEX)
        self.assertEqual(pages.contents(self.root), [
            ("Start", [("Read", pathlib.Path("README.md")), ("Run", pathlib.Path("docs/run.md"))])])

    def test_what_is_linked_is_staged_and_the_link_leads_there(self):
        self.write("docs/README.md", INDEX)
        self.write("README.md", "[docs/run.md](docs/run.md#a) [code](tools/a.py) [all](slurm) [x](a.svg)\n"
                                "[there](https://example.org) [here](#b) `[no](link)`\n")
        self.write("docs/run.md", "[back](../README.md)\n")
        self.write("tools/a.py", "print()\n")
        self.write("slurm/job.sh", "exit\n")
        self.write("a.svg", "<svg/>")
        found = self.stage()
        self.assertEqual(found["README.md"], (
            "[Run](docs/run.md#a) [code](tools/a.py.md) [all](slurm/README.md) [x](a.svg)\n"
            "[there](https://example.org) [here](#b) `[no](link)`\n"))
        self.assertEqual(found["tools/a.py.md"], "# a.py\n\n`tools/a.py`:\n\n````python\nprint()\n````\n")
        self.assertEqual(found["slurm/README.md"], "# slurm\n\n- [job.sh](job.sh.md)\n")
        self.assertEqual(set(found), {"README.md", "docs/run.md", "tools/a.py.md", "slurm/README.md",
                                      "slurm/job.sh.md", "a.svg"})

    def test_a_reference_takes_the_place_of_a_file(self):
        self.write("docs/README.md", INDEX)
        self.write("README.md", "[C++](include/a.h)\n")
        self.write("include/a.h", "// A.\n")
        found = self.stage({pathlib.Path("include/a.h"): lambda: "# A [b](b.h.md)\n"})
        self.assertEqual(found["include/a.h.md"], "# A [b](b.h.md)\n")

    def test_a_list_stands_apart_from_its_paragraph(self):
        self.assertEqual(pages.with_lists_apart("**Design**\n- one\n- two\n  more\n- three\n"),
                         "**Design**\n\n- one\n- two\n  more\n- three\n")


class Links(Folder):
    def found(self):
        return list(links.problems(self.root))

    def test_pages_without_a_fault(self):
        self.write("index.html", '<a href="b/c.html#x">c</a><img src="i.png"><link href="s.css">'
                                 '<a href="https://example.org">out</a><a href="b/">b</a>')
        self.write("b/c.html", '<h2 id="x">X</h2><a href="../index.html">up</a><a href="#x">x</a>')
        self.write("b/index.html", "")
        self.write("i.png", "")
        self.write("s.css", "a { background: url(i.png) } b { background: url(data:image/svg+xml,x) }")
        self.assertEqual(self.found(), [])

    def test_links_that_lead_nowhere(self):
        self.write("a.html", '<a href="gone.html">x</a><a href="#gone">y</a><img src="gone.png">')
        self.assertEqual(self.found(), ["a.html: the link gone.html leads nowhere",
                                        "a.html: the link #gone names nothing on that page",
                                        "a.html: the link gone.png leads nowhere"])

    def test_what_is_fetched_from_another_host(self):
        for fetched in ('<script src="https://a.org/x"></script>', '<link href="//a.org/x">',
                        '<img src="http://a.org/x">', '<style>@import "https://a.org/x";</style>',
                        '<p style="background: url(https://a.org/x)">'):
            with self.subTest(fetched):
                self.write("a.html", fetched)
                self.assertEqual(len(self.found()), 1, self.found())
                self.assertIn("a.org/x from another host", self.found()[0])

    def test_a_font_of_another_host(self):
        self.write("a.css", "@font-face { src: url('https://a.org/f.woff') }")
        self.assertEqual(self.found(), ["a.css: the style fetches https://a.org/f.woff from another host"])


class Prose(unittest.TestCase):
    def test_paragraphs_and_code(self):
        lines = ["One", "and two.", "", "  a()", "", "    b()", "", "Three."]
        self.assertEqual(list(prose.blocks_of(lines)), [
            (False, "One and two."), (True, "a()\n\n  b()"), (False, "Three.")])

    def test_names_are_code_and_lead_on(self):
        links_of = {"next": "#next", "WorkerError": "#error", "Worker": "#worker"}.get
        self.assertEqual(prose.inline("Worker calls next() or `next()`, by --server of RUN.", links_of),
                         "Worker calls [`next()`](#next) or [`next()`](#next), by `--server` of RUN.")
        self.assertEqual(prose.inline("Throws WorkerError for kOne, a_b and f(x, g(y)) < 2 * 3.", links_of),
                         "Throws [`WorkerError`](#error) for `kOne`, `a_b` and `f(x, g(y))` &lt; 2 \\* 3.")


class Cpp(Folder):
    def setUp(self):
        super().setUp()
        self.header = cpp_reference.Header(self.write("worker.h", HEADER))
        self.worker = cpp_reference.Entry("class", "Worker", 8, 17)
        self.join = cpp_reference.Entry("function", "join", 12, 12)
        made = cpp_reference.Entry("function", "Worker", 14, 14)
        self.role = cpp_reference.Entry("enum", "Role", 17, 20)
        self.worker.inside = [self.join, made]
        entries = [self.worker, self.role]
        self.page = cpp_reference.Writer(
            "worker.h", self.header, entries,
            cpp_reference.all_places({"worker.h": entries}, "worker.h")).page()

    def test_a_declaration_and_its_comment(self):
        self.assertEqual(self.header.declaration(self.join), (
            "[[nodiscard]] static bool join(const std::string& name,\n"
            "                               int examples = 0);"))
        self.assertEqual(self.header.comment(self.join), ["Connects, by --server.", "Throws WorkerError."])

    def test_a_page(self):
        for part in ("# outpace/worker.h\n\nA worker. See `next()`.\n\n```cpp\nworker.next();\n```",
                     "## class Worker {#worker}\n\nBelongs to one thread.\n\n### join() {#worker-join}",
                     "Connects, by `--server`. Throws WorkerError.",
                     "### Worker() {#worker-worker}\n\n```cpp\nexplicit Worker(int options);\n```",
                     "- `kAlone`: There is no job.\n- `kWorker`: There is one."):
            self.assertIn(part, self.page)


class Python(Folder):
    def test_a_page(self):
        self.write("python/outpace/__init__.py", MODULE)
        self.write("python/outpace/_parts.py", PARTS)
        places = {"Group": ("outpace", "group"), "run": ("outpace", "run")}
        self.assertEqual(python_reference.Writer("outpace", self.root, places).page(), (
            "# outpace\n\nA package.\n\n"
            "## class Group {#group}\n\nParameters. See [`run()`](#run).\n\n"
            "- `rate: float = 0.1`<br>Learning rate.\n\n"
            "## run() {#run}\n\n```python\nrun(first: int, *, second: Optional[int] = None) -> Group\n```\n\n"
            "Runs Group.\n\nRaises OutpaceError.\n"))

    def test_all_public_names_of_the_package_have_an_entry(self):
        root = HERE.parents[1]
        for module in python_reference.MODULES:
            page = python_reference.Writer(module, root, {}).page()
            for name in python_reference.module_of(module, root).public():
                self.assertIn(f"{{#{name.lower()}}}", page)


if __name__ == "__main__":
    unittest.main()
