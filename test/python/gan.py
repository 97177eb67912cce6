"""Two networks with an optimizer each, as in PyTorch's DCGAN example; tested by python_cases_test.py.

Prints JSON: {"rank": ..., and what the case found}.
"""

import json
import sys

import torch
import torch.nn.functional as F
from torch.utils.data import TensorDataset

import outpace.torch as op
from outpace.torch import _safetensors


def say(job, **found):
    print(json.dumps({"rank": job.rank, **found}), flush=True)


class Waits(torch.autograd.Function):
    """In the backward pass, waits until the server does not want it any more."""

    @staticmethod
    def forward(context, value, job):
        context.job = job
        return value.clone()

    @staticmethod
    def backward(context, gradient):
        while not context.job.worker.cancelled:
            pass
        return gradient, None


class Gan:
    """A discriminator and a generator of points, whose noise belongs to the example."""

    def __init__(self):
        random = torch.Generator().manual_seed(5)
        self.real = torch.randn(128, 2, generator=random) + 1.0
        self.noise = torch.randn(128, 3, generator=random)
        self.data = TensorDataset(self.real, self.noise, torch.arange(128))
        torch.manual_seed(3)
        self.nets = [torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.Tanh(),
                                         torch.nn.Linear(8, 1)),
                     torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Tanh(),
                                         torch.nn.Linear(8, 2))]
        self.optimizers = [torch.optim.Adam(net.parameters(), lr=lr, betas=(0.5, 0.999))
                           for net, lr in zip(self.nets, (0.002, 0.004))]
        self.schedules = [torch.optim.lr_scheduler.StepLR(one, 1, gamma)
                          for one, gamma in zip(self.optimizers, (0.5, 0.75))]

    def losses(self, real, noise):
        """The discriminator's, and then, once it is asked for, the generator's."""
        net_d, net_g = self.nets
        fake = net_g(noise)
        yield F.softplus(-net_d(real)).mean() + F.softplus(net_d(fake.detach())).mean()
        yield F.softplus(-net_d(fake)).mean()

    def step(self, backward, real, noise, both=True):
        """As PyTorch's DCGAN example, with a discriminator that is frozen in the generator's pass;
        not `both`: the discriminator alone."""
        losses = self.losses(real, noise)
        for net, optimizer in list(zip(self.nets, self.optimizers))[:1 + both]:
            self.nets[0].requires_grad_(net is self.nets[0])
            net.zero_grad()
            backward(next(losses))
            optimizer.step()
        self.nets[0].requires_grad_(True)

    def measure(self):
        """The share of points that the discriminator takes for what they are, on both kinds."""
        net_d, net_g = self.nets
        with torch.no_grad():
            return ((net_d(self.real) > 0).float().mean()
                    + (net_d(net_g(self.noise)) < 0).float().mean()).item() / 2

    def weights(self):
        return {f"{place}.{name}": one.detach().clone() for place, net in enumerate(self.nets)
                for name, one in net.named_parameters()}


def is_of_both(version, how):
    """Whether the generator steps with this update: `how` is "each", or "rare", every second one."""
    return how == "each" or version % 2 == 1


def train(job, how):
    """Two networks and two optimizers, with schedules."""
    both = Gan()
    job.wrap(both.nets, both.optimizers)
    batches = []
    for epoch in job.epochs(3):
        for real, noise, indices in job.loader(both.data):
            batches.append((job.version, epoch, indices.tolist()))
            both.step(job.backward, real, noise, is_of_both(job.version, how))
        for schedule in both.schedules:
            schedule.step()
        job.evaluate(both.measure)
    job.save("gan.safetensors")
    kept = _safetensors.read("gan.safetensors") if job.rank == 0 else {}
    say(job, batches=batches, saved=bool(kept) and all(
        torch.equal(kept[name], one) for name, one in both.weights().items()))


def twin(job, how, batches, path):
    """By PyTorch alone, on the same mini-batches; how far the change of its weights is from those
    of the run, in relation to itself; and what the run's weights measure."""
    both, version = Gan(), 0
    begin = both.weights()
    for epoch, updates in enumerate(json.loads(batches)):
        for indices in updates:
            losses = list(both.losses(both.real[indices], both.noise[indices]))
            for net, loss in zip(both.nets, losses):  # Both of the weights before the update.
                own = list(net.parameters())
                for one, gradient in zip(own, torch.autograd.grad(loss, own, retain_graph=True)):
                    one.grad = gradient
            for optimizer in both.optimizers[:1 + is_of_both(version, how)]:
                optimizer.step()
            version += 1
        for schedule in both.schedules:
            schedule.step()
    own = both.weights()
    job.wrap(both.nets, both.optimizers)
    job.load(path)
    theirs = both.weights()
    change = torch.cat([(own[name] - begin[name]).flatten() for name in begin])
    off = torch.cat([(own[name] - theirs[name]).flatten() for name in begin])
    say(job, relative_l2=(off.norm() / change.norm()).item(), measured=both.measure())


def cancelled(job):
    """Every pass of worker 1 is cancelled: in turn the first and the second of a mini-batch."""
    both = Gan()
    job.wrap(both.nets, both.optimizers)
    found = []
    for _ in job.epochs(1000):
        for real, noise, _ in job.loader(both.data):
            done = []

            def backward(loss):
                waits = job.rank == 1 and len(done) == len(found) % 2
                done.append(job.backward(Waits.apply(loss, job) if waits else loss))

            both.step(backward, real, noise)
            found.append(done)
    say(job, cancelled=found if job.rank == 1 else [], verdict=job.verdict.outcome.name)


CASES = {"train": train, "twin": twin, "cancelled": cancelled}

if __name__ == "__main__":
    torch.set_num_threads(1)
    CASES[sys.argv[1]](op.init(), *sys.argv[2:])
