"""A sub-pixel convolutional network that doubles the resolution of Fashion-MNIST's images.

    python3 super_resolution.py                              # alone
    outpace run --workers 4 -- python3 super_resolution.py   # on Outpace

The lines marked + are Outpace's. Shi et al., "Real-Time Single Image and Video Super-Resolution Using
an Efficient Sub-Pixel Convolutional Neural Network", 2016.
"""

import argparse
import math

import torch
import torch.nn.functional as F
from torch import nn

import outpace.torch as op  # +

import fashion

FACTOR = 2


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 5, padding=2)
        self.conv2 = nn.Conv2d(16, 16, 3, padding=1)
        self.conv3 = nn.Conv2d(16, 16, 3, padding=1)
        self.conv4 = nn.Conv2d(16, FACTOR**2, 3, padding=1)
        self.pixel_shuffle = nn.PixelShuffle(FACTOR)
        for layer in (self.conv1, self.conv2, self.conv3):
            nn.init.orthogonal_(layer.weight, nn.init.calculate_gain("relu"))
        nn.init.orthogonal_(self.conv4.weight)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.relu(self.conv2(x))
        x = F.relu(self.conv3(x))
        return self.pixel_shuffle(self.conv4(x))


def smaller(images):
    return F.avg_pool2d(images, FACTOR)


def train(job, net, data, optimizer):  # +
    for images, _ in data:
        optimizer.zero_grad()
        loss = F.mse_loss(net(smaller(images)), images)
        job.backward(loss)  # +, in place of loss.backward()
        optimizer.step()


def test(net, images):
    """The mean peak signal-to-noise ratio, in dB."""
    with torch.no_grad():
        errors = (net(smaller(images)) - images).pow(2).mean(dim=(1, 2, 3))
    return {"loss": errors.mean().item(), "psnr": -10 * errors.log().mean().item() / math.log(10)}


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--batch-size", type=int, default=32, help="alone")
    options.add_argument("--epochs", type=int, default=4)
    options.add_argument("--examples", type=int, default=2400, help="of the data set, the first")
    options.add_argument("--tests", type=int, default=500, help="of the test images, the first")
    options.add_argument("--lr", type=float, default=1e-3)
    options.add_argument("--seed", type=int, default=1)
    args = options.parse_args()

    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    images, _ = fashion.load("t10k", args.tests).tensors
    net = Net()
    optimizer = torch.optim.Adam(net.parameters(), lr=args.lr)

    job = op.init()  # +
    net, optimizer = job.wrap(net, optimizer)  # +
    data = job.loader(fashion.load("train", args.examples), batch_size=args.batch_size)  # +

    for _ in job.epochs(args.epochs):  # +, in place of range(args.epochs)
        train(job, net, data, optimizer)  # +
        job.evaluate(lambda: test(net, images))  # +


if __name__ == "__main__":
    main()
