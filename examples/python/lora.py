"""LoRA: a network that was trained on images learns them upside down, by updates of low rank.

    python3 lora.py                                                # alone
    outpace run --workers 4 --local-steps 10 -- python3 lora.py    # on Outpace

Edward Hu et al., "LoRA: Low-Rank Adaptation of Large Language Models", 2022. The network itself is
frozen and stays with each worker; only the small matrices travel. The lines marked + are Outpace's.
"""

import argparse

import torch
import torch.nn.functional as F
from torch import nn

import outpace.torch as op  # +

import fashion


class LoRA(nn.Module):
    """A frozen layer, plus an update of this rank."""

    def __init__(self, layer, rank):
        super().__init__()
        self.layer = layer.requires_grad_(False)
        self.down = nn.Parameter(torch.randn(rank, layer.in_features) / layer.in_features ** 0.5)
        self.up = nn.Parameter(torch.zeros(layer.out_features, rank))

    def forward(self, x):
        return self.layer(x) + x @ self.down.t() @ self.up.t()


def pretrained(data):
    """The same on every worker, because the seed is."""
    net = nn.Sequential(nn.Flatten(), nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10))
    optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
    for images, classes in zip(data.tensors[0].split(32), data.tensors[1].split(32)):
        optimizer.zero_grad()
        F.cross_entropy(net(images), classes).backward()
        optimizer.step()
    return net


def test(net, images, classes):
    """Accuracy and mean loss upside down."""
    with torch.no_grad():
        answers = net(images.flip(2))
    return ((answers.argmax(1) == classes).float().mean().item(),
            F.cross_entropy(answers, classes).item())


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--batch-size", type=int, default=32, help="alone")
    options.add_argument("--epochs", type=int, default=4)
    options.add_argument("--examples", type=int, default=4800, help="of the data set, the first")
    options.add_argument("--tests", type=int, default=1000, help="of the test images, the first")
    options.add_argument("--rank", type=int, default=8)
    options.add_argument("--lr", type=float, default=2e-3)
    options.add_argument("--seed", type=int, default=1)
    args = options.parse_args()

    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    data = fashion.load("train", args.examples)
    images, classes = fashion.load("t10k", args.tests).tensors
    net = pretrained(data)
    net[1], net[3] = LoRA(net[1], args.rank), LoRA(net[3], args.rank)
    optimizer = torch.optim.AdamW([one for one in net.parameters() if one.requires_grad], lr=args.lr)

    job = op.init()  # +
    net, optimizer = job.wrap(net, optimizer, local_steps=10)  # +
    data = job.loader(data, batch_size=args.batch_size)  # +

    for _ in job.epochs(args.epochs):  # +, in place of range(args.epochs)
        for x, y in data:
            optimizer.zero_grad()
            F.cross_entropy(net(x.flip(2)), y).backward()
            optimizer.step()
        job.evaluate(lambda: test(net, images, classes))  # +


if __name__ == "__main__":
    main()
