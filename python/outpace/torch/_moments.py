"""The state of an optimizer whose steps the server makes.

A run begins with what the script has loaded; from then on the server has it, and this process has
none.
"""

from typing import Any, Callable, Dict, List, Sequence

import torch

from outpace._error import OutpaceError
from outpace.groups import OptimizerState

RESUME = "`outpace server --resume RUN` goes on with weights and moments"

# The server's names of what PyTorch's optimizers have for each parameter. OptimizerState says them.
_PARTS: Dict[type, Dict[str, str]] = {
    torch.optim.SGD: {"velocity": "momentum_buffer"},
    torch.optim.Adam: {"first": "exp_avg", "second": "exp_avg_sq"},
    torch.optim.AdamW: {"first": "exp_avg", "second": "exp_avg_sq"},
    torch.optim.RMSprop: {"square": "square_avg", "mean": "grad_avg",
                          "velocity": "momentum_buffer"},
    torch.optim.Adagrad: {"sum": "sum"},
    torch.optim.Adadelta: {"square": "square_avg", "steps": "acc_delta"},
}


class Brought:
    """What a script's optimizers have when the run begins."""

    def __init__(self, optimizers: Sequence[torch.optim.Optimizer],
                 parameters: Sequence[torch.nn.Parameter]) -> None:
        self._optimizers = list(optimizers)
        self._parameters = parameters
        self._asked = False

    def state(self) -> List[OptimizerState]:
        """As the server wants it, which begins with it."""
        self._asked = True
        return state_of(self._optimizers, self._parameters)

    def say_unused(self) -> None:
        """Tells that a state counts for nothing, once the run has begun without it."""
        if not self._asked and state_of(self._optimizers, self._parameters):
            print("outpace: the run begins with weights and moments that the server has, and not "
                  "with the state that this script's optimizer has loaded", flush=True)


def state_of(optimizers: Sequence[torch.optim.Optimizer],
             parameters: Sequence[torch.nn.Parameter]) -> List[OptimizerState]:
    """What the optimizers have for these parameters, as the server's begin from it."""
    places = {id(parameter): place for place, parameter in enumerate(parameters)}
    return [one for optimizer in optimizers
            for parameter, state in optimizer.state.items() if id(parameter) in places
            for one in _of_parameter(optimizer, places[id(parameter)], state)]


def _of_parameter(optimizer: torch.optim.Optimizer, tensor: int,
                  state: Dict[str, Any]) -> List[OptimizerState]:
    if float(state.get("step", 1)) == 0:  # Adagrad has a state from the first.
        return []
    found = {part: state[name] for part, name in _PARTS.get(type(optimizer), {}).items()
             if state.get(name) is not None}
    if "square" in found and "mean" in found:  # The server has the difference.
        found["square"] = (found["square"] - found["mean"] ** 2).clamp(min=0)
    return [OptimizerState(tensor, part, int(state.get("step", 0)),
                           numbers.detach().to("cpu", torch.float32).flatten().numpy())
            for part, numbers in found.items()]


def refuse_state(optimizer: torch.optim.Optimizer, begun: Callable[[], bool]) -> None:
    """Reading its state says where it is, in place of giving an empty one; and so does loading one
    once the run has `begun`."""
    load = optimizer.load_state_dict

    def state_dict(*_arguments: Any, **_options: Any) -> Dict[str, Any]:
        raise OutpaceError("optimizer.state_dict(): the server makes this optimizer's steps and has "
                           "its state, which RUN/checkpoints keeps; this process has none. Save the "
                           "network alone, by job.save(path); RUN/weights.safetensors has the "
                           "run's last weights. " + RESUME)

    def load_state_dict(*arguments: Any, **options: Any) -> None:
        if begun():
            raise OutpaceError("optimizer.load_state_dict(): the run has begun, and the server has "
                               "the state; load it before the first mini-batch. " + RESUME)
        load(*arguments, **options)

    optimizer.state_dict = state_dict  # type: ignore[method-assign]
    optimizer.load_state_dict = load_state_dict  # type: ignore[method-assign]
