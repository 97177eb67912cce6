"""Tests of lines.py, on a repository of two commits."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import lines  # noqa: E402


class Lines(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.git("init", "-q")
        self.write("src/base/a.cc", 10)
        self.write("src/base/a_test.cc", 4)
        self.write("docs/page.md", 100)
        self.first = self.commit()
        self.git("rm", "-q", "-r", "src/base")
        self.write("src/core/base/a.cc", 7)
        self.write("src/core/base/a_test.cc", 5)
        self.write("lab/swarm/b.h", 3)
        self.write("python/test/c.py", 2)
        self.commit()

    def git(self, *words):
        return subprocess.run(["git", "-C", str(self.root), "-c", "user.name=a", "-c",
                               "user.email=a@b", *words], check=True, capture_output=True,
                              text=True).stdout.strip()

    def write(self, place, number):
        path = self.root / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("line\n" * number)

    def commit(self):
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "a")
        return self.git("rev-parse", "HEAD")

    def test_counts_by_folder_and_tests_apart(self):
        self.assertEqual(lines.count(self.root, "HEAD"),
                         {"base": ["core", 7, 5], "swarm": ["lab", 3, 0], "python": ["", 0, 2]})

    def test_a_folder_that_moved_keeps_its_row(self):
        out = lines.table(lines.count(self.root, "HEAD"), lines.count(self.root, self.first))
        base = next(line for line in out if "base" in line)
        self.assertEqual(base.split(), ["core", "base", "7", "5", "-3", "+1"])
        self.assertEqual(out[-1].split(), ["all", "10", "7", "+0", "+3"])

    def test_a_folder_that_is_gone_is_named(self):
        out = lines.table({}, lines.count(self.root, self.first))
        self.assertEqual(out[1].split(), ["gone", "base", "0", "0", "-10", "-4"])

    def test_an_unknown_commit_is_said(self):
        with self.assertRaisesRegex(SystemExit, "lines: .*nowhere"):
            lines.count(self.root, "nowhere")


if __name__ == "__main__":
    unittest.main()
