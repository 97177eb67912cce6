"""Distributed training on machines that are not equally fast: a worker of an Outpace job.

`Worker` is for numpy, or for any library that computes gradients as float32 numbers; `outpace.torch`
is for PyTorch. Both talk to `outpace server` through liboutpace.so, which this package contains.
"""

from outpace._error import OutpaceError
from outpace.worker import Minibatch, Outcome, Verdict, Worker

__all__ = ["Minibatch", "Outcome", "OutpaceError", "Verdict", "Worker"]
