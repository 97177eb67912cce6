"""Tests of auto_rank.py: the correlation, and a table of runs that are written here."""

import contextlib
import io
import json
import pathlib
import tempfile
import unittest

import auto_rank


def result(policy, seconds, expected=None):
    choice = expected and {"regret": 0.25, "candidates": [
        {"policy": name, "expected_progress": progress} for name, progress in expected.items()]}
    return {"policy": policy, "balance_most": None, "seconds_to_target": seconds, "choice": choice}


class Correlation(unittest.TestCase):
    def test_is_that_of_ranks(self):
        self.assertEqual(auto_rank.rank_correlation([1, 2, 3], [10, 100, 1000]), 1.0)
        self.assertEqual(auto_rank.rank_correlation([1, 2, 3], [3, 2, 1]), -1.0)
        self.assertIsNone(auto_rank.rank_correlation([1, 1], [1, 2]))

    def test_shares_the_ranks_of_equals(self):
        self.assertEqual(auto_rank.ranks([5, 7, 5]), [1.5, 3, 1.5])


class Table(unittest.TestCase):
    def test_has_what_reached_the_target(self):
        runs = {"auto": [result("auto", 1.0, {"sync": 2.0, "async": 1.0, "saps": 3.0})],
                "sync": [result("sync", 2.0), result("sync", 6.0)],
                "async": [result("async", 5.0)], "saps": [result("saps", None)]}
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            for policy, found in runs.items():
                cell = folder / "auto_8" / "calm" / "calm" / policy
                cell.mkdir(parents=True)
                for seed, one in enumerate(found):
                    (cell / f"seed-{seed}.json").write_text(json.dumps({"result": one}))
            with contextlib.redirect_stdout(io.StringIO()) as out:
                self.assertEqual(auto_rank.main([name]), 0)
        self.assertIn("**calm**", out.getvalue())
        self.assertIn("| `sync` | 2 | 0.25 |", out.getvalue())
        self.assertNotIn("saps", out.getvalue())
        self.assertIn("Rank correlation 1.00; regret 25.0 %.", out.getvalue())

    def test_a_folder_without_runs_is_one_line(self):
        with tempfile.TemporaryDirectory() as name, \
                contextlib.redirect_stderr(io.StringIO()) as err:
            self.assertEqual(auto_rank.main([name]), 2)
        self.assertIn("make auto-table", err.getvalue())


if __name__ == "__main__":
    unittest.main()
