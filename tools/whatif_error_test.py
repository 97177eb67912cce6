"""whatif_error.py against a program that stands in for outpace."""

import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))
import whatif_error  # noqa: E402 (its folder has just been added)
from stand_in import ToolTest  # noqa: E402

# A run does as many examples a second as a hundred times its trace's columns, and ten times its
# first number; what it would do under a policy is ten more than it does.
PROGRAM = """#!/usr/bin/env python3
import json, sys
words = sys.argv[2:]
if sys.argv[1] == "train":
    told = dict(word for word in zip(words, words[1:]) if word[0].startswith("--"))
    row = open(told["--delays"]).readline().split(",")
    print(json.dumps({"examples_per_second": 100 * len(row) + 10 * float(row[0])}))
else:
    asked = ["without worker 2", "policy async"] if "--policy" in words else ["all at the median"]
    print(json.dumps({"replayed_examples_per_second": 330, "questions":
                      [{"question": one, "examples_per_second": 340} for one in asked]}))
"""


class WhatIfError(ToolTest):
    def setUp(self):
        super().setUp()
        self.put_program(PROGRAM)
        (self.folder / "three.csv").write_text("1,2,6\n1,2,6\n# seconds\n")

    def measure(self, *arguments):
        return self.run_tool(whatif_error, *arguments, "--policies", "async")

    def test_each_answer_stands_beside_the_run_that_the_question_means(self):
        code, out, errors = self.measure(str(self.folder / "three.csv"))
        self.assertEqual(code, 0, errors)
        rows = [line.split("  ") for line in out.splitlines() if line.startswith("three, ")]
        found = {row[0]: [cell.strip() for cell in row[1:] if cell.strip()] for row in rows}
        self.assertEqual(found["three, as it was, replayed"], ["330", "310", "+6.5 %"])
        self.assertEqual(found["three, without worker 2"], ["340", "210", "+61.9 %"])
        self.assertEqual(found["three, all at the median"], ["340", "320", "+6.2 %"])
        self.assertEqual(found["three, policy async"], ["340", "310", "+9.7 %"])

    def test_a_trace_that_is_none_is_named(self):
        (self.folder / "words.csv").write_text("a,b\n")
        for name in ("absent.csv", "words.csv"):
            code, _, errors = self.measure(str(self.folder / name))
            self.assertEqual(code, 1)
            self.assertIn(name, errors)
            self.assertEqual(len(errors.splitlines()), 1)


if __name__ == "__main__":
    unittest.main()
