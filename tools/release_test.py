"""release.py in a clone: what it refuses, and the tag that it makes."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parent.parent
FILES = ("Makefile", "CMakeLists.txt", "CITATION.cff", "CHANGELOG.md", "tools/release.py")
NAMES = {f"GIT_{who}_{what}": f"tester{'@localhost' if what == 'EMAIL' else ''}"
         for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}


class Release(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.clone = pathlib.Path(scratch.name) / "clone"
        self.run_here("git", "clone", "--quiet", "--shared", "--no-tags", ROOT, self.clone,
                      where=ROOT)
        for name in FILES:  # As they are now, committed or not.
            (self.clone / name).write_bytes((ROOT / name).read_bytes())
        self.version = re.search(r"project\(outpace VERSION ([\d.]+)",
                                 (self.clone / "CMakeLists.txt").read_text())[1]
        kept = self.clone / "test" / "kept" / self.version
        kept.mkdir(parents=True, exist_ok=True)
        (kept / "profile.json").write_text("{}")
        changelog = self.clone / "CHANGELOG.md"
        changelog.write_text(changelog.read_text().replace(
            "## [Unreleased]", f"## [Unreleased]\n\n## [{self.version}] - 2026-01-02\n\nIt trains.", 1))
        self.commit()

    def run_here(self, *words, where=None):
        environment = {key: value for key, value in os.environ.items()
                       if not key.startswith(("GIT_", "MAKE"))}
        return subprocess.run(list(map(str, words)), cwd=where or self.clone, check=True,
                              capture_output=True, text=True, env={**environment, **NAMES}).stdout

    def commit(self):
        self.run_here("git", "add", "--all")
        self.run_here("git", "commit", "--quiet", "--allow-empty", "--message", "Change")

    def pass_tests(self):
        (self.clone / "build" / "dev").mkdir(parents=True, exist_ok=True)
        (self.clone / "build" / "dev" / "tests-passed").touch()

    def refused(self, version=None):
        with self.assertRaises(subprocess.CalledProcessError) as raised:
            self.run_here("make", "release", f"VERSION={version or self.version}")
        self.assertEqual(self.run_here("git", "tag", "--list"), "")
        return raised.exception.stderr

    def test_a_clean_commit_gets_an_annotated_tag_with_its_changes(self):
        self.pass_tests()
        said = self.run_here("make", "release", f"VERSION={self.version}")
        self.assertIn(f"git push origin v{self.version}", said)
        self.assertEqual(self.run_here("git", "cat-file", "-t", f"v{self.version}"), "tag\n")
        text = self.run_here("git", "tag", "--list", "--format=%(contents)", f"v{self.version}")
        self.assertTrue(text.startswith(f"Outpace {self.version}\n\nIt trains."), text)
        with self.assertRaises(subprocess.CalledProcessError) as raised:
            self.run_here("make", "release", f"VERSION={self.version}")
        self.assertIn(f"there is a tag v{self.version} already", raised.exception.stderr)

    def test_all_that_is_missing_is_said_at_once(self):
        (self.clone / "new").write_text("")
        said = self.refused("9.8.7")
        for what in ("CMakeLists.txt has version", "CITATION.cff has version",
                     "CHANGELOG.md has no heading `## [9.8.7]", "1 files are not committed: new",
                     "test/kept/9.8.7 is missing", "the tests have not passed"):
            self.assertIn(what, said)

    def test_tests_that_passed_before_a_change_do_not_count(self):
        self.pass_tests()
        later = self.clone / "src" / "face" / "cli" / "main.cc"
        seen = (self.clone / "build" / "dev" / "tests-passed").stat().st_mtime
        os.utime(later, (seen + 5, seen + 5))
        said = self.refused()
        self.assertEqual(said.count("release: "), 1, said)
        self.assertIn("the tests have not passed since the last change: make test", said)

    def test_an_empty_section_and_a_strange_version_are_refused(self):
        self.pass_tests()
        changelog = self.clone / "CHANGELOG.md"
        changelog.write_text(changelog.read_text().replace("\n\nIt trains.", "\n\n## [0.0.1] - 2020-01-01", 1))
        self.commit()
        self.pass_tests()
        self.assertIn(f"CHANGELOG.md says nothing below [{self.version}]", self.refused())
        self.assertIn("VERSION is as 0.1.0", self.refused("v1"))


if __name__ == "__main__":
    unittest.main()
