"""Compares `outpace predict` with long runs of `outpace simulate`, for every policy.

The workers have runtimes of heavy tails, of two speeds, with one worker ten times as slow, and of no
memory. For each policy the table has the fine model's rate with its interval, the coarse model's
rate, and the mean, least and most of long simulated runs with several seeds, in examples a second.
A fine prediction is right if it is within 10 % of that mean, or if its interval covers it.
docs/throughput.md says what came out.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

import measured_runs

BATCH = 32
NEAR = 0.1
SEED = 101  # For the first long run; predictions take another.
RUNTIMES = {
    "heavy tails": "pareto(mean=100ms,shape=1.5)",
    "two speeds": "{half}*constant(100ms),{rest}*constant(300ms)",
    "one 10x slower": "{others}*constant(100ms),1*constant(1s)",
    "no memory": "exponential(mean=100ms)",
}
POLICIES = ("sync", "backup:cutoff=75%", "dynamic", "async", "ksync:k=4", "kbatchsync:k=8",
            "kasync:k=4", "kbatchasync:k=4", "adasync:k=4", "softsync:n=2", "ssp:s=3",
            "dssp:low=1,high=5", "psp:beta=2", "saps", "saps:action=refresh")


def runtime_of(cluster, workers):
    return RUNTIMES[cluster].format(half=workers // 2, rest=workers - workers // 2,
                                    others=workers - 1)


def policy_of(policy, workers):
    return policy.replace("75%", str(max(1, workers * 3 // 4)))


def profile():
    """A profile of a worker and a server whose messages and updates take no time."""
    return {"format": "outpace-profile", "version": 1, "kind": "measured", "network": "mlp",
            "data": "fashion-mnist", "batch": BATCH, "dataset_examples": 60000,
            "apply_seconds": 0.0, "message_seconds": 0.0, "byte_seconds": 0.0,
            "tensors": [{"name": "w", "numbers": 1000}], "layers": [],
            "iterations": [{"compute_seconds": 0.1, "rest_seconds": 0.0}] * 10}


def verdict(fine, truth):
    off = fine["examples_per_second"] / truth - 1.0
    if abs(off) <= NEAR:
        return "within 10 %"
    return "covered" if fine["low"] <= truth <= fine["high"] else "WRONG"


def row(policy, predictions, runs):
    """The cells of a row: predictions by model, and the rates of the long runs."""
    truth = statistics.mean(runs)
    fine = predictions["fine"]
    coarse = predictions.get("coarse")
    return (f"  {policy}", f"{fine['examples_per_second']:,.0f}",
            f"{fine['low']:,.0f} to {fine['high']:,.0f}",
            f"{coarse['examples_per_second']:,.0f}" if coarse else "-",
            f"{truth:,.0f}", f"{min(runs):,.0f} to {max(runs):,.0f}",
            f"{fine['examples_per_second'] / truth - 1.0:+.1%}",
            f"{coarse['examples_per_second'] / truth - 1.0:+.1%}" if coarse else "-",
            verdict(fine, truth))


def answer(command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          check=False)
    if done.returncode != 0:
        sys.exit(done.stderr.strip())
    return json.loads(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--outpace", default="build/release/outpace", metavar="FILE",
                        help="the program (default: %(default)s)")
    parser.add_argument("--workers", type=int, default=8, metavar="COUNT",
                        help="default: %(default)s")
    parser.add_argument("--iterations", type=int, default=5000, metavar="COUNT",
                        help="mini-batches of each worker in a long run (default: %(default)s)")
    parser.add_argument("--runs", type=int, default=3, metavar="COUNT",
                        help="long runs, each with its seed (default: %(default)s)")
    parser.add_argument("--policies", nargs="+", default=POLICIES, metavar="POLICY",
                        help="default: one of each kind")
    options = parser.parse_args()
    workers = options.workers
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "profile.json"
        path.write_text(json.dumps(profile()))
        for cluster in RUNTIMES:
            runtime = ["--workers", str(workers), "--runtime", runtime_of(cluster, workers)]
            rows = [(f"{workers} workers, {cluster}", "fine ex/s", "95 %", "coarse", "long runs",
                     "least to most", "fine", "coarse", "")]
            for name in options.policies:
                policy = policy_of(name, workers)
                found = answer([options.outpace, "predict", str(path), "--policy", policy, "--json",
                                *runtime])["predictions"]
                runs = [answer([options.outpace, "simulate", "--policy", policy, "--batch",
                                str(BATCH), "--iterations", str(options.iterations * workers),
                                "--seed", str(SEED + seed), "--json",
                                *runtime])["examples_per_second"] for seed in range(options.runs)]
                rows.append(row(policy, {one["model"]: one for one in found}, runs))
            print("\n".join(measured_runs.table(rows)), flush=True)
            print()


if __name__ == "__main__":
    main()
