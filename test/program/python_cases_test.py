"""Loops that people write with PyTorch, under `outpace run`: nothing is silently wrong."""

import csv
import json
import sys
import unittest

from python_jobs import PACKAGE, PYTHON, SCRIPTS, PythonTest

CASE = SCRIPTS / "case.py"
GAN = SCRIPTS / "gan.py"


class Cases(PythonTest):
    def case(self, name, *words, workers=2, policy="sync", script=CASE, options=()):
        """What the workers printed, by process, the run's summary, and what the run said."""
        self.run = self.folder / "-".join(("run", name, *words))
        job = self.start("run", "--workers", workers, "--policy", policy, "--out", self.run,
                         *options, "--json", "--show-output", "all", "--", PYTHON, "-B", script,
                         name, *words, variables={"PYTHONPATH": PACKAGE})
        self.assertEqual(job.wait(), 0, job.err)
        self.assert_nothing_left()
        found = {}
        for log in sorted((self.run / "logs").glob("*.out")):
            for line in log.read_text().splitlines():
                if line.startswith("{"):
                    found[log.stem] = json.loads(line)
        return found, self.summary(), job.err

    def alone(self, name, *words, script=CASE):
        process = self.python(script, name, *words)
        self.finish(process)
        return self.lines(process)[-1]

    def unusable(self):
        with open(self.run / "unusable.csv", newline="") as table:
            return list(csv.DictReader(table))

    def check_left_out(self, name, why):
        found, summary, said = self.case(name)
        self.assertEqual(summary["examples_left_out"], 64, "a mini-batch of each epoch")
        rows = self.unusable()
        self.assertEqual([row["example"] for row in rows].count("100"), 2, "once an epoch")
        self.assertEqual({row["why"] for row in rows}, {why})
        self.assertEqual(len(rows), 64)
        self.assertIn("are left out: " + why, said)
        self.assertEqual(sum(one["passes"] for one in found.values()), 2 * 8 + 2 * 2,
                         "three tries of each, and no endless loop")
        return summary

    def test_an_example_that_nobody_can_compute_is_named_and_left_out(self):
        summary = self.check_left_out("corrupt", "their gradient is not finite on any worker")
        self.assertEqual(summary["gradients_refused"], 6)

    def test_a_skipped_mini_batch_is_not_leased_for_ever(self):
        self.check_left_out("skip", "no worker could compute them")

    def test_slices_of_a_mini_batch_make_one_step(self):
        found, summary, _ = self.case("accumulate", workers=1)
        self.assertEqual(found["worker-0"]["passes"], 2 * 16 * 4)
        self.assertEqual(found["worker-0"]["minibatches"], 16 * 4)
        self.assertEqual(summary["updates"], 32)
        alone = self.alone("accumulate")
        self.assertEqual((alone["passes"], alone["steps"]), (32, 8), "32 examples are a slice")

    def test_a_plain_loop_trains_and_its_names_exist_after_it(self):
        found, summary, _ = self.case("no_if", policy="async")
        self.assertEqual(summary["examples_used_per_epoch_max"], 1)
        self.assertEqual((self.folder / "made-by-rank-0").read_text(), "once\n")
        self.assertEqual({one["rank"] for one in found.values()}, {0, 1, None})
        for one in found.values():
            self.assertTrue(one["finite"] and one["copied"], one)

    def test_a_single_last_example_is_not_computed_alone(self):
        found, _, _ = self.case("odd")
        sizes = sorted(size for one in found.values() for size in one["sizes"])
        self.assertEqual(sizes[-1], 33)
        self.assertNotIn(1, sizes)

    def test_workers_draw_random_numbers_of_their_own(self):
        own = self.case("masks")[0]
        self.assertNotEqual(own["worker-0"]["mask"], own["worker-1"]["mask"])
        same = self.case("masks", "same")[0]
        self.assertEqual({tuple(one["mask"]) for one in same.values()},
                         {tuple(own["worker-0"]["mask"])}, "rank 0 goes on from the script's seed")

    def check_gan(self, how):
        found, summary, _ = self.case("train", how, script=GAN,
                                      options=("--batch", 16, "--evaluate-every", 128))
        updates = {}  # By version: epoch, and the examples of both workers.
        for worker in ("worker-0", "worker-1"):
            for version, epoch, indices in found[worker]["batches"]:
                updates.setdefault(version, (epoch, []))[1].extend(indices)
        self.assertEqual([len(indices) for _, indices in updates.values()], 12 * [32])
        epochs = [[indices for version, (epoch, indices) in sorted(updates.items())
                   if epoch == wanted] for wanted in range(3)]
        twin = self.alone("twin", how, json.dumps(epochs), self.run / "weights.safetensors", script=GAN)
        print(f"gan, {how}: relative L2 distance of the change {twin['relative_l2']:.2g}", file=sys.stderr)
        self.assertLess(twin["relative_l2"], 1e-5)
        self.assertAlmostEqual(summary["final_accuracy"], twin["measured"], places=6)
        self.assertTrue(found["worker-0"]["saved"])

    def test_two_networks_train_as_with_pytorch_alone(self):
        self.check_gan("each")

    def test_an_optimizer_may_step_more_rarely_than_another(self):
        self.check_gan("rare")

    def test_a_cancelled_pass_of_one_network_ends_the_mini_batch_for_both(self):
        found, summary, _ = self.case("cancelled", policy="backup:cutoff=1", script=GAN,
                                      options=("--updates", 40))
        passes = found["worker-1"]["cancelled"]
        self.assertIn([False, False], passes, "the first pass was cancelled, and the second not done")
        self.assertTrue(set(map(tuple, passes)) <= {(False, False), (True, False)}, passes)
        self.assertEqual(summary["workers_detail"][1]["accepted"], 0)


if __name__ == "__main__":
    unittest.main()
