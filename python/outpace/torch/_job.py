"""What every process of a job has in common: the interface of outpace.torch."""

import abc
import os
import sys
from typing import Any, Callable, Dict, Iterator, List, Optional, Sized, Tuple, Union

import torch

from outpace._error import OutpaceError
from outpace.torch import _safetensors
from outpace.torch._buffers import WAYS
from outpace.worker import Verdict

# The accuracy, or accuracy and loss, or both by these names.
Evaluated = Union[float, Tuple[float, float], Dict[str, float]]


def measured(found: Evaluated) -> "tuple[float, Optional[float]]":
    """Accuracy and loss of what evaluate()'s function gave; None: it gave no loss.

    Raises OutpaceError if it is none of the three.
    """
    wrong = ""
    try:
        if isinstance(found, dict):
            accuracy, loss = found["accuracy"], found.get("loss")
            if set(found) - {"accuracy", "loss"}:
                wrong = "the names " + ", ".join(map(repr, found))
        elif isinstance(found, (tuple, list)):
            accuracy, loss = found
        else:
            accuracy, loss = found, None
        if not wrong:
            return float(accuracy), None if loss is None else float(loss)
    except (KeyError, TypeError, ValueError):
        wrong = repr(found)
    raise OutpaceError("evaluate: the function must return the accuracy, or (accuracy, loss), or "
                       f"{{\"accuracy\": ..., \"loss\": ...}}; it returned {wrong}")


class Job(abc.ABC):
    """This process's part in a job. outpace.torch.init() makes it."""

    def __init__(self) -> None:
        self.rank = 0  # This worker's: 0, 1, 2, ...
        self.epoch: Optional[int] = None  # The one that epochs() gave last.
        self.verdict: Optional[Verdict] = None  # The server's on the last gradient.
        self._scale_rate = False
        self._module: Optional[torch.nn.Module] = None
        self._optimizer: Optional[torch.optim.Optimizer] = None

    @property
    def alone(self) -> bool:
        """Whether there is no server, and the optimizer's steps are made here."""
        return False

    @property
    def version(self) -> int:
        """How many updates are in the weights that the module has."""
        return 0

    def wrap(self, module: torch.nn.Module, optimizer: torch.optim.Optimizer, *,
             buffers: str = "average", scale_rate: bool = False) -> Tuple[torch.nn.Module, torch.optim.Optimizer]:
        """Takes both into the job, and returns them.

        With a server, the parameters that the optimizer has become views of one buffer. Their
        weights come from the server, and optimizer.step() pushes their gradients. Move the module
        to its device, and freeze parameters, before. Raises OutpaceError if the server has no such
        optimizer or cannot train such parameters.

        Running statistics (batch normalisation) are each worker's own while it trains. With
        buffers="average" the server keeps their mean by examples, which the evaluator, save() and
        workers that come get. With "own" they do not travel, and worker 0 evaluates.

        With `scale_rate`, the optimizer's rates are those of one worker's mini-batch, and the server
        takes them times the number of gradients of an update, which `outpace run` knows (1 under
        async). A warm-up comes before: the factor grows from 1 over a tenth of the epochs, 1 to 5
        of them. Goyal et al., "Accurate, Large Minibatch SGD", 2017, section 2. It is for SGD.
        """
        if buffers not in WAYS:
            raise OutpaceError(f"wrap: buffers={buffers!r}; it takes \"average\" or \"own\"")
        if self._module is not None:
            same = self._module is module and self._optimizer is optimizer
            raise OutpaceError("wrap: this " + ("network was wrapped" if same else
                               "job trains another network") + " already; a job trains one")
        self._scale_rate = scale_rate
        self._take(module, optimizer, buffers == "average")
        self._module, self._optimizer = module, optimizer
        return module, optimizer

    @abc.abstractmethod
    def _take(self, module: torch.nn.Module, optimizer: torch.optim.Optimizer,
              average: bool) -> None:
        """wrap(), for this kind of process; `average`: running statistics travel."""

    @abc.abstractmethod
    def sampler(self, dataset: Sized, batch_size: Optional[int] = None) -> Any:
        """Mini-batches of indices, for DataLoader(dataset, batch_sampler=...).

        With a server they are what it leases to this worker: over an epoch, all workers together
        use every example exactly once. Their size is the server's --batch, or another one under
        --balance. `batch_size` counts where there is no server (default 32).
        """

    @abc.abstractmethod
    def loader(self, dataset: Sized, *, batch_size: Optional[int] = None, **options: Any) -> Any:
        """DataLoader(dataset, batch_sampler=job.sampler(dataset), **options), which may prefetch.

        With num_workers above 0, its processes load the examples of this worker's next
        num_workers * prefetch_factor mini-batches. The server leases them to this worker ahead of
        the weights, and gives them to others if this worker is gone or at the end of the run.
        """

    @abc.abstractmethod
    def epochs(self, number: int) -> Iterator[int]:
        """0, 1, ..., number - 1, or fewer if the server ends the run before.

        A worker that comes late passes through the epochs that are over without any mini-batch, so
        that a schedule of the learning rate is where it should be.
        """

    @abc.abstractmethod
    def backward(self, loss: torch.Tensor, *, examples: Optional[int] = None,
                 value: Optional[float] = None, parts: bool = False, **options: Any) -> bool:
        """loss.backward(**options). True if optimizer.step() is to come next.

        False: no update needs this gradient any more, the pass was ended, and the next mini-batch
        has newer weights. `loss` is a scalar, the mean over its examples. Several calls before one
        step give the mean by examples, and each needs the number of its `examples`. `value` is the
        loss for the record, if it is another number than `loss`, such as with a GradScaler.

        With `parts`, a mini-batch of several calls that is cancelled is not lost: the call at hand
        is finished, and the mean over the examples so far is pushed (job.verdict says what became
        of it: a policy that takes no parts drops it). The calls must go through the mini-batch in
        its order. False, as without: go on with the next mini-batch.
        """

    @abc.abstractmethod
    def evaluate(self, function: Callable[[], Evaluated]) -> Optional[Evaluated]:
        """Measures the network: `function` returns (accuracy, loss).

        It may return {"accuracy": ..., "loss": ...}, or the accuracy alone: then the run's tables
        have no test loss.

        Alone, it runs here and the result is returned. In a job, the evaluator runs it on snapshots
        of the weights, and workers go on at once with None. A network whose running statistics do
        not travel (buffers="own") is measured by worker 0 on its own time.
        """

    def clip_grad_norm(self, most: float) -> float:
        """Scales the gradient to this norm at most, before optimizer.step(); returns its norm."""
        return float(torch.nn.utils.clip_grad_norm_(self._trained(), most))

    def save(self, path: "str | os.PathLike[str]") -> None:
        """Writes the module's state_dict as safetensors, on worker 0 alone. Raises OSError."""
        if self.rank == 0 and self._writes():
            _safetensors.write(path, {**self._wrapped().state_dict(), **self._averaged()})

    def load(self, path: "str | os.PathLike[str]") -> None:
        """Reads what save() wrote into the module, before the first mini-batch.

        The job begins with these weights. Raises OutpaceError if the file does not fit, or if the
        job has begun: it has the server's weights then.
        """
        if self._has_begun():
            raise OutpaceError("load: the job has begun with the server's weights; load before the "
                               "first mini-batch")
        try:
            self._wrapped().load_state_dict(_safetensors.read(path))
        except RuntimeError as error:
            if isinstance(error, OutpaceError):
                raise
            raise OutpaceError(f"load: {os.fspath(path)} does not fit this network: "
                               + " ".join(str(error).split())) from None

    def _measure_here(self, function: Callable[[], Evaluated]) -> Evaluated:
        found = function()
        accuracy, loss = measured(found)
        when = "" if self.epoch is None else f"epoch {self.epoch}: "
        and_loss = "" if loss is None else f", loss {loss:.4f}"
        print(f"outpace: {when}accuracy {accuracy:.4f}{and_loss}", file=sys.stderr)
        return found

    def _averaged(self) -> Dict[str, torch.Tensor]:
        """What the server has in place of this process's own buffers, by name."""
        return {}

    def _writes(self) -> bool:
        return True

    def _has_begun(self) -> bool:
        return False

    def _wrapped(self) -> torch.nn.Module:
        if self._module is None:
            raise OutpaceError("job.wrap(net, optimizer) comes first")
        return self._module

    def _trained(self) -> List[torch.nn.Parameter]:
        self._wrapped()
        assert self._optimizer is not None
        return [one for group in self._optimizer.param_groups for one in group["params"]]
