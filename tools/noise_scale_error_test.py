"""Tests noise_scale_error.py on made-up runs, whose noise scale is known."""

import contextlib
import io
import math
import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))
import noise_scale_error  # noqa: E402 (its folder has just been added)

NOISE = 300.0  # phi, of all runs and at all times.


def run(batch, smallest=10, falls=False):
    """A run whose metric is a function of the examples times their efficiency."""
    lines = ["progress,iteration,metric,grad_sqr,grad_var"]
    for row in range(1, 200):
        iteration = row * 2000 / batch
        metric = 1 - math.exp(-iteration * batch / (NOISE + batch) / 100)
        lines.append(f"0,{iteration},{1 - metric if falls else metric},2,{2 * NOISE / smallest}")
    return "\n".join(lines) + "\n"


class NoiseScaleError(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, model, batch, text):
        (self.folder / model).mkdir(exist_ok=True)
        (self.folder / model / f"validation-{batch}.csv").write_text(text)

    def errors(self):
        return {(model, factor): dict(zip(noise_scale_error.RULES, rules))
                for model, factor, _, *rules in noise_scale_error.table(self.folder)}

    def test_tells_what_follows_its_law(self):
        for batch in (10, 20, 160):
            self.write("rising", batch, run(batch))
            self.write("falling", batch, run(batch, falls=True))
        found = self.errors()
        self.assertEqual({factor for _, factor in found}, {2, 8, 16})
        for (model, factor), rules in found.items():
            with self.subTest(model=model, factor=factor):
                self.assertLess(rules["noise scale"][1], 2)  # Rows are some steps apart.
        # From 10 to 160 it takes (phi + 160) / (phi + 10) times the examples, 1.48, and the other
        # way round: off by 1 - 1 / 1.48 and by 0.48.
        self.assertAlmostEqual(found["rising", 16]["examples alike"][0], 40, delta=2)
        self.assertAlmostEqual(found["rising", 16]["updates alike"][1], 100 * (16 / 1.484 - 1),
                               delta=30)

    def test_prints_a_line_for_each_model_and_step(self):
        for batch in (10, 40):
            self.write("made-up", batch, run(batch))
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            noise_scale_error.main([str(self.folder)])
        self.assertEqual(out.getvalue().splitlines()[-1].split()[:5],
                         ["made-up", "4", ":", "1", "24"])

    def test_says_what_is_wrong(self):
        for text, says in (("iteration,metric\n1,2\n", "not a table"),
                           ("iteration,metric,grad_sqr,grad_var\n1,x,1,1\n", "not a table"),
                           ("iteration,metric,grad_sqr,grad_var\n", "no rows")):
            self.write("bad", 10, text)
            with self.assertRaisesRegex(SystemExit, says):
                noise_scale_error.main([str(self.folder)])
        with self.assertRaisesRegex(SystemExit, "no such folder"):
            noise_scale_error.main([str(self.folder / "absent")])
        (self.folder / "bad" / "validation-10.csv").unlink()
        with self.assertRaisesRegex(SystemExit, "no folders with runs"):
            noise_scale_error.main([str(self.folder)])


if __name__ == "__main__":
    unittest.main()
