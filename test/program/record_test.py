"""The record of a run: trouble with its files ends no run, and what is missing is said."""

import resource
import shutil
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
from jobs import LedgerJob, ProgramTest, main, read_json_lines, read_weights, wait_until  # noqa: E402


def limit_files(process, bytes_most):
    """From now on no file of the process grows beyond this: its disk is full. None: no limit."""
    hard = resource.prlimit(process.id, resource.RLIMIT_FSIZE)[1]
    resource.prlimit(process.id, resource.RLIMIT_FSIZE,
                     (hard if bytes_most is None else bytes_most, hard))


class Record(ProgramTest):
    def replay(self, run):
        process = self.start("replay", run)
        self.assertEqual(process.wait(), 0, process.err)
        self.assertIn("all identical, and no invariant is broken", process.out)
        return process.out


class Trouble(Record):
    def test_a_disk_that_is_full_for_a_while_leaves_a_gap(self):
        job = LedgerJob(self, "async", workers=2, epochs=100_000)
        log = job.run / "decisions.jsonl"
        wait_until(lambda: log.stat().st_size > 10_000, "decisions")
        limit_files(job.server, log.stat().st_size)
        job.server.until_said(
            f"cannot write {log}: File too large; the run goes on, and its record has a gap")
        job.until_gradients(0, job.gradients(0) + 20)
        limit_files(job.server, None)
        job.server.until_said(f"{log} can be written again; ")
        size = log.stat().st_size
        wait_until(lambda: log.stat().st_size > size, "decisions after the gap")
        job.server.send(signal.SIGINT)
        self.assertEqual(job.server.wait(), 128 + signal.SIGINT, job.server.err)
        self.assertTrue((job.run / "summary.json").exists())
        lines = read_json_lines(log)
        gap = lines.index({"gap": True})
        self.assertLess(lines[gap - 1]["now"], lines[gap + 1]["now"])
        self.assertRegex(self.replay(job.run),
                         rf"decisions\.jsonl:{gap + 1}: a gap: decisions from [\d.]+ s to [\d.]+ s "
                         "could not be recorded; none after them is read\n")
        whatif = self.start("whatif", job.run)
        self.assertEqual(whatif.wait(), 0, whatif.err)
        self.assertIn(f"decisions.jsonl:{gap + 1}: a gap: ", whatif.out + whatif.err)

    def test_a_disk_that_stays_full_costs_no_gradient(self):
        job = LedgerJob(self, "async", epochs=10)
        log = job.run / "decisions.jsonl"
        # Room for the weights and the summary, but for no further line, however short.
        wait_until(lambda: log.stat().st_size > 20_000, "decisions")
        limit_files(job.server, log.stat().st_size)
        job.finish()
        job.assert_each_example_used(job.summary())
        self.assertIn("decisions.jsonl: ", job.server.err)
        self.assertIn("lines are missing at its end", job.server.err)
        self.assertIn("a gap: decisions from ", self.replay(job.run))

    def test_without_the_runs_folder_the_weights_go_to_another(self):
        job = LedgerJob(self, "async", workers=2, epochs=100_000)
        for worker in (0, 1):
            job.until_gradients(worker, 5)
        gone = self.folder / "gone"
        job.run.rename(gone)  # At once, whatever the server is writing there.
        shutil.rmtree(gone, ignore_errors=True)
        job.server.send(signal.SIGTERM)
        self.assertEqual(job.server.wait(), 128 + signal.SIGTERM, job.server.err)
        place = job.server.err.partition("the weights are in ")[2].partition("\n")[0]
        self.assertTrue(place.startswith(f"{self.folder}/outpace-weights-run-"), job.server.err)
        numbers, _ = read_weights(place)
        self.assertEqual(len(numbers), job.examples)

    def test_a_run_whose_weights_no_folder_takes_has_failed(self):
        job = LedgerJob(self, "async", epochs=1)
        limit_files(job.server, 4 * job.examples)  # Their header is not counted in.
        self.assertEqual(job.server.wait(), 1, job.server.err)
        self.assertIn("the weights are lost: cannot write ", job.server.err.splitlines()[-1])
        for worker in job.workers:
            self.assertEqual(worker.wait(), 0, worker.err)


class Decisions(Record):
    def test_off(self):
        job = LedgerJob(self, "async", epochs=1, options=("--decisions", "off"))
        job.finish()
        self.assertEqual(list(job.run.glob("decisions*")), [])
        replay = self.start("replay", job.run)
        self.assertEqual(replay.wait(), 2)
        self.assertIn("there is none, as --decisions off keeps none", replay.err)

    def test_sampled(self):
        job = LedgerJob(self, "async", epochs=2, options=("--decisions", "sampled:every=50"))
        job.finish()
        head, *decisions = read_json_lines(job.run / "decisions.jsonl")
        self.assertEqual(head["every"], 50)
        self.assertIn(len(decisions), range(512 // 50, 600 // 50))
        replay = self.start("replay", job.run)
        self.assertEqual(replay.wait(), 2)
        self.assertIn("decisions.jsonl:1: the log keeps one in 50 decisions", replay.err)

    def test_capped(self):
        job = LedgerJob(self, "async", epochs=30, batch_seconds=0.002,
                        options=("--decisions", "capped:mib=1"))
        job.finish()
        job.assert_each_example_used(job.summary())
        parts = list(job.run.glob("decisions*.jsonl*"))
        self.assertGreater(len(parts), 8)
        self.assertEqual(len([part for part in parts if part.suffix == ".jsonl"]), 2)
        # Twice the cap as text; most of it is compressed, so that nothing is missing.
        self.assertLess(sum(part.stat().st_size for part in parts), 1 << 20)
        text = subprocess.run(["sh", "-c", "cat *.jsonl; zstdcat *.jsonl.zst"], cwd=job.run,
                              capture_output=True, check=True).stdout
        self.assertGreater(len(text), 2 << 20)
        self.assertNotIn("a gap", self.replay(job.run))


if __name__ == "__main__":
    main()
