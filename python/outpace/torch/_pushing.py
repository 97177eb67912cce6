"""The steps of a worker that pushes each mini-batch's gradient: the server makes them."""

import math
from typing import Any, Callable, Dict, Optional, Set

import torch

from outpace._error import OutpaceError
from outpace.torch._flat import Flat
from outpace.torch._large import LargeBatch
from outpace.torch._layers import Marks, is_profiled, mark_layers, marks_for
from outpace.torch._moments import Brought, refuse_state
from outpace.torch._named import Named, say_frozen
from outpace.torch._optimizers import count_step, groups_of, refuse_group, replace_step
from outpace.torch._settings import Settings
from outpace.torch._several import Member, Optimizers, Passes, optimizers_of
from outpace.torch._steps import AHEAD_MOST, CANCELLED, Leased, Steps
from outpace.torch._unchanged import check_parameters, check_unchanged
from outpace.worker import Minibatch


class _GivenUp(Exception):
    """Ends a backward pass that is cancelled."""


class Pushing(Steps):
    """Takes over the optimizer's steps."""

    def __init__(self, job: Leased, module: torch.nn.Module, optimizer: Optimizers, named: Named,
                 scale_rate: bool) -> None:
        groups_of(optimizer)  # Refuses one that the server does not have.
        self._job = job
        self._worker = job.worker
        self._module = module
        self._optimizer = optimizer
        self.named = named
        self.large = LargeBatch.of_environment(scale_rate, optimizer)
        self._flat = Flat(named.parameters)
        if self._worker.rank == 0:
            say_frozen(named.parameters)
        self.settings = Settings(named, optimizer, self.large)
        for parameter in named.parameters:
            if parameter.requires_grad:
                parameter.register_hook(self._poll)
        self._marks: Optional[Marks] = None  # The marks of a script that is profiled.
        if is_profiled():
            numbers = sum(map(math.prod, named.shapes.values()))
            self._marks = marks_for(self._flat.device, self._worker.mark)
            mark_layers(module, named.parameters, numbers, self._marks)
        self._passes = Passes(optimizer)
        self._brought = Brought(optimizers_of(optimizer), named.parameters)
        self._joined = False
        self._handed_out = False  # The current mini-batch, to the script.
        self._in_backward = False
        self._without: Set[int] = set()  # Parameters that the gradient at hand lacks.
        self._slices_left = 0  # The mini-batch's, for job.loader(accumulate=...).
        for member in self._passes.members:
            self._take_over(member)

    def _take_over(self, member: Member) -> None:
        optimizer = member.optimizer

        def step(closure: Optional[Callable[[], Any]] = None) -> None:
            self._step(member, closure)
            count_step(optimizer)

        def zero_grad(set_to_none: bool = False) -> None:
            self._zero_grad(member)

        refuse_state(optimizer, lambda: self._joined)
        replace_step(optimizer, step)
        optimizer.zero_grad = zero_grad  # type: ignore[method-assign]
        optimizer.add_param_group = refuse_group  # type: ignore[method-assign]
        count_step(optimizer)  # A worker that comes late makes none in the epochs that are over.

    # ---- The join, and weights that come ------------------------------------------------------

    def check_network(self) -> None:
        trained = [one for group in self._optimizer.param_groups for one in group["params"]]
        check_parameters(self._module, trained, self.named, self._flat)

    def initial(self) -> torch.Tensor:
        return torch.cat([self._flat.weights.cpu(), self.named.buffers.values()])

    def offer(self, epochs: int, ahead: int) -> Dict[str, Any]:
        groups = self.settings.begin(epochs)
        self._joined = True
        return {"groups": groups, "group_of": self.named.group_of,
                "ahead": min(ahead, AHEAD_MOST),
                "state": self._brought.state if groups else None}

    def begin(self, minibatch: Optional[Minibatch], prepared: bool = False,
              carries: bool = False) -> None:
        """`prepared`: its gradients are 0 already; `carries`: as of Passes.begin()."""
        self._passes.begin(carries)
        self._without.clear()
        self._slices_left = 0
        self._handed_out = False
        if minibatch is None:
            self._flat.release_gradients()
            return
        if self._marks is not None:
            self._marks.taken()
        self._flat.set_weights(minibatch.address)
        self.named.buffers.remember(minibatch.address + 4 * self._flat.numbers)
        address = self._worker.gradient_address()
        if not prepared or not self._flat.has_gradients_at(address):
            self._flat.use_gradients(address, self._worker.memory())

    def say_first(self, minibatch: Minibatch, examples: Optional[int], alone: Optional[int]) -> None:
        if self._worker.rank == 0:
            if self.settings.are_the_scripts and examples is not None:
                self.large.say(len(minibatch), examples, alone)
            self._brought.say_unused()

    def pending(self) -> Optional[Minibatch]:
        minibatch = self._worker.minibatch
        if minibatch is not None and self._handed_out:
            if self._passes.waiting():
                return self._push_some()
            self._check_dropped()
            minibatch = None
        if minibatch is None:
            self._flat.release_gradients()
        return minibatch

    def handed_out(self) -> None:
        self._handed_out = True
        self.let_go = False

    def begin_slice(self, left: int) -> None:
        self._slices_left = left

    def count_updates(self) -> None:
        self.settings.of_updates = True

    def end_update(self) -> None:
        if self._worker.minibatch is not None and self._passes.waiting():
            self._push_some()  # Its update is the step's.

    def leave(self) -> None:
        self._flat.release_gradients()

    # ---- The passes of a mini-batch -----------------------------------------------------------

    def backward(self, loss: torch.Tensor, examples: Optional[int], value: Optional[float],
                 parts: bool, **options: Any) -> bool:
        if self.let_go:
            return False  # It was cancelled or skipped in a pass before.
        minibatch = self._worker.minibatch
        if minibatch is None or not self._handed_out:
            raise OutpaceError("backward: there is no mini-batch; iterate over job.loader(dataset), or "
                               "over a DataLoader whose batch_sampler is job.sampler(dataset)")
        if parts and examples is None:
            raise OutpaceError("backward: parts=True needs examples=N, to say what was done")
        if parts and len(self._passes.members) > 1:
            raise OutpaceError("backward: parts=True is for a job of one optimizer")
        self._passes.all.check(loss, examples)
        if self._worker.cancelled and not parts:
            return self._cancel()
        self._in_backward = not parts
        try:
            loss.backward(**options)
        except _GivenUp:
            return self._cancel()
        finally:
            self._in_backward = False
        self._passes.end(0.0 if value is not None else float(loss.detach()), examples, value)
        done = self._passes.all.examples
        if parts and done > len(minibatch):
            raise OutpaceError(f"backward: {done} examples, but the "
                               f"mini-batch has {len(minibatch)}")
        if parts and done < len(minibatch) and self._worker.cancelled:
            self._push_part()
            return False
        return self._slices_left == 0

    def give_back(self, minibatch: Minibatch) -> None:
        self.drop(minibatch, self._worker.abandon)

    def drop(self, minibatch: Minibatch, tell: Callable[[], None]) -> None:
        if minibatch.current:
            self._flat.release_gradients()
            tell()

    def _poll(self, _gradient: torch.Tensor) -> None:
        if self._in_backward and self._worker.cancelled:
            raise _GivenUp

    def _cancel(self) -> bool:
        self._job.verdict = CANCELLED
        self.let_go = True
        self._flat.release_gradients()
        self._job.advance()
        return False

    def _zero_grad(self, member: Member) -> None:
        if len(self._passes.members) == 1:
            self._flat.clear_gradients()
        else:
            self._flat.clear(member.parameters)
        if not member.stepped:
            self._passes.throw_away(member)

    def _check_dropped(self) -> None:
        """Raises OutpaceError if the script goes on without a step, and so loses a gradient.

        One that is not finite may be lost: a GradScaler makes no step then, and another worker
        computes the mini-batch.
        """
        if self.let_go:
            return
        if self._passes.all.passes == 0:
            raise OutpaceError(
                "sampler: the next mini-batch is wanted before job.backward() of this one. A "
                "DataLoader with num_workers above 0 does that; use job.loader(dataset, "
                "num_workers=N). To skip a mini-batch, call job.skip()")
        self._flat.gather()
        if bool(torch.isfinite(self._flat.gradient).all()):
            raise OutpaceError(
                "loader: the next mini-batch is wanted before optimizer.step() of this one, whose "
                "gradient would be lost. To accumulate over K, write job.loader(dataset, "
                "accumulate=K), and for each slice: if job.backward(loss / K): optimizer.step(); "
                "`outpace run --batch` is the size of all K together. To skip a mini-batch, call "
                "job.skip()")
        if not math.isfinite(self._passes.all.loss):  # It is the examples' fault, and no scale's.
            minibatch = self._worker.minibatch
            assert minibatch is not None
            self.let_go = True
            self.drop(minibatch, self._worker.abandon_failed)

    # ---- Steps and pushes ---------------------------------------------------------------------

    def _step(self, member: Member, closure: Optional[Callable[[], Any]] = None) -> None:
        if closure is not None:
            raise OutpaceError("optimizer.step(closure): the server makes the steps; call "
                               "job.backward(loss), then optimizer.step()")
        if self.let_go:
            return  # No update needs this gradient, as backward() has said.
        self._passes.check_step(member)
        assert self._worker.minibatch is not None  # There was a pass.
        if self._slices_left > 0:
            raise OutpaceError(f"optimizer.step() before the last slice of the mini-batch: "
                               f"{self._slices_left} of them are to come. Write: if "
                               "job.backward(loss / K): optimizer.step()")
        self._take_frozen(member)
        given, wanted = member.passes.examples, len(self._worker.minibatch)
        if 0 < given < wanted:
            raise OutpaceError(f"optimizer.step() after backward() of {given} examples; the "
                               f"mini-batch has {wanted}")
        if not self._passes.step(member):
            self._flat.finish(member.parameters)  # Later passes must not change it.
            self._tell_settings()  # Later rates do not count either.
            return
        self._push()

    def _take_frozen(self, member: Member) -> None:
        """Notes which parameters of an optimizer that makes its step are frozen."""
        frozen = self._flat.frozen(member.parameters)
        if frozen and not self.named.may_be_without:
            raise OutpaceError(f"parameter '{list(self.named.shapes)[min(frozen)]}' was frozen after "
                               "wrap(), and the server's optimizer would still move it; freeze it "
                               "before job.wrap(), or use one of torch.optim")
        self._without |= frozen

    def _push_some(self) -> Optional[Minibatch]:
        """Some optimizers have made no step with this mini-batch: pushes the gradients of the others,
        and takes the next one. As in PyTorch, what passes have added to the gradients of the first
        stays there until zero_grad()."""
        flat = self._flat
        waiting = [one for member in self._passes.waiting() for one in member.parameters]
        kept = [one for one in flat.take(waiting) if bool(torch.isfinite(one[1]).all())]
        self._without |= flat.places_of(waiting)
        minibatch = self._push(carries=True)
        if minibatch is not None:
            flat.put(kept)
        return minibatch

    def _push(self, carries: bool = False) -> Optional[Minibatch]:
        """Pushes the gradient, and takes the next mini-batch."""
        flat, named, worker = self._flat, self.named, self._worker
        assert worker.minibatch is not None
        check_unchanged(flat, named.shapes, worker.minibatch.address)
        named.constants.check_unchanged()
        if not carries:
            self._tell_settings()
        self._write_gradient()
        if self._marks is not None:
            self._marks.computed()
        try:
            self._job.verdict, minibatch = worker.push_and_next(self._passes.all.loss,
                                                                self._prepare_gradients)
        except BaseException:
            flat.release_gradients()
            raise
        return self._job.begin(minibatch, prepared=not worker.void_memory, carries=carries)

    def _push_part(self) -> None:
        """Pushes the mean over the first examples, and takes the next mini-batch."""
        flat, worker = self._flat, self._worker
        assert worker.minibatch is not None
        self._tell_settings()
        done = self._passes.all
        share = done.share(len(worker.minibatch))
        flat.gather()
        flat.gradient.div_(share)  # The losses are shares of the whole mini-batch's.
        self._take_frozen(self._passes.members[0])
        self._write_gradient()
        if self._marks is not None:
            self._marks.computed()
        try:
            self._job.verdict = worker.push(done.loss / share, part=done.examples)
        finally:
            flat.release_gradients()
        self.let_go = True
        self._job.advance()

    def _write_gradient(self) -> None:
        """Sees to it that the gradient lies where the server reads it, and the buffers behind it."""
        address = self._worker.gradient_address()
        self._flat.write_gradients(address)
        self.named.buffers.write(address + 4 * self._flat.numbers)
        if self._without:
            self._worker.without(self._without)

    def _prepare_gradients(self) -> None:
        """While the server answers."""
        self._flat.use_gradients(self._worker.gradient_address(), self._worker.memory())

    def _tell_settings(self) -> None:
        """Tells the server the rates of the epoch, or of the update. Raises OutpaceError if the
        script's optimizer has come to differ from the server's."""
        when = self._job.version if self.settings.of_updates else self._job.epoch
        rates = self.settings.news(when)
        if rates is not None and when is not None:
            self.check_network()
            self._worker.set_rates(when, rates)
