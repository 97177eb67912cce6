#!/usr/bin/env python3
"""What checkpoints cost a run: examples/s with them and without, and how long the server pauses.

    make bench-checkpoint ARGS="--pairs 3 --seconds 45"

Trains character models of 10 and 100 MB with two workers, `async`, with sgd and with adam; each pair
of runs is one without checkpoints and one with a checkpoint every 10 s, in turn. Prints the medians
of the pairs' ratios, and the pauses beside one copy of the same bytes in this process.
"""

import argparse
import pathlib
import re
import statistics
import sys
import tempfile
import time

sys.dont_write_bytecode = True
from measured_runs import (  # noqa: E402
    RunFailed, failure, last_json_object, main, quiet_or_warn, run, table)

TEXT = "the quick brown fox jumps over the lazy dog, and runs on. "
# Name: network, mini-batch, and the share of the throughput that checkpoints may take.
NETWORKS = {
    "10 MB": ("charlm:layers=3,width=256", 4, 0.03),
    "100 MB": ("charlm:layers=5,width=640", 1, 0.10),
}
OTHERS = 1 << 27  # Bytes; more than the caches of a machine.
PAUSE = re.compile(r"checkpoint of update [\d,]+: the server paused for ([\d.]+) ms")


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--outpace", default="build/release/outpace")
    parser.add_argument("--pairs", type=int, default=3, help="pairs of runs (default: 3)")
    parser.add_argument("--seconds", type=float, default=45, help="of each run (default: 45)")
    parser.add_argument("--every", default="10s", help="time between checkpoints (default: 10s)")
    parser.add_argument("--networks", nargs="+", choices=NETWORKS, default=[*NETWORKS])
    parser.add_argument("--optimizers", nargs="+", default=["sgd", "adam"])
    return parser.parse_args(arguments)


def pauses(log):
    """Milliseconds that the server paused, by the lines of its log; the first is at the start."""
    return [float(found) for found in PAUSE.findall(log)][1:]


def copy_milliseconds(size):
    """Median milliseconds of a copy of `size` bytes into new memory.

    No cache holds them, as none holds the server's state when others have computed meanwhile.
    """
    source, others = bytearray(size), bytearray(OTHERS)
    times = []
    for _ in range(9):
        bytes(others)
        begun = time.perf_counter()
        copied = bytes(source)
        times.append(1e3 * (time.perf_counter() - begun))
        del copied
    return statistics.median(times)


def train(options, text, network, batch, optimizer, every):
    """(examples/s, pauses in ms, bytes of a checkpoint's tensors) of one run."""
    with tempfile.TemporaryDirectory(prefix="outpace-run-") as folder:
        out = pathlib.Path(folder) / "run"
        command = [options.outpace, "train", "--network", network, "--data", f"text:{text}",
                   "--workers", "2", "--policy", "async", "--batch", str(batch),
                   "--optimizer", optimizer, "--lr", "0.0001", "--seconds", str(options.seconds),
                   "--evaluate-every", "1000000000", "--checkpoint-every", every, "--json",
                   "--out", str(out)]
        code, said, errors = run(command, options.seconds + 120)
        result = last_json_object(said)
        if code != 0 or result is None:
            raise failure(command, code, errors)
        tensors = [path.stat().st_size for path in out.glob("checkpoints/g*-u*/tensors.safetensors")]
        return (result["examples_per_second"], pauses((out / "server.log").read_text()),
                max(tensors, default=0))


def measure(options, folder):
    quiet_or_warn()
    text = folder / "text.txt"
    text.write_text(TEXT * 2000)
    rows = [("network, optimizer", "without", "with", "cost", "allowed", "state MB", "pause ms",
             "copy ms", "copies")]
    for name in options.networks:
        network, batch, allowed = NETWORKS[name]
        for optimizer in options.optimizers:
            without, with_them, ratios, paused, copies, size = [], [], [], [], [], 0
            for _ in range(options.pairs):
                rate, _, _ = train(options, text, network, batch, optimizer, "off")
                slower, found, size = train(options, text, network, batch, optimizer, options.every)
                without.append(rate)
                with_them.append(slower)
                ratios.append(slower / rate)
                paused += found
                copies.append(copy_milliseconds(size))
            if not paused:
                raise RunFailed("no checkpoint was written; give more --seconds")
            pause, copy = statistics.median(paused), statistics.median(copies)
            rows.append((f"{name}, {optimizer}", f"{statistics.median(without):.1f}",
                         f"{statistics.median(with_them):.1f}",
                         f"{1 - statistics.median(ratios):.1%}", f"{allowed:.0%}",
                         f"{size / 1e6:.0f}", f"{pause:.1f}", f"{copy:.1f}",
                         f"{pause / copy:.2f}"))
            print("\n".join(table(rows)), flush=True)


if __name__ == "__main__":
    sys.exit(main("checkpoint-cost", parse, measure, sys.argv[1:]))
