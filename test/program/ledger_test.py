"""Exactly once: every example counts once an epoch, whatever dies, stalls or is slow.

Real processes: `outpace server` and torch-free workers whose final weights are a ledger.
"""

import json
import pathlib
import shutil
import signal
import statistics
import sys
import time

sys.dont_write_bytecode = True
from jobs import (LEDGER_WORKER, LedgerJob, ProgramTest, main,  # noqa: E402
                  read_json_lines, wait_until)

POLICIES = ("sync", "backup:cutoff=3", "dynamic", "async", "softsync:n=2", "ssp:s=2",
            "kbatchsync:k=3", "kasync:k=3", "dssp:low=1,high=4", "psp:beta=2,s=1",
            "saps:s=8,action=refresh")
# Weights that are shares of one: counts of examples are exact all the same.
POLICIES_OF_SHARES = ("saps:s=8,action=preempt", "saps:s=8,action=shrink", "saps:s=8,action=dampen")


class Death(ProgramTest):
    def half_of_the_workers_die(self, policy, *options):
        job = LedgerJob(self, policy, options=options)
        killed = (1, 3, 5, 7)
        for worker in killed:
            job.until_gradients(worker, 6)
            job.workers[worker].send(signal.SIGKILL)
            self.assertEqual(job.workers[worker].wait(), -signal.SIGKILL)
            # The others go on before the next one dies.
            job.until_gradients(0, job.gradients(0) + 4)
        job.finish()
        summary = job.summary()
        details = summary["workers_detail"]
        for worker in killed:
            self.assertEqual(details[worker]["incarnations"], 1)
        survivors = [details[worker]["examples"] for worker in (0, 2, 4, 6)]
        self.assertGreater(min(survivors), 0)
        self.assertLess(sum(details[worker]["examples"] for worker in killed), sum(survivors))
        for worker in killed:
            self.assertIn(f"worker {worker} is gone", job.server.err)
        job.assert_each_example_used(summary, exact=policy in POLICIES and not options)

    def test_sync_balanced(self):
        self.half_of_the_workers_die("sync", "--balance")

    def test_sync(self):
        self.half_of_the_workers_die("sync")

    def test_backup(self):
        self.half_of_the_workers_die("backup:cutoff=3")

    def test_async(self):
        self.half_of_the_workers_die("async")

    def test_softsync(self):
        self.half_of_the_workers_die("softsync:n=2")

    def test_ssp(self):
        self.half_of_the_workers_die("ssp:s=2")

    def test_dynamic(self):
        self.half_of_the_workers_die("dynamic")

    def test_kbatchsync(self):
        self.half_of_the_workers_die("kbatchsync:k=3")

    def test_kasync(self):
        self.half_of_the_workers_die("kasync:k=3")

    def test_dssp(self):
        self.half_of_the_workers_die("dssp:low=1,high=4")

    def test_psp(self):
        self.half_of_the_workers_die("psp:beta=2,s=1")

    def test_saps_refresh(self):
        self.half_of_the_workers_die("saps:s=8,action=refresh")

    def test_saps_preempt(self):
        self.half_of_the_workers_die("saps:s=8,action=preempt")

    def test_saps_shrink(self):
        self.half_of_the_workers_die("saps:s=8,action=shrink")

    def test_saps_dampen(self):
        self.half_of_the_workers_die("saps:s=8,action=dampen")

    def test_the_last_worker_to_die_ends_the_run_with_code_5(self):
        job = LedgerJob(self, "async", workers=2, epochs=1000, options=("--patience", "1s"))
        for worker in (0, 1):
            job.until_gradients(worker, 5)
        for worker in job.workers:
            worker.send(signal.SIGKILL)
        begun = time.monotonic()
        self.assertEqual(job.server.wait(30), 5)
        self.assertGreaterEqual(time.monotonic() - begun, 0.9)
        self.assertIn("too few workers", job.server.err.splitlines()[-1])
        for worker in job.workers:
            worker.wait()
        self.assert_nothing_left()

    def test_workers_end_when_their_server_has_died(self):
        job = LedgerJob(self, "async", workers=2, epochs=1000,
                        worker_options=("--rejoin-for", "1"))
        for worker in (0, 1):
            job.until_gradients(worker, 5)
        job.server.send(signal.SIGKILL)
        job.server.wait()
        for worker in job.workers:
            self.assertEqual(worker.wait(60), 1)
            self.assertIn("--rejoin-for is too short", worker.err)
            self.assertEqual(len(worker.err.splitlines()), 1, worker.err)
        self.assert_nothing_left()

    def test_a_worker_that_waits_for_its_server_ends_at_once_when_told_to(self):
        job = LedgerJob(self, "async", workers=1, epochs=1000)
        job.until_gradients(0, 5)
        job.server.send(signal.SIGKILL)
        job.server.wait()
        job.workers[0].send(signal.SIGTERM)
        self.assertEqual(job.workers[0].wait(20), 0)
        self.assert_nothing_left()


class Growth(ProgramTest):
    """Workers beyond --workers, up to --max-workers."""

    def test_later_workers_take_part_under_each_kind_of_policy(self):
        for policy in ("sync", "dynamic", "ssp:s=2", "saps:action=refresh"):
            with self.subTest(policy=policy):
                self.grow(policy)

    def grow(self, policy):
        self.folder = self.folder / "of" / policy.partition(":")[0]
        self.folder.mkdir(parents=True)
        job = LedgerJob(self, policy, workers=2, epochs=4, batch_seconds=0.02,
                        options=("--max-workers", 4))
        job.until_gradients(1, 5)
        job.workers += [job.start_worker(worker, 0.02) for worker in (2, 3)]
        for worker in (2, 3):
            job.until_gradients(worker, 5)
        asked = self.start("ctl", job.run, "status", "--json")
        self.assertEqual(asked.wait(), 0, asked.err)
        self.assertEqual(json.loads(asked.out)["workers"], 4)
        refused = job.start_worker(4, 0.02)
        self.assertNotEqual(refused.wait(), 0)
        self.assertIn("worker 4 is out of range: this job is full at --max-workers 4, so --worker "
                      "takes 0 to 3", refused.err)
        job.finish()
        summary = job.summary()
        self.assertEqual(len(summary["workers_detail"]), 4)
        for worker in (2, 3):
            self.assertGreater(summary["workers_detail"][worker]["accepted"], 4)
        job.assert_each_example_used(summary)
        replayed = self.start("replay", job.run)
        self.assertEqual(replayed.wait(), 0, replayed.err)


class Return(ProgramTest):
    def test_a_worker_that_comes_back_contributes_again(self):
        job = LedgerJob(self, "async", workers=3, epochs=4, batch_seconds=0.02)
        job.until_gradients(1, 10)
        job.workers[1].send(signal.SIGKILL)
        job.workers[1].wait()
        job.workers[1] = job.start_worker(1, 0.02)
        job.until_gradients(1, 10)
        job.finish()
        summary = job.summary()
        self.assertEqual(summary["workers_detail"][1]["incarnations"], 2)
        job.assert_each_example_used(summary)

    def test_workers_find_a_server_that_comes_back_at_its_address(self):
        job = LedgerJob(self, "async", workers=2, epochs=1000)
        for worker in (0, 1):
            job.until_gradients(worker, 5)
        job.server.send(signal.SIGKILL)
        job.server.wait()
        job.server = self.start("server", "--resume", job.run)
        job.server.until_said("listening on")
        before = [job.gradients(worker) for worker in (0, 1)]
        for worker in (0, 1):
            job.until_gradients(worker, before[worker] + 5)
        job.server.send(signal.SIGINT)
        self.assertEqual(job.server.wait(30), 130)
        for worker in job.workers:
            self.assertEqual(worker.wait(30), 1)
            self.assertIn("interrupted", worker.err)
        self.assert_nothing_left()

    def test_a_stopped_worker_is_taken_for_dead_and_joins_again(self):
        job = LedgerJob(self, "sync", workers=3, epochs=4, batch_seconds=0.02,
                        options=("--heartbeat-timeout", "1s"))
        job.until_gradients(1, 10)
        job.workers[1].send(signal.SIGSTOP)
        begun = time.monotonic()
        job.server.until_said("worker 1: silent for", 20)
        self.assertGreater(time.monotonic() - begun, 0.5)
        job.until_gradients(0, job.gradients(0) + 10)
        before = job.gradients(1)
        job.workers[1].send(signal.SIGCONT)
        # One that it was computing, and one of its new life.
        job.until_gradients(1, before + 3)
        job.finish()
        summary = job.summary()
        self.assertGreaterEqual(summary["workers_detail"][1]["incarnations"], 2)
        job.assert_each_example_used(summary)

    def test_a_server_that_was_stopped_takes_no_live_worker_for_dead(self):
        job = LedgerJob(self, "sync", workers=3, epochs=4, batch_seconds=0.02,
                        options=("--heartbeat-timeout", "1s"))
        for worker in range(3):
            job.until_gradients(worker, 5)
        job.server.send(signal.SIGSTOP)
        job.workers[0].until_said("has not answered for 10 s; is it stopped?", 60)
        job.server.send(signal.SIGCONT)
        job.server.until_said("the server stood still for")
        job.finish()
        summary = job.summary()
        self.assertEqual([one["incarnations"] for one in summary["workers_detail"]], [1, 1, 1])
        self.assertNotIn("silent", job.server.err)
        job.assert_each_example_used(summary)

    def test_a_worker_that_was_stopped_came_back_and_was_killed_is_replaced_by_a_fresh_one(self):
        job = LedgerJob(self, "sync", workers=3, epochs=20, batch_seconds=0.02,
                        options=("--heartbeat-timeout", "1s"))
        job.until_gradients(1, 5)
        job.workers[1].send(signal.SIGSTOP)
        job.server.until_said("worker 1: silent for", 20)
        before = job.gradients(1)
        job.workers[1].send(signal.SIGCONT)
        job.until_gradients(1, before + 3)
        job.workers[1].send(signal.SIGKILL)
        job.workers[1].wait()
        job.workers[1] = job.start_worker(1, 0.02)
        job.until_gradients(1, 5)
        job.finish()
        summary = job.summary()
        self.assertEqual(summary["workers_detail"][1]["incarnations"], 3)
        job.assert_each_example_used(summary)

    def test_a_second_process_of_a_live_worker_is_turned_away(self):
        job = LedgerJob(self, "async", workers=2, epochs=1000)
        job.until_gradients(1, 5)
        second = job.start_worker(1, 0.004)
        self.assertEqual(second.wait(60), 1)
        self.assertRegex(second.err, rf"worker 1 is alive at \S+:{job.workers[1].id}; end that")
        self.assertEqual(len(second.err.splitlines()), 1, second.err)
        job.until_gradients(1, job.gradients(1) + 5)
        job.server.send(signal.SIGINT)
        self.assertEqual(job.server.wait(30), 130)
        for worker in job.workers:
            self.assertEqual(worker.wait(30), 1)  # Its job did not end as it should.
        self.assert_nothing_left()


class Drain(ProgramTest):
    """A worker that is told to end leaves within two seconds, and nothing of it is lost."""

    def end(self, worker):
        worker.send(signal.SIGTERM)
        self.assertEqual(worker.wait(8), 0, worker.err)

    def test_it_hands_its_mini_batch_back(self):
        job = LedgerJob(self, "async", workers=3,
                        batch_seconds=lambda worker: 20 if worker == 1 else 0.004)
        job.until_gradients(0, 6)
        self.end(job.workers[1])
        job.server.until_said("worker 1 has left")
        job.finish()
        self.assertNotIn("worker 1 is gone", job.server.err)
        summary = job.summary()
        one = summary["workers_detail"][1]
        self.assertEqual((one["cancelled"], one["accepted"]), (1, 0))
        job.assert_each_example_used(summary)

    def test_it_pushes_the_part_that_it_has_if_the_policy_takes_parts(self):
        job = LedgerJob(self, "saps:s=1000,action=preempt", workers=2, examples=512, epochs=1,
                        batch_seconds=lambda worker: 3 if worker == 1 else 0.03)
        job.until_gradients(0, 55)
        self.end(job.workers[1])
        job.finish()
        summary = job.summary()
        one = summary["workers_detail"][1]
        self.assertEqual((one["partial"], one["accepted"]), (1, 1))
        job.assert_each_example_used(summary, exact=False)

    def end_before_it_works(self):
        worker = self.start("--server", f"unix:{self.folder}/s", "--token-file", "token",
                            "--worker", 0, program=LEDGER_WORKER)
        wait_until(lambda: caught_signals(worker.id) >> (signal.SIGTERM - 1) & 1, "its handler")
        self.end(worker)

    def test_while_the_others_have_yet_to_come(self):
        server = self.start("server", "--workers", 2, "--token-file", "token", "--listen",
                            f"unix:{self.folder}/s", "--out", "run")
        server.until_said("listening on")
        self.end_before_it_works()
        self.assertTrue(server.running(), server.err)

    def test_without_a_server(self):
        self.path("token", "secret\n")
        self.end_before_it_works()


def caught_signals(process):
    """As bits, the first for signal 1."""
    status = pathlib.Path(f"/proc/{process}/status").read_text()
    return int(status.partition("SigCgt:")[2].split()[0], 16)


class Hang(ProgramTest):
    """A worker whose computing hangs while its heart beats."""

    def start_job(self, policy, epochs, examples):
        self.healed = self.folder / "healed"
        hang = ("--hang-at", 5, "--hang-until", self.healed)
        job = LedgerJob(self, policy, workers=3, epochs=epochs, examples=examples,
                        batch_seconds=0.02, options=("--progress-timeout", "2s"),
                        worker_options=lambda worker: hang if worker == 1 else ())
        job.server.until_said("worker 1 is stalled: it is alive, and has had a mini-batch for 2 s")
        return job

    def test_nobody_waits_for_it_and_it_comes_back(self):
        job = self.start_job("sync", epochs=6, examples=1024)
        job.until_gradients(0, job.gradients(0) + 5)
        asked = self.start("ctl", job.run, "status")
        self.assertEqual(asked.wait(), 0, asked.err)
        self.assertIn("2 of 3 workers live (stalled: worker 1)", asked.out)
        self.healed.touch()
        job.until_gradients(1, job.gradients(1) + 10)
        job.finish()
        summary = job.summary()
        detail = summary["workers_detail"][1]
        self.assertEqual((detail["stalled"], detail["incarnations"], detail["lost"]), (1, 1, 0))
        job.assert_each_example_used(summary)
        left = [one["event"] for one in read_json_lines(job.run / "decisions.jsonl")[1:]
                if one["event"]["type"] == "worker_left"]
        self.assertIn({"type": "worker_left", "worker": 1, "how": "stalled"}, left)
        replayed = self.start("replay", job.run)
        self.assertEqual(replayed.wait(), 0, replayed.err)

    def test_the_run_ends_without_it(self):
        job = self.start_job("async", epochs=2, examples=256)
        self.assertEqual(job.server.wait(), 0, job.server.err)
        job.workers[1].send(signal.SIGKILL)
        job.workers[1].wait()
        job.finish()
        job.assert_each_example_used(job.summary())


class Slow(ProgramTest):
    """With sorted labels, to lose a straggler's examples would be to lose a class."""

    def one_of_eight_is_fifty_times_slower(self, policy):
        job = LedgerJob(self, policy, examples=256, epochs=2,
                        batch_seconds=lambda worker: 0.2 if worker == 7 else 0.004)
        job.finish()
        summary = job.summary()
        details = summary["workers_detail"]
        # The median: on a full machine a fast one may begin when most of the 64 mini-batches are done,
        # and what the slow one hands in at the policy's request counts, too.
        fast = [worker["accepted"] for worker in details[:7]]
        self.assertGreaterEqual(statistics.median(fast), details[7]["accepted"])
        applied = job.assert_each_example_used(summary, exact=policy in POLICIES)
        if policy in POLICIES:  # The others weigh: their examples are counted, above, not summed.
            self.assertEqual(job.class_shares(applied), [1 / 8] * 8)

    def test_balanced_the_slow_one_gets_less_and_nobody_waits(self):
        job = LedgerJob(self, "sync", examples=4096, epochs=2, options=("--balance",),
                        batch_seconds=lambda worker: 0.08 if worker == 7 else 0.02)
        job.finish()
        summary = job.summary()
        details = summary["workers_detail"]
        applied = job.assert_each_example_used(summary, exact=False)
        self.assertLess(max(abs(uses - job.epochs) for uses in applied), 1e-4)
        self.assertLess(details[7]["examples"], 0.6 * details[0]["examples"])
        self.assertEqual(summary["staleness"]["max"], 0)

    def test_every_policy(self):
        for number, policy in enumerate(POLICIES + POLICIES_OF_SHARES):
            with self.subTest(policy):
                if number > 0:
                    self.doCleanups()
                    self.setUp()
                self.one_of_eight_is_fifty_times_slower(policy)


class Tcp(ProgramTest):
    """A job over TCP; with certificates beside the token, over TLS."""

    def serve(self, folder):
        server = self.start("server", "--workers", 1, "--policy", "async", "--batch", 4,
                            "--epochs", 1, "--token-file", folder / "token",
                            "--out", self.folder / "run")
        server.until_said("listening on 127.0.0.1:")
        return server, server.err.partition("listening on ")[2].partition(";")[0]

    def worker(self, address, folder):
        return self.start("--server", address, "--token-file", folder / "token", "--worker", 0,
                          "--examples", 64, program=LEDGER_WORKER)

    def ends_well(self, server, worker):
        self.assertEqual(server.wait(), 0, server.err)
        self.assertEqual(worker.wait(), 0, worker.err)
        self.assertIn("run directory:", server.out)
        self.assert_nothing_left()

    def certs(self, name):
        folder = self.folder / name
        process = self.start("certs", folder)
        self.assertEqual(process.wait(), 0, process.err)
        return folder

    def test_over_a_port_that_the_system_chose(self):
        server, address = self.serve(self.folder)
        self.assertNotIn(address.rpartition(":")[2], ("", "0"))
        self.ends_well(server, self.worker(address, self.folder))

    def test_over_tls_and_strangers_are_refused(self):
        job = self.certs("job")
        server, address = self.serve(job)
        plain = self.folder / "plain"
        plain.mkdir()
        shutil.copy2(job / "token", plain)
        other = self.certs("other")
        shutil.copy2(job / "token", other)
        for folder, why in ((plain, "the server takes TLS only"),
                            (other, "TLS: its certificate: ")):
            stranger = self.worker(address, folder)
            self.assertEqual(stranger.wait(), 3, stranger.err)
            self.assertIn(f"{address}: {why}", stranger.err)
        self.ends_well(server, self.worker(address, job))
        self.assertIn("refused 127.0.0.1:", server.err)

    def test_a_wrong_token_is_refused_and_named_to_the_server(self):
        server, address = self.serve(self.folder)
        other = self.folder / "other"
        other.mkdir()
        (other / "token").touch(mode=0o600)
        (other / "token").write_text("guessed\n")
        stranger = self.worker(address, other)
        self.assertEqual(stranger.wait(), 3, stranger.err)
        self.assertIn("the server refused the token; is --token-file the server's?", stranger.err)
        server.until_said(": a wrong token")
        self.ends_well(server, self.worker(address, self.folder))


if __name__ == "__main__":
    main()
