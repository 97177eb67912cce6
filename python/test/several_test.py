"""Several networks and optimizers of one job, without a server."""

import os
import tempfile
import unittest
from unittest import mock

import torch
import torch.nn.functional as F

import outpace.torch as op
from outpace.groups import Method
from outpace.torch._evaluator import EvaluatorJob
from outpace.torch._flat import Flat
from outpace.torch._named import Named
from outpace.torch._optimizers import groups_of
from outpace.torch._several import Passes, Several, as_one
from outpace.torch._settings import Settings
from outpace.torch._large import LargeBatch


def pair():
    torch.manual_seed(1)
    return torch.nn.Linear(2, 1), torch.nn.Linear(4, 2)  # A discriminator, and a generator.


def adams(*nets):
    return [torch.optim.Adam(net.parameters(), lr=0.01 * place) for place, net in enumerate(nets, 1)]


def alone():
    with mock.patch.dict(os.environ, {}, clear=True):
        return op.init()


def errors(net_d, net_g, real, noise):
    """The loss of the discriminator, and then, if it is asked for, of the generator."""
    fake = net_g(noise)
    yield F.softplus(-net_d(real)).mean() + F.softplus(net_d(fake.detach())).mean()
    yield F.softplus(-net_d(fake)).mean()


class Together(unittest.TestCase):
    def setUp(self):
        self.net_d, self.net_g = pair()
        self.opt_d, self.opt_g = adams(self.net_d, self.net_g)

    def test_names_begin_with_the_number_of_the_network(self):
        module, optimizer = as_one([self.net_d, self.net_g], (self.opt_d, self.opt_g))
        named = Named(module, optimizer)
        self.assertEqual(named.group_of, {"0.weight": 0, "0.bias": 0, "1.weight": 1, "1.bias": 1})
        self.assertEqual([(group.method, group.rate) for group in named.groups(optimizer)],
                         [(Method.ADAM, 0.01), (Method.ADAM, 0.02)])

    def test_one_network_keeps_its_names(self):
        for given in (self.net_d, [self.net_d]):
            module, optimizer = as_one(given, [self.opt_d])
            self.assertIs(module, self.net_d)
            self.assertIs(optimizer, self.opt_d)

    def test_one_optimizer_may_have_several_networks_and_one_network_several(self):
        both = torch.optim.SGD([*self.net_d.parameters(), *self.net_g.parameters()], lr=0.1)
        module, optimizer = as_one([self.net_d, self.net_g], both)
        self.assertEqual(set(Named(module, optimizer).group_of.values()), {0})
        halves = [torch.optim.SGD([one], lr=0.1) for one in self.net_d.parameters()]
        self.assertEqual(Named(*as_one(self.net_d, halves)).group_of, {"weight": 0, "bias": 1})

    def test_averaged_statistics_are_a_group_after_all_optimizers(self):
        net_d = torch.nn.Sequential(self.net_d, torch.nn.BatchNorm1d(1))
        named = Named(*as_one([net_d, self.net_g], [self.opt_d, self.opt_g]))
        self.assertEqual(named.group_of["0.1.running_var"], 2)

    def test_rates_of_each_are_told_by_epoch(self):
        module, optimizer = as_one([self.net_d, self.net_g],
                                   [self.opt_d, torch.optim.RMSprop(self.net_g.parameters(), lr=1.0)])
        settings = Settings(Named(module, optimizer), optimizer, LargeBatch(1, False))
        settings.begin(4)
        self.assertIsNone(settings.news(0))
        optimizer.optimizers[1].param_groups[0]["lr"] = 0.5
        self.assertEqual(settings.news(1), [0.01, 0.5])

    def test_what_does_not_go_together_is_refused(self):
        server = op.ByServer(self.net_g.parameters())
        tuned = op.YellowFin(self.net_g.parameters())
        for optimizers, said in (([self.opt_d, server], "ByServer takes all parameters of a job"),
                                 ([self.opt_d, tuned], "YellowFin takes all parameters of a job")):
            with self.assertRaisesRegex(op.OutpaceError, said):
                groups_of(Several(optimizers))
        nets, both = [self.net_d, self.net_g], [self.opt_d, self.opt_g]
        for modules, optimizers, said in (
                ([], both, "there is no network"),
                (nets, (), "there is no optimizer"),
                ([self.net_d, self.opt_g], both, "network 2 of 2 is a Adam; it takes a torch.nn"),
                (nets, [self.opt_d, None], "optimizer 2 of 2 is a NoneType"),
                (nets, [self.opt_d, self.opt_d], "optimizer 2 of 2 is there twice"),
                (nets, [self.opt_d, *adams(self.net_d)],
                 r"parameter '0.weight' is in optimizers 1 and 2; give it to one")):
            with self.subTest(said), self.assertRaisesRegex(op.OutpaceError, said):
                as_one(modules, optimizers)

    def test_come_back_as_they_were_given(self):
        for kind in (list, tuple):
            nets = kind(pair())
            optimizers = kind(adams(*nets))
            found = alone().wrap(nets, optimizers)
            self.assertIs(found[0], nets)
            self.assertIs(found[1], optimizers)

    def test_one_by_one_they_are_refused(self):
        job = alone()
        job.wrap(self.net_d, self.opt_d)
        with self.assertRaisesRegex(op.OutpaceError, "this network was wrapped already"):
            job.wrap(self.net_d, self.opt_d)
        with self.assertRaisesRegex(op.OutpaceError, r"together: job.wrap\(\[netD, netG\], \["):
            job.wrap(self.net_g, self.opt_g)

    def test_a_norm_over_both_would_not_be_what_is_meant(self):
        job = alone()
        job.wrap([self.net_d, self.net_g], [self.opt_d, self.opt_g])
        with self.assertRaisesRegex(op.OutpaceError, "the job has several optimizers; write"):
            job.clip_grad_norm(1.0)


class Counting(unittest.TestCase):
    def setUp(self):
        self.passes = Passes(Several(adams(*pair())))
        self.one, self.other = self.passes.members

    def test_each_optimizer_counts_the_passes_before_its_step(self):
        self.passes.end(1.0, 4, None)
        self.passes.check_step(self.one)
        self.assertFalse(self.passes.step(self.one))
        self.passes.throw_away(self.other)
        with self.assertRaisesRegex(op.OutpaceError, "has thrown the gradient away"):
            self.passes.check_step(self.other)
        self.passes.end(2.0, 4, None)
        self.assertEqual((self.one.passes.examples, self.other.passes.examples), (4, 4))
        self.assertTrue(self.passes.step(self.other))
        self.assertEqual(self.passes.all.loss, 3.0)

    def test_a_second_step_is_refused(self):
        self.passes.end(1.0, None, None)
        self.passes.step(self.one)
        with self.assertRaisesRegex(op.OutpaceError, "optimizer 1 of 2 has made its step with this"):
            self.passes.check_step(self.one)
        self.passes.begin()
        with self.assertRaisesRegex(op.OutpaceError, r"without job.backward\(loss\) before it"):
            self.passes.check_step(self.one)

    def test_an_optimizer_that_steps_more_rarely_keeps_its_passes(self):
        self.passes.end(1.0, None, None)
        self.assertEqual(self.passes.waiting(), [], "nobody has made a step")
        self.passes.step(self.one)
        self.assertEqual(self.passes.waiting(), [self.other])
        self.passes.begin(carries=True)
        self.passes.end(1.0, None, None)
        self.assertEqual((self.one.passes.passes, self.other.passes.passes), (1, 2))
        self.passes.step(self.one)
        self.passes.step(self.other)
        self.assertEqual(self.passes.waiting(), [])


class Gradients(unittest.TestCase):
    def setUp(self):
        self.net_d, self.net_g = pair()
        self.flat = Flat([*self.net_d.parameters(), *self.net_g.parameters()])
        self.memory = torch.full((self.flat.numbers,), float("nan"))
        self.flat.use_gradients(self.memory.data_ptr())
        self.errors = errors(self.net_d, self.net_g, torch.ones(3, 2), torch.ones(3, 4))

    def test_of_one_network_are_those_of_its_step(self):
        next(self.errors).backward()
        at_step = self.net_d.weight.grad.clone()
        self.flat.finish(self.net_d.parameters())
        self.assertIsNone(self.net_d.weight.grad, "a step leaves none behind")
        next(self.errors).backward()
        of_g = self.net_g.weight.grad.clone()
        self.flat.write_gradients(self.memory.data_ptr())
        self.assertTrue(torch.equal(self.memory[:2], at_step.flatten()))
        self.assertTrue(torch.equal(self.memory[3:11], of_g.flatten()))
        self.flat.use_gradients(self.memory.data_ptr())  # The next mini-batch's.
        self.assertEqual(self.net_d.weight.grad.data_ptr(), self.memory.data_ptr())
        self.assertEqual(self.memory.abs().sum().item(), 0.0)

    def test_of_one_network_are_zeroed_alone(self):
        for one in self.flat.parameters:
            one.grad.fill_(1.0)
        self.flat.clear(self.net_g.parameters())
        self.assertEqual(self.memory.tolist(), [1.0] * 3 + [0.0] * 10)

    def test_of_one_network_wait_for_the_next_mini_batch(self):
        for one in self.flat.parameters:
            one.grad.fill_(1.0)
        self.net_g.bias.grad.zero_()
        kept = self.flat.take(self.net_g.parameters())
        self.assertEqual(self.memory.tolist(), [1.0] * 3 + [0.0] * 10)
        self.flat.use_gradients(self.memory.data_ptr())
        self.flat.put(kept)
        self.assertEqual(self.memory.tolist(), [0.0] * 3 + [1.0] * 8 + [0.0] * 2)

    def test_that_a_frozen_parameter_has_count(self):
        for one in self.flat.parameters:
            one.grad.fill_(1.0)
        self.assertEqual(self.flat.frozen(self.net_g.parameters()), set())
        self.net_g.requires_grad_(False)
        self.net_g.weight.grad = None
        self.assertEqual(self.flat.frozen(self.net_g.parameters()), {2},
                         "it was frozen after the backward pass of the other")
        self.assertEqual(self.flat.frozen(self.net_d.parameters()), set())

    def test_of_a_step_are_not_zeroed_after_it(self):
        for one in self.flat.parameters:
            one.grad.fill_(1.0)
        self.flat.finish(self.net_d.parameters())
        for one in self.net_d.parameters():
            one.grad = torch.ones_like(one)  # As a later pass does.
        self.flat.clear(self.net_d.parameters())
        self.assertIsNone(self.net_d.weight.grad)
        self.net_d.zero_grad()
        self.flat.gather()
        self.assertEqual(self.memory.tolist(), [1.0] * 13)


class TheLoopAlone(unittest.TestCase):
    """Is PyTorch's, whether networks or optimizers zero their gradients."""

    def train(self, backward, nets, optimizers, zeroed):
        torch.manual_seed(2)
        for _ in range(5):
            losses = errors(*nets, torch.randn(8, 2), torch.randn(8, 4))
            for optimizer, one in zip(optimizers, zeroed):
                one.zero_grad()
                backward(next(losses))
                optimizer.step()
        return torch.cat([one.detach().flatten() for net in nets for one in net.parameters()])

    def test_is_pytorchs(self):
        for by_network in (True, False):
            with self.subTest(by_network=by_network):
                nets, twins = pair(), pair()
                optimizers, own = adams(*nets), adams(*twins)
                job = alone()
                job.wrap(nets, optimizers)
                found = self.train(job.backward, nets, optimizers,
                                   nets if by_network else optimizers)
                wanted = self.train(lambda loss: loss.backward(), twins, own,
                                    twins if by_network else own)
                self.assertTrue(torch.equal(found, wanted))
                self.assertEqual(job.version, 5)

    def test_without_zero_grad_each_mini_batch_begins_with_none(self):
        nets = pair()
        optimizers = adams(*nets)
        job = alone()
        job.wrap(nets, optimizers)
        losses = errors(*nets, torch.ones(3, 2), torch.ones(3, 4))
        for optimizer in optimizers:
            job.backward(next(losses))
            optimizer.step()
        self.assertIsNone(nets[0].weight.grad, "what the generator's pass has added")

    def test_an_optimizer_may_step_more_rarely(self):
        nets = pair()
        optimizers = adams(*nets)
        job = alone()
        job.wrap(nets, optimizers)
        for count in range(6):
            losses = errors(*nets, torch.randn(3, 2), torch.randn(3, 4))
            job.backward(next(losses))
            optimizers[0].step()
            if count % 3 == 2:
                job.backward(next(losses))
                optimizers[1].step()
        self.assertEqual(job.version, 6)

    def test_a_gradient_that_was_thrown_away_is_named(self):
        nets = pair()
        optimizers = adams(*nets)
        job = alone()
        job.wrap(nets, optimizers)
        job.backward(sum(errors(*nets, torch.ones(3, 2), torch.ones(3, 4))))
        optimizers[1].zero_grad()
        optimizers[0].step()
        with self.assertRaisesRegex(op.OutpaceError, "has thrown the gradient away"):
            optimizers[1].step()

    def test_saves_and_loads_both(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "gan.safetensors")
            nets, others = pair(), pair()
            job, other = alone(), alone()
            job.wrap(nets, adams(*nets))
            job.save(path)
            with torch.no_grad():
                others[1].weight.zero_()
            other.wrap(others, adams(*others))
            other.load(path)
            self.assertTrue(torch.equal(others[1].weight, nets[1].weight))


class TheEvaluator(unittest.TestCase):
    def test_measures_snapshots_of_both(self):
        nets = pair()
        weights = torch.arange(13.0)
        server = mock.MagicMock()
        server.constants.return_value = b""
        server.__iter__.return_value = [mock.Mock(address=weights.data_ptr(), version=7)]
        job = EvaluatorJob(server)
        optimizers = adams(*nets)
        job.wrap(list(nets), optimizers)
        before = nets[0].weight.detach().clone()
        for optimizer in optimizers:
            optimizer.step()
        self.assertTrue(torch.equal(before, nets[0].weight), "its loop changes nothing")
        job.evaluate(lambda: (nets[0].bias.item(), nets[1].bias[1].item()))
        server.join.assert_called_once_with(
            {"0.weight": (1, 2), "0.bias": (1,), "1.weight": (2, 4), "1.bias": (2,)})
        server.report.assert_called_once_with(2.0, 12.0, {})


if __name__ == "__main__":
    torch.set_num_threads(1)
    unittest.main()
