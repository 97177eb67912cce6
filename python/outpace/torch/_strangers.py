"""In the evaluator: a script's own average of the weights that never came from a worker.

Such an average is updated in the loop of a worker. In the evaluator it would keep the weights that
the script began with, and its accuracy would be that of an untrained network. It is an AveragedModel,
or a copy of the network that the script has made before its loop.
"""

import contextlib
import gc
import weakref
from typing import Any, Iterator, Optional, Sequence

import torch
from torch.optim.swa_utils import AveragedModel

from outpace._error import OutpaceError

Copies = weakref.WeakSet  # A weak set of modules: a later module may have the address of one that is gone.


def copies_of(networks: Sequence[torch.nn.Module]) -> Copies:
    """All modules of this process that have the names and, nearly, the numbers of one of these
    networks: copies from before its first snapshot."""
    own = {id(one) for network in networks for one in network.modules()}
    found = Copies()
    for one in gc.get_objects():
        # isinstance() would ask objects for their class, of which some then warn.
        if issubclass(type(one), torch.nn.Module) and id(one) not in own and any(
                _is_copy(one, network) for network in networks):
            found.add(one)
    return found


def _is_copy(module: torch.nn.Module, network: torch.nn.Module) -> bool:
    theirs, own = (dict(one.named_parameters()) for one in (module, network))
    return bool(own) and theirs.keys() == own.keys() and all(
        theirs[name] is not one and theirs[name].shape == one.shape
        and torch.allclose(theirs[name].detach().to(one), one.detach(), rtol=1e-3)
        for name, one in own.items())


@contextlib.contextmanager
def refusing_strangers(averages: Optional[torch.nn.Module], copies: Copies) -> Iterator[None]:
    """Raises OutpaceError if an AveragedModel, or one of `copies`, is called inside that is no part
    of `averages`."""
    known = set() if averages is None else set(map(id, averages.modules()))

    def check(module: torch.nn.Module, _arguments: Any) -> None:
        if id(module) not in known and (isinstance(module, AveragedModel) or module in copies):
            what = "an AveragedModel" if isinstance(module, AveragedModel) else "a copy of the network"
            raise OutpaceError(f"evaluate: the function calls {what}, whose weights stay with the "
                               "workers, so that the evaluator would measure an untrained network; "
                               "write job.wrap(net, optimizer, averages=it)")

    handle = torch.nn.modules.module.register_module_forward_pre_hook(check)
    try:
        yield
    finally:
        handle.remove()
