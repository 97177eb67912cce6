"""The training script that bench_python.py runs: by DistributedDataParallel, by Outpace, or timed.

    torchrun --nproc_per_node 8 train_either.py ddp --delays calm-8.csv --start FILE --result FILE
    outpace run --workers 8 -- python3 train_either.py outpace --delays calm-8.csv --start FILE
    outpace run --workers 1 -- python3 train_either.py timed --result FILE

Network, data, mini-batches, optimizer and delays are the same. A delay is the seconds that a
mini-batch takes on top of the real computing. The row of the trace is that of the run's time, the
same for all workers: a slow period lasts its time, even if workers wait.
"""

import argparse
import csv
import json
import os
import pathlib
import statistics
import sys
import time

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "examples" / "python"))
import fashion  # noqa: E402 (its folder has just been added)

POLL_SECONDS = 0.005  # Between two looks at whether a delayed mini-batch is still wanted.
WARM_UP = 20  # Iterations that `timed` leaves out.


def load(kind):
    """Fashion-MNIST, normalised by the training pixels as `outpace train` does it."""
    images, classes = fashion.load(kind).tensors
    return TensorDataset((images - 0.2860) / 0.3530, classes)


def mlp():
    """As `outpace train --network mlp`."""
    return nn.Sequential(nn.Flatten(), nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10))


def cnn():
    """As `outpace train --network cnn`."""
    layers, planes = [], 1
    for more in (16, 32, 32):
        layers += [nn.Conv2d(planes, more, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)]
        planes = more
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(planes * 3 * 3, 10))


NETWORKS = {"mlp": mlp, "cnn": cnn}


def compute_seconds(column, period, begin):
    """How long a mini-batch takes that begins `begin` seconds into the run.

    `column` has one delay for each period of the run, and wraps round.
    """
    work, now = 1.0, begin  # `work` is the share of the mini-batch that is still to do.
    while True:
        row = int(now / period + 1e-9)
        left, delay = (row + 1) * period - now, column[row % len(column)]
        if work * delay <= left:
            return now + work * delay - begin
        work -= left / delay
        now = (row + 1) * period


class Delays:
    """Sleeps as a trace says. The clock of all workers starts when the first of them begins."""

    def __init__(self, path, worker, period, start):
        with open(path, newline="") as file:
            self.column = [float(row[worker]) for row in csv.reader(file)]
        self.period = period
        self.started = self._agree(pathlib.Path(start))

    @staticmethod
    def _agree(path):
        """The time in the file. The first worker writes it."""
        own = path.with_name(f"{path.name}.{os.getpid()}")
        own.write_text(repr(time.monotonic()))
        try:
            os.link(own, path)  # Whole or not at all, and by one worker alone.
        except FileExistsError:
            pass
        own.unlink()
        return float(path.read_text())

    def wait(self, cancelled=None, outside=0.0):
        """Sleeps as long as the mini-batch takes, or until it is cancelled. `outside` are seconds
        so far that do not count."""
        begin = time.monotonic()
        end = begin + compute_seconds(self.column, self.period, begin - self.started - outside)
        while (left := end - time.monotonic()) > 0:
            if cancelled is None:
                time.sleep(left)
            elif cancelled():
                return
            else:
                time.sleep(min(left, POLL_SECONDS))


def accuracy(net, test):
    images, classes = test.tensors
    with torch.no_grad():
        right = sum((net(some).argmax(1) == their).sum().item()
                    for some, their in zip(images.split(1000), classes.split(1000)))
    return right / len(classes)


class Target:
    """Whether as many evaluations in a row as asked have reached the target, and since when."""

    def __init__(self, accuracy, consecutive):
        self.accuracy, self.consecutive = accuracy, consecutive
        self.row, self.first = 0, None

    def reached(self, found, seconds):
        self.row = self.row + 1 if found >= self.accuracy else 0
        if self.row == 1:
            self.first = seconds
        return self.row >= self.consecutive


def train_by_ddp(args, net, train, test):
    dist.init_process_group("gloo")
    rank, workers = dist.get_rank(), dist.get_world_size()
    parallel = DistributedDataParallel(net)
    optimizer = torch.optim.SGD(parallel.parameters(), lr=args.lr)
    sampler = DistributedSampler(train, seed=args.seed)
    data = DataLoader(train, args.batch, sampler=sampler)
    target = Target(args.target, args.consecutive)
    examples, evaluated, found = 0, 0, 0.0
    dist.barrier()
    begun, outside = time.monotonic(), 0.0  # Evaluations do not count.
    delays = Delays(args.delays, rank, args.period, args.start)

    def seconds():
        return time.monotonic() - begun - outside

    over = False
    epoch = 0
    while not over:
        sampler.set_epoch(epoch)
        epoch += 1
        for images, classes in data:
            optimizer.zero_grad()
            loss = F.cross_entropy(parallel(images), classes)
            delays.wait(outside=outside)
            loss.backward()
            optimizer.step()
            examples += args.batch * workers
            if examples - evaluated < args.evaluate_every:
                continue
            evaluated, since = examples, time.monotonic()
            done = torch.zeros(1)
            if rank == 0:
                found = accuracy(net, test)
                done[0] = target.reached(found, seconds()) or seconds() > args.seconds
            dist.broadcast(done, 0)
            outside += time.monotonic() - since
            if done.item():
                over = True
                break
    if rank == 0:
        reached = target.row >= target.consecutive
        pathlib.Path(args.result).write_text(json.dumps({
            "examples_per_second": examples / seconds(), "final_accuracy": found,
            "seconds_to_target": target.first if reached else None, "seconds": seconds()}))


def train_by_outpace(args, net, train, test):
    import outpace.torch as op

    optimizer = torch.optim.SGD(net.parameters(), lr=args.lr)
    job = op.init()
    net, optimizer = job.wrap(net, optimizer)
    data = job.loader(train)
    delays = None
    for _ in job.epochs(10_000):  # `outpace run` says when it is over.
        for images, classes in data:
            delays = delays or Delays(args.delays, job.rank, args.period, args.start)
            loss = F.cross_entropy(net(images), classes)
            delays.wait(lambda: job.worker.cancelled)
            if job.backward(loss):
                optimizer.step()
        job.evaluate(lambda: accuracy(net, test))


def time_outpace(args, net, train, _test):
    """Writes the seconds of forward and backward pass, and those of push, verdict and pull."""
    import outpace.torch as op

    optimizer = torch.optim.SGD(net.parameters(), lr=args.lr)
    job = op.init()
    net, optimizer = job.wrap(net, optimizer)
    data = job.loader(train)
    passes, steps = [], []
    for _ in job.epochs(10_000):
        for images, classes in data:
            begun = time.perf_counter()
            job.backward(F.cross_entropy(net(images), classes))
            pushed = time.perf_counter()
            optimizer.step()
            steps.append(time.perf_counter() - pushed)
            passes.append(pushed - begun)
    # The last step waits for the end of the run.
    passes, steps = passes[WARM_UP:-1], steps[WARM_UP:-1]
    pathlib.Path(args.result).write_text(json.dumps({
        "iterations": len(steps),
        "pass_mean": statistics.fmean(passes), "pass_median": statistics.median(passes),
        "step_mean": statistics.fmean(steps), "step_median": statistics.median(steps)}))


WAYS = {"ddp": train_by_ddp, "outpace": train_by_outpace, "timed": time_outpace}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("way", choices=WAYS)
    parser.add_argument("--network", choices=NETWORKS, default="mlp")
    parser.add_argument("--lr", type=float, default=0.1)
    parser.add_argument("--batch", type=int, default=32, help="under DDP; else the server's")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--delays", metavar="FILE", help="a column of seconds for each worker")
    parser.add_argument("--period", type=float, default=0.02, help="seconds of a row")
    parser.add_argument("--start", metavar="FILE", help="a new one, for the start of the clock")
    parser.add_argument("--result", metavar="FILE", help="JSON; ddp and timed")
    parser.add_argument("--target", type=float, default=0.84, help="ddp: accuracy that ends it")
    parser.add_argument("--consecutive", type=int, default=3, help="ddp: evaluations in a row")
    parser.add_argument("--evaluate-every", type=int, default=5120, help="ddp: examples")
    parser.add_argument("--seconds", type=float, default=150.0, help="ddp: after which it ends")
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    WAYS[args.way](args, NETWORKS[args.network](), load("train"), load("t10k"))


if __name__ == "__main__":
    main()
