"""A server that dies, in whatever way, and is started again with --resume, loses nothing.

Real processes: `outpace server`, and torch-free workers whose final weights are a ledger.
"""

import json
import os
import pathlib
import random
import re
import shutil
import signal
import sys

sys.dont_write_bytecode = True
from jobs import (LedgerJob, ProgramTest, main, read_weights, wait_until,  # noqa: E402
                  whole_checkpoints)

POLICIES = ("sync", "dynamic", "async", "softsync:n=2", "ssp:s=2", "saps:s=8,action=refresh")

ENDLESS = 1000  # Epochs. However slow the disk is, the server is killed while the run goes on.


class ResumableJob(LedgerJob):
    """A ledger job whose server writes checkpoints, and may be killed and started again."""

    def __init__(self, test, policy, every="20", epochs=ENDLESS, **more):
        super().__init__(test, policy, epochs=epochs, options=("--checkpoint-every", every), **more)
        self.generation = 1

    def newest(self):
        """The update of the newest checkpoint."""
        return int(whole_checkpoints(self.run)[-1].name.partition("-u")[2])

    def until_checkpoint(self, update):
        """Waits until this server, not one before it, has written a checkpoint of at least `update`."""
        least = f"g{self.generation:04}-u{update:012}"

        def there():
            self.test.assertTrue(self.server.running(), self.server.err)
            return any(path.name >= least for path in whole_checkpoints(self.run))
        wait_until(there, f"checkpoint {least}")

    def kill_server(self):
        self.server.send(signal.SIGKILL)
        self.server.wait()

    def resume(self, *options):
        self.generation += 1
        self.server = self.test.start("server", "--resume", self.run, "--json", *options)
        self.server.until_said("listening on")

    def state(self):
        """What the newest checkpoint holds."""
        inspected = self.test.start("checkpoint", "inspect", self.run)
        self.test.assertEqual(inspected.wait(), 0, inspected.err)
        return json.loads(inspected.out)

    def choose_end(self):
        """The next resume() ends with the epoch after the one that the newest checkpoint is in."""
        self.epochs = self.state()["coordinator"]["leases"]["epoch"] + 2

    def resume_to_the_end(self):
        self.resume("--epochs", self.epochs)


class Resume(ProgramTest):
    def killed_in_the_middle(self, policy, **more):
        job = ResumableJob(self, policy, workers=4, **more)
        chosen = random.Random(policy)
        for update, resume in ((20, job.resume), (60, job.resume_to_the_end)):
            job.until_checkpoint(update)
            job.until_gradients(0, job.gradients(0) + chosen.randrange(12))
            job.kill_server()
            job.choose_end()
            resume()
        job.finish()
        summary = job.summary()
        self.assertIn("goes on from update", job.server.err)
        job.assert_each_example_used(summary)
        return job

    def test_sync(self):
        job = self.killed_in_the_middle("sync")
        # What the servers before recorded is there, and apart.
        for generation in (1, 2):
            earlier = job.run / "earlier" / str(generation)
            self.assertTrue((earlier / "decisions.jsonl").exists())
        names = [path.name for path in whole_checkpoints(job.run)]
        self.assertLessEqual(len(names), 3, names)
        self.assertTrue(names[-1].startswith("g0003-"), names)

    def test_async(self):
        self.killed_in_the_middle("async")

    def test_dynamic(self):
        self.killed_in_the_middle("dynamic")

    def test_softsync(self):
        self.killed_in_the_middle("softsync:n=2")

    def test_ssp(self):
        self.killed_in_the_middle("ssp:s=2")

    def test_saps(self):
        self.killed_in_the_middle("saps:s=8,action=refresh")

    def test_before_the_first_update(self):
        job = ResumableJob(self, "async", workers=2, every="100000")
        job.until_checkpoint(0)
        job.kill_server()
        job.choose_end()
        job.resume_to_the_end()
        job.finish()
        job.assert_each_example_used(job.summary())

    def test_before_the_first_checkpoint(self):
        job = ResumableJob(self, "async", workers=2, every="100000")
        job.until_checkpoint(0)
        job.until_gradients(0, 10)
        job.kill_server()
        job.choose_end()
        shutil.rmtree(job.run / "checkpoints")
        job.resume_to_the_end()
        job.finish()
        self.assertIn("the run has no checkpoint yet: it begins again", job.server.err)
        self.assertIn("which is lost: the server had died before its first checkpoint",
                      job.server.err)
        job.assert_each_example_used(job.summary())

    def test_servers_that_die_before_the_run_goes_on_take_nobodys_record(self):
        job = ResumableJob(self, "async", workers=2, every="100000")
        job.until_checkpoint(0)
        job.until_gradients(0, 10)
        job.kill_server()
        decisions = (job.run / "decisions.jsonl").read_bytes()
        for worker in job.workers:
            worker.send(signal.SIGKILL)
            worker.wait()
        for _ in range(2):  # Nobody joins, so they write no checkpoint.
            job.resume()
            job.kill_server()
        job.choose_end()
        job.resume_to_the_end()
        job.workers = [job.start_worker(worker, 0.004) for worker in range(2)]
        job.finish()
        job.assert_each_example_used(job.summary())
        self.assertEqual((job.run / "earlier/1/decisions.jsonl").read_bytes(), decisions)
        self.assertEqual(sorted(path.name for path in (job.run / "earlier").iterdir()),
                         ["1", "1-2", "1-3"])

    def test_lost_updates_are_said(self):
        job = ResumableJob(self, "async", workers=2, every="100000")
        job.until_checkpoint(0)
        job.until_gradients(0, 10)
        job.kill_server()
        job.choose_end()
        job.resume_to_the_end()
        job.finish()
        self.assertRegex(job.server.err, r"had reached update \d+: \d+ updates? after the checkpoint")
        job.assert_each_example_used(job.summary())

    def test_an_interrupted_server_keeps_all(self):
        job = ResumableJob(self, "sync", workers=2, every="100000")
        job.until_gradients(0, 30)
        job.server.send(signal.SIGTERM)
        self.assertEqual(job.server.wait(), 128 + signal.SIGTERM)
        at = job.newest()
        self.assertGreater(at, 20)
        for worker in job.workers:
            worker.wait()
        job.choose_end()
        job.resume_to_the_end()
        job.workers = [job.start_worker(worker, 0.004) for worker in range(2)]
        job.finish()
        self.assertIn(f"goes on from update {at}", job.server.err)
        job.assert_each_example_used(job.summary())

    def test_a_damaged_checkpoint_is_passed_over(self):
        job = ResumableJob(self, "async", workers=2)
        job.until_checkpoint(40)
        job.kill_server()
        job.choose_end()
        newest = whole_checkpoints(job.run)[-1]
        tensors = newest / "tensors.safetensors"
        data = bytearray(tensors.read_bytes())
        data[-1] ^= 1
        tensors.write_bytes(data)
        job.resume_to_the_end()
        job.finish()
        self.assertIn("was changed or damaged", job.server.err)
        job.assert_each_example_used(job.summary())


def resources(process):
    """(open files, threads, resident MiB) of a process."""
    folder = pathlib.Path(f"/proc/{process.id}")
    resident = re.search(r"VmRSS:\s+(\d+) kB", (folder / "status").read_text())[1]
    return (len(list((folder / "fd").iterdir())), len(list((folder / "task").iterdir())),
            int(resident) / 1024)


class OneRun(ProgramTest):
    """What several servers recorded of a run is one record."""

    def test_of_a_policy_that_was_set(self):
        job = ResumableJob(self, "dynamic", workers=4)
        job.until_checkpoint(20)
        asked = self.start("ctl", job.run, "set-policy", "sync")
        self.assertEqual(asked.wait(), 0, asked.err)
        job.until_checkpoint(job.newest() + 40)
        job.until_gradients(0, job.gradients(0) + 5)
        job.kill_server()
        job.choose_end()
        job.resume_to_the_end()
        job.finish()
        summary = job.summary()
        both = "dynamic, then sync"
        self.assertEqual(summary["policy"], both)
        self.assertIn(f"{both} on 4 workers: ", job.server.err)
        header = json.loads((job.run / "decisions.jsonl").read_text().partition("\n")[0])
        self.assertEqual((header["policy"], header["generation"]), ("sync", 2))
        self.assertNotIn("resume", (job.run / "config.toml").read_text())
        # The policy knows again what its checkpoint kept, and decides the same.
        replayed = self.start("replay", job.run)
        self.assertEqual(replayed.wait(), 0, replayed.out + replayed.err)
        self.assertIn(f"{both} on 4 workers: ", replayed.out)
        self.assertIn("all identical, and no invariant is broken", replayed.out)
        asked = self.start("whatif", job.run, "--policy", "async", "--json")
        self.assertEqual(asked.wait(), 0, asked.err)
        answer = json.loads(asked.out)
        self.assertAlmostEqual(
            answer["measured_examples_per_second"] / summary["examples_per_second"], 1.0, delta=0.02)
        self.assertRegex(answer["policy"], r"^switch\(dynamic until seconds>[\d.]+ then sync\)$")
        # So is the page, as it was recorded and as the decisions have it.
        for _ in range(2):
            frame = self.reported(job.run)
            self.assertEqual(frame["policy"], both)
            self.assertEqual((frame["version"], frame["applied"]),
                             (summary["updates"], summary["examples"]))
            self.assertLess(frame["points"][0][0], 1.0)
            self.assertEqual(frame["restarts"], 0)
            self.assertIn("another server goes on from update", json.dumps(frame["news"]))
            (job.run / "page.jsonl").unlink(missing_ok=True)

    def reported(self, run):
        page = self.folder / "report.html"
        made = self.start("report", run, "-o", page)
        self.assertEqual(made.wait(), 0, made.err)
        return json.loads(re.search(r'id="recorded">(.*?)</script>', page.read_text(),
                                    re.DOTALL)[1])[0]["frame"]


class Churn(ProgramTest):
    """A worker that joins, dies and comes again, CYCLES times (default: 60)."""

    def die(self, job, cycle):
        alone = self.files
        worker = job.start_worker(2, 0.004)
        if cycle % 3 == 0:
            wait_until(lambda: worker.out, "a gradient of worker 2")
        elif cycle % 3 == 1:
            wait_until(lambda: resources(job.server)[0] > alone, "worker 2 to connect")
        worker.send(signal.SIGKILL)
        worker.wait()

    def test_leaves_nothing_behind(self):
        job = ResumableJob(self, "async", workers=3, every="100000")
        steady, last = job.workers[:2], job.workers.pop()
        last.send(signal.SIGKILL)
        last.wait()
        cycles = int(os.environ.get("CYCLES", "60"))
        wait_until(lambda: all(worker.out for worker in steady), "gradients of both workers")
        self.files = resources(job.server)[0]
        for cycle in range(20):
            self.die(job, cycle)
        files, threads, resident = resources(job.server)
        for cycle in range(20, cycles):
            self.die(job, cycle)
        for worker in steady:
            self.assertTrue(worker.running(), worker.err)

        def settled():
            return resources(job.server)[0] <= files
        wait_until(settled, f"the server to have {files} open files or fewer")
        now = resources(job.server)
        self.assertLessEqual(now[1], threads)
        self.assertLess(now[2], resident + 16, "MiB of memory")
        print(f"{cycles} cycles: {files} -> {now[0]} files, {threads} -> {now[1]} threads, "
              f"{resident:.1f} -> {now[2]:.1f} MiB", file=sys.stderr)
        job.server.send(signal.SIGTERM)
        job.server.wait()
        for worker in steady:
            worker.wait()
        job.choose_end()
        job.resume_to_the_end()
        job.workers = [job.start_worker(worker, 0.004) for worker in range(3)]
        job.finish()
        job.assert_each_example_used(job.summary())


class Refusal(ProgramTest):
    def refused(self, code, why, *words):
        process = self.start(*words)
        self.assertEqual(process.wait(), code, process.err)
        self.assertIn(why, process.err)
        self.assertEqual(len(process.err.splitlines()), 1, process.err)

    def test_of_a_run_that_is_over(self):
        job = ResumableJob(self, "async", workers=1, epochs=1)
        job.finish()
        self.refused(2, "this run is over (epochs done)", "server", "--resume", job.run)

    def test_of_a_run_that_goes_on(self):
        job = ResumableJob(self, "async", workers=1)
        job.until_checkpoint(20)
        other = self.start("server", "--resume", job.run, "--listen", f"unix:{self.folder}/other")
        self.assertEqual(other.wait(), 2, other.err)
        self.assertIn(f"the run goes on, in process {job.server.id}", other.err)
        job.until_gradients(0, job.gradients(0) + 5)
        job.server.send(signal.SIGTERM)
        job.server.wait()

    def test_of_options_that_the_state_does_not_fit(self):
        job = ResumableJob(self, "async", workers=1)
        job.until_checkpoint(20)
        job.kill_server()
        for option, value, own in (("policy", "sync", "async"), ("optimizer", "adam", "sgd"),
                                   ("seed", "9", "1"), ("workers", "2", "1")):
            other = self.start("server", "--resume", job.run, f"--{option}", value)
            self.assertEqual(other.wait(), 2, other.err)
            self.assertIn(f"--{option} is {value}, and the run's is {own}", other.err)
        self.end_all()

    def test_of_what_is_no_run(self):
        self.refused(2, "is not a run's directory", "server", "--resume", self.folder / "none")
        run = self.path("run")
        run.mkdir()
        self.refused(2, "config.toml", "server", "--resume", run)

    def test_of_a_run_whose_checkpoints_are_gone(self):
        job = ResumableJob(self, "async", workers=1)
        job.until_checkpoint(20)
        wait_until(lambda: re.search(r"checkpoint of update [1-9]", (job.run / "server.log").read_text()),
                   "the log's word of a checkpoint")
        job.kill_server()
        self.end_all()
        shutil.rmtree(job.run / "checkpoints")
        before = (job.run / "decisions.jsonl").read_bytes()
        self.refused(6, "its checkpoints are gone, and its log tells of one of update",
                     "server", "--resume", job.run)
        log = (job.run / "server.log").read_bytes()
        (job.run / "server.log").unlink()
        self.refused(6, "it has neither checkpoints nor server.log", "server", "--resume", job.run)
        self.assertEqual((job.run / "decisions.jsonl").read_bytes(), before, "it stays in its place")
        (job.run / "server.log").write_bytes(log)
        job.resume("--begin-again")
        self.assertIn("it begins again, from update 0", job.server.err)
        job.kill_server()
        # Told once, for that time.
        self.refused(6, "its checkpoints are gone", "server", "--resume", job.run)

    def test_of_the_alarm_command_of_a_run_that_somebody_brought(self):
        job = ResumableJob(self, "async", workers=1)
        job.until_checkpoint(20)
        job.kill_server()
        self.end_all()
        config = job.run / "config.toml"
        own = re.sub(r"(?m)^on-alarm = .*\n", "", config.read_text())
        config.write_text(own + 'on-alarm = "touch owned"\n')
        job.resume()
        self.assertNotIn("touch owned", config.read_text())
        job.kill_server()

    def test_of_another_network_or_data_set(self):
        job = ResumableJob(self, "async", workers=1)
        job.until_checkpoint(20)
        job.kill_server()
        job.workers[0].wait(100)
        job.resume()
        job.examples = 99
        foreign = job.start_worker(0, 0.004)
        self.assertEqual(foreign.wait(), 4)
        self.assertIn("another network", foreign.err)
        job.server.send(signal.SIGTERM)
        job.server.wait()

    def test_to_begin_anew_where_workers_are_further_on(self):
        job = LedgerJob(self, "async", workers=6, epochs=1000)
        job.until_gradients(0, 10)
        job.server.send(signal.SIGKILL)
        job.server.wait()
        for _ in range(2):
            again = self.start(
                "server", "--policy", "async", "--workers", "6", "--listen",
                f"unix:{self.folder}/s", "--token-file", job.token, "--out", self.folder / "again")
            self.assertEqual(again.wait(), 7, again.err)
            self.assertFalse((self.folder / "again").exists())
            self.assertRegex(again.err.splitlines()[-1],
                             r"worker \d at .* had reached update \d+ of a run that this server "
                             r"would begin anew")
        for worker in job.workers:  # They wait for the server that goes on.
            self.assertTrue(worker.running(), worker.err)
        self.end_all()


class Bits(ProgramTest):
    """Runs of `train` with a real network, interrupted and resumed, to the bit."""

    def trained(self, name, optimizer):
        run = self.folder / name
        delays = self.path("delays.csv", "0.01,0.012,0.008\n")
        process = self.start(
            "train", "--network", "mlp", "--workers", 3, "--batch", 16, "--policy", "sync",
            "--optimizer", optimizer, "--lr", "0.01", "--updates", 160, "--seed", 5,
            "--delays", delays, "--checkpoint-every", 10, "--out", run)
        return run, process

    def uninterrupted(self, name, optimizer):
        run, process = self.trained(name, optimizer)
        self.assertEqual(process.wait(), 0, process.err)
        return read_weights(run / "weights.safetensors")[0]

    def interrupted(self, name, optimizer, updates):
        run, process = self.trained(name, optimizer)
        for update in updates:
            def there(least=update):
                found = whole_checkpoints(run)
                return found and int(found[-1].name.partition("-u")[2]) >= least
            wait_until(there, f"a checkpoint of update {update}")
            process.send(signal.SIGKILL)
            process.wait()
            self.assert_nothing_left()
            process = self.start("train", "--resume", run)
        self.assertEqual(process.wait(), 0, process.err)
        return read_weights(run / "weights.safetensors")[0]

    def same_bits(self, optimizer):
        whole = self.uninterrupted("whole", optimizer)
        broken = self.interrupted("broken", optimizer, (10, 50, 90))
        different = sum(one != other for one, other in zip(whole, broken, strict=True))
        self.assertEqual(different, 0, f"of {len(whole)} weights differ")

    def test_sgd(self):
        self.same_bits("sgd")

    def test_momentum(self):
        self.same_bits("momentum")

    def test_adam(self):
        self.same_bits("adam")

    def test_adagrad(self):
        self.same_bits("adagrad:lr_decay=0.01")


class Command(ProgramTest):
    def test_lists_verifies_inspects_and_exports(self):
        job = ResumableJob(self, "async", workers=2, epochs=2)
        job.finish()
        listed = self.start("checkpoint", "list", job.run)
        self.assertEqual(listed.wait(), 0, listed.err)
        self.assertEqual(len(listed.out.splitlines()), 3, listed.out)
        self.assertIn(f"update {job.newest()}", listed.out.splitlines()[0])
        verified = self.start("checkpoint", "verify", job.run)
        self.assertEqual(verified.wait(), 0, verified.err)
        self.assertEqual(verified.out.count("whole"), 3)
        self.assertEqual(job.state()["coordinator"]["version"], job.newest())
        out = self.folder / "weights.safetensors"
        exported = self.start("checkpoint", "export", job.run, "--out", out)
        self.assertEqual(exported.wait(), 0, exported.err)
        weights, header = read_weights(out)
        self.assertEqual(len(weights), job.examples)
        newest = whole_checkpoints(job.run)[-1]
        os.truncate(newest / "state.json", 10)
        verified = self.start("checkpoint", "verify", job.run)
        self.assertEqual(verified.wait(), 6, verified.err)
        self.assertEqual(verified.out.count("damaged"), 1)
        self.assertIn("state.json: is cut short", verified.err)


if __name__ == "__main__":
    main()
