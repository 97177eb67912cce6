"""Tests of loss_by_bytes.py, with the files that runs leave."""

import contextlib
import io
import json
import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
import loss_by_bytes  # noqa: E402


def write_run(folder, compress, losses, bytes_each):
    folder.mkdir(parents=True)
    evaluations = [{"examples": 100 * (i + 1), "loss": loss} for i, loss in enumerate(losses)]
    (folder / "summary.json").write_text(json.dumps({
        "network": "mlp", "examples": 100 * len(losses), "final_accuracy": 0.8, "final_loss": losses[-1],
        "evaluations": evaluations,
        "traffic": {"gradients": {"bytes": bytes_each}, "weights": {"bytes": 2 * bytes_each}}}))
    (folder / "config.toml").write_text(f"compress = '{compress}'  # command line\nlocal-steps = 50\n")


class LossByBytes(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.runs = pathlib.Path(self.folder.name)

    def main(self, *words):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = loss_by_bytes.main([*map(str, words)])
        return code, out.getvalue(), err.getvalue()

    def test_a_row_is_the_mean_over_seeds(self):
        write_run(self.runs / "a", "none", [1.0, 0.5], 4_000_000)
        write_run(self.runs / "b", "none", [1.2, 0.7], 4_000_000)
        write_run(self.runs / "c", "int8", [1.0, 0.6], 1_000_000)
        picture = self.runs / "loss.svg"
        code, out, err = self.main(*(self.runs / name for name in "abc"), "--svg", picture)
        self.assertEqual((code, err), (0, ""))
        self.assertRegex(out, r"mlp, H = 50 +none, none +2 +4\.0 +8\.0 +0\.8000 +0\.6000")
        self.assertRegex(out, r"mlp, H = 50 +int8, none +1 +1\.0 +2\.0 +0\.8000 +0\.6000")
        self.assertEqual(picture.read_text().count("<circle"), 2)

    def test_a_curve_ends_at_all_bytes(self):
        write_run(self.runs / "a", "none", [1.0, 0.5], 4_000_000)
        (row,) = loss_by_bytes.read([self.runs / "a"])
        self.assertEqual([(x, middle) for x, _, middle, _ in row.curve()], [(6.0, 1.0), (12.0, 0.5)])

    def test_a_folder_that_is_no_run_is_named(self):
        code, _, err = self.main(self.runs / "nowhere")
        self.assertEqual(code, 1)
        self.assertRegex(err, r"^loss-by-bytes: .*nowhere: no finished run")


if __name__ == "__main__":
    unittest.main()
