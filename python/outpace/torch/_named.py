"""Which of a network's numbers travel between worker and server, by name."""

from typing import Dict, List, Optional, Sequence, Tuple

import torch

from outpace._error import OutpaceError
from outpace.groups import Group, Method
from outpace.torch._buffers import Buffers
from outpace.torch._constants import Constants
from outpace.torch._flat import check_dense, check_trainable, is_trainable
from outpace.torch._optimizers import ByServer, YellowFin, groups_of
from outpace.torch._rules import Given, Rule, rules_of
from outpace.torch._several import Optimizers

FROZEN_MUCH = 1 << 20  # 4 MiB with each gradient.


class Named:
    """What travels: the parameters that the optimizer has, after them the buffers that training
    changes, and once the rest."""

    def __init__(self, module: torch.nn.Module, optimizer: Optimizers, buffers: Given = "average",
                 averages: Optional[torch.nn.Module] = None, local: bool = False) -> None:
        """`local`: the worker makes the steps itself. Then the server has one group, the parameters
        may be of any floating type, on several devices, and frozen ones stay here."""
        names = {id(one): name for name, one in module.named_parameters()}
        self.shapes: Dict[str, Tuple[int, ...]] = {}
        self.parameters: List[torch.nn.Parameter] = []
        self.group_of: Dict[str, int] = {}  # By name.
        # ByServer says nothing of groups to the server, and YellowFin takes all that travels.
        travel = not isinstance(optimizer, (ByServer, YellowFin))
        self.may_be_without = travel  # A gradient may lack some of the parameters.
        for number, group in enumerate(optimizer.param_groups):
            for parameter in group["params"]:
                name = names.get(id(parameter))
                if name is None:
                    raise OutpaceError("wrap: the optimizer has a parameter that the network does "
                                       f"not have, of shape {list(parameter.shape)}; wrap the "
                                       "module that has all of them")
                # A frozen one may be unfrozen later.
                if local and parameter.requires_grad:
                    self._add_local(name, parameter)
                elif not local and (parameter.requires_grad
                                    or (travel and is_trainable(parameter))):
                    self._add(name, parameter, number)
        if not any(one.requires_grad for one in self.parameters):
            raise OutpaceError("wrap: the optimizer has no parameter that needs a gradient")
        for name, one in module.named_modules():
            if getattr(one, "sparse", False) is True:
                raise OutpaceError(f"wrap: module '{name}' gives sparse gradients; make it with "
                                   "sparse=False")
        if averages is not None and not travel:
            raise OutpaceError(f"wrap: averages= does not travel with {type(optimizer).__name__}; "
                               "use another optimizer")
        rules = rules_of(module, buffers, travel)
        self.own_buffers = Rule.OWN in rules.values()
        self.averages = averages
        self.buffers = Buffers(module, rules, averages)
        self.constants = Constants(module, set(map(id, self.parameters)), rules,
                                   frozen_stay=local)
        self.shapes.update(self.buffers.shapes)
        before = 1 if local else len(optimizer.param_groups)
        self.group_of.update({name: before + group
                              for name, group in self.buffers.group_of.items()})

    def groups(self, optimizer: Optimizers) -> List[Group]:
        """The optimizer's, and after them the buffers'. Raises OutpaceError."""
        return groups_of(optimizer) + self.buffers.groups

    def groups_of_outer(self) -> List[Group]:
        """With local steps: the server's own optimizer for the parameters, and after it the buffers';
        none if there are no buffers, and the server's is all."""
        if not self.buffers.groups:
            return []
        return [Group(Method.BY_SERVER, rate=1.0)] + self.buffers.groups

    def _add_local(self, name: str, parameter: torch.nn.Parameter) -> None:
        check_dense(name, parameter)
        if not parameter.dtype.is_floating_point:
            raise OutpaceError(f"wrap: parameter '{name}' is {str(parameter.dtype).partition('.')[2]}; "
                               "parameters must be of a floating type")
        self.shapes[name] = tuple(parameter.shape)
        self.parameters.append(parameter)
        self.group_of[name] = 0

    def _add(self, name: str, parameter: torch.nn.Parameter, group: int) -> None:
        check_trainable(name, parameter)
        if self.parameters and parameter.device != self.parameters[0].device:
            raise OutpaceError(f"wrap: parameter '{name}' is on {parameter.device}, another is on "
                               f"{self.parameters[0].device}; a worker has one device")
        self.shapes[name] = tuple(parameter.shape)
        self.parameters.append(parameter)
        self.group_of[name] = group


def say_frozen(parameters: Sequence[torch.nn.Parameter]) -> None:
    """Tells what frozen parameters cost, if that is much."""
    numbers = sum(one.numel() for one in parameters if not one.requires_grad)
    if numbers > FROZEN_MUCH:
        print(f"outpace: wrap: the optimizer has frozen parameters of {numbers:,} numbers, which "
              "travel with each gradient because they may be unfrozen; leave them out of the "
              "optimizer if they stay frozen", flush=True)
