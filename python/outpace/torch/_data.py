"""What a script gives to job.loader(): data, their number, and how they are chosen."""

from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional

import torch
from torch.utils.data import (DataLoader, IterableDataset, SubsetRandomSampler,
                              WeightedRandomSampler)
from torch.utils.data.dataloader import default_collate

from outpace._error import OutpaceError
from outpace.torch._seeds import seed_of


class _Iterable(IterableDataset):
    """Whatever gives examples one after another, as a stream of PyTorch's."""

    def __init__(self, source: Any) -> None:
        self._source = source

    def __iter__(self) -> Iterator[Any]:
        return iter(self._source)


class Data(NamedTuple):
    """Of a loader, checked."""

    dataset: Any
    examples: int  # In an epoch; 0: as many as a stream gives, which only a script alone can have.
    weights: Optional[torch.Tensor]  # Each example's weight; None: all are equal.

    @property
    def is_stream(self) -> bool:
        return isinstance(self.dataset, IterableDataset)

    @property
    def name(self) -> str:
        source = self.dataset._source if isinstance(self.dataset, _Iterable) else self.dataset
        return type(source).__name__

    def of_a_job(self) -> "Data":
        """Raises OutpaceError if the job cannot count these data."""
        if self.examples == 0:
            raise OutpaceError(
                f"loader: {self.name} is a stream without a length; say how many "
                "examples make an epoch, of all workers together: job.loader(stream, "
                "examples=60000). Each worker reads a stream of its own: let it depend on job.rank")
        return self


def data_of(dataset: Any, options: Dict[str, Any]) -> Data:
    """Takes what is the job's out of a loader's options. Raises OutpaceError for what is wrong."""
    weights = options.pop("weights", None)
    examples = options.pop("examples", None)
    sampler = options.pop("sampler", None)
    if isinstance(sampler, WeightedRandomSampler) and weights is None:
        weights = _weights_of(sampler, dataset)
    elif sampler is not None:
        options["sampler"] = sampler
    if isinstance(sampler, SubsetRandomSampler):
        raise OutpaceError("loader: sampler is the job's; for a part of the examples write "
                           "job.loader(torch.utils.data.Subset(data, indices))")
    for name in ("shuffle", "sampler", "batch_sampler"):
        if name in options:
            raise OutpaceError(
                f"loader: {name} is the job's: it says which examples are computed, in a new random "
                "order each epoch; remove it. For rare examples more often: job.loader(data, "
                "weights=w)")
    if isinstance(dataset, DataLoader):
        raise OutpaceError("loader: this is a DataLoader, and the job makes its own; give it the data "
                           "set: job.loader(loader.dataset, num_workers=2)")
    if isinstance(dataset, IterableDataset):
        return _stream(dataset, examples, weights)
    if hasattr(dataset, "__iter__") and not (hasattr(dataset, "__getitem__")
                                             or hasattr(dataset, "__next__")):  # It begins once.
        return _stream(_Iterable(dataset), examples, weights)
    if not hasattr(dataset, "__len__"):
        raise OutpaceError(f"loader: {type(dataset).__name__} has no length; a job leases the "
                           "examples of a data set by their numbers, so it needs one with __len__ "
                           "and __getitem__, or a torch.utils.data.IterableDataset")
    if examples is not None:
        raise OutpaceError(f"loader: examples={examples} is for a stream; {type(dataset).__name__} "
                           f"has {len(dataset)}")
    return Data(dataset, len(dataset), None if weights is None else _checked(weights, len(dataset)))


def _stream(dataset: Any, examples: Optional[int], weights: Any) -> Data:
    if weights is not None:
        raise OutpaceError("loader: weights are of numbered examples, and a stream has none")
    if examples is None:
        try:
            examples = len(dataset)
        except TypeError:
            examples = 0
    elif examples < 1:
        raise OutpaceError(f"loader: examples={examples}; it takes 1 or more")
    return Data(dataset, examples, None)


def _weights_of(sampler: WeightedRandomSampler, dataset: Any) -> torch.Tensor:
    if not sampler.replacement or sampler.num_samples != len(dataset):
        raise OutpaceError(
            f"loader: a job draws as many examples as there are, with replacement; this "
            f"WeightedRandomSampler draws {sampler.num_samples} of {len(dataset)}"
            + ("" if sampler.replacement else " without"))
    return sampler.weights


def _checked(weights: Any, examples: int) -> torch.Tensor:
    listed = torch.as_tensor(weights, dtype=torch.float64).flatten().cpu()
    if len(listed) != examples:
        raise OutpaceError(f"loader: {len(listed)} weights for {examples} examples")
    if not bool(torch.isfinite(listed).all()) or bool((listed < 0).any()) or not listed.sum() > 0:
        raise OutpaceError("loader: weights are numbers of at least 0, and not all 0")
    return listed


class Draws:
    """Which example each place of an epoch has.

    The server leases places, each once an epoch. Without weights a place is an example. With them,
    place i of an epoch has the i-th of as many draws with replacement, as WeightedRandomSampler
    makes. The draws come from the script's seed and the epoch alone, so that a place has the same
    example on every worker.
    """

    def __init__(self, weights: Optional[torch.Tensor], seed: Callable[[], int]) -> None:
        self._weights = weights
        self._seed = seed
        self._drawn: Dict[int, List[int]] = {}

    def examples(self, places: List[int], epoch: int) -> List[int]:
        """The examples at these places."""
        if self._weights is None:
            return places
        drawn = self._drawn.get(epoch)
        if drawn is None:
            if len(self._drawn) > 1:
                self._drawn.clear()
            drawn = self._drawn[epoch] = self._draw(epoch)
        return [drawn[place] for place in places]

    def _draw(self, epoch: int) -> List[int]:
        assert self._weights is not None
        random = torch.Generator().manual_seed(seed_of(self._seed(), epoch))
        # multinomial() takes at most 2^24 categories; a search in the sums takes any number.
        ends = self._weights.cumsum(0)
        points = torch.rand(len(ends), generator=random, dtype=torch.float64) * ends[-1]
        drawn: List[int] = torch.searchsorted(ends, points, right=True).tolist()
        return drawn


def _as_it_is(example: Any) -> Any:
    return example


class Stream:
    """The examples of an IterableDataset, as many at a time as are wanted; from its beginning again
    when it has ended."""

    def __init__(self, dataset: Any, options: Dict[str, Any]) -> None:
        given = dict(options)
        self._collate = given.pop("collate_fn", None) or default_collate
        self._loader = DataLoader(dataset, batch_size=None, collate_fn=_as_it_is, **given)
        self._left: Iterator[Any] = iter(())

    @property
    def loader(self) -> Any:
        return self._loader

    def take(self, count: int) -> Any:
        """Collates the next `count` examples. Raises OutpaceError if the stream is empty."""
        return self._collate([self._next() for _ in range(count)])

    def _next(self) -> Any:
        for _ in range(2):
            try:
                return next(self._left)
            except StopIteration:
                self._left = iter(self._loader)
        raise OutpaceError("loader: the stream gives no examples")
