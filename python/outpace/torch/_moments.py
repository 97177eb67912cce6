"""The state of an optimizer whose steps the server makes: the moments are there, and not here."""

from typing import Any, Dict

import torch

from outpace._error import OutpaceError

RESUME = ("`outpace server --resume RUN` goes on with weights and moments; a new run from the weights "
          "alone begins from job.load(path), or net.load_state_dict(), with a new optimizer")


def refuse_state(optimizer: torch.optim.Optimizer) -> None:
    """Reading or loading its state says where it is, in place of giving an empty one."""

    def state_dict(*_arguments: Any, **_options: Any) -> Dict[str, Any]:
        raise OutpaceError("optimizer.state_dict(): the server makes this optimizer's steps and has "
                           "its state, which RUN/checkpoints keeps; this process has none. Save the "
                           "network alone, by job.save(path); RUN/weights.safetensors has the "
                           "run's last weights. " + RESUME)

    def load_state_dict(*_arguments: Any, **_options: Any) -> None:
        raise OutpaceError("optimizer.load_state_dict(): the server makes this optimizer's steps, "
                           "and begins a run with moments of 0. " + RESUME)

    optimizer.state_dict = state_dict  # type: ignore[method-assign]
    optimizer.load_state_dict = load_state_dict  # type: ignore[method-assign]
