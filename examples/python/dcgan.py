"""A generator and a discriminator of Fashion-MNIST's images, with an optimizer each.

    python3 dcgan.py                              # alone
    outpace run --workers 4 -- python3 dcgan.py   # on Outpace

The lines marked + are Outpace's. Radford, Metz, Chintala, "Unsupervised Representation Learning with
Deep Convolutional Generative Adversarial Networks", 2016.
"""

import argparse

import torch
import torch.nn.functional as F
from torch import nn

import outpace.torch as op  # +

import fashion

NOISE = 32  # Numbers that an image is made of.


def first_weights(layer):
    if isinstance(layer, (nn.Conv2d, nn.ConvTranspose2d)):
        nn.init.normal_(layer.weight, 0.0, 0.02)
    elif isinstance(layer, nn.BatchNorm2d):
        nn.init.normal_(layer.weight, 1.0, 0.02)
        nn.init.zeros_(layer.bias)


def generator(planes):
    """Of noise of NOISE x 1 x 1, images of 1 x 28 x 28 from -1 to 1."""
    return nn.Sequential(
        nn.ConvTranspose2d(NOISE, 2 * planes, 7, bias=False),
        nn.BatchNorm2d(2 * planes), nn.ReLU(),
        nn.ConvTranspose2d(2 * planes, planes, 4, stride=2, padding=1, bias=False),
        nn.BatchNorm2d(planes), nn.ReLU(),
        nn.ConvTranspose2d(planes, 1, 4, stride=2, padding=1, bias=False),
        nn.Tanh()).apply(first_weights)


def discriminator(planes):
    """Of such images, how much each looks like a real one."""
    return nn.Sequential(
        nn.Conv2d(1, planes, 4, stride=2, padding=1, bias=False), nn.LeakyReLU(0.2),
        nn.Conv2d(planes, 2 * planes, 4, stride=2, padding=1, bias=False),
        nn.BatchNorm2d(2 * planes), nn.LeakyReLU(0.2),
        nn.Conv2d(2 * planes, 1, 7, bias=False), nn.Flatten(0)).apply(first_weights)


def train(job, net_d, net_g, optimizer_d, optimizer_g, data):  # +
    for images, _ in data:
        real = 2 * images - 1
        ones, zeros = torch.ones(len(real)), torch.zeros(len(real))

        optimizer_d.zero_grad()
        error_real = F.binary_cross_entropy_with_logits(net_d(real), ones)
        job.backward(error_real)  # +, in place of error_real.backward()
        fake = net_g(torch.randn(len(real), NOISE, 1, 1))
        error_fake = F.binary_cross_entropy_with_logits(net_d(fake.detach()), zeros)
        job.backward(error_fake)  # +, in place of error_fake.backward()
        optimizer_d.step()

        optimizer_g.zero_grad()
        error_g = F.binary_cross_entropy_with_logits(net_d(fake), ones)
        job.backward(error_g)  # +, in place of error_g.backward()
        optimizer_g.step()


def moments(images):
    """Mean and covariance of thumbnails of 7 x 7."""
    small = F.avg_pool2d(images, 4).flatten(1).double()
    return small.mean(0), torch.cov(small.T)


def frechet(one, other):
    """The squared Frechet distance of two normal distributions, each a mean and a covariance."""
    (mean, covariance), (other_mean, other_covariance) = one, other
    values, vectors = torch.linalg.eigh(covariance)
    root = vectors * values.clamp(min=0).sqrt() @ vectors.T
    of_product = torch.linalg.eigvalsh(root @ other_covariance @ root).clamp(min=0)
    return ((mean - other_mean).pow(2).sum() + covariance.trace() + other_covariance.trace()
            - 2 * of_product.sqrt().sum()).item()


def test(net_g, noise, real):
    """How far thumbnails of generated images are from those of real ones, which have `real`."""
    net_g.eval()
    with torch.no_grad():
        found = frechet(moments(net_g(noise)), real)
    net_g.train()
    return {"frechet": found}


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--batch-size", type=int, default=32, help="alone")
    options.add_argument("--epochs", type=int, default=4)
    options.add_argument("--examples", type=int, default=2400, help="of the data set, the first")
    options.add_argument("--tests", type=int, default=500, help="of the test images, the first")
    options.add_argument("--planes", type=int, default=16, help="of the largest layers")
    options.add_argument("--lr", type=float, default=5e-4)
    options.add_argument("--seed", type=int, default=1)
    args = options.parse_args()

    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    images, _ = fashion.load("t10k", args.tests).tensors
    real = moments(2 * images - 1)
    fixed_noise = torch.randn(args.tests, NOISE, 1, 1)
    net_d, net_g = discriminator(args.planes), generator(args.planes)
    optimizer_d = torch.optim.Adam(net_d.parameters(), lr=args.lr, betas=(0.5, 0.999))
    optimizer_g = torch.optim.Adam(net_g.parameters(), lr=args.lr, betas=(0.5, 0.999))

    job = op.init()  # +
    job.wrap([net_d, net_g], [optimizer_d, optimizer_g])  # +
    data = job.loader(fashion.load("train", args.examples), batch_size=args.batch_size)  # +

    for _ in job.epochs(args.epochs):  # +, in place of range(args.epochs)
        train(job, net_d, net_g, optimizer_d, optimizer_g, data)  # +
        job.evaluate(lambda: test(net_g, fixed_noise, real))  # +


if __name__ == "__main__":
    main()
