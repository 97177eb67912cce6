"""Several backward passes before one step: their gradients add up, as in PyTorch."""

from typing import Optional

import torch

from outpace._error import OutpaceError


class Accumulation:
    """Counts the passes of one mini-batch."""

    def __init__(self, thrown_away: bool = False) -> None:
        self.thrown_away = thrown_away  # A gradient, by zero_grad() before the step.
        self.passes = 0
        self.examples = 0  # As the script gave them; 0 if it did not.
        self.loss = 0.0  # The sum of the losses, or the mean of the values that were given.
        self._values = 0.0

    def check(self, loss: torch.Tensor, examples: Optional[int]) -> None:
        """Raises OutpaceError if backward() cannot begin from this loss."""
        if loss.numel() != 1:
            raise OutpaceError(f"backward: the loss has shape {list(loss.shape)}; it must be a "
                               "scalar: write reduction=\"mean\", or loss.mean()")
        if examples is not None and examples < 1:
            raise OutpaceError(f"backward: examples={examples}; it takes 1 or more")

    def end(self, loss: float, examples: Optional[int], value: Optional[float]) -> None:
        """A pass is done. `value` is the loss for the record where it is another number."""
        self.passes += 1
        self.examples += examples or 0
        if value is None:
            self.loss += loss
        else:
            self._values += value
            self.loss = self._values / self.passes

    def share(self, examples: int) -> float:
        """The part of a mini-batch of `examples` that was computed; 1 if the script did not say."""
        return min(1.0, self.examples / examples) if self.examples > 0 else 1.0


def why_no_step(accumulation: Accumulation) -> str:
    """What to say of optimizer.step() without a pass."""
    if accumulation.thrown_away:
        return ("optimizer.step(): optimizer.zero_grad() after job.backward(loss) has thrown the "
                "gradient away; call it before job.backward(loss), or not at all")
    return ("optimizer.step() without job.backward(loss) before it: write job.backward(loss) in "
            "place of loss.backward()")
