"""What the tests of the Python package share: an interpreter, a server, and scripts as workers."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import unittest

from jobs import LedgerJob, ProgramTest, wait_until

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PACKAGE = os.environ.get("PYTHON_PACKAGE", "")  # The folder that has the package, built.
SCRIPTS = ROOT / "test" / "python"
EXAMPLES = ROOT / "examples" / "python"


def interpreter():
    """A Python that has torch; Debian's packages are of /usr/bin/python3. None if there is none."""
    there = "from importlib.util import find_spec as f; raise SystemExit(not (f('torch') and f('numpy')))"
    for program in (sys.executable, "/usr/bin/python3"):
        if subprocess.run([program, "-c", there], check=False).returncode == 0:
            return program
    return None


def has_gpu():
    """Whether that Python's torch can use one."""
    code = "import torch; raise SystemExit(not torch.cuda.is_available())"
    return PYTHON is not None and subprocess.run([PYTHON, "-c", code]).returncode == 0


PYTHON = interpreter()
needs_torch = unittest.skipUnless(PYTHON, "there is no torch for Python: apt install python3-torch")


@needs_torch
class PythonTest(ProgramTest):
    def server(self, *options, workers=1):
        """A server on a socket; its run is in self.run."""
        self.run = self.folder / "run"
        server = self.start("server", "--workers", workers, "--listen", f"unix:{self.folder}/s",
                            "--token-file", self.folder / "token", "--out", self.run, "--json",
                            *options)
        server.until_said("listening on")
        return server

    def python(self, script, *words, rank=None, **variables):
        """A script: worker `rank` of the server, or alone."""
        if rank is not None:
            variables = {"OUTPACE_SERVER": f"unix:{self.folder}/s", "OUTPACE_WORKER": str(rank),
                         "OUTPACE_TOKEN_FILE": str(self.folder / "token"), **variables}
        return self.start("-B", script, *words, program=PYTHON, variables={
            "PYTHONPATH": PACKAGE, "OMP_NUM_THREADS": "1", **variables})

    def lines(self, process):
        """What a script of test/python printed."""
        return [json.loads(line) for line in process.out.splitlines() if line.startswith("{")]

    def finish(self, *processes):
        for process in processes:
            self.assertEqual(process.wait(), 0, process.err)
        self.assert_nothing_left()

    def summary(self):
        return json.loads((self.run / "summary.json").read_text())

    def waits(self, process):
        """Whether a script of one thread waits for the server: the library has a thread that
        listens, one whose heart beats, or both, beside the two of Python."""
        with open(f"/proc/{process.id}/status") as status:
            return int(status.read().partition("Threads:")[2].split()[0]) >= 3

    def first_and_late(self, server, script, words, hold_at, said):
        """Two workers that have ended well: one that took part always, and one in the place of a
        worker that was killed. The first one goes on once the late one has said `said`."""
        words = (*words, "--until", self.folder / "go")
        first = self.python(script, *words, "--hold-at", hold_at, rank=0)
        lost = self.python(script, *words, "--hold-at", 0, "--hold-rank", 1, rank=1)
        for worker in (first, lost):
            self.until(worker, lambda one=worker: "holds" in one.out, "both to hold")
        lost.send(signal.SIGKILL)
        lost.wait()
        late = self.python(script, *words, rank=1)
        self.until(late, lambda: said in late.out, f"the late worker to say '{said}'")
        self.path("go", "")
        self.finish(server, first, late)
        return first, late

    def until(self, process, condition, what):
        def holds():
            if not process.running():
                raise AssertionError(f"ended too early: {process.err}")
            return condition()
        return wait_until(holds, what)


class ScriptLedger(LedgerJob):
    """A ledger job whose workers are Python: by numpy, or by torch with a DataLoader's processes."""

    def __init__(self, test, policy, words, hold_at=None, **more):
        """`hold_at`: each worker waits before this gradient until go_on()."""
        self.words = words
        self.hold = {} if hold_at is None else {"LEDGER_HOLD": f"{hold_at}:{test.folder}/go"}
        super().__init__(test, policy, **more)

    def start_server(self, out):
        if self.words[0] == "torch":  # The script brings the optimizer and its rate.
            words = list(self.server_words)
            at = words.index("--lr")
            del words[at:at + 2]
            self.server_words = tuple(words)
        super().start_server(out)

    def until_held(self):
        for worker in self.workers:
            self.test.until(worker, lambda one=worker: "holds" in one.out, "a worker that holds")

    def go_on(self):
        self.test.path("go", "")

    def start_worker(self, worker, batch_seconds, *options):
        return self.test.start(
            "-B", SCRIPTS / "ledger.py", self.words[0], self.examples, *self.words[1:],
            program=PYTHON, variables={
                **self.hold, "PYTHONPATH": PACKAGE, "OMP_NUM_THREADS": "1",
                "OUTPACE_SERVER": f"unix:{self.test.folder}/s", "OUTPACE_WORKER": str(worker),
                "OUTPACE_TOKEN_FILE": str(self.token), "OUTPACE_REJOIN_FOR": "100s"})
