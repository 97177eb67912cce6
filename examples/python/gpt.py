"""A small GPT of characters: the rate is set with each update, and a step has several micro-batches.

    python3 gpt.py --text FILE                              # alone
    outpace run --workers 4 -- python3 gpt.py --text FILE   # on Outpace

AdamW decays matrices alone, the rate warms up and falls by a cosine, gradients of --accumulate
micro-batches add up and are clipped. The lines marked + are Outpace's.
"""

import argparse
import math

import torch
import torch.nn.functional as F
from torch import nn

import outpace.torch as op  # +

import text


class Attention(nn.Module):
    """Causal self-attention."""

    def __init__(self, size, heads, length):
        super().__init__()
        self.heads = heads
        self.of_input = nn.Linear(size, 3 * size)
        self.output = nn.Linear(size, size)
        self.register_buffer("future", torch.ones(length, length, dtype=torch.bool).triu(1),
                             persistent=False)

    def forward(self, x):
        batch, length, size = x.shape
        query, key, value = (one.view(batch, length, self.heads, -1).transpose(1, 2)
                             for one in self.of_input(x).split(size, dim=2))
        weights = query @ key.transpose(2, 3) / math.sqrt(size // self.heads)
        weights = weights.masked_fill(self.future[:length, :length], -math.inf)
        found = F.softmax(weights, dim=3) @ value
        return self.output(found.transpose(1, 2).reshape(batch, length, size))


class Block(nn.Module):
    def __init__(self, size, heads, length):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(size), nn.LayerNorm(size)
        self.attention = Attention(size, heads, length)
        self.mlp = nn.Sequential(nn.Linear(size, 4 * size), nn.GELU(), nn.Linear(4 * size, size))

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class Gpt(nn.Module):
    def __init__(self, symbols, size, heads, layers, length):
        super().__init__()
        self.embed = nn.Embedding(symbols, size)
        self.places = nn.Embedding(length, size)
        self.blocks = nn.Sequential(*[Block(size, heads, length) for _ in range(layers)])
        self.norm = nn.LayerNorm(size)
        self.decode = nn.Linear(size, symbols, bias=False)
        self.decode.weight = self.embed.weight  # Tied.
        for name, parameter in self.named_parameters():
            if parameter.dim() > 1:
                nn.init.normal_(parameter, std=0.02)
            elif name.endswith("bias"):
                nn.init.zeros_(parameter)

    def forward(self, symbols):
        places = torch.arange(symbols.shape[1])
        return self.decode(self.norm(self.blocks(self.embed(symbols) + self.places(places))))


def loss_of(net, x, y):
    return F.cross_entropy(net(x).flatten(0, 1), y.flatten())


def optimizer_of(net, rate, decay):
    """AdamW that decays matrices, and neither biases nor norms."""
    parameters = list(net.parameters())
    return torch.optim.AdamW([
        {"params": [one for one in parameters if one.dim() > 1], "weight_decay": decay},
        {"params": [one for one in parameters if one.dim() == 1], "weight_decay": 0.0},
    ], lr=rate, betas=(0.9, 0.95))


def rate_at(step, args):
    """A linear warm-up, and then half a cosine down to a tenth."""
    if step < args.warm_up:
        return args.lr * (step + 1) / args.warm_up
    done = (step - args.warm_up) / max(1, args.updates - args.warm_up)
    return args.lr * (0.1 + 0.45 * (1 + math.cos(math.pi * done)))


def endless(data):
    while True:
        yield from data


def test(net, x, y):
    with torch.no_grad():
        return {"loss": loss_of(net, x, y).item()}


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--text", nargs="+", default=text.DEFAULT, metavar="FILE")
    options.add_argument("--batch-size", type=int, default=32, help="of all micro-batches; alone")
    options.add_argument("--accumulate", type=int, default=4, help="micro-batches of a step")
    options.add_argument("--updates", type=int, default=150)
    options.add_argument("--warm-up", type=int, default=15, help="updates")
    options.add_argument("--evaluate-every", type=int, default=30, help="updates")
    options.add_argument("--length", type=int, default=32, help="of the context")
    options.add_argument("--size", type=int, default=48, help="of the embedding")
    options.add_argument("--layers", type=int, default=2)
    options.add_argument("--lr", type=float, default=3e-3)
    options.add_argument("--seed", type=int, default=1)
    args = options.parse_args()

    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    known = text.characters(args.text)
    x, y = text.chunks(known.test, args.length, 128)
    net = Gpt(len(known.symbols), args.size, 4, args.layers, args.length)
    optimizer = optimizer_of(net, args.lr, decay=0.1)

    job = op.init()  # +
    net, optimizer = job.wrap(net, optimizer)  # +
    chunks = endless(job.loader(text.Chunks(known.train, args.length), batch_size=args.batch_size))  # +

    for step in job.updates(args.updates):  # +, in place of range(args.updates)
        for group in optimizer.param_groups:
            group["lr"] = rate_at(step, args)
        inputs, targets = next(chunks)
        optimizer.zero_grad()
        for micro in zip(inputs.chunk(args.accumulate), targets.chunk(args.accumulate)):
            loss = loss_of(net, *micro) / args.accumulate
            job.backward(loss)  # +, in place of loss.backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        if step % args.evaluate_every == 0:
            job.evaluate(lambda: test(net, x, y))  # +


if __name__ == "__main__":
    main()
