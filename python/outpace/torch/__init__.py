"""PyTorch on Outpace: the training loop of one process, on many machines of unequal speed.

    import outpace.torch as op

    job = op.init()                                  # of `outpace run`, a launcher, or alone
    net, opt = job.wrap(net, opt)                    # the server makes the optimizer's steps
    data = job.loader(train, num_workers=2)
    for epoch in job.epochs(50):
        for x, y in data:
            loss = F.cross_entropy(net(x), y)
            if job.backward(loss):                   # False: the server does not want it any more
                opt.step()                           # pushes, hears the verdict, has new weights
        schedule.step()
        job.evaluate(lambda: accuracy(net, test))    # not on the workers' time

With job.wrap(net, opt, local_steps=50) the loop is PyTorch's plain one, loss.backward() and opt.step(),
and one step in 50 talks to the server (docs/local-steps.md).

`python3 train.py` alone runs the same loop with PyTorch's own optimizer.
"""

from outpace._error import OutpaceError
from outpace.torch._job import Job
from outpace.torch._optimizers import LAMB, ByServer, YellowFin
from outpace.torch._roles import init
from outpace.worker import Outcome, Verdict

__all__ = ["LAMB", "ByServer", "Job", "Outcome", "OutpaceError", "Verdict", "YellowFin", "init"]
