"""What a file of weights has for a network."""

import os
from typing import Dict, List

import torch

from outpace.torch import _safetensors
from outpace.torch._rules import AVERAGES

CONSTANTS = "constants.safetensors"  # Beside a run's weights: what does not change as it trains.


def state_of(module: torch.nn.Module, path: "str | os.PathLike[str]") -> Dict[str, torch.Tensor]:
    """The file's tensors, for load_state_dict().

    A run's weights have a shared parameter once, and the script's own averages beside the network's
    tensors; what training did not change lies in a file beside them. Raises OutpaceError if it is no
    such file, and OSError.
    """
    found = _safetensors.read(path)
    wanted = module.state_dict(keep_vars=True)
    beside = os.path.join(os.path.dirname(os.fspath(path)), CONSTANTS)
    if not found.keys() >= wanted.keys() and os.path.exists(beside):
        found = {**{name: value for name, value in _safetensors.read(beside).items()
                    if name in wanted}, **found}
    for names in _shared(wanted):
        known = next((found[name] for name in names if name in found), None)
        if known is not None:
            found.update((name, known) for name in names if name not in found)
    return {name: torch.view_as_complex(value)
            if name in wanted and wanted[name].is_complex() else value
            for name, value in found.items()
            if name in wanted or not name.startswith(AVERAGES + ".")}


def _shared(state: Dict[str, torch.Tensor]) -> List[List[str]]:
    """The names of each tensor that has several."""
    names: Dict[int, List[str]] = {}
    for name, tensor in state.items():
        names.setdefault(id(tensor), []).append(name)
    return [found for found in names.values() if len(found) > 1]
