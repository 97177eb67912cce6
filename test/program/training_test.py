"""N synchronous workers equal one process with an N times larger batch, to the number."""

import json
import sys

sys.dont_write_bytecode = True
from jobs import ProgramTest, main, read_weights  # noqa: E402


class Training(ProgramTest):
    def train(self, name, *options):
        """The weights of a run, and its summary."""
        run = self.folder / name
        process = self.start("train", "--policy", "sync", "--out", run, "--json", *options)
        self.assertEqual(process.wait(), 0, process.err)
        self.assert_nothing_left()
        return read_weights(run / "weights.safetensors")[0], json.loads(process.out)


class Sync(Training):
    UPDATES = 100

    def both(self, name, *options):
        return self.train(name, "--updates", self.UPDATES, "--seed", 11, "--lr", 0.1, *options)

    def test_four_workers_are_one_with_four_times_the_batch(self):
        four, summary = self.both("four", "--workers", 4, "--batch", 16)
        one, of_one = self.both("one", "--workers", 1, "--batch", 64)
        self.assertEqual(summary["examples"], of_one["examples"])
        self.assertEqual(summary["staleness"]["max"], 0)
        self.assertEqual(len(four), len(one))
        start, _ = self.train("start", "--workers", 1, "--updates", 1, "--seed", 11, "--lr", 0)
        scale = max(map(abs, one))
        difference = max(abs(a - b) for a, b in zip(four, one))
        moved = max(abs(a - b) for a, b in zip(one, start))
        print(f"largest difference {difference:.3g} of weights up to {scale:.3g}, "
              f"which moved by up to {moved:.3g}")
        self.assertGreater(moved, 0.01 * scale)
        self.assertLess(difference, 1e-4 * scale)

    def test_unequal_mini_batches_are_one_as_large_as_all(self):
        # Each update is the next 64 examples of the order, and every worker's gradient counts by
        # how many of them are its own.
        four, summary = self.both("four", "--workers", 4, "--batch", 16, "--balance",
                                  "--slow", "worker=3,factor=4", "--slow", "worker=1,factor=2")
        one, of_one = self.both("one", "--workers", 1, "--batch", 64)
        self.assertEqual(summary["examples"], of_one["examples"])
        examples = [worker["examples"] for worker in summary["workers_detail"]]
        print(f"examples of each worker: {examples}")
        self.assertGreater(max(examples), 1.5 * min(examples))
        difference = max(abs(a - b) for a, b in zip(four, one))
        self.assertLess(difference, 1e-4 * max(map(abs, one)))

    def test_twice_gives_the_same_bits(self):
        # Releases go out in worker order at every commit, so that each worker leases the same
        # examples; gradients are added up in worker order whatever the order of arrival.
        first, _ = self.both("first", "--workers", 3, "--batch", 16)
        second, _ = self.both("second", "--workers", 3, "--batch", 16)
        self.assertEqual(first, second)


class Asynchronous(Training):
    """At the learning rate of a synchronous run, with nothing else given, in virtual time."""

    RATE = 0.2
    EXAMPLES = 38_400

    def accuracies(self, policy, *options, rate=RATE):
        """Those measured on the way: of the same examples for every policy."""
        process = self.start(
            "simulate", "--learn", "mlp", "--workers", 8, "--batch", 32, "--lr", rate, "--policy",
            policy, "--runtime", "8*lognormal(mean=20ms,cv=0.2)", "--iterations", self.EXAMPLES // 32,
            "--evaluate-every", self.EXAMPLES // 3, "--json", *options)
        self.assertEqual(process.wait(), 0, process.err)
        return [one["accuracy"] for one in json.loads(process.out)["evaluations"]]

    def test_policies_train_by_their_own_staleness_rules(self):
        sync = self.accuracies("sync")
        for policy in ("psp:beta=8,s=0", "switch(sync until updates>50 then ssp:s=0)",
                       "switch(sync until updates>50 then async)"):
            with self.subTest(policy):
                found = self.accuracies(policy)
                print(f"{policy}: {found}, sync {sync}")
                self.assertGreater(found[-1], sync[-1] - 0.03)
                self.assertGreater(min(found), found[0] - 0.03)

    def test_momentum_trains_where_gradients_are_stale(self):
        sync = self.accuracies("sync", "--optimizer", "momentum", rate=0.04)[-1]
        for policy in ("async", "ssp:s=3"):
            with self.subTest(policy):
                found = self.accuracies(policy, "--optimizer", "momentum", rate=0.04)[-1]
                print(f"{policy}: {found}, sync {sync}")
                self.assertGreater(found, sync - 0.03)


    def test_the_closed_loop_of_yellowfin_trains(self):
        sync = self.accuracies("sync", "--optimizer", "yellowfin", rate=1)[-1]
        found = self.accuracies("async", "--optimizer", "yellowfin:gamma=0.01,tau=7", rate=1)[-1]
        print(f"{found}, sync {sync}")
        self.assertGreater(found, sync - 0.03)


class Start(Training):
    def test_a_run_from_weights_starts_with_their_accuracy(self):
        options = ("--workers", 2, "--batch", 32)
        weights, first = self.train("first", *options, "--updates", 150)
        self.assertGreater(first["final_accuracy"], 0.5)
        path = self.folder / "first" / "weights.safetensors"
        same, second = self.train("second", *options, "--updates", 1, "--lr", 0,
                                  "--weights", path, "--seed", 99)
        self.assertEqual(same, weights)
        self.assertEqual(second["final_accuracy"], first["final_accuracy"])
        self.assertEqual(second["final_loss"], first["final_loss"])

    def test_weights_of_another_network_are_refused(self):
        self.train("first", "--workers", 1, "--updates", 1)
        path = self.folder / "first" / "weights.safetensors"
        process = self.start("train", "--workers", 2, "--network", "cnn", "--weights", path,
                             "--out", self.folder / "second")
        self.assertEqual(process.wait(), 4, process.err)
        self.assertIn("another network", process.err.splitlines()[-1])
        self.assert_nothing_left()


if __name__ == "__main__":
    main()
