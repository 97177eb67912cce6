"""The Python package with real servers: it trains, learns, and equals PyTorch alone; and what goes
wrong is said in one line."""

import json
import pathlib
import signal
import sys
import textwrap

sys.dont_write_bytecode = True
from jobs import main, read_weights  # noqa: E402
from python_jobs import (EXAMPLES, PACKAGE, PYTHON, ROOT, SCRIPTS, PythonTest,  # noqa: E402
                         ScriptLedger)
from resume_test import ResumableJob  # noqa: E402

SCRIPT = SCRIPTS / "script.py"
EQUAL = SCRIPTS / "equal.py"
TWIN = SCRIPTS / "twin.py"
MEASURED = SCRIPTS / "measured.py"


class Trains(PythonTest):
    def test_two_workers_learn_under_each_kind_of_policy(self):
        for policy in ("sync", "async"):
            with self.subTest(policy):
                server = self.server("--policy", policy, "--batch", 16, workers=2)
                workers = [self.python(SCRIPT, "--optimizer", "momentum", "--epochs", 25, rank=rank)
                           for rank in range(2)]
                self.finish(server, *workers)
                summary = self.summary()
                self.assertEqual(summary["examples_used_per_epoch_min"], 1)
                self.assertEqual(summary["examples_used_per_epoch_max"], 1)
                self.assertEqual(summary["epochs_complete"], 25)
                for worker in workers:
                    end = self.lines(worker)[-1]
                    self.assertGreater(end["accuracy"], 0.8)
                    self.assertGreater(end["verdicts"].count("ACCEPTED"), 0)
                for path in (self.folder / "s", self.run):
                    path.rename(self.folder / f"{path.name}-{policy}") if path.exists() else None

    def test_alone_the_same_script_learns(self):
        alone = self.python(SCRIPT, "--optimizer", "momentum", "--epochs", 25, "--evaluate")
        self.finish(alone)
        self.assertGreater(self.lines(alone)[-1]["accuracy"], 0.8)
        self.assertIn("outpace: epoch 24: accuracy 0.", alone.err)

    def test_a_late_worker_has_the_schedule_of_the_others(self):
        server = self.server("--policy", "async", "--batch", 8, workers=2)
        words = ("--optimizer", "momentum", "--epochs", 6, "--schedule")
        first, late = self.first_and_late(server, SCRIPT, words, hold_at=3, said="batch")
        self.assertGreaterEqual(self.lines(late)[0]["epoch"], 3)
        self.assertNotIn("Warning", first.err + late.err)

    def test_a_worker_that_comes_after_the_run_goes_on_after_its_loop(self):
        for late in (1, 0):  # The worker that saves, too.
            with self.subTest(f"worker {late}"):
                gates = {name: self.folder / f"{name}-{late}"
                         for name in ("late", "until", "linger", "save")}
                run = self.start(
                    "run", "--workers", 2, "--policy", "async", "--batch", 64, "--restart-workers",
                    "--out", f"run-{late}", "--json", "--show-output", "all", "--", PYTHON, "-B",
                    SCRIPT, "--epochs", 2, "--schedule", "--late-rank", late, "--hold-at", 0,
                    "--hold-rank", 1 - late, *(word for name, gate in gates.items()
                                               for word in (f"--{name}", gate)),
                    variables={"PYTHONPATH": PACKAGE})
                log = self.folder / f"run-{late}" / "logs" / f"worker-{late}"
                run.until_said('{"waits": true}')
                gates["until"].touch()
                run.until_said("the run is over, and the script goes on")
                gates["late"].touch()
                self.until(run, lambda: "came when the run was over: it has computed nothing"
                           in log.with_suffix(".log").read_text(), "the late worker")
                gates["linger"].touch()
                self.finish(run)
                self.assertEqual(gates["save"].exists(), late == 1)
                said = log.with_suffix(".log").read_text()
                self.assertEqual("save: nothing is written" in said, late == 0, said)
                self.assertNotIn("UserWarning", said)

    def test_the_evaluator_is_one_more_process_of_the_script(self):
        server = self.server("--policy", "sync", "--batch", 16, "--evaluate-every", 256, workers=1)
        words = ("--epochs", 8, "--evaluate", "--optimizer", "momentum")
        evaluator = self.python(SCRIPT, *words, rank=0, OUTPACE_ROLE="evaluator")
        self.until(evaluator, lambda: self.waits(evaluator), "the evaluator's connection")
        worker = self.python(SCRIPT, *words, rank=0)
        self.finish(server, worker, evaluator)
        self.assertGreater(self.summary()["final_accuracy"], 0.6)
        self.assertEqual(self.lines(evaluator)[-1]["verdicts"], ["CANCELLED"], "once, unleased")

    def test_worker_0_evaluates_a_network_whose_running_statistics_stay_with_the_workers(self):
        server = self.server("--policy", "sync", "--batch", 16, workers=2)
        words = ("--epochs", 8, "--evaluate", "--batch-norm", "--buffers", "own", "--optimizer",
                 "momentum")
        workers = [self.python(SCRIPT, *words, rank=rank) for rank in range(2)]
        self.finish(server, *workers)
        self.assertRegex(workers[0].err, "outpace: epoch 7: accuracy (0.[6-9]|1.0)")
        self.assertNotIn("accuracy", workers[1].err)


class Buffers(PythonTest):
    """Running statistics of batch normalisation are averaged by the server."""

    WORDS = ("--epochs", 8, "--evaluate", "--batch-norm", "--optimizer", "momentum")

    def measured(self, path):
        """What one process measures with the weights and buffers in this file."""
        alone = self.python(MEASURED, path)
        self.finish(alone)
        return self.lines(alone)[-1]

    def test_the_server_keeps_their_mean_by_examples(self):
        # The last update is of 16 and of 8 examples, so that the mean by workers would be another.
        server = self.server("--policy", "sync", "--batch", 16, workers=2)
        words = (*self.WORDS[2:], "--examples", 20, "--epochs", 6)
        workers = [self.python(SCRIPT, *words, rank=rank) for rank in range(2)]
        self.finish(server, *workers)
        pushed = {}  # By version: (examples, values).
        for worker in workers:
            size = 0
            for line in self.lines(worker):
                size = len(line["batch"]) if "batch" in line else size
                if "pushes" in line:
                    pushed.setdefault(line["version"], []).append((size, line["pushes"]))
        mean = [0.0] * 32 + [1.0] * 32
        for version in sorted(pushed):
            total = sum(size for size, _ in pushed[version])
            now = [sum(size * value for size, value in zip([one[0] for one in pushed[version]],
                                                           values)) / total
                   for values in zip(*(one[1] for one in pushed[version]))]
            mean = [0.8 * old + 0.2 * new for old, new in zip(mean, now)]
        self.assertEqual(sorted(size for size, _ in pushed[max(pushed)]), [8, 16])
        found = self.measured(self.run / "weights.safetensors")["statistics"]
        for one, other in zip(found, mean):
            self.assertAlmostEqual(one, other, delta=1e-5 * max(1.0, abs(other)))

    def test_the_evaluator_measures_with_them_what_one_process_does(self):
        for policy in ("sync", "async"):
            with self.subTest(policy):
                run = self.start(
                    "run", "--workers", 2, "--policy", policy, "--batch", 16, "--evaluate-every",
                    512, "--out", policy, "--json", "--", PYTHON, "-B", SCRIPT, *self.WORDS,
                    "--save", self.folder / f"{policy}.safetensors",
                    variables={"PYTHONPATH": PACKAGE})
                self.finish(run)
                folder = self.folder / policy
                summary = json.loads((folder / "summary.json").read_text())
                alone = self.measured(folder / "weights.safetensors")
                self.assertAlmostEqual(summary["final_accuracy"], alone["accuracy"], places=6)
                self.assertGreater(alone["accuracy"], 0.6)
                self.assertGreater(min(alone["statistics"][32:]), 0.0)
                self.measured(self.folder / f"{policy}.safetensors")  # It fits the network.

    def test_a_worker_that_comes_late_begins_with_the_mean(self):
        server = self.server("--policy", "async", "--batch", 16, workers=2)
        _, late = self.first_and_late(server, SCRIPT, self.WORDS, hold_at=4, said="pushes")
        variances = next(line["pushes"] for line in self.lines(late) if "pushes" in line)[32:]
        # One mini-batch moves a variance by a tenth: those of a newcomer would be near 1.
        self.assertLess(min(variances), 0.5)

    def test_an_option_that_corrects_gradients_conflicts_with_them(self):
        server = self.server("--policy", "sync", "--batch", 16, "--clip-norm", 1)
        worker = self.python(SCRIPT, *self.WORDS, rank=0)
        self.assertEqual(worker.wait(), 4, worker.err)
        self.assertIn("conflicts with the network's buffers, which are averaged",
                      worker.err.splitlines()[-1])
        server.send(signal.SIGKILL)
        server.wait()


class Equal(PythonTest):
    """A synchronous run of two workers is PyTorch alone on both mini-batches at once."""

    DEVICE = "cpu"

    def check(self, optimizer, most, *options):
        server = self.server("--policy", "sync", "--batch", 16, "--updates", 100, workers=2)
        workers = [self.python(SCRIPT, "--optimizer", optimizer, "--device", self.DEVICE, *options,
                               rank=rank) for rank in range(2)]
        self.finish(server, *workers)
        batches = {}  # The examples of each update.
        for worker in workers:
            for line in self.lines(worker):
                if "batch" in line:
                    batches.setdefault(line["version"], []).extend(line["batch"])
        self.assertEqual(sorted(batches), list(range(100)))
        self.path("batches.json", json.dumps([batches[update] for update in range(100)]))
        twin = self.python(EQUAL, optimizer, "batches.json", self.run / "weights.safetensors",
                           self.DEVICE)
        self.finish(twin)
        distance = self.lines(twin)[-1]["relative_l2"]
        print(f"{optimizer}: relative L2 distance of the change {distance:.2g}", file=sys.stderr)
        self.assertLess(distance, most)
        return workers

    def test_sgd(self):
        self.check("sgd", 1e-4)

    def test_momentum(self):
        self.check("momentum", 1e-4)

    def test_nesterov(self):
        self.check("nesterov", 1e-4)

    def test_adam(self):
        self.check("adam", 1e-2)

    def test_adamw(self):
        self.check("adamw", 1e-2)

    def test_rmsprop(self):
        self.check("rmsprop", 1e-5)

    def test_centered_rmsprop(self):
        self.check("centered", 1e-5)

    def test_adagrad(self):
        self.check("adagrad", 1e-5)

    def test_adadelta(self):
        self.check("adadelta", 1e-5)

    def test_groups(self):
        self.check("groups", 1e-4)

    def test_accumulation(self):
        self.check("momentum", 1e-4, "--accumulate", 3)


class EqualToTheCppWorker(PythonTest):
    """A synchronous run of Python workers ends with the weights of C++ workers' run: one network, seed
    and order of examples, 100 updates."""

    def check(self, network):
        words = ("--policy", "sync", "--workers", 2, "--batch", 32, "--updates", 100, "--seed", 7)
        begin = self.folder / "begin.safetensors"
        self.finish(self.python(TWIN, "begin", network, begin))
        cpp = self.start("train", *words, "--network", network, "--data", "fashion-mnist", "--lr",
                         0.05, "--evaluate-every", 10**9, "--weights", begin, "--out", "cpp")
        self.finish(cpp)
        script = self.start("run", *words, "--out", "python", "--", PYTHON, "-B", TWIN, "train",
                            network, begin, 0.05, variables={"PYTHONPATH": PACKAGE})
        self.finish(script)
        compared = self.python(TWIN, "compare", begin, *(
            self.folder / run / "weights.safetensors" for run in ("cpp", "python")))
        self.finish(compared)
        distance = self.lines(compared)[-1]["relative_l2"]
        print(f"{network}: relative L2 distance of the change from the C++ worker's {distance:.2g}",
              file=sys.stderr)
        self.assertLess(distance, 1e-6)

    def test_mlp(self):
        self.check("mlp")

    def test_cnn(self):
        self.check("cnn")


class Verdicts(PythonTest):
    def test_a_gradient_that_is_not_finite_is_refused(self):
        server = self.server("--policy", "sync", "--batch", 32)
        worker = self.python(SCRIPT, "--epochs", 2, "--nan-at", 3, rank=0)
        self.finish(server, worker)
        verdicts = self.lines(worker)[-1]["verdicts"]
        self.assertEqual(verdicts[3], "REFUSED")
        self.assertEqual(verdicts.count("REFUSED"), 1)
        self.assertEqual(self.summary()["examples_used_per_epoch_max"], 1)

    def test_a_backward_pass_that_nobody_waits_for_ends(self):
        server = self.server("--policy", "backup:cutoff=1", "--batch", 32, "--updates", 40,
                             workers=2)
        go_on = self.folder / "go-on"  # Else the run may be over before the other has begun.
        workers = [self.python(SCRIPT, "--wait-until-cancelled", "--hold-at", 0, "--until", go_on,
                               rank=rank) for rank in range(2)]
        self.until(workers[1], lambda: '{"waits": true}' in workers[1].out, "worker 1 to wait")
        go_on.touch()
        self.finish(server, *workers)
        self.assertIn("CANCELLED", self.lines(workers[1])[-1]["verdicts"])

    def test_the_passes_of_a_cancelled_mini_batch_that_are_done_count(self):
        server = self.server("--policy", "saps:s=2,action=preempt", "--batch", 32, workers=2)
        words = ("--accumulate", 4, "--parts", "--epochs", 1000000)
        workers = [self.python(SCRIPT, *words, rank=rank) for rank in range(2)]
        self.until(workers[1], lambda: '{"part": "ACCEPTED"}' in workers[1].out, "a part to count")
        server.send(signal.SIGTERM)
        for process in (server, *workers):
            process.wait()
        self.assertGreater(self.summary()["workers_detail"][1]["partial"], 0)


class ResumableScripts(ScriptLedger, ResumableJob):
    """Workers in Python, of a server that may be killed and started again."""


class Faults(PythonTest):
    """Each example counts once an epoch, whatever dies."""

    def killed(self, words):
        job = ScriptLedger(self, "async", words, hold_at=20, workers=3, examples=512, epochs=4)
        job.until_held()
        job.workers[1].send(signal.SIGKILL)
        job.workers[1].wait()
        job.go_on()
        job.finish()  # Also of its DataLoader's processes.
        job.assert_each_example_used(job.summary())
        return job

    def test_a_worker_of_numpy_is_killed(self):
        self.killed(("numpy",))

    def test_a_worker_with_examples_loaded_early_is_killed(self):
        job = self.killed(("torch", 2))
        self.assertIn("told of 4 more", job.workers[0].out)

    def resumed(self, words):
        job = ResumableScripts(self, "async", words, hold_at=40, workers=2, examples=512, epochs=3)
        job.until_held()
        job.until_checkpoint(40)
        job.kill_server()
        job.resume()
        job.go_on()
        job.finish()
        self.assertIn("goes on from update", job.server.err)
        job.assert_each_example_used(job.summary())

    def test_the_server_of_numpy_workers_is_killed_and_resumed(self):
        self.resumed(("numpy",))

    def test_the_server_of_torch_workers_is_killed_and_resumed(self):
        self.resumed(("torch", 2))

    def test_an_interrupt_ends_the_wait_for_the_server(self):
        server = self.server("--policy", "sync", workers=2)
        worker = self.python(SCRIPT, rank=0)  # It waits for a second one.
        self.until(worker, lambda: self.waits(worker), "the worker's connection")
        worker.send(signal.SIGINT)
        self.assertNotEqual(worker.wait(20), 0)
        self.assertIn("KeyboardInterrupt", worker.err)
        server.send(signal.SIGTERM)
        server.wait()


    def test_an_interrupt_ends_the_wait_for_the_others(self):
        server = self.server("--policy", "sync", "--batch", 16, workers=2)
        held = self.python(SCRIPT, "--epochs", 9, "--hold-at", 1, "--hold-rank", 1, rank=1)
        worker = self.python(SCRIPT, "--epochs", 9, rank=0)
        self.until(held, lambda: "holds" in held.out, "worker 1 to hold")
        self.until(worker, lambda: worker.out.count("batch") == held.out.count("batch"),
                   "worker 0 to compute its part of the same update")
        worker.send(signal.SIGINT)
        self.assertNotEqual(worker.wait(20), 0)
        self.assertIn("KeyboardInterrupt", worker.err)
        for process in (held, server):
            process.send(signal.SIGKILL)
            process.wait()


class Kept(PythonTest):
    """Arrays over the worker's memory may outlive the worker."""

    def check(self, how, listen=None):
        server = self.start("server", "--workers", 1, "--policy", "async", "--lr", 1e-6, "--batch",
                            4, "--listen", listen or f"unix:{self.folder}/s", "--token-file",
                            self.folder / "token", "--out", self.folder / "run")
        server.until_said("listening on")
        address = server.err.partition("listening on ")[2].partition(";")[0]
        worker = self.python(SCRIPTS / "kept.py", how, rank=0, OUTPACE_SERVER=address,
                             OUTPACE_REJOIN_FOR="1s")
        if how == "lost":
            worker.until_printed("holds")
            server.send(signal.SIGKILL)
            server.wait()
        self.assertEqual(worker.wait(), 0, worker.err)
        self.assertIn("read 8 of 8", worker.out)
        low, high = map(float, worker.out.partition("last ")[2].split())
        self.assertTrue(0.9 < low <= high <= 1.0, worker.out)
        if how == "closed":
            server.send(signal.SIGKILL)
            server.wait()
        return worker

    def test_after_the_worker_was_closed(self):
        self.check("closed")

    def test_after_the_worker_was_closed_over_tcp(self):
        self.check("closed", listen="127.0.0.1:0")

    def test_after_the_server_was_lost_for_good(self):
        self.assertIn("the server is gone", self.check("lost").out)


class Examples(PythonTest):
    def test_momentum(self):
        server = self.server("--policy", "sync", "--batch", 16, workers=2)
        words = ("--examples", 4000, "--epochs", 2, "--save", "net.safetensors")
        workers = [self.python(EXAMPLES / "momentum.py", *words, rank=rank) for rank in range(2)]
        self.finish(server, *workers)
        for worker in workers:
            self.assertGreater(float(worker.out.rpartition("accuracy ")[2]), 0.6, worker.out)
        _, header = read_weights(self.folder / "net.safetensors")
        self.assertIn("conv1.weight", header)

    def test_adamw_with_a_data_loader_of_two_processes(self):
        server = self.server("--policy", "sync", "--batch", 32, workers=2)
        words = ("--examples", 2000, "--epochs", 3)
        workers = [self.python(EXAMPLES / "adamw.py", *words, rank=rank) for rank in range(2)]
        self.finish(server, *workers)
        self.assertEqual(self.summary()["examples_used_per_epoch_max"], 1)
        self.assertEqual(self.summary()["epochs_complete"], 3)
        for worker in workers:
            self.assertGreater(float(worker.out.rpartition("accuracy ")[2]), 0.6, worker.out)

    def test_regression_with_numpy(self):
        server = self.server("--policy", "async", "--lr", 0.1, "--epochs", 30, workers=2)
        workers = [self.python(EXAMPLES / "regression.py", rank=rank) for rank in range(2)]
        self.finish(server, *workers)
        weights, _ = read_weights(self.run / "weights.safetensors")
        for found, true in zip(weights, (3.0, -2.0, 0.5, 1.0)):
            self.assertAlmostEqual(found, true, delta=0.05)

    def test_outpace_run_starts_workers_and_the_evaluator(self):
        run = self.start("run", "--workers", 2, "--policy", "sync", "--batch", 16,
                         "--evaluate-every", 2000, "--out", "run", "--json", "--", PYTHON, "-B", EXAMPLES / "momentum.py",
                         "--examples", 3000, "--epochs", 2, variables={"PYTHONPATH": PACKAGE})
        self.finish(run)
        summary = json.loads((self.folder / "run" / "summary.json").read_text())
        self.assertEqual(summary["epochs_complete"], 2)
        self.assertEqual(summary["examples_used_per_epoch_max"], 1)
        self.assertGreater(summary["final_accuracy"], 0.4)
        self.assertIn("momentum", summary["optimizer"])

    def test_outpace_run_slows_down_workers_by_delays(self):
        delays = self.path("delays.csv", "0.05\n")
        run = self.start("run", "--workers", 1, "--policy", "sync", "--batch", 16, "--updates", 8,
                         "--delays", delays, "--delays-by", "iteration", "--out", "run", "--json",
                         "--", PYTHON, "-B", SCRIPT, variables={"PYTHONPATH": PACKAGE})
        self.finish(run)
        summary = json.loads((self.folder / "run" / "summary.json").read_text())
        self.assertGreaterEqual(summary["seconds"], 8 * 0.05)

    def test_outpace_run_ends_with_the_code_of_a_wrong_use(self):
        run = self.start("run", "--workers", 2, "--optimizer", "adam", "--out", "run", "--", PYTHON,
                         "-B", EXAMPLES / "momentum.py", "--examples", 64,
                         variables={"PYTHONPATH": PACKAGE})
        self.assertEqual(run.wait(), 4, run.err)
        self.assertIn("the script brings an optimizer, momentum:mu=0.9, and the server has "
                      "--optimizer adam", run.err)
        self.assert_nothing_left()


class Diverges(PythonTest):
    """Gradients that are finite, and weights that are not any more."""

    def test_ends_the_run_and_is_in_no_checkpoint(self):
        server = self.server("--policy", "async", "--epochs", 100_000, "--lr", 1, "--optimizer", "sgd",
                             "--checkpoint-every", 10)
        worker = self.python(SCRIPTS / "diverges.py", 45, rank=0)
        self.assertEqual(server.wait(), 1, server.err)
        self.assertRegex(server.err.splitlines()[-1], r"diverged: at update \d+ the weights are not finite")
        worker.wait()
        verified = self.start("checkpoint", "verify", self.run)
        self.assertEqual(verified.wait(), 0, verified.err)
        self.assertTrue(verified.out)
        self.assertNotIn("damaged", verified.out)
        inspected = self.start("checkpoint", "inspect", self.run)
        self.assertEqual(inspected.wait(), 0, inspected.err)
        again = self.start("server", "--resume", self.run)
        again.until_said("goes on from update ")
        update = int(again.err.partition("goes on from update ")[2].partition(",")[0])
        self.assertIn(update, range(10, 48))
        again.send(signal.SIGTERM)
        again.wait()


class BadUse(PythonTest):
    """One exception of one line, with the exit code of Outpace's own programs."""

    PRELUDE = textwrap.dedent("""\
        import json, sys, torch, outpace, outpace.torch as op
        from torch.utils.data import DataLoader
        sys.path.insert(0, %r)
        from script import Points, network
        import torch.nn.functional as F

        def train(job, net, optimizer, data, batches=1):
            loader = DataLoader(data, batch_sampler=job.sampler(data))
            for count, (x, y, _) in enumerate(loader, 1):
                if job.backward(F.cross_entropy(net(x), y)):
                    optimizer.step()
                if count == batches:
                    return

        for snippet in json.load(open(sys.argv[1])):
            net, data = network(), Points()
            names = {**globals(), "net": net, "data": data,
                     "sgd": torch.optim.SGD(net.parameters(), lr=0.1)}
            names["job"] = job = op.init()
            try:
                exec(snippet, names)
                print(json.dumps({"said": "no error", "code": 0}))
            except outpace.OutpaceError as error:
                print(json.dumps({"said": str(error), "code": error.exit_code}))
            job.worker.close()
        """)

    def said(self, *snippets, rank=0):
        """What each snippet raises; each has a job of its own, and all are one process."""
        script = self.path("bad.py", self.PRELUDE % str(SCRIPTS))
        self.path("snippets.json", json.dumps([textwrap.dedent(one) for one in snippets]))
        process = self.python(script, "snippets.json", rank=rank)
        self.assertEqual(process.wait(), 0, process.err)
        found = self.lines(process)
        self.assertEqual(len(found), len(snippets))
        for one in found:
            self.assertNotIn("\n", one["said"])
        return [(one["said"], one["code"]) for one in found]

    def check(self, cases, code, rank=0):
        for (snippet, *words), (said, found) in zip(
                cases, self.said(*(case[0] for case in cases), rank=rank)):
            with self.subTest(snippet):
                for word in words:
                    self.assertIn(word, said)
                self.assertEqual(found, code)

    def test_before_the_job(self):
        """No server is needed to say this: the worker has not connected yet."""
        self.path("token", "open-sesame\n")
        self.check((
            ("job.wrap(net.double(), sgd)", "parameter '0.weight' is float64"),
            ("job.wrap(torch.nn.Linear(2, 2), sgd)",
             "the optimizer has a parameter that the network does not have"),
            ("""
             net = torch.nn.Linear(2, 2, dtype=torch.complex64)
             job.wrap(net, torch.optim.SGD(net.parameters(), lr=0.1))
             """, "parameter 'weight' is complex64"),
            ("""
             words = torch.nn.Embedding(9, 2, sparse=True)
             job.wrap(torch.nn.Sequential(words), torch.optim.SGD(words.parameters(), lr=0.1))
             """, "module '0' gives sparse gradients"),
            ("job.wrap(net, sgd, scale_rate=True)", "start the script by `outpace run`"),
            ("job.wrap(net, sgd); job.wrap(network(), sgd)", "this job trains another network"),
            ("job.wrap(net, torch.optim.Adamax(net.parameters()))", "the server has no Adamax",
             "SGD, Adam, AdamW"),
            ("job.wrap(net, torch.optim.Adam(net.parameters(), amsgrad=True))", "amsgrad=True"),
            ("job.wrap(net, torch.optim.SGD(net.parameters(), lr=1, momentum=0.9, dampening=0.5))",
             "dampening=0.5"),
            ("job.wrap(net, sgd); sgd.step()", "optimizer.step() without job.backward(loss)"),
            ("job.wrap(net, sgd); sgd.step(lambda: 0)", "optimizer.step(closure)"),
            ("job.wrap(net, sgd); job.backward(torch.tensor(1.0))", "there is no mini-batch"),
            ("job.wrap(net, sgd); sgd.add_param_group({'params': []})", "add_param_group()"),
            ("job.wrap(net, sgd); job.loader(data, shuffle=True)", "shuffle is the job's"),
            ("job.wrap(net, sgd); job.loader(data, drop_last=True)", "drop_last=True needs the size"),
            ("train(job, net, sgd, data)", "job.wrap(net, optimizer) comes first"),
            ("job.wrap(net, sgd); job.sampler(data); job.sampler(Points(16))",
             "a data set of 16 examples, after one of 512")), code=2)

    def test_no_server(self):
        self.path("token", "open-sesame\n")
        self.check([(f"""
            worker = outpace.Worker("unix:{self.folder}/s", token="t", deadline=0.2)
            worker.join({{"a": (1,)}}, [0.0], examples=4)
            """, f"{self.folder}/s")], code=1)

    def test_in_the_job(self):
        server = self.server("--policy", "async", "--batch", 16, "--patience", "100s")
        self.check((
            ("""
             job.wrap(net, sgd)
             net.add_module("more", torch.nn.Linear(2, 2))
             sgd.param_groups[0]["params"].extend(net.more.parameters())
             train(job, net, sgd, data)
             """, "parameter 'more.weight' needs a gradient since wrap()"),
            ("""
             job.wrap(net, sgd)
             net[0].weight.data = torch.zeros(32, 2)
             train(job, net, sgd, data)
             """, "parameter '0.weight' was moved or replaced after wrap()"),
            ("""
             job.wrap(net, sgd)
             train(job, net, sgd, data)
             sgd.param_groups[0]["weight_decay"] = 0.5
             train(job, net, sgd, data)
             """, "options of the optimizer were changed after wrap()"),
            ("""
             job.wrap(net, sgd)
             train(job, net, sgd, data)
             sgd.param_groups[0]["lr"] = 0.5
             train(job, net, sgd, data)
             """, "the learning rate was changed within an epoch", "op.ByServer",
             "--schedule cosine:over=E"),
            ("""
             job.wrap(net, sgd)
             for x, y, _ in DataLoader(data, batch_sampler=job.sampler(data), num_workers=1):
                 pass
             """, "use job.loader(dataset, num_workers=N)"),
            ("""
             job.wrap(net, sgd)
             for x, y, _ in DataLoader(data, batch_sampler=job.sampler(data)):
                 job.backward(F.cross_entropy(net(x), y))
                 job.backward(F.cross_entropy(net(x), y))
             """, "whose gradient would be lost", "accumulate=K"),
            ("""
             job.wrap(net, sgd)
             for x, y, _ in job.loader(data):
                 job.backward(F.cross_entropy(net(x), y))
                 sgd.step()
                 net[0].weight.data.clamp_(-0.01, 0.01)
             """, "parameter '0.weight' was changed by the script"),
            ("""
             job.wrap(net, sgd)
             for x, y, _ in job.loader(data):
                 job.backward(F.cross_entropy(net(x), y))
                 sgd.step()
                 with torch.no_grad():
                     net[2].bias.mul_(0.5)
             """, "parameter '2.bias' was changed by the script", "in the forward pass"),
            ("""
             net[2].requires_grad_(False)
             job.wrap(net, sgd)
             for x, y, _ in job.loader(data):
                 job.backward(F.cross_entropy(net(x), y))
                 sgd.step()
                 net[2].bias.data.mul_(0.5)
             """, "parameter '2.bias' was changed by the script", "leave it out of the optimizer"),
            ("""
             job.wrap(net, sgd)
             for x, y, _ in job.loader(data):
                 F.cross_entropy(net(x), y).backward()
                 sgd.step()
             """, "write job.backward(loss) in place of loss.backward()"),
            ("""
             job.wrap(net, sgd)
             for x, y, _ in job.loader(data):
                 job.backward(F.cross_entropy(net(x), y))
                 sgd.zero_grad()
                 sgd.step()
             """, "zero_grad() after job.backward(loss) has thrown the gradient away"),
            ("""
             job.wrap(net, sgd)
             for count, (x, y, _) in enumerate(job.loader(data)):
                 if job.backward(F.cross_entropy(net(x), y) / 4) and count % 4 == 3:
                     sgd.step()
             """, "accumulate=K", "if job.backward(loss / K): optimizer.step()")), code=2)
        server.send(signal.SIGKILL)
        server.wait()

    def test_frozen_with_an_optimizer_that_moves_all(self):
        server = self.server("--policy", "async", "--optimizer", "momentum")
        self.check([("""
            sgd = op.ByServer(net.parameters())
            job.wrap(net, sgd)
            net[2].requires_grad_(False)
            train(job, net, sgd, data)
            """, "parameter '2.weight' was frozen after wrap()", "or use one of torch.optim")], code=2)
        server.send(signal.SIGKILL)
        server.wait()

    def test_not_the_jobs(self):
        server = self.server("--policy", "async", "--batch", 16, workers=2)
        first = self.python(SCRIPT, rank=0)
        self.until(first, lambda: self.waits(first), "worker 0")
        self.check((
            ("job.wrap(net, sgd); train(job, net, sgd, Points(16))", "16"),
            ("""
             net = torch.nn.Linear(2, 2)
             sgd = torch.optim.SGD(net.parameters(), lr=0.1)
             job.wrap(net, sgd)
             train(job, net, sgd, data)
             """, "another network"),
            ("""
             adam = torch.optim.Adam(net.parameters())
             job.wrap(net, adam)
             train(job, net, adam, data)
             """, "adam", "sgd")), code=4, rank=1)
        for process in (first, server):
            process.send(signal.SIGKILL)
            process.wait()

    def test_an_option_of_the_server_that_contradicts_the_script(self):
        server = self.server("--policy", "async", "--optimizer", "adam")
        self.check([("job.wrap(net, sgd); train(job, net, sgd, data)",
                     "the script brings an optimizer, sgd", "--optimizer adam")], code=4)
        uncaught = self.python(SCRIPT, rank=0)
        self.assertEqual(uncaught.wait(), 4, uncaught.err)
        self.assertIn("outpace.OutpaceError: the script brings", uncaught.err.splitlines()[-1])
        server.send(signal.SIGKILL)
        server.wait()


if __name__ == "__main__":
    main()
