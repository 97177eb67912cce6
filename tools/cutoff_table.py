"""Turns what `outpace cutoff --json` printed into two tables in Markdown.

The first has the gradients a second of each model, rule and imputation, relative to waiting for all,
with the 95 % interval. The second has the coverage of the models' intervals and the score of their
forecasts, by model, under each rule, with the first imputation. docs/cutoff-models.md has both. With
--csv, a file gets all numbers, a row for each result.
"""

import argparse
import csv
import json
import math
import pathlib
import sys

WITHOUT_MODEL = ("sync", "best_fixed", "oracle")
# What documents of one trace must agree on, to stand in one table.
CIRCUMSTANCES = ("workers", "rows", "cut", "late", "deciding")


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", 1)[0],
                                     epilog=__doc__.split("\n\n", 1)[1],
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", nargs="+", type=pathlib.Path, metavar="FILE",
                        help="of one trace each, or several of one trace with other models")
    parser.add_argument("--csv", type=pathlib.Path, metavar="FILE", help="write all numbers to this file")
    return parser.parse_args(arguments)


def markdown(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def ratio(result):
    low, high = result["relative_to_sync_95"]
    return f"{result['relative_to_sync']:.3f} ({low:.2f}, {high:.2f})"


def unique(values):
    return list(dict.fromkeys(values))


def gains(results):
    """A row for each model and imputation, a column for each rule."""
    tried = [one for one in results if one["decide"]]
    rules = unique(one["decide"] for one in tried)
    rows = [[f"*{name}*", "", *[ratio(one)] * len(rules)]
            for name in WITHOUT_MODEL for one in results if one["model"] == name][:3]
    for model, imputation in unique((one["model"], one["imputation"]) for one in tried):
        by_rule = {one["decide"]: ratio(one) for one in tried
                   if (one["model"], one["imputation"]) == (model, imputation)}
        rows.append([model, imputation, *[by_rule.get(rule, "") for rule in rules]])
    return markdown(["model", "imputation", *rules], rows)


def percent(share):
    return "" if share is None or math.isnan(share) else f"{100 * share:.0f}"


def coverages(results):
    """A row for each model and rule."""
    tried = [one for one in results if one["decide"]]
    first = tried[0]["imputation"]
    rows = [[one["model"], one["decide"],
             percent(one["worker_coverage50"]), percent(one["worker_coverage90"]),
             percent(one["coverage50"]), percent(one["coverage90"]),
             "" if one["crps"] is None else f"{1e3 * one['crps']:.2f}",
             f"{one['relative_to_oracle']:.3f}"]
            for one in tried if one["imputation"] == first]
    return markdown(["model", "decide", "workers: in 50 %", "in 90 %", "x_(c): in 50 %", "in 90 %",
                     "crps ms", "/ oracle"], rows)


def key(result):
    return result["model"], result["decide"], result["imputation"]


def joined(documents):
    """The results by the path of their trace; sync, best_fixed and oracle once."""
    by_trace = {}
    first = {}
    for document in documents:
        trace = document["trace"]
        before = first.setdefault(trace, document)
        for what in CIRCUMSTANCES:
            if document[what] != before[what]:
                raise ValueError(f"{trace}: {what} is {before[what]} in one document and {document[what]} "
                                 "in another; make a table of each")
        results = by_trace.setdefault(trace, [])
        known = {key(one) for one in results}
        for one in document["results"]:
            if one["decide"] and key(one) in known:
                raise ValueError(f"{trace}: two documents have {', '.join(key(one))}; give one of them")
        results.extend(one for one in document["results"] if key(one) not in known)
    return by_trace


def title(trace, traces):
    """The stem, unless another trace has the same."""
    stem = pathlib.Path(trace).stem
    return stem if [pathlib.Path(one).stem for one in traces].count(stem) == 1 else trace


# A result's numbers, as they are named in the JSON.
NUMBERS = ("relative_to_sync", "relative_to_oracle", "worker_coverage50", "worker_coverage90", "coverage50",
           "coverage90", "recalibrated_coverage50", "recalibrated_coverage90", "crps")
INTERVALS = ("relative_to_sync_95", "relative_to_oracle_95")


def rows_of(by_trace):
    """The table of --csv: a header, and a row for each result."""
    header = ["trace", "model", "decide", "imputation", *NUMBERS]
    header += [f"{name}_{end}" for name in INTERVALS for end in ("low", "high")]
    yield header
    for trace, results in by_trace.items():
        for one in results:
            numbers = [one.get(name) for name in NUMBERS] + [end for name in INTERVALS for end in one[name]]
            yield [title(trace, by_trace), *(word or "" for word in key(one)),
                   *("" if number is None else f"{number:.5g}" for number in numbers)]


def main(arguments):
    options = parse(arguments)
    documents = [json.loads(line) for file in options.results
                 for line in file.read_text().splitlines()]
    try:
        by_trace = joined(documents)
    except ValueError as problem:
        sys.exit(f"cutoff_table.py: {problem}")
    if options.csv:
        with open(options.csv, "w", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerows(rows_of(by_trace))
    for trace, results in by_trace.items():
        print(f"## {title(trace, by_trace)}\n\n{gains(results)}\n\n{coverages(results)}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
