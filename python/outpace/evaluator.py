"""The process beside the workers that measures snapshots of the weights.

    evaluator = outpace.Evaluator()
    evaluator.join({"slope": (1,), "offset": ()})
    for snapshot in evaluator:
        evaluator.report(*accuracy_and_loss(snapshot.weights))
"""

from typing import TYPE_CHECKING, Iterator, Mapping, Optional, Sequence

from outpace import _library
from outpace._error import OutpaceError
from outpace._found import measured_of
from outpace._minibatch import as_array
from outpace._waiting import Waiting

if TYPE_CHECKING:
    import numpy

__all__ = ["Evaluator", "Snapshot"]


class Snapshot:
    """Weights to evaluate, until the next one."""

    def __init__(self, raw: _library.Snapshot, memory: _library.Memory) -> None:
        self._memory = memory
        self.address: int = raw.weights
        self.numbers: int = raw.numbers
        self.version: int = raw.version  # The updates applied so far.

    @property
    def weights(self) -> "numpy.ndarray":
        """One flat read-only float32 array, a view, in the parameters' order."""
        view = as_array(self.address, self.numbers, self._memory)
        view.flags.writeable = False
        return view


class Evaluator:
    """The evaluator of a job. A second one waits until the first is gone.

    It reads the variables that Worker() reads, but for OUTPACE_WORKER. Raises OutpaceError, which
    names the variable that is wrong.
    """

    def __init__(self) -> None:
        self._handle: Optional[int] = None
        self._library = _library.library()
        self._error = _library.Error()
        self._waiting = Waiting()
        self._handle = self._library.outpace_evaluator_from_environment(self._error)
        if not self._handle:
            raise _library.error_of(self._error)

    def join(self, parameters: Mapping[str, Sequence[int]]) -> None:
        """Sets names and shapes of the parameters, the same as the workers'."""
        listed = _library.parameter_list(parameters, {})
        job = _library.Job(parameters=listed, count=len(listed))
        self._checked(self._library.outpace_evaluator_join(self._open(), job, self._error))

    def next(self) -> Optional[Snapshot]:
        """Waits for the next snapshot; None when the run is over.

        Raises OutpaceError if the server is not found, or has other parameters (code 4).
        """
        raw = _library.Snapshot()
        self._checked(self._waiting.call(self._library.outpace_evaluator_next, self._open(), raw,
                                         self._error))
        if not raw.weights:
            return None
        handle = self._library.outpace_evaluator_memory(self._open(), self._error)
        if not handle:
            raise _library.error_of(self._error)
        return Snapshot(raw, _library.Memory(handle))

    def constants(self) -> bytes:
        """As Worker.constants(), with the first snapshot."""
        return _library.bytes_from(self._library.outpace_evaluator_constants, self._open())

    def __iter__(self) -> Iterator[Snapshot]:
        """The snapshots until the end of the run, as next()."""
        while True:
            snapshot = self.next()
            if snapshot is None:
                return
            yield snapshot

    def report(self, accuracy: Optional[float] = None, loss: Optional[float] = None,
               values: Optional[Mapping[str, float]] = None) -> None:
        """Reports what the last snapshot reached: the share of right answers, the mean loss, and
        anything else by name, as far as it was measured. Raises OutpaceError if nothing was."""
        raw = measured_of(None if accuracy is None else float(accuracy),
                          None if loss is None else float(loss), values or {})
        self._checked(self._library.outpace_evaluator_report_measured(self._open(), raw,
                                                                      self._error))

    def close(self) -> None:
        """Frees the evaluator."""
        handle, self._handle = self._handle, None
        if handle and not self._waiting.interrupted:
            self._waiting.end()
            self._library.outpace_evaluator_close(handle)

    def _open(self) -> int:
        if self._handle is None or self._waiting.interrupted:
            raise OutpaceError("this evaluator is closed, or was interrupted while it waited", 1)
        return self._handle

    def _checked(self, code: int) -> None:
        if code != 0:
            raise _library.error_of(self._error)
