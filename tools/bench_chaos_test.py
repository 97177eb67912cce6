"""bench_chaos.py: the deaths that it draws, and its cells. `make bench-chaos` runs the real programs."""

import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))
import bench_chaos  # noqa: E402 (its folder has just been added)


class Deaths(unittest.TestCase):
    def test_the_seed_alone_brings_them_back(self):
        self.assertEqual(bench_chaos.draw_deaths(1, 8, 15, 600),
                         bench_chaos.draw_deaths(1, 8, 15, 600))
        self.assertNotEqual(bench_chaos.draw_deaths(1, 8, 15, 600),
                            bench_chaos.draw_deaths(2, 8, 15, 600))

    def test_each_worker_dies_as_often_as_asked(self):
        deaths = bench_chaos.draw_deaths(1, 8, 15, 16_000)
        self.assertEqual(deaths, sorted(deaths))
        for worker in range(8):
            count = sum(1 for _, one in deaths if one == worker)
            # One in 16 s with the second that it is away: 1000, give or take four deviations.
            self.assertAlmostEqual(count, 1000, delta=126)

    def test_a_worker_that_is_away_does_not_die(self):
        for worker in range(8):
            times = [at for at, one in bench_chaos.draw_deaths(3, 8, 15, 1600) if one == worker]
            self.assertTrue(all(after - before >= bench_chaos.BACK_AFTER
                                for before, after in zip(times, times[1:])))

    def test_without_deaths_there_are_none(self):
        self.assertEqual(bench_chaos.draw_deaths(1, 8, None, 600), [])


class Cells(unittest.TestCase):
    def test_they_have_the_share_of_what_it_is_without_deaths(self):
        self.assertEqual(bench_chaos.cell(450.2, 900.0), "450 (50 %)")
        self.assertEqual(bench_chaos.cell(450.2, 0.0), "450")


if __name__ == "__main__":
    unittest.main()
