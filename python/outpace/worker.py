"""A worker of an Outpace job, for a script that computes gradients itself.

    worker = outpace.Worker()
    worker.join({"slope": (1,), "offset": ()}, numpy.zeros(2), examples=len(data))
    for batch in worker:
        worker.gradient()[:] = mean_gradient(batch.weights, data[batch.examples])
        verdict = worker.push(loss)
"""

import ctypes
import os
from typing import (TYPE_CHECKING, Any, Callable, Collection, Iterator, Mapping, Optional, Sequence,
                    Union)

from outpace import _library
from outpace._asked import Asked
from outpace._compress import check_compress
from outpace._error import OutpaceError
from outpace._found import Found, found_of
from outpace._minibatch import (Minibatch, Outcome, Verdict, Weights, as_array, as_numbers,
                                verdict_of)
from outpace._waiting import Waiting
from outpace.groups import Group, OptimizerState

if TYPE_CHECKING:
    import numpy

__all__ = ["Minibatch", "Outcome", "Verdict", "Worker"]

PATIENCE = 0.05  # Seconds for which a wait puts off the handler of a signal, at most.
INTERRUPTED = "interrupted"  # The server's word for it.
NO_GRADIENT = "push: there is no gradient; write it into gradient(), or pass it on"


class Worker:
    """A worker of a job. Use it from one thread at a time.

    Without arguments it reads OUTPACE_SERVER, OUTPACE_TOKEN_FILE, OUTPACE_WORKER and the others of
    docs/python.md. Raises OutpaceError, which names the variable that is wrong.
    """

    def __init__(self, server: Optional[str] = None, *, token: str = "", worker: int = 0,
                 deadline: float = 60.0, rejoin_for: float = 600.0, keep_alive: float = 20.0,
                 tls_certificate: str = "", tls_key: str = "", tls_ca: str = "",
                 insecure_no_tls: bool = False) -> None:
        self._handle: Optional[int] = None  # The C worker.
        self._library = _library.library()
        self._error = _library.Error()
        self._waiting = Waiting()
        self._process = os.getpid()
        self._offered: Optional[_library.Job] = None  # The C worker calls back into it.
        self._asked = Asked()
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
        # For push_and_next(), which is called once an iteration.
        self._start_push = self._library.outpace_worker_start_push
        self._await = self._library.outpace_worker_await
        self._raw_verdict, self._raw_minibatch = _library.Verdict(), _library.Minibatch()
        self._slowed = self._library.outpace_worker_slowed
        self.rank: int = self._library.outpace_worker_rank(self._handle)  # 0, 1, 2, ...

    def join(self, parameters: Mapping[str, Sequence[int]],
             initial_weights: Union[Weights, Callable[[], Weights]], examples: int, *,
             groups: Sequence[Group] = (), group_of: Optional[Mapping[str, int]] = None,
             epochs: int = 0, ahead: int = 0,
             constants: Optional[Callable[[], bytes]] = None,
             state: Optional[Callable[[], Sequence[OptimizerState]]] = None,
             local_steps: int = 0, compress: str = "") -> None:
        """Connects and joins the job.

        `parameters` gives each tensor's name and shape, in the order of the flat weights, the same
        on every worker. `initial_weights` are all numbers in that order, or a function that returns
        them; only worker 0 is asked or, if it does not come, the first that did. `examples` is the size of the data set, the
        same on every worker.

        `groups` says how the server steps the parameters, if no option of the server does, and
        `group_of` which group each parameter is in (default 0). After this many `epochs` the run
        ends, if no option of the server says (0: the script does not say either). `ahead`, at most
        256, is how many mini-batches Minibatch.ahead tells. A next mini-batch may have other
        examples all the same, at the end of the run and after a lost connection.

        `constants` gives bytes of the script's own that do not change while it trains. It is asked
        where `initial_weights` is, and constants() has them on all workers.

        `state` gives what the groups' optimizers begin with, from another training: for each
        tensor all parts, or none, and then it begins anew. It is asked where `initial_weights` is.

        With `local_steps` above 0, of a server with that --local-steps, a mini-batch holds those of
        several steps, Minibatch.steps, which this worker makes by itself: it tells stepped() of each,
        writes the weights that it was given less those that it has into gradient(), and calls
        push_steps(). `groups` are then of buffers alone, with Method.BY_SERVER for the rest.

        `compress` is how this worker writes what it pushes in fewer bytes, as --compress takes it:
        "none", "bf16", "fp16", "int8", "int4" or "topk:share=0.01,bits=8"; "" is as the server says.
        The variable OUTPACE_COMPRESS overrides both. Values of Method.AVERAGE and NEWEST go as they
        are. What a push leaves behind counts with the next one, but for "feedback=0".

        Raises OutpaceError, with code 4 if the job has other parameters, data, groups or epochs.
        """
        self._require_open()
        if examples < 1:
            raise OutpaceError("join: the data set is empty")
        check_compress(compress, "join")
        listed = _library.parameter_list(parameters, group_of or {})
        steps = (_library.Group * len(groups))(*[(group.method.value, *group[1:])
                                                 for group in groups])
        offered = _library.Job(listed, len(listed), examples, self._asked.weights(initial_weights),
                               None, steps, len(steps), epochs, ahead,
                               self._asked.constants(constants), self._asked.state(state),
                               local_steps, compress.encode() or None)
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

    def constants(self) -> bytes:
        """The constants of the worker that brought the initial weights, from the first mini-batch
        on; empty if there are none."""
        self._require_open()
        return _library.bytes_from(self._library.outpace_worker_constants, self._handle or 0)

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
        order, and push(). After the push the server may read it, and other numbers may be written
        there; the memory lives as long as the array.
        """
        return as_array(self.gradient_address(), self._numbers(), self.memory())

    def gradient_address(self) -> int:
        """Where gradient() lies; the same until the mini-batch is pushed or abandoned."""
        self._require_open()
        if self._gradient is None:
            self._gradient = self._library.outpace_worker_gradient(self._handle, self._error)
            if not self._gradient:
                raise self._last_error()
        return self._gradient

    def memory(self) -> _library.Memory:
        """Keeps the memory of the current mini-batch's weights, and of the gradient if it was asked
        for, as long as the result lives."""
        self._require_open()
        handle = self._library.outpace_worker_memory(self._handle, self._error)
        if not handle:
            raise self._last_error()
        return _library.Memory(handle)

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
        return verdict_of(raw)

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
            return verdict_of(answer), self.next()
        self._checked(code)
        self.void_memory = False
        return verdict_of(answer), self._take(raw)

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
            address, _keep = as_numbers(gradient, self._numbers(), "push: the gradient")
        else:
            if self._gradient is None:
                raise OutpaceError(NO_GRADIENT)
            address, _keep = self._gradient, None
        return (self._handle, address, float(loss), part or 0, verdict, self._error), _keep

    def stepped(self, examples: int) -> None:
        """A local step was made with this many examples, the next of the mini-batch.

        Waits as long as `outpace run --slow`, --delays and `outpace ctl RUN slow` ask for. Raises
        OutpaceError if fewer examples are left.
        """
        self._require_open()
        self._checked(self._waiting.call(self._library.outpace_worker_stepped, self._handle,
                                         examples, self._error))

    def push_steps(self, loss: Optional[float] = None) -> Verdict:
        """Answers the current mini-batch with what its local steps have changed, written into
        gradient(), and waits for the verdict. `loss` is their mean loss; None: it is not known."""
        self._require_pushable()
        if self._gradient is None:
            raise OutpaceError(NO_GRADIENT)
        raw = _library.Verdict()
        told = None if loss is None else ctypes.c_double(loss)
        code = self._waiting.call(self._library.outpace_worker_push_steps, self._handle, told, raw,
                                  self._error)
        if code == 0:
            self._forget()
        self._checked(code)
        return verdict_of(raw)

    def start_push_steps(self, loss: Optional[float] = None) -> None:
        """push_steps(), without waiting for the verdict: await_next() has it. Meanwhile steps may be made
        with the examples of Minibatch.ahead."""
        self._require_pushable()
        if self._gradient is None:
            raise OutpaceError(NO_GRADIENT)
        told = None if loss is None else ctypes.c_double(loss)
        self._checked(self._library.outpace_worker_start_push_steps(self._handle, told, self._error))
        self._forget()

    def await_next(self, waits: bool) -> "Optional[tuple[Verdict, Optional[Minibatch]]]":
        """The verdict on what start_push_steps() sent, and the next mini-batch, whose weights are there;
        None: not yet, where it does not wait."""
        answer, raw = self._raw_verdict, self._raw_minibatch
        await_, patience = self._await, PATIENCE if waits else 0.0
        code = await_(self._handle, patience, answer, raw, self._error)
        while waits and code == _library.WAITS:  # Between two calls, Python looks for signals.
            code = await_(self._handle, patience, answer, raw, self._error)
        if code == _library.WAITS:
            return None
        if code == _library.LOST:
            return verdict_of(answer), self.next()
        self._checked(code)
        return verdict_of(answer), self._take(raw)

    @property
    def slowed(self) -> bool:
        """Whether the calls of this worker wait, as `outpace run --slow` and its like ask for."""
        return bool(self._slowed(self._handle))

    def without(self, tensors: Collection[int]) -> None:
        """The current mini-batch's gradient has none of these tensors, by their place among join()'s
        parameters; write 0 in their place.

        The update leaves them as they are, unless another worker's gradient of the same update has
        them. Raises OutpaceError if there is no such tensor, or if join() had no groups.
        """
        self._require_open()
        listed = (ctypes.c_uint32 * len(tensors))(*tensors)
        self._checked(self._library.outpace_worker_without(self._handle, listed, len(listed),
                                                           self._error))

    def set_rates(self, epoch: int, rates: Sequence[float]) -> None:
        """Sets the groups' learning rates from the script's epoch `epoch` on, one for each group. A
        script that counts updates may give the update, `Minibatch.version`, in place of the epoch.

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

    def evaluated(self, epoch: int) -> "Union[Found, bool]":
        """What the evaluator has found for this epoch of the script: the same on every worker.

        Without anything: True if it will come, so ask again; False if nobody measures. Raises
        OutpaceError if the server is gone.
        """
        self._require_open()
        raw = _library.Evaluated()
        self._checked(self._waiting.call(self._library.outpace_worker_evaluated, self._handle,
                                         epoch, raw, self._error))
        return found_of(raw) if raw.found else bool(raw.comes)

    def end_run(self, why: str) -> None:
        """Ends the run now, as the script wants, for this reason: it is done.

        With "": this worker has left because its script's loop has ended, as the script wants; when
        all have, the run is done. Any thread may call it. Raises OutpaceError if the run is over.
        """
        error = _library.Error()
        if self._handle is not None and os.getpid() == self._process:
            code = self._library.outpace_worker_end_run(self._handle, why.encode(), error)
            if code != 0:
                raise _library.error_of(error)

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

    @property
    def wants_part(self) -> bool:
        """Whether that part would count: the server asks for it."""
        return self._handle is not None and self._library.outpace_worker_cancelled(
            self._handle) == _library.WANTS_PART

    def abandon(self) -> None:
        """Abandons the current mini-batch, if there is one; its examples go to other workers."""
        self._require_open()
        self._forget()
        self._checked(self._library.outpace_worker_abandon(self._handle, self._error))

    def abandon_failed(self) -> None:
        """Abandons the current mini-batch, because it cannot be computed.

        Others try. After three tries in all its examples are left out: they count as used, and the
        run names them.
        """
        self._require_open()
        self._forget()
        self._checked(self._library.outpace_worker_abandon_failed(self._handle, self._error))

    def leave_out(self) -> None:
        """Abandons the current mini-batch for good: its examples count as used in this epoch."""
        self._require_open()
        self._forget()
        self._checked(self._library.outpace_worker_leave_out(self._handle, self._error))

    def when_free(self, action: Callable[[], None]) -> None:
        """Calls `action` at once; where a call waits for the server, after that call, which waits no longer.

        For a handler of a signal that is to leave(): an exception that it raises while a call waits
        would leave the worker good for close() alone.
        """
        self._waiting.after(action, lambda: self._library.outpace_worker_stop_waiting(self._handle))

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

    def _checked(self, code: int) -> None:
        if code != 0:
            raise self._last_error()

    def _last_error(self) -> BaseException:
        failure = self._asked.take_failure()
        error = _library.error_of(self._error)
        if failure is None and error.exit_code == 1 and str(error) == INTERRUPTED:
            return KeyboardInterrupt()  # Ctrl-C went to the run, whose workers it ends.
        return failure or error

    def __del__(self) -> None:
        if getattr(self, "_handle", None) is not None:
            self.close()
