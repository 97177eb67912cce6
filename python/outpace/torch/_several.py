"""Several networks and optimizers of one job, such as those of a GAN.

Their parameters and groups travel together. Each optimizer makes one step at most with each
mini-batch, at its own optimizer.step(). With a server, the gradients of all go with the last one's;
if some make no step, those of the others go when the script asks for its next mini-batch.
"""

from typing import Any, Dict, List, Optional, Sequence, Tuple, Union

import torch

from outpace._error import OutpaceError
from outpace.torch._accumulation import Accumulation, why_no_step


class Several:
    """Optimizers as one that has the groups of all, in order."""

    def __init__(self, optimizers: Sequence[torch.optim.Optimizer]) -> None:
        self.optimizers = list(optimizers)

    @property
    def param_groups(self) -> List[Dict[str, Any]]:
        return [group for one in self.optimizers for group in one.param_groups]


Optimizers = Union[torch.optim.Optimizer, Several]


def optimizers_of(optimizer: Optimizers) -> List[torch.optim.Optimizer]:
    return optimizer.optimizers if isinstance(optimizer, Several) else [optimizer]


def as_one(module: Any, optimizer: Any) -> Tuple[torch.nn.Module, Optimizers]:
    """What wrap() was given, as one network, whose names begin with the module's number if there are
    several, and one optimizer. Raises OutpaceError if it is something else."""
    modules = _list_of(module, torch.nn.Module, "network")
    optimizers = _list_of(optimizer, torch.optim.Optimizer, "optimizer")
    together = modules[0] if len(modules) == 1 else torch.nn.ModuleList(modules)
    if len(optimizers) == 1:
        return together, optimizers[0]
    _check_apart(together, optimizers)
    return together, Several(optimizers)


def _check_apart(module: torch.nn.Module, optimizers: List[torch.optim.Optimizer]) -> None:
    taken: Dict[int, int] = {}  # Which optimizer has it, by the parameter's id.
    for place, optimizer in enumerate(optimizers, 1):
        own = [one for group in optimizer.param_groups for one in group["params"]]
        for parameter in own:
            if taken.setdefault(id(parameter), place) != place:
                name = next((name for name, one in module.named_parameters() if one is parameter),
                            "of no network")
                raise OutpaceError(f"wrap: parameter '{name}' is in optimizers "
                                   f"{taken[id(parameter)]} and {place}; give it to one of them")


def _list_of(given: Any, kind: type, name: str) -> List[Any]:
    found = list(given) if type(given) in (list, tuple) else [given]
    if not found:
        raise OutpaceError(f"wrap: there is no {name}; it takes one, or a list of them")
    for place, one in enumerate(found):
        if not isinstance(one, kind):
            raise OutpaceError(f"wrap: {name} {place + 1} of {len(found)} is a "
                               f"{type(one).__name__}; it takes a {kind.__module__}.{kind.__name__}, "
                               "or a list of them")
        if any(one is other for other in found[:place]):
            raise OutpaceError(f"wrap: {name} {place + 1} of {len(found)} is there twice")
    return found


class Member:
    """One of a job's optimizers, in a mini-batch."""

    def __init__(self, optimizer: torch.optim.Optimizer) -> None:
        self.optimizer = optimizer
        self.passes = Accumulation()  # Since its last zero_grad().
        self.stepped = False

    @property
    def parameters(self) -> List[torch.nn.Parameter]:
        return [one for group in self.optimizer.param_groups for one in group["params"]]


class Passes:
    """The backward passes of a mini-batch, for all optimizers together and for each."""

    def __init__(self, optimizer: Optimizers) -> None:
        self.members = [Member(one) for one in optimizers_of(optimizer)]
        self.all = Accumulation()

    def begin(self, carries: bool = False) -> None:
        """A mini-batch begins. `carries`: an optimizer that made no step with the last one keeps its
        passes."""
        self.all = Accumulation()
        for member in self.members:
            if member.stepped or not carries:
                member.passes = Accumulation()
            member.stepped = False

    def end(self, loss: float, examples: Optional[int], value: Optional[float]) -> None:
        """As Accumulation.end()."""
        self.all.end(loss, examples, value)
        for member in self.members:
            if not member.stepped:
                member.passes.end(loss, examples, value)

    def throw_away(self, member: Member, by_zero_grad: bool = True) -> None:
        """The gradient of an optimizer that has not stepped."""
        member.passes = Accumulation(thrown_away=by_zero_grad and member.passes.passes > 0)
        if not any(one.stepped or one.passes.passes > 0 for one in self.members):
            self.all = Accumulation()

    def check_step(self, member: Member) -> None:
        """Raises OutpaceError if this optimizer cannot make its step now."""
        if member.stepped:
            raise OutpaceError(f"optimizer.step(): {self._name(member)} has made its step with this "
                               "mini-batch; the server makes one step of each optimizer with a "
                               "mini-batch")
        self.check_computed(member)

    def check_computed(self, member: Member) -> None:
        """Raises OutpaceError if it has no gradient."""
        if member.passes.passes == 0:
            raise OutpaceError(why_no_step(member.passes))

    def step(self, member: Member) -> bool:
        """Whether it is the last of the mini-batch's steps."""
        member.stepped = True
        return all(one.stepped for one in self.members)

    def waiting(self) -> List[Member]:
        """Those that make no step with this mini-batch, if others have made theirs."""
        waiting = [one for one in self.members if not one.stepped]
        return waiting if len(waiting) < len(self.members) else []

    def _name(self, member: Member) -> str:
        return f"optimizer {self.members.index(member) + 1} of {len(self.members)}"
