"""Gradients and weights that travel packed, with real processes and libtorch."""

import json
import re
import shutil
import signal
import sys

sys.dont_write_bytecode = True
from jobs import ProgramTest, main, read_weights, wait_until, whole_checkpoints  # noqa: E402

WORKERS = 3


class Trained(ProgramTest):
    def train(self, *words):
        process = self.start("train", "--json", "--out", self.folder / f"run-{next(self.names)}",
                             "--workers", WORKERS, "--policy", "sync", "--updates", 120, "--seed", 3,
                             *words)
        self.assertEqual(process.wait(), 0, process.err)
        return json.loads(process.out)

    def test_a_quarter_of_the_bytes_trains_as_well(self):
        plain = self.train()
        packed = self.train("--compress", "int8", "--compress-weights", "int8")
        for way in ("gradients", "weights"):
            self.assertEqual(plain["traffic"][way]["ratio"], 1.0)
        self.assertEqual(packed["traffic"]["gradients"]["payloads"], 120 * WORKERS)
        self.assertGreater(packed["traffic"]["gradients"]["ratio"], 3.8)
        self.assertGreater(packed["traffic"]["weights"]["ratio"], 3.5)  # The first ones are whole.
        self.assertLess(abs(packed["final_loss"] - plain["final_loss"]), 0.01)
        self.assertGreater(packed["final_accuracy"], 0.6)

    def test_what_is_left_behind_counts(self):
        words = ("--compress", "topk:share=0.01,bits=4")
        kept = self.train(*words)
        lost = self.train(words[0], words[1] + ",feedback=0")
        self.assertGreater(kept["traffic"]["gradients"]["ratio"], 150)
        self.assertLess(kept["final_loss"], lost["final_loss"] - 0.02)

    def test_the_result_says_how_many_bytes(self):
        process = self.start("train", "--out", self.folder / "run", "--workers", 2, "--policy", "async",
                             "--updates", 60, "--compress", "int4")
        self.assertEqual(process.wait(), 0, process.err)
        self.assertRegex(process.out, r"gradients took [0-9.]+ MiB \(7\.5[0-9]* times fewer than as "
                                      r"float32\), weights [0-9.]+ MiB\n")


class Resumed(ProgramTest):
    """A server that dies and goes on, while its workers live."""

    def whole_run(self, name, *, dies):
        run, address = self.folder / name, f"unix:{self.folder}/{name}.s"
        token = self.folder / f"{name}.token"
        delays = self.path("delays.csv", "0.01,0.012,0.008\n")
        server = self.start("server", "--workers", WORKERS, "--batch", 16, "--policy", "sync", "--lr",
                            0.05, "--updates", 160, "--seed", 5, "--checkpoint-every", 10, "--listen",
                            address, "--token-file", token, "--out", run, "--compress",
                            "topk:share=0.02,bits=4", "--compress-weights", "delta", "--evaluate-every",
                            10**9)
        server.until_said("listening on")
        workers = [self.start("worker", "--worker", worker, "--workers", WORKERS, "--network", "mlp",
                              "--seed", 5, "--delays", delays, "--server", address, "--token-file",
                              token) for worker in range(WORKERS)]
        if dies:
            def there():
                self.assertTrue(server.running(), "the run ended too early: " + server.err)
                return [*(run / "checkpoints").glob("g0001-u*50")]
            wait_until(there, "a checkpoint")
            server.send(signal.SIGKILL)
            server.wait()
            server = self.start("server", "--resume", run)
        self.assertEqual(server.wait(), 0, server.err)
        for worker in workers:
            self.assertEqual(worker.wait(), 0, worker.err)
            self.assertNotIn("left behind", worker.err)
        return read_weights(run / "weights.safetensors")[0]

    def test_goes_on_to_the_bit(self):
        whole = self.whole_run("whole", dies=False)
        broken = self.whole_run("broken", dies=True)
        different = sum(one != other for one, other in zip(whole, broken, strict=True))
        self.assertEqual(different, 0, f"of {len(whole)} weights differ")


class Killed(ProgramTest):
    """A job whose processes all die, and go on with what its workers kept."""

    def whole_run(self, name, *words, dies):
        run = self.folder / name
        process = self.start("train", "--workers", WORKERS, "--batch", 16, "--policy", "sync",
                             "--updates", 120, "--seed", 5, "--checkpoint-every", 10, "--out", run,
                             "--delays", self.path("delays.csv", "0.01,0.012,0.008\n"),
                             "--keep-worker-state", *words)
        for update in (30, 60) if dies else ():
            def there():
                self.assertTrue(process.running(), "the run ended too early: " + process.err)
                return [one for one in whole_checkpoints(run)
                        if int(one.name.partition("-u")[2]) >= update]
            wait_until(there, f"a checkpoint of update {update}")
            process.send(signal.SIGKILL)
            process.wait()
            self.assert_nothing_left()
            self.forget_newest(run, worker=update // 30 - 1)
            process = self.start("train", "--resume", run)
        self.assertEqual(process.wait(), 0, process.err)
        return read_weights(run / "weights.safetensors")[0]

    def forget_newest(self, run, worker):
        """As if this worker had been killed before it had kept its state at the newest checkpoint."""
        newest = whole_checkpoints(run)[-1].name
        shutil.rmtree(run / "workers" / "at-checkpoints" / f"worker-{worker}" / newest, ignore_errors=True)

    def goes_on_to_the_bit(self, *words):
        whole = self.whole_run("whole", *words, dies=False)
        broken = self.whole_run("broken", *words, dies=True)
        different = sum(one != other for one, other in zip(whole, broken, strict=True))
        self.assertEqual(different, 0, f"of {len(whole)} weights differ")

    def test_what_packing_left_behind_goes_on_to_the_bit(self):
        self.goes_on_to_the_bit("--lr", 0.05, "--compress", "topk:share=0.02,bits=4")

    def test_so_does_the_optimizer_of_local_steps(self):
        self.goes_on_to_the_bit("--local-steps", 2, "--optimizer", "adamw", "--lr", 0.002,
                                "--compress", "int4")


class Peers(ProgramTest):
    """Gradients of a ring, and weights of a gossip."""

    def train(self, topology, *words):
        self.run_directory = self.folder / f"run-{next(self.names)}"
        process = self.start("train", "--json", "--out", self.run_directory, "--topology", topology,
                             "--workers", 4, "--seed", 3, *words)
        self.assertEqual(process.wait(), 0, process.err)
        return json.loads(process.out)

    def checksums(self):
        """Of each worker's weights at the end."""
        found = [re.search("CRC-32C of its weights: ([0-9a-f]{8})", log.read_text())
                 for log in (self.run_directory / "logs").glob("worker-*.log")]
        self.assertEqual(len(found), 4)
        return {one.group(1) for one in found}

    def assert_replays(self):
        replay = self.start("replay", self.run_directory)
        self.assertEqual(replay.wait(), 0, replay.out + replay.err)

    def test_a_ring_of_packed_gradients_trains_as_well(self):
        updates = ("--updates", 120)
        plain = self.train("ring", *updates)
        numbers = plain["traffic"]["gradients"]["bytes"] / 4
        # A worker sends 2 (W - 1) / W of a gradient's numbers, four bytes each.
        self.assertAlmostEqual(numbers / (120 * 6 * 101_770), 1.0, delta=0.001)
        self.assertEqual(plain["traffic"]["gradients"]["ratio"], 1.0)
        for words, ratio, near in (("bf16", 1.99, 0.01), ("int8", 3.8, 0.01), ("int4", 7.4, 0.01),
                                   ("topk:share=0.05", 30, 0.05)):
            with self.subTest(words):
                packed = self.train("ring", *updates, "--compress", words)
                self.assertGreater(packed["traffic"]["gradients"]["ratio"], ratio)
                self.assertLess(abs(packed["final_loss"] - plain["final_loss"]), near)
                self.assertEqual(packed["traffic"]["weights"]["bytes"], 0)
                self.assertEqual(len(self.checksums()), 1, "workers differ")
                self.assert_replays()

    def test_what_a_ring_leaves_behind_counts(self):
        words = ("ring", "--updates", 120, "--bucket-kib", 16, "--compress")
        kept = self.train(*words, "topk:share=0.01")
        lost = self.train(*words, "topk:share=0.01,feedback=0")
        self.assertLess(kept["final_loss"], lost["final_loss"] - 0.02)

    def test_a_gossip_of_packed_weights_trains_as_well(self):
        for averaging in ("coupled", "pull", "easgd"):
            words = ("gossip", "--gossip", averaging, "--updates", 800)
            plain = self.train(*words)
            packed = self.train(*words, "--compress", "int8")
            with self.subTest(averaging):
                self.assertEqual(plain["traffic"]["weights"]["ratio"], 1.0)
                self.assertGreater(packed["traffic"]["weights"]["ratio"], 3.8)
                self.assertEqual(packed["traffic"]["gradients"]["bytes"], 0)
                self.assertGreater(packed["traffic"]["weights"]["payloads"],
                                   70 if averaging == "easgd" else 700)
                # Two runs of one seed differ by 0.03 without packing.
                self.assertLess(abs(packed["final_loss"] - plain["final_loss"]), 0.08)
                self.assertGreater(packed["worst_replica_accuracy"], 0.6)
                self.assert_replays()

    def test_the_result_says_how_many_bytes(self):
        process = self.start("train", "--out", self.folder / "run", "--workers", 2, "--topology", "ring",
                             "--updates", 30, "--compress", "int4")
        self.assertEqual(process.wait(), 0, process.err)
        self.assertRegex(process.out,
                         r"  gradients took [0-9.]+ MiB \(7\.5[0-9]* times fewer than as float32\)\n")


class Refused(ProgramTest):
    def test_a_wrong_word_is_named(self):
        for words, why in (
                (("--compress", "int3"), "unknown compression 'int3'; did you mean 'int8'?"),
                (("--compress-weights", "int4"), "int4"),
                (("--topology", "ring", "--compress-weights", "int8"),
                 "--compress-weights conflicts with --topology ring, where --compress packs gradients"),
                (("--topology", "gossip", "--compress", "topk"), "take bf16 or int8"),
                (("--keep-worker-state", "--compress", "int8:feedback=0"),
                 "--keep-worker-state without --local-steps")):
            process = self.start("train", *words)
            self.assertEqual(process.wait(), 2, process.err)
            self.assertEqual(process.err.count("\n"), 1, process.err)
            self.assertIn(why, process.err)

    def test_a_worker_that_comes_again_says_what_is_lost(self):
        run, address, token = self.folder / "run", f"unix:{self.folder}/s", self.folder / "token"
        server = self.start("server", "--workers", 1, "--updates", 10**6, "--policy", "async",
                            "--listen", address, "--token-file", token, "--out", run, "--compress",
                            "int4", "--checkpoint-every", 5)
        server.until_said("listening on")
        words = ("worker", "--worker", 0, "--network", "mlp", "--server", address, "--token-file",
                 token)
        first = self.start(*words)
        wait_until(lambda: [*(run / "checkpoints").glob("g0001-u*5")], "an update")
        first.send(signal.SIGKILL)
        first.wait()
        second = self.start(*words)
        second.until_said("what packing its earlier pushes left behind is lost")
        server.send(signal.SIGINT)
        self.assertEqual(server.wait(), 130, server.err)


if __name__ == "__main__":
    main()
