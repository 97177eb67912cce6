"""--policy auto: what a live run expects, measures and records of its candidates."""

import json
import sys

sys.dont_write_bytecode = True
from jobs import ProgramTest, main  # noqa: E402

WORKERS = 4


class Live(ProgramTest):
    def run_of(self, rows, updates):
        run = self.folder / "run"
        process = self.start("train", "--policy", "auto", "--workers", WORKERS, "--network", "mlp",
                             "--delays", self.path("delays.csv", rows), "--updates", updates,
                             "--out", run)
        self.assertEqual(process.wait(), 0, process.err)
        return run, process

    def test_a_run_says_what_it_expects_and_is_decided_again_as_it_was(self):
        run, _ = self.run_of("0.01,0.01,0.01,0.04\n" * 400, 200)
        summary = json.loads((run / "summary.json").read_text())
        choice = summary["choice"]
        self.assertGreater(choice["looks"], 3)
        self.assertLess(choice["regret"], 0.5)
        candidates = {one["policy"]: one for one in choice["candidates"]}
        self.assertEqual(set(candidates), {"dynamic", "dynamic:objective=progress", "sync", "saps",
                                           "async", "ssp:s=3", "dynamic --balance"})
        self.assertGreater(candidates["dynamic"]["measured_progress"], 0.0)
        # The slow one of four sets the pace of all.
        self.assertGreater(candidates["dynamic"]["expected_progress"],
                           candidates["sync"]["expected_progress"])
        self.assertGreater(summary["gradient_noise_scale"] or 1.0, 0.0)
        replayed = self.start("replay", run)
        self.assertEqual(replayed.wait(), 0, replayed.err)
        self.assertIn("all identical, and no invariant is broken", replayed.out)
        asked = self.start("whatif", run)
        self.assertEqual(asked.wait(), 0, asked.err)
        self.assertRegex(asked.out, r"policy sync .* 0\.\d\d x", "it waits for the slow one")
        if summary["gradient_noise_scale"]:  # Null where noise was all that was seen.
            self.assertRegex(asked.out, r"policy sync .* progress \d\.\d\d x")

    def test_it_balances_machines_of_four_kinds_without_being_told(self):
        run, process = self.run_of("0.01,0.02,0.03,0.04\n" * 2000, 600)
        self.assertIn("auto: dynamic --balance follows ", process.err)
        self.assertRegex(process.err, r"policy is now dynamic --balance from version \d+ on")
        # The fastest computed more in an iteration than the slowest.
        workers = json.loads((run / "summary.json").read_text())["workers_detail"]
        self.assertGreater(workers[0]["examples"] / workers[0]["iterations"],
                           workers[3]["examples"] / workers[3]["iterations"])
        replayed = self.start("replay", run)
        self.assertEqual(replayed.wait(), 0, replayed.err)
        self.assertIn("all identical, and no invariant is broken", replayed.out)


class Refused(ProgramTest):
    def test_without_gradients_there_is_nothing_to_choose_by(self):
        process = self.start("simulate", "--policy", "auto", "--workers", 2, "--updates", 10)
        self.assertEqual(process.wait(), 2)
        self.assertIn("needs a loss, an accuracy or gradients", process.err)
        self.assertEqual(process.err.count("\n"), 1, process.err)


if __name__ == "__main__":
    main()
