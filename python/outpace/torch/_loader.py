"""A DataLoader whose workers load a worker's leases early.

The server tells a worker the examples of its next mini-batches. They go to the DataLoader's
processes, which load them while this process computes. A lease that turns out to be another one,
as at the end of the run or after a lost connection, makes what was loaded early void: it is thrown
away, and the lease's own examples are loaded.
"""

import collections
import multiprocessing
from typing import Any, Callable, Deque, Dict, Iterator, List, Optional, Protocol, Sized

import torch
from torch.utils.data import DataLoader

from outpace._error import OutpaceError
from outpace.torch import _unleased
from outpace.torch._batch import VARIABLE, minibatches_of, of_environment
from outpace.torch._data import Data, Draws, Stream
from outpace.worker import Minibatch


class _Feed:
    """The batch_sampler: the current mini-batch, then those that the server has told."""

    def __init__(self) -> None:
        self.known: List[List[int]] = []  # The current one first.
        self.fed: Deque[List[int]] = collections.deque()  # Not given to the script yet.

    def __iter__(self) -> "_Feed":
        return self

    def __next__(self) -> List[int]:
        """Raises StopIteration while nothing more is known; the next call may find more."""
        place = self._known_and_fed()
        if place == len(self.known):
            raise StopIteration
        self.fed.append(self.known[place])
        return self.known[place]

    def _known_and_fed(self) -> int:
        """How many of the known ones are the last that were fed."""
        fed = list(self.fed)
        for length in range(min(len(fed), len(self.known)), 0, -1):
            if fed[-length:] == self.known[:length]:
                return length
        return 0


class Leasing(Protocol):
    """What a loader needs of a job."""

    def hand_out(self) -> Optional[Minibatch]: ...
    def give_up(self, minibatch: Minibatch) -> None: ...
    def leave_out(self, minibatch: Minibatch) -> None: ...
    def begin_slice(self, left: int) -> None: ...
    def begin_unleased(self) -> bool: ...


_SHORT_MOST = 3  # In a row; no run's end has as many.


class Leases:
    """What the server leases to this worker, as a batch_sampler."""

    def __init__(self, job: Leasing, dataset: Sized) -> None:
        self._job = job
        self._dataset = dataset

    def __iter__(self) -> Iterator[List[int]]:
        while True:
            minibatch = self._job.hand_out()
            if minibatch is None:
                if self._job.begin_unleased():
                    yield from _unleased.Unleased(self._dataset)
                return
            try:
                yield minibatch.indices
            except GeneratorExit:  # The script has left its loop.
                self._job.give_up(minibatch)
                raise

    def __len__(self) -> int:
        return minibatches_of(len(self._dataset))


def slices_of(indices: List[int], most: int, least: int = 1) -> List[List[int]]:
    """`most` slices of sizes that differ by 1 at most, in order; fewer if they had less than `least`
    indices."""
    count = max(1, min(most, len(indices) // least))
    ends = [len(indices) * (one + 1) // count for one in range(count)]
    return [indices[begin:end] for begin, end in zip([0, *ends], ends)]


class Loader:
    """The mini-batches of this worker, loaded; iterate over it once an epoch."""

    def __init__(self, job: Leasing, data: Data, options: Dict[str, Any], accumulate: int = 1,
                 drop_last: bool = False,
                 seed: Callable[[], int] = torch.initial_seed) -> None:
        if accumulate < 1:
            raise OutpaceError(f"loader: accumulate={accumulate}; it takes 1 or more")
        if drop_last and of_environment() is None:
            raise OutpaceError("loader: drop_last=True needs the size of a mini-batch, the server's "
                               f"--batch; set {VARIABLE}, the same for every worker")
        self._job = job
        self._least = (of_environment() or 1) if drop_last else 1
        self._short = 0  # Mini-batches in a row that had fewer examples.
        self._accumulate = accumulate
        self._options = dict(options)
        self._data = data
        self._draws = Draws(data.weights, seed)
        self._feed = _Feed()
        if options.get("num_workers", 0) > 0:
            options.setdefault("persistent_workers", True)
        self._stream = Stream(data.dataset, options) if data.is_stream else None
        self._loader = (DataLoader(data.dataset, batch_sampler=self._feed, **options)
                        if self._stream is None else self._stream.loader)
        self._loaded: Optional[Iterator[Any]] = None
        self._has_loaded = False

    @property
    def ahead(self) -> int:
        """How many mini-batches it loads early."""
        return int(self._loader.num_workers * (self._loader.prefetch_factor or 0)
                   if self._loader.num_workers > 0 and self._stream is None else 0)

    @property
    def batch_size(self) -> Optional[int]:
        """The examples that it gives at once; None if nobody has told this process."""
        batch = of_environment()
        return batch if batch is None else -(-batch // self._accumulate)

    def __len__(self) -> int:
        return self._accumulate * minibatches_of(self._data.examples)

    def __getattr__(self, name: str) -> Any:
        """`dataset`, `num_workers` and the others of the DataLoader."""
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._loader, name)

    def __iter__(self) -> Iterator[Any]:
        # Batch normalisation refuses a single example, which the last mini-batch's slices could have.
        least = 2 if (self.batch_size or 1) > 1 else 1
        while True:
            minibatch = self._job.hand_out()
            if minibatch is None:
                if self._job.begin_unleased():
                    yield _unleased.load(self._data, self._options)
                return
            self._check_size(len(minibatch.indices))
            if len(minibatch.indices) < self._least:
                self._job.leave_out(minibatch)
                continue
            slices, *later = [slices_of(self._draws.examples(places, minibatch.epoch),
                                        self._accumulate, least)
                              for places in (minibatch.indices, *minibatch.ahead)]
            ahead = [part for parts in later for part in parts]
            try:
                for place, indices in enumerate(slices):
                    self._job.begin_slice(len(slices) - place - 1)
                    yield self._load(indices, slices[place + 1:] + ahead)
                    if not minibatch.current:
                        break  # No update needs the rest.
            except GeneratorExit:  # The script has left its loop.
                self._job.give_up(minibatch)
                raise

    def _check_size(self, size: int) -> None:
        """Raises OutpaceError if mini-batches have sizes of their own, and the script takes one size
        alone: those of slow workers would all be left out."""
        # The end of a run has one short mini-batch, or a last example that is with the one before.
        self._short = self._short + 1 if size < self._least else 0
        if self._least > 1 and (size > self._least + 1 or self._short == _SHORT_MOST):
            raise OutpaceError(
                f"loader: drop_last=True takes mini-batches of --batch {self._least} examples, and "
                f"one has {size}: remove --balance, --balance-most or action=shrink, or drop_last")

    def _load(self, indices: List[int], ahead: List[List[int]]) -> Any:
        if self._stream is not None:
            return self._stream.take(len(indices))
        feed = self._feed
        feed.known = [indices, *ahead]
        while True:
            # Processes that have loaded all that they were fed wait for a new iterator.
            if self._loaded is None or (not feed.fed and self._loader.num_workers > 0):
                self._loaded = iter(self._loader)
            try:
                loaded = next(self._loaded)
            except RuntimeError as error:
                self._check_start(error)
                raise
            self._has_loaded = True
            if feed.fed.popleft() == indices:
                return loaded

    def _check_start(self, error: RuntimeError) -> None:
        """Raises OutpaceError if a process has ended before it loaded anything, because it ran the
        script again."""
        context = self._loader.multiprocessing_context or multiprocessing
        if ("exited unexpectedly" in str(error) and not self._has_loaded
                and context.get_start_method() != "fork"):
            raise OutpaceError(
                "loader: a process of the DataLoader ended at its start: it runs the script again "
                "from its first line (multiprocessing's spawn): put what trains below "
                "`if __name__ == \"__main__\":`") from None
