"""tools/cutoff_table.py: tables of what `outpace cutoff --json` printed."""

import sys
import unittest

sys.dont_write_bytecode = True
import cutoff_table  # noqa: E402


def result(model, decide, imputation, gain):
    return {"model": model, "decide": decide, "imputation": imputation, "relative_to_sync": gain,
            "relative_to_sync_95": [gain - 0.1, gain + 0.1], "relative_to_oracle": gain / 3,
            "relative_to_oracle_95": [gain / 3, gain / 3],
            "coverage50": 0.48, "coverage90": 0.9, "worker_coverage50": 0.5,
            "worker_coverage90": None, "crps": 0.002}


def document(*models, trace="a/drifting.csv", rows=2000):
    plain = [result("sync", None, None, 1.0)]
    tried = [result(model, decide, imputation, 2.0) for model in models
             for decide in ("before", "during") for imputation in ("none", "plain")]
    return {"trace": trace, "workers": 4, "rows": rows, "cut": "cancel", "late": "correct",
            "deciding": "free", "results": plain + tried + [result("oracle", None, None, 3)]}


class Tables(unittest.TestCase):
    def test_documents_of_a_trace_are_joined(self):
        found = cutoff_table.joined([document("auto"), document("deep")])
        self.assertEqual(list(found), ["a/drifting.csv"])
        models = [one["model"] for one in found["a/drifting.csv"]]
        self.assertEqual(models.count("sync"), 1)
        self.assertEqual(models.count("deep"), 4)

    def test_traces_of_the_same_name_stay_apart(self):
        found = cutoff_table.joined([document("auto"), document("auto", trace="b/drifting.csv")])
        self.assertEqual([cutoff_table.title(trace, found) for trace in found],
                         ["a/drifting.csv", "b/drifting.csv"])
        self.assertEqual(cutoff_table.title("a/drifting.csv", ["a/drifting.csv", "a/calm.csv"]), "drifting")

    def test_documents_that_contradict_each_other_are_refused(self):
        with self.assertRaisesRegex(ValueError, "rows is 2000 in one document and 1000 in another"):
            cutoff_table.joined([document("auto"), document("deep", rows=1000)])
        with self.assertRaisesRegex(ValueError, "two documents have auto, before, none"):
            cutoff_table.joined([document("auto"), document("auto")])

    def test_the_csv_has_a_row_for_each_result(self):
        header, *rows = cutoff_table.rows_of({"a/drifting.csv": document("auto")["results"]})
        self.assertEqual(len(rows), 2 + 2 * 2)
        first = dict(zip(header, rows[1]))
        self.assertEqual((first["trace"], first["model"], first["decide"]), ("drifting", "auto", "before"))
        self.assertEqual((first["relative_to_sync_95_low"], first["worker_coverage90"]), ("1.9", ""))
        self.assertEqual(rows[0][1:4], ["sync", "", ""])

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
