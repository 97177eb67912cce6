"""Strangers: nobody without the token takes a server's memory, or keeps it from training or from ending."""

import pathlib
import re
import signal
import sys
import time

sys.dont_write_bytecode = True
from jobs import LEDGER_WORKER, ProgramTest, main, wait_until  # noqa: E402

STRANGER = pathlib.Path(__file__).with_name("stranger.py")
MIB = 1 << 20
GROWTH_MOST = 32 * MIB
GRADIENTS = 20  # From the workers while strangers come: training goes on.


def memory(process, key):
    text = pathlib.Path(f"/proc/{process.id}/status").read_text()
    return int(re.search(rf"{key}:\s+(\d+) kB", text)[1]) * 1024


class Strangers(ProgramTest):
    def start_job(self, folder):
        """A server and two workers that train; over TLS if there are certificates in the folder."""
        self.server = self.start("server", "--workers", 2, "--policy", "async", "--batch", 4,
                                 "--iterations", 10**9, "--token-file", folder / "token",
                                 "--out", self.folder / "run")
        self.server.until_said("listening on 127.0.0.1:")
        self.address = self.server.err.partition("listening on ")[2].partition(";")[0]
        self.workers = [
            self.start("--server", self.address, "--token-file", folder / "token", "--worker", worker,
                       "--examples", 4096, "--batch-seconds", 0.002, program=LEDGER_WORKER)
            for worker in range(2)]
        # Some hundred gradients on, the server has what memory training takes.
        self.until_gradients(200)
        self.before = memory(self.server, "VmRSS")

    def gradients(self):
        return sum(worker.out.count("\n") for worker in self.workers)

    def until_gradients(self, least):
        def enough():
            for process in (self.server, *self.workers):
                self.assertTrue(process.running(), process.err)
            return self.gradients() >= least
        wait_until(enough, f"{least} gradients")

    def start_strangers(self, kind, count):
        host, port = self.address.split(":")
        return [self.start("-B", STRANGER, kind, host, port, program=sys.executable)
                for _ in range(count)]

    def flooded_by(self, kind, count, connections):
        """Waits until the strangers have connected as often, and the workers have trained meanwhile."""
        strangers = self.start_strangers(kind, count)

        def made():
            for process in (self.server, *self.workers, *strangers):
                self.assertTrue(process.running(), process.err)
            return sum(100 * one.out.count("hundred") for one in strangers) >= connections
        wait_until(lambda: any(one.out for one in strangers), f"{kind}: a first hundred connections")
        gradients = self.gradients()
        wait_until(made, f"{kind}: {connections} connections")
        self.until_gradients(gradients + GRADIENTS)
        grown = memory(self.server, "VmHWM") - self.before
        self.assertLess(grown, GROWTH_MOST, f"{kind}: the server took {grown / MIB:.1f} MiB")
        return strangers

    def end(self, strangers):
        for one in strangers:
            one.send(signal.SIGKILL)
            one.wait()

    def assert_the_server_ends_meanwhile(self):
        begun = time.monotonic()
        self.server.send(signal.SIGINT)
        self.assertEqual(self.server.wait(), 128 + signal.SIGINT, self.server.err)
        self.assertLess(time.monotonic() - begun, 2)
        self.assertRegex(self.server.err, r"refused 127\.0\.0\.1:\d+: ")
        for worker in self.workers:
            self.assertEqual(worker.wait(), 1, worker.err)  # Its job did not end as it should.

    def test_without_tls_take_neither_memory_nor_turns(self):
        self.start_job(self.folder)
        for kind, count, connections in (("idle", 1, 2000), ("slow", 1, 500)):
            self.end(self.flooded_by(kind, count, connections))
        strangers = self.flooded_by("reset", 4, 4000)
        self.assert_the_server_ends_meanwhile()
        self.end(strangers)

    def test_over_tls_take_neither_memory_nor_turns(self):
        certs = self.start("certs", self.folder / "job")
        self.assertEqual(certs.wait(), 0, certs.err)
        self.start_job(self.folder / "job")
        for kind, count, connections in (("idle", 1, 2000), ("reset", 4, 2000)):
            self.end(self.flooded_by(kind, count, connections))
        strangers = self.flooded_by("handshake", 2, 1000)
        self.assert_the_server_ends_meanwhile()
        self.end(strangers)


if __name__ == "__main__":
    main()
