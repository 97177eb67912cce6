"""SIGTERM: the worker leaves the run in order, and its process ends."""

import os
import signal
import sys
import threading
from typing import Any, Callable


def leave_when_told(leave: Callable[[], None],
                    when_free: Callable[[Callable[[], None]], None]) -> None:
    """Calls `leave` at SIGTERM, and then ends the script with exit code 0.

    `when_free` calls what it is given as soon as no call waits for the server: Worker.when_free().

    Does nothing where the script, or what started it, has said what SIGTERM does, and outside the
    main thread, which alone hears signals.
    """
    if (threading.current_thread() is not threading.main_thread()
            or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL):
        return
    own = os.getpid()

    def end(number: int, _frame: Any) -> None:
        signal.signal(number, signal.SIG_DFL)  # A second one ends it at once.
        if os.getpid() != own:  # A process of a DataLoader, which has inherited this.
            os.kill(os.getpid(), number)
            return
        print("outpace: told to end: leaving the run", file=sys.stderr)
        when_free(leave_and_end)

    def leave_and_end() -> None:
        leave()
        raise SystemExit(0)

    signal.signal(signal.SIGTERM, end)
