"""Measures the eight scripts of examples/python alone, and as a job of three workers.

Alone, a script trains with three times the mini-batch, so that an update has as many examples as one
of three workers under `sync`, and there are as many updates. `dynamic` ends after as many updates as
`sync`. Each script also runs under torchrun, as two workers of a server of its own.
`make measure-examples` runs this; docs/python-examples.md has what came out.
"""

import argparse
import os
import pathlib
import re
import statistics
import subprocess
import sys
import time
import typing

import bench_python
import measured_runs
from measured_runs import RunFailed

SCRIPTS = pathlib.Path(__file__).resolve().parent.parent / "examples" / "python"
WORKERS = 3
POLICIES = ("sync", "dynamic")
AGAIN = 0.05  # Seconds between two looks for what a server says.


class Example(typing.NamedTuple):
    metric: str  # What its evaluation calls it.
    words: tuple = ()
    batch: int = 32  # A worker's.
    batch_words: bool = False  # Whether --batch-size counts in a job, too.


IMAGES = ("--examples", "2880", "--tests", "500")
STEPS = ("--updates", "120", "--evaluate-every", "119")  # After the first update, and the last.
EXAMPLES = {
    "mnist": Example("accuracy", IMAGES),
    "mnist_rnn": Example("accuracy", IMAGES),
    "vae": Example("loss", IMAGES),
    "super_resolution": Example("psnr", ("--examples", "1440", "--tests", "200")),
    "dcgan": Example("frechet", ("--examples", "1440", "--tests", "500", "--epochs", "6")),
    "char_rnn": Example("loss", STEPS),
    "word_language_model": Example("perplexity", batch=20, batch_words=True),
    "gpt": Example("loss", STEPS),
}


def evaluations(said):
    """What each evaluation of a script alone found, by name, of what it said."""
    lines = re.findall(r"^outpace: (?:epoch \d+: )?(\w+ -?[\d.]+(?:, \w+ -?[\d.]+)*)$", said,
                       re.MULTILINE)
    return [{name: float(value) for name, value in re.findall(r"(\w+) (-?[\d.]+)", line)}
            for line in lines]


def words_of(example, seed, batch=None):
    """The script's arguments: alone with a mini-batch of `batch`."""
    size = batch or (example.batch if example.batch_words else None)
    return [*example.words, "--seed", str(seed), *(["--batch-size", str(size)] if size else [])]


def alone(options, name, seed):
    example = EXAMPLES[name]
    command = [options.python, str(SCRIPTS / f"{name}.py"),
               *words_of(example, seed, WORKERS * example.batch)]
    code, _, said = measured_runs.run(command, options.seconds)
    found = evaluations(said)
    if code != 0 or not found:
        raise measured_runs.failure(command, code, said)
    return {"metric": found[-1][example.metric]}


def job(options, name, policy, seed, updates):
    """`updates`: when it ends; None: as the script says."""
    example = EXAMPLES[name]
    found = measured_runs.outpace(options.outpace, [
        "--workers", str(WORKERS), "--policy", policy, "--batch", str(example.batch),
        "--seed", str(seed), "--patience", f"{options.seconds:g}s",
        *(["--updates", str(updates)] if updates else [])],
        options.seconds, command="run",
        script=[options.python, str(SCRIPTS / f"{name}.py"), *words_of(example, seed)])
    return {"metric": last_metric(example, found), "updates": found["updates"],
            "examples": found["examples"]}


def last_metric(example, summary):
    """Of the last weights. Raises RunFailed if they were not measured."""
    found = summary["evaluations"]
    if not found or found[-1]["version"] != summary["updates"]:
        raise RunFailed("the evaluator has not measured the last weights: the machine is too busy")
    return found[-1][example.metric]


def address_of(server, log, seconds):
    """Where a server listens, once it has said so."""
    ends = time.monotonic() + seconds
    while time.monotonic() < ends and server.poll() is None:
        found = re.search(r"listening on ([\d.]+:\d+)", log.read_text())
        if found:
            return found[1]
        time.sleep(AGAIN)
    raise RunFailed(f"the server does not listen:\n{log.read_text()}")


def torchrun(options, name, folder):
    """Two workers that torchrun starts, a server beside them, and an evaluator by hand."""
    example, log = EXAMPLES[name], folder / f"{name}.log"
    script = [str(SCRIPTS / f"{name}.py"), *words_of(example, 1)]
    token = folder / f"{name}.token"
    with open(log, "w", encoding="utf-8") as said:
        server = subprocess.Popen(
            [options.outpace, "server", "--policy", "sync", "--workers", "2", "--batch",
             str(example.batch), "--patience", f"{options.seconds:g}s", "--listen", "127.0.0.1:0",
             "--token-file", str(token), "--out", str(folder / name), "--json"], stdout=subprocess.PIPE, stderr=said, text=True)
    others = []
    try:
        variables = {**os.environ, "OUTPACE_BATCH": str(EXAMPLES[name].batch),  # For drop_last.
                     "OUTPACE_SERVER": address_of(server, log, options.seconds),
                     "OUTPACE_TOKEN_FILE": str(token)}
        for command, more in (
                # By its defaults, torchrun 1.13 fails with Python 3.11.
                (["-m", "torch.distributed.run", "--nproc_per_node", "2", "--redirects", "1",
                  "--tee", "1", *script], {}),
                (script, {"OUTPACE_ROLE": "evaluator"})):
            others.append(subprocess.Popen([options.python, *command], env={**variables, **more},
                                           stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                           text=True))
        ends = [one.communicate(timeout=options.seconds) for one in (*others, server)]
        codes = [one.returncode for one in (*others, server)]
        found = measured_runs.last_json_object(ends[-1][0])
        if any(codes) or found is None:
            raise RunFailed(f"exit codes {codes}:\n{log.read_text()}{ends[0][1]}{ends[1][1]}")
        return {"metric": last_metric(example, found), "updates": found["updates"],
                "accepted": [one["accepted"] for one in found["workers_detail"]]}
    except subprocess.TimeoutExpired as error:
        raise RunFailed(f"no end after {options.seconds:g} s: {' '.join(error.cmd)}") from error
    finally:
        for one in (*others, server):
            one.terminate()
            one.wait()


def verdict(of_alone, of_job):
    """Where a job's metrics lie beside those of the script alone; of one seed nothing is said."""
    if len(of_alone) < 2:
        return "-"
    low, high = min(of_alone), max(of_alone)
    if low <= statistics.mean(of_job) <= high:
        return "inside"
    return "overlaps" if min(of_job) <= high and max(of_job) >= low else "apart"


def cell(values):
    if len(values) == 1:
        return f"{values[0]:.4g}"
    return f"{statistics.mean(values):.4g} ({min(values):.4g} to {max(values):.4g})"


def row(name, found):
    """A line of the table; `found` has the results of each seed by system."""
    metrics = {system: [one["metric"] for one in results] for system, results in found.items()}
    updates = {one["updates"] for system in POLICIES for one in found[system]}
    return (f"{name}: {EXAMPLES[name].metric}", ", ".join(map(str, sorted(updates))),
            cell(metrics["alone"]),
            *[word for policy in POLICIES
              for word in (cell(metrics[policy]), verdict(metrics["alone"], metrics[policy]))])


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scripts", nargs="+", default=list(EXAMPLES), choices=EXAMPLES,
                        metavar="NAME")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3], metavar="SEED")
    parser.add_argument("--seconds", type=float, default=300.0, help="the most that a run may take")
    parser.add_argument("--outpace", default="build/release/outpace", metavar="PROGRAM")
    parser.add_argument("--package", type=pathlib.Path, metavar="FOLDER",
                        help="that has the Python package (default: python beside the program)")
    parser.add_argument("--python", default="/usr/bin/python3", metavar="PROGRAM",
                        help="which has torch (default: Debian's)")
    parser.add_argument("--results", default="build/python-examples.json", metavar="FILE")
    parser.add_argument("--fresh", action="store_true", help="forget the results that are there")
    return parser.parse_args(arguments)


def measure_script(options, runs, name):
    found = {"alone": [], **{policy: [] for policy in POLICIES}}
    for seed in options.seeds:
        found["alone"].append(runs.get(f"{name}, alone, seed {seed}",
                                       lambda: alone(options, name, seed)))
        updates = None
        for policy in POLICIES:
            found[policy].append(runs.get(
                f"{name}, {policy}, seed {seed}",
                lambda: job(options, name, policy, seed, updates)))
            updates = found["sync"][-1]["updates"]
    return row(name, found)


def measure(options, folder):
    package = options.package or pathlib.Path(options.outpace).resolve().parent / "python"
    bench_python.set_environment(package)
    measured_runs.quiet_or_warn()
    identity = {"outpace": measured_runs.digest(options.outpace),
                "package": bench_python.package_digest(package),
                "scripts": {path.name: measured_runs.digest(path)
                            for path in sorted(SCRIPTS.glob("*.py"))}, "cores": os.cpu_count()}
    runs = measured_runs.Runs(options.results, identity, options.fresh)
    systems = ("alone", *POLICIES)
    runs.expected = len(runs.missing(
        [f"{name}, {system}, seed {seed}" for name in options.scripts for system in systems
         for seed in options.seeds] + [f"{name}, torchrun" for name in options.scripts]))
    rows, launched = [], []
    for name in options.scripts:
        rows.append(measure_script(options, runs, name))
        one = runs.get(f"{name}, torchrun", lambda: torchrun(options, name, folder))
        launched.append((name, str(one["updates"]), f"{one['metric']:.4g}",
                         " + ".join(map(str, one["accepted"]))))
    print(f"\n{measured_runs.machine()}; mean (least to greatest) of seeds "
          f"{', '.join(map(str, options.seeds))}\n")
    print("\n".join(measured_runs.table([
        ("script: metric", "updates", "alone", *[word for policy in POLICIES
                                                 for word in (policy, "beside alone")]), *rows])))
    print("\n" + "\n".join(measured_runs.table([
        ("under torchrun", "updates", "metric", "gradients of each worker"), *launched])))


def main(arguments):
    return measured_runs.main("python-examples", parse, measure, arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
