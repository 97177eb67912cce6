"""demo.py with programs that stand in for outpace, and the comparison that it runs by default."""

import contextlib
import io
import os
import pathlib
import sys
import tempfile
import tomllib
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))
import demo  # noqa: E402 (its folder has just been added)
import make_delays  # noqa: E402

# Says how it was called, and which delays were there; draws a picture.
WORKS = """#!/usr/bin/env python3
import pathlib, sys
pathlib.Path("called").write_text(" ".join(sys.argv[1:]))
pathlib.Path("delays").write_text(" ".join(sorted(map(str, pathlib.Path("build/demo").glob("*.csv")))))
out = pathlib.Path(sys.argv[sys.argv.index("--out") + 1])
out.mkdir(exist_ok=True)
(out / "compare.svg").write_text("<svg/>")
"""
FAILS = "#!/bin/sh\nexit 3\n"


class Demo(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)

    def run_demo(self, program, *arguments):
        """(exit code, standard output, standard error)."""
        path = pathlib.Path("outpace")
        path.write_text(program)
        path.chmod(0o755)
        out, errors = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
            code = demo.main(["--outpace", "./outpace", *arguments])
        return code, out.getvalue(), errors.getvalue()

    def test_runs_the_comparison_anew_with_its_delays(self):
        code, out, _ = self.run_demo(WORKS)
        self.assertEqual(code, 0)
        called = f"compare {os.path.relpath(demo.COMPARISON)} --fresh --out build/demo/first_minute"
        self.assertEqual(pathlib.Path("called").read_text(), called)
        self.assertIn(called, out)
        self.assertEqual(pathlib.Path("delays").read_text(),
                         "build/demo/drifting-8.csv build/demo/fixed-8.csv")

    def test_runs_a_comparison_of_the_users(self):
        self.run_demo(WORKS, "mine.toml")
        self.assertEqual(pathlib.Path("called").read_text(),
                         "compare mine.toml --fresh --out build/demo/mine")

    def test_copies_the_picture_where_it_is_told_to(self):
        code, _, _ = self.run_demo(WORKS, "--picture", "there.svg")
        self.assertEqual(code, 0)
        self.assertEqual(pathlib.Path("there.svg").read_text(), "<svg/>")

    def test_ends_as_the_comparison_does(self):
        code, _, _ = self.run_demo(FAILS, "--picture", "there.svg")
        self.assertEqual(code, 3)
        self.assertFalse(pathlib.Path("there.svg").exists())

    def test_says_how_to_build_a_program_that_is_not_there(self):
        errors = io.StringIO()
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(errors):
            self.assertEqual(demo.main(["--outpace", "./none"]), 1)
        self.assertIn("make release", errors.getvalue())

    def test_writes_the_delays_that_its_comparison_reads(self):
        demo.write_delays()
        comparison = tomllib.loads(demo.COMPARISON.read_text())["compare"]
        self.assertEqual(comparison["workers"], demo.WORKERS)
        for path in comparison["delays"].values():
            rows = pathlib.Path(path).read_text().splitlines()
            self.assertEqual(len(rows), demo.ROWS)
            self.assertEqual({row.count(",") for row in rows}, {demo.WORKERS - 1})

    def test_one_machine_of_two_workers_is_slow(self):
        demo.write_delays()
        row = pathlib.Path("build/demo/fixed-8.csv").read_text().splitlines()[0].split(",")
        self.assertLess(max(map(float, row[:6])), 0.04)
        self.assertGreater(min(map(float, row[6:])), 0.02 * make_delays.FIXED_SLOWDOWN / 2)


if __name__ == "__main__":
    unittest.main()
