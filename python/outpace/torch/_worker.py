"""The loop of a worker: leases, weights and verdicts are the server's."""

import atexit
import math
import operator
import sys
from typing import Any, Callable, Dict, Iterator, List, Optional, Sized, Tuple

import torch

from outpace._error import OutpaceError
from outpace.groups import Group
from outpace.torch._accumulation import Accumulation
from outpace.torch._flat import Flat, check_trainable
from outpace.torch._buffers import AVERAGE, Buffers, statistics_of
from outpace.torch._job import Evaluated, Job
from outpace.torch._large import LargeBatch
from outpace.torch._layers import Marks, is_profiled, mark_layers, marks_for
from outpace.torch._loader import Loader
from outpace.torch._optimizers import (ByServer, YellowFin, count_step, groups_of,
                                       replace_step)
from outpace.worker import Minibatch, Outcome, Verdict, Worker

AHEAD_MOST = 256  # As the server allows.
CANCELLED = Verdict(Outcome.CANCELLED, "given up: nobody waits for it any more")


class _GivenUp(Exception):
    """Ends a backward pass that is cancelled."""


class Leases:
    """What the server leases to this worker, as a batch_sampler."""

    def __init__(self, job: "WorkerJob") -> None:
        self._job = job

    def __iter__(self) -> Iterator[List[int]]:
        while True:
            minibatch = self._job.hand_out()
            if minibatch is None:
                return
            try:
                yield minibatch.indices
            except GeneratorExit:  # The script has left its loop.
                self._job.give_up(minibatch)
                raise


class Named:
    """What travels: the parameters that the optimizer has and that need gradients, and after them,
    with `average`, the running statistics."""

    def __init__(self, module: torch.nn.Module, optimizer: torch.optim.Optimizer,
                 average: bool = True) -> None:
        names = {id(one): name for name, one in module.named_parameters()}
        self.shapes: Dict[str, Tuple[int, ...]] = {}
        self.parameters: List[torch.nn.Parameter] = []
        self.group_of: Dict[str, int] = {}  # By name.
        for number, group in enumerate(optimizer.param_groups):
            for parameter in group["params"]:
                name = names.get(id(parameter))
                if name is None:
                    raise OutpaceError("wrap: the optimizer has a parameter that the network does "
                                       f"not have, of shape {list(parameter.shape)}; wrap the "
                                       "module that has all of them")
                if parameter.requires_grad:
                    self._add(name, parameter, number)
        if not self.parameters:
            raise OutpaceError("wrap: the optimizer has no parameter that needs a gradient")
        for name, one in module.named_modules():
            if getattr(one, "sparse", False) is True:
                raise OutpaceError(f"wrap: module '{name}' gives sparse gradients; make it with "
                                   "sparse=False")
        # ByServer says nothing of groups to the server, and YellowFin takes all that travels.
        average = average and not isinstance(optimizer, (ByServer, YellowFin))
        self.own_statistics = not average and bool(statistics_of(module))
        self.buffers = Buffers(module if average else torch.nn.Module())
        self.shapes.update(self.buffers.shapes)
        self.group_of.update(dict.fromkeys(self.buffers.shapes, len(optimizer.param_groups)))

    def groups(self, optimizer: torch.optim.Optimizer) -> List[Group]:
        """The optimizer's, and one of the buffers if there are any. Raises OutpaceError."""
        return groups_of(optimizer) + ([AVERAGE] if self.buffers.shapes else [])

    def _add(self, name: str, parameter: torch.nn.Parameter, group: int) -> None:
        check_trainable(name, parameter)
        if self.parameters and parameter.device != self.parameters[0].device:
            raise OutpaceError(f"wrap: parameter '{name}' is on {parameter.device}, another is on "
                               f"{self.parameters[0].device}; a worker has one device")
        self.shapes[name] = tuple(parameter.shape)
        self.parameters.append(parameter)
        self.group_of[name] = group


class WorkerJob(Job):
    """A worker's part in a job."""

    def __init__(self, worker: Worker) -> None:
        super().__init__()
        self.rank = worker.rank
        self.worker = worker
        self._named: Optional[Named] = None
        self._large = LargeBatch(1, False)
        self._flat: Optional[Flat] = None
        self._examples: Optional[int] = None  # Of the data set.
        self._ahead = 0  # Mini-batches that the loader loads early.
        self._epochs = 0  # That the script wants; 0: it has not said.
        self._joined_with: Optional[List[Group]] = None
        self._rates: Optional[Tuple[Optional[int], List[float]]] = None  # The epoch's.
        self._checked: Optional[Tuple[Optional[int], List[Any]]] = None  # Settings.
        self._settings_of: Callable[[Dict[str, Any]], Any] = _no_settings
        self._handed_out = False  # The current mini-batch, to the script.
        self._begun = False  # It has had a mini-batch.
        self._over = False
        self._asked = False  # For an evaluator.
        self._worked_in: Optional[int] = None  # The epoch of the last mini-batch.
        self._in_backward = False
        self._accumulation = Accumulation()
        self._marks: Optional[Marks] = None  # Of a script that is profiled.
        self._version = 0
        atexit.register(self._end)

    # ---- What the script calls ----------------------------------------------------------------

    @property
    def version(self) -> int:
        return self._version

    def _take(self, module: torch.nn.Module, optimizer: torch.optim.Optimizer,
              average: bool) -> None:
        groups_of(optimizer)  # Refuses one that the server does not have.
        self._large = LargeBatch.of_environment(self._scale_rate, optimizer)
        self._named = Named(module, optimizer, average)
        self._flat = Flat(self._named.parameters)
        options = [name for name in optimizer.param_groups[0] if name != "params"]
        if options:
            self._settings_of = operator.itemgetter(*options)
        for parameter in self._named.parameters:
            parameter.register_hook(self._poll)
        if is_profiled():
            numbers = sum(map(math.prod, self._named.shapes.values()))
            self._marks = marks_for(self._flat.device, self.worker.mark)
            mark_layers(module, self._named.parameters, numbers, self._marks)
        module.zero_grad = optimizer.zero_grad = self._zero_grad  # type: ignore[method-assign]

        def step(closure: Optional[Callable[[], Any]] = None) -> None:
            self._step(closure)
            count_step(optimizer)

        replace_step(optimizer, step)
        optimizer.add_param_group = _refuse_group  # type: ignore[method-assign]
        count_step(optimizer)  # A worker that comes late makes none in the epochs that are over.

    def sampler(self, dataset: Sized, batch_size: Optional[int] = None) -> Any:
        examples = len(dataset)
        if self._examples not in (None, examples):
            raise OutpaceError(f"sampler: a data set of {examples} examples, after one of "
                               f"{self._examples}; a job trains on one data set")
        self._examples = examples
        return Leases(self)

    def loader(self, dataset: Sized, *, batch_size: Optional[int] = None, **options: Any) -> Any:
        self.sampler(dataset)
        loader = Loader(self.hand_out, self.give_up, dataset, options)
        self._ahead = loader.ahead
        return loader

    def epochs(self, number: int) -> Iterator[int]:
        if number < 1:
            raise OutpaceError(f"epochs({number}): it takes 1 or more")
        if self._joined_with is not None:
            raise OutpaceError("epochs: the job has begun; call it before the first mini-batch")
        self._epochs = number
        for self.epoch in range(number):
            yield self.epoch
            if self._over:
                return
        self._leave()

    def backward(self, loss: torch.Tensor, *, examples: Optional[int] = None,
                 value: Optional[float] = None, parts: bool = False, **options: Any) -> bool:
        flat, minibatch = self._flat, self.worker.minibatch
        if flat is None or minibatch is None or not self._handed_out:
            raise OutpaceError("backward: there is no mini-batch; iterate over job.loader(dataset), or "
                               "over a DataLoader whose batch_sampler is job.sampler(dataset)")
        if parts and examples is None:
            raise OutpaceError("backward: parts=True needs examples=N, to say what was done")
        scaled, factor = self._accumulation.begin(loss, examples)
        if self.worker.cancelled and not parts:
            return self._cancel()
        if factor != 1.0:
            flat.gather()
            flat.gradient.mul_(factor)
        self._in_backward = not parts
        try:
            scaled.backward(**options)
        except _GivenUp:
            return self._cancel()
        finally:
            self._in_backward = False
        self._accumulation.end(float(loss.detach()) if value is None else value)
        if self._accumulation.examples > len(minibatch):
            raise OutpaceError(f"backward: {self._accumulation.examples} examples, but the "
                               f"mini-batch has {len(minibatch)}")
        if parts and self._accumulation.examples < len(minibatch) and self.worker.cancelled:
            self._push_part()
            return False
        return True

    def evaluate(self, function: Callable[[], Evaluated]) -> Optional[Evaluated]:
        self._wrapped()
        assert self._named is not None
        if self._named.own_statistics:
            mine = self.rank == 0 and self._worked_in == self.epoch
            return self._measure_here(function) if mine else None
        if not self._asked and self._begun and not is_profiled():
            self._asked = True
            self._ask_for_evaluator()
        return None

    # ---- What the sampler and the optimizer call ----------------------------------------------

    def hand_out(self) -> Optional[Minibatch]:
        """The mini-batch that the script computes next; None at the end of the epoch or run."""
        if self._joined_with is None:
            self._join()
        minibatch = self.worker.minibatch
        if minibatch is not None and self._handed_out:
            if self._accumulation.passes == 0:
                raise OutpaceError(
                    "sampler: the next mini-batch is wanted before job.backward() of this one. A "
                    "DataLoader with num_workers above 0 does that; use job.loader(dataset, "
                    "num_workers=N). To skip a mini-batch, call job.skip()")
            minibatch = None  # The script made no step, as a GradScaler does.
        if minibatch is None and not self._over:
            minibatch = self._advance()
        if minibatch is None or (self.epoch is not None and minibatch.epoch > self.epoch):
            return None
        self._handed_out = True
        self._worked_in = self.epoch
        return minibatch

    def skip(self) -> None:
        """Gives the current mini-batch back: others compute it."""
        if self.worker.minibatch is not None:
            self.give_up(self.worker.minibatch)

    def give_up(self, minibatch: Minibatch) -> None:
        """Gives this mini-batch back, unless it was pushed."""
        if minibatch.current:
            assert self._flat is not None
            self._flat.release_gradients()
            self.worker.abandon()

    def _step(self, closure: Optional[Callable[[], Any]] = None) -> None:
        flat, named, worker = self._flat, self._named, self.worker
        assert flat is not None and named is not None
        if closure is not None:
            raise OutpaceError("optimizer.step(closure): the server makes the steps; call "
                               "job.backward(loss), then optimizer.step()")
        if worker.minibatch is None or self._accumulation.passes == 0:
            raise OutpaceError("optimizer.step() without job.backward(loss) before it")
        given, wanted = self._accumulation.examples, len(worker.minibatch)
        if given not in (0, wanted):
            raise OutpaceError(f"optimizer.step() after backward() of {given} examples; the "
                               f"mini-batch has {wanted}")
        self._check_settings()
        flat.write_gradients(worker.gradient_address())
        named.buffers.write(worker.gradient_address() + 4 * flat.numbers)
        if self._marks is not None:
            self._marks.computed()
        try:
            self.verdict, minibatch = worker.push_and_next(self._accumulation.loss,
                                                           self._prepare_gradients)
        except BaseException:
            flat.release_gradients()
            raise
        self._begin(minibatch, prepared=not worker.void_memory)

    def _prepare_gradients(self) -> None:
        """While the server answers."""
        assert self._flat is not None
        self._flat.use_gradients(self.worker.gradient_address())

    def _zero_grad(self, set_to_none: bool = False) -> None:
        assert self._flat is not None
        self._flat.gather()
        self._flat.clear_gradients()
        self._accumulation = Accumulation()

    def _poll(self, _gradient: torch.Tensor) -> None:
        if self._in_backward and self.worker.cancelled:
            raise _GivenUp

    # ---- Between the two ----------------------------------------------------------------------

    def _join(self) -> None:
        self._wrapped()
        named, flat, optimizer = self._named, self._flat, self._optimizer
        assert named is not None and flat is not None and optimizer is not None
        self._check_parameters()
        groups = self._groups(0)

        def initial() -> torch.Tensor:
            return torch.cat([flat.weights.cpu(), named.buffers.values()])

        self.worker.join(named.shapes, initial, self._examples or 0,
                         groups=groups, group_of=named.group_of, epochs=self._epochs,
                         ahead=min(self._ahead, AHEAD_MOST))
        self._joined_with = groups
        self._rates = (0, [group.rate for group in groups])

    def _advance(self) -> Optional[Minibatch]:
        """Waits for the next mini-batch, and for the weights that belong to it."""
        assert self._flat is not None
        self._flat.release_gradients()
        return self._begin(self.worker.next())

    def _begin(self, minibatch: Optional[Minibatch],
               prepared: bool = False) -> Optional[Minibatch]:
        """Takes over its weights; None: the run is over. `prepared`: its gradients are 0 already."""
        flat, named = self._flat, self._named
        assert flat is not None and named is not None
        self._accumulation = Accumulation()
        self._handed_out = False
        if minibatch is None:
            self._over = True
            flat.release_gradients()
            if not self._begun:
                print(f"outpace: worker {self.rank} came when the run was over: it has computed "
                      "nothing, and its network has not the run's weights", file=sys.stderr)
            return None
        self._version = minibatch.version
        if self._marks is not None:
            self._marks.taken()
        flat.set_weights(minibatch.address)
        named.buffers.remember(minibatch.address + 4 * flat.numbers)
        if not self._begun:
            self._begun = True
            if self.rank == 0 and self._joined_with and self._examples is not None:
                self._large.say(len(minibatch), self._examples)
            named.buffers.use_averaged()
        address = self.worker.gradient_address()
        if not prepared or not flat.has_gradients_at(address):
            flat.use_gradients(address)
        return minibatch

    def _ask_for_evaluator(self) -> None:
        try:
            self.worker.ask_for_evaluator()
        except OutpaceError as error:
            if not self._over:
                raise
            print(f"outpace: worker {self.rank}: evaluate: no evaluator was started for the last "
                  f"weights: {error}", file=sys.stderr)

    def _push_part(self) -> None:
        """Pushes the mean over the first examples, and takes the next mini-batch."""
        flat, named, worker = self._flat, self._named, self.worker
        assert flat is not None and named is not None
        self._check_settings()
        flat.write_gradients(worker.gradient_address())
        named.buffers.write(worker.gradient_address() + 4 * flat.numbers)
        if self._marks is not None:
            self._marks.computed()
        try:
            self.verdict = worker.push(self._accumulation.loss, part=self._accumulation.examples)
        finally:
            flat.release_gradients()
        self._advance()

    def _cancel(self) -> bool:
        self.verdict = CANCELLED
        self.skip()
        self._advance()
        return False

    def _check_parameters(self) -> None:
        """Raises OutpaceError if the script has changed the network since wrap()."""
        named, flat = self._named, self._flat
        assert named is not None and flat is not None and self._module is not None
        known = set(map(id, named.parameters))
        trained = set(map(id, self._trained()))
        for name, parameter in self._module.named_parameters():
            if id(parameter) in trained and id(parameter) not in known and parameter.requires_grad:
                raise OutpaceError(f"parameter '{name}' needs a gradient since wrap(); change the "
                                   "network before")
        moved = flat.moved()
        if moved is not None:
            raise OutpaceError(f"parameter '{list(named.shapes)[moved]}' was moved or replaced "
                               "after wrap(); do that before")

    def _check_settings(self) -> None:
        """Tells the server the epoch's rates. Raises OutpaceError if the script's optimizer has
        come to differ from the server's."""
        assert self._optimizer is not None and self._joined_with is not None
        settings = list(map(self._settings_of, self._optimizer.param_groups))
        if self._checked == (self.epoch, settings):
            return
        self._check_new_settings()
        self._checked = (self.epoch, settings)

    def _check_new_settings(self) -> None:
        assert self._named is not None and self._optimizer is not None
        assert self._joined_with is not None
        groups = self._groups(self.epoch)
        rates = [group.rate for group in groups]
        same = [group._replace(rate=0.0) for group in groups]
        if same != [group._replace(rate=0.0) for group in self._joined_with]:
            raise OutpaceError("optimizer.step(): options of the optimizer were changed after "
                               "wrap(); only the learning rate can change")
        if self._rates == (self.epoch, rates) or not groups:
            return
        before = self._rates
        if before is not None and rates != before[1]:
            if self.epoch is None or before[0] == self.epoch:
                raise OutpaceError(
                    "optimizer.step(): the learning rate was changed within an epoch; the server "
                    "takes one rate for each epoch of job.epochs(). Step the schedule at its end. "
                    "For one that changes with each update (OneCycleLR, a cosine by steps, a "
                    "warm-up), give the optimizer to the server: op.ByServer(net.parameters()), "
                    "with --optimizer momentum --lr 0.1 --schedule cosine:over=E,warmup=E, in "
                    "examples")
        if self.epoch is not None:
            self._check_parameters()
            self.worker.set_rates(self.epoch, rates)
        self._rates = (self.epoch, rates)

    def _groups(self, epoch: Optional[int]) -> List[Group]:
        """The optimizer's in this epoch, and the buffers'."""
        assert self._named is not None and self._optimizer is not None
        factor = self._large.factor(epoch, self._epochs)
        return [group._replace(rate=factor * group.rate)
                for group in self._named.groups(self._optimizer)]

    def _averaged(self) -> Dict[str, torch.Tensor]:
        return self._named.buffers.averaged() if self._named is not None and self._begun else {}

    def _has_begun(self) -> bool:
        return self._joined_with is not None

    def _writes(self) -> bool:
        if is_profiled():
            print("outpace: save: nothing is written while `outpace profile` measures the script")
            return False
        if self._over and not self._begun:
            print("outpace: save: nothing is written, because this worker never had the run's "
                  "weights; they are in weights.safetensors in the run's folder", file=sys.stderr)
            return False
        return True

    def _leave(self) -> None:
        if not self._over:
            self._over = True
            assert self._flat is not None
            self._flat.release_gradients()
            self.worker.leave()

    def _end(self) -> None:
        """Leaves in order, unless an exception ends the script: then the worker counts as dead."""
        if not hasattr(sys, "last_type") and self._joined_with is not None:
            try:
                self._leave()
            except OutpaceError:
                pass  # The connection is gone, which says the same.
        self.worker.close()


def _no_settings(_group: Dict[str, Any]) -> Any:
    return None


def _refuse_group(_group: Any) -> None:
    raise OutpaceError("optimizer.add_param_group() after wrap(); add all parameters before")
