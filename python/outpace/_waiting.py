"""Calls that may wait long, made so that Ctrl-C ends the waiting.

Python runs a signal's handler only between two instructions of the main thread. A call into C that
waits for the server would therefore put Ctrl-C off until the server answers. Another thread makes
the call, and the main thread waits in Python, which a signal interrupts. The handover takes some
0.1 ms, so push_and_next(), which is called once an iteration, waits in short calls instead.
"""

import threading
from typing import Any, Callable, List, Optional, Tuple


class Waiting:
    """A thread that makes one call at a time for the main thread."""

    def __init__(self) -> None:
        # Locks, each held until there is something to do: a tenth of a Semaphore's time.
        self._asked = threading.Lock()
        self._answered = threading.Lock()
        self._asked.acquire()
        self._answered.acquire()
        self._call: Optional[Tuple[Callable[..., Any], Tuple[Any, ...]]] = None
        self._result: List[Any] = []
        self._thread: Optional[threading.Thread] = None
        self.interrupted = False  # A call is still being made, and its result will be lost.
        self._waits = False  # The main thread is in call().
        self._then: Optional[Callable[[], None]] = None

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """function(*arguments), which must not raise."""
        if threading.current_thread() is not threading.main_thread():
            return function(*arguments)
        if self._thread is None:
            self._thread = threading.Thread(target=self._serve, name="outpace", daemon=True)
            self._thread.start()
        self._call = (function, arguments)
        try:
            self._waits = True
            self.interrupted = True
            self._asked.release()
            self._answered.acquire()
            self.interrupted = False
        finally:
            self._waits = False
        then, self._then = self._then, None
        if then is not None:
            then()
        return self._result.pop()

    def after(self, then: Callable[[], None], stop: Callable[[], None]) -> None:
        """Calls `then` now, or after the call that the main thread waits for, which `stop` ends soon.

        From the handler of a signal, in which no second call can be made before the first has ended.
        """
        if self._waits:
            self._then = then
            stop()
        else:
            then()

    def end(self) -> None:
        """Ends the thread, unless it still makes a call."""
        if self._thread is not None and not self.interrupted:
            self._call = None
            self._asked.release()
            self._thread.join()
            self._thread = None

    def _serve(self) -> None:
        while True:
            self._asked.acquire()
            if self._call is None:
                return
            function, arguments = self._call
            self._result.append(function(*arguments))
            self._answered.release()
