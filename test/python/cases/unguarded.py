"""No `if __name__ == "__main__"`, and a DataLoader whose processes are spawned, so that each runs the
script again; tested by python_kinds_test.py."""

import torch
import torch.nn.functional as F
from torch.utils.data import TensorDataset

import outpace.torch as op

net = torch.nn.Linear(4, 1)
job = op.init()
net, optimizer = job.wrap(net, torch.optim.SGD(net.parameters(), lr=0.1))
data = job.loader(TensorDataset(torch.randn(64, 4), torch.randn(64, 1)), num_workers=1,
                  multiprocessing_context="spawn")
for _ in job.epochs(1):
    for a, b in data:
        if job.backward(F.mse_loss(net(a), b)):
            optimizer.step()
