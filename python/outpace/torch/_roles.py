"""What this process does in its job."""

from outpace._error import end_with_its_code
from outpace.evaluator import Evaluator
from outpace.role import Role, role
from outpace.torch._alone import Alone
from outpace.torch._evaluator import EvaluatorJob
from outpace.torch._job import Job
from outpace.torch._worker import WorkerJob
from outpace.worker import Worker


def init() -> Job:
    """This process's part in its job, by the environment (docs/python.md).

    `outpace run`, torchrun, srun and mpirun set it; without any, the process trains alone. Raises
    OutpaceError, which names the variable that is wrong.

    In a job, a script that does not catch an OutpaceError ends with its exit code.
    """
    found = role()
    if found is Role.ALONE:
        return Alone()
    end_with_its_code()
    return WorkerJob(Worker()) if found is Role.WORKER else EvaluatorJob(Evaluator())
