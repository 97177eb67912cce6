"""The parts of outpace.torch, without a server."""

import os
import tempfile
import unittest
from unittest import mock

import torch
from torch.utils.data import DataLoader

import outpace.torch as op
from outpace.groups import Group, Method
from outpace.torch import _safetensors
from outpace.torch._accumulation import Accumulation
from outpace.torch._buffers import Buffers
from outpace.torch._evaluator import EvaluatorJob
from outpace.torch._flat import Flat, tensor_at
from outpace.torch._job import measured
from outpace.torch._large import LargeBatch
from outpace.torch._layers import marks_for
from outpace.torch._loader import Loader
from outpace.torch._optimizers import groups_of
from outpace.torch._worker import Named


def network():
    return torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2))


class LargeBatches(unittest.TestCase):
    def test_the_factor_grows_from_1_over_a_tenth_of_the_epochs(self):
        large = LargeBatch(4, scales=True)
        self.assertEqual([large.factor(epoch, 30) for epoch in range(5)], [1.0, 2.0, 3.0, 4.0, 4.0])
        self.assertEqual([large.factor(epoch, 3) for epoch in range(3)], [1.0, 4.0, 4.0])
        self.assertEqual(large.factor(4, 900), 3.4, "the warm-up has five epochs at most")
        self.assertEqual(large.factor(None, 0), 4.0, "the script has not said how many there are")
        self.assertEqual(LargeBatch(4, scales=False).factor(9, 30), 1.0)

    def test_what_cannot_be_scaled_is_refused(self):
        net = network()
        sgd, adam = (kind(net.parameters(), lr=0.1) for kind in (torch.optim.SGD,
                                                                 torch.optim.Adam))
        with mock.patch.dict(os.environ, {"OUTPACE_GRADIENTS": "4"}):
            self.assertEqual(LargeBatch.of_environment(True, sgd).gradients, 4)
            with self.assertRaisesRegex(op.OutpaceError, "scale_rate=True is for SGD"):
                LargeBatch.of_environment(True, adam)
        with mock.patch.dict(os.environ, {"OUTPACE_GRADIENTS": "four"}):
            with self.assertRaisesRegex(op.OutpaceError, "is 'four'; it takes a whole number"):
                LargeBatch.of_environment(False, sgd)
        with mock.patch.dict(os.environ, clear=True):
            self.assertEqual(LargeBatch.of_environment(False, sgd).gradients, 1)
            with self.assertRaisesRegex(op.OutpaceError, "start the script by `outpace run`"):
                LargeBatch.of_environment(True, sgd)


class FakeEvent:
    """Of a GPU whose clock the test sets: milliseconds."""

    clock = 0.0

    def record(self, stream):
        self.stream = stream
        self.when = self.clock

    def synchronize(self):
        pass

    def elapsed_time(self, later):
        assert later.stream == self.stream, "the events are of two devices"
        return later.when - self.when


class LayersOfAGpu(unittest.TestCase):
    def told(self, times):
        """What mark() hears of layers that begin at these milliseconds; the last is the end."""
        heard = []
        with mock.patch("torch.cuda.Event", lambda enable_timing: FakeEvent()), \
                mock.patch("torch.cuda.current_stream", str), \
                mock.patch("time.monotonic", lambda: 0.0):
            marks = marks_for(torch.device("cuda:1"), lambda *words: heard.append(words))
            marks.taken()
            marks.layer(7)  # Of a mini-batch that is given up.
            marks.taken()
            for number, FakeEvent.clock in enumerate(times[:-1]):
                marks.layer(number)
            self.assertEqual(heard, [])
            FakeEvent.clock = times[-1]
            marks.computed()
        return heard

    def test_are_told_at_the_end_by_the_gpus_clock(self):
        self.assertEqual(self.told([10.0, 12.0, 15.0, 20.0]), [(0, 0.01), (1, 0.008), (2, 0.005)])

    def test_of_a_cpu_are_told_at_once(self):
        heard = []
        marks = marks_for(torch.device("cpu"), lambda *words: heard.append(words))
        marks.layer(3)
        self.assertEqual(heard, [(3, 0.0)])
        marks.computed()
        self.assertEqual(len(heard), 1)


class Measured(unittest.TestCase):
    def test_is_an_accuracy_with_a_loss_or_without(self):
        self.assertEqual(measured(0.5), (0.5, None))
        self.assertEqual(measured(torch.tensor(0.5)), (0.5, None))
        self.assertEqual(measured((0.5, 2)), (0.5, 2.0))
        self.assertEqual(measured({"accuracy": 0.5, "loss": 2}), (0.5, 2.0))
        self.assertEqual(measured({"accuracy": 0.5}), (0.5, None))

    def test_is_nothing_else(self):
        for wrong in (None, "good", (1, 2, 3), {"loss": 1.0}, {"accuracy": 1, "f1": 2}):
            with self.assertRaisesRegex(op.OutpaceError, "must return the accuracy, or"):
                measured(wrong)


class RunningStatistics(unittest.TestCase):
    def normalised(self):
        return torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2),
                                   torch.nn.BatchNorm1d(2, track_running_stats=False))

    def test_are_those_of_normalisation_that_tracks_them(self):
        self.assertEqual(Buffers(self.normalised()).shapes,
                         {"1.running_mean": (2,), "1.running_var": (2,)})
        self.assertEqual(Buffers(torch.nn.BatchNorm2d(4)).shapes,
                         {"running_mean": (4,), "running_var": (4,)})
        self.assertEqual(Buffers(network()).shapes, {})

    def test_travel_and_come_back(self):
        net = self.normalised()
        buffers = Buffers(net)
        net[1].running_mean.copy_(torch.tensor([1.0, 2.0]))
        memory = torch.zeros(buffers.numbers)
        buffers.write(memory.data_ptr())
        self.assertEqual(memory.tolist(), [1.0, 2.0, 1.0, 1.0])
        memory[2] = 5.0
        buffers.remember(memory.data_ptr())
        memory.zero_()  # The server uses it again.
        self.assertEqual(buffers.averaged()["1.running_var"].tolist(), [5.0, 1.0])
        self.assertEqual(net[1].running_var.tolist(), [1.0, 1.0], "its own until it is told")
        buffers.use_averaged()
        self.assertEqual(net[1].running_var.tolist(), [5.0, 1.0])

    def test_are_a_group_of_their_own_after_the_optimizers(self):
        net = self.normalised()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        named = Named(net, optimizer)
        self.assertEqual(list(named.shapes)[-2:], ["1.running_mean", "1.running_var"])
        self.assertEqual([named.group_of[name] for name in ("0.weight", "1.running_var")], [0, 1])
        self.assertEqual([group.method for group in named.groups(optimizer)],
                         [Method.SGD, Method.AVERAGE])

    def test_stay_with_the_worker_if_asked_or_if_the_server_takes_no_groups(self):
        net = self.normalised()
        sgd = torch.optim.SGD(net.parameters(), lr=0.1)
        for named in (Named(net, sgd, average=False), Named(net, op.ByServer(net.parameters())),
                      Named(net, op.YellowFin(net.parameters()))):
            self.assertNotIn("1.running_mean", named.shapes)
            self.assertTrue(named.own_statistics)
        self.assertFalse(Named(net, sgd).own_statistics)

    def test_must_be_float32(self):
        net = self.normalised()
        net[1].running_var = net[1].running_var.double()
        with self.assertRaisesRegex(op.OutpaceError, "buffer '1.running_var' is float64"):
            Buffers(net)

    def test_a_word_that_is_none(self):
        net = network()
        with self.assertRaisesRegex(op.OutpaceError, "buffers='mean'; it takes"):
            op.init().wrap(net, torch.optim.SGD(net.parameters(), lr=0.1), buffers="mean")


class Optimizers(unittest.TestCase):
    def setUp(self):
        self.weights = [torch.nn.Parameter(torch.zeros(2))]

    def test_are_the_servers(self):
        optim = torch.optim
        for optimizer, group in (
                (optim.SGD(self.weights, lr=0.5), Group(Method.SGD, 0.5)),
                (optim.SGD(self.weights, lr=0.5, momentum=0.8, weight_decay=0.1),
                 Group(Method.MOMENTUM, 0.5, 0.1, momentum=0.8)),
                (optim.SGD(self.weights, lr=0.5, momentum=0.8, nesterov=True),
                 Group(Method.NESTEROV, 0.5, momentum=0.8)),
                (optim.Adam(self.weights, betas=(0.8, 0.9), eps=1e-6),
                 Group(Method.ADAM, 0.001, beta1=0.8, beta2=0.9, epsilon=1e-6)),
                (optim.AdamW(self.weights), Group(Method.ADAMW, 0.001, 0.01)),
                (op.LAMB(self.weights), Group(Method.LAMB, 0.01, epsilon=1e-6)),
                (op.YellowFin(self.weights), Group(Method.YELLOWFIN, 1.0))):
            self.assertEqual(groups_of(optimizer), [group])
        self.assertEqual(groups_of(op.ByServer(self.weights)), [])

    def test_each_group_has_its_own(self):
        optimizer = torch.optim.SGD([{"params": self.weights},
                                     {"params": [torch.nn.Parameter(torch.ones(1))], "lr": 0.1}],
                                    lr=0.2)
        self.assertEqual([group.rate for group in groups_of(optimizer)], [0.2, 0.1])

    def test_others_are_refused(self):
        class Own(torch.optim.SGD):
            """Its step may be another."""

        for optimizer, said in (
                (Own(self.weights, lr=0.1), "no Own"),
                (torch.optim.Adagrad(self.weights), "no Adagrad"),
                (torch.optim.AdamW(self.weights, amsgrad=True), "amsgrad=True"),
                (torch.optim.SGD(self.weights, lr=0.1, maximize=True), "maximize")):
            with self.subTest(said), self.assertRaisesRegex(op.OutpaceError, said):
                groups_of(optimizer)

    def test_one_that_has_a_state_is_refused(self):
        optimizer = torch.optim.Adam(self.weights)
        self.weights[0].grad = torch.ones(2)
        optimizer.step()
        with self.assertRaisesRegex(op.OutpaceError, "has made steps"):
            groups_of(optimizer)

    def test_the_servers_own_make_no_step_here(self):
        with self.assertRaisesRegex(op.OutpaceError, "optimizer of the server"):
            op.LAMB(self.weights).step()


class Views(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(1)
        self.net = network()
        self.before = [one.detach().clone() for one in self.net.parameters()]
        self.flat = Flat(list(self.net.parameters()))
        self.memory = torch.full((self.flat.numbers,), float("nan"))

    def loss(self):
        return self.net(torch.ones(5, 3)).square().mean()

    def expected(self):
        twin = network()
        with torch.no_grad():
            for one, before in zip(twin.parameters(), self.before):
                one.copy_(before)
        twin(torch.ones(5, 3)).square().mean().backward()
        return torch.cat([one.grad.flatten() for one in twin.parameters()])

    def test_keep_the_weights(self):
        for one, before in zip(self.net.parameters(), self.before):
            self.assertTrue(torch.equal(one, before))
        self.assertTrue(torch.equal(self.flat.weights, torch.cat([b.flatten() for b in self.before])))

    def test_new_weights_are_seen_by_the_next_pass(self):
        zeros = torch.zeros(self.flat.numbers)
        self.flat.set_weights(zeros.data_ptr())
        self.assertEqual(self.net(torch.ones(1, 3)).abs().sum().item(), 0.0)

    def test_gradients_are_written_where_the_wire_has_its_memory(self):
        address = self.memory.data_ptr()
        self.flat.use_gradients(address)
        self.loss().backward()
        self.assertEqual(next(self.net.parameters()).grad.data_ptr(), address)
        self.flat.write_gradients(address)
        self.assertTrue(torch.equal(self.memory, self.expected()))
        self.flat.release_gradients()
        self.net.zero_grad()
        self.assertTrue(torch.equal(self.memory, self.expected()), "the server has it now")

    def test_a_gradient_that_was_dropped_or_replaced_comes_back(self):
        address = self.memory.data_ptr()
        self.flat.use_gradients(address)
        for one in self.net.parameters():
            one.grad = None
        self.loss().backward()
        self.flat.write_gradients(address)
        self.assertTrue(torch.equal(self.memory, self.expected()))

    def test_a_module_that_was_moved_is_noticed(self):
        self.assertIsNone(self.flat.moved())
        self.net[2].weight.data = torch.zeros(2, 4)
        self.assertEqual(self.flat.moved(), 2)

    def test_memory_at_an_address(self):
        self.memory[:3] = torch.tensor([1.0, 2.0, 3.0])
        self.assertEqual(tensor_at(self.memory.data_ptr(), 3).tolist(), [1.0, 2.0, 3.0])


class Parameters(unittest.TestCase):
    def test_frozen_ones_do_not_travel_and_shared_ones_travel_once(self):
        net = network()
        net[0].bias.requires_grad_(False)
        net.add_module("tied", torch.nn.Linear(3, 4))
        net.tied.weight = net[0].weight
        named = Named(net, torch.optim.SGD(net.parameters(), lr=0.1))
        self.assertEqual(list(named.shapes), ["0.weight", "2.weight", "2.bias", "tied.bias"])

    def test_know_their_groups(self):
        net = network()
        named = Named(net, torch.optim.SGD([{"params": [net[0].weight, net[2].weight]},
                                            {"params": [net[0].bias]}], lr=0.1))
        self.assertEqual(named.group_of, {"0.weight": 0, "2.weight": 0, "0.bias": 1})

    def test_without_any_it_is_refused(self):
        net = network().requires_grad_(False)
        with self.assertRaisesRegex(op.OutpaceError, "no parameter that needs a gradient"):
            Named(net, torch.optim.SGD(net.parameters(), lr=0.1))


class Evaluators(unittest.TestCase):
    def test_refuse_a_network_whose_statistics_they_lack(self):
        net = torch.nn.Sequential(network(), torch.nn.BatchNorm1d(2))
        job = EvaluatorJob(mock.Mock())
        with self.assertRaisesRegex(op.OutpaceError, "no running statistics"):
            job.wrap(net, torch.optim.SGD(net.parameters(), lr=0.1), buffers="own")

    def test_measure_each_snapshot(self):
        net = network()
        weights = torch.zeros(sum(one.numel() for one in net.parameters()))
        server = mock.MagicMock()
        server.__iter__.return_value = [mock.Mock(address=weights.data_ptr(), version=7)]
        job = EvaluatorJob(server)
        job.wrap(net, torch.optim.SGD(net.parameters(), lr=0.1))
        self.assertEqual(list(job.sampler(range(4))), [])
        self.assertEqual(job.evaluate(lambda: (net(torch.ones(1, 3)).sum().item(), 0.5)), (0.0, 0.5))
        server.report.assert_called_once_with(0.0, 0.5)
        self.assertEqual((job.version, list(job.epochs(9))), (7, [0]))


class Accumulated(unittest.TestCase):
    def test_the_gradient_is_the_mean_by_examples(self):
        weight = torch.nn.Parameter(torch.tensor(2.0))
        inputs = torch.tensor([1.0, 2.0, 4.0, 8.0, 16.0])
        passes = Accumulation()
        for part in inputs.split(2):
            loss, factor = passes.begin((weight * part).mean(), len(part))
            if weight.grad is not None:
                weight.grad.mul_(factor)
            loss.backward()
            passes.end((2.0 * part).mean().item())
        self.assertAlmostEqual(weight.grad.item(), inputs.mean().item(), 5)
        self.assertAlmostEqual(passes.loss, 2 * inputs.mean().item(), 5)
        self.assertEqual((passes.examples, passes.passes), (5, 3))

    def test_one_pass_changes_no_bit(self):
        loss = torch.tensor(0.1)
        scaled, factor = Accumulation().begin(loss, None)
        self.assertIs(scaled, loss)
        self.assertEqual(factor, 1.0)

    def test_bad_losses_are_refused(self):
        for loss, examples, said in ((torch.zeros(2), None, r"shape \[2\]"),
                                     (torch.zeros(()), 0, "examples=0")):
            with self.assertRaisesRegex(op.OutpaceError, said):
                Accumulation().begin(loss, examples)


class Lease:
    """As a Minibatch."""

    def __init__(self, indices, ahead=()):
        self.indices = indices
        self.ahead = list(ahead)


class Loading(unittest.TestCase):
    """The loader gives each lease its own examples, whatever was loaded early."""

    def loaded(self, leases, processes):
        given = iter(leases)
        loader = Loader(lambda: next(given, None), lambda lease: None, range(100),
                        {"num_workers": processes})
        return [batch.tolist() for batch in loader], loader

    def test_leases_that_come_as_told(self):
        batches = [[one, one + 1] for one in range(0, 20, 2)]
        leases = [Lease(batches[i], batches[i + 1:i + 5]) for i in range(len(batches))]
        for processes in (0, 2):
            found, loader = self.loaded(leases, processes)
            self.assertEqual(found, batches)
            self.assertEqual(loader.ahead, 2 * processes)

    def test_leases_that_come_otherwise(self):
        leases = [Lease([0], [[1], [2], [3], [4]]), Lease([1], [[2], [3], [4], [5]]),
                  Lease([7], [[8]]), Lease([8]), Lease([2]), Lease([0], [[0], [0]]), Lease([0]),
                  Lease([9])]
        for processes in (0, 1, 2):
            found, _ = self.loaded(leases, processes)
            self.assertEqual(found, [one.indices for one in leases])


class Files(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "net.safetensors")

    def test_of_a_network_are_read_again(self):
        net = torch.nn.Sequential(network(), torch.nn.BatchNorm1d(2))
        _safetensors.write(self.path, net.state_dict())
        found = _safetensors.read(self.path)
        self.assertEqual(list(found), list(net.state_dict()))
        for name, one in net.state_dict().items():
            self.assertTrue(torch.equal(found[name], one), name)
            self.assertEqual(found[name].dtype, one.dtype)

    def test_that_are_none_are_refused(self):
        for content in (b"", b"\x00" * 7, b"\xff" * 20, b"\x02" + b"\x00" * 7 + b"[]",
                        b"\x40" + b"\x00" * 7 + b'{"a":{"dtype":"F32","shape":[4],'
                        b'"data_offsets":[0,16]}}'.ljust(64)):
            with open(self.path, "wb") as out:
                out.write(content)
            with self.subTest(content), self.assertRaisesRegex(op.OutpaceError, "no safetensors"):
                _safetensors.read(self.path)


class Alone(unittest.TestCase):
    def setUp(self):
        with mock.patch.dict(os.environ, {}, clear=True):
            self.job = op.init()
        torch.manual_seed(1)
        self.net = network()
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1)

    def test_is_the_loop_of_torch(self):
        job, inputs = self.job, torch.randn(10, 3)
        job.wrap(self.net, self.optimizer)
        self.assertTrue(job.alone)
        before = self.net[0].weight.detach().clone()
        seen = []
        for epoch in job.epochs(2):
            for indices in DataLoader(range(10), batch_sampler=job.sampler(range(10), 4)):
                seen.extend(indices.tolist())
                self.assertTrue(job.backward(self.net(inputs[indices]).square().mean()))
                self.optimizer.step()
                self.assertTrue(job.verdict)
        self.assertEqual(sorted(seen), sorted(2 * list(range(10))))
        self.assertEqual(job.version, 6)
        self.assertFalse(torch.equal(before, self.net[0].weight))

    def test_a_schedule_does_not_warn(self):
        schedule = torch.optim.lr_scheduler.StepLR(self.optimizer, 1)
        self.job.wrap(self.net, self.optimizer)
        self.job.backward(self.net(torch.ones(1, 3)).sum())
        self.optimizer.step()
        with self.assertNoLogs(), mock.patch("warnings.warn") as warned:
            schedule.step()
        warned.assert_not_called()

    def test_a_schedule_made_after_wrap_does_not_warn(self):
        self.job.wrap(self.net, self.optimizer)
        schedule = torch.optim.lr_scheduler.StepLR(self.optimizer, 1)
        self.job.backward(self.net(torch.ones(1, 3)).sum())
        self.optimizer.step()
        with mock.patch("warnings.warn") as warned:
            schedule.step()
        warned.assert_not_called()

    def test_a_step_without_a_pass_is_refused(self):
        self.job.wrap(self.net, self.optimizer)
        with self.assertRaisesRegex(op.OutpaceError, "without job.backward"):
            self.optimizer.step()

    def test_saves_and_loads(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "net.safetensors")
            self.job.wrap(self.net, self.optimizer)
            self.job.save(path)
            with mock.patch.dict(os.environ, {}, clear=True):
                other = op.init()
            net = network()
            other.wrap(net, torch.optim.SGD(net.parameters(), lr=0.1))
            other.load(path)
            self.assertTrue(torch.equal(net[0].weight, self.net[0].weight))
            small = torch.nn.Linear(1, 1)
            with mock.patch.dict(os.environ, {}, clear=True):
                third = op.init()
            third.wrap(small, torch.optim.SGD(small.parameters(), lr=0.1))
            with self.assertRaisesRegex(op.OutpaceError, "does not fit this network"):
                third.load(path)


if __name__ == "__main__":
    torch.set_num_threads(1)
    unittest.main()
