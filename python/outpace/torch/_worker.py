"""The loop of a worker: leases, weights and verdicts are the server's."""

import atexit
import contextlib
import itertools
import math
import sys
from typing import Any, Callable, Dict, Iterator, Optional, Set, Sized, Union

import torch

from outpace._error import OutpaceError
from outpace.torch._batch import say_ignored
from outpace.torch._data import data_of
from outpace.torch._ends import EmptyPasses, Ends, check_number, check_updates, check_why
from outpace.torch._flat import Flat
from outpace.torch._job import Job
from outpace.torch._large import LargeBatch
from outpace.torch._layers import Marks, is_profiled, mark_layers, marks_for
from outpace.torch._loader import Leases, Loader
from outpace.torch._measured import Evaluated, Hearing, Newest
from outpace.torch._moments import Brought, refuse_state
from outpace.torch._named import Named, say_frozen
from outpace.torch._optimizers import count_step, groups_of, replace_step
from outpace.torch._rules import Given
from outpace.torch._seeds import draw_own
from outpace.torch._settings import Settings
from outpace.torch._several import Member, Optimizers, Passes, Several, optimizers_of
from outpace.torch._unchanged import check_parameters, check_unchanged
from outpace.torch._unleased import VERDICT
from outpace.worker import Minibatch, Outcome, Verdict, Worker

AHEAD_MOST = 256  # As the server allows.
CANCELLED = Verdict(Outcome.CANCELLED, "given up: nobody waits for it any more")


class _GivenUp(Exception):
    """Ends a backward pass that is cancelled."""


class WorkerJob(Job):
    """A worker's part in a job."""

    def __init__(self, worker: Worker) -> None:
        super().__init__()
        self.rank = worker.rank
        self.worker = worker
        self._named: Optional[Named] = None
        self._large = LargeBatch(1, False)
        self._flat: Optional[Flat] = None
        self._examples: Optional[int] = None  # The data set's size.
        self._alone_batch: Optional[int] = None  # The loader's batch size; it counts alone.
        self._ahead = 0  # Mini-batches that the loader loads early.
        self._epochs = 0  # Epochs that the script wants; 0: it has not said.
        self._settings: Optional[Settings] = None
        self._joined = False
        self._handed_out = False  # The current mini-batch, to the script.
        self._begun = False  # It has had a mini-batch.
        self._over = False
        self._left = False  # By itself, before the end of the run.
        self._ends, self._empty = Ends(worker), EmptyPasses()
        self._hearing = Hearing(worker)
        self._asked = False  # For an evaluator.
        self._worked_in: Optional[int] = None  # The epoch of the last mini-batch.
        self._in_backward = False
        self._passes = Passes(Several([]))
        self._brought = Brought([], [])
        self._without: Set[int] = set()  # Parameters that the gradient at hand lacks.
        self._let_go = False  # No update needs the gradient of the mini-batch that the script has.
        self._unleased = False  # The script's loop runs without a mini-batch.
        self._slices_left = 0  # The mini-batch's, for job.loader(accumulate=...).
        self._marks: Optional[Marks] = None  # The marks of a script that is profiled.
        self._version = 0
        self._seed = 0  # The script's, before this worker draws its own.
        atexit.register(self._end)

    # ---- What the script calls ----------------------------------------------------------------

    @property
    def version(self) -> int:
        return self._version

    def _take(self, module: torch.nn.Module, optimizer: Optimizers, buffers: Given,
              averages: Optional[torch.nn.Module]) -> None:
        groups_of(optimizer)  # Refuses one that the server does not have.
        self._large = LargeBatch.of_environment(self._scale_rate, optimizer)
        self._named = Named(module, optimizer, buffers, averages)
        self._flat = Flat(self._named.parameters)
        if self.rank == 0:
            say_frozen(self._named.parameters)
        self._settings = Settings(self._named, optimizer, self._large)
        for parameter in self._named.parameters:
            if parameter.requires_grad:
                parameter.register_hook(self._poll)
        if is_profiled():
            numbers = sum(map(math.prod, self._named.shapes.values()))
            self._marks = marks_for(self._flat.device, self.worker.mark)
            mark_layers(module, self._named.parameters, numbers, self._marks)
        self._passes = Passes(optimizer)
        self._brought = Brought(optimizers_of(optimizer), self._named.parameters)
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
        optimizer.add_param_group = _refuse_group  # type: ignore[method-assign]
        count_step(optimizer)  # A worker that comes late makes none in the epochs that are over.

    def sampler(self, dataset: Sized, batch_size: Optional[int] = None) -> Any:
        self._count(len(dataset))
        return Leases(self, dataset)

    def _count(self, examples: int) -> None:
        if self._examples not in (None, examples):
            raise OutpaceError(f"sampler: a data set of {examples} examples, after one of "
                               f"{self._examples}; a job trains on one data set; load others, such as "
                               "one to validate with, by torch.utils.data.DataLoader")
        self._examples = examples

    def loader(self, dataset: Sized, *, batch_size: Optional[int] = None, accumulate: int = 1,
               drop_last: bool = False, **options: Any) -> Any:
        data = data_of(dataset, options).of_a_job()
        self._count(data.examples)
        say_ignored(batch_size, self.rank)
        self._alone_batch = batch_size
        loader = Loader(self, data, options, accumulate, drop_last,
                        lambda: self._seed)
        self._ahead = loader.ahead
        return loader

    @property
    def over(self) -> bool:
        return self._over

    def stop(self, why: str) -> None:
        check_why(why)
        if not self._over and not self._unleased:
            self._ends.tell(why)
            self._let_go = True
            self._leave()

    def epochs(self, number: Optional[int] = None) -> Iterator[int]:
        check_number(number)
        if self._joined:
            raise OutpaceError("epochs: the job has begun; call it before the first mini-batch")
        self._epochs = number or 0
        with self._leaving_with_loop():
            for self.epoch in range(number) if number else itertools.count():
                yield self.epoch
                if self._over:
                    return
        self._leave()
        self._ends.left(certain=True)

    def updates(self, number: int) -> Iterator[int]:
        check_updates(number)
        self._wrapped()
        if self._joined or self._examples is None:
            raise OutpaceError("updates: call it after job.loader(), before the first mini-batch")
        assert self._settings is not None
        self._settings.of_updates = True
        self._join()
        self._advance()
        if not self._begun:  # The run is over.
            yield 0
        with self._leaving_with_loop():
            while self._version < number and not self._over:
                yield self._version
                if self.worker.minibatch is not None and self._passes.waiting():
                    self._push_some()  # Its update is the step's.
        self.stop(f"{number} updates were made")

    @contextlib.contextmanager
    def _leaving_with_loop(self) -> Iterator[None]:
        try:
            yield
        except GeneratorExit:  # A break, or an exception.
            self._leave()
            self._ends.left(certain=False)
            raise

    def backward(self, loss: torch.Tensor, *, examples: Optional[int] = None,
                 value: Optional[float] = None, parts: bool = False, **options: Any) -> bool:
        if self._unleased:
            self.verdict = VERDICT
            return False
        if self._let_go:
            return False  # It was cancelled or skipped in a pass before.
        flat, minibatch = self._flat, self.worker.minibatch
        if flat is None or minibatch is None or not self._handed_out:
            raise OutpaceError("backward: there is no mini-batch; iterate over job.loader(dataset), or "
                               "over a DataLoader whose batch_sampler is job.sampler(dataset)")
        if parts and examples is None:
            raise OutpaceError("backward: parts=True needs examples=N, to say what was done")
        if parts and len(self._passes.members) > 1:
            raise OutpaceError("backward: parts=True is for a job of one optimizer")
        self._passes.all.check(loss, examples)
        if self.worker.cancelled and not parts:
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
        if parts and done < len(minibatch) and self.worker.cancelled:
            self._push_part()
            return False
        return self._slices_left == 0

    def evaluate(self, function: Callable[[], Evaluated]) -> "Union[Evaluated, Newest, None]":
        self._wrapped()
        assert self._named is not None
        if self._named.own_buffers:
            mine = self.rank == 0 and self._worked_in == self.epoch
            return self._measure_here(function) if mine else None
        if not self._asked and self._begun and not is_profiled():
            self._asked = True
            self._ask_for_evaluator()
        return None if is_profiled() else self._hearing.newest(self.epoch)

    # ---- What the sampler and the optimizer call ----------------------------------------------

    def hand_out(self) -> Optional[Minibatch]:
        """The mini-batch that the script computes next; None at the end of the epoch or run."""
        if not self._joined:
            self._join()
        minibatch = self.worker.minibatch
        if minibatch is not None and self._handed_out:
            if self._passes.waiting():
                minibatch = self._push_some()
            else:
                self._check_dropped()
                minibatch = None
        if minibatch is None and not self._over:
            minibatch = self._advance()
        elif minibatch is None:
            self._empty.one_more()
        if minibatch is None or (self.epoch is not None and minibatch.epoch > self.epoch):
            return None
        self._handed_out = True
        self._let_go = self._unleased = False
        self._worked_in = self.epoch
        return minibatch

    def begin_unleased(self) -> bool:
        """Whether the script's loop is to run once without a mini-batch: it never had one."""
        self._unleased = not self._begun
        return self._unleased

    def begin_slice(self, left: int) -> None:
        """The script computes the next slice of the mini-batch, before `left` others."""
        self._slices_left = left

    def skip(self) -> None:
        self._let_go = True
        if self.worker.minibatch is not None:
            self._give_up(self.worker.minibatch, self.worker.abandon_failed)

    def leave_out(self, minibatch: Minibatch) -> None:
        """Nobody computes this mini-batch in this epoch."""
        self._let_go = True
        self._give_up(minibatch, self.worker.leave_out)

    def give_up(self, minibatch: Minibatch) -> None:
        """Gives this mini-batch back, unless it was pushed."""
        self._give_up(minibatch, self.worker.abandon)

    def _give_up(self, minibatch: Minibatch, tell: Callable[[], None]) -> None:
        if minibatch.current:
            assert self._flat is not None
            self._flat.release_gradients()
            tell()

    def _step(self, member: Member, closure: Optional[Callable[[], Any]] = None) -> None:
        flat, named, worker = self._flat, self._named, self.worker
        assert flat is not None and named is not None
        if closure is not None:
            raise OutpaceError("optimizer.step(closure): the server makes the steps; call "
                               "job.backward(loss), then optimizer.step()")
        if self._let_go or self._unleased:
            return  # No update needs this gradient, as backward() has said.
        self._passes.check_step(member)
        assert worker.minibatch is not None  # There was a pass.
        if self._slices_left > 0:
            raise OutpaceError(f"optimizer.step() before the last slice of the mini-batch: "
                               f"{self._slices_left} of them are to come. Write: if "
                               "job.backward(loss / K): optimizer.step()")
        self._take_frozen(member)
        given, wanted = member.passes.examples, len(worker.minibatch)
        if 0 < given < wanted:
            raise OutpaceError(f"optimizer.step() after backward() of {given} examples; the "
                               f"mini-batch has {wanted}")
        if not self._passes.step(member):
            flat.finish(member.parameters)  # Later passes must not change it.
            self._tell_settings()  # Later rates do not count either.
            return
        self._push()

    def _take_frozen(self, member: Member) -> None:
        """Notes which parameters of an optimizer that makes its step are frozen."""
        flat, named = self._flat, self._named
        assert flat is not None and named is not None
        frozen = flat.frozen(member.parameters)
        if frozen and not named.may_be_without:
            raise OutpaceError(f"parameter '{list(named.shapes)[min(frozen)]}' was frozen after "
                               "wrap(), and the server's optimizer would still move it; freeze it "
                               "before job.wrap(), or use one of torch.optim")
        self._without |= frozen

    def _push_some(self) -> Optional[Minibatch]:
        """Some optimizers have made no step with this mini-batch: pushes the gradients of the others,
        and takes the next one. As in PyTorch, what passes have added to the gradients of the first
        stays there until zero_grad()."""
        flat = self._flat
        assert flat is not None
        waiting = [one for member in self._passes.waiting() for one in member.parameters]
        kept = [one for one in flat.take(waiting) if bool(torch.isfinite(one[1]).all())]
        self._without |= flat.places_of(waiting)
        minibatch = self._push(carries=True)
        if minibatch is not None:
            flat.put(kept)
        return minibatch

    def _push(self, carries: bool = False) -> Optional[Minibatch]:
        """Pushes the gradient, and takes the next mini-batch."""
        flat, named, worker = self._flat, self._named, self.worker
        assert flat is not None and named is not None and worker.minibatch is not None
        check_unchanged(flat, named.shapes, worker.minibatch.address)
        named.constants.check_unchanged()
        if not carries:
            self._tell_settings()
        self._write_gradient()
        if self._marks is not None:
            self._marks.computed()
        try:
            self.verdict, minibatch = worker.push_and_next(self._passes.all.loss,
                                                           self._prepare_gradients)
        except BaseException:
            flat.release_gradients()
            raise
        return self._begin(minibatch, prepared=not worker.void_memory, carries=carries)

    def _write_gradient(self) -> None:
        """Sees to it that the gradient lies where the server reads it, and the buffers behind it."""
        flat, named, worker = self._flat, self._named, self.worker
        assert flat is not None and named is not None
        flat.write_gradients(worker.gradient_address())
        named.buffers.write(worker.gradient_address() + 4 * flat.numbers)
        if self._without:
            worker.without(self._without)

    def _prepare_gradients(self) -> None:
        """While the server answers."""
        assert self._flat is not None
        self._flat.use_gradients(self.worker.gradient_address(), self.worker.memory())

    def _zero_grad(self, member: Member) -> None:
        assert self._flat is not None
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
        if self._let_go:
            return
        if self._passes.all.passes == 0:
            raise OutpaceError(
                "sampler: the next mini-batch is wanted before job.backward() of this one. A "
                "DataLoader with num_workers above 0 does that; use job.loader(dataset, "
                "num_workers=N). To skip a mini-batch, call job.skip()")
        assert self._flat is not None
        self._flat.gather()
        if bool(torch.isfinite(self._flat.gradient).all()):
            raise OutpaceError(
                "loader: the next mini-batch is wanted before optimizer.step() of this one, whose "
                "gradient would be lost. To accumulate over K, write job.loader(dataset, "
                "accumulate=K), and for each slice: if job.backward(loss / K): optimizer.step(); "
                "`outpace run --batch` is the size of all K together. To skip a mini-batch, call "
                "job.skip()")
        if not math.isfinite(self._passes.all.loss):
            self.skip()  # It is the examples' fault, and no scale's that is too large.

    def _poll(self, _gradient: torch.Tensor) -> None:
        if self._in_backward and self.worker.cancelled:
            raise _GivenUp

    # ---- Between the two ----------------------------------------------------------------------

    def _join(self) -> None:
        module = self._wrapped()
        named, flat, settings = self._named, self._flat, self._settings
        assert named is not None and flat is not None and settings is not None
        check_parameters(module, self._trained(), named, flat)

        def initial() -> torch.Tensor:
            return torch.cat([flat.weights.cpu(), named.buffers.values()])

        groups = settings.begin(self._epochs)
        self.worker.join(named.shapes, initial, self._examples or 0, groups=groups,
                         group_of=named.group_of, epochs=self._epochs,
                         constants=named.constants.bytes,
                         state=self._brought.state if groups else None,
                         ahead=min(self._ahead, AHEAD_MOST))
        self._seed = torch.initial_seed()
        if self.draws_own:
            draw_own(self.worker.rank)
        self._joined = True

    def _advance(self) -> Optional[Minibatch]:
        """Waits for the next mini-batch, and for the weights that belong to it."""
        assert self._flat is not None
        self._flat.release_gradients()
        return self._begin(self.worker.next())

    def _begin(self, minibatch: Optional[Minibatch], prepared: bool = False,
               carries: bool = False) -> Optional[Minibatch]:
        """Takes over its weights; None: the run is over. `prepared`: its gradients are 0 already;
        `carries`: as of Passes.begin()."""
        flat, named = self._flat, self._named
        assert flat is not None and named is not None and self._settings is not None
        self._passes.begin(carries)
        self._without.clear()
        self._slices_left = 0
        self._handed_out = False
        if minibatch is None:
            self._over = True
            flat.release_gradients()
            if not self._begun:
                print(f"outpace: worker {self.rank} came when the run was over: it has computed "
                      "nothing, and its network has not the run's weights", file=sys.stderr)
            return None
        self._version = minibatch.version
        if self._marks is not None:
            self._marks.taken()
        flat.set_weights(minibatch.address)
        named.buffers.remember(minibatch.address + 4 * flat.numbers)
        if not self._begun:
            self._begun = True
            if self.rank == 0 and self._settings.are_the_scripts and self._examples is not None:
                self._large.say(len(minibatch), self._examples, self._alone_batch)
            if self.rank == 0:
                self._brought.say_unused()
            named.buffers.use_servers()
            named.constants.use(self.worker.constants())
        address = self.worker.gradient_address()
        if not prepared or not flat.has_gradients_at(address):
            flat.use_gradients(address, self.worker.memory())
        return minibatch

    def _ask_for_evaluator(self) -> None:
        try:
            self.worker.ask_for_evaluator()
        except OutpaceError as error:
            if not self._over:
                raise
            print(f"outpace: worker {self.rank}: evaluate: no evaluator was started for the last "
                  f"weights: {error}", file=sys.stderr)

    def _push_part(self) -> None:
        """Pushes the mean over the first examples, and takes the next mini-batch."""
        flat, worker = self._flat, self.worker
        assert flat is not None and worker.minibatch is not None
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
            self.verdict = worker.push(done.loss / share, part=done.examples)
        finally:
            flat.release_gradients()
        self._let_go = True
        self._advance()

    def _cancel(self) -> bool:
        self.verdict = CANCELLED
        self._let_go = True
        self._advance()
        return False

    def _tell_settings(self) -> None:
        """Tells the server the rates of the epoch, or of the update. Raises OutpaceError if the
        script's optimizer has come to differ from the server's."""
        assert self._settings is not None and self._named is not None and self._flat is not None
        when = self._version if self._settings.of_updates else self.epoch
        rates = self._settings.news(when)
        if rates is not None and when is not None:
            check_parameters(self._wrapped(), self._trained(), self._named, self._flat)
            self.worker.set_rates(when, rates)

    def _servers_buffers(self) -> Dict[str, torch.Tensor]:
        return self._named.buffers.servers() if self._named is not None and self._begun else {}

    def _has_begun(self) -> bool:
        return self._joined

    def _writes(self) -> bool:
        if is_profiled():
            print("outpace: save: nothing is written while `outpace profile` measures the script")
            return False
        if self._over and not self._begun:
            print("outpace: save: nothing is written, because this worker never had the run's "
                  "weights; they are in weights.safetensors in the run's folder", file=sys.stderr)
            return False
        return True

    def _leave(self) -> None:
        if self._over:
            return
        self._over = True
        if self._flat is not None:
            self._flat.release_gradients()
        if self._joined:
            try:
                self.worker.leave()
                self._left = True
            except OutpaceError:
                pass  # The connection is gone, which says the same.

    def _end(self) -> None:
        """Leaves in order, unless an exception ends the script: then the worker counts as dead."""
        if not hasattr(sys, "last_type"):
            self._leave()
        self._ends.script_ends(self._left)
        self.worker.close()


def _refuse_group(_group: Any) -> None:
    raise OutpaceError("optimizer.add_param_group() after wrap(); add all parameters before")
