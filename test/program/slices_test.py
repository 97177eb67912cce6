"""A gradient in slices counts whole or not at all, whatever happens between them.

Real processes over TCP and TLS: `outpace server`, and workers whose final weights are a ledger. A
ledger is in 16 tensors, and each of them leaves as soon as it is complete.
"""

import signal
import sys

sys.dont_write_bytecode = True
from jobs import LedgerJob, ProgramTest, main, wait_until  # noqa: E402

SLICED = ("--tensors", 16, "--slice", 4)


class Slices(ProgramTest):
    def start_job(self, policy, workers=3, epochs=4, options=(), listen="127.0.0.1:0", token=None):
        self.healed = self.folder / "healed"
        hang = ("--hang-at", 5, "--hang-until", self.healed)
        return LedgerJob(self, policy, workers=workers, epochs=epochs, batch_seconds=0.01,
                         options=options, listen=listen, token=token,
                         worker_options=lambda worker: SLICED + (hang if worker == 1 else ()))

    def dies_between_slices(self, policy, **more):
        job = self.start_job(policy, **more)
        job.workers[1].until_printed("hangs")
        job.workers[1].send(signal.SIGKILL)
        job.workers[1].wait()
        job.finish()
        summary = job.summary()
        self.assertIn("worker 1 is gone", job.server.err)
        self.assertLessEqual(summary["workers_detail"][1]["accepted"], 4)
        job.assert_each_example_used(summary)

    def test_of_a_worker_that_dies_between_them_count_for_nothing(self):
        self.dies_between_slices("sync")

    def test_of_a_worker_that_dies_between_them_count_for_nothing_async(self):
        self.dies_between_slices("async")

    def test_of_a_worker_that_dies_between_them_count_for_nothing_over_tls(self):
        certs = self.folder / "job"
        made = self.start("certs", certs)
        self.assertEqual(made.wait(), 0, made.err)
        self.dies_between_slices("sync", token=certs / "token")

    def test_of_a_cancelled_gradient_count_for_nothing(self):
        job = self.start_job("backup:cutoff=3", workers=4, epochs=6)
        job.workers[1].until_printed("hangs")
        job.until_gradients(0, job.gradients(0) + 5)  # The others go on without it.
        self.healed.touch()
        wait_until(lambda: "cancelled" in job.workers[1].out.partition("hangs")[2],
                   "the end of the gradient that hung")
        job.until_gradients(1, job.gradients(1) + 3)
        job.finish()
        summary = job.summary()
        self.assertEqual(summary["workers_detail"][1]["incarnations"], 1)
        job.assert_each_example_used(summary)

    def all_add_up(self, policy):
        job = LedgerJob(self, policy, workers=4, listen="127.0.0.1:0", worker_options=SLICED)
        job.finish()
        job.assert_each_example_used(job.summary())

    def test_of_all_workers_add_up_sync(self):
        self.all_add_up("sync")

    def test_of_all_workers_add_up_ssp(self):
        self.all_add_up("ssp:s=2")

    def test_of_all_workers_add_up_kasync(self):
        self.all_add_up("kasync:k=3")


if __name__ == "__main__":
    main()
