"""Two hosts on this machine: network namespaces with a link between them. Takes root and iproute2."""

import os
import pathlib
import shutil
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
from jobs import OUTPACE, ProgramTest  # noqa: E402


NETNS = pathlib.Path("/etc/netns")  # `ip netns exec` shows NETNS/name/hosts as /etc/hosts.


def ip(*words):
    return subprocess.run(["ip", *words], capture_output=True, text=True, check=False)


def why_not():
    """Why namespaces cannot be made here; empty if they can."""
    if os.geteuid() != 0:
        return "only root can make network namespaces"
    if not shutil.which("ip"):
        return "there is no ip: apt install iproute2"
    name = f"outpace-try-{os.getpid()}"
    made = ip("netns", "add", name)
    ip("netns", "del", name)
    return made.stderr.strip()


WHY_NOT = why_not()


@unittest.skipIf(WHY_NOT, WHY_NOT)
class TwoHosts(ProgramTest):
    """Each host has a device eth0, and the address of its place in ADDRESSES."""

    ADDRESSES = ("10.78.0.1", "10.78.0.2")

    def setUp(self):
        super().setUp()
        self.spaces = [f"outpace-{os.getpid()}-{side}" for side in ("a", "b")]
        self.addCleanup(self.take_down)
        for name in self.spaces:
            self.ip("netns", "add", name)
            self.ip("-n", name, "link", "set", "lo", "up")
        self.ip("-n", self.spaces[0], "link", "add", "eth0", "type", "veth", "peer", "name", "eth0",
                "netns", self.spaces[1])
        for name, address in zip(self.spaces, self.ADDRESSES):
            self.ip("-n", name, "addr", "add", f"{address}/24", "dev", "eth0")
            self.ip("-n", name, "link", "set", "eth0", "up")

    def ip(self, *words):
        done = ip(*words)
        self.assertEqual(done.returncode, 0, f"ip {' '.join(words)}: {done.stderr}")

    def take_down(self):
        self.end_all()
        for name in self.spaces:
            ip("netns", "del", name)
            shutil.rmtree(NETNS / name, ignore_errors=True)
        if NETNS.is_dir() and not any(NETNS.iterdir()):
            NETNS.rmdir()

    def write_etc(self, host, name, text):
        """Makes /etc/`name` what processes of this host read. Before the first of them starts."""
        (NETNS / self.spaces[host]).mkdir(parents=True, exist_ok=True)
        (NETNS / self.spaces[host] / name).write_text(text)

    def start_on(self, host, *words, program=OUTPACE, variables=None):
        return self.start("netns", "exec", self.spaces[host], program, *words, program="ip",
                          variables=variables)
