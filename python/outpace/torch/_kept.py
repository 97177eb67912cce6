"""A worker's own state of its local steps, in a file: a process that is started again goes on with it.

Its optimizers, the random generators, and whatever has a state_dict() and was given to job.keep().
"""

import os
import random
import sys
import time
from typing import Any, Dict, List, Optional, Sequence

import torch

from outpace._error import OutpaceError

VARIABLE = "OUTPACE_KEEP_STATE"  # A folder; `outpace run --keep-worker-state` sets it.
SHARE = 0.05  # Writing takes this share of the time at most.


class KeptState:
    """The file of one worker."""

    def __init__(self, folder: str, rank: int) -> None:
        self._path = os.path.join(folder, f"worker-{rank}.pt")
        self._due = 0.0  # By time.monotonic().
        self._failed = False

    @classmethod
    def of_environment(cls, rank: int) -> "Optional[KeptState]":
        """None if nobody asks for it."""
        folder = os.environ.get(VARIABLE, "")
        return cls(folder, rank) if folder else None

    def write(self, version: int, things: Sequence[Any]) -> None:
        """After this update, unless the last time was a short while ago. A disk that is full costs
        the file alone: training goes on."""
        begun = time.monotonic()
        if begun < self._due:
            return
        unfinished = f"{self._path}.unfinished"
        try:
            os.makedirs(os.path.dirname(self._path), exist_ok=True)
            with open(unfinished, "wb") as out:
                os.chmod(unfinished, 0o600)
                torch.save({"version": version, "random": _random_state(),
                            "things": [one.state_dict() for one in things]}, out)
                out.flush()
                os.fsync(out.fileno())
            os.replace(unfinished, self._path)
            self._failed = False
        except OSError as error:
            if not self._failed:
                print(f"outpace: the state of this worker is not kept: {error}", file=sys.stderr)
            self._failed = True
        now = time.monotonic()
        self._due = now + (now - begun) / SHARE

    def read(self, things: Sequence[Any]) -> Optional[int]:
        """Goes on with what the file has, and returns the update that it was written after; None if
        there is no file. Raises OutpaceError if it is of another script."""
        if not os.path.exists(self._path):
            return None
        try:
            found: Dict[str, Any] = torch.load(self._path, map_location="cpu")
            states: List[Any] = found["things"]
            if len(states) != len(things):
                raise ValueError(f"it has {len(states)} states, and this script {len(things)}")
            for one, state in zip(things, states):
                one.load_state_dict(state)
            _set_random_state(found["random"])
            return int(found["version"])
        except Exception as error:
            why = " ".join(str(error).split()) or type(error).__name__
            raise OutpaceError(f"{self._path} does not fit this script: {why}; remove the file, and "
                               "this worker's optimizer begins anew") from None


def _random_state() -> Dict[str, Any]:
    state = {"torch": torch.get_rng_state(), "python": random.getstate()}
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        state["numpy"] = numpy.random.get_state()
    if torch.cuda.is_available():
        state["cuda"] = torch.cuda.get_rng_state_all()
    return state


def _set_random_state(state: Dict[str, Any]) -> None:
    torch.set_rng_state(state["torch"])
    random.setstate(state["python"])
    numpy = sys.modules.get("numpy")
    if numpy is not None and "numpy" in state:
        numpy.random.set_state(state["numpy"])
    if "cuda" in state and torch.cuda.is_available():
        torch.cuda.set_rng_state_all(state["cuda"])
