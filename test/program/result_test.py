"""The results of a run: one JSON object on standard output, and its directory."""

import json
import sys

sys.dont_write_bytecode = True
from jobs import LedgerJob, ProgramTest, main, read_json_lines, read_weights  # noqa: E402

KEYS = {"policy", "workers", "updates", "seconds", "gradients_applied", "gradients_dropped",
        "gradients_cancelled", "examples_per_second", "gradients_per_second", "seconds_to_target",
        "final_accuracy", "final_loss", "staleness", "examples_used_per_epoch_min",
        "examples_used_per_epoch_max", "workers_detail"}
FILES = {"config.toml", "decisions.jsonl", "metrics.jsonl", "runtimes.csv", "weights.safetensors",
         "summary.json"}


class Result(ProgramTest):
    def check(self, out, run, workers):
        """Returns the summary."""
        self.assertEqual(out.count("\n"), 1, "one line, one object")
        summary = json.loads(out)
        self.assertLessEqual(KEYS, set(summary))
        self.assertEqual(set(summary["staleness"]), {"mean", "max", "p99", "histogram"})
        self.assertEqual(sum(summary["staleness"]["histogram"].values()),
                         summary["gradients_applied"])
        details = summary["workers_detail"]
        self.assertEqual([one["worker"] for one in details], list(range(workers)))
        self.assertEqual(sum(one["accepted"] for one in details), summary["gradients_applied"])
        self.assertEqual(sum(one["dropped"] for one in details), summary["gradients_dropped"])
        self.assertEqual(sum(one["examples"] for one in details), summary["examples"])
        self.assertGreater(summary["seconds"], 0)
        self.assertAlmostEqual(summary["examples_per_second"] * summary["seconds"],
                               summary["examples"], places=3)

        files = {path.name for path in run.iterdir()}
        self.assertLessEqual(FILES, files)
        self.assertFalse([name for name in files if name.endswith((".tmp", "~"))])
        self.assertEqual(json.loads((run / "summary.json").read_text()), summary)
        self.check_decisions(run / "decisions.jsonl", summary, workers)
        for line in read_json_lines(run / "metrics.jsonl"):
            self.assertIn("seconds", line)
        rows = [line.split(",") for line in (run / "runtimes.csv").read_text().splitlines()
                if not line.startswith("#")]
        self.assertTrue(rows)
        for row in rows:
            self.assertEqual(len(row), workers)
            self.assertTrue(all(float(cell) >= 0 for cell in row))
        return summary

    def check_decisions(self, path, summary, workers):
        head, *decisions = read_json_lines(path)
        self.assertEqual((head["policy"], head["workers"]), (summary["policy"], workers))
        times = [decision["now"] for decision in decisions]
        self.assertEqual(times, sorted(times))
        actions = [action["type"] for decision in decisions for action in decision["actions"]]
        self.assertEqual(actions.count("commit"), summary["updates"])
        self.assertEqual(actions.count("accept"), summary["gradients_applied"])
        self.assertEqual(actions.count("drop"), summary["gradients_dropped"])


class Server(Result):
    def test_of_a_server_and_its_workers(self):
        job = LedgerJob(self, "backup:cutoff=3", workers=4, examples=240, epochs=2)
        job.finish()
        summary = self.check(job.server.out, job.run, 4)
        self.assertEqual(summary["updates"], 2 * 240 // (3 * 4))
        self.assertEqual(summary["staleness"]["max"], 0)
        self.assertIsNone(summary["final_accuracy"])
        numbers, header = read_weights(job.run / "weights.safetensors")
        self.assertEqual(header["ledger"]["shape"], [240])
        self.assertEqual(numbers, [-2.0] * 240)

    def test_without_json_people_read_standard_output(self):
        job = LedgerJob(self, "async", workers=2, examples=64, epochs=1,
                        options=("--json=false",))
        job.finish()
        self.assertIn("worker", job.server.out)
        self.assertIn(str(job.run), job.server.out)
        self.assertNotIn("{", job.server.out)


class Train(Result):
    def test_of_a_training_run(self):
        run = self.folder / "run"
        process = self.start("train", "--workers", 2, "--policy", "async", "--batch", 32,
                             "--updates", 150, "--target-accuracy", "0.5", "--consecutive", 1,
                             "--evaluate-every", 1600, "--out", run, "--json")
        self.assertEqual(process.wait(), 0, process.err)
        self.assert_nothing_left()
        self.assertEqual(list(self.scratch.iterdir()), [])
        summary = self.check(process.out, run, 2)
        self.assertLessEqual(summary["updates"], 150)
        self.assertGreater(summary["final_accuracy"], 0.4)
        self.assertGreater(summary["final_loss"], 0)
        self.assertEqual(summary["workers"], 2)
        if summary["seconds_to_target"] is not None:
            self.assertLessEqual(summary["seconds_to_target"], summary["seconds"] + 1e-9)
        numbers, header = read_weights(run / "weights.safetensors")
        self.assertEqual(header["__metadata__"]["version"], str(summary["updates"]))
        self.assertEqual(header["__metadata__"]["network"], "mlp")
        self.assertTrue(all(abs(number) < 1e3 for number in numbers))
        measured = [line for line in read_json_lines(run / "metrics.jsonl") if "accuracy" in line]
        self.assertEqual(measured[-1]["accuracy"], summary["final_accuracy"])

    def test_past_its_target_a_run_goes_on_to_its_end(self):
        process = self.start("train", "--workers", 2, "--policy", "async", "--updates", 150,
                             "--target-accuracy", "0.2", "--consecutive", 1, "--past-target",
                             "--evaluate-every", 1600, "--out", self.folder / "run", "--json")
        self.assertEqual(process.wait(), 0, process.err)
        summary = json.loads(process.out)
        self.assertEqual(summary["updates"], 150)
        self.assertLess(summary["seconds_to_target"], summary["seconds"])


if __name__ == "__main__":
    main()
