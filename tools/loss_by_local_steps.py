"""The test loss of a comparison's runs by their local steps: over examples, and over bytes pushed.

    outpace compare examples/compare/local_steps.toml --out build/local-steps/runs --jobs 2
    python3 -B tools/loss_by_local_steps.py build/local-steps/runs --svg build/local-steps/loss.svg

Prints a table and draws the runs that `outpace compare` has kept, also while others are still to come.
A push counts as 4 bytes for each weight. A row of panels is a policy. A line is the median over the
seeds, shaded from the least to the greatest. Grey are the rows of the first policy with the same local
steps, where all rows of a policy have the same.
"""

import argparse
import html
import json
import math
import pathlib
import statistics
import sys

import measured_runs

# As src/see/plot/panel.{h,cc} has them: colours that the colour-blind can tell apart, and pixels.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
GREY, GRID, FRAME = "#a8a8a8", "#e4e4e4", "#888888"
WIDTH, HEIGHT, LEFT, RIGHT, TOP, FOOT, MARGIN, LEGEND_ROW = 350, 240, 74, 22, 34, 54, 10, 20
BYTES_OF_WEIGHT = 4
TICKS_MOST = 6


class Row:
    """The runs of one policy with its options, over all seeds."""

    def __init__(self, result):
        self.policy, self.steps = result["policy"], result.get("local_steps") or 1
        self.outer = result.get("outer_optimizer") or ""
        self.pushes_each_batch = not result.get("local_steps")
        self.runs = []  # {examples: loss} of each seed.
        self.bytes_of_example = 0.0

    def steps_words(self):
        return "a push each mini-batch" if self.pushes_each_batch else f"H = {self.steps}"

    def curve(self):
        """(examples, least loss, median, greatest) wherever all seeds were measured."""
        shared = set.intersection(*(set(run) for run in self.runs))
        found = []
        for examples in sorted(shared):
            losses = [run[examples] for run in self.runs]
            found.append((examples, min(losses), statistics.median(losses), max(losses)))
        return found

    def last(self):
        return [run[max(run)] for run in self.runs]

    def bytes_to(self, level):
        """Bytes pushed until the loss is reached, for each seed; infinite if it never is."""
        return [self.bytes_of_example * min((examples for examples, loss in run.items() if loss <= level),
                                            default=math.inf) for run in self.runs]


def weights_of(path):
    """How many weights a safetensors file has."""
    with open(path, "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
    return sum(math.prod(one["shape"]) for name, one in header.items() if name != "__metadata__")


def batch_of(words):
    return next(int(word.partition("=")[2]) for word in words if word.startswith("--batch="))


def read(folder):
    """The rows, those of `sync` first, by local steps."""
    rows = {}
    for path in sorted(pathlib.Path(folder).glob("*/*/seed-*.json")):
        record = json.loads(path.read_text())
        result = record["result"]
        row = rows.setdefault(path.parent, Row(result))
        losses = {one["examples"]: one["loss"] for one in result["evaluations"] if one["loss"] is not None}
        if not losses:
            continue
        row.runs.append(losses)
        row.bytes_of_example = (BYTES_OF_WEIGHT * weights_of(path.with_suffix("") / "weights.safetensors") /
                                (batch_of(record["words"]) * row.steps))
    found = [row for row in rows.values() if row.runs]
    return sorted(found, key=lambda row: (row.policy != "sync", row.policy, row.steps, row.outer))


def table(rows, levels):
    head = ("policy", "local steps", "outer optimizer", "seeds", "test loss", "range", "MB pushed",
            *(f"MB to {level:g}" for level in levels))
    lines = [head]
    for row in rows:
        last = row.last()
        pushed = statistics.fmean(max(run) for run in row.runs) * row.bytes_of_example
        lines.append((row.policy, row.steps_words(), row.outer, str(len(last)), f"{statistics.fmean(last):.3f}",
                      f"{min(last):.3f} to {max(last):.3f}", megabytes(pushed),
                      *(megabytes(statistics.median(row.bytes_to(level))) for level in levels)))
    return measured_runs.table(lines)


def megabytes(number):
    return "-" if math.isinf(number) else f"{number / 1e6:,.1f}"


# ---- The picture ----------------------------------------------------------------------------------


def ticks_of(low, high):
    """Round numbers from low to high, at most TICKS_MOST steps apart."""
    power = 10.0 ** math.floor(math.log10((high - low) / TICKS_MOST))
    step = next(factor * power for factor in (1, 2, 5, 10) if (high - low) / (factor * power) <= TICKS_MOST)
    return [number * step for number in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]


def powers_of(low, high):
    return [10.0 ** power for power in range(math.ceil(math.log10(low)), math.floor(math.log10(high)) + 1)]


class Panel:
    """Two axes with ticks; `scale` makes a number of the level axis a length."""

    def __init__(self, corner, level, upright, scale=float):
        self.left, self.top = corner[0] + LEFT, corner[1] + TOP
        self.level, self.upright, self.scale = level, upright, scale
        self.shapes = []

    def at(self, x, y):
        low, high = map(self.scale, self.level)
        return (self.left + WIDTH * (self.scale(x) - low) / (high - low),
                self.top + HEIGHT * (self.upright[1] - y) / (self.upright[1] - self.upright[0]))

    def axes(self, title, words, ticks, upright_words):
        right, bottom = self.left + WIDTH, self.top + HEIGHT
        self.shapes.append(text(self.left, self.top - 12, title, size=14, more=' font-weight="bold"'))
        for tick in ticks:
            x, _ = self.at(tick, self.upright[0])
            self.shapes += [polyline([(x, self.top), (x, bottom)], GRID, 1),
                            text(x, bottom + 18, f"{tick:,g}", "middle")]
        for tick in ticks_of(*self.upright):
            _, y = self.at(self.level[0], tick)
            self.shapes += [polyline([(self.left, y), (right, y)], GRID, 1),
                            text(self.left - 8, y + 4, f"{tick:g}", "end")]
        self.shapes += [polyline([(self.left, self.top), (self.left, bottom), (right, bottom)], FRAME, 1),
                        text(self.left + WIDTH / 2, bottom + 40, words, "middle")]
        middle = (self.left - 60, self.top + HEIGHT / 2)
        self.shapes.append(text(*middle, upright_words, "middle",
                                more=f' transform="rotate(-90 {middle[0]:g} {middle[1]:g})"'))

    def curve(self, points, colour, shaded=True):
        """`points` are (x, least, median, greatest)."""
        if shaded:
            outline = [self.at(x, most) for x, _, _, most in points]
            outline += [self.at(x, least) for x, least, _, _ in reversed(points)]
            self.shapes.append(f'<polygon points="{pairs(outline)}" fill="{colour}" fill-opacity="0.12" '
                               f'clip-path="url(#{self.clip()})"/>')
        self.shapes.append(polyline([self.at(x, middle) for x, _, middle, _ in points], colour, 2,
                                    f' clip-path="url(#{self.clip()})"'))
        x, y = self.at(points[-1][0], points[-1][2])  # A run of one update is this dot alone.
        self.shapes.append(f'<circle cx="{x:.2f}" cy="{y:.2f}" r="3.5" fill="{colour}" '
                           f'clip-path="url(#{self.clip()})"/>')

    def clip(self):
        return f"panel-{self.left:g}-{self.top:g}"

    def document(self):
        return [f'<clipPath id="{self.clip()}"><rect x="{self.left:g}" y="{self.top:g}" width="{WIDTH}" '
                f'height="{HEIGHT}"/></clipPath>', *self.shapes]


def pairs(points):
    return " ".join(f"{x:.2f},{y:.2f}" for x, y in points)


def polyline(points, colour, width, more=""):
    return (f'<polyline points="{pairs(points)}" fill="none" stroke-linejoin="round" stroke="{colour}" '
            f'stroke-width="{width}"{more}/>')


def text(x, y, words, anchor="start", size=12, colour="#222222", more=""):
    return (f'<text x="{x:g}" y="{y:g}" font-size="{size}" fill="{colour}" text-anchor="{anchor}"{more}>'
            f'{html.escape(words)}</text>')


def groups_of(rows):
    """Rows by policy, each with the rows of the first policy that stand behind them in grey."""
    groups = {}
    for row in rows:
        groups.setdefault(row.policy, []).append(row)
    first = next(iter(groups.values()))
    found = []
    for group in groups.values():
        steps = {row.steps for row in group}
        found.append((group, [] if group is first or len(steps) > 1 else
                      [row for row in first if row.steps in steps]))
    return found


def legend_words(row, group):
    """What tells a row from the others of its group."""
    many = len({one.outer for one in group if not one.pushes_each_batch}) > 1
    return row.outer if many and row.outer else row.steps_words()


def legend_of(group, behind, top):
    entries = [(COLOURS[i % len(COLOURS)], legend_words(row, group)) for i, row in enumerate(group)]
    entries += [(GREY, f"{row.policy}, {row.steps_words()}") for row in behind]
    shapes, x, y = [], 0.0, 0
    for colour, words in entries:
        length = 38 + 6.7 * len(words) + 18
        if x > 0 and x + length > 2 * WIDTH + LEFT + RIGHT:
            x, y = 0.0, y + LEGEND_ROW
        left = MARGIN + LEFT + x
        shapes += [polyline([(left, top + y - 4), (left + 30, top + y - 4)], colour, 2),
                   text(left + 38, top + y, words)]
        x += length
    return shapes, y + LEGEND_ROW


def title_of(group):
    steps = {row.steps_words() for row in group}
    return group[0].policy + (f", {steps.pop()}" if len(steps) == 1 else "")


def picture(rows, highest):
    curves = {row: row.curve() for row in rows}
    upright = (min(point[1] for points in curves.values() for point in points) - 0.02, highest)
    examples = (0, 1.04 * max(points[-1][0] for points in curves.values()) / 1e3)
    pushed = [row.bytes_of_example * point[0] / 1e6 for row, points in curves.items() for point in points]
    traffic = (min(pushed) * 0.9, max(pushed) * 1.1)
    shapes, top = [], MARGIN
    for group, behind in groups_of(rows):
        over_examples = Panel((MARGIN, top), examples, upright)
        over_bytes = Panel((MARGIN + LEFT + WIDTH + RIGHT, top), traffic, upright, math.log)
        over_examples.axes(title_of(group), "examples (thousands)", ticks_of(*examples), "test loss")
        over_bytes.axes("", "MB pushed by all workers, logarithmic", powers_of(*traffic), "")
        drawn = [(row, GREY) for row in behind]
        drawn += [(row, COLOURS[i % len(COLOURS)]) for i, row in enumerate(group)]
        for row, colour in drawn:
            points = curves[row]
            over_examples.curve([(x / 1e3, *losses) for x, *losses in points], colour, colour != GREY)
            over_bytes.curve([(x * row.bytes_of_example / 1e6, *losses) for x, *losses in points], colour,
                             colour != GREY)
        legend, height = legend_of(group, behind, top + TOP + HEIGHT + FOOT + 18)
        shapes += over_examples.document() + over_bytes.document() + legend
        top += TOP + HEIGHT + FOOT + 8 + height + 22
    counts = [len(row.runs) for row in rows]
    seeds = " to ".join(str(one) for one in sorted({min(counts), max(counts)}))
    shapes.append(text(MARGIN + LEFT, top, f"Median of {seeds} seeds; shaded: from the least to the greatest. "
                       f"Losses above {highest:g} are not shown.", size=11, colour="#777777"))
    width, height = 2 * (MARGIN + LEFT + WIDTH + RIGHT), top + MARGIN
    return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 '
                      f'{width} {height}" font-family="Helvetica, Arial, sans-serif">',
                      '<rect width="100%" height="100%" fill="#ffffff"/>', *shapes, "</svg>"]) + "\n"


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", metavar="FOLDER", help="--out of `outpace compare`")
    parser.add_argument("--svg", metavar="FILE", help="draw them there")
    parser.add_argument("--levels", type=float, nargs="*", default=[2.2, 2.0], metavar="LOSS",
                        help="losses of the last columns: a median over seeds (default: 2.2 2.0)")
    parser.add_argument("--highest", type=float, default=2.8, metavar="LOSS",
                        help="end of the picture's axis (default: %(default)s)")
    options = parser.parse_args(arguments)
    rows = read(options.runs)
    if not rows:
        print(f"loss-by-local-steps: {options.runs} has no finished run with a test loss; run `outpace "
              "compare` first", file=sys.stderr)
        return 1
    print("\n".join(table(rows, options.levels)))
    if options.svg:
        pathlib.Path(options.svg).write_text(picture(rows, options.highest))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
