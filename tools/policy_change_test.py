"""Tests policy_change.py with a stand-in for `outpace`, and its arithmetic."""

import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))
import policy_change  # noqa: E402 (its folder has just been added)
from stand_in import ToolTest  # noqa: E402

# A run that waits until `ctl` was asked twice; accuracy falls to `LOWEST` after the first change.
PROGRAM = """#!/usr/bin/env python3
import json, pathlib, sys, time
words = sys.argv[1:]
if words[0] == "ctl":
    asked = pathlib.Path(words[1]) / "asked"
    asked.write_text((asked.read_text() if asked.exists() else "") + words[3] + "\\n")
    of = {"async": (100, "share"), "dynamic": (900, "none")}[words[3]]
    print(f"policy is now {words[3]} from version {of[0]} on, staleness rule {of[1]}")
    sys.exit(0)
run = pathlib.Path(words[words.index("--out") + 1])
run.mkdir()
(run / "control.json").write_text("{}")
while run.name == "seed-7-2" and (not (run / "asked").exists() or
                                  (run / "asked").read_text() != "async\\ndynamic\\n"):
    time.sleep(0.01)
lowest = LOWEST if run.name == "seed-7-2" else 0.61
print(json.dumps({"evaluations": [{"version": 90, "seconds": 1, "accuracy": 0.8},
                                  {"version": 500, "seconds": 2, "accuracy": lowest},
                                  {"version": 1000, "seconds": 3, "accuracy": 0.82}]}))
"""


class PolicyChange(ToolTest):
    def change(self, lowest):
        self.put_program(PROGRAM.replace("LOWEST", str(lowest)))
        return self.run_tool(policy_change, "--seconds", "0", "--seeds", "7")

    def test_shows_each_change(self):
        code, out, errors = self.change(0.79)
        self.assertEqual(code, 0, errors)
        self.assertRegex(out, r"7 +async +share +80.0% +79.0% +79.0% +61.0%\n"
                              r"7 +dynamic +none +79.5% +82.0% +82.0% +82.0%\n")

    def test_one_evaluation_of_many_is_smoothed_and_shown(self):
        evaluations = [{"version": i, "seconds": i, "accuracy": 0.6 if i == 6 else 0.9}
                       for i in range(10)]
        [(_, _, before, lowest, single, begin, end)] = policy_change.drops(
            evaluations, [("async", "share", 4)])
        self.assertAlmostEqual(before, 0.9)
        self.assertAlmostEqual(lowest, 0.8)
        self.assertEqual((single, begin, end), (0.6, 5, 9))
        self.assertIsNone(policy_change.lowest_between(evaluations, 20, 30))

    def test_fails_where_accuracy_falls(self):
        code, _, errors = self.change(0.2)
        self.assertEqual(code, 1)
        self.assertIn("accuracy fell by 60.0 points after a change", errors)

    def test_a_change_without_evaluations_around_it_is_said(self):
        with self.assertRaisesRegex(policy_change.measured_runs.RunFailed, "more --seconds"):
            policy_change.drops([{"version": 5, "seconds": 1, "accuracy": 0.5}], [("async", "share", 9)])


if __name__ == "__main__":
    unittest.main()
