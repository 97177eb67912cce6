"""A worker that keeps arrays of all its mini-batches, and reads them when the worker is gone.

    kept.py closed           after close()
    kept.py lost             when the server was lost, and was not found again
"""

import sys

import numpy
import outpace

NUMBERS = 1 << 18

worker = outpace.Worker()
worker.join({"w": (NUMBERS,)}, numpy.ones(NUMBERS, numpy.float32), examples=64)
kept = []
for batch in worker:
    kept += [batch.weights, worker.gradient()]
    kept[-1][:] = 1.0
    if len(kept) == 8:
        break
    worker.push(1.0)
last = batch.weights
if sys.argv[1] == "closed":
    worker.close()
else:
    print("holds", flush=True)
    try:
        while worker.next():
            worker.gradient()[:] = 1.0
            worker.push(1.0)
    except outpace.OutpaceError as error:
        print(error)
    worker.close()
del worker, batch
print("read", sum(bool(numpy.isfinite(array).all()) for array in kept), "of", len(kept))
print("last", float(last.min()), float(last.max()))
