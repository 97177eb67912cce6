"""What is on a worker is on all: state.py CASE [WORD], tested by python_state_test.py.

Prints JSON: {"rank": ..., and what the case found}.
"""

import copy
import json
import os
import sys

import torch
import torch.nn.functional as F
from torch.optim.swa_utils import AveragedModel
from torch.utils.data import TensorDataset

import outpace.torch as op

BUFFERS = ("offset", "mask", "big")


def say(job, **found):
    print(json.dumps({"rank": job.rank, **found}), flush=True)


def points(numbers):
    random = torch.Generator().manual_seed(5)
    x = torch.randn(640, numbers, generator=random)
    return x, torch.tanh(x @ torch.randn(numbers, 1, generator=random) / 3)


def train(job, net, optimizer, data, each=lambda: None, measure=lambda: 0.0, epochs=3):
    for _ in job.epochs(epochs):
        for a, b in data:
            if job.backward(F.mse_loss(net(a), b)):
                optimizer.step()
                each()
        job.evaluate(measure)


class Random(torch.nn.Module):
    """Each process has others: weights, a frozen layer, and buffers of three types."""

    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(8, 1)
        self.frozen = torch.nn.Linear(8, 8)
        self.frozen.requires_grad_(False)
        self.register_buffer("offset", torch.rand(70_000))
        self.register_buffer("mask", torch.where(torch.rand(8) < 0.5, 0.0, -torch.inf))
        self.register_buffer("big", torch.randint(1 << 60, (70_000,)), persistent=False)

    def forward(self, x):
        return self.layer(self.frozen(x) + self.offset[0])


def unseeded(job):
    """No process seeds alike."""
    torch.manual_seed(int.from_bytes(os.urandom(6), "little"))
    net = Random()
    before = net.frozen.weight.sum().item()
    net, optimizer = job.wrap(net, torch.optim.SGD(net.layer.parameters(), lr=0.01))
    data = job.loader(TensorDataset(*points(8)))

    def found():
        return {"frozen": net.frozen.weight.tolist(), "before": before,
                "buffers": [getattr(net, name)[:8].tolist() for name in BUFFERS]}

    def measure():
        say(job, **found())
        return 0.5

    train(job, net, optimizer, data, measure=measure)
    job.save("net.safetensors")
    if job.rank is not None:
        say(job, **found())


def loads(job):
    """Worker 0 alone has a checkpoint."""
    net = torch.nn.Linear(8, 1)
    with torch.no_grad():
        net.weight.fill_(100.0 if job.rank == 0 else -100.0)
    net, optimizer = job.wrap(net, torch.optim.SGD(net.parameters(), lr=0.0))
    train(job, net, optimizer, job.loader(TensorDataset(*points(8))), epochs=1)
    say(job, weight=net.weight.mean().item())


def spectral(job, style):
    """Vectors that training changes, and a counter of the script's own."""
    torch.manual_seed(1)
    kind = (torch.nn.utils.spectral_norm if style == "old" else
            torch.nn.utils.parametrizations.spectral_norm)
    net = torch.nn.Sequential(kind(torch.nn.Linear(20, 20)), torch.nn.ReLU(),
                              kind(torch.nn.Linear(20, 20)), torch.nn.ReLU(),
                              torch.nn.Linear(20, 1))
    net.register_buffer("steps", torch.zeros((), dtype=torch.int64))
    x, y = points(20)
    net, optimizer = job.wrap(net, torch.optim.Adam(net.parameters(), lr=0.01))

    def measure():
        net.eval()
        with torch.no_grad():
            loss = F.mse_loss(net(x), y).item()
        net.train()
        if job.rank is None:
            say(job, steps=int(net.steps))
        return 0.0, loss

    train(job, net, optimizer, job.loader(TensorDataset(x, y)), lambda: net.steps.add_(1), measure)
    if job.rank is not None:
        say(job, loss=measure()[1])


def averaged(job, wrapped):
    """The script's own mean of the weights is what it measures."""
    torch.manual_seed(1)
    net = torch.nn.Linear(8, 1)
    mean = AveragedModel(net)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    net, optimizer = job.wrap(net, optimizer, averages=mean if wrapped == "yes" else None)
    x, y = points(8)

    def measure():
        with torch.no_grad():
            return 0.0, F.mse_loss(mean(x), y).item()

    train(job, net, optimizer, job.loader(TensorDataset(x, y)), lambda: mean.update_parameters(net),
          measure)
    if job.rank is not None:
        say(job, loss=measure()[1], averaged=int(mean.n_averaged))


def moments(job):
    """A checkpoint of the usual kind at the end."""
    net = torch.nn.Linear(8, 1)
    net, optimizer = job.wrap(net, torch.optim.Adam(net.parameters()))
    train(job, net, optimizer, job.loader(TensorDataset(*points(8))), epochs=1)
    torch.save({"net": net.state_dict(), "optimizer": optimizer.state_dict()}, "checkpoint.pt")


KINDS = {"adam": lambda of: torch.optim.Adam(of, lr=0.01),
         "adamw": lambda of: torch.optim.AdamW(of, lr=0.01),
         "rmsprop": lambda of: torch.optim.RMSprop(of, lr=0.001, momentum=0.5, centered=True),
         "adagrad": lambda of: torch.optim.Adagrad(of, lr=0.1, lr_decay=0.1),
         "adadelta": lambda of: torch.optim.Adadelta(of, lr=1.0),
         "momentum": lambda of: torch.optim.SGD(of, lr=0.01, momentum=0.9)}


def checkpoint(job, when, *kinds):
    """PyTorch has made 20 steps; the job makes 8 more, each of all examples, as PyTorch would."""
    x, y = points(8)

    def networks():
        torch.manual_seed(1)
        nets = [torch.nn.Linear(8, 1) for _ in kinds]
        return nets, [KINDS[kind](net.parameters()) for kind, net in zip(kinds, nets)]

    def steps(nets, optimizers, count):
        for net, optimizer in list(zip(nets, optimizers)) * count:
            optimizer.zero_grad()
            F.mse_loss(net(x), y).backward()
            optimizer.step()
        return [net.weight.detach().clone() for net in nets]

    nets, optimizers = networks()
    steps(nets, optimizers, 20)
    kept = [copy.deepcopy(one.state_dict()) for one in (*nets, *optimizers)]
    right = steps(nets, optimizers, 8)

    def load(nets, optimizers):
        taken = (*nets, *optimizers) if when != "weights" else nets
        for one, state in zip(taken, kept):
            one.load_state_dict(state)

    nets, optimizers = networks()
    if when == "before":
        load(nets, optimizers)
    nets, optimizers = job.wrap(nets, optimizers)
    if when != "before":
        load(nets, optimizers)
    for _ in job.epochs(8):
        for a, b in job.loader(TensorDataset(x, y)):
            if job.backward(sum(F.mse_loss(net(a), b) for net in nets)):
                for optimizer in optimizers:
                    optimizer.step()
    say(job, right=[one.flatten().tolist() for one in right])


def goes_on(job):
    """A counter, running statistics and a frozen layer, in a run that begins from a file."""
    torch.manual_seed(1)
    net = torch.nn.Sequential(torch.nn.Linear(8, 4), torch.nn.BatchNorm1d(4), torch.nn.Linear(4, 1))
    net.register_buffer("steps", torch.zeros((), dtype=torch.int64))
    net[2].requires_grad_(False)
    net, optimizer = job.wrap(net, torch.optim.SGD(net[0].parameters(), lr=0.01))
    begun = []
    for _ in job.epochs(3):
        for a, b in job.loader(TensorDataset(*points(8))):
            if not begun:
                begun += [int(net.steps), net[1].running_mean[0].item()]
            if job.backward(F.mse_loss(net(a), b)):
                net.steps.add_(1)
                optimizer.step()
        job.evaluate(lambda: {"steps": int(net.steps), "mean": net[1].running_mean[0].item()})
    say(job, begun=begun, steps=int(net.steps))


def main():
    torch.set_num_threads(1)
    case, *words = sys.argv[1:]
    globals()[case](op.init(), *words)


if __name__ == "__main__":
    main()
