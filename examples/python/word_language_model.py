"""An LSTM that predicts the next word of a text, whose state goes on from mini-batch to mini-batch.

    python3 word_language_model.py --text FILE                                          # alone
    outpace run --workers 4 --batch 20 -- python3 word_language_model.py --text FILE   # on Outpace

Back-propagation is truncated after --bptt words, gradients are clipped, and the rate is divided by 4
whenever the loss on held-out text has not fallen. The lines marked + are Outpace's.

A mini-batch has the next words of --batch-size columns of the text. Each worker reads the whole text
from a place of its own, because the state of a column belongs to the worker that read it.
"""

import argparse
import math

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import IterableDataset

import outpace.torch as op  # +

import text


class Model(nn.Module):
    def __init__(self, words, size):
        super().__init__()
        self.dropout = nn.Dropout(0.2)
        self.embed = nn.Embedding(words, size)
        self.rnn = nn.LSTM(size, size, batch_first=True)
        self.decode = nn.Linear(size, words)
        nn.init.uniform_(self.embed.weight, -0.1, 0.1)
        nn.init.uniform_(self.decode.weight, -0.1, 0.1)
        nn.init.zeros_(self.decode.bias)

    def forward(self, words, state):
        outputs, state = self.rnn(self.dropout(self.embed(words)), state)
        return self.decode(self.dropout(outputs)), state


class Columns(IterableDataset):
    """The next `bptt` words of each of `columns` columns of the text, and the words after each; then
    the next ones. `begin`, from 0 to 1, is where in the text it starts."""

    def __init__(self, words, columns, bptt, begin=0.0):
        rows = len(words) // columns
        if rows < 2:
            raise SystemExit(f"a text of {len(words)} words does not fill {columns} columns")
        words = torch.roll(words, -int(begin * len(words)))
        self.columns = words[:rows * columns].view(columns, rows)
        self.bptt = bptt

    def __len__(self):
        return len(self.columns) * math.ceil((self.columns.shape[1] - 1) / self.bptt)

    def __iter__(self):
        for begin in range(0, self.columns.shape[1] - 1, self.bptt):
            window = self.columns[:, begin : begin + self.bptt + 1]
            yield from zip(window[:, :-1], window[:, 1:])


def loss_of(answers, targets):
    return F.cross_entropy(answers.flatten(0, 1), targets.flatten())


def train(job, net, data, optimizer, clip):  # +
    net.train()
    state = None
    for words, targets in data:
        optimizer.zero_grad()
        if state is not None:
            state = [one.detach() for one in state]
        answers, state = net(words, state)
        loss = loss_of(answers, targets)
        job.backward(loss)  # +, in place of loss.backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), clip)
        optimizer.step()


def test(net, words):
    """Mean loss of a word, and perplexity."""
    net.eval()
    columns = words[:len(words) // 10 * 10].view(10, -1)
    with torch.no_grad():
        answers, _ = net(columns[:, :-1], None)
    loss = loss_of(answers, columns[:, 1:]).item()
    return {"loss": loss, "perplexity": math.exp(loss)}


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--text", nargs="+", default=text.DEFAULT, metavar="FILE")
    options.add_argument("--batch-size", type=int, default=20, help="columns; in a job also --batch")
    options.add_argument("--bptt", type=int, default=20, help="words")
    options.add_argument("--epochs", type=int, default=6)
    options.add_argument("--size", type=int, default=48, help="of embedding and state")
    options.add_argument("--lr", type=float, default=20.0)
    options.add_argument("--clip", type=float, default=0.25)
    options.add_argument("--seed", type=int, default=1)
    args = options.parse_args()

    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    known = text.words(args.text)
    net = Model(len(known.symbols), args.size)
    optimizer = torch.optim.SGD(net.parameters(), lr=args.lr)

    job = op.init()  # +
    net, optimizer = job.wrap(net, optimizer)  # +
    begin = 0.618 * (job.rank or 0) % 1  # +: far from the other workers', however many there are
    data = job.loader(Columns(known.train, args.batch_size, args.bptt, begin),  # +
                      batch_size=args.batch_size, drop_last=True)

    best = math.inf
    for _ in job.epochs(args.epochs):  # +, in place of range(args.epochs)
        train(job, net, data, optimizer, args.clip)  # +
        found = job.evaluate(lambda: test(net, known.test))  # +
        if found["loss"] < best:
            best = found["loss"]
        else:
            for group in optimizer.param_groups:
                group["lr"] /= 4


if __name__ == "__main__":
    main()
