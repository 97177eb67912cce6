"""Measures how far a transfer falls behind the others on a shared link.

One host sends 1 MB now and then; 0 or more others send all the time, over the same link. If the link
were shared equally from the first byte on, the transfer would take (others + 1) times as long as the
link needs for 1 MB. Printed is how much more or less the link carried until it was there, in kB: the
mean, and the standard deviation. `up` is the way to the first host, `down` the way from it.

The hosts are those of network_hosts.py, with a queue for each pair of hosts. Needs root. The model of
asynchronous workers takes its constant from here (docs/throughput.md).
"""

import argparse
import contextlib
import os
import random
import socket
import statistics
import struct
import subprocess
import sys
import threading
import time

import network_hosts

PORT = 6000
BYTES = 1_000_000
PAYLOAD_OF_LINK = 1448 / 1514
CLOCK = struct.Struct("d")  # time.monotonic(), which all processes of a machine share.
ROLES = ("takes", "sends", "probes")


def kilobytes_behind(seconds, others, megabits):
    """How much a link carries in the time that a transfer took longer than with equal shares."""
    rate = megabits * 1e6 / 8 * PAYLOAD_OF_LINK
    return (seconds * rate - (others + 1) * BYTES) / 1000


def take(connection):
    """Answers each transfer with the moment of its end."""
    buffer = bytearray(1 << 20)
    with contextlib.suppress(OSError):  # The sender was ended.
        while True:
            left = BYTES
            while left:
                got = connection.recv_into(buffer, min(len(buffer), left))
                if not got:
                    return
                left -= got
            connection.sendall(CLOCK.pack(time.monotonic()))


def takes(_):
    with socket.create_server(("0.0.0.0", PORT)) as listening:
        print("listening", flush=True)
        while True:
            connection, _ = listening.accept()
            threading.Thread(target=take, args=[connection], daemon=True).start()


def drain(connection):
    with contextlib.suppress(OSError):  # The taker was ended.
        while connection.recv(4096):
            pass


def sends(options):
    with socket.create_connection((options.to, PORT)) as connection:
        threading.Thread(target=drain, args=[connection], daemon=True).start()
        print("sending", flush=True)
        with contextlib.suppress(OSError):
            while True:
                connection.sendall(bytes(BYTES))


def probes(options):
    draw = random.Random(options.seed)
    with socket.create_connection((options.to, PORT)) as connection:
        for _ in range(options.repeats):
            time.sleep(0.1 + 0.03 * draw.random())  # It begins anywhere in a round of the others.
            begun = time.monotonic()
            connection.sendall(bytes(BYTES))
            answer = connection.recv(CLOCK.size, socket.MSG_WAITALL)
            print(CLOCK.unpack(answer)[0] - begun, flush=True)


class Processes:
    """Processes on hosts, ended with the block."""

    def __init__(self, hosts):
        self.hosts = hosts
        self.children = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for child in self.children:
            child.kill()
            child.communicate()

    def start(self, host, *words):
        """Starts this program in a role, and waits for its first line."""
        child = subprocess.Popen(self.hosts.command(host, [sys.executable, "-B", __file__, *words]),
                                 stdout=subprocess.PIPE, text=True)
        self.children.append(child)
        if not child.stdout.readline():
            raise OSError(f"{' '.join(words)} ended at once")

    def probe(self, host, *words):
        done = subprocess.run(self.hosts.command(host, [sys.executable, "-B", __file__, *words]),
                              capture_output=True, text=True, check=True)
        return [float(line) for line in done.stdout.split()]


def measure(options, megabits, others, way):
    """Seconds of each transfer."""
    with network_hosts.Hosts(others + 2, f"{megabits}mbit", fair=True) as hosts, \
         Processes(hosts) as processes:
        if way == "up":
            processes.start(0, "--role", "takes")
            pairs = [(host, 0) for host in range(1, others + 2)]
        else:
            for host in range(1, others + 2):
                processes.start(host, "--role", "takes")
            pairs = [(0, host) for host in range(1, others + 2)]
        for sender, taker in pairs[1:]:
            processes.start(sender, "--role", "sends", "--to", hosts.address(taker))
        sender, taker = pairs[0]
        found = processes.probe(sender, "--role", "probes", "--to", hosts.address(taker),
                                "--repeats", str(options.repeats + options.warm_ups),
                                "--seed", str(others))
        return found[options.warm_ups:]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", 1)[0],
                                     epilog=__doc__.split("\n\n", 1)[1],
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rates", nargs="+", type=int, default=[100, 200, 400], metavar="MBIT")
    parser.add_argument("--others", nargs="+", type=int, default=[0, 1, 3, 7])
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--warm-ups", type=int, default=5)
    parser.add_argument("--role", choices=ROLES, help="of one process, for this program itself")
    parser.add_argument("--to", metavar="HOST", help="of one process")
    parser.add_argument("--seed", type=int, default=1, help="of one process")
    options = parser.parse_args()
    if options.role:
        return {"takes": takes, "sends": sends, "probes": probes}[options.role](options)
    if os.geteuid() != 0:
        parser.error("only root can create network namespaces")
    if options.repeats < 2:
        parser.error("--repeats is at least 2")
    print("link         way   others   kB behind an equal share")
    for megabits in options.rates:
        for way in ("up", "down"):
            for others in options.others:
                behind = [kilobytes_behind(seconds, others, megabits)
                          for seconds in measure(options, megabits, others, way)]
                print(f"{megabits:4} Mbit/s  {way:4} {others:7}   {statistics.mean(behind):6.1f} "
                      f"+- {statistics.stdev(behind):.1f}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
