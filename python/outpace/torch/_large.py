"""An update is the mean of several workers' mini-batches: what that means for the learning rate."""

import os

import torch

from outpace._error import OutpaceError
from outpace.torch._several import Optimizers, optimizers_of

VARIABLE = "OUTPACE_GRADIENTS"  # The gradients of an update; `outpace run` sets it.
WARM_UP_MOST = 5  # Epochs, as Goyal et al. have it.


class LargeBatch:
    """How many gradients an update has, and whether the rate grows with them."""

    def __init__(self, gradients: int, scales: bool) -> None:
        self.gradients = gradients
        self.scales = scales

    @classmethod
    def of_environment(cls, scales: bool, optimizer: Optimizers) -> "LargeBatch":
        """Raises OutpaceError if the rate is to be scaled and cannot be."""
        text = os.environ.get(VARIABLE, "")
        if scales and not text:
            raise OutpaceError("wrap: scale_rate=True needs the number of gradients of an update: "
                               f"start the script by `outpace run`, or set {VARIABLE}, the same "
                               "for every worker")
        if scales and not all(isinstance(one, torch.optim.SGD) for one in optimizers_of(optimizer)):
            raise OutpaceError("wrap: scale_rate=True is for SGD: for other optimizers no rule says "
                               "how the rate grows with the examples of an update; set lr")
        if text and not (text.isdigit() and int(text) >= 1):
            raise OutpaceError(f"{VARIABLE} is {text!r}; it takes a whole number, 1 or more")
        return cls(int(text or 1), scales)

    def factor(self, epoch: "int | None", epochs: int) -> float:
        """On the script's rates; `epochs` is 0 if the script has not said how many there are."""
        if not self.scales:
            return 1.0
        warm_up = min(WARM_UP_MOST, max(1, epochs // 10)) if epochs > 1 else 0
        if epoch is None or epoch >= warm_up:
            return float(self.gradients)
        return 1.0 + (self.gradients - 1) * epoch / warm_up

    def say(self, batch: int, examples: int, alone: "int | None" = None) -> None:
        """Tells a user who comes from one process, at the begin of the run. `alone`: the examples of
        a mini-batch there, if it is another number than here."""
        if self.gradients == 1:
            return
        together = self.gradients * batch
        then = (f"the rate is multiplied by {self.gradients}, after a warm-up" if self.scales else
                f"if it learns less than alone, raise lr: job.wrap(net, optimizer, "
                f"scale_rate=True) multiplies it by {self.gradients}, after a warm-up")
        print(f"outpace: an update is the mean of {self.gradients} mini-batches, {together} "
              f"examples, and an epoch has {-(-examples // together)} updates (alone "
              f"{-(-examples // (alone or batch))}); {then}", flush=True)
