"""Tests tuned_comparison.py with a stand-in for `outpace compare`, and its arithmetic."""

import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))
import tuned_comparison  # noqa: E402 (its folder has just been added)
from stand_in import ToolTest  # noqa: E402

# Writes compare.csv for a comparison. A row takes its fastest time at its policy's best rate, twice that
# at another, and a tenth more with each seed; a rate of 0.8 diverges.
PROGRAM = """#!/usr/bin/env python3
import csv, json, pathlib, sys, tomllib
config, folder = sys.argv[2], pathlib.Path(sys.argv[4])
with open(config, "rb") as file:
    told = tomllib.load(file)
with open(pathlib.Path(__file__).parent / "calls.jsonl", "a") as calls:
    calls.write(json.dumps({**told, "folder": str(folder)}) + "\\n")
fastest = {"sync": (10.0, 0.2), "async": (5.0, 0.05), "ssp:s=3": (20.0, 0.4)}
rows = []
for row in told["policy"]:
    for seed in told["compare"]["seeds"]:
        seconds, rate = fastest[row["policy"]]
        diverged = row["lr"] >= 0.8
        never = row["policy"] == "ssp:s=3" and seed == 2
        seconds *= (1 if abs(row["lr"] - rate) < 1e-9 else 2) * (1 + seed / 10)
        rows.append({"name": row["name"], "seed": seed, "status": "failed" if diverged else "done",
                     "examples_per_second": "" if diverged else 1000.0,
                     "seconds_to_target": "" if diverged or never else seconds,
                     "final_accuracy": "" if diverged else 0.85,
                     "staleness_mean": "" if diverged else 1.5, "staleness_max": "" if diverged else 7,
                     "dropped_share": "" if diverged else 0.25, "fairness": "" if diverged else 1,
                     "reason": "training has diverged" if diverged else ""})
with open(folder / "compare.csv", "w", newline="") as file:
    writer = csv.DictWriter(file, rows[0])
    writer.writeheader()
    writer.writerows(rows)
"""

COMPARISON = """[compare]
mode = "simulated"
policies = ["sync", "async", "ssp:s=3"]
seeds = [1, 2, 3]
delays = {calm = "calm.csv", fixed = "fixed.csv"}
target-accuracy = 0.84
past-target = true
lr = 0.7

[[policy]]
policy = "sync"
lr = 0.3
balance = true

[[group]]
name = "all"
rows = ["sync", "async"]
"""


class Tuned(ToolTest):
    def setUp(self):
        super().setUp()
        self.put_program(PROGRAM)
        self.file = self.folder / "three.toml"
        self.file.write_text(COMPARISON)

    def compare(self, *arguments):
        return self.run_tool(tuned_comparison, str(self.file), "--out", str(self.folder / "out"),
                             "--traces", "fixed", *arguments)

    def test_every_row_runs_at_the_rate_that_was_soonest(self):
        code, out, errors = self.compare()
        self.assertEqual(code, 0, errors)
        self.assertIn("| `sync` | 0.2 | 1,000 | 12.0 ± 2.5 | 3/3 | 85.0 ± 0.0 | 1.50 | 7 | 25.0 % | "
                      "1.000 |", out)
        self.assertIn("| `async` | 0.05 | 1,000 | 6.0 ± 1.2 | 3/3 |", out)
        self.assertIn("| `ssp:s=3` | 0.4 | 1,000 | 24.0 ± 25.4 | 2/3 |", out)
        self.assertNotIn("calm", out)

    def test_tunes_with_a_seed_of_its_own_and_stops_at_the_target(self):
        self.compare()
        *tuning, last = self.calls()
        for call in tuning:
            self.assertEqual((call["compare"]["seeds"], call["compare"]["past-target"]),
                             ([100], False))
            self.assertEqual(call["compare"]["delays"], {"fixed": "fixed.csv"})
        self.assertEqual((last["compare"]["seeds"], last["compare"]["past-target"]),
                         ([1, 2, 3], True))
        self.assertEqual(last["group"], [{"name": "all", "rows": ["sync", "async"]}])
        self.assertEqual(last["policy"][0], {"policy": "sync", "lr": 0.2, "balance": True,
                                             "name": "sync"})

    def test_tries_a_rate_beyond_the_best_only_where_that_is_the_first_or_the_last(self):
        self.compare()
        tried = [[(row["policy"], row["lr"]) for row in call["policy"]] for call in self.calls()]
        self.assertEqual(len(tried[0]), 9)
        self.assertEqual(tried[1], [("async", 0.05), ("ssp:s=3", 0.8)])
        self.assertEqual(tried[2], [("async", 0.025)])
        self.assertEqual(len(tried), 4)

    def test_shows_the_differences_at_equal_seeds(self):
        _, out, _ = self.compare("--difference", "async")
        self.assertIn("| s, minus | `async` |", out)
        self.assertIn("| `sync` | -6.0 ± 1.2 **sooner** |", out)
        self.assertIn("| `ssp:s=3` | -18.0 ± 19.1, 2 of 3 seeds |", out)
        self.assertNotIn("| `async` | +", out)

    def test_a_row_that_is_not_there_is_said(self):
        code, _, errors = self.compare("--difference", "saps")
        self.assertEqual(code, 1)
        self.assertIn("three.toml has no row 'saps'; its rows are sync, async, ssp:s=3", errors)

    def test_a_trace_that_is_not_there_is_said(self):
        code, _, errors = self.compare("--traces", "bursty")
        self.assertEqual(code, 1)
        self.assertIn("three.toml has no trace 'bursty'; its traces are calm, fixed", errors)

    def test_a_file_without_a_target_is_said(self):
        self.file.write_text(COMPARISON.replace("target-accuracy", "epochs"))
        code, _, errors = self.compare()
        self.assertEqual(code, 1)
        self.assertIn("three.toml: [compare] has no target-accuracy", errors)

    def test_too_many_seeds_for_an_interval_are_said(self):
        self.file.write_text(COMPARISON.replace("[1, 2, 3]", str(list(range(21)))))
        code, _, errors = self.compare()
        self.assertEqual(code, 1)
        self.assertIn("three.toml: 21 seeds; at most 20 have an interval here", errors)

    def test_a_comparison_that_fails_ends_it(self):
        self.put_program("#!/bin/sh\necho 'three.toml:3: unknown key' >&2\nexit 2\n")
        code, _, errors = self.compare()
        self.assertEqual(code, 1)
        self.assertIn("exit code 2 of: ", errors)


class Arithmetic(unittest.TestCase):
    def run_of(self, *seconds, accuracy=0.85):
        return [{"seconds_to_target": "" if value is None else str(value),
                 "final_accuracy": str(accuracy)} for value in seconds]

    def test_the_best_rate_is_the_smaller_of_equals(self):
        best = tuned_comparison.best
        self.assertEqual(best({0.1: self.run_of(9.0), 0.4: self.run_of(8.0), 0.2: self.run_of(8.0)}),
                         0.2)

    def test_with_several_seeds_more_that_reach_the_target_count_before_the_mean(self):
        found = {0.1: self.run_of(9.0, 9.0), 0.2: self.run_of(10.0, 6.0), 0.4: self.run_of(1.0, None)}
        self.assertEqual(tuned_comparison.best(found), 0.2)

    def test_without_the_target_the_highest_accuracy_is_best(self):
        found = {0.1: self.run_of(None, accuracy=0.7), 0.2: self.run_of(None, accuracy=0.8),
                 0.4: self.run_of(None, accuracy=0.1)}
        self.assertEqual(tuned_comparison.best(found), 0.2)

    def test_the_interval_is_student_s(self):
        mean, half = tuned_comparison.interval([1.0, 2.0, 3.0])
        self.assertEqual(mean, 2.0)
        self.assertAlmostEqual(half, 4.303 / 3**0.5)
        self.assertEqual(tuned_comparison.interval([4.0]), (4.0, None))

    def test_an_interval_that_holds_zero_shows_nothing(self):
        difference = tuned_comparison.difference
        self.assertEqual(difference([2.0, 3.0, 4.0], [3.0, 2.0, 3.5]), "+0.2 ± 2.6")
        self.assertEqual(difference([2.0, 3.0, 4.0], [1.0, 1.9, 2.8]), "+1.1 ± 0.2 **later**")
        self.assertEqual(difference([2.0], [3.0]), "-1.0")
        self.assertEqual(difference([None], [3.0]), "-")


if __name__ == "__main__":
    unittest.main()
