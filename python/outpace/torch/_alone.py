"""The loop without a server: PyTorch's own optimizer makes the steps."""

import itertools
import sys
from typing import Any, Callable, Dict, Iterator, List, Optional, Sized

import torch
from torch.utils.data import DataLoader

from outpace._error import OutpaceError
from outpace.torch import _batch
from outpace.torch._data import Data, Draws, Stream, data_of
from outpace.torch._ends import check_number, check_updates, check_why
from outpace.torch._job import Job
from outpace.torch._measured import Evaluated
from outpace.torch._optimizers import count_step, groups_of, replace_step
from outpace.torch._rules import rules_of
from outpace.torch._several import Member, Optimizers, Passes, Several
from outpace.torch._wrapping import Wrapping
from outpace.worker import Outcome, Verdict


class _Shuffled:
    """Every example once an iteration, in an order of torch's random numbers."""

    def __init__(self, job: "Alone", examples: int, batch_size: int,
                 drop_last: bool = False, draws: Optional[Draws] = None) -> None:
        self._job = job
        self._draws = draws or Draws(None, torch.initial_seed)
        self._epoch = -1
        self._sizes = [batch_size] * (examples // batch_size)
        rest = examples % batch_size
        if rest == 1 and self._sizes and not drop_last:
            self._sizes[-1] += 1  # Batch normalisation refuses a single example.
        elif rest > 0 and not drop_last:
            self._sizes.append(rest)
        self._examples = examples

    def __iter__(self) -> Iterator[List[int]]:
        self._epoch += 1
        order = torch.randperm(self._examples)
        for part in order[:sum(self._sizes)].split(self._sizes):
            if self._job.over:
                return
            yield self._draws.examples(part.tolist(), self._epoch)

    def __len__(self) -> int:
        return len(self._sizes)


class _Counted:
    """A stream, and the number of its examples that make an epoch."""

    def __init__(self, data: Data, batch_size: int, drop_last: bool, options: Any) -> None:
        self._stream = Stream(data.dataset, options)
        rest = data.examples % batch_size
        self._sizes = [batch_size] * (data.examples // batch_size)
        self._sizes += [rest] if rest > 0 and not drop_last else []

    def __iter__(self) -> Iterator[Any]:
        return map(self._stream.take, self._sizes)

    def __len__(self) -> int:
        return len(self._sizes)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._stream.loader, name)


def _streaming(data: Data, batch_size: int, drop_last: bool, options: Any) -> Any:
    if data.examples > 0:
        return _Counted(data, batch_size, drop_last, options)
    return DataLoader(data.dataset, batch_size=batch_size, drop_last=drop_last, **options)


class _Slices:
    """A DataLoader, whose every `accumulate` mini-batches make one step."""

    def __init__(self, begin_slice: Callable[[int], None], loader: Any, accumulate: int) -> None:
        if accumulate < 1:
            raise OutpaceError(f"loader: accumulate={accumulate}; it takes 1 or more")
        self._begin_slice = begin_slice
        self._loader = loader
        self._accumulate = accumulate

    def __iter__(self) -> Iterator[Any]:
        last = len(self._loader) - 1
        for place, found in enumerate(self._loader):
            self._begin_slice(min(self._accumulate - 1 - place % self._accumulate, last - place))
            yield found

    def __len__(self) -> int:
        return len(self._loader)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._loader, name)


class Alone(Job):
    """A job of this process alone."""

    def __init__(self) -> None:
        super().__init__()
        self._passes = Passes(Several([]))
        self._is_plain = False  # The loop is PyTorch's own, as with local steps.
        self._slices_left = 0
        self._let_go = False  # By skip().
        self._stepped: List[Member] = []  # Since all optimizers had.
        self._steps: Dict[int, int] = {}  # By optimizer.
        self._over = False  # By stop().

    @property
    def alone(self) -> bool:
        return True

    @property
    def version(self) -> int:
        return max(self._steps.values(), default=0)

    @property
    def over(self) -> bool:
        return self._over

    def stop(self, why: str) -> None:
        check_why(why)
        if not self._over:
            print(f"outpace: ended: {why}", file=sys.stderr)
        self._over = self._let_go = True

    def _take(self, module: torch.nn.Module, optimizer: Optimizers, wrapping: Wrapping) -> None:
        rules_of(module, wrapping.buffers)
        self._is_plain = wrapping.local_steps is not None
        try:
            if not self._is_plain:
                groups_of(optimizer)
        except OutpaceError as error:
            print(f"outpace: only alone: {error}", file=sys.stderr)
        self._passes = Passes(optimizer)
        for member in self._passes.members:
            self._count_steps(member)

    def _count_steps(self, member: Member) -> None:
        optimizer = member.optimizer
        own_step, own_zero_grad = optimizer.step, optimizer.zero_grad

        def step(*arguments: Any, **options: Any) -> Any:
            if self._let_go:
                return None
            if not self._is_plain:
                self._passes.check_computed(member)
            result = own_step(*arguments, **options)
            count_step(optimizer)
            if not self._is_plain:
                self._forget(member)  # As with a server: a step leaves none behind.
            self._steps[id(member)] = self._steps.get(id(member), 0) + 1
            self._end_minibatch(member)
            self.verdict = Verdict(Outcome.ACCEPTED, "")
            return result

        def zero_grad(*arguments: Any, **options: Any) -> None:
            own_zero_grad(*arguments, **options)
            self._passes.throw_away(member)

        replace_step(optimizer, step)
        optimizer.zero_grad = zero_grad  # type: ignore[method-assign]

    def skip(self) -> None:
        for member in self._passes.members:
            self._forget(member)
        self._let_go = True

    def _end_minibatch(self, member: Member) -> None:
        """If all optimizers have stepped, what passes added to the first after its step is lost, as
        with a server."""
        if member in self._stepped:  # It steps more often than another.
            self._stepped.clear()
        self._stepped.append(member)
        if len(self._stepped) == len(self._passes.members):
            for one in self._stepped:
                self._forget(one)
            self._stepped.clear()

    def _forget(self, member: Member) -> None:
        self._passes.throw_away(member, by_zero_grad=False)
        for parameter in member.parameters:
            parameter.grad = None

    def sampler(self, dataset: Sized, batch_size: Optional[int] = None) -> Any:
        return _Shuffled(self, len(dataset), batch_size or _batch.ALONE)

    def loader(self, dataset: Sized, *, batch_size: Optional[int] = None, accumulate: int = 1,
               drop_last: bool = False, **options: Any) -> Any:
        data = data_of(dataset, options)
        _batch.check_size(batch_size)
        if data.is_stream:
            loader: Any = _streaming(data, batch_size or _batch.ALONE, drop_last, options)
        else:
            sampler = _Shuffled(self, data.examples, batch_size or _batch.ALONE, drop_last,
                                Draws(data.weights, torch.initial_seed))
            loader = DataLoader(dataset, batch_sampler=sampler, **options)  # type: ignore
        return loader if accumulate == 1 else _Slices(self.begin_slice, loader, accumulate)

    def begin_slice(self, left: int) -> None:
        """Before optimizer.step() so many slices come after the one that the script has now."""
        self._slices_left = left

    def epochs(self, number: Optional[int] = None) -> Iterator[int]:
        check_number(number)
        for self.epoch in itertools.count() if number is None else range(number):
            yield self.epoch
            if self._over:
                return

    def updates(self, number: int) -> Iterator[int]:
        check_updates(number)
        while self.version < number and not self._over:
            yield self.version

    def backward(self, loss: torch.Tensor, *, examples: Optional[int] = None,
                 value: Optional[float] = None, parts: bool = False, **options: Any) -> bool:
        self._wrapped()
        self._passes.all.check(loss, examples)
        self._let_go = self._over
        if self._over:
            return False
        for member in self._passes.members:
            if member.passes.passes > 0 and not _is_finite(member):
                self._forget(member)  # A GradScaler made no step with it.
        loss.backward(**options)
        # Nobody asks for the loss; to read it would wait for a GPU.
        self._passes.end(0.0, examples, value)
        return self._slices_left == 0

    def evaluate(self, function: Callable[[], Evaluated]) -> Optional[Evaluated]:
        return self._measure_here(function)


def _is_finite(member: Member) -> bool:
    return all(bool(torch.isfinite(one.grad).all()) for one in member.parameters
               if one.grad is not None)
