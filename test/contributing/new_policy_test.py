"""CONTRIBUTING.md, "Adding a policy", followed to the letter in a copy of the folder, under another name.

The page's example is a policy that is there already, so the copy gets it as `everyfew`: its file, its
function, its entry, its scenario. Then the copy compiles and the tests of all policies pass. An entry that
leaves a line out must not compile.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tools"))
from contributing_test import PAGE, blocks, fragments  # noqa: E402

POLICY = ROOT / "src/core/policy"
COPY = pathlib.Path(os.environ["COPY"])  # A folder of the build's, ours alone.
COMPILER = [os.environ["CXX"], "-std=c++20", "-O1", "-fuse-ld=lld"]
COMPILE = [*COMPILER, "-Wall", "-Wextra", "-Wno-missing-field-initializers", f"-I{COPY}",
           *[f"-I{one}" for one in os.environ["INCLUDES"].split(":") if one],
           *[f"-D{one}" for one in os.environ["DEFINITIONS"].split(":") if one]]
LIBRARIES = os.environ["LIBRARIES"].split(":")
TESTS = ("catalogue_test.cc", "draw_test.cc", "stragglers_test.cc", "scenario_test.cc", "keep_test.cc",
         "property_test.cc", "allocation_test.cc")
END_OF_LIST = "};\n#pragma GCC diagnostic pop"


def renamed(text):
    return text.replace("KBatchAsync", "EveryFew").replace("kbatchasync", "everyfew")


class Example:
    """The blocks of the page's section."""

    def __init__(self):
        section = PAGE.read_text().split("\n## Adding a policy\n")[1].split("\n## ")[0]
        header, catalogue, scenario = [renamed("\n".join(code)) + "\n" for _, code in blocks(section)]
        self.header, self.scenario = header, scenario
        self.function, self.entry = ["\n".join(one) + "\n" for one in fragments(catalogue.splitlines())]

    def put_into(self, folder, entry):
        (folder / "everyfew.h").write_text(self.header)
        (folder / "testdata/everyfew.txt").write_text(self.scenario)
        path = folder / "catalogue.cc"
        text = path.read_text()
        for before in ("namespace outpace::policy {\n", "#pragma GCC diagnostic push", END_OF_LIST):
            assert text.count(before) == 1, before
        text = text.replace("namespace outpace::policy {\n",
                            '#include "policy/everyfew.h"\nnamespace outpace::policy {\n')
        text = text.replace("#pragma GCC diagnostic push", self.function + "#pragma GCC diagnostic push")
        path.write_text(text.replace(END_OF_LIST, entry + END_OF_LIST))


def copied():
    folder = COPY / "policy"
    shutil.rmtree(COPY, ignore_errors=True)
    shutil.copytree(POLICY, folder)
    return folder


def run(*command):
    return subprocess.run([str(one) for one in command], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)


class NewPolicy(unittest.TestCase):
    def test_an_entry_that_leaves_a_line_out_does_not_compile(self):
        example = Example()
        members = re.findall(r"\.(\w+) = ", example.entry)
        self.assertEqual(len(members), 10, members)
        entries = ""
        for member in members[1:]:  # The rule to the maker.
            lines = [one for one in example.entry.splitlines() if f".{member} = " not in one]
            entries += "\n".join(lines).removesuffix("},").rstrip(",") + "},\n"
        folder = copied()
        example.put_into(folder, entries)
        found = run(*COMPILE, "-fsyntax-only", folder / "catalogue.cc")
        self.assertNotEqual(found.returncode, 0)
        for member in members[1:]:
            self.assertIn(f"missing initializer for member ‘outpace::policy::Entry::{member}’", found.stdout)

    def test_the_page_gives_a_policy_that_passes_the_tests_of_all_policies(self):
        example = Example()
        folder = copied()
        example.put_into(folder, example.entry)
        sources = [one for one in sorted(folder.glob("*.cc")) if not one.stem.endswith("_test")]
        unity = COPY / "all.cc"
        unity.write_text("".join(f'#include "policy/{one.name}"\n' for one in sources)
                         + "".join(f'#include "policy/{one}"\n' for one in TESTS))
        program = COPY / "policy_test"
        made = run(*COMPILE, "-c", unity, f'-DOUTPACE_TESTDATA="{folder}/testdata"', "-o", COPY / "all.o")
        self.assertEqual(made.returncode, 0, made.stdout)
        made = run(*COMPILER, COPY / "all.o", *LIBRARIES, "-o", program)
        self.assertEqual(made.returncode, 0, made.stdout)
        listed = run(program, "--gtest_list_tests")
        self.assertIn("everyfew", listed.stdout)
        found = run(program)
        self.assertEqual(found.returncode, 0, found.stdout[-4000:])


if __name__ == "__main__":
    unittest.main(verbosity=2)
