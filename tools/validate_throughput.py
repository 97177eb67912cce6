"""Compares `outpace predict` with runs of the real program.

For each network, `outpace profile` measures one worker and one server. Then 1 to 16 workers push
gradients of the real size over TCP to a real server, or to each other in a ring or a gossip. They
wait instead of computing (--paced, by the held-out half of the profile). Each process has a host of
its own: a network namespace whose link has a limited rate. The networks `first`, `last` and `even`
are made up: eight layers of the same time, with the weights in the first, the last, or all of them,
and the costs of messages as measured.

Each row has the measurement, the fine prediction, and the coarse prediction with and without
heuristics. It also has how busy the processors were and how much of their time the machine's host
took (steal time). Above 70 % and 3 % the measurement says more about the machine. A row with more
steal time than that is measured again, at most twice, and the run with the least counts. Networks of
--computing are trained by 1 and 2 workers that do compute. All rows are printed and written to a
file; medians and worst errors come last. Needs root, for the hosts.
"""

import argparse
import itertools
import json
import math
import os
import pathlib
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import measured_runs
import network_hosts

PORT = 5000
ROUNDS = 6  # For each worker in a run, at least.
FREE_ROUNDS = 20  # Exactly this many, where phases decide: as many as the model simulates.
GOSSIP_ROUNDS = 60  # At least.
GOSSIP_SECONDS = 10.0  # At least: the record has a line a second, and its first fifth does not count.
# The share of a frame on the link: 1448 of 1514 bytes are numbers.
PAYLOAD_OF_LINK = 1448 / 1514
BOUND_ROUNDS = 300  # At most, where it takes long until a bound binds.
SLOWED = 4  # Workers of the rows in which some are slow.
BUSY = 0.7  # The share of the processors that may be busy.
STOLEN = 0.03  # The share of their time that the host of a virtual machine may take.
PHASES = 32  # Workers of all runs of a row together, at least, where runs differ by phases.
TRIES = 3  # For a row, while more is stolen.
POLICIES = ("sync", "async", "ssp:s=3", "backup:cutoff=3")
TOPOLOGIES = ("ring", "gossip:coupled", "gossip:free", "gossip:pull", "gossip:push", "gossip:easgd")
FREE = ("async", "ssp")
# Options of `outpace profile`; 0.4 MB and 10 MB of weights.
NETWORKS = {"mlp": ["--network", "mlp"],
            "charlm": ["--network", "charlm:layers=3,width=256", "--batch", "1"]}
# Made up: numbers of each layer; 1 MB of weights, 60 ms an iteration.
LAYERS, NUMBERS, COMPUTE = 8, 250_000, 0.06
MADE_UP = {"first": [NUMBERS - LAYERS + 1, *[1] * (LAYERS - 1)],
           "last": [*[1] * (LAYERS - 1), NUMBERS - LAYERS + 1],
           "even": [NUMBERS // LAYERS] * LAYERS}
# Mbit/s: with faster links sixteen workers on two processors wait for these, and not for the link.
RATES = {"mlp": [50, 100], "charlm": [800], **{name: [200] for name in MADE_UP}}
COMPUTING = ("cnn", "resnet8")
TEXT = "the quick brown fox jumps over the lazy dog, and runs on. "  # What charlm is profiled on.


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", 1)[0],
                                     epilog=__doc__.split("\n\n", 1)[1],
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", nargs="+", type=int, default=[1, 2, 4, 8, 16])
    parser.add_argument("--policies", nargs="*", default=POLICIES, metavar="POLICY")
    parser.add_argument("--topologies", nargs="*", default=TOPOLOGIES,
                        help="without a server: ring, gossip:AVERAGING, or with its graph "
                        "gossip:coupled:ring")
    parser.add_argument("--networks", nargs="*", choices=sorted(RATES), default=list(RATES))
    parser.add_argument("--computing", nargs="*", default=COMPUTING, metavar="NETWORK")
    parser.add_argument("--rates", nargs="+", type=int, metavar="MBIT",
                        help="of each link, Mbit/s (default: " + "; ".join(
                            f"{model} {' '.join(map(str, rates))}"
                            for model, rates in RATES.items()) + ")")
    parser.add_argument("--queue", choices=("fair", "one"), default="fair",
                        help="what hosts send over one link waits in a queue each, or in one")
    parser.add_argument("--slow", action="append", default=[], metavar="SPEC",
                        help="as in train, for one more row of each four workers "
                        "(default: worker=3,factor=40; '' for none)")
    parser.add_argument("--local-steps", nargs="*", type=int, default=[], metavar="H",
                        help="measure the policies with these local steps, in place of a push for "
                        "each mini-batch")
    parser.add_argument("--seconds", type=float, default=10.0,
                        help="about how long each run is, at the predicted rate")
    parser.add_argument("--repeats", type=int, default=4,
                        help="least number of runs of a row whose workers have no rounds")
    parser.add_argument("--show", nargs="+", type=pathlib.Path, default=[], metavar="FILE",
                        help="measure nothing; print these results as one table in Markdown. If "
                        "several files have a row, the last counts")
    parser.add_argument("--outpace", default="build/release/outpace", metavar="PROGRAM")
    parser.add_argument("--out", type=pathlib.Path,
                        default=pathlib.Path("build/validate-throughput.json"))
    options = parser.parse_args(arguments)
    options.slow = [text for text in options.slow or ["worker=3,factor=40"] if text]
    return options


def run(words, timeout=600):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True,
                          timeout=timeout, check=False)
    if done.returncode != 0:
        raise measured_runs.RunFailed(f"{' '.join(map(str, words))}: {done.stderr.strip()[-300:]}")
    return done.stdout


def profile(options, folder, name, words):
    path = folder / f"{name}.json"
    if words[1].startswith("charlm"):
        text = folder / "text.txt"
        text.write_text(TEXT * 2000)
        words = [*words, "--data", f"text:{text}"]
    print(run([options.outpace, "profile", *words, "-o", path]), end="", flush=True)
    return path


def make_up(folder, name, like):
    """A profile of a made-up network, with the costs of the profile `like`."""
    measured = json.loads(like.read_text())
    measured.update({
        "network": name, "tensors": [{"numbers": numbers} for numbers in MADE_UP[name]],
        "layers": [{"forward_seconds": COMPUTE / 3 / LAYERS, "backward_seconds": COMPUTE / 1.5 / LAYERS}
                   for _ in range(LAYERS)],
        "iterations": [{"compute_seconds": COMPUTE, "rest_seconds": 0}] * 4})
    path = folder / f"{name}.json"
    path.write_text(json.dumps(measured))
    return path


def gossip_words(topology):
    """The options that `gossip:AVERAGING:GRAPH` means, for predict as for train."""
    kind, *rest = topology.split(":")
    return [word for option, value in zip(("--gossip", "--graph"), rest)
            for word in (option, value)] if kind == "gossip" else []


def steps_words(row):
    """The option for a row's local steps, for predict as for the server."""
    return ["--local-steps", str(row["steps"])] if row.get("steps") else []


def predict(options, path, row, plain=False):
    words = [options.outpace, "predict", path, "--workers", row["workers"], "--json",
             "--topology", row["topology"].partition(":")[0]]
    if row["topology"] == "ps":
        words += ["--policy", row["policy"], *steps_words(row)]
    words += gossip_words(row["topology"])
    if row["link"]:
        words += ["--bandwidth", f"{row['link']}Mbps"]
    else:
        words += ["--cores", os.cpu_count()]
    for slow in row["slow"]:
        words += ["--slow", slow]
    if plain:
        words += ["--models", "coarse", "--plain"]
    found = json.loads(run(words))["predictions"]
    return {one["model"]: one["examples_per_second"] for one in found}


def processor_ticks():
    """(busy, stolen by the machine's host, all) ticks of all processors since the start."""
    for line in pathlib.Path("/proc/stat").read_text().splitlines():
        if line.startswith("cpu "):
            numbers = [int(word) for word in line.split()[1:9]]
            return sum(numbers) - numbers[3] - numbers[4], numbers[7], sum(numbers)
    return 0, 0, 0


class Load:
    """The load of the processors since this object was made."""

    def __init__(self):
        self.before = processor_ticks()

    def now(self):
        """(share of time they were busy, share stolen by the machine's host), each from 0 to 1."""
        busy, stolen, ticks = (b - a for a, b in zip(self.before, processor_ticks()))
        return busy / max(1, ticks), stolen / max(1, ticks)


class Stand:
    """The hosts of a row; the next rows reuse them if they need the same."""

    def __init__(self):
        self.key = None
        self.hosts = None

    def of(self, row):
        key = (row["workers"], row["link"], row["queue"])
        if key != self.key:
            self.clear()
            self.hosts = network_hosts.Hosts(row["workers"] + 1, f"{row['link']}mbit",
                                             row["queue"] == "fair")
            self.hosts.__enter__()
            self.key = key
        return self.hosts

    def clear(self):
        if self.hosts:
            self.hosts.__exit__(None, None, None)
        self.key = self.hosts = None


def rounds_until_bound(row, batch, computing):
    """Iterations per worker that a row with `ssp` and a slowed worker needs; 0 for all other rows.

    It is five times the iterations until the others are as far ahead of the slowed worker as `ssp`
    allows, because the first fifth of a run does not count.
    """
    name, _, bound = row["policy"].partition(":s=")
    if name != "ssp" or not row["slow"]:
        return 0
    factor = float(row["slow"][0].partition("factor=")[2])
    behind = (factor - 1) * computing
    cycle = row["workers"] * batch / row["fine"]
    return min(BOUND_ROUNDS, math.ceil(5 * int(bound) * cycle / behind))


def iterations_of(options, row, batch):
    """Iterations of all workers: enough for the wanted duration, and at least ROUNDS per worker."""
    expected, batch = row["fine"] or row["coarse"], batch * max(1, row["steps"])
    if row["runs"] > 1 and row["policy"].partition(":")[0] in FREE:
        return FREE_ROUNDS * row["workers"]
    gossip = row["topology"].startswith("gossip")
    rounds = max(GOSSIP_ROUNDS if gossip else ROUNDS,
                 rounds_until_bound(row, batch, row["computing"]))
    seconds = max(options.seconds, GOSSIP_SECONDS) if gossip else options.seconds / row["runs"]
    return max(rounds * row["workers"], int(seconds * expected / batch))


def steady_rate(decisions):
    """Accepted examples per second, counted as the fine model does.

    The first fifth of the updates does not count, and the measured span begins and ends with an
    update by the same worker.
    """
    held, examples, commits = {}, 0, []
    for line in decisions:
        entry = json.loads(line)
        event = entry.get("event", {})
        if event.get("type") == "gradient_arrived":
            held[event["worker"]] = event["examples"]
        for action in entry.get("actions", []):
            if action["type"] == "accept":
                examples += held[action["worker"]]
            elif action["type"] == "commit":
                commits.append((entry["now"] / 1e9, examples, event.get("worker")))
    first = commits[len(commits) // 5]
    same = [commit for commit in commits if commit[2] == first[2]]
    far = 2 * (same[-1][0] - first[0]) > commits[-1][0] - first[0]
    last = same[-1] if far else commits[-1]
    return (last[1] - first[1]) / (last[0] - first[0])


def rate_of_moments(lines):
    """Applied examples per second of a run without a server, by its metrics.jsonl.

    The first fifth does not count: connections are slower at first.
    """
    moments = [entry for entry in map(json.loads, lines) if "live" in entry]
    last = moments[-1]
    first = next(one for one in moments if one["seconds"] >= last["seconds"] / 5)
    if first is last:
        raise measured_runs.RunFailed("a gossip ended within two seconds; give more --seconds")
    return (last["examples"] - first["examples"]) / (last["seconds"] - first["seconds"])


def beginnings(row, draw):
    """The starting times of the workers, for each run.

    They are within an iteration that begins when all have their first weights: a worker whose
    weights still come would begin with the others. The first worker starts at 0 of it. Each other worker starts once in each of as many equal parts of the
    iteration as there are runs, because relative phase is what matters. None for workers that a round
    synchronises.
    """
    if row["policy"].partition(":")[0] not in FREE or row["slow"]:
        return [None] * row["runs"]
    runs, part = row["runs"], row["workers"] * row["batch"] / row["fine"] / row["runs"]
    first = row["weights"]
    columns = [[first] * runs] + [[first + part * (i + draw.random())
                                   for i in draw.sample(range(runs), runs)]
                                  for _ in range(row["workers"] - 1)]
    return list(zip(*columns))


def write_starts(path, begins):
    """Writes a trace that delays only the start of each worker.

    Where little but the link takes time, workers that start together would stay together for minutes.
    """
    lines = [",".join(f"{seconds:.6f}" for seconds in begins)]
    lines += [",".join("0" for _ in begins)] * 50000
    path.write_text("\n".join(lines) + "\n")
    return path


def serve_once(options, hosts, folder, path, row, begins):
    """One run of a server and waiting workers, each on a host of its own."""
    token, out = folder / "token", folder / f"run-{time.monotonic_ns()}"
    token.unlink(missing_ok=True)
    starts = write_starts(folder / "starts.csv", begins) if begins else None
    batch = row["batch"]
    address = f"{hosts.address(0)}:{PORT}"
    children = []
    try:
        server = subprocess.Popen(
            hosts.command(0, [options.outpace, "server", "--listen", address,
                              "--insecure-no-tls", "--workers", str(row["workers"]),
                              "--policy", row["policy"], "--batch", str(batch),
                              "--token-file", str(token), *steps_words(row), "--iterations",
                              str(iterations_of(options, row, batch)), "--out", str(out)]),
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        children.append(server)
        for worker in range(row["workers"]):
            words = [options.outpace, "worker", "--server", address, "--insecure-no-tls",
                     "--token-file", str(token),
                     "--worker", str(worker), "--workers", str(row["workers"]), "--paced",
                     str(path)]
            for slow in row["slow"]:
                words += ["--slow", slow]
            if starts:
                words += ["--delays", starts, "--delays-by", "iteration"]
            while not token.exists() and server.poll() is None:
                time.sleep(0.01)
            children.append(subprocess.Popen(hosts.command(worker + 1, words),
                                             stdout=subprocess.DEVNULL,
                                             stderr=subprocess.DEVNULL))
        _, errors = server.communicate(timeout=20 * options.seconds + 600)
        if server.returncode != 0:
            raise measured_runs.RunFailed(f"the server failed: {errors.strip()[-300:]}")
    finally:
        for child in children:
            if child.poll() is None:
                child.terminate()
            child.wait()
    with open(out / "decisions.jsonl", encoding="utf-8") as decisions:
        return steady_rate(decisions)


def join_once(options, hosts, folder, path, row, _):
    """One run without a server, its workers on hosts of their own."""
    batch, out = row["batch"], folder / f"run-{time.monotonic_ns()}"
    words = [options.outpace, "train", "--topology", row["topology"].partition(":")[0], "--paced", path, "--workers",
             row["workers"], "--batch", batch, "--iterations", iterations_of(options, row, batch),
             "--peer-interface", "eth0", "--insecure-no-tls", "--worker-prefix",
             " ".join(hosts.command("{worker}", [])), "--json", "--out", out]
    words += gossip_words(row["topology"])
    for slow in row["slow"]:
        words += ["--slow", slow]
    rate = json.loads(run(words, 20 * options.seconds + 600))["examples_per_second"]
    if row["topology"] == "ring":
        return rate
    with open(out / "metrics.jsonl", encoding="utf-8") as moments:
        return rate_of_moments(moments)


def measure_paced(options, stand, folder, path, row):
    """(examples per second, load), averaged over the row's runs."""
    hosts, once = stand.of(row), serve_once if row["topology"] == "ps" else join_once
    load = Load()
    rates = [once(options, hosts, folder, path, row, begins)
             for begins in beginnings(row, random.Random(time.monotonic_ns()))]
    return statistics.mean(rates), *load.now()


def least_stolen(measure):
    """The result of measure(), (rate, load, stolen), with the least steal time."""
    found = []
    while not found or (found[-1][2] > STOLEN and len(found) < TRIES):
        found.append(measure())
    return min(found, key=lambda one: one[2])


def measure_computing(options, row):
    load = Load()
    found = json.loads(run([options.outpace, "train", "--network", row["model"], "--workers",
                            row["workers"], "--policy", row["policy"], "--listen", "127.0.0.1:0",
                            "--seconds", f"{options.seconds}s", "--evaluate-every", 10**9,
                            "--json"]).splitlines()[-1])
    return found["examples_per_second"], *load.now()


def possible(policy, workers):
    cutoff = policy.partition("cutoff=")[2]
    return not cutoff or int(cutoff) <= workers


def runs_of(policy, workers, slow, least=2):
    """The number of runs to average over, at least `least` if runs differ.

    Runs without rounds differ by the phases of their workers, less so with more workers. Runs that
    cancel gradients differ by which are on the way at that time. A bound needs one long run to bind.
    """
    name = policy.partition(":")[0]
    several = name in (*FREE, "backup") and workers > 1 and not (slow and name == "ssp")
    return max(least, PHASES // workers) if several else 1


def rows_of(options):
    wanted = [(model, rate) for model in options.networks
              for rate in options.rates or RATES[model]]
    for (model, link), workers in itertools.product(wanted, options.workers):
        row = {"model": model, "link": link, "queue": options.queue, "workers": workers,
               "paced": True}
        for slow in ([], options.slow) if options.slow and workers == SLOWED else ([],):
            for policy in options.policies:
                if possible(policy, workers):
                    for steps in options.local_steps or (0,):
                        yield {**row, "policy": policy, "topology": "ps", "slow": slow,
                               "steps": steps,
                               "runs": runs_of(policy, workers, slow, options.repeats)}
            for topology in options.topologies if workers > 1 else ():
                yield {**row, "policy": topology, "topology": topology, "slow": slow, "steps": 0,
                       "runs": 1}
    for model in options.computing:
        for workers in (1, 2):
            for policy in ("sync", "async"):
                yield {"workers": workers, "policy": policy, "topology": "ps", "link": None,
                       "model": model, "paced": False, "slow": [], "steps": 0, "runs": 1}


def off(row, what):
    """The error in percent; empty without such a prediction."""
    return 100 * (row[what] / row["measured"] - 1) if row[what] else None


def is_quiet(row):
    """Whether the machine was idle enough for the measurement to count."""
    return row["load"] <= BUSY and row["stolen"] <= STOLEN


def policy_words(row):
    steps = f", {row['steps']} local steps" if row.get("steps") else ""
    return row["policy"] + steps + (", one slow" if row["slow"] else "")


def show(row):
    link = f"{row['link']} Mbit/s" if row["link"] else "this machine"
    policy = policy_words(row)
    cells = [f"{row['model']:8} {link:>12} {row['workers']:3} {policy:25} "
             f"{row['measured']:9.1f}"]
    for what in ("fine", "coarse"):
        cells.append(f"{row[what]:9.1f} {off(row, what):+6.1f} %" if row[what] else f"{'-':>18}")
    if row["plain"]:
        cells.append(f"plain {off(row, 'plain'):+6.1f} %")
    cells.append(f"{100 * row['load']:4.0f} % {100 * row['stolen']:4.0f} %"
                 f"{'' if is_quiet(row) else ' busy'}")
    print(" ".join(cells), flush=True)


def summary(rows):
    """{model of prediction: (median error, 95th percentile, worst error)}, in percent.

    The percentile is the smallest error that 95 % of the rows do not exceed.
    """
    found = {}
    for what in ("fine", "coarse", "plain"):
        errors = sorted(abs(off(row, what)) for row in rows if row[what])
        if errors:
            found[what] = (statistics.median(errors), errors[math.ceil(0.95 * len(errors)) - 1],
                           errors[-1])
    return found


def same_row(row):
    return (row["model"], row["link"], row["workers"], row["policy"], row.get("steps", 0),
            tuple(row["slow"]))


GROUPS = {"all": lambda row: True,
          "processors at most 70 % busy, at most 3 % stolen": lambda row: is_quiet(row),
          "`sync`": lambda row: is_quiet(row) and row["policy"] == "sync",
          "`async`, `ssp:s=3`": lambda row: is_quiet(row) and row["policy"].startswith(FREE),
          "`backup`": lambda row: is_quiet(row) and row["policy"].startswith("backup"),
          "ring": lambda row: is_quiet(row) and row["policy"] == "ring",
          **{f"gossip, {kind}": lambda row, kind=kind: is_quiet(row)
             and row["policy"].split(":")[:2] == ["gossip", kind]
             for kind in ("coupled", "free", "pull", "push", "easgd")},
          "a slow worker": lambda row: is_quiet(row) and bool(row["slow"]),
          "16 workers": lambda row: is_quiet(row) and row["workers"] == 16,
          "the other rows": lambda row: not is_quiet(row)}


def markdown(rows):
    """The tables of docs/throughput.md and its .csv: errors by group, and each row."""
    lines = ["| rows | | fine | coarse | coarse without heuristics |", "|---|---:|---|---|---|"]
    for name, belongs in GROUPS.items():
        some = [row for row in rows if belongs(row)]
        found = summary(some)
        if some:
            cells = [", ".join(f"{error:.1f} %" for error in found[what]) if what in found else "-"
                     for what in ("fine", "coarse", "plain")]
            lines.append(f"| {name} | {len(some)} | {' | '.join(cells)} |")
    lines += ["", "| network | Mbit/s | workers | policy | examples/s | fine | coarse | busy, stolen |",
              "|---|---:|---:|---|---:|---:|---:|---|"]
    for row in rows:
        errors = [f"{off(row, what):+.1f} %" if row[what] else "-" for what in ("fine", "coarse")]
        lines.append(f"| {row['model']} | {row['link'] or '-'} | {row['workers']} | {policy_words(row)}"
                     f" | {row['measured']:,.1f} | "
                     f"{' | '.join(errors)} | {100 * row['load']:.0f} %, "
                     f"{100 * row['stolen']:.0f} %{'' if is_quiet(row) else ', does not count'} |")
    return "\n".join(lines)


def measure_all(options, folder, profiles, stand, rows):
    for row in rows_of(options):
        if not row["paced"]:
            # Just before: how fast a shared machine computes changes from minute to minute.
            profiles[row["model"]] = profile(options, folder, row["model"],
                                             ["--network", row["model"]])
        path = profiles[row["model"]]
        measured = json.loads(path.read_text())
        row["batch"] = measured["batch"]
        row["computing"] = statistics.mean(one["compute_seconds"]
                                           for one in measured["iterations"])
        if row["paced"]:
            numbers = sum(one["numbers"] for one in measured["tensors"])
            link = PAYLOAD_OF_LINK * row["link"] * 1e6 / 8
            row["weights"] = row["workers"] * 4 * numbers / link  # Seconds until all have them.
        row.update({"fine": None, "coarse": None, **predict(options, path, row)})
        row["plain"] = row["coarse"] and predict(options, path, row, plain=True)["coarse"]
        row["measured"], row["load"], row["stolen"] = least_stolen(
            (lambda: measure_paced(options, stand, folder, path, row))
            if row["paced"] else (lambda: measure_computing(options, row)))
        show(row)
        rows.append(row)
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(json.dumps(rows, indent=1) + "\n")


def main(arguments):
    options = parse(arguments)
    if options.show:
        print(markdown(list({same_row(row): row for path in options.show
                             for row in json.loads(path.read_text())}.values())))
        return 0
    measured_runs.quiet_or_warn()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # Take the hosts down.
    rows, stand = [], Stand()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        profiles = {model: profile(options, folder, model, NETWORKS[model])
                    for model in options.networks if model in NETWORKS}
        made_up = [model for model in options.networks if model in MADE_UP]
        if made_up:
            costs = profiles.get("mlp") or profile(options, folder, "mlp", NETWORKS["mlp"])
            profiles.update({model: make_up(folder, model, costs) for model in made_up})
        print("network      link       W policy                     measured      fine             coarse"
              "                           load stolen", flush=True)
        try:
            measure_all(options, folder, profiles, stand, rows)
        finally:
            stand.clear()
    for name, some in (("all", rows), ("not busy", [row for row in rows if is_quiet(row)])):
        for what, (median, percentile, worst) in summary(some).items():
            print(f"{name:8} {what:6} median error {median:5.1f} %, 95th percentile "
                  f"{percentile:5.1f} %, worst {worst:5.1f} %, {len(some)} rows")
    print(f"written to {options.out}")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except (measured_runs.RunFailed, OSError) as error:
        print(f"validate_throughput.py: {error}", file=sys.stderr)
        sys.exit(1)
