"""Compares `outpace simulate` with `outpace train` on this machine.

A single worker measures the time to compute a mini-batch and the time of the way to the server and
back. It sleeps 25 ms before each mini-batch, so that caches and processors are as cold as among
other workers. With these two numbers and the delays of a trace, each policy is simulated with real
gradients and then run live for as many seconds, twice. Nothing from the live runs enters the
simulation.

The table has the updates of all three runs; the error of the simulation against the mean of the live
runs (percent); the difference in test accuracy between the simulation and the first live run at the
same moments (points); and the same difference between the two live runs, which no prediction can
beat. docs/simulation-measured.md says how to read it.
"""

import argparse
import os
import pathlib
import statistics
import sys

import measured_runs

GRACE = 120  # Seconds for a run to start and end, beyond those that it trains.
CALM = 0.025  # Seconds that the lone worker sleeps.
UPDATES = 300  # Made by the lone worker.
POLICIES = ("sync", "backup:cutoff=6", "async", "ssp:s=3")


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", 1)[0],
                                     epilog=__doc__.split("\n\n", 1)[1],
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("delays", nargs="+", type=pathlib.Path, metavar="TRACE",
                        help="CSV, a column a worker")
    parser.add_argument("--policies", nargs="+", default=POLICIES, metavar="POLICY")
    parser.add_argument("--network", default="mlp")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--lr", type=float, default=0.1)
    parser.add_argument("--seconds", type=float, default=15.0, help="of each run (default: 15)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--outpace", default="build/release/outpace", metavar="PROGRAM")
    return parser.parse_args(arguments)


def workers_of(trace):
    try:
        with trace.open() as file:
            return len(file.readline().split(","))
    except OSError as error:
        raise measured_runs.RunFailed(f"{trace}: {error.strerror}") from error


def calibrate(options, folder):
    """(seconds to compute a mini-batch, seconds of the rest of an iteration) of a single worker."""
    delays = folder / "delays.csv"
    delays.write_text(f"{CALM}\n")
    found = measured_runs.outpace(
        options.outpace,
        ["--workers", "1", "--policy", "sync", "--network", options.network, "--batch",
         str(options.batch), "--delays", str(delays), "--updates", str(UPDATES),
         "--evaluate-every", "1000000000"], GRACE)
    compute = found["workers_detail"][0]["compute_seconds"] / found["updates"]
    return compute, found["seconds"] / found["updates"] - CALM - compute


def accuracy_at(evaluations, seconds):
    """The accuracy, interpolated linearly between two evaluations; None outside their range."""
    for before, after in zip(evaluations, evaluations[1:]):
        if before["seconds"] <= seconds <= after["seconds"]:
            part = (seconds - before["seconds"]) / max(1e-12, after["seconds"] - before["seconds"])
            return before["accuracy"] + part * (after["accuracy"] - before["accuracy"])
    return None


def accuracy_differences(first, second):
    """Differences in points, at the moments of the second run's evaluations."""
    pairs = [(accuracy_at(first["evaluations"], found["seconds"]), found["accuracy"])
             for found in second["evaluations"]]
    return [100.0 * (mine - theirs) for mine, theirs in pairs if mine is not None]


def greatest(differences):
    return f"{max(map(abs, differences)):.1f}" if differences else "-"


def compare(options, trace, policy, compute, rest):
    same = ["--workers", str(workers_of(trace)), "--policy", policy, "--delays", str(trace),
            "--batch", str(options.batch), "--lr", str(options.lr), "--seed", str(options.seed),
            "--seconds", f"{options.seconds:g}s", "--evaluate-every", "2560"]
    limit = options.seconds + GRACE
    simulated = measured_runs.outpace(
        options.outpace,
        [*same, "--learn", options.network, "--compute", f"{compute * 1e6:.0f}us", "--cores",
         str(os.cpu_count()), "--latency", f"{rest / 2 * 1e6:.0f}us"], 10 * limit, "simulate")
    live = [measured_runs.outpace(options.outpace, [*same, "--network", options.network], limit)
            for _ in range(2)]
    return simulated, live


def measure(options, folder):
    measured_runs.quiet_or_warn()
    compute, rest = calibrate(options, folder)
    print(f"a lone worker: {compute * 1e3:.2f} ms to compute {options.batch} examples, "
          f"{rest * 1e3:.2f} ms for the rest\n", flush=True)
    rows = [["trace, policy", "simulated", "live", "again", "updates", "accuracy, mean",
             "greatest", "live, live"]]
    for trace in options.delays:
        for policy in options.policies:
            simulated, live = compare(options, trace, policy, compute, rest)
            updates = simulated["updates"] / statistics.fmean(run["updates"] for run in live) - 1.0
            points = accuracy_differences(simulated, live[0])
            rows.append([f"{trace.stem}, {policy}", f"{simulated['updates']:,}",
                         *(f"{run['updates']:,}" for run in live), f"{updates:+.1%}",
                         f"{statistics.fmean(points):+.1f}" if points else "-",
                         greatest(points), greatest(accuracy_differences(*live))])
            print(f"  {rows[-1][0]}: {rows[-1][1]} updates simulated, {rows[-1][2]} and "
                  f"{rows[-1][3]} live", flush=True)
    print("\n" + "\n".join(measured_runs.table(rows)))


def main(arguments):
    return measured_runs.main("simulation_error", parse, measure, arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
