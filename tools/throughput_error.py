"""Measures the error of `outpace predict` on tables whose larger configurations were measured too.

    python3 tools/throughput_error.py FOLDER [--program build/release/outpace]

For every NAME-small.csv in FOLDER this calibrates with that file alone, predicts NAME-large.csv, and
prints the median, the 90th percentile and the largest |predicted / measured - 1|, and how many
measurements were inside their interval. For comparison it does the same with other laws of growth,
fitted to the same rows, and without synchronising.
"""

import argparse
import copy
import json
import pathlib
import subprocess
import tempfile

LAWS = ("logarithmic", "saturating", "linear")


def predicted(program, profile, table, folder):
    path = pathlib.Path(folder) / "profile.json"
    path.write_text(json.dumps(profile))
    words = [program, "predict", path, "--configurations", table, "--json"]
    return json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)


def with_law(profile, law):
    """The profile with this law of growth; None if the calibration ruled it out."""
    changed = copy.deepcopy(profile)
    for group in changed["groups"]:
        costs = [cost for cost in (group["cost"], *group["others"]) if cost["growth"] == law]
        if not costs:
            return None
        group["cost"] = costs[0]
    return changed


def without_synchronising(profile):
    changed = copy.deepcopy(profile)
    for group in changed["groups"]:
        for key in ("local_fixed", "local_growth", "across_fixed", "across_growth"):
            group["cost"][f"{key}_seconds"] = 0.0
    return changed


def compare(program, small, large):
    """Rows of (what, result of predict)."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "calibrated.json"
        subprocess.run([program, "calibrate", small, "-o", path], check=True, capture_output=True)
        profile = json.loads(path.read_text())
        variants = [("as calibrated", profile)]
        variants += [(law, with_law(profile, law)) for law in LAWS]
        variants.append(("no synchronising", without_synchronising(profile)))
        return [(what, predicted(program, each, large, folder))
                for what, each in variants if each]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--program", default="build/release/outpace")
    options = parser.parse_args()
    print(f"{'table':<24} {'law':<17} rows  median     p90   worst  within")
    for small in sorted(options.folder.glob("*-small.csv")):
        large = small.with_name(small.name.replace("-small", "-large"))
        for what, found in compare(options.program, small, large):
            shares = [found[f"{name}_absolute_error"] for name in ("median", "p90", "max")]
            print(f"{small.stem.removesuffix('-small'):<24} {what:<17} {found['measured']:>4}",
                  *(f"{100 * share:6.1f}%" for share in shares),
                  f"{100 * found['within_interval']:6.0f}%")


if __name__ == "__main__":
    main()
