"""Output that nobody reads, and a reader that goes away: neither stops training, clock or signal."""

import fcntl
import json
import os
import pty
import signal
import sys

sys.dont_write_bytecode = True
from jobs import LedgerJob, ProgramTest, main, read_json_lines, wait_until  # noqa: E402
from run_script_test import ScriptTest  # noqa: E402

AT_ONCE = 30.0  # Seconds, on a machine with much else to do.


class Output(ProgramTest):
    def pipe(self):
        """Both ends, which the test closes."""
        ends = os.pipe()
        for end in ends:
            self.addCleanup(self.close, end)
        return ends

    @staticmethod
    def close(descriptor):
        try:
            os.close(descriptor)
        except OSError:
            pass

    def full_pipe(self):
        """The end to write to of a pipe that takes no byte, and that nobody reads."""
        _, end = self.pipe()
        flags = fcntl.fcntl(end, fcntl.F_GETFL)
        fcntl.fcntl(end, fcntl.F_SETFL, flags | os.O_NONBLOCK)
        try:
            while True:
                os.write(end, b"x")
        except BlockingIOError:
            fcntl.fcntl(end, fcntl.F_SETFL, flags)
        return end

    def stopped_terminal(self):
        """A terminal on which somebody has pressed Ctrl-S."""
        keyboard, terminal = pty.openpty()
        for end in (keyboard, terminal):
            self.addCleanup(self.close, end)
        os.write(keyboard, b"\x13")
        return terminal


class MuteJob(LedgerJob):
    """A ledger job whose server's output goes elsewhere."""

    def __init__(self, test, *arguments, out=None, err=None, **options):
        self.out, self.err = out, err
        super().__init__(test, *arguments, **options)

    def start_server(self, out):
        self.run = out
        self.address = f"unix:{self.test.folder}/s"
        self.server = self.test.start(*self.server_words, "--out", out, out=self.out, err=self.err)
        wait_until((self.test.folder / "s").exists, "the server's socket")


class Unread(Output):
    def ends_in_order(self, job, code, why):
        self.assertEqual(job.server.wait(AT_ONCE), code)
        for worker in job.workers:
            self.assertIn(worker.wait(AT_ONCE), (0, 1), worker.err)
        self.assert_nothing_left()
        summary = json.loads((job.run / "summary.json").read_text())
        self.assertEqual(summary["why_ended"], why)
        self.assertTrue((job.run / "weights.safetensors").exists())
        return summary

    def arrivals_after(self, job, seconds):
        return sum(one["event"]["type"] == "gradient_arrived" and one["now"] > seconds * 1e9
                   for one in read_json_lines(job.run / "decisions.jsonl")[1:])

    def test_a_full_pipe_stops_neither_training_nor_the_clock(self):
        job = MuteJob(self, "async", workers=2, epochs=100_000, err=self.full_pipe(),
                      options=("--seconds", "3s"))
        self.ends_in_order(job, 0, "time is up")
        self.assertGreater(self.arrivals_after(job, 2), 10)
        self.assertEqual(json.loads(job.server.out)["why_ended"], "time is up")

    def test_one_signal_ends_a_run_whose_errors_are_a_full_pipe(self):
        job = MuteJob(self, "async", workers=2, epochs=100_000, err=self.full_pipe())
        for worker in (0, 1):
            job.until_gradients(worker, 20)
        job.server.send(signal.SIGTERM)
        self.ends_in_order(job, 128 + signal.SIGTERM, "interrupted")

    def test_a_stopped_terminal_stops_neither_training_nor_the_clock(self):
        terminal = self.stopped_terminal()
        job = MuteJob(self, "async", workers=2, epochs=100_000, out=terminal, err=terminal,
                      options=("--seconds", "3s"))
        # Its result is not read, either.
        self.ends_in_order(job, 1, "time is up")
        self.assertGreater(self.arrivals_after(job, 2), 10)

    def test_one_signal_ends_a_run_at_a_stopped_terminal(self):
        terminal = self.stopped_terminal()
        job = MuteJob(self, "async", workers=2, epochs=100_000, out=terminal, err=terminal)
        for worker in (0, 1):
            job.until_gradients(worker, 20)
        job.server.send(signal.SIGTERM)
        self.ends_in_order(job, 128 + signal.SIGTERM, "interrupted")

    def test_a_reader_that_goes_away_ends_no_run(self):
        reader, end = self.pipe()
        job = MuteJob(self, "async", workers=2, epochs=100_000, err=end)
        os.close(end)
        self.assertIn(b"listening on", os.read(reader, 4096))
        for worker in (0, 1):  # One that never joined would be waited for.
            job.until_gradients(worker, 20)
        os.close(reader)
        os.kill(job.workers[0].id, signal.SIGKILL)  # The server has something to say.
        job.until_gradients(1, job.gradients(1) + 50)
        job.server.send(signal.SIGTERM)
        job.workers.pop(0).wait()
        self.ends_in_order(job, 128 + signal.SIGTERM, "interrupted")


class Script(Output, ScriptTest):
    def test_what_the_script_prints_stops_nothing_if_nobody_reads_it(self):
        end = self.full_pipe()
        script = self.path("train.sh", f"head -c 1000000 /dev/zero | tr '\\0' '\\n'\n"
                           f"exec {os.environ['SCRIPT_WORKER']} \"$@\"\n", mode=0o700)
        process = self.start("run", "--workers", 2, "--show-output", "all", "--out", "run",
                             "--", "/bin/sh", script, "--epochs", 2, out=end, err=end)
        self.assertEqual(process.wait(60), 0)
        summary = json.loads((self.folder / "run" / "summary.json").read_text())
        self.assertEqual(summary["epochs_complete"], 2)

    def test_a_slow_reader_gets_every_line_that_the_script_prints(self):
        reader, end = self.pipe()
        script = self.path("train.sh", f"seq 100000 200000\nexec {os.environ['SCRIPT_WORKER']} "
                           "\"$@\"\n", mode=0o700)
        process = self.start("run", "--workers", 1, "--show-output", "all", "--out", "run",
                             "--", "/bin/sh", script, "--epochs", 2, err=end)
        os.close(end)
        with os.fdopen(reader, "rb") as errors:
            lines = errors.read().decode().splitlines()
        self.assertEqual(process.wait(), 0)
        prefix = "worker 0: "
        self.assertEqual([line[len(prefix):] for line in lines if line.startswith(prefix + "1")
                          or line.startswith(prefix + "2")],
                         [str(number) for number in range(100_000, 200_001)])


if __name__ == "__main__":
    main()
