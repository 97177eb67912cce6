"""`--on-notice`: a worker whose machine is about to be taken away leaves the job as at SIGTERM."""

import json
import signal
import sys
import time

sys.dont_write_bytecode = True
from jobs import ProgramTest, main, read_json_lines, wait_until  # noqa: E402
from profile_test import profile  # noqa: E402

ASKED = 2.0  # Seconds between two commands.
LEFT = ASKED + 2.0 + 4.0  # What is promised, and what a busy machine adds.


class Notice(ProgramTest):
    def start_server(self, *options):
        server = self.start("server", "--workers", 2, "--token-file", "token", "--listen",
                            f"unix:{self.folder}/s", "--out", "run", "--json", *options)
        server.until_said("listening on")
        return server

    def start_worker(self, rank, *options, variables=None):
        paced = self.path("paced.json", json.dumps(profile(compute=0.01)))
        return self.start("worker", "--paced", paced, "--server", f"unix:{self.folder}/s",
                          "--token-file", "token", "--worker", rank, *options, variables=variables)

    def events(self):
        lines = read_json_lines(self.folder / "run/decisions.jsonl")[1:]
        return [(line["event"]["type"], line["event"].get("worker")) for line in lines]

    def until_gradients(self, rank, least):
        wait_until(lambda: self.events().count(("gradient_arrived", rank)) >= least,
                   f"{least} gradients of worker {rank}")

    def test_hands_in_the_part_that_the_worker_has(self):
        server = self.start_server("--policy", "saps:s=1000,action=preempt", "--epochs", 1)
        quick = self.start_worker(0)
        delays = self.path("delays.csv", "0,20\n")  # Seconds of each mini-batch.
        slow = self.start_worker(1, "--delays", delays, "--workers", 2, "--on-notice", "test -e notice")
        self.until_gradients(0, 20)
        self.assertTrue(slow.running(), slow.err)
        self.path("notice", "")
        begun = time.monotonic()
        self.assertEqual(slow.wait(), 0, slow.err)
        self.assertLess(time.monotonic() - begun, LEFT)
        self.assertIn("outpace: the notice of --on-notice has come: leaving the job\n", slow.err)
        self.assertEqual((server.wait(), quick.wait()), (0, 0), server.err)
        self.assertIn("worker 1 has left", server.err)
        summary = json.loads(server.out)
        one = summary["workers_detail"][1]
        self.assertEqual((one["partial"], one["accepted"]), (1, 1))
        self.assertEqual((summary["examples_used_per_epoch_min"],
                          summary["examples_used_per_epoch_max"]), (1, 1))
        self.assert_nothing_left()

    def test_before_the_worker_has_a_server(self):
        self.path("token", "secret\n")
        self.path("notice", "")
        worker = self.start_worker(0, variables={"OUTPACE_ON_NOTICE": "test -e notice"})
        self.assertEqual(worker.wait(LEFT), 0, worker.err)
        self.assertIn("the notice of --on-notice has come", worker.err)

    def test_goes_on_with_a_command_that_cannot_be_run(self):
        server = self.start_server("--policy", "async", "--epochs", 100_000)
        worker = self.start_worker(0, "--on-notice", "no-such-command-here --of-it")
        self.start_worker(1, "--on-notice", "echo >> asked; exit 22")
        worker.until_said("outpace: --on-notice: sh cannot run 'no-such-command-here --of-it' (exit code "
                          "127); training goes on")
        asked = self.path("asked")
        wait_until(lambda: asked.exists() and asked.read_text().count("\n") >= 3, "three questions")
        before = self.events().count(("gradient_arrived", 0))
        self.until_gradients(0, before + 5)
        self.assertEqual(worker.err.count("--on-notice"), 1, worker.err)
        server.send(signal.SIGTERM)
        server.wait()
        self.assert_nothing_left()


if __name__ == "__main__":
    main()
