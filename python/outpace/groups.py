"""How the server is to step the parameters: what a script hands over to it."""

import enum
from typing import Any, NamedTuple

__all__ = ["Group", "Method", "OptimizerState"]


class Method(enum.Enum):
    """An optimizer of the server. Each but those of buffers does what PyTorch's of the same name does."""

    SGD = 0
    MOMENTUM = 1
    NESTEROV = 2
    ADAM = 3
    ADAMW = 4
    LAMB = 5
    YELLOWFIN = 6
    AVERAGE = 7  # For buffers: a worker pushes its own values in place of a gradient.
    BY_SERVER = 8  # The server's own, at its rate times the group's: beside buffers alone.
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
    beta2: float = 0.999  # ADAM, ADAMW and LAMB; alpha of RMSPROP, rho of ADADELTA.
    epsilon: float = 1e-8  # ADAM, ADAMW, LAMB, RMSPROP, ADADELTA and ADAGRAD.
    rate_decay: float = 0.0  # ADAGRAD's, as is the next.
    initial: float = 0.0  # The sum of squares before the first update.


class OptimizerState(NamedTuple):
    """A part of the state of a tensor's optimizer, of another training that a run goes on from.

    Parts are "velocity" of MOMENTUM, NESTEROV and RMSPROP with momentum; "first" and "second" of
    ADAM and ADAMW; "square" of RMSPROP and ADADELTA, of CENTERED_RMSPROP the mean of squares less
    that of "mean", which it has too; "steps" of ADADELTA; "sum" of ADAGRAD.
    """

    tensor: int  # Its place among join()'s parameters.
    part: str
    updates: int  # Updates that the optimizer has made.
    numbers: Any  # A float32 number for each of the tensor's weights.
