"""How far `outpace whatif` is from live runs that are made that way afterwards.

A run of `sync` under a trace of delays is recorded, and `outpace whatif` answers from it; then it is run
again as the question says: without the trace's last column, with every column the median of its
row, under another policy. The table has examples a second of both and how far they are apart.
"""

import argparse
import json
import pathlib
import statistics
import sys

import measured_runs

GRACE = 120  # Seconds for a run to start and end, beyond those that it trains.


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", 1)[0],
                                     epilog=__doc__.split("\n\n", 1)[1],
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("delays", nargs="+", type=pathlib.Path, metavar="TRACE",
                        help="CSV, a column a worker")
    parser.add_argument("--policies", nargs="+", default=("backup:cutoff=6", "async"),
                        metavar="POLICY", help="instead of sync")
    parser.add_argument("--network", default="mlp")
    parser.add_argument("--seconds", type=float, default=20.0, help="of each run (default: 20)")
    parser.add_argument("--outpace", default="build/release/outpace", metavar="PROGRAM")
    return parser.parse_args(arguments)


def rows_of(path):
    """Of numbers; lines that say nothing are left out."""
    try:
        lines = path.read_text().splitlines()
        return [[float(cell) for cell in line.split(",")] for line in lines
                if line.strip() and not line.startswith("#")]
    except (OSError, ValueError) as error:
        raise measured_runs.RunFailed(f"{path}: {error}") from error


def write(path, rows):
    path.write_text("".join(",".join(map(repr, row)) + "\n" for row in rows))
    return path


def train(options, trace, workers, policy, out):
    """Examples a second."""
    line = [options.outpace, "train", "--network", options.network, "--batch", "32", "--lr", "0.1",
            "--workers", str(workers), "--policy", policy, "--delays", str(trace), "--seconds",
            f"{options.seconds:g}s", "--evaluate-every", "1000000000", "--json", "--out", str(out)]
    return result(line, options.seconds + GRACE)["examples_per_second"]


def result(line, seconds):
    code, out, errors = measured_runs.run(line, seconds)
    found = measured_runs.last_json_object(out)
    if code != 0 or found is None:
        raise measured_runs.failure(line, code, errors)
    return found


def questions_of(options, folder, trace):
    """[(name as whatif gives it, options of whatif, trace, workers, policy)]"""
    rows = rows_of(trace)
    workers = len(rows[0])
    last = workers - 1
    fewer = write(folder / f"{trace.stem}-fewer.csv", [row[:-1] for row in rows])
    median = write(folder / f"{trace.stem}-median.csv",
                   [[statistics.median(row)] * workers for row in rows])
    return [(f"without worker {last}", ["--without", str(last)], fewer, last, "sync"),
            ("all at the median", [], median, workers, "sync"),
            *((f"policy {policy}", ["--policy", policy], trace, workers, policy)
              for policy in options.policies)]


def answers_of(options, record, questions):
    """{question: examples a second}, of all that was asked and of what is asked by itself."""
    asked = [word for _, words, *_ in questions for word in words]
    answers = {}
    # What is asked replaces what it asks by itself.
    for words in ([], asked):
        found = result([options.outpace, "whatif", str(record), *words, "--json"], GRACE)
        answers.update({one["question"]: one["examples_per_second"]
                        for one in found["questions"]})
        answers["as it was, replayed"] = found["replayed_examples_per_second"]
    return answers


def measure(options, folder):
    measured_runs.quiet_or_warn()
    table = [["trace, question", "whatif", "live", "apart"]]
    for trace in options.delays:
        record = folder / f"{trace.stem}-record"
        questions = questions_of(options, folder, trace)
        live = {"as it was, replayed": train(options, trace, len(rows_of(trace)[0]), "sync", record)}
        answers = answers_of(options, record, questions)
        for number, (name, _, changed, workers, policy) in enumerate(questions):
            live[name] = train(options, changed, workers, policy, folder / f"{trace.stem}-{number}")
        for name, rate in live.items():
            table.append([f"{trace.stem}, {name}", f"{answers[name]:,.0f}", f"{rate:,.0f}",
                          f"{100 * (answers[name] / rate - 1):+.1f} %"])
            print("  " + "  ".join(table[-1]), flush=True)
    print("\n" + "\n".join(measured_runs.table(table)))


def main(arguments):
    return measured_runs.main("whatif_error", parse, measure, arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
