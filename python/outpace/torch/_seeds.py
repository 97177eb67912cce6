"""Random numbers that differ from worker to worker, each reproducible from the seed and its rank.

A script that calls torch.manual_seed() does so on every worker, and without a call PyTorch's seed is
a constant. Either way all workers would draw the same dropout masks and the same augmentation.
"""

import hashlib
import random
import sys

import torch

WAYS = ("own", "same")


def draw_own(rank: int) -> None:
    """Seeds PyTorch's, Python's and numpy's global generators by (PyTorch's seed, rank).

    Rank 0 goes on from where the script is, so that one worker draws what a script alone draws.
    """
    if rank == 0:
        return
    seed = seed_of(torch.initial_seed(), rank)
    torch.manual_seed(seed)  # This seeds the GPUs, too.
    random.seed(seed)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(seed % 2**32)


def seed_of(seed: int, rank: int) -> int:
    """A seed of 63 bits for this worker."""
    digest = hashlib.sha256(f"{seed} {rank}".encode()).digest()
    return int.from_bytes(digest[:8], "little") >> 1
