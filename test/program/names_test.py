"""Hosts: names of machines where DNS does not answer, in two network namespaces. Takes root and iproute2."""

import sys
import time

sys.dont_write_bytecode = True
from jobs import LEDGER_WORKER, main, wait_until  # noqa: E402
from namespaces import TwoHosts  # noqa: E402

NAMESERVER = "127.0.0.1"  # The namespace's: a socket that takes every question and never answers.
SILENT = """
import signal, socket
one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
one.bind(("%s", 53))
print("bound", flush=True)
signal.pause()
""" % NAMESERVER
# Much longer than any deadline here: a process that waits for DNS does not end in time.
RESOLVER = f"nameserver {NAMESERVER}\noptions timeout:30 attempts:5\n"
HOSTS = "127.0.0.1 localhost\n{} trainer\n{} helper\n".format(*TwoHosts.ADDRESSES)


class Hosts(TwoHosts):
    def setUp(self):
        super().setUp()
        for host in range(2):
            self.write_etc(host, "hosts", HOSTS)
            self.write_etc(host, "resolv.conf", RESOLVER)
            self.write_etc(host, "nsswitch.conf", "hosts: files dns\n")
            silent = self.start_on(host, "-c", SILENT, program=sys.executable)
            wait_until(lambda: "bound" in silent.out, "the name server that never answers")

    def start_server(self, folder, *words):
        server = self.start_on(0, "server", "--listen", "trainer:0", "--workers", 1, "--policy",
                               "async", "--batch", 4, "--epochs", 1, "--token-file", folder / "token",
                               "--out", self.folder / "run", *words)
        server.until_said("listening on trainer:")
        return server, server.err.partition("listening on ")[2].partition(";")[0]

    def start_worker(self, address, folder):
        return self.start_on(1, "--server", address, "--token-file", folder / "token", "--worker", 0,
                             "--examples", 64, program=LEDGER_WORKER)

    def ends_well(self, server, worker):
        self.assertEqual(worker.wait(), 0, worker.err)
        self.assertEqual(server.wait(), 0, server.err)

    def test_a_name_of_etc_hosts_is_reached_over_tls(self):
        job = self.folder / "job"
        certs = self.start("certs", job)
        self.assertEqual(certs.wait(), 0, certs.err)
        server, address = self.start_server(job)
        self.ends_well(server, self.start_worker(address, job))

    def test_a_name_of_etc_hosts_is_reached_unencrypted(self):
        server, address = self.start_server(self.folder, "--insecure-no-tls")
        self.ends_well(server, self.start_worker(address, self.folder))

    def test_a_name_that_nobody_knows_ends_within_the_deadline(self):
        self.path("token", "secret\n")
        begun = time.monotonic()
        asker = self.start_on(1, "ctl", "--server", "nowhere:4000", "--token-file", "token", "status",
                              "--insecure-no-tls")
        self.assertEqual(asker.wait(20), 1, asker.err)
        self.assertLess(time.monotonic() - begun, 15)
        lines = asker.err.splitlines()
        self.assertEqual(len(lines), 1, asker.err)
        self.assertIn("no server at nowhere:4000 within 3 s", lines[0])
        self.assertIn("nowhere: the system did not say its address in time", lines[0])

    def test_a_server_does_not_listen_at_a_name_that_nobody_knows(self):
        server = self.start_on(0, "server", "--listen", "nowhere:0", "--token-file", "token",
                               "--insecure-no-tls", "--out", "run")
        self.assertEqual(server.wait(30), 2, server.err)
        self.assertEqual(server.err.splitlines(), [
            "outpace: cannot listen on nowhere:0: the system did not say its address in time"])


if __name__ == "__main__":
    main()
