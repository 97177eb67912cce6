"""What training does not change: frozen parameters, and buffers that do not travel with gradients.

They travel once, from the worker that brings the first weights to all others and the evaluator, as
the bytes of a safetensors file. So each type is exact, and an iteration costs nothing.
"""

import hashlib
import sys
from typing import Dict, List, Mapping, Optional, Set, Tuple

import torch

from outpace._error import OutpaceError
from outpace.torch import _safetensors
from outpace.torch._rules import Rule, find

HASH = "frozen.blake2b"  # The name under which the hash of frozen parameters travels.


class Constants:
    """Those of a network. `trained`: the ids of the parameters that travel with gradients."""

    def __init__(self, module: torch.nn.Module, trained: Set[int],
                 rules: Mapping[str, Rule], frozen_stay: bool = False) -> None:
        """`frozen_stay`: frozen parameters do not travel, and only a hash tells whether they are the
        same on all workers."""
        self._module = module
        self._places: Dict[str, Tuple[torch.nn.Module, str]] = {}
        self._changeable: Set[str] = set()  # Caches, whose shapes may change.
        self._watched: List[str] = []
        self._frozen: List[torch.Tensor] = []  # That stay here.
        seen = set(trained)
        for prefix, owner in module.named_modules():
            for name, parameter in owner._parameters.items():
                if parameter is not None and id(parameter) not in seen:
                    seen.add(id(parameter))
                    if frozen_stay:
                        self._frozen.append(parameter)
                    else:
                        self._add(f"{prefix}.{name}" if prefix else name, owner, name)
        for path, (owner, name) in find(module).items():
            if rules[path] in (Rule.OWN, Rule.CONSTANT):
                self._add(path, owner, name)
                if name in owner._non_persistent_buffers_set:
                    self._changeable.add(path)
                elif rules[path] is Rule.CONSTANT:
                    self._watched.append(path)
        self._seen: Dict[str, Tuple[torch.Tensor, int]] = {}

    def __len__(self) -> int:
        return len(self._places)

    def bytes(self) -> bytes:
        """This process's own; empty if there are none."""
        own = {name: _safetensors.plain(self._tensor(name)) for name in self._places}
        if self._frozen:
            own[HASH] = self._hash()
        return _safetensors.to_bytes(own) if own else b""

    def use(self, data: bytes) -> None:
        """This process goes on with these, in place of its own.

        Raises OutpaceError, with code 4, if they are another network's.
        """
        if not data:
            if self._places or self._frozen:
                print("outpace: the server has no frozen parameters and buffers of this network: "
                      "they are this process's own", file=sys.stderr)
        else:
            came = _safetensors.from_bytes(data, "the job's constants")
            self._check_frozen(came.pop(HASH, None))
            self._copy(came)
        self._seen = {name: (self._tensor(name), self._tensor(name)._version)
                      for name in self._watched}

    def check_unchanged(self) -> None:
        """Raises OutpaceError if training has changed a buffer that does not travel."""
        for name, (tensor, version) in self._seen.items():
            now = self._tensor(name)
            if now is not tensor or now._version != version:
                raise OutpaceError(
                    f"buffer '{name}' was changed by training, and does not travel, because it has "
                    f"{now.numel()} numbers: write job.wrap(..., buffers={{\"{name}\": \"newest\"}}) "
                    "so that the evaluator and checkpoints have it, or \"own\" in place of "
                    "\"newest\" to leave it to each worker")

    def _hash(self) -> torch.Tensor:
        digest = hashlib.blake2b(digest_size=32)
        for parameter in self._frozen:
            plain = _safetensors.plain(parameter.detach()).reshape(-1)
            digest.update(plain.cpu().contiguous().view(torch.uint8).numpy().data)
        return torch.frombuffer(bytearray(digest.digest()), dtype=torch.uint8)

    def _check_frozen(self, of_first: Optional[torch.Tensor]) -> None:
        if of_first is not None and self._frozen and not torch.equal(of_first, self._hash()):
            raise OutpaceError("the frozen parameters are others than the first worker's; with local "
                               "steps they do not travel: load the same file on every worker, or set "
                               "torch.manual_seed() before the network is made", 4)

    def _add(self, path: str, owner: torch.nn.Module, name: str) -> None:
        tensor = getattr(owner, name)
        if tensor.layout is not torch.strided or tensor.is_quantized or not _safetensors.has(
                _safetensors.plain(tensor).dtype):
            print(f"outpace: wrap: '{path}' is {tensor.dtype} or sparse, and does not travel: make "
                  "it alike on all workers", file=sys.stderr)
            return
        self._places[path] = (owner, name)

    def _copy(self, came: Dict[str, torch.Tensor]) -> None:
        for name in (*came, *self._places):
            if name not in came or name not in self._places:
                whose = "the first worker's" if name in came else "this worker's"
                raise OutpaceError(f"another network: '{name}' is in {whose} alone, or it is frozen "
                                   "there alone; build and freeze the same network on every worker",
                                   4)
        with torch.no_grad():
            for name, value in came.items():
                here = _safetensors.plain(self._tensor(name))
                if here.shape == value.shape and here.dtype == value.dtype:
                    here.copy_(value)
                elif name not in self._changeable:
                    raise OutpaceError(f"another network: '{name}' is {_words(value)} in the first "
                                       f"worker's and {_words(here)} here", 4)

    def _tensor(self, name: str) -> torch.Tensor:
        owner, attribute = self._places[name]
        return getattr(owner, attribute)


def _words(tensor: torch.Tensor) -> str:
    return f"{str(tensor.dtype).partition('.')[2]} of shape {list(tensor.shape)}"
