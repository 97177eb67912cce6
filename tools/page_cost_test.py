"""Tests of page_cost.py: what is made of pairs of runs."""

import json
import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
import page_cost  # noqa: E402


class Interval(unittest.TestCase):
    def test_is_that_of_students_t(self):
        mean, low, high = page_cost.interval([0.99, 1.01, 1.0, 1.0])
        self.assertAlmostEqual(mean, 1.0, places=3)
        # The logarithms' deviation is 0.0082; 3.18 of them by the root of 4.
        self.assertAlmostEqual(high - mean, 0.013, places=3)
        self.assertAlmostEqual(mean - low, 0.013, places=3)

    def test_says_nothing_of_one_pair(self):
        self.assertEqual(page_cost.interval([0.5])[1:], (0.0, float("inf")))


class Pairs(unittest.TestCase):
    def test_are_kept_and_reported(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "pairs"
            options = page_cost.parse(["--keep", str(path)])
            self.assertEqual(page_cost.kept_pairs(options), [])
            path.write_text("".join(json.dumps({
                "setting": page_cost.setting(options),
                "without": {"second": 100, "processor": 50, "frames": 0},
                "with": {"second": found, "processor": found, "frames": 9}})
                + "\n" for found in (99, 101)))
            lines = page_cost.report(options, page_cost.kept_pairs(options))
            with self.assertRaisesRegex(page_cost.RunFailed, "has pairs of other options"):
                page_cost.kept_pairs(page_cost.parse(["--keep", str(path), "--workers", "3"]))
        self.assertRegex(lines[-2], "a second .* 0.9900 *1.0100$")
        self.assertRegex(lines[-1], "processor time .* 1.9800 *2.0200$")


if __name__ == "__main__":
    unittest.main()
