"""Compares policies on many equal workers: accepted gradients a second of live runs.

A run is `outpace server` and one process for each worker, on this machine; a mini-batch takes
--batch-time seconds, in which a worker sleeps, so that two cores carry hundreds of them. Runs of the
policies alternate. The output is a table of medians with the ratio to the first policy.

    python3 -B tools/many_workers.py --workers 30 100 300
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import measured_runs


def accepted_a_second(summary):
    return summary["gradients_per_second"]


def one_run(options, policy, workers, folder):
    """The summary of a run."""
    folder.mkdir()
    token = folder / "token"
    token.write_text(f"{os.urandom(16).hex()}\n")
    token.chmod(0o600)
    address = f"unix:{folder}/s"
    server = subprocess.Popen(
        [options.outpace, "server", "--policy", policy, "--workers", str(workers), "--batch", "4",
         "--lr", "4", "--seconds", f"{options.seconds:g}s", "--listen", address, "--token-file",
         str(token), "--json", "--out", str(folder / "run")],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    started = [server]
    try:
        for worker in range(workers):
            started.append(subprocess.Popen(
                [options.ledger_worker, "--server", address, "--token-file", str(token), "--worker",
                 str(worker), "--examples", "1024", "--batch-seconds", f"{options.batch_time:g}"],
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        printed, _ = server.communicate(timeout=options.seconds + 300)
    finally:
        for process in started:
            if process.poll() is None:
                process.kill()
            process.wait()
    summary = measured_runs.last_json_object(printed)
    if server.returncode != 0 or summary is None:
        raise measured_runs.RunFailed(f"{policy} with {workers} workers ended with "
                                      f"{server.returncode}")
    return summary


def table(rows):
    """`rows`: (workers, {policy: [summary]}), the policies in the same order in each."""
    lines = ["| workers | policy | accepted gradients/s | lowest, highest | dropped | ratio |",
             "|---|---|---|---|---|---|"]
    for workers, found in rows:
        first = None
        for policy, summaries in found.items():
            rates = [accepted_a_second(one) for one in summaries]
            dropped = statistics.median(
                one["gradients_dropped"] / (one["gradients_applied"] + one["gradients_dropped"])
                for one in summaries)
            median = statistics.median(rates)
            first = first or median
            lines.append(f"| {workers} | `{policy}` | {median:,.0f} | {min(rates):,.0f}, "
                         f"{max(rates):,.0f} | {dropped:.1%} | {median / first:.3f} |")
    return "\n".join(lines)


def main(words):
    here = pathlib.Path(__file__).resolve().parent.parent / "build" / "release"
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--outpace", default=str(here / "outpace"))
    parser.add_argument("--ledger-worker", default=str(here / "test" / "ledger_worker"))
    parser.add_argument("--workers", type=int, nargs="+", default=[30, 100, 300])
    parser.add_argument("--policies", nargs="+", default=["sync", "dynamic"])
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=15.0)
    parser.add_argument("--batch-time", type=float, default=0.1)
    options = parser.parse_args(words)
    measured_runs.quiet_or_warn()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for workers in options.workers:
            found = {policy: [] for policy in options.policies}
            for pair in range(options.pairs):
                for policy in options.policies:
                    at = pathlib.Path(folder) / f"{workers}-{pair}-{len(os.listdir(folder))}"
                    found[policy].append(one_run(options, policy, workers, at))
                    print(f"{time.strftime('%H:%M:%S')} {workers} {policy} "
                          f"{accepted_a_second(found[policy][-1]):,.0f}", file=sys.stderr)
            rows.append((workers, found))
    print(table(rows))


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except measured_runs.RunFailed as failed:
        sys.exit(f"many_workers: {failed}")
