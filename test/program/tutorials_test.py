"""The tutorials, as their readers follow them: each command, and what the page says that it shows."""

import os
import sys
import unittest

sys.dont_write_bytecode = True
from jobs import OUTPACE, ProgramTest, main  # noqa: E402
from namespaces import TwoHosts  # noqa: E402
from python_jobs import PACKAGE, PYTHON, needs_torch  # noqa: E402
from tutorial import PAGES, Reader, blocks, missing  # noqa: E402

SECONDS = 100.0  # For one command; it takes a few on an idle machine.


class Tutorial(ProgramTest):
    def follow(self, name, before=()):
        """`before`: pages whose files this one goes on with."""
        programs = self.folder / "bin"
        programs.mkdir()
        (programs / "python3").symlink_to(PYTHON or sys.executable)
        key, value = self.mark.split("=")
        environment = {key: value, "TMPDIR": str(self.scratch), "HOME": str(self.folder),
                       "PATH": f"{os.path.dirname(OUTPACE)}:{programs}:{os.environ['PATH']}",
                       "PYTHONPATH": PACKAGE, "LANG": "C.UTF-8"}
        reader = Reader(environment, self.machine, SECONDS)
        self.addCleanup(reader.close)
        for page in before:
            reader.follow((PAGES / page).read_text(), only_files=True)
        reader.follow((PAGES / name).read_text())
        reader.close()
        reader.terminals.clear()
        self.assert_nothing_left()

    def machine(self, number):
        """Both are this one, unless a test has two."""
        folder = self.folder / f"machine-{number}"
        folder.mkdir(exist_ok=True)
        return (), folder


class Page(unittest.TestCase):
    """The rules by which a page is read."""

    def test_blocks(self):
        self.assertEqual(list(blocks('a\n\n```sh\nls\nls\n```\n\n```python title="a.py"\nx = 1\n```\n')),
                         [("sh", "", "ls\nls"), ("python", "a.py", "x = 1")])

    def test_shown_lines_come_in_their_order(self):
        lines = ["dynamic on 4 workers: 179 updates in 5.0s", "", "  3   6  24.4ms  1.1%  3.4x slower",
                 "as it was   ██▎   1.00 x, 1507/s", "took 91.2 MiB"]
        for shown in ("dynamic on 4 workers: 1,234 updates in 12s\n9  1  0.1s  25%  2x slower",
                      "as it was  █████  2 x, 9/s\ntook 1 KiB", "dynamic on 4 ... in ...\n...",
                      "3 6 24.4ms ..."):
            with self.subTest(shown):
                self.assertIsNone(missing(shown, lines))
        for shown in ("dynamic on 5 workers: 179 updates in 5.0s", "dynamic on four workers: 179 updates in 5.0s", "sync on 4 ...", "took 91.2 MiB of",
                      "took 91.2 MiB\ndynamic on 4 workers: 179 updates in 5.0s", "3 6 24.4ms 1.1%"):
            with self.subTest(shown):
                self.assertIsNotNone(missing(shown, lines))


    def test_an_accuracy_may_differ_a_little(self):
        for line, may in (("accuracy 84.1%, loss 0.4", True), ("accuracy 98%, loss 7", True),
                          ("accuracy 33.3%, loss 0.4", False)):
            self.assertEqual(missing("accuracy 85.2%, loss 0.3", [line]) is None, may, line)
        self.assertIsNotNone(missing("epoch 0: accuracy 0.93", ["epoch 0: accuracy 0.33"]))


class Terminals(Tutorial):
    """What a page may hold, in pages of a few lines."""

    def read(self, page):
        reader = Reader({"PATH": os.environ["PATH"], "PROGRAM_TEST": self.mark.split("=")[1]},
                        self.machine, SECONDS)
        self.addCleanup(reader.close)
        reader.follow(page)

    def test_commands_files_terminals_and_answers(self):
        self.read('```csv title="a.txt"\nno file\n```\n'
                  '```sh\ncat a.txt\necho code7\n```\n```text\nno file\ncode7\n```\n'
                  '```sh title="machine 2"\nread word\n'
                  # What shows it is what Ctrl-C ends: a shell between two commands may miss it.
                  'python3 -c "import time; print(\'got $word\', flush=True); time.sleep(100)"\n```\n'
                  '```text title="typed on machine 2"\ncode...\n```\n'
                  '```text title="machine 2"\ngot code7\n```\n'
                  '```text title="typed on machine 2"\n^C\n```\n'
                  '```sh title="machine 2"\necho $?\n```\n```text\n130\n```\n')

    def test_a_promise_that_is_not_kept(self):
        with self.assertRaisesRegex(AssertionError, "the page shows\nfour"):
            self.read("```sh\necho one; echo two\n```\n```text\none\nfour\n```\n")

    def test_a_command_that_fails(self):
        with self.assertRaisesRegex(AssertionError, "exit code 3"):
            self.read("```sh\necho one\n(exit 3)\n```\n")


@needs_torch
class FirstMinute(Tutorial):
    def test(self):
        self.follow("1-first-minute.md")


@needs_torch
class YourScript(Tutorial):
    def test(self):
        self.follow("2-your-script.md")


@needs_torch
class YourCluster(TwoHosts, Tutorial):
    ADDRESSES = ("10.0.0.1", "10.0.0.2")

    def machine(self, number):
        _, folder = super().machine(number)
        return ("ip", "netns", "exec", self.spaces[number - 1]), folder

    def test(self):
        self.follow("3-your-cluster.md", before=("2-your-script.md",))


@needs_torch
class ThinLink(Tutorial):
    def test(self):
        self.follow("4-thin-link.md", before=("2-your-script.md",))


if __name__ == "__main__":
    main()
