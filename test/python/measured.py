"""measured.py WEIGHTS: what one process measures with the weights and buffers of a safetensors file.

Prints {"accuracy": ..., "statistics": ...}.
"""

import json
import sys

import torch

from outpace.torch import _safetensors
from script import accuracy, network, statistics


def main():
    torch.set_num_threads(1)
    net = network(normalised=True)
    net.load_state_dict(_safetensors.read(sys.argv[1]))
    print(json.dumps({"accuracy": accuracy(net)[0], "statistics": statistics(net)}))


if __name__ == "__main__":
    main()
