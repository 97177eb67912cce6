"""tools/cutoff_table.py: tables of what `outpace cutoff --json` printed."""

import sys
import unittest

sys.dont_write_bytecode = True
import cutoff_table  # noqa: E402


def result(model, decide, imputation, gain):
    return {"model": model, "decide": decide, "imputation": imputation, "relative_to_sync": gain,
            "relative_to_sync_95": [gain - 0.1, gain + 0.1], "relative_to_oracle": gain / 3,
            "coverage50": 0.48, "coverage90": 0.9, "worker_coverage50": 0.5,
            "worker_coverage90": None, "crps": 0.002}


def document(*models):
    plain = [result("sync", None, None, 1.0)]
    tried = [result(model, decide, imputation, 2.0) for model in models
             for decide in ("before", "during") for imputation in ("none", "plain")]
    return {"trace": "a/drifting.csv", "results": plain + tried + [result("oracle", None, None, 3)]}


class Tables(unittest.TestCase):
    def test_documents_of_a_trace_are_joined(self):
        found = cutoff_table.joined([document("auto"), document("deep")])
        self.assertEqual(list(found), ["drifting"])
        models = [one["model"] for one in found["drifting"]]
        self.assertEqual(models.count("sync"), 1)
        self.assertEqual(models.count("deep"), 4)

    def test_gains_have_a_row_for_each_model_and_imputation(self):
        lines = cutoff_table.gains(document("auto")["results"]).splitlines()
        self.assertEqual(lines[0], "| model | imputation | before | during |")
        self.assertEqual(lines[2], "| *sync* |  | 1.000 (0.90, 1.10) | 1.000 (0.90, 1.10) |")
        self.assertEqual([line.split(" | ")[1] for line in lines[4:]], ["none", "plain"])

    def test_coverage_is_that_of_the_first_imputation(self):
        lines = cutoff_table.coverages(document("auto")["results"]).splitlines()
        self.assertEqual(len(lines), 2 + 2)
        self.assertEqual(lines[2], "| auto | before | 50 |  | 48 | 90 | 2.00 | 0.667 |")


if __name__ == "__main__":
    unittest.main()
