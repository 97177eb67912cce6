"""Changes the policy of live runs and shows what accuracy makes of it.

Each run trains `mlp` on Fashion-MNIST with eight workers under `dynamic`. After --seconds it goes on
under `async` by `outpace ctl RUN set-policy`, after --seconds more under `dynamic` again, and ends
after --seconds more; no staleness rule and one learning rate are given. A second run with the same
seed keeps `dynamic`, because a single evaluation may fall by points without any change: at this rate
one update can spoil the weights, and the next ones mend it. For each change the tool shows the
accuracy before it and the lowest one from there to the next change, as means of three evaluations in
a row; then the lowest single evaluation, and that of the second run at the same time. It fails if
the lowest mean is more than three points below.

`make policy-change` runs this.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import time

import measured_runs

ALLOWED = 0.03
SMOOTH = 3  # Evaluations in a row.
CHANGES = ("async", "dynamic")
SEAM = re.compile(r"policy is now (\S+) from version (\d+) on, staleness rule (\S+)")


def smoothed(values):
    """Means of SMOOTH values in a row; of all, if they are fewer."""
    width = min(SMOOTH, len(values))
    return [sum(values[i:i + width]) / width for i in range(len(values) - width + 1)]


def drops(evaluations, seams):
    """[(policy, rule, before, lowest after, lowest single one, from, to)] of a run.

    Evaluations have "version", "seconds" and "accuracy"; seams are (policy, rule, version). From
    and to: seconds of the first and the last evaluation after the change.
    """
    found = []
    for i, (policy, rule, version) in enumerate(seams):
        end = seams[i + 1][2] if i + 1 < len(seams) else None
        before = [one["accuracy"] for one in evaluations if one["version"] <= version]
        after = [one for one in evaluations
                 if one["version"] > version and (end is None or one["version"] <= end)]
        if not before or not after:
            raise measured_runs.RunFailed(
                f"no evaluation on one side of the change to {policy}: give it more --seconds")
        accuracies = [one["accuracy"] for one in after]
        found.append((policy, rule, smoothed(before)[-1], min(smoothed(accuracies)),
                      min(accuracies), after[0]["seconds"], after[-1]["seconds"]))
    return found


def lowest_between(evaluations, begin, end):
    """The lowest accuracy of a run in this time; None if there is none."""
    return min((one["accuracy"] for one in evaluations if begin <= one["seconds"] <= end),
               default=None)


def run(options, seed, folder, changes):
    """The evaluations and the seams of a run with these changes."""
    out = folder / f"seed-{seed}-{len(changes)}"
    command = [options.outpace, "train", "--network", "mlp", "--workers", str(options.workers),
               "--batch", "32", "--lr", str(options.lr), "--policy", "dynamic", "--seed", str(seed),
               "--evaluate-every", "5120", "--seconds", f"{3 * options.seconds:g}s", "--json",
               "--out", str(out)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    seams = []
    try:
        deadline = time.monotonic() + 60
        while not (out / "control.json").exists():
            if process.poll() is not None or time.monotonic() > deadline:
                raise measured_runs.RunFailed(f"the run did not begin: {' '.join(command)}")
            time.sleep(0.1)
        for policy in changes:
            time.sleep(options.seconds)
            told = subprocess.run([options.outpace, "ctl", str(out), "set-policy", policy],
                                  capture_output=True, text=True, check=False)
            seam = SEAM.search(told.stdout)
            if not seam:
                raise measured_runs.RunFailed(f"set-policy {policy}: {told.stderr.strip()}")
            seams.append((seam[1], seam[3], int(seam[2])))
        output, errors = process.communicate()
    finally:
        if process.poll() is None:
            process.terminate()
            process.communicate()
    result = measured_runs.last_json_object(output)
    if result is None:
        raise measured_runs.failure(command, process.returncode, errors)
    return result["evaluations"], seams


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--outpace", default="build/release/outpace", metavar="PROGRAM")
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--lr", type=float, default=0.2)
    parser.add_argument("--seconds", type=float, default=15.0, help="under each policy")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    return parser.parse_args(arguments)


def measure(options, folder):
    rows = [["seed", "to", "rule", "before", "lowest after", "single", "single, unchanged"]]
    worst = 0.0
    for seed in options.seeds:
        unchanged, _ = run(options, seed, folder, ())
        for policy, rule, before, lowest, single, begin, end in drops(
                *run(options, seed, folder, CHANGES)):
            other = lowest_between(unchanged, begin, end)
            rows.append([str(seed), policy, rule, f"{before:.1%}", f"{lowest:.1%}",
                         f"{single:.1%}", "-" if other is None else f"{other:.1%}"])
            worst = max(worst, before - lowest)
    print("\n".join(measured_runs.table(rows)), flush=True)
    if worst > ALLOWED:
        raise measured_runs.RunFailed(f"accuracy fell by {worst * 100:.1f} points after a change")


def main(arguments):
    return measured_runs.main("policy-change", parse, measure, arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
