"""The loop of a worker: leases, weights and verdicts are the server's."""

import atexit
import contextlib
import itertools
import sys
from typing import Any, Callable, Dict, Iterator, Optional, Sequence, Sized, Union

import torch

from outpace._error import OutpaceError
from outpace.torch._batch import say_ignored
from outpace.torch._data import data_of
from outpace.torch._ends import EmptyPasses, Ends, check_number, check_updates, check_why
from outpace.torch._job import Job
from outpace.torch._layers import is_profiled
from outpace.torch._loader import Leases, Loader
from outpace.torch._local import LocalSteps
from outpace.torch._measured import Evaluated, Hearing, Newest
from outpace.torch._named import Named
from outpace.torch._pushing import Pushing
from outpace.torch._seeds import draw_own
from outpace.torch._several import Optimizers
from outpace.torch._steps import Steps
from outpace.torch._told import leave_when_told
from outpace.torch._unleased import VERDICT
from outpace.torch._wrapping import Wrapping
from outpace.worker import Minibatch, Worker


class WorkerJob(Job):
    """A worker's part in a job."""

    def __init__(self, worker: Worker) -> None:
        super().__init__()
        self.rank = worker.rank
        self.worker = worker
        self._steps: Optional[Steps] = None  # From wrap() on.
        self._examples: Optional[int] = None  # The data set's size.
        self._alone_batch: Optional[int] = None  # The loader's batch size; it counts alone.
        self._ahead = 0  # Mini-batches that the loader loads early.
        self._epochs = 0  # Epochs that the script wants; 0: it has not said.
        self._compress = ""  # How it writes what it pushes in fewer bytes: as the run says.
        self._joined = False
        self._begun = False  # It has had a mini-batch.
        self._over = False
        self._left = False  # By itself, before the end of the run.
        self._ends, self._empty = Ends(worker), EmptyPasses()
        self._hearing = Hearing(worker)
        self._asked = False  # For an evaluator.
        self._worked_in: Optional[int] = None  # The epoch of the last mini-batch.
        self._unleased = False  # The script's loop runs without a mini-batch.
        self._version = 0
        self._seed = 0  # The script's, before this worker draws its own.
        atexit.register(self._end)
        leave_when_told(self._told_to_end, worker.when_free)

    # ---- What the script calls ----------------------------------------------------------------

    @property
    def version(self) -> int:
        return self._version

    def _take(self, module: torch.nn.Module, optimizer: Optimizers, wrapping: Wrapping) -> None:
        local = wrapping.local_steps
        self._compress = wrapping.compress or ""
        named = Named(module, optimizer, wrapping.buffers, wrapping.averages, local is not None)
        if local is None:
            self._steps = Pushing(self, module, optimizer, named, wrapping.scale_rate)
            return
        self._steps = LocalSteps(self, module, optimizer, named, local,
                                 wrapping.steps_ahead)
        if wrapping.examples is not None:
            self._examples = wrapping.examples
            self._steps.take_data_of_script(self._networks, self._begin_own_data)

    def _begin_own_data(self) -> None:
        """The script, whose data are its own, computes for the first time."""
        self._join()
        self.advance()

    def sampler(self, dataset: Sized, batch_size: Optional[int] = None) -> Any:
        self._count(len(dataset))
        if isinstance(self._steps, LocalSteps):
            raise OutpaceError("sampler: a DataLoader asks it for mini-batches that the script has not "
                               "come to; with local steps write job.loader(dataset, num_workers=2)")
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
            self._let_go()
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
        assert self._steps is not None
        self._steps.count_updates()
        self._join()
        self.advance()
        if not self._begun:  # The run is over.
            yield 0
        with self._leaving_with_loop():
            while self._version < number and not self._over:
                yield self._version
                self._steps.end_update()
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
        if self._steps is None:
            raise OutpaceError("backward: job.wrap(net, optimizer) comes first")
        return self._steps.backward(loss, examples, value, parts, **options)

    def _keep(self, things: Sequence[Any]) -> None:
        self._wrapped()
        assert self._steps is not None
        self._steps.keep(things)

    def skip(self) -> None:
        self._let_go()
        if self._steps is not None and self.worker.minibatch is not None:
            self._steps.drop(self.worker.minibatch, self.worker.abandon_failed)

    def evaluate(self, function: Callable[[], Evaluated]) -> "Union[Evaluated, Newest, None]":
        self._wrapped()
        assert self._steps is not None
        if self._steps.named.own_buffers:
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
        assert self._steps is not None
        minibatch = self._steps.pending()
        if minibatch is None and not self._over:
            minibatch = self.advance()
        elif minibatch is None:
            self._empty.one_more()
        if minibatch is None or (self.epoch is not None and minibatch.epoch > self.epoch):
            return None
        self._steps.handed_out()
        self._unleased = False
        self._worked_in = self.epoch
        return minibatch

    def begin_slice(self, left: int) -> None:
        """The script computes the next slice of the mini-batch, before `left` others."""
        if self._steps is not None:
            self._steps.begin_slice(left)

    def leave_out(self, minibatch: Minibatch) -> None:
        """Nobody computes this mini-batch in this epoch."""
        assert self._steps is not None
        self._let_go()
        self._steps.drop(minibatch, self.worker.leave_out)

    def give_up(self, minibatch: Minibatch) -> None:
        """Gives this mini-batch back, unless it was pushed."""
        assert self._steps is not None
        self._steps.give_back(minibatch)

    def _let_go(self) -> None:
        if self._steps is not None:
            self._steps.let_go = True

    def begin_unleased(self) -> bool:
        """Whether the script's loop is to run once without a mini-batch: it never had one."""
        self._unleased = not self._begun
        if self._unleased:
            self._let_go()  # A step that the script makes whatever backward() says does nothing.
        return self._unleased

    # ---- Between the two ----------------------------------------------------------------------

    def _join(self) -> None:
        self._wrapped()
        steps = self._steps
        assert steps is not None
        steps.check_network()
        self.worker.join(steps.named.shapes, steps.initial, self._examples or 0,
                         epochs=self._epochs, constants=steps.named.constants.bytes,
                         compress=self._compress, **steps.offer(self._epochs, self._ahead))
        self._seed = torch.initial_seed()
        if self.draws_own:
            draw_own(self.worker.rank)
        self._joined = True

    def advance(self) -> Optional[Minibatch]:
        """Waits for the next mini-batch, and for the weights that belong to it."""
        return self.begin(self.worker.next())

    def begin(self, minibatch: Optional[Minibatch], **how: Any) -> Optional[Minibatch]:
        """Takes over its weights; None: the run is over. `how`: as the steps' begin() takes it."""
        steps = self._steps
        assert steps is not None
        if minibatch is None:
            self._over = True
            steps.begin(None, **how)
            if not self._begun:
                print(f"outpace: worker {self.rank} came when the run was over: it has computed "
                      "nothing, and its network has not the run's weights", file=sys.stderr)
            return None
        self._version = minibatch.version
        steps.begin(minibatch, **how)
        if not self._begun:
            self._begun = True
            steps.say_first(minibatch, self._examples, self._alone_batch)
            steps.named.buffers.use_servers()
            steps.named.constants.use(self.worker.constants())
        return steps.pending()

    def _ask_for_evaluator(self) -> None:
        try:
            self.worker.ask_for_evaluator()
        except OutpaceError as error:
            if not self._over:
                raise
            print(f"outpace: worker {self.rank}: evaluate: no evaluator was started for the last "
                  f"weights: {error}", file=sys.stderr)

    def _servers_buffers(self) -> Dict[str, torch.Tensor]:
        return self._steps.named.buffers.servers() if self._steps is not None and self._begun else {}

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
        if self._steps is not None:
            self._steps.leave()
        if self._joined:
            try:
                self.worker.leave()
                self._left = True
            except OutpaceError:
                pass  # The connection is gone, which says the same.

    def _told_to_end(self) -> None:
        self._ends.say_nothing()  # The run goes on without this worker.
        self._leave()

    def _end(self) -> None:
        """Leaves in order, unless an exception ends the script: then the worker counts as dead."""
        if not hasattr(sys, "last_type"):
            self._leave()
        self._ends.script_ends(self._left)
        self.worker.close()

