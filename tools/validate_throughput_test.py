"""Tests the options and rows of validate_throughput.py. Its runs need root and take minutes."""

import json
import pathlib
import random
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))
import network_hosts  # noqa: E402 (its folder has just been added)
import validate_throughput  # noqa: E402


class Rows(unittest.TestCase):
    def test_are_of_every_network_rate_number_and_policy_that_is_possible(self):
        options = validate_throughput.parse(
            ["--workers", "1", "4", "--policies", "sync", "backup:cutoff=3", "--networks", "mlp",
             "--topologies", "ring", "--rates", "100", "200", "--computing", "cnn"])
        rows = list(validate_throughput.rows_of(options))
        paced = [(row["link"], row["workers"], row["policy"], bool(row["slow"]))
                 for row in rows if row["paced"]]
        self.assertEqual(paced, [(rate, *rest) for rate in (100, 200)
                                 for rest in ((1, "sync", False), (4, "sync", False),
                                              (4, "backup:cutoff=3", False), (4, "ring", False),
                                              (4, "sync", True), (4, "backup:cutoff=3", True),
                                              (4, "ring", True))])
        self.assertEqual([(row["model"], row["workers"]) for row in rows if not row["paced"]],
                         [("cnn", 1), ("cnn", 1), ("cnn", 2), ("cnn", 2)])

    def test_of_workers_in_phase_by_chance_there_are_several_runs(self):
        self.assertEqual([validate_throughput.runs_of("async", workers, []) for workers in (1, 2, 4, 16)],
                         [1, 16, 8, 2])
        self.assertEqual(validate_throughput.runs_of("sync", 4, []), 1)
        self.assertEqual(validate_throughput.runs_of("ssp:s=3", 4, ["worker=3,factor=40"]), 1)
        self.assertEqual(validate_throughput.runs_of("backup:cutoff=3", 4, []), 8)

    def test_where_there_is_no_prediction_there_is_no_error(self):
        self.assertIsNone(validate_throughput.off({"measured": 1.0, "fine": None}, "fine"))

    def test_the_rate_is_of_what_came_after_the_first_fifth_in_whole_groups(self):
        # Two workers one after the other, 0.1 s apart, every second; the first second took ten.
        lines = ['{"outpace_decisions":1}']
        for second in range(20):
            for worker in (0, 1):
                now = (10 if second else 0) + second + 0.1 * worker
                lines.append(json.dumps({
                    "now": int(now * 1e9),
                    "event": {"type": "gradient_arrived", "worker": worker, "examples": 8},
                    "actions": [{"type": "accept", "worker": worker}, {"type": "commit"}]}))
        self.assertAlmostEqual(validate_throughput.steady_rate(lines), 16.0)

    def test_the_rate_of_a_gossip_is_of_what_came_after_its_first_fifth(self):
        # 10 a second for two seconds, then 20; an evaluation is no moment.
        lines = [json.dumps({"seconds": second, "examples": 10 * second + 10 * max(0, second - 2),
                             "live": 2}) for second in range(11)]
        lines.insert(3, '{"seconds":2.5,"examples":999,"accuracy":0.5}')
        self.assertAlmostEqual(validate_throughput.rate_of_moments(lines), 20.0)
        with self.assertRaises(validate_throughput.measured_runs.RunFailed):
            validate_throughput.rate_of_moments(lines[:1])

    def test_a_gossip_may_have_a_graph(self):
        self.assertEqual(validate_throughput.gossip_words("gossip:coupled:ring"),
                         ["--gossip", "coupled", "--graph", "ring"])
        self.assertEqual(validate_throughput.gossip_words("gossip:pull"), ["--gossip", "pull"])
        self.assertEqual(validate_throughput.gossip_words("ring"), [])

    def test_a_table_counts_busy_rows_apart(self):
        row = {"model": "mlp", "link": 200, "workers": 2, "policy": "gossip:pull", "slow": [],
               "measured": 100.0, "fine": 104.0, "coarse": 90.0, "plain": 200.0, "load": 0.2,
               "stolen": 0.0}
        text = validate_throughput.markdown([row, {**row, "policy": "sync", "load": 0.9}])
        self.assertIn("| all | 2 | 4.0 %, 4.0 %, 4.0 % |", text)
        self.assertIn("| gossip, pull | 1 | 4.0 %", text)
        self.assertNotIn("| `sync` |", text)
        self.assertIn("| mlp | 200 | 2 | sync | 100.0 | +4.0 % | -10.0 % | 90 %, 0 %, does not count |",
                      text)

    def test_errors_are_relative_to_what_was_measured(self):
        rows = [{"measured": 100.0, "fine": 104.0, "coarse": 90.0, "plain": 200.0},
                {"measured": 100.0, "fine": 98.0, "coarse": 100.0, "plain": 50.0},
                {"measured": 100.0, "fine": 99.0, "coarse": 101.0, "plain": 100.0}]
        found = validate_throughput.summary(rows)
        for what, median, worst in (("fine", 2.0, 4.0), ("coarse", 1.0, 10.0),
                                    ("plain", 50.0, 100.0)):
            self.assertAlmostEqual(found[what][0], median)
            self.assertAlmostEqual(found[what][2], worst)
        many = [{"measured": 100.0, "fine": 100.0 + i, "coarse": None, "plain": None}
                for i in range(1, 21)]
        self.assertAlmostEqual(validate_throughput.summary(many)["fine"][1], 19.0)  # 19 of 20 rows.

    def test_what_the_host_disturbs_is_measured_again(self):
        def measured(*runs):
            left = list(runs)
            return validate_throughput.least_stolen(lambda: left.pop(0)), len(left)
        self.assertEqual(measured((9, 0.5, 0.01), (8, 0.5, 0.0)), ((9, 0.5, 0.01), 1))
        self.assertEqual(measured((9, 0.5, 0.2), (8, 0.5, 0.0)), ((8, 0.5, 0.0), 0))
        self.assertEqual(measured((9, 0.5, 0.2), (8, 0.5, 0.1), (7, 0.5, 0.3), (6, 0.5, 0.0)),
                         ((8, 0.5, 0.1), 1))

    def test_workers_begin_once_in_each_part_of_an_iteration(self):
        row = {"policy": "ssp:s=3", "slow": [], "workers": 3, "batch": 10, "fine": 10.0, "runs": 6,
               "weights": 0.0}
        found = validate_throughput.beginnings(row, random.Random(1))  # An iteration is 3 s.
        self.assertEqual({begins[0] for begins in found}, {0.0})
        for worker in (1, 2):
            self.assertEqual(sorted(int(2 * begins[worker]) for begins in found), list(range(6)))
        later = validate_throughput.beginnings({**row, "weights": 5.0}, random.Random(1))
        self.assertEqual({begins[0] for begins in later}, {5.0})
        self.assertGreaterEqual(min(map(min, later)), 5.0)
        self.assertEqual(validate_throughput.beginnings({**row, "policy": "sync", "runs": 1},
                                                        random.Random(1)), [None])

    def test_a_run_is_long_enough_for_its_bound_to_bind(self):
        # Behind by 0.039 s of each 0.4 (4 workers of 10 examples at 100 a second): 400 / 39 x 3 x 5.
        row = {"workers": 4, "policy": "ssp:s=3", "fine": 100.0, "slow": ["worker=3,factor=40"]}
        rounds = validate_throughput.rounds_until_bound
        self.assertEqual(rounds(row, 10, 0.001), 154)
        self.assertEqual(rounds(row, 10, 1e-6), 300)
        self.assertEqual(rounds({**row, "slow": []}, 10, 0.001), 0)
        self.assertEqual(rounds({**row, "policy": "sync"}, 10, 0.001), 0)

    def test_load_is_a_share(self):
        load = validate_throughput.Load()
        sum(range(10**6))
        busy, stolen = load.now()
        self.assertTrue(0.0 < busy <= 1.0)
        self.assertTrue(0.0 <= stolen <= 1.0)


class Addresses(unittest.TestCase):
    def test_are_of_each_host_another(self):
        hosts = network_hosts.Hosts(500, "1gbit")
        self.assertEqual(hosts.address(0), "10.77.0.1")
        self.assertEqual(len({hosts.address(host) for host in range(500)}), 500)


if __name__ == "__main__":
    unittest.main()
