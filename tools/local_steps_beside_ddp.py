"""Measures Outpace's local steps beside PyTorch's DistributedDataParallel, with real processes.

    python3 -B tools/local_steps_beside_ddp.py --out build/local-steps-beside-ddp.json

Four workers train a network on Fashion-MNIST (tools/train_local_steps.py): by DistributedDataParallel
(torchrun, Gloo), by `outpace run --local-steps 50` under `sync`, and under `dynamic`, by default
options. A step takes --base seconds times the worker's factor; the factors (1, 1, 2 and 4) move on to
the next worker every --turn seconds of the run's clock, the same for all. Workers sleep for what is
left of a step, so few cores suffice.

Each contestant's learning rate is chosen first, with a seed of its own: the one whose test loss is
least, as the mean over the last quarter of a run. While the least or the greatest rate tried is the
best, half or twice that rate is tried, too. Then each seed runs once.

The table has the seconds from the first step to the first weights with a test loss, start-up of the
processes not included. DDP's weights are copied every second and measured after the run, which costs
it nothing. Outpace's evaluator works beside the run, on the same cores; the workers' first step waits
until it has started.
"""

import argparse
import json
import math
import pathlib
import resource
import statistics
import sys
import tempfile
import time

import bench_python
import measured_runs

DDP = "ddp"
CONTESTANTS = (DDP, "sync", "dynamic")
EVALUATOR_STARTS = 15.0  # Seconds that it may take.
START_AND_END = 180.0  # Seconds that a run's processes have beside --seconds.
SCRIPT = pathlib.Path(__file__).with_name("train_local_steps.py")
RATES_MOST = 8  # That are tried for one contestant.


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3], metavar="SEED")
    parser.add_argument("--tuning-seed", type=int, default=101, metavar="SEED")
    parser.add_argument("--rates", type=float, nargs="+", default=[0.01, 0.02, 0.04], metavar="RATE",
                        help="to begin with (default: 0.01 0.02 0.04)")
    parser.add_argument("--lr", nargs="+", default=[], metavar="CONTESTANT=RATE",
                        help="not tuned, such as ddp=0.02; contestants: " + " ".join(CONTESTANTS))
    parser.add_argument("--contestants", nargs="+", default=CONTESTANTS, choices=CONTESTANTS)
    parser.add_argument("--levels", type=float, nargs="+", default=[0.5, 0.45, 0.4], metavar="LOSS")
    parser.add_argument("--seconds", type=float, default=60.0, help="of each run (60)")
    parser.add_argument("--local-steps", type=int, default=50)
    parser.add_argument("--network", choices=("mlp", "cnn"), default="mlp")
    parser.add_argument("--momentum", type=float, default=0.9, help="of the SGD of all contestants")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--base", type=float, default=0.02, help="seconds of a step at factor 1")
    parser.add_argument("--factors", type=float, nargs="+", default=[1, 1, 2, 4], metavar="FACTOR",
                        help="one for each worker (default: 1 1 2 4)")
    parser.add_argument("--turn", type=float, default=16.0, help="seconds after which they move on")
    parser.add_argument("--outpace", default="build/release/outpace", metavar="PROGRAM")
    parser.add_argument("--torchrun", default="/usr/bin/torchrun", metavar="PROGRAM")
    parser.add_argument("--python", default="/usr/bin/python3", metavar="PROGRAM")
    parser.add_argument("--out", default="build/local-steps-beside-ddp.json", metavar="FILE",
                        help="keeps the runs; the same command goes on where it was stopped")
    parser.add_argument("--fresh", action="store_true", help="forget the runs that are there")
    options = parser.parse_args(arguments)
    if options.tuning_seed in options.seeds:
        parser.error("--tuning-seed is one of --seeds; the rates must be chosen with another")
    if min(*options.factors, options.base, options.turn, options.seconds, *options.rates) <= 0:
        parser.error("--factors, --base, --turn, --seconds and --rates are above 0")
    return options


def delays(base, factors):
    """A row for each turn until the factors are where they began."""
    return [[base * factors[(worker - turn) % len(factors)] for worker in range(len(factors))]
            for turn in range(len(factors))]


# ---- One run --------------------------------------------------------------------------------------


def ddp(options, script_words, seed, folder):
    command = [options.torchrun, "--standalone", "--nnodes=1", f"--nproc_per_node={len(options.factors)}",
               # By its defaults, torchrun 1.13 fails with Python 3.11.
               "--monitor_interval=0.5", "--redirects=1", "--tee=1", str(SCRIPT), "ddp", *script_words,
               "--seed", str(seed), "--batch", str(options.batch), "--seconds", str(options.seconds)]
    code, _, errors = measured_runs.run(command, options.seconds + START_AND_END)
    if code != 0:
        raise measured_runs.failure(command, code, errors)
    return json.loads((folder / "ddp.json").read_text())


def outpace(options, policy, script_words, seed, folder):
    """The run goes on for longer than --seconds, by what its evaluator may need to start."""
    seconds = options.seconds + EVALUATOR_STARTS
    found = measured_runs.outpace(options.outpace, [
        "--workers", str(len(options.factors)), "--policy", policy, "--batch", str(options.batch),
        "--local-steps", str(options.local_steps), "--seconds", f"{seconds:g}s", "--epochs",
        "1000000", "--seed", str(seed)], seconds + START_AND_END, command="run", script=[
            options.python, "-B", str(SCRIPT), "outpace", *script_words, "--seed", str(seed)])
    # All workers got their first mini-batch when the run began, and waited for the evaluator.
    waited = max((one["waited"] for one in reports(folder)), default=0.0)
    return {"examples_per_second": found["examples"] / (found["seconds"] - waited),
            "diverged": found["diverged"], "waited": waited,
            "losses": within(options.seconds, waited, found["evaluations"])}


def within(seconds, waited, evaluations):
    """(seconds, loss) of the evaluations up to `seconds` after the end of the wait."""
    moments = [(one["seconds"] - waited, one["loss"]) for one in evaluations]
    return [(moment, loss) for moment, loss in moments if 0 < moment <= seconds]


def reports(folder):
    """What each worker left."""
    return [json.loads(path.read_text()) for path in folder.glob("worker-*.json")]


def measure_run(options, contestant, rate, seed):
    """Losses over time, and how many cores were busy: for the workers' steps, and for everything."""
    with tempfile.TemporaryDirectory(prefix="local-steps-") as place:
        folder = pathlib.Path(place)
        table = folder / "delays.csv"
        table.write_text("".join(",".join(map(str, row)) + "\n"
                                 for row in delays(options.base, options.factors)))
        words = ["--network", options.network, "--lr", str(rate), "--momentum", str(options.momentum),
                 "--delays", str(table), "--period", str(options.turn), "--folder", place]
        used, begun = processor_seconds(), time.monotonic()
        found = (ddp(options, words, seed, folder) if contestant == DDP
                 else outpace(options, contestant, words, seed, folder))
        everything = (processor_seconds() - used) / (time.monotonic() - begun)
        workers = reports(folder)
    return {**found, "cores": sum(one["processor"] / one["seconds"] for one in workers),
            "cores_with_start": everything}


def processor_seconds():
    """Of all children that have ended, and of theirs."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


# ---- What is made of them -------------------------------------------------------------------------


def seconds_to(level, losses):
    """When weights had this loss for the first time; infinite if they never had."""
    return next((seconds for seconds, loss in losses if loss is not None and loss <= level), math.inf)


def score(result):
    """The mean loss over the last quarter of a run; infinite if it diverged."""
    losses = [loss for _, loss in result["losses"]]
    last = losses[-max(1, len(losses) // 4):]
    if result.get("diverged") or not last or any(one is None or math.isnan(one) for one in last):
        return math.inf
    return statistics.fmean(last)


def tuned(rates, score_of):
    """The best rate, once it is neither the least nor the greatest of those tried."""
    scores = {rate: score_of(rate) for rate in sorted(rates)}
    while True:
        best = min(scores, key=lambda rate: (scores[rate], rate))
        further = {min(scores): best / 2, max(scores): best * 2}.get(best)
        if further is None or len(scores) >= RATES_MOST or math.isinf(scores[best]):
            return best
        scores[further] = score_of(further)


def cell(seconds):
    return "-" if math.isinf(seconds) else f"{seconds:.1f}"


def ratio_cell(peer, own):
    """How many times sooner than DDP; it takes both."""
    return "-" if math.isinf(peer) or math.isinf(own) else f"{peer / own:.2f}"


def level_lines(level, results):
    """The table of one loss; `results` are {contestant: {seed: result}}."""
    seeds = list(next(iter(results.values())))
    rows = [(f"seconds to test loss {level:g}", *(f"seed {seed}" for seed in seeds), "median", "x sooner")]
    middles = {}
    for contestant, by_seed in results.items():
        times = [seconds_to(level, by_seed[seed]["losses"]) for seed in seeds]
        middles[contestant] = statistics.median(times)
        against = middles.get(DDP, math.inf)
        rows.append((contestant, *map(cell, times), cell(middles[contestant]),
                     ratio_cell(against, middles[contestant])))
    return measured_runs.table(rows)


def run_lines(rates, results):
    rows = [("medians over seeds", "lr", "examples/s", "last loss", "workers' cores", "all, with start")]
    for contestant, by_seed in results.items():
        def middle(value, runs=tuple(by_seed.values())):
            return statistics.median(value(run) for run in runs)

        rows.append((contestant, f"{rates[contestant]:g}",
                     f"{middle(lambda run: run['examples_per_second']):,.0f}", f"{middle(score):.4f}",
                     f"{middle(lambda run: run['cores']):.2f}",
                     f"{middle(lambda run: run['cores_with_start']):.2f}"))
    return measured_runs.table(rows)


def measure(options, _folder):
    package = pathlib.Path(options.outpace).resolve().parent / "python"
    bench_python.set_environment(package)
    measured_runs.quiet_or_warn()
    runs = measured_runs.Runs(options.out, {
        "outpace": measured_runs.digest(options.outpace), "package": bench_python.package_digest(package),
        "script": measured_runs.digest(SCRIPT)}, options.fresh)
    setting = (f"{options.network}, batch {options.batch}, momentum {options.momentum:g}, H "
               f"{options.local_steps}, steps of {options.base:g} s x {options.factors} moving every "
               f"{options.turn:g} s, {options.seconds:g} s")

    def key(contestant, rate, seed):
        return f"{contestant}, lr {rate:g}, seed {seed}, {setting}"

    def result(contestant, rate, seed):
        return runs.get(key(contestant, rate, seed),
                        lambda: measure_run(options, contestant, rate, seed))

    rates = bench_python.pairs(options.lr, "lr", float)
    for contestant in options.contestants:
        if contestant not in rates:
            rates[contestant] = tuned(options.rates, lambda rate, who=contestant: score(
                result(who, rate, options.tuning_seed)))
            print(f"{contestant}: lr {rates[contestant]:g}, by seed {options.tuning_seed}", flush=True)
    results = {contestant: {} for contestant in options.contestants}
    runs.expected = len(runs.missing(key(contestant, rates[contestant], seed) for seed in options.seeds
                                     for contestant in options.contestants))
    for seed in options.seeds:  # Contestants in turn, so that a busy minute meets all of them.
        for contestant in options.contestants:
            results[contestant][seed] = result(contestant, rates[contestant], seed)
    print(f"\n{measured_runs.machine()}\n{setting}")
    for level in sorted(options.levels, reverse=True):
        print("\n" + "\n".join(level_lines(level, results)))
    print("\n" + "\n".join(run_lines(rates, results)))


if __name__ == "__main__":
    sys.exit(measured_runs.main("local-steps-beside-ddp", parse, measure, sys.argv[1:]))
