"""Measures how well the gradient's noise scale predicts the iterations needed at another batch size.

    python3 tools/noise_scale_error.py FOLDER

FOLDER has one folder per model with files validation-BATCH.csv, one per run with that batch. Their
columns are iteration, metric, grad_sqr and grad_var. The last two are for the smallest batch of the
folder, so that the noise scale is phi = smallest batch * grad_var / grad_sqr, in examples.

The run with batch A predicts how many iterations a run with batch B needs to reach the same metric:
those of A, from row to row, times

    A EFF(A) / (B EFF(B)) = (A (phi + B)) / (B (phi + A)),   EFF(M) = (phi + M0) / (phi + M)

(docs/throughput.md). Compared with the run of B, at metrics that both reach, for every A and B
of a model. Beside it two simpler rules: every example counts alike (iterations A / B times as many),
and every update does (as many).
"""

import argparse
import csv
import itertools
import pathlib
import statistics
import sys

LEVELS = 12  # Metrics that two runs are compared at.
RULES = ("noise scale", "examples alike", "updates alike")


def read_run(path):
    """Rows of (iteration, metric, grad_sqr, grad_var)."""
    try:
        with open(path, newline="", encoding="utf-8") as file:
            rows = [tuple(float(row[key]) for key in ("iteration", "metric", "grad_sqr", "grad_var"))
                    for row in csv.DictReader(file)]
    except (KeyError, TypeError, ValueError) as error:
        raise SystemExit(f"{path}: not a table of iteration, metric, grad_sqr, grad_var: {error}")
    if not rows:
        raise SystemExit(f"{path}: no rows")
    return rows


def read_runs(folder):
    """Returns {batch: rows}."""
    return {int(path.stem.split("-")[1]): read_run(path)
            for path in folder.glob("validation-*.csv")}


def improving(run, falls):
    """(iteration, best metric so far) of a run; a falling metric is negated."""
    best, points = None, []
    for iteration, metric, *_ in run:
        metric = -metric if falls else metric
        best = metric if best is None else max(best, metric)
        points.append((iteration, best))
    return points


def iterations_to(points, level):
    """The iteration at which the level is first reached, interpolated linearly between rows."""
    before = None
    for iteration, metric in points:
        if metric >= level:
            if before is None or metric == before[1]:
                return iteration
            share = (level - before[1]) / (metric - before[1])
            return before[0] + share * (iteration - before[0])
        before = (iteration, metric)
    return None


def converted(run, batch, other, smallest, rule):
    """The iterations of each row of a run with `batch`, converted to the batch `other`."""
    done, last, found = 0.0, 0.0, []
    for iteration, _, grad_sqr, grad_var in run:
        noise, gradient = smallest * grad_var, grad_sqr  # phi is their ratio.
        ratio = {"noise scale": batch * (noise + gradient * other) /
                                (other * (noise + gradient * batch)),
                 "examples alike": batch / other,
                 "updates alike": 1.0}[rule]
        done += (iteration - last) * ratio
        last = iteration
        found.append(done)
    return found


def errors_of(runs, batch, other, rule):
    """predicted / measured - 1, for the iterations that `other` needs to reach some metrics."""
    falls = runs[batch][-1][1] < runs[batch][0][1]
    measured = improving(runs[other], falls)
    own = improving(runs[batch], falls)
    iterations = converted(runs[batch], batch, other, min(runs), rule)
    predicted = [(there, metric) for there, (_, metric) in zip(iterations, own)]
    low = max(own[0][1], measured[0][1])  # What both have not yet reached at the first row.
    high = min(own[-1][1], measured[-1][1])
    if high <= low:
        return []
    levels = [min(high, low + (high - low) * (i + 1) / LEVELS) for i in range(LEVELS)]
    return [iterations_to(predicted, level) / iterations_to(measured, level) - 1 for level in levels]


def shares(errors):
    """Median and 90th percentile of |errors|, and the median with its sign, in percent."""
    absolute = sorted(map(abs, errors))
    return (100 * statistics.median(absolute), 100 * absolute[int(0.9 * (len(absolute) - 1))],
            100 * statistics.median(errors))


def table(folder):
    """Lines of text: all rules, for each model and each step from batch to batch."""
    lines = []
    for model in sorted(path for path in folder.iterdir() if path.is_dir()):
        runs = read_runs(model)
        pairs = list(itertools.permutations(sorted(runs), 2))
        for factor in sorted({max(a, b) / min(a, b) for a, b in pairs}):
            here = [(a, b) for a, b in pairs if max(a, b) / min(a, b) == factor]
            found = {rule: [error for a, b in here for error in errors_of(runs, a, b, rule)]
                     for rule in RULES}
            if found[RULES[0]]:
                lines.append((model.name, factor, len(found[RULES[0]]),
                              *(shares(found[rule]) for rule in RULES)))
    return lines


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    options = parser.parse_args(arguments)
    if not options.folder.is_dir():
        sys.exit(f"{options.folder}: no such folder")
    lines = table(options.folder)
    if not lines:
        sys.exit(f"{options.folder}: no folders with runs of several batches (validation-BATCH.csv)")
    print("median and 90th percentile of |predicted / measured - 1|, median with its sign, in %")
    print(f"{'model':<14} {'batches':>9} {'metrics':>8}" +
          "".join(f"  {rule:>24}" for rule in RULES))
    for model, factor, count, *rules in lines:
        cells = ("{:7.1f} {:8.1f} {:+7.1f}".format(*rule) for rule in rules)
        print(f"{model:<14} {factor:>6g} : 1 {count:>6}" + "".join(f"  {cell:>24}" for cell in cells))


if __name__ == "__main__":
    main()
