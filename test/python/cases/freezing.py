"""A network whose parts are frozen and unfrozen as it trains; tested by python_kinds_test.py.

    freezing.py train WHEN             a worker; WHEN the body is frozen: "before" or "after" wrap()
    freezing.py twin BATCHES PATH      PyTorch alone, on the same mini-batches: how far the change of
                                       its weights is from that of the weights in PATH
"""

import json
import sys

import torch
import torch.nn.functional as F
from torch.utils.data import TensorDataset

import outpace.torch as op
from outpace.torch import _safetensors

EPOCHS = 4


def parts():
    random = torch.Generator().manual_seed(5)
    x = torch.randn(128, 6, generator=random)
    torch.manual_seed(3)
    net = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))
    return x, (x[:, 0] * x[:, 1] > 0).long(), net, torch.optim.AdamW(net.parameters(), lr=0.01,
                                                                    weight_decay=0.1)


def freeze(net, epoch):
    """The body at first, nothing, the body again, and the head at last."""
    net[0].requires_grad_(epoch in (1, 3))
    net[2].requires_grad_(epoch != 3)


def train(when):
    x, y, net, optimizer = parts()
    job = op.init()
    if when == "before":
        freeze(net, 0)
    net, optimizer = job.wrap(net, optimizer)
    batches, moved = [], []
    for epoch in job.epochs(EPOCHS):
        freeze(net, epoch)
        body = net[0].weight.detach().clone()
        for a, b, indices in job.loader(TensorDataset(x, y, torch.arange(len(x)))):
            batches.append((job.version, epoch, indices.tolist()))
            if job.backward(F.cross_entropy(net(a), b)):
                optimizer.step()
        moved.append((net[0].weight - body).abs().max().item())
    print(json.dumps({"rank": job.rank, "batches": batches, "moved": moved}))


def twin(batches, path):
    x, y, net, optimizer = parts()
    begin = {name: one.detach().clone() for name, one in net.named_parameters()}
    for epoch, updates in enumerate(json.loads(batches)):
        freeze(net, epoch)
        for indices in updates:
            optimizer.zero_grad(set_to_none=True)
            F.cross_entropy(net(x[indices]), y[indices]).backward()
            optimizer.step()
    theirs = _safetensors.read(path)
    change, off = (torch.cat([(one - other[name]).detach().flatten()
                              for name, one in net.named_parameters()])
                   for other in (begin, theirs))
    print(json.dumps({"relative_l2": (off.norm() / change.norm()).item()}))


if __name__ == "__main__":
    torch.set_num_threads(1)
    {"train": train, "twin": twin}[sys.argv[1]](*sys.argv[2:])
