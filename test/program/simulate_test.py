"""Runs in virtual time are repeatable and fast and have the result of a live run; and the replay of
a live run's decisions."""

import json
import re
import sys

sys.dont_write_bytecode = True
from jobs import LedgerJob, ProgramTest, main, read_json_lines  # noqa: E402

POLICIES = ("sync", "backup:cutoff=6", "dynamic", "async", "softsync:n=4", "ssp:s=3",
            "kbatchsync:k=6", "kasync:k=4", "adasync:k=2", "dssp:low=1,high=4", "psp:beta=2,s=1",
            "saps:s=12,action=refresh", "saps:s=12,action=preempt", "saps:s=12,action=shrink",
            "saps:s=12,action=dampen")
TRAIN_KEYS = {"policy", "workers", "updates", "seconds", "gradients_applied", "gradients_dropped",
              "gradients_cancelled", "examples_per_second", "gradients_per_second",
              "seconds_to_target", "final_accuracy", "final_loss", "staleness",
              "examples_used_per_epoch_min", "examples_used_per_epoch_max", "workers_detail"}


def assert_trace(test, path, found):
    """The Chrome trace at `path` shows the run whose result is `found`."""
    slices = [event for event in json.loads(path.read_text()) if event["ph"] == "X"]
    updates = [event for event in slices if event["pid"] == 0]
    test.assertEqual(len(updates), found["updates"])
    test.assertEqual(sum(event["args"]["gradients"] for event in updates),
                     found["gradients_applied"])
    tasks = [event for event in slices if event["pid"] > 0]
    test.assertEqual({event["pid"] - 1 for event in tasks}, set(range(found["workers"])))
    accepted = sum(event["args"]["outcome"].startswith("accepted") for event in tasks)
    test.assertGreaterEqual(accepted, found["gradients_applied"])
    free = {}
    for task in tasks:  # A worker does one thing at a time; times have three decimals.
        test.assertGreaterEqual(task["ts"] + 1e-3, free.get(task["pid"], 0))
        free[task["pid"]] = task["ts"] + task["dur"]


class Simulated(ProgramTest):
    def simulate(self, *words, code=0):
        process = self.start("simulate", *words, "--json")
        self.assertEqual(process.wait(), code, process.err)
        return json.loads(process.out) if code == 0 else process

    def test_the_same_options_give_the_same_run(self):
        words = ("--workers", 30, "--policy", "softsync:n=15", "--runtime",
                 "22*lognormal(mean=100ms,cv=0.2),8*lognormal(mean=400ms,cv=0.2)",
                 "--latency", "1ms", "--updates", 2000)
        once, again = self.simulate(*words), self.simulate(*words)
        self.assertLessEqual(TRAIN_KEYS, set(once))
        self.assertEqual(len(once["event_log_hash"]), 16)
        for key in set(once) - {"wall_seconds"}:
            self.assertEqual(once[key], again[key], key)
        other = self.simulate(*words, "--seed", 2)
        self.assertNotEqual(once["event_log_hash"], other["event_log_hash"])

    def test_gradients_and_weights_share_links(self):
        words = ("--workers", 4, "--policy", "sync", "--runtime", "constant(mean=100ms)",
                 "--updates", 10, "--bandwidth", "8Mbps", "--payload", "100kB")
        # Weights of all four 400 ms over the server's link, computing 100 ms, gradients 400 ms.
        once, again = self.simulate(*words), self.simulate(*words)
        self.assertEqual(once["seconds"], 9.0)
        self.assertEqual(once["event_log_hash"], again["event_log_hash"])
        self.assertEqual(self.simulate(*words, "--shape", "star:latency=1ms")["seconds"], 9.04)
        self.assertGreater(
            self.simulate(*words, "--shape", "tree:racks=2,oversubscription=8")["seconds"], 9.0)

    def test_a_platform_file_says_what_the_links_are(self):
        words = ("--workers", 1, "--policy", "async", "--runtime", "constant(mean=100ms)",
                 "--updates", 10, "--payload", "100kB", "--platform")
        found = self.simulate(*words, self.platform('<link id="l" bandwidth="1MBps" latency="5ms"/>'))
        self.assertEqual(found["seconds"], 3.1)
        there = self.simulate(*words, self.folder / "platform.xml", "--server-host", "b")
        self.assertEqual(there["seconds"], 3.1)

    def test_shards_divide_the_servers_link_and_its_work(self):
        words = ("--workers", 4, "--policy", "sync", "--runtime", "constant(mean=100ms)",
                 "--updates", 10, "--bandwidth", "8Mbps", "--payload", "100kB")
        # 400 ms over one server's link each way, until the worker's own takes 100 ms.
        for shards, seconds in ((1, 9.0), (2, 5.0), (4, 3.0), (8, 3.0)):
            self.assertEqual(self.simulate(*words, "--shards", shards)["seconds"], seconds)
        # Without links a queue that each gradient passes in 2 ms / shards.
        words = ("--policy", "async", "--runtime", "constant(mean=1ms)", "--updates", 1000,
                 "--apply", "2ms")
        for shards, seconds in ((1, 2.001), (2, 1.001), (4, 0.501)):
            self.assertEqual(self.simulate(*words, "--shards", shards)["seconds"], seconds)

    def test_the_server_may_be_on_any_host(self):
        words = ("--workers", 5, "--policy", "sync", "--runtime", "constant(mean=100ms)",
                 "--updates", 1, "--bandwidth", "8Mbps", "--payload", "100kB",
                 "--shape", "tree:racks=2,oversubscription=6")
        first = self.simulate(*words)
        for host in ("host0", "2", "host1"):  # All in the first rack.
            self.assertEqual(self.simulate(*words, "--server-host", host)["event_log_hash"],
                             first["event_log_hash"])
        other = self.simulate(*words, "--server-host", "host5")
        self.assertNotEqual(other["event_log_hash"], first["event_log_hash"])
        # A shard in each rack: half of its link is for the two workers there, and half for the two
        # that come by the uplink, which is full as well.
        sharded = self.simulate(*words[2:], "--workers", 4, "--shards", 2,
                                "--server-host", "host0,host3")
        self.assertEqual(sharded["seconds"], 0.5)

    def test_balanced_mini_batches_let_nobody_wait(self):
        # Two of eight take four times as long: 6 + 2/4 mini-batches in the time of one, not 8/4.
        trace = self.path("delays.csv", ("0.02," * 6 + "0.08,0.08\n") * 3)
        words = ("--policy", "sync", "--delays", trace, "--updates", 500, "--batch", 64)
        plain = self.simulate(*words)
        balanced = self.simulate(*words, "--balance")
        self.assertEqual((plain["balance_most"], balanced["balance_most"]), (None, 4.0))
        self.assertEqual(balanced["examples"], plain["examples"])
        self.assertEqual(balanced["staleness"]["max"], 0)
        faster = balanced["examples_per_second"] / plain["examples_per_second"]
        self.assertGreater(faster, 3.0)
        self.assertLess(faster, 6.5 / 2)
        bounded = self.simulate(*words, "--balance", "--balance-most", 1)
        self.assertEqual(bounded["examples_per_second"], plain["examples_per_second"])

    def test_nobody_is_sooner_than_the_oracle(self):
        common = ("--workers", "8", "--runtime", "7*lognormal(mean=100ms,cv=0.5),1*exponential(1s)",
                  "--seconds", "200s")
        oracle = self.simulate(*common, "--policy", "sync", "--oracle", "--out", "oracle")
        self.assertEqual(oracle["policy"], "oracle")
        for policy in ("sync", "backup:cutoff=7", "backup:cutoff=6", "dynamic"):
            found = self.simulate(*common, "--policy", policy)
            self.assertGreater(oracle["gradients_per_second"], found["gradients_per_second"], policy)
        replay = self.start("replay", "oracle")
        self.assertEqual(replay.wait(), 2)
        self.assertIn("a run of the oracle", replay.err)

    def test_every_model_notices_that_slow_workers_have_recovered(self):
        """Two of eight are four times as slow, and cut off, for 300 rows; then all are alike."""
        rows, period, usual = 300, 0.06, (0.048, 0.05, 0.052)
        delays = self.path("ends.csv", "".join(
            ",".join(str(usual[(row + worker) % 3] * (4 if worker >= 6 and row < rows else 1))
                     for worker in range(8)) + "\n" for row in range(2 * rows)))
        for model in ("auto", "last", "switching", "ewma", "elfving"):
            with self.subTest(model):
                run = self.folder / model
                self.simulate("--workers", 8, "--batch", 8, "--policy", f"dynamic:model={model}",
                              "--delays", delays, "--delays-period", f"{period}s", "--latency",
                              "100us", "--updates", 400, "--out", run)
                before, after, accepted = [], [], 0
                for line in read_json_lines(run / "decisions.jsonl")[1:]:
                    kinds = [action["type"] for action in line["actions"]]
                    accepted += kinds.count("accept")
                    if "commit" in kinds:
                        ended = line["now"] > rows * period * 1e9
                        (after if ended else before).append(accepted)
                        accepted = 0
                self.assertLess(sum(before[50:]) / len(before[50:]), 7, "they were not cut off")
                notices = next(i for i in range(len(after)) if sum(after[i:i + 10]) == 80)
                self.assertLessEqual(notices, 50)

    def test_every_policy_uses_every_example_once(self):
        for policy in POLICIES:
            with self.subTest(policy):
                found = self.simulate("--policy", policy, "--workers", 8, "--examples", 1000,
                                      "--epochs", 3, "--slow", "worker=7,factor=50")
                self.assertEqual(found["why_ended"], "epochs done")
                self.assertEqual(found["examples"], 3000)
                self.assertEqual(found["examples_used_per_epoch_min"], 1)
                self.assertEqual(found["examples_used_per_epoch_max"], 1)

    def test_workers_beyond_the_first_take_part_when_they_join(self):
        # 5 s of 4 workers and 10 s of 6, which all take 100 ms: 200 and 600 mini-batches.
        for policy in ("sync", "dynamic", "async", "kbatchasync:k=2", "ssp:s=3", "psp:beta=2",
                       "saps", "adasync:k=6,rule=ksync"):
            words = ("--workers", 4, "--max-workers", 6, "--policy", policy,
                     "--runtime", "constant(mean=100ms)", "--seconds", "15s")
            found = self.simulate(*words, "--fault", "join:worker=4,at=5s",
                                  "--fault", "join:worker=5,at=5s")
            self.assertAlmostEqual(found["gradients_applied"], 800, delta=16, msg=policy)
            alone = self.simulate(*words)
            self.assertAlmostEqual(alone["gradients_applied"], 600, delta=12, msg=policy)
        self.assertIn("--max-workers is 3; it takes a whole number from --workers, 4, to",
                      self.simulate("--workers", 4, "--max-workers", 3, code=2).err)

    def test_its_record_replays(self):
        links = ("--bandwidth", "1Gbps", "--payload", "1MB", "--shape", "fat-tree:latency=25us")
        balanced = ("--balance", "--slow", "worker=3,factor=4")
        jobs = [(policy, words) for policy in POLICIES for words in ((), balanced)]
        for number, (policy, words) in enumerate([*jobs, ("ssp:s=2", links)]):
            with self.subTest(policy):
                run = self.folder / f"run-{number}"
                self.simulate("--policy", policy, "--updates", 300, "--out", run, *words)
                replay = self.start("replay", run)
                self.assertEqual(replay.wait(), 0, replay.err)
                self.assertIn("all identical", replay.out)

    def test_its_trace_shows_every_task_and_update(self):
        trace = self.folder / "trace.json"
        found = self.simulate("--policy", "backup:cutoff=6", "--updates", 100, "--trace", trace)
        assert_trace(self, trace, found)

    def test_a_refused_run_leaves_an_older_trace_alone(self):
        words = ("--updates", 20, "--trace", self.folder / "trace.json", "--out", "run")
        self.simulate(*words)
        before = (self.folder / "trace.json").read_text()
        self.assertIn("is not empty", self.simulate(*words, code=2).err)
        self.assertEqual((self.folder / "trace.json").read_text(), before)

    def test_its_trace_shows_how_full_each_link_is(self):
        trace = self.folder / "trace.json"
        words = ("--workers", 4, "--policy", "sync", "--runtime", "constant(mean=100ms)",
                 "--updates", 3, "--bandwidth", "8Mbps", "--payload", "100kB", "--shards", 2)
        found = self.simulate(*words, "--trace", trace)
        self.assertEqual(found["event_log_hash"], self.simulate(*words)["event_log_hash"])
        assert_trace(self, trace, found)
        points = {}
        for event in json.loads(trace.read_text()):
            if event["ph"] == "C" and "% used" in event["args"]:
                points.setdefault(event["name"], []).append((event["ts"], event["args"]["% used"]))
        self.assertEqual(set(points), {f"host{host}.{way}" for host in range(6)
                                       for way in ("up", "down")})

        def used(link, ms):  # The last point before a time.
            return [share for at, share in points[link] if at <= 1000 * ms][-1]
        # Weights 200 ms, computing 100 ms, gradients 200 ms, and the weights again.
        for ms, down, up in ((150, 100, 0), (250, 0, 0), (400, 0, 100), (600, 100, 0)):
            for shard in ("host0", "host1"):
                self.assertEqual((used(f"{shard}.up", ms), used(f"{shard}.down", ms)), (down, up))
            self.assertEqual((used("host5.down", ms), used("host5.up", ms)), (down / 2, up / 2))

    def test_a_file_may_describe_the_cluster(self):
        file = self.folder / "cluster.toml"
        file.write_text('runtime = "22*constant(100ms),8*constant(400ms)"\nworkers = 30\n'
                        'latency = "1ms"\nfault = ["crash:worker=3,at=1s"]\n')
        by_file = self.simulate("--config", file, "--updates", 100)
        by_flags = self.simulate("--runtime", "22*constant(100ms),8*constant(400ms)",
                                 "--workers", 30, "--latency", "1ms",
                                 "--fault", "crash:worker=3,at=1s", "--updates", 100)
        self.assertEqual(by_file["event_log_hash"], by_flags["event_log_hash"])

    def test_a_file_may_describe_links_shards_and_trace(self):
        file, trace = self.folder / "cluster.toml", self.folder / "trace.json"
        file.write_text('workers = 6\nbandwidth = "1Gbps"\npayload = "1MB"\napply = "2ms"\n'
                        'shape = "tree:racks=2"\nshards = 2\nserver-host = ["host1", 4]\n'
                        f'trace = "{trace}"\nout = "{self.folder / "run"}"\n')
        by_file = self.simulate("--config", file, "--updates", 50)
        self.assertIn("host4.down", trace.read_text())
        by_flags = self.simulate("--workers", 6, "--bandwidth", "1Gbps", "--payload", "1MB",
                                 "--apply", "2ms", "--shape", "tree:racks=2", "--shards", 2,
                                 "--server-host", "host1,host4", "--updates", 50)
        self.assertEqual(by_file["event_log_hash"], by_flags["event_log_hash"])
        again = self.simulate("--config", self.folder / "run" / "config.toml",
                              "--out", self.folder / "again")
        self.assertEqual(again["event_log_hash"], by_flags["event_log_hash"])

    def platform(self, links, host='<host id="b" speed="1Gf"/>', link="l"):
        """A file of two hosts, with these links and a route over one of them."""
        path = self.folder / "platform.xml"
        path.write_text('<platform version="4.1">\n<zone id="z" routing="Full">\n'
                        f'<host id="a" speed="1Gf"/>{host}\n{links}\n'
                        f'<route src="a" dst="b"><link_ctn id="{link}"/></route></zone></platform>')
        return path

    def test_a_wrong_platform_file_is_named_with_the_line(self):
        link = '<link id="l" bandwidth="{}" latency="5ms"/>'
        for platform, part in (
                ((link.format("-1MBps"),), "platform.xml:4: <link> 'l': bandwidth is '-1MBps'"),
                ((link.format("1MBps"), '<host id="b" speed="1Gf"/>', "m"),
                 "platform.xml:5: <link_ctn> 'm': no such link"),
                ((link.format("1MBps"), '<storage id="s"/>'),
                 "platform.xml:3: element 'storage' is not supported"),
                ((link.format("1MBps"),), "too few hosts, 2; the server and 8 workers")):
            process = self.simulate("--workers", 8, "--payload", "1kB", "--platform",
                                    self.platform(*platform), code=2)
            self.assertEqual(len(process.err.splitlines()), 1, process.err)
            self.assertIn(part, process.err)
            self.assertEqual(process.out, "")

    def test_bad_input_is_one_line(self):
        sent = ("--payload", "1kB")
        star = ("--bandwidth", "1Gbps", *sent)
        platform = self.platform('<link id="l" bandwidth="1MBps" latency="5ms"/>')
        for words, part in (
                (("--bandwidth", "-1Gbps", *sent), "--bandwidth"),
                (("--bandwidth", "1000000", *sent), "125MBps"),
                (("--bandwidth", "1Gbps"), "--payload"),
                (("--bandwidth", "1Gbps", "--payload", "-1kB"), "--payload"),
                (("--bandwidth", "1Gbps", "--learn", "mlp", *sent), "--learn"),
                (("--bandwidth", "1Gbps", "--shape", "tree:rack=2", *sent), "racks"),
                (("--bandwidth", "1Gbps", "--shape", "fat-tree:k=2", *sent), "k"),
                (("--bandwidth", "1Gbps", "--platform", "x.xml", *sent), "--bandwidth"),
                (("--platform", "/nowhere.xml", *sent), "/nowhere.xml"),
                (("--shards", 0), "--shards is '0'; it takes a whole number from 1"),
                (("--shards", 1.5), "--shards"),
                (("--shards", 5000), "--shards is '5000'; it takes a whole number from 1 to 4096"),
                (("--shards", 2), "nothing to divide"),
                (("--policy", "dssp:low=3,high=999999"), "high"),
                (("--server-host", "host1"), "--server-host without"),
                (("--oracle", "--policy", "async"), "say --policy sync"),
                ((*star, "--server-host", "hots1"), "did you mean 'host1'?"),
                ((*star, "--server-host", "9"), "a number from 0 to 8"),
                ((*star, "--server-host", "host1,host2"), "2 named, but 1 needed"),
                ((*star, "--server-host", "host1", "--shards", 2), "1 named, but 2 needed"),
                ((*star, "--server-host", "host1,1", "--shards", 2), "'1' is named twice"),
                (("--workers", 1, "--shards", 2, *sent, "--platform", platform),
                 "too few hosts, 2; the server's 2 shards and 1 workers"),
                (("--workers", 1, "--server-host", "c", *sent, "--platform", platform),
                 "server host 'c': no such host; it takes a name such as 'b'"),
                (("--shape", "star"), "--shape"),
                (sent, "--payload"),
                (("--runtime", "lognormall(mean=1s,cv=1)"), "lognormal"),
                (("--runtime", "exponential(mean=-1s)"), "mean"),
                (("--runtime", "constant(mean=1s)", "--delays", "x.csv"), "--delays"),
                (("--runtime", "replay(file=/nowhere.csv)"), "/nowhere.csv"),
                (("--runtime", "9*constant(mean=1s)"), "9"),
                (("--latency", "-3ms"), "--latency"),
                (("--latency", "100000h"), "ten years at most"),
                (("--latency", "80000h", "--updates", 100), "more than 100 simulated years"),
                (("--bandwidth", "1bps", "--payload", "10MB", "--updates", 100),
                 "more than 100 simulated years"),
                (("--workers", 0), "--workers"),
                (("--policy", "backup:cutoff=9"), "cutoff"),
                (("--target-accuracy", 0.9), "--learn"),
                (("--fault", "crash:worker=8,at=1s"), "worker"),
                (("--fault", "crahs:worker=1,at=1s"), "crash"),
                (("--compute", "2ms"), "--delays"),
                (("--cores", 2), "--delays"),
                (("--trace", "/nowhere/trace.json"), "/nowhere"),
                (("--fault", "partition:workers=9,at=1s,for=1s"), "workers"),
                (("--fault", "lose:at=1s,for=1s,probability=2"), "probability"),
                (("--seeds", "0..9"), "did you mean '--seed'?"),
                (("--examples", 0), "--examples")):
            process = self.simulate(*words, code=2)
            self.assertEqual(len(process.err.splitlines()), 1, process.err)
            self.assertIn(part, process.err)
            self.assertEqual(process.out, "")


class Peers(ProgramTest):
    def simulated(self, *words):
        process = self.start("simulate", *words, "--json")
        self.assertEqual(process.wait(), 0, process.err)
        return json.loads(process.out)

    def test_a_ring_uses_every_example_whatever_dies(self):
        found = self.simulated("--topology", "ring", "--workers", 6, "--batch", 8, "--examples", 1000,
                               "--epochs", 3, "--latency", "1ms", "--fault", "crash:worker=2,at=2s",
                               "--fault", "crash:worker=0,at=3s")
        self.assertEqual((found["examples"], found["crashed"], found["groups"]), (3000, 2, 3))
        self.assertEqual([worker["lost"] for worker in found["workers"]],
                         [True, False, True, False, False, False])

    def test_a_gossips_gradients_go_with_meetings_or_do_not_wait(self):
        for kind in ("coupled", "free", "pull", "push", "easgd"):
            with self.subTest(kind):
                found = self.simulated("--topology", "gossip", "--gossip", kind, "--workers", 4,
                                       "--updates", 400, "--latency", "1ms", "--transfer", "200ms",
                                       "--average-every", 1)
                self.assertGreaterEqual(found["updates"], 400)
                for worker in found["workers"]:
                    if kind != "free":
                        self.assertIn(worker["meetings"] - worker["gradients"], (0, 1))
                if kind == "free":
                    self.assertEqual(found["waited_percent"], 0.0)
                else:
                    self.assertGreater(found["waited_percent"], 10.0)

    def test_the_same_seed_gives_the_same_run(self):
        words = ("--topology", "gossip", "--workers", 8, "--updates", 500, "--fault",
                 "lose:at=1s,for=5s,probability=0.01")
        hashes = [self.simulated(*words, "--seed", seed)["event_log_hash"] for seed in (1, 1, 2)]
        self.assertEqual(hashes[0], hashes[1])
        self.assertNotEqual(hashes[0], hashes[2])

    def test_people_get_a_report(self):
        process = self.start("simulate", "--topology", "gossip", "--workers", 3, "--updates", 60)
        self.assertEqual(process.wait(), 0, process.err)
        self.assertIn("gossip: updates done\n", process.out)
        self.assertIn("examples/s", process.out)
        self.assertIn("no invariant was broken", process.out)
        self.assertEqual(len(process.out.splitlines()), 5 + 1 + 4)  # The lines, the table.

    def test_too_few_workers_end_it_and_options_of_a_server_are_refused(self):
        for words, code, message in (
                (("--topology", "ring", "--workers", 2, "--fault", "crash:worker=1,at=1s"), 5,
                 "too few workers: 1 of 2 left; worker 1 is gone"),
                (("--topology", "ring", "--policy", "ssp:s=2"), 2, "behaves like sync"),
                (("--topology", "ring", "--trace", "a.json"), 2, "does not have it"),
                (("--gossip", "pull"), 2, "belongs to --topology gossip"),
                (("--topology", "gossip", "--fault", "server:at=1s,for=1s"), 2,
                 "a run without a server can have crash")):
            with self.subTest(words):
                process = self.start("simulate", *words)
                self.assertEqual(process.wait(), code, process.err)
                self.assertIn(message, process.err)


class Replay(ProgramTest):
    def test_a_live_run_gives_the_same_decisions_again(self):
        for policy, options in (("backup:cutoff=3", ()), ("ssp:s=2", ()),
                                ("saps:s=8,action=shrink", ()), ("sync", ("--balance",)),
                                ("dynamic:objective=progress", ())):
            with self.subTest(policy):
                self.doCleanups()
                self.setUp()
                job = LedgerJob(self, policy, epochs=2, options=options,
                                batch_seconds=lambda worker: 0.016 if worker == 7 else 0.004)
                job.finish()
                replay = self.start("replay", job.run, "--json")
                self.assertEqual(replay.wait(), 0, replay.err)
                found = json.loads(replay.out)
                self.assertEqual((found["policy"], found["difference"]), (policy, None))
                self.assertIsNone(found["broken_invariant"])
                lines = (job.run / "decisions.jsonl").read_text().splitlines()
                self.assertEqual(found["identical_decisions"], len(lines) - 1)

    def test_a_live_run_writes_the_same_trace(self):
        trace = self.folder / "trace.json"
        job = LedgerJob(self, "backup:cutoff=3", epochs=2, options=("--trace", trace))
        job.finish()
        assert_trace(self, trace, job.summary())

    def test_a_forged_decision_is_found(self):
        job = LedgerJob(self, "async", epochs=1)
        job.finish()
        log = job.run / "decisions.jsonl"
        lines = log.read_text().splitlines()
        forged = next(number for number, line in enumerate(lines)
                      if '"type":"accept"' in line and number > 20)
        lines[forged] = lines[forged].replace('"weight":1}', '"weight":0.5}', 1)
        log.write_text("\n".join(lines) + "\n")
        replay = self.start("replay", job.run)
        self.assertEqual(replay.wait(), 1, replay.err)
        self.assertEqual(len(replay.err.splitlines()), 1, replay.err)
        self.assertIn(f"decisions.jsonl:{forged + 1}: ", replay.err)
        self.assertIn('"weight":0.5', replay.err)
        self.assertIn('"weight":1}', replay.err)

    def test_a_broken_invariant_is_found(self):
        job = LedgerJob(self, "async", epochs=1)
        job.finish()
        log = job.run / "decisions.jsonl"
        lines = log.read_text().splitlines()
        broken = next(number for number, line in enumerate(lines)
                      if '"computed_on":' in line and number > 20)
        lines[broken] = re.sub(r'"computed_on":\d+', '"computed_on":1000', lines[broken])
        log.write_text("\n".join(lines) + "\n")
        replay = self.start("replay", job.run)
        self.assertEqual(replay.wait(), 1, replay.err)
        self.assertEqual(len(replay.err.splitlines()), 1, replay.err)
        self.assertIn(f"decisions.jsonl:{broken + 1}: ", replay.err)
        self.assertIn("I10: ", replay.err)

    def test_what_is_no_run_is_refused(self):
        process = self.start("replay", self.folder / "nowhere")
        self.assertEqual(process.wait(), 2, process.err)
        self.assertEqual(len(process.err.splitlines()), 1, process.err)


if __name__ == "__main__":
    main()
