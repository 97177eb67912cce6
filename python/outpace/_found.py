"""What an evaluation found, by name."""

import ctypes
from typing import Any, Dict, Mapping, NamedTuple, Optional

from outpace import _library


class Found(NamedTuple):
    """What weights reached on the test set."""

    version: int  # The measured weights' version: the updates in them.
    accuracy: Optional[float]  # The share of right answers; None: not measured.
    loss: Optional[float]  # Mean; None: not measured.
    values: Dict[str, float]  # Anything else.


def found_of(raw: Any) -> Found:
    """What C says."""
    measured = raw.measured
    values = {one.name.decode(errors="replace"): one.value
              for one in measured.values[: measured.count]}
    return Found(raw.version, _number(measured.accuracy), _number(measured.loss), values)


def measured_of(accuracy: Optional[float], loss: Optional[float],
                values: Mapping[str, float]) -> Any:
    """For C. The result keeps what it points to."""
    listed = (_library.Value * max(1, len(values)))()
    for place, (name, value) in zip(listed, values.items()):
        place.name, place.value = name.encode(), value
    return _library.Measured(_pointer(accuracy), _pointer(loss), listed, len(values))


def _number(pointer: Any) -> Optional[float]:
    return float(pointer[0]) if pointer else None


def _pointer(value: Optional[float]) -> Any:
    return None if value is None else ctypes.pointer(ctypes.c_double(value))
