"""Local steps, with a worker that leases what the test says and remembers what it is told."""

import contextlib
import ctypes
import io
import os
import tempfile
import unittest
from unittest import mock

import torch

import outpace.torch as op
from outpace.torch._kept import KeptState
from outpace.torch._local import LocalSteps
from outpace.torch._named import Named
from outpace.torch._several import Several
from outpace.torch._weights import Weights
from outpace.torch._wrapping import Wrapping, checked
from outpace.worker import Outcome, Verdict


def network():
    torch.manual_seed(7)
    return torch.nn.Linear(2, 1)


class Lease:
    """As a Minibatch, of `steps` mini-batches of two examples."""

    def __init__(self, worker, version, steps):
        self._worker = worker
        self.numbers = (ctypes.c_float * 3)(*worker.weights)
        self.address = ctypes.addressof(self.numbers)
        self.version = version
        self.indices = list(range(2 * steps))
        self.steps = [(2, 0)] * steps
        self.ahead = worker.ahead
        self.ahead_epochs = [0]

    @property
    def current(self):
        return self._worker.minibatch is self


class FakeWorker:
    """Leases phases of these sizes."""

    rank = 0

    def __init__(self, phases):
        self.weights = [1.0, 2.0, 3.0]
        self.phases = list(phases)
        self.minibatch = None
        self.told = []  # What it was told, in order.
        self.cancelled = self.wants_part = False
        self.outcome = Outcome.ACCEPTED
        self.gradient = (ctypes.c_float * 3)()
        self.version = 0
        self.ahead = [[100, 101, 102]]
        self.slowed = False
        self.there = False  # The next phase, while a push travels.

    def next(self):
        self.minibatch = Lease(self, self.version, self.phases.pop(0)) if self.phases else None
        self.cancelled = self.wants_part = False
        return self.minibatch

    def stepped(self, examples):
        self.told.append(examples)

    def gradient_address(self):
        return ctypes.addressof(self.gradient)

    def push_steps(self, loss):
        self.told.append(("push", list(self.gradient), loss))
        self.minibatch = None
        self.version += 1
        return Verdict(self.outcome, "not finite" if self.outcome is Outcome.REFUSED else "")

    def start_push_steps(self, loss):
        self.push_steps(loss)

    def await_next(self, waits):
        if not waits and not self.there:
            return None
        self.told.append("waited" if waits else "there")
        verdict = Verdict(self.outcome, "not finite" if self.outcome is Outcome.REFUSED else "")
        return verdict, self.next()

    def abandon(self):
        self.told.append("abandon")
        self.minibatch = None

    def abandon_failed(self):
        self.told.append("failed")
        self.minibatch = None


class Job:
    """A job of that worker, with what LocalSteps needs of it."""

    def __init__(self, phases, optimizers=1, goes_ahead=False):
        self.worker = FakeWorker(phases)
        self.verdict = self.epoch = None
        self.version = 0
        self.net = network()
        made = [torch.optim.SGD([one], lr=0.5) for one in self.net.parameters()]
        self.optimizers = ([torch.optim.SGD(self.net.parameters(), lr=0.5)] if optimizers == 1
                           else made)
        together = self.optimizers[0] if optimizers == 1 else Several(self.optimizers)
        self.named = Named(self.net, together, local=True)
        self.steps = LocalSteps(self, self.net, together, self.named, 3, goes_ahead)
        self.steps.offer(1, 2)

    def advance(self):
        return self.begin(self.worker.next())

    def begin(self, minibatch, **how):
        self.steps.begin(minibatch, **how)
        return self.steps.pending()

    def hand_out(self):
        found = self.steps.pending() or self.advance()
        if found is not None:
            self.steps.handed_out()
        return found

    def step(self, *which):
        for one in which or range(len(self.optimizers)):
            for parameter in self.net.parameters():
                parameter.grad = torch.ones_like(parameter)
            self.optimizers[one].step()

    def pushes(self):
        return [one for one in self.worker.told if isinstance(one, tuple)]


class Phases(unittest.TestCase):
    def test_a_phase_is_pushed_at_its_last_step(self):
        job = Job([3, 2])
        found = []
        for _ in range(3):
            found.append(job.hand_out())
            self.assertTrue(found[-1].current)
            self.assertEqual(job.pushes(), [])
            job.step()
            self.assertFalse(found[-1].current)
        self.assertEqual([one.indices for one in found], [[0, 1], [2, 3], [4, 5]])
        self.assertEqual(found[0].ahead, [[2, 3], [4, 5]])
        self.assertEqual(found[2].ahead, [[100, 101], [102]])
        self.assertEqual(job.worker.told, [2, 2, 2, ("push", [1.5, 1.5, 1.5], None)])
        self.assertEqual(job.steps.initial().tolist(), [1, 2, 3])  # The next phase's.
        self.assertEqual(job.hand_out().indices, [0, 1])

    def test_who_is_asked_for_a_part_hands_it_in(self):
        job = Job([3, 3])
        job.hand_out()
        job.step()
        job.hand_out()
        job.worker.cancelled = job.worker.wants_part = True
        job.step()
        self.assertEqual(job.worker.told, [2, 2, ("push", [1.0, 1.0, 1.0], None)])

    def test_who_is_not_asked_for_it_gives_up(self):
        job = Job([3, 3])
        job.hand_out()
        job.worker.cancelled = True
        job.step()
        self.assertEqual(job.worker.told, [2, "abandon"])
        self.assertIs(job.verdict.outcome, Outcome.CANCELLED)

    def test_passes_may_add_up_over_mini_batches(self):
        job = Job([3, 3])
        job.hand_out()
        job.hand_out()
        job.step()
        job.hand_out()  # The last one, without a step.
        self.assertEqual(job.pushes(), [])
        job.hand_out()
        self.assertEqual(job.worker.told, [2, 2, 2, ("push", [0.5, 0.5, 0.5], None)])

    def test_a_phase_without_a_step_is_for_others(self):
        job = Job([1, 1])
        job.hand_out()
        job.hand_out()
        self.assertEqual(job.worker.told, ["failed"])

    def test_two_optimizers_make_a_step_each_or_one_of_them(self):
        job = Job([2, 2], optimizers=2)
        job.hand_out()
        job.step(0)
        self.assertEqual(job.worker.told, [])
        job.step(1)
        self.assertEqual(job.worker.told, [2])
        job.hand_out()
        job.step(0)
        self.assertEqual(job.pushes(), [])
        job.hand_out()
        self.assertEqual(job.worker.told, [2, 2, ("push", [1.0, 1.0, 0.5], None)])

    def test_a_second_step_is_refused_and_a_loop_that_was_left_goes_on(self):
        job = Job([3])
        part = job.hand_out()
        job.steps.give_back(part)
        self.assertEqual(job.hand_out().indices, part.indices)
        job.step()
        with self.assertRaisesRegex(op.OutpaceError, "has made its step with this mini-batch"):
            job.step()

    def test_who_leaves_hands_in_and_steps_no_more(self):
        job = Job([3])
        job.hand_out()
        job.step()
        job.steps.leave()
        self.assertEqual(len(job.pushes()), 1)
        job.step()
        self.assertEqual(len(job.pushes()), 1)

    def test_steps_that_were_refused_leave_no_state(self):
        job = Job([1, 1])
        optimizer = job.optimizers[0]
        optimizer.state[job.net.weight]["kept"] = 1
        job.worker.outcome = Outcome.REFUSED
        job.hand_out()
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            job.step()
        self.assertEqual(len(optimizer.state), 0)
        self.assertIn("turned away (not finite)", said.getvalue())

    def test_a_step_leaves_no_gradient_behind_unless_the_loop_is_plain(self):
        for by_job in (True, False):
            with self.subTest(by_job=by_job):
                job = Job([2])
                for _ in range(2):  # Without zero_grad().
                    job.hand_out()
                    loss = job.net(torch.ones(2)).sum()
                    if by_job:
                        job.steps.backward(loss, None, None, False)
                    else:
                        loss.backward()
                    job.optimizers[0].step()
                # Each gradient is 1, and the rate 0.5: two steps; or three, for the first counts twice.
                self.assertEqual(job.pushes()[0][1], [1.0] * 3 if by_job else [1.5] * 3)

    def test_the_loss_is_the_mean_of_the_steps(self):
        job = Job([2])
        for losses in ((1.0, 3.0), (2.0,)):  # Passes of a step add up.
            job.hand_out()
            for one in losses:
                job.steps.backward(torch.tensor(one, requires_grad=True), None, None, False)
            job.step()
        self.assertEqual(job.pushes()[0][2], 3.0)


class StepsAhead(unittest.TestCase):
    """A step takes 0.5 off each weight; the weights are 1, 2, 3 at first."""

    def ahead(self, phases=(2, 2, 1), examples=(0, 1, 2, 3)):
        """The first phase was pushed, and a step of the next one made."""
        job = Job(phases, goes_ahead=True)
        job.worker.ahead = [list(examples)]
        for _ in range(2):
            job.hand_out()
            job.step()
        self.assertEqual(job.worker.told, [2, 2, ("push", [1, 1, 1], None)])
        part = job.hand_out()
        self.assertEqual((part.indices, part.current), (list(examples)[:2], True))
        job.worker.weights = [10.0, 20.0, 30.0]
        return job

    def test_go_on_and_count_in_the_next_phase(self):
        job = self.ahead((2, 3), (0, 1, 2, 3, 4, 5))
        job.step()
        self.assertEqual(job.steps.initial().tolist(), [-0.5, 0.5, 1.5])
        self.assertEqual(len(job.worker.told), 3)  # Nothing of it, as yet.
        job.worker.there = True
        del job.worker.told[:]
        self.assertEqual(job.hand_out().indices, [2, 3])
        job.step()
        self.assertEqual(job.worker.told, ["there", 2, 2])
        self.assertEqual(job.steps.initial().tolist(), [9, 19, 29])  # The new weights, less two steps.
        self.assertEqual(job.hand_out().indices, [4, 5])
        job.step()
        self.assertEqual(job.pushes(), [("push", [1.5, 1.5, 1.5], None)])

    def test_wait_at_the_end_of_the_next_phase(self):
        job = self.ahead()
        job.step()
        del job.worker.told[:]
        job.hand_out()
        job.step()
        self.assertEqual(job.worker.told, ["waited", 2, 2, ("push", [1, 1, 1], None)])

    def test_are_lost_if_the_next_phase_has_other_examples(self):
        job = self.ahead(examples=(4, 5, 6, 7))
        job.worker.there = True
        job.step()
        self.assertEqual(job.worker.told[3:], ["there"])
        self.assertEqual(job.steps.initial().tolist(), [10, 20, 30])
        self.assertEqual(job.hand_out().indices, [0, 1])

    def test_are_lost_if_the_push_was_turned_away(self):
        job = self.ahead()
        job.worker.there, job.worker.outcome = True, Outcome.REFUSED
        with contextlib.redirect_stderr(io.StringIO()):
            job.step()
        self.assertEqual(job.steps.initial().tolist(), [10, 20, 30])
        self.assertEqual(job.worker.told[3:], ["there"])

    def test_are_handed_in_by_who_leaves(self):
        job = self.ahead()
        job.step()
        job.steps.leave()
        self.assertEqual(job.worker.told[3:], ["waited", 2, ("push", [0.5, 0.5, 0.5], None)])

    def test_are_not_made_where_the_next_examples_are_unknown_or_calls_are_slowed(self):
        for change in ({"ahead": []}, {"slowed": True}):
            job = Job((1, 1), goes_ahead=True)
            vars(job.worker).update(change)
            job.hand_out()
            job.step()
            self.assertEqual(job.steps.initial().tolist(), [1, 2, 3])  # The next phase's.

    def test_do_not_go_beyond_the_epoch(self):
        job = Job((1, 1), goes_ahead=True)
        job.worker.ahead = [[0, 1]]
        job.hand_out()
        job.steps._lease.ahead_epochs = [1]
        job.step()
        self.assertEqual(job.steps.initial().tolist(), [1, 2, 3])


class Numbers(unittest.TestCase):
    def test_a_narrow_type_has_moved_only_by_its_steps(self):
        net = network().to(torch.bfloat16)
        weights = Weights(list(net.parameters()))
        released = (ctypes.c_float * 3)(1.001, -2.003, 0.1)  # None is a bfloat16.
        out = (ctypes.c_float * 3)()
        weights.set(ctypes.addressof(released))
        weights.write_difference(ctypes.addressof(released), ctypes.addressof(out))
        self.assertEqual(list(out), [0, 0, 0])
        with torch.no_grad():
            net.bias.add_(1)
        weights.write_difference(ctypes.addressof(released), ctypes.addressof(out))
        self.assertEqual(list(out)[:2], [0, 0])
        self.assertAlmostEqual(out[2], -1, places=2)


class Options(unittest.TestCase):
    def of(self, local_steps=None, examples=None, scale_rate=False, environment="",
           steps_ahead=False):
        with mock.patch.dict(os.environ, {"OUTPACE_LOCAL_STEPS": environment}):
            return checked(Wrapping("average", scale_rate, None, local_steps, examples,
                                    steps_ahead)).local_steps

    def test_the_run_says_what_the_script_does_not(self):
        self.assertIsNone(self.of())
        self.assertEqual(self.of(environment="8"), 8)
        self.assertEqual(self.of(8), 8)
        self.assertEqual(self.of(8, environment="8"), 8)

    def test_what_does_not_go_together_is_a_sentence(self):
        for given, why in (({"local_steps": 8, "environment": "9"}, "must be the same"),
                           ({"local_steps": True}, "takes a whole number"),
                           ({"environment": "x"}, "OUTPACE_LOCAL_STEPS is 'x'"),
                           ({"examples": 10}, "is for data of the script's own"),
                           ({"steps_ahead": True}, "steps_ahead=True is of local steps"),
                           ({"local_steps": 2, "scale_rate": True}, "scale_rate=True")):
            with self.subTest(why), self.assertRaisesRegex(op.OutpaceError, why):
                self.of(**given)


class Kept(unittest.TestCase):
    def test_goes_on_with_optimizer_and_random_numbers(self):
        with tempfile.TemporaryDirectory() as folder:
            net = network()
            optimizer = torch.optim.Adam(net.parameters())
            net(torch.ones(1, 2)).sum().backward()
            optimizer.step()
            kept = KeptState(os.path.join(folder, "workers"), 3)
            self.assertIsNone(kept.read([optimizer]))
            kept.write(7, [optimizer])
            drawn = torch.rand(1)
            other = torch.optim.Adam(net.parameters())
            self.assertEqual(kept.read([other]), 7)
            self.assertEqual(len(other.state), 2)
            self.assertEqual(torch.rand(1), drawn)
            with self.assertRaisesRegex(op.OutpaceError, "does not fit this script.*remove the file"):
                kept.read([other, other])

    def test_a_disk_that_fails_is_said_once(self):
        kept = KeptState("/proc/nowhere", 0)
        said = io.StringIO()
        with contextlib.redirect_stderr(said), mock.patch("time.monotonic", side_effect=range(0, 99, 9)):
            for _ in range(3):
                kept.write(1, [])
        self.assertEqual(said.getvalue().count("is not kept"), 1)


if __name__ == "__main__":
    unittest.main()
