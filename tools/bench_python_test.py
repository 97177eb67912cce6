"""bench_python.py and train_either.py: what they compute, on made-up runs. `make bench-python` runs
the real programs."""

import contextlib
import io
import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))
import bench_python  # noqa: E402 (its folder has just been added)
from measured_runs import RunFailed  # noqa: E402

try:
    import train_either
except ImportError:
    train_either = None  # There is no torch for this Python.


def run(rate, seconds):
    return {"examples_per_second": rate, "seconds_to_target": seconds, "seconds": seconds or 80.0}


class Options(unittest.TestCase):
    def test_a_pair_has_a_name_and_a_value(self):
        self.assertEqual(bench_python.pairs(["fixed-8=backup:cutoff=6"], "policies"),
                         {"fixed-8": "backup:cutoff=6"})
        self.assertEqual(bench_python.pairs(["async=0.1"], "lr", float), {"async": 0.1})
        for wrong in ("fixed-8", "async=fast", "async="):
            with self.assertRaisesRegex(RunFailed, "NAME=VALUE"):
                bench_python.pairs([wrong], "lr", float)

    def test_a_rate_is_that_of_the_policy_or_of_its_kind(self):
        rates = {"backup": 0.2, "backup:cutoff=6": 0.3}
        self.assertEqual(bench_python.rate_of(rates, "backup:cutoff=6"), 0.3)
        self.assertEqual(bench_python.rate_of(rates, "backup:cutoff=5"), 0.2)
        with self.assertRaisesRegex(RunFailed, "no learning rate for ssp"):
            bench_python.rate_of(rates, "ssp:s=3")

    def test_each_default_policy_has_a_rate(self):
        for trace in bench_python.TRACES:
            bench_python.rate_of(bench_python.RATES, bench_python.POLICIES[trace])

    def test_a_trace_is_a_regime_and_a_number_of_workers(self):
        options = bench_python.parse([])
        for wrong in ("calm", "mad-8", "calm-1", "calm-x"):
            with self.assertRaisesRegex(RunFailed, f"trace {wrong}"):
                bench_python.delays_of(options, wrong, pathlib.Path("/nowhere"))

    def test_another_package_has_another_digest(self):
        with tempfile.TemporaryDirectory() as folder:
            package = pathlib.Path(folder)
            with self.assertRaisesRegex(RunFailed, "make python"):
                bench_python.package_digest(package)
            (package / "outpace").mkdir()
            digests = set()
            for text in ("1", "2", "1"):
                (package / "outpace" / "a.py").write_text(text)
                digests.add(bench_python.package_digest(package))
            self.assertEqual(len(digests), 2)

    def test_bounds(self):
        for wrong in (["--updates", "10"], ["--seconds", "0"], ["--rounds", "0"]):
            with self.assertRaises(SystemExit), contextlib.redirect_stderr(io.StringIO()):
                bench_python.parse(wrong)


class Overhead(unittest.TestCase):
    def test_the_rest_of_an_update_is_the_cpp_workers_cost(self):
        costs = bench_python.cpp_costs({"updates": 100, "seconds": 1.5,
                                        "workers_detail": [{"compute_seconds": 1.0}]})
        self.assertAlmostEqual(costs["pass_mean"], 0.010)
        self.assertAlmostEqual(costs["step_mean"], 0.005)

    def test_the_goals_are_of_the_medians(self):
        python = {"pass_mean": 0.01, "step_mean": 0.0004, "pass_median": 0.01, "step_median": 0.0004}
        slow = {**python, "step_mean": 0.5}
        cpp = {"pass_mean": 0.01, "step_mean": 0.0002}
        lines = bench_python.overhead_lines([(python, cpp), (slow, cpp), (python, cpp)])
        self.assertIn("4.0%", lines[2])
        self.assertIn("PASS   share of forward and backward, mean 4.0%", lines[-2])
        self.assertIn("SHORT  beside the C++ worker 2.00 x", lines[-1])


class Traces(unittest.TestCase):
    def test_ratios_are_to_the_run_of_the_same_seed(self):
        lines = bench_python.trace_lines("fixed-8", "async", {
            1: (run(1000.0, 40.0), run(2500.0, 10.0)), 2: (run(2000.0, 30.0), run(3000.0, 15.0))})
        self.assertRegex(lines[3], r"async +1 +2,500 +2.50 +10.0 +4.00")
        self.assertRegex(lines[5], r"async +2 +3,000 +1.50 +15.0 +2.00")
        self.assertIn("SHORT  examples/s 2.00 x ddp; goal 2.2 x (2.5 x)", lines[-2])
        self.assertIn("PASS   seconds to the target 3.00 x sooner", lines[-1])

    def test_a_target_that_outpace_did_not_reach_is_short(self):
        for ddp in (9.0, None):
            lines = bench_python.trace_lines("calm-8", "sync", {1: (run(1.0, ddp), run(2.0, None))})
            self.assertIn("SHORT  Outpace did not reach the target in 1 of 1 runs", lines[-1])

    def test_a_target_that_ddp_did_not_reach_gives_a_lower_bound(self):
        lines = bench_python.trace_lines("fixed-8", "async", {1: (run(1.0, None), run(2.0, 20.0))})
        self.assertRegex(lines[3], "> 4.00$")
        self.assertIn("PASS   seconds to the target 4.00 x sooner", lines[-1])

    def test_a_trace_without_a_goal_has_a_table_alone(self):
        lines = bench_python.trace_lines("bursty-4", "async", {1: (run(1.0, 1.0), run(1.0, 1.0))})
        self.assertEqual(len(lines), 4)


@unittest.skipUnless(train_either, "there is no torch for this Python: apt install python3-torch")
class Script(unittest.TestCase):
    def test_a_mini_batch_takes_its_delay(self):
        self.assertAlmostEqual(train_either.compute_seconds([0.01], 0.02, 0.0), 0.01)

    def test_the_rate_changes_within_a_mini_batch(self):
        # The first row's 0.02 s do half of it, the second row's a fifth; the rest is done at the
        # first row's rate again.
        self.assertAlmostEqual(train_either.compute_seconds([0.04, 0.1], 0.02, 0.0),
                               0.02 + 0.02 + 0.3 * 0.04)

    def test_rows_wrap_round(self):
        self.assertAlmostEqual(train_either.compute_seconds([0.01, 0.02], 0.02, 0.04), 0.01)

    def test_a_trace_without_delays_takes_no_time(self):
        self.assertEqual(train_either.compute_seconds([0.0], 0.02, 0.03), 0.0)

    def test_the_target_is_reached_in_a_row_and_timed_at_its_first(self):
        target = train_either.Target(0.84, 3)
        found = [target.reached(accuracy, at) for at, accuracy in enumerate(
            (0.85, 0.80, 0.84, 0.85, 0.86))]
        self.assertEqual(found, [False, False, False, False, True])
        self.assertEqual(target.first, 2)

    def test_all_workers_have_the_clock_of_the_first(self):
        with tempfile.TemporaryDirectory() as folder:
            trace = pathlib.Path(folder) / "t.csv"
            trace.write_text("0.1,0.2\n0.3,0.4\n")
            one, two = (train_either.Delays(trace, worker, 0.02, f"{folder}/start")
                        for worker in range(2))
            self.assertEqual(one.started, two.started)
            self.assertEqual((one.column, two.column), ([0.1, 0.3], [0.2, 0.4]))
            two.wait(lambda: True)  # A cancelled one does not sleep.


if __name__ == "__main__":
    unittest.main()
