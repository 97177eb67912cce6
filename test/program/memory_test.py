"""Bound: a server's memory stays below the formula of docs/wire.md, whatever workers with the token do."""

import os
import pathlib
import re
import signal
import sys

sys.dont_write_bytecode = True
from jobs import ProgramTest, main, read_json_lines, wait_until  # noqa: E402

RUDE_WORKER = os.environ.get("RUDE_WORKER", "")
NUMBERS = 2_500_000  # The network's size: 10 MB.
MIB = 1 << 20
GREEDY = 4
VERDICTS = 60  # For the greedy workers: 600 MB have been handled, and as much is on its way.
VERDICTS_OF_EACH = 5  # None is starved by the others.
GIVEN_UP = 5  # Releases of the deaf worker: versions of the weights that it does not read.


def peak_memory(process):
    """In bytes, since the process began."""
    text = pathlib.Path(f"/proc/{process.id}/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+) kB", text)[1]) * 1024


def most_for_connections(workers):
    """The formula of docs/wire.md, in bytes."""
    return workers * (5 * 4 * NUMBERS + MIB) + 4 * NUMBERS + (MIB // 4) * 256


class Bound(ProgramTest):
    def rude(self, worker, *words):
        return self.start("--server", f"unix:{self.folder}/s", "--token-file", self.folder / "token",
                          "--worker", worker, "--numbers", NUMBERS, *words, program=RUDE_WORKER)

    def given_up_by(self, worker):
        events = (line.get("event", {}) for line in
                  read_json_lines(self.folder / "run" / "decisions.jsonl"))
        return sum(event.get("type") == "release_ended" and event["worker"] == worker
                   for event in events)

    def test_holds_for_workers_that_push_without_waiting_and_one_that_never_reads(self):
        workers = GREEDY + 1
        server = self.start(
            "server", "--policy", "async", "--workers", workers, "--batch", 4,
            "--iterations", 10**9, "--heartbeat-timeout", "100s",
            "--listen", f"unix:{self.folder}/s", "--token-file", self.folder / "token", "--out", self.folder / "run")
        server.until_said("listening on")
        before = peak_memory(server)
        greedy = [self.rude(worker) for worker in range(GREEDY)]
        deaf = self.rude(GREEDY, "--deaf")

        def all_have_pushed():
            for process in (server, *greedy, deaf):
                self.assertTrue(process.running(), process.err)
            verdicts = [one.out.count("verdict") for one in greedy]
            return (sum(verdicts) >= VERDICTS and min(verdicts) >= VERDICTS_OF_EACH
                    and self.given_up_by(GREEDY) >= GIVEN_UP)
        wait_until(all_have_pushed, "the gradients of all workers")

        weights = 4 * NUMBERS
        grown = peak_memory(server) - before
        checkpoint = 3 * weights
        self.assertLess(grown, most_for_connections(workers) + weights + checkpoint)
        self.assertGreater(grown, weights, "the server that was measured did not train")
        server.send(signal.SIGINT)
        self.assertEqual(server.wait(20), 128 + signal.SIGINT, server.err)
        self.assertNotIn("sent away", server.err)
        deaf.send(signal.SIGKILL)
        for process in (*greedy, deaf):
            process.wait(20)
        self.assert_nothing_left()


if __name__ == "__main__":
    main()
