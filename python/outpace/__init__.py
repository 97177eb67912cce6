"""Distributed training on machines that are not equally fast: a worker of an Outpace job.

`Worker` is for numpy, or for any library that computes gradients as float32 numbers; `outpace.torch`
is for PyTorch. Both talk to the job's server through liboutpace.so, which this package contains.
"""

from outpace._error import OutpaceError
from outpace.evaluator import Evaluator, Snapshot
from outpace.groups import Group, Method, OptimizerState
from outpace.role import Role, role
from outpace.worker import Minibatch, Outcome, Verdict, Worker

__all__ = ["Evaluator", "Group", "Method", "Minibatch", "OptimizerState", "Outcome", "OutpaceError",
           "Role", "Snapshot", "Verdict", "Worker", "role"]
