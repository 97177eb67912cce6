"""The training script that local_steps_beside_ddp.py runs, by DistributedDataParallel or by Outpace.

    torchrun --nproc_per_node 4 train_local_steps.py ddp --delays FILE --folder FOLDER
    outpace run --workers 4 --local-steps 50 -- python3 train_local_steps.py outpace --delays FILE --folder FOLDER

Network, data, optimizer and delays are the same, and each loop is the plain one of its system. A
delay is how long a step takes, its forward pass included: the worker waits between forward and
backward pass until that time has passed. Each worker leaves FOLDER/worker-RANK.json.
"""

import argparse
import json
import pathlib
import time

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler

import train_either

STEPS_TOGETHER = 10  # Steps of DDP between two looks at whether the time is over.


class Worker:
    """One worker's delays, and the processor time since it began its first step."""

    def __init__(self, args, rank, released=None):
        """It has had its first mini-batch since `released`, if it waited for the clock."""
        self.rank, self.folder = rank, pathlib.Path(args.folder)
        self.delays = train_either.Delays(args.delays, rank, args.period, self.folder / "start")
        self.used, self.begun = time.process_time(), time.monotonic()
        self.waited = 0.0 if released is None else self.delays.started - released

    def fill(self, begun):
        """Waits until the step that began then has taken its time."""
        takes = train_either.compute_seconds(self.delays.column, self.delays.period,
                                             begun - self.delays.started)
        time.sleep(max(0.0, begun + takes - time.monotonic()))

    def report(self):
        (self.folder / f"worker-{self.rank}.json").write_text(json.dumps({
            "processor": time.process_time() - self.used, "seconds": time.monotonic() - self.begun,
            "waited": self.waited}))


def measure(net, test):
    """Accuracy and mean loss."""
    images, classes = test.tensors
    with torch.no_grad():
        found = torch.cat([net(some) for some in images.split(1000)])
    return (found.argmax(1) == classes).float().mean().item(), F.cross_entropy(found, classes).item()


def optimizer_of(net, args):
    return torch.optim.SGD(net.parameters(), lr=args.lr, momentum=args.momentum)


def endless(data, sampler):
    epoch = 0
    while True:
        sampler.set_epoch(epoch)
        yield from data
        epoch += 1


def train_by_ddp(args, net, train, test):
    """Worker 0 keeps a copy of the weights every --every seconds, and measures them after the end."""
    dist.init_process_group("gloo")
    rank, workers = dist.get_rank(), dist.get_world_size()
    parallel = DistributedDataParallel(net)
    optimizer = optimizer_of(parallel, args)
    sampler = DistributedSampler(train, seed=args.seed)
    data = endless(DataLoader(train, args.batch, sampler=sampler), sampler)
    dist.barrier()
    worker = Worker(args, rank)
    kept, steps, over = [], 0, torch.zeros(1)
    while not over.item():
        images, classes = next(data)
        begun = time.monotonic()
        optimizer.zero_grad()
        loss = F.cross_entropy(parallel(images), classes)
        worker.fill(begun)
        loss.backward()
        optimizer.step()
        steps += 1
        seconds = time.monotonic() - worker.begun
        if rank == 0 and seconds >= args.every * (len(kept) + 1):
            kept.append((seconds, {name: value.clone() for name, value in net.state_dict().items()}))
        if steps % STEPS_TOGETHER == 0:
            over[0] = seconds >= args.seconds
            dist.broadcast(over, 0)
    worker.report()
    if rank == 0:
        losses = []
        for moment, weights in kept:
            net.load_state_dict(weights)
            losses.append((moment, measure(net, test)[1]))
        (worker.folder / "ddp.json").write_text(json.dumps({
            "examples_per_second": steps * args.batch * workers / seconds, "losses": losses}))


def train_by_outpace(args, net, train, test):
    """The clock starts when the evaluator is there, so that no weights go unmeasured."""
    import outpace.torch as op

    job = op.init()
    net, optimizer = job.wrap(net, optimizer_of(net, args))
    data = job.loader(train)
    ready = pathlib.Path(args.folder) / "evaluator"
    worker = None
    for _ in job.epochs(10_000):  # `outpace run` says when it is over.
        for images, classes in data:
            if worker is None:
                released = time.monotonic()
                if job.rank is None:  # The evaluator stays in evaluate() until the run is over.
                    ready.touch()
                job.evaluate(lambda: measure(net, test))
                if job.rank is None:
                    return
                wait_for(ready)
                worker = Worker(args, job.rank, released)
            begun = time.monotonic()
            optimizer.zero_grad()
            loss = F.cross_entropy(net(images), classes)
            worker.fill(begun)
            loss.backward()
            optimizer.step()
    worker.report()


def wait_for(path):
    while not path.exists():
        time.sleep(0.01)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("way", choices=("ddp", "outpace"))
    parser.add_argument("--network", choices=train_either.NETWORKS, default="mlp")
    parser.add_argument("--lr", type=float, default=0.02)
    parser.add_argument("--momentum", type=float, default=0.9)
    parser.add_argument("--batch", type=int, default=32, help="under DDP; else the server's")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--delays", metavar="FILE", help="a column of seconds for each worker")
    parser.add_argument("--period", type=float, default=16.0, help="seconds of a row")
    parser.add_argument("--folder", help="an empty one, for what the workers leave")
    parser.add_argument("--seconds", type=float, default=60.0, help="ddp: of the run")
    parser.add_argument("--every", type=float, default=1.0, help="ddp: seconds between two copies")
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    net = train_either.NETWORKS[args.network]()
    ways = {"ddp": train_by_ddp, "outpace": train_by_outpace}
    ways[args.way](args, net, train_either.load("train"), train_either.load("t10k"))


if __name__ == "__main__":
    main()
