"""A worker whose gradients count the uses of each example, by numpy or by PyTorch.

    ledger.py numpy|torch EXAMPLES [PROCESSES]     # PROCESSES of the DataLoader

Prints a line for each gradient. ledger_worker.cc is the same in C++. With LEDGER_HOLD=N:FILE it
waits before gradient N until the file is there.
"""

import os
import sys
import time

HOLD_AT, _, HOLD_UNTIL = os.environ.get("LEDGER_HOLD", "-1:").partition(":")


class Told:
    """The gradients so far."""

    def __init__(self):
        self.count = 0

    def before(self):
        if self.count == int(HOLD_AT):
            print("holds", flush=True)
            while not os.path.exists(HOLD_UNTIL):
                time.sleep(0.005)
        self.count += 1

    def after(self, verdict):
        print("gradient", verdict.outcome.name, flush=True)


def by_numpy(examples):
    import numpy

    import outpace

    told = Told()
    with outpace.Worker() as worker:
        worker.join({"ledger": (examples,)}, lambda: numpy.zeros(examples), examples)
        for batch in worker:
            gradient = worker.gradient()
            gradient[:] = 0
            gradient[batch.examples] = 1 / len(batch)
            told.before()
            told.after(worker.push(0.0))


def by_torch(examples, processes):
    import torch

    import outpace.torch as op

    class Ledger(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.ledger = torch.nn.Parameter(torch.zeros(examples))

        def forward(self, used):
            return self.ledger[used].mean()

    told = Told()
    torch.set_num_threads(1)
    job = op.init()
    # The rate undoes the mean over a mini-batch of 4.
    net, optimizer = job.wrap(net := Ledger(), torch.optim.SGD(net.parameters(), lr=4.0))
    for used in job.loader(range(examples), num_workers=processes):
        if job.backward(net(used)):
            told.before()
            optimizer.step()
            told.after(job.verdict)
            if told.count == 1 and job.worker.minibatch is not None:
                print("told of", len(job.worker.minibatch.ahead), "more", flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "numpy":
        by_numpy(int(sys.argv[2]))
    else:
        by_torch(int(sys.argv[2]), int(sys.argv[3]))
