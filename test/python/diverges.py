"""A worker whose gradients are small, and from number N on finite and as large as float32 allows.

    diverges.py N
"""

import sys

import numpy

import outpace

with outpace.Worker() as worker:
    worker.join({"weights": (100,)}, lambda: numpy.zeros(100), 1000)
    for number, _ in enumerate(worker):
        worker.gradient()[:] = 1e-3 if number < int(sys.argv[1]) else 3e38
        worker.push(0.0)
