"""ResNet-18 for small images on CIFAR-10, on Outpace.

    python3 resnet.py --data FOLDER                              # alone
    outpace run --workers 4 -- python3 resnet.py --data FOLDER   # on Outpace

FOLDER has CIFAR-10's binary files. Batch normalisation, momentum, a rate that falls by steps, images
that are cropped and mirrored. Each worker normalises by its own statistics as it trains; evaluator and
saved network have their mean. He et al., "Deep Residual Learning for Image Recognition", 2016.
"""

import argparse

import torch
import torch.nn.functional as F
from torch import nn

import outpace.torch as op

import cifar

CLASSES = 10


class Block(nn.Module):
    """Two convolutions, and the input added to what they give."""

    def __init__(self, planes, more, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(planes, more, 3, stride, padding=1, bias=False)
        self.norm1 = nn.BatchNorm2d(more)
        self.conv2 = nn.Conv2d(more, more, 3, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(more)
        self.shortcut = nn.Sequential()
        if stride > 1 or planes != more:
            self.shortcut = nn.Sequential(nn.Conv2d(planes, more, 1, stride, bias=False),
                                          nn.BatchNorm2d(more))

    def forward(self, x):
        y = F.relu(self.norm1(self.conv1(x)))
        return F.relu(self.norm2(self.conv2(y)) + self.shortcut(x))


def resnet18(width):
    """`width` planes in the first of four stages, 64 as published. The first convolution is 3x3
    without pooling, because the images are small."""
    layers = [nn.Conv2d(3, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU()]
    planes = width
    for stage in range(4):
        for block in range(2):
            layers.append(Block(planes, width << stage, 2 if stage > 0 and block == 0 else 1))
            planes = width << stage
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(planes, CLASSES))


def accuracy_and_loss(net, images, classes):
    device = next(net.parameters()).device
    net.eval()
    right = loss = 0.0
    with torch.no_grad():
        for some, their in zip(images.split(250), classes.split(250)):
            answers, their = net(cifar.normalised(some).to(device)), their.to(device)
            right += (answers.argmax(1) == their).sum().item()
            loss += F.cross_entropy(answers, their, reduction="sum").item()
    net.train()
    return right / len(classes), loss / len(classes)


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--data", required=True, metavar="FOLDER", help="of CIFAR-10's *.bin")
    options.add_argument("--epochs", type=int, default=30)
    options.add_argument("--lr", type=float, default=0.05)
    options.add_argument("--device", default="cpu", help="cuda for a GPU")
    options.add_argument("--width", type=int, default=64, help="planes of the first stage")
    options.add_argument("--loaders", type=int, default=2, help="processes that load images")
    options.add_argument("--examples", type=int, help="of the training images, the first")
    options.add_argument("--tests", type=int, help="of the test images, the first")
    options.add_argument("--save", metavar="FILE", help="write the network there, as safetensors")
    args = options.parse_args()

    torch.manual_seed(1)
    torch.set_num_threads(1)
    train = cifar.Augmented(args.data, args.examples)
    images, classes = cifar.read(args.data, "test_batch.bin", args.tests)
    net = resnet18(args.width).to(args.device)
    optimizer = torch.optim.SGD(net.parameters(), lr=args.lr, momentum=0.9, weight_decay=5e-4)
    schedule = torch.optim.lr_scheduler.MultiStepLR(
        optimizer, gamma=0.1, milestones=[max(1, args.epochs // 2), max(1, args.epochs * 3 // 4)])

    job = op.init()
    net, optimizer = job.wrap(net, optimizer)  # buffers="average": the running statistics, too
    data = job.loader(train, num_workers=args.loaders)

    for _ in job.epochs(args.epochs):
        for x, y in data:
            loss = F.cross_entropy(net(x.to(args.device)), y.to(args.device))
            if job.backward(loss):
                optimizer.step()
        schedule.step()
        job.evaluate(lambda: accuracy_and_loss(net, images, classes))

    if args.save:
        job.save(args.save)
    accuracy, _ = accuracy_and_loss(net, images, classes)
    print(f"{job.version} updates, accuracy {accuracy:.3f}")


if __name__ == "__main__":
    main()
