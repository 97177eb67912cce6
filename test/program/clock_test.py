"""The wall clock of a server and of its workers jumps by an hour, and back: nothing happens.

Debian's libfaketime stands between the processes and the clock, and leaves the steady clock alone.
"""

import pathlib
import sys
import time
import unittest

sys.dont_write_bytecode = True
from jobs import LedgerJob, ProgramTest, main, wait_until  # noqa: E402

HOUR = 3600
LIBRARY = next(iter(sorted(pathlib.Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))), None)


@unittest.skipIf(LIBRARY is None, "there is no libfaketime: apt install faketime")
class Jump(ProgramTest):
    def setUp(self):
        super().setUp()
        self.offset = self.folder / "offset"
        self.set_clock(0)

    def set_clock(self, seconds):
        written = self.folder / "offset.new"
        written.write_text(f"{seconds:+d}\n")
        written.rename(self.offset)

    def start(self, *words, variables=None, **rest):
        variables = {**(variables or {}), "LD_PRELOAD": str(LIBRARY),
                     "FAKETIME_TIMESTAMP_FILE": str(self.offset), "FAKETIME_NO_CACHE": "1", "FAKETIME_DONT_FAKE_MONOTONIC": "1",
                     "DONT_FAKE_MONOTONIC": "1"}
        return super().start(*words, variables=variables, **rest)

    def clock(self):
        """What a process that is started like the others takes for the time."""
        process = self.start("+%s", program="date")
        self.assertEqual(process.wait(), 0, process.err)
        return int(process.out)

    def checkpoints(self, job):
        return {path.name for path in (job.run / "checkpoints").glob("g*-u*")}

    def jump(self, job, seconds):
        """After it, all workers send gradients, and two more checkpoints are written."""
        self.set_clock(seconds)
        self.assertAlmostEqual(self.clock() - time.time(), seconds, delta=60)
        before = [job.gradients(worker) for worker in range(3)]
        known = self.checkpoints(job)
        for _ in range(2):
            wait_until(lambda: self.checkpoints(job) - known, "another checkpoint")
            known |= self.checkpoints(job)
        for worker in range(3):
            job.until_gradients(worker, before[worker] + 5)

    def test_an_hour_forth_and_two_back(self):
        begun = time.monotonic()
        job = LedgerJob(self, "sync", workers=3, examples=1200, epochs=7, batch_seconds=0.03,
                        options=("--heartbeat-timeout", "10s", "--checkpoint-every", "1s",
                                 "--progress-timeout", "20s"))
        job.until_gradients(0, 5)
        for process in (job.server, *job.workers):
            self.assertIn("libfaketime", pathlib.Path(f"/proc/{process.id}/maps").read_text())
        running = time.monotonic()
        self.jump(job, HOUR)
        self.jump(job, -HOUR)
        self.jump(job, 0)
        ran = time.monotonic() - running
        job.finish()
        summary = job.summary()
        self.assertGreater(summary["seconds"], ran)
        self.assertLess(summary["seconds"], time.monotonic() - begun)
        job.assert_each_example_used(summary)
        for text in ("is gone", "silent", "stalled", "timed out"):
            self.assertNotIn(text, job.server.err)
        self.assertEqual([worker["incarnations"] for worker in summary["workers_detail"]], [1] * 3)


if __name__ == "__main__":
    main()
