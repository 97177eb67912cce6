"""Tests bench_peers.py with stand-ins for both systems, and its arithmetic."""

import math
import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))
import bench_peers  # noqa: E402 (its folder has just been added)
import measured_runs  # noqa: E402
from stand_in import ToolTest  # noqa: E402

# Both append what they were told to calls.jsonl beside them. Rates above 0.1 are worse.
PEER = """import json, pathlib, sys
words = sys.argv[1:]
told = dict(zip(words[::2], words[1::2]))
delays = pathlib.Path(told["--delays"]).read_text()
with open(pathlib.Path(__file__).parent / "calls.jsonl", "a") as calls:
    zeros = delays == "0,0,0,0,0,0,0,0\\n"
    calls.write(json.dumps({"command": "peer", "zeros": zeros, **told}) + "\\n")
seconds = 10.0 if float(told["--lr"]) <= 0.1 else 15.0
print("words before")
print(f"ddp-gloo workers=8 lr=0.1 steps=400 acc=0.8412 reached=True seconds={seconds:.2f} "
      "examples_per_s=1000")
"""
RESULT = """fast = told["--policy"] == "async"
diverged = fast and told["--lr"] == "0.4"
print(json.dumps({"seconds_to_target": None if diverged else 4.0 if fast else 8.0,
                  "examples_per_second": 3000.0 if fast else 1100.0, "final_accuracy": 0.84,
                  "why_ended": "training has diverged" if diverged else "target reached"}))
sys.exit(diverged)
"""


def run(rate, seconds):
    return {"examples_per_second": rate, "seconds_to_target": seconds}


class Programs(ToolTest):
    RESULT = RESULT

    def setUp(self):
        super().setUp()
        (self.folder / "peer.py").write_text(PEER)
        for trace in bench_peers.TRACES:
            (self.folder / f"synthetic-{trace}.csv").write_text(",".join(["0.02"] * 8) + "\n")

    def bench(self, *arguments):
        return self.run_tool(
            bench_peers, "--peer", str(self.folder / "peer.py"), "--delays-dir", str(self.folder),
            "--results", str(self.folder / "results.json"), *arguments)

    def test_compares_each_system_at_its_best_rate_and_marks_the_bars(self):
        code, out, errors = self.bench("--policies", "sync", "async", "--seeds", "2",
                                       "--rates", "0.1", "0.4", "--by", "time")
        self.assertEqual(code, 0, errors)
        rows = [line.split() for line in out.splitlines()]
        self.assertIn(["ddp-gloo", "10.00", "15.00", "0.1"], rows)
        self.assertIn(["async", "4.00", "-", "(0", "of", "2)", "0.1"], rows)
        self.assertIn(["async", "0.1", "3,000", "3,000", "-", "3,000", "3.00", "4.0", "2.50",
                       "2/2"], rows)
        self.assertIn("PASS  bar: sync 1.0 x examples/s: sync 1.10 x", out)
        self.assertIn("PASS  bar: one policy 2.4 x examples/s and 2.0 x sooner: "
                      "async 3.00 x and 2.50 x", out)

    def test_asks_the_same_of_both(self):
        self.bench("--policies", "sync", "--seeds", "1", "--rates", "0.1", "0.2",
                   "--traces", "fixed-8", "--by", "iteration")
        calls = self.calls()
        self.assertEqual([call["command"] for call in calls], ["peer", "train"] * 3)
        self.assertEqual([call["--seed"] for call in calls], ["101"] * 4 + ["1"] * 2)
        self.assertTrue(calls[0]["zeros"] and "--delays" not in calls[1])
        peer, ours = calls[-2:]
        self.assertEqual(peer["--delays"], ours["--delays"])
        self.assertEqual(peer["--by"], ours["--delays-by"])
        self.assertEqual((peer["--period"], ours["--delays-period"]), ("0.02", "20ms"))
        self.assertEqual((peer["--eval-every"], ours["--evaluate-every"]), ("20", "5120"))
        for option in ("--workers", "--batch", "--consecutive", "--seed"):
            self.assertEqual(peer[option], ours[option])
        self.assertEqual(peer["--target"], ours["--target-accuracy"])

    def test_goes_on_where_it_stopped_unless_a_program_changed(self):
        arguments = ("--policies", "sync", "--seeds", "1", "--rates", "0.1", "--traces", "calm-8",
                     "--by", "time")
        self.bench(*arguments)
        first = len(self.calls())
        self.assertEqual(self.bench(*arguments)[0], 0)
        self.assertEqual(len(self.calls()), first)
        self.bench(*arguments, "--fresh")
        self.assertEqual(len(self.calls()), 2 * first)
        (self.folder / "peer.py").write_text(PEER + "# changed\n")
        code, _, errors = self.bench(*arguments)
        self.assertEqual(code, 1)
        self.assertIn("--fresh", errors)

    def test_the_same_rate_for_all_is_shown_beside(self):
        _, out, _ = self.bench("--policies", "sync", "--seeds", "1", "--rates", "0.05",
                               "--same-lr", "--traces", "calm-8", "--by", "time")
        self.assertIn("all at lr 0.1:", out)
        self.assertEqual([call["--lr"] for call in self.calls()], ["0.05"] * 2 + ["0.1"] * 2)

    def test_more_options_may_follow_a_policy(self):
        self.bench("--policies", "async --staleness none", "--seeds", "1", "--rates", "0.1",
                   "--traces", "calm-8", "--by", "time")
        self.assertEqual(self.calls()[-1]["--staleness"], "none")
        self.assertEqual(self.calls()[-1]["--policy"], "async")

    def test_a_run_that_fails_ends_it_and_shows_its_last_words(self):
        (self.folder / "peer.py").write_text("import sys\nsys.exit('no such trace')\n")
        code, _, errors = self.bench("--rates", "0.1")
        self.assertEqual(code, 1)
        self.assertIn("no such trace", errors)

    def test_traces_are_made_if_there_is_no_folder(self):
        code, out, errors = self.run_tool(
            bench_peers, "--peer", str(self.folder / "peer.py"),
            "--results", str(self.folder / "results.json"), "--policies", "sync",
            "--seeds", "1", "--rates", "0.1", "--by", "time")
        self.assertEqual(code, 0, errors)
        self.assertIn("drifting-8, delays by time", out)


class Arithmetic(unittest.TestCase):
    def test_ratios_are_of_pairs(self):
        row = bench_peers.compare([run(100, 10), run(200, 30), run(400, 20)],
                                  [run(300, 5), run(200, 10), run(800, None)])
        self.assertEqual(row["faster"], 2.0)  # The median of 3, 1 and 2.
        self.assertEqual(row["sooner"], 2.0)  # The median of 2, 3 and never.
        self.assertEqual((row["rate"], row["rate_min"], row["rate_max"]), (300, 200, 800))
        self.assertEqual(row["reached"], "2/3")

    def test_who_does_not_arrive_is_not_sooner(self):
        self.assertEqual(bench_peers.sooner(run(1, None), run(1, None)), 0.0)
        self.assertEqual(bench_peers.sooner(run(1, 9.0), run(1, None)), 0.0)
        self.assertEqual(bench_peers.sooner(run(1, None), run(1, 9.0)), math.inf)

    def test_one_policy_must_pass_both_halves_of_a_bar(self):
        rows = {"async": {"faster": 3.0, "sooner": 1.9}, "sync": {"faster": 1.1, "sooner": 2.5}}
        self.assertTrue(bench_peers.bar_line("fixed-8", rows).startswith("SHORT"))
        rows["ssp:s=3"] = {"faster": 2.5, "sooner": 2.1}
        self.assertTrue(bench_peers.bar_line("fixed-8", rows).startswith("PASS"))
        self.assertIn("ssp:s=3 2.50 x and 2.10 x", bench_peers.bar_line("fixed-8", rows))

    def test_a_bar_for_a_policy_that_was_not_run(self):
        self.assertIn("not measured",
                      bench_peers.bar_line("calm-8", {"async": {"faster": 3.0, "sooner": 2.0}}))

    def test_a_line_that_is_not_the_peers(self):
        with self.assertRaises(measured_runs.RunFailed):
            bench_peers.peer_result("ddp-gloo steps=many")

    def test_a_target_that_was_not_reached_has_no_time(self):
        found = bench_peers.peer_result("ddp-gloo steps=40 acc=0.7 reached=False seconds=10.00 "
                                        "examples_per_s=2322")
        self.assertIsNone(found["seconds_to_target"])
        self.assertEqual(found["examples_per_second"], 2322.0)


class Processes(unittest.TestCase):
    def test_nothing_outlives_its_run(self):
        with tempfile.TemporaryDirectory() as folder:
            mark = pathlib.Path(folder) / "alive"
            with self.assertRaisesRegex(measured_runs.RunFailed, "no end after"):
                measured_runs.run(["sh", "-c", f"(sleep 1; touch {mark}) & wait"], 0.3)
            with self.assertRaises(measured_runs.RunFailed):
                measured_runs.run(["sleep", "5"], 1.2)
            self.assertFalse(mark.exists())

    def test_output_and_exit_code(self):
        self.assertEqual(measured_runs.run(["sh", "-c", "echo a; echo b >&2; exit 3"], 60),
                         (3, "a\n", "b\n"))


if __name__ == "__main__":
    unittest.main()
