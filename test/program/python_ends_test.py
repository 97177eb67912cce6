"""How a script's loop ends, under `outpace run`, and what evaluations tell: workers hear them too."""

import json
import os
import pathlib
import signal
import unittest

from jobs import children_of, read_json_lines, read_weights
from python_jobs import PACKAGE, PYTHON, SCRIPTS, PythonTest

CASE = SCRIPTS / "ends.py"


class EndsTest(PythonTest):
    def case(self, name, *words, workers=2, policy="sync", options=(), code=0):
        """What the processes printed, by process, the run's summary, and what the run said."""
        self.run = self.folder / "-".join(("run", name, *words))
        job = self.start("run", "--workers", workers, "--policy", policy, "--out", self.run,
                         *options, "--json", "--show-output", "none", "--", PYTHON, "-B", CASE,
                         name, *words, variables={"PYTHONPATH": PACKAGE})
        ended = job.wait()
        if code is not None:
            self.assertEqual(ended, code, job.err)
        self.assert_nothing_left()
        found = {}
        for log in sorted((self.run / "logs").glob("*.out")):
            for line in log.read_text().splitlines():
                if line.startswith("{"):
                    found[log.stem] = json.loads(line)
        return found, self.summary(), job.err

    def alone(self, name, *words):
        process = self.python(CASE, name, *words)
        self.finish(process)
        return self.lines(process)[-1], process.err

    def evaluations(self):
        return [line for line in read_json_lines(self.run / "metrics.jsonl") if "live" not in line]


class Ends(EndsTest):
    def test_a_worker_or_all_may_stop_the_run(self):
        for who in ("1", "all"):
            with self.subTest(who):
                found, summary, said = self.case("stops", who)
                self.assertEqual(summary["why_ended"], "the loss no longer falls")
                self.assertIn("ended: the loss no longer falls", said)
                self.assertEqual(summary["evaluations"][-1]["version"], summary["updates"],
                                 "the evaluator has measured the last weights")
                self.assertLess(summary["updates"], 6 * 10)
                self.assertTrue((self.run / "weights.safetensors").exists())
                self.assertTrue(all(one["over"] for one in found.values()))
                self.assertEqual(found["worker-1"]["epoch"], 1)

    def test_alone_a_stop_ends_the_loop(self):
        found, said = self.alone("stops", "all")
        self.assertEqual((found["epoch"], found["version"]), (1, 40))
        self.assertIn("outpace: ended: the loss no longer falls", said)

    def test_a_break_of_all_workers_is_an_end(self):
        for most in ((), ("1",)):
            with self.subTest(most):
                found, summary, _ = self.case("breaks", "all", *most)
                self.assertEqual(summary["why_ended"], "the loops of all workers have ended")
                self.assertEqual(found["worker-0"]["epoch"], 1)
                self.assertTrue((self.run / "weights.safetensors").exists())

    def test_a_worker_that_breaks_leaves_its_examples_to_others(self):
        _, summary, said = self.case("breaks", "1", policy="async")
        self.assertEqual(summary["why_ended"], "epochs done")
        self.assertEqual(summary["examples_used_per_epoch_min"], 1)
        self.assertIn("worker 1 has left", said)

    def test_a_loop_without_an_end_ends_with_the_run(self):
        for how in ("epochs", "over", "evaluates", "for ever"):
            with self.subTest(how):
                _, summary, _ = self.case("endless", how, options=("--updates", 25))
                self.assertEqual((summary["why_ended"], summary["updates"]), ("updates done", 25))
        self.assertIn("write `for epoch in job.epochs():`",
                      (self.run / "logs" / "worker-0.log").read_text())
        self.assertEqual(self.alone("endless", "over")[0]["passes"], 3)

    def test_the_scripts_own_exit_code_is_the_runs(self):
        for how, code in (("3", 3), ("raise", 1), ("vector", 2)):
            with self.subTest(how):
                _, summary, said = self.case("exits", how, code=code)
                self.assertIn(f"exited with {code}", said)
                self.assertNotIn("too few workers", said)


    def test_ctrl_c_is_a_keyboard_interrupt_in_the_script(self):
        self.run, begun = self.folder / "run", self.folder / "begun"
        job = self.start("run", "--workers", 2, "--policy", "sync", "--updates", 10**9, "--out",
                         self.run, "--json", "--", PYTHON, "-B", CASE, "interrupted", begun,
                         variables={"PYTHONPATH": PACKAGE})
        self.until(job, begun.exists, "the first pass")
        job.send(signal.SIGINT)
        self.assertEqual(job.wait(), 130, job.err)
        self.assert_nothing_left()
        for rank in range(2):
            self.assertIn('"interrupted": true',
                          (self.run / "logs" / f"worker-{rank}.out").read_text())

    def test_a_worker_that_is_told_to_end_leaves_in_order(self):
        self.run, begun = self.folder / "run", self.folder / "begun"
        job = self.start("run", "--workers", 2, "--policy", "async", "--updates", 3000, "--out", self.run,
                         "--json", "--", PYTHON, "-B", CASE, "interrupted", begun,
                         variables={"PYTHONPATH": PACKAGE})
        self.until(job, begun.exists, "the first pass")
        os.kill(self.worker_of(job, 1), signal.SIGTERM)
        job.until_said("worker 1 has left")
        self.assertEqual(job.wait(), 0, job.err)
        self.assertIn("told to end: leaving the run", (self.run / "logs" / "worker-1.log").read_text())
        self.assertNotIn("worker 1 is dead", job.err)
        summary = self.summary()
        self.assertEqual((summary["why_ended"], summary["updates"]), ("updates done", 3000))

    def test_a_worker_that_is_told_to_end_while_it_waits_leaves_in_order(self):
        # It waits a thousand times as long as it computes, in a call into C.
        self.run, begun = self.folder / "run", self.folder / "begun"
        job = self.start("run", "--workers", 2, "--policy", "async", "--updates", 3000, "--out", self.run,
                         "--slow", "worker=1,factor=1000", "--json", "--", PYTHON, "-B", CASE, "interrupted",
                         begun, variables={"PYTHONPATH": PACKAGE})
        self.until(job, begun.exists, "the first pass of the other worker")
        os.kill(self.worker_of(job, 1), signal.SIGTERM)
        job.until_said("worker 1 has left")
        self.assertEqual(job.wait(), 0, job.err)
        self.assertIn("told to end: leaving the run", (self.run / "logs" / "worker-1.log").read_text())
        self.assertNotIn("worker 1 is dead", job.err)

    def worker_of(self, job, rank):
        [found] = [one for one in children_of(job.id)
                   if f"OUTPACE_WORKER={rank}" in pathlib.Path(f"/proc/{one}/environ").read_text().split("\0")]
        return found

    def test_processes_that_a_script_starts_itself_get_one_line(self):
        _, _, said = self.case("spawned", workers=1, code=1)
        self.assertIn("init: the script has started several processes itself, of which this is "
                      "number 2: `outpace run --workers N` starts one for each worker", said)

    def test_no_launcher_and_alone_are_taken_at_their_word(self):
        slurm = {"SLURM_PROCID": "0", "SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": "4",
                 "SLURM_JOB_ID": "7", "SLURM_STEP_NODELIST": "n1", "SLURM_STEP_NUM_NODES": "1"}
        for more in ({"OUTPACE_ROLE": "alone"}, {"OUTPACE_LAUNCHER": "none"}):
            with self.subTest(more):
                process = self.python(CASE, "breaks", "all", **slurm, **more)
                self.finish(process)
                self.assertEqual(self.lines(process)[-1]["version"], 40)
        process = self.python(CASE, "breaks", "all", **slurm)
        self.assertEqual(process.wait(), 2)
        self.assertIn("for one that trains alone, set OUTPACE_ROLE=alone", process.err)


class Updates(EndsTest):
    """job.updates(12), of which update s has the rate 1 / 2^s."""

    WEIGHT = -sum(0.5 ** step for step in range(12))

    def test_a_rate_is_that_of_its_update_whatever_the_workers_do(self):
        alone, _ = self.alone("updates", "all")
        self.assertEqual((alone["seen"], alone["weight"]), (list(range(12)), self.WEIGHT))
        for policy in ("sync", "backup:cutoff=1", "dynamic"):
            with self.subTest(policy):
                _, summary, _ = self.case("updates", policy, policy=policy)
                weights, _ = read_weights(self.run / "weights.safetensors")
                self.assertEqual((summary["updates"], weights), (12, [self.WEIGHT]))
                self.assertEqual(summary["why_ended"], "12 updates were made")

    def test_under_async_the_run_ends_after_the_number(self):
        found, summary, _ = self.case("updates", "all", policy="async")
        self.assertGreaterEqual(summary["updates"], 12)
        for worker in ("worker-0", "worker-1"):
            self.assertEqual(found[worker]["seen"], sorted(set(found[worker]["seen"])))

    def test_a_break_of_all_workers_is_an_end(self):
        _, summary, _ = self.case("updates", "breaks")
        self.assertEqual((summary["updates"], summary["why_ended"]),
                         (6, "the loops of all workers have ended"))

    def test_rates_that_differ_from_worker_to_worker_are_refused(self):
        _, _, said = self.case("updates", "own", code=None)
        self.assertIn("a schedule must be the same on every worker", said)


class DataKinds(EndsTest):
    def test_weights_draw_every_place_of_an_epoch_once(self):
        seen = []
        for how in ("weights", "sampler"):
            found, summary, _ = self.case("weighted", how, policy="async")
            self.assertEqual(summary["examples_used_per_epoch_max"], 1)
            seen.append(sorted(found["worker-0"]["drawn"] + found["worker-1"]["drawn"]))
            self.assertEqual(len(seen[-1]), 1280)
            rare = sum(one % 20 == 0 for one in seen[-1]) / 1280
            self.assertAlmostEqual(rare, 0.5, delta=0.1)
        self.assertEqual(seen[0], seen[1], "the draws follow from seed and epoch alone")
        rare = sum(one % 20 == 0 for one in self.alone("weighted", "weights")[0]["drawn"]) / 1280
        self.assertAlmostEqual(rare, 0.5, delta=0.1)

    def test_a_stream_is_counted(self):
        for words in (("counted",), ("counted", "process")):
            with self.subTest(words):
                found, summary, _ = self.case("stream", *words, policy="async")
                self.assertEqual(summary["examples"], 640)
                for worker in ("worker-0", "worker-1"):
                    read = found[worker]["read"]
                    self.assertEqual(read, [place % 100 for place in range(len(read))])
        self.assertEqual(len(self.alone("stream")[0]["read"]), 200)
        self.assertEqual(len(self.alone("stream", "counted")[0]["read"]), 640)

    def test_a_stream_without_a_number_gets_the_line_to_write(self):
        self.run = self.folder / "run"
        job = self.start("run", "--workers", 2, "--policy", "sync", "--out", self.run, "--", PYTHON,
                         "-B", CASE, "stream", variables={"PYTHONPATH": PACKAGE})
        self.assertEqual(job.wait(), 2, job.err)
        self.assertIn("job.loader(stream, examples=60000)", job.err)
        self.assert_nothing_left()


class Evaluations(EndsTest):
    def test_any_number_is_recorded_under_its_own_name(self):
        for how, names in (("loss", {"loss"}), ("accuracy", {"accuracy"}),
                           ("more", {"accuracy", "loss", "f1", "mean length"})):
            with self.subTest(how):
                board = self.folder / f"board-{how}"
                _, summary, _ = self.case("values", how, options=("--tensorboard", board))
                recorded = self.evaluations()[-1]
                self.assertEqual(set(recorded) - {"seconds", "version", "examples"}, names)
                self.assertEqual(set(summary["evaluations"][-1]), set(recorded))
                self.assertEqual(summary["final_accuracy"] is None, "accuracy" not in names)
                self.assertEqual(summary["final_loss"] is None, "loss" not in names)
        self.assertEqual(recorded["f1"], 0.75)
        page = (self.run / "page.jsonl").read_text()
        self.assertIn('["f1",0.75],["mean length",12]', page)
        events = b"".join(one.read_bytes() for one in board.glob("*tfevents*"))
        self.assertIn(b"mean length", events)

    def test_a_schedule_may_follow_what_the_evaluator_finds(self):
        found, _, _ = self.case("plateau", "eval")
        first = found["worker-0"]
        self.assertEqual(found["worker-1"]["found"], first["found"])
        self.assertEqual(found["worker-1"]["rates"], first["rates"])
        self.assertLess(first["rates"][-1], 1e-4)
        self.assertEqual(len(set(first["found"])), 8, "a measurement of each epoch")
        recorded = {one["loss"] for one in self.evaluations()}
        self.assertLessEqual(set(first["found"]), recorded)

    def test_a_schedule_that_follows_each_workers_own_loss_is_refused(self):
        # The one that is sent away may end before the run or after it.
        _, _, said = self.case("plateau", "own", policy="async", code=None)
        self.assertIn("a schedule must be the same on every worker. One that follows a measurement "
                      "takes the evaluator's: found = job.evaluate(f); "
                      "plateau.step(found[\"loss\"])", said)


if __name__ == "__main__":
    unittest.main()
