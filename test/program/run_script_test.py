"""`outpace run`: a user's command as the workers, and what people see of how it goes and fails.

SCRIPT_WORKER names a program that joins by include/outpace alone.
"""

import collections
import json
import os
import pathlib
import signal
import sys

from jobs import OUTPACE, ProgramTest, main, read_json_lines, read_weights, wait_until

SCRIPT = os.environ["SCRIPT_WORKER"]


class ScriptTest(ProgramTest):
    def run_script(self, *options, script=(), program=SCRIPT, workers=3):
        self.run = self.folder / "run"
        words = ("--out", self.run) if "--resume" not in options else ()
        policy = () if "--policy" in options else ("--policy", "async")
        return self.start("run", "--workers", workers, *policy, "--batch", 8, "--json", *words,
                          *options, "--", program, *script)

    def ends_well(self, process):
        self.assertEqual(process.wait(), 0, process.err)
        self.assert_nothing_left()
        return json.loads(process.out)

    def until_updates(self, least):
        wait_until(lambda: [line for line in read_json_lines(self.run / "metrics.jsonl")
                            if line.get("updates", line.get("version", 0)) >= least],
                   f"{least} updates")

    def until_iterations(self, least, workers):
        def seen():
            pushed = collections.Counter(
                line["event"]["worker"] for line in read_json_lines(self.run / "decisions.jsonl")
                if line.get("event", {}).get("type") == "gradient_arrived")
            return sum(count >= least for count in pushed.values()) >= workers
        wait_until(seen, f"{least} gradients of each of {workers} workers")

    def log(self, name):
        return (self.run / "logs" / name).read_text()


class Run(ScriptTest):
    def test_a_command_is_the_workers_and_shows_what_worker_0_prints(self):
        process = self.run_script("--epochs", 4)
        summary = self.ends_well(process)
        self.assertEqual(summary["epochs_complete"], 4)
        self.assertEqual(summary["examples"], 4 * 256)
        self.assertIn("worker 0: begins\n", process.err)
        self.assertRegex(process.err, r"worker 0: accepted \d+\n")
        self.assertNotIn("worker 1: ", process.err)
        self.assertIn("begins\n", self.log("worker-2.out"))
        self.assertIn("worker  iterations ", process.err)  # The table.
        self.assertNotIn("over the socket", process.err, "shared memory was refused")
        self.assertFalse((self.run / "logs" / "evaluator.out").exists(), "nobody asked for one")

    def test_it_says_once_that_workers_share_processors(self):
        self.run = self.folder / "run"
        processor = min(os.sched_getaffinity(0))
        process = self.start("-c", processor, OUTPACE, "run", "--workers", 2, "--policy", "sync",
                             "--batch", 8, "--json", "--seconds", "2s", "--out", self.run, "--",
                             SCRIPT, program="taskset")
        self.ends_well(process)
        self.assertEqual(process.err.count("2 workers share 1 processor, so each slows"), 1,
                         process.err)
        self.assertNotIn("waiting for all", process.err)

    def test_a_script_that_prints_without_end_fills_no_disk(self):
        noise = "yes 'a line of a script that prints without end' | head -c 300000000 >&2"
        process = self.run_script("--epochs", 2, workers=1, program="/bin/sh",
                                  script=("-c", f"{noise}; echo the last line >&2; exec {SCRIPT}"))
        self.ends_well(process)
        kept = [path for path in (self.run / "logs").iterdir()
                if path.name.startswith("worker-0.log")]
        self.assertEqual(sorted(path.name for path in kept), ["worker-0.log", "worker-0.log.1"])
        self.assertLess(sum(path.stat().st_size for path in kept), 130 << 20)
        self.assertIn(b"the last line\n", b"".join(path.read_bytes() for path in kept))

    def test_the_script_says_when_the_run_ends_unless_an_option_does(self):
        self.assertEqual(self.ends_well(self.run_script(script=("--epochs", 3)))
                         ["epochs_complete"], 3)
        self.run = self.folder / "other"
        process = self.start("run", "--workers", 2, "--policy", "sync", "--batch", 8, "--json",
                             "--epochs", 2, "--out", self.run, "--", SCRIPT, "--epochs", 9)
        self.assertEqual(self.ends_well(process)["epochs_complete"], 2)

    def test_a_script_that_evaluates_gets_a_process_that_does(self):
        process = self.run_script("--evaluate-every", 64, script=("--epochs", 4, "--evaluate"))
        summary = self.ends_well(process)
        self.assertGreater(summary["final_accuracy"], 0.5)
        self.assertIn("the evaluator: version", process.err)

    def test_a_script_may_go_on_after_its_last_mini_batch(self):
        process = self.run_script("--epochs", 2, script=("--linger", self.folder / "go"))
        process.until_said("the run is over, and the script goes on")
        self.path("go", "on")
        self.ends_well(process)
        self.assertIn("worker 0: saved\n", process.err)

    def test_a_worker_that_joins_after_the_run_hears_that_it_is_over(self):
        process = self.run_script("--epochs", 2, "--restart-workers", "--show-output", "all",
                                  workers=2, script=(
                                      "--late", self.folder / "late", "--hold",
                                      self.folder / "begin", "--linger", self.folder / "go"))
        process.until_said("worker 1: waits\n")
        self.path("begin", "on")
        process.until_said("the run is over, and the script goes on")
        self.path("late", "on")
        process.until_said("worker 1: accepted 0\n")
        self.path("go", "on")
        self.assertEqual(self.ends_well(process)["examples"], 2 * 256)
        self.assertIn("worker 0: saved\n", process.err)
        self.assertIn("worker 1: saved\n", process.err)

    def test_ctrl_c_ends_a_script_that_goes_on_after_the_run(self):
        process = self.run_script("--epochs", 2, script=("--linger", self.folder / "never"))
        process.until_said("the run is over, and the script goes on")
        process.send(signal.SIGINT)
        self.ends_well(process)
        self.assertNotIn("saved", process.err)

    def test_ctrl_c_at_once_after_the_last_mini_batch_ends_the_script_too(self):
        process = self.run_script("--epochs", 2, script=("--linger", self.folder / "never"))
        process.until_said("worker 0: accepted")
        process.send(signal.SIGINT)
        self.assertEqual(self.ends_well(process)["why_ended"], "epochs done")
        self.assertNotIn("saved", process.err)

    def test_ctrl_c_ends_the_run_in_order_and_leaves_no_process_of_any_kind(self):
        process = self.run_script("--epochs", 1000000, script=("--child", 1000))
        self.until_updates(1)
        process.send(signal.SIGINT)
        self.assertEqual(process.wait(), 130)
        self.assert_nothing_left()
        self.assertEqual(json.loads(process.out)["why_ended"], "interrupted")

    def test_a_run_goes_on_from_its_checkpoint_with_its_command(self):
        process = self.run_script("--epochs", 100000, "--checkpoint-every", 10,
                                  script=("--momentum", 0.5, "--rate", 0.01))
        wait_until(lambda: list((self.run / "checkpoints").glob("*")), "a checkpoint")
        process.send(signal.SIGTERM)
        self.assertEqual(process.wait(), 128 + signal.SIGTERM, process.err)
        before = json.loads(process.out)["updates"]
        again = self.start("run", "--resume", self.run, "--updates", before + 50, "--json")
        summary = self.ends_well(again)
        self.assertIn("goes on from update", again.err)
        self.assertEqual(summary["updates"], before + 50)
        self.assertTrue(summary["optimizer"].startswith("momentum:mu=0.5, the first of 2"))

    def test_delays_make_a_worker_slow(self):
        # Under sync every worker takes part, and none is faster than its delays.
        trace = self.path("delays.csv", "0.001,0.002,0.02\n")
        summary = self.ends_well(self.run_script(
            "--policy", "sync", "--updates", 10, "--delays", trace, "--delays-by", "iteration",
            "--slow", "worker=1,factor=5", script=("--epochs", 99)))
        for worker, least in enumerate((0.001, 0.01, 0.02)):
            self.assertGreaterEqual(summary["workers_detail"][worker]["median_runtime"], least)


class Failure(ScriptTest):
    def test_a_failure_of_all_workers_is_shown_once(self):
        process = self.run_script("--epochs", 4, script=("--fail-at", 2), workers=4)
        self.assertNotEqual(process.wait(), 0)
        self.assert_nothing_left()
        self.assertEqual(process.err.count("Traceback (most recent call last):"), 1, process.err)
        self.assertEqual(process.err.count("RuntimeError: no more memory"), 1, process.err)
        self.assertRegex(process.err, r"outpace: worker \d exited with 1; the last lines of \S+")
        self.assertRegex(process.err, r"outpace: workers .* failed in the same way as worker \d\n")

    def test_a_worker_that_fails_is_started_again_and_the_run_goes_on(self):
        # Slow enough for the worker to be back, on any machine, before the run is over.
        slow = self.path("slow.csv", "0.02,0.02,0.02\n")
        process = self.run_script("--epochs", 40, "--restart-workers", "--delays", slow,
                                  script=("--fail-at", 2, "--fail-once", self.folder / "failed"))
        self.assertEqual(self.ends_well(process)["epochs_complete"], 40)
        self.assertRegex(process.err, r"worker \d exited with 1; starting it again in 0.5 s; the "
                                      r"last lines of")

    def test_the_others_go_on_without_a_worker_that_stays_away(self):
        process = self.run_script("--epochs", 1000000,
                                  script=("--fail-at", 2, "--fail-once", self.folder / "failed",
                                          "--exit-code", 3))
        process.until_said("exited with 3; the last lines of")
        self.until_iterations(3, workers=2)
        process.send(signal.SIGINT)
        self.assertEqual(process.wait(), 130, process.err)
        self.assert_nothing_left()
        iterations = [worker["iterations"]
                      for worker in json.loads(process.out)["workers_detail"]]
        self.assertEqual(sum(count > 2 for count in iterations), 2, iterations)

    def test_a_script_that_fails_after_the_run_fails_the_command(self):
        process = self.run_script("--epochs", 2, script=("--fail-after",))
        self.assertEqual(process.wait(), 1)
        self.assert_nothing_left()
        self.assertEqual(process.err.count("no space left"), 1, process.err)
        self.assertIn("the run is done, and the script failed after it", process.err)
        self.assertEqual(json.loads(process.out)["why_ended"], "epochs done")

    def test_a_script_that_fails_when_the_time_is_up_before_an_update_ends_with_its_code(self):
        slow = self.path("slow.csv", "30,30\n")
        process = self.run_script("--seconds", 1, "--delays", slow, workers=2,
                                  script=("--fail-after", "--exit-code", 9))
        self.assertEqual(process.wait(), 9, process.err)
        self.assert_nothing_left()
        self.assertIn("the script failed before the first update: worker", process.err)
        self.assertNotIn("the run is done", process.err)

    def test_a_command_that_does_not_join_is_said_to(self):
        process = self.run_script(program="/bin/true")
        self.assertEqual(process.wait(), 5)
        self.assertIn("ended without an error and did not join the run", process.err)
        self.assert_nothing_left()

    def test_a_python_script_that_cannot_begin_shows_its_traceback_once(self):
        script = self.path("train.py", "import os\nimport nowhere_to_be_found\n")
        process = self.run_script(program=sys.executable, script=(script,), workers=8)
        self.assertEqual(process.wait(), 1, "the script's own code")
        self.assert_nothing_left()
        self.assertEqual(process.err.count("Traceback"), 1, process.err)
        self.assertEqual(process.err.count("No module named 'nowhere_to_be_found'"), 1)
        self.assertIn(" failed in the same way as worker ", process.err)


class Script(ScriptTest):
    def test_the_servers_optimizer_is_the_scripts(self):
        summary = self.ends_well(self.run_script(script=("--epochs", 20, "--momentum", 0.5,
                                                         "--rate", 0.05)))
        self.assertEqual(summary["optimizer"],
                         "momentum:mu=0.5, the first of 2 parameter groups")
        self.assertEqual(summary["lr"], 0.05)
        (slope, offset), _ = read_weights(self.run / "weights.safetensors")
        self.assertAlmostEqual(slope, 3.0, delta=0.1)
        self.assertAlmostEqual(offset, 1.0, delta=0.1)

    def test_a_schedule_that_is_the_same_on_every_worker_is_taken(self):
        self.ends_well(self.run_script(script=("--epochs", 6, "--momentum", 0.5, "--schedule")))

    def test_a_schedule_that_differs_between_workers_is_an_error_that_says_so(self):
        process = self.run_script(script=("--epochs", 100000, "--momentum", 0.5, "--schedule",
                                          "--differ"), workers=2)
        process.until_said("a schedule must be the same on every worker")
        process.send(signal.SIGINT)
        process.wait()
        self.assert_nothing_left()

    def test_an_option_that_conflicts_with_the_script_is_refused_in_one_line(self):
        for option in (("--optimizer", "adam"), ("--lr", "0.5"), ("--weight-decay", "0.1"),
                       ("--schedule", "cosine:over=100")):
            process = self.run_script(*option, script=("--momentum", 0.5))
            self.assertEqual(process.wait(), 4)
            self.assertIn("the script brings an optimizer, momentum:mu=0.5, the first of 2 "
                          f"parameter groups, and the server has {' '.join(option)}; remove one",
                          process.err.splitlines()[-1])
            self.assertFalse(self.run.exists(), "it never began")
            self.assert_nothing_left()


class Launched(ScriptTest):
    def test_each_process_of_a_launch_is_one_worker_and_the_first_the_server_too(self):
        self.run = self.folder / "run"

        def process(rank):
            return self.start("run", "--policy", "async", "--batch", 8, "--token-file",
                              self.folder / "token", "--out", self.run, "--json", "--", SCRIPT,
                              "--epochs", 3, "--evaluate",
                              variables={"OMPI_COMM_WORLD_RANK": str(rank),
                                         "OMPI_COMM_WORLD_SIZE": "3",
                                         "OMPI_COMM_WORLD_LOCAL_RANK": str(rank),
                                         "OMPI_COMM_WORLD_LOCAL_SIZE": "3"})
        others = [process(rank) for rank in (2, 1)]
        for other in others:
            other.until_said("of Open MPI); server unix:")
        first = process(0)
        self.assertEqual(first.wait(), 0, first.err)
        for other in others:
            self.assertEqual(other.wait(), 0, other.err)
            self.assertIn("saved", other.out)
        self.assert_nothing_left()
        summary = json.loads(first.out)
        self.assertEqual(summary["epochs_complete"], 3)
        self.assertEqual(summary["workers"], 3)
        self.assertIsNotNone(summary["final_accuracy"])


class Refused(ScriptTest):
    def refused(self, *words):
        process = self.start("run", *words)
        self.assertEqual(process.wait(), 2, process.err)
        self.assertEqual(process.err.count("\n"), 1, process.err)
        return process.err

    def test_what_cannot_run_is_said_before_anything_starts(self):
        self.assertIn("the command is missing: outpace run", self.refused("--workers", 2))
        self.assertIn("there is no program 'phyton3' in PATH",
                      self.refused("--", "phyton3", "train.py"))
        self.assertIn("/nowhere/train is not a program that can be run",
                      self.refused("--", "/nowhere/train"))
        self.assertIn("unknown option '--my-flag'", self.refused("true", "--my-flag"))
        self.assertIn("worker", self.refused("--slow", "worker=9,factor=2", "--", "true"))
        self.assertIn("lr", self.refused("--lr", "fast", "--", "true"))


class Profiled(ProgramTest):
    def test_a_program_by_include_outpace_is_measured_without_layers(self):
        written = self.folder / "p.json"
        run = self.start("profile", "--batch", 4, "--iterations", 10, "-o", written, "--", SCRIPT)
        self.assertEqual(run.wait(), 0, run.err)
        self.assert_nothing_left()
        profile = json.loads(written.read_text())
        self.assertEqual(profile["network"], SCRIPT)
        self.assertEqual(len(profile["iterations"]), 10)
        self.assertEqual(profile["layers"], [])
        self.assertIn("written to", run.out)
        self.assertRegex(run.out, r"push, apply, pull +\d+\.\d+ ms over TCP: messages")
        has_libtorch = pathlib.Path(OUTPACE + "-torch").exists()
        self.assertEqual("sum_message_seconds" in profile, has_libtorch)
        self.assertEqual("sums, meetings   not measured" in run.out, not has_libtorch)

    def test_what_does_not_go_with_a_command_is_refused(self):
        for words, says in ((("--network", "cnn"), "--network conflicts with a command to measure"),
                            (("--optimizer", "adam"), "--optimizer conflicts with a command"),
                            (("--from-trace", "t.json"), "--from-trace conflicts with a command")):
            with self.subTest(words):
                run = self.start("profile", *words, "-o", self.folder / "p.json", "--", SCRIPT)
                self.assertEqual(run.wait(), 2)
                self.assertIn(says, run.err)
                self.assertEqual(len(run.err.splitlines()), 1, run.err)
        run = self.start("profile", "-o", self.folder / "p.json", "--", self.folder / "nothing")
        self.assertEqual(run.wait(), 2)
        self.assertIn("is not a program that can be run", run.err)

    def test_a_program_that_does_not_join_is_an_error(self):
        run = self.start("profile", "-o", self.folder / "p.json", "--", "true")
        self.assertNotEqual(run.wait(), 0)
        self.assertIn("did not join the run", run.err)


if __name__ == "__main__":
    main()
