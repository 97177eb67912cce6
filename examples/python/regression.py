"""Linear regression with numpy alone: the gradient is written by hand.

    outpace run --workers 2 --policy async --lr 0.1 --epochs 50 -- python3 regression.py
"""

import sys

import numpy

import outpace

TRUE = numpy.array([3.0, -2.0, 0.5, 1.0], dtype=numpy.float32)  # The last one is the offset.


def main():
    random = numpy.random.default_rng(1)  # The same data on every worker.
    inputs = random.normal(size=(2000, len(TRUE))).astype(numpy.float32)
    inputs[:, -1] = 1.0
    targets = inputs @ TRUE + random.normal(scale=0.01, size=2000).astype(numpy.float32)

    weights = numpy.zeros(len(TRUE), dtype=numpy.float32)
    with outpace.Worker() as worker:
        worker.join({"slopes": (len(TRUE) - 1,), "offset": ()}, weights, examples=len(inputs))
        for batch in worker:
            x, y = inputs[batch.examples], targets[batch.examples]
            weights = batch.weights.copy()  # The server uses their memory again.
            error = x @ weights - y
            worker.gradient()[:] = x.T @ error / len(batch)
            worker.push(loss=0.5 * float(error @ error) / len(batch))

    # The weights that this worker pulled last; the run's are in its weights.safetensors.
    print(f"worker {worker.rank}: weights {weights.round(2).tolist()}")


if __name__ == "__main__":
    try:
        main()
    except outpace.OutpaceError as error:
        print(f"regression.py: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
