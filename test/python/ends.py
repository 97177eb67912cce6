"""Loops that end in all the ways that people write, one by name: tested by python_ends_test.py.

Prints JSON: {"rank": ..., and what the case found}.
"""

import itertools
import json
import sys

import torch
import torch.nn.functional as F
from torch.utils.data import TensorDataset

import outpace.torch as op


def say(job, **found):
    print(json.dumps({"rank": job.rank, **found}), flush=True)


def parts(job, rate=0.01):
    """A line to fit: network, optimizer, loader, and a function of the loss over all examples."""
    random = torch.Generator().manual_seed(5)
    x = torch.randn(640, 10, generator=random)
    y = x @ torch.arange(10.0).view(10, 1)
    net = torch.nn.Linear(10, 1)
    net, optimizer = job.wrap(net, torch.optim.SGD(net.parameters(), lr=rate))

    def loss():
        with torch.no_grad():
            return F.mse_loss(net(x), y).item()

    return net, optimizer, job.loader(TensorDataset(x, y)), loss


def train(job, net, optimizer, data, most=None):
    """One pass of at most `most` mini-batches; returns how many it had."""
    count = 0
    for a, b in data:
        count += 1
        if job.backward(F.mse_loss(net(a), b)):
            optimizer.step()
        if count == most:
            break
    return count


def stops(job, who):
    """Rank `who`, or all, end the run after the second epoch."""
    net, optimizer, data, loss = parts(job)
    for epoch in job.epochs(6):
        train(job, net, optimizer, data)
        job.evaluate(lambda: {"loss": loss()})
        if epoch == 1 and who in ("all", str(job.rank)):
            job.stop("the loss no longer falls")
    say(job, epoch=epoch, version=job.version, over=job.over)


def breaks(job, who, most=None):
    """Rank `who`, or all, leave their loop after the second epoch."""
    net, optimizer, data, _ = parts(job)
    examples = 0
    for epoch in job.epochs(6):
        examples += train(job, net, optimizer, data, most and int(most))
        if epoch == 1 and who in ("all", str(job.rank)):
            break
    job.save("net.safetensors")
    say(job, epoch=epoch, version=job.version)


def endless(job, how):
    """A loop that ends with the run alone."""
    net, optimizer, data, loss = parts(job)
    passes = step = 0
    if how == "epochs":
        for _ in job.epochs():
            passes += train(job, net, optimizer, data) > 0
    elif how == "over":
        while not job.over:
            passes += train(job, net, optimizer, data) > 0
            if job.alone and passes == 3:
                job.stop("three are enough")
    elif how == "evaluates":
        while True:
            train(job, net, optimizer, data, most=1)
            if step % 4 == 0:
                job.evaluate(lambda: {"loss": loss()})
            step = job.version
    else:
        while True:
            train(job, net, optimizer, data)
    say(job, passes=passes, over=job.over)


def updates(job, how):
    """A rate for each update, whose gradient is 1 for every example: minus the weight is their sum."""
    net = torch.nn.Linear(1, 1, bias=False)
    torch.nn.init.zeros_(net.weight)
    net, optimizer = job.wrap(net, torch.optim.SGD(net.parameters(), lr=1.0))
    batches = itertools.chain.from_iterable(itertools.repeat(job.loader(TensorDataset(
        torch.ones(320, 1)))))
    seen = []
    for step in job.updates(12):
        seen.append(step)
        own = how == "own" and job.rank == 1  # By a count that is not the run's.
        optimizer.param_groups[0]["lr"] = 0.5 ** (len(seen) if own else step)
        for part in next(batches)[0].chunk(2):
            job.backward(net(part).sum() / 32)
        optimizer.step()
        if how == "breaks" and step == 5:
            break
    say(job, seen=seen, version=job.version, weight=net.weight.item())


def exits(job, code):
    """The script ends in its first epoch."""
    net, optimizer, data, _ = parts(job)
    for _ in job.epochs(3):
        for a, b in data:
            if job.backward(F.mse_loss(net(a), b)):
                optimizer.step()
            if code == "raise":
                raise ValueError("out of order")
            if code == "vector":
                job.backward(F.mse_loss(net(a), b, reduction="none"))
            sys.exit(int(code))


def values(job, how):
    """An evaluation that is no accuracy, or more than one."""
    net, optimizer, data, loss = parts(job)
    found = {"loss": lambda: {"loss": loss()},
             "accuracy": lambda: {"accuracy": 0.5},
             "more": lambda: {"accuracy": 0.25, "loss": loss(), "f1": 0.75, "mean length": 12}}[how]
    for _ in job.epochs(4):
        train(job, net, optimizer, data)
        job.evaluate(found)


def plateau(job, how):
    """A rate that follows the evaluator's loss, or each worker's own."""
    net, optimizer, data, loss = parts(job, rate=1e-4)
    schedule = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=0,
                                                          threshold=0.5)
    rates, found = [], []
    for epoch in job.epochs(8):
        train(job, net, optimizer, data)
        result = job.evaluate(lambda: {"loss": loss()})
        own = 0.1 ** epoch if job.rank == 0 else 1.0  # As each sees it.
        found.append(own if how == "own" else result["loss"])
        schedule.step(found[-1])
        rates.append(optimizer.param_groups[0]["lr"])
    say(job, rates=rates, found=found)


def weighted(job, how):
    """A class of one example in twenty has as many draws as the others together."""
    net, optimizer, _, _ = parts(job)
    rare = torch.arange(640) % 20 == 0
    weights = torch.where(rare, 19.0, 1.0)
    options = ({"weights": weights} if how == "weights" else
               {"sampler": torch.utils.data.WeightedRandomSampler(weights, 640)})
    data = job.loader(TensorDataset(torch.arange(640), torch.randn(640, 10)), **options)
    drawn = []
    for _ in job.epochs(2):
        for places, x in data:
            drawn += places.tolist()
            if job.backward(net(x).square().mean()):
                optimizer.step()
    say(job, drawn=drawn)


class Counting(torch.utils.data.IterableDataset):
    """0, 1, 2, ..., 99 and a random point for each."""

    def __iter__(self):
        return iter([(number, torch.randn(10)) for number in range(100)])


def stream(job, *words):
    """Examples without a number, by a DataLoader's process if it is asked for."""
    net, optimizer = job.wrap(*(lambda net: (net, torch.optim.SGD(net.parameters(), lr=0.01)))(
        torch.nn.Linear(10, 1)))
    data = job.loader(Counting(), **({"examples": 320} if "counted" in words else {}),
                      num_workers=int("process" in words))
    read = []
    for _ in job.epochs(2):
        for numbers, x in data:
            read += numbers.tolist()
            if job.backward(net(x).square().mean()):
                optimizer.step()
    say(job, read=read)


def interrupted(job, begun):
    """The script goes on after Ctrl-C."""
    net, optimizer, data, _ = parts(job)
    try:
        while True:
            train(job, net, optimizer, data, most=1)
            open(begun, "w").close()
    except KeyboardInterrupt:
        say(job, interrupted=True)


def of_a_process(place, case):
    """What torch.multiprocessing.spawn() calls."""
    CASES[case](op.init(), "all")


CASES = {"weighted": weighted, "stream": stream, "interrupted": interrupted, "stops": stops, "breaks": breaks, "endless": endless,
         "updates": updates, "exits": exits, "values": values,
         "plateau": plateau}

if __name__ == "__main__":
    torch.set_num_threads(1)
    torch.manual_seed(1)
    if sys.argv[1] == "spawned":
        torch.multiprocessing.spawn(of_a_process, ("breaks",), nprocs=2)
    else:
        CASES[sys.argv[1]](op.init(), *sys.argv[2:])
