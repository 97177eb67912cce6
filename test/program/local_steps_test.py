"""Workers that step for themselves: --local-steps."""

import json
import math
import os
import signal
import sys

sys.dont_write_bytecode = True
from jobs import (LedgerJob, ProgramTest, children_of, main, read_weights,  # noqa: E402
                  wait_until)


class Trained(ProgramTest):
    """`outpace train`, with libtorch."""

    def train(self, *words):
        out = self.folder / f"run-{next(self.names)}"
        process = self.start("train", "--json", "--out", out, *words)
        self.assertEqual(process.wait(), 0, process.err)
        return json.loads(process.out), out

    def test_one_local_step_and_a_mean_are_synchronous_sgd(self):
        words = ("--workers", 3, "--policy", "sync", "--updates", 20, "--lr", 0.1)
        _, plain = self.train(*words)
        _, local = self.train(*words, "--local-steps", 1, "--outer-optimizer", "sgd:lr=1")
        expected, _ = read_weights(plain / "weights.safetensors")
        found, _ = read_weights(local / "weights.safetensors")
        norm = math.sqrt(sum(one * one for one in expected))
        self.assertLess(math.dist(expected, found), 1e-6 * norm)

    def test_a_worker_alone_with_any_number_of_steps_is_plain_training(self):
        words = ("--workers", 1, "--policy", "sync", "--iterations", 24, "--lr", 0.01,
                 "--optimizer", "adam")
        _, plain = self.train(*words)
        _, local = self.train("--local-steps", 8, "--outer-optimizer", "sgd:lr=1",
                              *words[:4], "--updates", 3, *words[6:])
        expected, _ = read_weights(plain / "weights.safetensors")
        found, _ = read_weights(local / "weights.safetensors")
        norm = math.sqrt(sum(one * one for one in expected))
        self.assertLess(math.dist(expected, found), 1e-6 * norm)

    def test_steps_ahead_of_a_worker_alone_are_plain_training(self):
        words = ("--workers", 1, "--policy", "sync", "--lr", 0.01, "--optimizer", "momentum")
        _, plain = self.train(*words, "--iterations", 24)
        local = ("--local-steps", 8, "--outer-optimizer", "sgd:lr=1", "--updates", 3)
        _, ahead = self.train(*words, *local, "--steps-ahead")
        expected, _ = read_weights(plain / "weights.safetensors")
        found, _ = read_weights(ahead / "weights.safetensors")
        norm = math.sqrt(sum(one * one for one in expected))
        self.assertLess(math.dist(expected, found), 1e-6 * norm)

    def test_with_steps_ahead_each_example_counts_once(self):
        rows = [("0.001", "0.004", "0.002"), ("0.004", "0.001", "0.002")]
        delays = self.folder / "delays.csv"
        delays.write_text("".join(",".join(row) + "\n" for row in rows))
        found, out = self.train("--workers", 3, "--policy", "sync", "--local-steps", 8, "--epochs", 1,
                                "--delays", delays, "--delays-by", "iteration", "--steps-ahead",
                                "--lr", 0.05)
        self.assertEqual(found["examples"], 60000)
        self.assertEqual(found["examples_used_per_epoch_max"], 1)
        self.assertGreater(found["final_accuracy"], 0.7)
        replay = self.start("replay", out)
        self.assertEqual(replay.wait(), 0, replay.err)
        self.assertIn("all identical, and no invariant is broken", replay.out)

    def test_who_is_cut_off_hands_in_what_it_has_done(self):
        found, out = self.train("--workers", 3, "--policy", "backup:cutoff=2", "--batch", 64,
                                "--local-steps", 8, "--epochs", 1, "--slow", "worker=2,factor=4")
        self.assertEqual(found["examples"], 60000)
        self.assertEqual(found["examples_used_per_epoch_max"], 1)
        self.assertGreater(found["workers_detail"][2]["partial"], 0)
        self.assertGreater(found["final_accuracy"], 0.7)
        replay = self.start("replay", out)
        self.assertEqual(replay.wait(), 0, replay.err)
        self.assertIn("all identical, and no invariant is broken", replay.out)

    def test_running_statistics_are_refused(self):
        process = self.start("train", "--network", "resnet18", "--data", "cifar10:/nowhere",
                             "--local-steps", 4)
        self.assertEqual(process.wait(), 2)
        self.assertEqual(len(process.err.splitlines()), 1, process.err)


class Kept(ProgramTest):
    """`outpace train --keep-worker-state`, with libtorch."""

    def test_without_local_steps_a_worker_says_that_there_is_nothing_to_keep(self):
        token = self.folder / "token"
        address = f"unix:{self.folder}/s"
        server = self.start("server", "--workers", 1, "--updates", 3, "--optimizer", "momentum",
                            "--listen", address, "--token-file", token, "--out", self.folder / "run")
        server.until_said("listening on")
        state = self.folder / "state"
        worker = self.start("worker", "--worker", 0, "--server", address, "--token-file", token,
                            "--keep-state", state)
        self.assertEqual(worker.wait(), 0, worker.err)
        self.assertIn("outpace: this job has no local steps: --steps-ahead and --keep-state do nothing\n",
                      worker.err)
        self.assertFalse(state.exists())
        self.assertEqual(server.wait(), 0, server.err)

    def test_a_worker_that_is_started_again_goes_on_with_its_optimizer(self):
        run = self.folder / "run"
        process = self.start("train", "--workers", 2, "--policy", "async", "--epochs", 1000,
                             "--local-steps", 4, "--optimizer", "momentum", "--lr", 0.01,
                             "--keep-worker-state", "--restart-workers", "--out", run)
        kept = run / "workers" / "worker-1"
        wait_until(lambda: [*kept.glob("g0001-u*[1-9]")], "its state")
        worker = next(one for one, words in children_of(process.id).items()
                      if any(word.endswith("/worker-1.toml") for word in words))
        os.kill(worker, signal.SIGKILL)
        log = run / "logs" / "worker-1.log"
        wait_until(lambda: "joins at update" in log.read_text(), "its return")
        self.assertRegex(log.read_text(),
                         "outpace: worker 1 joins at update [0-9]+: the momentum of its local steps "
                         "goes on with the state that it had at update [0-9]+\n")
        process.send(signal.SIGINT)
        self.assertEqual(process.wait(), 130, process.err)


class Returning(ProgramTest):
    def test_who_comes_later_says_that_its_optimizer_begins_anew(self):
        job = LedgerJob(self, "sync", workers=2, epochs=1000, batch_seconds=0.02,
                        rate=("--lr", 0.001),
                        options=("--local-steps", 4, "--optimizer", "momentum",
                                 "--checkpoint-every", "1s"))
        for worker in (0, 1):
            job.until_gradients(worker, 12)
        job.workers[1].send(signal.SIGKILL)
        job.workers[1].wait()
        job.workers[1] = job.start_worker(1, 0.02)
        self.says_once(job.workers[1], 1)
        job.server.send(signal.SIGKILL)
        job.server.wait()
        job.server = self.start("server", "--resume", job.run)
        job.server.until_said("listening on")
        again = [job.gradients(worker) for worker in (0, 1)]
        for worker in (0, 1):
            job.until_gradients(worker, again[worker] + 12)
        self.assertNotIn("begins anew", job.workers[0].err)  # It was there all the time.
        self.says_once(job.workers[1], 1)
        job.workers[0].send(signal.SIGKILL)
        job.workers[0].wait()
        job.workers[0] = job.start_worker(0, 0.02)
        self.says_once(job.workers[0], 0)
        job.server.send(signal.SIGINT)
        job.server.wait(30)

    def says_once(self, process, worker):
        process.until_said("begins anew")
        self.assertRegex(process.err, f"outpace: worker {worker} joins at update [1-9][0-9]*: the "
                                      "momentum of its local steps begins anew, with nothing of "
                                      "earlier steps\n")
        self.assertEqual(process.err.count("begins anew"), 1)


class Refused(ProgramTest):
    def test_a_worker_that_pushes_each_mini_batch_is_sent_away(self):
        token = self.folder / "token"
        token.write_text("0123456789abcdef0123456789abcdef\n")
        token.chmod(0o600)
        address = f"unix:{self.folder}/s"
        server = self.start("server", "--workers", 1, "--local-steps", 4, "--listen", address,
                            "--token-file", token, "--out", self.folder / "run")
        worker = self.start(program=os.environ["SCRIPT_WORKER"],
                            variables={"OUTPACE_ROLE": "worker", "OUTPACE_SERVER": address,
                                       "OUTPACE_TOKEN_FILE": str(token), "OUTPACE_WORKER": "0",
                                       "OUTPACE_WORKERS": "1"})
        self.assertEqual(worker.wait(), 4, worker.err)
        self.assertIn("this job has --local-steps 4, and this worker pushes each mini-batch: let it "
                      "make them (in Python job.wrap(..., local_steps=4)), or start the server "
                      "without --local-steps", worker.err)
        server.send(signal.SIGTERM)
        server.wait()

    def test_an_outer_optimizer_needs_local_steps(self):
        process = self.start("simulate", "--outer-optimizer", "sgd:lr=1")
        self.assertEqual(process.wait(), 2)
        self.assertEqual(process.err, "outpace: --outer-optimizer without --local-steps; add "
                                      "--local-steps, or remove it\n")

    def test_momentum_at_every_asynchronous_push(self):
        process = self.start("simulate", "--policy", "async", "--local-steps", 4,
                             "--outer-optimizer", "nesterov:over=update")
        self.assertEqual(process.wait(), 2)
        self.assertEqual(process.err, "outpace: --outer-optimizer nesterov:over=update conflicts "
                                      "with --policy async: momentum at every push diverges; "
                                      "remove over=update\n")


    def test_what_workers_with_local_steps_alone_can_do(self):
        for words, why in ((("train", "--steps-ahead"), "--steps-ahead without --local-steps: "),
                           (("train", "--keep-worker-state"),
                            "--keep-worker-state without --local-steps: "),
                           (("train", "--topology", "ring", "--steps-ahead"),
                            "--steps-ahead conflicts with --topology ring: ")):
            process = self.start(*words)
            self.assertEqual(process.wait(), 2)
            self.assertEqual(process.err.count("\n"), 1, process.err)
            self.assertIn(why, process.err)

    def test_steps_ahead_need_local_steps_and_processors_of_their_own(self):
        delays = self.folder / "delays.csv"
        delays.write_text("0.01,0.02\n")
        for words, why in ((("simulate", "--steps-ahead"), "--steps-ahead without --local-steps: "),
                           (("simulate", "--workers", 2, "--local-steps", 4, "--steps-ahead", "--delays",
                             delays, "--cores", 2, "--compute", "1ms"),
                            "--steps-ahead conflicts with --cores: ")):
            process = self.start(*words)
            self.assertEqual(process.wait(), 2)
            self.assertEqual(process.err.count("\n"), 1)
            self.assertIn(f"outpace: {why}", process.err)


class Simulated(ProgramTest):
    def simulate(self, *words, updates=200):
        process = self.start("simulate", "--json", "--workers", 4, "--runtime",
                             "constant(mean=10ms)", *(("--updates", updates) if updates else ()), *words)
        self.assertEqual(process.wait(), 0, process.err)
        return json.loads(process.out)

    def test_phases_take_as_many_mini_batches(self):
        found = self.simulate("--policy", "sync", "--local-steps", 10)
        self.assertAlmostEqual(found["seconds"], 200 * 10 * 0.01, places=6)
        self.assertEqual(found["examples"], 200 * 4 * 10 * 32)

    def test_the_record_says_the_outer_optimizer_of_the_policy(self):
        for policy, outer in (("sync", "nesterov:mu=0.9,lr=0.7"),
                              ("async", "nesterov:mu=0.5,lr=0.7")):
            found = self.simulate("--policy", policy, "--local-steps", 4)
            self.assertEqual(found["outer_optimizer"], outer)

    def test_steps_ahead_hide_the_travel_of_the_weights(self):
        words = ("--policy", "sync", "--local-steps", 50, "--batch", 8, "--payload", "1MB", "--bandwidth",
                 "100Mbps", "--examples", 1000000)
        without = self.simulate(*words, updates=40)
        with_ = self.simulate(*words, "--steps-ahead", updates=40)
        # Four pushes and four pulls of 1 MB take 0.64 s, and a phase 0.5 s.
        self.assertAlmostEqual(without["seconds"], 40 * (0.5 + 0.64), delta=1)
        self.assertAlmostEqual(with_["seconds"], 0.5 + 40 * 0.64, delta=1)
        self.assertEqual(with_["examples"], without["examples"])

    def test_steps_ahead_lose_nothing(self):
        run = self.folder / "run"
        found = self.simulate("--policy", "dynamic", "--local-steps", 10, "--latency", "30ms", "--epochs", 3,
                              "--examples", 20000, "--steps-ahead", "--slow", "worker=3,factor=3", "--fault",
                              "crash:worker=1,at=2s,for=1s", "--out", run, updates=None)
        self.assertEqual(found["examples_used_per_epoch_min"], 1)
        self.assertEqual(found["examples_used_per_epoch_max"], 1)
        replay = self.start("replay", run)
        self.assertEqual(replay.wait(), 0, replay.err)

    def test_nothing_is_lost_by_a_cutoff_from_the_first_phase_on(self):
        slow = ("--slow", "worker=2,factor=2", "--slow", "worker=3,factor=4", "--local-steps", 50)
        rates = {policy: self.simulate("--policy", policy, *slow, updates=6)["examples_per_second"]
                 for policy in ("sync", "dynamic")}
        own = (1 + 1 + 1 / 2 + 1 / 4) * 32 / 0.01  # Of the four machines by themselves.
        self.assertGreater(rates["dynamic"], 0.95 * own)
        self.assertGreater(rates["dynamic"], 2.0 * rates["sync"])


if __name__ == "__main__":
    main()
