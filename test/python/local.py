"""Scripts of local steps for the tests of outpace.torch; the loop is PyTorch's plain one.

Prints JSON: {"batch": indices, "version": ...} for each step.
"""

import argparse
import json
import os
import signal
import sys
import time

import torch
import torch.nn.functional as F
from torch.nn.utils import parameters_to_vector, vector_to_parameters
from torch.utils.data import DataLoader, IterableDataset

import outpace.torch as op
from script import Points, network


class Signs(torch.optim.Optimizer):
    """An optimizer that nobody else has: steps along the sign of a moving mean."""

    def __init__(self, params, lr=0.01, keep=0.9):
        super().__init__(params, {"lr": lr, "keep": keep})

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for one in group["params"]:
                if one.grad is not None:
                    mean = self.state[one].setdefault("mean", torch.zeros_like(one))
                    mean.mul_(group["keep"]).add_(one.grad, alpha=1 - group["keep"])
                    one.add_(mean.sign(), alpha=-group["lr"])


OPTIMIZERS = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.2),
    "adamw": lambda p: torch.optim.AdamW(p, lr=0.01, weight_decay=0.1, amsgrad=True),
    "own": lambda p: Signs(p),
}


class Adapted(torch.nn.Module):
    """A frozen layer with an update of low rank, as LoRA has it."""

    def __init__(self, layer, rank=2):
        super().__init__()
        self.layer = layer
        for one in layer.parameters():
            one.requires_grad = False
        self.down = torch.nn.Parameter(torch.randn(rank, layer.in_features) / layer.in_features)
        self.up = torch.nn.Parameter(torch.zeros(layer.out_features, rank))

    def forward(self, x):
        return self.layer(x) + x @ self.down.t() @ self.up.t()


class Stream(IterableDataset):
    """Points without an end."""

    def __init__(self, seed):
        self.seed = seed

    def __iter__(self):
        random = torch.Generator().manual_seed(self.seed)
        while True:
            point = torch.randn(2, generator=random)
            yield point, int(point.norm() > 1.2)


def make(args):
    net = network(args.normalised)
    if args.lora:
        if args.other_base:
            torch.nn.init.zeros_(net[0].weight)
        net = torch.nn.Sequential(Adapted(net[0]), net[1], Adapted(net[2]))
    if args.bf16:
        net = net.bfloat16()
    chosen = [one for one in net.parameters() if one.requires_grad]
    return net, OPTIMIZERS[args.optimizer](chosen)


def loss_of(net, x, y, args):
    return F.cross_entropy(net(x.bfloat16() if args.bf16 else x).float(), y)


def twin(args):
    """PyTorch alone, on the mini-batches of a worker; prints how far its weights are from a run's."""
    from outpace.torch import _safetensors
    net, optimizer = make(args)
    data = Points()
    for indices in json.load(open(args.twin)):
        optimizer.zero_grad()
        loss_of(net, data.points[indices], data.classes[indices], args).backward()
        optimizer.step()
    run = _safetensors.read(args.weights)
    here = {name: one.detach().float() for name, one in net.named_parameters() if one.requires_grad}
    off = torch.cat([(here[name] - run[name]).flatten() for name in here]).norm()
    print(json.dumps({"off": float(off / torch.cat([one.flatten() for one in run.values()]).norm())}))


def averaging_twin(args):
    """PyTorch alone, on each update's parts; the next begins at their mean, by examples."""
    from outpace.torch import _safetensors
    net, _ = make(args)
    weights = parameters_to_vector(net.parameters()).detach()
    data = Points()
    for parts in json.load(open(args.averaging_twin)):
        total = torch.zeros(weights.shape, dtype=torch.float64)
        for part in parts:
            vector_to_parameters(weights.clone(), net.parameters())
            optimizer = OPTIMIZERS[args.optimizer](net.parameters())
            for indices in part:
                optimizer.zero_grad()
                loss_of(net, data.points[indices], data.classes[indices], args).backward()
                optimizer.step()
            total += sum(map(len, part)) * parameters_to_vector(net.parameters()).detach().double()
        weights = (total / sum(len(indices) for part in parts for indices in part)).float()
    vector_to_parameters(weights, net.parameters())
    run = _safetensors.read(args.weights)
    there = torch.cat([run[name].flatten() for name, _ in net.named_parameters()])
    print(json.dumps({"off": float((weights - there).norm() / there.norm())}))


def misuse(args, net, optimizer, loss):
    """What a script may get wrong, in the middle of its loop."""
    if args.misuse == "twice":
        optimizer.step()
    elif args.misuse == "shape":
        net[2] = torch.nn.Linear(32, 3)
    elif args.misuse == "group":
        optimizer.add_param_group({"params": [torch.nn.Parameter(torch.zeros(2))]})
    elif args.misuse == "nan":
        with torch.no_grad():
            net[0].weight.fill_(float("nan"))
    return loss


def train(args):
    job = op.init()
    net, optimizer = make(args)
    if args.misuse == "zero":
        job.wrap(net, optimizer, local_steps=0)
    if args.misuse == "server":
        net, optimizer = job.wrap(net, op.LAMB(net.parameters()))
    net, optimizer = job.wrap(net, optimizer, local_steps=args.local_steps,
                              examples=2048 if args.own_data else None)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda _epoch: 1.0)
    job.keep(schedule)
    if args.misuse == "loader":
        optimizer.step()
    if args.misuse == "sampler":
        job.sampler(Points())
    data = (DataLoader(Stream(job.rank or 0), batch_size=32) if args.own_data else
            job.loader(Points(), batch_size=32, num_workers=args.processes))
    steps = 0
    for epoch in job.epochs(args.epochs):
        for x, y, *indices in data:
            optimizer.zero_grad()
            loss = loss_of(net, x, y, args)
            if args.told:
                job.backward(loss)
            else:
                loss.backward()
            version = job.version
            if indices and not job.over and job.rank is not None:
                print(json.dumps({"batch": indices[0].tolist(), "version": version}))
            if args.pause:
                time.sleep(args.pause)
            optimizer.step()
            steps += 1
            if steps == args.die_at and job.rank == 1 and not os.path.exists("died"):
                open("died", "w").close()
                os.kill(os.getpid(), signal.SIGKILL)
            if args.misuse and steps == 1:
                loss = misuse(args, net, optimizer, loss)
            if args.nan_at and steps == args.nan_at and job.rank == 0:
                misuse(argparse.Namespace(misuse="nan"), net, optimizer, loss)
            if job.over or args.leave_after == steps:
                break
        schedule.step()
        job.evaluate(lambda: measure(net, args))
        if args.leave_after == steps:
            break
    print(json.dumps({"steps": steps}), flush=True)


@torch.no_grad()
def measure(net, args):
    data = Points()
    return {"loss": loss_of(net, data.points, data.classes, args).item()}


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--local-steps", type=int)
    options.add_argument("--optimizer", default="sgd", choices=OPTIMIZERS)
    options.add_argument("--epochs", type=int, default=2)
    options.add_argument("--processes", type=int, default=0)
    options.add_argument("--pause", type=float, default=0.0, help="seconds a step")
    options.add_argument("--leave-after", type=int, default=-1, help="steps")
    options.add_argument("--nan-at", type=int, default=0, help="step")
    options.add_argument("--misuse", default="")
    options.add_argument("--die-at", type=int, default=0, help="step of rank 1's first process")
    options.add_argument("--twin", help="mini-batches, as JSON")
    options.add_argument("--averaging-twin", help="mini-batches of each part of each update, as JSON")
    options.add_argument("--weights", help="a run's")
    for flag in ("bf16", "lora", "normalised", "own-data", "told", "other-base"):
        options.add_argument(f"--{flag}", action="store_true")
    args = options.parse_args()
    if args.other_base:
        args.other_base = os.environ.get("OUTPACE_WORKER") == "1"
    (twin if args.twin else averaging_twin if args.averaging_twin else train)(args)


if __name__ == "__main__":
    sys.exit(main())
