"""Turns what `outpace cutoff --json` printed into two tables in Markdown.

The first has the gradients a second of each model, rule and imputation, relative to waiting for all,
with the 95 % interval. The second has the coverage of the models' intervals and the score of their
forecasts, by model, under each rule, with the first imputation. docs/cutoff-models.md has both.
"""

import argparse
import json
import math
import pathlib
import sys

WITHOUT_MODEL = ("sync", "best_fixed", "oracle")


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", 1)[0],
                                     epilog=__doc__.split("\n\n", 1)[1],
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", nargs="+", type=pathlib.Path, metavar="FILE",
                        help="of one trace each, or several of one trace with other models")
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


def joined(documents):
    """The results by trace; sync, best_fixed and oracle once."""
    by_trace = {}
    for document in documents:
        results = by_trace.setdefault(pathlib.Path(document["trace"]).stem, [])
        known = {one["model"] for one in results if not one["decide"]}
        results.extend(one for one in document["results"]
                       if one["decide"] or one["model"] not in known)
    return by_trace


def main(arguments):
    options = parse(arguments)
    documents = [json.loads(line) for file in options.results
                 for line in file.read_text().splitlines()]
    for trace, results in joined(documents).items():
        print(f"## {trace}\n\n{gains(results)}\n\n{coverages(results)}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
