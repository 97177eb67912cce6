"""The loop of outpace.torch and its data, without a server."""

import contextlib
import copy
import io
import os
import tempfile
import unittest
from unittest import mock

import torch
from torch.utils.data import DataLoader

import outpace.torch as op
from outpace.torch import _safetensors
from outpace.torch._data import Draws, Stream, data_of
from outpace.torch._loader import Loader, slices_of
from outpace.torch._settings import Settings, schedules_of


def network():
    return torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2))


class Slices(unittest.TestCase):
    def test_have_even_sizes_and_lose_nothing(self):
        for count in range(1, 20):
            for most in range(1, 8):
                found = slices_of(list(range(count)), most)
                self.assertEqual(sum(found, []), list(range(count)))
                self.assertEqual(len(found), min(count, most))
                self.assertLessEqual(max(map(len, found)) - min(map(len, found)), 1)

    def test_have_two_examples_at_least_if_one_is_not_enough(self):
        self.assertEqual([len(one) for one in slices_of(list(range(5)), 4, least=2)], [2, 3])
        self.assertEqual([len(one) for one in slices_of([0], 4, least=2)], [1])


class Lease:
    """As a Minibatch."""

    current = True
    epoch = 0

    def __init__(self, indices, ahead=()):
        self.indices = indices
        self.ahead = list(ahead)


class Leasing:
    """A job that leases these."""

    def __init__(self, leases):
        self._leases = iter(leases)
        self.left = []
        self.left_out = []

    def hand_out(self):
        return next(self._leases, None)

    def give_up(self, minibatch):
        pass

    def leave_out(self, minibatch):
        self.left_out.append(minibatch.indices)

    def begin_slice(self, left):
        self.left.append(left)

    def begin_unleased(self):
        return not self.left


class Numbers(torch.utils.data.IterableDataset):
    """0, 1, 2, ... as a stream."""

    def __init__(self, count):
        self._count = count

    def __iter__(self):
        return iter(range(self._count))


class Loading(unittest.TestCase):
    """The loader gives each lease its own examples, whatever was loaded early."""

    def loaded(self, leases, processes):
        loader = Loader(Leasing(leases), data_of(range(100), {}), {"num_workers": processes})
        return [batch.tolist() for batch in loader], loader

    def test_leases_that_come_as_told(self):
        batches = [[one, one + 1] for one in range(0, 20, 2)]
        leases = [Lease(batches[i], batches[i + 1:i + 5]) for i in range(len(batches))]
        for processes in (0, 2):
            found, loader = self.loaded(leases, processes)
            self.assertEqual(found, batches)
            self.assertEqual(loader.ahead, 2 * processes)

    def test_slices_of_leases(self):
        leases = [Lease([0, 1, 2, 3, 4], [[5, 6, 7]]), Lease([5, 6, 7]), Lease([8])]
        for processes in (0, 2):
            job = Leasing(leases)
            loader = Loader(job, data_of(range(100), {}), {"num_workers": processes}, accumulate=2)
            self.assertEqual([batch.tolist() for batch in loader],
                             [[0, 1], [2, 3, 4], [5], [6, 7], [8]])
            self.assertEqual(job.left, [1, 0, 1, 0, 0])

    def test_slices_of_a_short_lease_have_two_examples_if_others_have(self):
        for batch, sizes in (("8", [2, 3]), ("4", [1, 1, 1, 2])):
            with mock.patch.dict(os.environ, {"OUTPACE_BATCH": batch}):
                loader = Loader(Leasing([Lease([0, 1, 2, 3, 4])]), data_of(range(9), {}), {}, 4)
                self.assertEqual([len(one) for one in loader], sizes)

    def test_a_loop_without_a_lease_runs_once(self):
        loader = Loader(Leasing([]), data_of(range(100), {}), {})
        self.assertEqual([batch.tolist() for batch in loader], [list(range(32))])

    def test_a_short_last_mini_batch_is_left_out(self):
        job = Leasing([Lease([0, 1, 2]), Lease([3])])
        with mock.patch.dict(os.environ, {"OUTPACE_BATCH": "3"}):
            loader = Loader(job, data_of(range(4), {}), {}, drop_last=True)
            self.assertEqual([batch.tolist() for batch in loader], [[0, 1, 2]])
        self.assertEqual(job.left_out, [[3]])
        with mock.patch.dict(os.environ, clear=True):
            with self.assertRaisesRegex(op.OutpaceError, "drop_last=True needs the size"):
                Loader(job, data_of(range(4), {}), {}, drop_last=True)

    def test_mini_batches_of_other_sizes_are_refused_where_short_ones_are_left_out(self):
        with mock.patch.dict(os.environ, {"OUTPACE_BATCH": "3"}):
            loader = Loader(Leasing([Lease([0, 1, 2, 3, 4])]), data_of(range(9), {}), {},
                            drop_last=True)
            with self.assertRaisesRegex(op.OutpaceError, "--batch 3 examples, and one has 5: remove "
                                        "--balance, --balance-most or action=shrink, or drop_last"):
                list(loader)
            job = Leasing([Lease([one]) for one in range(5)])
            loader = Loader(job, data_of(range(9), {}), {}, drop_last=True)
            with self.assertRaisesRegex(op.OutpaceError, "one has 1: remove --balance"):
                list(loader)
            self.assertEqual(job.left_out, [[0], [1]])

    def test_knows_what_a_loader_knows(self):
        loader = Loader(Leasing([]), data_of(range(100), {}), {"num_workers": 2}, accumulate=4)
        self.assertEqual((loader.dataset, loader.num_workers), (range(100), 2))
        with mock.patch.dict(os.environ, {"OUTPACE_BATCH": "32"}):
            self.assertEqual((len(loader), loader.batch_size), (16, 8))
        with mock.patch.dict(os.environ, clear=True):
            self.assertIsNone(loader.batch_size)
            with self.assertRaisesRegex(op.OutpaceError, "set OUTPACE_BATCH"):
                len(loader)

    def test_what_is_no_data_set_is_refused(self):
        data = torch.utils.data.TensorDataset(torch.zeros(4))
        for given, options, said in (
                (DataLoader(data), {}, r"this is a DataLoader.*job.loader\(loader.dataset"),
                (data, {"sampler": torch.utils.data.SubsetRandomSampler([1])}, "utils.data.Subset"),
                (data, {"sampler": torch.utils.data.RandomSampler(data)}, "sampler is the job's")):
            with self.assertRaisesRegex(op.OutpaceError, said):
                data_of(given, options)
        with mock.patch.dict(os.environ, {"OUTPACE_ROLE": "alone"}):
            with self.assertRaisesRegex(op.OutpaceError, "batch_size=0; it takes 1 or more"):
                op.init().loader(data, batch_size=0)

    def test_anything_that_gives_examples_is_a_stream(self):
        class Rows:
            def __iter__(self):
                return iter(({"x": torch.tensor(float(one))} for one in range(3)))

        data = data_of(Rows(), {"examples": 9})
        self.assertTrue(data.is_stream)
        self.assertEqual(Stream(data.dataset, {}).take(4)["x"].tolist(), [0.0, 1.0, 2.0, 0.0])
        with self.assertRaisesRegex(op.OutpaceError, "Rows is a stream without a length"):
            data_of(Rows(), {}).of_a_job()

    def test_data_without_a_length_is_refused(self):
        with self.assertRaisesRegex(op.OutpaceError, "generator has no length"):
            data_of((one for one in range(3)), {})

    def test_a_stream_gives_as_many_as_are_leased(self):
        leases = [Lease([7, 3, 5]), Lease([1]), Lease([2, 4])]
        for processes in (0, 1):
            data = data_of(Numbers(4), {"examples": 8})
            loader = Loader(Leasing(leases), data, {"num_workers": processes})
            self.assertEqual([batch.tolist() for batch in loader], [[0, 1, 2], [3], [0, 1]])
        with self.assertRaisesRegex(op.OutpaceError, "the stream gives no examples"):
            Stream(Numbers(0), {}).take(1)

    def test_a_stream_without_a_number_of_examples_is_refused(self):
        with self.assertRaisesRegex(op.OutpaceError, r"write|job.loader\(stream, examples="):
            data_of(Numbers(4), {}).of_a_job()
        for wrong in ({"examples": 0}, {"examples": 8, "weights": [1.0]}):
            with self.assertRaisesRegex(op.OutpaceError, "it takes 1 or more|a stream has none"):
                data_of(Numbers(4), wrong)

    def test_weighted_places_are_draws_that_all_workers_share(self):
        weights = torch.where(torch.arange(6000) % 20 == 0, 19.0, 1.0)
        sampler = torch.utils.data.WeightedRandomSampler(weights, 6000)
        data = data_of(range(6000), {"sampler": sampler})
        drawn = Draws(data.weights, lambda: 3).examples(list(range(6000)), 0)
        rare = sum(one % 20 == 0 for one in drawn) / 6000
        self.assertAlmostEqual(rare, 0.5, delta=0.05)
        again = Draws(data.weights, lambda: 3)
        self.assertEqual(again.examples([5, 4, 9], 0), [drawn[5], drawn[4], drawn[9]])
        self.assertNotEqual(again.examples(list(range(6000)), 1), drawn)
        self.assertNotEqual(Draws(data.weights, lambda: 4).examples([*range(6000)], 0), drawn)

    def test_wrong_weights_are_refused(self):
        fewer = torch.utils.data.WeightedRandomSampler([1.0] * 6, 3)
        for options, says in (({"weights": [1.0]}, "1 weights for 6 examples"),
                              ({"weights": [0.0] * 6}, "not all 0"),
                              ({"weights": [-1.0] * 6}, "at least 0"),
                              ({"sampler": fewer}, "draws 3 of 6"),
                              ({"shuffle": True}, "shuffle is the job's")):
            with self.assertRaisesRegex(op.OutpaceError, says):
                data_of(range(6), options)

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
        self.job.backward(self.net(torch.ones(1, 3)).sum())
        self.optimizer.zero_grad()
        with self.assertRaisesRegex(op.OutpaceError, "has thrown the gradient away"):
            self.optimizer.step()

    def gradient_of(self, *passes):
        self.job.wrap(self.net, self.optimizer)
        for loss in passes:
            self.job.backward(loss)
        return self.net[0].weight.grad.clone()

    def test_gradients_of_several_passes_add_up(self):
        inputs = torch.randn(8, 3)
        whole = torch.autograd.grad(self.net(inputs).mean(), self.net[0].weight)[0]
        found = self.gradient_of(*(self.net(part).mean() / 4 for part in inputs.split(2)))
        self.assertTrue(torch.allclose(found, whole))

    def test_a_gradient_that_is_not_finite_does_not_spoil_the_next(self):
        inputs = torch.randn(8, 3)
        wanted = torch.autograd.grad(self.net(inputs).mean(), self.net[0].weight)[0]
        found = self.gradient_of(self.net(inputs).mean() * float("inf"), self.net(inputs).mean())
        self.assertTrue(torch.equal(found, wanted))

    def test_a_skipped_mini_batch_makes_no_step(self):
        self.job.wrap(self.net, self.optimizer)
        before = self.net[0].weight.detach().clone()
        self.job.backward(self.net(torch.ones(1, 3)).sum())
        self.job.skip()
        self.optimizer.step()
        self.assertTrue(torch.equal(before, self.net[0].weight))
        self.assertEqual(self.job.version, 0)

    def test_slices_make_one_step(self):
        self.job.wrap(self.net, self.optimizer)
        inputs = torch.randn(10, 3)
        wanted = []
        for slice_of in self.job.loader(range(10), batch_size=2, accumulate=3):
            wanted.append(self.job.backward(self.net(inputs[slice_of]).mean() / 3))
            if wanted[-1]:
                self.optimizer.step()
        self.assertEqual(wanted, [False, False, True, False, True])
        self.assertEqual(self.job.version, 2)

    def test_a_single_last_example_does_not_come_alone(self):
        sizes = {count: [len(some) for some in self.job.loader(range(count), batch_size=4)]
                 for count in (8, 9, 10, 1)}
        self.assertEqual(sizes, {8: [4, 4], 9: [4, 5], 10: [4, 4, 2], 1: [1]})
        dropped = self.job.loader(range(10), batch_size=4, drop_last=True)
        self.assertEqual(([len(some) for some in dropped], len(dropped)), ([4, 4], 2))

    def test_the_network_can_be_copied_and_pickled(self):
        self.job.wrap(self.net, self.optimizer)
        self.assertTrue(torch.equal(copy.deepcopy(self.net)[0].weight, self.net[0].weight))
        torch.save(self.net, io.BytesIO())

    def test_a_network_that_save_could_not_write_is_refused(self):
        class Counted(torch.nn.Linear):
            def get_extra_state(self):
                return {"calls": 3}

        for net, said in ((Counted(2, 2), "'_extra_state' of the network's state is dict"),
                          (torch.nn.LazyLinear(2), "'weight' has no shape yet")):
            with self.assertRaisesRegex(op.OutpaceError, said):
                self.job.wrap(net, self.optimizer)

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

class Schedules(unittest.TestCase):
    """Of a script that counts the run's updates."""

    def setUp(self):
        self.optimizer = torch.optim.SGD(torch.nn.Linear(1, 1).parameters(), lr=0.1)
        self.schedule = torch.optim.lr_scheduler.StepLR(self.optimizer, 10)
        self.optimizer.step()  # Or the schedule warns.
        self.settings = Settings(None, self.optimizer, None)

    def said(self, updates, follow):
        with contextlib.redirect_stderr(io.StringIO()) as said:
            for update in updates:
                while follow and self.schedule.last_epoch < update:
                    self.schedule.step()
                self.settings._watch_schedules(update)
                if not follow:
                    self.schedule.step()
        return said.getvalue()

    def test_one_that_counts_a_workers_mini_batches_is_named_once(self):
        said = self.said([0, 3, 6, 9], follow=False)
        self.assertEqual(said.count("the schedule of the learning rate has made 1 steps, and the "
                                    "run 3 updates"), 1)
        self.assertEqual(said.count("\n"), 1)

    def test_one_that_follows_the_updates_is_right(self):
        self.assertEqual(self.said([0, 3, 6, 9], follow=True), "")

    def test_one_of_a_worker_that_makes_every_update_is_right(self):
        self.assertEqual(self.said(range(9), follow=False), "")

    def test_anothers_schedule_does_not_count(self):
        other = torch.optim.SGD(torch.nn.Linear(1, 1).parameters(), lr=0.1)
        self.assertEqual(schedules_of([self.optimizer]), [self.schedule])
        self.assertEqual(schedules_of([other]), [])


if __name__ == "__main__":
    unittest.main()
