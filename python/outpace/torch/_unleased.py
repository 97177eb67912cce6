"""A mini-batch that nobody leased, for a process that has none.

The evaluator has no mini-batches, and a worker may get none. Their loops run once all the same, so
that a name which a script sets inside its loop, such as `loss`, exists after it. Nothing comes of
that pass: job.backward() returns False, and optimizer.step() does nothing.
"""

from typing import Any, Callable, Iterator, List, Optional, Sized

from torch.utils.data import DataLoader

from outpace.torch._batch import minibatches_of, of_environment
from outpace.torch._data import Data, Stream
from outpace.worker import Outcome, Verdict

MOST = 32  # Examples.
VERDICT = Verdict(Outcome.CANCELLED, "this process has no mini-batch: its loop runs once without")


class Unleased:
    """A batch_sampler with one mini-batch, of the first examples; `begin` says whether the loop may
    have it."""

    def __init__(self, dataset: Sized, begin: Callable[[], bool] = lambda: True) -> None:
        self._dataset = dataset
        self._begin = begin

    def __iter__(self) -> Iterator[List[int]]:
        if self._begin():
            yield list(range(min(MOST, len(self._dataset))))

    def __len__(self) -> int:
        return 1


def load(data: Data, options: Any) -> Any:
    """Its examples, collated as the script's DataLoader would; in this process."""
    return next(iter(UnleasedLoader(data, options)))


class UnleasedLoader:
    """A loader that gives one such mini-batch, if `begin` says so."""

    def __init__(self, data: Data, options: Any, begin: Callable[[], bool] = lambda: True) -> None:
        self._begin = begin
        kept = {name: options[name] for name in ("collate_fn", "pin_memory") if name in options}
        self._data = data
        self._stream = Stream(data.dataset, kept) if data.is_stream else None
        self._loader = (DataLoader(data.dataset, batch_sampler=Unleased(data.dataset), **kept)
                        if self._stream is None else self._stream.loader)

    @property
    def batch_size(self) -> Optional[int]:
        return of_environment()

    def __len__(self) -> int:
        return minibatches_of(self._data.examples)

    def __iter__(self) -> Iterator[Any]:
        if not self._begin():
            return iter(())
        if self._stream is not None:
            return iter([self._stream.take(min(MOST, self._data.examples or MOST))])
        return iter(self._loader)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._loader, name)
