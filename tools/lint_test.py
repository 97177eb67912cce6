"""lint.py with a stand-in for clang-tidy that fails on the word "wrong": what passed is skipped, and
whatever could change the answer has it asked for again."""

import contextlib
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))
import lint  # noqa: E402 (its folder has just been added)

# Writes down which sources it was asked for, and reads what they include, as clang-tidy does.
STAND_IN = """#!/usr/bin/env python3
import pathlib, re, sys
here = pathlib.Path(__file__).parent
if "--version" in sys.argv:
    print((here / "version").read_text())
    sys.exit(0)
unit = next(pathlib.Path(word) for word in sys.argv[1:] if word.endswith("unit.cc"))
asked = re.findall(r'#include "(.+)"', unit.read_text())
with open(here / "asked", "a") as log:
    log.write("".join(name.rpartition("/")[2] + " " for name in asked) + "\\n")
meanwhile = here / "meanwhile"
texts = []
for name in asked:
    texts.append(pathlib.Path(name).read_text())
    texts += [(pathlib.Path(name).parent.parent / header).read_text()
              for header in re.findall(r'#include "(.+)"', texts[-1])]
if meanwhile.exists():
    exec(meanwhile.read_text())
if any(re.search(r"wrong(?!.*NOLINT)", text) for text in texts):
    print("error: wrong")
    sys.exit(1)
"""


class Clone:
    """A project of three sources and a header, configured as CMake would, beside a stand-in."""

    def __init__(self, folder):
        self.root = pathlib.Path(folder).resolve()
        self.tools = self.root / "stand_in"
        (self.root / "build").mkdir(parents=True)
        (self.root / "src/a").mkdir(parents=True)
        (self.root / "src/b").mkdir(parents=True)
        self.tools.mkdir()
        self.write("stand_in/clang-tidy", STAND_IN).chmod(0o755)
        self.write("stand_in/version", "14")
        self.write(".clang-tidy", "Checks: all")
        self.write("src/a/a.h", "int a();  // what a is\n")
        self.write("src/a/one.cc", '#include "a/a.h"\nint one() { return 1; }\n')
        self.write("src/a/two.cc", "int two() { return 2; }\n")
        self.write("src/b/three.cc", "int three() { return 3; }\n")
        self.configure()

    def write(self, name, text):
        (self.root / name).write_text(text)
        return self.root / name

    def replace(self, name, before, after):
        text = (self.root / name).read_text()
        assert before in text
        self.write(name, text.replace(before, after))

    def configure(self, flags="-O1 -g"):
        """a's sources as one file, as in a unity build; b's by itself; a test, and libtorch's."""
        unity = self.root / "build/CMakeFiles/outpace_a.dir/Unity"
        unity.mkdir(parents=True, exist_ok=True)
        (unity / "unity_0.cxx").write_text(
            f'#include "{self.root}/src/a/one.cc"\n\n#include "{self.root}/src/a/two.cc"\n')
        entries = []
        for target, file, more in (("outpace_a", unity / "unity_0.cxx", ""),
                                   ("outpace_b", self.root / "src/b/three.cc", ""),
                                   ("a_test", self.root / "src/a/a_test.cc", ""),
                                   ("outpace_messages", self.root / "build/messages.cc", ""),
                                   ("outpace_learn", self.root / "src/b/learn.cc",
                                    "-isystem /usr/include/torch/csrc/api/include ")):
            entries.append({
                "directory": str(self.root / "build"), "file": str(file),
                "command": f"env ccache /usr/bin/c++ -I{self.root}/src {more}{flags} "
                           f"-o CMakeFiles/{target}.dir/{file.name}.o -c {file}"})
        self.write("build/compile_commands.json", json.dumps(entries))

    def asked(self, cache):
        """Lints; returns the sources that clang-tidy was asked for, and whether all passed."""
        log = self.tools / "asked"
        log.unlink(missing_ok=True)
        with contextlib.redirect_stdout(io.StringIO()):
            linted = lint.Lint(self.root, cache, str(self.tools / "clang-tidy"))
            failures = linted.run(lint.sources_of(self.root / "build"), jobs=2)
        asked = log.read_text().split() if log.exists() else []
        return sorted(asked), not failures


class Lint(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.cache = self.folder / "cache"
        self.clone = Clone(self.folder / "clone")

    def expect(self, asked, passed=True):
        self.assertEqual(self.clone.asked(self.cache), (asked, passed))

    def pass_all(self):
        self.expect(["one.cc", "three.cc", "two.cc"])
        self.expect([])

    def test_what_passed_is_skipped(self):
        self.pass_all()

    def test_a_changed_source_alone_is_checked_again(self):
        self.pass_all()
        self.clone.replace("src/a/two.cc", "2", "22")
        self.expect(["two.cc"])
        self.expect([])

    def test_a_changed_header_has_those_checked_that_include_it(self):
        self.pass_all()
        self.clone.replace("src/a/a.h", "int a()", "long a()")
        self.expect(["one.cc"])

    def test_a_comment_of_a_source_or_header_counts_for_it_may_be_a_nolint(self):
        self.clone.write("src/b/three.cc", "int three();  // wrong, but NOLINT(all): it is not ours\n")
        self.pass_all()
        self.clone.replace("src/b/three.cc", ", but NOLINT(all): it is not ours", "")
        self.expect(["three.cc"], passed=False)
        self.clone.replace("src/a/a.h", "what a is", "what else a is")
        self.expect(["one.cc", "three.cc"], passed=False)

    def test_a_macro_that_nobody_uses_counts(self):
        self.pass_all()
        self.clone.replace("src/a/a.h", "int a()", "#define A 1 + 1\nint a()")
        self.expect(["one.cc"])

    def test_changed_checks_flags_and_versions_have_everything_checked_again(self):
        self.pass_all()
        self.clone.write(".clang-tidy", "Checks: more")
        self.pass_all()
        self.clone.configure("-O1 -g -DMORE")
        self.pass_all()
        self.clone.write("stand_in/version", "15")
        self.pass_all()

    def test_flags_that_decide_nothing_do_not_count(self):
        self.pass_all()
        self.clone.configure("-O3 -g1 -ffile-prefix-map=/somewhere=.")
        self.expect([])

    def test_what_failed_is_not_kept_nor_what_was_checked_with_it(self):
        self.clone.write("src/a/two.cc", "int wrong();\n")
        self.expect(["one.cc", "three.cc", "two.cc"], passed=False)
        self.expect(["one.cc", "two.cc"], passed=False)
        self.clone.replace("src/a/two.cc", "wrong", "right")
        self.expect(["one.cc", "two.cc"])
        self.expect([])

    def test_a_text_that_failed_fails_again_after_another_passed(self):
        self.pass_all()
        self.clone.write("src/b/three.cc", "int wrong();\n")
        self.expect(["three.cc"], passed=False)
        self.clone.write("src/b/three.cc", "int three() { return 3; }\n")
        self.expect([])
        self.clone.write("src/b/three.cc", "int wrong();\n")
        self.expect(["three.cc"], passed=False)

    def test_what_does_not_compile_is_checked_each_time(self):
        self.clone.write("src/b/three.cc", '#include "none/such.h"\nint wrong;\n')
        (self.clone.root / "src/none").mkdir()
        self.clone.write("src/none/such.h", "#error wrong\n")
        self.expect(["one.cc", "three.cc", "two.cc"], passed=False)
        self.expect(["three.cc"], passed=False)

    def test_a_file_that_changes_meanwhile_is_not_kept(self):
        three = self.clone.root / "src/b/three.cc"
        self.clone.write("src/b/three.cc", "int wrong();\n")
        right = "int three() { return 3; }\n"
        # The hash is of the wrong text; the file is mended before clang-tidy is done with it.
        self.clone.write("stand_in/meanwhile",
                         f"pathlib.Path({str(three)!r}).write_text({right!r})\ntexts = []\n")
        self.expect(["one.cc", "three.cc", "two.cc"])
        (self.clone.tools / "meanwhile").unlink()
        self.clone.write("src/b/three.cc", "int wrong();\n")
        self.expect(["three.cc"], passed=False)

    def test_a_clone_elsewhere_knows_what_passed(self):
        self.pass_all()
        self.clone = Clone(self.folder / "another/place")
        self.expect([])

    def test_without_a_cache_everything_is_checked(self):
        everything = (["one.cc", "three.cc", "two.cc"], True)
        self.assertEqual(self.clone.asked(self.cache), everything)
        self.assertEqual(self.clone.asked(None), everything)
        self.assertEqual(self.clone.asked(None), everything)

    def test_entries_that_nobody_asks_for_are_removed_in_the_end(self):
        self.pass_all()
        entries = sorted(self.cache.iterdir())
        now = time.time()
        os.utime(entries[0], (now - 1e7, now - 1e7))
        lint.remove_old(self.cache, now)
        self.assertEqual(sorted(self.cache.iterdir()), entries[1:])
        lint.remove_old(None, now)


class Targets(unittest.TestCase):
    """What `make lint` would run: make has variables of its own, LINT among them."""

    def words(self, target):
        shown = subprocess.run(["make", "--dry-run", target, "JOBS=3", "PYTHON=python3"],
                               text=True, check=True, cwd=pathlib.Path(__file__).parent.parent,
                               stdout=subprocess.PIPE, env={"PATH": os.environ["PATH"]}).stdout
        return next(line for line in shown.splitlines() if "tools/lint.py" in line).split()

    def test_lint_and_lint_all_differ_in_the_cache_alone(self):
        cached = ["python3", "-B", "tools/lint.py", "build/dev", "--jobs", "3"]
        self.assertEqual(self.words("lint"), cached)
        self.assertEqual(self.words("lint-all"), [*cached, "--no-cache"])


if __name__ == "__main__":
    unittest.main()
