"""A ring and a gossip on two machines: encrypted, joined by a code, and workers that come back. Takes root and iproute2."""

import json
import os
import pathlib
import re
import signal
import sys

sys.dont_write_bytecode = True
from jobs import children_of, main, wait_until  # noqa: E402
from namespaces import TwoHosts  # noqa: E402

ROWS = 2000
EXAMPLES = 1800  # A tenth of the rows is for the evaluator.
PORT = 4000
SILENT = 4  # Seconds.
SECONDS = "0.02"  # For a mini-batch.
LISTEN = pathlib.Path(__file__).with_name("overheard.py")


class Peers(TwoHosts):
    def setUp(self):
        super().setUp()
        rows = [f"{row % 7},{row % 5},{row % 2}" for row in range(ROWS)]
        self.path("table.csv", "\n".join(["a,b,class", *rows]) + "\n")
        self.run_folder = self.folder / "run"

    def start_run(self, *words, topology="ring", workers=4, here=2, listen=None):
        self.path("delays.csv", ",".join([SECONDS] * workers) + "\n")
        self.train = self.start_on(
            0, "train", "--topology", topology, "--network", "mlp", "--data", "csv:table.csv", "--workers",
            workers, "--workers-here", here, "--listen", listen or f"{self.ADDRESSES[0]}:{PORT}", "--batch", 4,
            "--heartbeat-timeout", f"{SILENT}s", "--delays", "delays.csv", "--json", "--out", "run", *words)
        self.train.until_said("machines join by: outpace join outpace1")
        return self.keep_code()

    def keep_code(self, name="code", text=None):
        text = text or self.train.err.partition("outpace join ")[2].split()[0]
        return self.path(name, text + "\n")

    def join(self, code, *words, out="joined", workers=2):
        return self.start_on(1, "join", "--code-file", code, "--workers-here", workers, "--out", out, *words)

    def worker(self, process, worker):
        """The process of that worker, a child of train or join."""
        def found():
            self.assertTrue(process.running(), process.err)
            return next((one for one, words in children_of(process.id).items()
                         if any(word.endswith(f"/worker-{worker}.toml") for word in words)), None)
        return wait_until(found, f"worker {worker}")

    def ctl(self, *words):
        one = self.start_on(0, "ctl", "run", *words)
        return one.wait(), one.out.strip(), one.err.strip()

    def until_update(self, least):
        def reached():
            self.assertTrue(self.train.running(), self.train.err)
            code, out, _ = self.ctl("status", "--json")
            return code == 0 and json.loads(out)["version"] >= least
        wait_until(reached, f"update {least}")

    def stop_until(self, process, said):
        os.kill(process, signal.SIGSTOP)
        self.train.until_said(said)
        os.kill(process, signal.SIGCONT)

    def finish(self, *joined):
        self.assertEqual(self.train.wait(), 0, self.train.err)
        for one in joined:
            self.assertEqual(one.wait(), 0, one.err)
        return json.loads(self.train.out)

    def assert_exact(self, summary, epochs, logs):
        """Every example counted once an epoch, and all workers have the same weights."""
        self.assertEqual(summary["examples"], epochs * EXAMPLES)
        self.assertEqual((summary["examples_used_per_epoch_min"], summary["examples_used_per_epoch_max"]),
                         (1, 1))
        ends = {re.findall(r"ended at update (\d+); CRC-32C of its weights: (\w+)", log.read_text())[-1]
                for log in logs}
        self.assertEqual({update for update, _ in ends}, {str(summary["updates"])})
        self.assertEqual(len(ends), 1)

    def logs(self):
        return ([self.run_folder / "logs" / f"worker-{worker}.log" for worker in (0, 1)] +
                [self.folder / "joined" / "logs" / f"worker-{worker}.log" for worker in (2, 3)])

    def assert_refused(self, process, code, said):
        self.assertEqual(process.wait(), code, process.err)
        self.assertIn(said, process.err.strip().splitlines()[-1])


class Together(Peers):
    def test_a_ring_of_two_machines_is_exact_and_nothing_is_readable_between_them(self):
        listener = self.start("netns", "exec", self.spaces[1], sys.executable, "-B", LISTEN, "eth0",
                              program="ip")
        listener.until_printed("listens")
        code = self.start_run("--epochs", 2, "--optimizer", "momentum", "--lr", 0.05)
        joined = self.join(code)
        summary = self.finish(joined)
        self.assert_exact(summary, 2, self.logs())
        self.assertTrue(all(one["accepted"] > 0 for one in summary["workers_detail"]))
        self.assertIn("as workers 2 and 3", joined.err)
        listener.send(signal.SIGTERM)
        listener.wait()
        heard = json.loads(listener.out.splitlines()[-1])
        # Of host, evaluator's none; of each worker here to both there, and to the host.
        self.assertGreaterEqual(len(heard["first"]), 2 * 7)
        self.assertEqual(set(heard["first"]), {"1603"}, "each side of each connection begins TLS")
        self.assertEqual(heard["readable"], 0)
        self.assertGreater(heard["bytes"], 1_000_000)

    def test_workers_find_each_other_by_any_address(self):
        for name, address in zip(self.spaces, ("fd78::1", "fd78::2")):
            self.ip("-n", name, "addr", "add", f"{address}/64", "dev", "eth0", "nodad")
        for name, listen, words in (("all", f"0.0.0.0:{PORT}", ()), ("ipv6", f"[fd78::1]:{PORT}", ()),
                                    ("interface", None, ("--peer-interface", "eth0"))):
            code = self.start_run("--updates", 30, *words, workers=2, here=0, listen=listen)
            joined = self.join(code, workers=1, out=f"joined-{name}"), self.start_on(
                0, "join", "--code-file", code, "--out", f"other-{name}")
            self.assertEqual(self.finish(*joined)["updates"], 30)
            for path in ("code", "run"):
                os.rename(self.folder / path, self.folder / f"{name}-{path}")

    def test_each_gossip_learns_across_machines(self):
        for gossip in ("coupled", "easgd"):
            code = self.start_run("--updates", 1200, "--gossip", gossip, topology="gossip")
            joined = self.join(code, out=f"joined-{gossip}")
            summary = self.finish(joined)
            self.assertGreaterEqual(summary["updates"], 1200)
            self.assertTrue(all(one["accepted"] > 0 for one in summary["workers_detail"]))
            self.assertIsNotNone(summary["worst_replica_accuracy"])
            for path in ("code", "run", f"joined-{gossip}"):
                os.rename(self.folder / path, self.folder / f"{gossip}-{path}")


class ComesBack(Peers):
    def test_a_killed_worker_of_a_ring_comes_back(self):
        code = self.start_run("--epochs", 4, "--optimizer", "momentum", "--lr", 0.05)
        joined = self.join(code, "--restart-workers")
        self.until_update(40)
        os.kill(self.worker(joined, 3), signal.SIGKILL)
        self.train.until_said("the ring goes on with 3 of 4 workers from update")
        self.train.until_said("the ring goes on with 4 of 4 workers from update")
        summary = self.finish(joined)
        self.assert_exact(summary, 4, self.logs())
        self.assertEqual(summary["workers_detail"][3]["incarnations"], 2)

    def test_a_host_that_is_cut_off_comes_back_to_a_ring(self):
        code = self.start_run("--epochs", 6)
        joined = self.join(code)
        self.until_update(40)
        self.ip("-n", self.spaces[1], "link", "set", "eth0", "down")
        self.train.until_said("the ring goes on with 2 of 4 workers from update")
        self.until_update(self.version() + 60)
        self.ip("-n", self.spaces[1], "link", "set", "eth0", "up")
        self.train.until_said("the ring goes on with 4 of 4 workers from update")
        self.assert_exact(self.finish(joined), 6, self.logs())

    def version(self):
        return json.loads(self.ctl("status", "--json")[1])["version"]

    def test_a_stopped_worker_comes_back_to_a_gossip(self):
        code = self.start_run("--updates", 3000, topology="gossip")
        joined = self.join(code)
        self.until_update(100)
        stopped = self.worker(joined, 2)
        self.stop_until(stopped, "the gossip goes on with 3 of 4 workers")
        self.train.until_said("the gossip goes on with 4 of 4 workers")
        summary = self.finish(joined)
        self.assertEqual(summary["workers_detail"][2]["incarnations"], 2)

    def test_two_wait_for_each_other(self):
        code = self.start_run("--epochs", 2, workers=2, here=1)
        joined = self.join(code, workers=1)
        self.until_update(20)
        stopped = self.worker(joined, 1)
        self.stop_until(stopped, "1 of 2 workers are left, and 2 are needed: waiting 600 s for one to come back")
        self.train.until_said("worker 1 is here again")
        summary = self.finish(joined)
        self.assertEqual(summary["examples"], 2 * EXAMPLES)


class Strangers(Peers):
    def test_one_that_is_expelled_stays_away(self):
        code = self.start_run("--epochs", 6)
        joined = self.join(code, "--restart-workers")
        self.until_update(40)
        self.assertEqual(self.ctl("code")[1] + "\n", code.read_text())
        done, said, _ = self.ctl("expel", 3)
        self.assertEqual(done, 0, said)
        self.assertIn("its machine cannot come back", said)
        self.assertNotEqual(joined.wait(), 0)
        self.assertIn("sent away by outpace ctl", joined.err)
        self.train.until_said("the ring goes on with 2 of 4 workers from update")
        self.assert_refused(self.join(code, out="again"), 3, "does not know this code any more")
        other = self.join(self.keep_code("new", self.ctl("code")[1]), out="other")
        self.train.until_said("the ring goes on with 4 of 4 workers from update")
        summary = self.finish(other)
        self.assertEqual(summary["examples"], 6 * EXAMPLES)

    def test_what_is_wrong_is_said_in_one_line(self):
        code = self.start_run("--epochs", 2)
        self.assert_refused(self.join(code, "--", "true", out="command"), 2, "remove the command")
        self.assert_refused(self.join(code, workers=3, out="many"), 1, "the run is full")
        for words, said in ((("--listen", "127.0.0.1:0"), "an address that they reach"),
                            (("--listen", "10.78.0.1:0"), "such as --workers-here 2"),
                            (("--workers-here", 2), "nobody can join; add --listen"),
                            (("--listen", "10.78.0.1:0", "--workers-here", 5), "--workers-here is 5"),
                            (("--listen", "10.78.0.1:0", "--workers-here", 2, "--insecure-no-tls"),
                             "--insecure-no-tls conflicts with --listen")):
            one = self.start_on(0, "train", "--topology", "ring", "--workers", 4, *words)
            self.assert_refused(one, 2, said)
        joined = self.join(code)
        self.finish(joined)


if __name__ == "__main__":
    main()
