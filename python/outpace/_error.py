"""The one exception of this package."""

import sys
from typing import Any


class OutpaceError(RuntimeError):
    """An error of one line.

    `exit_code` is the code with which Outpace's own programs end: 2 usage or configuration, 3 the
    token was refused, 4 incompatible with the job, 1 anything else.
    """

    def __init__(self, message: str, exit_code: int = 2) -> None:
        super().__init__(message)
        self.exit_code = exit_code


OutpaceError.__module__ = "outpace"  # Where scripts find it.


def end_with_its_code() -> None:
    """A script that does not catch an OutpaceError ends with its exit code from now on.

    `outpace run` tells from the code whether it is of use to start the script again.
    """
    before = sys.excepthook

    def hook(kind: Any, error: Any, traceback: Any) -> None:
        before(kind, error, traceback)
        if isinstance(error, OutpaceError):
            raise SystemExit(error.exit_code)

    sys.excepthook = hook
