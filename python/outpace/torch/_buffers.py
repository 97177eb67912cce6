"""Running statistics of normalisation layers, which travel beside the parameters.

Each worker keeps its own as it trains. With each gradient it pushes their values, and the server
keeps a mean by examples. Evaluator, checkpoints and workers that come get that mean.
"""

from typing import Dict, List, Tuple

import torch

from outpace._error import OutpaceError
from outpace.groups import Group, Method
from outpace.torch._flat import tensor_at

# An update keeps this share of the mean. Under `sync` each update brings every worker's values;
# under `async` one worker's, so that the mean is over the last few.
AVERAGE = Group(Method.AVERAGE, rate=0.0, momentum=0.8)
WAYS = ("average", "own")


def statistics_of(module: torch.nn.Module) -> Dict[str, "tuple[torch.nn.Module, str]"]:
    """By name: the layers whose numbers training changes beside the parameters, and which."""
    found = {}
    for name, layer in module.named_modules():
        if isinstance(layer, torch.nn.modules.batchnorm._NormBase) and layer.track_running_stats:
            for buffer in ("running_mean", "running_var"):
                if getattr(layer, buffer, None) is not None:
                    found[f"{name}.{buffer}" if name else buffer] = (layer, buffer)
    return found


class Buffers:
    """The running statistics of a module, as flat float32 numbers in one order."""

    def __init__(self, module: torch.nn.Module) -> None:
        self._places = statistics_of(module)
        self.shapes: Dict[str, Tuple[int, ...]] = {}
        self.numbers = 0
        for name, tensor in zip(self._places, self._tensors()):
            if tensor.dtype is not torch.float32:
                raise OutpaceError(f"wrap: buffer '{name}' is {str(tensor.dtype).partition('.')[2]}; "
                                   "averaged buffers must be float32 (or pass buffers=\"own\")")
            self.shapes[name] = tuple(tensor.shape)
            self.numbers += tensor.numel()
        self._averaged = self.values()

    def values(self) -> torch.Tensor:
        """This process's own, as one tensor on the CPU."""
        if not self._places:
            return torch.empty(0)
        with torch.no_grad():
            return torch.cat([one.reshape(-1).cpu() for one in self._tensors()])

    def write(self, address: int) -> None:
        """Writes this process's own there."""
        if self.numbers > 0:
            tensor_at(address, self.numbers).copy_(self.values())

    def remember(self, address: int) -> None:
        """The server's mean lies there, until the mini-batch is pushed."""
        if self.numbers > 0:
            self._averaged.copy_(tensor_at(address, self.numbers))

    def use_averaged(self) -> None:
        """This process goes on from the server's mean."""
        with torch.no_grad():
            for tensor, value in zip(self._tensors(), self.averaged().values()):
                tensor.copy_(value)

    def averaged(self) -> Dict[str, torch.Tensor]:
        """The server's mean that was remembered last, by name."""
        found, begin = {}, 0
        for name, shape in self.shapes.items():
            numbers = torch.Size(shape).numel()
            found[name] = self._averaged[begin : begin + numbers].view(shape)
            begin += numbers
        return found

    def _tensors(self) -> List[torch.Tensor]:
        return [getattr(layer, buffer) for layer, buffer in self._places.values()]
