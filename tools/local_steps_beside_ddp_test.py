"""Tests of what local_steps_beside_ddp.py does without a run: delays, tuning and tables."""

import contextlib
import io
import math
import unittest

import local_steps_beside_ddp as tool


def run_of(*losses, **more):
    return {"losses": [(float(second), loss) for second, loss in enumerate(losses, 1)],
            "examples_per_second": 100.0, "cores": 0.5, "cores_with_start": 1.0, **more}


class Delays(unittest.TestCase):
    def test_move_from_worker_to_worker(self):
        self.assertEqual(tool.delays(0.5, [1, 1, 2, 4]), [
            [0.5, 0.5, 1, 2], [2, 0.5, 0.5, 1], [1, 2, 0.5, 0.5], [0.5, 1, 2, 0.5]])


class Losses(unittest.TestCase):
    def test_a_level_is_reached_by_the_first_weights_that_have_it(self):
        losses = run_of(0.9, 0.5, 0.6, 0.4)["losses"]
        self.assertEqual([tool.seconds_to(level, losses) for level in (0.5, 0.45, 0.3)],
                         [2.0, 4.0, math.inf])

    def test_weights_without_a_loss_reach_nothing(self):
        self.assertEqual(tool.seconds_to(0.5, run_of(None, math.nan, 0.4)["losses"]), 3.0)

    def test_seconds_count_from_the_end_of_the_wait(self):
        evaluations = [{"seconds": second, "loss": 1 / second} for second in (2.0, 5.0, 8.0, 10.0)]
        self.assertEqual(tool.within(5, 4.0, evaluations), [(1.0, 1 / 5), (4.0, 1 / 8)])

    def test_a_score_is_of_the_last_quarter(self):
        self.assertAlmostEqual(tool.score(run_of(9, 9, 9, 9, 9, 9, 0.5, 0.3)), 0.4)

    def test_a_run_that_diverged_has_no_score(self):
        for result in (run_of(0.5, diverged=True), run_of(), run_of(0.5, math.nan), run_of(0.5, None)):
            self.assertEqual(tool.score(result), math.inf)


class Tuning(unittest.TestCase):
    def tune(self, rates, scores):
        asked = []

        def score_of(rate):
            asked.append(rate)
            return scores(rate)

        return tool.tuned(rates, score_of), asked

    def test_stops_at_a_best_rate_between_others(self):
        self.assertEqual(self.tune([1, 2, 4], lambda rate: abs(rate - 2)), (2, [1, 2, 4]))

    def test_goes_on_beyond_either_end(self):
        self.assertEqual(self.tune([1, 2, 4], lambda rate: abs(rate - 8)), (8, [1, 2, 4, 8, 16]))
        self.assertEqual(self.tune([1, 2, 4], lambda rate: rate if rate >= 0.5 else 9.0),
                         (0.5, [1, 2, 4, 0.5, 0.25]))

    def test_ends_where_every_greater_rate_is_better(self):
        best, asked = self.tune([1], lambda rate: -rate)
        self.assertEqual((best, len(asked)), (128, tool.RATES_MOST))

    def test_the_smaller_of_equals_wins(self):
        self.assertEqual(self.tune([1, 2, 3, 4], lambda rate: 0.0 if 2 <= rate <= 3 else 1.0)[0], 2)


class Tables(unittest.TestCase):
    RESULTS = {"ddp": {1: run_of(0.9, 0.8, 0.7, 0.4), 2: run_of(0.9, 0.4)},
               "dynamic": {1: run_of(0.4), 2: run_of(0.9, 0.4)},
               "sync": {1: run_of(0.9), 2: run_of(0.9, 0.4)}}

    def cells(self, line):
        return line.split()

    def test_a_level_has_seeds_median_and_ratio(self):
        lines = tool.level_lines(0.5, self.RESULTS)
        self.assertEqual([self.cells(line) for line in lines[2:]], [
            ["ddp", "4.0", "2.0", "3.0", "1.00"], ["dynamic", "1.0", "2.0", "1.5", "2.00"],
            ["sync", "-", "2.0", "-", "-"]])

    def test_runs_have_rates_losses_and_cores(self):
        lines = tool.run_lines({"ddp": 0.1, "dynamic": 0.2, "sync": 0.3}, self.RESULTS)
        self.assertEqual(self.cells(lines[2]), ["ddp", "0.1", "100", "0.4000", "0.50", "1.00"])


class Options(unittest.TestCase):
    def refused(self, *arguments):
        errors = io.StringIO()
        with contextlib.redirect_stderr(errors), self.assertRaises(SystemExit):
            tool.parse(arguments)
        return errors.getvalue()

    def test_rates_are_chosen_with_another_seed(self):
        self.assertIn("--tuning-seed is one of --seeds", self.refused("--tuning-seed", "2"))

    def test_a_factor_is_above_0(self):
        self.assertIn("above 0", self.refused("--factors", "1", "0"))


if __name__ == "__main__":
    unittest.main()
