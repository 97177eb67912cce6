"""Compares policies in virtual time, with a learning rate tuned for each of them on each trace.

A file of `outpace compare` says what to compare. For each trace of delays and each row:

  1. Coarse: each rate of --rates with the seeds of --coarse-seeds. While the best rate is the lowest
     or the highest that was tried, half or twice that rate is tried, too.
     With --only-these-rates, these are all: the best of them is the row's.
  2. Fine: the best three of these rates and their neighbours by sqrt(2), with all of --tuning-seeds.
     The rate that reaches the target with the most seeds and then soonest, on average, is the row's;
     the smaller one of equals. If none reaches it, that is the rate with the highest accuracy.
  3. Comparison: every row runs at its rate, with the seeds of the file.

The target is smoothed: the mean of --smooth evaluations in a row reaches it, at a time interpolated
between two evaluations. A tuning run ends there, or when it takes --give-up times as long as the best
rate of its row so far, or after the file's budget. The file's own rates do not count.

The interval of a row's seconds has the noise of tuning in it: the tuning seeds are drawn anew with
replacement, the rate is chosen by the draw, and its seconds are the mean over a draw of the file's
seeds, or of the tuning seeds that did not choose it, where that rate was not compared.

Every run is kept under --out, so that the same command goes on where it was stopped. The output is
Markdown: a table for each trace, and with --difference ROW the paired differences in seconds to the
target, ROW minus every other row at the same seed. `make saps-sooner` and `make every-policy` run
this; docs/compare.md says more.
"""

import argparse
import concurrent.futures
import csv
import json
import math
import pathlib
import random
import statistics
import subprocess
import sys
import threading
import tomllib

import measured_runs

FARTHEST = 3  # Rates tried beyond those of --rates, at most, on either side.
BEST = 3  # Rates of the coarse search that the fine one takes up.
DRAWS = 2000  # For the bootstrap.
PATIENCE = 3600.0  # Seconds of this machine until a run counts as hung.
DIVERGED = "diverged"
# Student's t, 97.5 %, by degrees of freedom: half a 95 % interval is t s / sqrt(n).
T = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262,
     10: 2.228, 11: 2.201, 12: 2.179, 13: 2.160, 14: 2.145, 15: 2.131, 16: 2.120, 17: 2.110,
     18: 2.101, 19: 2.093}


def interval(values):
    """(mean, half the width of its 95 % confidence interval); None for one value's half."""
    if len(values) < 2:
        return statistics.fmean(values), None
    return statistics.fmean(values), T[len(values) - 1] * statistics.stdev(values) / math.sqrt(
        len(values))


def rows_of(comparison):
    """{name: row} of a file of `outpace compare`, in its order."""
    rows = {policy: {"policy": policy} for policy in comparison["compare"].get("policies", [])}
    for row in comparison.get("policy", []):
        rows[row.get("name", row["policy"])] = row
    return rows


def toml(value):
    """A value as TOML: strings, numbers, booleans and lists of them are as in JSON."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)} = {toml(item)}"
                               for key, item in value.items()) + "}"
    return json.dumps(value)


def table_text(head, table):
    return f"{head}\n" + "".join(f"{key} = {toml(value)}\n" for key, value in table.items()) + "\n"


def comparison_text(common, rows, groups=()):
    """A file of `outpace compare` with these rows."""
    return "".join([table_text("[compare]", common),
                    *(table_text("[[policy]]", row) for row in rows),
                    *(table_text("[[group]]", group) for group in groups)])


def number(text):
    return float(text) if text else None


def reached_at(evaluations, target, smooth):
    """Seconds at which the mean of `smooth` evaluations in a row reaches the target; None if never."""
    before = None
    for i in range(smooth - 1, len(evaluations)):
        mean = statistics.fmean(one["accuracy"] for one in evaluations[i - smooth + 1:i + 1])
        seconds = evaluations[i]["seconds"]
        if mean >= target:
            if before is None or mean == before[1]:
                return seconds
            share = max(0.0, (target - before[1]) / (mean - before[1]))
            return before[0] + share * (seconds - before[0])
        before = (seconds, mean)
    return None


def order(runs, rate):
    """The smaller, the better: of [(seconds or None, accuracy)]."""
    reached = [seconds for seconds, _ in runs if seconds is not None]
    accuracy = statistics.fmean(accuracy for _, accuracy in runs)
    return (len(runs) - len(reached), statistics.fmean(reached) if reached else -accuracy, rate)


def best(found):
    """The rate that reached the target soonest, of {rate: {seed: (seconds, accuracy)}}."""
    return min(found, key=lambda rate: order(list(found[rate].values()), rate))


def neighbours(found, count=BEST):
    """The best rates and those between them and the next ones, by sqrt(2)."""
    ranked = sorted(found, key=lambda rate: order(list(found[rate].values()), rate))[:count]
    return sorted({round(rate * 2**(step / 2), 6) for rate in ranked for step in (-1, 0, 1)})


def bootstrap(found, chosen, compared, draws=DRAWS):
    """(low, high) of the mean seconds, 95 %, with the choice of the rate in it; None if a seed did not
    reach the target. `found`: {rate: {seed: (seconds, accuracy)}}, the same seeds for each rate.
    `compared`: seconds of the chosen rate, by other seeds."""
    seeds = sorted({seed for runs in found.values() for seed in runs})
    full = {rate: runs for rate, runs in found.items() if len(runs) == len(seeds)}
    if not full or any(seconds is None for seconds in compared):
        return None
    rng = random.Random(1)
    means = []
    for _ in range(draws):
        drawn = rng.choices(seeds, k=len(seeds))
        rate = min(full, key=lambda one: order([full[one][seed] for seed in drawn], one))
        held_out = [full[rate][seed][0] for seed in seeds if seed not in drawn]
        values = (compared if rate == chosen or not held_out or None in held_out else held_out)
        means.append(statistics.fmean(rng.choices(values, k=len(values))))
    means.sort()
    return means[int(0.025 * draws)], means[int(0.975 * draws)]


def beyond(found, rates):
    """The rate to try next, because the best one found is the first or the last; None if it is not."""
    lowest, highest = min(found), max(found)
    if best(found) == lowest and lowest * 2**FARTHEST > min(rates):
        return lowest / 2
    if best(found) == highest and highest < max(rates) * 2**FARTHEST:
        return highest * 2
    return None


class Study:
    """The comparison of one file."""

    def __init__(self, options, path):
        self.options = options
        self.path = path
        try:
            with open(path, "rb") as file:
                self.comparison = tomllib.load(file)
        except OSError as error:
            raise measured_runs.RunFailed(f"{path}: {error.strerror}") from error
        except tomllib.TOMLDecodeError as error:
            raise measured_runs.RunFailed(f"{path}: {error}") from error
        compare = self.comparison.get("compare", {})
        for key in ("seeds", "delays", "target-accuracy"):
            if key not in compare:
                raise measured_runs.RunFailed(f"{path}: [compare] has no {key}")
        if len(compare["seeds"]) > len(T) + 1:
            raise measured_runs.RunFailed(f"{path}: {len(compare['seeds'])} seeds; at most "
                                          f"{len(T) + 1} have an interval here")
        if not isinstance(compare["delays"], dict):
            raise measured_runs.RunFailed(f"{path}: delays needs names: delays = {{NAME = \"PATH\"}}")
        self.rows = rows_of(self.comparison)
        self.common = {key: value for key, value in compare.items()
                       if key not in ("policies", "seeds", "delays", "lr")}
        self.folder = pathlib.Path(options.out) / path.stem
        self.target = compare["target-accuracy"]
        self.runs = measured_runs.Runs(self.folder / "tuning.json",
                                       {"program": measured_runs.digest(options.outpace),
                                        "file": measured_runs.digest(path)})
        self.lock = threading.Lock()  # Guards what is kept in self.runs.
        self.seeds = compare["seeds"]
        self.delays = compare["delays"]
        if options.traces:
            for trace in options.traces:
                self.require("trace", trace, self.delays)
            self.delays = {trace: self.delays[trace] for trace in options.traces}
        for row in [*options.difference, *options.rows]:
            self.require("row", row, self.rows)
        if options.rows:
            self.rows = {name: self.rows[name] for name in self.rows if name in options.rows}

    def require(self, what, name, there):
        if name not in there:
            raise measured_runs.RunFailed(f"{self.path} has no {what} {name!r}; its {what}s are "
                                          f"{', '.join(there)}")

    def compare(self, name, text):
        """{(row, seed): run} of a comparison, made or gone on with, in the directory `name`."""
        folder = self.folder / name
        folder.mkdir(parents=True, exist_ok=True)
        config = self.folder / f"{name}.toml"
        config.write_text(text)
        command = [self.options.outpace, "compare", str(config), "--out", str(folder),
                   "--jobs", str(self.options.jobs)]
        try:
            done = subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
        except OSError as error:
            raise measured_runs.RunFailed(f"{command[0]}: {error.strerror}") from error
        if done.returncode not in (0, 1):  # 1: a cell failed; compare.csv says which, and why.
            raise measured_runs.RunFailed(f"exit code {done.returncode} of: {' '.join(command)}")
        with open(folder / "compare.csv", newline="") as file:
            runs = {(run["name"], int(run["seed"])): run for run in csv.DictReader(file)}
        for run in runs.values():
            if run["status"] != "done" and DIVERGED not in run["reason"]:
                raise measured_runs.RunFailed(f"{config}: {run['name']}, seed {run['seed']}: "
                                              f"{run['status']} {run['reason']}")
        return runs

    def run(self, trace, name, rate, seed, seconds):
        """(seconds to the smoothed target or None, accuracy at the end) of one tuning run, which ends
        after `seconds` at the latest, if they are given."""
        settings = {**{key: value for key, value in self.common.items() if key != "mode"},
                    **{key: value for key, value in self.rows[name].items() if key != "name"},
                    "delays": self.delays[trace], "lr": rate, "seed": seed, "past-target": False,
                    "consecutive": self.options.smooth}
        if seconds is not None:
            settings["seconds"] = f"{math.ceil(seconds)}s"
        settings["learn"] = settings.pop("network", "mlp")
        words = []
        for key, value in settings.items():
            if value is True:
                words.append(f"--{key}")
            elif value is not False:
                words += [f"--{key}", str(value)]
        key = " ".join([trace, name, *words])
        with self.lock:
            found = self.runs.results.get(key)
        if found is None:
            found = self.measure(words)
            with self.lock:
                self.runs.results[key] = found
                self.runs.save()
        return found["reached"], found["accuracy"]

    def measure(self, words):
        result = measured_runs.outpace(self.options.outpace, words, PATIENCE, command="simulate")
        reached = reached_at(result["evaluations"], self.target, self.options.smooth)
        return {"reached": None if result["diverged"] else reached,
                "accuracy": 0.0 if result["diverged"] else result["final_accuracy"] or 0.0}

    def try_rates(self, trace, name, found, rates, seeds):
        """Adds these rates' runs to `found`."""
        for rate in rates:
            for seed in seeds:
                if seed in found.setdefault(rate, {}):
                    continue
                means = [statistics.fmean(seconds for seconds, _ in runs.values())
                         for runs in found.values()
                         if runs and all(seconds is not None for seconds, _ in runs.values())]
                limit = self.options.give_up * min(means) if means else None
                found[rate][seed] = self.run(trace, name, rate, seed, limit)

    def tuned(self, trace, name):
        """(the row's rate on a trace, {rate: {seed: (seconds, accuracy)}} of the fine search)."""
        found = {}
        coarse, fine = self.options.coarse_seeds, self.options.tuning_seeds
        rates = sorted(self.options.rates)
        middle = rates[len(rates) // 2]  # First: it limits the others.
        self.try_rates(trace, name, found, [middle, *(r for r in rates if r != middle)], coarse)
        if self.options.only_these_rates:
            return best(found), found
        while (rate := beyond(found, rates)) is not None:
            self.try_rates(trace, name, found, [rate], coarse)
        asked = neighbours(found)
        ranked = sorted(asked, key=lambda rate: order(list(found[rate].values()), rate)
                        if rate in found else (len(coarse), 0.0, rate))
        self.try_rates(trace, name, found, ranked, fine)
        found = {rate: {seed: found[rate][seed] for seed in fine} for rate in asked}
        return best(found), found

    def all_tuned(self, trace):
        """({row: its search}, {row: its rate}) on a trace, --jobs rows at a time."""
        searches, rates = {}, {}
        with concurrent.futures.ThreadPoolExecutor(self.options.jobs) as pool:
            waiting = {pool.submit(self.tuned, trace, name): name for name in self.rows}
            try:
                for done in concurrent.futures.as_completed(waiting):
                    name = waiting[done]
                    rates[name], searches[name] = done.result()
                    print(f"  {trace}, {name}: lr {rates[name]:g}; {len(rates)} of "
                          f"{len(self.rows)} rows are tuned", flush=True)
            finally:
                pool.shutdown(cancel_futures=True)
        return searches, rates

    def compared(self, trace, rates):
        """{(row, seed): run} on a trace, each row at its rate, with "smoothed" beside what `outpace
        compare` says: seconds to the smoothed target, or None."""
        common = {**self.common, "seeds": self.seeds, "delays": {trace: self.delays[trace]}}
        rows = {name: {**row, "name": name, "lr": rates[name]} for name, row in self.rows.items()}
        runs = self.compare(trace, comparison_text(common, rows.values(),
                                                   [] if self.options.rows else
                                                   self.comparison.get("group", ())))
        keys = {key for row in rows.values() for key in row} - {"name"}
        kept = {}
        for path in (self.folder / trace).glob("*/*/seed-*.json"):
            record = json.loads(path.read_text())
            kept[cell_of((word.removeprefix("--").split("=", 1) for word in record["words"]
                          if "=" in word), keys)] = record["result"]["evaluations"]
        for (name, seed), run in runs.items():
            cell = cell_of({**rows[name], "seed": seed}.items(), keys)
            run["smoothed"] = reached_at(kept.get(cell, []), self.target, self.options.smooth)
        return runs


def cell_of(settings, keys):
    """What tells one run of a comparison from the others: its settings of these keys, and its seed."""
    def plain(value):
        try:
            return str(value).lower() if isinstance(value, bool) else float(value)
        except ValueError:
            return str(value).lower()

    return frozenset((key, plain(value)) for key, value in settings if key in keys or key == "seed")


def plus_minus(values, digits, scale=1.0):
    values = [value * scale for value in values if value is not None]
    if not values:
        return "-"
    mean, half = interval(values)
    return f"{mean:,.{digits}f}" + ("" if half is None else f" ± {half:.{digits}f}")


def mean_of(values, digits, scale=1.0):
    values = [value * scale for value in values if value is not None]
    return f"{statistics.fmean(values):,.{digits}f}" if values else "-"


def markdown(rows):
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return [lines[0], "|" + "---|" * len(rows[0]), *lines[1:]]


def row_table(study, rates, runs, searches):
    """The columns of `outpace compare`, each row's rate, and the smoothed target with its interval."""
    target = study.target
    rows = [["policy", "lr", "examples/s", f"s to {target * 100:g} %", "with tuning", "reached",
             "accuracy", "staleness", "max", "dropped", "fairness"]]
    for name in study.rows:
        of = [runs[name, seed] for seed in study.seeds]

        def column(key, of=of):
            return [number(run[key]) for run in of]

        seconds = [run["smoothed"] for run in of]
        reached = sum(value is not None for value in seconds)
        span = bootstrap(searches[name], rates[name], seconds)
        stalest = max((value for value in column("staleness_max") if value is not None),
                      default=math.nan)
        rows.append([f"`{name}`", f"{rates[name]:g}", mean_of(column("examples_per_second"), 0),
                     plus_minus(seconds, 1),
                     "-" if span is None else f"{span[0]:.1f} to {span[1]:.1f}",
                     f"{reached}/{len(of)}",
                     plus_minus(column("final_accuracy"), 1, 100.0),
                     mean_of(column("staleness_mean"), 2), f"{stalest:.0f}",
                     mean_of(column("dropped_share"), 1, 100.0) + " %",
                     mean_of(column("fairness"), 3)])
    return markdown(rows)


def difference(mine, others):
    """A cell: the mean of mine - others in seconds, its interval, and what that shows."""
    pairs = [a - b for a, b in zip(mine, others) if a is not None and b is not None]
    if not pairs:
        return "-"
    mean, half = interval(pairs)
    text = f"{mean:+.1f}" if half is None else f"{mean:+.1f} ± {half:.1f}"
    if len(pairs) < len(mine):  # The seeds that are missing might have told otherwise.
        return f"{text}, {len(pairs)} of {len(mine)} seeds"
    if half is None or abs(mean) <= half:
        return text
    return f"{text} **{'sooner' if mean < 0 else 'later'}**"


def difference_table(study, runs, rows):
    """Paired differences: a column for each of `rows`, minus each row that is not among them."""
    def seconds(name):
        return [runs[name, seed]["smoothed"] for seed in study.seeds]

    return markdown([["s, minus", *(f"`{name}`" for name in rows)],
                     *([f"`{other}`", *(difference(seconds(name), seconds(other)) for name in rows)]
                       for other in study.rows if other not in rows)])


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("comparisons", nargs="+", type=pathlib.Path, metavar="FILE",
                        help="a simulated comparison, as `outpace compare` takes it")
    parser.add_argument("--outpace", default="build/release/outpace", metavar="PROGRAM")
    parser.add_argument("--out", default="build/tuned-comparison", metavar="DIR")
    parser.add_argument("--rates", type=float, nargs="+", default=[0.1, 0.2, 0.4])
    parser.add_argument("--only-these-rates", action="store_true", help="no finer search")
    parser.add_argument("--coarse-seeds", type=int, nargs="+", default=[101, 102], metavar="SEED")
    parser.add_argument("--tuning-seeds", type=int, nargs="+", default=[101, 102, 103, 104, 105],
                        metavar="SEED", help="of the fine search")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="rows tuned at a time")
    parser.add_argument("--smooth", type=int, default=3, metavar="N",
                        help="evaluations whose mean must reach the target")
    parser.add_argument("--give-up", type=float, default=1.5, metavar="TIMES",
                        help="end a tuning run that takes this many times as long as the best rate")
    parser.add_argument("--traces", nargs="+", metavar="NAME", help="only these")
    parser.add_argument("--rows", nargs="+", default=[], metavar="NAME", help="only these")
    parser.add_argument("--difference", nargs="+", default=[], metavar="ROW",
                        help="show how much sooner these reach the target than every other row")
    options = parser.parse_args(arguments)
    if min(options.rates) <= 0 or min(options.jobs, options.smooth) < 1 or options.give_up < 1:
        parser.error("--rates are above 0; --jobs, --smooth and --give-up at least 1")
    return options


def measure(options, _folder):
    for path in options.comparisons:
        study = Study(options, path)
        for trace in study.delays:
            searches, rates = study.all_tuned(trace)
            runs = study.compared(trace, rates)
            print(f"\n**{path.stem}, {trace}**\n\n" +
                  "\n".join(row_table(study, rates, runs, searches)))
            if options.difference:
                print("\n" + "\n".join(difference_table(study, runs, options.difference)),
                      flush=True)


def main(arguments):
    return measured_runs.main("tuned-comparison", parse, measure, arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
