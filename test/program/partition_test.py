"""A network that is cut between two hosts, both ways or one way: both sides go on when it is over.

A server and one worker on one host, three workers on the other, TLS between them. Takes root and
iproute2. PARTITION_GRADIENTS=1500 cuts it for a minute: the near worker computes this many gradients
meanwhile, 25 a second.
"""

import os
import sys

sys.dont_write_bytecode = True
from jobs import BATCH, LEDGER_WORKER, LedgerJob, main  # noqa: E402
from namespaces import TwoHosts  # noqa: E402

NOBODY = "02:00:00:00:00:99"  # A hardware address that no host has: what is sent there is lost.
SILENT = "3s"  # When a worker counts as dead.
GRADIENTS = int(os.environ.get("PARTITION_GRADIENTS", 100))
FAR = (1, 2, 3)  # The workers that are cut off.


class RemoteJob(LedgerJob):
    """A ledger job: server and worker 0 on the first host, the other workers on the second."""

    def __init__(self, test, policy, workers=4, examples=1024, epochs=4):
        self.test = test
        self.examples = examples
        self.epochs = epochs
        self.folder = test.folder / "job"
        certs = test.start("certs", self.folder)
        test.assertEqual(certs.wait(), 0, certs.err)
        self.run = test.folder / "run"
        self.server = test.start_on(
            0, "server", "--policy", policy, "--workers", workers, "--batch", BATCH,
            "--epochs", epochs, "--lr", BATCH * (workers if policy == "sync" else 1),
            "--lr-scale", "linear", "--staleness", "none", "--heartbeat-timeout", SILENT,
            "--listen", f"{test.ADDRESSES[0]}:0", "--token-file", self.folder / "token",
            "--json", "--out", self.run)
        self.server.until_said("listening on")
        address = self.server.err.partition("listening on ")[2].partition(";")[0]
        self.workers = [
            test.start_on(int(worker in FAR), "--server", address, "--token-file",
                          self.folder / "token", "--worker", worker, "--examples", examples,
                          "--batch-seconds", 0.04, "--rejoin-for", 600, program=LEDGER_WORKER)
            for worker in range(workers)]


class Partition(TwoHosts):
    def check(self, policy, cut, mend):
        job = RemoteJob(self, policy, epochs=4 + 3 * GRADIENTS * BATCH // 1024)
        for worker in range(4):
            job.until_gradients(worker, 5)
        cut()
        for worker in FAR:
            job.server.until_said(f"worker {worker}: silent for 3 s, taken for dead")
        # Far from the edge: the other side has given its connections up too.
        job.until_gradients(0, job.gradients(0) + GRADIENTS)
        before = [job.gradients(worker) for worker in range(4)]
        mend()
        for worker in FAR:
            job.until_gradients(worker, before[worker] + 5)
        job.finish()
        summary = job.summary()
        job.assert_each_example_used(summary)
        self.assertEqual(summary["workers_detail"][0]["incarnations"], 1)
        for worker in FAR:
            self.assertGreater(summary["workers_detail"][worker]["incarnations"], 1)

    def lose(self, host):
        """What this host sends to the other is lost, silently."""
        self.ip("-n", self.spaces[host], "neigh", "replace", self.ADDRESSES[1 - host],
                "lladdr", NOBODY, "dev", "eth0", "nud", "permanent")

    def find(self, host):
        self.ip("-n", self.spaces[host], "neigh", "del", self.ADDRESSES[1 - host], "dev", "eth0")

    def link(self, state):
        self.ip("-n", self.spaces[1], "link", "set", "eth0", state)

    def test_a_link_that_is_down_under_sync(self):
        self.check("sync", lambda: self.link("down"), lambda: self.link("up"))

    def test_a_link_that_is_down_under_async(self):
        self.check("async", lambda: self.link("down"), lambda: self.link("up"))

    def test_what_the_server_sends_is_lost(self):
        self.check("sync", lambda: self.lose(0), lambda: self.find(0))

    def test_what_the_workers_send_is_lost(self):
        self.check("async", lambda: self.lose(1), lambda: self.find(1))


if __name__ == "__main__":
    main()
