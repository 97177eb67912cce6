"""A worker of an Outpace job, for a script that computes gradients itself.

    worker = outpace.Worker()
    worker.join({"slope": (1,), "offset": ()}, numpy.zeros(2), examples=len(data))
    for batch in worker:
        worker.gradient()[:] = mean_gradient(batch.weights, data[batch.examples])
        verdict = worker.push(loss)
"""

import ctypes
import enum
import os
from typing import (TYPE_CHECKING, Any, Callable, Iterator, List, Mapping, NamedTuple, Optional,
                    Sequence, Union)

from outpace import _library
from outpace._error import OutpaceError
from outpace._waiting import Waiting
from outpace.groups import Group

if TYPE_CHECKING:
    import numpy

__all__ = ["Minibatch", "Outcome", "Verdict", "Worker"]

PATIENCE = 0.05  # Seconds for which a wait puts off the handler of a signal, at most.
NO_GRADIENT = "push: there is no gradient; write it into gradient(), or pass it on"


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
        self.address: int = raw.weights  # Of the weights, while `current`.
        self.numbers: int = raw.numbers  # How many weights there are.
        self.indices: List[int] = raw.examples[: raw.count]  # Into the data set, from 0.
        self.version: int = raw.version  # Of the weights: the updates applied so far.
        self.epoch: int = raw.epoch  # Of the first example: 0, 1, 2, ...
        self.ahead: List[List[int]] = []  # Indices of the next mini-batches, to load them early.
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

        A view of what the server sent, without a copy. Do not read it after the push: the server
        uses the memory again. Raises OutpaceError if that has happened.
        """
        if not self.current:
            raise OutpaceError("weights: the mini-batch was pushed or abandoned; copy its weights "
                               "before, or use the next mini-batch's")
        view = as_array(self.address, self.numbers)
        view.flags.writeable = False
        return view

    @property
    def examples(self) -> "numpy.ndarray":
        """The indices as an array of int64."""
        import numpy

        return numpy.asarray(self.indices, dtype=numpy.int64)


Weights = Union["numpy.ndarray", Sequence[float]]


class Worker:
    """A worker of a job. Use it from one thread at a time.

    Without arguments it reads OUTPACE_SERVER, OUTPACE_TOKEN_FILE, OUTPACE_WORKER and the others of
    docs/python.md. Raises OutpaceError, which names the variable that is wrong.
    """

    def __init__(self, server: Optional[str] = None, *, token: str = "", worker: int = 0,
                 deadline: float = 60.0, rejoin_for: float = 600.0, keep_alive: float = 20.0,
                 tls_certificate: str = "", tls_key: str = "", tls_ca: str = "",
                 insecure_no_tls: bool = False) -> None:
        self._handle: Optional[int] = None  # Of the C worker.
        self._library = _library.library()
        self._error = _library.Error()
        self._waiting = Waiting()
        self._process = os.getpid()
        self._offered: Optional[_library.Job] = None  # The C worker calls back into it.
        self._failure: Optional[BaseException] = None  # Of the function of the initial weights.
        self._gradient: Optional[int] = None  # Its address.
        self.minibatch: Optional[Minibatch] = None  # The current one.
        self.void_memory = True  # As push_and_next() says.
        if server is None:
            self._handle = self._library.outpace_worker_from_environment(self._error)
        else:
            options = _library.WorkerOptions(
                server.encode(), token.encode(), worker, deadline, rejoin_for, keep_alive,
                tls_certificate.encode(), tls_key.encode(), tls_ca.encode(), insecure_no_tls)
            self._handle = self._library.outpace_worker_open(options, self._error)
        if not self._handle:
            raise self._last_error()
        # Of push_and_next(), which is called once an iteration.
        self._start_push = self._library.outpace_worker_start_push
        self._await = self._library.outpace_worker_await
        self._raw_verdict, self._raw_minibatch = _library.Verdict(), _library.Minibatch()
        self._slowed = self._library.outpace_worker_slowed
        self.rank: int = self._library.outpace_worker_rank(self._handle)  # 0, 1, 2, ...

    def join(self, parameters: Mapping[str, Sequence[int]],
             initial_weights: Union[Weights, Callable[[], Weights]], examples: int, *,
             groups: Sequence[Group] = (), group_of: Optional[Mapping[str, int]] = None,
             epochs: int = 0, ahead: int = 0) -> None:
        """Connects and joins the job.

        `parameters` gives each tensor's name and shape, in the order of the flat weights, the same
        on every worker. `initial_weights` are all numbers in that order, or a function that returns
        them; only the first worker of a job is asked. `examples` is the size of the data set, the
        same on every worker.

        `groups` says how the server steps the parameters, if no option of the server does, and
        `group_of` which group each parameter is in (default 0). After this many `epochs` the run
        ends, if no option of the server says (0: the script does not say either). `ahead`, at most
        256, is how many mini-batches Minibatch.ahead tells. A next mini-batch may have other
        examples all the same, at the end of the run and after a lost connection.

        Raises OutpaceError, with code 4 if the job has other parameters, data, groups or epochs.
        """
        self._require_open()
        if examples < 1:
            raise OutpaceError("join: the data set is empty")
        listed = _library.parameter_list(parameters, group_of or {})
        steps = (_library.Group * len(groups))(*[(group.method.value, *group[1:])
                                                 for group in groups])
        offered = _library.Job(listed, len(listed), examples, self._filling(initial_weights), None,
                               steps, len(steps), epochs, ahead)
        self._offered, before = offered, self._offered
        try:
            self._checked(self._waiting.call(self._library.outpace_worker_join, self._handle,
                                             offered, self._error))
        except BaseException:
            if before is not None:  # It has joined with that one.
                self._offered = before
            raise

    def next(self) -> Optional[Minibatch]:
        """Waits for weights and a mini-batch; None when the run is over.

        Over an epoch every example counts exactly once, whichever workers compute it. A mini-batch
        that was not pushed is abandoned. Joins again if the connection is lost; raises OutpaceError
        if the server is not found again in time.
        """
        self._require_open()
        self._forget()
        raw = _library.Minibatch()
        self._checked(self._waiting.call(self._library.outpace_worker_next, self._handle, raw,
                                         self._error))
        return self._take(raw)

    def __iter__(self) -> Iterator[Minibatch]:
        """The mini-batches until the end of the run, as next()."""
        while True:
            minibatch = self.next()
            if minibatch is None:
                return
            yield minibatch

    def gradient(self) -> "numpy.ndarray":
        """Memory for the current mini-batch's gradient: a flat float32 array.

        It holds anything at first. Write the mean over the examples into it, in the parameters'
        order, and push(). Do not use it after the push.
        """
        return as_array(self.gradient_address(), self._numbers())

    def gradient_address(self) -> int:
        """Where gradient() lies; the same until the mini-batch is pushed or abandoned."""
        self._require_open()
        if self._gradient is None:
            self._gradient = self._library.outpace_worker_gradient(self._handle, self._error)
            if not self._gradient:
                raise self._last_error()
        return self._gradient

    def push(self, loss: float, gradient: Optional[Weights] = None,
             part: Optional[int] = None) -> Verdict:
        """Answers the current mini-batch, and waits for the verdict.

        `gradient` is the mean over the examples, or over the first `part` of them; without it,
        what was written into gradient(). `loss` is their mean loss. Raises OutpaceError if the
        sizes are wrong.
        """
        raw = _library.Verdict()
        arguments, _keep = self._to_push(loss, gradient, part, raw)
        code = self._waiting.call(self._library.outpace_worker_push, *arguments)
        if code == 0:
            self._forget()
        self._checked(code)
        return _verdict_of(raw)

    def push_and_next(self, loss: float, meanwhile: Optional[Callable[[], None]] = None,
                      ) -> "tuple[Verdict, Optional[Minibatch]]":
        """push(loss), then next(), in less time than both: they wait together.

        `meanwhile` is called when the gradient has left, if the connection waits in short calls. It
        may ask for gradient_address() of the next mini-batch. `void_memory` is true afterwards if
        that memory is not the next mini-batch's, because the connection was lost.
        """
        self.void_memory = True
        if self._slowed(self._handle):
            return self.push(loss), self.next()
        self._require_pushable()
        if self._gradient is None:
            raise OutpaceError(NO_GRADIENT)
        start, await_, error = self._start_push, self._await, self._error
        self._checked(start(self._handle, loss, error))
        self._forget()
        if meanwhile is not None:
            meanwhile()
        answer, raw = self._raw_verdict, self._raw_minibatch
        code = await_(self._handle, PATIENCE, answer, raw, error)
        while code == _library.WAITS:  # Between two calls, Python looks for signals.
            code = await_(self._handle, PATIENCE, answer, raw, error)
        self._gradient = None  # A lost connection makes void what was asked for meanwhile.
        if code == _library.LOST:
            return _verdict_of(answer), self.next()
        self._checked(code)
        self.void_memory = False
        return _verdict_of(answer), self._take(raw)

    def _take(self, raw: _library.Minibatch) -> Optional[Minibatch]:
        if raw.count > 0:
            self.minibatch = Minibatch(self, raw)
        return self.minibatch

    def _to_push(self, loss: float, gradient: Optional[Weights], part: Optional[int],
                 verdict: _library.Verdict) -> "tuple[tuple[Any, ...], Any]":
        """The arguments of the C function, and what must live as long."""
        self._require_pushable()
        if part is not None and part < 1:
            raise OutpaceError(f"push: a part of {part} examples; it takes 1 or more")
        if gradient is not None:
            address, _keep = _as_numbers(gradient, self._numbers(), "push: the gradient")
        else:
            if self._gradient is None:
                raise OutpaceError(NO_GRADIENT)
            address, _keep = self._gradient, None
        return (self._handle, address, float(loss), part or 0, verdict, self._error), _keep

    def set_rates(self, epoch: int, rates: Sequence[float]) -> None:
        """Sets the groups' learning rates from the script's epoch `epoch` on, one for each group.

        They travel with the next push. The first worker that comes to an epoch sets them for all; a
        worker that reports other rates for the same epoch is sent away, and next() raises
        OutpaceError. Raises OutpaceError if join() had no groups.
        """
        self._require_open()
        numbers = (ctypes.c_double * len(rates))(*rates)
        self._checked(self._library.outpace_worker_set_rates(self._handle, epoch, numbers,
                                                             len(rates), self._error))

    def ask_for_evaluator(self) -> None:
        """Asks `outpace run` for one more process of the same script, which evaluates.

        When the run is over, it measures the last weights. Raises OutpaceError if the server is
        gone by then.
        """
        self._require_open()
        self._checked(self._waiting.call(self._library.outpace_worker_ask_for_evaluator,
                                         self._handle, self._error))

    def mark(self, numbers: int, seconds_ago: float = 0.0) -> None:
        """Tells `outpace profile` that the next layer's forward pass begins, which needs the first
        `numbers` weights; or, with 0, its backward pass, in reverse order. It began `seconds_ago`,
        as a GPU tells when the pass is over.

        Does nothing otherwise. outpace.torch calls it for modules that have parameters.
        """
        if self._handle is not None:
            self._library.outpace_worker_mark(self._handle, numbers, seconds_ago)

    @property
    def cancelled(self) -> bool:
        """Whether no update needs the current mini-batch any more.

        Then abandon() it, or push() the part that is done. It is cheap: poll it between layers.
        """
        return self._handle is not None and self._library.outpace_worker_cancelled(
            self._handle) != 0

    def abandon(self) -> None:
        """Abandons the current mini-batch, if there is one; its examples go to other workers."""
        self._require_open()
        self._forget()
        self._checked(self._library.outpace_worker_abandon(self._handle, self._error))

    def leave(self) -> None:
        """Leaves the job before its end; next() then returns None. Does nothing if closed."""
        if self._handle is not None:
            self._require_open()
            self._forget()
            self._checked(self._waiting.call(self._library.outpace_worker_leave, self._handle,
                                             self._error))

    def close(self) -> None:
        """Frees the worker. Without leave(), and if the run goes on, it counts as dead."""
        handle, self._handle = self._handle, None
        self._forget()
        # A forked child has none of the C worker's threads, so it cannot end them.
        if handle and os.getpid() == self._process and not self._waiting.interrupted:
            self._waiting.end()
            self._library.outpace_worker_close(handle)

    def __enter__(self) -> "Worker":
        return self

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        """Leaves the job in order, unless an exception ends the script: then it counts as dead."""
        if kind is None:
            self.leave()
        self.close()

    def _numbers(self) -> int:
        if self.minibatch is None:
            raise OutpaceError("gradient: there is no mini-batch; next() gives one")
        return self.minibatch.numbers

    def _forget(self) -> None:
        self.minibatch = None
        self._gradient = None

    def _require_pushable(self) -> None:
        self._require_open()
        if self.minibatch is None:
            raise OutpaceError("push: there is no mini-batch; next() gives one")

    def _require_open(self) -> None:
        if self._handle is None:
            raise OutpaceError("this worker is closed")
        if os.getpid() != self._process:
            raise OutpaceError("this worker belongs to the process that made it; a forked process "
                               "needs one of its own")
        if self._waiting.interrupted:
            raise OutpaceError("this worker was interrupted while it waited; it can only be closed", 1)

    def _filling(self, initial_weights: Union[Weights, Callable[[], Weights]]) -> Any:
        """A function for C that writes the initial weights."""

        def fill(out: Any, numbers: int, _context: Any) -> int:
            try:
                weights = initial_weights() if callable(initial_weights) else initial_weights
                address, _keep = _as_numbers(weights, numbers, "join: the initial weights")
                ctypes.memmove(out, address, 4 * numbers)
                return 0
            except BaseException as error:  # It must not pass through C.
                self._failure = error
                return 1

        return _library.InitialWeights(fill)

    def _checked(self, code: int) -> None:
        if code != 0:
            raise self._last_error()

    def _last_error(self) -> BaseException:
        failure, self._failure = self._failure, None
        return failure or _library.error_of(self._error)

    def __del__(self) -> None:
        if getattr(self, "_handle", None) is not None:
            self.close()


_ACCEPTED = Verdict(Outcome.ACCEPTED, "")


def _verdict_of(raw: _library.Verdict) -> Verdict:
    if raw.outcome == 0:
        return _ACCEPTED
    return Verdict(Outcome(raw.outcome), raw.why.decode(errors="replace"))


def as_array(address: int, numbers: int) -> "numpy.ndarray":
    """An array over memory that somebody else keeps alive."""
    import numpy

    return numpy.frombuffer((ctypes.c_float * numbers).from_address(address), dtype=numpy.float32)


def _as_numbers(given: Any, numbers: int, what: str) -> "tuple[int, Any]":
    """The address of `given` as float32 numbers, and what keeps them alive."""
    import numpy

    array = numpy.ascontiguousarray(given, dtype=numpy.float32)
    if array.size != numbers:
        raise OutpaceError(f"{what} has {array.size} numbers, the parameters hold {numbers}")
    return array.ctypes.data, array
