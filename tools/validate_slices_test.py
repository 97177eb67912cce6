"""Tests the critical paths of validate_slices.py. Its runs need root."""

import json
import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))
import validate_slices  # noqa: E402 (its folder has just been added)

TWO = [(100, 1.0, 2.0), (100, 1.0, 2.0)]  # Bytes, forward and backward seconds of each layer.


class CriticalPath(unittest.TestCase):
    def test_of_a_fast_link_is_the_computing_and_the_first_and_last_transfer(self):
        # Each transfer takes 0.5 s: weights 0.5, computing 6, gradient of the first layer 0.5.
        self.assertAlmostEqual(validate_slices.critical_path(TWO, 1, 200), 7.0)

    def test_of_a_slow_link_is_its_transfers_and_what_does_not_overlap(self):
        # Each transfer takes 10 s: weights 20, forward and backward pass of the last layer 1 + 2, gradients 20.
        self.assertAlmostEqual(validate_slices.critical_path(TWO, 1, 10), 43.0)

    def test_workers_in_step_share_the_link(self):
        self.assertAlmostEqual(validate_slices.critical_path(TWO, 4, 40),
                               validate_slices.critical_path(TWO, 1, 10))
        self.assertAlmostEqual(validate_slices.path_of("sync", TWO, 4, 40), 43.0)

    def test_others_are_bound_by_their_own_path_or_by_the_link(self):
        self.assertAlmostEqual(validate_slices.path_of("async", TWO, 4, 200), 7.0)
        self.assertAlmostEqual(validate_slices.path_of("async", TWO, 4, 20), 40.0)


class Measured(unittest.TestCase):
    def decisions(self, every):
        """Commits with this many seconds between them, among other events."""
        for i in range(41):
            yield json.dumps({"now": int(1e9 * every * i), "actions": [{"type": "commit"}]})
            yield json.dumps({"now": int(1e9 * every * i) + 1, "actions": []})

    def test_an_iteration_of_sync_is_an_update(self):
        self.assertAlmostEqual(validate_slices.iteration_seconds(self.decisions(0.5), 4, 4), 0.5)

    def test_an_iteration_of_async_is_an_update_of_each_worker(self):
        self.assertAlmostEqual(validate_slices.iteration_seconds(self.decisions(0.5), 4, 1), 2.0)


class Layers(unittest.TestCase):
    def test_have_the_bytes_and_times_of_their_network(self):
        for network in validate_slices.NETWORKS.values():
            layers = validate_slices.layers_of(network)
            self.assertAlmostEqual(sum(size for size, _, _ in layers), network["bytes"], delta=64)
            self.assertAlmostEqual(sum(forward for _, forward, _ in layers), network["forward"])
            self.assertAlmostEqual(sum(backward for _, _, backward in layers), network["backward"])


if __name__ == "__main__":
    unittest.main()
