"""The size of a job's mini-batches, which the server sets and a script may want to know."""

import os
from typing import Optional

from outpace._error import OutpaceError

VARIABLE = "OUTPACE_BATCH"  # Examples of a mini-batch; `outpace run` sets it.
ALONE = 32  # As the server's --batch.


def of_environment() -> Optional[int]:
    """The server's --batch; None if nobody has told this process. Raises OutpaceError."""
    text = os.environ.get(VARIABLE, "")
    if not text:
        return None
    if not text.isdigit() or int(text) < 1:
        raise OutpaceError(f"{VARIABLE} is {text!r}; it takes a whole number, 1 or more")
    return int(text)


def check_size(batch_size: Optional[int]) -> None:
    """Raises OutpaceError for a size that is none."""
    if batch_size is not None and batch_size < 1:
        raise OutpaceError(f"loader: batch_size={batch_size}; it takes 1 or more")


def minibatches_of(examples: int) -> int:
    """How many mini-batches all workers together compute in an epoch. Raises OutpaceError."""
    batch = of_environment()
    if batch is None:
        raise OutpaceError("len(loader): the size of a mini-batch is the server's --batch, which this "
                           f"process was not told; set {VARIABLE}, the same for every worker")
    return -(-examples // batch)


def say_ignored(batch_size: Optional[int], rank: Optional[int]) -> None:
    """Tells a script whose batch_size does not count. Raises OutpaceError if it is none."""
    check_size(batch_size)
    batch = of_environment()
    if rank == 0 and batch_size is not None and batch is not None and batch_size != batch:
        print(f"outpace: loader: batch_size={batch_size} counts only alone; this job's mini-batches "
              f"have {batch} examples: start it with --batch {batch_size} for yours", flush=True)
