"""Tests of outages.py without hosts."""

import contextlib
import io
import sys
import unittest

sys.dont_write_bytecode = True
import outages  # noqa: E402


class Outages(unittest.TestCase):
    def refusal(self, *words):
        said = io.StringIO()
        with contextlib.redirect_stderr(said), self.assertRaises(SystemExit):
            outages.parse(words)
        return said.getvalue()

    def test_goodput_leaves_out_what_was_away(self):
        options = outages.parse(["--step", "0.5", "--batch", "10", "--cut", "90", "--quiet", "20"])
        # A machine makes 40 examples a second. Two are there for 200 s, one for 110, one for 130.
        summary = {"seconds": 200.0, "examples": 12_800, "epochs_complete": 6,
                   "examples_used_per_epoch_min": 1, "examples_used_per_epoch_max": 1}
        found = outages.result(options, "async", summary, [0, 0, -9, 0], 0.4, 1)
        self.assertAlmostEqual(found["goodput"], 12_800 / (40 * (400 + 110 + 130)))
        self.assertIn("1 to 1", "\n".join(outages.lines([found])))

    def test_wrong_options_are_named(self):
        self.assertIn("--machines is at least 3", self.refusal("--machines", "2"))
        self.assertIn("above 0", self.refusal("--cut", "0"))


if __name__ == "__main__":
    unittest.main()
