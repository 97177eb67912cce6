"""A disk that hangs: training goes on, the record is whole when it comes back, signals work."""

import fcntl
import json
import os
import signal
import sys

sys.dont_write_bytecode = True
from jobs import LedgerJob, main, read_json_lines, wait_until  # noqa: E402
from record_test import Record  # noqa: E402


class Hang(Record):
    def setUp(self):
        super().setUp()
        self.lock = open(self.path("lock", ""), "rb")
        self.addCleanup(self.lock.close)

    def start_job(self, *options):
        return LedgerJob(self, "async", workers=2, epochs=100_000, options=options, variables={
            "LD_PRELOAD": os.environ["HANGING_DISK"], "HANGS_UNDER": f"{self.folder}/run",
            "HANGS_WHILE_LOCKED": self.lock.name})

    def hang(self, on=True):
        fcntl.flock(self.lock, fcntl.LOCK_EX if on else fcntl.LOCK_UN)

    def train_on(self, job):
        for worker in (0, 1):
            job.until_gradients(worker, job.gradients(worker) + 100)

    def test_training_goes_on_and_the_record_misses_nothing(self):
        job = self.start_job("--checkpoint-every", 50, "--trace", self.folder / "run/trace.json",
                             "--tensorboard", self.folder / "run/events")
        log = job.run / "decisions.jsonl"
        wait_until(lambda: log.stat().st_size > 10_000, "decisions")
        self.hang()
        job.server.until_said("has taken nothing for 5 s; training goes on")
        size = log.stat().st_size
        self.train_on(job)
        self.assertEqual(log.stat().st_size, size)
        self.hang(False)
        job.server.until_said("takes the record again")
        self.train_on(job)
        job.server.send(signal.SIGTERM)
        self.assertEqual(job.server.wait(), 128 + signal.SIGTERM, job.server.err)
        self.assertNotIn({"gap": True}, read_json_lines(log))
        summary = json.loads((job.run / "summary.json").read_text())
        arrived = sum(one["event"]["type"] == "gradient_arrived" for one in read_json_lines(log)[1:])
        self.assertGreaterEqual(arrived, summary["updates"])
        self.replay(job.run)

    def test_two_signals_end_the_run_while_the_disk_hangs(self):
        job = self.start_job()
        self.train_on(job)
        self.hang()
        self.train_on(job)
        job.server.send(signal.SIGTERM)
        job.server.until_said("a second signal ends it at once")

        def ended():
            if job.server.running():
                job.server.send(signal.SIGTERM)
            return not job.server.running()
        wait_until(ended, "the end of the server")
        self.assertEqual(job.server.wait(), 128 + signal.SIGTERM)


if __name__ == "__main__":
    main()
