"""Fashion-MNIST as PyTorch data sets, from the files of Debian's dataset-fashion-mnist."""

import gzip
import os

import torch
from torch.utils.data import TensorDataset

FOLDER = os.environ.get("FASHION_MNIST", "/usr/share/datasets/fashion-mnist")


def load(kind, examples=None):
    """The first `examples` of "train" (60,000) or "t10k" (10,000): images of 1 x 28 x 28 from 0 to
    1, and classes from 0 to 9."""
    pixels = None if examples is None else 784 * examples
    images = read(f"{kind}-images-idx3-ubyte.gz", 16, pixels).view(-1, 1, 28, 28)
    classes = read(f"{kind}-labels-idx1-ubyte.gz", 8, examples)
    return TensorDataset(images.float() / 255, classes.long())


def read(name, header, most):
    """The bytes after the header, `most` of them; all if it is None."""
    with gzip.open(os.path.join(FOLDER, name)) as file:
        file.seek(header)
        return torch.frombuffer(bytearray(file.read(-1 if most is None else most)),
                                dtype=torch.uint8)
