"""How a script's loop ends: by its epochs, by a break, by job.stop(), or with the run."""

import sys
import threading
from typing import Optional

from outpace._error import OutpaceError
from outpace.worker import Worker

EMPTY_MOST = 100_000  # Passes over the data of a run that is over: no loop with an end has more.
SAYS_AFTER = 10
# Seconds from a break to the word that it was one. An exception that ends the script takes less.
TO_FAIL = 5.0


def check_number(number: Optional[int]) -> None:
    """Raises OutpaceError for a number of epochs that is none."""
    if number is not None and number < 1:
        raise OutpaceError(f"epochs({number}): it takes 1 or more, or nothing: then the loop ends "
                           "with the run")


def check_updates(number: int) -> None:
    """Raises OutpaceError for a number of updates that is none."""
    if number < 1:
        raise OutpaceError(f"updates({number}): it takes 1 or more")


def check_why(why: str) -> None:
    """Raises OutpaceError for a reason that nobody could read."""
    if not isinstance(why, str) or not why.strip():
        raise OutpaceError(f"stop: the reason is {why!r}; it takes a text, which the run's record "
                           "shows")


class EmptyPasses:
    """Passes over the data of a run that is over; ends a loop that has no end."""

    def __init__(self) -> None:
        self._count = 0

    def one_more(self) -> None:
        self._count += 1
        if self._count == SAYS_AFTER:
            print("outpace: the run is over, and the script's loop goes on: write `for epoch in "
                  "job.epochs():` or `while not job.over:` for one that ends with the run",
                  file=sys.stderr)
        if self._count >= EMPTY_MOST:
            raise SystemExit(0)


class Ends:
    """The end of one worker's loop.

    A break out of the loop over the epochs and an exception look alike to the generator that they
    close. Either way the worker leaves at once, so that its examples go to others. Only after a
    break does the server hear that this was the script's intention: when the script ends without an
    exception, or still runs some seconds later.
    """

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self._told = False
        self._timer: Optional[threading.Timer] = None

    def left(self, certain: bool) -> None:
        """The worker has left by itself; `certain`: not by an exception."""
        if certain:
            self.tell()
            return
        self._timer = threading.Timer(TO_FAIL, self._tell_unless_failed)
        self._timer.daemon = True
        self._timer.start()

    def tell(self, why: str = "") -> None:
        """The loop has ended as the script wants; with a reason, the run ends too."""
        if self._told:
            return
        self._told = True
        try:
            self._worker.end_run(why)
        except OutpaceError:
            pass  # The run is over, or the server gone: nobody needs it any more.

    def say_nothing(self) -> None:
        """Whatever ends the loop from here on, it is not what the script wants."""
        self._told = True

    def script_ends(self, left: bool) -> None:
        """The process ends; `left`: the worker has left before the end of the run."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer.join()  # It uses the worker, which is about to be freed.
        if left:
            self._tell_unless_failed()

    def _tell_unless_failed(self) -> None:
        if not hasattr(sys, "last_type"):
            self.tell()
