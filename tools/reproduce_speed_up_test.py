"""Tests reproduce_speed_up.py with a stand-in for outpace, and its arithmetic."""

import math
import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))
import reproduce_speed_up  # noqa: E402 (its folder has just been added)
from stand_in import ToolTest  # noqa: E402

# Learners are worth 0.9 of one each, up to 8; every run is at 0.85 after 3,000 examples.
RESULT = """learners = min(8, int(told["--workers"]))
speed = 100.0 * (1.0 + 0.9 * (learners - 1))
print(json.dumps({"examples_per_second": speed, "final_accuracy": 0.85, "staleness": {"mean": 1.5},
                  "why_ended": "iterations done",
                  "evaluations": [{"seconds": examples / speed, "accuracy": 0.85}
                                  for examples in (3000, 4000, 5000)]}))
"""


class SpeedUp(ToolTest):
    RESULT = RESULT

    def reproduce(self, *arguments):
        return self.run_tool(
            reproduce_speed_up, "--learners", "1", "4", "8", "--beyond", "100", "--batches", "16",
            "--seeds", "1", "--results", str(self.folder / "results.json"), *arguments)

    def test_the_tables_come_from_the_runs(self):
        code, out, errors = self.reproduce()
        self.assertEqual(code, 0, errors)
        rows = [line.split() for line in out.splitlines()]
        self.assertIn(["1", "x", "128", "sync", "1.50", "100", "1.0", "0.850", "30.0", "1.0"], rows)
        self.assertIn(["8", "x", "16", "n", "=", "1", "1.50", "730", "7.3", "0.850", "4.1", "7.3"],
                      rows)
        self.assertIn(["16", "30.0", "8.1", "4.1", "4.1", "8"], rows)
        self.assertIn(["100", "x", "16", "8", "1.5", "730", "4.1"], rows)

    def test_every_run_does_as_many_examples(self):
        self.reproduce("--epochs", "1")
        for call in self.calls():
            self.assertEqual(int(call["--iterations"]) * int(call["--batch"]) // 1000, 60, call)

    def test_the_rate_goes_with_the_root_of_the_examples_of_a_round(self):
        self.reproduce()
        for call in self.calls():
            learners, batch = int(call["--workers"]), int(call["--batch"])
            self.assertAlmostEqual(float(call["--lr"]), 0.1 * math.sqrt(learners * batch / 128))

    def test_is_plain_sgd_at_a_constant_rate_unless_told_otherwise(self):
        self.reproduce()
        self.assertEqual({call["--optimizer"] for call in self.calls()}, {"sgd"})
        self.assertFalse(any("--schedule" in call for call in self.calls()))

    def test_takes_the_paper_s_optimizer_and_does_not_mix_the_results(self):
        self.reproduce()
        first = len(self.calls())
        self.reproduce("--momentum", "0.9", "--step-at", "0.5")
        more = self.calls()[first:]
        self.assertEqual(len(more), first)
        for call in more:
            self.assertEqual(call["--optimizer"], "momentum:mu=0.9,over=update")
            self.assertEqual(call["--schedule"], "step:every=90000,factor=0.1")  # 3 epochs.

    def test_a_rate_that_steps_before_the_start_is_refused(self):
        with self.assertRaises(SystemExit):
            self.reproduce("--step-at", "0")

    def test_goes_on_where_it_stopped(self):
        self.reproduce()
        first = len(self.calls())
        code, out, _ = self.reproduce()
        self.assertEqual((code, len(self.calls())), (0, first))
        self.assertIn("0 runs to go", out)

    def test_a_run_that_fails_ends_it(self):
        self.put_program("#!/bin/sh\necho no data set >&2\nexit 2\n")
        code, _, errors = self.reproduce()
        self.assertEqual(code, 1)
        self.assertIn("no data set", errors)


class Arithmetic(unittest.TestCase):
    def test_an_accuracy_counts_if_it_stays(self):
        def evaluations(*accuracies):
            return [{"seconds": float(i), "accuracy": found}
                    for i, found in enumerate(accuracies)]

        seconds_to = reproduce_speed_up.seconds_to
        self.assertEqual(seconds_to(evaluations(0.1, 0.9, 0.7, 0.8, 0.8, 0.9), 0.8), 3.0)
        self.assertIsNone(seconds_to(evaluations(0.1, 0.9, 0.9), 0.8))
        self.assertIsNone(seconds_to([], 0.8))

    def test_more_learners_pay_as_long_as_they_are_sooner_done_by_a_tenth(self):
        last = reproduce_speed_up.last_that_pays
        self.assertEqual(last({4: 25.0, 1: 100.0, 2: 50.0}), 4)
        self.assertEqual(last({1: 100.0, 2: 50.0, 4: 46.0, 8: 10.0}), 2)
        self.assertEqual(last({1: 100.0, 2: 50.0, 4: 44.0}), 4)
        self.assertEqual(last({1: 100.0, 2: None, 4: 25.0}), 1)
        self.assertIsNone(last({1: None, 2: 50.0}))


if __name__ == "__main__":
    unittest.main()
