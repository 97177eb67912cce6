"""How the server is to step the parameters: what a script hands over to it."""

import enum
from typing import NamedTuple

__all__ = ["Group", "Method"]


class Method(enum.Enum):
    """An optimizer of the server. Each but those of buffers does what PyTorch's of the same name does."""

    SGD = 0
    MOMENTUM = 1
    NESTEROV = 2
    ADAM = 3
    ADAMW = 4
    LAMB = 5
    YELLOWFIN = 6
    AVERAGE = 7  # Of buffers: a worker pushes its own values in place of a gradient.
    RMSPROP = 9
    CENTERED_RMSPROP = 10
    ADAGRAD = 11
    ADADELTA = 12
    NEWEST = 13  # As AVERAGE, but the newest values replace the server's.


class Group(NamedTuple):
    """One group of parameters. Numbers that the method does not use keep their defaults."""

    method: Method = Method.SGD
    rate: float = 0.1  # Learning rate.
    weight_decay: float = 0.0  # L2; decoupled in ADAMW.
    momentum: float = 0.9  # MOMENTUM, NESTEROV, RMSPROP; of AVERAGE, the share the server keeps.
    beta1: float = 0.9  # ADAM, ADAMW and LAMB.
    beta2: float = 0.999  # The same; alpha of RMSPROP, rho of ADADELTA.
    epsilon: float = 1e-8  # These, and ADAGRAD.
    rate_decay: float = 0.0  # This and the next: ADAGRAD.
    initial: float = 0.0  # The sum of squares before the first update.
