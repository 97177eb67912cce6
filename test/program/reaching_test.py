"""What is said while no server is reached, and when a server cannot take what would come."""

import os
import resource
import signal
import socket
import sys

sys.dont_write_bytecode = True
from jobs import LEDGER_WORKER, OUTPACE, ProgramTest, main  # noqa: E402


class Unreached(ProgramTest):
    def worker(self, address, deadline=2):
        self.path("token", "the-secret-of-this-job\n")
        return self.start("--server", address, "--token-file", self.folder / "token", "--worker", 1,
                          "--examples", 16, "--connect-deadline", deadline, program=LEDGER_WORKER)

    def free_port(self):
        with socket.socket() as found:
            found.bind(("127.0.0.1", 0))
            return found.getsockname()[1]

    def test_a_port_at_which_nobody_listens_is_named_with_the_systems_words(self):
        address = f"127.0.0.1:{self.free_port()}"
        for _ in range(5):  # Two threads used to race to the deadline.
            worker = self.worker(address)
            self.assertEqual(worker.wait(), 1, worker.err)
            last = worker.err.splitlines()[-1]
            self.assertIn(f"no server at {address} within 2 s", last)
            self.assertIn("Connection refused", last)

    def test_why_is_said_while_it_goes_on(self):
        address = f"127.0.0.1:{self.free_port()}"
        worker = self.worker(address, 600)
        worker.until_said("outpace: worker 1 has not reached the server: ")
        self.assertIn(f"{address}: Connection refused; it tries for 59", worker.err)
        worker.send(signal.SIGKILL)
        worker.wait()

    def test_a_server_that_takes_the_connection_and_says_nothing(self):
        with socket.create_server(("127.0.0.1", 0)) as silent:
            address = f"127.0.0.1:{silent.getsockname()[1]}"
            worker = self.worker(address)
            self.assertEqual(worker.wait(), 1, worker.err)
            self.assertIn(f"{address}: it does not answer", worker.err.splitlines()[-1])


class OpenFiles(ProgramTest):
    def server(self, soft, hard, workers):
        """A server that is started with these limits of open files."""
        return self.start(f"--nofile={soft}:{hard}", OUTPACE, "server", "--workers", workers,
                          "--listen", "127.0.0.1:0", "--token-file", "token", program="prlimit")

    def test_workers_that_could_never_connect_are_refused(self):
        server = self.server(128, 256, workers=600)
        self.assertEqual(server.wait(), 2, server.err)
        self.assertIn("--workers 600 takes 1264 open files, and the system allows this process 256 "
                      "(ulimit -Hn)", server.err)

    def test_the_limit_is_raised_as_far_as_the_workers_need(self):
        server = self.server(100, 4096, workers=40)
        server.until_said("listening on")
        soft, _hard = resource.prlimit(server.id, resource.RLIMIT_NOFILE)
        self.assertEqual(soft, 20 * 40 + 64 + 1024)

    def test_a_server_that_can_take_no_connection_says_so(self):
        server = self.server(4096, 4096, workers=2)
        server.until_said("listening on")
        host, port = server.err.partition("listening on ")[2].partition(";")[0].split(":")
        used = {int(name) for name in os.listdir(f"/proc/{server.id}/fd")}
        free = min(set(range(len(used) + 1)) - used)
        resource.prlimit(server.id, resource.RLIMIT_NOFILE, (free, free))
        with socket.create_connection((host, int(port))):
            server.until_said("connections wait, and none can be taken: Too many open files; raise "
                              "the limit of open files (ulimit -n)")


if __name__ == "__main__":
    main()
