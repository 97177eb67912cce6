"""Trains the same network under one policy after the other, and compares them in a table.

Eight workers of unequal speed on this machine learn Fashion-MNIST; the delays that make them
unequal are the same for every policy. Fails if one of the runs does. `make demo` runs this.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import time

import make_delays

POLICIES = ("sync", "backup:cutoff=6", "softsync:n=4", "ssp:s=3", "saps:s=12,action=preempt",
            "async")
GRACE = 60  # Seconds for a run to start and end beyond --seconds.


class RunFailed(Exception):
    pass


def last_json_object(text):
    """The JSON object that ends `text`, on one line or on many; None if there is none."""
    lines = text.splitlines()
    for first in (i for i, line in enumerate(lines) if line.startswith("{")):
        try:
            return json.loads("\n".join(lines[first:]))
        except ValueError:
            continue
    return None


def train(options, policy, delays, log):
    """One run's result, as `outpace train --json` prints it. Raises RunFailed."""
    command = [options.outpace, "train", "--network", "mlp", "--data", "fashion-mnist",
               "--workers", str(options.workers), "--batch", "32", "--lr", "0.1",
               "--target-accuracy", str(options.target), "--seconds", str(options.seconds),
               "--seed", str(options.seed), "--policy", policy, "--delays", str(delays), "--json"]
    with open(log, "w") as errors:
        try:
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=errors, text=True,
                                  stdin=subprocess.DEVNULL, timeout=options.seconds + GRACE,
                                  check=False)
        except subprocess.TimeoutExpired:
            raise RunFailed(f"{policy}: no end after {options.seconds + GRACE:g} s; log: {log}")
        except OSError as error:
            raise RunFailed(f"{policy}: {error}")
    result = last_json_object(done.stdout)
    if done.returncode != 0 or result is None:
        what = f"exit code {done.returncode}" if done.returncode != 0 else "no JSON in its output"
        tail = "\n".join(pathlib.Path(log).read_text().splitlines()[-15:])
        raise RunFailed(f"{policy}: {what}; its last words:\n{tail}\ncommand: {' '.join(command)}")
    return result


def table(results, target):
    """Lines of text: a row a run, aligned; ratios are to the first run."""
    first = results[0]["examples_per_second"]
    rows = [("policy", "examples/s", f"x {results[0]['policy']}", f"s to {target:.0%}", "accuracy",
             "staleness", "unused")]
    for result in results:
        reached = result["seconds_to_target"]
        rows.append((result["policy"],
                     f"{result['examples_per_second']:,.0f}",
                     f"{result['examples_per_second'] / first:.2f}" if first > 0 else "-",
                     "-" if reached is None else f"{reached:.1f}",
                     f"{result['final_accuracy']:.1%}",
                     f"{result['staleness']['mean']:.2f}",
                     f"{result['gradients_dropped'] + result['gradients_cancelled']:,}"))
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = ["  ".join([row[0].ljust(widths[0])] +
                       [cell.rjust(width) for cell, width in zip(row[1:], widths[1:])])
             for row in rows]
    return [lines[0], "-" * len(lines[0]), *lines[1:]]


def verdict(results, target):
    """One sentence on who came first, or None if nobody arrived."""
    arrived = [result for result in results if result["seconds_to_target"]]
    if not arrived:
        return None
    best = min(arrived, key=lambda result: result["seconds_to_target"])
    sentence = f"First at {target:.0%}: {best['policy']}, {best['seconds_to_target']:.1f} s"
    reference = results[0]["seconds_to_target"]
    if reference and best is not results[0]:
        sentence += f", {reference / best['seconds_to_target']:.1f} times as fast as "
        sentence += results[0]["policy"]
    return sentence + "."


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--outpace", default="build/release/outpace", metavar="PROGRAM")
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--regime", choices=make_delays.REGIMES, default="drifting")
    parser.add_argument("--target", type=float, default=0.84, help="accuracy at which a run ends")
    parser.add_argument("--seconds", type=float, default=60, help="after which a run ends anyway")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", default="build/demo", metavar="DIR", help="for delays and logs")
    parser.add_argument("--policies", nargs="+", default=POLICIES, metavar="POLICY",
                        help="the first is what the others are compared with")
    return parser.parse_args(arguments)


def main(arguments):
    options = parse(arguments)
    out = pathlib.Path(options.out)
    out.mkdir(parents=True, exist_ok=True)
    delays = out / f"{options.regime}-{options.workers}.csv"
    make_delays.write(delays, make_delays.delays(
        options.regime, options.workers, iterations=4000, machines=min(4, options.workers),
        base=0.02, seed=options.seed))
    print(f"Fashion-MNIST, a perceptron, {options.workers} workers with {options.regime} delays of "
          f"20 ms and more; each policy runs until {options.target:.0%} or {options.seconds:g} s.",
          flush=True)
    results = []
    for number, policy in enumerate(options.policies, 1):
        print(f"[{number}/{len(options.policies)}] {policy} ...", end=" ", flush=True)
        began = time.monotonic()
        try:
            results.append(train(options, policy, delays, out / f"run{number}.log"))
        except RunFailed as error:
            print(f"failed\ndemo: {error}", file=sys.stderr)
            return 1
        print(f"{time.monotonic() - began:.1f} s", flush=True)
    print()
    print("\n".join(table(results, options.target)))
    print("\nunused: gradients dropped or cancelled. staleness: mean, in updates.")
    sentence = verdict(results, options.target)
    if sentence:
        print(sentence)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
