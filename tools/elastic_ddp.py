"""What elastic DistributedDataParallel does of the work of `make bench-chaos`: torchrun runs it.

A perceptron (784-128-10) on Fashion-MNIST over Gloo. Each worker sleeps --delay in every step. Rank
0 writes a checkpoint every --checkpoint-every seconds. When a worker dies, torchrun stops and
restarts all, and they go on from the checkpoint. Rank 0 writes each step into the file `progress`:
the step, and the time.
"""

import argparse
import gzip
import os
import pathlib
import time

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel

ROOT = pathlib.Path("/usr/share/datasets/fashion-mnist/")


def numbers(name, offset):
    with gzip.open(ROOT / name) as file:
        return torch.frombuffer(bytearray(file.read()[offset:]), dtype=torch.uint8)


def training_data():
    images = numbers("train-images-idx3-ubyte.gz", 16).reshape(-1, 784).float() / 255
    return (images - 0.2860) / 0.3530, numbers("train-labels-idx1-ubyte.gz", 8).long()


def save(folder, step, network):
    torch.save({"step": step, "network": network.state_dict()}, folder / "checkpoint.new")
    os.replace(folder / "checkpoint.new", folder / "checkpoint")


def train(options):
    torch.set_num_threads(1)
    torch.manual_seed(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    images, labels = training_data()
    network = nn.Sequential(nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10))
    step = 0
    if (options.folder / "checkpoint").exists():
        kept = torch.load(options.folder / "checkpoint")
        step = kept["step"]
        network.load_state_dict(kept["network"])
    parallel = DistributedDataParallel(network)
    optimizer = torch.optim.SGD(parallel.parameters(), lr=0.1)
    draw = torch.Generator().manual_seed(1000 * step + rank + 1)
    progress = os.open(options.folder / "progress", os.O_WRONLY | os.O_CREAT, 0o600)
    saved = time.monotonic()
    while True:
        chosen = torch.randint(len(images), (options.batch,), generator=draw)
        optimizer.zero_grad()
        loss = F.cross_entropy(parallel(images[chosen]), labels[chosen])
        time.sleep(options.delay)
        loss.backward()
        optimizer.step()
        step += 1
        if rank == 0:
            os.pwrite(progress, f"{step:12d} {time.monotonic():20.6f}\n".encode(), 0)
            if time.monotonic() - saved >= options.checkpoint_every:
                save(options.folder, step, network)
                saved = time.monotonic()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=pathlib.Path, required=True)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--delay", type=float, default=0.05)
    parser.add_argument("--checkpoint-every", type=float, default=10.0)
    train(parser.parse_args())
