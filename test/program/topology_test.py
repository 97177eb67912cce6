"""Training without a server: a ring equals `--policy sync`, a gossip learns, and neither hangs."""

import json
import os
import signal
import socket
import sys

sys.dont_write_bytecode = True
from jobs import (ProgramTest, children_of, main, read_json_lines, read_weights,  # noqa: E402
                  wait_until)
from page_reader import Events, get, metrics_of, url_of  # noqa: E402

AT_ONCE = 20.0  # Seconds, on a machine with much else to do.


class Topology(ProgramTest):
    def train(self, name, *options):
        """The weights of a run, and its summary."""
        run = self.folder / name
        process = self.start("train", "--out", run, "--json", *options)
        self.assertEqual(process.wait(), 0, process.err)
        self.assert_nothing_left()
        self.assertEqual(list(self.scratch.iterdir()), [])
        return read_weights(run / "weights.safetensors")[0], json.loads(process.out)

    def start_training(self, topology, workers=4):
        """A run that has begun and would go on for a long time."""
        self.run_directory = self.folder / "run"
        process = self.start("train", "--topology", topology, "--workers", workers,
                             "--epochs", 1000, "--out", self.run_directory)

        def evaluated():
            self.assertTrue(process.running(), process.err)
            return any("accuracy" in line
                       for line in read_json_lines(self.run_directory / "metrics.jsonl"))
        wait_until(evaluated, "the first evaluation")
        self.children = children_of(process.id)
        self.assertEqual(len(self.children), workers + 1)  # And the evaluator.
        return process

    def assert_replays(self, run, members):
        """Everybody decides the same again. Returns what replay says."""
        replay = self.start("replay", run, "--json")
        self.assertEqual(replay.wait(), 0, replay.err)
        found = json.loads(replay.out)
        self.assertIsNone(found["difference"])
        self.assertEqual((found["members"], found["gap"]), (members, None))
        self.assertGreater(found["identical_decisions"], 100)
        return found

    def child(self, worker):
        return next(one for one, words in self.children.items()
                   if any(word.endswith(f"/worker-{worker}.toml") for word in words))

    def assert_failed(self, process, code, *texts):
        self.assertEqual(process.wait(AT_ONCE), code, process.err)
        for text in texts:
            self.assertIn(text, process.err.splitlines()[-1])
        self.assert_nothing_left(AT_ONCE)
        self.assertEqual(list(self.scratch.iterdir()), [])


class Shown(Topology):
    def start_shown(self, topology):
        process = self.start("train", "--topology", topology, "--workers", 3, "--epochs", 1000,
                             "--slow", "worker=2,factor=4", "--out", self.folder / "run", "--dashboard")
        process.until_said("the page is at ")
        self.url = url_of(process.err.partition("the page is at ")[2])
        self.events = Events(self.url)
        self.addCleanup(self.events.close)
        frame = self.events.until(
            lambda frame: frame["version"] > 200 and frame["now"] > 5 and frame["loss"],
            "200 updates")
        self.children = children_of(process.id)
        return process, frame

    def end(self, process):
        process.send(signal.SIGTERM)
        process.wait()
        self.assert_nothing_left()

    def test_a_ring_shows_its_lanes_and_who_holds_it_up(self):
        process, frame = self.start_shown("ring")
        self.assertEqual(frame["live"], 3)
        self.assertEqual(frame["gain"], "", "a ring waits for all")
        slow, fast = frame["workers"][2]["median"], frame["workers"][0]["median"]
        self.assertGreater(slow, fast)
        self.assertEqual(len(frame["staleness"]), 1)
        metrics = metrics_of(get(self.url, "/metrics")[2])
        # The fast ones wait for the slow one.
        self.assertGreater(metrics['outpace_worker_waiting_seconds_total{worker="0"}'],
                           metrics['outpace_worker_waiting_seconds_total{worker="2"}'])
        trace = json.loads(get(self.url, "/trace.json")[2])
        arrows = [one["id"] for one in trace if one["ph"] == "s"]
        self.assertGreater(len(arrows), 600)
        self.assertEqual(len(arrows), len(set(arrows)))
        os.kill(self.child(1), signal.SIGKILL)
        dead = self.events.until(lambda frame: frame["live"] == 2, "the death")
        self.assertIn("worker 1 is dead", dead["on"])
        self.events.until(lambda frame: frame["version"] > dead["version"] + 20, "more updates")
        self.end(process)

    def test_a_gossip_shows_that_nobody_waits(self):
        process, frame = self.start_shown("gossip")
        self.assertRegex(frame["gain"], r"^nobody waits; \d+\.\dx waiting for all$")
        self.assertEqual(sum(one["accepted"] for one in frame["workers"]), frame["version"])
        self.end(process)

    def test_its_page_beyond_this_machine_takes_a_token(self):
        refused = self.start("train", "--topology", "ring", "--workers", 2, "--out",
                             self.folder / "run", "--dashboard=0.0.0.0:0")
        self.assertEqual(refused.wait(), 2)
        self.assertIn("add --dashboard-token-file FILE", refused.err)
        self.assertFalse((self.folder / "run").exists(), "a refused run leaves nothing")


class Ring(Topology):
    SHARED = ("--workers", 4, "--batch", 16, "--seed", 11, "--updates", 100)

    def assert_like_sync(self, *options):
        ring, summary = self.train("ring", "--topology", "ring", *self.SHARED, *options)
        server, of_server = self.train("server", "--policy", "sync", *self.SHARED, *options)
        for key in ("updates", "examples", "gradients_applied", "why_ended"):
            self.assertEqual(summary[key], of_server[key], key)
        self.assertEqual(summary["topology"], "ring")
        self.assertEqual(of_server["topology"], "ps")
        scale = max(map(abs, server))
        difference = max(abs(a - b) for a, b in zip(ring, server, strict=True))
        print(f"largest difference {difference:.3g} of weights up to {scale:.3g}")
        # Four float32 gradients added up in another order, a hundred times over.
        self.assertLess(difference, 1e-5 * scale)

    def test_its_weights_are_those_of_sync(self):
        self.assert_like_sync()

    def test_so_they_are_by_many_buckets_and_with_all_that_a_step_has(self):
        options = ("--optimizer", "momentum", "--lr", 0.05, "--weight-decay", 0.001,
                   "--schedule", "cosine:over=10000,warmup=640")
        whole, _ = self.train("whole", "--topology", "ring", *self.SHARED, *options)
        parts, _ = self.train("parts", "--topology", "ring", "--bucket-kib", 1, *self.SHARED,
                              *options)
        server, _ = self.train("server", "--policy", "sync", *self.SHARED, *options)
        scale = max(map(abs, server))
        for weights in (whole, parts):
            self.assertLess(max(abs(a - b) for a, b in zip(weights, server)), 1e-4 * scale)

    def test_a_clipped_gradient_is_clipped_by_itself(self):
        self.assert_like_sync("--clip-norm", 0.5)

    def test_its_last_epoch_drains(self):
        # 60,000 examples by 7 x 48 are 178 whole updates and 192 examples for the last.
        _, summary = self.train("ring", "--topology", "ring", "--workers", 7, "--batch", 48,
                                "--epochs", 1)
        self.assertEqual(summary["examples"], 60_000)
        self.assertEqual(summary["updates"], 179)
        self.assertEqual(summary["epochs_complete"], 1)
        self.assertEqual(summary["why_ended"], "epochs done")

    def test_it_learns_and_its_record_can_be_used(self):
        _, summary = self.train("ring", "--topology", "ring", "--workers", 4, "--updates", 400,
                                "--seed", 3, "--slow", "worker=1,factor=2")
        self.assertGreater(summary["final_accuracy"], 0.78)
        self.assertGreater(len(summary["evaluations"]), 5)
        run = self.folder / "ring"
        self.assertFalse((run / "decisions.jsonl").exists())
        self.assert_replays(run, members=5)
        rows = [line for line in (run / "runtimes.csv").read_text().splitlines()
                if not line.startswith("#")]
        self.assertEqual(len(rows), 400)
        self.assertEqual(len(rows[0].split(",")), 4)
        whatif = self.start("whatif", run)
        self.assertEqual(whatif.wait(), 2)
        self.assertIn("ring", whatif.err)
        self.assertEqual(len(whatif.err.splitlines()), 1, whatif.err)

    def test_it_ends_at_the_target(self):
        _, summary = self.train("ring", "--topology", "ring", "--workers", 2,
                                "--target-accuracy", 0.7, "--consecutive", 2, "--epochs", 20)
        self.assertEqual(summary["why_ended"], "target accuracy reached")
        self.assertIsNotNone(summary["seconds_to_target"])

    def test_divergence_is_a_line(self):
        process = self.start("train", "--topology", "ring", "--workers", 2, "--lr", 1e6)
        self.assert_failed(process, 1, "is not finite", "--lr")

    def test_interrupt(self):
        process = self.start_training("ring")
        process.send(signal.SIGINT)
        self.assert_failed(process, 130, "outpace: interrupted")
        summary = json.loads((self.run_directory / "summary.json").read_text())
        self.assertEqual(summary["why_ended"], "interrupted")
        self.assertIsNotNone(summary["final_accuracy"])
        self.assertTrue((self.run_directory / "weights.safetensors").exists())


class Gossip(Topology):
    def test_it_learns_and_names_the_worst_replica(self):
        # Much slower than a meeting takes, however busy the machine is.
        slow = self.path("slow.csv", "0.06,0.02,0.02,0.02\n")
        _, summary = self.train("gossip", "--topology", "gossip", "--workers", 4, "--seed", 3,
                                "--updates", 1600, "--delays", slow)
        self.assertGreater(summary["final_accuracy"], 0.78)
        self.assertGreater(summary["worst_replica_accuracy"], 0.6)
        self.assertGreaterEqual(summary["updates"], 1600)
        iterations = [worker["iterations"] for worker in summary["workers_detail"]]
        self.assertEqual(sum(iterations), summary["updates"])
        self.assertLess(iterations[0], max(iterations[1:]))  # Nobody waited for the slow one.

    def test_each_way_and_each_graph_learns_and_its_record_says_which(self):
        for averaging, graph in (("coupled", "ring"), ("coupled", "exponential"),
                                 ("free", "bipartite"), ("pull", "complete"),
                                 ("push", "complete"), ("push", "ring")):
            name = f"{averaging}-{graph}"
            options = ("--graph", graph) if graph != "complete" else ()
            _, summary = self.train(name, "--topology", "gossip", "--workers", 5, "--seed", 3,
                                    "--gossip", averaging, *options, "--updates", 1600)
            self.assertGreater(summary["final_accuracy"], 0.75, name)
            self.assertGreater(summary["worst_replica_accuracy"], 0.6, name)
            config = (self.folder / name / "config.toml").read_text()
            self.assertIn(f"gossip = '{averaging}'", config)
            self.assertIn(f"graph = '{graph}'", config)
            self.assert_replays(self.folder / name, members=6)

    def test_elastic_averaging_learns_with_and_without_momentum(self):
        for name, options in (("easgd", ()),
                              ("eamsgd", ("--optimizer", "nesterov", "--lr", 0.03))):
            _, summary = self.train(name, "--topology", "gossip", "--gossip", "easgd", *options,
                                    "--workers", 4, "--seed", 3, "--updates", 2400)
            self.assertGreater(summary["final_accuracy"], 0.75, name)
            self.assertIn("average-every = 10", (self.folder / name / "config.toml").read_text())
            self.assert_replays(self.folder / name, members=5)

    def test_without_learning_nobody_moves(self):
        start, _ = self.train("start", "--policy", "sync", "--workers", 1, "--updates", 1,
                              "--lr", 0, "--seed", 5)
        weights, summary = self.train("gossip", "--topology", "gossip", "--workers", 3, "--lr", 0,
                                      "--updates", 60, "--seed", 5)
        self.assertEqual(weights, start)  # Weights that are equal meet halfway where they are.
        self.assertEqual(summary["worst_replica_accuracy"], summary["final_accuracy"])
        again, _ = self.train("again", "--config", self.folder / "gossip" / "config.toml")
        self.assertEqual(again, start)

    def test_a_stranger_is_named_and_an_interrupt_ends_the_run(self):
        process = self.start_training("gossip")
        with socket.socket(socket.AF_UNIX) as stranger:
            stranger.connect(str(next(self.scratch.glob("outpace-run-*/host.sock"))))
            stranger.send(b"GET / HTTP/1.1\r\n\r\n")
            process.until_said(f"refused process {os.getpid()}: it is none of ours")
        process.send(signal.SIGINT)
        self.assert_failed(process, 130, "outpace: interrupted")
        self.assertTrue((self.run_directory / "weights.safetensors").exists())


class Replay(Topology):
    def test_those_that_are_left_and_one_that_was_killed_decide_the_same_again(self):
        for topology in ("ring", "gossip"):
            with self.subTest(topology):
                self.doCleanups()
                self.setUp()
                process = self.start_training(topology)
                os.kill(self.child(1), signal.SIGKILL)
                process.until_said("goes on with 3 of 4 workers")
                seen = len(read_json_lines(self.run_directory / "metrics.jsonl"))
                wait_until(lambda: len(read_json_lines(self.run_directory / "metrics.jsonl"))
                           > seen + 1, "more of the run")
                process.send(signal.SIGINT)
                self.assert_failed(process, 130, "outpace: interrupted")
                self.assert_replays(self.run_directory, members=5)

    def test_a_simulated_run_decides_the_same_again(self):
        for topology in ("ring", "gossip"):
            run = self.folder / topology
            process = self.start("simulate", "--topology", topology, "--workers", 4, "--updates", 200,
                                 "--fault", "crash:worker=2,at=3s", "--out", run)
            self.assertEqual(process.wait(), 0, process.err)
            self.assert_replays(run, members=5)

    def refused(self, run, code, *says):
        replay = self.start("replay", run)
        self.assertEqual(replay.wait(), code, replay.err)
        self.assertEqual(len(replay.err.splitlines()), 1, replay.err)
        for text in says:
            self.assertIn(text, replay.err)

    def test_a_forged_decision_and_a_log_that_is_none_are_named(self):
        run = self.folder / "run"
        self.train("run", "--topology", "gossip", "--workers", 3, "--updates", 100)
        log = run / "decisions" / "worker-2.jsonl"
        text = log.read_text()
        lines = text.splitlines()
        forged = next(number for number, line in enumerate(lines) if '"event":"meet"' in line)
        log.write_text(text.replace(lines[forged], lines[forged].replace("sends ask", "sends offer")))
        self.refused(run, 1, f"worker-2.jsonl:{forged + 1}: worker 2, its event {forged}, at ",
                     "after 'meet', the run did 'sends offer to 1",
                     "and the replay 'sends ask to 1")
        log.write_text(text[:-5])
        replay = self.start("replay", run)
        self.assertEqual(replay.wait(), 0, replay.err)
        self.assertIn("worker-2.jsonl: the last line is cut off, and is ignored", replay.out)
        log.write_text(text.replace('"outpace_peers":1', '"outpace_peers":2', 1))
        self.refused(run, 2, "worker-2.jsonl:1: a decision log of version 2; this program reads")

    def test_nothing_is_kept_that_is_not_wanted(self):
        self.train("run", "--topology", "ring", "--workers", 2, "--updates", 20, "--decisions", "off")
        self.assertFalse((self.folder / "run" / "decisions").exists())
        self.refused(self.folder / "run", 2, "--decisions off keeps none")


class BadInput(Topology):
    def refused(self, *options, says):
        process = self.start("train", *options, "--out", self.folder / "refused")
        self.assertEqual(process.wait(), 2, process.err)
        self.assertEqual(len(process.err.splitlines()), 1, process.err)
        for text in says:
            self.assertIn(text, process.err)
        self.assertFalse((self.folder / "refused").exists())

    def test_a_topology_that_is_none(self):
        self.refused("--topology", "star", says=("'star'", "ps, ring or gossip"))

    def test_what_only_a_server_does(self):
        for option in (("--staleness", "inverse"), ("--filter", "median"), ("--balance",),
                       ("--attack", "nan:workers=0"), ("--trace", "trace.json"),
                       ("--token-file", "token")):
            for topology in ("ring", "gossip"):
                self.refused("--topology", topology, *option,
                             says=(option[0], f"--topology {topology}", "parameter server"))

    def test_another_policy(self):
        self.refused("--topology", "ring", "--policy", "ssp:s=3", says=("--policy ssp:s=3", "sync"))
        self.refused("--topology", "gossip", "--policy", "sync", says=("--policy sync", "async"))

    def test_what_only_one_of_them_has(self):
        self.refused("--bucket-kib", 64, says=("--bucket-kib", "ring"))
        self.refused("--topology", "gossip", "--bucket-kib", 64, says=("--bucket-kib", "ring"))
        self.refused("--topology", "gossip", "--lr-scale", "sqrt", says=("--lr-scale",))
        self.refused("--topology", "ring", "--bucket-kib", 0, says=("--bucket-kib is '0'",))
        self.refused("--peer-interface", "lo", says=("--peer-interface", "ring or gossip"))
        self.refused("--topology", "ring", "--peer-interface", "lo", says=("--insecure-no-tls",))
        self.refused("--topology", "ring", "--insecure-no-tls", says=("--peer-interface",))
        self.refused("--topology", "gossip", "--workers", 1, says=("--workers is 1", "at least 2"))

    def test_how_a_gossip_averages(self):
        gossip = ("--topology", "gossip")
        self.refused(*gossip, "--gossip", "loose",
                     says=("'loose'", "coupled, free, pull, push or easgd"))
        self.refused(*gossip, "--graph", "star",
                     says=("'star'", "complete, bipartite, ring or exponential"))
        self.refused(*gossip, "--graph", "complete",
                     says=("--graph complete", "--gossip coupled", "circle"))
        self.refused(*gossip, "--gossip", "easgd", "--graph", "ring", says=("--graph", "centre"))
        self.refused(*gossip, "--elasticity", 0.5, says=("--elasticity", "easgd"))
        self.refused(*gossip, "--average-every", 0, says=("--average-every",))
        self.refused("--gossip", "pull", says=("--gossip", "--topology gossip"))
        self.refused("--topology", "ring", "--graph", "ring",
                     says=("--graph", "--topology gossip"))

    def test_weights_of_another_network(self):
        self.train("first", "--policy", "sync", "--workers", 1, "--updates", 1)
        process = self.start("train", "--topology", "ring", "--workers", 2, "--network", "cnn",
                             "--weights", self.folder / "first" / "weights.safetensors",
                             "--out", self.folder / "second")
        self.assert_failed(process, 4, "another network")


if __name__ == "__main__":
    main()
