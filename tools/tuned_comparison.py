"""Compares policies in virtual time, with a learning rate tuned for each of them on each trace.

A file of `outpace compare` says what to compare. For each trace of delays:

  1. Tuning: every row runs at every rate of --rates with every seed of --tuning-seeds, until it
     reaches the target accuracy. The rate that reaches it with the most seeds and then soonest, on
     average, is the row's, the smaller one of equals. If none reaches it, that is the rate with the
     highest accuracy at the end. While the best rate is the lowest or the highest that was tried,
     half or twice that rate is tried, too.
  2. Comparison: every row runs at its rate, with the seeds of the file.

The file's own rates do not count. `outpace compare` makes the runs, in directories under --out; the
same command goes on where it was stopped. The output is Markdown: a table for each trace, and with
--difference ROW the paired differences in seconds to the target, ROW minus every other row at the
same seed. `make saps-sooner` and `make every-policy` run this; docs/compare.md says more.
"""

import argparse
import csv
import json
import math
import pathlib
import statistics
import subprocess
import sys
import tomllib

import measured_runs

FARTHEST = 3  # Rates tried beyond those of --rates, at most, on either side.
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


def best(found):
    """The rate that reached the target soonest, of {rate: runs}; the smaller one of equals."""
    def order(rate):
        seconds = [number(run["seconds_to_target"]) for run in found[rate]]
        reached = [value for value in seconds if value is not None]
        accuracy = statistics.fmean(number(run["final_accuracy"]) or 0.0 for run in found[rate])
        return (len(seconds) - len(reached), statistics.fmean(reached) if reached else -accuracy, rate)

    return min(found, key=order)


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
        self.seeds = compare["seeds"]
        self.delays = compare["delays"]
        if options.traces:
            for trace in options.traces:
                self.require("trace", trace, self.delays)
            self.delays = {trace: self.delays[trace] for trace in options.traces}
        for row in options.difference:
            self.require("row", row, self.rows)

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
        command = [self.options.outpace, "compare", str(config), "--out", str(folder)]
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

    def tuned(self, trace):
        """{row: its rate} on a trace."""
        seeds = self.options.tuning_seeds
        common = {**self.common, "past-target": False, "seeds": seeds,
                  "delays": {trace: self.delays[trace]}}
        asked = {name: list(self.options.rates) for name in self.rows}
        found = {name: {} for name in self.rows}
        round_ = 0
        while asked:
            round_ += 1
            labels = {f"{name}, lr {rate:g}": (name, rate)
                      for name, rates in asked.items() for rate in rates}
            runs = self.compare(f"{trace}-tuning-{round_}", comparison_text(
                common, [{**self.rows[name], "name": label, "lr": rate}
                         for label, (name, rate) in labels.items()]))
            for label, (name, rate) in labels.items():
                found[name][rate] = [runs[label, seed] for seed in seeds]
            asked = {name: [rate] for name in asked
                     if (rate := beyond(found[name], self.options.rates))}
        return {name: best(of) for name, of in found.items()}

    def compared(self, trace, rates):
        """{(row, seed): run} on a trace, each row at its rate."""
        common = {**self.common, "seeds": self.seeds, "delays": {trace: self.delays[trace]}}
        return self.compare(trace, comparison_text(
            common, [{**row, "name": name, "lr": rates[name]} for name, row in self.rows.items()],
            self.comparison.get("group", ())))


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


def row_table(study, rates, runs):
    """The columns of `outpace compare`, and each row's rate."""
    target = study.common["target-accuracy"]
    rows = [["policy", "lr", "examples/s", f"s to {target * 100:g} %", "reached", "accuracy",
             "staleness", "max", "dropped", "fairness"]]
    for name in study.rows:
        of = [runs[name, seed] for seed in study.seeds]

        def column(key, of=of):
            return [number(run[key]) for run in of]

        reached = sum(value is not None for value in column("seconds_to_target"))
        stalest = max((value for value in column("staleness_max") if value is not None),
                      default=math.nan)
        rows.append([f"`{name}`", f"{rates[name]:g}", mean_of(column("examples_per_second"), 0),
                     plus_minus(column("seconds_to_target"), 1), f"{reached}/{len(of)}",
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
        return [number(runs[name, seed]["seconds_to_target"]) for seed in study.seeds]

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
    parser.add_argument("--tuning-seeds", type=int, nargs="+", default=[100], metavar="SEED")
    parser.add_argument("--traces", nargs="+", metavar="NAME", help="only these")
    parser.add_argument("--difference", nargs="+", default=[], metavar="ROW",
                        help="show how much sooner these reach the target than every other row")
    options = parser.parse_args(arguments)
    if min(options.rates) <= 0:
        parser.error("--rates are above 0")
    return options


def measure(options, _folder):
    for path in options.comparisons:
        study = Study(options, path)
        for trace in study.delays:
            rates = study.tuned(trace)
            runs = study.compared(trace, rates)
            print(f"\n**{path.stem}, {trace}**\n\n" + "\n".join(row_table(study, rates, runs)))
            if options.difference:
                print("\n" + "\n".join(difference_table(study, runs, options.difference)), flush=True)


def main(arguments):
    return measured_runs.main("tuned-comparison", parse, measure, arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
