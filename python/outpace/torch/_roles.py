"""What this process does in its job."""

import os

from outpace.torch._alone import Alone
from outpace.torch._job import Job
from outpace.torch._worker import WorkerJob
from outpace.worker import Worker


def init() -> Job:
    """This process's part in its job, by the environment (docs/python.md).

    `outpace run`, torchrun, srun and mpirun set it; without any, the process trains alone. Raises
    OutpaceError, which names the variable that is wrong.
    """
    if not os.environ.get("OUTPACE_SERVER"):
        return Alone()
    return WorkerJob(Worker())
