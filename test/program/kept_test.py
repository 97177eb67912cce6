"""Records that each released version wrote, read by this one: tools/keep_records.py makes them."""

import json
import pathlib
import re
import shutil
import sys

sys.dont_write_bytecode = True
from jobs import ProgramTest, main, read_weights, whole_checkpoints  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
KEPT = sorted(path for path in (ROOT / "test" / "kept").iterdir() if path.is_dir())
FORMAT = int(re.search(r"\| \[checkpoint\]\S+ \| (\d+) \|", (ROOT / "docs" / "install.md").read_text())[1])


class KeptTest(ProgramTest):
    def of_each(self, check):
        """Calls `check` for each version, with a copy of its records where the test's programs are started."""
        self.assertTrue(KEPT)
        for kept in KEPT:
            with self.subTest(kept.name):
                for one in kept.iterdir():
                    copy = self.folder / one.name
                    shutil.rmtree(copy, ignore_errors=True)
                    (shutil.copytree if one.is_dir() else shutil.copy)(one, copy)
                check()

    def outpace(self, *words):
        process = self.start(*words)
        self.assertEqual(process.wait(), 0, process.err)
        return process.out

    def summary(self, run):
        return json.loads((self.folder / run / "summary.json").read_text())


class Readers(KeptTest):
    def test_decisions_are_made_again_as_they_were(self):
        def check():
            parts = {path.suffix for path in (self.folder / "server").glob("decisions*")}
            self.assertEqual(parts, {".jsonl", ".zst"}, "one is compressed")
            self.assertIn("all identical, and no invariant is broken", self.outpace("replay", "server"))
            self.assertRegex(self.outpace("replay", "gossip"), "decisions of 4 members replayed, all identical")
        self.of_each(check)

    def test_runs_are_answered_for(self):
        def check():
            for run in ("server", "gossip"):
                self.outpace("report", run, "--out", f"{run}.html")
                self.assertIn(f"{self.summary(run)['updates']:,}", (self.folder / f"{run}.html").read_text())
            answers = json.loads(self.outpace("whatif", "server", "--policy", "sync", "--json"))
            self.assertEqual(answers["workers"], 3)
            self.assertGreater(answers["measured_examples_per_second"], 0)
            judged = json.loads(self.outpace("cutoff", "server/runtimes.csv", "--json"))
            self.assertEqual(judged["workers"], 3)
        self.of_each(check)

    def test_a_profile_is_predicted_from(self):
        def check():
            rows = json.loads(self.outpace("predict", "profile.json", "--workers", "1,4", "--json"))
            self.assertTrue(rows)
        self.of_each(check)

    def test_weights_and_checkpoints_are_whole(self):
        def check():
            profile = json.loads((self.folder / "profile.json").read_text())
            for run in ("server", "gossip"):
                numbers, _ = read_weights(self.folder / run / "weights.safetensors")
                self.assertEqual(4 * len(numbers), profile["payload_bytes"])
            written = json.loads(next((self.folder / "server").glob("checkpoints/*/checkpoint.json")).read_text())
            if written["format"] == FORMAT:
                self.assertIn("whole", self.outpace("checkpoint", "verify", "server"))
                return
            refused = self.start("checkpoint", "verify", "server")
            self.assertNotEqual(refused.wait(), 0)
            self.assertIn(written["program"], refused.out + refused.err)
        self.of_each(check)


class Resumed(KeptTest):
    def test_a_run_goes_on_where_its_format_is_the_same(self):
        def check():
            checkpoint = json.loads((whole_checkpoints(self.folder / "server")[-1] / "checkpoint.json").read_text())
            process = self.start("train", "--resume", "server", "--updates", checkpoint["update"] + 120)
            if checkpoint["format"] == FORMAT:
                self.assertEqual(process.wait(), 0, process.err)
                self.assertEqual(self.summary("server")["updates"], checkpoint["update"] + 120)
                self.outpace("replay", "server")
            else:
                self.assertNotEqual(process.wait(), 0)
                self.assertIn(checkpoint["program"], process.err, "the version that wrote it")
        self.of_each(check)


if __name__ == "__main__":
    main()
