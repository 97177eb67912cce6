"""Loops that people write around one network, by name; tested by python_kinds_test.py.

Prints JSON: {"rank": ..., and what the case found}.
"""

import json
import os
import sys

import torch
import torch.nn.functional as F
from torch.utils.data import TensorDataset

import outpace.torch as op


def say(job, **found):
    print(json.dumps({"rank": job.rank, **found}), flush=True)


def line(job, examples=640, rate=0.05):
    """A line to fit: network, optimizer, loader, and the loss over all examples."""
    random = torch.Generator().manual_seed(5)
    x = torch.randn(examples, 4, generator=random)
    y = x.sum(1, keepdim=True)
    net = torch.nn.Linear(4, 1)
    net, optimizer = job.wrap(net, torch.optim.SGD(net.parameters(), lr=rate))

    def loss():
        with torch.no_grad():
            return F.mse_loss(net(x), y).item()

    return net, optimizer, job.loader(TensorDataset(x, y)), loss


def losses(job, how):
    """Two losses, each with a pass of its own: the gradient is that of their sum."""
    net, optimizer, data, _ = line(job)
    off = 0.0
    for _ in job.epochs(2):
        for a, b in data:
            out = net(a)
            pair = F.mse_loss(out, b), out.abs().mean()
            wanted = torch.autograd.grad(sum(pair), list(net.parameters()), retain_graph=True)
            counted = {"examples": len(a)} if how == "counted" else {}
            job.backward(pair[0], retain_graph=True, **counted)
            if job.backward(pair[1], **counted):
                off = max(off, *((one.grad - other).abs().max().item()
                                 for one, other in zip(net.parameters(), wanted)))
                optimizer.step()
    say(job, off=off)


def scaler(job):
    """A scale that is too large at first, as a GradScaler's: no step is made until it is not."""
    net, optimizer, data, loss = line(job)
    scale, skipped = 2.0 ** 150, 0
    for _ in job.epochs(6):
        for a, b in data:
            value = F.mse_loss(net(a), b)
            if not job.backward(value * scale, value=value.item()):
                continue
            if not all(torch.isfinite(one.grad).all() for one in net.parameters()):
                scale /= 2.0 ** 20
                skipped += 1
                continue
            for one in net.parameters():
                one.grad /= scale
            optimizer.step()
    say(job, skipped=skipped, loss=loss())


def few(job):
    """Fewer examples than a mini-batch has."""
    net, optimizer, data, _ = line(job, examples=7)
    sizes = []
    for _ in job.epochs(4):
        for a, b in data:
            if job.backward(F.mse_loss(net(a), b)):
                sizes.append(len(a))
                optimizer.step()
    say(job, sizes=sizes)


def forked(job):
    """A child that ends as scripts end."""
    net, optimizer, data, _ = line(job)
    codes = []
    for _ in job.epochs(2):
        for count, (a, b) in enumerate(data):
            if job.backward(F.mse_loss(net(a), b)):
                optimizer.step()
            if count == 1:
                child = os.fork()
                if child == 0:
                    sys.exit(7)
                codes.append(os.waitpid(child, 0)[1] >> 8)
    say(job, codes=codes)


CASES = {"losses": losses, "scaler": scaler, "few": few, "forked": forked}

if __name__ == "__main__":
    torch.set_num_threads(1)
    torch.manual_seed(1)
    CASES[sys.argv[1]](op.init(), *sys.argv[2:])
