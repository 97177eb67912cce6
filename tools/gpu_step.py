"""gpu_step.py: trains a network of a usual kind on a GPU, on data that it makes up there.

Alone it is PyTorch; by `outpace run` or `outpace profile` it is a worker. Prints the median of a
step's seconds: {"step_seconds": ...}. With --trace, more steps follow under PyTorch's profiler.
"""

import argparse
import json
import pathlib
import statistics
import sys
import time

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import Dataset

import outpace.torch as op

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "examples" / "python"))
from resnet import resnet18  # noqa: E402 (its folder has just been added)

WARM_UP = 10  # Steps: the first ones choose kernels and allocate memory.
WORDS, LENGTH, WIDTH = 8192, 128, 512  # The transformer's.


class Indices(Dataset):
    """Its examples are their numbers, so that no time goes to loading."""

    def __init__(self, size):
        self.size = size

    def __len__(self):
        return self.size

    def __getitem__(self, index):
        return index


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        self.blocks = nn.ModuleList(
            nn.TransformerEncoderLayer(WIDTH, 8, 4 * WIDTH, dropout=0.0, batch_first=True)
            for _ in range(6))
        self.head = nn.Linear(WIDTH, WORDS)

    def forward(self, x):
        x = self.words(x)
        for block in self.blocks:
            x = block(x)
        return self.head(x).flatten(0, 1)


def wide_mlp():
    """Nearly all weights are in the first two layers, and it hardly computes."""
    return nn.Sequential(nn.Linear(3072, 4096), nn.ReLU(), nn.Linear(4096, 4096), nn.ReLU(),
                         nn.Linear(4096, 10))


NETWORKS = {
    "resnet18": lambda: resnet18(64),
    "transformer": Transformer,
    "mlp": wide_mlp,
}


def batch_of(network, examples, device):
    """Inputs and classes."""
    if network == "transformer":
        text = torch.randint(WORDS, (examples, LENGTH), device=device)
        return text, text.flatten()
    shape = (3, 32, 32) if network == "resnet18" else (3072,)
    return (torch.randn(examples, *shape, device=device),
            torch.randint(10, (examples,), device=device))


def profiler(steps, shapes):
    schedule = torch.profiler.schedule(wait=0, warmup=2, active=steps, repeat=1)
    return torch.profiler.profile(schedule=schedule, record_shapes=shapes)


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--network", choices=NETWORKS, required=True)
    options.add_argument("--batch", type=int, required=True, help="examples of a mini-batch")
    options.add_argument("--steps", type=int, default=60)
    options.add_argument("--device", default="cuda")
    options.add_argument("--trace", metavar="FILE", help="only alone; with the tensors' shapes")
    options.add_argument("--bare-trace", metavar="FILE", help="the same without, which is faster")
    args = options.parse_args()
    torch.manual_seed(1)
    net = NETWORKS[args.network]().to(args.device)
    inputs, classes = batch_of(args.network, args.batch, args.device)
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-3, momentum=0.9)
    job = op.init()
    net, optimizer = job.wrap(net, optimizer, buffers="own")
    data = job.loader(Indices(args.batch * args.steps), batch_size=args.batch)

    def steps(after=lambda: None):
        begun = []
        for _ in data:
            begun.append(time.monotonic())
            if job.backward(F.cross_entropy(net(inputs), classes)):
                optimizer.step()
            after()
        ends = begun[WARM_UP:]
        return statistics.median(b - a for a, b in zip(ends, ends[1:]))

    print(json.dumps({"step_seconds": steps()}), flush=True)
    for path, shapes in ((args.trace, True), (args.bare_trace, False)):
        if path:
            with profiler(args.steps - 2, shapes) as traced:
                steps(traced.step)
            traced.export_chrome_trace(path)


if __name__ == "__main__":
    main()
