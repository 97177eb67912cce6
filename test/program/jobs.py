"""Starts the real program for a test, waits for conditions, and leaves no process behind.

The environment variables OUTPACE, OUTPACE_LAB and LEDGER_WORKER name the program, the one that
tests it, and the torch-free worker.
Nothing here sleeps: every wait is for a condition, and fails the test at a deadline.
"""

import itertools
import json
import os
import pathlib
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest
import uuid

sys.dont_write_bytecode = True

OUTPACE = os.environ["OUTPACE"]
OUTPACE_LAB = os.environ.get("OUTPACE_LAB", "")
LEDGER_WORKER = os.environ.get("LEDGER_WORKER", "")
DEADLINE = 100.0  # Seconds, for what takes a few on an idle machine.
BATCH = 4  # For ledger jobs; small, so that 1 / n times n is 1 in float32 for every n that occurs.


def wait_until(condition, what, seconds=DEADLINE):
    """Waits until `condition()` is true and returns its result; fails at the deadline."""
    deadline = time.monotonic() + seconds
    while True:
        found = condition()
        if found:
            return found
        if time.monotonic() > deadline:
            raise AssertionError(f"after {seconds} s still waiting: {what}")
        time.sleep(0.01)


def marked_processes(mark):
    """Processes, except zombies, that have the mark in their environment, whatever their parent."""
    found = []
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (folder / "environ").read_bytes():
                found.append(int(folder.name))
        except OSError:
            pass  # It ended meanwhile, or is another user's.
    return found


def children_of(parent):
    """Returns {process id: command line}."""
    found = {}
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            after_name = (folder / "stat").read_text().rpartition(")")[2].split()
            if int(after_name[1]) == parent:
                words = (folder / "cmdline").read_bytes().decode().split("\0")
                found[int(folder.name)] = words
        except OSError:
            pass
    return found


def whole_checkpoints(run):
    """The folders of a run's checkpoints, oldest first, without one that is still written."""
    return sorted(path for path in (run / "checkpoints").glob("g*-u*")
                  if not path.name.endswith(".unfinished"))


def read_weights(path):
    """All numbers of a safetensors file, in the file's order, and its header."""
    data = pathlib.Path(path).read_bytes()
    length = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + length])
    body = data[8 + length:]
    return list(struct.unpack(f"<{len(body) // 4}f", body)), header


def read_json_lines(path):
    """The complete lines of a file that may still grow."""
    text = path.read_text() if path.exists() else ""
    return [json.loads(line) for line in text[:text.rfind("\n") + 1].splitlines()]


class Process:
    def __init__(self, words, folder, name, environment, out=None, err=None):
        """`out`, `err`: descriptors in place of the files that the properties of these names read."""
        self.words = words
        self.out_path = folder / f"{name}.out"
        self.err_path = folder / f"{name}.err"
        with open(self.out_path, "wb") as out_file, open(self.err_path, "wb") as err_file:
            self.popen = subprocess.Popen(
                words, stdin=subprocess.DEVNULL, stdout=out_file if out is None else out,
                stderr=err_file if err is None else err, env=environment,
                cwd=folder, start_new_session=True)

    @property
    def id(self):
        return self.popen.pid

    @property
    def out(self):
        return self.out_path.read_text()

    @property
    def err(self):
        return self.err_path.read_text()

    def running(self):
        return self.popen.poll() is None

    def send(self, number):
        os.kill(self.id, number)

    def wait(self, seconds=DEADLINE):
        """The exit code, or minus the signal."""
        try:
            return self.popen.wait(seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(
                f"still running after {seconds} s: {' '.join(self.words)}\n{self.err}") from None

    def until_said(self, text, seconds=DEADLINE):
        def said():
            if text in self.err:
                return True
            if not self.running():
                raise AssertionError(f"ended without saying '{text}':\n{self.err}")
            return False
        wait_until(said, f"'{text}' on standard error", seconds)

    def until_printed(self, text, seconds=DEADLINE):
        wait_until(lambda: text in self.out, f"'{text}' on standard output", seconds)


class ProgramTest(unittest.TestCase):
    """A folder, a mark that every started process inherits, and a check that none is left."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="outpace-test-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.scratch = self.folder / "tmp"
        self.scratch.mkdir()
        self.mark = "PROGRAM_TEST=" + uuid.uuid4().hex
        self.names = itertools.count()
        self.addCleanup(self.end_all)

    def end_all(self):
        left = marked_processes(self.mark)
        for one in left:
            try:
                os.kill(one, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def start(self, *words, program=OUTPACE, variables=None, out=None, err=None):
        environment = {key: value for key, value in os.environ.items()
                       if not key.startswith("OUTPACE")}
        key, value = self.mark.split("=")
        environment.update({key: value, "TMPDIR": str(self.scratch)}, **(variables or {}))
        return Process([program, *map(str, words)], self.folder, f"process-{next(self.names)}",
                       environment, out, err)

    def assert_nothing_left(self, seconds=20.0):
        wait_until(lambda: not marked_processes(self.mark), "the end of all processes", seconds)

    def path(self, name, content=None, mode=0o600):
        path = self.folder / name
        if content is not None:
            path.write_bytes(content.encode() if isinstance(content, str) else content)
            path.chmod(mode)
        return path


class LedgerJob:
    """`outpace server`, and workers whose gradients count the uses of each example.

    With this learning rate and scale, each example of an accepted gradient of weight 1 reduces its
    number by exactly 1, whatever else is in the update. `staleness` None: the policy's own rule.
    `rate`: words in place of that learning rate.
    """

    def __init__(self, test, policy, workers=8, examples=1024, epochs=3, batch_seconds=0.004,
                 staleness="none", options=(), worker_options=(), listen=None, token=None,
                 variables=None, rate=None):
        self.test = test
        self.examples = examples
        self.epochs = epochs
        self.run = test.folder / "run"
        self.worker_options = (worker_options if callable(worker_options)
                               else lambda worker: worker_options)
        self.token = token or test.folder / "token"
        self.variables = variables  # The server's.
        cutoff = {"sync": workers, "dynamic": workers, "backup": 3, "softsync": workers // 2,
                  "kbatchsync": 3, "kasync": 3}.get(
            policy.partition(":")[0], 1)
        self.server_words = (
            "server", "--policy", policy, "--workers", workers, "--batch", BATCH,
            "--epochs", epochs, *(rate or ("--lr", BATCH * cutoff, "--lr-scale", "linear")),
            *(("--staleness", staleness) if staleness else ()),
            "--listen", listen or f"unix:{test.folder}/s", "--token-file", self.token,
            "--json", *options)
        self.start_server(self.run)
        pace = batch_seconds if callable(batch_seconds) else lambda worker: batch_seconds
        self.workers = [self.start_worker(worker, pace(worker)) for worker in range(workers)]

    def start_server(self, out):
        self.run = out
        self.server = self.test.start(*self.server_words, "--out", out, variables=self.variables)
        self.server.until_said("listening on")
        self.address = self.server.err.partition("listening on ")[2].partition(";")[0]

    def start_worker(self, worker, batch_seconds, *options):
        return self.test.start(
            "--server", self.address, "--token-file", self.token,
            "--worker", worker, "--examples", self.examples,
            "--batch-seconds", f"{batch_seconds:f}", *self.worker_options(worker), *options, program=LEDGER_WORKER)

    def gradients(self, worker):
        return self.workers[worker].out.count("\n")

    def until_gradients(self, worker, least):
        """Waits, while the run goes on, until a worker has sent this many gradients."""
        def enough():
            self.test.assertTrue(self.server.running(), "the run ended too early: " + self.server.err)
            return self.gradients(worker) >= least
        wait_until(enough, f"{least} gradients of worker {worker}")

    def finish(self):
        """Waits until the server and all workers that were not killed have ended in order."""
        self.test.assertEqual(self.server.wait(), 0, self.server.err)
        for worker in self.workers:
            if worker.popen.poll() != -signal.SIGKILL:
                self.test.assertEqual(worker.wait(), 0, worker.err)
        self.test.assert_nothing_left()

    def summary(self):
        return json.loads(self.server.out)

    def assert_each_example_used(self, summary, exact=True):
        test = self.test
        test.assertEqual(summary["epochs_complete"], self.epochs)
        test.assertEqual(summary["examples_used_per_epoch_min"], 1)
        test.assertEqual(summary["examples_used_per_epoch_max"], 1)
        test.assertEqual(summary["examples"], self.epochs * self.examples)
        test.assertEqual(sum(worker["examples"] for worker in summary["workers_detail"]),
                         self.epochs * self.examples)
        ledger, _ = read_weights(self.run / "weights.safetensors")
        test.assertEqual(len(ledger), self.examples)
        if exact:
            wrong = {example: -uses for example, uses in enumerate(ledger)
                     if -uses != float(self.epochs)}
            test.assertFalse(wrong, "example: times it was applied")
        return [-weight for weight in ledger]

    def class_shares(self, applied, classes=8):
        """The share of each label among the applied examples, if the data is sorted by label."""
        size = self.examples // classes
        return [sum(applied[label * size:(label + 1) * size]) / sum(applied)
                for label in range(classes)]


def main():
    unittest.main(verbosity=2)
