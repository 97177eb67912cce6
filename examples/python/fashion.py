"""Fashion-MNIST as PyTorch data sets, from the files of Debian's dataset-fashion-mnist."""

import gzip
import os

import torch
from torch.utils.data import TensorDataset

FOLDER = os.environ.get("FASHION_MNIST", "/usr/share/datasets/fashion-mnist")


def load(kind, examples=None):
    """The first `examples` of "train" (60,000) or "t10k" (10,000): images of 1 x 28 x 28 from 0 to
    1, and classes from 0 to 9."""
    images = read(f"{kind}-images-idx3-ubyte.gz", 16).view(-1, 1, 28, 28)[:examples]
    classes = read(f"{kind}-labels-idx1-ubyte.gz", 8)[:examples]
    return TensorDataset(images.float() / 255, classes.long())


def read(name, header):
    with gzip.open(os.path.join(FOLDER, name)) as file:
        return torch.frombuffer(bytearray(file.read()[header:]), dtype=torch.uint8)
