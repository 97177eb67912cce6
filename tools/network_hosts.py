"""Simulates hosts on one machine: network namespaces, connected by links of a limited rate.

    sudo python3 tools/network_hosts.py --hosts 5 --rate 1gbit -- COMMAND...

creates the hosts, runs COMMAND in the first one, and removes them when it ends. Other programs use
the class `Hosts`. Every host has one link to a switch (a bridge in its own namespace), and a token
bucket limits each direction. By default, all traffic over a link waits in one queue (tbf), and
TCP's windows decide the shares. With --fair, every pair of hosts has a queue of its own and the
link serves the queues in turn (htb), like fq_codel, the usual queue of a host's link in Linux.
With `far`, the links of all hosts but the first are long: `outpace-lab relay` delays and loses packets
there, because few kernels have netem. It limits the rate, too, where the kernel has no tbf.
Nothing outside these namespaces is touched. Needs root, iproute2, and a kernel with network
namespaces and tbf, or htb and u32.
"""

import argparse
import contextlib
import ctypes
import dataclasses
import json
import os
import re
import signal
import subprocess
import sys

WAKING_SECONDS = 400e-6
QUEUE = ("burst", "8kb", "limit", "4mb")  # Of a link, by tbf.


@dataclasses.dataclass(frozen=True)
class Far:
    """What makes links long. The loss is of each packet, each way."""

    lab: str  # The program outpace-lab.
    round_trip: float  # Seconds, between the first host and any other.
    loss: float = 0.0
    seed: int = 1
    congestion: str = ""  # TCP's congestion control; empty: the kernel's own choice.


def die_with_parent():
    """For preexec_fn: nothing outlives this program, even if it is killed."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


class Hosts:
    """`count` hosts, numbered from 0; use it as a context manager."""

    def __init__(self, count, rate, fair=False, far=None):
        if not re.fullmatch(r"[0-9]+(\.[0-9]+)?[kmg]?bit", rate):
            raise OSError(f"the rate of a link is '{rate}'; such as 100mbit or 1gbit")
        self.count = count
        self.rate = rate
        self.fair = fair
        self.far = far
        self.limits = "tbf"  # What limits rates, and what loses packets: known once laid.
        self.loses = "relay"
        self.relays = []
        self.prefix = f"outpace{os.getpid()}"

    def __enter__(self):
        try:
            self._lay()
        except BaseException:
            self._take_down()
            raise
        return self

    def __exit__(self, *_):
        self._take_down()

    def address(self, host):
        return f"10.77.{host // 200}.{host % 200 + 1}"

    def command(self, host, words):
        """The command line that runs `words` on a host."""
        return ["ip", "netns", "exec", self.name(host), *words]

    def name(self, host):
        """The name of its namespace."""
        return f"{self.prefix}-{host}"

    def bits_per_second(self):
        """The rate of each link."""
        number, unit = re.fullmatch(r"([0-9.]+)([kmg]?)bit", self.rate).groups()
        return float(number) * {"": 1, "k": 1e3, "m": 1e6, "g": 1e9}[unit]

    def _switch(self):
        return f"{self.prefix}-switch"

    def _lay(self):
        switch = self._switch()
        _ip("netns", "add", switch)
        _ip("-n", switch, "link", "add", "bridge", "type", "bridge")
        _ip("-n", switch, "link", "set", "bridge", "up")
        for host in range(self.count):
            _ip("netns", "add", self.name(host))
        if self.far:
            self._choose()
        self._connect()
        for host in range(self.count):
            name, port = self.name(host), f"port{host}"
            _ip("-n", switch, "link", "set", port, "master", "bridge", "up")
            _ip("-n", name, "addr", "add", f"{self.address(host)}/16", "dev", "eth0")
            self._set_tcp(name)
            for device in ("lo", "eth0"):
                _ip("-n", name, "link", "set", device, "up")
            if self.limits == "tbf":
                limit = self._limit_fairly if self.fair else self._limit
                limit(name, "eth0", "dst")
                limit(switch, port, "src")
            if self.far and self.loses == "iptables" and self.far.loss:
                _run(*self._losing(host))

    def _set_tcp(self, name):
        # A connection that pauses for a mini-batch keeps its pace, as clusters are set up. Reno,
        # which every kernel has: BBR sends at the rate that it has seen, which is another's too.
        # Over long links TCP is as users have it, because it decides what a link gives.
        control = self.far.congestion if self.far else "reno"
        words = [] if self.far else ["echo 0 > /proc/sys/net/ipv4/tcp_slow_start_after_idle"]
        words += [f"echo {control} > /proc/sys/net/ipv4/tcp_congestion_control"] if control else []
        if words:
            _run("ip", "netns", "exec", name, "sh", "-c", " && ".join(words))

    def _losing(self, host):
        return self.command(host, ["iptables", "-A", "INPUT", "-i", "eth0", "-m", "statistic", "--mode",
                                   "random", "--probability", str(self.far.loss), "-j", "DROP"])

    def _choose(self):
        """What of the kernel's there is: tbf, and the match `statistic` of iptables."""
        switch = self._switch()
        with contextlib.suppress(OSError):
            _run(*self._losing(0))
            _run(*self.command(0, ["iptables", "-F", "INPUT"]))
            self.loses = "iptables"
        try:
            _run("tc", "-n", switch, "qdisc", "add", "dev", "lo", "root", "tbf", "rate", self.rate, *QUEUE)
            _run("tc", "-n", switch, "qdisc", "del", "dev", "lo", "root")
        except OSError:
            self.limits = "relay"

    def _connect(self):
        """Makes eth0 of each host, and the port of the switch that it leads to."""
        far = range(1, self.count) if self.far else ()
        near = [host for host in range(self.count) if host not in far]
        if far and self.limits == "relay":
            self._start_relay(near, 0.0, 0.0)
        else:
            for host in near:
                _ip("-n", self.name(host), "link", "add", "eth0", "type", "veth", "peer", "name",
                    f"port{host}", "netns", self._switch())
        if far:
            self._start_relay(far, self.far.round_trip / 2,
                              self.far.loss if self.loses == "relay" else 0.0)

    def _start_relay(self, hosts, delay, loss):
        words = [self.far.lab, "relay", "--delay", f"{delay * 1000:g}ms", "--loss", str(loss), "--seed",
                 str(self.far.seed)]
        if self.limits == "relay":
            words += ["--rate", str(self.bits_per_second() / 1e6)]
        for host in hosts:
            words += ["--link", f"{self.name(host)}/eth0,{self._switch()}/port{host}"]
        relay = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, preexec_fn=die_with_parent,
                                 start_new_session=True)
        self.relays.append(relay)
        if relay.stdout.readline() != "ready\n":
            raise OSError(f"{self.far.lab} relay ended with code {relay.wait()}")

    def end_relays(self):
        """What passed each far host's link, and what was lost; nothing passes from now on."""
        found = []
        for relay in self.relays:
            relay.terminate()
            out, _ = relay.communicate()
            found = json.loads(out) if out else []
        self.relays = []
        return found

    def bytes(self, host):
        """(sent, received) by this host over its link, frames of Ethernet."""
        done = subprocess.run(self.command(host, ["sh", "-c", "cd /sys/class/net/eth0/statistics && "
                                                  "cat tx_bytes rx_bytes"]),
                              capture_output=True, text=True, check=True)
        return tuple(map(int, done.stdout.split()))

    def _limit(self, namespace, device, _):
        # A burst is what a link that was idle lets through at once: a few packets, or gradients would
        # be faster than the rate. Larger packets of TCP are cut up.
        _run("tc", "-n", namespace, "qdisc", "add", "dev", device, "root", "tbf", "rate", self.rate, *QUEUE)

    def _limit_fairly(self, namespace, device, end):
        """Gives `device` one queue per host at the other `end` ("src" or "dst") of its traffic."""
        # htb does not cut up large packets, and a packet is what it serves at a time.
        if namespace != self._switch():
            _ip("-n", namespace, "link", "set", device, "gso_max_size", "9000")
        # What an idle link lets through at once: little beside a gradient, which has it for nothing,
        # and as much as it carries until a processor that sleeps wakes, or it would carry less.
        bytes_ = max(4096, int(self.bits_per_second() * WAKING_SECONDS / 8))
        burst = f"burst {bytes_} cburst {bytes_}"
        lines = [f"qdisc add dev {device} root handle 1: htb default fffe",
                 f"class add dev {device} parent 1: classid 1:ffff htb rate {self.rate} {burst}"]
        # Each has next to nothing of its own, and borrows its part of the link.
        lines += [f"class add dev {device} parent 1:ffff classid 1:{name} htb rate 8kbit "
                  f"ceil {self.rate} quantum 9000 {burst}"
                  for name in ("fffe", *(f"{host + 1:x}" for host in range(self.count)))]
        lines += [f"filter add dev {device} parent 1: protocol ip prio 1 u32 "
                  f"match ip {end} {self.address(host)}/32 flowid 1:{host + 1:x}"
                  for host in range(self.count)]
        _run("tc", "-n", namespace, "-batch", "-", given="\n".join(lines) + "\n")

    def _take_down(self):
        self.end_relays()
        for name in [self._switch(), *map(self.name, range(self.count))]:
            subprocess.run(["ip", "netns", "del", name], stderr=subprocess.DEVNULL, check=False)


def _ip(*words):
    _run("ip", *words)


def _run(*words, given=None):
    done = subprocess.run(words, input=given, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise OSError(f"{' '.join(words)}: {done.stderr.strip() or done.returncode}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--hosts", type=int, default=2)
    parser.add_argument("--rate", default="1gbit", help="of each link: 100mbit, 1gbit")
    parser.add_argument("--fair", action="store_true", help="a queue for each two hosts")
    parser.add_argument("command", nargs="+")
    options = parser.parse_args()
    try:
        with Hosts(options.hosts, options.rate, options.fair) as hosts:
            return subprocess.run(hosts.command(0, options.command), check=False).returncode
    except OSError as error:
        print(f"network_hosts.py: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
