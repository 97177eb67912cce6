"""Measures training scripts in Python: the cost of a worker, and Outpace beside PyTorch's DDP.

  overhead    one worker, a small cnn, mini-batches of 32: how long push, verdict and pull take, as a
              share of forward and backward pass, and beside the C++ worker on the same network
  trace-N     train_either.py with N workers and these delays by time, by DistributedDataParallel
              (torchrun, Gloo) and by Outpace: examples/s, and seconds to the target accuracy

Every policy and learning rate is named beforehand, by options. `make bench-python` runs this;
docs/python-benchmarks.md says how to read it.
"""

import argparse
import hashlib
import json
import os
import pathlib
import statistics
import sys

import make_delays
import measured_runs
from measured_runs import RunFailed

PEER = "ddp"
OVERHEAD = "overhead"
TRACES = ("calm-8", "fixed-8", "drifting-8")
POLICIES = {"calm-8": "sync", "fixed-8": "async", "drifting-8": "async"}
# docs/benchmarks.md: each system's own best of 0.05, 0.1, 0.2 and 0.4 without delays.
RATES = {PEER: 0.2, "sync": 0.2, "dynamic": 0.2, "async": 0.1}
GOALS = {"calm-8": (1.0, 1.2), "fixed-8": (2.2, 2.5), "drifting-8": (1.7, 2.0)}
EXAMPLE_OF = {"policies": "fixed-8=backup:cutoff=6", "lr": "async=0.1"}
SHARE_GOAL, RATIO_GOAL = 0.05, 1.2  # A worker's cost: as a share of its passes; relative to the C++ worker's.
PERIOD = 0.02  # Seconds of a row of a trace.
CONSECUTIVE = 3
START_AND_END = 60.0  # Seconds that a run's processes have beside --seconds.
SCRIPT = pathlib.Path(__file__).with_name("train_either.py")


def pairs(words, what, convert=str):
    """{"calm-8": "sync"} of ["calm-8=sync"]."""
    found = {}
    for word in words:
        name, equals, value = word.partition("=")
        try:
            found[name] = convert(value)
        except ValueError:
            equals = ""
        if not equals or not value:
            raise RunFailed(f"--{what} {word}: it takes NAME=VALUE, as in {EXAMPLE_OF[what]}")
    return found


def rate_of(rates, system):
    """The learning rate of a policy, or of its kind: that of `backup` is `backup:cutoff=6`'s too."""
    found = rates.get(system, rates.get(system.partition(":")[0]))
    if found is None:
        raise RunFailed(f"there is no learning rate for {system}; add --lr {system}=0.1")
    return found


def package_digest(package):
    """Of all that the scripts import from there, the library too."""
    files = sorted(path for path in (package / "outpace").rglob("*")
                   if path.suffix in (".py", ".so"))
    if not files:
        raise RunFailed(f"there is no package in {package}; build it with `make python`")
    whole = hashlib.sha256()
    for path in files:
        whole.update(f"{path.relative_to(package)} {measured_runs.digest(path)}\n".encode())
    return whole.hexdigest()[:16]


def set_environment(package):
    """The scripts' processes get this package, and nothing of another job."""
    for name in [name for name in os.environ if name.startswith("OUTPACE_")]:
        del os.environ[name]
    os.environ.update(PYTHONPATH=str(package), OMP_NUM_THREADS="1", PYTHONDONTWRITEBYTECODE="1")


# ---- The cost of a worker -------------------------------------------------------------------------


def python_overhead(options, folder):
    """What the timed script says of one worker."""
    result = folder / "timed.json"
    measured_runs.outpace(options.outpace, [
        "--workers", "1", "--policy", "sync", "--updates", str(options.updates), "--batch", "32"],
        options.seconds + START_AND_END, command="run", script=[
            options.python, str(SCRIPT), "timed", "--network", "cnn", "--result", str(result)])
    return json.loads(result.read_text())


def cpp_overhead(options):
    """The same of `outpace train`: all that is not forward and backward pass, for each update."""
    found = measured_runs.outpace(options.outpace, [
        "--network", "cnn", "--data", "fashion-mnist", "--workers", "1", "--policy", "sync",
        "--batch", "32", "--updates", str(options.updates), "--evaluate-every", "1000000000"], options.seconds + START_AND_END)
    return cpp_costs(found)


def cpp_costs(summary):
    """Mean seconds of the passes, and of the rest, of one update."""
    compute = sum(worker["compute_seconds"] for worker in summary["workers_detail"])
    updates = summary["updates"]
    return {"pass_mean": compute / updates, "step_mean": (summary["seconds"] - compute) / updates}


def overhead_lines(rounds):
    """The table and what became of the goals; `rounds` are pairs (Python's, C++'s)."""
    def median(which, name):
        return statistics.median(one[which][name] for one in rounds)

    python = [median(0, name) for name in ("pass_mean", "step_mean", "pass_median", "step_median")]
    cpp = [median(1, name) for name in ("pass_mean", "step_mean")]
    shares = [python[1] / python[0], python[3] / python[2], cpp[1] / cpp[0]]
    rows = [("one worker, cnn, batch 32", "passes, ms", "push to pull, ms", "share"),
            ("Python, mean", f"{1e3 * python[0]:.3f}", f"{1e3 * python[1]:.3f}", f"{shares[0]:.1%}"),
            ("Python, median", f"{1e3 * python[2]:.3f}", f"{1e3 * python[3]:.3f}",
             f"{shares[1]:.1%}"),
            ("C++, mean", f"{1e3 * cpp[0]:.3f}", f"{1e3 * cpp[1]:.3f}", f"{shares[2]:.1%}")]
    ratio = statistics.median(python["step_mean"] / cpp["step_mean"] for python, cpp in rounds)
    return [*measured_runs.table(rows),
            f"{mark(shares[0] <= SHARE_GOAL)}  share of forward and backward, mean "
            f"{shares[0]:.1%}; asked: at most {SHARE_GOAL:.0%}",
            f"{mark(ratio <= RATIO_GOAL)}  beside the C++ worker {ratio:.2f} x; asked: at most "
            f"{RATIO_GOAL:.1f} x"]


def mark(passed):
    return "PASS " if passed else "SHORT"


# ---- The same script by DDP and by Outpace --------------------------------------------------------


def ddp(options, trace, delays, seed, folder):
    result = folder / "ddp.json"
    command = [
        options.torchrun, "--standalone", "--nnodes=1", f"--nproc_per_node={options.workers}",
        # By its defaults, torchrun 1.13 fails with Python 3.11.
        "--monitor_interval=0.5", "--redirects=1", "--tee=1", str(SCRIPT), "ddp",
        *shared_words(options, PEER, delays, seed, folder), "--batch", str(options.batch),
        "--target", str(options.target), "--consecutive", str(CONSECUTIVE),
        "--evaluate-every", str(options.evaluate_every), "--seconds", str(options.seconds),
        "--result", str(result)]
    code, _, errors = measured_runs.run(command, options.seconds + START_AND_END)
    if code != 0 or not result.exists():
        raise measured_runs.failure(command, code, errors)
    return json.loads(result.read_text())


def outpace(options, trace, delays, seed, folder):
    policy = options.policy_of[trace]
    return measured_runs.outpace(options.outpace, [
        "--workers", str(options.workers), "--policy", policy, "--batch", str(options.batch),
        "--target-accuracy", str(options.target), "--consecutive", str(CONSECUTIVE),
        "--evaluate-every", str(options.evaluate_every), "--seconds", f"{options.seconds:g}s",
        "--seed", str(seed)], options.seconds + START_AND_END, command="run", script=[
            options.python, str(SCRIPT), "outpace",
            *shared_words(options, policy, delays, seed, folder)])


def shared_words(options, system, delays, seed, folder):
    """The arguments that both systems' scripts get."""
    return ["--network", options.network, "--lr", str(rate_of(options.rate_of, system)),
            "--delays", str(delays), "--period", str(PERIOD), "--seed", str(seed),
            "--start", str(folder / f"start-{system.partition(':')[0]}-{seed}")]


def sooner(peer, ours):
    """How many times sooner the target was reached; None if Outpace never did. If DDP never did, it
    needs more time than its run had, and the number is a lower bound."""
    if not ours["seconds_to_target"]:
        return None
    return (peer["seconds_to_target"] or peer["seconds"]) / ours["seconds_to_target"]


def sooner_cell(peer, ours):
    times = sooner(peer, ours)
    bound = "" if peer["seconds_to_target"] else "> "
    return "-" if times is None else f"{bound}{times:.2f}"


def trace_lines(trace, policy, results):
    """The table of one trace, and what became of its goal; `results` are {seed: (DDP's, ours)}."""
    rows = [(f"{trace}, delays by time", "seed", "examples/s", "x ddp", "s to target", "x sooner")]
    for seed, (peer, ours) in results.items():
        rows.append((PEER, str(seed), f"{peer['examples_per_second']:,.0f}", "",
                     seconds_cell(peer["seconds_to_target"]), ""))
        rows.append((policy, str(seed), f"{ours['examples_per_second']:,.0f}",
                     f"{ours['examples_per_second'] / peer['examples_per_second']:.2f}",
                     seconds_cell(ours["seconds_to_target"]),
                     sooner_cell(peer, ours)))
    return [*measured_runs.table(rows), *goal_lines(trace, results)]


def goal_lines(trace, results):
    if trace not in GOALS:
        return []
    asked, hoped = GOALS[trace]
    faster = statistics.median(ours["examples_per_second"] / peer["examples_per_second"]
                               for peer, ours in results.values())
    times = [sooner(peer, ours) for peer, ours in results.values()]
    reached = [one for one in times if one is not None]
    lines = [f"{mark(faster >= asked)}  examples/s {faster:.2f} x ddp; goal {asked:.1f} x "
             f"({hoped:.1f} x)"]
    if len(reached) < len(times):
        lines.append(f"SHORT  Outpace did not reach the target in {len(times) - len(reached)} of "
                     f"{len(times)} runs")
    else:
        middle = statistics.median(reached)
        lines.append(f"{mark(middle >= asked)}  seconds to the target {middle:.2f} x sooner; goal "
                     f"{asked:.1f} x ({hoped:.1f} x)")
    return lines


def seconds_cell(seconds):
    return "-" if seconds is None else f"{seconds:.1f}"


# ---- What is run ----------------------------------------------------------------------------------


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--traces", nargs="+", default=[OVERHEAD, *TRACES], metavar="TRACE",
                        help="parts to run: overhead, and traces such as calm-8")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3], metavar="SEED")
    parser.add_argument("--seconds", type=float, default=80.0,
                        help="after which a run that has not reached the target ends (80)")
    parser.add_argument("--policies", nargs="+", default=[], metavar="TRACE=POLICY",
                        help="default: " + " ".join(f"{a}={b}" for a, b in POLICIES.items()))
    parser.add_argument("--lr", nargs="+", default=[], metavar="SYSTEM=RATE",
                        help="of ddp, and of each policy; default: "
                        + " ".join(f"{a}={b}" for a, b in RATES.items()))
    parser.add_argument("--network", choices=("mlp", "cnn"), default="mlp", help="of the traces")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--target", type=float, default=0.84)
    parser.add_argument("--evaluate-every", type=int, default=5120, metavar="EXAMPLES")
    parser.add_argument("--rounds", type=int, default=3, help="of overhead, Python and C++ in turn")
    parser.add_argument("--updates", type=int, default=1000, help="of a round")
    parser.add_argument("--outpace", default="build/release/outpace", metavar="PROGRAM")
    parser.add_argument("--torchrun", default="/usr/bin/torchrun", metavar="PROGRAM")
    parser.add_argument("--python", default="/usr/bin/python3", metavar="PROGRAM",
                        help="which has torch (default: Debian's)")
    parser.add_argument("--results", default="build/bench-python.json", metavar="FILE")
    parser.add_argument("--fresh", action="store_true", help="forget the results that are there")
    options = parser.parse_args(arguments)
    if min(options.batch, options.rounds) < 1 or options.updates < 100 or options.seconds <= 0:
        parser.error("--batch and --rounds are at least 1, --updates 100, --seconds above 0")
    return options


def delays_of(options, trace, folder):
    """The file of a trace such as calm-8. Sets the number of workers."""
    regime, _, workers = trace.rpartition("-")
    if regime not in make_delays.REGIMES or not workers.isdigit() or int(workers) < 2:
        raise RunFailed(f"trace {trace}: there are overhead, and {', '.join(make_delays.REGIMES)} "
                        "with a number of workers, as in calm-8")
    options.workers = int(workers)
    path = folder / f"{trace}.csv"
    make_delays.write(path, make_delays.delays(regime, options.workers, 2000,
                                               min(4, options.workers), 0.02, seed=1))
    return path


def measure_overhead(options, runs, folder):
    rounds = []
    for number in range(1, options.rounds + 1):
        key = f"overhead, {options.updates} updates, round {number}"
        rounds.append((runs.get(f"{key}, Python", lambda: python_overhead(options, folder)),
                       runs.get(f"{key}, C++", lambda: cpp_overhead(options))))
    return overhead_lines(rounds)


def measure_trace(options, runs, trace, folder):
    delays = delays_of(options, trace, folder)
    options.policy_of.setdefault(trace, "async")
    results = {}
    for seed in options.seeds:
        found = []
        for system, measured in ((PEER, ddp), (options.policy_of[trace], outpace)):
            key = (f"{trace}, {system}, lr {rate_of(options.rate_of, system):g}, seed {seed}, "
                   f"{options.network}, batch {options.batch}, to {options.target:g} by "
                   f"{options.evaluate_every} or {options.seconds:g} s")
            found.append(runs.get(key, lambda run=measured: run(options, trace, delays, seed,
                                                                folder)))
        results[seed] = tuple(found)
    return trace_lines(trace, options.policy_of[trace], results)


def measure(options, folder):
    options.policy_of = {**POLICIES, **pairs(options.policies, "policies")}
    options.rate_of = {**RATES, **pairs(options.lr, "lr", float)}
    package = pathlib.Path(options.outpace).resolve().parent / "python"
    set_environment(package)
    measured_runs.quiet_or_warn()
    identity = {"outpace": measured_runs.digest(options.outpace),
                "package": package_digest(package),
                "script": measured_runs.digest(SCRIPT), "cores": os.cpu_count()}
    runs = measured_runs.Runs(options.results, identity, options.fresh)
    tables = []
    for trace in options.traces:
        tables.append(measure_overhead(options, runs, folder) if trace == OVERHEAD
                      else measure_trace(options, runs, trace, folder))
    print(f"\n{measured_runs.machine()}")
    for lines in tables:
        print("\n" + "\n".join(lines))


def main(arguments):
    return measured_runs.main("bench-python", parse, measure, arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
