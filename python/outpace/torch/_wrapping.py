"""What a script says to job.wrap() beside its network and optimizer."""

import os
from typing import Any, NamedTuple, Optional

import torch

from outpace._compress import check_compress
from outpace._error import OutpaceError
from outpace.torch._rules import Given

VARIABLE = "OUTPACE_LOCAL_STEPS"  # Steps between two pushes; `outpace run --local-steps` sets it.
AHEAD = "OUTPACE_STEPS_AHEAD"  # `outpace run --steps-ahead` sets it to true.


class Wrapping(NamedTuple):
    """The options of wrap(), as it has them."""

    buffers: Given
    scale_rate: bool
    averages: Optional[torch.nn.Module]
    local_steps: Optional[int]  # None: each mini-batch's gradient is pushed.
    examples: Optional[int]  # Of an epoch, where the data are the script's own.
    steps_ahead: bool  # While a push and the next weights travel.
    compress: Optional[str] = None  # How a push is written in fewer bytes; None: as the run says.


def checked(wrapping: Wrapping) -> Wrapping:
    """With the run's local steps, if the script does not say any. Raises OutpaceError for what does
    not go together."""
    given, steps = wrapping.local_steps, _of_environment()
    _check_count("local_steps", given)
    _check_count("examples", wrapping.examples)
    if wrapping.compress is not None:
        check_compress(wrapping.compress, "wrap")
    if given is not None and steps is not None and given != steps:
        raise OutpaceError(f"wrap: local_steps={given}, and this run has --local-steps {steps}; they "
                           "must be the same: remove one")
    steps = given if steps is None else steps
    if steps is None and wrapping.examples is not None:
        raise OutpaceError("wrap: examples= is for data of the script's own, which take local steps: "
                           "say local_steps=H, or give the data to job.loader(data)")
    if steps is not None and wrapping.scale_rate:
        raise OutpaceError("wrap: scale_rate=True is of gradients that the server averages; with "
                           "local steps the rate is that of this worker's own steps: remove it")
    if steps is None and wrapping.steps_ahead:
        raise OutpaceError("wrap: steps_ahead=True is of local steps: say local_steps=H, or remove it")
    return wrapping._replace(local_steps=steps,
                             steps_ahead=wrapping.steps_ahead or os.environ.get(AHEAD) == "true")


def _of_environment() -> Optional[int]:
    text = os.environ.get(VARIABLE, "")
    if not text:
        return None
    if not text.isdigit() or int(text) < 1:
        raise OutpaceError(f"{VARIABLE} is {text!r}; it takes a whole number, 1 or more")
    return int(text)


def _check_count(name: str, count: Any) -> None:
    if count is not None and (not isinstance(count, int) or isinstance(count, bool) or count < 1):
        without = ("; without it each mini-batch's gradient is pushed" if name == "local_steps"
                   else "")
        raise OutpaceError(f"wrap: {name}={count!r}; it takes a whole number, 1 or more{without}")
