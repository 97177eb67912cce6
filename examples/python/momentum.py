"""SGD with momentum on Fashion-MNIST; its rate may grow with the workers (--scale-rate).

    python3 momentum.py                              # alone
    outpace run --workers 4 -- python3 momentum.py   # on Outpace

The lines marked + are all that was added.
"""

import argparse

import torch
import torch.nn.functional as F
from torch import nn

import outpace.torch as op  # +

import fashion


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, stride=2)
        self.conv2 = nn.Conv2d(8, 16, 3, stride=2)
        self.fc1 = nn.Linear(576, 64)
        self.fc2 = nn.Linear(64, 10)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.relu(self.conv2(x))
        x = F.relu(self.fc1(torch.flatten(x, 1)))
        return self.fc2(x)


def accuracy_and_loss(net, test):
    net.eval()
    with torch.no_grad():
        images, classes = test
        answers = net(images)
    net.train()
    return ((answers.argmax(1) == classes).float().mean().item(),
            F.cross_entropy(answers, classes).item())


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--epochs", type=int, default=3)
    options.add_argument("--lr", type=float, default=0.05)
    options.add_argument("--momentum", type=float, default=0.9)
    options.add_argument("--examples", type=int, default=60_000, help="of the data set, the first")
    options.add_argument("--seed", type=int, default=1, help="of the network")
    options.add_argument("--device", default="cpu", help="cuda for a GPU")
    options.add_argument("--scale-rate", action="store_true",
                         help="multiply the rate by the number of workers' gradients of an update")
    options.add_argument("--save", metavar="FILE", help="write the network there, as safetensors")
    args = options.parse_args()

    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    train = fashion.load("train", args.examples)
    test = [one.to(args.device) for one in fashion.load("t10k").tensors]
    net = Net().to(args.device)
    optimizer = torch.optim.SGD(net.parameters(), lr=args.lr, momentum=args.momentum)

    job = op.init()  # +
    net, optimizer = job.wrap(net, optimizer, scale_rate=args.scale_rate)  # +
    data = job.loader(train)  # +, in place of DataLoader(train, shuffle=True, batch_size=32)

    for _ in job.epochs(args.epochs):  # +, in place of range(args.epochs)
        for images, classes in data:
            loss = F.cross_entropy(net(images.to(args.device)), classes.to(args.device))
            if job.backward(loss):  # +, in place of loss.backward()
                optimizer.step()
        job.evaluate(lambda: accuracy_and_loss(net, test))  # +

    if args.save:
        job.save(args.save)
    print(f"{job.version} updates, accuracy {accuracy_and_loss(net, test)[0]:.3f}")


if __name__ == "__main__":
    main()
