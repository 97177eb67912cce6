"""`outpace whatif` on recorded runs, live and simulated. For a simulated run, each answer must equal
the simulation of that cluster."""

import json
import shutil
import sys
import xml.etree.ElementTree

sys.dont_write_bytecode = True
from jobs import ProgramTest, main  # noqa: E402

UNEVEN = "3*constant(100ms),1*constant(400ms)"


class WhatIf(ProgramTest):
    def outpace(self, *words):
        process = self.start(*words)
        self.assertEqual(process.wait(), 0, process.err)
        return process

    def simulate(self, *words, seconds=20):
        return json.loads(self.outpace("simulate", "--seconds", f"{seconds}s", *words, "--json").out)

    def whatif(self, *words):
        found = json.loads(self.outpace("whatif", "run", *words, "--json").out)
        return found, {one["question"]: one for one in found["questions"]}


class Simulated(WhatIf):
    def test_answers_are_what_is_simulated_that_way(self):
        self.simulate("--workers", 4, "--policy", "sync", "--runtime", UNEVEN, "--out", "run")
        found, answers = self.whatif("--without", 3, "--without", 0, "--policy", "backup:cutoff=3",
                                     "--policy", "async", "--policy", "ssp:s=3", "--workers", 8)
        self.assertEqual((found["run"], found["policy"], found["workers"]), ("run", "sync", 4))
        self.assertAlmostEqual(found["measured_examples_per_second"], 4 * 32 / 0.4)
        self.assertAlmostEqual(found["replayed_examples_per_second"], 4 * 32 / 0.4)
        for question, workers, policy, runtime in (
                ("as it was", 4, "sync", UNEVEN),
                ("all at the median", 4, "sync", "constant(100ms)"),
                ("without worker 3", 3, "sync", "constant(100ms)"),
                ("without worker 0", 3, "sync", "2*constant(100ms),1*constant(400ms)"),
                ("policy backup:cutoff=3", 4, "backup:cutoff=3", UNEVEN),
                ("policy async", 4, "async", UNEVEN),
                ("policy ssp:s=3", 4, "ssp:s=3", UNEVEN),
                ("with 8 workers", 8, "sync", "6*constant(100ms),2*constant(400ms)")):
            with self.subTest(question):
                truth = self.simulate("--workers", workers, "--policy", policy, "--runtime", runtime)
                # But for the order of what happens at the same nanosecond, at the very end.
                self.assertAlmostEqual(answers[question]["examples_per_second"],
                                       truth["examples_per_second"],
                                       delta=workers * 32 / truth["seconds"])
        self.assertEqual([round(one["share"], 9) for one in found["lost_to_workers"]],
                         [0, 0, 0, 0.75])

    def test_a_link_twice_as_fast_takes_half_of_what_is_not_computing(self):
        words = ("--workers", 4, "--policy", "sync", "--runtime", "constant(100ms)")
        self.simulate(*words, "--latency", "50ms", "--out", "run")
        _, answers = self.whatif()
        self.assertAlmostEqual(answers["link twice as fast"]["ratio"], 0.2 / 0.15)

    def test_without_options_it_asks_what_is_of_use(self):
        self.simulate("--workers", 4, "--policy", "sync", "--runtime", UNEVEN, "--out", "run")
        _, answers = self.whatif()
        self.assertEqual(list(answers), ["as it was", "all at the median", "without worker 3",
                                         "policy backup:cutoff=3", "policy async",
                                         "with 8 workers"])
        words = self.outpace("whatif", "run", "--plot", "whatif.svg").out
        self.assertIn("run: sync on 4 workers: 320.0 examples/s measured, 320.0 replayed (+0.0 %)",
                      words)
        self.assertIn("time lost: 75.0 % to worker 3\n", words)
        self.assertRegex(words, "as it was +\u2588{7}\u258c +1.00 x")
        picture = (self.folder / "whatif.svg").read_text()
        xml.etree.ElementTree.fromstring(picture)
        for part in ("without worker 3", "4.00 x", "time lost: 75.0 % to worker 3"):
            self.assertIn(part, picture)

    def test_a_worker_that_was_away_is_away_again(self):
        words = ("--workers", 4, "--policy", "async", "--runtime", "constant(100ms)",
                 "--fault", "crash:worker=1,at=5s,for=10s", "--fault", "leave:worker=2,at=10s")
        truth = self.simulate(*words, "--out", "run")
        found, _ = self.whatif()
        self.assertAlmostEqual(found["replayed_examples_per_second"], truth["examples_per_second"],
                               delta=4 * 32 / 20)

    def test_a_log_that_is_cut_off_is_enough(self):
        self.simulate("--workers", 4, "--policy", "sync", "--runtime", UNEVEN, "--out", "run")
        (self.folder / "run" / "summary.json").unlink()
        log = self.folder / "run" / "decisions.jsonl"
        log.write_text(log.read_text()[:-20])
        found, answers = self.whatif("--without", 3)
        self.assertIn("the last line of the log is cut off, and is ignored", found["notes"])
        self.assertAlmostEqual(answers["without worker 3"]["ratio"], 3.0)


class LocalSteps(WhatIf):
    def phases(self, policy, *words):
        return self.simulate("--workers", 4, "--policy", policy, "--local-steps", 10, "--latency",
                             "20ms", "--runtime", "3*constant(10ms),1*constant(40ms)", *words)

    def test_parts_count_as_they_do_when_it_is_simulated_that_way(self):
        for policy, others in (("sync", ("backup:cutoff=3", "dynamic", "async")),
                               ("backup:cutoff=3", ("sync", "async"))):
            shutil.rmtree(self.folder / "run", ignore_errors=True)
            truth = self.phases(policy, "--out", "run")
            found, answers = self.whatif(*(word for other in others for word in ("--policy", other)))
            self.assertAlmostEqual(found["replayed_examples_per_second"],
                                   truth["examples_per_second"], delta=1)
            for other in others:
                with self.subTest(recorded=policy, asked=other):
                    rate = answers[f"policy {other}"]["examples_per_second"]
                    # The last moment has half an update more or less.
                    self.assertAlmostEqual(rate / self.phases(other)["examples_per_second"], 1,
                                           delta=0.01)


class Live(WhatIf):
    def test_a_live_run_says_what_it_took_of_the_processors(self):
        self.path("delays.csv", "0.02,0.02,0.08\n")
        self.outpace("train", "--workers", 3, "--policy", "sync", "--delays", "delays.csv",
                     "--seconds", "5s", "--out", "run")
        use = json.loads((self.folder / "run" / "summary.json").read_text())["processors"]
        self.assertGreaterEqual(use["cores"], 1)
        self.assertGreater(use["server_seconds_a_gradient"], 0)
        self.assertEqual(len(use["worker_seconds_an_iteration"]), 3)
        self.assertTrue(all(seconds > 0 for seconds in use["worker_seconds_an_iteration"]))
        found, answers = self.whatif("--without", 2)
        self.assertGreater(found["replayed_examples_per_second"], 0)
        # Without it two thirds of the gradients come, each update in less than half the time.
        self.assertGreater(answers["without worker 2"]["ratio"], 1.0)
        self.assertGreater(found["lost_to_workers"][2]["share"], 0.3)
        self.assertNotIn("link twice as fast", answers, "it slept, and nobody knows how long")

    def test_a_live_run_with_local_steps_answers_too(self):
        # A slow worker sleeps in each of its mini-batches, so a phase of `sync` takes 0.8 s.
        self.path("delays.csv", "0.02,0.02,0.08\n")
        self.outpace("train", "--workers", 3, "--policy", "sync", "--delays", "delays.csv",
                     "--local-steps", 10, "--updates", 5, "--out", "run")
        found, answers = self.whatif("--without", 2, "--policy", "backup:cutoff=2")
        self.assertGreater(found["replayed_examples_per_second"], 0)
        self.assertGreater(answers["without worker 2"]["ratio"], 1.0)
        self.assertGreater(answers["policy backup:cutoff=2"]["ratio"], 1.0)
        self.assertIn("processor times do not tell of phases of local steps; if workers share "
                      "processors, waiting for each other counts as computing", found["notes"])


if __name__ == "__main__":
    main()
