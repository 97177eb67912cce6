"""Signals and crashes: no process outlives its job, and a job that is asked to end ends in order."""

import json
import os
import signal
import sys

sys.dont_write_bytecode = True
from jobs import (LedgerJob, ProgramTest, children_of, main, marked_processes,  # noqa: E402
                  read_json_lines, wait_until)

AT_ONCE = 20.0  # Seconds, on a machine with much else to do.


class LateJob(LedgerJob):
    """A job whose workers do not come by themselves."""

    def start_worker(self, worker, batch_seconds, *options):
        return None


class Server(ProgramTest):
    def end(self, number):
        job = LedgerJob(self, "async", workers=2, epochs=100_000)
        for worker in (0, 1):
            job.until_gradients(worker, 5)
        job.server.send(number)
        self.assertEqual(job.server.wait(AT_ONCE), 128 + number)
        self.assertEqual(job.server.err.splitlines()[-1], "outpace: interrupted")
        for worker in job.workers:
            self.assertEqual(worker.wait(AT_ONCE), 1)
            self.assertIn("interrupted", worker.err)
        self.assert_nothing_left(AT_ONCE)
        summary = json.loads((job.run / "summary.json").read_text())
        self.assertEqual(summary, json.loads(job.server.out))
        self.assertEqual(summary["why_ended"], "interrupted")
        self.assertGreaterEqual(summary["updates"], 8)

    def test_interrupt(self):
        # Several times: any thread of the process may be given the signal.
        for number in range(3):
            if number > 0:
                self.doCleanups()
                self.setUp()
            self.end(signal.SIGINT)

    def test_termination(self):
        self.end(signal.SIGTERM)

    def test_hangup(self):
        self.end(signal.SIGHUP)

    def test_says_where_its_record_is_and_what_it_waits_for(self):
        job = LateJob(self, "async", workers=2, epochs=100_000)
        job.server.until_said("the run has not begun: 0 of 2 workers are there\n")
        self.assertIn(f"run directory {job.run}\n", job.server.err)
        LedgerJob.start_worker(job, 1, 0.004)
        job.server.until_said("the run has not begun: 1 of 2 workers are there\n")
        job.server.send(signal.SIGTERM)
        self.assertEqual(job.server.wait(AT_ONCE), 128 + signal.SIGTERM)

    def test_names_a_worker_that_died(self):
        job = LedgerJob(self, "async", workers=2, epochs=100_000)
        job.until_gradients(1, 5)
        job.workers[1].send(signal.SIGKILL)
        job.workers[1].wait()
        before = job.gradients(0)
        job.until_gradients(0, before + 5)
        job.server.send(signal.SIGTERM)
        job.server.wait(AT_ONCE)
        detail = json.loads(job.server.out)["workers_detail"]
        self.assertIsNone(detail[0]["died_at_update"])
        self.assertGreater(detail[1]["died_at_update"], 4)
        self.assertRegex(job.server.err, r"(?m)^ +1 .*  died at update \d+$")

    def test_a_server_that_is_killed_keeps_the_runtimes(self):
        job = LedgerJob(self, "async", workers=2, epochs=100_000)

        def rows():
            text = (job.run / "runtimes.csv").read_text()
            return [line.split(",") for line in text.splitlines() if not line.startswith("#")]
        wait_until(lambda: len(rows()) >= 20, "20 rows of runtimes while the run goes on")
        job.server.send(signal.SIGKILL)
        self.assertEqual(job.server.wait(AT_ONCE), -signal.SIGKILL)
        kept = rows()
        self.assertGreaterEqual(len(kept), 20)
        for row in kept:
            self.assertEqual(len(row), 2)
            self.assertTrue(all(0.004 <= float(cell) < 60 for cell in row), row)

    def test_before_any_worker_has_come(self):
        server = self.start("server", "--token-file", "token", "--out", "run")
        server.until_said("listening on")
        server.send(signal.SIGINT)
        self.assertEqual(server.wait(AT_ONCE), 130)
        self.assert_nothing_left(AT_ONCE)


class Train(ProgramTest):
    def start_training(self, *options, workers=2):
        """A run to which every worker has contributed."""
        self.run_directory = self.folder / "run"
        process = self.start("train", "--workers", workers, "--policy", "async", "--epochs", 1000,
                             "--out", self.run_directory, *options)

        def all_contribute():
            self.assertTrue(process.running(), process.err)
            return all(self.arrivals(worker) for worker in range(workers))
        wait_until(all_contribute, "a gradient of every worker")
        self.children = children_of(process.id)
        self.assertEqual(len(self.children), workers + 1)  # And the evaluator.
        self.assertEqual(len(marked_processes(self.mark)), workers + 2)
        self.assertEqual(len(list(self.scratch.iterdir())), 1)
        return process

    def decisions(self):
        return read_json_lines(self.run_directory / "decisions.jsonl")[1:]

    def arrivals(self, worker):
        return [one["now"] for one in self.decisions()
                if one["event"]["type"] == "gradient_arrived" and one["event"]["worker"] == worker]

    def end_in_order(self, process, number):
        process.send(number)
        self.assertEqual(process.wait(AT_ONCE * 2), 128 + number, process.err)
        self.assert_nothing_left(AT_ONCE)
        self.assertEqual(list(self.scratch.iterdir()), [])
        self.assertEqual(process.err.splitlines()[-1], "outpace: interrupted")
        summary = json.loads((self.run_directory / "summary.json").read_text())
        self.assertEqual(summary["why_ended"], "interrupted")
        self.assertGreater(summary["updates"], 0)
        self.assertTrue((self.run_directory / "weights.safetensors").exists())
        return summary

    def test_interrupt(self):
        summary = self.end_in_order(self.start_training(), signal.SIGINT)
        self.assertIsNotNone(summary["final_accuracy"])

    def test_termination(self):
        self.end_in_order(self.start_training(), signal.SIGTERM)

    def test_termination_of_all_processes_at_once(self):
        # So do Slurm and systemd. The last weights are measured all the same.
        process = self.start_training()
        for one in self.children:
            os.kill(one, signal.SIGTERM)
        summary = self.end_in_order(process, signal.SIGTERM)
        self.assertIsNotNone(summary["final_accuracy"])
        self.assertNotIn("the evaluator was ended", process.err)

    def test_kill(self):
        process = self.start_training()
        process.send(signal.SIGKILL)
        self.assertEqual(process.wait(AT_ONCE), -signal.SIGKILL)
        self.assert_nothing_left(AT_ONCE)

    def test_interrupt_while_the_processes_start(self):
        run = self.folder / "run"
        process = self.start("train", "--workers", 2, "--out", run)
        wait_until(lambda: len(children_of(process.id)) == 3, "all children")
        process.send(signal.SIGINT)
        self.assertEqual(process.wait(AT_ONCE * 2), 130, process.err)
        self.assert_nothing_left(AT_ONCE)
        self.assertEqual(list(self.scratch.iterdir()), [])

    def test_a_killed_worker_is_started_again_if_asked_for(self):
        process = self.start_training("--restart-workers")
        self.kill_worker(0)

        def contributes_again():
            self.assertTrue(process.running(), process.err)
            joined = [one["now"] for one in self.decisions()
                      if one["event"] == {"type": "worker_joined", "worker": 0}]
            return len(joined) >= 2 and self.arrivals(0)[-1] > joined[1]
        wait_until(contributes_again, "a gradient of worker 0's second life")
        self.assertIn("worker 0 was ended by signal 9; starting it again", process.err)
        summary = self.end_in_order(process, signal.SIGINT)
        self.assertEqual([one["incarnations"] for one in summary["workers_detail"]], [2, 1])

    def test_the_others_go_on_without_a_killed_worker(self):
        process = self.start_training()
        self.kill_worker(0)
        wait_until(lambda: "worker 0 was ended by signal 9" in process.err, "the word of its end")
        before = len(self.arrivals(1))
        wait_until(lambda: len(self.arrivals(1)) > before + 5, "more gradients of worker 1")
        summary = self.end_in_order(process, signal.SIGINT)
        self.assertEqual([one["incarnations"] for one in summary["workers_detail"]], [1, 1])

    def kill_worker(self, worker):
        os.kill(self.child(self.children, f"worker-{worker}"), signal.SIGKILL)

    @staticmethod
    def child(children, name):
        """The process of this name; None while there is none."""
        return next((one for one, words in children.items()
                     if any(word.endswith(f"/{name}.toml") for word in words)), None)

    def evaluator_after(self, process, before=None):
        """The evaluator's process, once it is another one than before."""
        def another():
            self.assertTrue(process.running(), process.err)
            found = self.child(children_of(process.id), "evaluator")
            return found if found != before else None
        return wait_until(another, "an evaluator's process")

    def accuracies(self):
        return sum("accuracy" in line for line in read_json_lines(self.run_directory / "metrics.jsonl"))

    def test_the_weights_are_there_at_once_whatever_the_evaluator_does(self):
        process = self.start_training()
        os.kill(self.evaluator_after(process), signal.SIGSTOP)
        weights = self.run_directory / "weights.safetensors"
        self.assertFalse(weights.exists())
        process.send(signal.SIGTERM)
        wait_until(weights.exists, "the weights", 5.0)
        self.assertEqual(process.wait(3 * AT_ONCE), 128 + signal.SIGTERM, process.err)
        self.assertIn("the evaluator has not measured the last weights in 10 s", process.err)
        summary = json.loads((self.run_directory / "summary.json").read_text())
        self.assertIsNone(summary["final_accuracy"])
        self.assert_nothing_left(AT_ONCE)

    def test_a_second_signal_ends_the_run_at_once(self):
        process = self.start_training()
        os.kill(self.evaluator_after(process), signal.SIGSTOP)
        process.send(signal.SIGTERM)
        process.until_said("a second signal ends it at once", AT_ONCE)
        wait_until((self.run_directory / "weights.safetensors").exists, "the weights", AT_ONCE)

        def ended_when_asked_again():
            if process.running():
                process.send(signal.SIGTERM)
            return not process.running()
        wait_until(ended_when_asked_again, "the end", AT_ONCE)
        self.assertEqual(process.wait(), 128 + signal.SIGTERM, process.err)
        # It did not wait for the evaluator, nor end in order.
        self.assertNotIn("has not measured", process.err)
        self.assertFalse((self.run_directory / "summary.json").exists())
        self.assertEqual(marked_processes(self.mark), [])
        self.assertEqual(list(self.scratch.iterdir()), [])

    def test_an_evaluator_may_crash_as_often_as_it_likes(self):
        process = self.start_training()
        evaluator = None
        for _ in range(5):
            evaluator = self.evaluator_after(process, evaluator)
            os.kill(evaluator, signal.SIGKILL)
        # The first, second and fourth crash in a row are said; an evaluation begins a new row.
        wait_until(lambda: process.err.count("; starting it again in ") >= 3,
                   "the words of its crashes")
        before = len(self.arrivals(0))
        wait_until(lambda: len(self.arrivals(0)) > before + 5, "more gradients")
        self.evaluator_after(process, evaluator)
        before = self.accuracies()
        wait_until(lambda: self.accuracies() > before, "an evaluation")
        summary = self.end_in_order(process, signal.SIGINT)
        self.assertIsNotNone(summary["final_accuracy"])

    def test_a_second_evaluator_takes_over_when_the_first_dies(self):
        process = self.start_training()
        control = json.loads((self.run_directory / "control.json").read_text())
        second = self.start("evaluator", "--server", control["server"], "--token-file",
                            control["token_file"])
        process.until_said("another evaluator has come: it waits in line")
        before = self.accuracies()
        wait_until(lambda: self.accuracies() > before, "an evaluation by the first")
        os.kill(self.evaluator_after(process), signal.SIGKILL)
        process.until_said("the next one in line takes over")
        before = self.accuracies()
        wait_until(lambda: self.accuracies() > before, "an evaluation by the second")
        self.end_in_order(process, signal.SIGINT)
        self.assertEqual(second.wait(AT_ONCE), 0, second.err)


if __name__ == "__main__":
    main()
