"""`outpace compare`: every cell is a run of the program, is kept as soon as it is done, and is never
run twice."""

import csv
import json
import re
import signal
import sys
import xml.etree.ElementTree

sys.dont_write_bytecode = True
from jobs import ProgramTest, main, read_json_lines, wait_until  # noqa: E402

QUICK = """[compare]
mode = "simulated"
network = "none"
policies = ["sync", "async"]
seeds = [1, 2]
delays = {calm = "calm.csv", uneven = "uneven.csv"}
workers = 2
updates = 100
"""


class Compare(ProgramTest):
    def setUp(self):
        super().setUp()
        self.path("calm.csv", "0.1,0.1\n")
        self.path("uneven.csv", "0.1,0.4\n0.1,0.1\n")

    def compare(self, config, *words, code=0):
        self.path("c.toml", config)
        process = self.start("compare", "c.toml", "--out", "out", *words)
        self.assertEqual(process.wait(), code, process.err)
        self.assert_nothing_left()
        self.assertEqual(list(self.scratch.iterdir()), [])
        return process

    def rows(self, name="compare.csv"):
        with open(self.folder / "out" / name, newline="") as file:
            return list(csv.DictReader(file))

    def assert_ran(self, process, ran, kept):
        self.assertIn(f"{ran + kept} cells in out: {kept} kept from before, {ran} to run\n",
                      process.err)
        self.assertEqual(len(re.findall(r"^\[ *\d+/\d+\] ", process.err, re.MULTILINE)), ran)

    def records(self):
        return {path.relative_to(self.folder / "out"): path.stat().st_mtime_ns
                for path in (self.folder / "out").glob("*/*/seed-*.json")}


# Most of a test's time is the start of the program: no more cells than it needs.
FEW = QUICK.replace('calm = "calm.csv", ', "")


class Simulated(Compare):
    def test_a_second_time_runs_nothing(self):
        first = self.compare(QUICK)
        self.assert_ran(first, ran=8, kept=0)
        tables = re.findall(r"^(calm|uneven) \(\S+\), simulated, 2 seeds each\npolicy +examples/s.*\n"
                            r"sync .*\nasync .*\n", first.out, re.MULTILINE)
        self.assertEqual(tables, ["calm", "uneven"])
        runs = self.rows()
        self.assertEqual(len(runs), 8)
        self.assertEqual({row["status"] for row in runs}, {"done"})
        self.assertEqual([(row["trace"], row["policy"], row["seed"]) for row in runs[:3]],
                         [("calm", "sync", "1"), ("calm", "async", "1"), ("uneven", "sync", "1")])
        kept = self.records()
        self.assertEqual(len(kept), 8)
        again = self.compare(QUICK)
        self.assert_ran(again, ran=0, kept=8)
        self.assertEqual(again.out, first.out)
        self.assertEqual(self.records(), kept)

        process = self.start("simulate", "--policy", "async", "--workers", 2, "--updates", 100,
                             "--seed", 2, "--delays", "uneven.csv", "--json")
        self.assertEqual(process.wait(), 0, process.err)
        record = json.loads((self.folder / "out/uneven/async/seed-2.json").read_text())
        self.assertEqual(record["result"]["event_log_hash"],
                         json.loads(process.out)["event_log_hash"])
        self.assertTrue((self.folder / "out/uneven/async/seed-2/decisions.jsonl").exists())

    def test_what_the_shell_says_of_single_runs_does_not_count(self):
        self.path("c.toml", FEW)
        process = self.start("compare", "c.toml", variables={
            "OUTPACE_UPDATES": "3", "OUTPACE_LR": "7", "OUTPACE_OUT": "out"})
        self.assertEqual(process.wait(), 0, process.err)
        self.assertEqual({row["updates"] for row in self.rows()}, {"100"})

    def test_several_at_a_time_come_to_the_same(self):
        one = self.compare(FEW)
        two = self.compare(FEW, "--fresh", "--jobs", 2)
        self.assert_ran(two, ran=4, kept=0)
        self.assertEqual(two.out, one.out)

    def test_a_cell_that_fails_is_shown_and_the_others_run(self):
        config = FEW + """
[[policy]]
policy = "ssp:s=3"
name = "who all die"
fault = ["crash:worker=0,at=1s", "crash:worker=1,at=1s"]
"""
        process = self.compare(config, "--json", code=1)
        self.assertEqual(process.err.splitlines()[-1],
                         "outpace: 2 of 6 cells failed; the same command runs them again")
        self.assertRegex(process.err, r"\nwho all die +failed: \S+")
        self.assertRegex(process.err, r"\nfailed: uneven, who all die, seed 1: \S+")
        result = json.loads(process.out)
        self.assertEqual((result["cells"], len(result["failed"]), len(result["rows"])), (6, 2, 3))
        failed = [row for row in self.rows() if row["status"] == "failed"]
        self.assertEqual(len(failed), 2)
        self.assertTrue(all(row["reason"] for row in failed))
        self.assert_ran(self.compare(config, code=1), ran=2, kept=4)


class Resumed(Compare):
    def test_only_what_is_not_there_whole_and_of_the_same_options_is_run(self):
        out = self.folder / "out"
        self.compare(FEW)
        (out / "uneven/sync/seed-1.json").unlink()
        self.assert_ran(self.compare(FEW), ran=1, kept=3)
        record = out / "uneven/async/seed-2.json"
        record.write_text(record.read_text()[:-200])
        self.assert_ran(self.compare(FEW), ran=1, kept=3)
        self.assert_ran(self.compare(FEW.replace("[1, 2]", "[1, 2, 3]")), ran=2, kept=4)
        other = FEW + '[[policy]]\npolicy = "async"\nlr = 0.05\n'
        self.assert_ran(self.compare(other), ran=2, kept=2)
        self.path("uneven.csv", "0.1,0.2\n")
        self.assert_ran(self.compare(other), ran=4, kept=0)

    def interrupted(self, number):
        config = FEW.replace("updates = 100", "updates = 4000")
        self.path("c.toml", config)
        process = self.start("compare", "c.toml", "--out", "out")
        process.until_said("[1/4]")
        process.send(number)
        code = process.wait()
        self.assert_nothing_left()
        done = len(self.records())
        self.assertIn(done, range(1, 4))
        return code, done, config, process

    def test_after_an_interrupt_it_goes_on(self):
        code, done, config, process = self.interrupted(signal.SIGINT)
        self.assertEqual(code, 130)
        self.assertEqual(process.err.splitlines()[-1],
                         f"outpace: interrupted; {done} of 4 cells are kept, and the same command "
                         "goes on")
        self.assertEqual(process.out, "")
        self.assert_ran(self.compare(config), ran=4 - done, kept=done)
        self.assertEqual(len(self.rows()), 4)

    def test_killed_it_leaves_nothing_running(self):
        code, done, config, _ = self.interrupted(signal.SIGKILL)
        self.assertEqual(code, -signal.SIGKILL)
        self.assert_ran(self.compare(config), ran=4 - done, kept=done)

    def test_two_do_not_work_in_one_folder(self):
        self.path("c.toml", FEW.replace("updates = 100", "updates = 1000000"))
        process = self.start("compare", "c.toml", "--out", "out")
        process.until_said("to run")
        other = self.start("compare", "c.toml", "--out", "out")
        self.assertEqual(other.wait(), 2)
        self.assertEqual(other.err,
                         "outpace: --out out: another comparison is at work there\n")
        process.send(signal.SIGTERM)
        self.assertEqual(process.wait(), 128 + signal.SIGTERM)


class BadInput(Compare):
    def assert_refused(self, config, *says):
        with self.subTest(says[0]):
            process = self.compare(config, code=2)
            self.assertEqual(len(process.err.splitlines()), 1, process.err)
            for part in says:
                self.assertIn(part, process.err)
            self.assertEqual(process.out, "")
            self.assertFalse((self.folder / "out").exists(), "something was run")

    def test_is_one_line_with_its_place_before_anything_is_run(self):
        for change, *says in (
                (("workers", "workres"), "c.toml:7: unknown key 'workres'", "'workers'?"),
                (('"async"', '"asinc"'), "c.toml:4: unknown policy 'asinc'", "'async'?"),
                (('"async"', '"ssp:t=3"'), "c.toml:4: ", "s is missing"),
                (("[1, 2]", "[]"), "c.toml:5: seeds is empty"),
                (("seeds = [1, 2]\n", ""), "c.toml:1: seeds is missing"),
                (("calm.csv", "nowhere.csv"), "c.toml:6: --delays nowhere.csv"),
                (("= 2\n", "= 3\n"), "c.toml:6: calm.csv:1: ", "columns"),
                (("= 2\n", "= 0\n"), "c.toml:7: --workers is '0'"),
                (("= 100", "= 'many'"), "c.toml:8: ", "many"),
                (("simulated", "pretended"), "c.toml:2: mode is 'pretended'"),
                (("[compare]", "[compare"), "c.toml:1: "),
                (("[compare]", "[compares]"), "c.toml:1: unknown key 'compares'"),
        ):
            self.assert_refused(QUICK.replace(*change), *says)
        self.assert_refused(QUICK + "[[policy]]\npolicy = 'async'\nbatch = 0\n",
                            "c.toml:11: --batch is '0'", "from 1 to")

    def test_of_the_command_line(self):
        self.path("c.toml", QUICK)
        (self.folder / "full").mkdir()
        self.path("full/something", "old")
        for words, part in ((("nowhere.toml",), "nowhere.toml: cannot be read"),
                            (("/dev/zero",), "/dev/zero: has no end"),
                            ((), "file"),
                            (("c.toml", "--job", 2), "did you mean '--jobs'?"),
                            (("c.toml", "--jobs", 0), "--jobs is '0'"),
                            (("c.toml", "--out", "full"), "not empty")):
            with self.subTest(part):
                process = self.start("compare", *words)
                self.assertEqual(process.wait(), 2)
                self.assertEqual(len(process.err.splitlines()), 1, process.err)
                self.assertIn(part, process.err)


LEARNT = """[compare]
mode = "simulated"
policies = ["sync", "async"]
seeds = [1, 2]
workers = 2
updates = 60
evaluate-every = 640
target-accuracy = 0.3
consecutive = 1
"""
LIVE = """[compare]
mode = "live"
network = "mlp"
policies = ["sync", "async"]
seeds = [1]
delays = ["uneven.csv"]
delays-by = "iteration"
workers = 2
updates = 12
evaluate-every = 128
"""


class Learnt(Compare):
    def texts(self):
        tree = xml.etree.ElementTree.parse(self.folder / "out/compare.svg")
        return [text.text for text in tree.iter("{http://www.w3.org/2000/svg}text")]

    def test_simulated_runs_learn_and_are_drawn(self):
        process = self.compare(LEARNT)
        self.assertRegex(process.out, r"\nsync +[\d,]+ +[\d.]+ +[\d.]+ +2/2 +[\d.]+% ")
        for row in self.rows():
            self.assertGreater(float(row["final_accuracy"]), 0.3)
            self.assertLessEqual(float(row["seconds_to_target"]), float(row["seconds"]))
        sync, _ = self.rows("summary.csv")
        self.assertEqual((sync["reached"], sync["seconds_to_target_n"]), ("2", "2"))
        self.assertGreaterEqual(float(sync["seconds_to_target_half_width"]), 0)
        texts = self.texts()
        for words in ("no trace of delays", "simulated time (s)", "test accuracy (%)", "sync",
                      "async", "target 30%"):
            self.assertIn(words, texts)

    def test_live_runs_are_trainings(self):
        process = self.compare(LIVE)
        self.assert_ran(process, ran=2, kept=0)
        rows = self.rows()
        self.assertEqual([row["policy"] for row in rows], ["sync", "async"])
        self.assertTrue(all(float(row["final_accuracy"]) > 0 for row in rows))
        self.assertTrue(any(text.startswith("time (s)") for text in self.texts()))
        self.assert_ran(self.compare(LIVE), ran=0, kept=2)

    def test_an_interrupted_live_run_leaves_nothing(self):
        self.path("c.toml", LIVE.replace("updates = 12", "updates = 100000"))
        process = self.start("compare", "c.toml", "--out", "out")
        decisions = self.folder / "out/uneven/sync/seed-1/decisions.jsonl"
        wait_until(lambda: len(read_json_lines(decisions)) > 10, "the first gradients")
        process.send(signal.SIGINT)
        self.assertEqual(process.wait(), 130, process.err)
        self.assert_nothing_left()
        self.assertEqual(list(self.scratch.iterdir()), [])
        self.assertEqual(self.records(), {})

    def test_live_runs_are_not_several_at_a_time(self):
        process = self.compare(LIVE, "--jobs", 2, code=2)
        self.assertIn("--jobs conflicts with mode \"live\"", process.err)
        process = self.compare(LIVE.replace('"mlp"', '"mpl"'), code=2)
        self.assertIn("c.toml:3: ", process.err)
        self.assertIn("did you mean 'mlp'?", process.err)


if __name__ == "__main__":
    main()
