"""demo.py against programs that stand in for outpace: it compares, and it fails when a run fails."""

import contextlib
import io
import os
import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))
import demo  # noqa: E402 (its folder has just been added)

WORKS = """#!/usr/bin/env python3
import json, sys
policy = sys.argv[sys.argv.index("--policy") + 1]
fast = policy == "async"
print("words before")
print("words on stderr", file=sys.stderr)
print(json.dumps({
    "policy": policy, "workers": 8, "updates": 10, "seconds": 5.0, "gradients_applied": 80,
    "gradients_dropped": 1200, "gradients_cancelled": 34, "gradients_per_second": 16.0,
    "examples_per_second": 9000.0 if fast else 3000.0,
    "seconds_to_target": 4.0 if fast else 10.0, "final_accuracy": 0.8412, "final_loss": 0.5,
    "staleness": {"mean": 6.5 if fast else 0.0, "max": 9, "p99": 9, "histogram": [1]}}, indent=INDENT))
"""


class Demo(unittest.TestCase):
    def run_demo(self, program, *arguments):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "outpace")
            with open(path, "w") as file:
                file.write(program)
            os.chmod(path, 0o755)
            out, errors = io.StringIO(), io.StringIO()
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
                code = demo.main(["--outpace", path, "--out", folder, *arguments])
            return code, out.getvalue(), errors.getvalue()

    def test_compares_every_policy_with_the_first(self):
        for indent in ("None", "2"):
            code, out, _ = self.run_demo(WORKS.replace("INDENT", indent),
                                         "--policies", "sync", "async")
            self.assertEqual(code, 0)
            rows = [line.split() for line in out.splitlines()]
            self.assertIn(["sync", "3,000", "1.00", "10.0", "84.1%", "0.00", "1,234"], rows)
            self.assertIn(["async", "9,000", "3.00", "4.0", "84.1%", "6.50", "1,234"], rows)
            self.assertIn("First at 84%: async, 4.0 s, 2.5 times as fast as sync.", out)

    def test_rows_are_aligned(self):
        _, out, _ = self.run_demo(WORKS.replace("INDENT", "None"))
        lines = out.splitlines()
        rule = next(i for i, line in enumerate(lines) if line.startswith("-----"))
        rows = lines[rule - 1:rule + 1 + len(demo.POLICIES)]
        self.assertEqual({len(row) for row in rows}, {len(lines[rule])})

    def test_a_target_that_was_not_reached_is_a_dash(self):
        program = WORKS.replace("INDENT", "None").replace("4.0 if fast else 10.0", "None")
        code, out, _ = self.run_demo(program, "--policies", "sync")
        self.assertEqual(code, 0)
        self.assertIn(["sync", "3,000", "1.00", "-", "84.1%", "0.00", "1,234"],
                      [line.split() for line in out.splitlines()])
        self.assertNotIn("First at", out)

    def test_fails_if_a_run_fails_and_shows_its_last_words(self):
        code, _, errors = self.run_demo("#!/bin/sh\necho no such network >&2\nexit 2\n")
        self.assertEqual(code, 1)
        self.assertIn("exit code 2", errors)
        self.assertIn("no such network", errors)

    def test_fails_if_a_run_gives_no_result(self):
        code, _, errors = self.run_demo("#!/bin/sh\necho '{ not json'\n")
        self.assertEqual(code, 1)
        self.assertIn("no JSON", errors)

    def test_fails_if_the_program_is_not_there(self):
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(
                io.StringIO()), tempfile.TemporaryDirectory() as folder:
            self.assertEqual(demo.main(["--outpace", folder + "/none", "--out", folder]), 1)


if __name__ == "__main__":
    unittest.main()
