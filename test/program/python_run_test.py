"""A script in Python as others start it: by `outpace run`, torchrun and mpirun; and what a newcomer is
told. There is no srun without its daemons: its variables are set by the test."""

import json
import shutil
import sys
import textwrap
import unittest

sys.dont_write_bytecode = True
from jobs import OUTPACE, main, read_json_lines  # noqa: E402
from launch_test import MPIRUN, TORCHRUN, slurm_variables  # noqa: E402
from python_jobs import PACKAGE, PYTHON, ROOT, SCRIPTS, PythonTest  # noqa: E402

SCRIPT = SCRIPTS / "script.py"


class RunTest(PythonTest):
    def run_script(self, policy, *words, epochs=3):
        """The summary of a run of two workers, and what it printed; its record is in `self.run`."""
        self.run = out = self.folder / f"run-{next(self.names)}"
        run = self.start("run", "--workers", 2, "--policy", policy, "--batch", 16, "--out", out,
                         "--json", "--", PYTHON, "-B", SCRIPT, "--epochs", epochs, *words,
                         variables={"PYTHONPATH": PACKAGE})
        self.finish(run)
        return json.loads((out / "summary.json").read_text()), run.err


class LargeBatch(RunTest):
    def test_the_run_says_that_an_update_has_the_examples_of_all_workers(self):
        _, said = self.run_script("sync")
        self.assertIn("worker 0: outpace: an update is the mean of 2 mini-batches, 32 examples, and "
                      "an epoch has 16 updates (alone 32); if it learns less than alone", said)

    def test_the_rate_grows_with_the_gradients_of_an_update_if_the_script_says_so(self):
        summary, said = self.run_script("sync", "--scale-rate")
        self.assertIn("(alone 32); the rate is multiplied by 2, after a warm-up", said)
        self.assertEqual(summary["lr"], 0.2, "the warm-up begins with the script's rate")

    def test_under_async_nothing_is_scaled(self):
        _, said = self.run_script("async", "--scale-rate")
        self.assertNotIn("an update is the mean", said)


class Auto(RunTest):
    def test_it_is_told_of_the_scripts_optimizer_and_decides_again_as_it_did(self):
        for optimizer, told in (("momentum", [0]), ("adam", [1])):
            with self.subTest(optimizer):
                self.run_script("auto", "--optimizer", optimizer, epochs=8)
                heard = [line["event"] for line in read_json_lines(self.run / "decisions.jsonl")
                         if line.get("event", {}).get("what") == "scale_invariant"]
                self.assertEqual([one["value"] for one in heard], told)
                replayed = self.start("replay", self.run)
                self.assertEqual(replayed.wait(), 0, replayed.err)
                self.assertIn("all identical", replayed.out)


class Evaluation(RunTest):
    def test_without_a_loss_leaves_the_loss_out_of_the_record(self):
        for returns in ("accuracy", "names"):
            with self.subTest(returns):
                summary, _ = self.run_script("sync", "--evaluate", "--returns", returns)
                self.assertIsNotNone(summary["final_accuracy"])
                self.assertEqual(summary["final_loss"] is None, returns == "accuracy")
                self.assertEqual("loss" in summary["evaluations"][-1], returns == "names")

    def test_that_fails_at_the_end_of_the_run_is_shown(self):
        summary, said = self.run_script("sync", "--evaluate", "--returns", "nothing", epochs=1)
        self.assertIsNone(summary["final_accuracy"])
        self.assertIn("the evaluator exited with 1: ZeroDivisionError: division by zero", said)

    def test_alone_says_what_the_server_would_refuse(self):
        script = self.path("alone.py", textwrap.dedent("""\
            import torch, outpace.torch as op
            net = torch.nn.Linear(2, 2)
            op.init().wrap(net, torch.optim.Adamax(net.parameters()))
            """))
        run = self.python(script)
        self.assertEqual(run.wait(), 0, run.err)
        self.assertIn("outpace: only alone: wrap: the server has no Adamax", run.err)

    def test_of_a_single_epoch_or_after_the_last_measures_the_last_weights(self):
        for epochs, when in ((1, "--evaluate"), (1, "--evaluate-last"), (3, "--evaluate-last")):
            with self.subTest(when, epochs=epochs):
                summary, _ = self.run_script("sync", when, epochs=epochs)
                self.assertEqual([one["version"] for one in summary["evaluations"]],
                                 [summary["updates"]])
                self.assertEqual(summary["updates"], 16 * epochs)


class Page(RunTest):
    def test_the_script_of_the_page_trains_as_it_stands(self):
        page = (ROOT / "docs" / "python.md").read_text()
        code = page.partition("```python\n")[2].partition("```")[0]
        self.assertLessEqual(len([line for line in code.splitlines() if line.strip()]), 25)
        out = self.folder / "run"
        run = self.start("run", "--workers", 2, "--policy", "sync", "--updates", 60, "--out", out,
                         "--json", "--", PYTHON, "-B", self.path("train.py", code),
                         variables={"PYTHONPATH": PACKAGE})
        self.finish(run)
        summary = json.loads((out / "summary.json").read_text())
        self.assertEqual(summary["updates"], 60)
        self.assertGreater(summary["final_accuracy"], 0.4)  # A tenth is what chance gives.
        self.assertLess(summary["final_loss"], 2.0)  # At first some ln 10 = 2.3.


class Profiled(PythonTest):
    def test_the_profile_has_the_scripts_layers_and_predicts_from_them(self):
        saved = self.folder / "net.safetensors"
        run = self.start("profile", "--batch", 16, "--iterations", 20, "-o", self.folder / "p.json",
                         "--", PYTHON, "-B", SCRIPT, "--optimizer", "momentum", "--epochs", 3,
                         "--evaluate", "--save", saved, variables={"PYTHONPATH": PACKAGE})
        self.finish(run)
        self.assertIn("save: nothing is written while `outpace profile` measures the script", run.err)
        self.assertFalse(saved.exists())
        profile = json.loads((self.folder / "p.json").read_text())
        self.assertEqual(profile["network"],
                         f"{PYTHON} -B {SCRIPT} --optimizer momentum --epochs 3 --evaluate --save "
                         f"{saved}")
        self.assertEqual(profile["dataset_examples"], 512)
        self.assertEqual(len(profile["iterations"]), 20)
        self.assertEqual([one["name"] for one in profile["tensors"]],
                         ["0.weight", "0.bias", "2.weight", "2.bias"])
        self.assertEqual([one["tensors"] for one in profile["layers"]], [2, 2])
        for layer in profile["layers"]:
            self.assertGreater(layer["forward_seconds"], 0)
            self.assertGreater(layer["backward_seconds"], 0)
        predicted = self.start("predict", self.folder / "p.json", "--workers", "1,4", "--policy",
                               "sync", "--bandwidth", "1Gbps")
        self.finish(predicted)
        self.assertIn("sync", predicted.out)

    def test_a_script_that_is_over_too_soon_is_an_error(self):
        run = self.start("profile", "--batch", 256, "-o", self.folder / "p.json", "--", PYTHON, "-B",
                         SCRIPT, "--epochs", 3, variables={"PYTHONPATH": PACKAGE})
        self.assertEqual(run.wait(), 1)
        self.assertIn("profile: the program computed 6 mini-batches; it takes 10 to measure anything",
                      run.err)
        self.assertFalse((self.folder / "p.json").exists())


class Launched(PythonTest):
    """The same script, by the launchers that start it as a process of each rank."""

    WORDS = ("--epochs", 3, "--optimizer", "momentum")

    def both_ways(self, launcher, options):
        """`outpace run` in each process; and then the script itself, beside a server."""
        out = self.folder / "by-run"
        process = self.start(*options, 2, OUTPACE, "run", "--policy", "sync", "--batch", 16,
                             "--token-file", self.folder / "token", "--out", out, "--json", "--",
                             PYTHON, "-B", SCRIPT, *self.WORDS, program=launcher,
                             variables={"PYTHONPATH": PACKAGE})
        self.finish(process)
        self.assert_both_worked(json.loads((out / "summary.json").read_text()))
        server = self.server("--policy", "sync", "--batch", 16, workers=2)
        process = self.start(*options, 2, PYTHON, "-B", SCRIPT, *self.WORDS, program=launcher,
                             variables={"PYTHONPATH": PACKAGE,
                                        "OUTPACE_SERVER": f"unix:{self.folder}/s",
                                        "OUTPACE_TOKEN_FILE": str(self.folder / "token")})
        self.finish(server, process)
        self.assert_both_worked(self.summary())

    def assert_both_worked(self, summary):
        self.assertEqual(summary["epochs_complete"], 3)
        self.assertEqual(summary["examples_used_per_epoch_max"], 1)
        self.assertEqual([worker["accepted"] for worker in summary["workers_detail"]], [48, 48])

    @unittest.skipUnless(shutil.which("torchrun"), "there is no torchrun: apt install python3-torch")
    def test_torchrun(self):
        self.both_ways("torchrun", TORCHRUN)

    @unittest.skipUnless(shutil.which("mpirun"), "there is no mpirun: apt install openmpi-bin")
    def test_mpirun(self):
        self.both_ways("mpirun", MPIRUN)

    def test_the_variables_of_srun(self):
        server = self.server("--policy", "sync", "--batch", 16, workers=2)
        workers = [self.python(SCRIPT, *self.WORDS, **{
            "OUTPACE_SERVER": f"unix:{self.folder}/s",
            "OUTPACE_TOKEN_FILE": str(self.folder / "token"),
            **{name: str(value) for name, value in slurm_variables(rank, 2).items()}})
            for rank in range(2)]
        self.finish(server, *workers)
        self.assert_both_worked(self.summary())


if __name__ == "__main__":
    main()
