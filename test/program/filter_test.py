"""Workers that send wrong gradients, and the filters against them, in live runs."""

import json
import sys

sys.dont_write_bytecode = True
from jobs import ProgramTest, main  # noqa: E402

EXIT_USAGE = 2
ATTACK = ("--attack", "signflip:workers=0+1,scale=10")


class Live(ProgramTest):
    def train(self, *options):
        """The summary of a run of 8 workers over one epoch."""
        self.run_directory = self.folder / f"run-{next(self.names)}"
        process = self.start("train", "--workers", 8, "--epochs", 1, "--seed", 3, "--json",
                             "--out", self.run_directory, *options)
        self.assertEqual(process.wait(), 0, process.err)
        self.assert_nothing_left()
        summary = json.loads(process.out)
        self.assertEqual(summary["examples_used_per_epoch_min"], 1)
        self.assertEqual(summary["examples_used_per_epoch_max"], 1)
        self.assertEqual(sum(one["filtered"] for one in summary["workers_detail"]),
                         summary["gradients_filtered"])
        return summary

    def assert_replays(self):
        replay = self.start("replay", self.run_directory)
        self.assertEqual(replay.wait(), 0, replay.err)

    def test_synchronous_filters_outvote_attackers(self):
        for rule in ("median", "trimmed:f=2", "krum:f=2"):
            with self.subTest(rule):
                summary = self.train("--policy", "sync", "--filter", rule, *ATTACK)
                # Guessing is 0.1, where the run without a filter ends.
                self.assertGreater(summary["final_accuracy"], 0.3)
                self.assertEqual((summary["filter"], summary["gradients_filtered"]), (rule, 0))
                self.assert_replays()

    def test_kardam_turns_attackers_away_from_the_first_gradient_on(self):
        # A worker that is late gives the others the time to begin without it.
        summary = self.train("--policy", "async", "--filter", "kardam:f=2", *ATTACK,
                             "--slow", "worker=7,factor=5")
        self.assertGreater(summary["final_accuracy"], 0.5)
        attackers, others = summary["workers_detail"][:2], summary["workers_detail"][2:]
        for one in attackers:
            self.assertLess(one["accepted"], 0.1 * one["iterations"])
        for one in others:
            self.assertGreater(one["accepted"], 0.1 * one["iterations"])
        self.assert_replays()

    def test_what_is_not_finite_is_refused_without_a_filter(self):
        summary = self.train("--policy", "async", "--attack", "nan:workers=7")
        last = summary["workers_detail"][7]
        self.assertEqual((last["accepted"], last["refused"]), (0, last["iterations"]))
        self.assertGreater(last["refused"], 0)
        self.assertGreater(summary["final_accuracy"], 0.6)
        self.assert_replays()


class BadInput(ProgramTest):
    def refused(self, *words):
        process = self.start(*words)
        self.assertEqual(process.wait(), EXIT_USAGE, process.err)
        self.assertEqual(len(process.err.splitlines()), 1, process.err)
        return process.err

    def test_filters(self):
        for filter_and_policy, says in (
                (("kardan:f=2", "async"), "did you mean 'kardam'?"),
                (("kardam", "async"), "f is missing"),
                (("kardam:f=2", "sync"), "kardam is for asynchronous policies"),
                (("kardam:f=3", "async"), "takes at least 10 workers"),
                (("median", "async"), "its updates are of 1 gradient,"),
                (("krum:f=3", "sync"), "takes at least 9"),
                (("trimmed:f=3", "backup:cutoff=6"), "takes at least 7")):
            rule, policy = filter_and_policy
            with self.subTest(rule):
                self.assertIn(says, self.refused("train", "--filter", rule, "--policy", policy))
        self.assertIn("--reduce arrival conflicts with --filter median", self.refused(
            "train", "--filter", "median", "--policy", "sync", "--reduce", "arrival"))

    def test_attacks(self):
        for attack, says in (("signflop:workers=0", "did you mean 'signflip'?"),
                             ("signflip:workers=8", "numbers from 0 to 7"),
                             ("signflip:scale=2", "workers is missing"),
                             ("zero:workers=0,scale=2", "unknown option 'scale'")):
            with self.subTest(attack):
                self.assertIn(says, self.refused("train", "--workers", 8, "--attack", attack))

    def test_simulations_without_gradients(self):
        for words in (("--filter", "median", "--policy", "sync"), ATTACK):
            self.assertIn(f"{words[0]} without --learn: there are no gradients; add --learn mlp",
                          self.refused("simulate", *words))


if __name__ == "__main__":
    main()
