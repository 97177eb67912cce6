"""CIFAR-10 as PyTorch data sets, from its binary files (https://www.cs.toronto.edu/~kriz/cifar.html).

A folder has data_batch_1.bin and so on, and test_batch.bin. A record is a class (1 byte), and an
image's red, green and blue planes of 32 x 32 bytes.
"""

import pathlib

import torch
from torch.utils.data import Dataset

RECORD = 1 + 3 * 32 * 32
MEAN = torch.tensor([0.4914, 0.4822, 0.4465]).view(3, 1, 1)  # By colour, over the training images.
DEVIATION = torch.tensor([0.2470, 0.2435, 0.2616]).view(3, 1, 1)
PADDING = 4  # Pixels by which a crop may move.


def read(folder, pattern, examples=None):
    """Images as bytes, and classes, of the files in their order; the first `examples` of them."""
    paths = sorted(pathlib.Path(folder).glob(pattern))
    if not paths:
        raise SystemExit(f"{folder}: there is no {pattern}; it takes the folder of CIFAR-10's binary "
                         "version")
    data = b"".join(path.read_bytes() for path in paths)
    if not data or len(data) % RECORD != 0:
        raise SystemExit(f"{folder}/{pattern}: {len(data)} bytes are no whole number of records of "
                         f"{RECORD} bytes")
    records = torch.frombuffer(bytearray(data), dtype=torch.uint8).view(-1, RECORD)[:examples]
    if records[:, 0].max() > 9:
        raise SystemExit(f"{folder}/{pattern}: a class is above 9; is it CIFAR-100?")
    return records[:, 1:].reshape(-1, 3, 32, 32), records[:, 0].long()


def normalised(images):
    return (images.float() / 255 - MEAN) / DEVIATION


class Augmented(Dataset):
    """Training images, cropped at random from a border of zeros around them, and mirrored."""

    def __init__(self, folder, examples=None):
        self.images, self.classes = read(folder, "data_batch_*.bin", examples)

    def __len__(self):
        return len(self.images)

    def __getitem__(self, index):
        image = normalised(self.images[index])
        image = torch.nn.functional.pad(image, [PADDING] * 4)
        down, across = torch.randint(0, 2 * PADDING + 1, (2,)).tolist()
        image = image[:, down : down + 32, across : across + 32]
        if torch.rand(()) < 0.5:
            image = image.flip(2)
        return image, self.classes[index]
