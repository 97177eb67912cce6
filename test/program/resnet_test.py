"""examples/python/resnet.py trains on files of CIFAR-10's format, and its evaluator measures what one
process does with the run's weights and running statistics."""

import json
import random
import sys

sys.dont_write_bytecode = True
from jobs import main  # noqa: E402
from python_jobs import EXAMPLES, PACKAGE, PYTHON, SCRIPTS, PythonTest  # noqa: E402

RESNET = EXAMPLES / "resnet.py"
TRAIN, TEST = 96, 40


def records(seed, examples):
    """Images of the classes 0 and 1: noise around dark and bright, in CIFAR-10's format."""
    draw = random.Random(seed)
    return b"".join(bytes([label := draw.randrange(2)]) + bytes(
        min(255, max(0, int(draw.gauss(60 + 130 * label, 30)))) for _ in range(3 * 32 * 32))
        for _ in range(examples))


class Resnet(PythonTest):
    def setUp(self):
        super().setUp()
        self.data = self.folder / "cifar"
        self.data.mkdir()
        for number in (1, 2):
            (self.data / f"data_batch_{number}.bin").write_bytes(records(number, TRAIN // 2))
        (self.data / "test_batch.bin").write_bytes(records(9, TEST))
        self.words = ("--data", self.data, "--width", 4)

    def test_its_evaluator_measures_what_one_process_does(self):
        run = self.start(
            "run", "--workers", 2, "--policy", "sync", "--batch", 8, "--evaluate-every", 48,
            "--out", "run", "--json", "--", PYTHON, "-B", RESNET, *self.words, "--epochs", 6,
            "--loaders", 1, "--save", self.folder / "net.safetensors",
            variables={"PYTHONPATH": PACKAGE})
        self.finish(run)
        summary = json.loads((self.folder / "run" / "summary.json").read_text())
        self.assertEqual((summary["epochs_complete"], summary["updates"]), (6, 36))
        self.assertEqual(summary["examples_used_per_epoch_max"], 1)
        alone = self.python(SCRIPTS / "resnet_measured.py", EXAMPLES, self.data, 4,
                            self.folder / "run" / "weights.safetensors",
                            self.folder / "net.safetensors")
        self.finish(alone)
        last, saved = self.lines(alone)
        self.assertEqual(summary["final_accuracy"], last["accuracy"])
        self.assertAlmostEqual(summary["final_loss"], last["loss"], delta=1e-5 * last["loss"])
        self.assertGreater(last["accuracy"], 0.9)
        # Variances that nobody learnt would be 1.
        self.assertGreater(last["farthest_from_new"], 0.05)
        self.assertGreater(saved["farthest_from_new"], 0.05)

    def test_trains_alone(self):
        alone = self.python(RESNET, *self.words, "--epochs", 1, "--loaders", 0, "--examples", 64)
        self.finish(alone)
        self.assertIn("2 updates, accuracy ", alone.out)

    def test_files_that_are_not_cifar_10_are_refused(self):
        for content, said in ((None, "there is no data_batch_*.bin"), (b"abc", "3 bytes are no"),
                              (bytes([10]) + bytes(3072), "a class is above 9")):
            with self.subTest(said):
                folder = self.folder / said.replace("*", "").replace(" ", "-")
                folder.mkdir()
                if content is not None:
                    (folder / "data_batch_1.bin").write_bytes(content)
                refused = self.python(RESNET, "--data", folder)
                self.assertEqual(refused.wait(), 1, refused.err)
                self.assertEqual(len(refused.err.splitlines()), 1, refused.err)
                self.assertIn(said, refused.err)


if __name__ == "__main__":
    main()
