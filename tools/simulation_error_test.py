"""Tests simulation_error.py with a stand-in for outpace, and its arithmetic."""

import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))
import simulation_error  # noqa: E402 (its folder has just been added)
from stand_in import ToolTest  # noqa: E402

# A lone worker computes 2 ms of the 30 ms of an iteration. Simulated runs are 10 % and 1 point ahead.
RESULT = """if told["--workers"] == "1":
    print(json.dumps({"updates": 300, "seconds": 9.0, "why_ended": "updates done",
                      "workers_detail": [{"compute_seconds": 0.6}]}))
    sys.exit(0)
simulated = command == "simulate"
print(json.dumps({"updates": 110 if simulated else 100, "why_ended": "seconds done",
                  "evaluations": [{"seconds": s, "accuracy": 0.1 * s + 0.01 * simulated}
                                  for s in (1.0, 2.0, 3.0)]}))
"""


class SimulationError(ToolTest):
    RESULT = RESULT

    def setUp(self):
        super().setUp()
        (self.folder / "two.csv").write_text("0.02,0.03\n0.02,0.03\n")

    def measure(self, *arguments):
        return self.run_tool(simulation_error, *arguments, "--policies", "sync")

    def test_the_table_comes_from_the_runs(self):
        code, out, errors = self.measure(str(self.folder / "two.csv"))
        self.assertEqual(code, 0, errors)
        self.assertIn("2.00 ms to compute 32 examples, 3.00 ms for the rest", out)
        rows = [line.split() for line in out.splitlines()]
        self.assertIn(["two,", "sync", "110", "100", "100", "+10.0%", "+1.0", "1.0", "0.0"], rows)

    def test_nothing_of_the_live_run_goes_into_the_simulation(self):
        self.measure(str(self.folder / "two.csv"))
        calls = self.calls()
        self.assertEqual([call["command"] for call in calls], ["train", "simulate", "train", "train"])
        self.assertEqual((calls[1]["--compute"], calls[1]["--latency"]), ("2000us", "1500us"))
        self.assertEqual((calls[1]["--workers"], calls[1]["--delays"]),
                         (calls[2]["--workers"], calls[2]["--delays"]))

    def test_a_trace_that_is_not_there_is_named(self):
        code, _, errors = self.measure(str(self.folder / "none.csv"))
        self.assertEqual(code, 1)
        self.assertIn("none.csv: No such file", errors)


class Arithmetic(unittest.TestCase):
    def test_accuracy_lies_on_the_line_between_two_evaluations(self):
        found = [{"seconds": 1.0, "accuracy": 0.2}, {"seconds": 3.0, "accuracy": 0.6}]
        self.assertAlmostEqual(simulation_error.accuracy_at(found, 1.5), 0.3)
        self.assertAlmostEqual(simulation_error.accuracy_at(found, 3.0), 0.6)
        self.assertIsNone(simulation_error.accuracy_at(found, 0.9))
        self.assertIsNone(simulation_error.accuracy_at(found, 3.1))
        self.assertIsNone(simulation_error.accuracy_at([], 1.0))

    def test_differences_are_in_points_where_both_have_been_evaluated(self):
        simulated = {"evaluations": [{"seconds": 1.0, "accuracy": 0.2},
                                     {"seconds": 3.0, "accuracy": 0.6}]}
        live = {"evaluations": [{"seconds": 2.0, "accuracy": 0.5}, {"seconds": 4.0, "accuracy": 0.7}]}
        (difference,) = simulation_error.accuracy_differences(simulated, live)
        self.assertAlmostEqual(difference, -10.0)


if __name__ == "__main__":
    unittest.main()
