"""resnet_measured.py EXAMPLES DATA WIDTH WEIGHTS...: what one process measures with such files.

Prints for each file {"accuracy": ..., "loss": ..., "farthest_from_new": ...}; the last is how far a
running variance is from 1 at most.
"""

import json
import sys

import torch

from outpace.torch import _safetensors

sys.path.insert(0, sys.argv[1])
import cifar  # noqa: E402 (its folder has just been added)
import resnet  # noqa: E402


def main():
    torch.set_num_threads(1)
    images, classes = cifar.read(sys.argv[2], "test_batch.bin")
    for path in sys.argv[4:]:
        net = resnet.resnet18(int(sys.argv[3]))
        net.load_state_dict(_safetensors.read(path))
        accuracy, loss = resnet.accuracy_and_loss(net, images, classes)
        print(json.dumps({"accuracy": accuracy, "loss": loss, "farthest_from_new": max(
            (tensor - 1).abs().max().item() for name, tensor in net.named_buffers()
            if name.endswith("running_var"))}))


if __name__ == "__main__":
    main()
