"""A training script for the tests of outpace.torch: what it does is in its arguments.

Prints JSON: {"batch": indices, "version": ...} for each mini-batch, and at the end {"verdicts": ...}.
"""

import argparse
import json
import os
import time

import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

import outpace.torch as op

EXAMPLES = 512


class Points(Dataset):
    """Points of the plane; their class is whether they lie in a ring. Gives its indices too."""

    def __init__(self, examples=EXAMPLES):
        random = torch.Generator().manual_seed(5)
        self.points = torch.randn(examples, 2, generator=random)
        self.classes = (self.points.norm(dim=1) > 1.2).long()

    def __len__(self):
        return len(self.points)

    def __getitem__(self, index):
        return self.points[index], self.classes[index], index


def network(normalised=False):
    torch.manual_seed(3)
    first, last = torch.nn.Linear(2, 32), torch.nn.Linear(32, 2)
    between = [torch.nn.BatchNorm1d(32)] if normalised else []
    return torch.nn.Sequential(first, *between, torch.nn.Tanh(), last)


OPTIMIZERS = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.2, weight_decay=1e-3),
    "momentum": lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9, weight_decay=1e-3),
    "nesterov": lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9, nesterov=True),
    "adam": lambda p: torch.optim.Adam(p, lr=0.01, weight_decay=1e-3),
    "adamw": lambda p: torch.optim.AdamW(p, lr=0.01, weight_decay=0.1),
    "rmsprop": lambda p: torch.optim.RMSprop(p, lr=0.002, alpha=0.9, weight_decay=1e-3),
    "centered": lambda p: torch.optim.RMSprop(p, lr=0.002, momentum=0.5, centered=True),
    "adagrad": lambda p: torch.optim.Adagrad(p, lr=0.05, lr_decay=0.01, weight_decay=1e-3,
                                             initial_accumulator_value=0.1),
    "adadelta": lambda p: torch.optim.Adadelta(p, lr=0.5, rho=0.95, weight_decay=1e-3),
}


def groups(net):
    """Biases have a group of their own, with twice the rate and without decay."""
    rate = 0.05
    return torch.optim.SGD([
        {"params": [one for one in net.parameters() if one.dim() > 1], "weight_decay": 1e-2},
        {"params": [one for one in net.parameters() if one.dim() == 1], "lr": 2 * rate},
    ], lr=rate, momentum=0.9)


def accuracy(net):
    points = Points(256)
    net.eval()
    with torch.no_grad():
        answers = net(points.points.to(next(net.parameters()).device)).cpu()
    net.train()
    loss = F.cross_entropy(answers, points.classes).item()
    return (answers.argmax(1) == points.classes).float().mean().item(), loss


RETURNS = {"accuracy": lambda accuracy, loss: accuracy, "both": lambda *found: found,
           "names": lambda accuracy, loss: {"accuracy": accuracy, "loss": loss},
           "nothing": lambda accuracy, loss: 1 / 0}


def statistics(net):
    """The running mean and variance, one after the other."""
    return net[1].running_mean.tolist() + net[1].running_var.tolist()


def parse():
    options = argparse.ArgumentParser()
    options.add_argument("--optimizer", default="sgd")
    options.add_argument("--epochs", type=int, default=0)
    options.add_argument("--examples", type=int, default=EXAMPLES)
    options.add_argument("--device", default="cpu")
    options.add_argument("--accumulate", type=int, default=1, help="passes a mini-batch")
    options.add_argument("--parts", action="store_true", help="pushes the passes that are done")
    options.add_argument("--scale-rate", action="store_true")
    options.add_argument("--returns", choices=RETURNS, default="both")
    options.add_argument("--schedule", action="store_true")
    options.add_argument("--evaluate", action="store_true", help="after each epoch")
    options.add_argument("--evaluate-last", action="store_true", help="after the last one alone")
    options.add_argument("--batch-norm", action="store_true")
    options.add_argument("--buffers", default="average")
    options.add_argument("--save", default="", help="worker 0 writes the network there")
    options.add_argument("--nan-at", type=int, default=-1, help="this mini-batch's loss")
    options.add_argument("--wait-until-cancelled", action="store_true")
    options.add_argument("--late", default="", help="the worker fails with its first mini-batch, "
                         "and does not join again before this file is there")
    options.add_argument("--late-rank", type=int, default=1, help="of that worker")
    options.add_argument("--linger", default="", help="goes on until this file is there")
    options.add_argument("--hold-at", type=int, default=-1, help="in this epoch,")
    options.add_argument("--hold-rank", type=int, default=0, help="on this worker,")
    options.add_argument("--until", default="", help="until this file is there")
    return options.parse_args()


class WaitUntilCancelled(torch.autograd.Function):
    """In the backward pass, waits until the server does not want it any more."""

    @staticmethod
    def forward(context, value, job):
        context.job = job
        return value.clone()

    @staticmethod
    def backward(context, gradient):
        print(json.dumps({"waits": True}), flush=True)
        while not context.job.worker.cancelled:
            pass
        return gradient, None


def hold(args):
    """With the first mini-batch of the epoch, until the file is there."""
    print(json.dumps({"holds": args.hold_at}), flush=True)
    wait_for(args.until)
    args.hold_at = -1


def wait_for(path):
    while path and not os.path.exists(path):
        time.sleep(0.005)


def is_to_be_late(args, job):
    """Whether this is the first start of the worker that is late. A later one waits."""
    if not args.late or job.rank != args.late_rank:
        return False
    begun = args.late + ".begun"
    if not os.path.exists(begun):
        open(begun, "w").close()
        return True
    print(json.dumps({"waits": True}), flush=True)
    wait_for(args.late)
    return False


def train(args, job, net, optimizer, schedule, data):
    verdicts, count = [], 0
    for epoch in job.epochs(args.epochs) if args.epochs else range(1):
        for points, classes, indices in data:
            print(json.dumps({"batch": indices.tolist(), "version": job.version,
                              "epoch": epoch}), flush=True)
            if args.fails:
                os._exit(1)
            if epoch == args.hold_at and job.rank == args.hold_rank:
                hold(args)
            parts = list(zip(points.chunk(args.accumulate), classes.chunk(args.accumulate)))
            for some, their in parts:
                loss = F.cross_entropy(net(some.to(args.device)), their.to(args.device))
                if count == args.nan_at:
                    loss = loss * float("nan")
                if args.wait_until_cancelled and job.rank == 1:
                    loss = WaitUntilCancelled.apply(loss, job)
                if len(parts) > 1:
                    loss = loss * len(some) / len(points)
                wanted = job.backward(loss, examples=len(some) if len(parts) > 1 else None,
                                      parts=args.parts)
                if not wanted:
                    if args.parts:
                        print(json.dumps({"part": job.verdict.outcome.name}), flush=True)
                    break
                while args.parts and job.rank == 1 and not job.worker.cancelled:
                    time.sleep(0.001)  # It is slow, and is cancelled between two passes.
            if wanted:
                if args.batch_norm:
                    print(json.dumps({"pushes": statistics(net), "version": job.version}))
                if not job.alone and args.device == "cpu":  # Nothing is copied between the backward pass and the wire.
                    first = next(net.parameters())
                    assert first.grad.data_ptr() == job.worker.gradient_address()
                optimizer.step()
            elif args.late:
                optimizer.step()  # As a plain loop does, whatever backward() says: it does nothing.
            verdicts.append(job.verdict.outcome.name)
            count += 1
        if schedule is not None:
            schedule.step()
        if args.evaluate:
            job.evaluate(lambda: RETURNS[args.returns](*accuracy(net)))
    if args.evaluate_last:
        job.evaluate(lambda: RETURNS[args.returns](*accuracy(net)))
    return verdicts


def main():
    args = parse()
    torch.set_num_threads(1)
    net, points = network(args.batch_norm).to(args.device), Points(args.examples)
    optimizer = (groups(net) if args.optimizer == "groups"
                 else OPTIMIZERS[args.optimizer](net.parameters()))
    schedule = (torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.5)
                if args.schedule else None)
    job = op.init()
    args.fails = is_to_be_late(args, job)
    net, optimizer = job.wrap(net, optimizer, buffers=args.buffers, scale_rate=args.scale_rate)
    data = DataLoader(points, batch_sampler=job.sampler(points))
    verdicts = train(args, job, net, optimizer, schedule, data)
    if args.save:
        job.save(args.save)
    wait_for(args.linger)
    print(json.dumps({"verdicts": verdicts, "accuracy": accuracy(net)[0]}))


if __name__ == "__main__":
    main()
