"""The test loss of recorded runs over the bytes that gradients and weights took, by how they were packed.

    for c in none int8 int4; do for s in 1 2 3; do
      outpace simulate --learn cnn --compress $c --seed $s --updates 1000 --out build/bytes/$c-$s; done; done
    python3 -B tools/loss_by_bytes.py build/bytes/* --svg build/bytes/loss.svg

Takes directories of runs, also of several networks: a panel is a network with its local steps, and a
line is the mean over the seeds. Prints the table of the runs' ends.
"""

import argparse
import json
import math
import pathlib
import statistics
import sys
import tomllib

import measured_runs
from loss_by_local_steps import (COLOURS, FOOT, HEIGHT, LEFT, LEGEND_ROW, MARGIN, RIGHT, TOP, WIDTH, Panel,
                                 polyline, powers_of, text)


class Row:
    """The runs of one network with one packing, over all seeds."""

    def __init__(self, panel, packing):
        self.panel, self.packing, self.runs = panel, packing, []

    def curve(self):
        """(MB, loss, loss, loss) at each evaluation that all seeds have."""
        shared = set.intersection(*(set(losses) for losses, *_ in self.runs))
        each = self.mean(1) / 1e6
        found = []
        for share in sorted(one for one in shared if one > 0):
            loss = statistics.fmean(losses[share] for losses, *_ in self.runs)
            found.append((share * each, loss, loss, loss))
        return found

    def mean(self, column):
        return statistics.fmean(run[column] for run in self.runs)

    def cells(self):
        return (self.panel, self.packing, str(len(self.runs)), f"{self.mean(2) / 1e6:,.1f}",
                f"{self.mean(3) / 1e6:,.1f}", f"{self.mean(4):.4f}", f"{self.mean(5):.4f}")


def read(folders):
    rows = {}
    for folder in map(pathlib.Path, folders):
        try:
            summary = json.loads((folder / "summary.json").read_text())
            config = tomllib.loads((folder / "config.toml").read_text())
        except (OSError, ValueError) as error:
            raise measured_runs.RunFailed(f"{folder}: no finished run: {error}") from None
        losses = {one["examples"] / summary["examples"]: one["loss"] for one in summary["evaluations"]
                  if one["loss"] is not None}
        if not losses or not summary.get("traffic"):
            raise measured_runs.RunFailed(f"{folder}: the run has no test loss, or says no bytes")
        steps = config.get("local-steps") or 1
        panel = f"{summary['network'].partition(':')[0]}, H = {steps}"
        packing = f"{config.get('compress', 'none')}, {config.get('compress-weights', 'none')}"
        pushed, pulled = (summary["traffic"][way]["bytes"] for way in ("gradients", "weights"))
        rows.setdefault((panel, packing), Row(panel, packing)).runs.append(
            (losses, pushed + pulled, pushed, pulled, summary["final_accuracy"], summary["final_loss"]))
    return list(rows.values())


def picture(rows):
    panels = {}
    for row in rows:
        panels.setdefault(row.panel, []).append(row)
    packings = sorted({row.packing for row in rows}, key=lambda packing: (packing != "none, none", packing))
    colours = {packing: COLOURS[i % len(COLOURS)] for i, packing in enumerate(packings)}
    shapes, top, column = [], MARGIN, 0
    for name, group in panels.items():
        points = [point for row in group for point in row.curve()]
        losses = [point[1] for point in points]
        most = min(max(losses), min(losses) * 3)
        panel = Panel((MARGIN + column * (LEFT + WIDTH + RIGHT), top),
                      (min(point[0] for point in points) * 0.9, max(point[0] for point in points) * 1.1),
                      (min(losses) * 0.97, most * 1.02), math.log)
        panel.axes(name, "MB pushed and pulled, logarithmic", powers_of(*panel.level), "test loss")
        for row in group:
            panel.curve(row.curve(), colours[row.packing], shaded=False)
        shapes += panel.document()
        column = (column + 1) % 2
        top += 0 if column else TOP + HEIGHT + FOOT
    top += TOP + HEIGHT + FOOT if column else 0
    for packing in packings:
        top += LEGEND_ROW
        shapes += [polyline([(MARGIN + LEFT, top - 4), (MARGIN + LEFT + 30, top - 4)], colours[packing], 2),
                   text(MARGIN + LEFT + 38, top, packing)]
    width, height = 2 * (MARGIN + LEFT + WIDTH + RIGHT), top + 2 * MARGIN
    return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 '
                      f'{width} {height}" font-family="Helvetica, Arial, sans-serif">',
                      '<rect width="100%" height="100%" fill="#ffffff"/>', *shapes, "</svg>"]) + "\n"


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", metavar="RUN", help="directories of recorded runs")
    parser.add_argument("--svg", metavar="FILE", help="draw them there")
    options = parser.parse_args(arguments)
    try:
        rows = read(options.runs)
    except measured_runs.RunFailed as error:
        print(f"loss-by-bytes: {error}", file=sys.stderr)
        return 1
    head = ("network", "packed: gradients, weights", "seeds", "MB pushed", "MB pulled", "accuracy", "test loss")
    print("\n".join(measured_runs.table([head, *(row.cells() for row in rows)])))
    if options.svg:
        pathlib.Path(options.svg).write_text(picture(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
