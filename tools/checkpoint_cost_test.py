"""Tests of checkpoint_cost.py: what is read from a server's log."""

import sys
import unittest

sys.dont_write_bytecode = True
import checkpoint_cost  # noqa: E402

LOG = """
[08:00:00.001] checkpoint of update 0: the server paused for 0.9 ms, the disk took 12.0 ms
[08:00:10.001] checkpoint of update 1,234: the server paused for 2.5 ms, the disk took 40.1 ms
[08:00:15.000] worker 1 joined
[08:00:20.002] checkpoint of update 2,468: the server paused for 3.0 ms, the disk took 39.0 ms
"""


class Pauses(unittest.TestCase):
    def test_are_those_of_a_run_that_goes_on(self):
        self.assertEqual(checkpoint_cost.pauses(LOG), [2.5, 3.0])


class Copy(unittest.TestCase):
    def test_takes_time(self):
        self.assertGreater(checkpoint_cost.copy_milliseconds(1 << 20), 0)


if __name__ == "__main__":
    unittest.main()
