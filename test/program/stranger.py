"""A stranger without the token, who keeps a server busy: stranger.py KIND HOST PORT.

    reset      connects, sends the largest first record that a server reads, and resets
    idle       holds 2,000 connections and says nothing
    slow       begins a first record on as many connections as it gets, and sends one byte after another
    listeners  sends 4,096 bytes to everything that listens on this machine, again and again; HOST and PORT are left out
    handshake  begins TLS handshakes: resets half of them, and leaves the others as they are

It prints a line for each hundred connections, and goes on until it is ended.
"""

import collections
import os
import resource
import select
import socket
import ssl
import struct
import sys

FIRST_RECORD = b"OUTPACE4" + 48 * b"x" + b"\1" + 20 * b"\0"
IDLE = 2000
HELD = 500  # Connections that are left open: more than a server keeps.
LISTENING = "0A"  # In /proc/net/tcp.
RESET = struct.pack("ii", 1, 0)


def reset(one):
    try:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    except OSError:
        pass  # The server has ended it.
    one.close()


def client_hello():
    """The first bytes of a TLS client."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    outgoing = ssl.MemoryBIO()
    try:
        context.wrap_bio(ssl.MemoryBIO(), outgoing).do_handshake()
    except ssl.SSLWantReadError:
        pass
    return outgoing.read()


class Stranger:
    def __init__(self, host, port):
        self.place = (host, port)
        self.made = 0
        self.held = collections.deque()

    def connect(self):
        """A connection, or None where the server or the system has no room for it now."""
        try:
            one = socket.create_connection(self.place, 1)
        except OSError:
            return None
        one.setblocking(False)
        self.made += 1
        if self.made % 100 == 0:
            print("hundred", flush=True)
        return one

    def send(self, one, data):
        """Whether the server still takes it."""
        try:
            one.send(data)
        except BlockingIOError:
            pass
        except OSError:
            return False
        return True

    def hold(self, one, most):
        self.held.append(one)
        while len(self.held) > most:
            self.held.popleft().close()

    def reset(self):
        while True:
            if one := self.connect():
                self.send(one, FIRST_RECORD)
                reset(one)

    def idle(self):
        while True:
            if one := self.connect():
                self.hold(one, IDLE)
            if len(self.held) == IDLE:
                select.select([], [], [])

    def slow(self):
        sent = {}
        while True:
            while len(sent) < HELD and (one := self.connect()):
                sent[one] = 0
            for one, at in list(sent.items()):
                if self.send(one, FIRST_RECORD[at:at + 1]):
                    sent[one] = at + 1
                else:
                    del sent[one]
                    one.close()
            select.select([], [], [], 0.05)

    def listeners(self):
        while True:
            with open("/proc/net/tcp", encoding="ascii") as table:
                fields = [line.split() for line in table][1:]
            for place in [one[1] for one in fields if one[3] == LISTENING]:
                self.place = ("127.0.0.1", int(place.partition(":")[2], 16))
                if one := self.connect():
                    self.send(one, 4096 * b"x")
                    self.hold(one, HELD)
                    print("met a listener", flush=True)

    def handshake(self):
        hello = client_hello()
        while True:
            if one := self.connect():
                self.send(one, hello)
                if self.made % 2:
                    reset(one)
                else:
                    self.hold(one, HELD)


def main():
    kind, host, port = [*sys.argv[1:], "", "0"][:3]
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    if kind != "listeners":  # It must be there while a port is open, for some milliseconds.
        os.nice(5)  # A stranger's machine is another one: this one belongs to server and workers.
    getattr(Stranger(host, int(port)), kind)()


if __name__ == "__main__":
    main()
