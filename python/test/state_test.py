"""Buffers by their rules, constants, and the state of an optimizer, without a server."""

import copy
import tempfile
import unittest
from unittest import mock

import torch
from torch.optim.swa_utils import AveragedModel

import outpace.torch as op
from outpace.groups import Method
from outpace.torch import _safetensors
from outpace.torch._alone import Alone
from outpace.torch._buffers import Buffers
from outpace.torch._constants import Constants
from outpace.torch._moments import refuse_state, state_of
from outpace.torch._named import Named
from outpace.torch._rules import SMALL, Rule, rules_of
from outpace.torch._strangers import copies_of, refusing_strangers


class Net(torch.nn.Module):
    """Buffers of many kinds, and a frozen layer."""

    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(3, 2)
        self.frozen = torch.nn.Linear(2, 2)
        self.frozen.requires_grad_(False)
        self.norm = torch.nn.BatchNorm1d(2)
        self.register_buffer("count", torch.zeros((), dtype=torch.int64))
        self.register_buffer("mask", torch.full((2, 2), -torch.inf))
        self.register_buffer("table", torch.rand(SMALL + 1))
        self.register_buffer("wave", torch.tensor([1 + 2j]))
        self.register_buffer("cache", torch.zeros(2), persistent=False)
        self.register_buffer("big", torch.tensor([1 << 60, -1]))
        self.big = self.big.view(torch.int64)


def sgd(net):
    return torch.optim.SGD((one for one in net.parameters() if one.requires_grad), lr=0.1)


class Rules(unittest.TestCase):
    def test_each_buffer_has_the_rule_that_suits_it(self):
        rules = {name: rule.value for name, rule in rules_of(Net(), "average").items()}
        self.assertEqual(rules, {
            "norm.running_mean": "average", "norm.running_var": "average",
            "norm.num_batches_tracked": "newest", "count": "newest", "big": "newest",
            "mask": "newest", "table": "constant", "wave": "constant", "cache": "constant"})

    def test_spectral_normalisation_is_known_in_both_styles(self):
        for kind in (torch.nn.utils.spectral_norm,
                     torch.nn.utils.parametrizations.spectral_norm):
            net = kind(torch.nn.Linear(SMALL + 1, 1))
            self.assertEqual(set(rules_of(net, "average").values()), {Rule.NEWEST})
            self.assertEqual(set(rules_of(net, "average", travel=False).values()), {Rule.OWN})

    def test_a_script_may_give_rules_by_name(self):
        rules = rules_of(Net(), {"norm.*": "newest", "table": "newest", "c*": "own"})
        self.assertEqual([rules[name].value for name in (
            "norm.running_var", "table", "count", "cache", "mask")],
            ["newest", "newest", "own", "own", "newest"])
        self.assertEqual(set(rules_of(Net(), "own").values()), {Rule.OWN})
        self.assertIs(rules_of(Net(), "newest")["norm.running_var"], Rule.NEWEST)

    def test_what_is_no_rule_and_no_buffer_is_refused(self):
        for given, said in (({"norm": "newest"}, "the network has no such buffer; its buffers are "
                             "count, mask"), ({"count": "mean"}, "it takes \"average\""),
                            (None, "it takes \"average\"")):
            with self.assertRaisesRegex(op.OutpaceError, said):
                rules_of(Net(), given)
        with self.assertRaisesRegex(op.OutpaceError, "do not travel with op.ByServer"):
            rules_of(Net(), {"count": "newest"}, travel=False)


class NewestBuffers(unittest.TestCase):
    def test_keep_their_types_and_whole_numbers_are_exact(self):
        net = Net()
        buffers = Buffers(net, rules_of(net, {"big": "own"}))
        net.count += (1 << 24) - 1
        memory = buffers.values()
        self.assertEqual(memory.dtype, torch.float32)
        net.count.zero_()
        buffers.remember(memory.data_ptr())
        self.assertEqual(buffers.servers()["count"].dtype, torch.int64)
        buffers.use_servers()
        self.assertEqual(int(net.count), (1 << 24) - 1)

    def test_beyond_what_float32_holds_they_are_refused_by_name(self):
        net = Net()
        with self.assertRaisesRegex(op.OutpaceError, r"buffer 'big' holds whole numbers beyond 2\^24"
                                    r".*buffers=\{\"big\": \"own\"\}"):
            Buffers(net, rules_of(net, "average"))
        buffers = Buffers(net, rules_of(net, {"big": "own"}))
        net.count += (1 << 24) + 1
        with self.assertRaisesRegex(op.OutpaceError, "buffer 'count' holds whole numbers"):
            buffers.values()

    def test_of_another_shape_are_refused_by_name(self):
        net = Net()
        buffers = Buffers(net, rules_of(net, {"big": "own"}))
        net.count = torch.zeros(2, dtype=torch.int64)
        with self.assertRaisesRegex(op.OutpaceError, r"buffer 'count' has shape \[2\] now"):
            buffers.values()

    def test_a_complex_one_is_refused(self):
        net = Net()
        with self.assertRaisesRegex(op.OutpaceError, "buffer 'wave' is complex"):
            Buffers(net, rules_of(net, {"big": "own", "wave": "newest"}))

    def test_an_average_of_the_script_travels_whole(self):
        net = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2))
        average = AveragedModel(net)
        optimizer = sgd(net)
        named = Named(net, optimizer, averages=average)
        self.assertEqual([group.method for group in named.groups(optimizer)],
                         [Method.SGD, Method.AVERAGE, Method.NEWEST])
        self.assertIn("averages.module.0.weight", named.shapes)
        average.update_parameters(net)
        memory = named.buffers.values()
        fresh = AveragedModel(net)
        other = Buffers(net, {}, fresh)
        self.assertEqual(int(fresh.n_averaged), 0)
        other.remember(memory[5:].data_ptr())  # Behind the network's own.
        other.use_servers()
        self.assertEqual(int(fresh.n_averaged), 1)


class ConstantsOfNetworks(unittest.TestCase):
    def made(self, **rules):
        net = Net()
        return net, Constants(net, set(map(id, sgd(net).param_groups[0]["params"])),
                              rules_of(net, {"big": "own", **rules}))

    def test_reach_another_network_exactly(self):
        one, of_one = self.made()
        other, of_other = self.made()
        one.big.add_(7)
        one.wave.mul_(3)
        self.assertFalse(torch.equal(one.frozen.weight, other.frozen.weight))
        of_other.use(of_one.bytes())
        for name in ("frozen.weight", "frozen.bias", "big", "mask", "table", "wave", "cache"):
            pair = [dict((*net.named_parameters(), *net.named_buffers()))[name]
                    for net in (one, other)]
            self.assertTrue(torch.equal(*pair), name)
        self.assertEqual(int(other.big[0]), (1 << 60) + 7)
        self.assertFalse(torch.equal(one.layer.weight, other.layer.weight), "these are trained")

    def test_of_another_network_are_refused_by_name(self):
        net, constants = self.made()
        one, of_one = self.made()
        one.table = one.table.double()
        with self.assertRaisesRegex(op.OutpaceError, "'table' is float64 of shape .* in the first "
                                    "worker's and float32 of shape"):
            constants.use(of_one.bytes())
        one.frozen.requires_grad_(True)
        thawed = Constants(one, set(map(id, one.parameters())), rules_of(one, {"big": "own"}))
        with self.assertRaisesRegex(op.OutpaceError, "'frozen.weight' is in this worker's alone"):
            constants.use(thawed.bytes())

    def test_that_training_changes_are_refused_by_name(self):
        for change in (lambda net: net.table.mul_(2),
                       lambda net: setattr(net, "table", net.table.clone())):
            net, constants = self.made()
            constants.use(constants.bytes())
            constants.check_unchanged()
            net.cache = torch.ones(9)  # Which checkpoints do not have either.
            constants.check_unchanged()
            change(net)
            with self.assertRaisesRegex(op.OutpaceError, "buffer 'table' was changed by training"
                                        ".*buffers={\"table\": \"newest\"}"):
                constants.check_unchanged()

    def test_nothing_is_sent_if_there_are_none(self):
        net = torch.nn.Linear(2, 1)
        self.assertEqual(Constants(net, set(map(id, net.parameters())), {}).bytes(), b"")


class Strangers(unittest.TestCase):
    def test_an_average_that_does_not_travel_is_refused_in_the_evaluator(self):
        net = torch.nn.Linear(2, 1)
        average = AveragedModel(net)
        with refusing_strangers(average, copies_of([net])):
            average(torch.zeros(1, 2))
        with refusing_strangers(None, copies_of([])):
            net(torch.zeros(1, 2))
            with self.assertRaisesRegex(op.OutpaceError, "averages=it"):
                average(torch.zeros(1, 2))
        average(torch.zeros(1, 2))  # Outside, nobody looks.

    def test_a_copy_from_before_the_run_is_refused_and_a_later_one_is_not(self):
        net = torch.nn.Linear(2, 1)
        mean = copy.deepcopy(net)
        shared = torch.nn.Linear(2, 1)
        shared.weight, shared.bias = net.weight, net.bias
        teacher = torch.nn.Linear(2, 1)
        with torch.no_grad():
            teacher.weight.copy_(net.weight + 1)
        with refusing_strangers(None, copies_of([net])):
            for one in (net, shared, teacher, copy.deepcopy(net)):
                one(torch.zeros(1, 2))
            with self.assertRaisesRegex(op.OutpaceError, "calls a copy of the network"):
                mean(torch.zeros(1, 2))
        with refusing_strangers(mean, copies_of([net])):
            mean(torch.zeros(1, 2))


class Moments(unittest.TestCase):
    def test_a_state_that_is_the_servers_is_neither_given_nor_taken(self):
        net = torch.nn.Linear(2, 1)
        optimizer = torch.optim.Adam(net.parameters())
        net(torch.ones(1, 2)).sum().backward()
        optimizer.step()
        state = optimizer.state_dict()
        begun = []
        refuse_state(optimizer, lambda: bool(begun))
        optimizer.state.clear()
        with self.assertRaisesRegex(op.OutpaceError, "state_dict.*the server .* has its state"):
            optimizer.state_dict()
        optimizer.load_state_dict(state)
        self.assertEqual(len(optimizer.state), 2)
        begun.append(True)
        with self.assertRaisesRegex(op.OutpaceError, "load_state_dict.*has begun.*--resume RUN"):
            optimizer.load_state_dict(state)

    def test_the_server_gets_what_its_optimizer_has_of_each_parameter(self):
        for kind, parts in ((lambda of: torch.optim.SGD(of, lr=0.1, momentum=0.9), ["velocity"]),
                            (lambda of: torch.optim.SGD(of, lr=0.1), []),
                            (torch.optim.Adam, ["first", "second"]),
                            (lambda of: torch.optim.RMSprop(of, centered=True, momentum=0.5),
                             ["mean", "square", "velocity"]),
                            (torch.optim.Adagrad, ["sum"]),
                            (torch.optim.Adadelta, ["square", "steps"])):
            net = torch.nn.Linear(2, 1)
            optimizer = kind(net.parameters())
            self.assertEqual(state_of([optimizer], list(net.parameters())), [])
            net(torch.ones(1, 2)).sum().backward()
            optimizer.step()
            found = state_of([optimizer], [net.bias])  # The weight does not travel.
            self.assertEqual(sorted(one.part for one in found), parts)
            self.assertTrue(all(one.tensor == 0 and one.numbers.size == 1 for one in found))

    def test_a_centered_rmsprop_has_the_variance_there(self):
        net = torch.nn.Linear(1, 1, bias=False)
        optimizer = torch.optim.RMSprop(net.parameters(), centered=True, alpha=0.5)
        for scale in (1.0, 3.0):
            optimizer.zero_grad()
            (scale * net(torch.ones(1, 1))).sum().backward()
            optimizer.step()
        found = {one.part: one.numbers[0] for one in state_of([optimizer], list(net.parameters()))}
        self.assertAlmostEqual(found["mean"], 1.75)  # 0.25 * 1 + 0.5 * 3
        self.assertAlmostEqual(found["square"], 0.25 + 4.5 - 1.75 ** 2)

    def test_alone_it_is_pytorchs(self):
        net = torch.nn.Linear(2, 1)
        with mock.patch.dict("os.environ", {"OUTPACE_ROLE": ""}):
            job = op.init()
        _, optimizer = job.wrap(net, torch.optim.Adam(net.parameters()))
        self.assertTrue(job.alone)
        job.backward(net(torch.ones(1, 2)).sum())
        optimizer.step()
        self.assertEqual(len(optimizer.state_dict()["state"]), 2)


class Files(unittest.TestCase):
    def test_hold_complex_buffers_and_bring_them_back(self):
        net, other = Net(), Net()
        for one in (net, other):
            job = Alone()
            job.wrap(one, sgd(one))
            if one is net:
                net.wave.mul_(1j)
                job.save(self.path)
            else:
                job.load(self.path)
        self.assertEqual(other.wave.tolist(), [-2 + 1j])
        self.assertEqual(other.mask.tolist(), net.mask.tolist())

    def test_of_a_run_lack_what_is_in_another_file_and_what_is_shared(self):
        net, other = (torch.nn.ModuleDict({"one": torch.nn.Linear(2, 2), "same": torch.nn.Linear(2, 2),
                                           "norm": torch.nn.BatchNorm1d(2)}) for _ in range(2))
        for one in (net, other):
            one.same.weight = one.one.weight
            one.same.bias.requires_grad_(False)
        state = net.state_dict()
        beside = {"same.bias": state.pop("same.bias")}
        del state["same.weight"]
        _safetensors.write(self.path, {name: one.float() for name, one in state.items()}
                           | {"averages.module.one.weight": torch.zeros(2, 2)})
        job = Alone()
        job.wrap(other, sgd(other))
        with self.assertRaisesRegex(op.OutpaceError, 'Missing key.*"same.bias"'):
            job.load(self.path)
        _safetensors.write(self.path.replace("net", "constants"), beside)
        job.load(self.path)
        for name, one in net.state_dict().items():
            self.assertTrue(torch.equal(other.state_dict()[name], one), name)

    def test_of_another_network_are_refused_by_name(self):
        net = Net()
        job = Alone()
        job.wrap(net, sgd(net))
        _safetensors.write(self.path, {"mask": net.mask, "odd": net.count})
        with self.assertRaisesRegex(op.OutpaceError, 'Missing key.*"layer.weight".*Unexpected key.*'
                                    '"odd"'):
            job.load(self.path)

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = f"{folder.name}/net.safetensors"


class Bytes(unittest.TestCase):
    def test_are_those_of_a_file(self):
        tensors = {"a": torch.tensor([True, False]), "b": torch.tensor(3.5, dtype=torch.float64)}
        found = _safetensors.from_bytes(_safetensors.to_bytes(tensors), "it")
        for name, tensor in tensors.items():
            self.assertEqual((found[name].dtype, found[name].tolist()),
                             (tensor.dtype, tensor.tolist()))


if __name__ == "__main__":
    unittest.main()
