"""The loop in the evaluator: no mini-batch is leased, and snapshots of the weights to measure."""

from typing import Any, Callable, Iterator, Optional, Sized

import torch

from outpace._error import OutpaceError
from outpace.evaluator import Evaluator
from outpace.torch._data import data_of
from outpace.torch._ends import EmptyPasses, check_number, check_updates, check_why
from outpace.torch._job import Job
from outpace.torch._measured import Evaluated, measured
from outpace.torch._optimizers import count_step, replace_step
from outpace.torch._several import Optimizers, optimizers_of
from outpace.torch._unleased import VERDICT, Unleased, UnleasedLoader
from outpace.torch._moments import refuse_state
from outpace.torch._named import Named
from outpace.torch._strangers import copies_of, refusing_strangers
from outpace.torch._weights import Weights
from outpace.torch._wrapping import Wrapping

PASSES_MOST = 10_000  # Without an evaluation: more than a loop over epochs has.


class EvaluatorJob(Job):
    """The evaluator's part in a job: evaluate() runs its function until the run is over."""

    def __init__(self, evaluator: Evaluator) -> None:
        super().__init__()
        self.rank = None
        self._evaluator = evaluator
        self._named: Optional[Named] = None
        self._weights: Optional[Weights] = None
        self._version = 0
        self._over = False
        self._passed = False  # The loop has run once.
        self._passes = 0  # Over the data.
        self._empty = EmptyPasses()
        self._found: Optional[Evaluated] = None  # By the last snapshot.

    @property
    def version(self) -> int:
        return self._version

    def _take(self, module: torch.nn.Module, optimizer: Optimizers, wrapping: Wrapping) -> None:
        named = self._named = Named(module, optimizer, wrapping.buffers, wrapping.averages,
                                    wrapping.local_steps is not None)
        if named.own_buffers:
            raise OutpaceError("wrap: this process evaluates, and has no running statistics and "
                               "other buffers that stay with the workers (\"own\"); without an "
                               "evaluator, worker 0 measures")
        self._weights = Weights(named.parameters)
        for one in optimizers_of(optimizer):
            refuse_state(one, lambda: False)
            replace_step(one, lambda *_arguments, **_options: self._pass())
            count_step(one)

    def _pass(self) -> None:
        self._passed = True

    def sampler(self, dataset: Sized, batch_size: Optional[int] = None) -> Any:
        return Unleased(dataset, self._begin_pass)

    def loader(self, dataset: Sized, *, batch_size: Optional[int] = None, accumulate: int = 1,
               drop_last: bool = False, **options: Any) -> Any:
        return UnleasedLoader(data_of(dataset, options).of_a_job(), options, self._begin_pass)

    def _begin_pass(self) -> bool:
        """Whether the script's loop is to run once more. Raises OutpaceError if it has no end."""
        if self._over and self._passed:
            self._empty.one_more()
            return False
        self._passes += 1
        if self._passes > PASSES_MOST:
            raise OutpaceError(f"evaluate: the evaluator's loop has run {PASSES_MOST} times and has "
                               "not come to job.evaluate(); call it in the loop's first pass")
        return True

    @property
    def over(self) -> bool:
        return self._over or self._passed

    def stop(self, why: str) -> None:
        check_why(why)  # The loop was no training.

    def epochs(self, number: Optional[int] = None) -> Iterator[int]:
        check_number(number)
        self.epoch = 0
        yield 0

    def updates(self, number: int) -> Iterator[int]:
        check_updates(number)
        yield 0

    def backward(self, loss: torch.Tensor, *, examples: Optional[int] = None,
                 value: Optional[float] = None, parts: bool = False, **options: Any) -> bool:
        self.verdict = VERDICT
        self._passed = True
        return False

    def evaluate(self, function: Callable[[], Evaluated]) -> Optional[Evaluated]:
        named, weights = self._named, self._weights
        if named is None or weights is None:
            raise OutpaceError("evaluate: job.wrap(net, optimizer) comes first")
        if self._over:  # A loop of the script's own, as for epoch in range(9).
            return self._found
        self._evaluator.join(named.shapes)
        copies = copies_of(self._networks)
        first = True
        for snapshot in self._evaluator:
            weights.set(snapshot.address)
            named.buffers.remember(snapshot.address + 4 * weights.numbers)
            named.buffers.use_servers()
            if first:
                named.constants.use(self._evaluator.constants())
                first = False
            self._version = snapshot.version
            with refusing_strangers(named.averages, copies):
                self._found = function()
            self._evaluator.report(*measured(self._found))
        self._over = True
        if self._found is None:  # The run was over before; what comes next may want a result.
            self._found = function()
        return self._found

    def _writes(self) -> bool:
        return False
