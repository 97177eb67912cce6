"""What `outpace profile` hears of a script's layers."""

import os
import time
from typing import Any, Callable, Dict, List, Sequence, Tuple

import torch

VARIABLE = "OUTPACE_PROFILE"
Mark = Callable[[int, float], None]  # As Worker.mark().


def is_profiled() -> bool:
    """Whether `outpace profile` started this process."""
    return bool(os.environ.get(VARIABLE))


class Marks:
    """Tells `mark` when each layer's passes begin."""

    def __init__(self, mark: Mark) -> None:
        self._mark = mark

    def taken(self) -> None:
        """A mini-batch begins."""

    def layer(self, numbers: int) -> None:
        self._mark(numbers, 0.0)

    def computed(self) -> None:
        """The gradient is there."""


class DeviceMarks(Marks):
    """Of a GPU, which the processor runs ahead of: events among its kernels. They are read when the
    gradient is there, so that nothing waits in between."""

    def __init__(self, mark: Mark, device: torch.device) -> None:
        super().__init__(mark)
        self._device = device
        self._events: List[Tuple[int, Any]] = []

    def taken(self) -> None:
        self._events.clear()  # The events belong to a mini-batch that was given up.

    def layer(self, numbers: int) -> None:
        self._events.append((numbers, self._event_now()))

    def computed(self) -> None:
        last = self._event_now()
        last.synchronize()
        begin = time.monotonic()
        for numbers, event in self._events:
            seconds = event.elapsed_time(last) / 1e3
            self._mark(numbers, seconds + time.monotonic() - begin)

    def _event_now(self) -> Any:
        event = torch.cuda.Event(enable_timing=True)
        event.record(torch.cuda.current_stream(self._device))
        return event


def marks_for(device: torch.device, mark: Mark) -> Marks:
    return DeviceMarks(mark, device) if device.type == "cuda" else Marks(mark)


def mark_layers(module: torch.nn.Module, parameters: Sequence[torch.Tensor], numbers: int,
                marks: Marks) -> None:
    """Calls `marks.layer` before each layer's passes.

    A layer is a module that has parameters itself. `parameters` travel in this order, and with the
    running statistics behind them they have this many numbers.
    """
    ends = _ends(parameters)
    last = max(ends.values())
    for layer in module.modules():
        own = [ends[id(one)] for one in layer.parameters(recurse=False) if id(one) in ends]
        if own:
            _mark_layer(layer, numbers if max(own) == last else max(own), marks)


def _ends(parameters: Sequence[torch.Tensor]) -> Dict[int, int]:
    """Where each ends among all numbers, by id."""
    ends, end = {}, 0
    for parameter in parameters:
        end += parameter.numel()
        ends[id(parameter)] = end
    return ends


def _mark_layer(layer: torch.nn.Module, end: int, marks: Marks) -> None:
    def forward_begins(_layer: torch.nn.Module, _inputs: Any) -> None:
        if torch.is_grad_enabled():
            marks.layer(end)

    def forward_is_done(_layer: torch.nn.Module, _inputs: Any, output: Any) -> None:
        first = output[0] if isinstance(output, tuple) else output
        if isinstance(first, torch.Tensor) and first.requires_grad:
            first.register_hook(lambda _gradient: marks.layer(0))

    layer.register_forward_pre_hook(forward_begins)
    layer.register_forward_hook(forward_is_done)
