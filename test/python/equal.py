"""equal.py OPTIMIZER BATCHES WEIGHTS DEVICE: trains on given mini-batches by PyTorch alone.

Prints how far the change of its weights is from that of WEIGHTS, a safetensors file, in relation to
its own: {"relative_l2": ...}.
"""

import json
import pathlib
import sys

import torch
import torch.nn.functional as F

from outpace.torch import _safetensors
from script import OPTIMIZERS, Points, groups, network


def main():
    kind, batches, weights, device = sys.argv[1:]
    torch.set_num_threads(1)
    net, points = network().to(device), Points()
    inputs, classes = points.points.to(device), points.classes.to(device)
    begin = {name: one.detach().clone() for name, one in net.named_parameters()}
    optimizer = groups(net) if kind == "groups" else OPTIMIZERS[kind](net.parameters())
    for indices in json.loads(pathlib.Path(batches).read_text()):
        optimizer.zero_grad()
        F.cross_entropy(net(inputs[indices]), classes[indices]).backward()
        optimizer.step()
    job = _safetensors.read(weights)
    assert sorted(job) == sorted(begin), (list(job), list(begin))
    own = torch.cat([(one.detach() - begin[name]).flatten().cpu()
                     for name, one in net.named_parameters()])
    theirs = torch.cat([(job[name] - begin[name].cpu()).flatten() for name in begin])
    print(json.dumps({"relative_l2": ((theirs - own).norm() / own.norm()).item()}))


if __name__ == "__main__":
    main()
