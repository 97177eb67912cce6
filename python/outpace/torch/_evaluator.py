"""The loop in the evaluator: no mini-batches, and snapshots of the weights to measure."""

from typing import Any, Callable, Iterator, List, Optional, Sized

import torch

from outpace._error import OutpaceError
from outpace.evaluator import Evaluator
from outpace.torch._flat import Flat
from outpace.torch._job import Evaluated, Job, measured
from outpace.torch._optimizers import count_step
from outpace.torch._worker import Named


class _Nothing:
    """A batch_sampler without batches."""

    def __iter__(self) -> Iterator[List[int]]:
        return iter(())

    def __len__(self) -> int:
        return 0


class EvaluatorJob(Job):
    """The evaluator's part in a job: evaluate() runs its function until the run is over."""

    def __init__(self, evaluator: Evaluator) -> None:
        super().__init__()
        self._evaluator = evaluator
        self._named: Optional[Named] = None
        self._flat: Optional[Flat] = None
        self._version = 0

    @property
    def version(self) -> int:
        return self._version

    def _take(self, module: torch.nn.Module, optimizer: torch.optim.Optimizer,
              average: bool) -> None:
        self._named = Named(module, optimizer, average)
        if self._named.own_statistics:
            raise OutpaceError("wrap: this process evaluates, and has no running statistics of the "
                               "network's batch normalisation, which stay with the workers; "
                               "without an evaluator, worker 0 measures")
        self._flat = Flat(self._named.parameters)
        count_step(optimizer)

    def sampler(self, dataset: Sized, batch_size: Optional[int] = None) -> Any:
        return _Nothing()

    def loader(self, dataset: Sized, *, batch_size: Optional[int] = None, **options: Any) -> Any:
        return _Nothing()

    def epochs(self, number: int) -> Iterator[int]:
        self.epoch = 0
        yield 0

    def backward(self, loss: torch.Tensor, *, examples: Optional[int] = None,
                 value: Optional[float] = None, parts: bool = False, **options: Any) -> bool:
        raise OutpaceError("backward: this process evaluates; it has no mini-batches")

    def evaluate(self, function: Callable[[], Evaluated]) -> Optional[Evaluated]:
        named, flat = self._named, self._flat
        if named is None or flat is None:
            raise OutpaceError("evaluate: job.wrap(net, optimizer) comes first")
        self._evaluator.join(named.shapes)
        found: Optional[Evaluated] = None
        for snapshot in self._evaluator:
            flat.set_weights(snapshot.address)
            named.buffers.remember(snapshot.address + 4 * flat.numbers)
            named.buffers.use_averaged()
            self._version = snapshot.version
            found = function()
            self._evaluator.report(*measured(found))
        return found

    def _writes(self) -> bool:
        return False
