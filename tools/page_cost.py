#!/usr/bin/env python3
"""What the page costs a run: examples/s with --dashboard and one reader of its events, and without.

    make bench-page ARGS="--pairs 8 --seconds 15"

A pair is a run with the page and one without, in turn, of the same seed; which comes first
alternates. Each gives the ratio of their throughputs, and that of the examples they made in a second
of processor time (server, page and workers together), which other programs on the machine disturb
less. Prints every pair, the means of the ratios with their confidence intervals of 95 % (Student's t,
of the logarithms). --keep goes on with pairs that an earlier call measured.
"""

import argparse
import http.client
import json
import math
import pathlib
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import urllib.parse

sys.dont_write_bytecode = True
from measured_runs import RunFailed, failure, last_json_object, main, quiet_or_warn, table  # noqa: E402

# Quantiles of Student's t, 97.5 %, by degrees of freedom; beyond, that of 30.
STUDENT = {1: 12.71, 2: 4.30, 3: 3.18, 4: 2.78, 5: 2.57, 6: 2.45, 7: 2.36, 8: 2.31, 9: 2.26, 10: 2.23,
           11: 2.20, 12: 2.18, 13: 2.16, 14: 2.14, 15: 2.13, 19: 2.09, 23: 2.07, 29: 2.05}
START_AND_END = 90.0  # Seconds that a run has beside --seconds.


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--outpace", default="build/release/outpace")
    parser.add_argument("--pairs", type=int, default=8, help="pairs of runs (default: 8)")
    parser.add_argument("--seconds", type=float, default=15, help="of each run (default: 15)")
    parser.add_argument("--policy", default="async", help="(default: async, the most decisions)")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--network", default="mlp")
    parser.add_argument("--data", default="fashion-mnist")
    parser.add_argument("--keep", metavar="FILE", help="file of all pairs so far, which is added to")
    return parser.parse_args(arguments)


class Reader(threading.Thread):
    """Reads the events of a page to their end."""

    def __init__(self, url):
        super().__init__(daemon=True)
        place = urllib.parse.urlsplit(url)
        self.connection = http.client.HTTPConnection(place.netloc, timeout=60)
        self.frames = 0

    def run(self):
        try:
            self.connection.request("GET", "/events")
            for line in self.connection.getresponse():
                self.frames += line.startswith(b"data: ")
        except (OSError, http.client.HTTPException):
            pass  # The run is over.


def children_seconds():
    """Processor time of the children that have ended, and of theirs."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure_run(options, seed, page):
    """Examples of one run for each second and for each second of processor time, and how many frames
    of its page were read."""
    with tempfile.TemporaryDirectory(prefix="outpace-page-") as folder:
        command = [options.outpace, "train", "--network", options.network, "--data", options.data,
                   "--workers", str(options.workers), "--policy", options.policy, "--batch", "32",
                   "--lr", "0.05", "--seconds", str(options.seconds), "--seed", str(seed),
                   "--epochs", "100000", "--out", f"{folder}/run", "--json"]
        errors, reader, used = [], None, children_seconds()
        with subprocess.Popen(command + (["--dashboard"] if page else []), text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as process:
            limit = threading.Timer(options.seconds + START_AND_END, process.kill)
            limit.start()
            for line in process.stderr:
                errors.append(line)
                found = re.search(r"the page is at (\S+)", line)
                if found:
                    reader = Reader(found[1])
                    reader.start()
            output = process.stdout.read()
            code = process.wait()
            limit.cancel()
        found = last_json_object(output)
        if code != 0 or found is None:
            raise failure(command, code, "".join(errors))
        if page:
            reader.join(10)
            if not reader.frames:
                raise RunFailed("no frame of the page was read")
        return {"second": found["examples"] / found["seconds"],
                "processor": found["examples"] / (children_seconds() - used),
                "frames": reader.frames if reader else 0}


def interval(ratios):
    """The geometric mean of ratios, and the ends of its confidence interval; infinite for one."""
    logs = [math.log(ratio) for ratio in ratios]
    middle = statistics.fmean(logs)
    if len(logs) < 2:
        return math.exp(middle), 0.0, math.inf
    degrees = len(logs) - 1
    factor = STUDENT[max(known for known in STUDENT if known <= degrees)]
    half = factor * statistics.stdev(logs) / math.sqrt(len(logs))
    return math.exp(middle), math.exp(middle - half), math.exp(middle + half)


def setting(options):
    return [options.policy, options.workers, options.network, options.data, options.seconds]


def kept_pairs(options):
    """Those of --keep. Raises RunFailed if one is of another setting."""
    if not options.keep or not pathlib.Path(options.keep).exists():
        return []
    pairs = [json.loads(line) for line in pathlib.Path(options.keep).read_text().splitlines()]
    if any(pair.get("setting") != setting(options) for pair in pairs):
        raise RunFailed(f"--keep {options.keep} has pairs of other options; name another file")
    return pairs


def measure(options, _folder):
    quiet_or_warn()
    pairs = kept_pairs(options)
    for _ in range(options.pairs):
        number = len(pairs)
        order = (False, True) if number % 2 == 0 else (True, False)
        runs = {page: measure_run(options, number + 1, page) for page in order}
        pair = {"setting": setting(options), "without": runs[False], "with": runs[True]}
        pairs.append(pair)
        print(f"pair {number + 1}: {pair['without']['second']:,.0f} examples/s without, "
              f"{pair['with']['second']:,.0f} with: {ratios_of([pair], 'second')[0]:.4f}; for a second "
              f"of processor time {ratios_of([pair], 'processor')[0]:.4f}", flush=True)
        if options.keep:
            with open(options.keep, "a", encoding="utf-8") as file:
                file.write(json.dumps(pair) + "\n")
    print(*report(options, pairs), sep="\n")


def ratios_of(pairs, name):
    return [pair["with"][name] / pair["without"][name] for pair in pairs]


def report(options, pairs):
    rows = [["pairs", "examples", "without", "with the page", "ratio", "95 % interval", "least", "most"]]
    for name, words in (("second", "a second"), ("processor", "a second of processor time")):
        ratios = ratios_of(pairs, name)
        mean, low, high = interval(ratios)
        rows.append([str(len(pairs)), words,
                     *(f"{statistics.fmean(pair[page][name] for pair in pairs):,.0f}"
                       for page in ("without", "with")),
                     f"{mean:.4f}", f"{low:.4f} to {high:.4f}", f"{min(ratios):.4f}", f"{max(ratios):.4f}"])
    return [f"{options.workers} workers, {options.policy}, {options.network} on {options.data}, "
            f"{options.seconds:g} s a run; a page with one reader", *table(rows)]


if __name__ == "__main__":
    sys.exit(main("page-cost", parse, measure, sys.argv[1:]))
