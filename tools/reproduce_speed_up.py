"""Measures the speed-up of more learners, and how many pay off. It reproduces the second study of
Zhang, Gupta, Lian, Liu, "Staleness-aware Async-SGD for Distributed Deep Learning" (IJCAI 2016) and of
Gupta, Zhang, Wang, "Model Accuracy and Runtime Tradeoff in Distributed Deep Learning" (2016), in
virtual time, with real gradients.

Every run uses equally many examples. A learner's mini-batch takes a constant time plus a time per
example. Gradients and weights share the server's link, and the server takes a time per gradient.

  1. The mini-batch shrinks as learners are added, so that the product of the two is constant (as in
     the papers), under sync and under n-softsync with n = 1 and n = learners, alpha / tau.
  2. The mini-batch stays the same and learners are added, beyond the papers' 30. The table has the
     time until the test accuracy is reached.
  3. As 2, with several shards of the server.

Wherever the product changes, the learning rate is alpha * sqrt(learners * mini-batch / product), the
second paper's rule. `make reproduce-speed-up` runs this; docs/reproduce-speed-up.md says how to read
it.
"""

import argparse
import math
import os
import statistics
import sys

import measured_runs
import paper_optimizer

RUN_SECONDS = 3600
CONSECUTIVE = 3  # Evaluations that must reach the accuracy, in a row; the first of them counts.
SOONER = 0.9  # More learners pay if they take at most this share of the time.
PROTOCOLS = ("sync", "n = 1", "n = learners")


def policy(protocol, learners):
    return {"sync": "sync", "n = 1": "softsync:n=1",
            "n = learners": f"softsync:n={learners}"}[protocol]


def rate(options, learners, batch):
    return options.lr * math.sqrt(learners * batch / options.product)


def runtime(options, batch):
    mean = options.overhead + batch * options.per_example
    return f"lognormal(mean={mean * 1e6:.0f}us,cv={options.cv:g})"


def seconds_to(evaluations, accuracy):
    """Seconds to the first of CONSECUTIVE evaluations that reach it; None if there are none."""
    for i in range(len(evaluations) - CONSECUTIVE + 1):
        if all(found["accuracy"] >= accuracy for found in evaluations[i:i + CONSECUTIVE]):
            return evaluations[i]["seconds"]
    return None


def last_that_pays(times):
    """The number of learners up to which each larger number was at least a tenth faster.

    Takes {learners: seconds or None}. None if not even the fewest learners reach the accuracy.
    """
    paying, *more = sorted(times)
    if times[paying] is None:
        return None
    for count in more:
        if times[count] is None or times[count] > SOONER * times[paying]:
            break
        paying = count
    return paying


class Study:
    def __init__(self, options, runs):
        self.options = options
        self.runs = runs

    def examples(self):
        return round(self.options.epochs * 60_000)

    def key(self, learners, batch, protocol, shards, seed):
        o = self.options
        return (f"{learners} x {batch}, {protocol}, shards {shards}, {self.examples()} examples, "
                f"lr {rate(o, learners, batch):.6g}, {paper_optimizer.words(o)}, "
                f"{runtime(o, batch)}, {o.bandwidth}, apply {o.apply}, seed {seed}")

    def result(self, learners, batch, protocol, seed, shards=1):
        o = self.options

        def measure():
            return measured_runs.outpace(
                o.outpace,
                ["--learn", "mlp", "--data", "fashion-mnist", "--workers", str(learners),
                 "--batch", str(batch), "--policy", policy(protocol, learners),
                 "--staleness", "inverse",  # As the paper: 1 where nothing is stale.
                 "--lr", repr(rate(o, learners, batch)),
                 *paper_optimizer.arguments(o, self.examples()), "--runtime", runtime(o, batch),
                 "--bandwidth", o.bandwidth, "--apply", o.apply, "--shards", str(shards),
                 "--iterations", str(math.ceil(self.examples() / batch)),
                 "--evaluate-every", str(o.evaluate_every), "--seed", str(seed)],
                RUN_SECONDS, "simulate")

        return self.runs.get(self.key(learners, batch, protocol, shards, seed), measure)

    def results(self, learners, batch, protocol, shards=1):
        return [self.result(learners, batch, protocol, seed, shards) for seed in self.seeds()]

    def seeds(self):
        return range(1, self.options.seeds + 1)

    def mean_time(self, learners, batch, protocol, shards=1):
        """Mean seconds until the accuracy is reached; None if a seed never reaches it."""
        times = [seconds_to(found["evaluations"], self.options.accuracy)
                 for found in self.results(learners, batch, protocol, shards)]
        return None if None in times else statistics.fmean(times)

    def constant_product(self):
        """(learners, mini-batch) whose product is nearest to the intended one."""
        return [(learners, max(1, round(self.options.product / learners)))
                for learners in self.options.learners]

    def asked_for(self):
        """The arguments of result() except the seed, in the order of the tables."""
        for learners, batch in self.constant_product():
            for protocol in PROTOCOLS:
                yield learners, batch, protocol, 1
        for protocol in PROTOCOLS[1:]:
            for batch in self.options.batches:
                for learners in [*self.options.learners, *self.options.beyond]:
                    yield learners, batch, protocol, 1
        for learners in self.options.beyond:
            for batch in self.options.batches:
                yield learners, batch, PROTOCOLS[2], self.options.shards


def mean_of(results, value):
    return statistics.fmean(value(found) for found in results)


def final_accuracy(found):
    return 0.1 if found["diverged"] else found["final_accuracy"]


def speed_up_table(study):
    rows = [["learners x mini-batch, protocol", "mean tau", "examples/s", "speed-up", "accuracy",
             f"s to {study.options.accuracy:.0%}", "sooner"]]
    base = study.results(*study.constant_product()[0], "sync")
    base_speed = mean_of(base, lambda found: found["examples_per_second"])
    base_time = study.mean_time(*study.constant_product()[0], "sync")
    for learners, batch in study.constant_product():
        for protocol in PROTOCOLS if learners > 1 else PROTOCOLS[:1]:
            results = study.results(learners, batch, protocol)
            speed = mean_of(results, lambda found: found["examples_per_second"])
            time = study.mean_time(learners, batch, protocol)
            rows.append([f"{learners:3} x {batch:<3}  {protocol}",
                         f"{mean_of(results, lambda found: found['staleness']['mean']):.2f}",
                         f"{speed:,.0f}", f"{speed / base_speed:.1f}",
                         f"{mean_of(results, final_accuracy):.3f}", seconds(time),
                         f"{base_time / time:.1f}" if time and base_time else "-"])
    return measured_runs.table(rows)


def seconds(value):
    return "-" if value is None else f"{value:.1f}"


def times_table(study, protocol):
    """A table of the times until the accuracy is reached, and a sentence per mini-batch."""
    counts = [*study.options.learners, *study.options.beyond]
    rows = [[f"mini-batch, {protocol}", *(str(count) for count in counts), "pays up to"]]
    for batch in study.options.batches:
        times = {count: study.mean_time(count, batch, protocol) for count in counts}
        paying = last_that_pays(times)
        rows.append([f"  {batch}", *(seconds(times[count]) for count in counts),
                     "-" if paying is None else str(paying)])
    return measured_runs.table(rows)


def shards_table(study):
    rows = [["learners x mini-batch, n = learners", "shards", "mean tau", "examples/s",
             f"s to {study.options.accuracy:.0%}"]]
    for learners in study.options.beyond:
        for batch in study.options.batches:
            for shards in (1, study.options.shards):
                results = study.results(learners, batch, PROTOCOLS[2], shards)
                rows.append([
                    f"{learners:3} x {batch:<3}", str(shards),
                    f"{mean_of(results, lambda found: found['staleness']['mean']):.1f}",
                    f"{mean_of(results, lambda found: found['examples_per_second']):,.0f}",
                    seconds(study.mean_time(learners, batch, PROTOCOLS[2], shards))])
    return measured_runs.table(rows)


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--outpace", default="build/release/outpace", metavar="PROGRAM")
    parser.add_argument("--learners", type=int, nargs="+", default=[1, 4, 8, 16, 30])
    parser.add_argument("--beyond", type=int, nargs="*", default=[100, 300])
    parser.add_argument("--product", type=int, default=128,
                        help="learners * mini-batch, which the first table keeps")
    parser.add_argument("--batches", type=int, nargs="+", default=[4, 16, 64],
                        help="which the other tables keep")
    parser.add_argument("--epochs", type=float, default=3.0)
    parser.add_argument("--evaluate-every", type=int, default=2560, metavar="EXAMPLES")
    parser.add_argument("--accuracy", type=float, default=0.8)
    parser.add_argument("--lr", type=float, default=0.1, help="alpha")
    paper_optimizer.add_options(parser, momentum=0.0, step_at=1.0)
    parser.add_argument("--per-example", type=float, default=0.0032, metavar="SECONDS")
    parser.add_argument("--overhead", type=float, default=0.001, metavar="SECONDS",
                        help="of a mini-batch, however small")
    parser.add_argument("--cv", type=float, default=0.2, help="of a mini-batch's runtime")
    parser.add_argument("--bandwidth", default="10Gbps", help="of each host's link")
    parser.add_argument("--apply", default="100us", help="the server's time for a gradient")
    parser.add_argument("--shards", type=int, default=8, help="of the last table")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--quick", action="store_true", help="1 seed, a tenth of the examples")
    parser.add_argument("--results", default="build/reproduce-speed-up.json", metavar="FILE")
    parser.add_argument("--fresh", action="store_true", help="forget the results that are there")
    options = parser.parse_args(arguments)
    if options.quick:
        options.seeds, options.epochs = 1, options.epochs / 10
    options.learners.sort()
    options.beyond.sort()
    if min(*options.learners, *options.beyond, *options.batches, options.seeds) < 1:
        parser.error("learners, mini-batches and --seeds are at least 1")
    paper_optimizer.check(parser, options)
    return options


def measure(options, _folder):
    identity = {"outpace": measured_runs.digest(options.outpace), "cores": os.cpu_count()}
    runs = measured_runs.Runs(options.results, identity, options.fresh)
    study = Study(options, runs)
    asked = list(dict.fromkeys(study.asked_for()))
    runs.expected = len(runs.missing(
        study.key(*what, seed) for what in asked for seed in study.seeds()))
    print(f"{study.examples():,} examples a run, alpha {options.lr:g}, {paper_optimizer.words(options)}, "
          f"{options.bandwidth} links, {options.apply} a gradient at the server; {runs.expected} runs to go", flush=True)
    for seed in study.seeds():
        for learners, batch, protocol, shards in asked:
            study.result(learners, batch, protocol, seed, shards)
    print(f"\nLearners * mini-batch = {options.product}, mean of {options.seeds} seeds\n")
    print("\n".join(speed_up_table(study)))
    print(f"\nSeconds until {options.accuracy:.0%} of the test set is right, by learners; more of them "
          f"pay as long as that\ntakes at most {SOONER:.0%} of what it took fewer\n")
    for protocol in PROTOCOLS[1:]:
        print("\n".join(times_table(study, protocol)) + "\n")
    if options.beyond:
        print("\n".join(shards_table(study)))


def main(arguments):
    return measured_runs.main("reproduce-speed-up", parse, measure, arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
