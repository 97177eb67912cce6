"""What every process of a job has in common: the interface of outpace.torch."""

import abc
import os
import sys
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Sized, Tuple, TypeVar, Union

import torch

from outpace._error import OutpaceError
from outpace.torch import _safetensors
from outpace.torch._files import state_of
from outpace.torch._measured import Evaluated, Newest, measured
from outpace.torch._rules import Given
from outpace.torch._several import Optimizers, Several, as_one
from outpace.torch._wrapping import Wrapping, checked
from outpace.worker import Verdict

Modules = TypeVar("Modules", bound=Union[torch.nn.Module, Sequence[torch.nn.Module]])
Steppers = TypeVar("Steppers", bound=Union[torch.optim.Optimizer, Sequence[torch.optim.Optimizer]])


def check_whole(module: torch.nn.Module) -> None:
    """Raises OutpaceError for a network that save() could not write, or that has no shape yet."""
    for name, parameter in module.named_parameters():
        if isinstance(parameter, torch.nn.parameter.UninitializedParameter):
            raise OutpaceError(f"wrap: parameter '{name}' has no shape yet (a lazy layer); run one "
                               "mini-batch through the network before job.wrap()")
    for name, value in module.state_dict().items():
        if not isinstance(value, torch.Tensor):
            raise OutpaceError(f"wrap: '{name}' of the network's state is {type(value).__name__}, "
                               "and checkpoints hold tensors only; remove get_extra_state(), or keep "
                               "such state outside of the network")


class Job(abc.ABC):
    """This process's part in a job. outpace.torch.init() makes it."""

    def __init__(self) -> None:
        self.rank: Optional[int] = 0  # This worker's: 0, 1, 2, ...; None in the evaluator.
        self.draws_own = True  # Random numbers that differ from worker to worker: init(seeds="own").
        self.epoch: Optional[int] = None  # The one that epochs() gave last.
        self.verdict: Optional[Verdict] = None  # The server's on the last gradient.
        self._module: Optional[torch.nn.Module] = None
        self._networks: List[torch.nn.Module] = []
        self._optimizer: Optional[Optimizers] = None
        self._wrapped_as: Any = None  # What wrap() was given.

    @property
    def alone(self) -> bool:
        """Whether there is no server, and the optimizer's steps are made here."""
        return False

    @property
    def version(self) -> int:
        """How many updates are in the weights that the module has."""
        return 0

    @property
    def over(self) -> bool:
        """Whether there is nothing to train any more: `while not job.over:`."""
        return False

    def stop(self, why: str) -> None:
        """Ends the run, as the script wants: it is done, with its last weights and exit code 0.

        `why` is the reason for its record. One worker's call ends it for all. The gradients on their
        way no longer count; the loops over the data and job.epochs() end. Alone, they end too. The
        evaluator, and a worker that has no mini-batch, end nothing. Raises OutpaceError for an empty
        reason.
        """

    def wrap(self, module: Modules, optimizer: Steppers, *, buffers: Given = "average",
             scale_rate: bool = False, averages: Optional[torch.nn.Module] = None,
             local_steps: Optional[int] = None,
             examples: Optional[int] = None,
             steps_ahead: bool = False, compress: Optional[str] = None) -> Tuple[Modules, Steppers]:
        """Takes both into the job, and returns them.

        Each may be a list: job.wrap([netD, netG], [optD, optG]). Names of parameters then begin with
        their network's number in the list ("0.weight"). Each optimizer makes one step with each
        mini-batch, in any order. A gradient is what it is at its optimizer's step, and all of them
        go to the server with the last one: all passes of a mini-batch see the weights before it.

        With a server, the parameters that the optimizer has become views of one buffer. Their
        weights come from the server, and optimizer.step() pushes their gradients. Move the module
        to its device, and freeze parameters, before. Raises OutpaceError if the server has no such
        optimizer or cannot train such parameters.

        All parameters and buffers begin with worker 0's values on every worker and the evaluator.
        Buffers that training changes are each worker's own while it trains; evaluator, save() and
        workers that come get the server's. By default these are the mean by examples of running
        statistics (batch normalisation), and of others, up to 65,536 numbers each, the newest.
        `buffers` is "newest" (no mean), "own" (none travels, and worker 0 evaluates), or gives some
        of these and "average" by patterns of names: {"*.weight_u": "newest"}.

        `averages` is the script's own average of the weights (torch.optim.swa_utils.AveragedModel),
        if evaluate()'s function measures it: it travels, too.

        With `scale_rate`, the optimizer's rates are those of one worker's mini-batch, and the server
        takes them times the number of gradients of an update, which `outpace run` knows (1 under
        async). A warm-up comes before: the factor grows from 1 over a tenth of the epochs, 1 to 5
        of them. Goyal et al., "Accurate, Large Minibatch SGD", 2017, section 2. It is for SGD.

        With `local_steps`, which is the run's --local-steps unless it is said here, the optimizer
        makes its steps in this process, and what as many mini-batches have changed is pushed
        (docs/local-steps.md). It may then be any optimizer, parameters may be of any floating type
        and on several devices, frozen ones do not travel, and the loop is PyTorch's: loss.backward(),
        optimizer.step(). Data that are not given to job.loader() are the script's own: `examples` is
        how many make an epoch, of all workers together; each step counts as --batch of them. With
        `steps_ahead` the worker goes on with its next mini-batches while its push and the next
        weights travel, and adds what these steps have changed to the weights that come.

        `compress` is how this worker writes what it pushes in fewer bytes, as --compress takes it:
        "none", "bf16", "fp16", "int8", "int4" or "topk:share=0.01,bits=8"; without it the run's
        --compress counts. The variable OUTPACE_COMPRESS overrides both. Buffers go as they are, and
        alone nothing is pushed.
        """
        if self._module is not None:
            if self._wrapped_as == (id(module), id(optimizer)):
                raise OutpaceError("wrap: this network was wrapped already")
            raise OutpaceError("wrap: this job trains another network already; wrap all of them "
                               "together: job.wrap([netD, netG], [optD, optG])")
        together, all_steps = as_one(module, optimizer)
        check_whole(together)
        wrapping = checked(Wrapping(buffers, scale_rate, averages, local_steps, examples,
                                    steps_ahead, compress))
        self._networks = list(module) if isinstance(module, (list, tuple)) else [together]
        self._take(together, all_steps, wrapping)
        self._module, self._optimizer = together, all_steps
        self._wrapped_as = (id(module), id(optimizer))
        return module, optimizer

    @abc.abstractmethod
    def _take(self, module: torch.nn.Module, optimizer: Optimizers, wrapping: Wrapping) -> None:
        """wrap(), for this kind of process."""

    @abc.abstractmethod
    def sampler(self, dataset: Sized, batch_size: Optional[int] = None) -> Any:
        """Mini-batches of indices, for DataLoader(dataset, batch_sampler=...).

        With a server they are what it leases to this worker: over an epoch, all workers together
        use every example exactly once. Their size is the server's --batch, or another one under
        --balance, or under --policy auto with --balance-most. `batch_size` counts where there is no
        server (default 32).
        """

    @abc.abstractmethod
    def loader(self, dataset: Sized, *, batch_size: Optional[int] = None, accumulate: int = 1,
               drop_last: bool = False, **options: Any) -> Any:
        """DataLoader(dataset, batch_sampler=job.sampler(dataset), **options), which may prefetch.

        len() of it is the number of mini-batches that all workers together compute in an epoch.

        With `weights`, one for each example, an epoch is as many draws with replacement as there are
        examples, as of torch's WeightedRandomSampler, which `sampler` takes too.

        A torch.utils.data.IterableDataset is counted, not leased: `examples` of it, of all workers
        together, make an epoch, and each worker takes those of its mini-batches from a stream of its
        own, which begins again when it has ended.

        With `drop_last`, a mini-batch of fewer examples, which the run's end may have, is left out,
        and mini-batches in proportion to the workers' speeds (--balance) are refused.

        With `accumulate`, it gives each mini-batch in this many slices, whose gradients add up:
        backward(loss / accumulate) is True after the last one, when optimizer.step() is to come.
        Alone, a slice has `batch_size` examples; in a job, all slices together have --batch.

        With num_workers above 0, its processes load the examples of this worker's next
        num_workers * prefetch_factor mini-batches. The server leases them to this worker ahead of
        the weights, and gives them to others if this worker is gone or at the end of the run.
        """

    @abc.abstractmethod
    def epochs(self, number: Optional[int] = None) -> Iterator[int]:
        """0, 1, ..., number - 1, or fewer if the run ends before. Without a number it goes on
        until the end of the run, which `outpace run --updates N` or job.stop() say.

        A worker that breaks out of it leaves, and its examples go to others. When all have, the run
        is done.

        A worker that comes late passes through the epochs that are over without any mini-batch, so
        that a schedule of the learning rate is where it should be.
        """

    @abc.abstractmethod
    def updates(self, number: int) -> Iterator[int]:
        """The update that the next mini-batch is for, 0 to number - 1: `for step in range(number)`
        of a script that counts its steps. The run ends after that number, or before.

        In a job the numbers are the run's, the same on all workers. A worker that is slow passes
        over some, and it has one twice if its gradient was dropped. In this loop the script may set
        the learning rate for each update, by this number alone: an update is made with the rates
        of the newest number that the server has heard of. Take each mini-batch by next() of an
        iterator that does not end. The evaluator gets 0 alone. Raises OutpaceError before loader()
        and after the first mini-batch.
        """

    @abc.abstractmethod
    def backward(self, loss: torch.Tensor, *, examples: Optional[int] = None,
                 value: Optional[float] = None, parts: bool = False, **options: Any) -> bool:
        """loss.backward(**options). True if optimizer.step() is to come next.

        False: no update needs this gradient any more, the pass was ended, and the next mini-batch
        has newer weights; optimizer.step() does nothing then. Or it is not the last slice of
        loader(accumulate=...). `loss` is a scalar. The gradients of several calls before one step
        add up, as in PyTorch: write loss / K. `value` is the loss for the record, if it is another
        number than `loss`, such as with a GradScaler; of several the mean is recorded.

        With `parts`, a mini-batch of several calls that is cancelled is not lost: the call at hand
        is finished, and the gradient of the examples so far is pushed (job.verdict says what became
        of it: a policy that takes no parts drops it). Each call says how many `examples` it has,
        and goes through the mini-batch in its order; the losses add up to the mini-batch's mean.
        False, as without: go on with the next mini-batch.
        """

    def keep(self, *things: Any) -> None:
        """With local steps and `outpace run --keep-worker-state`: what a process of this worker that is
        started again goes on with, beside its optimizers and random generators, such as a schedule
        or a GradScaler. Each has state_dict() and load_state_dict(). Call it after wrap(), before
        the first mini-batch. Raises OutpaceError for anything else.
        """
        for one in things:
            if not (hasattr(one, "state_dict") and hasattr(one, "load_state_dict")):
                raise OutpaceError(f"keep: {type(one).__name__} has no state_dict(); it takes a "
                                   "schedule, a GradScaler or another thing that has")
        if self._has_begun():
            raise OutpaceError("keep: the job has begun; call it before the first mini-batch")
        self._keep(things)

    def _keep(self, things: Sequence[Any]) -> None:
        """keep(), for this kind of process."""

    def skip(self) -> None:
        """Leaves the current mini-batch, which cannot be computed.

        In a job others try it. After three tries in all its examples are left out: they count as
        used, and the run names them (RUN/unusable.csv).
        """

    @abc.abstractmethod
    def evaluate(self, function: Callable[[], Evaluated]) -> "Union[Evaluated, Newest, None]":
        """Measures the network: `function` returns (accuracy, loss), or the accuracy alone, or any
        numbers by name: {"loss": ..., "perplexity": ...}. All are recorded under their names; the
        run's tables show accuracy and loss.

        Alone, it runs here and the result is returned. In a job, the evaluator runs it on snapshots
        of the weights, and workers go on at once. The result of a worker's call is what the
        evaluator has found for this epoch, the same on every worker, so that a schedule may follow
        it: ["loss"] or [1]. To read it waits until it is there. A network whose running statistics
        do not travel (buffers="own") is measured by worker 0 on its own time; others get None.
        """

    def clip_grad_norm(self, most: float) -> float:
        """Scales the gradient to this norm at most, before optimizer.step(); returns its norm.

        It is for one optimizer: raises OutpaceError if the job has several.
        """
        if isinstance(self._optimizer, Several):
            raise OutpaceError("clip_grad_norm: the job has several optimizers; write "
                               "torch.nn.utils.clip_grad_norm_(net.parameters(), most) before the "
                               "step of each")
        return float(torch.nn.utils.clip_grad_norm_(self._trained(), most))

    def save(self, path: "str | os.PathLike[str]") -> None:
        """Writes the module's state_dict as safetensors, on worker 0 alone. Raises OSError."""
        if self.rank == 0 and self._writes():
            state = self._wrapped().state_dict()
            servers = self._servers_buffers()
            _safetensors.write(path, {name: _safetensors.plain(servers.get(name, value))
                                      for name, value in state.items()})

    def load(self, path: "str | os.PathLike[str]") -> None:
        """Reads what save() wrote into the module, before the first mini-batch; or a run's
        weights.safetensors, with the constants.safetensors beside it.

        The job begins with these weights. Raises OutpaceError if the file does not fit, or if the
        job has begun: it has the server's weights then.
        """
        if self._has_begun():
            raise OutpaceError("load: the job has begun with the server's weights; load before the "
                               "first mini-batch")
        try:
            self._wrapped().load_state_dict(state_of(self._wrapped(), path))
        except RuntimeError as error:
            if isinstance(error, OutpaceError):
                raise
            raise OutpaceError(f"load: {os.fspath(path)} does not fit this network: "
                               + " ".join(str(error).split())) from None

    def _measure_here(self, function: Callable[[], Evaluated]) -> Evaluated:
        found = function()
        when = "" if self.epoch is None else f"epoch {self.epoch}: "
        print(f"outpace: {when}{measured(found).in_words()}", file=sys.stderr)
        return found

    def _servers_buffers(self) -> Dict[str, torch.Tensor]:
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
