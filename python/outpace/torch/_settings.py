"""What the script's optimizer says, beside what the server was told of it."""

import gc
import operator
import sys
from typing import Any, Callable, Dict, List, Optional, Tuple

import torch

from outpace._error import OutpaceError
from outpace.groups import Group
from outpace.torch._large import LargeBatch
from outpace.torch._named import Named
from outpace.torch._several import Optimizers, optimizers_of


OF_EACH_UPDATE = ("For a schedule that changes with each update (a warm-up, a cosine by steps), write "
                  "`for step in job.updates(N):` and set the rate by `step`; or give the optimizer "
                  "to the server: op.ByServer(net.parameters()), with --optimizer momentum --lr 0.1 "
                  "--schedule cosine:over=E,warmup=E, in examples")


class Settings:
    """The optimizer's groups, of which only the rates may change: once an epoch, or with each update
    of a script that counts updates. "When" is the number of the one or of the other."""

    def __init__(self, named: Named, optimizer: Optimizers, large: LargeBatch) -> None:
        self._named = named
        self._optimizer = optimizer
        self._large = large
        self._epochs = 0  # Epochs that the script wants; 0: it has not said.
        self._joined_with: List[Group] = []
        self.of_updates = False  # Whether the rates are those of an update, and not of an epoch.
        self._rates: Tuple[Optional[int], List[float]] = (0, [])  # When, and the rates.
        self._checked: Optional[Tuple[Optional[int], List[Any]]] = None
        self._of = [_reader(group) for group in optimizer.param_groups]
        self._last: Optional[int] = None  # Update of this worker's last gradient.
        self._said = False  # Whether it was said that a schedule counts something else.

    @property
    def are_the_scripts(self) -> bool:
        """Whether the script brought the optimizer, and not the server's options (ByServer)."""
        return bool(self._joined_with)

    def begin(self, epochs: int) -> List[Group]:
        """What a worker joins with: the optimizer's groups, and the buffers'."""
        self._epochs = epochs
        self._joined_with = self._groups(0)
        # A script sets the rate of update 0 after the join.
        self._rates = (None if self.of_updates else 0, [one.rate for one in self._joined_with])
        return self._joined_with

    def news(self, when: Optional[int]) -> Optional[List[float]]:
        """The rates of this epoch or update, if the server has not heard them.

        Raises OutpaceError if the script's optimizer has come to differ from the server's.
        """
        if self.of_updates and when is not None:
            self._watch_schedules(when)
        settings = [of(group) for of, group in zip(self._of, self._optimizer.param_groups)]
        if self._checked == (when, settings):
            return None
        found = self._changed(when)
        self._checked = (when, settings)
        return found

    def _watch_schedules(self, when: int) -> None:
        """Tells once that a PyTorch schedule lags, which is stepped with each mini-batch of this
        worker while other workers' gradients have made updates, too."""
        skipped, self._last = self._last is not None and when > self._last + 1, when
        if self._said or not skipped:
            return
        for schedule in schedules_of(optimizers_of(self._optimizer)):
            if schedule.last_epoch < when - 1:
                self._said = True
                print(f"outpace: job.updates: the schedule of the learning rate has made "
                      f"{schedule.last_epoch} steps, and the run {when} updates: it counts this "
                      "worker's mini-batches. Write: while schedule.last_epoch < step: "
                      "schedule.step()", file=sys.stderr, flush=True)
                return

    def _changed(self, when: Optional[int]) -> Optional[List[float]]:
        groups = self._groups(None if self.of_updates else when)
        rates = [group.rate for group in groups]
        same = [group._replace(rate=0.0) for group in groups]
        if same != [group._replace(rate=0.0) for group in self._joined_with]:
            raise OutpaceError("optimizer.step(): options of the optimizer were changed after "
                               f"wrap(){self._difference(same)}; only the learning rate can "
                               f"change, once an epoch. {OF_EACH_UPDATE}")
        if self._rates == (when, rates) or not groups:
            return None
        told_in, told = self._rates
        if rates != told and (when is None or told_in == when):
            if self.of_updates:
                raise OutpaceError(
                    f"optimizer.step(): the learning rate was changed twice for update {when}; set "
                    "it by the number that job.updates() gives, and by nothing else")
            raise OutpaceError(
                "optimizer.step(): the learning rate was changed within an epoch; the server "
                "takes one rate for each epoch of job.epochs(). Step the schedule at its end. "
                f"{OF_EACH_UPDATE}")
        self._rates = (when, rates)
        return rates if when is not None else None

    def _difference(self, groups: List[Group]) -> str:
        """The first option that is another one, such as ": momentum is 0.95, and was 0.9"."""
        for now, then in zip(groups, self._joined_with):
            for name, value in now._asdict().items():
                before = getattr(then, name)
                if name != "rate" and value != before:
                    words = [getattr(one, "name", one) for one in (value, before)]
                    return f": {name} is {words[0]}, and was {words[1]}"
        return ""

    def _groups(self, epoch: Optional[int]) -> List[Group]:
        factor = self._large.factor(epoch, self._epochs)
        return [group._replace(rate=factor * group.rate)
                for group in self._named.groups(self._optimizer)]


def schedules_of(optimizers: List[torch.optim.Optimizer]) -> List[Any]:
    """PyTorch's schedules of these optimizers. An optimizer does not know them, so they are looked
    for among all objects: some hundredths of a second."""
    kinds = torch.optim.lr_scheduler
    kind = getattr(kinds, "LRScheduler", None) or kinds._LRScheduler
    return [one for one in gc.get_objects() if issubclass(type(one), kind)
            and any(one.optimizer is optimizer for optimizer in optimizers)]


def _reader(group: Dict[str, Any]) -> Callable[[Dict[str, Any]], Any]:
    """Of the options that a group has beside its parameters."""
    options = [name for name in group if name != "params"]
    return operator.itemgetter(*options) if options else lambda _group: None
