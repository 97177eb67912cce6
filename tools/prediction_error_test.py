"""Tests of prediction_error.py's arithmetic, and of a table from a program that stands in."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import prediction_error

FINE = {"model": "fine", "examples_per_second": 95.0, "low": 90.0, "high": 100.0}
COARSE = {"model": "coarse", "examples_per_second": 110.0}


class Row(unittest.TestCase):
    def test_is_relative_to_the_mean_of_the_long_runs(self):
        cells = prediction_error.row("sync", {"fine": FINE, "coarse": COARSE}, [99.0, 101.0])
        self.assertEqual(cells, ("  sync", "95", "90 to 100", "110", "100", "99 to 101", "-5.0%",
                                 "+10.0%", "within 10 %"))
        self.assertEqual(prediction_error.row("switch", {"fine": FINE}, [99.0])[3], "-")

    def test_is_right_if_it_is_near_or_covered(self):
        self.assertEqual(prediction_error.verdict(FINE, 120.0), "WRONG")
        self.assertEqual(prediction_error.verdict(dict(FINE, high=130.0), 120.0), "covered")
        self.assertEqual(prediction_error.policy_of("backup:cutoff=75%", 8), "backup:cutoff=6")
        self.assertEqual(prediction_error.runtime_of("two speeds", 3),
                         "1*constant(100ms),2*constant(300ms)")


class Tool(unittest.TestCase):
    def test_prints_a_table_for_each_cluster(self):
        program = (f"import json, sys\n"
                   f"print(json.dumps({{'predictions': [{FINE!r}, {COARSE!r}]}} if "
                   f"sys.argv[1] == 'predict' else {{'examples_per_second': 100.0}}))")
        with tempfile.TemporaryDirectory() as folder:
            outpace = pathlib.Path(folder) / "outpace"
            outpace.write_text(f"#!{sys.executable}\n{program}\n")
            os.chmod(outpace, 0o755)
            tool = pathlib.Path(prediction_error.__file__)
            done = subprocess.run([sys.executable, "-B", "-S", str(tool), "--outpace", str(outpace),
                                   "--workers", "2", "--runs", "1", "--policies", "sync", "async"], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        for cluster in prediction_error.RUNTIMES:
            self.assertIn(f"2 workers, {cluster}", done.stdout)
        self.assertEqual(done.stdout.count("within 10 %"),
                         2 * len(prediction_error.RUNTIMES))


if __name__ == "__main__":
    unittest.main()
