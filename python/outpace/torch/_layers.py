"""What `outpace profile` hears of a script's layers."""

import os
from typing import Any, Callable, Dict, Sequence

import torch

VARIABLE = "OUTPACE_PROFILE"


def is_profiled() -> bool:
    """Whether `outpace profile` started this process."""
    return bool(os.environ.get(VARIABLE))


def mark_layers(module: torch.nn.Module, parameters: Sequence[torch.Tensor], numbers: int,
                mark: Callable[[int], None]) -> None:
    """Calls `mark` before each layer's passes, as Worker.mark() says.

    A layer is a module that has parameters itself. `parameters` travel in this order, and with the
    running statistics behind them they have this many numbers.
    """
    ends = _ends(parameters)
    last = max(ends.values())
    for layer in module.modules():
        own = [ends[id(one)] for one in layer.parameters(recurse=False) if id(one) in ends]
        if own:
            _mark_layer(layer, numbers if max(own) == last else max(own), mark)


def _ends(parameters: Sequence[torch.Tensor]) -> Dict[int, int]:
    """Where each ends among all numbers, by id."""
    ends, end = {}, 0
    for parameter in parameters:
        end += parameter.numel()
        ends[id(parameter)] = end
    return ends


def _mark_layer(layer: torch.nn.Module, end: int, mark: Callable[[int], None]) -> None:
    def forward_begins(_layer: torch.nn.Module, _inputs: Any) -> None:
        if torch.is_grad_enabled():
            mark(end)

    def forward_is_done(_layer: torch.nn.Module, _inputs: Any, output: Any) -> None:
        first = output[0] if isinstance(output, tuple) else output
        if isinstance(first, torch.Tensor) and first.requires_grad:
            first.register_hook(lambda _gradient: mark(0))

    layer.register_forward_pre_hook(forward_begins)
    layer.register_forward_hook(forward_is_done)
