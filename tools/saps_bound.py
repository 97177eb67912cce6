"""Measures how `saps` bounds staleness, and what that costs, in virtual time and without gradients.

Each cluster runs `async` and `saps` with several bounds for equally many updates. The table has the
throughput relative to async's, the share of dropped gradients, the partial gradients, the staleness
of what was applied, and the fewest gradients applied of any worker, relative to its equal share. A
worker that starves has 0 there. `make saps-bound` runs this; docs/saps.md says how to read it.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import make_delays
import measured_runs

BASE = 0.1  # Seconds of a mini-batch.
POLICIES = ("async", "saps", "saps:s=2.5x", "saps:action=refresh", "saps:action=shrink")
BELOW_MEAN = 0.5  # The share of W - 1: the bound of the last row, which must drop some.
CLUSTERS = ("equal", "one 50x slower", "drifting")


def runtime_arguments(cluster, workers, folder, seed):
    if cluster == "equal":
        return ["--runtime", f"lognormal(mean={BASE}s,cv=0.2)"]
    if cluster == "one 50x slower":
        return ["--runtime", f"{workers - 1}*lognormal(mean={BASE}s,cv=0.2),"
                             f"1*lognormal(mean={50 * BASE}s,cv=0.2)"]
    path = pathlib.Path(folder) / f"drifting-{workers}.csv"
    if not path.exists():
        rows = make_delays.delays("drifting", workers, 2000, max(1, workers // 4), BASE, seed)
        path.write_text("".join(",".join(f"{value:.6f}" for value in row) + "\n" for row in rows))
    return ["--delays", str(path), "--delays-by", "time", "--delays-period", f"{BASE}s"]


def row(policy, result, async_rate, workers):
    """The cells of a row. Starvation shows in the fewest gradients of a worker."""
    applied = result["gradients_applied"]
    dropped = result["gradients_dropped"]
    partial = sum(worker["partial"] for worker in result["workers_detail"])
    fewest = min(worker["accepted"] for worker in result["workers_detail"])
    return (f"  {policy}", f"{result['examples_per_second'] / async_rate:.1%}",
            f"{dropped / (applied + dropped):.2%}", f"{partial / applied:.1%}",
            f"{result['staleness']['mean']:.1f}", str(result["staleness"]["max"]),
            f"{fewest * workers / applied:.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--outpace", default="build/release/outpace", metavar="FILE",
                        help="the program (default: %(default)s)")
    parser.add_argument("--workers", type=int, nargs="+", default=[32, 128], metavar="COUNT",
                        help="numbers of workers (default: 32 128)")
    parser.add_argument("--updates", type=int, default=40_000, metavar="COUNT",
                        help="updates of each run (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, metavar="COUNT", help="default: %(default)s")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for workers in options.workers:
            below = f"saps:s={max(1, round(BELOW_MEAN * (workers - 1)))}"
            for cluster in CLUSTERS:
                rows = [(f"{workers} workers, {cluster}", "examples/s", "dropped", "partial",
                         "staleness", "max", "fewest")]
                async_rate = None
                for policy in (*POLICIES, below):
                    command = [options.outpace, "simulate", "--workers", str(workers), "--policy",
                               policy, "--updates", str(options.updates), "--seed",
                               str(options.seed), "--json",
                               *runtime_arguments(cluster, workers, folder, options.seed)]
                    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                          text=True, check=False)
                    if done.returncode != 0:
                        sys.exit(done.stderr.strip())
                    result = json.loads(done.stdout)
                    async_rate = async_rate or result["examples_per_second"]
                    rows.append(row(policy, result, async_rate, workers))
                print("\n".join(measured_runs.table(rows)), flush=True)
                print()


if __name__ == "__main__":
    main()
