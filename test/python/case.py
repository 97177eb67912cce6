"""Loops that people write, one of them by name: what they do is tested by python_cases_test.py.

Prints JSON: {"rank": ..., and what the case found}.
"""

import copy
import io
import json
import sys

import torch
import torch.nn.functional as F
from torch.utils.data import TensorDataset

import outpace.torch as op


def say(job, **found):
    print(json.dumps({"rank": job.rank, **found}), flush=True)


def points(examples):
    random = torch.Generator().manual_seed(5)
    x = torch.randn(examples, 10, generator=random)
    return x, x @ torch.arange(10.0).view(10, 1)


def linear(job, x, y, **options):
    net = torch.nn.Linear(10, 1)
    net, optimizer = job.wrap(net, torch.optim.SGD(net.parameters(), lr=0.01))
    return net, optimizer, job.loader(TensorDataset(x, y), **options)


def corrupt(job, skips=False):
    """One example is not a number; the loop skips its mini-batch, or pushes what comes."""
    x, y = points(256)
    x[100, 0] = float("nan")
    net, optimizer, data = linear(job, x, y)
    passes = 0
    for _ in job.epochs(2):
        for a, b in data:
            passes += 1
            loss = F.mse_loss(net(a), b)
            if skips and not torch.isfinite(loss):
                job.skip()
            elif job.backward(loss):
                optimizer.step()
    say(job, passes=passes)


def accumulate(job):
    """Four slices of a mini-batch before each step, without a modulo."""
    net, optimizer, data = linear(job, *points(512), batch_size=32, accumulate=4)
    passes = 0
    for _ in job.epochs(2):
        for a, b in data:
            passes += 1
            if job.backward(F.mse_loss(net(a), b) / 4):
                optimizer.step()
    say(job, passes=passes, steps=job.version, minibatches=len(data))


def no_if(job):
    """The plain loop: it steps whatever backward() says, and uses names of the loop after it."""
    net, optimizer, data = linear(job, *points(512))
    if job.rank == 0:
        with open("made-by-rank-0", "a") as out:
            out.write("once\n")
    for _ in job.epochs(2):
        for a, b in data:
            optimizer.zero_grad()
            loss = F.mse_loss(net(a), b)
            job.backward(loss)
            optimizer.step()
        job.evaluate(lambda: 0.5)
    copied = copy.deepcopy(net)
    torch.save(net, io.BytesIO())
    say(job, last=len(a), finite=bool(torch.isfinite(loss)),
        copied=torch.equal(copied.weight, net.weight))


def odd(job):
    """Batch normalisation, and a data set of 32 k + 1 examples."""
    net = torch.nn.Sequential(torch.nn.Linear(10, 4), torch.nn.BatchNorm1d(4),
                              torch.nn.Linear(4, 1))
    net, optimizer = job.wrap(net, torch.optim.SGD(net.parameters(), lr=0.01))
    sizes = []
    for _ in job.epochs(1):
        for a, b in job.loader(TensorDataset(*points(129))):
            sizes.append(len(a))
            if job.backward(F.mse_loss(net(a), b)):
                optimizer.step()
    say(job, sizes=sizes)


def masks(job):
    """What a dropout of the first mini-batch draws."""
    torch.manual_seed(1)
    net, optimizer, data = linear(job, *points(256))
    drawn = None
    for _ in job.epochs(1):
        for a, b in data:
            if drawn is None:
                drawn = F.dropout(torch.ones(16)).tolist()
            if job.backward(F.mse_loss(net(a), b)):
                optimizer.step()
    say(job, mask=drawn)


CASES = {"corrupt": corrupt, "skip": lambda job: corrupt(job, skips=True),
         "accumulate": accumulate, "no_if": no_if, "odd": odd, "masks": masks}

if __name__ == "__main__":
    torch.set_num_threads(1)
    torch.manual_seed(1)
    CASES[sys.argv[1]](op.init(seeds="same" if "same" in sys.argv[2:] else "own"))
