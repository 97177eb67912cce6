"""What passes between a worker and its server: mini-batches, and verdicts on gradients."""

import enum
from typing import TYPE_CHECKING, Any, List, NamedTuple, Sequence, Tuple, Union

from outpace import _library
from outpace._error import OutpaceError

if TYPE_CHECKING:
    import numpy

    from outpace.worker import Worker

Weights = Union["numpy.ndarray", Sequence[float]]


class Outcome(enum.Enum):
    """What became of a gradient."""

    ACCEPTED = 0  # It counts: an update includes it.
    DROPPED = 1  # The policy did not wait for it. Its examples go to another mini-batch.
    REFUSED = 2  # It is not finite.
    CANCELLED = 3  # The server no longer wanted it, and it was not pushed.
    UNANSWERED = 4  # The run ended, or the connection was lost, before the server answered.


class Verdict(NamedTuple):
    """The server's answer to a gradient; true if the gradient counts."""

    outcome: Outcome
    why: str  # For people; empty if accepted.

    def __bool__(self) -> bool:
        return self.outcome is Outcome.ACCEPTED


class Minibatch:
    """Weights, and the examples on which to compute their gradient."""

    def __init__(self, worker: "Worker", raw: _library.Minibatch) -> None:
        self._worker = worker
        self.address: int = raw.weights  # Where the weights lie, while `current`.
        self.numbers: int = raw.numbers  # How many weights there are.
        self.indices: List[int] = raw.examples[: raw.count]  # Into the data set, from 0.
        self.version: int = raw.version  # The weights' version: the updates applied so far.
        self.epoch: int = raw.epoch  # The first example's epoch: 0, 1, 2, ...
        # The local steps' mini-batches, in order: how many of the examples, and their epoch.
        self.steps: List[Tuple[int, int]] = list(zip(raw.step_sizes[: raw.step_count],
                                                     raw.step_epochs[: raw.step_count]))
        self.ahead: List[List[int]] = []  # Indices of the next mini-batches, to load them early,
        # and the epoch of the last example of each.
        self.ahead_epochs: List[int] = raw.ahead_epochs[: raw.ahead_count]
        begin = 0
        for size in raw.ahead_sizes[: raw.ahead_count]:
            self.ahead.append(raw.ahead[begin : begin + size])
            begin += size

    def __len__(self) -> int:
        return len(self.indices)

    @property
    def current(self) -> bool:
        """Whether it awaits its gradient still."""
        return self._worker.minibatch is self

    @property
    def weights(self) -> "numpy.ndarray":
        """All weights as one flat float32 array, in the parameters' order; read-only.

        A view of what the server sent, without a copy. After the push other numbers may be written
        into its memory, which lives as long as the view. Raises OutpaceError after the push.
        """
        if not self.current:
            raise OutpaceError("weights: the mini-batch was pushed or abandoned; copy its weights "
                               "before, or use the next mini-batch's")
        view = as_array(self.address, self.numbers, self._worker.memory())
        view.flags.writeable = False
        return view

    @property
    def examples(self) -> "numpy.ndarray":
        """The indices as an array of int64."""
        import numpy

        return numpy.asarray(self.indices, dtype=numpy.int64)


_ACCEPTED = Verdict(Outcome.ACCEPTED, "")


def verdict_of(raw: _library.Verdict) -> Verdict:
    if raw.outcome == 0:
        return _ACCEPTED
    return Verdict(Outcome(raw.outcome), raw.why.decode(errors="replace"))


def as_array(address: int, numbers: int, memory: _library.Memory) -> "numpy.ndarray":
    """An array over that memory, which it keeps."""
    import numpy

    return numpy.frombuffer(_library.numbers_at(address, numbers, memory), dtype=numpy.float32)


def as_numbers(given: Any, numbers: int, what: str) -> "tuple[int, Any]":
    """The address of `given` as float32 numbers, and what keeps them alive."""
    import numpy

    array = numpy.ascontiguousarray(given, dtype=numpy.float32)
    if array.size != numbers:
        raise OutpaceError(f"{what} has {array.size} numbers, the parameters hold {numbers}")
    return array.ctypes.data, array
