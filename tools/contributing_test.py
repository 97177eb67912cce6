"""The examples of CONTRIBUTING.md are code of this repository, so they compile, link and pass their tests.

A block of code there stands, line for line, in the file that the text before it names; `...` leaves lines
out. A policy's header and the scenario are whole, from their first line on.
"""

import pathlib
import re
import sys
import unittest

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "CONTRIBUTING.md"
WHOLE = ("src/core/policy/kbatchasync.h",)


def blocks(page):
    """(the files that the text since the block before names, the lines of the block)."""
    parts = re.split(r"^```\w*\n", page, flags=re.MULTILINE)
    for text, code in zip(parts[::2], parts[1::2]):
        named = re.findall(r"`(src/[\w/.{},]+)`", text)
        files = [one.replace("{h,cc}", ending) for one in named for ending in ("h", "cc")]
        yield sorted(set(files)), code.splitlines()


def plain(lines):
    """Without the remarks at the ends of lines, and the indentation that all have."""
    cut = [re.sub(r"(?<=\S)\s+//.*$", "", line).rstrip() for line in lines]
    least = min((len(line) - len(line.lstrip()) for line in cut if line), default=0)
    return "\n".join(line[least:] for line in cut).strip("\n")


def stands_in(fragment, source):
    """Whether these lines follow each other there, at any indentation."""
    wanted = [line.strip() for line in plain(fragment).splitlines()]
    have = [line.strip() for line in plain(source.splitlines()).splitlines()]
    return any(have[at:at + len(wanted)] == wanted for at in range(len(have)))


def fragments(code):
    found = [[]]
    for line in code:
        if line.strip() == "...":
            found.append([])
        else:
            found[-1].append(line)
    return [one for one in found if any(line.strip() for line in one)]


class Page(unittest.TestCase):
    def test_every_block_is_code_of_the_file_that_is_named(self):
        found = list(blocks(PAGE.read_text()))
        self.assertGreaterEqual(len(found), 4)
        for files, code in found:
            sources = [(ROOT / one).read_text() for one in files if (ROOT / one).is_file()]
            self.assertTrue(sources, f"no file is named before {code[:2]}")
            for fragment in fragments(code):
                with self.subTest(files=files, first=fragment[0]):
                    self.assertTrue(any(stands_in(fragment, source) for source in sources),
                                    "\n".join(["this stands in none of them:", *fragment]))

    def test_a_whole_file_is_whole(self):
        found = {name: code for files, code in blocks(PAGE.read_text()) for name in files
                 if name in WHOLE}
        for name in WHOLE:
            self.assertEqual(plain(found[name]), plain((ROOT / name).read_text().splitlines()))


class Rules(unittest.TestCase):
    def test_remarks_and_indentation_do_not_count(self):
        self.assertTrue(stands_in(["  a();  // Why.", "  b();"], "{\n    a();\n    b();\n}\n"))

    def test_an_order_does(self):
        self.assertFalse(stands_in(["b();", "a();"], "a();\nb();\n"))
        self.assertFalse(stands_in(["a();", "b();"], "a();\nc();\nb();\n"))

    def test_dots_leave_lines_out(self):
        self.assertEqual(fragments(["a", "  ...", "b"]), [["a"], ["b"]])


if __name__ == "__main__":
    unittest.main()
