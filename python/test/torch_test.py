"""What outpace.torch makes of a network and an optimizer, without a server."""

import contextlib
import io
import os
import unittest
from unittest import mock

import torch

import outpace.torch as op
from outpace.groups import Group, Method
from outpace.torch._accumulation import Accumulation
from outpace.torch._buffers import Buffers
from outpace.torch._evaluator import EvaluatorJob
from outpace.torch._flat import Flat, tensor_at
from outpace.torch._measured import measured
from outpace.torch._large import LargeBatch
from outpace.torch._layers import marks_for
from outpace.torch._optimizers import groups_of
from outpace.torch._named import Named, say_frozen
from outpace.torch._rules import rules_of


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
            marks.layer(7)  # This mini-batch is given up.
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
        self.assertEqual(measured(0.5), (0.5, None, {}))
        self.assertEqual(measured(torch.tensor(0.5)), (0.5, None, {}))
        self.assertEqual(measured((0.5, 2)), (0.5, 2.0, {}))
        self.assertEqual(measured({"accuracy": 0.5, "loss": 2}), (0.5, 2.0, {}))
        self.assertEqual(measured({"accuracy": 0.5}), (0.5, None, {}))

    def test_is_any_number_by_name(self):
        self.assertEqual(measured({"loss": 1, "f1": torch.tensor(2)}), (None, 1.0, {"f1": 2.0}))
        with self.assertRaisesRegex(op.OutpaceError, "'live' is a number of the run's own record"):
            measured({"live": 1.0})

    def test_is_nothing_else(self):
        for wrong in (None, "good", (1, 2, 3), {}, {"f1": "high"}):
            with self.assertRaisesRegex(op.OutpaceError, "must return the accuracy, or"):
                measured(wrong)


def buffers_of(net):
    return Buffers(net, rules_of(net, "average"))


class RunningStatistics(unittest.TestCase):
    def normalised(self):
        return torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2),
                                   torch.nn.BatchNorm1d(2, track_running_stats=False))

    def test_are_those_of_normalisation_that_tracks_them(self):
        self.assertEqual(buffers_of(self.normalised()).shapes,
                         {"1.running_mean": (2,), "1.running_var": (2,),
                          "1.num_batches_tracked": ()})
        self.assertEqual(buffers_of(torch.nn.BatchNorm2d(4)).shapes,
                         {"running_mean": (4,), "running_var": (4,), "num_batches_tracked": ()})
        self.assertEqual(buffers_of(network()).shapes, {})

    def test_travel_and_come_back(self):
        net = self.normalised()
        buffers = buffers_of(net)
        net[1].running_mean.copy_(torch.tensor([1.0, 2.0]))
        memory = torch.zeros(buffers.numbers)
        buffers.write(memory.data_ptr())
        self.assertEqual(memory.tolist(), [1.0, 2.0, 1.0, 1.0, 0.0])
        memory[2] = 5.0
        buffers.remember(memory.data_ptr())
        memory.zero_()  # The server uses it again.
        self.assertEqual(buffers.servers()["1.running_var"].tolist(), [5.0, 1.0])
        self.assertEqual(net[1].running_var.tolist(), [1.0, 1.0], "its own until it is told")
        buffers.use_servers()
        self.assertEqual(net[1].running_var.tolist(), [5.0, 1.0])

    def test_are_a_group_of_their_own_after_the_optimizers(self):
        net = self.normalised()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        named = Named(net, optimizer)
        self.assertEqual(list(named.shapes)[-3:], ["1.running_mean", "1.running_var",
                                                    "1.num_batches_tracked"])
        self.assertEqual([named.group_of[name] for name in ("0.weight", "1.running_var",
                                                               "1.num_batches_tracked")], [0, 1, 2])
        self.assertEqual([group.method for group in named.groups(optimizer)],
                         [Method.SGD, Method.AVERAGE, Method.NEWEST])

    def test_stay_with_the_worker_if_asked_or_if_the_server_takes_no_groups(self):
        net = self.normalised()
        sgd = torch.optim.SGD(net.parameters(), lr=0.1)
        for named in (Named(net, sgd, "own"), Named(net, op.ByServer(net.parameters())),
                      Named(net, op.YellowFin(net.parameters()))):
            self.assertNotIn("1.running_mean", named.shapes)
            self.assertTrue(named.own_buffers)
        self.assertFalse(Named(net, sgd).own_buffers)

    def test_must_be_float32(self):
        net = self.normalised()
        net[1].running_var = net[1].running_var.double()
        with self.assertRaisesRegex(op.OutpaceError, "buffer '1.running_var' is float64"):
            buffers_of(net)

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
                (optim.RMSprop(self.weights, eps=1e-5, weight_decay=0.1),
                 Group(Method.RMSPROP, 0.01, 0.1, momentum=0.0, beta2=0.99, epsilon=1e-5)),
                (optim.RMSprop(self.weights, alpha=0.9, momentum=0.8, centered=True),
                 Group(Method.CENTERED_RMSPROP, 0.01, momentum=0.8, beta2=0.9)),
                (optim.Adagrad(self.weights, lr_decay=0.1, initial_accumulator_value=0.2),
                 Group(Method.ADAGRAD, 0.01, epsilon=1e-10, rate_decay=0.1, initial=0.2)),
                (optim.Adadelta(self.weights, rho=0.8),
                 Group(Method.ADADELTA, 1.0, beta2=0.8, epsilon=1e-6)),
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
                (torch.optim.Adamax(self.weights), "no Adamax"),
                (torch.optim.RMSprop(self.weights, maximize=True), "maximize=True"),
                (torch.optim.AdamW(self.weights, amsgrad=True), "amsgrad=True"),
                (torch.optim.SGD(self.weights, lr=0.1, maximize=True), "maximize")):
            with self.subTest(said), self.assertRaisesRegex(op.OutpaceError, said):
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
    def test_are_the_optimizers_and_shared_ones_travel_once(self):
        net = network()
        net[0].bias.requires_grad_(False)
        net[2].bias.requires_grad_(False)
        net.add_module("tied", torch.nn.Linear(3, 4))
        net.tied.weight = net[0].weight
        given = [one for name, one in net.named_parameters() if name != "2.bias"]
        named = Named(net, torch.optim.SGD(given, lr=0.1))
        self.assertEqual(list(named.shapes), ["0.weight", "0.bias", "2.weight", "tied.bias"],
                         "one that is frozen now may be unfrozen later")
        self.assertEqual(len(named.constants), 1)
        named = Named(net, op.ByServer(given))
        self.assertEqual(list(named.shapes), ["0.weight", "2.weight", "tied.bias"],
                         "the server's own optimizer moves all that travel")

    def test_that_are_frozen_and_many_are_told(self):
        body, head = torch.nn.Linear(2, 1 << 20), torch.nn.Linear(2, 2)
        body.requires_grad_(False)
        for given, said in (([*head.parameters()], ""),
                            ([*body.parameters(), *head.parameters()], "3,145,728 numbers")):
            with contextlib.redirect_stdout(io.StringIO()) as out:
                say_frozen(given)
            self.assertEqual(said in out.getvalue() and said != "", bool(out.getvalue()))

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
        server.constants.return_value = b""
        server.__iter__.return_value = [mock.Mock(address=weights.data_ptr(), version=7)]
        job = EvaluatorJob(server)
        _, optimizer = job.wrap(net, torch.optim.SGD(net.parameters(), lr=0.1))
        before = net[0].weight.detach().clone()
        self.assertEqual((job.rank, list(job.sampler(range(4)))), (None, [[0, 1, 2, 3]]))
        for batch in job.loader(range(4)):
            self.assertFalse(job.backward(net(batch.view(1, -1)[:, :3].float()).sum()))
            optimizer.step()
        self.assertTrue(torch.equal(before, net[0].weight), "its loop changes nothing")
        self.assertEqual(job.evaluate(lambda: (net(torch.ones(1, 3)).sum().item(), 0.5)), (0.0, 0.5))
        server.report.assert_called_once_with(0.0, 0.5, {})
        self.assertEqual((job.version, list(job.epochs(9))), (7, [0]))

    def test_return_the_last_again_once_the_run_is_over(self):
        net = network()
        weights = torch.zeros(sum(one.numel() for one in net.parameters()))
        server = mock.MagicMock()
        server.constants.return_value = b""
        server.__iter__.return_value = [mock.Mock(address=weights.data_ptr(), version=7)]
        job = EvaluatorJob(server)
        job.wrap(net, torch.optim.SGD(net.parameters(), lr=0.1))
        for _ in range(3):  # A script's own loop in place of job.epochs(3).
            self.assertEqual(job.evaluate(lambda: 0.5), 0.5)
        server.join.assert_called_once()
        server.report.assert_called_once()

    def test_end_a_loop_that_has_no_end(self):
        server = mock.MagicMock()
        job = EvaluatorJob(server)
        net = network()
        _, optimizer = job.wrap(net, torch.optim.SGD(net.parameters(), lr=0.1))
        data = job.loader(range(4))
        with mock.patch("outpace.torch._evaluator.PASSES_MOST", 3):
            with self.assertRaisesRegex(op.OutpaceError, "run 3 times and has not come to job.eval"):
                for _ in range(4):
                    self.assertEqual(len([one for one in data]), 1, "names of the loop exist")
                    job.backward(net(torch.ones(1, 3)).sum())
        server.__iter__.return_value = []
        job.evaluate(lambda: 0.5)
        with mock.patch("outpace.torch._ends.EMPTY_MOST", 3), self.assertRaises(SystemExit):
            while True:
                self.assertEqual([one for one in data], [], "the run is over")


class Accumulated(unittest.TestCase):
    def test_the_loss_is_the_sum_of_the_passes(self):
        passes = Accumulation()
        for loss in (1.0, 2.0, 4.0):
            passes.end(loss, 2, None)
        self.assertEqual((passes.passes, passes.examples, passes.loss), (3, 6, 7.0))

    def test_values_that_were_given_are_averaged(self):
        passes = Accumulation()
        for value in (1.0, 3.0):
            passes.end(0.0, None, value)
        self.assertEqual((passes.passes, passes.examples, passes.loss), (2, 0, 2.0))

    def test_the_share_is_of_the_examples_that_the_script_counts(self):
        passes = Accumulation()
        self.assertEqual(passes.share(8), 1.0)
        passes.end(1.0, 2, None)
        self.assertEqual(passes.share(8), 0.25)

    def test_bad_losses_are_refused(self):
        for loss, examples, said in ((torch.zeros(2), None, r"shape \[2\]"),
                                     (torch.zeros(()), 0, "examples=0")):
            with self.assertRaisesRegex(op.OutpaceError, said):
                Accumulation().check(loss, examples)

if __name__ == "__main__":
    unittest.main()
