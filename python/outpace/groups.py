"""How the server is to step the parameters: what a script hands over to it."""

import enum
from typing import NamedTuple

__all__ = ["Group", "Method"]


class Method(enum.Enum):
    """An optimizer of the server. Each does what PyTorch's of the same name does."""

    SGD = 0
    MOMENTUM = 1
    NESTEROV = 2
    ADAM = 3
    ADAMW = 4
    LAMB = 5
    YELLOWFIN = 6


class Group(NamedTuple):
    """One group of parameters. Numbers that the method does not use keep their defaults."""

    method: Method = Method.SGD
    rate: float = 0.1  # Learning rate.
    weight_decay: float = 0.0  # L2; decoupled in ADAMW.
    momentum: float = 0.9  # MOMENTUM and NESTEROV alone.
    beta1: float = 0.9  # This and the next two: ADAM, ADAMW and LAMB.
    beta2: float = 0.999
    epsilon: float = 1e-8
