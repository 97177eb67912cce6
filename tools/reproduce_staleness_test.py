"""Tests reproduce_staleness.py with a stand-in for outpace, and its arithmetic."""

import json
import math
import pathlib
import statistics
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))
import reproduce_staleness  # noqa: E402 (its folder has just been added)
from stand_in import ToolTest  # noqa: E402

# Four workers. Fixed rates do badly once gradients are stale; alpha/tau is 0.01 above a constant.
RESULT = """stale = told["--policy"] == "softsync:n=4"
mean, histogram = (3.0, {"1": 50, "5": 50}) if stale else (0.75, {"0": 25, "1": 75})
diverged = stale and told["--staleness"] == "none" and told["--lr"] == "0.1"
accuracy = 0.80
if told.get("--staleness") == "inverse":
    accuracy = 0.81 + 0.001 * int(told["--seed"])
print(json.dumps({"final_accuracy": None if diverged else accuracy, "gradients_applied": 100,
                  "gradients_per_second": 40.0, "examples_per_second": 160.0,
                  "why_ended": "training has diverged" if diverged else "iterations done",
                  "staleness": {"mean": mean, "max": 5, "histogram": histogram}}))
sys.exit(diverged)
"""


class Reproduce(ToolTest):
    RESULT = RESULT

    def reproduce(self, *arguments):
        return self.run_tool(
            reproduce_staleness, "--workers", "4", "--gradients", "100",
            "--results", str(self.folder / "results.json"), *arguments)

    def test_the_table_and_the_sentence_come_from_the_runs(self):
        code, out, errors = self.reproduce("--n", "1", "4", "--seeds", "3", "--kinds", "slow")
        self.assertEqual(code, 0, errors)
        rows = [line.split() for line in out.splitlines()]
        same = ["0.800", "(0.800", "-", "0.800)"]
        rule = ["0.812", "(0.811", "-", "0.813)"]
        self.assertIn(["n", "=", "1", "0.75", "5", "0.00%", *same, *rule, *same], rows)
        self.assertIn(["n", "=", "4", "3.00", "5", "0.00%", "0.100", "(0.100", "-", "0.100)", *rule,
                       *same], rows)
        self.assertIn("one worker, as many examples: 0.800", out)
        self.assertIn("holds in 15 of 15 runs; off by at most 0.00%", out)
        self.assertIn("diverged, so not checked: slow, n = 4, fixed, seed 1", out)
        self.assertIn("for n = 4 and 3 seeds, mean (and range) over the pairs: +1.2 (+1.1 to +1.3) "
                      "points with slow workers, a gain in every pair.", out)

    def test_the_control_has_the_rate_of_the_mean_staleness(self):
        self.reproduce("--n", "4", "--seeds", "1", "--kinds", "equal", "--matched")
        rates = [float(call["--lr"]) for call in self.calls()]
        self.assertEqual(rates[:3], [0.1, 0.1, 0.1])  # One worker, fixed, alpha/tau.
        self.assertAlmostEqual(rates[3], 0.1 / 3)
        self.assertAlmostEqual(rates[4], 0.1 * (50 / 1 + 50 / 5) / 100)

    def test_a_constant_rate_that_is_alpha_is_not_run_again(self):
        self.reproduce("--n", "1", "--seeds", "1", "--kinds", "equal")
        self.assertEqual([call.get("--staleness") for call in self.calls()],
                         [None, "none", "inverse"])

    def test_goes_on_where_it_stopped(self):
        self.reproduce("--seeds", "1")
        first = len(self.calls())
        code, out, _ = self.reproduce("--seeds", "1")
        self.assertEqual((code, len(self.calls())), (0, first))
        self.assertIn(f"{first} results are there", out)

    def test_asks_for_the_paper_s_setting(self):
        self.reproduce("--n", "4", "--seeds", "1", "--kinds", "exponential")
        single, fixed = self.calls()[:2]
        self.assertEqual((single["--workers"], single["--policy"]), ("1", "sync"))
        self.assertNotIn("--delays", single)
        self.assertEqual(fixed["--delays-by"], "iteration")
        for call in (single, fixed):
            self.assertEqual((call["--batch"], call["--optimizer"], call["--sampling"],
                              call["--iterations"]), ("4", "sgd", "replacement", "100"))

    def test_takes_the_paper_s_optimizer(self):
        code, out, errors = self.reproduce("--n", "4", "--seeds", "1", "--kinds", "slow",
                                           "--simulate", "--momentum", "0.9", "--step-at", "0.75")
        self.assertEqual(code, 0, errors)
        for call in self.calls():
            self.assertEqual(call["--optimizer"], "momentum:mu=0.9,over=update")
            self.assertEqual(call["--schedule"], "step:every=300,factor=0.1")  # 100 x 4 examples.
        self.assertIn("momentum 0.9, a tenth of the rate from 0.75, mean", out)

    def test_simulates_if_asked_to(self):
        code, _, errors = self.reproduce("--n", "4", "--seeds", "1", "--kinds", "slow",
                                         "--simulate")
        self.assertEqual(code, 0, errors)
        for call in self.calls():
            self.assertEqual(call["--learn"], "mlp")
            self.assertNotIn("--network", call)
            self.assertNotIn("--patience", call)
        kept = json.loads((self.folder / "results.json").read_text())["runs"]
        self.assertTrue(all(key.startswith("simulated, ") for key in kept))

    def test_a_run_that_fails_ends_it(self):
        self.put_program("#!/bin/sh\necho no data set >&2\nexit 2\n")
        code, _, errors = self.reproduce()
        self.assertEqual(code, 1)
        self.assertIn("no data set", errors)


class Arithmetic(unittest.TestCase):
    def columns(self, kind):
        return list(zip(*reproduce_staleness.delays(kind, 30, 4000, 0.1, seed=1)))

    def test_the_runtimes_of_each_kind(self):
        lognormal = 0.1 * math.exp(0.02)
        for column in self.columns("equal"):
            self.assertAlmostEqual(statistics.mean(column), lognormal, delta=0.002)
            self.assertAlmostEqual(statistics.stdev(map(math.log, column)), 0.2, delta=0.01)
        means = [round(statistics.mean(column) / lognormal) for column in self.columns("slow")]
        self.assertEqual(means, [1] * 22 + [4] * 8)
        for column in self.columns("exponential"):
            self.assertAlmostEqual(statistics.mean(column), 0.1, delta=0.008)
            self.assertAlmostEqual(statistics.stdev(column), 0.1, delta=0.012)

    def test_the_pace_that_the_delays_allow(self):
        for kind in reproduce_staleness.KINDS:
            measured = sum(1 / statistics.mean(column) for column in self.columns(kind))
            allowed = reproduce_staleness.gradients_per_second(kind, 30, 0.1)
            self.assertAlmostEqual(allowed / measured, 1.0, delta=0.01)

    def test_the_exact_mean_staleness(self):
        self.assertAlmostEqual(reproduce_staleness.exact_mean_tau(30, 1), 29 / 30)
        self.assertAlmostEqual(reproduce_staleness.exact_mean_tau(30, 15), 14.5)
        self.assertAlmostEqual(reproduce_staleness.exact_mean_tau(30, 30), 29.0)

    def test_the_mean_holds_within_the_start_and_end_of_a_run(self):
        run = {"staleness": {"mean": 28.96}, "gradients_applied": 12000}
        error, allowed = reproduce_staleness.mean_tau_error(run, 30, 30)
        self.assertAlmostEqual(error, -0.04 / 29)
        self.assertAlmostEqual(allowed, 0.0075)

    def test_a_difference_within_its_spread_is_none(self):
        judgement = reproduce_staleness.judgement
        self.assertIn("no more than the spread", judgement([0.01, -0.01, 0.005]))
        self.assertIn("a gain in every pair", judgement([0.01, 0.011, 0.012]))
        self.assertIn("a loss in every pair", judgement([-0.01, -0.011, -0.012]))
        self.assertIn("too few", judgement([0.01]))

    def test_the_share_beyond_a_limit_and_the_mean_factor(self):
        run = {"staleness": {"histogram": {"0": 1, "2": 2, "5": 1}}}
        self.assertEqual(reproduce_staleness.beyond(run, 2), 0.25)
        self.assertAlmostEqual(reproduce_staleness.mean_rate_factor(run), (1 + 2 / 2 + 1 / 5) / 4)


if __name__ == "__main__":
    unittest.main()
