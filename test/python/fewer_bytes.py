"""Workers that push in fewer bytes, for the tests of the option `compress`; one way to train a run.

Prints JSON: {"rank": ..., "distance": ...}, how far the weights have moved. The evaluator reports the
loss on all examples.
"""

import argparse
import json

import torch
import torch.nn.functional as F

import outpace
import outpace.torch as op
from script import Points

WIDTH = 64


class Ways:
    """A body and a head, with an optimizer or two."""

    def __init__(self, way):
        torch.manual_seed(3)
        middle = [torch.nn.BatchNorm1d(WIDTH)] if way == "normalised" else []
        self.body = torch.nn.Sequential(torch.nn.Linear(2, WIDTH), *middle, torch.nn.Tanh())
        self.head = torch.nn.Sequential(torch.nn.Linear(WIDTH, WIDTH), torch.nn.Tanh(),
                                        torch.nn.Linear(WIDTH, 2))
        self.net = torch.nn.Sequential(self.body, self.head)
        if way == "frozen":
            self.body.requires_grad_(False)
        parts = [self.body, self.head] if way == "rare" else [self.net]
        self.optimizers = [torch.optim.SGD(one.parameters(), lr=0.05, momentum=0.9) for one in parts]
        self.parts = parts

    def wrap(self, job, **options):
        if len(self.parts) == 1:
            job.wrap(self.parts[0], self.optimizers[0], **options)
        else:  # Its gradients lack the body's tensors every other time.
            job.wrap(self.parts, self.optimizers, **options)

    def step(self, count):
        """The head's optimizer, and the body's with every other mini-batch if it has its own."""
        for place, one in enumerate(self.optimizers):
            if len(self.optimizers) == 1 or place == 1 or count % 2 == 0:
                one.step()


@torch.no_grad()
def measure(net):
    points = Points()
    net.eval()
    loss = F.cross_entropy(net(points.points), points.classes).item()
    net.train()
    return {"loss": loss}


def train(args):
    job, trained = op.init(), Ways(args.way)
    trained.wrap(job, compress=args.compress)
    first = torch.nn.utils.parameters_to_vector(trained.net.parameters()).detach().clone()
    data = job.loader(Points())
    for _ in job.epochs(args.epochs):
        for count, (x, y, _indices) in enumerate(data):
            for one in trained.optimizers:
                one.zero_grad()
            loss = F.cross_entropy(trained.net(x), y)
            if job.backward(loss):
                trained.step(count)
        if args.evaluate:
            job.evaluate(lambda: measure(trained.net))
    moved = torch.nn.utils.parameters_to_vector(trained.net.parameters()).detach() - first
    print(json.dumps({"rank": job.rank, "distance": moved.norm().item()}))


def fit(args):
    """The mean of some points, by numpy."""
    import numpy

    points = numpy.random.default_rng(5).normal(size=(512, 300)).astype(numpy.float32)
    with outpace.Worker() as worker:
        worker.join({"mean": (300,)}, numpy.zeros(300), examples=len(points),
                    groups=[outpace.Group(outpace.Method.SGD, rate=0.2)], epochs=args.epochs,
                    compress=args.compress or "")
        for batch in worker:
            off = batch.weights - points[batch.examples].mean(axis=0)
            worker.gradient()[:] = off
            worker.push(float((off * off).mean()))
    print(json.dumps({"rank": worker.rank}))


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--compress", help="as wrap() takes it")
    options.add_argument("--epochs", type=int, default=20)
    options.add_argument("--way", default="plain",
                         choices=("plain", "normalised", "frozen", "rare", "numpy"))
    options.add_argument("--evaluate", action="store_true")
    args = options.parse_args()
    torch.set_num_threads(1)
    (fit if args.way == "numpy" else train)(args)


if __name__ == "__main__":
    main()
