"""Tests of many_workers.py: its table."""

import sys
import unittest

sys.dont_write_bytecode = True
import many_workers  # noqa: E402


def summary(rate, applied=90, dropped=10):
    return {"gradients_per_second": rate, "gradients_applied": applied,
            "gradients_dropped": dropped}


class ManyWorkers(unittest.TestCase):
    def test_medians_and_their_ratio_to_the_first_policy(self):
        rows = [(30, {"sync": [summary(200, 100, 0), summary(300, 100, 0), summary(1000, 100, 0)],
                      "dynamic": [summary(150), summary(290), summary(270)]})]
        lines = many_workers.table(rows).splitlines()
        self.assertEqual(lines[2], "| 30 | `sync` | 300 | 200, 1,000 | 0.0% | 1.000 |")
        self.assertEqual(lines[3], "| 30 | `dynamic` | 270 | 150, 290 | 10.0% | 0.900 |")


if __name__ == "__main__":
    unittest.main()
