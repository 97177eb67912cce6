"""Hosts on one machine, each in a network namespace of its own, on links of a limited rate.

    sudo python3 tools/network_hosts.py --hosts 5 --rate 1gbit -- COMMAND...

runs COMMAND in the first host while all of them stand, and takes them down at its end. Other
programs use `Hosts` themselves. Every host has one link to a switch (a bridge in a namespace of its
own), and a token bucket (tbf) limits it in each direction. Nothing outside these namespaces is
touched. It takes root, iproute2 and a kernel with network namespaces and tbf.
"""

import argparse
import os
import subprocess
import sys


class Hosts:
    """`count` hosts, "host 0" on; use as a context manager."""

    def __init__(self, count, rate):
        self.count = count
        self.rate = rate
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
        """The words that run `words` on a host."""
        return ["ip", "netns", "exec", self._name(host), *words]

    def _name(self, host):
        return f"{self.prefix}-{host}"

    def _lay(self):
        switch = f"{self.prefix}-switch"
        _ip("netns", "add", switch)
        _ip("-n", switch, "link", "add", "bridge", "type", "bridge")
        _ip("-n", switch, "link", "set", "bridge", "up")
        for host in range(self.count):
            name, port = self._name(host), f"port{host}"
            _ip("netns", "add", name)
            _ip("-n", name, "link", "add", "eth0", "type", "veth", "peer", "name", port, "netns",
                switch)
            _ip("-n", switch, "link", "set", port, "master", "bridge", "up")
            _ip("-n", name, "addr", "add", f"{self.address(host)}/16", "dev", "eth0")
            # A connection that pauses for a mini-batch keeps its pace, as clusters are set up.
            _run("ip", "netns", "exec", name, "sh", "-c",
                 "echo 0 > /proc/sys/net/ipv4/tcp_slow_start_after_idle")
            for device in ("lo", "eth0"):
                _ip("-n", name, "link", "set", device, "up")
            self._limit(name, "eth0")
            self._limit(switch, port)

    def _limit(self, namespace, device):
        # A burst is what a link that was idle lets through at once: a few packets, or gradients would
        # be faster than the rate. Larger packets of TCP are cut up.
        _run("tc", "-n", namespace, "qdisc", "add", "dev", device, "root", "tbf", "rate", self.rate,
             "burst", "8kb", "limit", "4mb")

    def _take_down(self):
        for name in [f"{self.prefix}-switch", *map(self._name, range(self.count))]:
            subprocess.run(["ip", "netns", "del", name], stderr=subprocess.DEVNULL, check=False)


def _ip(*words):
    _run("ip", *words)


def _run(*words):
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise OSError(f"{' '.join(words)}: {done.stderr.strip() or done.returncode}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--hosts", type=int, default=2)
    parser.add_argument("--rate", default="1gbit", help="of each link, as tc writes it")
    parser.add_argument("command", nargs="+")
    options = parser.parse_args()
    try:
        with Hosts(options.hosts, options.rate) as hosts:
            return subprocess.run(hosts.command(0, options.command), check=False).returncode
    except OSError as error:
        print(f"network_hosts.py: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
