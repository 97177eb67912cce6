"""AdamW, a cosine schedule, and a DataLoader of two processes, on Outpace.

    python3 adamw.py                              # alone
    outpace run --workers 4 -- python3 adamw.py   # on Outpace

The schedule steps once an epoch, on every worker alike. The DataLoader's processes load the
examples of the next mini-batches while this one computes.
"""

import argparse

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import Dataset

import outpace.torch as op

import fashion


class Augmented(Dataset):
    """Images that are mirrored and shifted at random; this takes time, which processes hide."""

    def __init__(self, images):
        self.images = images

    def __len__(self):
        return len(self.images)

    def __getitem__(self, index):
        image, label = self.images[index]
        if torch.rand(()) < 0.5:
            image = image.flip(2)
        across, down = torch.randint(-2, 3, (2,)).tolist()
        return torch.roll(image, (across, down), dims=(1, 2)), label


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--epochs", type=int, default=5)
    options.add_argument("--examples", type=int, default=60_000, help="of the data set, the first")
    args = options.parse_args()

    torch.manual_seed(1)
    torch.set_num_threads(1)
    train = Augmented(fashion.load("train", args.examples))
    images, classes = fashion.load("t10k").tensors
    net = nn.Sequential(nn.Flatten(), nn.Linear(784, 128), nn.GELU(), nn.Linear(128, 10))
    # Biases do not decay: two groups, each with options of its own.
    optimizer = torch.optim.AdamW([
        {"params": [one for one in net.parameters() if one.dim() > 1], "weight_decay": 0.01},
        {"params": [one for one in net.parameters() if one.dim() == 1], "weight_decay": 0.0},
    ], lr=0.001)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=args.epochs)

    job = op.init()
    net, optimizer = job.wrap(net, optimizer)
    data = job.loader(train, num_workers=2)

    def measure():
        with torch.no_grad():
            answers = net(images)
        return ((answers.argmax(1) == classes).float().mean().item(),
                F.cross_entropy(answers, classes).item())

    for _ in job.epochs(args.epochs):
        for x, y in data:
            loss = F.cross_entropy(net(x), y)
            if job.backward(loss):
                job.clip_grad_norm(5.0)
                optimizer.step()
        schedule.step()
        job.evaluate(measure)
    print(f"{job.version} updates, accuracy {measure()[0]:.3f}")


if __name__ == "__main__":
    main()
