"""A ring and a gossip go on without workers that die or are silent."""

import json
import os
import re
import signal
import sys

sys.dont_write_bytecode = True
from jobs import (ProgramTest, children_of, main, read_json_lines, wait_until)  # noqa: E402

EXAMPLES = 60_000  # In fashion-mnist.
SECONDS = "0.01"  # For a mini-batch.
SILENT = 4  # Seconds: on a busy machine, a worker may stand still for one or two.


class Peers(ProgramTest):
    topology = None

    def start_run(self, *options, workers=4, delays=None):
        """Paced, so that on no machine an epoch ends before its failures have come."""
        self.out = self.folder / "run"
        paced = self.folder / "paced.csv"
        paced.write_text(",".join([SECONDS] * workers) + "\n")
        self.process = self.start(
            "train", "--topology", self.topology, "--workers", workers, "--json",
            "--delays", delays or paced, "--heartbeat-timeout", f"{SILENT}s", "--out", self.out, *options)
        return self.process

    def metrics(self):
        return read_json_lines(self.out / "metrics.jsonl")

    def live(self):
        return [line["live"] for line in self.metrics() if "live" in line][-1]

    def version(self):
        return max((line.get("version", 0) for line in self.metrics()), default=0)

    def until_update(self, least):
        def reached():
            self.assertTrue(self.process.running(), self.process.err)
            return self.version() >= least
        wait_until(reached, f"update {least}")

    def child(self, worker):
        """The process of that worker, once it is there."""
        def found():
            self.assertTrue(self.process.running(), self.process.err)
            return next((one for one, words in children_of(self.process.id).items()
                         if any(word.endswith(f"/worker-{worker}.toml") for word in words)), None)
        return wait_until(found, f"worker {worker}")

    def send(self, worker, number):
        os.kill(self.child(worker), number)

    def finish(self, code=0):
        self.assertEqual(self.process.wait(), code, self.process.err)
        self.assert_nothing_left()
        self.assertEqual(list(self.scratch.iterdir()), [])
        return json.loads(self.process.out)

    def start_one_that_hangs(self, *options):
        """A run whose worker 1 hangs in its 61st mini-batch, and is known to be gone."""
        hangs = self.folder / "hangs.csv"
        rows = [[SECONDS] * 4 for _ in range(5000)]
        rows[60][1] = "1000"
        hangs.write_text("".join(",".join(row) + "\n" for row in rows))
        process = self.start_run("--progress-timeout", "3s", "--delays-by", "iteration", *options,
                                 delays=hangs)
        process.until_said(f"worker 1 is gone: silent for {SILENT} s")
        return process

    def is_interrupted_while_one_is_silent(self):
        self.start_run("--epochs", 1000)
        self.until_update(60)
        self.send(1, signal.SIGSTOP)
        self.process.send(signal.SIGINT)
        summary = self.finish(130)
        self.assertIn("worker 1 is gone: silent", self.process.err)
        self.assertEqual(summary["why_ended"], "interrupted")
        self.assertTrue((self.out / "weights.safetensors").exists())

    def assert_ended_for(self, *texts):
        self.assertEqual(self.process.wait(), 5, self.process.err)
        for text in texts:
            self.assertIn(text, self.process.err.splitlines()[-1])
        self.assert_nothing_left()


class Ring(Peers):
    topology = "ring"

    def assert_exact(self, summary, survivors):
        """Every example counted once, and the survivors have the same weights."""
        self.assertEqual(summary["examples"], EXAMPLES)
        self.assertEqual(summary["epochs_complete"], 1)
        self.assertEqual(summary["why_ended"], "epochs done")
        self.assertEqual(sum(worker["examples"] for worker in summary["workers_detail"]), EXAMPLES)
        ends = [re.search(r"ended at update (\d+); CRC-32C of its weights: (\w+)",
                          (self.out / "logs" / f"worker-{worker}.log").read_text()).groups()
                for worker in survivors]
        self.assertEqual(set(ends), {(str(summary["updates"]), ends[0][1])})
        self.assertEqual(self.live(), len(survivors))

    def test_workers_are_killed_worker_0_among_them(self):
        process = self.start_run("--epochs", 1, "--optimizer", "momentum", "--lr", 0.05)
        self.until_update(60)
        self.send(0, signal.SIGKILL)
        process.until_said("the ring goes on with 3 of 4 workers from update")
        self.send(2, signal.SIGKILL)
        process.until_said("the ring goes on with 2 of 4 workers from update")
        summary = self.finish()
        self.assert_exact(summary, (1, 3))
        self.assertIn("worker 0 was ended by signal 9", process.err)
        self.assertGreater(summary["final_accuracy"], 0.6)

    def test_two_are_killed_at_once(self):
        process = self.start_run("--epochs", 1, "--bucket-kib", 64, "--compress", "int8")
        self.until_update(60)
        both = self.child(1), self.child(3)
        for one in both:
            os.kill(one, signal.SIGKILL)
        process.until_said("the ring goes on with 2 of 4 workers from update")
        self.assert_exact(self.finish(), (0, 2))

    def test_a_worker_is_stopped_and_comes_back(self):
        process = self.start_run("--epochs", 1)
        self.until_update(60)
        stopped = self.child(1)
        os.kill(stopped, signal.SIGSTOP)
        process.until_said(f"worker 1 is gone: silent for {SILENT} s")
        process.until_said("the ring goes on with 3 of 4 workers from update")
        os.kill(stopped, signal.SIGCONT)
        process.until_said("worker 1 is here again")
        process.until_said("the ring goes on with 4 of 4 workers from update")
        self.assert_exact(self.finish(), (0, 1, 2, 3))
        self.assertIn("the run goes on without this worker: it was silent for "
                      f"{SILENT} s; it comes back", (self.out / "logs" / "worker-1.log").read_text())

    def test_a_killed_worker_is_started_again(self):
        process = self.start_run("--epochs", 2, "--restart-workers", "--optimizer", "adam", "--compress", "int8")
        self.until_update(60)
        self.send(0, signal.SIGKILL)  # It has brought the weights to the evaluator.
        process.until_said("worker 0 was ended by signal 9; starting it again in 0.5 s")
        process.until_said("the ring goes on with 4 of 4 workers from update")
        summary = self.finish()
        self.assertEqual(summary["examples"], 2 * EXAMPLES)
        self.assertEqual(summary["workers_detail"][0]["incarnations"], 2)

    def test_a_worker_hangs_while_its_heart_beats(self):
        process = self.start_one_that_hangs("--epochs", 1)
        process.until_said("the ring goes on with 3 of 4 workers from update 60")
        process.until_said("the ring goes on with 4 of 4 workers from update")  # It only waited.
        self.assert_exact(self.finish(), (0, 1, 2, 3))
        self.assertIn("so it sends no heartbeats",
                      (self.out / "logs" / "worker-1.log").read_text())

    def test_a_worker_is_killed_before_it_has_joined(self):
        process = self.start_run("--epochs", 1, workers=3)
        self.send(1, signal.SIGKILL)
        process.until_said("worker 1 was ended by signal 9")
        self.assert_exact(self.finish(), (0, 2))

    def test_fewer_than_are_needed_end_the_run(self):
        self.start_run("--epochs", 1000, "--min-workers", 3, workers=3)
        self.until_update(5)
        self.send(1, signal.SIGKILL)
        self.assert_ended_for("too few workers: 2 of 3 left, 3 needed; ",
                              "worker 1 was ended by signal 9")


    def test_it_is_interrupted_while_one_is_silent(self):
        self.is_interrupted_while_one_is_silent()


class Gossip(Peers):
    topology = "gossip"

    def test_it_is_interrupted_while_one_is_silent(self):
        self.is_interrupted_while_one_is_silent()

    def test_it_goes_on_without_the_killed_and_the_stopped(self):
        self.goes_on_without_the_killed_and_the_stopped()
        self.assert_coupled((1, 2, 4))

    def test_so_does_a_free_one_and_by_another_graph(self):
        self.goes_on_without_the_killed_and_the_stopped("--gossip", "free", "--graph", "ring")

    def test_so_does_one_that_pulls(self):
        self.goes_on_without_the_killed_and_the_stopped("--gossip", "pull")
        self.assert_coupled((1, 2, 4))

    def test_so_does_one_that_pushes(self):
        self.goes_on_without_the_killed_and_the_stopped("--gossip", "push")
        self.assert_coupled((1, 2, 4))

    def test_so_does_elastic_averaging_that_loses_the_centre(self):
        self.goes_on_without_the_killed_and_the_stopped("--gossip", "easgd")

    def assert_coupled(self, workers):
        """Each gradient had a meeting of its own, and at most one meeting came to no gradient."""
        for worker in workers:
            log = (self.out / "logs" / f"worker-{worker}.log").read_text()
            gradients, meetings = map(int, re.search(
                r"applied (\d+) gradients and began (\d+) meetings", log).groups())
            self.assertIn(meetings - gradients, (0, 1), log)

    def goes_on_without_the_killed_and_the_stopped(self, *options):
        process = self.start_run("--updates", 6000, *options, workers=5)
        self.until_update(100)
        self.send(0, signal.SIGKILL)
        process.until_said("the gossip goes on with 4 of 5 workers")
        stopped = self.child(3)
        os.kill(stopped, signal.SIGSTOP)
        process.until_said(f"worker 3 is gone: silent for {SILENT} s")
        process.until_said("the gossip goes on with 3 of 5 workers")
        self.until_update(self.version() + 20)  # Also if all three had waited for the stopped one.
        os.kill(stopped, signal.SIGCONT)
        process.until_said("worker 3 is here again")
        process.until_said("the gossip goes on with 4 of 5 workers")
        summary = self.finish()
        self.assertEqual(self.live(), 4)
        self.assertIsNotNone(summary["final_accuracy"], process.err)
        self.assertGreater(summary["final_accuracy"], 0.7)
        self.assertGreater(summary["worst_replica_accuracy"], 0.6)
        self.assertEqual(sum(worker["iterations"] for worker in summary["workers_detail"]),
                         summary["updates"])

    def test_a_worker_hangs_while_its_heart_beats(self):
        process = self.start_one_that_hangs("--seconds", 15)
        process.until_said("the gossip goes on with 3 of 4 workers")
        process.until_said("the gossip goes on with 4 of 4 workers")  # It only waited.
        self.finish()
        self.assertEqual(self.live(), 4)
        self.assertIn("so it sends no heartbeats",
                      (self.out / "logs" / "worker-1.log").read_text())

    def test_the_last_but_one_ends_the_run(self):
        self.start_run("--epochs", 1000, workers=2)
        self.until_update(20)
        self.send(1, signal.SIGKILL)
        self.assert_ended_for("too few workers: 1 of 2 left, 2 needed; ",
                              "worker 1 was ended by signal 9")

    def test_the_last_but_one_waits_for_one_that_is_started_again(self):
        process = self.start_run("--updates", 400, "--restart-workers", workers=2)
        self.until_update(20)
        self.send(0, signal.SIGKILL)
        process.until_said("1 of 2 workers are left, and 2 are needed: waiting 600 s for one to come back")
        process.until_said("worker 0 is here again")
        self.assertGreaterEqual(self.finish()["updates"], 400)


if __name__ == "__main__":
    main()
