"""A policy changes during a run, by a condition or by `outpace ctl`: exactly once, and in bounds.

Real processes: `outpace server` and torch-free workers whose final weights are a ledger. Each
policy's promises are checked in the run's record, from the switch on.
"""

import json
import os
import signal
import sys

sys.dont_write_bytecode = True
from jobs import LedgerJob, ProgramTest, main, read_json_lines, wait_until  # noqa: E402

EXIT_FAILURE, EXIT_USAGE, EXIT_TOKEN = 1, 2, 3
NEVER = float("inf")


def promise(policy):
    """The bounds that a policy promises: (staleness of a gradient, iterations ahead at a release)."""
    return {"sync": (0, NEVER), "ssp:s=3": (NEVER, 3), "backup:cutoff=3": (0, NEVER)}.get(
        policy, (NEVER, NEVER))


class Record:
    """What decisions.jsonl says about each policy: its counts, and how close it is to its bounds."""

    def __init__(self, run, chain):
        self.phases = []  # [policy, updates, gradients, most stale, furthest ahead]
        self.coming = chain
        self.version = 0
        self.released = {}
        self.clocks = {}
        self.begin(0)
        for line in read_json_lines(run / "decisions.jsonl")[1:]:
            self.take_in(line["event"])
            for action in line["actions"]:
                self.carry_out(action)

    def begin(self, number):
        self.phases.append([self.coming[number], 0, 0, 0, 0])
        self.clocks = {worker: 0 for worker in self.clocks}

    def take_in(self, event):
        worker = event.get("worker")
        if event["type"] == "worker_joined":
            self.clocks[worker] = min(self.clocks.values(), default=0)
        elif event["type"] == "worker_left":
            del self.clocks[worker]
        elif event["type"] in ("gradient_arrived", "release_ended"):
            self.clocks[worker] += 1
        elif event["type"] == "policy_set":
            self.coming = [event["policy"]]

    def carry_out(self, action):
        phase = self.phases[-1]
        if action["type"] == "accept":
            phase[2] += 1
            phase[3] = max(phase[3], self.version - self.released[action["worker"]])
        elif action["type"] == "commit":
            phase[1] += 1
            self.version += 1
        elif action["type"] == "release":
            self.released[action["worker"]] = self.version
            phase[4] = max(phase[4], self.clocks[action["worker"]] - min(self.clocks.values()))
        elif action["type"] == "switched":
            self.begin(action["to"])

    def check(self, test, policies):
        test.assertEqual([phase[0] for phase in self.phases], policies)
        for policy, updates, gradients, staleness, ahead in self.phases:
            with test.subTest(policy):
                test.assertGreater(updates, 0)
                test.assertGreater(gradients, 0)
                test.assertLessEqual(staleness, promise(policy)[0])
                test.assertLessEqual(ahead, promise(policy)[1])


class Switching(ProgramTest):
    def ctl(self, *words, code=0):
        process = self.start("ctl", *words)
        self.assertEqual(process.wait(), code, process.err)
        if code != 0:
            self.assertEqual(process.out, "")
            self.assertEqual(len(process.err.splitlines()), 1, process.err)
        return process.err if code != 0 else process.out

    def status(self, job):
        return json.loads(self.ctl(job.run, "status", "--json"))

    def assert_replayed(self, job):
        replay = self.start("replay", job.run)
        self.assertEqual(replay.wait(), 0, replay.err)
        self.assertIn("all identical, and no invariant is broken", replay.out)


class Chain(Switching):
    CHAIN = ["async", "sync", "ssp:s=3"]
    POLICY = "switch(async until updates>150 then sync until updates>180 then ssp:s=3)"

    def test_async_then_sync_then_ssp(self):
        job = LedgerJob(self, self.POLICY)
        job.finish()
        job.assert_each_example_used(job.summary())
        record = Record(job.run, self.CHAIN)
        record.check(self, self.CHAIN)
        # All of async, and the gradients of those who computed at the seam, which are its too.
        self.assertIn(record.phases[0][1], range(151, 151 + 8))
        self.assertIn("policy is now sync from version", job.server.err)
        self.assertIn("policy is now ssp:s=3 from version 181 on", job.server.err)
        self.assert_replayed(job)

    def test_workers_that_die_at_any_time(self):
        job = LedgerJob(self, self.POLICY, batch_seconds=0.01)
        for worker, gradients in ((1, 17), (3, 20), (5, 24), (7, 30)):  # One in eight of an update.
            job.until_gradients(worker, gradients)
            job.workers[worker].send(signal.SIGKILL)
            job.workers[worker].wait()
        job.finish()
        job.assert_each_example_used(job.summary())
        Record(job.run, self.CHAIN).check(self, self.CHAIN)
        self.assert_replayed(job)


class Control(Switching):
    def test_async_then_sync_then_ssp(self):
        job = LedgerJob(self, "async", epochs=12, batch_seconds=0.04)
        job.until_gradients(0, 5)
        self.assertRegex(self.ctl(job.run, "set-policy", "sync"),
                         r"^policy is now sync from version \d+ on, staleness rule none\n$")
        self.assertEqual(self.status(job)["policy"], "sync")
        job.until_gradients(0, job.gradients(0) + 3)
        self.ctl("--server", f"unix:{self.folder}/s", "--token-file", job.token, "set-policy",
                 "ssp:s=3")
        self.assertRegex(self.ctl(job.run, "status"), r"^policy ssp:s=3, version \d+, 8 of 8 ")
        job.finish()
        job.assert_each_example_used(job.summary())
        Record(job.run, ["async"]).check(self, ["async", "sync", "ssp:s=3"])
        self.assert_replayed(job)
        self.assertIn("this run is over", self.ctl(job.run, "status", code=EXIT_FAILURE))

    def test_the_staleness_rule_is_that_of_the_policy_in_force(self):
        job = LedgerJob(self, "dynamic", workers=2, epochs=10_000, staleness=None,
                        options=("--checkpoint-every", "5"))
        job.until_gradients(0, 5)
        self.assertEqual(self.status(job)["staleness_rule"], "none")
        self.assertRegex(self.ctl(job.run, "set-policy", "async"),
                         r"^policy is now async from version \d+ on, staleness rule share\n$")
        self.assertEqual(self.status(job)["staleness_rule"], "share")
        self.assertIn(", staleness rule share, mean staleness ", self.ctl(job.run, "status"))

        def in_force():
            inspected = self.start("checkpoint", "inspect", job.run)
            self.assertEqual(inspected.wait(), 0, inspected.err)
            return json.loads(inspected.out)["coordinator"]["rules"]["policy_in_force"]
        wait_until(lambda: in_force() == "async", "a checkpoint of async")
        job.server.send(signal.SIGKILL)
        job.server.wait()
        job.server = self.start("server", "--resume", job.run, "--json")
        job.until_gradients(0, job.gradients(0) + 5)
        self.assertEqual(self.status(job)["staleness_rule"], "share")
        self.ctl(job.run, "set-policy", "sync")
        self.assertEqual(self.status(job)["staleness_rule"], "none")
        job.server.send(signal.SIGINT)
        self.assertEqual(job.server.wait(), 130)
        self.assertNotIn("stays in force", job.server.err)
        for worker in job.workers:
            worker.wait()

    def test_a_policy_under_which_the_filter_protects_from_nobody_is_refused(self):
        job = LedgerJob(self, "sync", workers=3, epochs=10_000, options=("--filter", "median"))
        job.until_gradients(0, 5)
        asked = self.start("ctl", job.run, "set-policy", "async")
        self.assertEqual(asked.wait(), EXIT_USAGE)
        self.assertIn("--filter median beside --policy async: its updates are of 1 gradient", asked.err)
        self.assertEqual(self.status(job)["policy"], "sync")
        job.server.send(signal.SIGINT)
        self.assertEqual(job.server.wait(), 130)
        for worker in job.workers:
            worker.wait()

    def test_a_rule_that_was_given_stays_and_a_warning_says_where_it_does_not_fit(self):
        job = LedgerJob(self, "sync", workers=2, epochs=10_000, staleness="none")
        job.until_gradients(0, 5)
        self.ctl(job.run, "set-policy", "async")
        self.assertEqual(self.status(job)["staleness_rule"], "none")
        job.server.until_said("--staleness none, as given, stays in force under async: each gradient "
                              "counts in full")
        job.server.send(signal.SIGINT)
        self.assertEqual(job.server.wait(), 130)
        for worker in job.workers:
            worker.wait()

    def test_the_worker_that_the_seam_waits_for_dies(self):
        job = LedgerJob(self, "async", epochs=4,
                        batch_seconds=lambda worker: 60.0 if worker == 7 else 0.02)
        job.until_gradients(0, 5)
        asked = self.start("ctl", job.run, "set-policy", "backup:cutoff=3")
        wait_until(lambda: self.status(job)["coming_policy"] == "backup:cutoff=3", "the seam")
        second = self.ctl(job.run, "set-policy", "async", code=EXIT_FAILURE)
        self.assertIn("the policy is changing to backup:cutoff=3 already", second)
        self.assertTrue(asked.running())
        job.workers[7].send(signal.SIGKILL)
        job.workers[7].wait()
        self.assertEqual(asked.wait(), 0, asked.err)
        job.finish()
        job.assert_each_example_used(job.summary())
        Record(job.run, ["async"]).check(self, ["async", "backup:cutoff=3"])
        self.assert_replayed(job)

    def test_a_run_that_ends_before_its_policy_changes_says_so(self):
        job = LedgerJob(self, "async", workers=2, epochs=10_000,
                        batch_seconds=lambda worker: 60.0 if worker == 1 else 0.02)
        job.until_gradients(0, 5)
        asked = self.start("ctl", job.run, "set-policy", "sync")
        wait_until(lambda: self.status(job)["coming_policy"] == "sync", "the seam")
        job.server.send(signal.SIGINT)
        self.assertEqual(job.server.wait(), 130)
        self.assertEqual(asked.wait(), EXIT_FAILURE)
        self.assertIn("the run ended before its policy changed: interrupted", asked.err)
        self.end_all()  # One computes for a minute.
        for worker in job.workers:
            worker.wait()

    def test_what_cannot_be_done_is_refused_and_the_run_goes_on(self):
        job = LedgerJob(self, "async", workers=2, epochs=10_000, staleness="inverse")
        job.until_gradients(0, 5)
        for words, code, says in (
                ((job.run, "set-policy", "asink"), EXIT_USAGE, "did you mean 'async'"),
                ((job.run, "set-policy", "backup:cutoff=3"), EXIT_USAGE, "from 1 to 2"),
                ((job.run, "set-policy", "switch(async until loss<x then sync)"), EXIT_USAGE,
                 "the condition 'loss<x' is not"),
                ((job.run, "set-policy", "saps:s=3,action=dampen"), EXIT_FAILURE,
                 "weighs staleness itself"),
                ((job.run, "set-policy", "switch(async until test-accuracy>0.5 then sync)"),
                 EXIT_FAILURE, "waits for what an evaluator measures, and this run has none"),
                ((job.run, "set-policy", "x" * 2000), EXIT_USAGE, "more than 1024 letters"),
                ((job.run, "set-policy"), EXIT_USAGE, "is not clear; write outpace ctl RUN"),
                ((job.run, "stop"), EXIT_USAGE, "'stop' is not clear"),
                ((), EXIT_USAGE, "which run?"),
                ((self.folder, "status"), EXIT_USAGE, "no control.json in it"),
                ((self.folder / "nowhere", "status"), EXIT_USAGE, "is not a run's directory"),
                (("--server", "unix:s", "status"), EXIT_USAGE, "go together"),
                (("--server", f"unix:{self.folder}/s", "--token-file",
                  self.path("other", "not-the-token\n"), "status"), EXIT_TOKEN,
                 "refused the token")):
            with self.subTest(words):
                self.assertIn(says, self.ctl(*words, code=code))
        before = self.status(job)
        self.assertEqual((before["policy"], before["coming_policy"]), ("async", None))
        job.until_gradients(0, job.gradients(0) + 5)
        self.assertEqual(os.stat(job.token).st_mode & 0o777, 0o600)
        self.assertNotIn(job.token.read_text().strip(), (job.run / "control.json").read_text())
        job.server.send(signal.SIGKILL)
        job.server.wait()
        gone = self.ctl(job.run, "status", code=EXIT_FAILURE)
        self.assertIn("is the run over, or its server gone?", gone)
        for worker in job.workers:
            worker.wait()


class Evaluated(Switching):
    def test_a_run_whose_policy_waits_for_an_evaluator_waits_for_it_too(self):
        rows = [f"{row % 7},{row % 5},{row % 2}" for row in range(200)]
        table = self.path("table.csv", "\n".join(["a,b,class", *rows]) + "\n")
        lesson = ("--network", "mlp", "--data", f"csv:{table}")
        server = self.start("server", "--listen", f"unix:{self.folder}/s", "--token-file", "token",
                            "--workers", 1, "--out", self.folder / "run", "--batch", 4,
                            "--evaluate-every", 40, "--updates", 10_000_000,
                            "--policy", "switch(async until test-loss<1000 then sync)")
        server.until_said("the run begins when there is an evaluator too: outpace evaluator")
        to_server = ("--server", f"unix:{self.folder}/s", "--token-file", "token", *lesson)
        worker = self.start("worker", "--worker", 0, *to_server)
        evaluator = self.start("evaluator", *to_server)
        server.until_said("policy is now sync from version")
        server.send(signal.SIGINT)
        self.assertEqual(server.wait(), 130)
        worker.wait()
        evaluator.wait()


if __name__ == "__main__":
    main()
