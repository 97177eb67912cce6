"""Tests the properties of each regime of make_delays.py."""

import pathlib
import statistics
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))
import make_delays  # noqa: E402 (its folder has just been added)


def columns(regime, workers=8, iterations=4000, machines=4, base=0.02, seed=1):
    rows = list(make_delays.delays(regime, workers, iterations, machines, base, seed))
    return list(zip(*rows))


class Delays(unittest.TestCase):
    def test_every_delay_is_positive_and_bounded(self):
        for regime in make_delays.REGIMES:
            for column in columns(regime):
                self.assertGreater(min(column), 0.0)
                self.assertLessEqual(max(column), 0.02 * make_delays.SLOWDOWN_MAX)

    def test_a_seed_gives_the_same_rows_and_another_seed_others(self):
        for regime in make_delays.REGIMES:
            self.assertEqual(columns(regime, iterations=20), columns(regime, iterations=20))
            self.assertNotEqual(columns(regime, iterations=20),
                                columns(regime, iterations=20, seed=2))

    def test_calm_workers_are_alike(self):
        for column in columns("calm"):
            self.assertAlmostEqual(statistics.mean(column), 0.02, delta=0.0005)

    def test_fixed_slows_the_last_quarter_four_times(self):
        means = [statistics.mean(column) for column in columns("fixed")]
        self.assertEqual([round(mean / 0.02) for mean in means], [1, 1, 1, 1, 1, 1, 4, 4])

    def test_mixed_machines_are_evenly_up_to_three_times_as_slow(self):
        means = [statistics.mean(column) / 0.02 for column in columns("mixed")]
        for mean, right in zip(means, [1, 1, 5 / 3, 5 / 3, 7 / 3, 7 / 3, 3, 3]):
            self.assertAlmostEqual(mean, right, delta=0.03)
        alone = [statistics.mean(column) / 0.02 for column in columns("mixed", machines=1)]
        self.assertAlmostEqual(alone[0], 1.0, delta=0.03)

    def test_drifting_slows_the_workers_of_a_machine_together_and_for_long(self):
        first, second, other = (columns("drifting")[i] for i in (0, 1, 2))
        self.assertGreater(statistics.correlation(first, second), 0.9)
        self.assertLess(abs(statistics.correlation(first, other)), 0.5)
        self.assertGreater(statistics.correlation(first[:-10], first[10:]), 0.8)

    def test_bursty_is_calm_most_of_the_time(self):
        for column in columns("bursty"):
            self.assertAlmostEqual(statistics.median(column), 0.02, delta=0.0005)
            self.assertGreater(max(column), 0.1)

    def test_any_number_of_workers(self):
        for workers in (1, 3, 100):
            self.assertEqual(len(columns("fixed", workers, 3, min(4, workers))), workers)

    def test_the_file_has_a_row_an_iteration_and_a_column_a_worker(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "delays.csv"
            make_delays.main(["--workers", "3", "--iterations", "5", str(path)])
            rows = [line.split(",") for line in path.read_text().splitlines()]
            self.assertEqual([len(row) for row in rows], [3] * 5)
            self.assertTrue(all(float(cell) > 0 for row in rows for cell in row))


if __name__ == "__main__":
    unittest.main()
