"""Which optimizer of the server a script's optimizer is, and those that only the server has."""

from typing import Any, Callable, Dict, Iterable, List, Optional

import torch

from outpace._error import OutpaceError
from outpace.groups import Group, Method
from outpace.torch._several import Optimizers, Several


def replace_step(optimizer: torch.optim.Optimizer, step: Callable[..., Any]) -> None:
    """Makes `step` the optimizer's, with what a schedule looks for: it warns of a step that was
    replaced after it was made, and wraps one that it does not know as a method, which it is not."""
    step._with_counter = True  # type: ignore[attr-defined]  # PyTorch up to 2.3.
    step._wrapped_by_lr_sched = True  # type: ignore[attr-defined]  # From 2.4 on.
    optimizer.step = step  # type: ignore[method-assign]


def count_step(optimizer: torch.optim.Optimizer) -> None:
    """For a schedule, which warns if no step came before its own."""
    optimizer._step_count = 1  # type: ignore[attr-defined]  # PyTorch up to 2.3.
    optimizer._opt_called = True  # type: ignore[attr-defined]  # From 2.4 on.


def refuse_group(_group: Any) -> None:
    """In place of an optimizer's add_param_group()."""
    raise OutpaceError("optimizer.add_param_group() after wrap(); add all parameters before")


class _ServersOwn(torch.optim.Optimizer):
    """An optimizer without a step in this process: the server makes it."""

    def step(self, closure: Optional[Callable[[], Any]] = None) -> None:
        raise OutpaceError(f"{type(self).__name__} is an optimizer of the server: it takes one, and "
                           "job.wrap() before the first step")


def refuse_servers_own(optimizer: torch.optim.Optimizer) -> None:
    """Raises OutpaceError for one that cannot make a local step."""
    if isinstance(optimizer, _ServersOwn):
        raise OutpaceError(f"wrap: {type(optimizer).__name__} is an optimizer of the server, and local "
                           "steps are made here; take one of torch.optim, or your own")


class LAMB(_ServersOwn):
    """LAMB, for large mini-batches (You et al., ICLR 2020, algorithm 2). It needs a server."""

    def __init__(self, params: Iterable[Any], lr: float = 0.01, betas: "tuple[float, float]" = (
            0.9, 0.999), eps: float = 1e-6, weight_decay: float = 0.0) -> None:
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps,
                                  "weight_decay": weight_decay})


class YellowFin(_ServersOwn):
    """YellowFin, which tunes momentum and rate (Zhang, Mitliagkas, MLSys 2019). It needs a server.

    `lr` multiplies the rate that it finds.
    """

    def __init__(self, params: Iterable[Any], lr: float = 1.0, weight_decay: float = 0.0) -> None:
        super().__init__(params, {"lr": lr, "weight_decay": weight_decay})


class ByServer(_ServersOwn):
    """The optimizer that the server's options say: --optimizer, --lr, --schedule, --weight-decay."""

    def __init__(self, params: Iterable[Any]) -> None:
        super().__init__(params, {})


def groups_of(optimizer: Optimizers) -> List[Group]:
    """The optimizer as the server would make it, one for each of its groups; none for ByServer.

    Raises OutpaceError for an optimizer, or an option of one, that the server does not have.
    """
    if isinstance(optimizer, Several):
        for one in optimizer.optimizers:
            if isinstance(one, (ByServer, YellowFin)):
                raise OutpaceError(f"wrap: {type(one).__name__} takes all parameters of a job, and "
                                   f"this one has {len(optimizer.optimizers)} optimizers; give each "
                                   "network an optimizer of another kind")
        return [group for one in optimizer.optimizers for group in groups_of(one)]
    if type(optimizer) is ByServer:
        return []
    to_group = _KINDS.get(type(optimizer))
    if to_group is None:
        known = ", ".join(kind.__name__ for kind in (*_KINDS, ByServer))
        raise OutpaceError(f"wrap: the server has no {type(optimizer).__name__}; use one of {known}")
    return [to_group(group) for group in optimizer.param_groups]


def _refuse(group: Dict[str, Any], option: str, right: Any) -> None:
    if group.get(option, right) not in (right, None):
        raise OutpaceError(f"wrap: the server has no optimizer with {option}={group[option]}; "
                           f"make it {right}")


def _sgd(group: Dict[str, Any]) -> Group:
    _refuse(group, "maximize", False)
    momentum = group["momentum"]
    if momentum == 0:
        return Group(Method.SGD, _rate(group), float(group["weight_decay"]))
    _refuse(group, "dampening", 0)
    method = Method.NESTEROV if group["nesterov"] else Method.MOMENTUM
    return Group(method, _rate(group), float(group["weight_decay"]), momentum=float(momentum))


def _adam_like(method: Method) -> Callable[[Dict[str, Any]], Group]:
    def to_group(group: Dict[str, Any]) -> Group:
        _refuse(group, "amsgrad", False)
        _refuse(group, "maximize", False)
        _refuse(group, "decoupled_weight_decay", method is Method.ADAMW)
        beta1, beta2 = group["betas"]
        return Group(method, _rate(group), float(group["weight_decay"]), beta1=float(beta1),
                     beta2=float(beta2), epsilon=float(group["eps"]))

    return to_group


def _rmsprop(group: Dict[str, Any]) -> Group:
    _refuse(group, "maximize", False)
    method = Method.CENTERED_RMSPROP if group["centered"] else Method.RMSPROP
    return Group(method, _rate(group), float(group["weight_decay"]), float(group["momentum"]),
                 beta2=float(group["alpha"]), epsilon=float(group["eps"]))


def _adagrad(group: Dict[str, Any]) -> Group:
    _refuse(group, "maximize", False)
    return Group(Method.ADAGRAD, _rate(group), float(group["weight_decay"]),
                 epsilon=float(group["eps"]), rate_decay=float(group["lr_decay"]),
                 initial=float(group["initial_accumulator_value"]))


def _adadelta(group: Dict[str, Any]) -> Group:
    _refuse(group, "maximize", False)
    return Group(Method.ADADELTA, _rate(group), float(group["weight_decay"]),
                 beta2=float(group["rho"]), epsilon=float(group["eps"]))


def _yellowfin(group: Dict[str, Any]) -> Group:
    return Group(Method.YELLOWFIN, _rate(group), float(group["weight_decay"]))


def _rate(group: Dict[str, Any]) -> float:
    return float(group["lr"])


_KINDS: Dict[type, Callable[[Dict[str, Any]], Group]] = {
    torch.optim.SGD: _sgd,
    torch.optim.Adam: _adam_like(Method.ADAM),
    torch.optim.AdamW: _adam_like(Method.ADAMW),
    torch.optim.RMSprop: _rmsprop,
    torch.optim.Adagrad: _adagrad,
    torch.optim.Adadelta: _adadelta,
    LAMB: _adam_like(Method.LAMB),
    YellowFin: _yellowfin,
}
