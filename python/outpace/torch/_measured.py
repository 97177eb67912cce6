"""What evaluate()'s function returns, and what workers hear of it."""

import time
from typing import Any, Callable, Dict, Iterator, Mapping, NamedTuple, Optional, Tuple, Union

from outpace._error import OutpaceError
from outpace._found import Found
from outpace.worker import Worker

# The accuracy, or accuracy and loss, or any numbers by name.
Evaluated = Union[float, Tuple[float, float], Dict[str, float]]
OF_THE_RECORD = ("seconds", "version", "examples", "live", "training_loss", "gap")
AGAIN = 0.05  # Seconds from one question for a measurement to the next.


class Measured(NamedTuple):
    """Numbers of one measurement."""

    accuracy: Optional[float]
    loss: Optional[float]
    values: Dict[str, float]  # All others.

    def in_words(self) -> str:
        named = {"accuracy": self.accuracy, "loss": self.loss, **self.values}
        return ", ".join(f"{name} {value:.4f}" for name, value in named.items()
                         if value is not None)


def measured(found: Any) -> Measured:
    """Of what evaluate()'s function gave. Raises OutpaceError if it is none of the three."""
    try:
        if isinstance(found, Mapping):
            return _by_name(found)
        if isinstance(found, (tuple, list)):
            accuracy, loss = found
            return Measured(float(accuracy), float(loss), {})
        return Measured(float(found), None, {})
    except (TypeError, ValueError):
        raise OutpaceError(
            "evaluate: the function must return the accuracy, or (accuracy, loss), or numbers by "
            f"name, such as {{\"loss\": ..., \"f1\": ...}}; it returned {found!r}") from None


def _by_name(found: Mapping[Any, Any]) -> Measured:
    numbers = {str(name): float(value) for name, value in found.items() if value is not None}
    for name in numbers:
        if name in OF_THE_RECORD:
            raise OutpaceError(f"evaluate: '{name}' is a number of the run's own record; give the "
                               "function's another name")
    if not numbers:
        raise ValueError
    return Measured(numbers.pop("accuracy", None), numbers.pop("loss", None), numbers)


class Newest:
    """What the evaluator has found for an epoch: the same on every worker.

    A worker that reads it, as result["loss"], result[1] or float(result), waits until it is there.
    One that does not goes on at once.
    """

    def __init__(self, ask: Callable[[], Found]) -> None:
        self._ask = ask
        self._answer: Optional[Found] = None

    def _found(self) -> Found:
        if self._answer is None:
            self._answer = self._ask()
        return self._answer

    @property
    def version(self) -> int:
        """Of the weights that were measured: the updates in them."""
        return self._found().version

    def keys(self) -> Iterator[str]:
        """The names of what was measured."""
        found = self._found()
        return iter([name for name in ("accuracy", "loss") if getattr(found, name) is not None]
                    + list(found.values))

    def __getitem__(self, key: "Union[str, int]") -> float:
        found = self._found()
        if isinstance(key, int):
            return self._of(("accuracy", "loss")[key])
        return self._of(key) if key in ("accuracy", "loss") else found.values[key]

    def __iter__(self) -> Iterator[float]:
        """Accuracy and loss."""
        return iter((self[0], self[1]))

    def __float__(self) -> float:
        """The accuracy, or the loss if there is none."""
        return self[0] if self._found().accuracy is not None else self[1]

    def __repr__(self) -> str:
        return Measured(*self._found()[1:]).in_words()

    def _of(self, name: str) -> float:
        value: Optional[float] = getattr(self._found(), name)
        if value is None:
            raise KeyError(f"evaluate's function has returned no {name}")
        return value


class Hearing:
    """What a worker has heard of the evaluator."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self._last: Optional[Found] = None
        self._calls = 0

    def newest(self, epoch: Optional[int]) -> Newest:
        """For this epoch of job.epochs(), or for the next call of a script that counts its own."""
        place = self._calls if epoch is None else epoch
        self._calls += 1
        return Newest(lambda: self._wait_for(place))

    def _wait_for(self, epoch: int) -> Found:
        while True:
            try:
                answer = self._worker.evaluated(epoch)
            except OutpaceError:
                if self._last is None:
                    raise
                return self._last  # The run is over, and its server gone.
            if isinstance(answer, Found):
                self._last = answer
                return answer
            if not answer:
                raise OutpaceError("evaluate: nothing was measured: the evaluator has failed, or "
                                   "the run was over before it came", 1)
            time.sleep(AGAIN)
