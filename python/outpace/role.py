"""What this process does in its job."""

import enum

from outpace import _library

__all__ = ["Role", "role"]


class Role(enum.Enum):
    """One of three."""

    ALONE = 0  # Nobody started this process as a part of a job.
    WORKER = 1  # Use Worker().
    EVALUATOR = 2  # Use Evaluator().


def role() -> Role:
    """What the environment says.

    OUTPACE_ROLE is worker or evaluator. Without it a process is a worker if OUTPACE_SERVER or
    OUTPACE_TOKEN_FILE is set, or if a launcher such as torchrun started it as one of several.
    Raises OutpaceError, which names the variable that is wrong.
    """
    error = _library.Error()
    found = _library.library().outpace_role(error)
    if found < 0:
        raise _library.error_of(error)
    return Role(found)
