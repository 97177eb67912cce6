"""Reproduces the main table of Zhang, Gupta, Lian, Liu, "Staleness-aware Async-SGD for Distributed
Deep Learning" (IJCAI 2016): the test error on CIFAR-10 of a single learner, of hardsync, and of
n-softsync with a fixed rate and with alpha / tau, in virtual time and with real gradients.

As in the paper: 30 learners, mini-batches of 4, momentum 0.9, a network of 89,578 weights, and a
step schedule. The single learner has mini-batches of 128. Every run has equally many examples, far
fewer than the paper's 140 epochs. `make reproduce-cifar10` runs this; docs/reproduce-cifar10.md says
how to read it.
"""

import argparse
import math
import os
import statistics
import sys

import measured_runs
import paper_optimizer

RUN_SECONDS = 6 * 3600
CHANCE = 0.9  # The error of ten classes by chance. A run that diverged counts as this.
RULES = {"fixed": "none", "alpha/tau": "inverse"}


class Study:
    def __init__(self, options, runs):
        self.options = options
        self.runs = runs

    def rows(self):
        """(name, learners, mini-batch, policy, rules) of each row of the table."""
        o = self.options
        yield "single learner", 1, o.single_batch, "sync", ("fixed",)
        yield "hardsync", o.learners, o.batch, "sync", ("fixed",)
        for n in o.n:
            yield f"{n}-softsync", o.learners, o.batch, f"softsync:n={n}", tuple(RULES)

    def key(self, learners, batch, policy, rule, seed):
        o = self.options
        return (f"{o.network} on {o.data}, {learners} x {batch}, {policy}, {RULES[rule]}, "
                f"{o.examples} examples, lr {o.lr:g}, {paper_optimizer.words(o)}, "
                f"seed {seed}")

    def result(self, learners, batch, policy, rule, seed):
        o = self.options

        def measure():
            return measured_runs.outpace(
                o.outpace,
                ["--learn", o.network, "--data", o.data, "--workers", str(learners),
                 "--batch", str(batch), "--policy", policy, "--staleness", RULES[rule],
                 "--lr", repr(o.lr), *paper_optimizer.arguments(o, o.examples), "--runtime", "lognormal(mean=100ms,cv=0.2)",
                 "--iterations", str(math.ceil(o.examples / batch)),
                 "--evaluate-every", str(o.examples), "--seed", str(seed)],
                RUN_SECONDS, "simulate")

        return self.runs.get(self.key(learners, batch, policy, rule, seed), measure)

    def asked_for(self):
        """The arguments of result(); a whole seed first, so that what is there early compares."""
        for seed in self.seeds():
            for _, learners, batch, policy, rules in self.rows():
                for rule in rules:
                    yield learners, batch, policy, rule, seed

    def seeds(self):
        return range(1, self.options.seeds + 1)


def error(found):
    return CHANCE if found["diverged"] else 1.0 - found["final_accuracy"]


def cell(errors):
    """The mean of errors in percent, and their range if there are several."""
    mean = f"{statistics.fmean(errors):.1%}"
    return mean if len(errors) == 1 else f"{mean} ({min(errors):.1%} - {max(errors):.1%})"


def table(study):
    """Lines of text; makes the runs that do not exist yet."""
    rows = [["test error", "mini-batch", "mean tau", *RULES]]
    for name, learners, batch, policy, rules in study.rows():
        found = {rule: [study.result(learners, batch, policy, rule, seed)
                        for seed in study.seeds()] for rule in rules}
        tau = statistics.fmean(one["staleness"]["mean"] or 0.0 for one in found[rules[-1]])
        rows.append([name, f"{learners} x {batch}", f"{tau:.2f}",
                     *(cell([error(one) for one in found[rule]]) if rule in found else "-"
                       for rule in RULES)])
    return measured_runs.table(rows)


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--outpace", default="build/release/outpace", metavar="PROGRAM")
    parser.add_argument("--data", required=True, help="cifar10:DIR, or another data set")
    parser.add_argument("--network", default="cifar")
    parser.add_argument("--learners", type=int, default=30)
    parser.add_argument("--batch", type=int, default=4, help="of each learner")
    parser.add_argument("--single-batch", type=int, default=128, help="of the single learner")
    parser.add_argument("--n", type=int, nargs="+", help="default: 1, learners / 2, learners")
    parser.add_argument("--examples", type=int, default=400_000, help="of each run")
    parser.add_argument("--lr", type=float, default=0.01, help="alpha")
    paper_optimizer.add_options(parser, momentum=0.9, step_at=6 / 7)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="a twentieth of the examples")
    parser.add_argument("--results", default="build/reproduce-cifar10.json", metavar="FILE")
    parser.add_argument("--fresh", action="store_true", help="forget the results that are there")
    options = parser.parse_args(arguments)
    if options.quick:
        options.examples //= 20
    if min(options.learners - 1, options.batch, options.single_batch, options.examples,
           options.seeds) < 1:
        parser.error("--learners is at least 2; mini-batches, --examples and --seeds are at least 1")
    paper_optimizer.check(parser, options)
    options.n = sorted(set(options.n or (1, options.learners // 2, options.learners)))
    if not 1 <= options.n[0] <= options.n[-1] <= options.learners:
        parser.error("--n is from 1 to the number of learners")
    return options


def measure(options, _folder):
    identity = {"outpace": measured_runs.digest(options.outpace)}
    runs = measured_runs.Runs(options.results, identity, options.fresh)
    study = Study(options, runs)
    asked = list(study.asked_for())
    runs.expected = len(runs.missing(study.key(*what) for what in asked))
    print(f"{options.network} on {options.data}, {options.examples:,} examples a run, alpha "
          f"{options.lr:g}, {paper_optimizer.words(options)}; {runs.expected} runs to go", flush=True)
    for what in asked:
        study.result(*what)
    print("\n" + "\n".join(table(study)))


def main(arguments):
    return measured_runs.main("reproduce-cifar10", parse, measure, arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
