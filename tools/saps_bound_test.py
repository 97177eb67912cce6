"""Tests of saps_bound.py's arithmetic, and of a table from a program that stands in for outpace."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import saps_bound

RESULT = {"gradients_applied": 90, "gradients_dropped": 10, "examples_per_second": 50.0,
          "staleness": {"mean": 3.04, "max": 6},
          "workers_detail": [{"partial": 9, "accepted": 60}, {"partial": 0, "accepted": 30}]}


class Row(unittest.TestCase):
    def test_is_relative_to_async_and_to_an_equal_share(self):
        self.assertEqual(saps_bound.row("saps", RESULT, 100.0, 2),
                         ("  saps", "50.0%", "10.00%", "10.0%", "3.0", "6", "0.67"))


class Tool(unittest.TestCase):
    def run_with(self, program):
        with tempfile.TemporaryDirectory() as folder:
            outpace = pathlib.Path(folder) / "outpace"
            outpace.write_text(f"#!{sys.executable}\n{program}\n")
            os.chmod(outpace, 0o755)
            tool = pathlib.Path(saps_bound.__file__)
            return subprocess.run([sys.executable, "-B", str(tool), "--outpace", str(outpace),
                                   "--workers", "2"], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True, check=False)

    def test_prints_a_table_for_each_cluster(self):
        done = self.run_with(f"import json; print(json.dumps({RESULT!r}))")
        self.assertEqual(done.returncode, 0, done.stderr)
        for cluster in saps_bound.CLUSTERS:
            self.assertIn(f"2 workers, {cluster}", done.stdout)
        self.assertEqual(done.stdout.count("  saps:s=1 "), len(saps_bound.CLUSTERS))

    def test_ends_with_what_the_program_said(self):
        done = self.run_with("import sys; sys.exit('no such policy')")
        self.assertEqual((done.returncode, done.stderr), (1, "no such policy\n"))


if __name__ == "__main__":
    unittest.main()
