"""Compares four policies on Fashion-MNIST, with real processes, where machines are not equally fast.

Eight workers on this machine train a small network for eight seconds with each policy, first with one
machine that is always slow, then with machines whose speeds drift. This writes the two traces of
delays and runs `outpace compare` on examples/compare/first_minute.toml, or on a copy of yours:
everything but the delays stands there. `make demo` runs this and takes about two minutes.
"""

import argparse
import os
import pathlib
import shutil
import subprocess
import sys

import make_delays

COMPARISON = pathlib.Path(__file__).resolve().parent.parent / "examples/compare/first_minute.toml"
FOLDER = pathlib.Path("build/demo")  # The comparison says where it finds its delays.
REGIMES = ("fixed", "drifting")
WORKERS = 8
MACHINES = 4
ROWS = 2000  # 40 seconds, at 20 ms each.
# A typical trace: of seeds 1 to 12, the first 8 seconds of this one are nearest to the mean of 60 seeds.
# While the machines drift, the slowest worker has 0.43 of its full speed (mean 0.42), all 0.77 (0.78).
SEED = 8


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", 1)[0],
                                     epilog=__doc__.split("\n\n", 1)[1])
    parser.add_argument("comparison", nargs="?", type=pathlib.Path,
                        default=pathlib.Path(os.path.relpath(COMPARISON)),
                        help="a file of `outpace compare` (default: %(default)s)")
    parser.add_argument("--outpace", default="build/release/outpace", metavar="PROGRAM")
    parser.add_argument("--picture", type=pathlib.Path, metavar="FILE",
                        help="copy the picture, an SVG, to this file too")
    return parser.parse_args(arguments)


def write_delays():
    FOLDER.mkdir(parents=True, exist_ok=True)
    for regime in REGIMES:
        make_delays.write(FOLDER / f"{regime}-{WORKERS}.csv",
                          make_delays.delays(regime, WORKERS, ROWS, MACHINES, base=0.02, seed=SEED))


def main(arguments):
    options = parse(arguments)
    write_delays()
    out = FOLDER / options.comparison.stem
    command = [options.outpace, "compare", str(options.comparison), "--fresh", "--out", str(out)]
    print(" ".join(command), flush=True)
    try:
        code = subprocess.run(command, check=False).returncode
    except OSError as error:
        print(f"demo: {options.outpace}: {error.strerror}; `make release` builds it",
              file=sys.stderr)
        return 1
    if code == 0 and options.picture:
        shutil.copyfile(out / "compare.svg", options.picture)
    return code


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
