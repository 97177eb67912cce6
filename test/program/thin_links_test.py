"""outpace-lab relay between two namespaces, and a job whose workers are behind such links."""

import json
import os
import pathlib
import re
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
from jobs import OUTPACE, OUTPACE_LAB, ProgramTest, main  # noqa: E402
from namespaces import WHY_NOT  # noqa: E402

TOOLS = pathlib.Path(__file__).parents[2] / "tools"
sys.path.insert(0, str(TOOLS))
import network_hosts  # noqa: E402

# Answers each byte; what it hears over UDP, it counts.
ANSWERS = """
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("0.0.0.0", 6100))
print("listening", flush=True)
while True:
    data, sender = s.recvfrom(2000)
    s.sendto(data, sender)
"""
ASKS = """
import socket, sys, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(2.0)
least, answered = 1e9, 0
for i in range(int(sys.argv[2])):
    begun = time.monotonic()
    s.sendto(bytes([i]), (sys.argv[1], 6100))
    try:
        s.recv(2000)
        answered += 1
        least = min(least, time.monotonic() - begun)
    except TimeoutError:
        pass
print(least, answered)
"""


def why_not():
    if WHY_NOT:
        return WHY_NOT
    return "" if pathlib.Path("/dev/net/tun").exists() else "this kernel has no /dev/net/tun"


@unittest.skipIf(why_not(), why_not())
class Relay(ProgramTest):
    def asked(self, times, round_trip, loss):
        """(the least seconds of an answer, how many came, what the relay counted, who loses packets)."""
        far = network_hosts.Far(OUTPACE_LAB, round_trip, loss)
        with network_hosts.Hosts(2, "100mbit", far=far) as hosts:
            answers = subprocess.Popen(hosts.command(0, [sys.executable, "-c", ANSWERS]),
                                       stdout=subprocess.PIPE, text=True)
            try:
                self.assertEqual(answers.stdout.readline(), "listening\n")
                done = subprocess.run(
                    hosts.command(1, [sys.executable, "-c", ASKS, hosts.address(0), str(times)]),
                    capture_output=True, text=True, check=True)
            finally:
                answers.kill()
                answers.communicate()
            least, answered = done.stdout.split()
            return float(least), int(answered), hosts.end_relays(), hosts.loses

    def test_an_answer_takes_the_round_trip(self):
        least, answered, links, _ = self.asked(5, 0.05, 0.0)
        self.assertGreaterEqual(least, 0.05)
        self.assertEqual(answered, 5)
        self.assertGreaterEqual(links[0]["out"]["packets"], 5)

    def test_nothing_comes_over_a_link_that_loses_all(self):
        _, answered, links, loses = self.asked(1, 0.0, 1.0)
        self.assertEqual(answered, 0)
        if loses == "relay":  # The kernel's iptables loses them where they arrive.
            self.assertEqual(links[0]["out"]["packets"], 0)

    def test_a_namespace_that_is_not_there_is_one_line(self):
        process = self.start("relay", "--link", "no-such-space/eth0,other/eth0", program=OUTPACE_LAB)
        self.assertEqual(process.wait(), 1)
        self.assertEqual(process.err, "outpace-lab: cannot open /run/netns/no-such-space: "
                                      "No such file or directory\n")


@unittest.skipIf(why_not(), why_not())
class Trained(ProgramTest):
    def test_a_job_trains_over_tls(self):
        text = self.path("text.txt", "the quick brown fox jumps over the lazy dog. " * 400)
        done = subprocess.run(
            [sys.executable, "-B", str(TOOLS / "thin_links.py"), "--outpace", OUTPACE, "--lab", OUTPACE_LAB,
             "--data", f"text:{text},context=16", "--network", "charlm:layers=1,width=16,heads=2",
             "--factors", "1", "2", "--step", "0.02", "--seconds", "3", "--json", "--server-options",
             "--policy sync --local-steps 5"], capture_output=True, text=True, check=False,
            env={name: value for name, value in os.environ.items() if not name.startswith("OUTPACE")})
        self.assertEqual(done.returncode, 0, done.stderr)
        found = json.loads(done.stdout.splitlines()[-1])
        self.assertGreater(found["updates"], 0)
        self.assertGreater(found["bytes_up"], 0)
        self.assertIsNotNone(found["test_loss"])
        self.assertIn(f"{found['updates']:,}", done.stdout)


class Several(ProgramTest):
    def test_a_workers_connections_carry_one_job(self):
        token = self.folder / "token"
        server = self.start("server", "--workers", 1, "--updates", 60, "--policy", "async", "--listen",
                            "127.0.0.1:0", "--token-file", token, "--out", self.folder / "run")
        server.until_said("listening on")
        address = re.search(r"listening on ([0-9.:]+)", server.err).group(1)
        worker = self.start("worker", "--worker", 0, "--network", "mlp", "--server", address,
                            "--token-file", token, "--connections", 3)
        self.assertEqual(server.wait(), 0, server.err)
        self.assertEqual(worker.wait(), 0, worker.err)
        self.assertIn("worker 0 has 3 connections to the server", worker.err)
        summary = json.loads((self.folder / "run" / "summary.json").read_text())
        self.assertEqual(summary["updates"], 60)

    def test_more_than_a_server_takes_are_refused(self):
        worker = self.start("worker", "--worker", 0, "--server", "127.0.0.1:9", "--token-file",
                            self.folder / "none", "--connections", 17)
        self.assertEqual(worker.wait(), 2, worker.err)
        self.assertEqual(worker.err.count("\n"), 1, worker.err)
        self.assertIn("--connections", worker.err)
        self.assertIn("16", worker.err)


if __name__ == "__main__":
    main()
