"""Steps that a worker makes while its push and the next weights travel.

They are made with the examples of the next phase, from the weights that it has pushed. When the new
ones come, what these steps have changed is added to them, and they count as the phase's first. So
each step is in one push, as ever; its gradient is of weights that are some steps old. (Douillard et
al., "Streaming DiLoCo", 2025, section 2.2, goes on computing too, and mixes both by halves: a push
then has half of what the worker had pushed before once more.)
"""

from typing import List, Optional, Tuple

import torch

from outpace.worker import Minibatch


class StepsAhead:
    """What is known of them: the weights at the push, and the examples that they have had."""

    def __init__(self, at_push: torch.Tensor, phase: Minibatch) -> None:
        """REQUIRES: can_begin(phase)."""
        self.at_push = at_push
        self.version = phase.version
        self.indices = phase.ahead[0]
        self.ahead = phase.ahead[1:]
        epoch = phase.ahead_epochs[0]
        batch = phase.steps[0][0]
        self.steps: List[Tuple[int, int]] = [
            (min(batch, len(self.indices) - begin), epoch)
            for begin in range(0, len(self.indices), batch)]

    @staticmethod
    def can_begin(phase: Minibatch) -> bool:
        """Whether the examples of the next phase are known, and of this epoch."""
        return bool(phase.ahead) and phase.ahead_epochs[0] == phase.steps[-1][1]

    def fits(self, phase: Optional[Minibatch], made: int) -> bool:
        """Whether this phase begins with the examples of the first `made` steps."""
        return (phase is not None and phase.steps[:made] == self.steps[:made]
                and phase.indices[:self.examples(made)] == self.indices[:self.examples(made)])

    def examples(self, made: int) -> int:
        return sum(size for size, _ in self.steps[:made])
