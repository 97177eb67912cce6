"""`outpace plan`: the best cluster, by a measured profile and by a calibrated one."""

import json
import sys

sys.dont_write_bytecode = True
from jobs import ProgramTest, main  # noqa: E402
from profile_test import profile  # noqa: E402

EXIT_USAGE = 2


class Plan(ProgramTest):
    def setUp(self):
        super().setUp()
        # 8 examples in 20 ms, and a server whose link takes a gradient of 4 kB in 8 ms.
        self.path("p.json", json.dumps(profile()))

    def outpace(self, *words, code=0):
        process = self.start(*words)
        self.assertEqual(process.wait(), code, process.err)
        return process

    def plan(self, *words):
        return json.loads(self.outpace("plan", "p.json", *words, "--json").out)

    def refuse(self, says, *words, profile="p.json"):
        with self.subTest(" ".join(map(str, words))):
            process = self.outpace("plan", profile, *words, code=EXIT_USAGE)
            self.assertEqual(process.out, "")
            self.assertEqual(len(process.err.splitlines()), 1, process.err)
            self.assertIn(says, process.err)


class Measured(Plan):
    def test_the_fastest_is_taken_and_the_beaten_are_left_out(self):
        found = self.plan("--workers", "1..4", "--policy", "sync,async", "--topology", "ps,ring",
                          "--server-cost", "0.5")
        self.assertEqual(found["configurations"], 12)
        taken = found["recommended"]
        self.assertEqual(taken, found["plan"][0])
        self.assertEqual(taken["workers"], 4)
        self.assertEqual(taken["model"], "fine")
        self.assertAlmostEqual(taken["examples_per_second"], 4 * 8 / 0.0202, delta=40)
        for one, other in zip(found["plan"], found["plan"][1:]):
            self.assertGreater(one["examples_per_second"], other["examples_per_second"])
            self.assertGreater(one["cost_per_hour"], other["cost_per_hour"])
        for one in found["plan"]:
            self.assertEqual(one["cost_per_hour"],
                             one["workers"] + (0.5 if one["topology"] == "ps" else 0))
            self.assertAlmostEqual(one["per_cost"],
                                   3600 * one["examples_per_second"] / one["cost_per_hour"])

    def test_a_target_is_reached_as_cheaply_as_it_can(self):
        found = self.plan("--workers", "1..8", "--policy", "async", "--target", "1000")
        self.assertTrue(found["target_reached"])
        self.assertEqual(found["recommended"]["workers"], 3)  # 1,188; two have 792.
        text = self.outpace("plan", "p.json", "--workers", "1..8", "--policy", "async", "--target",
                            "1000").out.splitlines()
        self.assertEqual(text[0].split(), ["policy", "workers", "examples/s", "interval", "cost/h",
                                           "examples/cost", "bottleneck"])
        self.assertLessEqual(max(map(len, text)), 80)
        self.assertIn("Take async on ps with 3 workers and 1 shard: 1,1", "\n".join(text))

    def test_a_target_out_of_reach_is_said_to_be(self):
        found = self.plan("--workers", "1..16", "--policy", "async", "--bandwidth", "1Mbps",
                          "--iterations", "100", "--target", "5000")
        self.assertFalse(found["target_reached"])
        self.assertIsNone(found["recommended"])
        self.assertIn("None of 16 configurations reaches 5,000/s", found["why"])
        self.assertIn("its bottleneck is server link", found["why"])
        self.assertLess(found["closest"]["examples_per_second"], 8 / 0.0334)

    def test_the_link_makes_more_workers_dear(self):
        words = ("--workers", "1..16", "--policy", "async", "--bandwidth", "2Mbps")
        fastest = self.plan(*words)["recommended"]
        best = self.plan(*words, "--objective", "cost")["recommended"]
        self.assertLess(best["workers"], fastest["workers"])
        self.assertGreater(best["per_cost"], fastest["per_cost"])

    def test_goodput_counts_what_is_mixed(self):
        # phi + 8 over phi + M: 16 / 24 of two workers' rounds, 16 / 72 of eight.
        words = ("--workers", "1,2,8", "--policy", "sync,async", "--objective", "goodput",
                 "--noise-scale", "8", "--top", "20", "--server-cost", "0")
        found = self.plan(*words)
        for one in found["plan"]:
            with self.subTest(one["policy"], workers=one["workers"]):
                mixed = 8 * one["workers"]  # For async: the gradients in flight, but for the start.
                self.assertAlmostEqual(one["mixed_examples"] / mixed, 1, delta=0.03)
                self.assertAlmostEqual(one["efficiency"], 16 / (8 + one["mixed_examples"]))
                self.assertAlmostEqual(one["goodput"],
                                       one["efficiency"] * one["examples_per_second"])
        self.assertLess(found["recommended"]["goodput"], 2 * 8 / 0.02)  # phi + 8 is the most.

    def test_noise_comes_from_a_run(self):
        self.path("run").mkdir()
        self.path("run/summary.json", json.dumps({"gradient_noise_scale": 24.0}))
        words = ("--workers", "1,2", "--policy", "sync", "--objective", "goodput")
        self.assertEqual(self.plan(*words, "--noise-from", "run"),
                         self.plan(*words, "--noise-scale", "24"))

    def test_percentages_follow_the_workers(self):
        found = self.plan("--workers", "10,20", "--policy", "backup:cutoff=90%", "--top", "2")
        self.assertEqual({one["policy"] for one in found["plan"]},
                         {"backup:cutoff=9", "backup:cutoff=18"})

    def test_a_gossip_over_a_slow_link_is_not_recommended(self):
        words = ("--workers", "1..8", "--policy", "sync,async", "--topology", "ps,ring,gossip",
                 "--bandwidth", "100kbps")
        self.assertNotEqual(self.plan(*words)["recommended"]["topology"], "gossip")
        self.assertNotIn("gossip free", self.outpace("plan", "p.json", *words).err)
        # Who asks for one whose gradients wait for nobody is told that its workers hardly meet.
        free = self.outpace("plan", "p.json", *words, "--gossip", "free")
        self.assertIn("gossip", free.out)
        self.assertIn("with --gossip free no gradient waits for a meeting: here a meeting takes 0.33 s "
                      "and a gradient 0.02 s, so a worker meets another at most once in 17 gradients",
                      free.err)

    def test_what_cannot_be_run_is_not_recommended(self):
        words = ("--workers", "8", "--policy", "async", "--bandwidth", "1Mbps", "--server-cost", "0.1")
        found = self.plan(*words, "--shards", "1,4")
        self.assertEqual(found["recommended"]["shards"], 1)
        self.assertEqual([one["can_run"] for one in found["plan"]], [True, False])
        self.assertIn("of 1 configuration that train has", found["why"])
        only = self.plan(*words, "--shards", "4")
        self.assertEqual(only["recommended"]["shards"], 4)
        self.assertIn("train has no shards yet, so it cannot be run.", only["why"])

    def test_a_slow_link_recommends_no_gossip(self):
        words = ("--workers", "1..16", "--topology", "ps,ring,gossip", "--bandwidth", "50kbps")
        found = self.plan(*words)  # A worker alone: 4 kB take 670 ms, and a mini-batch takes 20.
        self.assertEqual((found["recommended"]["topology"], found["recommended"]["workers"]), ("ring", 1))
        self.assertEqual(found["left_out"], ["a gossip takes at least 2 workers"])
        free = self.plan(*words, "--gossip", "free")
        self.assertEqual(free["recommended"]["topology"], "gossip")
        self.refuse("--topology gossip: a gossip takes at least 2 workers", "--workers", "1",
                    "--topology", "gossip")

    def test_each_way_of_a_gossip_follows_the_links(self):
        def rate(*words):
            found = self.plan("--workers", "8", "--topology", "gossip", "--bandwidth", "1Mbps", *words)
            return found["recommended"]["examples_per_second"]
        # 4 kB take 33.5 ms, and a mini-batch of 8 takes 20. Two workers take part in a meeting, and
        # one lends its link to a pull.
        self.assertLess(rate(), 4 * 8 / 0.0335)
        self.assertLess(rate("--gossip", "pull"), 8 * 8 / 0.0335)
        self.assertGreater(rate("--gossip", "pull"), rate())
        self.assertGreater(rate("--graph", "ring"), rate())
        self.assertGreater(rate("--average-every", "10"), 2 * rate())
        easgd = self.outpace("plan", "p.json", "--workers", "8", "--topology", "gossip", "--gossip",
                             "easgd", "--average-every", "1", "--bandwidth", "1Mbps")
        self.assertIn("the first worker computes most of the gradients", easgd.err)
        self.refuse("--gossip belongs to --topology gossip", "--workers", "8", "--gossip", "pull")
        self.refuse("--graph conflicts with --gossip easgd", "--workers", "8", "--topology", "gossip",
                    "--gossip", "easgd", "--graph", "ring")

    def test_a_gossip_is_verified_too(self):
        found = self.plan("--workers", "2", "--topology", "gossip")
        self.assertEqual(found["recommended"]["model"], "fine")


class Noise(Plan):
    def test_a_run_that_measures_it_says_so(self):
        for policy, measures in (("dynamic:objective=progress", True), ("sync", False)):
            found = json.loads(self.outpace("train", "--workers", "3", "--policy", policy,
                                            "--network", "mlp", "--updates", "60", "--out", policy,
                                            "--json").out)
            with self.subTest(policy):
                written = json.loads((self.folder / policy / "summary.json").read_text())
                self.assertEqual(written["gradient_noise_scale"], found["gradient_noise_scale"])
                if measures:
                    self.assertGreater(found["gradient_noise_scale"], 1)
                    self.assertLess(found["gradient_noise_scale"], 1e5)
                else:
                    self.assertIsNone(found["gradient_noise_scale"])
        plan = self.plan("--workers", "1,2", "--objective", "goodput", "--noise-from",
                         "dynamic:objective=progress")
        self.assertGreater(plan["noise_scale"], 1)
        # Its last evaluation is what is reached.
        noisy = json.loads((self.folder / "dynamic:objective=progress/summary.json").read_text())
        self.assertEqual(plan["reached"]["what"], f"{100 * noisy['last_accuracy']:.1f} %")
        self.assertGreater(plan["recommended"]["seconds_to_reached"], 0)


class Calibrated(Plan):
    def setUp(self):
        super().setUp()
        rows = [f"{workers},{nodes},32,{0.1 + 0.01 * workers.bit_length() * (workers > 1)},sync"
                for workers, nodes in ((1, 1), (2, 1), (4, 1), (4, 4), (8, 4), (8, 8), (16, 8))]
        self.path("t.csv", "workers,nodes,batch_per_worker,iteration_seconds,policy\n" +
                  "\n".join(rows) + "\n")
        self.outpace("calibrate", "t.csv", "-o", "c.json")

    def test_is_planned_with_too(self):
        found = json.loads(self.outpace("plan", "c.json", "--workers", "1..16", "--target", "1000",
                                        "--json").out)
        self.assertTrue(found["target_reached"])
        taken = found["recommended"]
        self.assertEqual((taken["model"], taken["policy"]), ("calibrated", "sync"))
        self.assertLess(taken["workers"], 8)
        self.assertEqual(taken["cost_per_hour"], taken["workers"])
        self.assertEqual(taken["warnings"], [])

    def test_says_what_goes_beyond_the_calibration(self):
        words = ("plan", "c.json", "--workers", "8,64", "--target", "2000")
        taken = json.loads(self.outpace(*words, "--json").out)["recommended"]
        self.assertEqual(taken["workers"], 64)
        beyond = "more workers than were measured, 16 at most"
        self.assertIn(beyond, taken["warnings"])
        self.assertIn(f"sync with 64 workers: {beyond}", self.outpace(*words).out)

    def test_says_what_it_cannot(self):
        self.refuse("'async' was not calibrated", "--policy", "async", profile="c.json")
        self.refuse("--bandwidth conflicts with a calibrated profile", "--bandwidth", "1Gbps",
                    profile="c.json")
        self.refuse("--shards conflicts with a calibrated profile", "--shards", "2",
                    profile="c.json")
        self.refuse("--runtime conflicts with a calibrated profile", "--runtime", "constant(1s)",
                    profile="c.json")


class BadInput(Plan):
    def test_options(self):
        self.path("run").mkdir()
        self.path("run/summary.json", json.dumps({"gradient_noise_scale": None}))
        goodput = ("--objective", "goodput")
        self.refuse("--workers is '0'", "--workers", "0")
        self.refuse("--workers is '9..2'", "--workers", "9..2")
        self.refuse("--workers is ''", "--workers", "")
        self.refuse("--shards is '0'", "--shards", "0")
        self.refuse("--send-window is '1B'; it takes a size with its unit, at least 1kB",
                    "--bandwidth", "1Gbps", "--send-window", "1B")
        self.refuse("--worker-cost is '0'; it takes a number from 1e-09", "--worker-cost", "0")
        self.refuse("--worker-cost is '1e308'", "--worker-cost", "1e308")
        self.refuse("--worker-cost is 'nan'", "--worker-cost", "nan")
        self.refuse("--server-cost is '-1'; it takes a number from 0 to", "--server-cost", "-1")
        self.refuse("--target is -5", "--target", "-5")
        self.refuse("--target is 0", "--target", "0")
        self.refuse("--objective is 'speed'; it takes rate, cost or goodput", "--objective", "speed")
        self.refuse("--noise-scale 850, in examples, or --noise-from RUN", *goodput)
        self.refuse("--noise-scale is 0", *goodput, "--noise-scale", "0")
        self.refuse("--noise-scale conflicts with --objective rate", "--noise-scale", "10")
        self.refuse("--noise-scale conflicts with --noise-from", *goodput, "--noise-scale", "10",
                    "--noise-from", "run")
        self.refuse("run/summary.json: gradient_noise_scale was not measured", *goodput, "--noise-from", "run")
        self.refuse("absent/summary.json", *goodput, "--noise-from", "absent")
        self.refuse("--topology is 'star'", "--topology", "star")
        self.refuse("unknown policy 'asink'", "--policy", "asink")
        self.refuse("unknown policy 'asink'", "--policy", "sync,asink", "--workers", "4")
        self.refuse("--policy : '': a name is missing", "--policy", "sync,,async")
        self.refuse("cutoff is '99'", "--policy", "backup:cutoff=99", "--workers", "1..4")
        self.refuse("more than 100000 configurations", "--workers", "1..9000", "--shards", "1..16")
        self.refuse("--batch conflicts with a measured profile", "--batch", "8")
        self.refuse("absent.json", profile="absent.json")


if __name__ == "__main__":
    main()
