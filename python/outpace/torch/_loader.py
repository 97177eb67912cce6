"""A DataLoader whose workers load a worker's leases early.

The server tells a worker the examples of its next mini-batches. They go to the DataLoader's
processes, which load them while this process computes. A lease that turns out to be another one,
as at the end of the run or after a lost connection, makes what was loaded early void: it is thrown
away, and the lease's own examples are loaded.
"""

import collections
from typing import Any, Callable, Deque, Iterator, List, Optional

from torch.utils.data import DataLoader

from outpace._error import OutpaceError
from outpace.worker import Minibatch


def check_options(options: Any) -> None:
    """Raises OutpaceError for options of a DataLoader that are the job's."""
    for name in ("shuffle", "sampler", "batch_sampler", "drop_last"):
        if name in options:
            raise OutpaceError(f"loader: {name} is the job's: it says which examples are computed, in "
                               "a new random order each epoch; remove it")


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


class Loader:
    """The mini-batches of this worker, loaded; iterate over it once an epoch."""

    def __init__(self, hand_out: Callable[[], Optional[Minibatch]],
                 give_up: Callable[[Minibatch], None], dataset: Any, options: Any) -> None:
        self._hand_out = hand_out
        self._give_up = give_up
        self._feed = _Feed()
        check_options(options)
        if options.get("num_workers", 0) > 0:
            options.setdefault("persistent_workers", True)
        self._loader = DataLoader(dataset, batch_sampler=self._feed, **options)
        self._loaded: Optional[Iterator[Any]] = None

    @property
    def ahead(self) -> int:
        """How many mini-batches it loads early."""
        return int(self._loader.num_workers * (self._loader.prefetch_factor or 0)
                   if self._loader.num_workers > 0 else 0)

    def __iter__(self) -> Iterator[Any]:
        while True:
            minibatch = self._hand_out()
            if minibatch is None:
                return
            try:
                yield self._load(minibatch)
            except GeneratorExit:  # The script has left its loop.
                self._give_up(minibatch)
                raise

    def _load(self, minibatch: Minibatch) -> Any:
        feed = self._feed
        feed.known = [minibatch.indices, *minibatch.ahead]
        while True:
            # Processes that have loaded all that they were fed wait for a new iterator.
            if self._loaded is None or (not feed.fed and self._loader.num_workers > 0):
                self._loaded = iter(self._loader)
            loaded = next(self._loaded)
            if feed.fed.popleft() == minibatch.indices:
                return loaded
