"""Tests of loss_by_local_steps.py, with the files that `outpace compare` leaves."""

import contextlib
import io
import json
import pathlib
import struct
import tempfile
import unittest
import xml.etree.ElementTree

import loss_by_local_steps as tool


def leave(folder, policy, steps, seed, losses, outer=None):
    """A finished run of two weights and mini-batches of 4, measured every 40 examples."""
    place = pathlib.Path(folder) / "no-trace" / f"{policy}-{steps}-{outer}"
    (place / f"seed-{seed}").mkdir(parents=True)
    header = json.dumps({"__metadata__": {"a": "b"}, "w": {"dtype": "F32", "shape": [1, 2],
                                                          "data_offsets": [0, 8]}}).encode()
    (place / f"seed-{seed}" / "weights.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + bytes(8))
    evaluations = [{"examples": 40 * (i + 1), "loss": loss} for i, loss in enumerate(losses)]
    result = {"policy": policy, "local_steps": steps, "outer_optimizer": outer, "evaluations": evaluations}
    (place / f"seed-{seed}.json").write_text(json.dumps({"words": ["simulate", "--batch=4"], "result": result}))


class Runs(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.TemporaryDirectory()
        self.addCleanup(self.place.cleanup)
        self.folder = self.place.name

    def run_tool(self, *arguments):
        out, errors = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
            code = tool.main([self.folder, *arguments])
        return code, out.getvalue(), errors.getvalue()

    def test_bytes_are_those_of_a_push_for_each_phase(self):
        leave(self.folder, "sync", None, 1, [3.0])
        leave(self.folder, "sync", 5, 1, [3.0])
        each, phase = tool.read(self.folder)
        self.assertEqual((each.bytes_of_example, phase.bytes_of_example), (8 / 4, 8 / 20))
        self.assertEqual(phase.bytes_to(3.0), [16.0])

    def test_a_curve_has_the_median_and_both_ends_of_what_all_seeds_measured(self):
        for seed, losses in ((1, [3.0, 2.0]), (2, [2.8, 2.4, 1.0]), (3, [2.9, 2.1])):
            leave(self.folder, "sync", 5, seed, losses)
        self.assertEqual(tool.read(self.folder)[0].curve(), [(40, 2.8, 2.9, 3.0), (80, 2.0, 2.1, 2.4)])

    def test_the_table_says_what_a_loss_costs(self):
        leave(self.folder, "sync", 5, 1, [3.0, 2.0])
        leave(self.folder, "sync", 5, 2, [3.0, 2.5])
        code, out, _ = self.run_tool("--levels", "3", "2.2")
        self.assertEqual(code, 0)
        row = out.splitlines()[2].split()
        self.assertEqual(row[:4], ["sync", "H", "=", "5"])
        self.assertIn("2.000 to 2.500", out)
        self.assertEqual(row[-2:], ["0.0", "-"])

    def test_no_run_is_an_error_that_names_the_folder(self):
        code, _, errors = self.run_tool()
        self.assertEqual(code, 1)
        self.assertIn(self.folder, errors)

    def test_the_picture_has_two_panels_for_each_policy(self):
        for steps in (None, 50):
            leave(self.folder, "sync", steps, 1, [3.0, 2.0])
        leave(self.folder, "sync", 50, 2, [3.0, 2.0])
        for outer in ("sgd:lr=1", "nesterov:mu=0.5"):
            leave(self.folder, "async", 50, 1, [3.0, 2.5], outer)
        picture = pathlib.Path(self.folder) / "loss.svg"
        self.assertEqual(self.run_tool("--svg", str(picture))[0], 0)
        words = [one.text for one in xml.etree.ElementTree.parse(picture).iter() if one.tag.endswith("text")]
        self.assertEqual(words.count("examples (thousands)"), 2)
        for legend in ("a push each mini-batch", "H = 50", "sgd:lr=1", "nesterov:mu=0.5", "sync, H = 50"):
            self.assertEqual(words.count(legend), 1, legend)
        self.assertIn("async, H = 50", words)
        self.assertTrue(words[-1].startswith("Median of 1 to 2 seeds; "), words[-1])


class Axes(unittest.TestCase):
    def test_ticks_are_round(self):
        self.assertEqual(tool.ticks_of(0, 400), [0, 100, 200, 300, 400])
        self.assertEqual([round(tick, 9) for tick in tool.ticks_of(1.85, 2.8)], [2.0, 2.2, 2.4, 2.6, 2.8])
        self.assertEqual(tool.powers_of(0.6, 2500), [1, 10, 100, 1000])


if __name__ == "__main__":
    unittest.main()
