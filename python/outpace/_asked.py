"""What C asks a script for when its worker joins, and again if another worker did not bring it."""

import ctypes
from typing import Any, Callable, List, Optional, Sequence, Union

from outpace import _library
from outpace._minibatch import Weights, as_numbers
from outpace.groups import OptimizerState


class Asked:
    """Functions for C that ask the script's own. An exception must not pass through C, so that the
    last one stays here."""

    def __init__(self) -> None:
        self._failure: Optional[BaseException] = None

    def take_failure(self) -> Optional[BaseException]:
        """What a function of the script has raised since this was called last."""
        failure, self._failure = self._failure, None
        return failure

    def weights(self, initial_weights: Union[Weights, Callable[[], Weights]]) -> Any:
        """Writes the initial weights."""

        def fill(out: Any, numbers: int, _context: Any) -> int:
            try:
                weights = initial_weights() if callable(initial_weights) else initial_weights
                address, _keep = as_numbers(weights, numbers, "join: the initial weights")
                ctypes.memmove(out, address, 4 * numbers)
                return 0
            except BaseException as error:
                self._failure = error
                return 1

        return _library.InitialWeights(fill)

    def constants(self, constants: Optional[Callable[[], bytes]]) -> Any:
        """Says where the constants are."""
        kept: List[bytes] = []  # Until the next call.

        def find(address: Any, size: Any, _context: Any) -> int:
            try:
                kept[:] = [constants() if constants is not None else b""]
                address[0] = ctypes.cast(ctypes.c_char_p(kept[0]), ctypes.c_void_p).value
                size[0] = len(kept[0])
                return 0
            except BaseException as error:
                self._failure = error
                return 1

        return _library.Constants(find)

    def state(self, state: Optional[Callable[[], Sequence[OptimizerState]]]) -> Any:
        """Says where the parts of the optimizers' state are; null for none."""
        if state is None:
            return _library.State()
        kept: List[Any] = []  # Until the next call.

        def find(parts: Any, count: Any, _context: Any) -> int:
            try:
                numbers, listed = _library.state_list(state())
                kept[:] = [numbers, listed]
                parts[0] = ctypes.cast(listed, ctypes.POINTER(_library.OptimizerState))
                count[0] = len(listed)
                return 0
            except BaseException as error:
                self._failure = error
                return 1

        return _library.State(find)
