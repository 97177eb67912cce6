"""`outpace calibrate` and `outpace predict`: throughput elsewhere, from a table of measurements."""

import json
import sys

sys.dont_write_bytecode = True
from jobs import ProgramTest, main  # noqa: E402

EXIT_USAGE = 2
HEAD = "workers,nodes,batch_per_worker,iteration_seconds\n"


def seconds(workers, nodes, batch):
    """Iteration times of a made-up cluster: a little more for each doubling of the workers."""
    sync = 0 if workers == 1 else 0.01 if nodes == 1 else 0.05 + 0.01 * workers.bit_length()
    return 0.02 + 0.001 * batch + sync


def table(places, batches=(16, 32, 64, 128)):
    return HEAD + "".join(f"{workers},{nodes},{batch},{seconds(workers, nodes, batch)}\n"
                          for workers, nodes in places for batch in batches)


SMALL = table([(1, 1), (2, 1), (4, 1), (4, 4), (8, 4), (8, 8), (16, 8)])


class Throughput(ProgramTest):
    def outpace(self, *words, code=0):
        process = self.start(*words)
        self.assertEqual(process.wait(), code, process.err)
        return process

    def calibrate(self, text=SMALL):
        self.path("small.csv", text)
        return self.outpace("calibrate", "small.csv", "-o", "profile.json").out

    def predict(self, text, *words):
        self.path("large.csv", text)
        return self.outpace("predict", "profile.json", "--configurations", "large.csv", *words).out


class Table(Throughput):
    def test_predicts_what_was_not_measured(self):
        self.assertIn("28 rows, up to 16 workers: fits to", self.calibrate())
        profile = json.loads((self.folder / "profile.json").read_text())
        self.assertEqual((profile["format"], profile["version"], profile["kind"]),
                         ("outpace-profile", 1, "calibrated"))
        found = json.loads(self.predict(table([(32, 8), (64, 16)]), "--json"))
        self.assertEqual(len(found["rows"]), 8)
        self.assertLess(found["median_absolute_error"], 0.05)
        self.assertLessEqual(found["median_absolute_error"], found["p90_absolute_error"])
        for row in found["rows"]:
            self.assertAlmostEqual(
                row["error"], row["iteration_seconds_predicted"] / row["iteration_seconds"] - 1)
            self.assertLess(row["low"], row["iteration_seconds_predicted"])
            self.assertGreater(row["high"], row["iteration_seconds_predicted"])
            self.assertTrue(any("more workers than" in warning for warning in row["warnings"]))

    def test_shows_people_a_table(self):
        self.calibrate()
        lines = self.predict(
            "workers,nodes,batch_per_worker\n8,4,32\n64,16,32\n32,8,32\n").splitlines()
        self.assertEqual(lines[0].split(), ["workers", "nodes", "batch", "predicted", "s", "low",
                                            "high", "examples/s", "notes"])
        self.assertLessEqual(max(map(len, lines)), 80)
        self.assertEqual(lines[1].split()[:3], ["8", "4", "32"])
        self.assertEqual([line.split()[-1] for line in lines[2:4]], ["[1]", "[1]"])
        self.assertEqual(lines[4:], ["[1] more workers than were measured, 16 at most"])

    def test_three_rows_are_enough(self):
        self.calibrate(HEAD + "1,1,32,1.0\n8,1,32,1.3\n16,2,32,1.4\n")
        found = json.loads(self.predict(HEAD + "64,8,32,1.6\n", "--json"))
        self.assertLess(found["median_absolute_error"], 0.01)

    def test_one_row_is_too_few(self):
        for rows in ("8,1,32,1.0\n", "8,1,32,1.0\n8,1,32,1.1\n"):  # The same again.
            self.path("one.csv", HEAD + rows)
            process = self.outpace("calibrate", "one.csv", "-o", "one.json", code=EXIT_USAGE)
            self.assertIn("one.csv: one row is too few to fit", process.err)
            self.assertFalse((self.folder / "one.json").exists())

    def test_says_what_it_does_not_know(self):
        self.calibrate(HEAD + "1,1,128,0.2\n1,1,256,0.4\n")
        row = json.loads(self.predict(HEAD + "10,5,256,0.5\n", "--json"))["rows"][0]
        self.assertIsNone(row["high"])
        self.assertTrue(any("the cost of the network is left out" in warning for warning in row["warnings"]))

    def test_refuses_another_policy(self):
        self.calibrate(SMALL.replace("\n", ",sync\n").replace("seconds,sync", "seconds,policy"))
        self.path("large.csv", "workers,nodes,batch_per_worker,policy\n8,8,32,async\n8,8,32,sync\n")
        process = self.outpace("predict", "profile.json", "--configurations", "large.csv", "--json",
                               code=EXIT_USAGE)
        self.assertIn("1 of 2 rows refused", process.err)
        rows = json.loads(process.out)["rows"]
        self.assertEqual(rows[0]["refused"], "policy 'async' was not calibrated, only 'sync'")
        self.assertIsNone(rows[0]["iteration_seconds_predicted"])
        self.assertGreater(rows[1]["iteration_seconds_predicted"], 0)

    def test_the_same_table_gives_the_same_profile(self):
        self.calibrate()
        once = (self.folder / "profile.json").read_bytes()
        self.calibrate()
        self.assertEqual((self.folder / "profile.json").read_bytes(), once)


class Workers(Throughput):
    def workers(self, *words):
        return json.loads(self.outpace("predict", "profile.json", "--json", "--workers",
                                       *words).out)["predictions"]

    def test_are_predicted_each(self):
        self.calibrate()
        found = self.workers("1..4,16", "--batch", 32)
        self.assertEqual([row["workers"] for row in found], [1, 2, 3, 4, 16])
        self.assertEqual([row["nodes"] for row in found], [1, 1, 1, 1, 4])
        self.assertEqual([row["nodes"] for row in self.workers("8,16", "--batch", 32, "--nodes", 8)],
                         [8, 8])
        for row in found:
            self.assertEqual(row["model"], "calibrated")
            self.assertIn(row["bottleneck"], ("compute", "sync"))
            self.assertLess(row["low"], row["examples_per_second"])
            self.assertGreater(row["high"], row["examples_per_second"])
        self.assertAlmostEqual(found[0]["examples_per_second"], 32 / seconds(1, 1, 32), delta=10)

    def test_say_enough(self):
        self.calibrate()
        for words, says in (((), "either --configurations TABLE.csv or --workers"),
                            (("--workers", "8", "--configurations", "small.csv"),
                             "either --configurations TABLE.csv or --workers"),
                            (("--workers", "8"), "--batch"),
                            (("--workers", "8", "--batch", "-1"), "--batch"),
                            (("--workers", "8", "--batch", "nan"), "--batch"),
                            (("--workers", "0", "--batch", "8"), "--workers is '0'"),
                            (("--workers", "9..2", "--batch", "8"), "--workers is '9..2'"),
                            (("--workers", "1..999999999999", "--batch", "8"), "--workers is"),
                            (("--workers", "1..999999", "--batch", "8"), "at most 10000"),
                            (("--workers", "4", "--nodes", "8", "--batch", "8"),
                             "--nodes is 8 with 4 workers"),
                            (("--workers", "4", "--runtime", "constant(1s)"),
                             "--runtime conflicts with a calibrated profile"),
                            (("--workers", "4", "--plot", "p.svg"),
                             "--plot conflicts with a calibrated profile"),
                            (("--workers", "4", "--nodes", "2", "--workers-per-node", "2"),
                             "--nodes conflicts with --workers-per-node")):
            with self.subTest(words):
                process = self.outpace("predict", "profile.json", *words, code=EXIT_USAGE)
                self.assertEqual(len(process.err.splitlines()), 1, process.err)
                self.assertIn(says, process.err)


class BadInput(Throughput):
    def refuse(self, says, *words):
        with self.subTest(says):
            process = self.outpace(*words, code=EXIT_USAGE)
            self.assertEqual(process.out, "")
            self.assertEqual(len(process.err.splitlines()), 1, process.err)
            self.assertIn(says, process.err)

    def test_tables(self):
        self.calibrate()
        for text, says in (("", "is empty"),
                           (HEAD, "no rows"),
                           (HEAD + "0,1,32,1\n", "bad.csv:2: workers is '0'"),
                           (HEAD + "1,2,32,1\n", "1 workers on 2 nodes"),
                           (HEAD + "1,1,nan,1\n", "batch_per_worker is 'nan'"),
                           (HEAD + "1,1,32,-1\n", "iteration_seconds is '-1'"),
                           (HEAD + "1,1,32,inf\n", "iteration_seconds is 'inf'"),
                           (HEAD + "1,1,32\n", "3 cells"),
                           ("workers,nodes\n1,1\n", "no column 'batch_per_worker'"),
                           ("\x00\x01", "no column 'workers'")):
            self.path("bad.csv", text)
            self.refuse(says, "calibrate", "bad.csv", "-o", "none.json")
        self.refuse("no column", "predict", "profile.json", "--configurations", "bad.csv")
        self.path("bad.csv", HEAD + "1,1,32,0.1\n2,1,32,\n")
        self.refuse("row 2 has no iteration_seconds", "calibrate", "bad.csv", "-o", "none.json")
        self.refuse("absent.csv: cannot be read", "calibrate", "absent.csv", "-o", "none.json")
        self.assertFalse((self.folder / "none.json").exists())

    def test_profiles(self):
        self.calibrate()
        right = (self.folder / "profile.json").read_text()
        for text, says in ((right[:300], "is not JSON, or is truncated"),
                           ("{}", "is not a profile"),
                           (right.replace("outpace-profile", "other"), "is not a profile"),
                           (right.replace('"version": 1', '"version": 9'), "is not a profile of version 1"),
                           (right.replace('"calibrated"', '"guessed"'), "kind is 'guessed'; it takes measured or calibrated"),
                           (right.replace('"spread": ', '"spread": -'), "'spread'"),
                           (right.replace('"overlap"', '"overlay"'), "no 'overlap'"),
                           ("[" * 100_000, "is not JSON")):
            self.path("bad.json", text)
            self.refuse(says, "predict", "bad.json", "--configurations", "small.csv")


if __name__ == "__main__":
    main()
