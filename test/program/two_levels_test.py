"""Machines whose workers hand in one gradient: outpace reduce."""

import json
import math
import shutil
import signal
import sys

sys.dont_write_bytecode = True
from jobs import (BATCH, LEDGER_WORKER, OUTPACE, LedgerJob, ProgramTest, main,  # noqa: E402
                  read_weights, wait_until)
from python_jobs import PACKAGE, PYTHON, SCRIPTS, PythonTest  # noqa: E402

HERE = 4  # Workers of a machine.


class Machine:
    """`outpace reduce`, rank `rank` of a LedgerJob, and its ledger workers."""

    def __init__(self, job, rank, policy_here="sync", batch_seconds=0.004, slow=()):
        self.job = job
        self.test = job.test
        self.rank = rank
        self.policy = policy_here
        self.place = f"unix:{job.test.folder}/machine-{rank}"
        self.batch_seconds = batch_seconds
        self.starts = 0
        self.start()
        self.workers = [self.start_worker(worker, 5 if worker in slow else 1)
                        for worker in range(HERE)]

    def start(self):
        self.run = self.test.folder / f"machine-{self.rank}-{self.starts}"
        self.starts += 1
        self.reducer = self.test.start(
            "reduce", "--server", self.job.address, "--token-file", self.job.token, "--worker", self.rank,
            "--workers-here", HERE, "--listen", self.place, "--policy", self.policy, "--out", self.run,
            "--json")

    def start_worker(self, worker, slowness=1):
        return self.test.start(
            "--server", self.place, "--token-file", self.job.token, "--worker", worker, "--examples",
            self.job.examples, "--batch-seconds", f"{slowness * self.batch_seconds:f}", program=LEDGER_WORKER)

    def gradients(self, worker):
        return self.workers[worker].out.count("\n")

    def until_gradients(self, worker, least):
        def enough():
            self.test.assertTrue(self.job.server.running(), self.job.server.err)
            return self.gradients(worker) >= least
        wait_until(enough, f"{least} gradients of worker {worker} of machine {self.rank}")

    def finish(self):
        self.test.assertEqual(self.reducer.wait(), 0, self.reducer.err)
        for worker in self.workers:
            if worker.popen.poll() != -signal.SIGKILL:
                self.test.assertEqual(worker.wait(), 0, worker.err)

    def summary(self):
        return json.loads(self.reducer.out)


class TwoLevelJob(LedgerJob):
    """A server, `machines` and as many workers `alone`. Each example of an update counts 1."""

    def __init__(self, test, policy="sync", machines=1, alone=0, examples=1024, epochs=3, options=(),
                 **of_machine):
        workers = machines + alone
        gradients = {"sync": workers, "backup:cutoff=2": 2}.get(policy, 1)
        self.test = test
        self.examples = examples
        self.epochs = epochs
        self.worker_options = lambda worker: ()
        self.token = test.folder / "token"
        self.variables = None
        self.server_words = (
            "server", "--policy", policy, "--workers", workers, "--batch", BATCH, "--epochs", epochs,
            "--lr", BATCH * (HERE * machines + alone) * gradients // workers, "--lr-scale", "linear",
            "--staleness", "none", "--listen", f"unix:{test.folder}/s", "--token-file", self.token,
            "--json", *options)
        self.start_server(test.folder / "run")
        self.machines = [Machine(self, rank, **of_machine) for rank in range(machines)]
        self.workers = [self.start_worker(rank, 0.004) for rank in range(machines, workers)]

    def finish(self, exact=True):
        """Each example has counted once an epoch, whatever the machines did."""
        test = self.test
        test.assertEqual(self.server.wait(), 0, self.server.err)
        for machine in self.machines:
            machine.finish()
        super().finish()
        summary = self.summary()
        test.assertEqual(summary["epochs_complete"], self.epochs)
        test.assertEqual(summary["examples_used_per_epoch_min"], 1)
        test.assertEqual(summary["examples_used_per_epoch_max"], 1)
        ledger, _ = read_weights(self.run / "weights.safetensors")
        wrong = {example: -uses for example, uses in enumerate(ledger)
                 if exact and abs(uses + self.epochs) > 1e-3}
        test.assertFalse(wrong, "example: times it was applied")
        return summary


class Counts(ProgramTest):
    def test_a_machine_is_one_worker_and_each_of_its_gradients_is_counted(self):
        job = TwoLevelJob(self)
        summary = job.finish()
        updates = job.epochs * job.examples // (HERE * BATCH)
        self.assertEqual(summary["updates"], updates)
        self.assertEqual(summary["gradients_applied"], updates)
        self.assertEqual(summary["traffic"]["gradients"]["payloads"], updates)
        here = job.machines[0].summary()
        self.assertEqual(here["gradients_applied"], HERE * updates)
        self.assertEqual(here["examples"], summary["examples"])
        self.assertEqual([worker["accepted"] for worker in here["workers_detail"]],
                         [updates] * HERE)
        self.assertIn("the run of the server above is over", job.machines[0].reducer.err)
        replay = self.start("replay", job.machines[0].run)
        self.assertEqual(replay.wait(), 0, replay.err + replay.out)

    def test_machines_and_workers_alone_side_by_side(self):
        summary = TwoLevelJob(self, machines=2, alone=2).finish()
        shares = [worker["examples"] for worker in summary["workers_detail"]]
        self.assertAlmostEqual(shares[0] / shares[2], HERE, delta=0.5)

    def test_under_async(self):
        job = TwoLevelJob(self, "async", alone=2)
        summary = job.finish(exact=False)  # The last gradient may be small, and counts less.
        self.assertEqual(summary["examples"], job.epochs * job.examples)

    def test_a_policy_of_the_machine_cuts_its_slow_worker_off(self):
        job = TwoLevelJob(self, policy_here="backup:cutoff=3", slow=(2,))
        summary = job.finish()
        here = job.machines[0].summary()
        slow = here["workers_detail"][2]
        self.assertGreater(slow["dropped"] + slow["cancelled"], slow["accepted"])
        self.assertEqual(here["examples"], summary["examples"])

    def test_the_servers_policy_cuts_a_slow_machine_off(self):
        job = TwoLevelJob(self, "backup:cutoff=2", machines=1, alone=2, batch_seconds=0.05)
        job.finish()
        self.assertGreater(job.summary()["gradients_cancelled"], 0)

    def test_a_machine_hands_in_the_part_that_it_has(self):
        job = TwoLevelJob(self, "saps:s=4,action=preempt", alone=2, batch_seconds=0.02)
        summary = job.finish(exact=False)  # Weights of gradients are shares of one.
        self.assertGreater(summary["workers_detail"][0]["partial"], 0)


class Death(ProgramTest):
    def test_a_worker_of_a_machine(self):
        job = TwoLevelJob(self, alone=1, epochs=6)
        machine = job.machines[0]
        machine.until_gradients(2, 10)
        machine.workers[2].send(signal.SIGKILL)
        machine.until_gradients(0, machine.gradients(0) + 5)
        machine.workers.append(machine.start_worker(2))
        machine.until_gradients(HERE, 5)
        job.finish()
        self.assertEqual(machine.summary()["workers_detail"][2]["incarnations"], 2)

    def test_of_the_reducer(self):
        job = TwoLevelJob(self, alone=1, epochs=8)
        machine = job.machines[0]
        machine.until_gradients(0, 10)
        machine.reducer.send(signal.SIGKILL)
        self.assertEqual(machine.reducer.wait(), -signal.SIGKILL)
        job.until_gradients(0, job.gradients(0) + 5)  # The others go on.
        machine.start()
        for worker in range(HERE):
            machine.until_gradients(worker, machine.gradients(worker) + 5)
        summary = job.finish()
        self.assertEqual(summary["workers_detail"][0]["incarnations"], 2)

    def test_of_all_workers_of_a_machine(self):
        job = TwoLevelJob(self, alone=1, epochs=8)
        machine = job.machines[0]
        machine.until_gradients(0, 10)
        for worker in machine.workers:
            worker.send(signal.SIGKILL)
        job.until_gradients(0, job.gradients(0) + 5)
        machine.workers += [machine.start_worker(worker) for worker in range(HERE)]
        machine.until_gradients(HERE, 5)
        job.finish()

    def test_a_machine_that_is_told_to_end_leaves(self):
        job = TwoLevelJob(self, alone=1, epochs=8)
        machine = job.machines[0]
        machine.until_gradients(0, 10)
        machine.reducer.send(signal.SIGTERM)
        self.assertEqual(machine.reducer.wait(), 128 + signal.SIGTERM)
        self.assertIn("worker 0 has left", job.server.err)
        for worker in machine.workers:
            self.assertNotEqual(worker.wait(), 0)
        job.machines = []
        job.finish()

    def test_a_machine_that_is_told_to_end_waits_for_no_server(self):
        job = TwoLevelJob(self)
        machine = job.machines[0]
        machine.until_gradients(0, 10)
        job.server.send(signal.SIGKILL)
        self.assertEqual(job.server.wait(), -signal.SIGKILL)
        machine.reducer.send(signal.SIGTERM)
        self.assertEqual(machine.reducer.wait(), 128 + signal.SIGTERM)
        for worker in machine.workers:
            self.assertNotEqual(worker.wait(), 0)

    def test_of_the_server_which_goes_on(self):
        job = TwoLevelJob(self, epochs=6, options=("--checkpoint-every", 5))
        machine = job.machines[0]
        machine.until_gradients(0, 20)
        job.server.send(signal.SIGKILL)
        self.assertEqual(job.server.wait(), -signal.SIGKILL)
        job.server_words += ("--resume", job.run)
        job.start_server(job.run)
        job.finish()


class Equal(PythonTest):
    """Under sync, a machine of four workers trains as four workers do."""

    def weights(self, command, levels, *options, here=None):
        """The weights after a run of four workers, and what the server said of it.

        `here`: the command of the machine's process, in place of `outpace reduce`.
        """
        folder = self.folder / levels
        folder.mkdir()
        place = f"unix:{folder}/s"
        server = self.start("server", "--policy", "sync", "--workers", 1 if levels == "two" else HERE,
                            "--listen", place, "--token-file", folder / "token", "--out",
                            folder / "run", "--json", *options)
        server.until_said("listening on")
        variables = {"PYTHONPATH": PACKAGE, "OMP_NUM_THREADS": "1"}
        if levels == "two":
            words = here or ("reduce", "--workers-here", HERE, "--out", folder / "machine", "--json", "--",
                             *command)
            workers = [self.start(words[0], "--server", place, "--token-file", folder / "token",
                                  "--worker", 0, *words[1:], variables=variables)]
        else:
            workers = [self.start(*command[1:], program=command[0], variables={
                **variables, "OUTPACE_SERVER": place, "OUTPACE_WORKER": str(rank),
                "OUTPACE_TOKEN_FILE": str(folder / "token")}) for rank in range(HERE)]
        self.assertEqual(server.wait(), 0, server.err)
        for worker in workers:
            self.assertEqual(worker.wait(), 0, worker.err)
        self.assert_nothing_left()
        if levels == "two" and not here:
            self.assertEqual(json.loads(workers[0].out)["examples"],
                             json.loads(server.out)["examples"])
        numbers, _ = read_weights(folder / "run" / "weights.safetensors")
        return numbers, json.loads(server.out)

    def check(self, command, *options, here=None):
        expected, flat = self.weights(command, "one", *options)
        found, reduced = self.weights(command, "two", *options, here=here)
        norm = math.sqrt(sum(one * one for one in expected))
        self.assertLess(math.dist(expected, found), 1e-6 * norm)
        self.assertEqual(flat["examples"], reduced["examples"])
        gradients = [summary["traffic"]["gradients"]["bytes"] for summary in (flat, reduced)]
        self.assertEqual(gradients[0], HERE * gradients[1])

    def check_script(self, *words):
        self.check((PYTHON, "-B", SCRIPTS / "script.py", "--epochs", "4", *words), "--batch", 16)

    def test_with_libtorch(self):
        self.check((OUTPACE, "worker"), "--updates", 20, "--lr", 0.1)

    def test_one_command_starts_the_workers_too(self):
        self.check((OUTPACE, "worker"), "--updates", 12, "--lr", 0.1,
                   here=("worker", "--reduce-here", HERE))

    def test_a_script_with_an_optimizer_of_its_own_and_a_schedule(self):
        self.check_script("--optimizer", "adam", "--schedule")

    def test_a_script_whose_running_statistics_are_averaged(self):
        self.check_script("--optimizer", "momentum", "--batch-norm")

    def test_a_script_that_ends_the_run_ends_the_job(self):
        for how, why in (("stops", "the loss no longer falls"),
                         ("breaks", "the loops of all workers have ended")):
            with self.subTest(how):
                _, summary = self.weights((PYTHON, "-B", SCRIPTS / "ends.py", how, "all"), "two",
                                          "--batch", 16)
                self.assertEqual(summary["why_ended"], why)
                shutil.rmtree(self.folder / "two")


class Refused(ProgramTest):
    def test_each_is_a_sentence(self):
        token = self.path("token", "f" * 64)
        words = ("reduce", "--server", f"unix:{self.folder}/s", "--token-file", token, "--worker", 0)
        for more, why in (
                (("--workers-here", 2, "--policy", "async"),
                 "--policy async conflicts with outpace reduce: one gradient of a machine is of one "
                 "version of the weights; take sync, backup, kbatchsync or dynamic"),
                (("--workers-here", 2, "--listen", "127.0.0.1:0"),
                 "--listen 127.0.0.1:0: the workers of outpace reduce are on its machine; give unix:PATH"),
                (("--workers-here", 0), "--workers-here")):
            with self.subTest(why):
                process = self.start(*words, *more)
                self.assertEqual(process.wait(), 2)
                self.assertIn(why, process.err)

    def test_local_steps_of_the_job(self):
        place, token = f"unix:{self.folder}/s", self.folder / "token"
        server = self.start("server", "--workers", 1, "--local-steps", 4, "--policy", "sync",
                            "--listen", place, "--token-file", token, "--updates", 4)
        server.until_said("listening on")
        here = f"unix:{self.folder}/r"
        machine = self.start("reduce", "--server", place, "--token-file", token, "--worker", 0,
                             "--workers-here", 1, "--listen", here)
        machine.until_said("for 1 workers at")
        worker = self.start("--server", here, "--token-file", token, "--worker", 0,
                            program=LEDGER_WORKER)
        self.assertEqual(machine.wait(), 4, machine.err)
        self.assertIn("this job has --local-steps 4, and this worker pushes each mini-batch",
                      machine.err)
        self.assertNotEqual(worker.wait(), 0)
        self.assertTrue(server.running())


class RefusedWorker(ProgramTest):
    """Where the program has libtorch: `outpace worker` is refused there first."""

    def test_what_takes_local_steps(self):
        token = self.path("token", "f" * 64)
        process = self.start("worker", "--server", f"unix:{self.folder}/s", "--token-file", token,
                             "--worker", 0, "--reduce-here", 2, "--keep-state", self.folder)
        self.assertEqual(process.wait(), 2)
        self.assertIn("--keep-state conflicts with --reduce-here: it takes local steps", process.err)


if __name__ == "__main__":
    main()
