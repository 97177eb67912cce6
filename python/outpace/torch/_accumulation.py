"""Several backward passes before one step: a running mean by examples."""

from typing import Optional

import torch

from outpace._error import OutpaceError


class Accumulation:
    """Counts the passes of one mini-batch. The gradient is their mean after each of them."""

    def __init__(self) -> None:
        self.passes = 0
        self.examples = 0  # As the script gave them; 0 if it did not.
        self.loss = 0.0  # The mean so far.
        self._begun: Optional["tuple[int, float]"] = None

    def begin(self, loss: torch.Tensor, examples: Optional[int]) -> "tuple[torch.Tensor, float]":
        """What to run backward from, and the factor on the gradient that is there already."""
        if loss.numel() != 1:
            raise OutpaceError(f"backward: the loss has shape {list(loss.shape)}; it must be a "
                               "scalar, the mean over the examples")
        if examples is not None and examples < 1:
            raise OutpaceError(f"backward: examples={examples}; it takes 1 or more")
        if self.passes > 0 and (examples is None or self.examples == 0):
            raise OutpaceError("backward: several passes before one step need examples=N each, "
                               "because the gradient is their mean by examples")
        total = self.examples + (examples or 0)
        if self.passes == 0:
            self._begun = (total, 1.0)
            return loss, 1.0
        share = (examples or 0) / total
        self._begun = (total, share)
        return loss * share, 1.0 - share

    def end(self, value: float) -> None:
        """The pass is done; `value` is its own mean loss."""
        assert self._begun is not None
        total, share = self._begun
        self.loss += share * (value - self.loss)
        self.examples = total
        self.passes += 1
