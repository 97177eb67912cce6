"""Tests the arithmetic of transfer_lag.py, and a transfer between two processes of this host."""

import contextlib
import io
import socket
import threading
import types
import unittest

import transfer_lag


class Lag(unittest.TestCase):
    def test_a_transfer_with_its_equal_share_is_not_behind(self):
        alone = transfer_lag.BYTES / (200e6 / 8 * transfer_lag.PAYLOAD_OF_LINK)
        self.assertAlmostEqual(transfer_lag.kilobytes_behind(alone, 0, 200), 0.0)
        self.assertAlmostEqual(transfer_lag.kilobytes_behind(4 * alone, 3, 200), 0.0)

    def test_what_the_link_carries_meanwhile_counts(self):
        alone = transfer_lag.BYTES / (200e6 / 8 * transfer_lag.PAYLOAD_OF_LINK)
        self.assertAlmostEqual(transfer_lag.kilobytes_behind(1.009 * alone, 0, 200), 9.0)

    def test_a_probe_prints_how_long_each_transfer_took(self):
        with socket.create_server(("127.0.0.1", 0)) as listening:
            def serve():
                connection, _ = listening.accept()
                with connection:
                    transfer_lag.take(connection)
            taking = threading.Thread(target=serve)
            taking.start()
            port, transfer_lag.PORT = transfer_lag.PORT, listening.getsockname()[1]
            printed = io.StringIO()
            try:
                with contextlib.redirect_stdout(printed):
                    transfer_lag.probes(types.SimpleNamespace(to="127.0.0.1", repeats=3, seed=1))
            finally:
                transfer_lag.PORT = port
            taking.join()
        seconds = [float(line) for line in printed.getvalue().split()]
        self.assertEqual(len(seconds), 3)
        self.assertTrue(all(one > 0.0 for one in seconds))


if __name__ == "__main__":
    unittest.main()
