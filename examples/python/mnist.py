"""A convolutional network with dropout on Fashion-MNIST; the rate of Adadelta falls every epoch.

    python3 mnist.py                              # alone
    outpace run --workers 4 -- python3 mnist.py   # on Outpace

The lines marked + are Outpace's.
"""

import argparse

import torch
import torch.nn.functional as F
from torch import nn
from torch.optim.lr_scheduler import StepLR

import outpace.torch as op  # +

import fashion


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, stride=2)
        self.conv2 = nn.Conv2d(8, 16, 3)
        self.dropout1 = nn.Dropout(0.25)
        self.dropout2 = nn.Dropout(0.5)
        self.fc1 = nn.Linear(400, 64)
        self.fc2 = nn.Linear(64, 10)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = torch.flatten(self.dropout1(x), 1)
        x = self.dropout2(F.relu(self.fc1(x)))
        return F.log_softmax(self.fc2(x), dim=1)


def train(job, net, data, optimizer):  # +
    net.train()
    for images, classes in data:
        optimizer.zero_grad()
        loss = F.nll_loss(net(images), classes)
        job.backward(loss)  # +, in place of loss.backward()
        optimizer.step()


def test(net, images, classes):
    """Accuracy and mean loss."""
    net.eval()
    with torch.no_grad():
        answers = torch.cat([net(some) for some in images.split(1000)])
    return ((answers.argmax(1) == classes).float().mean().item(),
            F.nll_loss(answers, classes).item())


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--batch-size", type=int, default=32, help="alone")
    options.add_argument("--epochs", type=int, default=4)
    options.add_argument("--examples", type=int, default=4800, help="of the data set, the first")
    options.add_argument("--tests", type=int, default=1000, help="of the test images, the first")
    options.add_argument("--lr", type=float, default=1.0)
    options.add_argument("--gamma", type=float, default=0.7, help="of the rate, each epoch")
    options.add_argument("--seed", type=int, default=1)
    args = options.parse_args()

    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    images, classes = fashion.load("t10k", args.tests).tensors
    net = Net()
    optimizer = torch.optim.Adadelta(net.parameters(), lr=args.lr)
    schedule = StepLR(optimizer, step_size=1, gamma=args.gamma)

    job = op.init()  # +
    net, optimizer = job.wrap(net, optimizer)  # +
    data = job.loader(fashion.load("train", args.examples), batch_size=args.batch_size)  # +

    for _ in job.epochs(args.epochs):  # +, in place of range(args.epochs)
        train(job, net, data, optimizer)  # +
        job.evaluate(lambda: test(net, images, classes))  # +
        schedule.step()


if __name__ == "__main__":
    main()
