"""The connections of a ring and a gossip among themselves: strangers, and a link that is dead.

The run has a network namespace of its own, with the loopback interface alone. Takes root and iproute2.
"""

import os
import pathlib
import signal
import sys
import unittest

sys.dont_write_bytecode = True
from jobs import OUTPACE, main, wait_until  # noqa: E402
from namespaces import WHY_NOT, ip  # noqa: E402
from peer_failures_test import SILENT, Peers  # noqa: E402

MET = 20  # Connections of strangers.
STRANGER = pathlib.Path(__file__).with_name("stranger.py")


@unittest.skipIf(WHY_NOT, WHY_NOT)
class Alone(Peers):
    def setUp(self):
        super().setUp()
        self.space = f"outpace-{os.getpid()}-alone"
        self.ip("netns", "add", self.space)
        self.addCleanup(ip, "netns", "del", self.space)
        self.link("up")

    def ip(self, *words):
        done = ip(*words)
        self.assertEqual(done.returncode, 0, f"ip {' '.join(words)}: {done.stderr}")

    def link(self, state):
        self.ip("-n", self.space, "link", "set", "lo", state)

    def start(self, *words, program=OUTPACE, variables=None):
        return super().start("netns", "exec", self.space, program, *words, program="ip",
                             variables=variables)

    def forms_among_strangers(self):
        """The last worker is held before it listens, and strangers come to the others."""
        process = self.start_run("--epochs", 1000)
        held = self.child(3)
        os.kill(held, signal.SIGSTOP)
        stranger = self.start(STRANGER, "listeners", program=sys.executable)
        wait_until(lambda: stranger.out.count("met") >= MET, "strangers at the listeners")
        wait_until(lambda: "worker 0 refused 127.0.0.1:" in self.log_of(0), "strangers at the first listener")
        stranger.send(signal.SIGKILL)
        stranger.wait()
        os.kill(held, signal.SIGCONT)
        self.until_update(40)
        process.send(signal.SIGINT)
        self.assertEqual(self.finish(130)["why_ended"], "interrupted")
        self.assertEqual(self.live(), 4)

    def log_of(self, worker):
        log = self.out / f"logs/worker-{worker}.log"
        return log.read_text() if log.exists() else ""

    def outlasts_a_dead_link(self):
        process = self.start_run("--epochs", 1000)
        self.until_update(60)
        self.link("down")
        process.until_said("the workers' connections to each other broke 3 s ago, and no worker is "
                           "gone; they try to connect anew", 10 * SILENT)
        self.link("up")
        process.until_said("the workers are connected again")
        self.until_update(self.version() + 40)
        process.send(signal.SIGINT)
        self.assertEqual(self.finish(130)["why_ended"], "interrupted")
        self.assertEqual(self.live(), 4)


class Ring(Alone):
    topology = "ring"

    def test_it_forms_among_strangers(self):
        self.forms_among_strangers()

    def test_it_outlasts_a_dead_link(self):
        self.outlasts_a_dead_link()


class Gossip(Alone):
    topology = "gossip"

    def test_it_forms_among_strangers(self):
        self.forms_among_strangers()

    def test_it_outlasts_a_dead_link(self):
        self.outlasts_a_dead_link()


if __name__ == "__main__":
    main()
