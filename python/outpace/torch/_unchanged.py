"""What a script may not do to weights that are the server's."""

import ctypes
from typing import Iterable

import torch

from outpace._error import OutpaceError
from outpace.torch._flat import Flat, tensor_at
from outpace.torch._named import Named

_memcmp = ctypes.CDLL(None).memcmp
_memcmp.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]
_memcmp.restype = ctypes.c_int


def check_unchanged(flat: Flat, names: Iterable[str], released: int) -> None:
    """Raises OutpaceError if the script has changed weights since they came from the server;
    `released` is the address of what came.

    Tensor._version does not count `parameter.data.clamp_()`, so the numbers are compared.
    """
    if flat.device.type == "cpu":
        same = _memcmp(flat.weights.data_ptr(), released, 4 * flat.numbers) == 0
    else:
        same = torch.equal(flat.weights.cpu(), tensor_at(released, flat.numbers))
    if not same:
        changed = _first_changed(flat, released)
        what = f"parameter '{list(names)[changed]}' was changed by the script, and the server has "
        if not flat.parameters[changed].requires_grad:
            raise OutpaceError(what + "it, so the change would be lost. It is frozen: leave it out of "
                               "the optimizer if the script itself moves it")
        raise OutpaceError(
            what + "the weights, so the change would be lost. Clamp or normalise in the forward "
            "pass (torch.nn.utils.parametrize); load a checkpoint before the first mini-batch")


def check_parameters(module: torch.nn.Module, trained: Iterable[torch.nn.Parameter], named: Named,
                     flat: Flat) -> None:
    """Raises OutpaceError if the script has changed the network since wrap(); `trained` are the
    optimizer's parameters."""
    known = set(map(id, named.parameters))
    wanted = set(map(id, trained))
    for name, parameter in module.named_parameters():
        if id(parameter) in wanted and id(parameter) not in known and parameter.requires_grad:
            raise OutpaceError(f"parameter '{name}' needs a gradient since wrap(); change the "
                               "network before")
    moved = flat.moved()
    if moved is not None:
        raise OutpaceError(f"parameter '{list(named.shapes)[moved]}' was moved or replaced "
                           "after wrap(); do that before")


def _first_changed(flat: Flat, released: int) -> int:
    came, begin = tensor_at(released, flat.numbers), 0
    here = flat.weights.cpu()
    for index, parameter in enumerate(flat.parameters):
        end = begin + parameter.numel()
        if not torch.equal(here[begin:end], came[begin:end]):
            return index
        begin = end
    return 0  # Two kinds of not-a-number.
