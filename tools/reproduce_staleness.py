"""Reproduces the effect of Zhang, Gupta, Lian, Liu, "Staleness-aware Async-SGD for Distributed Deep
Learning" (IJCAI 2016), live: many workers, small mini-batches, n-softsync.

The paper divides the learning rate of each gradient by its staleness tau. This measures the test
accuracy after equally many gradients, for n = 1, workers / 2 and workers, on three kinds of cluster,
with

  fixed      the learning rate alpha, whatever tau is
  alpha/tau  the paper's rule, per gradient
  constant   alpha / max(1, mean tau), the same for every gradient: is a smaller rate all there is?
  matched    (--matched) alpha * mean of 1 / max(1, tau): the same for every gradient, and equal to
             the average rate of alpha/tau

and for a single worker with as many examples. Delays pace the workers, so that on one machine they
are as slow as on machines of their own. --simulate uses `outpace simulate --learn`: the same
runtimes in virtual time, real gradients, many times as fast.
`make reproduce-staleness` runs this; docs/reproduce-staleness.md says how to read it.
"""

import argparse
import math
import os
import pathlib
import random
import statistics
import sys

import measured_runs
import paper_optimizer

SIGMA = 0.2  # Standard deviation of the logarithm of a lognormal runtime.
SLOWDOWN = 4.0
SLOW_SHARE = 8 / 30
CHANCE = 0.1  # The accuracy of who knows nothing: ten classes. A run that diverged counts as this.
START_SECONDS_A_WORKER = 1.0  # A process loads libtorch; two cores share the work.
RUN_SECONDS = 1800  # After which a run ends anyway.
GRACE = 900

KINDS = {"equal": "all equal, lognormal runtimes, sigma 0.2",
         "slow": "8 of 30 four times as slow, lognormal, sigma 0.2",
         "exponential": "all equal, exponential runtimes"}
UNEQUAL = ("slow", "exponential")
RULES = ("fixed", "alpha/tau", "constant")


def delays(kind, workers, iterations, base, seed):
    """Rows of `workers` runtimes in seconds; row i is every worker's own i-th iteration."""
    streams = [random.Random(f"{seed} {kind} {worker}") for worker in range(workers)]
    slow = workers - max(1, round(workers * SLOW_SHARE))
    for _ in range(iterations):
        if kind == "exponential":
            yield [base * rng.expovariate(1.0) for rng in streams]
        else:
            yield [base * rng.lognormvariate(0, SIGMA) *
                   (SLOWDOWN if kind == "slow" and worker >= slow else 1.0)
                   for worker, rng in enumerate(streams)]


def gradients_per_second(kind, workers, base):
    """The highest rate of gradients that the delays allow."""
    if kind == "exponential":
        return workers / base
    slow = max(1, round(workers * SLOW_SHARE)) if kind == "slow" else 0
    return (workers - slow + slow / SLOWDOWN) / (base * math.exp(SIGMA**2 / 2))


def exact_mean_tau(workers, n):
    """The mean of tau for any runtimes: (workers - 1) / c, with c gradients per update."""
    return (workers - 1) / (workers // n)


def mean_tau_error(result, workers, n):
    """The error relative to the exact mean, and the part that start and end of the run may explain.

    At the start and at the end of the run each worker lacks about one gradient's staleness, or at
    most two for memoryless runtimes.
    """
    exact = exact_mean_tau(workers, n)
    error = result["staleness"]["mean"] / exact - 1.0 if exact else result["staleness"]["mean"]
    return error, 3.0 * workers / max(1, result["gradients_applied"])


def mean_rate_factor(result):
    """The mean of 1 / max(1, tau) over the gradients of a run."""
    histogram = {int(tau): count for tau, count in result["staleness"]["histogram"].items()}
    total = sum(histogram.values())
    return sum(count / max(1, tau) for tau, count in histogram.items()) / total if total else 1.0


def beyond(result, limit):
    """The share of gradients staler than `limit`."""
    histogram = {int(tau): count for tau, count in result["staleness"]["histogram"].items()}
    total = sum(histogram.values())
    return sum(count for tau, count in histogram.items() if tau > limit) / total if total else 0.0


def accuracy(result):
    if result["diverged"] or result["final_accuracy"] is None:
        return CHANCE
    return result["final_accuracy"]


class Experiment:
    def __init__(self, options, runs, folder):
        self.options = options
        self.runs = runs
        self.folder = folder

    def rules(self):
        return [*RULES, "matched"] if self.options.matched else list(RULES)

    def size(self):
        return (f"{self.options.gradients} x {self.options.batch}, "
                f"{paper_optimizer.words(self.options)}")

    def common(self, seed, lr):
        o = self.options
        words = ["--data", "fashion-mnist", "--batch", str(o.batch), "--sampling", "replacement",
                 "--lr", repr(lr), *paper_optimizer.arguments(o, o.gradients * o.batch),
                 "--iterations", str(o.gradients), "--seed", str(seed)]
        if o.simulate:
            return ["--learn", "mlp", "--evaluate-every", str(o.gradients * o.batch), *words]
        return ["--network", "mlp", *words, "--seconds", f"{RUN_SECONDS}s",
                "--patience", f"{GRACE - 100}s", "--heartbeat-timeout", "30s"]

    def measure(self, arguments):
        o = self.options
        return measured_runs.outpace(o.outpace, arguments, RUN_SECONDS + GRACE,
                                     "simulate" if o.simulate else "train")

    def key(self, words):
        return ("simulated, " if self.options.simulate else "") + words

    def single(self, seed):
        o = self.options
        key = self.key(f"single, {self.size()}, lr {o.lr:g}, seed {seed}")
        return self.runs.get(key, lambda: self.measure(
            ["--workers", "1", "--policy", "sync", *self.common(seed, o.lr)]))

    def rate(self, kind, n, rule, seed):
        """The learning rate of a run; for a control it comes from the run with alpha/tau."""
        if rule in ("fixed", "alpha/tau"):
            return self.options.lr
        modulated = self.result(kind, n, "alpha/tau", seed)
        if rule == "constant":
            return self.options.lr / max(1.0, modulated["staleness"]["mean"])
        return self.options.lr * mean_rate_factor(modulated)

    def result(self, kind, n, rule, seed):
        o = self.options
        lr = self.rate(kind, n, rule, seed)
        staleness = "inverse" if rule == "alpha/tau" else "none"
        # A constant rate that is alpha is the run "fixed", and is not run again.
        key = self.key(
            f"{kind}, n {n} of {o.workers}, {staleness}, {self.size()}, "
            f"base {o.base:g}, lr {lr:.6g}, seed {seed}")

        def measure():
            path = self.folder / f"{kind}-{seed}.csv"
            if not path.exists():
                rows = 2 * math.ceil(o.gradients / o.workers) + 50
                path.write_text("".join(",".join(f"{seconds:.6f}" for seconds in row) + "\n"
                                        for row in delays(kind, o.workers, rows, o.base, seed)))
            return self.measure(["--workers", str(o.workers), "--policy", f"softsync:n={n}",
                                 "--staleness", staleness, "--delays", str(path),
                                 "--delays-by", "iteration", *self.common(seed, lr)])

        return self.runs.get(key, measure)


def cell(values):
    """The mean of accuracies, and their range if there are several."""
    mean = f"{statistics.fmean(values):.3f}"
    return mean if len(values) == 1 else f"{mean} ({min(values):.3f} - {max(values):.3f})"


def kind_table(experiment, kind, seeds):
    """Lines of text on one kind of cluster; makes the runs that do not exist yet."""
    options = experiment.options
    rows = [(KINDS[kind] if options.workers == 30 else kind, "mean tau", "max", "tau > 2n",
             *experiment.rules())]
    for n in options.n:
        found = {rule: [experiment.result(kind, n, rule, seed) for seed in seeds]
                 for rule in experiment.rules()}
        modulated = found["alpha/tau"]
        rows.append((f"  n = {n}",
                     f"{statistics.fmean(run['staleness']['mean'] for run in modulated):.2f}",
                     str(max(run["staleness"]["max"] for run in modulated)),
                     f"{statistics.fmean(beyond(run, 2 * n) for run in modulated):.2%}",
                     *(cell([accuracy(run) for run in found[rule]])
                       for rule in experiment.rules())))
    return measured_runs.table(rows)


def checks(experiment, seeds):
    """Lines of text: the exact mean of tau in every run, and whether the delays set the pace."""
    options = experiment.options
    lines, runs, held = [], 0, 0
    worst, slowest = 0.0, math.inf
    for kind in options.kinds:
        ideal = gradients_per_second(kind, options.workers, options.base)
        for n in options.n:
            for rule in experiment.rules():
                for seed in seeds:
                    run = experiment.result(kind, n, rule, seed)
                    if run["diverged"] or run["staleness"]["mean"] is None:
                        lines.append(f"  diverged, so not checked: {kind}, n = {n}, {rule}, "
                                     f"seed {seed}")
                        continue
                    error, allowed = mean_tau_error(run, options.workers, n)
                    runs += 1
                    held += abs(error) <= allowed
                    worst = max(worst, abs(error))
                    slowest = min(slowest, (run["gradients_per_second"] or 0.0) / ideal)
                    if abs(error) > allowed:
                        lines.append(f"  NOT: {kind}, n = {n}, {rule}, seed {seed}: "
                                     f"{run['staleness']['mean']:.3f}, exactly "
                                     f"{exact_mean_tau(options.workers, n):.3f}")
    allowed = 3.0 * options.workers / options.gradients
    lines.insert(0, f"mean tau = (workers - 1) / c: holds in {held} of {runs} runs; off by at most "
                    f"{worst:.2%}, of which start and end of a run explain {allowed:.2%}")
    if runs:
        lines.append(f"pace: the slowest run had {slowest:.0%} of the gradients per second that "
                     "its delays allow" + ("" if slowest >= 0.8 else
                                       "; WARNING: workers waited for the processor: give --base "
                                       "a larger value"))
    return lines


def points(values):
    spread = f" ({100 * min(values):+.1f} to {100 * max(values):+.1f})" if len(values) > 1 else ""
    return f"{100 * statistics.fmean(values):+.1f}{spread}"


def judgement(differences):
    """The conclusion from a list of differences, one per pair of runs."""
    if len(differences) < 3:
        return "too few pairs to tell from nothing"
    mean = statistics.fmean(differences)
    error = statistics.stdev(differences) / math.sqrt(len(differences))
    if abs(mean) <= 2.0 * error:
        return "no more than the spread over seeds"
    sign = "a gain" if mean > 0 else "a loss"
    constant_sign = all(difference * mean > 0 for difference in differences)
    return f"{sign} in every pair" if constant_sign else f"{sign}, though not in every pair"


def conclusion(experiment, control, seeds):
    """A sentence on what a rate per gradient adds to a control, from the numbers; or None."""
    options = experiment.options
    modulated_n = [n for n in options.n if exact_mean_tau(options.workers, n) > 1.0]
    parts = []
    for kind in options.kinds:
        if kind in UNEQUAL and modulated_n:
            differences = [accuracy(experiment.result(kind, n, "alpha/tau", seed)) -
                           accuracy(experiment.result(kind, n, control, seed))
                           for n in modulated_n for seed in seeds]
            parts.append(f"{points(differences)} points with {kind} workers, "
                         f"{judgement(differences)}")
    if not parts:
        return None
    which = {"constant": "alpha / mean tau", "matched": "as large on average"}[control]
    numbers = " and ".join(str(n) for n in modulated_n)
    return (f"Beyond a smaller constant rate ({which}), weighting each gradient by its own "
            f"staleness adds to the final accuracy, for n = {numbers} and {len(seeds)} seed"
            f"{'s' if len(seeds) > 1 else ''}, mean (and range) over the pairs: "
            + "; ".join(parts) + ".")


def expected_seconds(options):
    run = sum(options.gradients / gradients_per_second(kind, options.workers, options.base)
              for kind in options.kinds)
    rules = len(RULES) + options.matched
    # Where mean tau is below 1 the constant rate is alpha: one run fewer.
    counted = sum(rules - (exact_mean_tau(options.workers, n) <= 1.0) for n in options.n)
    starts = len(options.kinds) * START_SECONDS_A_WORKER * options.workers
    single = options.gradients * 0.0025 + 5
    if options.simulate:
        run = starts = 0.0
        single = (1 + counted * len(options.kinds)) * (options.gradients * 0.0005 + 2)
    return (counted * len(options.kinds) + 1) * options.seeds, options.seeds * (
        counted * (run + starts) + single)


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--outpace", default="build/release/outpace", metavar="PROGRAM")
    parser.add_argument("--workers", type=int, default=30)
    parser.add_argument("--n", type=int, nargs="+", help="default: 1, workers / 2, workers")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--gradients", type=int, default=12_000)
    parser.add_argument("--lr", type=float, default=0.1, help="alpha")
    paper_optimizer.add_options(parser, momentum=0.0, step_at=1.0)
    parser.add_argument("--base", type=float, default=0.1, metavar="SECONDS",
                        help="of a mini-batch; so long that the cores are idle most of the time")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--matched", action="store_true", help="one more control: see above")
    parser.add_argument("--simulate", action="store_true", help="in virtual time: see above")
    parser.add_argument("--quick", action="store_true",
                        help="1 seed, 1,500 gradients: does it work?")
    parser.add_argument("--results", default="build/reproduce-staleness.json", metavar="FILE")
    parser.add_argument("--fresh", action="store_true", help="forget the results that are there")
    options = parser.parse_args(arguments)
    if options.quick:
        options.seeds, options.gradients = 1, 1500
    if min(options.workers - 1, options.batch, options.gradients, options.seeds) < 1:
        parser.error("--workers is at least 2; --batch, --gradients and --seeds are at least 1")
    paper_optimizer.check(parser, options)
    if not options.base > 0:
        parser.error("--base is above 0")
    options.n = sorted(set(options.n or (1, options.workers // 2, options.workers)))
    if not 1 <= options.n[0] <= options.n[-1] <= options.workers:
        parser.error("--n is from 1 to the number of workers")
    return options


def measure(options, folder):
    measured_runs.quiet_or_warn()
    identity = {"outpace": measured_runs.digest(options.outpace), "cores": os.cpu_count()}
    runs = measured_runs.Runs(options.results, identity, options.fresh)
    experiment = Experiment(options, runs, folder)
    count, seconds = expected_seconds(options)
    print(f"{options.workers} workers, mini-batch {options.batch}, {options.gradients:,} "
          f"gradients, alpha {options.lr:g}; {count} runs, about "
          f"{measured_runs.duration(seconds)} in all; {len(runs.results)} results are there",
          flush=True)
    runs.expected = max(0, count - sum(experiment.size() in key for key in runs.results))
    seeds = range(1, options.seeds + 1)
    for seed in seeds:  # A whole seed first: what is there early is comparable.
        experiment.single(seed)
        for kind in options.kinds:
            for n in options.n:
                for rule in experiment.rules():
                    experiment.result(kind, n, rule, seed)
    print(f"\n{measured_runs.machine()}; test accuracy after {options.gradients:,} gradients of "
          f"{options.batch} examples, alpha {options.lr:g}, {paper_optimizer.words(options)}, mean "
          f"(and range) of {options.seeds} seeds\n")
    single = [accuracy(experiment.single(seed)) for seed in seeds]
    print(f"one worker, as many examples: {cell(single)}")
    for kind in options.kinds:
        print("\n" + "\n".join(kind_table(experiment, kind, seeds)))
    print("\n" + "\n".join(checks(experiment, seeds)))
    for control in experiment.rules()[2:]:
        sentence = conclusion(experiment, control, seeds)
        if sentence:
            print("\n" + sentence)


def main(arguments):
    return measured_runs.main("reproduce-staleness", parse, measure, arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
