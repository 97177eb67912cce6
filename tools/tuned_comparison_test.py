"""Tests tuned_comparison.py with a stand-in for `outpace`, and its arithmetic."""

import math
import pathlib
import sys
import unittest
from unittest import mock

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))
import tuned_comparison  # noqa: E402 (its folder has just been added)
from stand_in import ToolTest  # noqa: E402

FASTEST = {"sync": (10.0, 0.2), "async": (5.0, 0.05), "ssp:s=3": (20.0, 0.4)}


def evaluations_of(policy, rate, seed):
    """Ten evaluations until the accuracy, which rises evenly, is 0.84, and five more: after the
    policy's fastest time at its best rate, a third more at another one by sqrt(2), two thirds by 2 and
    so on, and a tenth more with each seed (modulo 100)."""
    seconds, best = FASTEST[policy]
    seconds *= (1 + abs(math.log2(rate / best)) * 2 / 3) * (1 + seed % 100 / 10)
    return [{"seconds": seconds * i / 10, "accuracy": 0.084 * i} for i in range(1, 16)]


# `outpace compare`. Its row ssp:s=3 does not reach the target with seed 2.
PROGRAM = """#!/usr/bin/env python3
import csv, json, pathlib, sys, tomllib
sys.path.insert(0, "%s")
from tuned_comparison_test import evaluations_of
config, folder = sys.argv[2], pathlib.Path(sys.argv[4])
with open(config, "rb") as file:
    told = tomllib.load(file)
with open(pathlib.Path(__file__).parent / "calls.jsonl", "a") as calls:
    calls.write(json.dumps({**told, "folder": str(folder)}) + "\\n")
rows = []
for i, row in enumerate(told["policy"]):
    for seed in told["compare"]["seeds"]:
        never = row["policy"] == "ssp:s=3" and seed == 2
        evaluations = evaluations_of(row["policy"], row["lr"], seed)[:5 if never else 15]
        rows.append({"name": row["name"], "seed": seed, "status": "done",
                     "examples_per_second": 1000.0, "final_accuracy": 0.85, "staleness_mean": 1.5,
                     "staleness_max": 7, "dropped_share": 0.25, "fairness": 1, "reason": ""})
        cell = folder / "fixed" / f"row-{i}"
        cell.mkdir(parents=True, exist_ok=True)
        words = ["simulate", f"--seed={seed}", "--workers=8",
                 *(f"--{key}={str(value).lower()}" for key, value in row.items() if key != "name")]
        (cell / f"seed-{seed}.json").write_text(json.dumps(
            {"words": words, "result": {"evaluations": evaluations}}))
with open(folder / "compare.csv", "w", newline="") as file:
    writer = csv.DictWriter(file, rows[0])
    writer.writeheader()
    writer.writerows(rows)
""" % pathlib.Path(__file__).parent

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
        self.told = []  # The options of each tuning run.
        simulate = mock.patch.object(tuned_comparison.measured_runs, "outpace", self.simulate)
        simulate.start()
        self.addCleanup(simulate.stop)

    def simulate(self, _program, words, _seconds, command):
        words = [word for word in words if word != "--balance"]
        told = {"command": command, **dict(zip(words[::2], words[1::2]))}
        self.told.append(told)
        limit = float(told.get("--seconds", "1e9s").rstrip("s"))
        rate = float(told["--lr"])
        evaluations = evaluations_of(told["--policy"], rate, int(told["--seed"]))
        return {"evaluations": [one for one in evaluations if one["seconds"] <= limit],
                "final_accuracy": 0.8, "diverged": rate >= 1.6}

    def compare(self, *arguments):
        return self.run_tool(tuned_comparison, str(self.file), "--out", str(self.folder / "out"),
                             "--traces", "fixed", "--jobs", "1", *arguments)

    def tried(self, policy):
        """[(rate, seed)] of the tuning runs of a policy, in their order."""
        return [(float(call["--lr"]), int(call["--seed"])) for call in self.told
                if call["--policy"] == policy]

    def test_every_row_runs_at_the_rate_that_was_soonest(self):
        code, out, errors = self.compare()
        self.assertEqual(code, 0, errors)
        # Three evaluations' mean is 0.84 one evaluation after the third of them is.
        self.assertRegex(out, r"\| `sync` \| 0.2 \| 1,000 \| 13.2 ± 2.7 \| [0-9.]+ to [0-9.]+ \| "
                              r"3/3 \| 85.0 ± 0.0 \| 1.50 \| 7 \| 25.0 % \| 1.000 \|")
        self.assertRegex(out, r"\| `async` \| 0.05 \| 1,000 \| 6.6 ± 1.4 \| ")
        self.assertRegex(out, r"\| `ssp:s=3` \| 0.4 \| 1,000 \| 26.4 ± 28.0 \| - \| 2/3 \|")
        self.assertNotIn("calm", out)

    def test_searches_coarsely_with_few_seeds_then_finely_with_all(self):
        self.compare()
        tried = self.tried("async")
        self.assertEqual(tried[:10], [(0.2, 101), (0.2, 102), (0.1, 101), (0.1, 102), (0.4, 101),
                                      (0.4, 102), (0.05, 101), (0.05, 102), (0.025, 101),
                                      (0.025, 102)])
        # The best three are 0.05, 0.1 and 0.2: it gave up 0.025, which takes as long as 0.1.
        fine = {rate for rate, seed in tried if seed == 105}
        self.assertEqual({round(rate, 3) for rate in fine},
                         {0.035, 0.05, 0.071, 0.1, 0.141, 0.2, 0.283})
        self.assertEqual(len(tried), len(set(tried)))
        self.assertEqual({rate for rate, _ in tried} - fine, {0.025, 0.4})

    def test_gives_up_a_rate_that_takes_much_longer_than_the_best_one(self):
        self.compare("--give-up", "1.5")
        runs = [call for call in self.told if call["--policy"] == "sync"]
        self.assertNotIn("--seconds", runs[0])
        # Seed 101 takes 11 s at the best rate, and an evaluation more: 12.1; with seed 102 12.65.
        self.assertEqual([run["--seconds"] for run in runs[1:4]], ["19s", "19s", "19s"])

    def test_several_rows_at_a_time_give_the_same_tables(self):
        _, one, _ = self.compare()
        (self.folder / "out" / "three" / "tuning.json").unlink()
        _, several, _ = self.compare("--jobs", "3")
        self.assertEqual(one.partition("**")[2], several.partition("**")[2])

    def test_goes_on_where_it_was_stopped(self):
        self.compare()
        self.told = []
        code, _, errors = self.compare()
        self.assertEqual(code, 0, errors)
        self.assertEqual(self.told, [])

    def test_the_comparison_has_its_own_seeds_and_goes_past_the_target(self):
        self.compare()
        tuning, [last] = self.told[0], self.calls()
        self.assertEqual((tuning["command"], tuning["--delays"], tuning["--consecutive"]),
                         ("simulate", "fixed.csv", "3"))
        self.assertNotIn("--past-target", tuning)
        self.assertEqual((last["compare"]["seeds"], last["compare"]["past-target"]),
                         ([1, 2, 3], True))
        self.assertEqual(last["group"], [{"name": "all", "rows": ["sync", "async"]}])
        self.assertEqual(last["policy"][0], {"policy": "sync", "lr": 0.2, "balance": True,
                                             "name": "sync"})

    def test_shows_the_differences_at_equal_seeds(self):
        _, out, _ = self.compare("--difference", "async")
        self.assertIn("| s, minus | `async` |", out)
        self.assertIn("| `sync` | -6.6 ± 1.4 **sooner** |", out)
        self.assertIn("| `ssp:s=3` | -19.8 ± 21.0, 2 of 3 seeds |", out)
        self.assertNotIn("| `async` | +", out)

    def test_only_some_rows(self):
        code, out, errors = self.compare("--rows", "async")
        self.assertEqual(code, 0, errors)
        self.assertEqual({call["--policy"] for call in self.told}, {"async"})
        self.assertNotIn("sync", out.replace("async", ""))

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
    def runs_of(self, *seconds, accuracy=0.85):
        return {seed: (value, accuracy) for seed, value in enumerate(seconds)}

    def test_the_best_rate_is_the_smaller_of_equals(self):
        found = {0.1: self.runs_of(9.0), 0.4: self.runs_of(8.0), 0.2: self.runs_of(8.0)}
        self.assertEqual(tuned_comparison.best(found), 0.2)

    def test_more_seeds_that_reach_the_target_count_before_the_mean(self):
        found = {0.1: self.runs_of(9.0, 9.0), 0.2: self.runs_of(10.0, 6.0),
                 0.4: self.runs_of(1.0, None)}
        self.assertEqual(tuned_comparison.best(found), 0.2)

    def test_without_the_target_the_highest_accuracy_is_best(self):
        found = {0.1: self.runs_of(None, accuracy=0.7), 0.2: self.runs_of(None, accuracy=0.8),
                 0.4: self.runs_of(None, accuracy=0.1)}
        self.assertEqual(tuned_comparison.best(found), 0.2)

    def test_the_target_is_reached_between_two_means(self):
        evaluations = [{"seconds": float(i), "accuracy": accuracy}
                       for i, accuracy in enumerate([0.0, 0.9, 0.0, 0.9, 0.9, 0.9])]
        reached_at = tuned_comparison.reached_at
        # Means of three from the third on: 0.3, 0.6, 0.6, 0.9.
        self.assertAlmostEqual(reached_at(evaluations, 0.75, 3), 4.5)
        self.assertAlmostEqual(reached_at(evaluations, 0.45, 3), 2.5)
        self.assertEqual(reached_at(evaluations, 0.3, 3), 2.0)
        self.assertIsNone(reached_at(evaluations, 0.95, 3))
        self.assertIsNone(reached_at(evaluations[:2], 0.1, 3))

    def test_the_interval_has_the_choice_of_the_rate_in_it(self):
        # Seeds disagree which of two rates is sooner; at the one that was chosen all is exact.
        found = {0.1: self.runs_of(9.0, 11.0, 9.0, 11.0), 0.2: self.runs_of(10.1, 10.1, 10.1, 10.1)}
        low, high = tuned_comparison.bootstrap(found, 0.1, [8.0, 8.0, 8.0])
        self.assertEqual((low, high), (8.0, 10.1))
        self.assertEqual(tuned_comparison.bootstrap({0.1: found[0.1]}, 0.1, [8.0, 8.0]), (8.0, 8.0))
        self.assertIsNone(tuned_comparison.bootstrap(found, 0.1, [8.0, None]))

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
