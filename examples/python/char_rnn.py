"""A recurrent network that continues a text, character by character.

    python3 char_rnn.py --text FILE                              # alone
    outpace run --workers 4 -- python3 char_rnn.py --text FILE   # on Outpace

Its loop over random chunks of the text has no end of its own: `while True`. The lines marked + are
Outpace's.
"""

import argparse

import torch
import torch.nn.functional as F
from torch import nn

import outpace.torch as op  # +

import text


class CharRnn(nn.Module):
    def __init__(self, characters, hidden):
        super().__init__()
        self.embed = nn.Embedding(characters, hidden)
        self.rnn = nn.GRU(hidden, hidden, batch_first=True)
        self.decode = nn.Linear(hidden, characters)

    def forward(self, characters, state=None):
        outputs, state = self.rnn(self.embed(characters), state)
        return self.decode(outputs), state


def loss_of(net, x, y):
    answers, _ = net(x)
    return F.cross_entropy(answers.flatten(0, 1), y.flatten())


def endless(data):
    while True:
        yield from data


def test(net, x, y):
    with torch.no_grad():
        return {"loss": loss_of(net, x, y).item()}


def sample(net, known, begin, length, heat=0.8):
    """`begin` and `length` characters after it."""
    found, state = begin, None
    characters = known.numbers(begin)
    with torch.no_grad():
        for _ in range(length):
            answers, state = net(characters.view(1, -1), state)
            characters = torch.multinomial(F.softmax(answers[0, -1] / heat, dim=0), 1)
            found += known.symbols[characters.item()]
    return found


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--text", nargs="+", default=text.DEFAULT, metavar="FILE")
    options.add_argument("--batch-size", type=int, default=32, help="alone")
    options.add_argument("--updates", type=int, default=200)
    options.add_argument("--evaluate-every", type=int, default=40, help="updates")
    options.add_argument("--length", type=int, default=40, help="of a chunk")
    options.add_argument("--hidden", type=int, default=64)
    options.add_argument("--lr", type=float, default=5e-3)
    options.add_argument("--seed", type=int, default=1)
    args = options.parse_args()

    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    known = text.characters(args.text)
    x, y = text.chunks(known.test, args.length, 100)
    net = CharRnn(len(known.symbols), args.hidden)
    optimizer = torch.optim.Adam(net.parameters(), lr=args.lr)

    job = op.init()  # +
    net, optimizer = job.wrap(net, optimizer)  # +
    chunks = endless(job.loader(text.Chunks(known.train, args.length), batch_size=args.batch_size))  # +

    step = 0
    while True:
        inputs, targets = next(chunks)
        optimizer.zero_grad()
        loss = loss_of(net, inputs, targets)
        job.backward(loss)  # +, in place of loss.backward()
        optimizer.step()
        if step % args.evaluate_every == 0:
            job.evaluate(lambda: test(net, x, y))  # +
        step = job.version  # +, in place of step += 1
        if step >= args.updates:
            break
    if job.rank == 0:  # +
        print(sample(net, known, "The ", 200))


if __name__ == "__main__":
    main()
