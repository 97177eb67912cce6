"""A module's parameters and gradients as views of flat float32 buffers."""

import ctypes
import operator
from typing import Dict, Iterable, List, Optional, Sequence, Set, Tuple

import torch

from outpace._error import OutpaceError
from outpace._library import Memory, numbers_at


ADDRESSES_KEPT = 16
_grad_of = operator.attrgetter("grad")


def tensor_at(address: int, numbers: int, memory: Optional[Memory] = None) -> torch.Tensor:
    """A float32 tensor over that memory, which it keeps; or over memory that somebody else keeps."""
    return torch.frombuffer(numbers_at(address, numbers, memory), dtype=torch.float32)


def is_trainable(parameter: torch.Tensor) -> bool:
    """Whether it can be a view of float32 numbers."""
    return parameter.layout is torch.strided and parameter.dtype is torch.float32


def check_dense(name: str, parameter: torch.Tensor) -> None:
    """Raises OutpaceError for a parameter that has no place for each number."""
    if parameter.layout is not torch.strided:
        raise OutpaceError(f"wrap: parameter '{name}' is sparse; only dense parameters travel")


def check_trainable(name: str, parameter: torch.Tensor) -> None:
    """Raises OutpaceError for a parameter that cannot be a view of float32 numbers."""
    check_dense(name, parameter)
    if parameter.dtype is not torch.float32:
        raise OutpaceError(f"wrap: parameter '{name}' is {str(parameter.dtype).partition('.')[2]}; "
                           "parameters must be float32 (autocast computes in other types)")


class Flat:
    """The parameters of one device, in one order, in one buffer; their gradients in another.

    Construction moves the parameters' numbers into the buffer. The buffer of the gradients changes
    with use_gradients(); in between the gradients lie in a buffer of this object.
    """

    def __init__(self, parameters: Sequence[torch.nn.Parameter]) -> None:
        self.parameters = list(parameters)
        self.device = self.parameters[0].device
        self.numbers = sum(one.numel() for one in self.parameters)
        self.weights = torch.empty(self.numbers, device=self.device)
        self._own_gradient = torch.zeros(self.numbers, device=self.device)
        self.gradient = self._own_gradient
        self._gradient_address: Optional[int] = None  # Where the wire's memory lies, if it is there.
        self._own_views = self._views_of(self._own_gradient)
        self._views = self._own_views
        self._weights_address = self.weights.data_ptr()
        # By address; the wire has a few.
        self._gradients_at: Dict[int, Tuple[torch.Tensor, List[torch.Tensor]]] = {}
        with torch.no_grad():
            for parameter, view in zip(self.parameters, self._views_of(self.weights)):
                view.copy_(parameter)
                parameter.data = view
        self._addresses = [one.data_ptr() for one in self.parameters]
        self._index_of = {id(one): index for index, one in enumerate(self.parameters)}
        self._finished: Set[int] = set()  # Indices.
        self._attach()

    def moved(self) -> "int | None":
        """The index of a parameter that is no view of the buffer any more."""
        for index, parameter in enumerate(self.parameters):
            if parameter.data_ptr() != self._addresses[index]:
                return index
        return None

    def set_weights(self, address: int) -> None:
        """Copies the weights at this address into the parameters."""
        if self.device.type == "cpu":
            ctypes.memmove(self._weights_address, address, 4 * self.numbers)
        else:
            self.weights.copy_(tensor_at(address, self.numbers))  # No graph knows the buffer.

    def has_gradients_at(self, address: int) -> bool:
        """Whether they accumulate there already."""
        return self._gradient_address == address

    def use_gradients(self, address: int, memory: Optional[Memory] = None) -> None:
        """Gradients accumulate at this address from now on, from 0. `memory` keeps what lies there."""
        if self.device.type != "cpu":  # They are copied by write_gradients().
            self.clear_gradients()
            return
        found = self._gradients_at.get(address)
        if found is None:
            if len(self._gradients_at) >= ADDRESSES_KEPT:
                self._gradients_at.clear()
            whole = tensor_at(address, self.numbers, memory)
            found = self._gradients_at[address] = (whole, self._views_of(whole))
        self.gradient, self._views = found
        self._gradient_address = address
        self.clear_gradients()

    def write_gradients(self, address: int) -> None:
        """Sees to it that the gradients lie at this address."""
        self.gather()
        if self._gradient_address != address:
            with torch.no_grad():
                tensor_at(address, self.numbers).copy_(self.gradient)

    def release_gradients(self) -> None:
        """The wire's memory may not be touched any more: gradients are 0, in this object's own."""
        self.gradient = self._own_gradient
        self._gradient_address = None
        self._views = self._own_views
        self.clear_gradients()

    def clear_gradients(self) -> None:
        self.gradient.zero_()
        self._finished.clear()
        self._attach()

    def finish(self, parameters: Iterable[torch.nn.Parameter]) -> None:
        """The gradients of these are what they are now: what later passes add is lost."""
        self.gather()
        for index in self._indices_of(parameters):
            self._finished.add(index)
            self.parameters[index].grad = None

    def clear(self, parameters: Iterable[torch.nn.Parameter]) -> None:
        """The gradients of these are 0 again; of a finished one, what was added since is lost."""
        for index in self._indices_of(parameters):
            if index in self._finished:
                self.parameters[index].grad = None
            else:
                self._views[index].zero_()
                self.parameters[index].grad = self._views[index]

    def take(self, parameters: Iterable[torch.nn.Parameter]) -> List[Tuple[int, torch.Tensor]]:
        """What the gradients of these hold, which are 0 afterwards; for put()."""
        self.gather()
        taken = []
        for index in self._indices_of(parameters):
            view = self._views[index]
            if bool(view.any()):
                taken.append((index, view.clone()))
                view.zero_()
        return taken

    def put(self, taken: Iterable[Tuple[int, torch.Tensor]]) -> None:
        """Adds them to the gradients."""
        for index, gradient in taken:
            self._views[index].add_(gradient)

    def places_of(self, parameters: Iterable[torch.nn.Parameter]) -> Set[int]:
        """Their indices."""
        return set(self._indices_of(parameters))

    def frozen(self, parameters: Iterable[torch.nn.Parameter]) -> Set[int]:
        """The indices of those that need no gradient now, and have none."""
        found = [one for one in parameters if not one.requires_grad]
        if not found:
            return set()
        self.gather()
        return {index for index in self._indices_of(found) if not bool(self._views[index].any())}

    def gather(self) -> None:
        """Makes every gradient a view again, with the numbers that it has."""
        if all(map(operator.is_, map(_grad_of, self.parameters), self._views)):
            return
        with torch.no_grad():
            for index, (parameter, view) in enumerate(zip(self.parameters, self._views)):
                found = parameter.grad
                if found is view or index in self._finished:
                    continue
                if found is None:
                    view.zero_()
                else:
                    view.copy_(found.to_dense() if found.is_sparse else found)
                parameter.grad = view

    def _indices_of(self, parameters: Iterable[torch.nn.Parameter]) -> List[int]:
        return [self._index_of[id(one)] for one in parameters if id(one) in self._index_of]

    def _attach(self) -> None:
        for parameter, view in zip(self.parameters, self._views):
            if parameter.grad is not view:
                parameter.grad = view

    def _views_of(self, buffer: torch.Tensor) -> List[torch.Tensor]:
        views, begin = [], 0
        for parameter in self.parameters:
            views.append(buffer[begin : begin + parameter.numel()].view(parameter.shape))
            begin += parameter.numel()
        return views
