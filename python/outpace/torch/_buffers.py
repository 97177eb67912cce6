"""Buffers that training changes, which travel beside the parameters.

Each worker keeps its own as it trains. With each gradient it pushes their values, and the server
keeps their mean by examples, or the newest. Evaluator, checkpoints and workers that come get what
the server has. What travels is float32, so a buffer of another type is converted: floating-point
numbers are rounded, and whole numbers are exact up to 2^24, beyond which they are refused.
"""

from typing import Dict, Iterator, List, Mapping, NamedTuple, Optional, Tuple

import torch

from outpace._error import OutpaceError
from outpace.groups import Group, Method
from outpace.torch._flat import tensor_at
from outpace.torch._rules import Rule, find, find_averages

# An update keeps this share of the mean. Under `sync` each update brings every worker's values;
# under `async` one worker's, so that the mean is over the last few.
AVERAGE = Group(Method.AVERAGE, rate=0.0, momentum=0.8)
NEWEST = Group(Method.NEWEST, rate=0.0)
WHOLE_MOST = 1 << 24  # float32 has 24 bits of precision.
_WHOLE = (torch.int64, torch.int32)  # Others are in its range.


class Place(NamedTuple):
    """Where a buffer is: a module may put another tensor there."""

    owner: torch.nn.Module
    name: str

    @property
    def tensor(self) -> torch.Tensor:
        return getattr(self.owner, self.name)


class Buffers:
    """The buffers of a module that travel, as flat float32 numbers in one order.

    `averages`: a module that holds the script's own average of the weights, if it has one; all of
    it is newest.
    """

    def __init__(self, module: torch.nn.Module, rules: Mapping[str, Rule],
                 averages: Optional[torch.nn.Module] = None) -> None:
        of_kind = [(name, found) for rule in (Rule.AVERAGE, Rule.NEWEST)
                   for name, found in find(module).items() if rules.get(name) is rule]
        self._places = {name: Place(*found) for name, found in of_kind}
        averaged = [name for name in self._places if rules[name] is Rule.AVERAGE]
        for name, found in find_averages(averages).items():
            self._places[name] = Place(*found)
        self.shapes: Dict[str, Tuple[int, ...]] = {}
        for name, place in self._places.items():
            kind = place.tensor.dtype
            if name in averaged and kind is not torch.float32:
                raise OutpaceError(f"wrap: buffer '{name}' is {str(kind).partition('.')[2]}; "
                                   "averaged buffers must be float32 (or pass buffers="
                                   f"{{\"{name}\": \"newest\"}})")
            if kind.is_complex:
                raise OutpaceError(f"wrap: buffer '{name}' is complex; it cannot be newest, only "
                                   "\"own\"")
            self.shapes[name] = tuple(place.tensor.shape)
        self.numbers = sum(torch.Size(shape).numel() for shape in self.shapes.values())
        self.groups: List[Group] = []
        self.group_of: Dict[str, int] = {}  # Among these.
        for group, names in ((AVERAGE, averaged), (NEWEST, [one for one in self._places
                                                            if one not in averaged])):
            if names:
                self.group_of.update(dict.fromkeys(names, len(self.groups)))
                self.groups.append(group)
        self._of_server = self.values()

    def values(self) -> torch.Tensor:
        """This process's own, as one tensor on the CPU. Raises OutpaceError, with the name of a
        buffer that cannot travel any more."""
        if not self._places:
            return torch.empty(0)
        with torch.no_grad():
            parts = [self._checked(name, place.tensor) for name, place in self._places.items()]
            if len({part.device for part in parts}) > 1:
                parts = [part.cpu() for part in parts]
            return torch.cat(parts).cpu()  # One copy, where they are on one GPU.

    def _checked(self, name: str, tensor: torch.Tensor) -> torch.Tensor:
        if tuple(tensor.shape) != self.shapes[name]:
            raise OutpaceError(f"buffer '{name}' has shape {list(tensor.shape)} now, and had "
                               f"{list(self.shapes[name])} at job.wrap(); write job.wrap(..., "
                               f"buffers={{\"{name}\": \"own\"}}) if it is each worker's own")
        if tensor.dtype in _WHOLE and tensor.numel() > 0 and int(tensor.abs().max()) > WHOLE_MOST:
            raise OutpaceError(f"buffer '{name}' holds whole numbers beyond 2^24, which do not "
                               f"travel exactly; write job.wrap(..., buffers={{\"{name}\": "
                               "\"own\"}) to leave it to each worker")
        return tensor.detach().reshape(-1).to(torch.float32)

    def write(self, address: int) -> None:
        """Writes this process's own there."""
        if self.numbers > 0:
            tensor_at(address, self.numbers).copy_(self.values())

    def remember(self, address: int) -> None:
        """The server's lie there, until the mini-batch is pushed."""
        if self.numbers > 0:
            self._of_server.copy_(tensor_at(address, self.numbers))

    def use_servers(self) -> None:
        """This process goes on from the server's."""
        with torch.no_grad():
            for name, value in self._servers():
                self._places[name].tensor.copy_(value)

    def servers(self) -> Dict[str, torch.Tensor]:
        """The server's that were remembered last, by name, in the buffers' types."""
        return {name: value.to(self._places[name].tensor.dtype) for name, value in self._servers()}

    def _servers(self) -> Iterator[Tuple[str, torch.Tensor]]:
        begin = 0
        for name, shape in self.shapes.items():
            numbers = torch.Size(shape).numel()
            yield name, self._of_server[begin : begin + numbers].view(shape)
            begin += numbers
