"""The scripts of examples/python that stand for well-known ones: each trains alone and as a job."""

import json
import math
import re
import sys
import unittest

sys.dont_write_bytecode = True
from jobs import main  # noqa: E402
from python_jobs import EXAMPLES, PACKAGE, PYTHON, PythonTest  # noqa: E402

TEXT = ("--text", "/usr/share/common-licenses/GPL-3")
CHANCE = math.log(10)  # The loss of a network that knows nothing of ten classes.


class Example(PythonTest):
    def alone(self, name, *words):
        """What each evaluation found, by name, in order."""
        script = self.python(EXAMPLES / f"{name}.py", *words)
        self.finish(script)
        return [{key: float(value) for key, value in re.findall(r"(\w+) (-?[\d.]+)(?:,|$)", line)}
                for line in re.findall(r"^outpace: (?:epoch \d+: )?(.*)$", script.err, re.MULTILINE)]

    def job(self, name, *words, batch=16):
        """The summary of a run of two workers, all of whose examples counted."""
        self.run = self.folder / "run"
        run = self.start("run", "--workers", 2, "--policy", "sync", "--batch", batch, "--out",
                         self.run, "--json", "--", PYTHON, "-B", EXAMPLES / f"{name}.py", *words,
                         variables={"PYTHONPATH": PACKAGE, "OMP_NUM_THREADS": "1"})
        self.finish(run)
        summary = self.summary()
        self.assertEqual(summary["gradients_dropped"], 0)
        self.assertEqual(summary["evaluations"][-1]["version"], summary["updates"],
                         "the last weights are measured")
        return summary

    def both(self, name, *words, batch=16):
        """Alone, and the job's last evaluation; the job has the updates of twice the mini-batch."""
        alone = self.alone(name, *words, "--batch-size", 2 * batch)
        summary = self.job(name, *words, batch=batch)
        self.assertLessEqual(summary["examples_used_per_epoch_max"], 1)
        return alone, summary["evaluations"][-1], summary


class Images(Example):
    SMALL = ("--examples", 960, "--tests", 200)

    def test_mnist(self):
        alone, found, summary = self.both("mnist", *self.SMALL, "--epochs", 2)
        self.assertIn("adadelta", summary["optimizer"])
        self.assertEqual(summary["updates"], 60)
        for one in (alone[-1], found):
            self.assertLess(one["loss"], 0.8 * CHANCE)
            self.assertGreater(one["accuracy"], 0.3)

    def test_mnist_rnn(self):
        alone, found, _ = self.both("mnist_rnn", *self.SMALL, "--epochs", 2)
        for one in (alone[-1], found):
            self.assertLess(one["loss"], 0.9 * CHANCE)
            self.assertGreater(one["accuracy"], 0.3)

    def test_vae(self):
        alone, found, _ = self.both("vae", *self.SMALL, "--epochs", 2)
        for one in (alone[-1], found):
            self.assertLess(one["loss"], 0.8 * 784 * math.log(2))  # For images that are grey.

    def test_super_resolution(self):
        alone, found, _ = self.both("super_resolution", *self.SMALL, "--epochs", 2)
        self.assertGreater(alone[-1]["psnr"], alone[0]["psnr"])
        self.assertGreater(found["psnr"], alone[0]["psnr"])

    def test_dcgan(self):
        alone, found, summary = self.both("dcgan", *self.SMALL, "--epochs", 3)
        self.assertLess(alone[-1]["frechet"], alone[0]["frechet"])
        self.assertLess(found["frechet"], alone[0]["frechet"])
        self.assertEqual(summary["updates"], 90)


class Adapted(Example):
    SMALL = ("--examples", 1920, "--tests", 300, "--epochs", 3)

    def test_lora_learns_alone_and_by_local_steps_of_two_workers(self):
        alone = self.alone("lora", *self.SMALL)
        self.assertLess(alone[-1]["loss"], alone[0]["loss"])
        self.run = self.folder / "run"
        run = self.start("run", "--workers", 2, "--policy", "sync", "--local-steps", 10, "--out",
                         self.run, "--json", "--", PYTHON, "-B", EXAMPLES / "lora.py", *self.SMALL,
                         variables={"PYTHONPATH": PACKAGE, "OMP_NUM_THREADS": "1"})
        self.finish(run)
        found = self.summary()
        self.assertEqual(found["updates"], 3 * 1920 // 32 // 10 // 2)
        self.assertLess(found["final_loss"], 0.8 * CHANCE)


class Texts(Example):
    def test_char_rnn(self):
        words = (*TEXT, "--updates", 60, "--evaluate-every", 20, "--length", 32, "--hidden", 32)
        alone, found, summary = self.both("char_rnn", *words)
        self.assertEqual(summary["updates"], 60)
        self.assertLess(alone[-1]["loss"], 0.8 * alone[0]["loss"])
        self.assertLess(found["loss"], 0.8 * alone[0]["loss"])

    def test_word_language_model(self):
        words = (*TEXT, "--epochs", 3, "--size", 16)
        alone = self.alone("word_language_model", *words, "--batch-size", 16)
        summary = self.job("word_language_model", *words, "--batch-size", 8, batch=8)
        self.assertEqual(summary["epochs_complete"], 3)
        self.assertLess(alone[-1]["perplexity"], alone[0]["perplexity"])
        found = summary["evaluations"][-1]
        self.assertLess(found["perplexity"], alone[0]["perplexity"])
        self.assertAlmostEqual(math.log(found["perplexity"]), found["loss"], places=4)

    def test_gpt(self):
        words = (*TEXT, "--updates", 40, "--warm-up", 8, "--evaluate-every", 10, "--length", 16,
                 "--size", 16)
        alone, found, summary = self.both("gpt", *words)
        self.assertEqual(summary["updates"], 40)
        self.assertEqual(summary["why_ended"], "40 updates were made")
        self.assertLess(alone[-1]["loss"], 0.9 * alone[0]["loss"])
        self.assertLess(found["loss"], 0.9 * alone[0]["loss"])


class Marks(unittest.TestCase):
    """The README says how many lines of each script are Outpace's."""

    SCRIPTS = ("mnist", "mnist_rnn", "vae", "super_resolution", "dcgan", "char_rnn",
               "word_language_model", "gpt")

    def test_all_lines_that_name_the_job_are_marked_and_counted(self):
        readme = (EXAMPLES / "README.md").read_text()
        for name in self.SCRIPTS:
            with self.subTest(name):
                code = (EXAMPLES / f"{name}.py").read_text().split('"""', 2)[2]
                lines = [re.sub(r'"[^"]*"', '""', line) for line in code.splitlines()]
                marked = [line for line in lines if "# +" in line]
                self.assertEqual([line for line in lines if re.search(r"\b(job|op)\b", line)], marked)
                self.assertRegex(readme, rf"\({name}\.py\) \|[^\n]*\| {len(marked)} \|\n")


if __name__ == "__main__":
    main()
