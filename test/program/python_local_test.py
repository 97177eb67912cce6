"""Python scripts that step by themselves: job.wrap(net, optimizer, local_steps=H)."""

import json
import signal
import sys

sys.dont_write_bytecode = True
from jobs import main, read_json_lines  # noqa: E402
from python_jobs import PACKAGE, PYTHON, SCRIPTS, PythonTest  # noqa: E402

SCRIPT = SCRIPTS / "local.py"


class LocalJob(PythonTest):
    def job(self, *words, workers=2, options=(), code=0, policy="sync"):
        """`outpace run` of the script; what it said."""
        self.run = self.folder / f"run-{next(self.names)}"
        job = self.start("run", "--workers", workers, "--policy", policy, "--out", self.run, "--json",
                         *options, "--show-output", "all", "--", PYTHON, "-B", SCRIPT, *words,
                         variables={"PYTHONPATH": PACKAGE, "OMP_NUM_THREADS": "1"})
        self.assertEqual(job.wait(), code, job.err)
        self.assert_nothing_left()
        return job

    def printed(self, process):
        """The JSON lines of a worker or the evaluator."""
        log = (self.run / "logs" / f"{process}.out").read_text()
        return [json.loads(line) for line in log.splitlines() if line.startswith("{")]

    def batches(self, worker=0):
        return [line["batch"] for line in self.printed(f"worker-{worker}") if "batch" in line]

    def examples_once(self):
        found = self.summary()
        self.assertEqual(found["examples_used_per_epoch_min"], 1)
        self.assertEqual(found["examples_used_per_epoch_max"], 1)
        return found


    def is_pytorch_alone(self, optimizer, options, *words):
        """One worker that averages, beside PyTorch on the same mini-batches."""
        self.job("--optimizer", optimizer, *words, workers=1,
                 options=(*options, "--outer-optimizer", "sgd:lr=1"))
        taken = self.folder / "taken.json"
        taken.write_text(json.dumps(self.batches()))
        twin = self.python(SCRIPT, "--optimizer", optimizer, "--twin", taken, "--weights",
                           self.run / "weights.safetensors")
        self.finish(twin)
        off = self.lines(twin)[-1]["off"]
        print(f"{optimizer}, {' '.join(map(str, options))}: relative L2 distance {off:.2g}",
              file=sys.stderr)
        self.assertLess(off, 1e-6)
        self.examples_once()


class Steps(LocalJob):
    def test_one_worker_that_averages_is_pytorch_alone(self):
        for optimizer in ("sgd", "adamw", "own"):
            with self.subTest(optimizer):
                self.is_pytorch_alone(optimizer, ("--local-steps", 5))

    def test_a_phase_is_one_push(self):
        self.job("--epochs", 2, options=("--local-steps", 4))
        found = self.examples_once()
        # 512 examples of 32 are 16 mini-batches an epoch, four of which are a phase.
        self.assertEqual(found["gradients_applied"], 2 * 16 / 4)
        self.assertEqual(sum(len(self.batches(worker)) for worker in (0, 1)), 2 * 16)
        for worker in (0, 1):
            versions = [line["version"] for line in self.printed(f"worker-{worker}")
                        if "version" in line]
            self.assertEqual(sorted(versions), versions)
        self.assertIsNone(found["training_loss"])  # loss.backward() tells nobody.
        self.assertEqual((found["local_steps"], found["outer_optimizer"], found["optimizer"], found["lr"]),
                         (4, "nesterov:mu=0.9,lr=0.7", "the script's", None))
        self.assertLess(found["final_loss"], 0.7)

    def test_backward_of_the_job_tells_the_loss(self):
        self.job("--told", options=("--local-steps", 4))
        self.assertGreater(self.summary()["training_loss"], 0)

    def test_the_loader_loads_early_across_phases(self):
        self.job("--processes", 2, options=("--local-steps", 3))
        self.examples_once()

    def test_who_is_cut_off_hands_in_what_it_has_done(self):
        self.job("--pause", 0.002, "--epochs", 3, workers=3, policy="backup:cutoff=2",
                 options=("--local-steps", 6, "--slow", "worker=2,factor=4"))
        found = self.examples_once()
        self.assertGreater(found["workers_detail"][2]["partial"], 0)
        replay = self.start("replay", self.run)
        self.assertEqual(replay.wait(), 0, replay.err)

    def test_what_the_cut_off_hand_in_is_the_same_steps_made_alone(self):
        self.job("--pause", 0.002, "--epochs", 3, workers=3, policy="backup:cutoff=2",
                 options=("--local-steps", 6, "--slow", "worker=2,factor=4",
                          "--outer-optimizer", "sgd:lr=1"))
        self.assertGreater(self.summary()["workers_detail"][2]["partial"], 0)
        parts = self.folder / "parts.json"
        parts.write_text(json.dumps(self.parts_of_updates()))
        twin = self.python(SCRIPT, "--averaging-twin", parts, "--weights",
                           self.run / "weights.safetensors")
        self.finish(twin)
        off = self.lines(twin)[-1]["off"]
        print(f"parts: relative L2 distance {off:.2g}", file=sys.stderr)
        self.assertLess(off, 1e-6)

    def parts_of_updates(self):
        """For each update its parts, each the mini-batches that its worker printed."""
        printed = {}
        for worker in range(3):
            for line in self.printed(f"worker-{worker}"):
                if "batch" in line:
                    printed.setdefault((worker, line["version"]), []).append(line["batch"])
        arrived, parts, updates = {}, [], []
        for line in read_json_lines(self.run / "decisions.jsonl"):
            event = line.get("event", {})
            if event.get("type") == "gradient_arrived":
                part = printed[event["worker"], event["computed_on"]]
                self.assertEqual(sum(map(len, part)), event["examples"])
                arrived[event["release"]] = part
            for action in line.get("actions", []):
                if action["type"] == "accept":
                    parts.append(arrived[action["release"]])
                elif action["type"] == "commit":
                    updates.append(parts)
                    parts = []
        return updates

    def test_who_leaves_hands_in_what_it_has_done(self):
        self.job("--leave-after", 3, workers=1, options=("--local-steps", 8))
        found = self.summary()
        self.assertEqual(found["examples"], 3 * 32)
        self.assertEqual(found["workers_detail"][0]["partial"], 1)

    def test_a_step_that_is_not_finite_is_turned_away_and_its_optimizer_begins_anew(self):
        self.job("--optimizer", "adamw", "--nan-at", 2, options=("--local-steps", 4))
        log = (self.run / "logs" / "worker-0.log").read_text()
        self.assertIn("its local steps were turned away", log)
        found = self.examples_once()
        self.assertEqual(found["gradients_refused"], 1)
        self.assertLess(found["final_loss"], 0.7)


class Ahead(LocalJob):
    """--steps-ahead: a worker goes on while its push and the next weights travel."""

    OPTIONS = ("--local-steps", 5, "--steps-ahead")

    def test_one_worker_that_averages_is_pytorch_alone(self):
        for optimizer in ("sgd", "adamw"):
            with self.subTest(optimizer):
                self.is_pytorch_alone(optimizer, self.OPTIONS, "--epochs", 4)

    def test_each_example_counts_once_whoever_is_cut_off_dies_or_comes_late(self):
        for policy, words in (("sync", ("--die-at", 8)), ("backup:cutoff=2", ()), ("async", ()),
                              ("dynamic", ("--own-data",))):
            with self.subTest(policy):
                self.job("--pause", 0.002, "--epochs", 6, "--processes", 2, *words, workers=3,
                         policy=policy, options=(*self.OPTIONS, "--restart-workers"))
                self.examples_once()
                self.assertLess(self.summary()["final_loss"], 0.7)

    def test_they_take_local_steps(self):
        job = self.job(options=("--steps-ahead",), code=2)
        self.assertEqual(job.err, "outpace: --steps-ahead without --local-steps: the server makes "
                                  "the steps; remove it, or add --local-steps\n")


class Kept(LocalJob):
    WORDS = ("--optimizer", "adamw", "--epochs", 60, "--pause", 0.03, "--die-at", 40)

    def said(self, *options):
        self.job(*self.WORDS, options=("--local-steps", 4, "--restart-workers", *options))
        self.examples_once()
        return (self.run / "logs" / "worker-1.log").read_text()

    def test_a_worker_that_is_started_again_goes_on_with_its_state(self):
        self.assertRegex(self.said("--keep-worker-state"),
                         "joins at update [0-9]+: its local steps go on with the state that it had at "
                         "update [0-9]+\n")
        self.assertEqual((self.run / "workers" / "worker-1.pt").stat().st_mode & 0o777, 0o600)

    def test_and_without_it_says_that_it_begins_anew(self):
        self.assertIn("the optimizer of its local steps begins anew", self.said())
        self.assertFalse((self.run / "workers").exists())

    def test_it_takes_local_steps(self):
        run = self.start("run", "--keep-worker-state", "--", PYTHON, "-c", "pass")
        self.assertEqual(run.wait(), 2)
        self.assertIn("--keep-worker-state without --local-steps", run.err)


class Kinds(LocalJob):
    def test_narrow_types_frozen_layers_and_running_statistics(self):
        for kind in ("bf16", "lora", "normalised"):
            with self.subTest(kind):
                self.job(f"--{kind}", "--epochs", 4, options=("--local-steps", 4))
                found = self.examples_once()
                self.assertLess(found["final_loss"], 0.68)

    def test_frozen_parameters_that_differ_are_refused(self):
        job = self.job("--lora", "--other-base", options=("--local-steps", 4), code=4)
        self.assertIn("the frozen parameters are others than the first worker's", job.err + job.out)

    def test_a_stream_of_the_scripts_own_is_counted(self):
        self.job("--own-data", "--epochs", 1, options=("--local-steps", 4, "--epochs", 1))
        found = self.summary()
        self.assertEqual(found["examples"], 2048)
        self.assertLess(found["final_loss"], 0.7)


class Ways(LocalJob):
    """Beside `outpace run`."""

    def test_alone_the_same_script_is_plain_pytorch(self):
        alone = self.python(SCRIPT, "--local-steps", 4, "--optimizer", "own")
        self.finish(alone)
        self.assertEqual(self.lines(alone)[-1]["steps"], 2 * 16)
        self.assertIn("epoch 1: loss", alone.err)

    def test_a_server_of_its_own_and_a_worker_that_is_killed(self):
        server = self.server("--local-steps", 4, "--policy", "async", "--epochs", 60, workers=2)
        words = ("--local-steps", 4, "--epochs", 60, "--pause", 0.02)
        first = self.python(SCRIPT, *words, rank=0)
        lost = self.python(SCRIPT, *words, "--optimizer", "adamw", rank=1)
        lost.until_printed('"version": 2')
        lost.send(signal.SIGKILL)
        lost.wait()
        late = self.python(SCRIPT, *words, "--optimizer", "adamw", rank=1)
        self.finish(server, first, late)
        self.assertIn("the optimizer of its local steps begins anew", late.err)
        self.examples_once()


class Misuse(LocalJob):
    def refused(self, *words, options=("--local-steps", 4), code=2):
        job = self.job(*words, workers=1, options=options, code=code)
        return job.err + job.out

    def test_each_is_a_sentence(self):
        cases = {
            "twice": "has made its step with this mini-batch",
            "shape": "parameter '2.weight' was replaced after job.wrap(), or has another shape",
            "group": "add_param_group() after wrap()",
            "zero": "local_steps=0; it takes a whole number, 1 or more",
            "server": "LAMB is an optimizer of the server, and local steps are made here",
            "loader": "this worker has no mini-batch: iterate over job.loader(dataset)",
            "sampler": "with local steps write job.loader(dataset, num_workers=2)",
        }
        for misuse, sentence in cases.items():
            with self.subTest(misuse):
                self.assertIn(sentence, self.refused("--misuse", misuse))

    def test_another_number_of_steps_is_refused(self):
        self.assertIn("local_steps=3, and this run has --local-steps 4",
                      self.refused("--local-steps", 3))
        self.assertIn("start it with --local-steps 3", self.refused("--local-steps", 3, options=(), code=4))

    def test_an_optimizer_of_the_server_is_refused(self):
        run = self.start("run", "--local-steps", 4, "--lr", 0.1, "--", PYTHON, "-c", "pass")
        self.assertEqual(run.wait(), 2)
        self.assertIn("--lr 0.1 conflicts with --local-steps 4", run.err)
        self.assertEqual(len(run.err.splitlines()), 1)


if __name__ == "__main__":
    main()
