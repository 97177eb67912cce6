"""A network's parameters, as flat float32 numbers elsewhere: of any floating type, on any device."""

from typing import List, Sequence

import torch

from outpace.torch._flat import tensor_at


class Weights:
    """The parameters in one order. Nothing of the network is replaced."""

    def __init__(self, parameters: Sequence[torch.nn.Parameter]) -> None:
        self._parameters = list(parameters)
        self._sizes = [one.numel() for one in parameters]
        self.numbers = sum(self._sizes)

    def flat(self) -> torch.Tensor:
        """All numbers, on the CPU."""
        with torch.no_grad():
            return torch.cat([one.detach().reshape(-1).to("cpu", torch.float32)
                              for one in self._parameters])

    def set(self, address: int) -> None:
        """Copies what lies at this address into the parameters."""
        with torch.no_grad():
            for parameter, came in zip(self._parameters, self._at(address)):
                parameter.copy_(came.view(parameter.shape))

    def move(self, from_: torch.Tensor, address: int) -> None:
        """Adds to the parameters how the numbers at this address differ from `from_`."""
        with torch.no_grad():
            for parameter, began, came in zip(self._parameters, from_.split(self._sizes),
                                              self._at(address)):
                by = (came - began).view(parameter.shape)
                parameter.add_(by.to(parameter.device, parameter.dtype))

    def write_difference(self, released: int, address: int) -> None:
        """Writes there what the parameters had after set(released), less what they have.

        In a narrower type they began with the released numbers rounded: that is no step.
        """
        with torch.no_grad():
            for parameter, began, out in zip(self._parameters, self._at(released),
                                             self._at(address)):
                here = parameter.detach().reshape(-1).to("cpu", torch.float32)
                if parameter.dtype is not torch.float32:
                    began = began.to(parameter.dtype).to(torch.float32)
                torch.sub(began, here, out=out)

    def _at(self, address: int) -> List[torch.Tensor]:
        return list(tensor_at(address, self.numbers).split(self._sizes))
