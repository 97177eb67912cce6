"""By which rule each buffer of a network travels.

A buffer of normalisation's running statistics is averaged. Any other one that training may change
is newest: spectral normalisation's vectors, counters. Which those are cannot be known before the
training, so each persistent buffer of up to SMALL numbers counts as one. A larger one, such as a
mask or a table, is constant: it travels once, and a script that changes it is told so.
"""

import enum
import fnmatch
from typing import Dict, Mapping, Optional, Tuple, Union

import torch
from torch.nn.utils.parametrizations import _SpectralNorm
from torch.nn.utils.spectral_norm import SpectralNorm

from outpace._error import OutpaceError

SMALL = 65_536  # 256 KiB with each gradient.
AVERAGES = "averages"  # The names of averages= begin so.

Found = Tuple[torch.nn.Module, str]  # The module that has the buffer, and its name there.
Given = Union[str, Mapping[str, str]]


class Rule(enum.Enum):
    """What becomes of a buffer, after all workers have begun with the first worker's value."""

    AVERAGE = "average"  # The server keeps the mean.
    NEWEST = "newest"  # The server keeps the value that came with the newest gradient.
    OWN = "own"  # It is each worker's own.
    CONSTANT = "constant"  # Nobody changes it.


def find(module: torch.nn.Module) -> Dict[str, Found]:
    """All buffers by name, each once."""
    found: Dict[str, Found] = {}
    seen = set()
    for prefix, owner in module.named_modules():
        for name, tensor in owner._buffers.items():
            if tensor is not None and id(tensor) not in seen:
                seen.add(id(tensor))
                found[f"{prefix}.{name}" if prefix else name] = (owner, name)
    return found


def find_averages(module: Optional[torch.nn.Module]) -> Dict[str, Found]:
    """All that averages= has, parameters and buffers."""
    if module is None:
        return {}
    found = {f"{AVERAGES}.{name}": place for name, place in find(module).items()}
    for prefix, owner in module.named_modules():
        for name, parameter in owner._parameters.items():
            if parameter is not None:
                path = f"{prefix}.{name}" if prefix else name
                found[f"{AVERAGES}.{path}"] = (owner, name)
    return found


def is_statistic(owner: torch.nn.Module, name: str) -> bool:
    """Whether it is a running statistic of normalisation."""
    return (isinstance(owner, torch.nn.modules.batchnorm._NormBase) and owner.track_running_stats
            and name in ("running_mean", "running_var"))


def changes(owner: torch.nn.Module, name: str) -> bool:
    """Whether training surely changes it."""
    if is_statistic(owner, name):
        return True
    if isinstance(owner, _SpectralNorm):
        return name in ("_u", "_v")
    return any(isinstance(hook, SpectralNorm)
               and name in (f"{hook.name}_u", f"{hook.name}_v")
               for hook in owner._forward_pre_hooks.values())


def rules_of(module: torch.nn.Module, given: Given, travel: bool = True) -> Dict[str, Rule]:
    """The rule of each buffer. `given` is one rule, or some by the pattern of a buffer's name; not
    `travel`: the optimizer takes all that travels for parameters.

    Raises OutpaceError for a rule that is none, and a pattern that no buffer has.
    """
    patterns = _checked(given)
    default = Rule.AVERAGE if isinstance(given, Mapping) else Rule(given)
    rules: Dict[str, Rule] = {}
    used = set()
    for name, place in find(module).items():
        pattern = next((one for one in patterns if fnmatch.fnmatchcase(name, one)), None)
        rules[name] = _default(*place, default, travel) if pattern is None else patterns[pattern]
        used.add(pattern)
        if pattern is not None and not travel and rules[name] is not Rule.OWN:
            raise OutpaceError(f"wrap: buffers={{{pattern!r}: \"{rules[name].value}\"}}: buffers do "
                               "not travel with op.ByServer and op.YellowFin; use another optimizer")
    for pattern in patterns:
        if pattern not in used:
            raise OutpaceError(f"wrap: buffers={{{pattern!r}: ...}}: the network has no such buffer; "
                               "its buffers are " + (", ".join(rules) or "none"))
    return rules


def _checked(given: Given) -> Dict[str, Rule]:
    patterns = given if isinstance(given, Mapping) else {"": given}
    known = [rule.value for rule in Rule if rule is not Rule.CONSTANT]
    for rule in patterns.values():
        if rule not in known:
            raise OutpaceError(f"wrap: buffers={given!r}; it takes \"average\", \"newest\" or "
                               "\"own\", or {pattern of a name: one of these}")
    return {pattern: Rule(rule) for pattern, rule in patterns.items()} if isinstance(
        given, Mapping) else {}


def _default(owner: torch.nn.Module, name: str, given: Rule, travel: bool) -> Rule:
    if given is Rule.OWN:
        return Rule.OWN
    surely = changes(owner, name)
    if not travel:
        return Rule.OWN if surely else Rule.CONSTANT
    if given is Rule.AVERAGE and is_statistic(owner, name):
        return Rule.AVERAGE
    if surely:
        return Rule.NEWEST
    tensor = owner._buffers[name]
    assert tensor is not None
    plain = (tensor.layout is torch.strided and not tensor.is_quantized
             and not tensor.dtype.is_complex and 0 < tensor.numel() <= SMALL)
    if name in owner._non_persistent_buffers_set or not plain:
        return Rule.CONSTANT
    return Rule.NEWEST
