"""How well `--policy auto` ranks its candidates: what it expects of each, beside what each does.

Reads the runs that `make auto-table` has kept. For each trace and candidate: the progress that was
expected of it in the runs of `auto`, on average over their looks and seeds, beside one by the seconds
that it needs to the target when it runs from end to end; and Spearman's rank correlation of the two.

    tools/auto_rank.py build/auto-table/runs
"""

import argparse
import json
import pathlib
import statistics
import sys


def ranks(values):
    """The rank of each value from 1; equal ones share the mean of their ranks."""
    ordered = sorted(values)
    return [statistics.fmean(i + 1 for i, other in enumerate(ordered) if other == value)
            for value in values]


def rank_correlation(first, second):
    """Spearman's; None if either has no two values that differ."""
    if len(set(first)) < 2 or len(set(second)) < 2:
        return None
    return statistics.correlation(ranks(first), ranks(second))


def results(folder):
    """{policy: [result, ...]} of the comparison of one trace, without those with --balance."""
    found = {}
    for path in sorted(folder.glob("*/seed-*.json")):
        result = json.loads(path.read_text())["result"]
        if result["balance_most"] is None:
            found.setdefault(result["policy"], []).append(result)
    return found


def table(found):
    """Lines of Markdown: a row for each candidate that reached the target, then the correlation."""
    expected = {}
    for result in found["auto"]:
        for candidate in result["choice"]["candidates"]:
            expected.setdefault(candidate["policy"], []).append(candidate["expected_progress"])
    rows = []
    for policy, progress in expected.items():
        seconds = [result["seconds_to_target"] for result in found.get(policy, [])]
        if seconds and None not in seconds:
            rows.append((policy, statistics.fmean(progress), 1.0 / statistics.fmean(seconds)))
    lines = ["| candidate | expected, exact steps a second | measured, 1 / s to the target |",
             "|---|---|---|"]
    lines += [f"| `{policy}` | {one:.3g} | {other:.3g} |" for policy, one, other in rows]
    correlation = rank_correlation([row[1] for row in rows], [row[2] for row in rows])
    regret = statistics.fmean(result["choice"]["regret"] for result in found["auto"])
    said = "none" if correlation is None else f"{correlation:.2f}"
    return [*lines, "", f"Rank correlation {said}; regret {100 * regret:.1f} %."]


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=pathlib.Path, help="the folder of the runs")
    options = parser.parse_args(arguments)
    traces = [folder for folder in sorted(options.runs.glob("*/*/*"))
              if (folder / "auto").is_dir()]
    if not traces:
        print(f"auto_rank.py: {options.runs}: no runs of auto; make auto-table makes them",
              file=sys.stderr)
        return 2
    for folder in traces:
        print(f"**{folder.name}**\n\n" + "\n".join(table(results(folder))) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
