"""`outpace chaos`: real processes, drawn faults, and a verdict.

The seeds that the suite runs are short; docs/chaos.md says how to run longer ones.
"""

import json
import os
import pathlib
import signal
import sys

sys.dont_write_bytecode = True
from jobs import ProgramTest, main, read_json_lines  # noqa: E402

CLOCK = any(pathlib.Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))
LIMIT = 500  # Seconds; a run takes half a minute on an idle machine.


class Chaos(ProgramTest):
    def chaos(self, *words):
        process = self.start("chaos", *words)
        process.wait(LIMIT)
        return process

    def survives(self, *words):
        """Returns the result and the history."""
        out = self.folder / "chaos"
        process = self.chaos("--out", out, "--json", *words)
        self.assertEqual(process.popen.returncode, 0, process.err)
        self.assertIn("nothing lost", process.err)
        self.assert_nothing_left()
        return json.loads(process.out), read_json_lines(out / "history.jsonl")


class Smoke(Chaos):
    """Rows 1, 2, 3 and 7 of docs/failures.md, by shared memory and through the proxy."""

    def test_shared_memory(self):
        result, history = self.survives(
            "--seed", 2, "--minutes", 0.3, "--every", "700ms", "--carrier", "shared-memory",
            "--faults", "kill,stop,slow,disk-full,ballast")
        self.assertGreater(sum(result["faults"].values()), 5)
        self.assertGreater(result["gradients_accepted"], 1000)
        generations = {one["generation"] for one in history if one["what"] == "released"}
        # The end in order is a restart too.
        self.assertGreaterEqual(len(generations), 2)
        checked = self.chaos("--check", self.folder / "chaos")
        self.assertEqual(checked.popen.returncode, 0, checked.err)
        self.assertIn("nothing lost", checked.out)

    def test_proxy(self):
        result, _ = self.survives(
            "--seed", 3, "--minutes", 0.3, "--every", "700ms", "--carrier", "tls",
            "--faults", "kill,disconnect,delay,corrupt,half-open")
        self.assertGreater(sum(result["faults"].values()), 5)


class Fault(Chaos):
    """One kind of fault alone: rows 4, 5, 6, 10 and 17 of docs/failures.md."""

    def of_kind(self, kind, carrier, least=2):
        result, history = self.survives("--seed", 1, "--minutes", 0.2, "--every", "1s", "--faults",
                                        kind, "--carrier", carrier, "--policy", "async")
        self.assertEqual(list(result["faults"]), [kind])
        self.assertGreaterEqual(result["faults"][kind], least)
        return result, history

    def test_bytes_that_are_late(self):
        self.of_kind("delay", "tcp")

    def test_bytes_that_are_changed(self):
        result, history = self.of_kind("corrupt", "tcp")
        incarnations = {(one["who"], one["incarnation"]) for one in history
                        if one["what"] == "released"}
        # A connection with a wrong checksum ends, and its worker joins again.
        self.assertGreater(len(incarnations), len({who for who, _ in incarnations}))
        self.assertGreater(result["gradients_unknown"], 0)

    def test_connections_over_which_nothing_passes(self):
        self.of_kind("half-open", "unix")

    def test_a_disk_that_is_full(self):
        self.of_kind("disk-full", "shared-memory")

    def test_a_clock_that_jumps(self):
        if not CLOCK:
            process = self.chaos("--faults", "clock-jump")
            self.assertEqual(process.popen.returncode, 2)
            self.assertIn("apt-get install faketime", process.err)
            return
        self.of_kind("clock-jump", "tls")


class Command(Chaos):
    def test_the_plan_is_the_seeds(self):
        plans = [self.chaos("--seed", seed, "--minutes", 3, "--plan") for seed in (7, 7, 8)]
        self.assertEqual([one.popen.returncode for one in plans], [0, 0, 0])
        self.assertEqual(plans[0].out, plans[1].out)
        self.assertNotEqual(plans[0].out, plans[2].out)
        self.assertGreater(len(plans[0].out.splitlines()), 20)

    def refused(self, why, *words):
        process = self.chaos(*words)
        self.assertEqual(process.popen.returncode, 2, process.err)
        self.assertIn(why, process.err.splitlines()[-1])

    def test_bad_input(self):
        self.refused("--faults has 'kil'; did you mean 'kill'?", "--faults", "kil")
        self.refused("--carrier is 'udp'", "--carrier", "udp")
        self.refused("--policy is 'backup'", "--policy", "backup")
        self.refused("--minutes", "--minutes", 0)
        self.refused("is no history", "--check", self.folder)
        self.path("file", "x")
        self.refused("is not empty", "--out", self.folder)

    def test_a_job_that_cannot_start_says_why(self):
        process = self.chaos("--policy", "softsync:n=x", "--out", self.folder / "chaos")
        self.assertEqual(process.popen.returncode, 1)
        self.assertIn("the job does not start: outpace: policy 'softsync:n=x': n is 'x'",
                      process.err.splitlines()[-1])

    def test_no_process_is_left_when_chaos_is_killed(self):
        process = self.start("chaos", "--minutes", 5, "--out", self.folder / "chaos")
        process.until_said("all take part")
        process.send(signal.SIGKILL)
        process.wait()
        self.assert_nothing_left()

    def test_a_changed_history_is_found(self):
        out = self.folder / "chaos"
        process = self.chaos("--seed", 2, "--minutes", 0.05, "--faults", "kill", "--out", out)
        self.assertEqual(process.popen.returncode, 0, process.err)
        path = out / "history.jsonl"
        lines = path.read_text().splitlines(keepends=True)
        accepted = [i for i, line in enumerate(lines) if '"accepted"' in line]
        del lines[accepted[len(accepted) // 2]]
        path.write_text("".join(lines))
        checked = self.chaos("--check", out)
        # A verdict that nobody heard is unknown, and the weights are right: nothing is lost.
        self.assertEqual(checked.popen.returncode, 0, checked.out)
        path.write_text("".join(line for line in lines if '"worker 1"' not in line))
        checked = self.chaos("--check", out)
        self.assertEqual(checked.popen.returncode, 1, checked.out)
        self.assertIn("broken: nothing lost", checked.out)


class WithBug(Chaos):
    """The program with a bug of test/chaos/seed_bugs.py in it."""

    PROGRAM = os.environ.get("OUTPACE_WITH_BUGS", "")

    def found(self, bug, rules, *words):
        out = self.folder / (bug or "none")
        process = self.start("chaos", "--out", out, "--json", "--seed", 5, "--minutes", 0.15,
                             "--every", "500ms", *words, program=self.PROGRAM,
                             variables={"SEEDED_BUG": bug})
        process.wait(LIMIT)
        broken = json.loads(process.out)["broken"]
        self.assertEqual(process.popen.returncode, 1 if rules else 0, process.err)
        got = {one["rule"] for one in broken}
        self.assertTrue(not rules or got & set(rules), (bug, got, process.err))
        self.assert_nothing_left()


class SeededBugs(WithBug):
    """Each is found, by a rule that it breaks."""

    def test_without_a_bug_nothing_is_broken(self):
        self.found("", (), "--faults", "kill,stop", "--carrier", "tcp", "--policy", "async")

    def test_a_gradient_that_is_applied_twice(self):
        self.found("applied_twice", ["exactly once"], "--faults", "kill", "--policy", "async")

    def test_a_server_that_keeps_its_generation(self):
        self.found("generation_kept", ["monotonic", "same bits", "generations", "exactly once"],
                   "--faults", "kill", "--policy", "async")

    def test_a_checkpoint_that_is_older_than_it_says(self):
        self.found("checkpoint_passed_over", ["checkpoint kept", "same bits", "monotonic"],
                   "--faults", "kill", "--policy", "async")

    def test_a_checksum_that_is_not_looked_at(self):
        self.found("checksum_ignored", ["whole weights", "exactly once", "same bits"], "--faults",
                   "corrupt", "--carrier", "tcp", "--policy", "async")


class SeededHangs(WithBug):
    """Those that a wait of chaos finds."""

    def test_a_lease_that_is_lost(self):
        self.found("lease_lost", ["no hang", "nothing lost"], "--faults", "kill", "--policy",
                   "async")

    def test_a_worker_that_does_not_end(self):
        self.found("end_ignored", ["no hang"], "--faults", "kill", "--policy", "async")

    def test_a_process_that_outlives_the_run(self):
        self.found("orphan_left", ["no orphan"], "--faults", "kill", "--policy", "async")


if __name__ == "__main__":
    main()
