"""The loop without a server: PyTorch's own optimizer makes the steps."""

import sys
from typing import Any, Callable, Iterator, List, Optional, Sized

import torch
from torch.utils.data import DataLoader

from outpace._error import OutpaceError
from outpace.torch._accumulation import Accumulation
from outpace.torch._job import Evaluated, Job
from outpace.torch._loader import check_options
from outpace.torch._optimizers import count_step, groups_of, replace_step
from outpace.worker import Outcome, Verdict

BATCH = 32  # As the server's --batch.


class _Shuffled:
    """Every example once an iteration, in an order of torch's random numbers."""

    def __init__(self, examples: int, batch_size: int) -> None:
        self._examples = examples
        self._batch_size = batch_size

    def __iter__(self) -> Iterator[List[int]]:
        for part in torch.randperm(self._examples).split(self._batch_size):
            yield part.tolist()

    def __len__(self) -> int:
        return -(-self._examples // self._batch_size)


class Alone(Job):
    """A job of this process alone."""

    def __init__(self) -> None:
        super().__init__()
        self._accumulation: Optional[Accumulation] = None
        self._steps = 0

    @property
    def alone(self) -> bool:
        return True

    @property
    def version(self) -> int:
        return self._steps

    def _take(self, module: torch.nn.Module, optimizer: torch.optim.Optimizer,
              average: bool) -> None:
        try:
            groups_of(optimizer)
        except OutpaceError as error:
            print(f"outpace: only alone: {error}", file=sys.stderr)
        own_step = optimizer.step

        def step(*arguments: Any, **options: Any) -> Any:
            if self._accumulation is None:
                raise OutpaceError("optimizer.step() without job.backward(loss) before it")
            self._accumulation = None
            result = own_step(*arguments, **options)
            count_step(optimizer)
            self._steps += 1
            self.verdict = Verdict(Outcome.ACCEPTED, "")
            return result

        replace_step(optimizer, step)

    def sampler(self, dataset: Sized, batch_size: Optional[int] = None) -> Any:
        return _Shuffled(len(dataset), batch_size or BATCH)

    def loader(self, dataset: Sized, *, batch_size: Optional[int] = None, **options: Any) -> Any:
        check_options(options)
        return DataLoader(dataset, batch_sampler=self.sampler(dataset, batch_size),  # type: ignore
                          **options)

    def epochs(self, number: int) -> Iterator[int]:
        for self.epoch in range(number):
            yield self.epoch

    def backward(self, loss: torch.Tensor, *, examples: Optional[int] = None,
                 value: Optional[float] = None, parts: bool = False, **options: Any) -> bool:
        trained = self._trained()
        if self._accumulation is None:  # As with a server: a step leaves no gradients behind.
            self._accumulation = Accumulation()
            for parameter in trained:
                parameter.grad = None
        scaled, factor = self._accumulation.begin(loss, examples)
        if factor != 1.0:
            for parameter in trained:
                if parameter.grad is not None:
                    parameter.grad.mul_(factor)
        scaled.backward(**options)
        self._accumulation.end(0.0)  # Nobody asks for the loss; to read it would wait for a GPU.
        return True

    def evaluate(self, function: Callable[[], Evaluated]) -> Optional[Evaluated]:
        return self._measure_here(function)
