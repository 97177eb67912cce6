"""Tests reproduce_cifar10.py with a stand-in for outpace."""

import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))
import reproduce_cifar10  # noqa: E402 (its folder has just been added)
from stand_in import ToolTest  # noqa: E402

# A fixed rate diverges from n = 15 on; every other run is right of 82 % and seed percent more.
RESULT = """n = int(told["--policy"].partition("n=")[2] or 0)
bad = n >= 15 and told["--staleness"] == "none"
print(json.dumps({"final_accuracy": None if bad else 0.82 + int(told["--seed"]) / 100,
                  "staleness": {"mean": n * 0.97},
                  "why_ended": "training has diverged" if bad else "iterations done"}))
"""


class Cifar10(ToolTest):
    RESULT = RESULT

    def reproduce(self, *arguments):
        return self.run_tool(reproduce_cifar10, "--data", "cifar10:/data", "--examples", "14000",
                             "--results", str(self.folder / "results.json"), *arguments)

    def test_the_table_comes_from_the_runs(self):
        code, out, errors = self.reproduce()
        self.assertEqual(code, 0, errors)
        rows = [line.split() for line in out.splitlines()]
        self.assertIn(["single", "learner", "1", "x", "128", "0.00", "17.0%", "-"], rows)
        self.assertIn(["hardsync", "30", "x", "4", "0.00", "17.0%", "-"], rows)
        self.assertIn(["1-softsync", "30", "x", "4", "0.97", "17.0%", "17.0%"], rows)
        self.assertIn(["30-softsync", "30", "x", "4", "29.10", "90.0%", "17.0%"], rows)

    def test_several_seeds_show_their_range(self):
        _, out, _ = self.reproduce("--seeds", "2")
        self.assertIn("16.5% (16.0% - 17.0%)", out)

    def test_every_run_is_the_papers_but_for_its_length(self):
        self.reproduce()
        self.assertEqual(len(self.calls()), 8)
        for call in self.calls():
            examples = int(call["--iterations"]) * int(call["--batch"])
            self.assertLess(abs(examples - 14_000), 128)
            self.assertEqual(call["--optimizer"], "momentum:mu=0.9,over=update")
            self.assertEqual(call["--schedule"], "step:every=12000,factor=0.1")
            self.assertEqual((call["--learn"], call["--data"]), ("cifar", "cifar10:/data"))

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


if __name__ == "__main__":
    unittest.main()
