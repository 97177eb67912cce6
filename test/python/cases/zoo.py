"""Parameters and buffers of all kinds in one network; tested by python_kinds_test.py.

    zoo.py train         a worker, or the evaluator
    zoo.py loads PATH    what the weights of a run measure
"""

import json
import sys

import torch
import torch.nn.functional as F
from torch.nn.utils import parametrizations, weight_norm
from torch.utils.checkpoint import checkpoint
from torch.utils.data import TensorDataset

import outpace.torch as op


class Zoo(torch.nn.Module):
    """One layer of each kind, whose answers add up."""

    def __init__(self):
        super().__init__()
        self.plain = torch.nn.Linear(6, 6)
        self.tied = torch.nn.Linear(6, 6)
        self.tied.weight = self.plain.weight
        self.scale = torch.nn.Parameter(torch.tensor(1.0))  # Without dimensions.
        self.turned = torch.nn.Parameter(torch.randn(6, 6).t())  # Not contiguous.
        self.normed = weight_norm(torch.nn.Linear(6, 6))
        self.orthogonal = parametrizations.orthogonal(torch.nn.Linear(6, 6))
        self.recurrent = torch.nn.LSTM(6, 6, num_layers=2, batch_first=True)
        self.attention = torch.nn.MultiheadAttention(6, 2, batch_first=True)
        self.pixels = torch.nn.Conv2d(1, 4, 2).to(memory_format=torch.channels_last)
        self.words = torch.nn.Embedding(6, 6)
        self.again = torch.nn.Linear(6, 6)
        self.unused = torch.nn.Linear(6, 6)
        self.frozen = torch.nn.Linear(6, 6)
        self.frozen.requires_grad_(False)
        self.register_buffer("passes", torch.zeros((), dtype=torch.int64))
        self.register_buffer("chosen", torch.tensor([True, False, True, True, False, True]))
        self.register_buffer("mask", torch.tensor([0.0, 0, 0, 0, 0, -torch.inf]))
        self.register_buffer("wave", torch.tensor([1 + 2j]))

    def forward(self, x):
        if self.training:
            self.passes += 1
        row = x.unsqueeze(1)
        answer = self.tied(torch.tanh(self.plain(x))) * self.scale + x @ self.turned
        answer = answer + self.normed(x) + self.orthogonal(x) + self.frozen(x)
        answer = answer + self.recurrent(row)[0].squeeze(1) + self.attention(row, row, row)[0].squeeze(1)
        answer = answer + self.pixels(x.view(-1, 1, 2, 3)).mean((1, 2, 3)).unsqueeze(1)
        answer = answer + self.words(x.argmax(1)) * self.chosen
        answer = answer + checkpoint(lambda one: torch.relu(self.again(one)), answer)
        return answer + torch.softmax(self.mask, 0) * self.wave.real


def points():
    x = torch.randn(640, 6, generator=torch.Generator().manual_seed(5))
    return x, x.flip(1)


def loss_of(net):
    x, y = points()
    net.eval()
    with torch.no_grad():
        loss = F.mse_loss(net(x), y).item()
    net.train()
    return loss


def train():
    net = Zoo()
    optimizer = torch.optim.Adam((one for one in net.parameters() if one is not net.frozen.bias),
                                 lr=0.01)
    job = op.init()
    net, optimizer = job.wrap(net, optimizer)
    first = loss_of(net)
    data = job.loader(TensorDataset(*points()))
    for _ in job.epochs(4):
        for a, b in data:
            if job.backward(F.mse_loss(net(a), b)):
                optimizer.step()
        job.evaluate(lambda: {"loss": loss_of(net)})
    job.save("zoo.safetensors")
    print(json.dumps({"rank": job.rank, "first": first, "last": loss_of(net),
                      "passes": int(net.passes)}))


def loads(path):
    net = Zoo()
    job = op.init()
    net, _ = job.wrap(net, torch.optim.Adam(net.parameters()))
    job.load(path)
    print(json.dumps({"loss": loss_of(net), "passes": int(net.passes),
                      "mask": net.mask.tolist()[-1] == -torch.inf}))


if __name__ == "__main__":
    torch.set_num_threads(1)
    torch.manual_seed(1)
    {"train": train, "loads": loads}[sys.argv[1]](*sys.argv[2:])
