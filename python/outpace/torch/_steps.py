"""What a worker of a job leaves to the way in which its steps are made.

By the server, with each mini-batch's gradient (_pushing.py); or by the worker itself, many in a row,
of which the server hears together (_local.py).
"""

import abc
from typing import Any, Callable, Dict, Optional, Protocol, Sequence

import torch

from outpace.torch._named import Named
from outpace.worker import Minibatch, Outcome, Verdict, Worker

AHEAD_MOST = 256  # Mini-batches, as the server allows.
CANCELLED = Verdict(Outcome.CANCELLED, "given up: nobody waits for it any more")


class Leased(Protocol):
    """What the steps need of a worker's job."""

    worker: Worker
    verdict: Optional[Verdict]
    epoch: Optional[int]  # The script's.
    version: int  # Of the weights that it was given.

    def advance(self) -> Optional[Minibatch]:
        """Waits for the next mini-batch, whose weights the steps then begin() with."""

    def begin(self, minibatch: Optional[Minibatch], **how: Any) -> Optional[Minibatch]:
        """The same, of one that is there already; None: the run is over."""


class Steps(abc.ABC):
    """How the steps of one network's training are made."""

    named: Named
    let_go = False  # No update needs what the script computes now.

    @abc.abstractmethod
    def check_network(self) -> None:
        """Raises OutpaceError if the script has changed it since wrap()."""

    @abc.abstractmethod
    def initial(self) -> torch.Tensor:
        """What the run may begin with: all that travels, in order."""

    @abc.abstractmethod
    def offer(self, epochs: int, ahead: int) -> Dict[str, Any]:
        """What a worker joins with beside its network and its data, for Worker.join(). The loader
        loads `ahead` mini-batches early."""

    @abc.abstractmethod
    def begin(self, minibatch: Optional[Minibatch], **how: Any) -> None:
        """A mini-batch has come, or the end of the run."""

    @abc.abstractmethod
    def say_first(self, minibatch: Minibatch, examples: Optional[int], alone: Optional[int]) -> None:
        """Tells a user what there is to know at the worker's first mini-batch, of a data set of so
        many examples; `alone`: those of a mini-batch without a job, if it is another number."""

    @abc.abstractmethod
    def pending(self) -> Optional[Minibatch]:
        """What the script is to compute next; None: it takes the next mini-batch of the server."""

    @abc.abstractmethod
    def handed_out(self) -> None:
        """The script has what pending() or begin() gave."""

    @abc.abstractmethod
    def begin_slice(self, left: int) -> None:
        """The script computes the next slice of the mini-batch, before `left` others."""

    @abc.abstractmethod
    def count_updates(self) -> None:
        """The script counts the run's updates (Job.updates()), before it joins."""

    @abc.abstractmethod
    def end_update(self) -> None:
        """The script's loop over the updates has come round."""

    @abc.abstractmethod
    def backward(self, loss: torch.Tensor, examples: Optional[int], value: Optional[float],
                 parts: bool, **options: Any) -> bool:
        """As Job.backward()."""

    @abc.abstractmethod
    def give_back(self, minibatch: Minibatch) -> None:
        """The script has left its loop, perhaps before it computed this one."""

    @abc.abstractmethod
    def drop(self, minibatch: Minibatch, tell: Callable[[], None]) -> None:
        """The script does not compute it; `tell` tells the server why."""

    def keep(self, things: Sequence[Any]) -> None:
        """As Job.keep(); the server has what its own steps need."""

    @abc.abstractmethod
    def leave(self) -> None:
        """This worker is about to leave."""

