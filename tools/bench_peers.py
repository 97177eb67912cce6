"""Compares Outpace with a program that trains with DistributedDataParallel, on one machine.

Both train the same network (a perceptron, 784-128-10) on Fashion-MNIST with the same workers, batch
and delays, to the same target accuracy, each at its own best learning rate.

  phase 1   without delays, on separate seeds: runs every system at every learning rate, and takes
            the rate with the fewest seconds to the target
  phase 2   with delays: runs the peer and then each policy of Outpace, for each trace, kind of
            delay and seed; ratios are to the peer's run of the same seed

The peer takes the options --workers --batch --lr --target --max-steps --eval-every --by --period
--consecutive --seed --port --delays, and prints one line with steps=, acc=, reached=, seconds= and
examples_per_s=. `make bench-peers` runs this; docs/benchmarks.md says how to read it.
"""

import argparse
import math
import os
import pathlib
import re
import shlex
import socket
import statistics
import sys

import make_delays
import measured_runs
from measured_runs import RunFailed

POLICIES = ("sync", "backup:cutoff=6", "async", "softsync:n=4", "ssp:s=3",
            "saps:s=12,action=preempt")
TRACES = ("calm-8", "fixed-8", "drifting-8")
RATES = (0.05, 0.1, 0.2, 0.4)
PEER = "ddp-gloo"
EVALUATE_EVERY = 5120  # Applied examples.
CONSECUTIVE = 3
PERIOD = 0.02  # Seconds of a row, by time.
FIRST_CHOICE_SEED = 101  # Phase 1 chooses on other seeds than phase 2 measures on.
RUN_SECONDS = 300  # After which a run ends anyway,
GRACE = 400  # and its processes have so long to start and end.

# Per trace: the policy held to the bar (None: the best), examples/s, seconds to the target; all in
# ratios to the peer.
BARS = {"calm-8": ("sync", 1.0, None), "fixed-8": (None, 2.4, 2.0), "drifting-8": (None, 1.7, 1.4)}


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def peer_result(line):
    """The numbers in the line that the peer prints."""
    words = dict(re.findall(r"(\w+)=(\S+)", line))
    try:
        reached = words["reached"] == "True"
        return {"seconds_to_target": float(words["seconds"]) if reached else None,
                "examples_per_second": float(words["examples_per_s"]),
                "final_accuracy": float(words["acc"]), "steps": int(words["steps"])}
    except (KeyError, ValueError) as error:
        raise RunFailed(f"the peer's line is not understood: {line!r}") from error


class Bench:
    """Runs either system with the options that both share."""

    def __init__(self, options, runs, traces, zeros):
        self.options = options
        self.runs = runs
        self.traces = traces  # Name -> path; None -> no delays.
        self.zeros = zeros  # A trace without delays, for the peer.
        self.digests = {name: measured_runs.digest(path) for name, path in traces.items()}

    def key(self, system, trace, by, lr, seed):
        where = f"{trace} ({self.digests[trace][:6]}) by {by}" if trace else "no delays"
        o = self.options
        return (f"{where}, {system}, lr {lr:g}, seed {seed}, {o.workers} x {o.batch}, "
                f"to {o.target:g} or {o.max_examples}")

    def get(self, system, trace, by, lr, seed):
        measure = self.peer if system == PEER else self.outpace
        return self.runs.get(self.key(system, trace, by, lr, seed),
                             lambda: measure(system, trace, by, lr, seed))

    def peer(self, _, trace, by, lr, seed):
        o = self.options
        step = o.batch * o.workers
        command = [o.peer_python, str(o.peer), "--workers", str(o.workers), "--batch", str(o.batch),
                   "--lr", str(lr), "--target", str(o.target),
                   "--max-steps", str(math.ceil(o.max_examples / step)),
                   "--eval-every", str(max(1, EVALUATE_EVERY // step)), "--by", by or "iteration",
                   "--period", str(PERIOD), "--consecutive", str(CONSECUTIVE), "--seed", str(seed),
                   "--port", str(free_port()),
                   "--delays", str(self.traces[trace] if trace else self.zeros)]
        code, out, errors = measured_runs.run(command, RUN_SECONDS + GRACE)
        lines = [line for line in out.splitlines() if line.startswith(PEER)]
        if code != 0 or not lines:
            raise measured_runs.failure(command, code, errors)
        return peer_result(lines[-1])

    def outpace(self, system, trace, by, lr, seed):
        o = self.options
        policy, *more = shlex.split(system)
        arguments = ["--policy", policy, *more, "--network", "mlp", "--data", "fashion-mnist",
                     "--workers", str(o.workers), "--batch", str(o.batch), "--lr", str(lr),
                     "--target-accuracy", str(o.target), "--consecutive", str(CONSECUTIVE),
                     "--evaluate-every", str(EVALUATE_EVERY),
                     "--iterations", str(math.ceil(o.max_examples / o.batch)),
                     "--seconds", f"{RUN_SECONDS}s", "--patience", f"{GRACE - 100}s",
                     "--seed", str(seed)]
        if trace:
            arguments += ["--delays", str(self.traces[trace]), "--delays-by", by,
                          "--delays-period", f"{PERIOD * 1000:g}ms"]
        result = measured_runs.outpace(o.outpace, arguments, RUN_SECONDS + GRACE)
        return {**result, "examples_per_second": result["examples_per_second"] or 0.0}

    def systems(self):
        return [PEER, *self.options.policies]


def choose_rates(bench):
    """Returns {system: best learning rate without delays}, and prints the table behind it."""
    options = bench.options
    if len(options.rates) == 1:
        return {system: options.rates[0] for system in bench.systems()}
    seeds = [FIRST_CHOICE_SEED + i for i in range(options.seeds)]
    for seed in seeds:
        for lr in options.rates:
            for system in bench.systems():
                bench.get(system, None, None, lr, seed)
    chosen, notes = {}, []
    rows = [("no delays: s to the target", *(f"lr {lr:g}" for lr in options.rates), "chosen")]
    for system in bench.systems():
        cells, ranks = [], {}
        for lr in options.rates:
            reached = [found for found in (bench.get(system, None, None, lr, seed)[
                "seconds_to_target"] for seed in seeds) if found is not None]
            mean = statistics.fmean(reached) if reached else math.inf
            ranks[lr] = (len(seeds) - len(reached), mean)
            some = "" if len(reached) == len(seeds) else f" ({len(reached)} of {len(seeds)})"
            cells.append((f"{mean:.2f}" if reached else "-") + some)
        chosen[system] = min(options.rates, key=lambda lr: ranks[lr])
        rows.append((system, *cells, f"{chosen[system]:g}"))
        if math.isinf(ranks[chosen[system]][1]):
            notes.append(f"note: {system} never reached the target; its rate is not a choice")
        elif chosen[system] in (min(options.rates), max(options.rates)):
            notes.append(f"note: {system} is best at {chosen[system]:g}, the end of what was tried")
    print("\n" + "\n".join([*measured_runs.table(rows), *notes]))
    return chosen


def sooner(peer, ours):
    """The speed-up to the target; 0 if Outpace never reached it, infinite if only Outpace did."""
    if ours["seconds_to_target"] is None:
        return 0.0
    if peer["seconds_to_target"] is None:
        return math.inf
    return peer["seconds_to_target"] / max(ours["seconds_to_target"], 1e-9)


def compare(peers, ours):
    """One system's row; peers[i] and ours[i] have the same seed."""
    rates = [result["examples_per_second"] for result in ours]
    reached = [result["seconds_to_target"] for result in ours
               if result["seconds_to_target"] is not None]
    return {"rate": statistics.median(rates), "rate_min": min(rates), "rate_max": max(rates),
            "faster": statistics.median(own["examples_per_second"] / peer["examples_per_second"]
                                        for peer, own in zip(peers, ours)),
            "seconds": statistics.median(reached) if reached else None,
            "sooner": statistics.median_low(sooner(peer, own) for peer, own in zip(peers, ours)),
            "reached": f"{len(reached)}/{len(ours)}"}


def bar_line(trace, rows):
    """A sentence on whether this trace's bar is passed; None if it has no bar."""
    if trace not in BARS:
        return None
    policy, rate, time_ratio = BARS[trace]
    bar = f"bar: {policy or 'one policy'} {rate:.1f} x examples/s"
    bar += f" and {time_ratio:.1f} x sooner" if time_ratio else ""
    ours = {name: row for name, row in rows.items()
            if name != PEER and (policy is None or name == policy)}
    if not ours:
        return f"{bar}: not measured"

    def score(name):
        row = ours[name]
        return min(row["faster"] / rate, row["sooner"] / time_ratio if time_ratio else math.inf)

    best = max(ours, key=lambda name: (score(name), ours[name]["faster"]))
    mark = "PASS" if score(best) >= 1.0 else "SHORT"
    found = f"{best} {ours[best]['faster']:.2f} x"
    found += f" and {ours[best]['sooner']:.2f} x" if time_ratio else ""
    return f"{mark}  {bar}: {found}"


def summary(bench, trace, by, rates):
    """Lines of text on one trace, with every system at rates[system]. All runs exist already."""
    seeds = range(1, bench.options.seeds + 1)
    results = {system: [bench.get(system, trace, by, rates[system], seed) for seed in seeds]
               for system in bench.systems()}
    rows = {system: compare(results[PEER], found) for system, found in results.items()}
    cells = [(f"{trace}, delays by {by}", "lr", "examples/s", "min - max", f"x {PEER}",
              f"s to {bench.options.target:.0%}", "x sooner", "reached")]
    for system, row in rows.items():
        cells.append((system, f"{rates[system]:g}", f"{row['rate']:,.0f}",
                      f"{row['rate_min']:,.0f} - {row['rate_max']:,.0f}", f"{row['faster']:.2f}",
                      "-" if row["seconds"] is None else f"{row['seconds']:.1f}",
                      f"{row['sooner']:.2f}" if row["sooner"] > 0 else "-", row["reached"]))
    lines = measured_runs.table(cells)
    bar = bar_line(trace, rows)
    return [*lines, bar] if bar else lines


def turns(bench, rates):
    """The runs of phase 2 in order, as (system, trace, by, lr, seed).

    For each seed the peer runs first. Then come the policies, in an order that rotates by seed.
    """
    options = bench.options
    kinds = [rates]
    if options.same_lr:
        kinds.append(dict.fromkeys(bench.systems(), options.same_lr))
    for by in options.by:
        for trace in options.traces:
            for seed in range(1, options.seeds + 1):
                at = (seed - 1) % len(options.policies)
                order = [PEER, *options.policies[at:], *options.policies[:at]]
                for lrs in kinds:
                    for system in order:
                        yield system, trace, by, lrs[system], seed


def traces_of(options, folder):
    """Returns {name: file}. Makes the files unless --delays-dir is given."""
    found = {}
    for name in options.traces:
        if options.delays_dir:
            places = [pathlib.Path(options.delays_dir) / f"{prefix}{name}.csv"
                      for prefix in ("synthetic-", "")]
            found[name] = next((place for place in places if place.exists()), None)
            if found[name] is None:
                raise RunFailed(f"there is no {places[0]}")
        else:
            regime = name.rsplit("-", 1)[0]
            if regime not in make_delays.REGIMES:
                raise RunFailed(f"trace {name}: there are {', '.join(make_delays.REGIMES)}, as in "
                                f"calm-{options.workers}")
            found[name] = folder / f"{name}.csv"
            make_delays.write(found[name], make_delays.delays(
                regime, options.workers, 2000, min(4, options.workers), 0.02, seed=1))
    return found


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer", required=True, metavar="SCRIPT")
    parser.add_argument("--peer-python", default="/usr/bin/python3", metavar="PROGRAM",
                        help="what runs the peer (default: Debian's, for which python3-torch is)")
    parser.add_argument("--delays-dir", metavar="DIR",
                        help="with synthetic-calm-8.csv and so on (default: make_delays.py's)")
    parser.add_argument("--outpace", default="build/release/outpace", metavar="PROGRAM")
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--target", type=float, default=0.84)
    parser.add_argument("--max-examples", type=int, default=384_000,
                        help="after which a run that has not reached the target ends")
    parser.add_argument("--policies", nargs="+", default=list(POLICIES), metavar="POLICY",
                        help="more options may follow in one word: 'async --staleness none'")
    parser.add_argument("--traces", nargs="+", default=list(TRACES), metavar="TRACE")
    parser.add_argument("--by", nargs="+", choices=("time", "iteration"),
                        default=["time", "iteration"])
    parser.add_argument("--rates", nargs="+", type=float, default=list(RATES), metavar="LR",
                        help="to choose from; if it is one there is no phase 1")
    parser.add_argument("--same-lr", nargs="?", type=float, const=0.1, metavar="LR",
                        help="also run every system at this learning rate (0.1)")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--quick", action="store_true",
                        help="1 seed, by time, two learning rates: does it work?")
    parser.add_argument("--results", default="build/bench-peers.json", metavar="FILE")
    parser.add_argument("--fresh", action="store_true", help="forget the results that are there")
    options = parser.parse_args(arguments)
    if options.quick:
        options.seeds, options.by, options.rates = 1, ["time"], [0.1, 0.2]
    if min(options.workers, options.batch, options.seeds, options.max_examples) < 1:
        parser.error("--workers, --batch, --seeds and --max-examples are at least 1")
    if EVALUATE_EVERY % (options.workers * options.batch) != 0:
        parser.error(f"--workers times --batch must divide {EVALUATE_EVERY}, so that both systems "
                     "evaluate after as many examples")
    return options


def measure(options, folder):
    zeros = folder / "zeros.csv"
    zeros.write_text(",".join(["0"] * options.workers) + "\n")
    measured_runs.quiet_or_warn()
    identity = {"outpace": measured_runs.digest(options.outpace),
                "peer": measured_runs.digest(options.peer), "cores": os.cpu_count()}
    runs = measured_runs.Runs(options.results, identity, options.fresh)
    bench = Bench(options, runs, traces_of(options, folder), zeros)
    first = len(options.rates) * options.seeds if len(options.rates) > 1 else 0
    second = len(options.traces) * len(options.by) * options.seeds * (2 if options.same_lr else 1)
    print(f"{len(bench.systems()) * (first + second)} runs or fewer; "
          f"{len(runs.results)} results are there", flush=True)
    choices = [bench.key(system, None, None, lr, FIRST_CHOICE_SEED + i)
               for system in bench.systems() for lr in options.rates
               for i in range(options.seeds)] if first else []
    runs.expected = len(runs.missing(choices)) + len(bench.systems()) * second
    print("\nphase 1: learning rates, without delays", flush=True)
    rates = choose_rates(bench)
    order = list(turns(bench, rates))
    runs.expected = len(runs.missing([bench.key(*turn) for turn in order]))
    print(f"\nphase 2: with delays; load average {measured_runs.load():.2f}, our own runs included",
          flush=True)
    for turn in order:
        bench.get(*turn)
    print(f"\n{measured_runs.machine()}; {options.workers} workers, batch {options.batch}, median "
          f"of {options.seeds} seeds; ratios are medians over pairs of runs of one seed")
    for by in options.by:
        for trace in options.traces:
            print("\n" + "\n".join(summary(bench, trace, by, rates)))
            if options.same_lr:
                print(f"\nall at lr {options.same_lr:g}:")
                print("\n".join(summary(bench, trace, by,
                                        dict.fromkeys(bench.systems(), options.same_lr))))


def main(arguments):
    return measured_runs.main("bench-peers", parse, measure, arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
