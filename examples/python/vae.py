"""A variational autoencoder of Fashion-MNIST, by Adam; its loss is a sum over the mini-batch.

    python3 vae.py                              # alone
    outpace run --workers 4 -- python3 vae.py   # on Outpace

The lines marked + are Outpace's. Each worker draws noise of its own. Kingma, Welling, "Auto-Encoding
Variational Bayes", 2014, appendix B.
"""

import argparse

import torch
import torch.nn.functional as F
from torch import nn

import outpace.torch as op  # +

import fashion


class Autoencoder(nn.Module):
    def __init__(self, codes):
        super().__init__()
        self.encode = nn.Linear(784, 200)
        self.mean = nn.Linear(200, codes)
        self.log_variance = nn.Linear(200, codes)
        self.decode = nn.Sequential(nn.Linear(codes, 200), nn.ReLU(), nn.Linear(200, 784))

    def forward(self, images):
        hidden = F.relu(self.encode(images.view(-1, 784)))
        mean, log_variance = self.mean(hidden), self.log_variance(hidden)
        code = mean + torch.randn_like(mean) * torch.exp(0.5 * log_variance)
        return torch.sigmoid(self.decode(code)), mean, log_variance


def loss_of(found, images):
    """The error of the images and the divergence of the codes from a normal distribution, summed
    over the mini-batch."""
    images_again, mean, log_variance = found
    error = F.binary_cross_entropy(images_again, images.view(-1, 784), reduction="sum")
    divergence = -0.5 * torch.sum(1 + log_variance - mean.pow(2) - log_variance.exp())
    return error + divergence


def train(job, net, data, optimizer):  # +
    net.train()
    for images, _ in data:
        optimizer.zero_grad()
        loss = loss_of(net(images), images)
        job.backward(loss, value=loss.item() / len(images))  # +, in place of loss.backward()
        optimizer.step()


def test(net, images):
    """The loss of an image."""
    net.eval()
    with torch.no_grad():
        return {"loss": loss_of(net(images), images).item() / len(images)}


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--batch-size", type=int, default=32, help="alone")
    options.add_argument("--epochs", type=int, default=4)
    options.add_argument("--examples", type=int, default=4800, help="of the data set, the first")
    options.add_argument("--tests", type=int, default=1000, help="of the test images, the first")
    options.add_argument("--codes", type=int, default=10, help="numbers of an image's code")
    options.add_argument("--lr", type=float, default=1e-3)
    options.add_argument("--seed", type=int, default=1)
    args = options.parse_args()

    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    images, _ = fashion.load("t10k", args.tests).tensors
    net = Autoencoder(args.codes)
    optimizer = torch.optim.Adam(net.parameters(), lr=args.lr)

    job = op.init()  # +
    net, optimizer = job.wrap(net, optimizer)  # +
    data = job.loader(fashion.load("train", args.examples), batch_size=args.batch_size)  # +

    for _ in job.epochs(args.epochs):  # +, in place of range(args.epochs)
        train(job, net, data, optimizer)  # +
        job.evaluate(lambda: test(net, images))  # +


if __name__ == "__main__":
    main()
