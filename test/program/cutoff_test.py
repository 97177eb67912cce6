"""`outpace cutoff`: the gain of a dynamic cutoff on a table of runtimes."""

import csv
import json
import sys
import xml.etree.ElementTree

sys.dont_write_bytecode = True
from jobs import ProgramTest, main  # noqa: E402

EXIT_USAGE = 2
ITERATIONS = 40
# One of four workers always takes ten times as long: waiting for three gives 3 / 0.1 s gradients a
# second, waiting for all 4 / 1 s.
UNEVEN = "# seconds\n" + "0.1,0.1,0.1,1.0\n" * ITERATIONS


class Cutoff(ProgramTest):
    def cutoff(self, *words, code=0):
        process = self.start("cutoff", *words)
        self.assertEqual(process.wait(), code, process.err)
        self.assert_nothing_left()
        return process


class Trial(Cutoff):
    def test_counts_gradients_per_second(self):
        self.path("r.csv", UNEVEN)
        found = json.loads(self.cutoff("r.csv", "--json").out)
        self.assertEqual((found["workers"], found["rows"]), (4, ITERATIONS))
        omega = {(row["model"], row["decide"]): row["omega"] for row in found["results"]}
        self.assertAlmostEqual(omega["sync", None], 4.0)
        self.assertAlmostEqual(omega["best_fixed", None], 30.0)
        self.assertAlmostEqual(omega["oracle", None], 30.0)
        self.assertEqual(len(omega), 3 + 5 * 3, "every model decides in every way")
        # Those that tell workers apart have seen the slow one twenty times by then. Nobody beats
        # the oracle; a decision's own time counts.
        for (model, decide), gradients in omega.items():
            if model in ("auto", "switching", "ewma"):
                self.assertGreater(gradients, 20.0, (model, decide))
            self.assertLessEqual(gradients, 30.0 + 1e-6, (model, decide))

    def test_says_when_each_iteration_ended(self):
        self.path("r.csv", UNEVEN)
        table = self.cutoff("r.csv", "--models", "ewma", "--decide", "during", "--fit-fraction",
                            "0.25", "--decisions", "d.csv").out
        self.assertIn("r.csv: 4 workers, 40 iterations, the last 30 are judged", table)
        with open(self.folder / "d.csv", newline="") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual([(row["row"], row["model"]) for row in rows],
                         [(str(row), model) for model in ("sync", "best_fixed", "ewma", "oracle")
                          for row in range(10, ITERATIONS)])
        for row in rows:
            if row["model"] != "ewma":
                self.assertEqual((row["count"], row["stop_seconds"]),
                                 ("4", "1") if row["model"] == "sync" else ("3", "0.1"))


    def test_tries_what_else_could_be_made_of_who_is_cut_off(self):
        self.path("r.csv", UNEVEN)
        omega = {}
        for imputation in ("none", "truncated", "plain"):
            found = json.loads(self.cutoff("r.csv", "--models", "ewma", "--decide", "before", "--cut",
                                           "finish", "--late", "ignore", "--imputation", imputation,
                                           "--json").out)
            self.assertEqual((found["late"], found["results"][2]["imputation"]),
                             ("ignore", imputation))
            omega[imputation] = found["results"][2]["omega"]
        for gradients in omega.values():
            self.assertGreater(gradients, 4.0)  # That is waiting for all.

    def test_is_the_same_each_time_if_deciding_is_free(self):
        self.path("r.csv", UNEVEN)
        words = ("r.csv", "--models", "elfving,elfving-truncated,ewma,last", "--imputation",
                 "none,true", "--deciding", "free", "--json")
        first = json.loads(self.cutoff(*words).out)["results"]
        self.assertEqual(first, json.loads(self.cutoff(*words).out)["results"])
        self.assertEqual(len(first), 3 + 4 * 3 * 2)
        for row in first:
            low, high = row["relative_to_sync_95"]
            # Nearly all iterations are alike: hardly any luck.
            self.assertLessEqual(low, row["relative_to_sync"] + 1e-9)
            self.assertGreaterEqual(high, row["relative_to_sync"] - 1e-9)
        for bound in first[0]["relative_to_oracle_95"]:
            self.assertAlmostEqual(bound, 4 / 30)

    def test_its_tables_fit_a_terminal(self):
        self.path("r.csv", UNEVEN)
        lines = self.cutoff("r.csv", "--models", "auto,elfving-truncated").out.splitlines()
        self.assertLessEqual(max(map(len, lines)), 80)
        self.assertTrue(any(line.startswith("elfving-truncated  during") for line in lines))

    def test_draws_its_forecasts_and_choices(self):
        self.path("r.csv", UNEVEN)
        self.cutoff("r.csv", "--models", "last", "--decide", "during", "--plot", "p.svg",
                    "--plot-from", "22")
        root = xml.etree.ElementTree.parse(self.folder / "p.svg").getroot()
        words = [text.text for text in root.iter("{http://www.w3.org/2000/svg}text")]
        self.assertIn("r.csv: 4 workers, last, during", words)
        self.assertIn("oracle: 7.500 x sync", words)
        self.assertTrue(any("rows 22 to 39 of the trace" in one for one in words), words)


class BadInput(Cutoff):
    def refuse(self, says, *words):
        with self.subTest(" ".join(words)):
            process = self.cutoff(*words, code=EXIT_USAGE)
            self.assertEqual(process.out, "")
            self.assertEqual(len(process.err.splitlines()), 1, process.err)
            self.assertIn(says, process.err)

    def test_options(self):
        self.path("r.csv", UNEVEN)
        self.refuse("runtimes", "absent.csv")
        self.refuse("did you mean 'switching'?", "r.csv", "--models", "switchin")
        self.refuse("--decide is 'befor'; it takes before, deadline or during", "r.csv", "--decide", "befor")
        self.refuse("--cut is 'end'; it takes cancel or finish", "r.csv", "--cut", "end")
        self.refuse("--late is 'never'; it takes correct or ignore", "r.csv", "--cut", "finish", "--late", "never")
        self.refuse("--late ignore conflicts with --cut cancel", "r.csv", "--late", "ignore")
        self.refuse("--imputation is 'plane'; it takes none, truncated, plain or true", "r.csv", "--imputation", "plane")
        self.refuse("--fit-fraction is 1; it takes a number from 0 to less than 1", "r.csv",
                    "--fit-fraction", "1")

    def test_plots(self):
        self.path("r.csv", UNEVEN)
        self.refuse("--plot-from is 19; it takes a row that is judged, from 20 to 39", "r.csv", "--plot",
                    "p.svg", "--plot-from", "19")
        self.refuse("--plot-from without --plot", "r.csv", "--plot-from", "30")

    def test_tables(self):
        for text, says in (("", "is empty"),
                           ("0.1,0.2\n", "has one row; it takes at least two iterations"),
                           ("0.1,0.2\n0.1\n", "r.csv:2"),
                           ("0.1,0.2\n0.1,nan\n", "r.csv:2"),
                           ("0.1,0.2\n0.1,x\n", "r.csv:2"),
                           ("0.1,0.2\n0.1,0\n", "row 2, column 2 is 0")):
            self.path("r.csv", text)
            self.refuse(says, "r.csv")


if __name__ == "__main__":
    main()
