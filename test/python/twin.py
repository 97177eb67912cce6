"""Trains what `outpace train` trains: its networks, its data, from weights in a file.

    twin.py begin NETWORK FILE           writes weights to begin with
    twin.py train NETWORK FILE RATE      a worker
    twin.py compare BEGIN ONE OTHER      prints {"relative_l2": ...}: how far the change of OTHER is
                                         from that of ONE, in relation to the change of ONE
"""

import json
import pathlib
import sys

import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

import outpace.torch as op
from outpace.torch import _safetensors

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "examples" / "python")]
import fashion  # noqa: E402 (its folder has just been added)
from train_either import NETWORKS  # noqa: E402


def network(name):
    """With the tensors' names of `outpace train`, whose mlp takes flat images."""
    net = NETWORKS[name]()
    return torch.nn.Sequential(*list(net)[1:]) if name == "mlp" else net


def train(name, begin, rate):
    images, classes = fashion.load("train").tensors
    # As src/world/learn/images.cc.
    images = (images - torch.tensor(0.2860)) / torch.tensor(0.3530)
    data = TensorDataset(images.flatten(1) if name == "mlp" else images, classes)
    net = network(name)
    optimizer = torch.optim.SGD(net.parameters(), lr=rate)
    job = op.init()
    net, optimizer = job.wrap(net, optimizer)
    job.load(begin)
    for x, y in DataLoader(data, batch_sampler=job.sampler(data)):
        if job.backward(F.cross_entropy(net(x), y)):
            optimizer.step()


def relative_l2(begin, one, other):
    begin, one, other = map(_safetensors.read, (begin, one, other))
    assert list(begin) == list(one) == list(other)
    change = torch.cat([(one[name] - begin[name]).flatten() for name in begin]).double()
    difference = torch.cat([(other[name] - one[name]).flatten() for name in begin]).double()
    return (difference.norm() / change.norm()).item()


def main():
    way, *words = sys.argv[1:]
    torch.set_num_threads(1)
    torch.manual_seed(3)
    if way == "begin":
        _safetensors.write(words[1], network(words[0]).state_dict())
    elif way == "train":
        train(words[0], words[1], float(words[2]))
    else:
        print(json.dumps({"relative_l2": relative_l2(*words)}))


if __name__ == "__main__":
    main()
