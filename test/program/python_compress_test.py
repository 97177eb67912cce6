"""Python scripts that push in fewer bytes: --compress, and job.wrap(net, optimizer, compress=...)."""

import json
import sys

sys.dont_write_bytecode = True
from jobs import main, read_weights  # noqa: E402
from python_jobs import PACKAGE, PYTHON, SCRIPTS, PythonTest  # noqa: E402

SCRIPT = SCRIPTS / "fewer_bytes.py"
FREEZING = SCRIPTS / "cases" / "freezing.py"


class CompressJob(PythonTest):
    def job(self, *words, options=(), code=0, script=SCRIPT, **variables):
        """`outpace run` of the script with two workers; what the run and its workers said."""
        self.run = self.folder / f"run-{next(self.names)}"
        job = self.start("run", "--workers", 2, "--policy", "sync", "--batch", 16, "--out", self.run,
                         "--json", *options, "--", PYTHON, "-B", script, *words,
                         variables={"PYTHONPATH": PACKAGE, "OMP_NUM_THREADS": "1", **variables})
        self.assertEqual(job.wait(), code, job.err)
        self.assert_nothing_left()
        return job

    def weights(self, *words, **more):
        """The weights that such a run ends with."""
        self.job(*words, **more)
        return read_weights(self.run / "weights.safetensors")[0]

    def loss(self, *words, **more):
        """On all examples, at the end of such a run."""
        self.job("--evaluate", *words, **more)
        return self.summary()["final_loss"]

    def printed(self, worker):
        text = (self.run / "logs" / f"worker-{worker}.out").read_text()
        return json.loads(text.splitlines()[-1])


def distance(one, other):
    """Relative to the first."""
    off = sum((a - b) ** 2 for a, b in zip(one, other, strict=True))
    return (off / sum(a * a for a in one)) ** 0.5


class Says(CompressJob):
    """Who says how a worker packs."""

    WORDS = ("--epochs", 2)

    def test_the_variable_overrides_the_script_and_the_script_the_run(self):
        plain = self.weights(*self.WORDS)
        self.assertEqual(self.weights(*self.WORDS), plain, "equal seeds make equal weights")
        by_run = self.weights(*self.WORDS, options=("--compress", "int4"))
        self.assertGreater(distance(plain, by_run), 1e-4)
        by_script = self.weights(*self.WORDS, "--compress", "int8", options=("--compress", "int4"))
        self.assertEqual(self.weights(*self.WORDS, "--compress", "int4", OUTPACE_COMPRESS="int8"),
                         by_script)
        self.assertNotIn(by_script, (plain, by_run))
        self.assertEqual(self.weights(*self.WORDS, "--compress", "none",
                                      options=("--compress", "int4")), plain)

    def test_a_wrong_one_is_one_line(self):
        job = self.job("--compress", "int3", code=2)
        self.assertEqual(job.err.splitlines()[-1], "outpace: wrap: compress: unknown compression 'int3'; "
                         "did you mean 'int8'?")
        job = self.job("--compress", "zip", "--way", "numpy", code=1)
        self.assertIn("OutpaceError: join: compress: unknown compression 'zip'; known: none, bf16", job.err)

    def test_alone_it_is_checked_and_changes_nothing(self):
        found = []
        for words in ((), ("--compress", "int4")):
            alone = self.python(SCRIPT, *self.WORDS, *words)
            self.finish(alone)
            found.append(self.lines(alone))
        self.assertEqual(*found)
        alone = self.python(SCRIPT, "--compress", "topk:share=2")
        self.assertEqual(alone.wait(), 1)
        self.assertIn("wrap: compress: compression 'topk:share=2': share is '2'; it takes a number "
                      "from 1e-06 to 1", alone.err.splitlines()[-1])


class Trains(CompressJob):
    """To about the loss that it has without."""

    AVERAGING = ("--local-steps", 4, "--outer-optimizer", "sgd:lr=1")

    def compare(self, *words, options=(), most=0.03):
        """`most`: how much more the loss with int4 may be than without."""
        plain = self.loss(*words, options=options)
        packed = self.loss(*words, options=(*options, "--compress", "int4"))
        print(f"{' '.join(map(str, words + options))}: loss {plain:.4f}, with int4 {packed:.4f}",
              file=sys.stderr)
        self.assertNotEqual(plain, packed)
        self.assertLess(packed, plain + most)

    def test_a_plain_loop(self):
        plain = self.loss()
        self.assertLess(plain, 0.2)
        for words, options, most in (((), ("--compress", "int4"), 0.02),
                                     (("--compress", "int8"), (), 0.02)):
            with self.subTest((words, options)):
                packed = self.loss(*words, options=options)
                print(f"{words or options}: loss {plain:.4f}, packed {packed:.4f}", file=sys.stderr)
                self.assertNotEqual(packed, plain)
                self.assertLess(packed, plain + most)

    def test_running_statistics_go_as_they_are(self):
        self.compare("--way", "normalised")

    def test_frozen_parameters_do_not_move(self):
        self.compare("--way", "frozen")
        self.job("train", "before", options=("--compress", "int4"), script=FREEZING)
        for worker in (0, 1):
            self.assertEqual([one > 0 for one in self.printed(worker)["moved"]],
                             [False, True, False, True])

    def test_tensors_that_an_optimizer_leaves_out(self):
        self.compare("--way", "rare")

    def test_local_steps_with_running_statistics(self):
        self.compare("--way", "normalised", options=self.AVERAGING)

    def test_numpy(self):
        plain = self.weights("--way", "numpy", "--epochs", 4)
        packed = self.weights("--way", "numpy", "--epochs", 4, "--compress", "int8")
        off = distance(plain, packed)
        print(f"numpy: relative L2 distance {off:.2g}", file=sys.stderr)
        self.assertGreater(off, 1e-5)
        self.assertLess(off, 1e-2)


if __name__ == "__main__":
    main()
