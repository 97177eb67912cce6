"""What this process does in its job."""

import multiprocessing

from outpace._error import OutpaceError, end_with_its_code
from outpace.evaluator import Evaluator
from outpace.role import Role, role
from outpace.torch import _seeds
from outpace.torch._alone import Alone
from outpace.torch._evaluator import EvaluatorJob
from outpace.torch._job import Job
from outpace.torch._worker import WorkerJob
from outpace.worker import Worker


def _refuse_own_processes() -> None:
    """Raises OutpaceError in a process that the script has started itself: it has no rank."""
    here = multiprocessing.current_process()
    if getattr(here, "_inheriting", False):
        raise OutpaceError(
            "init: this process was started for the script, and runs it again from its first line "
            "(multiprocessing's spawn): put what trains below `if __name__ == \"__main__\":`")
    place = getattr(here, "_identity", ())
    if place and place[-1] > 1:
        raise OutpaceError(
            f"init: the script has started several processes itself, of which this is number "
            f"{place[-1]}: `outpace run --workers N` starts one for each worker; call the function "
            "once, without multiprocessing (torch.multiprocessing.spawn)")


def init(seeds: str = "own") -> Job:
    """This process's part in its job, by the environment (docs/python.md).

    `outpace run`, torchrun, srun and mpirun set it; without any, the process trains alone. Raises
    OutpaceError, which names the variable that is wrong.

    From its first mini-batch on, each worker draws random numbers of its own, by PyTorch's seed and
    its rank. With seeds="same" all go on from the script's seed, and draw the same dropout masks.

    In a job, a script that does not catch an OutpaceError ends with its exit code.
    """
    if seeds not in _seeds.WAYS:
        raise OutpaceError(f"init: seeds={seeds!r}; it takes \"own\" or \"same\"")
    found = role()
    if found is Role.ALONE:
        return Alone()
    end_with_its_code()
    _refuse_own_processes()
    job = WorkerJob(Worker()) if found is Role.WORKER else EvaluatorJob(Evaluator())
    job.draws_own = seeds == "own"
    return job
