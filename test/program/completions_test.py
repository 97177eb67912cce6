"""Manual pages and completions of shells, in the shells themselves."""

import os
import pty
import re
import select
import shutil
import subprocess
import sys
import time

sys.dont_write_bytecode = True
from jobs import ProgramTest, main  # noqa: E402

PATIENCE = 60.0  # Seconds, for a shell on a busy machine.


class Shells(ProgramTest):
    def written(self, kind):
        process = self.start("options", "--as", kind, "--to", self.folder / kind)
        self.assertEqual(process.wait(), 0, process.err)
        return sorted((self.folder / kind).iterdir())

    def run_words(self, *words):
        return subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE)

    def bash(self, script, *words):
        """What bash would offer in place of the last word."""
        quoted = " ".join(f"'{word}'" for word in words)
        ran = self.run_words("bash", "--norc", "-c", f"source {script}; COMP_WORDS=({quoted}); "
                             f"COMP_CWORD={len(words) - 1}; _outpace; printf '%s\\n' \"${{COMPREPLY[@]}}\"")
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        return ran.stdout.split()

    def test_bash(self):
        [script] = self.written("bash")
        self.assertEqual(script.name, "outpace")
        self.assertEqual(self.bash(script, "outpace", "tra"), ["train"])
        self.assertIn("simulate", self.bash(script, "outpace", ""))
        self.assertEqual(self.bash(script, "outpace", "train", "--topo"), ["--topology"])
        self.assertEqual(self.bash(script, "outpace", "train", "--topology", "=", "ri"), ["ring"])
        self.assertIn("softsync", self.bash(script, "outpace", "train", "--policy", ""))
        self.assertEqual(self.bash(script, "outpace", "train", "--lr", ""), [])
        self.path("weights.safetensors", "x")
        self.assertEqual(self.bash(script, "outpace", "train", "--weights", f"{self.folder}/wei"),
                         [f"{self.folder}/weights.safetensors"])
        self.assertIn("python3", self.bash(script, "outpace", "run", "--", "python"))

    def zsh(self, script, typed, seen):
        """Types this, with a tab behind it, and waits until zsh shows that."""
        master, slave = pty.openpty()
        shell = subprocess.Popen(["zsh", "-f", "-i"], stdin=slave, stdout=slave, stderr=slave,
                                 env=os.environ | {"TERM": "dumb", "COLUMNS": "200"},
                                 start_new_session=True)
        os.close(slave)
        self.addCleanup(os.close, master)
        self.addCleanup(shell.wait)
        self.addCleanup(shell.kill)
        os.write(master, f"fpath=({script.parent} $fpath); autoload -Uz compinit; "
                         f"compinit -u -D; echo re''ady\n".encode())
        self.until_shown(master, "\nready")
        os.write(master, typed.encode() + b"\t")
        self.until_shown(master, seen)

    def until_shown(self, master, what):
        shown = ""
        until = time.monotonic() + PATIENCE
        while what not in shown.replace("\r", ""):
            self.assertLess(time.monotonic(), until, f"zsh does not show {what!r}: {shown!r}")
            if select.select([master], [], [], 1)[0]:
                shown += os.read(master, 4096).decode(errors="replace")

    def test_zsh(self):
        [script] = self.written("zsh")
        self.assertEqual(script.name, "_outpace")
        checked = self.run_words("zsh", "-n", str(script))
        self.assertEqual((checked.returncode, checked.stderr), (0, ""))
        self.zsh(script, "outpace simul", "outpace simulate ")
        self.zsh(script, "outpace train --topology=go", "--topology=gossip")
        self.zsh(script, "outpace train --progress-t", "--progress-timeout")

    def test_fish(self):
        [script] = self.written("fish")

        def offered(typed):
            ran = self.run_words("fish", "--no-config", "-c", f"source {script}; complete -C '{typed}'")
            self.assertEqual((ran.returncode, ran.stderr), (0, ""))
            return [line.split("\t")[0] for line in ran.stdout.splitlines()]
        self.assertEqual(offered("outpace simul"), ["simulate"])
        self.assertEqual(sorted(offered("outpace train --topology ")), ["gossip", "ps", "ring"])
        self.assertIn("--progress-timeout", offered("outpace train --progress"))

    def test_manual_pages(self):
        pages = self.written("man")
        names = [page.name for page in pages]
        self.assertIn("outpace.1", names)
        self.assertIn("outpace-train.1", names)
        for page in pages:
            with self.subTest(page.name):
                ran = self.run_words("mandoc", "-T", "lint", "-W", "warning", str(page))
                # A date would make two builds of one commit differ.
                self.assertEqual([line for line in ran.stdout.splitlines() if "missing date" not in line], [])
        shown = self.run_words("mandoc", "-T", "utf8", str(self.folder / "man" / "outpace-train.1")).stdout
        shown = re.sub(".\b", "", shown)
        self.assertRegex(shown, r"(?s)NAME\s+outpace-train - Train on this machine")
        self.assertRegex(shown, r"(?s)--topology WORD\s+ps: a parameter server")

    def test_bad_input(self):
        for words, says in ((("--as", "csh"), "did you mean 'zsh'?"),
                            (("--as", "man"), "--as man writes several files; add --to FOLDER"),
                            (("--as", "bash", "--to", self.path("file", "x") / "below"), "--to ")):
            process = self.start("options", *words)
            self.assertEqual(process.wait(), 2)
            self.assertIn(says, process.err)
            self.assertEqual(len(process.err.splitlines()), 1)


if __name__ == "__main__":
    for shell in ("zsh", "fish", "mandoc"):
        assert shutil.which(shell), f"{shell} is missing: tools/install-packages.sh test"
    main()
