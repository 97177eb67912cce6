"""The steps of a worker that makes many by itself between two pushes.

A lease holds several mini-batches: a phase. The script's own optimizer makes a step with each, and
what these steps have changed is pushed in place of a gradient: Douillard et al., "DiLoCo:
Distributed Low-Communication Training of Language Models", 2023. The loop is PyTorch's plain one:
only the last step of a phase talks to the server.
"""

import sys
from typing import Any, Callable, Dict, List, Optional, Sequence, Union

import torch

from outpace._error import OutpaceError
from outpace.torch._ahead import StepsAhead
from outpace.torch._kept import KeptState
from outpace.torch._named import Named
from outpace.torch._optimizers import count_step, refuse_group, refuse_servers_own, replace_step
from outpace.torch._several import Member, Optimizers, optimizers_of
from outpace.torch._steps import AHEAD_MOST, CANCELLED, Leased, Steps
from outpace.torch._weights import Weights
from outpace.worker import Minibatch, Outcome, Verdict

NO_LOADER = ("optimizer.step(): this worker has no mini-batch: iterate over job.loader(dataset), or say "
             "job.wrap(..., examples=N) of data of the script's own")


class Part:
    """A local step's mini-batch, as a Minibatch."""

    def __init__(self, phase: "LocalSteps", indices: List[int], version: int, epoch: int) -> None:
        self._phase = phase
        self.indices = indices
        self.ahead: List[List[int]] = []
        self.version = version
        self.epoch = epoch

    def __len__(self) -> int:
        return len(self.indices)

    @property
    def current(self) -> bool:
        """Whether the script computes it now."""
        return self._phase.computes(self)


def _parts_of(phase: "LocalSteps", lease: Union[Minibatch, StepsAhead], ahead: int) -> List[Part]:
    """`ahead`: how many of the next ones each part tells, of this lease and then the next ones."""
    parts: List[Part] = []
    begin = 0
    for size, epoch in lease.steps:
        parts.append(Part(phase, lease.indices[begin : begin + size], lease.version, epoch))
        begin += size
    if ahead > 0:
        batch = lease.steps[0][0]
        listed = [part.indices for part in parts]
        listed += [one[first : first + batch] for one in lease.ahead
                   for first in range(0, len(one), batch)]
        for place, part in enumerate(parts):
            part.ahead = listed[place + 1 : place + 1 + ahead]
    return parts


class LocalSteps(Steps):
    """Counts the steps of the script's optimizers, and pushes what they have changed."""

    def __init__(self, job: Leased, module: torch.nn.Module, optimizer: Optimizers, named: Named,
                 steps: int, goes_ahead: bool) -> None:
        for one in optimizers_of(optimizer):
            refuse_servers_own(one)
        self._job = job
        self._worker = job.worker
        self._module = module
        self.named = named
        self._steps_of_phase = steps
        self._ahead = 0  # Mini-batches that the loader loads early.
        self._goes_ahead = goes_ahead
        self._travelling: Optional[StepsAhead] = None  # Made while a push and weights travel.
        self._optimizer = optimizer
        self._weights = Weights(named.parameters)
        self._members = [Member(one) for one in optimizers_of(optimizer)]
        self._kept = KeptState.of_environment(job.worker.rank)
        self._also_kept: List[Any] = []
        self._begin_own: Optional[Callable[[], None]] = None  # Joins, for data of the script's own.
        self._has_own = False
        self._lease: Optional[Minibatch] = None
        self._parts: List[Part] = []
        self._given = 0  # Parts of them that the script has had,
        self._counted = 0  # and those whose examples the worker has counted.
        self._made = 0  # Steps of this phase.
        self._stepped = False  # Since the last part.
        self._slices_left = 0
        self._losses: List[Any] = []  # Of this phase's steps: numbers, or tensors not waited for.
        self._passes: List[Any] = []  # The losses of the next step's passes,
        self._values: List[float] = []  # or what the script says in their place.
        self._by_job = False  # The script has job.backward(loss): then a step leaves no gradient behind.
        for member in self._members:
            self._watch(member)

    def _watch(self, member: Member) -> None:
        optimizer = member.optimizer
        own_step = optimizer.step

        def step(*arguments: Any, **options: Any) -> Any:
            if not self._may_step(member):
                return None
            result = own_step(*arguments, **options)
            count_step(optimizer)
            self._forget(member)
            self._after_step(member)
            return result

        replace_step(optimizer, step)
        optimizer.add_param_group = refuse_group  # type: ignore[method-assign]
        count_step(optimizer)  # A worker that comes late makes none in the epochs that are over.

    def take_data_of_script(self, networks: Sequence[torch.nn.Module],
                            begin: Callable[[], None]) -> None:
        """The data are the script's own: their examples are counted by --batch, and not leased. The
        first forward pass of a network calls `begin`, which joins."""
        self._begin_own = begin
        handles: List[Any] = []

        def first(_module: torch.nn.Module, _arguments: Any) -> None:
            while handles:
                handles.pop().remove()
            self._join_own()

        handles.extend(one.register_forward_pre_hook(first) for one in networks)

    def _join_own(self) -> None:
        begin, self._begin_own = self._begin_own, None
        if begin is not None and self._lease is None and not self.let_go:
            begin()
            self._has_own = True

    # ---- The join, and weights that come ------------------------------------------------------

    def check_network(self) -> None:
        known = set(map(id, self.named.parameters))
        if any(one.requires_grad and id(one) not in known
               for group in self._optimizer.param_groups for one in group["params"]):
            raise OutpaceError("a parameter needs a gradient since job.wrap(), and would not travel; "
                               "unfreeze it before")
        now = dict(self._module.named_parameters())
        for name, parameter in zip(self.named.shapes, self.named.parameters):
            if now.get(name) is not parameter or tuple(parameter.shape) != self.named.shapes[name]:
                raise OutpaceError(f"parameter '{name}' was replaced after job.wrap(), or has another "
                                   "shape; do that before")

    def initial(self) -> torch.Tensor:
        return torch.cat([self._weights.flat(), self.named.buffers.values()])

    def offer(self, epochs: int, ahead: int) -> Dict[str, Any]:
        self._ahead = ahead
        phases = max(-(-ahead // self._steps_of_phase), 1 if self._goes_ahead else 0)
        return {"groups": self.named.groups_of_outer(), "group_of": self.named.group_of,
                "local_steps": self._steps_of_phase,
                "ahead": min(phases, AHEAD_MOST)}

    def begin(self, minibatch: Optional[Minibatch], goes_on: Optional[StepsAhead] = None,
              **how: Any) -> None:
        """`goes_on`: with the steps that were made ahead, which are of this mini-batch."""
        made = 0 if goes_on is None else self._given
        self._given = self._counted = 0
        self._lease = minibatch
        self._parts = [] if minibatch is None else _parts_of(self, minibatch, self._ahead)
        if goes_on is None:
            self._made = 0
            self._losses.clear()
        if minibatch is None:
            self.let_go = True
            return
        if goes_on is None:
            self._weights.set(minibatch.address)
        else:
            self._weights.move(goes_on.at_push, minibatch.address)
            self._given = made
            self._count_given()
        self.named.buffers.remember(minibatch.address + 4 * self._weights.numbers)

    def say_first(self, minibatch: Minibatch, examples: Optional[int], alone: Optional[int]) -> None:
        if minibatch.version == 0:
            return
        kept = self._kept.read(self._states()) if self._kept is not None else None
        if kept is not None:
            print(f"outpace: worker {self._worker.rank} joins at update {minibatch.version}: its local "
                  f"steps go on with the state that it had at update {kept}", file=sys.stderr)
        elif any(_remembers(one.optimizer) for one in self._members):
            print(f"outpace: worker {self._worker.rank} joins at update {minibatch.version}: the "
                  "optimizer of its local steps begins anew, with nothing of earlier steps",
                  file=sys.stderr)

    def keep(self, things: Sequence[Any]) -> None:
        self._also_kept.extend(things)

    def _states(self) -> List[Any]:
        return [*(one.optimizer for one in self._members), *self._also_kept]

    def pending(self) -> Optional[Part]:  # type: ignore[override]
        if self._stepped:
            self._count_parts()  # The other optimizers make no step with it.
        if self._parts and self._given == len(self._parts):
            self._end_phase()  # Gradients of its last passes go on into the next one.
        return self._parts[self._given] if self._given < len(self._parts) else None

    def handed_out(self) -> None:
        self._given += 1
        self.let_go = self._stepped = False
        for member in self._members:
            member.stepped = False

    def computes(self, part: Part) -> bool:
        """Whether it is the one that the script was given last, and makes no step with yet."""
        return (self._given > 0 and self._parts[self._given - 1 : self._given] == [part]
                and self._counted < self._given)

    def begin_slice(self, left: int) -> None:
        self._slices_left = left

    def count_updates(self) -> None:
        pass  # The script's own optimizer has its rates.

    def end_update(self) -> None:
        pass

    def backward(self, loss: torch.Tensor, examples: Optional[int], value: Optional[float],
                 parts: bool, **options: Any) -> bool:
        if self.let_go:
            return False
        if loss.numel() != 1:
            raise OutpaceError(f"backward: the loss has shape {list(loss.shape)}; it must be a "
                               "scalar: write reduction=\"mean\", or loss.mean()")
        loss.backward(**options)
        self._by_job = True
        if value is None:
            self._passes.append(loss.detach())
        else:
            self._values.append(value)
        return self._slices_left == 0

    def give_back(self, minibatch: Minibatch) -> None:
        """It comes again, when the script takes up its loop."""
        if minibatch.current:
            self._given -= 1

    def drop(self, minibatch: Minibatch, tell: Callable[[], None]) -> None:
        """Its examples count as used: they are in the middle of a lease."""

    # ---- Steps and pushes ---------------------------------------------------------------------

    def _may_step(self, member: Member) -> bool:
        """Raises OutpaceError if a step now would be of no mini-batch."""
        if self.let_go:
            return False
        if self._begin_own is not None:
            self._join_own()  # Without a forward pass of the networks themselves.
        if self._lease is None:
            if self._has_own:
                return False
            raise OutpaceError(NO_LOADER)
        if self._has_own and (member.stepped or not self._stepped):
            if self.pending() is None:
                return False  # The run is over.
            self.handed_out()
        if self._given == self._counted or member.stepped:
            raise OutpaceError("optimizer.step(): this optimizer has made its step with this "
                               "mini-batch, and the next step takes the next mini-batch of "
                               "job.loader(): to accumulate, call backward() several times before "
                               "one step")
        if self._slices_left > 0:
            raise OutpaceError("optimizer.step() before the last slice of the mini-batch: "
                               f"{self._slices_left} of them are to come. Write: if "
                               "job.backward(loss / K): optimizer.step()")
        return True

    def _forget(self, member: Member) -> None:
        """As without local steps, where zero_grad() is not needed. A plain loop has its own."""
        if self._by_job:
            for parameter in member.parameters:
                parameter.grad = None

    def _after_step(self, member: Member) -> None:
        member.stepped = self._stepped = True
        if all(one.stepped for one in self._members):
            for one in self._members:
                self._forget(one)  # What passes added to the first after its step.
            self._count_parts()
            if self._travelling is not None:
                self._take_up(waits=self._given == len(self._parts))
            elif self._given == len(self._parts) or self._worker.cancelled:
                self._end_phase()

    def _count_parts(self) -> None:
        """A step was made with what the script has been given: tells the worker so."""
        self._stepped = False
        self._made += 1
        if self._values:
            self._losses.append(sum(self._values) / len(self._values))
        elif self._passes:
            self._losses.append(sum(self._passes))
        self._values.clear()
        self._passes.clear()
        self._count_given()

    def _count_given(self) -> None:
        if self._travelling is None:  # Else the worker has no phase yet that they could be of.
            for part in self._parts[self._counted : self._given]:
                self._worker.stepped(len(part))
        self._counted = self._given

    def _end_phase(self) -> None:
        """Pushes what the steps have changed, and takes the next phase."""
        if self._travelling is not None:
            self._take_up(waits=True)
            return
        if self._goes_ahead and self._made > 0 and self._begin_ahead():
            return
        self._hand_in()
        self.let_go = False
        self._job.advance()

    def _begin_ahead(self) -> bool:
        """Pushes, and goes on with what the next phase will be; False where it cannot."""
        lease = self._lease
        assert lease is not None
        if self._worker.slowed or self._worker.cancelled or not StepsAhead.can_begin(lease):
            return False
        self._count_given()
        self._write_push()
        ahead = StepsAhead(self._weights.flat(), lease)
        self._worker.start_push_steps(self._mean_loss())
        self._travelling = ahead
        self._parts = _parts_of(self, ahead, self._ahead)
        self._given = self._counted = self._made = 0
        self._losses.clear()
        self.let_go = False
        return True

    def _take_up(self, waits: bool) -> None:
        """The next phase, if its weights are there."""
        found = self._worker.await_next(waits)
        if found is None:
            return
        ahead, self._travelling = self._travelling, None
        assert ahead is not None
        verdict, minibatch = found
        self._hear(verdict, ahead.version)
        fits = verdict.outcome is not Outcome.REFUSED and ahead.fits(minibatch, self._given)
        self._job.begin(minibatch, goes_on=ahead if fits and self._given > 0 else None)

    def _hand_in(self) -> None:
        if self._made == 0:  # A GradScaler made none: others try.
            self._worker.abandon_failed()
            return
        self._count_given()
        if self._worker.cancelled and not self._worker.wants_part:
            self._worker.abandon()
            self._job.verdict = CANCELLED
            return
        assert self._lease is not None
        self._write_push()
        self._hear(self._worker.push_steps(self._mean_loss()), self._lease.version)

    def _write_push(self) -> None:
        assert self._lease is not None
        self.check_network()
        self.named.constants.check_unchanged()
        address = self._worker.gradient_address()
        self._weights.write_difference(self._lease.address, address)
        self.named.buffers.write(address + 4 * self._weights.numbers)

    def _hear(self, verdict: Verdict, version: int) -> None:
        self._job.verdict = verdict
        if verdict.outcome is Outcome.REFUSED:
            self._begin_anew(verdict.why)
        elif self._kept is not None:
            self._kept.write(version, self._states())

    def _mean_loss(self) -> Optional[float]:
        """By job.backward() alone; PyTorch's own says none."""
        if not self._losses:
            return None
        return sum(map(float, self._losses)) / len(self._losses)

    def _begin_anew(self, why: str) -> None:
        """What the optimizers remember of steps that were not finite would carry that on."""
        for member in self._members:
            member.optimizer.state.clear()
        print(f"outpace: worker {self._worker.rank}: its local steps were turned away ({why}); their "
              "optimizer begins anew", file=sys.stderr)

    def _take_up_last(self) -> None:
        """What was pushed is heard of, and what was made ahead can be handed in."""
        try:
            self._take_up(waits=True)
        except OutpaceError:
            self._travelling = None  # The connection is gone, and with it what was made ahead.

    def leave(self) -> None:
        """Hands in what this worker has done."""
        self._goes_ahead = False
        if self._travelling is not None:
            self._take_up_last()
        if self._lease is not None and self._lease.current and self._made > 0:
            try:
                self._hand_in()
            except OutpaceError as error:
                print(f"outpace: worker {self._worker.rank} leaves without its last local steps: "
                      f"{error}", file=sys.stderr)
        self._lease = None
        self.let_go = True


def _remembers(optimizer: torch.optim.Optimizer) -> bool:
    """Whether it keeps anything from step to step; one of the script's own may."""
    return type(optimizer) is not torch.optim.SGD or any(
        group["momentum"] != 0 for group in optimizer.param_groups)
