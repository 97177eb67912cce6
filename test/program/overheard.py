"""What a device carries of TCP, overheard: overheard.py DEVICE. At SIGTERM it prints, as JSON, the first two bytes of each
side of each connection, how often words of our handshake could be read, and how many bytes there were. Takes root."""

import json
import signal
import socket
import sys

ETHERNET = 14  # Bytes of its header.
WORDS = (b"OUTPACE", b"outpace")


class Over(Exception):
    pass


def end(*_):
    raise Over


def payload(frame):
    """The connection's side, and what TCP carries in this frame; None if it is no TCP over IPv4."""
    if frame[12:14] != b"\x08\x00" or frame[ETHERNET + 9] != socket.IPPROTO_TCP:
        return None
    ip = ETHERNET + 4 * (frame[ETHERNET] & 15)
    end_of_packet = ETHERNET + int.from_bytes(frame[ETHERNET + 2:ETHERNET + 4], "big")
    tcp = ip + 4 * (frame[ip + 12] >> 4)
    return frame[ETHERNET + 12:ETHERNET + 20] + frame[ip:ip + 4], frame[tcp:end_of_packet]


def main():
    first, readable, count = {}, 0, 0
    signal.signal(signal.SIGTERM, end)
    try:
        with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3)) as heard:
            heard.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 26)
            heard.bind((sys.argv[1], 0))
            print("listens", flush=True)
            while True:
                found = payload(heard.recv(1 << 17))
                if found is None or not found[1]:
                    continue
                side, data = found
                first.setdefault(side, data[:2].hex())
                readable += sum(word in data for word in WORDS)
                count += len(data)
    except Over:
        print(json.dumps({"first": list(first.values()), "readable": readable, "bytes": count}), flush=True)


main()
