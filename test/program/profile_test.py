"""`outpace profile`, `outpace predict` with its file, and workers paced by it."""

import json
import signal
import sys
from xml.etree import ElementTree

sys.dont_write_bytecode = True
from jobs import ProgramTest, main, read_json_lines, wait_until  # noqa: E402

EXIT_USAGE = 2


def profile(compute=0.02, batch=8):
    """A profile of a network of a thousand numbers; its odd iterations are twice as slow."""
    return {"format": "outpace-profile", "version": 1, "kind": "measured", "network": "mlp",
            "data": "fashion-mnist", "batch": batch, "dataset_examples": 1000,
            "apply_seconds": 1e-5, "message_seconds": 1e-4, "byte_seconds": 1e-9,
            "tensors": [{"name": "w", "numbers": 1000}], "layers": [],
            "iterations": [{"compute_seconds": compute * (1 + i % 2), "rest_seconds": 1e-3}
                           for i in range(10)]}


class Throughput(ProgramTest):
    def outpace(self, *words, code=0):
        process = self.start(*words)
        self.assertEqual(process.wait(), code, process.err)
        self.assert_nothing_left()
        return process

    def refuse(self, says, *words):
        with self.subTest(" ".join(words)):
            process = self.outpace(*words, code=EXIT_USAGE)
            self.assertEqual(process.out, "")
            self.assertEqual(len(process.err.splitlines()), 1, process.err)
            self.assertIn(says, process.err)

    def predict(self, *words):
        found = json.loads(self.outpace("predict", "p.json", *words, "--json").out)["predictions"]
        return {(one["model"], one["workers"], one["policy"] or one["topology"], one["shards"]): one
                for one in found}


class Measured(Throughput):
    def test_profile_is_measured_and_predicted_from(self):
        text = self.outpace("profile", "--network", "mlp", "--iterations", "8", "-o", "p.json").out
        self.assertIn("0.407 MB of weights", text)
        self.assertIn("a sum of two", text)
        self.assertRegex(text, r"a meeting of two +\d+\.\d+ ms, without weights")
        self.assertRegex(text, r"packs, unpacks +bf16 \S+, \S+; fp16 .*int8 .* GB/s")
        written = json.loads(self.path("p.json").read_text())
        self.assertGreater(written["sum_message_seconds"], 0)
        self.assertEqual(len(written["iterations"]), 8)
        self.assertEqual(len(written["layers"]), 3)
        self.assertEqual(sorted(written["packing"]["gradients"]),
                         ["bf16", "fp16", "int4", "int8", "topk"])
        self.assertGreater(written["packing"]["weights"]["delta"]["unpack"], 0)
        self.assertEqual(sum(one["numbers"] for one in written["tensors"]), 101770)
        self.assertTrue(any(one["name"] == "layer 2 backward" for one in written["traceEvents"]))
        alone = self.predict("--workers", "1", "--policy", "async")[("fine", 1, "async", 1)]
        self.assertGreater(alone["high"], alone["examples_per_second"])
        self.assertEqual(alone["bottleneck"] in ("worker compute", "server apply"), True)

    def test_a_profile_without_sums_says_what_stands_in_for_them(self):
        self.path("p.json", json.dumps(profile()))
        for topology, says in (("ps", ""), ("ring", "no costs of sums and meetings"),
                               ("ps,gossip", "no costs of sums and meetings")):
            with self.subTest(topology):
                err = self.outpace("predict", "p.json", "--workers", "2", "--topology", topology).err
                self.assertIn(says, err)
                self.assertEqual(len(err.splitlines()), 1 if says else 0, err)

    def test_packing_takes_as_long_as_the_profile_says(self):
        slow = profile() | {"packing": {"gradients": {"int8": {"pack": 4e-4, "unpack": 8e-4}},
                                        "weights": {}}}  # 4 kB in 10 ms, and in 5.
        self.path("p.json", json.dumps(slow))
        words = ("--workers", "1", "--policy", "sync", "--compress")
        for model in ("fine", "coarse"):
            plain = self.predict(*words, "none")[(model, 1, "sync", 1)]["examples_per_second"]
            packed = self.predict(*words, "int8")[(model, 1, "sync", 1)]["examples_per_second"]
            self.assertAlmostEqual(8 / packed - 8 / plain, 0.015, delta=0.002)
        slow["packing"]["gradients"]["int8"]["pack"] = 0
        self.path("p.json", json.dumps(slow))
        self.refuse("'pack' is 0; expected GB a second", "predict", "p.json", "--workers", "1")

    def test_predictions_follow_from_the_profile(self):
        self.path("p.json", json.dumps(profile()))
        found = self.predict("--workers", "1,4", "--policy", "sync", "--policy", "async",
                             "--topology", "ps,ring,gossip", "--slow", "worker=0,factor=1")
        # 8 examples in 20 ms and some 0.2: nothing else is in the way.
        for model in ("fine", "coarse"):
            one = found[(model, 1, "sync", 1)]["examples_per_second"]
            self.assertAlmostEqual(one, 8 / 0.02022, delta=1)
            four = found[(model, 4, "async", 1)]["examples_per_second"]
            self.assertAlmostEqual(four / one, 4.0, delta=0.02)
        self.assertIn(("fine", 4, "ring", 1), found)
        self.assertIn(("coarse", 4, "gossip", 1), found)
        # 4 kB each way over 1 Mbit/s are 67 ms with the headers; four workers share them.
        slow = self.predict("--workers", "4", "--policy", "async", "--bandwidth", "1Mbps")
        self.assertLess(slow[("fine", 4, "async", 1)]["examples_per_second"], 8 / 0.0334)
        self.assertEqual(slow[("coarse", 4, "async", 1)]["bottleneck"], "server link")
        table = self.outpace("predict", "p.json", "--workers", "1..4", "--bandwidth", "1Mbps").out
        self.assertIn("is saturated at", table)

    def test_delays_come_on_top_of_the_computing(self):
        self.path("p.json", json.dumps(profile()))
        self.path("delays.csv", "0,0.08\n")
        found = self.predict("--workers", "2", "--policy", "sync", "--topology", "ps,ring",
                             "--delays", "delays.csv")
        for key, one in found.items():
            self.assertAlmostEqual(one["examples_per_second"], 2 * 8 / 0.1, delta=1, msg=key)

    def test_a_bound_is_predicted_as_it_binds_in_the_long_run(self):
        # A worker that is a little slower is three iterations behind after thirty.
        self.path("p.json", json.dumps(profile()))
        found = self.predict("--workers", "4", "--policy", "ssp:s=3", "--slow",
                             "worker=3,factor=1.1")
        for model in ("fine", "coarse"):
            one = found[(model, 4, "ssp:s=3", 1)]["examples_per_second"]
            self.assertAlmostEqual(one, 4 * 8 / 0.0222, delta=5, msg=model)

    def heavy(self, layer):
        """A profile of four layers, 10 ms forward and 20 ms backward, with 40 MB in one of them."""
        made = profile(compute=0.12, batch=32)
        made["tensors"] = [{"name": "w", "numbers": 10**7 if i == layer else 1} for i in range(4)]
        made["layers"] = [{"forward_seconds": 0.01, "backward_seconds": 0.02}] * 4
        made["iterations"] = [{"compute_seconds": 0.12, "rest_seconds": 0}] * 10
        made.update(apply_seconds=0, message_seconds=0, byte_seconds=0)
        return json.dumps(made)

    def test_layers_and_tensors_are_joined(self):
        # By hand: src/predict/throughput/cluster_model_test.cc.
        for layer, ring, server in ((0, 752.1, 330.2), (3, 1066.7, 430.0)):
            self.path("p.json", self.heavy(layer))
            words = ("--workers", "4", "--policy", "sync", "--topology", "ps,ring", "--bandwidth", "10Gbps")
            found = self.predict(*words)
            self.assertAlmostEqual(found[("fine", 4, "ring", 1)]["examples_per_second"], ring, delta=1)
            self.assertAlmostEqual(found[("fine", 4, "sync", 1)]["examples_per_second"], server, delta=1)
            whole = self.predict(*words, "--slice", "0", "--bucket-kib", "1048576")
            self.assertAlmostEqual(whole[("fine", 4, "ring", 1)]["examples_per_second"], 752.1, delta=1)
            self.assertAlmostEqual(whole[("fine", 4, "sync", 1)]["examples_per_second"], 330.2, delta=1)

    def test_a_trace_has_the_operations_of_a_predicted_cluster(self):
        self.path("p.json", self.heavy(3))
        self.outpace("predict", "p.json", "--workers", "4", "--policy", "sync", "--bandwidth",
                     "10Gbps", "--trace", "t.json")
        written = json.loads(self.path("t.json").read_text())
        self.assertEqual(written["otherData"]["predicted"], "sync with 4 workers")
        events = [one for one in written["traceEvents"] if one["ph"] == "X"]
        first = [one for one in events if one["pid"] == 1]
        passes = [one["name"] for one in first if one["cat"] == "compute"]
        forward = [f"layer {i} forward" for i in range(4)]
        self.assertEqual(passes, 10 * (forward + [f"layer {i} backward" for i in (3, 2, 1, 0)]))
        # The last layer waits for its weights; the iteration takes 297.67 ms.
        # The transfer that begins first is ahead of the others, and so is that worker's gradient.
        begins = [[one["ts"] for one in events if one["pid"] == pid and
                   one["name"] == "layer 3 forward"] for pid in (1, 2, 3, 4)]
        last = [max(worker[i] for worker in begins) for i in (0, 1)]
        self.assertAlmostEqual(last[0], 133_836, delta=10)
        ahead = last[0] - begins[0][0]
        self.assertAlmostEqual(last[1] - last[0], 297_672 - ahead, delta=10)
        self.assertEqual(sum(one["name"] == "apply the gradient of worker 3" for one in events), 0)
        for words in (("--workers", "1..2"), ("--workers", "4"),
                      ("--workers", "4", "--policy", "sync", "--shards", "1,2")):
            self.refuse("--trace takes one configuration", "predict", "p.json", *words, "--trace", "t.json")

    def test_shards_are_marked(self):
        self.path("p.json", json.dumps(profile()))
        found = self.predict("--workers", "2", "--policy", "sync", "--shards", "1,2")
        self.assertIs(found[("fine", 2, "sync", 1)]["can_run"], True)
        self.assertIs(found[("fine", 2, "sync", 2)]["can_run"], False)
        table = self.outpace("predict", "p.json", "--workers", "2", "--policy", "sync", "--shards",
                             "1,2").out
        self.assertIn("sync, 2 shards * ", table)
        self.assertIn("* not in train yet: it has no shards", table)

    def test_a_coupled_gossip_waits_for_its_meetings(self):
        self.path("p.json", json.dumps(profile()))
        words = ("--workers", "2", "--topology", "gossip", "--bandwidth", "100kbps")
        # 4 kB take 335 ms, and two workers hold their two meetings one after the other.
        for pace, rate in (("coupled", 8 / 0.335), ("free", 2 * 8 / 0.0202)):
            for model in ("fine", "coarse"):
                one = self.predict(*words, "--gossip", pace)[(model, 2, "gossip", 1)]
                self.assertAlmostEqual(one["examples_per_second"] / rate, 1, delta=0.03, msg=pace)

    def test_predictions_are_drawn(self):
        self.path("p.json", json.dumps(profile()))
        self.outpace("predict", "p.json", "--workers", "1..6", "--topology", "ps,gossip",
                     "--bandwidth", "1Mbps", "--plot", "p.svg")
        root = ElementTree.parse(self.folder / "p.svg").getroot()
        words = [one.text for one in root.iter("{http://www.w3.org/2000/svg}text")]
        for name in ("sync", "async", "gossip", "computing alone (ideal)", "workers", "examples/s",
                     "mlp, mini-batches of 8: predicted"):
            self.assertEqual(words.count(name), 1, name)
        dashed = [one for one in root.iter("{http://www.w3.org/2000/svg}polyline")
                  if one.get("stroke-dasharray")]
        self.assertEqual(len(dashed), 3)
        self.refuse_to_write("predict", "p.json", "--workers", "1..2", "--plot", "absent/p.svg")

    def refuse_to_write(self, *words):
        process = self.outpace(*words, code=1)
        self.assertEqual(process.err, "outpace: --plot: cannot write absent/p.svg\n")

    def test_a_runtime_takes_the_place_of_the_profiles_computing(self):
        self.path("p.json", json.dumps(profile()))
        found = self.predict("--workers", "4", "--policy", "async", "--runtime",
                             "constant(100ms)", "--topology", "ps,ring")
        for key, one in found.items():
            self.assertAlmostEqual(one["examples_per_second"], 4 * 8 / 0.1, delta=5, msg=key)
        # Half of the workers are twice as slow: a round takes as long as these, the others do not.
        found = self.predict("--workers", "4", "--policy", "sync", "--policy", "async",
                             "--runtime", "2*constant(200ms),constant(100ms)")
        for model in ("fine", "coarse"):
            self.assertAlmostEqual(found[(model, 4, "sync", 1)]["examples_per_second"],
                                   4 * 8 / 0.2, delta=2)
            self.assertAlmostEqual(found[(model, 4, "async", 1)]["examples_per_second"],
                                   3 * 8 / 0.1, delta=3)
        # The expected slowest of eight exponential runtimes is 1 + 1/2 + ... + 1/8 times their mean.
        found = self.predict("--workers", "8", "--policy", "sync", "--iterations", "2000",
                             "--runtime", "exponential(mean=100ms)")
        for model in ("fine", "coarse"):
            one = found[(model, 8, "sync", 1)]["examples_per_second"]
            self.assertAlmostEqual(one, 8 * 8 / 0.2718, delta=12, msg=model)


class Paced(Throughput):
    def test_workers_wait_as_long_as_the_half_that_predictions_do_not_see(self):
        self.path("p.json", json.dumps(profile(compute=0.05)))
        done = self.outpace("train", "--paced", "p.json", "--workers", "3", "--policy", "sync",
                            "--batch", "8", "--updates", "10", "--out", "run", "--json")
        found = json.loads(done.out)
        self.assertEqual(found["updates"], 10)
        self.assertGreaterEqual(found["seconds"], 10 * 0.1)  # The slower half; never sooner.
        for worker in found["workers_detail"]:
            self.assertEqual(worker["accepted"], 10)

    def test_wait_longer_if_they_are_slowed(self):
        self.path("p.json", json.dumps(profile(compute=0.05)))
        for topology in ("ps", "ring"):
            done = self.outpace("train", "--paced", "p.json", "--topology", topology, "--workers",
                                "2", "--policy", "sync", "--batch", "8", "--updates", "5",
                                "--slow", "worker=1,factor=3", "--out", topology, "--json")
            self.assertGreaterEqual(json.loads(done.out)["seconds"], 5 * 3 * 0.1, topology)

    def test_without_a_server_as_well(self):
        self.path("p.json", json.dumps(profile(compute=0.05)))
        for topology in ("ring", "gossip"):
            done = self.outpace("train", "--paced", "p.json", "--topology", topology, "--workers",
                                "3", "--batch", "8", "--iterations", "30", "--out", topology,
                                "--json")
            found = json.loads(done.out)
            self.assertGreaterEqual(found["gradients_applied"], 30)
            self.assertGreaterEqual(found["seconds"], 9 * 0.1)  # In a gossip one may do a tenth.
            self.assertIsNone(found["final_accuracy"])

    def test_leave_the_job_when_they_are_told_to_end(self):
        self.path("p.json", json.dumps(profile(compute=20)))
        server = self.start("server", "--policy", "async", "--workers", "1", "--token-file", "token",
                            "--listen", f"unix:{self.folder}/s", "--out", "run")
        server.until_said("listening on")
        worker = self.start("worker", "--paced", "p.json", "--server", f"unix:{self.folder}/s",
                            "--token-file", "token", "--worker", "0")
        wait_until(lambda: read_json_lines(self.folder / "run" / "decisions.jsonl")[1:],
                   "the first decision")
        worker.send(signal.SIGTERM)
        self.assertEqual(worker.wait(8), 0, worker.err)
        self.assertIn("signal 15: leaving the job", worker.err)
        server.until_said("worker 0 has left")

    def test_are_run_by_another_program(self):
        self.path("p.json", json.dumps(profile()))
        self.path("wrapper", '#!/bin/sh\necho "$1" >> wrapped\nshift\nexec "$@"\n', mode=0o755)
        for topology in ("ps", "ring"):
            self.outpace("train", "--paced", "p.json", "--topology", topology, "--workers", "2",
                         "--batch", "8", "--iterations", "10", "--out", topology,
                         "--worker-prefix", f"{self.folder}/wrapper number-{{worker}}")
        self.assertEqual(sorted((self.folder / "wrapped").read_text().split()),
                         ["number-0", "number-0", "number-1", "number-1"])
        failed = self.outpace("train", "--paced", "p.json", "--topology", "ring", "--workers", "1",
                              "--batch", "8", "--worker-prefix", "no-such", "--out", "x", code=1)
        self.assertEqual(failed.err.splitlines()[-1],
                         "outpace: worker 0 exited with 127: this program cannot be run: no-such")


class BadInput(Throughput):
    def test_files_and_options(self):
        self.path("p.json", json.dumps(profile()))
        self.path("cut.json", json.dumps(profile())[:100])
        self.path("other.json", json.dumps({"traceEvents": []}))
        self.path("few.json", json.dumps({**profile(), "iterations": profile()["iterations"][:2]}))
        self.refuse("cut.json is not JSON, or is truncated", "predict", "cut.json")
        self.refuse("other.json is not a profile", "predict", "other.json")
        self.refuse("few.json: 'iterations' has 2", "predict", "few.json")
        self.refuse("--workers is '0'", "predict", "p.json", "--workers", "0")
        self.refuse("--bandwidth is '0Gbps'", "predict", "p.json", "--bandwidth", "0Gbps")
        self.refuse("--topology is 'star'", "predict", "p.json", "--topology", "star")
        self.refuse("--models is 'best'; it takes fine or coarse", "predict", "p.json", "--models", "best")
        self.refuse("cutoff is '6'", "predict", "p.json", "--workers", "2", "--policy",
                    "backup:cutoff=6")
        self.refuse("unknown runtime 'weibull'", "predict", "p.json", "--runtime", "weibull(mean=1s)")
        self.refuse("its classes have 6 workers, but there are 4", "predict", "p.json", "--workers",
                    "4", "--runtime", "6*constant(1s)")
        self.refuse("--runtime conflicts with --delays", "predict", "p.json", "--runtime", "constant(1s)",
                    "--delays", "d.csv")
        self.refuse("--runtime conflicts with --cores", "predict", "p.json", "--runtime", "constant(1s)",
                    "--cores", "2")
        self.refuse("--iterations is '1'; it takes a whole number from 4", "profile", "--iterations", "1", "-o", "x.json")
        self.refuse("cut.json: is not JSON", "train", "--paced", "cut.json")
        self.refuse("--target-accuracy conflicts with --paced", "train", "--paced", "p.json",
                    "--target-accuracy", "0.8")


if __name__ == "__main__":
    main()
