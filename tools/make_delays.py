"""Writes delays for `outpace train --delays FILE`, in seconds: one row per iteration, one column per
worker.

Workers share machines, and a slow machine slows all of its workers. Every regime has the same base
delay with a little noise. The regimes differ in what the machines do:

  calm      nothing more
  fixed     the last quarter of the machines is always four times as slow
  mixed     each machine is slower than the one before, evenly, and the last three times as slow
  drifting  each machine's slowdown wanders: its logarithm is an Ornstein-Uhlenbeck process, with
            negative values set to 0 (Uhlenbeck & Ornstein, "On the Theory of the Brownian Motion",
            1930)
  bursty    each machine stands still now and then, for a heavy-tailed time (Pareto), as if another
            job used it

    tools/make_delays.py --regime drifting --workers 8 --iterations 2000 delays.csv
"""

import argparse
import math
import random
import sys

REGIMES = ("calm", "fixed", "mixed", "drifting", "bursty")
NOISE = 0.1  # Standard deviation of the logarithm of one delay.
FIXED_SLOWDOWN = 4.0
MIXED_SLOWDOWN = 3.0  # Of the last machine.
DRIFT_SPREAD = 1.0  # Standard deviation of the logarithm of a slowdown, before the cut.
DRIFT_MEMORY = 150  # Iterations after which a slowdown has forgotten 63 % of where it was.
BURST_EVERY = 60  # Iterations between two bursts of one machine, on average.
BURST_SHAPE = 1.5  # For the Pareto distribution: its mean is 3, its variance infinite.
SLOWDOWN_MAX = 50.0  # No delay is more than this many times the base, or a run would never end.


def slowdowns(regime, machine, machines, rng):
    """Yields one machine's slowdown for iteration 0, 1, 2, ..."""
    if regime == "calm":
        while True:
            yield 1.0
    if regime == "fixed":
        slow = machine >= machines - max(1, machines // 4)
        while True:
            yield FIXED_SLOWDOWN if slow else 1.0
    if regime == "mixed":
        while True:
            yield 1.0 + (MIXED_SLOWDOWN - 1.0) * machine / max(1, machines - 1)
    if regime == "drifting":
        keep = math.exp(-1.0 / DRIFT_MEMORY)
        kick = DRIFT_SPREAD * math.sqrt(1.0 - keep * keep)
        x = rng.gauss(0.0, DRIFT_SPREAD)
        while True:
            yield math.exp(max(0.0, x))
            x = keep * x + rng.gauss(0.0, kick)
    while True:  # bursty
        pause = rng.random() < 1.0 / BURST_EVERY
        yield 1.0 + (5.0 * rng.paretovariate(BURST_SHAPE) if pause else 0.0)


def delays(regime, workers, iterations, machines, base, seed):
    """Rows of `workers` delays, in seconds. Equal arguments give equal rows on every machine."""
    # A stream of its own for each machine and worker: adding one does not change the others.
    machine_streams = [slowdowns(regime, machine, machines, random.Random(f"{seed} machine {machine}"))
                       for machine in range(machines)]
    worker_rngs = [random.Random(f"{seed} worker {worker}") for worker in range(workers)]
    for _ in range(iterations):
        now = [next(stream) for stream in machine_streams]
        yield [base * min(SLOWDOWN_MAX, now[worker * machines // workers] * rng.lognormvariate(0, NOISE))
               for worker, rng in enumerate(worker_rngs)]


def write(path, rows):
    with open(path, "w") as file:
        for row in rows:
            file.write(",".join(f"{seconds:.6f}" for seconds in row) + "\n")


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--regime", choices=REGIMES, default="drifting")
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--machines", type=int, default=4, help="that the workers are spread over")
    parser.add_argument("--iterations", type=int, default=2000)
    parser.add_argument("--base", type=float, default=0.02, metavar="SECONDS")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("out", metavar="FILE")
    options = parser.parse_args(arguments)
    if min(options.workers, options.machines, options.iterations) < 1 or not options.base >= 0:
        parser.error("--workers, --machines and --iterations are at least 1, --base at least 0")
    write(options.out, delays(options.regime, options.workers, options.iterations,
                              min(options.machines, options.workers), options.base, options.seed))


if __name__ == "__main__":
    main(sys.argv[1:])
