"""Text files as PyTorch tensors: numbered characters, or numbered words."""

import pathlib
import re

import torch
from torch.utils.data import Dataset

# Every Debian has these, some 140 KB together.
FOLDER = pathlib.Path("/usr/share/common-licenses")
DEFAULT = [str(FOLDER / name) for name in ("Apache-2.0", "Artistic", "GFDL-1.3", "GPL-2", "GPL-3",
                                           "LGPL-2.1", "MPL-2.0")]
HELD_OUT = 0.1  # The share at the end of each file that is not trained on.


class Text:
    """`train` and `test` are one-dimensional tensors of places in `symbols`."""

    def __init__(self, files, split):
        """`split` makes a list of symbols of a file's text."""
        texts = [split(pathlib.Path(file).read_text(errors="replace")) for file in files]
        self.symbols = sorted(set().union(*texts))
        self._places = {symbol: place for place, symbol in enumerate(self.symbols)}
        ends = [int(len(text) * (1 - HELD_OUT)) for text in texts]
        self.train = torch.cat([self.numbers(text[:end]) for text, end in zip(texts, ends)])
        self.test = torch.cat([self.numbers(text[end:]) for text, end in zip(texts, ends)])

    def numbers(self, symbols):
        return torch.tensor([self._places[symbol] for symbol in symbols])


def characters(files):
    return Text(files, list)


def words(files):
    """Words in small letters, punctuation marks, and ends of lines."""
    return Text(files, lambda text: re.findall(r"[a-z]+|[^a-z\s]|\n", text.lower()))


def chunks(symbols, length, most):
    """The first chunks of `length` symbols, `most` or fewer, and the symbols that follow: two tensors,
    a chunk in each row."""
    count = min(most, (len(symbols) - 1) // length)
    if count < 1:
        raise SystemExit(f"{len(symbols)} symbols of text are held out; it takes more than {length}")
    return [symbols[shift : shift + count * length].view(count, length) for shift in (0, 1)]


class Chunks(Dataset):
    """All chunks of `length` symbols, each with the symbols that follow on its own."""

    def __init__(self, symbols, length):
        if len(symbols) <= length:
            raise SystemExit(f"the text has {len(symbols)} symbols to train on; it takes more than "
                             f"{length}")
        self.symbols = symbols
        self.length = length

    def __len__(self):
        return len(self.symbols) - self.length

    def __getitem__(self, begin):
        chunk = self.symbols[begin : begin + self.length + 1]
        return chunk[:-1], chunk[1:]
